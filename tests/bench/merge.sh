#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# How long psnap merge takes for the profiles of a parallel job: those of spmv for so many ranks (4096),
# of which every hundredth is of another size. Asked is less than a minute. Prints CSV, and puts it into
# tests/bench/merge.csv.
#
#   tests/bench/merge.sh [--ranks N] [--no-write]
set -eu
# shellcheck source=tests/script.sh
. "$(dirname "$0")/../script.sh"
ranks=4096 no_write=0
read_options "ranks= no-write" "$@"
build_release all
compile spmv.c "$work/spmv"
for rows in 20000 22000; do
    "$psnap" record -o "$work/$rows.yaml" -- "$work/spmv" $rows 4 > "$work/log" 2>&1
done
mkdir "$work/ranks"
for ((i = 0; i < ranks; i++)); do
    sed "s/thread: all/rank: $i, ranks: $ranks, thread: all/" "$work/$((i % 100 ? 20000 : 22000)).yaml" \
        > "$work/ranks/$i.yaml"
done
begin=$(date +%s%N)
"$psnap" merge "$work"/ranks/*.yaml -o "$work/merged.yaml" > "$work/table"
end=$(date +%s%N)
[ "$(grep -c '^ *[0-9]' "$work/table")" = 2 ] || { cat "$work/table" >&2; exit 1; }
{
    echo "ranks,bytes,seconds"
    echo "$ranks,$(cat "$work"/ranks/*.yaml | wc -c),$(awk "BEGIN { printf \"%.2f\", ($end - $begin) / 1e9 }")"
} > "$work/merge.csv"
cat "$work/merge.csv"
[ $no_write = 1 ] || cp "$work/merge.csv" tests/bench/merge.csv
