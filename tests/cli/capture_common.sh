#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What the tests of capture share beyond common.sh; they source it. Skips without `psnap cc`,
# and compares what a program of sections touches with what it should.

. "$PSNAP_SOURCE/tests/cli/common.sh"

echo 'int main(void) { return 0; }' > probe.c
"$PSNAP" cc -o probe probe.c 2> probe.err || {
    echo "skipped: no psnap cc: $(cat probe.err)"
    exit 77
}
unset PSNAP_OUT PSNAP_SESSION PSNAP_COMMAND PSNAP_STAGE

# accesses_of LOOP PROFILE: all parts of this loop of the source, a number; the profile is good
accesses_of() {
    "$PSNAP" check "$2" > check.out 2>&1 || fail "$2: $(cat check.out)"
    "$PSNAP" show "$2" --json | python3 -c '
import json, sys
loops = json.load(sys.stdin)["loops"]
print(sum(loop["accesses"] for loop in loops if loop.get("part_of", loop["id"]) == sys.argv[1]))
' "$1"
}

# A program of sections includes this: SECTION(name) { accesses to p[0] and on } and, in main,
# RUN(name). What a section touches in `base` is what the test looks at; a mark of three
# volatile stores goes before each and one behind the last.
cat > sections.h << 'END'
#include <stddef.h>
#include <stdint.h>
#include <string.h>
enum { BASE_BYTES = 4 << 20 };
#ifdef __cplusplus
#define LINKAGE extern "C"
#else
#define LINKAGE extern
#endif
LINKAGE char base[BASE_BYTES];
LINKAGE void mark(void);
#define OPAQUE __attribute__((noinline))
#define SECTION(name) static OPAQUE void name(char *p)
#define RUN(name) (mark(), name(base))
#define AT(type, offset) (*(volatile type *)(p + (offset)))
END
cat > sections.c << 'END'
#include "sections.h"
char base[BASE_BYTES] __attribute__((aligned(4096)));
void mark(void)
{
    char *p = base + BASE_BYTES - 4;
    AT(char, 0) = 1;
    AT(short, 1) = 1;
    AT(char, 3) = 1;
}
END

# sections TRACE [THREAD]: of the first thread, or what another has done to base: a line per section: L, S or A (load, store, atomic), size, @offset in base.
# Three and more of one kind and size at constant strides are one: "S64@0..4032+64".
sections() {
    "$PSNAP" convert "$1" -f csv -o - 2> /dev/null | python3 -c '
import sys
rows = [line.split(",") for line in sys.stdin][1:]
everything = [(int(r[0], 16), int(r[1]), r[2][0].upper(), int(r[3])) for r in rows]
thread = int(sys.argv[1])
accesses = [a[:3] for a in everything if a[3] == 0]
accesses = [a for a in accesses if a[0] >> 32 == 0x100] # of the program itself, no stack
BASE_BYTES = 4 << 20
def is_mark(i):
    a = accesses[i:i + 3]
    return len(a) == 3 and [x[1] for x in a] == [1, 2, 1] and a[1][0] == a[0][0] + 1 \
        and a[2][0] == a[0][0] + 3 and all(x[2] == "S" for x in a)
starts = [i for i in range(len(accesses)) if is_mark(i)]
assert starts, "no marks"
base = accesses[starts[0]][0] - BASE_BYTES + 4
if thread:
    accesses = [a[:3] for a in everything if a[3] == thread]
    starts = [-3, len(accesses)]
for begin, end in zip(starts, starts[1:]):
    seen = [(a - base, n, k) for a, n, k in accesses[begin + 3:end] if 0 <= a - base < BASE_BYTES]
    out, i = [], 0
    while i < len(seen):
        at, size, kind = seen[i]
        j = i
        if i + 2 < len(seen):
            step = seen[i + 1][0] - at
            while j + 1 < len(seen) and seen[j + 1] == (seen[j][0] + step, size, kind):
                j += 1
        if j - i >= 2 and step:
            out.append(f"{kind}{size}@{at}..{seen[j][0]}+{step}")
            i = j + 1
        else:
            out.append(f"{kind}{size}@{at}")
            i += 1
    print(" ".join(out))
' "${2:-0}"
}

# expect_sections PROGRAM FILE: records it and compares its sections with FILE: lines "name: accesses"
expect_sections() {
    "$PSNAP" record --no-profile --trace "$1.pst" --force -- "./$1" > out 2> err ||
        fail "$1: exit status $?: $(cat err)"
    sections "$1.pst" > seen
    paste -d ' ' <(cut -d : -f 1 "$2" | sed 's/$/:/') seen | sed 's/ *$//' > named
    diff -u "$2" named > difference || fail "$1: $(cat difference)"
}
