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
python3 - << 'END'
import json
report = json.load(open("out"))
assert report["psnap"] == 1 and report["command"] == "show"
assert report["accesses"] == 29 and report["bytes"] == 192
assert [loop["id"] for loop in report["loops"]] == ["sum", "init"]
assert report["loops"][0]["strides"] == {"0": 13, "random": 6}
assert report["loops"][0]["parent"] == "init"
assert abs(report["loops"][1]["share"] - 8 / 29) < 1e-12
END
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

# Model nests: where addresses come from, the schedule with its chains, and one loop.
nests=$PSNAP_SOURCE/tests/fuzz/corpus/fuzz_profile/nests.yaml
expect 0 "$PSNAP" show "$nests"
grep -Eq '^addresses +[0-9.]+ % in nests, exact; [0-9.]+ % dependent, [0-9.]+ % by reuse time$' out
grep -Eq '^pick:8 0 +load 8 +nodes ' out
sed -n '/^schedule/,/^$/p' out | grep -q '^visit chain-1$'
grep -Eq '^main:13 +600 +2,400 +store a \+8, store b \+8, store next \+4, store nodes \+16$' out
grep -Eq '^chain-1, 1 visit ' out
grep -Eq '^  sweep:7 +30 +5,580 +main:14' out
expect 0 "$PSNAP" show "$nests" --schedule
grep -q '^visit chain-1$' out
if grep -q '^program' out; then fail "only the schedule"; fi
expect 1 "$PSNAP" show "$golden" --schedule
grep -q "is of model psnap" err
expect 0 "$PSNAP" show "$nests" --loop pick:8
expect 0 "$PSNAP" show "$nests" --json
python3 -c '
import json
report = json.load(open("out"))
assert report["model"] == "nests-3"
pick, = [loop for loop in report["loops"] if loop["id"] == "pick:8"]
drawn, record, counter = pick["references"]
assert [r["rule"] for r in pick["references"]] == ["reuse", "dependent", "dependent"]
assert sum(drawn["reuse"][0]["phases"][0].values()) == drawn["accesses"] == pick["iterations"]
assert record["bases"] == [{"loop": "pick:8", "ref": 0}] and record["offsets"] == {"8": 1}
body, = pick["bodies"]
assert sum(bin["times"] for bin in body["drawn"]) == body["executions"]
assert sum(bin["sum"] for bin in body["drawn"]) == body["iterations"]'
expect 0 "$PSNAP" show "${nests%.yaml}-threads.yaml"
