#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# How fast reuse distances are measured, next to a textbook implementation (bench_reuse.c, which says
# what is measured how): the first 20 M accesses of traces of some samples at their fidelity arguments
# (samples/samples.list) and -O2, and uniform random lines. Prints a table, and puts its rows into
# tests/bench/reuse.csv in place of those of the same streams.
#
#   tests/bench/reuse.sh [--samples a,b,c] [--runs N] [--no-write]
#
# N rounds (5). With --samples no random lines. Run it alone on the machine.
set -eu
# shellcheck source=tests/script.sh
. "$(dirname "$0")/../script.sh"
no_write=0 runs=5
read_options "samples= runs= no-write" "$@"
streams=${samples:-stream,matmul,jacobi3d,doolittle,cg,hashjoin}
is_all=${samples:+0}
build_release all bench_reuse

one_sample()
{
    local name=$1
    compile "$2" "$work/$name"
    shift 2
    "$psnap" record --force --no-profile --trace "$work/$name.pst" -- "$work/$name" "$@" > /dev/null 2>&1
    build/release/bench_reuse -r "$runs" "$work/$name.pst" | tail -n +2
    rm -f "$work/$name.pst"
}

{
    build/release/bench_reuse -r "$runs" -n 1 /dev/null 2> /dev/null | head -1
    samples=$streams each_sample fidelity one_sample
    [ "${is_all:-1}" = 0 ] || build/release/bench_reuse -r "$runs" | tail -n +2
} > "$work/reuse.csv"
column -s, -t "$work/reuse.csv"
awk -F, 'NR > 1 {n++; sum += log($6); error += $8; if (n == 1 || $6 < least) {least = $6; who = $1}}
    END {if (n) printf "exact: %.2fx the textbook (geometric mean), at least %.2fx (%s); a sample of 0.01: error %.4f in the mean\n",
        exp(sum / n), least, who, error / n}' "$work/reuse.csv"
[ $no_write = 1 ] || put_rows "$work/reuse.csv" tests/bench/reuse.csv
