#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Size and speed of .pst on the samples, next to the baseline of bench_pst.c:
# records each at its fidelity arguments (samples/samples.list) and -O2, and
# takes the first 100 M accesses. Prints a table, and puts its rows into
# tests/bench/pst.csv in place of those of the same samples.
#
#   tests/bench/pst.sh [--no-write] [SAMPLE...]
#
# samples/kinds.sh says which samples are affine.
set -eu
cd "$(dirname "$0")/../.."
. samples/kinds.sh
write=1
[ "${1-}" != --no-write ] || { write=0 && shift; }
wanted=" $* "

cmake --preset release > /dev/null
cmake --build --preset release > /dev/null
psnap=$PWD/build/release/psnap
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
${CC:-cc} -std=gnu17 -O2 -DNDEBUG -I. tests/bench/bench_pst.c -o "$work/bench_pst" \
    build/release/lib/libpsnap_core.a -lzstd -lxxhash -lyaml -lm

one_sample()
{
    local name=$1 file=$2 driver=cc kind=affine
    shift 2
    case $file in *.cpp) driver=c++ ;; esac
    [[ $irregular != *" $name "* ]] || kind=irregular
    "$psnap" $driver -O2 "samples/$file" -o "$work/$name" -lm -pthread
    "$psnap" record --force -o "$work/p.yaml" --trace "$work/$name.pst" -- "$work/$name" "$@" \
        > /dev/null 2>&1
    "$work/bench_pst" "$work/$name.pst" | sed -n "s/^\\([^,]*\\),pst,/\\1,$kind,/p"
    rm -f "$work/$name.pst"
}

{
    "$work/bench_pst" -n 1000 | sed -n '1s/format/kind/p'
    while read -r name file rest; do
        IFS='|' read -r _ fidelity _ <<< "$rest"
        [ "$wanted" = "  " ] || [[ $wanted == *" $name "* ]] || continue
        # shellcheck disable=SC2086
        one_sample "$name" "$file" $fidelity < /dev/null
    done < <(grep -v -e '^#' -e '^ *$' samples/samples.list)
} > "$work/pst.csv"
column -s, -t "$work/pst.csv"
for kind in affine irregular; do
    awk -F, -v kind=$kind '$2 == kind {n++; s += log($8); if ($8 > m) {m = $8; who = $1}}
        END {if (n) printf "%s: %.3f of the baseline (geometric mean of %d), at most %.3f (%s)\n",
            kind, exp(s / n), n, m, who}' "$work/pst.csv"
done
[ $write = 1 ] || exit 0
csv=tests/bench/pst.csv
[ -e $csv ] || head -n 1 "$work/pst.csv" > $csv
awk -F, 'FNR == 1 {if (NR == 1) print; next} !seen[$1]++' "$work/pst.csv" $csv > "$work/all.csv"
{ head -n 1 "$work/all.csv" && tail -n +2 "$work/all.csv" | sort; } > $csv
