#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What the scripts of tests/bench and tests/fidelity share; they source it first. Goes to the
# project's root. Theirs become: `psnap`, the program, `work`, a folder that goes with the script,
# and the variables of their options. PSNAP, the psnap to take, may be a path from where they were called.
script=$(realpath "$0")
[ -z "${PSNAP-}" ] || PSNAP=$(realpath "$(command -v "$PSNAP" || echo "$PSNAP")")
cd "$(dirname "$script")/../.." || exit
# shellcheck source=samples/kinds.sh
. samples/kinds.sh
root=$PWD
samples="" # that are wanted, "a,b,c"; all of them when empty
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# usage OPTION: the top comment of the script, as asked for or because of a wrong option
usage()
{
    sed -n '4,/^[^#]/s/^# \{0,1\}//p' "$script"
    [ "$1" = --help ] && exit 0
    exit 2
}

# read_options "NAME= NAME..." ARGUMENTS...: variables of these names (no_write of no-write)
# become what follows the option or, without =, 1
read_options()
{
    local known=" $1 " name
    shift
    while [ $# -gt 0 ]; do
        name=${1#--}
        case "$1,$#,$known" in
        --*,1,*" $name= "*) usage "$1" ;;
        --*,*" $name= "*) printf -v "$name" %s "$2" && shift ;;
        --*,*" $name "*) printf -v "${name//-/_}" 1 ;;
        *) usage "$1" ;;
        esac
        shift
    done
}

# build_release TARGET...
build_release()
{
    local target
    cmake --preset release > /dev/null
    for target; do cmake --build --preset release --target "$target" > /dev/null; done
    psnap=$root/build/release/psnap
}

# compile FILE PROGRAM: a sample, instrumented. With export_compile for programs of ours too.
compile()
{
    local driver=cc
    case $1 in *.cpp) driver=c++ ;; esac
    "$psnap" $driver -O2 "$root/samples/$1" -o "$2" -lm -pthread
}
export_compile()
{
    export psnap root work
    export -f compile
}

# kind_of NAME: affine or irregular
kind_of()
{
    # shellcheck disable=SC2154 # samples/kinds.sh
    if [[ $irregular == *" $1 "* ]]; then echo irregular; else echo affine; fi
}

# is_wanted NAME
is_wanted()
{
    [ -z "$samples" ] || [[ ,$samples, == *,$1,* ]]
}

# each_sample test|fidelity|bench COMMAND...: COMMAND NAME FILE ARGUMENTS... of each that is
# wanted, with these of its arguments
each_sample()
{
    local field=$1 name file rest test fidelity bench
    shift
    while read -r name file rest; do
        # shellcheck disable=SC2034 # one of them is used
        IFS='|' read -r test fidelity bench <<< "$rest"
        # shellcheck disable=SC2086
        ! is_wanted "$name" || "$@" "$name" "$file" ${!field} < /dev/null
    done < <(grep -v -e '^#' -e '^ *$' samples/samples.list)
}

# seconds FILE COMMAND...: its wall time, appended to the file
seconds()
{
    local to=$1 start end
    shift
    start=$EPOCHREALTIME
    "$@" > /dev/null
    end=$EPOCHREALTIME
    echo "$start $end" | awk '{printf "%.4f\n", $2 - $1}' >> "$to"
}

# median FILE: of the numbers in it
median()
{
    sort -n "$1" | awk '{v[NR] = $1} END {print v[int((NR + 1) / 2)]}'
}

# put_rows FILE CSV: the rows of FILE into CSV in place of those of the same samples, sorted; where
# they have other columns nothing is written
put_rows()
{
    local all
    [ -e "$2" ] || head -n 1 "$1" > "$2"
    if [ "$(head -n 1 "$1")" != "$(head -n 1 "$2")" ]; then
        echo "$2 has the columns '$(head -n 1 "$2")', the new rows '$(head -n 1 "$1")': remove it" >&2
        return 1
    fi
    all=$(awk -F, 'FNR == 1 {if (NR == 1) print; next} !seen[$1]++' "$1" "$2")
    { head -n 1 <<< "$all" && tail -n +2 <<< "$all" | sort; } > "$2"
}
