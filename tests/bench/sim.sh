#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# How fast the simulator is, next to a textbook one (bench_textbook.c, which says what is measured
# how): the first 64 M accesses of traces of some samples at their fidelity arguments
# (samples/samples.list) and -O2, on three levels; and how much longer the ten structures take in
# one pass. Prints a table, and puts its rows into tests/bench/sim.csv in place of those of the same samples.
#
#   tests/bench/sim.sh [--samples a,b,c] [--runs N] [--no-write]
#
# N rounds (5). Run it alone on the machine.
set -eu
# shellcheck source=tests/script.sh
. "$(dirname "$0")/../script.sh"
no_write=0 runs=5
read_options "samples= runs= no-write" "$@"
streams=${samples:-cg,matmul,jacobi3d,hashjoin,stream,seidel}
build_release all bench_textbook

one_sample()
{
    local name=$1
    compile "$2" "$work/$name"
    shift 2
    "$psnap" record --force --no-profile --trace "$work/$name.pst" -- "$work/$name" "$@" > /dev/null 2>&1
    build/release/bench_textbook "$runs" 64000000 "$work/$name.pst" | tail -n +2
    rm -f "$work/$name.pst"
}

{
    build/release/bench_textbook 1 1 /dev/null 2> /dev/null | head -1
    samples=$streams each_sample fidelity one_sample
} > "$work/sim.csv"
column -s, -t "$work/sim.csv"
awk -F, 'NR > 1 {n++; memory += log($5); file += log($7); two += log($9)
        best = $5 > $9 ? $5 : $9; all += log(best); if (n == 1 || best < least) {least = best; who = $1}}
    END {if (n) {printf "times the textbook, geometric means: from memory %.2f, from .pst %.2f, by two threads %.2f;\n",
        exp(memory / n), exp(file / n), exp(two / n)
        printf "the better of memory and two threads %.2f, at least %.2f (%s)\n", exp(all / n), least, who}}' "$work/sim.csv"
[ $no_write = 1 ] || put_rows "$work/sim.csv" tests/bench/sim.csv
