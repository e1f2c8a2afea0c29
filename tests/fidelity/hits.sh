#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Predicted hit rates against simulated ones: all samples, by SDCM and per set, on the three machines
# of PPT-Multicore and on two structures of few ways.
#
#   tests/fidelity/hits.sh [--samples a,b,c] [--jobs N] [--accept]
#
# Each sample is traced with its arguments of the tests, and those of hits.list, whose strides are powers
# of two, SDCM's worst case. Prints errors of cumulative hit rates in points, of the whole stream
# and in the mean over loops with 0.5 % of the accesses; --accept writes hits.csv. PSNAP is the psnap to
# take (else one is built). Takes some minutes.
set -eu
# shellcheck source=tests/script.sh
. "$(dirname "$0")/../script.sh"
jobs=$(nproc) accept=0
read_options "samples= jobs= accept" "$@"
psnap=${PSNAP-}
[ -n "$psnap" ] || build_release all
export_compile

# NAME FILE ARGUMENTS...: leaves NAME.json
one_sample()
{
    mkdir "$work/$1.d" && cd "$work/$1.d"
    compile "$2" prog
    "$psnap" record --no-profile --trace prog.pst -- ./prog "${@:3}" > record.out
    "$psnap" predict cache prog.pst -m i7-5960x -m e5-2699v4 -m epyc-7702p -m table1-3 -m table1-4 \
        --json > "$work/$1.json"
    cd / && rm -r "$work/$1.d"
}
export -f one_sample

{
    each_sample test echo
    grep -v '^#' tests/fidelity/hits.list | while read -r name rest; do
        ! is_wanted "${name%-*}" || echo "$name $rest"
    done
} | xargs -r -P "$jobs" -L 1 bash -c 'one_sample "$@"' one_sample
/usr/bin/python3 tests/fidelity/hits.py "$accept" "$work"/*.json
