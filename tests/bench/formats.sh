#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# How fast the readers of trace formats are (bench_formats.c, which says what is measured how), from
# the page cache, reading alone. Prints a table, and writes it to tests/bench/formats.csv.
#
#   tests/bench/formats.sh [--accesses N] [--runs N] [--no-write]
#
# 5 M accesses, the medians of 5 runs. Run it alone on the machine.
set -eu
# shellcheck source=tests/script.sh
. "$(dirname "$0")/../script.sh"
no_write=0 accesses=5000000 runs=5
read_options "accesses= runs= no-write" "$@"
build_release bench_formats
build/release/bench_formats "$work" "$accesses" "$runs" > "$work/formats.csv"
column -s, -t "$work/formats.csv"
awk -F, 'NR > 1 && $2 == "text" && $8 < 150 {print $1 ": less than 150 MB/s"}
    NR > 1 && $2 == "binary" && $1 != "pst" && $7 < 100 && $8 < $9 / 4 {
        print $1 ": less than 100 M records/s, and than a quarter of the speed of memory"}' "$work/formats.csv"
[ $no_write = 1 ] || cp "$work/formats.csv" tests/bench/formats.csv
