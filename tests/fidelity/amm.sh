#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# AMM against reality: reuse profiles, hit rates and run times of larger inputs predicted from small
# ones, in the cases of the paper (Chennupati et al.): a matrix product, from 25 rows to 50, 100 and
# 200, and Black-Scholes, from 16 options to 32, 64 and 128.
#
#   tests/fidelity/amm.sh [--machine FILE] [--psnap FILE] [--accept]
#
# The machine is to be this computer for the run times to mean something: without --machine psnap
# machine host measures it. Prints a table; --accept writes amm.csv, and the profiles as figures, amm_*.svg.
set -eu
# shellcheck source=tests/script.sh
. "$(dirname "$0")/../script.sh"
machine="" psnap="" accept=0
read_options "machine= psnap= accept" "$@"
if [ -z "$psnap" ]; then build_release psnap; else psnap=$(realpath "$psnap"); fi
if [ -z "$machine" ]; then
    machine=$work/host.yaml
    "$psnap" machine host -o "$machine" 2> "$work/log" || { cat "$work/log" >&2; exit 1; }
fi
clang=${PSNAP_CLANG:-clang-19}

# record NAME SIZE: its trace
record()
{
    (cd "$work" && "$psnap" record --force --no-profile --trace "$1.$2.pst" -- "./$1" "$2" 10) > /dev/null
}

# predict SOURCE NAME ARGUMENTS: its profile and rows, by both readings of b
predict()
{
    local out=$work/$1
    local command=("$psnap" predict runtime -m "$machine" --asm "$work/$2.s" --json --force "${@:3}")
    "${command[@]}" --csv "$out.csv" > "$out.json"
    "${command[@]}" --block 64 > "$out.line.json"
}

# case_of NAME KERNEL SMALL LARGER...: everything of a sample; its run time is that of the loops of function KERNEL
case_of()
{
    local name=$1 kernel=$2 small=$3 size
    "$psnap" cc -O2 -g "samples/$name.c" -o "$work/$name" -lm
    "$clang" -O2 -g "samples/$name.c" -o "$work/$name.plain" -lm
    "$psnap" cc --psnap-blocks -O2 -S "samples/$name.c" -o "$work/$name.s"
    for size in "${@:3}"; do record "$name" "$size"; done
    for size in "${@:4}"; do
        predict measured "$name" "$work/$name.$size.pst"
        predict fixed "$name" "$work/$name.$small.pst" --at "$work/$name.$size.pst"
        predict published "$name" "$work/$name.$small.pst" --at "$work/$name.$size.pst" --as-published
        python3 tests/fidelity/amm.py row "$work" "$name" "$size" "$kernel" >> "$work/amm.csv"
    done
}

python3 tests/fidelity/amm.py heading > "$work/amm.csv"
case_of matmul multiply 25 50 100 200
case_of blackscholes price 16 32 64 128
python3 tests/fidelity/amm.py table "$work/amm.csv"
if [ "$accept" = 1 ]; then
    cp "$work/amm.csv" tests/fidelity/amm.csv
    for name in matmul blackscholes; do
        python3 tests/fidelity/amm.py figure "$work" "$name" | gnuplot > "tests/fidelity/amm_$name.svg"
    done
fi
