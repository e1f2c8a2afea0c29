#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# drmemtrace's entries against a reader and a writer made from their layout (trace_entry_t).
set -eu

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

fail() {
    echo "test_drmemtrace: $*" >&2
    exit 1
}

python3 - << 'END'
import random, struct
random.seed(1)
with open("trace.csv", "w") as csv:
    csv.write("address,size,kind,thread,ref\n")
    for i in range(5000):
        size = random.randint(1, 64)
        address = random.choice([random.getrandbits(64), random.getrandbits(47), 2**64 - size])
        address = min(address, 2**64 - size)
        csv.write(f"0x{address:x},{size},{random.choice(['load', 'store', 'atomic'])},{i % 3},{i % 7}\n")

# every type that there is, of two threads
layout = struct.Struct("<HHQ")
assert layout.size == 12
with open("made", "wb") as made, open("made.wanted", "w") as wanted:
    made.write(layout.pack(25, 0, 5) + layout.pack(28, 12, 5) + layout.pack(22, 4, 777) + layout.pack(24, 4, 7))
    pc, thread, refs, left = None, 0, {}, [0, 0]
    for i in range(6000):
        if i == 3000: # another one of several, behind it
            made.write(layout.pack(26, 0, 0) + layout.pack(25, 0, 7) + layout.pack(22, 4, [777, 12][thread]))
            pc = None
        if i == 4000: # a core that is idle, and then the one of them that has not ended
            made.write(layout.pack(26, 0, 0) + 9 * layout.pack(28, 33, 0) + layout.pack(22, 4, [777, 12][thread]))
        kind = random.choice([0, 0, 1, 1, *range(2, 25), 27, *range(28, 50)]) if i > 5 else 0
        size, address = random.choice([0, 1, 4, 8, 64, 100, 4096]), random.getrandbits(56)
        if kind == 22:
            thread = random.randint(0, 1)
            address = [777, 12][thread]
        elif kind in (*range(10, 17), 29, 30, 31, 48, 49):
            pc = address = 0x401000 + random.randint(0, 30) * 4
            next_pc = pc + size
        elif kind == 17:
            if pc is None:
                continue
            size = random.randint(0, 8)
            lengths = [random.randint(1, 15) for _ in range(8)]
            address = int.from_bytes(bytes(lengths), "little")
            for length in lengths[:size]:
                pc, next_pc = next_pc, next_pc + length
        made.write(layout.pack(kind, size, address))
        left[0] += kind < 2 and not size
        left[1] += kind in (*range(2, 10), *range(18, 22), 27, *range(32, 47))
        if kind < 2 and size:
            ref = kind if pc is None else refs.setdefault((pc, kind, size), len(refs) + 2)
            while size:
                piece = min(size, 64)
                wanted.write(f"0x{address:x},{piece},{['load', 'store'][kind]},{thread},{ref}\n")
                address, size = address + piece, size - piece
    made.write(layout.pack(23, 4, 777) + layout.pack(26, 0, 0))
open("left", "w").write("made: left out: accesses of no bytes (%s)\n" % format(left[0], ",") +
                        "made: left out: prefetches and flushes (%s)\n" % format(left[1], ","))
END

# Written: the order of entries that raw2trace has, an instruction before each access
"$PSNAP" convert trace.csv -o trace.drmemtrace 2> err
grep -q "drmemtrace does not keep: atomic, thread, program" err || fail "$(cat err)"
python3 - << 'END'
import csv, struct
entries = list(struct.iter_unpack("<HHQ", open("trace.drmemtrace", "rb").read()))
rows = list(csv.DictReader(open("trace.csv")))
assert entries[:3] == [(25, 0, 7), (28, 12, 7), (28, 9, 0x40)], entries[:3]
assert [e[0] for e in entries[3:9]] == [22, 24, 28, 28, 28, 28]
assert [e[1] for e in entries[5:9]] == [10, 20, 2, 3] and entries[5][2] == 64
assert entries[-2][0] == 23 and entries[-2][2] == entries[3][2] and entries[-1] == (26, 0, 0)
body = entries[9:-2]
assert len(body) == 2 * len(rows)
for row, instruction, access in zip(rows, body[::2], body[1::2]):
    assert instruction == (10, 4, 0x400000 + 4 * int(row["ref"]))
    assert access == (int(row["kind"] != "load"), int(row["size"]), int(row["address"], 16)), (row, access)
END

# Read, recognised by its first bytes, from a pipe, compressed, and in part
"$PSNAP" convert made -f csv -o back.csv 2> err
tail -n +2 back.csv | cmp - made.wanted || fail "other accesses are read"
grep -o "made: left out.*" err | diff - left || fail "what is left out is not said"
"$PSNAP" convert - -f csv -o - < made 2> err | cmp - back.csv || fail "from a pipe"
if command -v gzip > /dev/null; then
    gzip -c made > made.gz
    "$PSNAP" convert made.gz -f csv -o - 2> err | cmp - back.csv || fail "compressed"
fi
"$PSNAP" convert made --skip 321 --count 99 -f csv -o - 2> err | tail -n +2 |
    cmp - <(sed -n 322,420p made.wanted) || fail "a part is another one"

# Cut off, between entries too; damaged; too new
for keep in $(($(wc -c < made) - 12)) $(($(wc -c < made) - 17)); do
    head -c $keep made > cut
    "$PSNAP" convert cut -f csv -o cut.csv --force 2> err
    grep -q "warning: cut: offset [0-9]*: the .* cut off" err || fail "$(cat err)"
    cmp cut.csv back.csv || fail "cut off, other accesses are read"
done
# refused MESSAGE ENTRY...: as printf has it
refused() {
    local message=$1
    { head -c 4800 made; printf "$2"; } > damaged
    ! "$PSNAP" convert damaged --from drmemtrace -f csv -o none.csv 2> err || fail "taken: $2"
    grep -q "damaged: offset $message" err || fail "$(cat err)"
}
refused "4800: no drmemtrace has an entry of type 50" '\62\0\0\0\0\0\0\0\0\0\0\0'
refused "4800: no drmemtrace has an entry of type 65535" '\377\377\0\0\0\0\0\0\0\0\0\0'
refused "4800: version 8 of drmemtrace; 1 to 7 can be read" '\31\0\0\0\10\0\0\0\0\0\0\0'
refused "4800: a bundle of more than 8 instructions" '\21\0\11\0\10\0\0\0\0\0\0\0'
refused "4800: an access of 4097 bytes" '\0\0\1\20\10\0\0\0\0\0\0\0'
refused "4800: the access reaches beyond the end" '\0\0\2\0\377\377\377\377\377\377\377\377'
refused "4812: something follows the footer" '\32\0\0\0\0\0\0\0\0\0\0\0\0\0\10\0\0\0\0\0\0\0\0\0'
printf '\31\0\0\0\11\0\0\0\0\0\0\0\34\0\14\0\11\0\0\0\0\0\0\0' > new
! "$PSNAP" convert new -f csv -o none.csv 2> err || fail "a version to come is taken"
grep -q "new: offset 0: version 9 of drmemtrace" err || fail "$(cat err)"
[ ! -e none.csv ] || fail "something was written"
