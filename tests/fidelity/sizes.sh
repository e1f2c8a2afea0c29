#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Sizes of profiles: how large those of the samples are, and what becomes of them with ten times
# the iterations and with ten times the data.
#
#   tests/fidelity/sizes.sh [--samples a,b,c] [--jobs N] [--quick] [--accept]
#
# Every sample is recorded (with nests, the default) with its arguments of the tests, with ten times the
# iterations and the data of these (sizes.list), and with those of fidelity (samples.list). Prints
# the table, and fails when a profile is more than 1/20 and 1 KB larger than the committed
# sizes.csv says, or a ratio more than 1/20 worse and above 1.5. --accept writes sizes.csv and
# sizes.md instead, with --samples the lines of these. --quick leaves the arguments of fidelity out.
# PSNAP is the psnap to take (else one is built). Takes some minutes.
set -eu
# shellcheck source=tests/script.sh
. "$(dirname "$0")/../script.sh"
jobs=$(nproc) quick=0 accept=0 mode=check
read_options "samples= jobs= quick accept" "$@"
[ $accept = 0 ] || mode=accept
psnap=${PSNAP-}
[ -n "$psnap" ] || build_release all
export_compile

# NAME FILE WHAT ARGUMENTS...: leaves NAME.WHAT, the size of its profile in bytes
one_profile()
{
    local name=$1 what=$3
    mkdir "$work/$name.$what.d" && cd "$work/$name.$what.d"
    compile "$2" "$name"
    shift 3
    if "$psnap" record -o profile.yaml -- "./$name" "$@" > /dev/null 2> err; then
        stat -c %s profile.yaml > "$work/$name.$what"
    else
        cat err >&2
    fi
    cd / && rm -r "$work/$name.$what.d"
}
export -f one_profile

# NAME FILE ARGUMENTS: what one_profile is to do with those of fidelity
put_full()
{
    echo "$1" "$2" full "${@:3}"
}

# The same with those of the tests, and of sizes.list
put_cases()
{
    local name=$1 file=$2 line iterations data base
    shift 2
    line=$(grep "^$name " tests/fidelity/sizes.list) || return 0 # which sizes.py says
    IFS='|' read -r _ iterations data base <<< "$line"
    # unquoted: xargs goes on in the next line behind a blank
    # shellcheck disable=SC2086
    {
        echo "$name" "$file" base ${base:-$*}
        echo "$name" "$file" iterations $iterations
        echo "$name" "$file" data $data
    }
}

# The longest ones first.
{
    [ $quick = 1 ] || each_sample fidelity put_full
    each_sample test put_cases
} |
    xargs -r -P "$jobs" -L 1 bash -c 'one_profile "$@"' one_profile
extent=some names=${samples//,/ }
[ -n "$samples" ] || { extent=all && names=$(each_sample test echo | cut -d' ' -f1); }
# shellcheck disable=SC2086
/usr/bin/python3 tests/fidelity/sizes.py "$mode" "$work" $extent $names
