#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Every access that is made is recorded, once, in order, with its size and place: the matrix
# product whose accesses can be counted by hand, and small programs for each way in which C
# and C++ touch memory, whose lists of accesses are given here.
set -eu
. "$PSNAP_SOURCE/tests/cli/capture_common.sh"

# ------------------------------------------------------------- the matrix product, by hand

n=20
cubes=$((2 * n * n * n)) square=$((n * n))

# loops TRACE: "source loop: accesses", parts of a loop together
loops() {
    "$PSNAP" sim "$1" -m table1-1 --by loop --json | python3 -c '
import json, sys
counts = {}
for row in json.load(sys.stdin)["rows"]:
    source = row["id"].split(".")[0]
    counts[source] = counts.get(source, 0) + row["accesses"]
for source in sorted(counts):
    print(source, counts[source])
' | grep ':'
}

# What the loops of matmul.c do, by the lines of their heads
head_of() { grep -n "$1" "$PSNAP_SOURCE/samples/matmul.c" | cut -d : -f 1 | sed -n "${2:-1}p"; }
{
    echo "checksum:$(head_of 'i < n \* n' 2) $square"
    echo "init:$(head_of 'i < n \* n') $((2 * square))"
    echo "multiply:$(head_of 'j < n') $square"
    echo "multiply:$(head_of 'k < n') $cubes"
} | sort > loops.expected

for flags in "-O2" "-O2 --psnap-stage=vectorizer-start" "-O1 -g" "-O3 -march=native"; do
    "$PSNAP" cc $flags -o matmul "$PSNAP_SOURCE/samples/matmul.c"
    "$PSNAP" record --force -o matmul.yaml --trace matmul.pst -- ./matmul $n > out
    loops matmul.pst | sort > loops.seen
    diff -u loops.expected loops.seen > difference || fail "matmul $flags: $(cat difference)"
    total=$("$PSNAP" sim matmul.yaml -m table1-1 --json | tr -d ' \n' |
        sed 's/.*"scope":"total"[^}]*"accesses":\([0-9]*\).*/\1/')
    [ "$total" = "$("$PSNAP" sim matmul.pst -m table1-1 --json | tr -d ' \n' |
        sed 's/.*"scope":"total"[^}]*"accesses":\([0-9]*\).*/\1/')" ] ||
        fail "matmul $flags: profile and trace differ: $total"
done

# Without optimisation the loops do more, but not to the matrices; with vectors and their
# accesses reordered they do the same to fewer, wider pieces: bytes stay.
for flags in "-O0" "-O0 -g" "-O3 -march=native -ffast-math -fno-finite-math-only" "-O2 -ffast-math -fno-finite-math-only -mno-avx"; do
    "$PSNAP" cc $flags -o matmul "$PSNAP_SOURCE/samples/matmul.c"
    "$PSNAP" record --force -o matmul.yaml --no-profile --trace matmul.pst -- ./matmul $n > out
    bytes=$("$PSNAP" convert matmul.pst -f csv -o - 2> /dev/null | python3 -c '
import sys
rows = [line.split(",") for line in list(sys.stdin)[1:]]
image = [(int(row[0], 16), int(row[1])) for row in rows if int(row[0], 16) >> 32 == 0x100]
# three groups of n * n doubles, far from each other and from all else
groups = []
for address in sorted({address for address, size in image}):
    if not groups or address - groups[-1][-1] > 64:
        groups.append([])
    groups[-1].append(address)
wide = [g for g in groups if g[-1] - g[0] >= 8 * ('$n' ** 2 - 8)]
assert len(wide) == 3, [(hex(g[0]), len(g)) for g in groups]
print(sum(s for a, s in image if any(g[0] <= a <= g[-1] for g in wide)))
')
    [ "$bytes" = $((8 * (cubes + 4 * square))) ] || fail "matmul $flags: $bytes bytes"
done

# ------------------------------------------------------------- C, at every level

cat > c.c << 'END'
#include "sections.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

SECTION(scalars)
{
    AT(char, 1) = 1;
    AT(short, 2) = 1;
    AT(int, 4) = (int)AT(short, 2);
    AT(long, 8) = AT(int, 4);
    AT(float, 16) = 1;
    AT(double, 24) = AT(float, 16);
    AT(__int128, 32) = 1;
    AT(long double, 48) = 1;
    AT(_Bool, 64) = 1;
}

SECTION(compound)
{
    AT(int, 0)++;
    AT(long, 8) += AT(int, 0);
}

static volatile short taken; /* an exchange of which nothing is taken may become a store */

SECTION(atomics)
{
    long expected = 5;
    __atomic_fetch_add((int *)p, 1, __ATOMIC_SEQ_CST);
    taken = __atomic_exchange_n((short *)(p + 8), 1, __ATOMIC_RELAXED);
    __atomic_compare_exchange_n((long *)(p + 16), &expected, 7, 0, __ATOMIC_SEQ_CST,
                                __ATOMIC_SEQ_CST);
    __atomic_load_n((int *)(p + 24), __ATOMIC_ACQUIRE);
    __atomic_store_n((char *)(p + 28), 1, __ATOMIC_RELEASE);
    __sync_fetch_and_or((long *)(p + 32), 3);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

SECTION(strided)
{
    for (int i = 0; i < 1000; i++)
        AT(int, 12 * i) = i;
    for (int i = 99; i >= 0; i--)
        (void)AT(double, 8 * i);
}

struct bits {
    unsigned a : 3, b : 13, c : 16;
};
SECTION(bit_fields)
{
    volatile struct bits *bits = (struct bits *)p;
    bits->a = 1;
    (void)bits->c;
}

static OPAQUE void nothing(void)
{
    __asm__ volatile("" ::: "memory");
}
static OPAQUE void inner(char *p)
{
    AT(int, 100) = 1;
    nothing();
    AT(int, 104) = 1;
}
SECTION(calls)
{
    void (*volatile pointer)(char *) = inner;
    AT(int, 0) = 1;
    inner(p);
    AT(int, 4) = 1;
    pointer(p + 8);
    AT(int, 8) = 1;
    srand((unsigned)AT(int, 12));
    AT(int, 16) = 1;
}

static OPAQUE int deep(char *p, int n)
{
    int below;
    AT(char, n) = 1;
    below = n ? deep(p, n - 1) : 0;
    AT(short, 100 + 2 * n) = 1;
    return below + 1;
}
SECTION(recursion)
{
    deep(p, 9);
}

static jmp_buf back;
static OPAQUE void jump(char *p, int n)
{
    AT(int, 4 * n) = 1;
    if (n == 0)
        longjmp(back, 1);
    jump(p, n - 1);
    AT(int, 1000) = 1; /* never */
}
SECTION(jumps)
{
    if (setjmp(back) == 0) {
        AT(char, 50) = 1;
        jump(p, 5);
        AT(char, 51) = 1;
    } else
        AT(char, 52) = 1;
    AT(char, 53) = 1;
}

static OPAQUE void several(char *p, int n, ...)
{
    va_list list;
    va_start(list, n);
    for (int i = 0; i < n; i++)
        AT(int, 8 * i) = va_arg(list, int);
    va_end(list);
}
SECTION(variadic)
{
    several(p, 3, 1, 2, 3);
}

SECTION(by_hand)
{
    AT(int, 0) = 1;
    __asm__ volatile("movl $1, %0" : "=m"(*(int *)(p + 4))); /* not seen: no instruction of ours */
    AT(int, 8) = 1;
}

SECTION(switches)
{
    static void *const labels[] = {&&one, &&two, &&three};
    volatile int n = 0;
    for (int i = 0; i < 6; i++)
        switch (i % 4) {
        case 0: AT(char, 0) = 1; break;
        case 1: AT(char, 1) = 1; /* fall through */
        case 2: AT(char, 2) = 1; break;
        default: AT(char, 3) = 1;
        }
next:
    if (n == 3)
        return;
    goto *labels[n++];
one:
    AT(char, 10) = 1;
    goto next;
two:
    AT(char, 11) = 1;
    goto next;
three:
    AT(char, 12) = 1;
    goto next;
}

static OPAQUE int pick(const void *a, const void *b)
{
    return *(const volatile int *)a - *(const volatile int *)b;
}
SECTION(called_back)
{
    AT(int, 0) = 2;
    AT(int, 4) = 1;
    qsort(p, 2, 4, pick);
    AT(int, 8) = AT(int, 0);
}

static OPAQUE int tail(char *p, int n)
{
    AT(char, n) = 1;
    if (n == 0)
        return 0;
    __attribute__((musttail)) return tail(p, n - 1);
}
SECTION(tails)
{
    tail(p, 4);
}

int main(void)
{
    RUN(scalars), RUN(compound), RUN(atomics), RUN(strided), RUN(bit_fields), RUN(calls);
    RUN(recursion), RUN(jumps), RUN(variadic), RUN(by_hand), RUN(switches), RUN(called_back);
    RUN(tails), mark();
    return 0;
}
END
cat > c.expected << 'END'
scalars: S1@1 S2@2 L2@2 S4@4 L4@4 S8@8 S4@16 L4@16 S8@24 S16@32 S10@48 S1@64
compound: L4@0 S4@0 L4@0 L8@8 S8@8
atomics: A4@0 A2@8 A8@16 L4@24 S1@28 A8@32
strided: S4@0..11988+12 L8@792..0+-8
bit_fields: L4@0 S4@0 L4@0
calls: S4@0 S4@100 S4@104 S4@4 S4@108 S4@112 S4@8 L4@12 S4@16
recursion: S1@9..0+-1 S2@100..118+2
jumps: S1@50 S4@20..0+-4 S1@52 S1@53
variadic: S4@0..16+8
by_hand: S4@0 S4@8
switches: S1@0..2+1 S1@2 S1@3 S1@0..2+1 S1@10..12+1
called_back: S4@0 S4@4 L4@0 L4@4 L4@0 S4@8
tails: S1@4..0+-1
END
for flags in -O0 -O1 -O2 "-O3 -march=native" "-Os -g" "-O2 --psnap-stage=vectorizer-start" \
    "-O2 -fno-omit-frame-pointer -fstack-protector-all -fcf-protection" "-O2 -fPIC"; do
    "$PSNAP" cc $flags -o c c.c sections.c
    expect_sections c c.expected
done

# ------------------------------------------------------------- bulk copies

cat > bulk.c << 'END'
#include "sections.h"
struct wide {
    char bytes[200];
};
static volatile size_t length;
#define LENGTHS(what) \
    SECTION(what##_0) { length = 0; what; } \
    SECTION(what##_1) { length = 1; what; } \
    SECTION(what##_63) { length = 63; what; } \
    SECTION(what##_64) { length = 64; what; } \
    SECTION(what##_65) { length = 65; what; } \
    SECTION(what##_long) { length = 1000003; what; }
#define copy memcpy(p + 2000000, p, length)
#define move memmove(p + 100, p, length)
#define fill memset(p, 1, length)
LENGTHS(copy)
LENGTHS(move)
LENGTHS(fill)
#define RUN_ALL(what) \
    RUN(what##_0), RUN(what##_1), RUN(what##_63), RUN(what##_64), RUN(what##_65), RUN(what##_long)

SECTION(structs)
{
    *(struct wide *)(p + 4096) = *(struct wide *)p;
}
static OPAQUE struct wide returned(char *p)
{
    return *(struct wide *)p;
}
SECTION(results)
{
    *(struct wide *)(p + 4096) = returned(p);
}
int main(void)
{
    RUN_ALL(copy), RUN_ALL(move), RUN_ALL(fill), RUN(structs), RUN(results), mark();
    return 0;
}
END
python3 > bulk.expected << 'END'
def pieces(n):
    return [(at, min(64, n - at)) for at in range(0, n, 64)]
def list_of(accesses):
    out, i = [], 0
    while i < len(accesses):
        j = i
        kind, size, at = accesses[i]
        step = accesses[i + 1][2] - at if i + 2 < len(accesses) else 0
        while step and j + 1 < len(accesses) and accesses[j + 1] == (kind, size, accesses[j][2] + step):
            j += 1
        if j - i >= 2:
            out.append(f"{kind}{size}@{at}..{accesses[j][2]}+{step}")
        else:
            j = i
            out.append(f"{kind}{size}@{at}")
        i = j + 1
    return " ".join(out)
def copied(name, n, to):
    a = [x for at, size in pieces(n) for x in (("L", size, at), ("S", size, to + at))]
    print(f"{name}: {list_of(a)}".rstrip())
sizes = [("0", 0), ("1", 1), ("63", 63), ("64", 64), ("65", 65), ("long", 1000003)]
for name, n in sizes:
    copied("copy_" + name, n, 2000000)
for name, n in sizes:
    copied("move_" + name, n, 100)
for name, n in sizes:
    print(f"fill_{name}: {list_of([('S', s, a) for a, s in pieces(n)])}".rstrip())
copied("structs", 200, 4096)
print("results: L64@0 L64@64 L64@128 L8@192 S64@4096 S64@4160 S64@4224 S8@4288"
      .replace("L64@0 L64@64 L64@128", "L64@0..128+64")
      .replace("S64@4096 S64@4160 S64@4224", "S64@4096..4224+64"))
END
for flags in "-O1" "-O2 -march=native"; do
    "$PSNAP" cc $flags -o bulk bulk.c sections.c
    expect_sections bulk bulk.expected
done

# ------------------------------------------------------------- vectors, with and without masks

cat > vectors.ll << 'END'
target triple = "x86_64-pc-linux-gnu"
declare <8 x i32> @llvm.masked.load.v8i32.p0(ptr, i32, <8 x i1>, <8 x i32>)
declare void @llvm.masked.store.v8i32.p0(<8 x i32>, ptr, i32, <8 x i1>)
declare <8 x i32> @llvm.masked.gather.v8i32.v8p0(<8 x ptr>, i32, <8 x i1>, <8 x i32>)
declare void @llvm.masked.scatter.v8i32.v8p0(<8 x i32>, <8 x ptr>, i32, <8 x i1>)
declare <8 x i32> @llvm.masked.expandload.v8i32(ptr, <8 x i1>, <8 x i32>)
declare void @llvm.masked.compressstore.v8i32(<8 x i32>, ptr, <8 x i1>)

define <8 x i1> @mask(i8 %bits) noinline {
  %mask = bitcast i8 %bits to <8 x i1>
  ret <8 x i1> %mask
}
define void @contiguous(ptr %p, i8 %bits) noinline {
  %mask = call <8 x i1> @mask(i8 %bits)
  %x = call <8 x i32> @llvm.masked.load.v8i32.p0(ptr %p, i32 4, <8 x i1> %mask, <8 x i32> zeroinitializer)
  %q = getelementptr i8, ptr %p, i64 4096
  call void @llvm.masked.store.v8i32.p0(<8 x i32> %x, ptr %q, i32 4, <8 x i1> %mask)
  ret void
}
define void @spread(ptr %p, i8 %bits) noinline {
  %mask = call <8 x i1> @mask(i8 %bits)
  %at = getelementptr i32, ptr %p, <8 x i64> <i64 9, i64 100, i64 3, i64 3, i64 50, i64 0, i64 7, i64 200>
  %x = call <8 x i32> @llvm.masked.gather.v8i32.v8p0(<8 x ptr> %at, i32 4, <8 x i1> %mask, <8 x i32> zeroinitializer)
  %to = getelementptr i64, ptr %p, <8 x i64> <i64 9, i64 100, i64 3, i64 3, i64 50, i64 0, i64 7, i64 200>
  call void @llvm.masked.scatter.v8i32.v8p0(<8 x i32> %x, <8 x ptr> %to, i32 4, <8 x i1> %mask)
  ret void
}
define void @packed(ptr %p, i8 %bits) noinline {
  %mask = call <8 x i1> @mask(i8 %bits)
  %x = call <8 x i32> @llvm.masked.expandload.v8i32(ptr %p, <8 x i1> %mask, <8 x i32> zeroinitializer)
  %q = getelementptr i8, ptr %p, i64 4096
  call void @llvm.masked.compressstore.v8i32(<8 x i32> %x, ptr %q, <8 x i1> %mask)
  ret void
}
define void @wide(ptr %p, i8 %bits) noinline {
  %x = load volatile <24 x double>, ptr %p, align 8
  %q = getelementptr i8, ptr %p, i64 4096
  store volatile <24 x double> %x, ptr %q, align 8
  %y = load volatile <4 x i8>, ptr %p, align 1
  %z = load volatile i24, ptr %p, align 1
  store volatile <3 x float> zeroinitializer, ptr %q, align 4
  ret void
}
END
cat > vectors.c << 'END'
#include "sections.h"
void contiguous(char *, char), spread(char *, char), packed(char *, char), wide(char *, char);
int main(void)
{
    static const unsigned char masks[] = {0, 255, 0x24, 0x80, 1};
    for (int i = 0; i < 5; i++) {
        mark(), contiguous(base, (char)masks[i]);
        mark(), spread(base, (char)masks[i]);
        mark(), packed(base, (char)masks[i]);
    }
    mark(), wide(base, 0), mark();
    return 0;
}
END
cat > vectors.expected << 'END'
contiguous 0:
spread 0:
packed 0:
contiguous ff: L32@0 S32@4096
spread ff: L4@36 L4@400 L4@12 L4@12 L4@200 L4@0 L4@28 L4@800 S4@72 S4@800 S4@24 S4@24 S4@400 S4@0 S4@56 S4@1600
packed ff: L32@0 S32@4096
contiguous 24: L16@8 S16@4104
spread 24: L4@12 L4@0 S4@24 S4@0
packed 24: L8@0 S8@4096
contiguous 80: L4@28 S4@4124
spread 80: L4@800 S4@1600
packed 80: L4@0 S4@4096
contiguous 01: L4@0 S4@4096
spread 01: L4@36 S4@72
packed 01: L4@0 S4@4096
wide: L64@0..128+64 S64@4096..4224+64 L4@0 L3@0 S12@4096
END
for flags in -O0 "-O2 -mno-avx" "-O2 -march=native"; do
    "$PSNAP" cc $flags -Wno-override-module -o vectors vectors.ll vectors.c sections.c
    expect_sections vectors vectors.expected
done

# What the vectoriser makes of a loop, by the lanes of the machine: a gather is an access per
# lane; a masked access goes from the first active lane to the last, here from the second to
# the last but two.
cat > lanes.c << 'END'
#include "sections.h"
SECTION(conditional)
{
    int *a = (int *)p, *b = (int *)(p + 65536);
    for (int i = 0; i < 1000; i++)
        if (i % 4 == 1)
            a[i] = b[i];
}
SECTION(gathered)
{
    int *index = (int *)(p + 131072);
    float *a = (float *)p, *b = (float *)(p + 262144);
    for (int i = 0; i < 1000; i++)
        b[i] = a[index[i]];
}
int main(void)
{
    char *volatile from = base;
    mark(), conditional(from), mark(), gathered(from), mark();
    return 0;
}
END
# lanes FLAGS...: records lanes.c compiled so, and looks at the bytes loaded and stored
lanes() {
    "$PSNAP" cc "$@" -o lanes lanes.c sections.c
    "$PSNAP" record --no-profile --trace lanes.pst --force -- ./lanes
    sections lanes.pst | python3 -c '
import re, sys
def bytes_of(line):
    seen = {"L": 0, "S": 0}
    for kind, size, at, more in re.findall(r"([LS])(\d+)@(\d+)(\S*)", line):
        last = re.match(r"\.\.(\d+)\+(-?\d+)", more)
        times = (int(last[1]) - int(at)) // int(last[2]) + 1 if last else 1
        seen[kind] += int(size) * times
    return seen["L"], seen["S"]
conditional, gathered = (bytes_of(line) for line in sys.stdin)
assert gathered == (8000, 4000), gathered
# the loop in vectors, what is left of it in shorter ones, the last ones singly
fit = {}
for lanes in (4, 8, 16, 32):
    for n in range(0, 1001, lanes):
        for less in (4, 8, 16):
            for m in range(0, 1001 - n, less):
                bytes = n // lanes * 4 * (lanes - 3) + m // less * 4 * (less - 3) \
                    + (1000 - n - m) // 4 * 4
                if 1000 - n < 160 and 1000 - n - m < 32:
                    fit[bytes, bytes] = lanes
fit[1000, 1000] = 1
assert conditional in fit, conditional
print("masked" if conditional != (1000, 1000) else "single")
'
}
[ "$(lanes -O1)" = single ] && [ "$(lanes -O3)" = single ] || fail "lanes at baseline"
! grep -q avx2 /proc/cpuinfo || [ "$(lanes -O3 -mavx2)" = masked ] || fail "lanes with AVX2"
! grep -q avx512vl /proc/cpuinfo || [ "$(lanes -O3 -mavx512vl)" = masked ] ||
    fail "lanes with AVX-512"

# ------------------------------------------------------------- C++

cat > cxx.cpp << 'END'
#include "sections.h"
#include <new>
#include <stdexcept>
#include <thread>
#include <vector>

struct constructed {
    constructed() { char *p = base; mark(); AT(int, 1000) = 1; }
    ~constructed() { char *p = base; AT(int, 1004) = 1; mark(); }
};
static constructed before_main;

struct guard {
    char *p;
    explicit guard(char *q) : p(q) { AT(char, 1) = 1; }
    ~guard() { AT(char, 2) = 1; }
};
static OPAQUE void thrower(char *p, int n)
{
    guard g(p + 10 * n);
    if (n == 0)
        throw std::runtime_error("x");
    thrower(p, n - 1);
    AT(char, 99) = 1; // never
}
SECTION(exceptions)
{
    try {
        AT(char, 0) = 1;
        thrower(p, 2);
        AT(char, 98) = 1; // never
    } catch (const std::logic_error &) {
        AT(char, 97) = 1; // never
    } catch (const std::exception &e) {
        AT(char, 50) = e.what()[0];
    }
    AT(char, 51) = 1;
}

struct shape {
    virtual ~shape() = default;
    virtual void draw(char *p) = 0;
};
struct circle final : shape {
    long radius = 1;
    void draw(char *p) override { AT(char, 500) = (char)radius; }
};
struct square final : shape {
    void draw(char *p) override { AT(char, 501) = 1; }
};
SECTION(virtual_calls)
{
    shape *volatile shapes[2] = {new (p) circle, new (p + 64) square};
    for (int i = 0; i < 3; i++)
        shapes[i % 2]->draw(p);
}

static thread_local int counter;
SECTION(thread_locals)
{
    counter++;
    AT(int, 0) = counter;
    std::thread([p] {
        counter += 2;
        AT(int, 4) = counter;
    }).join();
    AT(int, 8) = counter;
}

template <typename T> static OPAQUE void put(char *p, T value)
{
    AT(T, 0) = value;
}
SECTION(templates)
{
    put<char>(p, 1);
    put<double>(p + 8, 1);
    std::vector<long> v(3);
    AT(long, 16) = (long)v.size();
}

int main()
{
    RUN(exceptions), RUN(virtual_calls), RUN(thread_locals), RUN(templates), mark();
    return 0;
}
END
cat > cxx.expected << 'END'
before_main: S4@1000
exceptions: S1@0 S1@21..1+-10 S1@2..22+10 S1@50 S1@51
virtual_calls: S8@0 S8@8 S8@64 L8@0 L8@8 S1@500 L8@64 S1@501 L8@0 L8@8 S1@500
thread_locals: S4@0 S4@8
templates: S1@0 S8@8 S8@16
after_main: S4@1004
END
for flags in -O1 "-O2 -g"; do
    "$PSNAP" c++ -std=c++17 $flags -pthread -c cxx.cpp
    "$PSNAP" cc -c sections.c
    "$PSNAP" c++ -pthread -o cxx cxx.o sections.o
    expect_sections cxx cxx.expected
    sections cxx.pst 1 > seen
    [ "$(cat seen)" = S4@4 ] || fail "cxx: thread 1: $(cat seen)"
done
