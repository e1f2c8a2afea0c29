#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Dinero's binary records against a reader and a writer made from their layout.
set -eu

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

fail() {
    echo "test_dinbin: $*" >&2
    exit 1
}

python3 - << 'END'
import random, struct
random.seed(1)
layout = struct.Struct("<IHBB")
assert layout.size == 8
with open("trace.csv", "w") as csv, open("wanted", "wb") as wanted:
    csv.write("address,size,kind,thread,ref\n")
    for i in range(5000):
        size = random.randint(1, 64)
        address = random.choice([random.randint(0, 2**32 - size), 2**32 - size])
        kind = random.choice(["load", "store", "atomic"])
        csv.write(f"0x{address:x},{size},{kind},{i % 3},{i % 7}\n")
        wanted.write(layout.pack(address, size, kind != "load", 0))

# and all types, sizes that are split, padding
with open("made", "wb") as made, open("made.wanted", "w") as wanted:
    for i in range(3000):
        kind, address = random.randint(0, 5), random.getrandbits(32)
        size = random.choice([1, 8, 64, 65, 200, 4096])
        made.write(layout.pack(address, size, kind, i % 256))
        while kind in (0, 1, 3) and size:
            piece = min(size, 64)
            wanted.write(f"0x{address:x},{piece},{'store' if kind == 1 else 'load'},0,{int(kind == 1)}\n")
            address, size = address + piece, size - piece
END
"$PSNAP" convert trace.csv --layout program -o trace.dinbin 2> err
cmp trace.dinbin wanted || fail "other records are written"
grep -q "dinbin does not keep: addresses beyond 32 bits" err || fail "$(cat err)"
"$PSNAP" convert made --from dinbin -f csv -o back.csv 2> err
tail -n +2 back.csv | cmp - made.wanted || fail "other accesses are read"
"$PSNAP" convert made --from dinbin --skip 1234 --count 99 -f csv -o - 2> err | tail -n +2 |
    cmp - <(sed -n 1235,1333p made.wanted) || fail "a part is another one"

# 32 bits, to the last byte
refused() {
    local status=0
    printf 'address,size,kind,thread,ref\n0x10,8,load,0,0\n%s\n' "$1" > high.csv
    "$PSNAP" convert high.csv --layout program -o high.dinbin 2> err || status=$?
    [ $status = 1 ] && [ ! -e high.dinbin ] || fail "$1 is written"
    grep -qF "high.dinbin: access 2, $2, cannot be written: dinbin has addresses of 32 bits" err || fail "$(cat err)"
}
refused 0x100000000,1,load,0,0 "a load of 1 byte at 0x100000000"
refused 0xfffffff9,8,store,0,0 "a store of 8 bytes at 0xfffffff9"
refused 0x7fffffffe000,8,atomic,0,0 "an atomic of 8 bytes at 0x7fffffffe000"

# Cut off, damaged, not said to be one
head -c 45 trace.dinbin > cut
"$PSNAP" convert cut --from dinbin -f csv -o out.csv 2> err
grep -q "cut: offset 40: the last record has 5 of 8 bytes" err && [ "$(wc -l < out.csv)" = 6 ] || fail "$(cat err)"
damaged() {
    { head -c 80 trace.dinbin; printf "$1"; } > damaged
    ! "$PSNAP" convert damaged --from dinbin -o none.csv 2> err || fail "a damaged trace is taken"
    grep -q "damaged: offset 80: $2" err || fail "$(cat err)"
}
damaged '\0\0\0\0\1\0\6\0' "this is no record of Dinero"
damaged '\0\0\0\0\0\0\0\0' "an access of 0 bytes"
! "$PSNAP" convert trace.dinbin -o none.csv 2> err || fail "an unknown file is taken"
[ ! -e none.csv ] || fail "something was written"
