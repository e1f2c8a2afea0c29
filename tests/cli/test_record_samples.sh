#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The main job on every sample: compiled by psnap cc, recorded with its trace, its output as
# ever, the profile sound, equal in its totals to the trace, and comparable with it.
set -eu
. "$PSNAP_SOURCE/tests/cli/capture_common.sh"

samples=$PSNAP_SOURCE/samples

# check NAME FILE ARGUMENTS...; NAME.ok is left behind when all is well
check() {
    local name=$1 file=$2 language=cc native=${PSNAP_CC:-cc} accesses
    shift 2
    case $file in *.cpp) language=c++ native=${PSNAP_CXX:-c++} ;; esac
    $native -O1 -o "$name.native" "$samples/$file" -lm -pthread || fail "$name: native"
    "$PSNAP" $language -O2 -Wall -Wextra -Werror -o "$name" "$samples/$file" -lm -pthread ||
        fail "$name: does not compile"
    "./$name.native" "$@" > "$name.native.out"
    "./$name" "$@" > "$name.alone" || fail "$name: exit status $? alone"
    "$PSNAP" record --trace "$name.pst" -- "./$name" "$@" > "$name.out" 2> "$name.err" ||
        fail "$name: exit status $? recorded: $(cat "$name.err")"
    cmp "$name.native.out" "$name.out" || fail "$name: prints something else recorded"
    cmp "$name.native.out" "$name.alone" || fail "$name: prints something else alone"
    [ ! -s "$name.err" ] || fail "$name: $(cat "$name.err")"
    "$PSNAP" check "$name.psnap.yaml" > "$name.check" || fail "$name: $(cat "$name.check")"
    "$PSNAP" compare "$name.pst" "$name.psnap.yaml" -m table1-4 --json > "$name.json" 2> "$name.err" ||
        fail "$name: compare: $(cat "$name.err")"
    accesses=$("$PSNAP" info "$name.pst" --json | tr -d ' \n' | sed 's/.*"accesses":\([0-9]*\).*/\1/')
    "$PSNAP" info "$name.psnap.yaml" --json | tr -d ' \n' | grep -q "\"accesses\":$accesses\\b" ||
        fail "$name: the trace has $accesses accesses, the profile says otherwise"
    [ "$accesses" -gt 500000 ] || fail "$name: $accesses accesses"
    rm "$name.pst"
    touch "$name.ok"
}

names=
while read -r sample file arguments; do
    case $sample in '' | '#'*) continue ;; esac
    names="$names $sample"
    check "$sample" "$file" ${arguments%%|*} &
    while [ "$(jobs -pr | wc -l)" -ge 2 ]; do
        wait -n || true # whoever failed said so, and is missed below
    done
done < "$samples/samples.list"
wait || true
for sample in $names; do
    [ -e "$sample.ok" ] || fail "$sample failed"
done
[ "$(echo $names | wc -w)" -ge 20 ] || fail "samples.list: $names"

# What depends on another reference is sometimes replayed before that one is, and has an address all the same.
"$PSNAP" record -o early.yaml -- ./histogram 28125 4 > early.out
"$PSNAP" replay early.yaml -f csv -o early.csv 2> early.err
! grep -m 1 '^0xf' early.csv || fail 'a replay has an address beyond all'

python3 - *.json << 'END' || fail "compare: no good answer"
import json
import sys

for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as file:
        answer = json.load(file)
    summary = answer["summary"]
    assert answer["command"] == "compare" and answer["rows"], path
    for kind in ("mean_points", "max_points", "total_points"):
        assert summary[kind] and all(0 <= x <= 100 for x in summary[kind]), (path, kind)
END
schema=0
/usr/bin/python3 "$PSNAP_SOURCE/tests/schema_check.py" \
    "$PSNAP_SOURCE/profile/psnap-profile.schema.json" *.psnap.yaml > schema.out || schema=$?
[ $schema = 0 ] || [ $schema = 77 ] || fail "schema: $(head -n 20 schema.out)"
