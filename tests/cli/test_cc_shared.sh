#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# A program that is linked with an instrumented shared library, and finds another of that name when
# it is started, as Debian's bzip2 does: whichever is instrumented, it starts, and is recorded.
set -eu
. "$PSNAP_SOURCE/tests/cli/capture_common.sh"

cat > lib.c << 'END'
static volatile int cells[64];
int twice(int n)
{
    for (int i = 0; i < n; i++)
        cells[i % 64] = i;
    return 2 * n;
}
END
cat > other.c << 'END'
int twice(int n);
int four_times(int n)
{
    return 2 * twice(n);
}
END
cat > prog.c << 'END'
#include <stdio.h>
#ifdef FOUR
int four_times(int n);
#define twice four_times
#endif
int twice(int n);
static volatile int own[64];
int main(void)
{
    for (int i = 0; i < 1000; i++)
        own[i % 64] = i;
    printf("%d\n", twice(500));
    return 0;
}
END
mkdir -p ours theirs
"$PSNAP" cc -O1 -fPIC -shared -o ours/libtwice.so lib.c
"$PSNAP_CC" -O1 -fPIC -shared -o theirs/libtwice.so lib.c
"$PSNAP" cc -O1 -fPIC -shared -o libfour.so other.c -Lours -ltwice

for order in "-Lours -ltwice prog.c" "prog.c -Lours -ltwice"; do
    # shellcheck disable=SC2086
    "$PSNAP" cc -O1 -o prog $order
    for libraries in ours theirs; do
        export LD_LIBRARY_PATH=$PWD/$libraries
        [ "$(./prog)" = 1000 ] || fail "$order, $libraries: alone"
        [ "$("$PSNAP" record --force -o p.yaml -- ./prog)" = 1000 ] || fail "$order, $libraries"
        [ "$(accesses_of main:10 p.yaml)" = 1000 ] || fail "$order, $libraries: main"
        expected=0
        [ $libraries = theirs ] || expected=500
        [ "$(accesses_of twice:4 p.yaml)" = $expected ] || fail "$order, $libraries: the library"
    done
    unset LD_LIBRARY_PATH
done

# One that is not instrumented itself, with a library that is and was linked with another.
"$PSNAP_CC" -O1 -DFOUR -o plain prog.c -L. -lfour -Lours -ltwice
for libraries in ours theirs; do
    [ "$(LD_LIBRARY_PATH=$PWD:$PWD/$libraries ./plain)" = 2000 ] || fail "plain, $libraries"
done

# A link without a C library gets the runtime only if there is something instrumented in it.
cat > bare.s << 'END'
.globl _start
_start:
    ud2
END
"$PSNAP" cc -nostdlib -o bare bare.s || fail "no C library"
