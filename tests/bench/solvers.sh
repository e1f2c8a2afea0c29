#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What capture costs for programs of many short loops: the solvers of tests/bench/solvers (NAS BT,
# FT, LU and MG in class S; short.c and many.c, nothing but loops), each compiled with -O3 -g
# natively and by psnap cc. Prints a table; with --write also tests/bench/solvers.csv.
#
#   tests/bench/solvers.sh [--runs N] [--write]
#
# native_s and record_s are medians of N runs (5) of wall time, taken in turn, times is their quotient.
# It fails where the recorded program prints anything else or its profile is not valid.
set -eu
# shellcheck source=tests/script.sh
. "$(dirname "$0")/../script.sh"
runs=5 write=0
read_options "runs= write" "$@"
clang=${PSNAP_CLANG:-clang-19}
build_release all
recorder=("$psnap" record --force -o "$work/p.yaml" --)

one_solver()
{
    local name=$1 i
    "$clang" -O3 -g "tests/bench/solvers/$name.c" -o "$work/native" -lm
    "$psnap" cc -O3 -g "tests/bench/solvers/$name.c" -o "$work/$name" -lm
    "$work/native" > "$work/native.out"
    "${recorder[@]}" "$work/$name" > "$work/record.out"
    cmp "$work/native.out" "$work/record.out" >&2
    "$psnap" check "$work/p.yaml" >&2
    rm -f "$work"/*.s
    for ((i = 0; i < runs; i++)); do
        seconds "$work/native.s" "$work/native"
        seconds "$work/record.s" "${recorder[@]}" "$work/$name"
    done
    echo "$name,$(median "$work/native.s"),$(median "$work/record.s")" |
        awk -F, '{printf "%s,%.1f\n", $0, $3 / $2}'
}

{
    echo program,native_s,record_s,times
    for name in bt ft lu mg short many; do one_solver $name; done
} > "$work/solvers.csv"
column -s, -t "$work/solvers.csv"
[ $write = 0 ] || cp "$work/solvers.csv" tests/bench/solvers.csv
