#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What the tests of psnap repo share beyond common.sh; they source it.

. "$PSNAP_SOURCE/tests/cli/common.sh"

# made N FIRST: profiles p1.yaml ..., all different, of small programs that have some in common
made() {
    python3 - "$1" "${2:-1}" << 'PYTHON'
import sys
for n in range(int(sys.argv[2]), int(sys.argv[2]) + int(sys.argv[1])):
    loops = []
    for k in range(3 + n % 5):
        size = 8 << (n + k) % 3
        count = 100 + 37 * n + k
        loops.append(f"""- id: work{k}:{10 + k}
  function: work{k}
  source: made{n % 7}.c:{10 + k}
  nest: {{depth: 1}}
  entries: {n + 1}
  iterations: {{total: {count}}}
  regions:
  - {{id: a{k}, symbol: a{k}, working_set: {{bytes: {count * size}, group: image, offset: {4096 * k}}}, accesses: {count},
     loads: {count}, sizes: {{{size}: {count}}}, strides: {{{size}: {count - 1}}}}}
""")
    names = ", ".join(f"'work{k}:{10 + k}'" for k in range(3 + n % 5))
    with open(f"p{n}.yaml", "w") as file:
        file.write(f"""psnap: 1
program: {{name: made{n % 7}, command: [./made{n % 7}, '{n}'], compiler: clang 19.1.7, host: x86_64,
  recorded: '2026-01-{1 + n % 28:02}T00:00:00Z'}}
capture: {{model: psnap}}
schedule: [{names}]
loops:
{''.join(loops)}""")
PYTHON
}

# same DIR ID FILE: what the repository has under this id is the file
same() {
    "$PSNAP" repo get "$1" "$2" > got.yaml || fail "get $2 from $1"
    cmp got.yaml "$3" || fail "$3 comes back otherwise"
}

# flip FILE AT: the byte there becomes another one; of a negative AT from the end
flip() {
    python3 - "$1" "$2" << 'PYTHON'
import sys
name, at = sys.argv[1], int(sys.argv[2])
data = bytearray(open(name, "rb").read())
data[at] ^= 0x41
open(name, "wb").write(data)
PYTHON
}

# hash_of FILE: its XXH3 of 128 bits, in whatever program can tell
hash_of() {
    if command -v xxh128sum > /dev/null; then
        xxh128sum "$1" | cut -d ' ' -f 1
    else
        python3 -c '
import ctypes, sys
class Hash(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]
take = ctypes.CDLL("libxxhash.so.0").XXH3_128bits
take.restype, take.argtypes = Hash, [ctypes.c_char_p, ctypes.c_size_t]
data = open(sys.argv[1], "rb").read()
print("%016x%016x" % (take(data, len(data)).high, take(data, len(data)).low))' "$1"
    fi
}
