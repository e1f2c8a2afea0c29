#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# psnap show: a profile for people, and as JSON.
set -eu
. "$PSNAP_SOURCE/tests/cli/common.sh"
golden=$PSNAP_SOURCE/tests/golden/profile.psnap.yaml

expect 0 "$PSNAP" show "$golden"
grep -q '^program    t (./t 1)$' out
grep -q '^accesses   29 in 2 loops, 192 B$' out
grep -q '20 loads, 9 stores' out
grep -q 'fp_add 8' out
# hottest first
[ "$(grep -n '^sum ' out | cut -d: -f1)" -lt "$(grep -n '^init ' out | cut -d: -f1)" ]
grep -q '^init *dir:1/t.c:7 *8 *27.6 % *1 *64 B *8 100 %' out
expect 0 "$PSNAP" show "$golden" --top 1
if grep -q '^init ' out; then fail "--top 1: $(cat out)"; fi
grep -q '(1 of 2 loops; --top N shows more)' out

expect 0 "$PSNAP" show "$golden" --loop sum
grep -q '^nest       depth 2, in init$' out
grep -q '^iterations 20, 5 per entry$' out
grep -q '^a .*stack-512 .*random 60 %, 0 40 %' out
"$PSNAP" show - < "$golden" > piped
grep -q '^program    t' piped

expect 0 "$PSNAP" show "$golden" --json
cp out show.json
if /usr/bin/python3 -c '' 2> /dev/null; then
    /usr/bin/python3 - << 'PYTHON'
import json
report = json.load(open("show.json"))
assert report["psnap"] == 1 and report["command"] == "show"
assert report["accesses"] == 29 and report["bytes"] == 192
assert [loop["id"] for loop in report["loops"]] == ["sum", "init"]
assert report["loops"][0]["strides"] == {"0": 13, "random": 6}
assert report["loops"][0]["parent"] == "init"
assert abs(report["loops"][1]["share"] - 8 / 29) < 1e-12
PYTHON
fi
expect 0 "$PSNAP" show "$golden" --json --loop sum
grep -q '"regions"' out

expect 1 "$PSNAP" show "$golden" --loop nothing
grep -q "no loop 'nothing'" err
expect 1 "$PSNAP" show missing.yaml
expect 2 "$PSNAP" show

# a loop of the source is all its parts; a slip is named; ids of templates are cut in the middle
sed 's/^- id: sum$/- id: sum:9.vector\n  part_of: sum:9/; s/\[sum, init\]/[sum:9.vector, init]/' "$golden" > parts.yaml
expect 0 "$PSNAP" check parts.yaml
expect 0 "$PSNAP" show parts.yaml --loop sum:9
grep -q '^loop       sum:9.vector, part of sum:9$' out
expect 1 "$PSNAP" show parts.yaml --loop sum:8.vector
grep -q "no loop 'sum:8.vector' in 'parts.yaml'; did you mean 'sum:9.vector'?" err
x=$(printf 'x%.0s' $(seq 300))
sed "s/sum:9/std::vec<$x>::at:9/" parts.yaml > long.yaml
expect 0 "$PSNAP" check long.yaml
expect 0 "$PSNAP" show long.yaml
[ "$(wc -L < out)" -le 140 ]
grep -q '^std::vec<x*\.\.\.x*>::at:9.vector ' out
expect 0 "$PSNAP" show long.yaml --loop "$(sed -n 's/^\(std::vec[^ ]*\) .*/\1/p' out)"
grep -q "^loop       std::vec<$x>::at:9.vector" out
"$PSNAP" show long.yaml --json > out
grep -q "$x" out
for command in sim compare; do
    second=$([ $command = sim ] || echo long.yaml)
    "$PSNAP" $command long.yaml $second -m table1-1 > out
    grep -q 'x\.\.\.x' out
    if grep -q "$x" out; then fail "$command: a long name in whole"; fi
done

# where threads are apart the JSON has the rows of the table: of a loop as a whole what its parts have
apart=$PSNAP_SOURCE/tests/fuzz/corpus/fuzz_profile/apart.yaml
for top in 1 2 4 20; do
    expect 0 "$PSNAP" show "$apart" --top $top
    sed -n '/^thread *loop /,/^(/p' out | awk '$2 ~ /^f/ { print $2, $4 }' > rows
    [ -s rows ]
    expect 0 "$PSNAP" show "$apart" --top $top --json
    if /usr/bin/python3 -c '' 2> /dev/null; then
        /usr/bin/python3 -c '
import json
for loop in json.load(open("out"))["loops"]:
    print(loop["id"], loop["accesses"])' | diff rows -
    fi
    tr -d ' \n' < out > flat
    grep -q '"loop_count":3,"part_count":3,' flat
done
"$PSNAP" info "$apart" --json | tr -d ' \n' | grep -q '"loops":3,'
