#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Sizes of profiles: how large those of the samples are, and what becomes of them with ten times
# the iterations and with ten times the data.
#
#   tests/fidelity/sizes.sh [--samples a,b,c] [--jobs N] [--quick] [--accept]
#
# Every sample is recorded (--model walks) with its arguments of the tests, with ten times the
# iterations and the data of these (sizes.list), and with those of fidelity (samples.list). Prints
# the table, and fails when a profile is more than 1/20 and 1 KB larger than the committed
# sizes.csv says, or a ratio more than 1/20 worse and above 1.5. --accept writes sizes.csv and
# sizes.md instead, with --samples the lines of these. --quick leaves the arguments of fidelity out.
# PSNAP is the psnap to take (else one is built). Takes some minutes.
set -eu
. "$(dirname "$0")/../script.sh"
jobs=$(nproc) mode=check quick="" root=$PWD
while [ $# -gt 0 ]; do
    case $1 in
    --samples) wanted=,$2, && shift ;;
    --jobs) jobs=$2 && shift ;;
    --quick) quick=1 ;;
    --accept) mode=accept ;;
    *) usage "$1" ;;
    esac
    shift
done
if [ -z "${PSNAP-}" ]; then
    cmake --preset release > /dev/null
    cmake --build --preset release > /dev/null
    PSNAP=$root/build/release/psnap
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PSNAP work root

# NAME FILE WHAT ARGUMENTS...: leaves NAME.WHAT, the size of its profile in bytes
one_profile()
{
    local name=$1 what=$3 driver=cc
    case $2 in *.cpp) driver=c++ ;; esac
    mkdir "$work/$name.$what.d" && cd "$work/$name.$what.d"
    "$PSNAP" $driver -O2 "$root/samples/$2" -o "$name" -lm -pthread
    shift 3
    if "$PSNAP" record --model walks -o profile.yaml -- "./$name" "$@" > /dev/null 2> err; then
        stat -c %s profile.yaml > "$work/$name.$what"
    else
        cat err >&2
    fi
    cd / && rm -r "$work/$name.$what.d"
}
export -f one_profile

while read -r name file rest; do
    IFS='|' read -r tests fidelity _ <<< "$rest"
    line=$(grep "^$name " tests/fidelity/sizes.list) || continue # which sizes.py says
    IFS='|' read -r _ iterations data base <<< "$line"
    # unquoted: xargs goes on in the next line behind a blank
    # shellcheck disable=SC2086
    {
        echo "$name" "$file" base ${base:-$tests}
        echo "$name" "$file" iterations $iterations
        echo "$name" "$file" data $data
        [ -n "$quick" ] || echo "$name" "$file" full $fidelity
    }
done < <(wanted_samples) |
    xargs -r -P "$jobs" -L 1 bash -c 'one_profile "$@"' one_profile
extent=some names=${wanted//,/ }
[ -n "$wanted" ] || { extent=all && names=$(wanted_samples | cut -d' ' -f1); }
# shellcheck disable=SC2086
/usr/bin/python3 tests/fidelity/sizes.py "$mode" "$work" $extent $names
