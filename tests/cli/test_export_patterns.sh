#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What describes patterns and not streams, for Spatter and gem5's traffic generator, as these read it
# (export_readers.py): references of every sort, and what is left of each.
set -eu
readers=$(cd "$(dirname "$0")" && pwd)
profile=$readers/../golden/tutorial_nests.psnap.yaml
# shellcheck source=tests/cli/common.sh
. "$(dirname "$0")/common.sh"
command -v python3 > /dev/null || exit 77
export PYTHONPATH=$readers PYTHONDONTWRITEBYTECODE=1

cat > made.py << 'EOF'
import random
random.seed(4)
N = 6000
base = [(1 << 44) + (i << 24) for i in range(9)]
def column(i): return (i % 50) * 800 + i // 50 * 8
sorts = [  # address of access i, size, kind
    (lambda i: base[0] + 8 * i, 8, "load"),                       # along
    (lambda i: base[1] + 4 * i, 4, "store"),                      # along, half an element
    (lambda i: base[2] + 96 * i, 32, "load"),                     # strided
    (lambda i: base[3], 8, "load"),                               # one place
    (lambda i: base[4] + (1 << 20) - 8 * i, 8, "store"),          # downwards
    (lambda i: base[5] + 8 * random.randrange(20000), 8, "load"), # random
    (lambda i: base[6] + [0, 24, 8][i % 3] + 64 * (i // 3), 8, "load"),  # three at a time
    (lambda i: base[7] + i // 1000 * 65536 + 8 * (i % 1000), 8, "atomic"),  # rows
    (lambda i: base[8] + column(i), 8, "load"),                   # columns of 50
]
accesses = [[sort[0](i) for i in range(N)] for sort in sorts]
if __name__ == "__main__":
    print("address,size,kind,thread,ref")
    for i in range(N):
        for ref, (_, size, kind) in enumerate(sorts):
            print(f"0x{accesses[ref][i]:x},{size},{kind},0,{ref}")
EOF
python3 made.py > trace.csv
for format in spatter trafficgen; do
    "$PSNAP" convert trace.csv -f $format --layout program -o all.$format 2> err
    has err "$format does not keep: order of "
    ! grep "leaves out" err || fail "nothing is left out"
    "$PSNAP" convert trace.csv -f $format --skip 9 --count 9000 -o part.$format 2> err
    has err "9,000 accesses after the first 9"
    [ $format = trafficgen ] || has err "spatter leaves out 3 accesses; 'psnap formats spatter' says which"
    "$PSNAP" convert trace.csv -f $format --count 0 -o none.$format 2> err
    "$PSNAP" convert trace.csv -f $format --count 9 -o one.$format 2> err
    [ $format = trafficgen ] || has err "spatter leaves out 9 accesses" # in patterns of one each
    "$PSNAP" convert trace.csv -f $format -m 8K:64:4 -o side.$format 2> err
    "$PSNAP" run trace.csv -f $format --layout program -- cat > run.out 2> err
    cmp run.out all.$format
done

python3 - << 'EOF' || fail "trafficgen: see above"
import export_readers as readers
from made import N, accesses, sorts
states = readers.trafficgen("all.trafficgen")
assert [s.mode for s in states] == ["LINEAR", "LINEAR", "STRIDED", "LINEAR", "RANDOM", "RANDOM",
                                    "RANDOM", "LINEAR", "STRIDED"], [s.mode for s in states]
for state, addresses, (_, size, kind) in zip(states, accesses, sorts):
    assert state.reads == (100 if kind == "load" else 0)
    assert state.start <= min(addresses) and max(addresses) <= state.end
    assert state.end <= max(addresses) + state.block and state.start > min(addresses) - state.block
    assert state.mode == "RANDOM" or len(state.packets) == N
for ref in 0, 1, 2, 3:
    assert states[ref].packets == accesses[ref], ref
assert states[2].stride == 96 and states[8].stride == 800
assert [len(s.packets) for s in readers.trafficgen("part.trafficgen")][0] == 1000
assert readers.trafficgen("none.trafficgen") == []
assert all(len(s.packets) == (s.mode == "LINEAR") for s in readers.trafficgen("one.trafficgen"))
assert len(readers.trafficgen("side.trafficgen")) == 9
EOF

python3 - << 'EOF' || fail "spatter: see above"
import re, export_readers as readers
from made import N, accesses, sorts
found = [[] for _ in sorts]
for pattern in readers.spatter("all.spatter"):
    found[int(re.search(r"ref (\d+):", pattern.name)[1])].append(pattern)
def number(pattern, what): return int(re.search(rf"(\d+) {what}", pattern.name)[1])
for ref, patterns in enumerate(found):
    assert all(p.kernel == ("gather" if sorts[ref][2] == "load" else "scatter") for p in patterns)
    assert N - 64 <= sum(number(p, "accesses") for p in patterns) <= N, ref
def elements(addresses): return [(a - min(addresses)) // 8 for a in addresses]
for ref in 0, 1, 2, 3, 6:  # one run, whole
    (pattern,) = found[ref]
    assert number(pattern, "runs") == 1 and pattern.elements == elements(accesses[ref])[:len(pattern.elements)]
    assert len(pattern.elements) > N - 32
(down,) = found[4]
assert "downwards" in down.name and down.elements == elements(accesses[4])[::-1][:len(down.elements)]
(irregular,) = found[5]
assert "irregular" in irregular.name and len(irregular.elements) == -(-N // 64) * 64
assert irregular.elements[:64] == elements(accesses[5][:64])
assert max(irregular.elements) < 2 * 20000
(rows,) = found[7]
assert number(rows, "runs") == 6 and rows.elements == list(range(1000))
assert sum(number(p, "runs") for p in found[8] if p.elements[1] == 100) == 120, [p.name for p in found[8]]
for name in "part", "side":
    assert len(readers.spatter(f"{name}.spatter")) >= 9
assert readers.spatter("none.spatter") == readers.spatter("one.spatter") == []
EOF

# References from all over the address space, and more of them than gem5 has states
python3 - << 'EOF'
import random
random.seed(5)
with open("wild.csv", "w") as file:
    print("address,size,kind,thread,ref", file=file)
    for i in range(30000):
        at = random.choice([random.getrandbits(64) % (2**64 - 64), 2**64 - 8 * (i % 50 + 8), 4096 + 3 * i])
        print(f"0x{at:x},{random.choice([1, 3, 8, 24, 64])},{random.choice(['load', 'store'])},0,{i % 1500 if i % 2 else 1}", file=file)
EOF
"$PSNAP" convert wild.csv -f spatter -o wild.spatter 2> err
"$PSNAP" convert wild.csv -f trafficgen -o wild.trafficgen 2> err
has err "trafficgen gets addresses of a memory, pages of 2 MiB one behind the other, from 0x0 to "
python3 - << 'EOF' || fail "of wild addresses: see above"
import export_readers as readers
assert {p.name.partition(":")[0] for p in readers.spatter("wild.spatter")} == {"csv (unknown) ref 1"}
EOF
awk -F, 'BEGIN {OFS = ","} NR > 1 {$1 = sprintf("0x%x", 4096 + 3 * NR); $5 = NR % 1500} {print}' wild.csv > many.csv
"$PSNAP" convert many.csv -f trafficgen -o many.trafficgen 2> err
has err "trafficgen leaves out 10,000 accesses"
python3 - << 'EOF' || fail "of many references: see above"
import export_readers as readers
assert len(readers.trafficgen("many.trafficgen")) == 1000
wild = readers.trafficgen("wild.trafficgen")
assert len(wild) == 1000 and max(s.end for s in wild) < 1 << 24
EOF

# Of a profile: the objects that it names, of two at an address the smaller one, one behind the other
cat > named.yaml << 'END'
psnap: 1
capture: {model: nests-3, region_gap_bytes: 256, region_limit: 128}
schedule: [l]
loops:
- id: l
  nest: {depth: 1}
  entries: 1
  iterations: {total: 10000}
  accesses: 30000
  regions:
  - {id: r3, allocation: 'main x.c:4', working_set: {bytes: 8, group: mmap, offset: 90064}, accesses: 10000, stores: 10000, sizes: {8: 10000}}
  - {id: r2, allocation: 'main x.c:3', working_set: {bytes: 100000, group: mmap, offset: 64}, accesses: 10000, loads: 10000, sizes: {8: 10000}}
  - {id: a, symbol: a, working_set: {bytes: 80000, group: image, offset: 64}, accesses: 10000, loads: 10000, sizes: {8: 10000}}
  bodies:
  - {id: l, refs: [0, 1, 2], iterations: 10000}
  references:
  - {ref: 0, load: 8, region: a, start: 0, counts: [10000], strides: [8]}
  - {ref: 1, load: 8, region: r2, start: 0, counts: [10000], strides: [8]}
  - {ref: 2, store: 8, region: r3, start: 0, counts: [10000], strides: [0]}
END
"$PSNAP" replay named.yaml -f spatter -o named.spatter 2> err
"$PSNAP" replay named.yaml -f trafficgen --base 1G -o named.trafficgen 2> err
"$PSNAP" replay "$profile" -f spatter -o tutorial.spatter 2> err
python3 - << 'END' || fail "of profiles: see above"
import export_readers as readers
def names(file): return sorted(p.name.rpartition(": ")[0] for p in readers.spatter(file))
assert names("named.spatter") == ["l a", "l main x.c:3", "l main x.c:4"], names("named.spatter")
assert names("tutorial.spatter") == ["checksum:50 c", "init:27 a", "init:27 b", "multiply:36 c", "multiply:39 a",
                                     "multiply:39 b"], names("tutorial.spatter")
a, b, c = readers.trafficgen("named.trafficgen")
at = (1 << 30) + (1 << 21)
assert (a.start, b.start, c.start) == ((1 << 30) + 64, at + 64, at + 90064), (a, b, c)
END
