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
for name in table1-{1..10} i7-5960x e5-2699v4 epyc-7702p plru-3 random-3 prefetch-3 tlb-64 \
    xeon-8180 xeon-8480 epyc-9654 ryzen-9950x graviton3 apple-m1; do
    grep -q "^$name " list || fail "$name is not listed"
    "$PSNAP" machines $name > one
    head -1 one | grep -qx $name || fail "$name: $(cat one)"
done
grep -q '341 whole sets' list || fail "the rounding of structure 5 is not said"

"$PSNAP" machines graviton3 > one
grep -q '^  source: WikiChip' one || fail "no source: $(cat one)"
grep -q '^  level 3, SLC: 33,554,432 bytes, .* shared by 64 cores$' one || fail "$(cat one)"

cat > expected << 'END'
table1-4
  PSnAP structure 4, like an Opteron
  level 1: 32,768 bytes, lines of 32 bytes, 4 ways, 256 sets
  level 2: 131,072 bytes, lines of 64 bytes, 2 ways, 1024 sets
END
"$PSNAP" machines table1-4 | diff expected - || fail "table1-4"

cat > expected << 'END'
server
  pseudo-LRU and random replacement, stride prefetchers, a TLB of two levels
  level 1: 32,768 bytes, lines of 64 bytes, 8 ways, 64 sets, plru, stride prefetcher (256 entries, degree 1, distance 4)
  level 2: 2,097,152 bytes, lines of 64 bytes, 16 ways, 2048 sets, stride prefetcher (64 entries, degree 2, distance 8)
  level 3: 37,748,736 bytes, lines of 64 bytes, 12 ways, 49152 sets, random (seed 1)
  TLB: 64 entries, pages of 4,096 bytes, 64 ways, 1 set
  TLB2: 1536 entries, pages of 4,096 bytes, 12 ways, 128 sets
END
server=$PSNAP_SOURCE/samples/machines/server.yaml
"$PSNAP" machines "$server" | diff expected - || fail "server"
# the documented example is that file
sed -n '/name: server/,/```/p' "$PSNAP_SOURCE/simcore/MACHINES.md" | grep -v '```' > documented
[ -s documented ] || fail "no example in MACHINES.md"
sed -n '/name: server/,$p' "$server" | grep -v description: | diff documented - || fail "the example"
"$PSNAP" machines "$server" --json > json
python3 - << 'END'
import json
(m,) = json.load(open("json"))["machines"]
one, two, three = m["levels"]
assert one["replacement"] == "plru" and "seed" not in one
assert one["prefetch"] == {"entries": 256, "degree": 1, "distance": 4}
assert "replacement" not in two and two["prefetch"]["degree"] == 2
assert three["replacement"] == "random" and three["seed"] == 1 and "prefetch" not in three
assert m["tlb"] == [
    {"entries": 64, "page_bytes": 4096, "ways": 64},
    {"entries": 1536, "page_bytes": 4096, "ways": 12}], m["tlb"]
END
"$PSNAP" machines 32K:64:8:plru,1M:64:16:random | grep -q '16 ways, 1024 sets, random (seed 0)$' ||
    fail "the inline form"

"$PSNAP" machines "$PSNAP_SOURCE/samples/machines/desktop.yaml" --json > json
"$PSNAP" machines --json > all
python3 - << 'END'
import json
one = json.load(open("json"))
assert one["psnap"] == 1 and one["command"] == "machines"
(m,) = one["machines"]
assert m["name"] == "desktop" and m["clock_hz"] == 4e9 and m["cores"] == 8
assert m["levels"][1] == {"size_bytes": 1 << 20, "line_bytes": 64, "ways": 8, "latency_cycles": 14, "bandwidth_bytes_per_s": 1.2e11}
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
wrong 'levels:\n- {size_bytes: 3K, line_bytes: 64, ways: full,\n   replacement: plru}\n' \
    ':3:17: plru needs a power of two of ways, not 48'
wrong 'levels:\n- {size_bytes: 3K, line_bytes: 64, ways: 3,\n   seed: 4}\n' ':3:10: a seed is for random'
wrong 'levels: [{size_bytes: 3K, line_bytes: 64, ways: 3}]\ntlb:\n- {entries: 64, ways: 3}\n' \
    ':3:23: entries 64 is not a whole number of sets'
wrong 'machine: {name: x, levels: [{size_bytes: 1e400, line_bytes: 16, ways: 1}]}' ':1:42: '

got=0
"$PSNAP" machines a b 2> err || got=$?
[ $got = 2 ] || fail "two machines: exit status $got"
got=0
"$PSNAP" machines tabel1-1 2> err || got=$?
[ $got = 1 ] || fail "unknown: exit status $got"
grep -q "did you mean 'table1-1'" err || fail "$(cat err)"
