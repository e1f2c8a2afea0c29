#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# gem5's packets against a reader and a writer of protobuf made from the layout.
set -eu

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

fail() {
    echo "test_gem5: $*" >&2
    exit 1
}

cat > protobuf.py << 'END'
def varint(value):
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7f | 0x80])
        value >>= 7
    return out + bytes([value])

def number(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7f) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 0x80:
            return value, at

def message(fields):
    out = b""
    for key, value in fields:
        out += varint(key << 3) + varint(value) if isinstance(value, int) else \
               varint(key << 3 | 2) + varint(len(value)) + value
    return out

def parse(data):
    fields, at = {}, 0
    while at < len(data):
        key, at = number(data, at)
        value, at = number(data, at)
        if key & 7 == 2:
            value, at = data[at:at + value], at + value
        else:
            assert key & 7 == 0
        fields[key >> 3] = value
    return fields

def framed(data):
    return varint(len(data)) + data
END
cat > made.py << 'END'
import random
from protobuf import *
random.seed(1)
with open("trace.csv", "w") as csv:
    csv.write("address,size,kind,thread,ref\n")
    for i in range(5000):
        size = random.randint(1, 64)
        address = min(random.choice([random.getrandbits(64), random.getrandbits(30)]), 2**64 - size)
        csv.write(f"0x{address:x},{size},{random.choice(['load', 'store', 'atomic'])},{i % 3},{i % 7}\n")

# Commands and flags of all sorts, fields in any order, some that are not known, with and without counters
with open("made", "wb") as made, open("made.wanted", "w") as wanted:
    names = [(4, message([(1, i), (2, b"system.cpu%d" % i)])) for i in range(3000)]
    made.write(b"gem5" + framed(message([(3, 10**12), (1, b"system.monitor")] + names)))
    refs, left = {}, [0, 0]
    reads, writes = [1, 11, 12, 13, 22, 24, 25, 26, 30], [4, 7, 8, 9, 16, 27, 32]
    for i in range(6000):
        command = random.choice([1, 1, 4, 4, 0, 2, 5, 10, 17, 40] + reads + writes + [34])
        size, address = random.choice([0, 1, 8, 64, 100, 4096]), random.getrandbits(60)
        flags = random.choice([0, 0, 2, 0x100, 0x102])
        kind = 0 if command in reads else 1 if command in writes else 2 if command == 34 else None
        if kind is not None and not flags & 0x100:
            size = max(size, 1)
        else:
            left[bool(flags & 0x100)] += 1
        fields = [(1, i * 500), (2, command), (3, address), (4, size)]
        if flags:
            fields.append((5, flags))
        pc = random.choice([None, 0x400000 + i % 30])
        if pc:
            fields.append((7, pc))
        if i % 5 == 0:
            fields += [(6, i), (19, b"of a newer version"), (20, i)]
        random.shuffle(fields)
        made.write(framed(message(fields)))
        if kind is not None and not flags & 0x100:
            ref = min(kind, 1) if pc is None else refs.setdefault((pc, kind, size), len(refs) + 2)
            while size:
                piece = min(size, 64)
                wanted.write(f"0x{address:x},{piece},{['load', 'store', 'atomic'][kind]},0,{ref}\n")
                address, size = address + piece, size - piece
open("left", "w").write("made: left out: instruction fetches (%s)\n" % format(left[1], ",") +
                        "made: left out: packets that read and write nothing (%s)\n" % format(left[0], ","))
END
python3 made.py
"$PSNAP" convert trace.csv --layout program -o trace.gem5 2> err

# Written
grep -q "gem5 does not keep: atomic, thread, program; the ticks are not times" err || fail "$(cat err)"
cat > check.py << 'END'
import csv
from protobuf import *
data = open("trace.gem5", "rb").read()
assert data[:4] == (0x356d6567).to_bytes(4, "little")
at, messages = 4, []
while at < len(data):
    length, at = number(data, at)
    messages.append(parse(data[at:at + length]))
    at += length
assert at == len(data)
assert messages[0] == {1: b"psnap", 2: 0, 3: 10**12}, messages[0]
wanted = []
for i, row in enumerate(csv.DictReader(open("trace.csv"))):
    address, size = int(row["address"], 16), int(row["size"])
    first = min(size, 64 - address % 64) # a packet is in one line
    for tick, at, part in (0, address, first), (1, address + first, size - first):
        if part:
            wanted.append({1: 1000 * i + tick, 2: 1 if row["kind"] == "load" else 4, 3: at, 4: part,
                           7: 0x400000 + 4 * int(row["ref"])})
assert messages[1:] == wanted
END
python3 check.py

# Read, from a pipe, compressed, and in part
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

# Cut off, in a message and in a length; damaged
size=$(wc -c < trace.gem5)
head -c $((size - 3)) trace.gem5 > cut
"$PSNAP" convert cut -f csv -o cut.csv 2> err
grep -q "warning: cut: offset [0-9]*: the last record has [0-9]* of [0-9]* bytes: the trace was cut off" err || fail "$(cat err)"
[ "$(wc -l < cut.csv)" = "$("$PSNAP" convert trace.gem5 -f csv -o - 2> err | sed 1d | wc -l)" ] ||
    fail "cut off, $(wc -l < cut.csv) lines"
! "$PSNAP" convert <(head -c 12 trace.gem5) -f csv -o none.csv 2> err || fail "a header that is cut off"
grep -q "the input ends in the header" err || fail "$(cat err)"
# refused MESSAGE BYTES: as printf has them, behind what is good
refused() {
    { cat trace.gem5; printf "$2"; } > damaged
    ! "$PSNAP" convert damaged -f csv -o none.csv 2> err || fail "taken: $2"
    grep -q "damaged: offset $size: $1" err || fail "$(cat err)"
}
refused "this is no packet of gem5" '\2\10\1' # no address
refused "this is no packet of gem5" '\1\377'
refused "a message of 65536 bytes or more" '\200\200\10'
refused "a message of 65536 bytes or more" '\377\377\377\377\377\377'
refused "an access of 0 bytes" '\10\10\0\20\1\30\1\40\0'
refused "an access of 4097 bytes" '\11\10\0\20\1\30\1\40\201\40'
[ ! -e none.csv ] || fail "something was written"
