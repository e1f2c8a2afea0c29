#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# How fast the repository of profiles is, and how small. Records each sample six times, with the first
# of its test arguments (samples/samples.list) whole and in parts of it, and makes N different
# profiles of these with psnap edit: padding before one of the arrays, another time of recording.
# Adds them all at once, lists, searches, gets, verifies; then a tenth of them into another repository one
# by one, a process each. Prints a table, and writes tests/bench/repo.csv.
#
#   tests/bench/repo.sh [--count N] [--samples a,b,c] [--keep DIR] [--no-write]
#
# N is 10000. DIR keeps the profiles, and has them for the next time. Times are wall clock.
set -eu
# shellcheck source=tests/script.sh
. "$(dirname "$0")/../script.sh"
no_write=0 count=10000 keep=""
read_options "count= samples= keep= no-write" "$@"
build_release all
profiles=${keep:-$work/profiles}
mkdir -p "$profiles"

record_sample()
{
    local name=$1 first=$3 part
    compile "$2" "$work/$name"
    shift 3
    for part in 16 15 13 11 10 9; do
        "$psnap" record --force -o "$profiles.bases/$name-$part.yaml" -- "$work/$name" $((first * part / 16)) "$@" \
            > /dev/null 2>&1 || rm -f "$profiles.bases/$name-$part.yaml"
    done
}

# one variant: BASE REGION PADDING SECONDS OUTPUT
vary()
{
    "$psnap" edit "$1" -o "$5" --set "program.recorded=$(date -u -d "@$4" +%FT%TZ)" -e "regions[$2].pad += $3" \
        2> /dev/null || "$psnap" edit "$1" -o "$5" --set "program.recorded=$(date -u -d "@$4" +%FT%TZ)"
}
export psnap
export -f vary

if [ "$(find "$profiles" -name '*.yaml' | wc -l)" != "$count" ]; then
    rm -f "$profiles"/*.yaml
    if [ ! -d "$profiles.bases" ]; then
        mkdir "$profiles.bases"
        each_sample test record_sample
    fi
    bases=("$profiles.bases"/*.yaml)
    for base in "${bases[@]}"; do
        grep -oE '(symbol|allocation): [^,}]+' "$base" | cut -d ' ' -f 2- | sort -u > "$base.regions" || true
    done
    for ((i = 0; i < count; i++)); do
        base=${bases[i % ${#bases[@]}]}
        mapfile -t regions < "$base.regions"
        region=none
        [ ${#regions[@]} = 0 ] || region=${regions[i / ${#bases[@]} % ${#regions[@]}]}
        printf '%s\0%s\0%s\0%s\0%s\0' "$base" "$region" $((64 * (1 + i / ${#bases[@]}))) \
            $((1700000000 + 61 * i)) "$profiles/$(printf %05d "$i").yaml"
    done | xargs -0 -n 5 -P "$(nproc)" bash -c 'vary "$@"' vary
fi

now()
{
    date +%s.%N
}

rows=()
row() # NAME VALUE UNIT
{
    rows+=("$1,$2,$3")
}
of() # EXPRESSION VARIABLES...: a number by awk
{
    local expression=$1
    shift
    awk "$@" "BEGIN { printf \"%.4g\", $expression }"
}

repo=$work/repo
ls "$profiles"/*.yaml > "$work/names"
yaml_bytes=$(cat "$profiles"/*.yaml | wc -c)
yaml_blocks=$(du -s --block-size=1 "$profiles" | cut -f 1)
"$psnap" repo init "$repo"

begin=$(now)
"$psnap" repo add "$repo" "$profiles"/*.yaml > "$work/ids"
end=$(now)
[ "$(sort -u "$work/ids" | wc -l)" = "$count" ] || { echo "not $count different profiles" >&2; exit 1; }
row profiles "$count" ""
row yaml_bytes "$yaml_bytes" bytes
row add_all "$(of n/t -v n="$count" -v t="$(of b-a -v a="$begin" -v b="$end")")" profiles/s

stored() # NAME: what the objects and dictionaries take
{
    local bytes blocks
    bytes=$(find "$repo" -path "$repo/cache" -prune -o -type f -printf '%s\n' | awk '{ s += $1 } END { print s }')
    blocks=$(du -s --block-size=1 --exclude=cache "$repo" | awk '{ s += $1 } END { print s }')
    row "ratio_bytes$1" "$(of y/b -v y="$yaml_bytes" -v b="$bytes")" times
    row "ratio_blocks$1" "$(of y/b -v y="$yaml_blocks" -v b="$blocks")" times
}
stored ""
row index_bytes "$(stat -c %s "$repo/cache/index.sqlite")" bytes

# the median of eleven
median() # NAME COMMAND...
{
    local name=$1 begin i
    shift
    for ((i = 0; i < 11; i++)); do
        begin=$(now)
        "$@" > /dev/null 2>&1
        of "(b-a)*1000" -v a="$begin" -v b="$(now)"
        echo
    done | sort -g | sed -n 6p > "$work/median"
    row "$name" "$(cat "$work/median")" ms
}
once() # NAME COMMAND...
{
    local name=$1 begin
    shift
    begin=$(now)
    "$@" > /dev/null 2>&1
    row "$name" "$(of b-a -v a="$begin" -v b="$(now)")" s
}
id=$(sed -n 5000p "$work/ids")
id=${id:-$(head -n 1 "$work/ids")}
median search_name "$psnap" repo search "$repo" name:spmv
median search_function "$psnap" repo search "$repo" 'function:multiply regions>10' working_set\>1M
median search_words "$psnap" repo search "$repo" spmv
median search_nothing "$psnap" repo search "$repo" name:nothing_has_this
median list_json "$psnap" repo list "$repo" --json
median get "$psnap" repo get "$repo" "$id"
once add_again "$psnap" repo add "$repo" "$profiles"/*.yaml
once verify "$psnap" repo verify "$repo"
rm -rf "$repo/cache"
once index_anew "$psnap" repo search "$repo" name:nothing_has_this
"$psnap" repo verify "$repo" > /dev/null

repo=$work/single
"$psnap" repo init "$repo"
few=$((count / 10))
begin=$(now)
head -n $few "$work/names" | while read -r name; do "$psnap" repo add "$repo" "$name"; done > /dev/null
row add_one_by_one "$(of n/t -v n=$few -v t="$(of b-a -v a="$begin" -v b="$(now)")")" profiles/s
yaml_bytes=$(head -n $few "$work/names" | xargs cat | wc -c)
yaml_blocks=$(head -n $few "$work/names" | xargs du --block-size=1 | awk '{ s += $1 } END { print s }')
stored _one_by_one

{
    echo what,value,unit
    printf '%s\n' "${rows[@]}"
} > "$work/repo.csv"
column -s, -t "$work/repo.csv"
[ $no_write = 1 ] || cp "$work/repo.csv" tests/bench/repo.csv
