#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# psnap machine host: a machine file that reads back, JSON, refusals. Figures are only asked to be
# sane: whatever else runs on this machine meanwhile is in them.
set -eu
. "$(dirname "$0")/common.sh"

expect 0 "$PSNAP" machine host --budget 200ms -o here.yaml
has out 'level 1: '
grep -q '^here$' out && fail "named after the file in the report: $(cat out)"
if grep -v '^psnap machine: warning: the machine was too busy' err; then
    fail "talks where there is no terminal: $(cat err)"
fi
has here.yaml '# Measured by psnap '
has here.yaml '# Working sets'
grep -Eq '^#   latency of int_add ([0-9]+ %|unknown), throughput of int_add ' here.yaml || fail "no spread: $(cat here.yaml)"
if grep -q '[0-9]\.[0-9]\{9\}' here.yaml; then fail "more digits than were measured: $(cat here.yaml)"; fi
expect 0 "$PSNAP" machines here.yaml
head -1 out | grep -qx here || fail "not named after its file: $(cat out)"
expect 0 "$PSNAP" machines here.yaml --json
mv out file.json

expect 0 "$PSNAP" machine host --budget=0.1 --json
mv out measured.json
expect 0 "$PSNAP" machines host --json
mv out host.json
cat > check.py << 'END'
import json
(read,) = json.load(open("file.json"))["machines"]
(system,) = json.load(open("host.json"))["machines"]
whole = json.load(open("measured.json"))
assert whole["psnap"] == 1 and whole["command"] == "machine", whole
measured, how = whole["machine"], whole["measured"]
assert how["processor"] and how["seconds"] > 0 and 0 <= how["huge_page_share"] <= 1, how
assert len(how["spreads"]) > 30 and all(s["spread"] >= 0 and s["runs"] for s in how["spreads"]), how
assert len(how["working_set_bytes"]) == len(system["levels"]) + 1, how
for machine in read, measured:
    assert 1e7 < machine["clock_hz"] < 1e11, machine
    assert machine["cores"] == system["cores"]
    places = []
    for level, size, place in zip(machine["levels"], system["levels"], how["working_set_bytes"]):
        for key in "size_bytes", "line_bytes", "ways":
            assert level[key] == size[key], (key, level, size)
        assert level.get("shared_by", 1) == size.get("shared_by", 1)
        if place:
            places.append(level)
    assert 0 < machine["memory"]["first_touch_cycles"] < 1e7, machine
    assert 0 <= machine.get("mispredict_cycles", 0) < 1e4, machine
    if how["working_set_bytes"][-1]:
        places.append(machine["memory"])
    assert places, how
    for place in places:
        assert 0 < place["latency_cycles"] < 1e6, place
        assert 0 < place["throughput_cycles"] < 1e6, place
        assert 1e6 < place["bandwidth_bytes_per_s"] < 1e15, place
    # the first is the nearest, by far more than noise
    assert places[0]["latency_cycles"] <= 1.5 * places[-1]["latency_cycles"], places
    operations = machine["operations"]
    assert len(operations) == 12, operations
    for name, cost in operations.items():
        assert cost["throughput_cycles"] > 0, (name, cost)
        if name != "fp_sqrt": # a difference
            assert ("latency_cycles" in cost) == (name not in ("branch", "call")), (name, cost)
assert read["name"] == "here" and measured["name"] == "host"
END
python3 check.py || fail "$(cat here.yaml measured.json)"

# it is a machine wherever one is wanted, beside the system's own description of it
printf '0 a10\n1 a20\n0 a10\n' > trace.din
expect 0 "$PSNAP" sim trace.din -m here.yaml -m host --by total
has out here

# to standard output, as to a file
expect 0 "$PSNAP" machine host --budget 10ms
mv out stdout.yaml
expect 0 "$PSNAP" machines stdout.yaml
if [ -w /dev/full ]; then
    expect 1 "$PSNAP" machine host --budget 10ms -o /dev/full
    has err "/dev/full: cannot write: no space"
fi
# both: the file, and JSON on standard output
expect 0 "$PSNAP" machine host --budget 10ms --json -o both.yaml
python3 -c 'import json; assert json.load(open("out"))["machine"]["levels"]' || fail "$(cat out)"
expect 0 "$PSNAP" machines both.yaml

# refusals come before the work and leave what is there
cp here.yaml before
expect 1 "$PSNAP" machine host --budget 30m -o here.yaml
has err here.yaml
has err --force
cmp -s here.yaml before || fail "overwritten"
expect 0 "$PSNAP" machine host --budget 10ms -o here.yaml --force
! cmp -s here.yaml before || fail "not overwritten"
expect 1 "$PSNAP" machine host --budget 30m -o nowhere/m.yaml
has err nowhere/m.yaml
expect 1 "$PSNAP" machine host --budget 30m --json -o nowhere/m.yaml
python3 -c 'import json; assert "nowhere" in json.load(open("out"))["error"]["message"]'
if [ -c /dev/full ]; then
    got=0
    "$PSNAP" machine host --budget 10ms > /dev/full 2> err || got=$?
    [ $got = 1 ] || fail "a full disk: exit status $got"
    has err 'psnap machine: '
fi

for arguments in "" "there" "host host" "host --budget 0" "host --budget -1s" "host --budget 1h" \
    "host --budget s" "host --budget 61m" "host --budget nans" "host --budgt 1s"; do
    expect 2 "$PSNAP" machine $arguments
    [ ! -s out ] || fail "output for: $arguments"
done
expect 0 "$PSNAP" machine --help
has out --budget
