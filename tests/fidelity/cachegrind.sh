#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Proof against Valgrind's cachegrind: misses of the samples as psnap records and simulates them, and
# as cachegrind counts them in the same programs without psnap.
#
#   tests/fidelity/cachegrind.sh [--samples a,b,c] [--jobs N] [--print|--accept]
#
# Every sample of samples.list is compiled twice, by psnap cc -O2 and by clang -O2, and run with the
# arguments of the tests: the one under psnap record --trace and psnap sim, the other one under
# cachegrind, on two machines: sets (32 KB in 8 ways, 192 KB in 12) and full (32 KB and 256 KB,
# fully associative, where it makes no difference where the stack and the heap lie). Of cachegrind's counts those of the sample's own functions are taken, which is what psnap
# sees. Prints a table, and fails when a row is further apart than cachegrind.csv says by more than
# 0.5 %. --accept writes cachegrind.csv. README.md beside this says why rows differ.
set -eu
# shellcheck source=tests/script.sh
. "$(dirname "$0")/../script.sh"
jobs=$(nproc) print="" accept=""
read_options "samples= jobs= print accept" "$@"
psnap=${PSNAP-}
[ -n "$psnap" ] || build_release all
command -v valgrind > /dev/null || { echo "cachegrind.sh: no valgrind" >&2; exit 77; }
clang=$(command -v clang-19 || command -v clang)
export_compile
export clang

# NAME KIND MACHINE D1 LL ARGUMENTS: leaves NAME.KIND.csv (psnap sim) and NAME.KIND.cg (cachegrind)
simulate()
{
    local name=$1 kind=$2 machine=$3 d1=$4 last=$5
    shift 5
    "$psnap" sim "$work/$name.pst" -m "$machine" --by total --csv > "$work/$name.$kind.csv" 2> /dev/null
    # instructions go to the last level, too: they are kept from it by a first level that has them all
    valgrind --tool=cachegrind --cache-sim=yes --demangle=no --I1=1048576,16,64 --D1="$d1" \
        --LL="$last" --cachegrind-out-file="$work/$name.$kind.cg" "$work/$name.native" "$@" \
        > /dev/null 2> "$work/$name.log" || { cat "$work/$name.log" >&2; return 1; }
}
export -f simulate

# NAME FILE ARGUMENTS: both on each machine, and NAME.functions in $work
one_sample()
{
    local name=$1 file=$root/samples/$2 native=$clang
    case $file in *.cpp) native=$clang++ && native=${native/clang-19++/clang++-19} ;; esac
    compile "$2" "$work/$name.psnap"
    "$native" -O2 -c "$file" -o "$work/$name.o"
    "$native" "$work/$name.o" -o "$work/$name.native" -lm -pthread
    nm --defined-only "$work/$name.o" | awk '$2 ~ /^[TtWw]$/ { print $3 }' > "$work/$name.functions"
    shift 2
    "$psnap" record --no-profile --trace "$work/$name.pst" -- "$work/$name.psnap" "$@" > /dev/null 2>&1
    simulate "$name" sets 32K:64:8,192K:64:12 32768,8,64 196608,12,64 "$@"
    simulate "$name" full 32K:64:full,256K:64:full 32768,512,64 262144,4096,64 "$@"
    rm -f "$work/$name.pst"
}
export -f one_sample

each_sample test echo | xargs -r -P "$jobs" -L 1 bash -c 'one_sample "$@"' one_sample
/usr/bin/python3 tests/fidelity/cachegrind.py "$work" "${accept:+accept}${print:+print}"
