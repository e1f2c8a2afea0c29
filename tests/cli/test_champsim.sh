#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# ChampSim's instructions against a reader and a writer made from their layout (struct input_instr).
set -eu

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

fail() {
    echo "test_champsim: $*" >&2
    exit 1
}

# Written: every access is an instruction, with its address where ChampSim looks for it
awk 'BEGIN {
    print "address,size,kind,thread,ref"
    for (i = 0; i < 5000; i++)
        printf "0x%x,%d,%s,0,%d\n", 140737488355328 - 12345 * i, i % 64 + 1, i % 3 ? "load" : "store", i % 7
}' > trace.csv
"$PSNAP" convert trace.csv -f champsim -o trace.champsim 2> err
grep -q "champsim does not keep: size, atomic" err || fail "$(cat err)"
python3 - << 'END'
import csv, struct
layout = struct.Struct("<Q??2B4B2Q4Q")
assert layout.size == 64
data = open("trace.champsim", "rb").read()
rows = list(csv.DictReader(open("trace.csv")))
assert len(data) == 64 * len(rows)
for row, record in zip(rows, layout.iter_unpack(data)):
    ip, branch, taken, *rest = record
    registers, stores, loads = rest[:6], rest[6:8], rest[8:]
    address = int(row["address"], 16)
    assert not branch and not taken and not any(registers)
    assert (stores, loads) == (([0, 0], [address, 0, 0, 0]) if row["kind"] == "load"
                               else ([address, 0], [0, 0, 0, 0])), record
    assert ip == 0x400000 + 4 * int(row["ref"])
END

# Read: as many accesses as there are addresses, loads first, counters and kinds as references
python3 - << 'END'
import random, struct
random.seed(1)
layout = struct.Struct("<Q??2B4B2Q4Q")
with open("made", "wb") as file, open("wanted", "w") as wanted:
    for i in range(3000):
        loads = [random.choice([0, random.getrandbits(64)]) for _ in range(4)]
        stores = [random.choice([0, random.getrandbits(48)]) for _ in range(2)]
        file.write(layout.pack(0x401000 + i % 50 * 4, i % 5 == 0, i % 10 == 0, *range(6), *stores, *loads))
        for kind, addresses in ("load", loads), ("store", stores):
            for address in filter(None, addresses):
                wanted.write(f"0x{address:x},1,{kind},0\n")
END
"$PSNAP" convert made --from champsim -o back.csv 2> err
tail -n +2 back.csv | cut -d, -f1-4 | cmp - wanted || fail "other accesses are read"
[ "$(tail -n +2 back.csv | cut -d, -f3,5 | sort -u | wc -l)" = 100 ] || fail "other references are read"
"$PSNAP" convert made --from champsim --skip 100 --count 7 -o part.csv 2> err
cmp <(tail -n +102 back.csv | head -7) <(tail -n +2 part.csv) || fail "a part is another one"

# Cut off, damaged, and not said to be one
head -c 200 made > cut
"$PSNAP" convert cut --from champsim -o out.csv 2> err # with a warning, as a .pst that was cut off
grep -q "cut: offset 192: the last record has 8 of 64 bytes" err || fail "$(cat err)"
{ head -c 128 made; printf '\1\2\3\4\5\6\7\10\11\0'; head -c 54 /dev/zero; } > damaged
! "$PSNAP" convert damaged --from champsim -o none.csv 2> err || fail "a damaged trace is taken"
grep -q "damaged: offset 128: this is no record of ChampSim" err || fail "$(cat err)"
! "$PSNAP" convert made -o none.csv 2> err || fail "an unknown file is taken"
[ ! -e none.csv ] || fail "something was written"
