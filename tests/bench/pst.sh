#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Size and speed of .pst on the samples, next to the baseline of bench_pst.c:
# records each at its fidelity arguments (samples/samples.list) and -O2, and
# takes the first 100 M accesses. Prints a table, and puts its rows into
# tests/bench/pst.csv in place of those of the same samples.
#
#   tests/bench/pst.sh [--samples a,b,c] [--no-write]
#
# samples/kinds.sh says which samples are affine.
set -eu
# shellcheck source=tests/script.sh
. "$(dirname "$0")/../script.sh"
no_write=0
read_options "samples= no-write" "$@"
build_release all bench_pst

one_sample()
{
    local name=$1
    compile "$2" "$work/$name"
    shift 2
    "$psnap" record --no-profile --trace "$work/$name.pst" -- "$work/$name" "$@" \
        > /dev/null 2>&1
    build/release/bench_pst "$work/$name.pst" | sed -n "s/^\\([^,]*\\),pst,/\\1,$(kind_of "$name"),/p"
    rm -f "$work/$name.pst"
}

{
    build/release/bench_pst -n 1000 | sed -n '1s/format/kind/p'
    each_sample fidelity one_sample
} > "$work/pst.csv"
column -s, -t "$work/pst.csv"
for kind in affine irregular; do
    awk -F, -v kind=$kind '$2 == kind {n++; s += log($8); if ($8 > m) {m = $8; who = $1}}
        END {if (n) printf "%s: %.3f of the baseline (geometric mean of %d), at most %.3f (%s)\n",
            kind, exp(s / n), n, m, who}' "$work/pst.csv"
done
[ $no_write = 1 ] || put_rows "$work/pst.csv" tests/bench/pst.csv
