#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# psnap machines: the list, one machine in whole, JSON, and bad machine files.
set -eu

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

fail() {
    echo "test_sim_machines: $*" >&2
    exit 1
}

"$PSNAP" machines > list
for name in table1-{1..10} i7-5960x e5-2699v4 epyc-7702p; do
    grep -q "^$name " list || fail "$name is not listed"
    "$PSNAP" machines $name > one
    head -1 one | grep -qx $name || fail "$name: $(cat one)"
done
grep -q '341 whole sets' list || fail "the rounding of structure 5 is not said"

cat > expected << 'END'
table1-4
  PSnAP structure 4, like an Opteron
  level 1: 32,768 bytes, lines of 32 bytes, 4 ways, 256 sets
  level 2: 131,072 bytes, lines of 64 bytes, 2 ways, 1024 sets
END
"$PSNAP" machines table1-4 | diff expected - || fail "table1-4"

"$PSNAP" machines "$PSNAP_SOURCE/samples/machines/desktop.yaml" --json > json
"$PSNAP" machines --json > all
python3 - << 'END'
import json
one = json.load(open("json"))
assert one["psnap"] == 1 and one["command"] == "machines"
(m,) = one["machines"]
assert m["name"] == "desktop" and m["clock_hz"] == 4e9 and m["cores"] == 8
assert m["levels"][1] == {"level": 2, "size_bytes": 1 << 20, "line_bytes": 64, "ways": 8,
                          "sets": 2048, "latency_cycles": 14, "bandwidth_bytes_per_s": 1.2e11}
assert m["memory"] == {"latency_cycles": 320, "bandwidth_bytes_per_s": 4e10}
names = [m["name"] for m in json.load(open("all"))["machines"]]
assert names[:13] == ["table1-%d" % i for i in range(1, 11)] + ["i7-5960x", "e5-2699v4",
                                                               "epyc-7702p"], names
END

# wrong TEXT PLACE: a machine file with that text fails, and says where
wrong() {
    printf "$1" > bad.yaml
    got=0
    "$PSNAP" machines bad.yaml > out 2> err || got=$?
    [ $got = 1 ] || fail "exit status $got for: $1"
    [ ! -s out ] || fail "output for: $1"
    grep -q "bad.yaml$2" err || fail "$1: $(cat err)"
}
wrong '' ''
wrong 'machine: {name: x, levels: [{size_bytes: 1K, line_bytes: 24, ways: 1}]}' ':1:58: '
wrong 'machine:\n  name: x\n  levels: []\n' ':3:11: '
wrong 'machine:\n  name: x\n  levle: []\n' ':3:3: .*levels'
wrong 'machine: &a [*a]\n' ':1:'
wrong 'machine: {name: "\xff", levels: []}\n' ''
wrong 'machine: {name: x, levels: [{size_bytes: 1e400, line_bytes: 16, ways: 1}]}' ':1:42: '

got=0
"$PSNAP" machines a b 2> err || got=$?
[ $got = 2 ] || fail "two machines: exit status $got"
got=0
"$PSNAP" machines tabel1-1 2> err || got=$?
[ $got = 1 ] || fail "unknown: exit status $got"
grep -q "did you mean 'table1-1'" err || fail "$(cat err)"
