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
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
jobs=$(nproc) mode=check wanted="" quick=""
while [ $# -gt 0 ]; do
    case $1 in
    --samples) wanted=,$2, && shift ;;
    --jobs) jobs=$2 && shift ;;
    --quick) quick=1 ;;
    --accept) mode=accept ;;
    *)
        sed -n '3,16s/^# \{0,1\}//p' "$0"
        [ "$1" = --help ] && exit 0
        exit 2
        ;;
    esac
    shift
done
if [ -z "${PSNAP-}" ]; then
    cmake --preset release -S "$root" > /dev/null
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
    [ -z "$wanted" ] || [[ $wanted == *,$name,* ]] || continue
    IFS='|' read -r tests fidelity _ <<< "$rest"
    IFS='|' read -r _ iterations data base < <(grep "^$name " "$here/sizes.list")
    # unquoted: xargs goes on in the next line behind a blank
    # shellcheck disable=SC2086
    {
        echo "$name" "$file" base ${base:-$tests}
        echo "$name" "$file" iterations $iterations
        echo "$name" "$file" data $data
        [ -n "$quick" ] || echo "$name" "$file" full $fidelity
    }
done < <(grep -v -e '^#' -e '^ *$' "$root/samples/samples.list") |
    xargs -P "$jobs" -L 1 bash -c 'one_profile "$@"' one_profile
/usr/bin/python3 "$here/sizes.py" "$mode" "$work" "${wanted//,/ }"
