#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What describes patterns and not streams, for Spatter and gem5's traffic generator, as these read it
# (export_readers.py): references of every sort, and what is left of each.
set -eu
readers=$(cd "$(dirname "$0")" && pwd)
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
    "$PSNAP" convert trace.csv -f $format -o all.$format 2> err
    has err "$format does not keep: order of "
    ! grep "leaves out" err || fail "nothing is left out"
    "$PSNAP" convert trace.csv -f $format --skip 9 --count 9000 -o part.$format 2> err
    has err "9,000 accesses after the first 9"
    [ $format = trafficgen ] || has err "spatter leaves out 1 access; 'psnap formats spatter' says which"
    "$PSNAP" convert trace.csv -f $format --count 0 -o none.$format 2> err
    "$PSNAP" convert trace.csv -f $format --count 9 -o one.$format 2> err
    "$PSNAP" convert trace.csv -f $format -m 8K:64:4 -o side.$format 2> err
    "$PSNAP" run trace.csv -f $format -- cat > run.out 2> err
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
for name in "part", "one", "side":
    assert len(readers.spatter(f"{name}.spatter")) >= 9
assert readers.spatter("none.spatter") == []
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
for format in spatter trafficgen; do
    "$PSNAP" convert wild.csv -f $format -o wild.$format 2> err
done
python3 - << 'EOF' || fail "of wild addresses: see above"
import export_readers as readers
assert len(readers.spatter("wild.spatter")) >= 750
EOF
awk -F, 'BEGIN {OFS = ","} NR > 1 {$5 = NR % 1500} {print}' wild.csv > many.csv
"$PSNAP" convert many.csv -f trafficgen -o many.trafficgen 2> err
has err "trafficgen leaves out 10,000 accesses"
python3 - << 'EOF' || fail "of many references: see above"
import export_readers as readers
assert len(readers.trafficgen("many.trafficgen")) == 1000
assert len(readers.trafficgen("wild.trafficgen")) == 750
EOF
