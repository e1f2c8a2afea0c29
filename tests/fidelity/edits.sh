#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Edits against reality: how far the replayed stream of an edited profile is from a recording of the
# program changed in its source in the same way, in the caches of the ten structures of PSnAP's
# evaluation.
#
#   tests/fidelity/edits.sh [--samples a,b,c] [--kinds span,stride] [--accept] [--psnap FILE]
#
# edits.list has the samples and changes. Samples are compiled without vectorisation: an access of
# two elements at once cannot be spread, nor one of all that memset sets. Prints errors of cumulative hit rates in points at levels 1
# to 3: of the whole stream (mean over structures) before the edit and after it, then the mean over
# loops, and the largest of a loop.
# Fails when the whole stream of a row is more than 1 point off where the program is regular, 3 where
# it is not. --accept writes edits.csv, and edits.md with the rows that are not 0.
set -eu
# shellcheck source=tests/script.sh
. "$(dirname "$0")/../script.sh"
accept=0 kinds="" psnap=""
given=""
read_options "samples= kinds= psnap= accept" "$@"
given=$psnap
if [ -z "$given" ]; then build_release psnap; else psnap=$(realpath "$given"); fi
table=$work/table.csv
echo "sample,kind,nature,before_1,before_2,before_3,total_1,total_2,total_3,mean_1,mean_2,mean_3,largest_1,largest_2,largest_3" > "$table"

# build SED OUT: the sample $name, changed
build()
{
    cp samples/sample.h "$work/"
    sed -e "$1" "samples/$name.c" > "$work/$name.c"
    "$psnap" cc -O2 -fno-builtin -fno-vectorize -fno-slp-vectorize "$work/$name.c" -o "$2" -lm 2> "$work/log" ||
        { cat "$work/log" >&2; return 1; }
}

row()
{
    local name=$1 kind=$2 nature=$3 before=$4 after=$5 script=$6 options=$7
    mkdir -p "$work/run"
    build "" "$work/run/$name" || return 1
    # shellcheck disable=SC2086
    (cd "$work/run" && "$psnap" record --force --trace "$work/before.pst" -o "$work/before.yaml" -- \
        "./$name" $before) > /dev/null 2>&1
    "$psnap" compare "$work/before.pst" "$work/before.yaml" --json > "$work/before.json"
    "$psnap" edit "$work/before.yaml" -o "$work/edited.yaml" --force -e "$options" || return 1
    "$psnap" check "$work/edited.yaml" > /dev/null || return 1
    build "$script" "$work/run/$name" || return 1
    rm -f "$work/after.pst"
    # shellcheck disable=SC2086
    (cd "$work/run" && "$psnap" record --no-profile --trace "$work/after.pst" -- "./$name" $after) > /dev/null
    "$psnap" compare "$work/after.pst" "$work/edited.yaml" --json > "$work/compare.json"
    python3 - "$work/before.json" "$work/compare.json" "$name,$kind,$nature" <<'END'
import json
import sys

before, after = [json.load(open(path))["summary"] for path in sys.argv[1:3]]
rows = [before["total_points"]] + [after[k + "_points"] for k in ("total", "mean", "max")]
rows = [row + [0] * (3 - len(row)) for row in rows]
print(sys.argv[3] + "," + ",".join("%.2f" % x for row in rows for x in row))
END
}

failed=0
while IFS='|' read -r name kind nature before after script options; do
    read -r name <<< "$name"
    read -r kind <<< "$kind"
    read -r nature <<< "$nature"
    is_wanted "$name" || continue
    [ -z "$kinds" ] || [[ ,$kinds, == *,$kind,* ]] || continue
    if ! line=$(row "$name" "$kind" "$nature" "$before" "$after" "$script" "$options" < /dev/null); then
        echo "$name $kind: failed" >&2
        failed=1
        continue
    fi
    echo "$line" | tee -a "$table"
done < <(grep -v -e '^#' -e '^ *$' tests/fidelity/edits.list)

awk -F, 'NR > 1 {
    most = $3 == "regular" ? 1 : 3
    for (i = 7; i < 10; i++)
        if ($i > most) { print $1, $2 ": " $i " points off at level " i - 6; bad = 1; break }
} END { exit bad }' "$table" || failed=1
if [ $accept = 1 ]; then
    cp "$table" tests/fidelity/edits.csv
    awk -F, '
        function levels(first) { return $first "/" $(first + 1) "/" $(first + 2) }
        BEGIN {
            print "Points at levels 1/2/3 by which edited profiles are off (tests/fidelity/edits.sh --accept wrote this):\n"
            print "| sample, edit | stream before | stream | loops, mean | largest |\n|---|---|---|---|---|"
        }
        NR == 1 { next }
        /^[^,]*,[^,]*,[^,]*(,0\.00)+$/ { exact = exact ", " $1 " " $2; next }
        { print "| " $1 " " $2 " | " levels(4) " | " levels(7) " | " levels(10) " | " levels(13) " |" }
        END { print "\nExact to 0.005 points: " substr(exact, 3) "." }' "$table" > tests/fidelity/edits.md
    exit 0
fi
exit $failed
