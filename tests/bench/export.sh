#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# How fast the samples' profiles are replayed into each format that can be written: through
# psnap replay -f FORMAT > /dev/null, and through psnap run -f FORMAT -- cat, in millions of
# accesses of the program for each second of processor time, the median of three runs. That of run
# includes cat's, and the system's for the pipe between them.
# Formats for simulators of memories are measured behind their machine, as they are by default, and
# with -m none. Prints a table, and puts its rows into tests/bench/export.csv in place of those of
# the same samples.
#
#   tests/bench/export.sh [--samples a,b,c] [--formats a,b,c] [--count N] [--no-write]
#
# Samples are matmul and cg unless said, one affine and one irregular; N is 3,000,000.
set -eu
# shellcheck source=tests/script.sh
. "$(dirname "$0")/../script.sh"
no_write=0 formats="" count=3000000
read_options "samples= formats= count= no-write" "$@"
samples=${samples:-matmul,cg}
build_release all

# median COMMAND...: nanoseconds
median()
{
    local TIMEFORMAT="%U %S" i
    for i in 1 2 3; do
        { time "$@" 2> "$work/err"; } 2>&1
    done | awk '{ printf "%d\n", ($1 + $2) * 1e9 }' | sort -n | sed -n 2p
}

replay()
{
    "$psnap" replay "$@" --count "$count" > /dev/null
}

run()
{
    "$psnap" run "$@" --count "$count" -- cat > /dev/null
}

# one_format PROFILE ROW FORMAT MACHINE [OPTIONS]
one_format()
{
    local profile=$1 row=$2 format=$3 machine=$4 n
    shift 4
    n=$("$psnap" check "$profile" | sed 's/.* \([0-9,]*\) accesses.*/\1/; s/,//g')
    n=$((n < count ? n : count))
    "$psnap" replay "$profile" -f "$format" "$@" --count 1000000 -o "$work/part" --force 2> "$work/err"
    awk -v row="$row,$format,$machine" -v n="$n" -v bytes="$(stat -c %s "$work/part")" \
        -v replay="$(median replay "$profile" -f "$format" "$@")" \
        -v run="$(median run "$profile" -f "$format" "$@")" 'BEGIN {
            printf "%s,%.2f,%.1f,%.1f\n", row, bytes / 1000000, n / replay * 1000, n / run * 1000 }'
}

one_sample()
{
    local name=$1 format
    compile "$2" "$work/$name"
    shift 2
    "$psnap" record --force -o "$work/$name.yaml" -- "$work/$name" "$@" > /dev/null 2>&1
    for format in $("$psnap" formats | awk 'NR > 1 && /write/ {print $1}'); do
        [ -z "$formats" ] || [[ ,$formats, == *,$format,* ]] || continue
        case $format in
        ramulator* | dramsim3)
            one_format "$work/$name.yaml" "$name-$format,$name" "$format" i7-5960x
            one_format "$work/$name.yaml" "$name-$format-raw,$name" "$format" none -m none
            ;;
        *) one_format "$work/$name.yaml" "$name-$format,$name" "$format" none ;;
        esac
    done
}

{
    echo row,sample,format,machine,bytes_per_access,replay_maccesses_per_s,run_maccesses_per_s
    each_sample fidelity one_sample
} > "$work/export.csv"
column -s, -t "$work/export.csv"
[ $no_write = 1 ] || put_rows "$work/export.csv" tests/bench/export.csv
