#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What the scripts of tests/bench and tests/fidelity share; they source it first. Goes to the
# project's root.
script=$(realpath "$0")
cd "$(dirname "$script")/../.."
. samples/kinds.sh
wanted="" # samples, ",a,b,c"; all of them when empty

# usage OPTION: the top comment of the script, as asked for or because of a wrong option
usage()
{
    sed -n '4,/^[^#]/s/^# \{0,1\}//p' "$script"
    [ "$1" = --help ] && exit 0
    exit 2
}

# wanted_samples: "NAME FILE TEST_ARGS | FIDELITY_ARGS | BENCH_ARGS" of each
wanted_samples()
{
    local name rest
    while read -r name rest; do
        [ -n "$wanted" ] && [[ $wanted != *,$name,* ]] || echo "$name $rest"
    done < <(grep -v -e '^#' -e '^ *$' samples/samples.list)
}

# put_rows FILE CSV: the rows of FILE into CSV in place of those of the same samples, sorted
put_rows()
{
    local all
    [ -e "$2" ] || head -n 1 "$1" > "$2"
    all=$(awk -F, 'FNR == 1 {if (NR == 1) print; next} !seen[$1]++' "$1" "$2")
    { head -n 1 <<< "$all" && tail -n +2 <<< "$all" | sort; } > "$2"
}
