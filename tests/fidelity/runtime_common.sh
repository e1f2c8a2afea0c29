#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What runtime.sh and runtime_openmp.sh share: they source script.sh, then this with their arguments,
# and define `build NAME FILE`, which leaves NAME, a native program, and NAME.psnap, an instrumented
# one; `predict ROW NAME`, which predicts the trace ROW.pst and leaves ROW.json last, or several such;
# and `commands ROW NAME ARGUMENTS`, which prints what is to be timed, a line "ROW COMMAND..." each.
#
# shellcheck disable=SC2034,SC2154 # of script.sh, and for the scripts
machine="" rounds=7 keep="" accept=0 jobs=1
read_options "samples= machine= rounds= keep= jobs= accept" "$@"
psnap=${PSNAP-}
[ -n "$psnap" ] || build_release all
clang=$(command -v clang-19 || command -v clang)
[ -z "$keep" ] || { mkdir -p "$keep" && keep=$(realpath "$keep"); }
[ -z "$machine" ] || machine=$(realpath "$machine")
cd "${keep:-$work}" || exit
if [ -z "$machine" ]; then
    machine=$PWD/host.yaml
    [ -e "$machine" ] || "$psnap" machine host -o "$machine"
fi

# one_sample NAME FILE SIZES: what the list says of a sample, up to predictions. In a folder that was
# kept, what is there is taken.
one_sample()
{
    local name=$1 size=0 arguments sizes row
    [ -e "$name.psnap" ] || build "$name" "$2"
    IFS='|' read -r -a sizes <<< "$3"
    for arguments in "${sizes[@]}"; do
        size=$((size + 1))
        row=$name.$size
        # shellcheck disable=SC2086
        [ -e "$row.pst" ] || [ -e "$row.done" ] ||
            "$psnap" record --no-profile --trace "$row.pst" -- "./$name.psnap" $arguments > "$row.out"
        [ -e "$row.done" ] || predict "$row" "$name"
        touch "$row.done"
        [ -n "$keep" ] || rm -f "$row.pst"
    done
}

# measure LIST CSV: all samples of a list, so many at a time; then the native programs, alone.
measure()
{
    local name file sizes size arguments mode=show
    while read -r name file sizes; do
        case $name in "" | "#"*) continue ;; esac
        ! is_wanted "$name" || printf '%s\0%s\0%s\0' "$name" "$file" "$sizes"
    done < "$root/tests/fidelity/$1" > wanted
    export psnap root clang machine keep
    export -f build predict one_sample compile
    xargs -0 -r -P "$jobs" -n 3 bash -euc 'one_sample "$@"' one_sample < wanted
    while IFS= read -r -d '' name && IFS= read -r -d '' file && IFS= read -r -d '' sizes; do
        size=0
        IFS='|' read -r -a arguments <<< "$sizes"
        for each in "${arguments[@]}"; do
            size=$((size + 1))
            # shellcheck disable=SC2086
            commands "$name.$size" "$name" $each
        done
    done < wanted > rows
    [ "$accept" = 0 ] || mode=accept
    /usr/bin/python3 "$root/tests/fidelity/runtime.py" "$mode" . "$rounds" "$2"
}
