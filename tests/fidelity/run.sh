#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Fidelity: how far the replayed streams of the samples' profiles are from the
# observed ones, in the caches of the ten structures of PSnAP's evaluation.
#
#   tests/fidelity/run.sh [--model nests|psnap] [--samples a,b,c] [--jobs N] [--quick] [--accept]
#
# Every sample is compiled by psnap cc -O2, recorded with a trace, profiled (of model
# nests, the default, unless said; psnap is the published one), and compared: mean absolute
# differences of cumulative hit rates over all relevant loops and structures, in points, as in
# PSnAP's Table 2; but for psnap also on four machines of other kinds, that no model was tuned
# on. Prints the table, and fails when a row (sample, structure, loop, level) is worse
# than the committed MODEL.csv says by more than 0.05 points. --accept writes MODEL.csv and MODEL.md
# instead, with --samples the lines of these. --quick takes the small arguments of the tests and compares with nothing. Everything here is
# deterministic; a full run takes half an hour and about 300 MB of space for a trace at a time.
set -eu
# shellcheck source=tests/script.sh
. "$(dirname "$0")/../script.sh"
jobs=$(nproc) model=nests quick=0 accept=0
read_options "samples= jobs= model= quick accept" "$@"
mode=check arguments=fidelity
[ $accept = 0 ] || mode=accept
[ $quick = 0 ] || mode=print arguments=test
build_release all
export_compile
export model irregular

# NAME FILE ARGUMENTS: leaves NAME.json and NAME.yaml in $work
one_sample()
{
    local name=$1 machines="" i
    compile "$2" "$work/$name"
    shift 2
    for i in 1 2 3 4 5 6 7 8 9 10; do machines="$machines -m table1-$i"; done
    # shellcheck disable=SC2086
    "$psnap" record --no-profile --trace "$work/$name.pst" -- "$work/$name" "$@" > /dev/null &&
        "$psnap" profile "$work/$name.pst" --model "$model" -o "$work/$name.yaml" 2> /dev/null &&
        "$psnap" compare "$work/$name.pst" "$work/$name.yaml" $machines --json > "$work/$name.json"
    if [ "$model" != psnap ]; then
        "$psnap" compare "$work/$name.pst" "$work/$name.yaml" -m plru-3 -m random-3 \
            -m prefetch-3 -m tlb-64 --json > "$work/$name.others"
    fi
    rm -f "$work/$name.pst" "$work/$name"
}
export -f one_sample

each_sample $arguments echo |
    xargs -r -P "$jobs" -L 1 bash -c 'one_sample "$@"' one_sample
/usr/bin/python3 tests/fidelity/table.py "$model" "$mode" "$work" "$([ -z "$samples" ] && echo all || echo some)"
