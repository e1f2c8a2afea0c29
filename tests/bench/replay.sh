#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# How fast the samples' profiles are replayed into a sink of the same process (bench_replay.c):
# records each at its fidelity arguments (samples/samples.list) and -O2, with nests, the default, and replays
# the whole of it. Prints a table, and puts its rows into tests/bench/replay.csv in place of
# those of the same samples.
#
#   tests/bench/replay.sh [--samples a,b,c] [--no-write]
#
# Processor time, the best of some passes. samples/kinds.sh says which samples are affine.
set -eu
# shellcheck source=tests/script.sh
. "$(dirname "$0")/../script.sh"
no_write=0
read_options "samples= no-write" "$@"
build_release all bench_replay

one_sample()
{
    local name=$1
    compile "$2" "$work/$name"
    shift 2
    "$psnap" record --force -o "$work/$name.yaml" -- "$work/$name" "$@" > /dev/null 2>&1
    build/release/bench_replay -n 1000000000000 "$work/$name.yaml" |
        awk -F, -v row="$name,$(kind_of "$name")" 'NR > 1 { rate[$3] = $5; accesses = $4 }
            END { print row "," accesses "," rate["accesses"] "," rate["runs"] }'
}

{
    echo sample,kind,accesses,written_maccesses_per_s,runs_maccesses_per_s
    each_sample fidelity one_sample
} > "$work/replay.csv"
column -s, -t "$work/replay.csv"
for kind in affine:500 irregular:50; do
    awk -F, -v kind=${kind%:*} -v asked=${kind#*:} '$2 == kind && (!n++ || $4 < least) {least = $4; who = $1}
        END {if (n) printf "%s: at least %d M/s (%s); asked %d\n", kind, least, who, asked}' \
        "$work/replay.csv"
done
[ $no_write = 1 ] || put_rows "$work/replay.csv" tests/bench/replay.csv
