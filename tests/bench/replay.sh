#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# How fast the samples' profiles are replayed into a sink of the same process (bench_replay.c):
# records each at its fidelity arguments (samples/samples.list) and -O2, with walks, and replays
# the whole of it. Prints a table, and puts its rows into tests/bench/replay.csv in place of
# those of the same samples.
#
#   tests/bench/replay.sh [--samples a,b,c] [--no-write]
#
# Processor time, the best of some passes. samples/kinds.sh says which samples are affine.
set -eu
. "$(dirname "$0")/../script.sh"
write=1
while [ $# -gt 0 ]; do
    case $1 in
    --samples) wanted=,$2, && shift ;;
    --no-write) write=0 ;;
    *) usage "$1" ;;
    esac
    shift
done

cmake --preset release > /dev/null
cmake --build --preset release > /dev/null
cmake --build --preset release --target bench_replay > /dev/null
psnap=$PWD/build/release/psnap
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

one_sample()
{
    local name=$1 file=$2 driver=cc kind=affine
    shift 2
    case $file in *.cpp) driver=c++ ;; esac
    [[ $irregular != *" $name "* ]] || kind=irregular
    "$psnap" $driver -O2 "samples/$file" -o "$work/$name" -lm -pthread
    "$psnap" record --force --model walks -o "$work/$name.yaml" -- "$work/$name" "$@" > /dev/null 2>&1
    build/release/bench_replay -n 1000000000000 "$work/$name.yaml" |
        awk -F, -v row="$name,$kind" 'NR > 1 { rate[$3] = $5; accesses = $4 }
            END { print row "," accesses "," rate["accesses"] "," rate["runs"] }'
}

{
    echo sample,kind,accesses,written_maccesses_per_s,runs_maccesses_per_s
    while read -r name file rest; do
        IFS='|' read -r _ fidelity _ <<< "$rest"
        # shellcheck disable=SC2086
        one_sample "$name" "$file" $fidelity < /dev/null
    done < <(wanted_samples)
} > "$work/replay.csv"
column -s, -t "$work/replay.csv"
for kind in affine:500 irregular:50; do
    awk -F, -v kind=${kind%:*} -v asked=${kind#*:} '$2 == kind && (!n++ || $4 < least) {least = $4; who = $1}
        END {if (n) printf "%s: at least %d M/s (%s); asked %d\n", kind, least, who, asked}' \
        "$work/replay.csv"
done
[ $write = 0 ] || put_rows "$work/replay.csv" tests/bench/replay.csv
