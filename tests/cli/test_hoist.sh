#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Hoisting the recording of loops changes no access: programs that record in both ways, one
# chosen at start, give the same trace and the same profile. All samples, and hoist*.c, which
# have a loop of every shape. Then what the two ways may not have in common: loops that are
# left by a signal or still run when the program is killed.
set -eu
. "$PSNAP_SOURCE/tests/cli/capture_common.sh"

# both NAME ARGUMENTS...: records ./NAME in both ways and compares
both() {
    local name=$1 way
    shift
    for way in 0 1; do
        PSNAP_UNHOISTED=$way "$PSNAP" record --force -o $way.yaml --trace $way.pst -- \
            "./$name" "$@" > out 2> err < /dev/null || fail "$name: exit status $?: $(cat err)"
        sed "s/recorded: '[^']*'//" $way.yaml > $way.profile
    done
    diff 0.profile 1.profile > difference || fail "$name $*: $(head -20 difference)"
    cmp <("$PSNAP" convert 0.pst -f csv -o - 2> 0.err) \
        <("$PSNAP" convert 1.pst -f csv -o - 2> 1.err) > difference ||
        fail "$name $*: $(cat difference 0.err 1.err)"
    has 0.err " accesses from"
}

for flags in "-O2" "-O0" "-O1 -g" "-O3 -march=native" "-Os" "-O2 -fno-strict-aliasing -fwrapv" \
    "-O2 --psnap-stage=vectorizer-start" "-O2 -fno-unroll-loops -fno-vectorize"; do
    PSNAP_HOIST=switch "$PSNAP" cc $flags -I "$PSNAP_SOURCE" -o hoist "$PSNAP_SOURCE"/tests/cli/hoist*.c
    both hoist 1
    PSNAP_HOIST=off "$PSNAP" cc $flags -I "$PSNAP_SOURCE" -o plain "$PSNAP_SOURCE"/tests/cli/hoist*.c
    ./hoist 1 > hoist.out
    ./plain 1 > plain.out
    cmp hoist.out plain.out || fail "$flags: the program does something else"
done
both hoist 5

# ------------------------------------------------------------- all samples, at the tests' sizes

grep -v -e '^#' -e '^ *$' "$PSNAP_SOURCE/samples/samples.list" > samples
while read -r name file arguments; do
    language=cc
    case $file in *.cpp) language=c++ ;; esac
    PSNAP_HOIST=switch "$PSNAP" $language -O2 -o "$name" "$PSNAP_SOURCE/samples/$file" -lm -pthread
    [ "$name" = threads ] || both "$name" ${arguments%%|*}
done < samples

# ------------------------------------------------------------- memory that nobody announced

# It gets its place when it is first touched: in the program's order, also where iterations of a
# period are decoded to know the ones between.
cat > order.c << 'END'
#define _GNU_SOURCE
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
enum { FIRST = 256, BLOCKS = 900, APART = 1 << 22 };
static double c[64], z[8192];
static int index_of[4096];
__attribute__((noinline)) static void block(double *x, const double *y, long rows, long columns,
                                            long bias)
{
    for (long i = 0; i < rows; i++) {
        for (long j = 0; j < columns; j++)
            x[8 * i + j] += y[8 * i + j];
        if (bias + i > 40)
            for (long j = 0; j < columns - 2; j++)
                x[8 * i + j] = 1;
    }
}
__attribute__((noinline)) static void head(double *x, long rows, long columns)
{
    for (long i = 0; i < rows; i++)
        for (long j = 0; j < columns; j++)
            x[8 * i + j] += 2;
}
__attribute__((noinline)) static void planes(double *x, double *y, const long *s, long bias)
{
    for (long plane = 0; plane < s[6]; plane++) {
        head(c, 3, 5);
        for (long i = 0; i < 7; i++)
            block(x + 8 * (i * s[0] + plane * s[1]), y + 8 * (i * s[2] + plane * s[3]), s[4], s[5],
                  bias + 3 * i + 2 * plane);
        c[plane % 64] = 1;
    }
}
/* Fills the ring, so that all is decoded while the program runs. */
__attribute__((noinline)) static void fill(double *x, long rows)
{
    for (long i = 0; i < rows; i++)
        for (int k = 0; k < 4096; k++)
            x[index_of[k]] += 1;
}
static void *map(void *at, size_t bytes, int how)
{
    return (void *)syscall(SYS_mmap, at, bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | how, -1, 0);
}
int main(void)
{
    const long steps[] = {APART / 64, 8 * APART / 64, 3, 4, 3, 6, 90};
    char *all = map(NULL, (size_t)BLOCKS * APART, 0);
    munmap(all, (size_t)BLOCKS * APART);
    map(all, (size_t)FIRST * APART, MAP_FIXED);
    for (long i = FIRST; i < BLOCKS; i++)
        map(all + i * APART, 2 * 4096, MAP_FIXED);
    planes((double *)all, z, steps, -60);
    for (int k = 0; k < 4096; k++)
        index_of[k] = (int)(k * 2654435761u >> 20);
    fill(z, 60);
    return 0;
}
END
PSNAP_HOIST=switch "$PSNAP" cc -O2 -o order order.c
both order

# ------------------------------------------------------------- faults in the middle of a loop

# A loop touches a page that it may not; the handler runs loops of its own and opens the page, or
# leaves with siglongjmp, or is killed. What it does comes before or behind the loop's accesses.
cat > fault.c << 'END'
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
static char *page;
static long other[5000];
static int index_of[5000];
static sigjmp_buf place;
static char way;

void rows(long *x, const int *index, long n);
void affine(long *x, long n);
void nest(volatile long *x, long rows, long columns);
void siblings(volatile long *x, volatile long *bad, long n);

#if PART != 2
__attribute__((noinline)) void rows(long *x, const int *index, long n)
{
    for (long i = 0; i < n; i++)
        x[index[i]] += 1;
}

__attribute__((noinline)) void affine(long *x, long n)
{
    for (volatile long *p = x; p < x + n; p++)
        *p += 1;
}

__attribute__((noinline)) void nest(volatile long *x, long rows, long columns)
{
    for (long i = 0; i < rows; i++)
        for (long j = 0; j < columns; j++)
            x[j] += i;
}

/* Left in the second of two loops, before its innermost one. */
__attribute__((noinline)) void siblings(volatile long *x, volatile long *bad, long n)
{
    for (long i = 0; i < n; i++) {
        for (long j = 0; j < n; j++)
            for (long k = 0; k < 100; k++)
                x[k] = j;
        for (long j = 0; j < n; j++) {
            bad[i * 128 + j * 8] = 1;
            for (long k = 0; k < 50; k++)
                x[k] = j;
        }
    }
}
#endif

#if PART != 1
static void handle(int number)
{
    if (way == 'k')
        raise(SIGKILL);
    if (way == 'l' || way == 's')
        siglongjmp(place, number);
    mprotect(page, 4096, PROT_READ | PROT_WRITE);
    if (way == 'c' && fork())
        wait(NULL);
    if (way == 'c')
        return;
    for (int i = 0; i < (way == 'f' || way == 'm' ? 400 : 1); i++)
        rows(other, index_of, 3000);
    affine(other, 100);
    nest(other, 20, 30);
}

int main(int argc, char **argv)
{
    static char stack[1 << 16] __attribute__((aligned(4096)));
    const stack_t alternative = {.ss_sp = stack, .ss_size = sizeof stack};
    const struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK};
    way = argv[argc - 1][0];
    for (int i = 0; i < 5000; i++)
        index_of[i] = i * 7 % 900;
    page = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    page += 4096;
    sigaltstack(&alternative, NULL);
    sigaction(SIGSEGV, &action, NULL);
    nest(other, 75, 4000); /* the first records of it are there already when it is left */
    for (int i = way == 's' ? 3 : 0; i < (way == 's' ? 4 : 3); i++) {
        mprotect(page, 4096, PROT_NONE);
        if (sigsetjmp(place, 1) == 0) {
            if (i == 3)
                siblings(other, (long *)(page - 4096), 10);
            else if (i == 2)
                nest((long *)(page - 4096), way == 'm' ? 2000 : 5, 1500);
            else if (i)
                affine((long *)(page - 4096), 1500);
            else
                rows((long *)(page - 4096), index_of, 4000);
        }
    }
    mprotect(page, 4096, PROT_READ | PROT_WRITE);
    affine((long *)page, 10);
    puts("done");
    return 0;
}
#endif
END
PSNAP_HOIST=switch "$PSNAP" cc -O2 -o fault fault.c
for way in 0 1; do
    PSNAP_UNHOISTED=$way "$PSNAP" record --force -o $way.yaml --trace $way.pst -- ./fault open > out 2> err ||
        fail "fault: $(cat err)"
    [ ! -s err ] || fail "fault: $(cat err)"
    "$PSNAP" convert $way.pst -f csv -o - 2> err | grep -v ^0x4008 | sort > $way.csv # no argv
done
cmp 0.csv 1.csv > difference || fail "fault: $(cat difference)"
# The collector on the program's processor is late: handlers find the ring nearly full, with the
# record of the access that faulted open in it.
processor=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')
for n in 1 2 3 4 5 6 7 8; do
    PSNAP_UNHOISTED=1 taskset -c "$processor" \
        "$PSNAP" record --force -o late.yaml -- ./fault open > out 2> err || fail "late: $(cat err)"
    [ "$(grep '^totals' late.yaml)" = "$(grep '^totals' 1.yaml)" ] ||
        fail "late: $(grep '^totals' late.yaml)"
done

# Handlers fill the ring in the middle of a loop, which goes on to write its record: that is in no
# other record's words, and said.
[ "$(status "$PSNAP" record --force -o p.yaml --trace p.pst -- ./fault full)" = 125 ] || fail "full: $(cat err)"
has err "signal handlers filled the ring: what 3 executions of loops or blocks accessed after them"
for name in 0 p; do
    "$PSNAP" convert $name.pst -f csv -o - 2> err | grep -v ^0x4008 | cut -d , -f 1-3 | sort -u > $name.set
done
comm -13 0.set p.set > difference
[ ! -s difference ] || fail "full: $(head difference)"

# A handler forks in the middle of each of the three loops, in which the child goes on, too.
[ "$(status "$PSNAP" record --force -o p.yaml -- ./fault child)" = 125 ] || fail "child: $(cat err)"
[ "$(grep -c "forked this process in the middle of a loop" err)" = 7 ] || fail "child: $(cat err)"
rm p.yaml.*

# After handlers have filled the ring a long nest goes on in a record of its own: of its 6,000,000
# accesses no more than a record's are missing.
"$PSNAP" cc -O2 -fno-unroll-loops -fno-vectorize -o fault fault.c
accesses() {
    "$PSNAP" info --json "$1" | python3 -c 'import json, sys; print(json.load(sys.stdin)["accesses"])'
}
for way in full many; do
    [ "$(status "$PSNAP" record --force -o $way.yaml -- ./fault $way)" = 125 ] || fail "$way: $(cat err)"
done
[ "$(($(accesses many.yaml) - $(accesses full.yaml)))" -gt 4500000 ] ||
    fail "many: $(accesses many.yaml) accesses, $(accesses full.yaml) with a short nest"

# Of a loop that is left no more than an iteration is lost, wherever setjmp is called: that is said.
line=$(grep -n 'p < x + n' fault.c | cut -d : -f 1)
for part in 1 2; do
    "$PSNAP" cc -O2 -fno-unroll-loops -fno-vectorize -DPART=$part -c -o part$part.o fault.c
done
"$PSNAP" cc -o parts part1.o part2.o
for program in fault parts; do
    [ "$(status "$PSNAP" record --force -o p.yaml -- ./$program leave)" = 0 ] || fail "leave: $(cat err)"
    grep "3 executions of loops or blocks cut off by.* up to [1-9] are missing" err > said ||
        fail "leave: $(cat err)"
    count=$(accesses_of "affine:$line" p.yaml)
    [ "$count" = $((2 * (4096 / 8 + 10))) ] || fail "$program: $count accesses of affine()"
    count=$(accesses_of "rows:$((line - 6))" p.yaml) # to the page that is at 8 * 512
    [ "$count" = $((3 * 74)) ] || fail "$program: $count accesses of rows()"
    count=$(accesses_of "nest:$((line + 7))" p.yaml)
    [ "$count" = $((2 * (75 * 4000 + 4096 / 8))) ] || fail "$program: $count accesses of nest()"
    [ "$(status "$PSNAP" record --force -o p.yaml -- ./$program siblings)" = 0 ] || fail "siblings: $(cat err)"
    has err "its last accesses up to 3 are missing"
    count=$("$PSNAP" show p.yaml --json | python3 -c '
import json, sys
print(sum(l["accesses"] for l in json.load(sys.stdin)["loops"] if l["id"].startswith("siblings:")))')
    [ "$count" = $((5 * 1000 + 4 * 10 * 51)) ] || fail "$program: $count accesses of siblings()"
done
[ "$(status "$PSNAP" record --force -o p.yaml -- ./parts kill)" = 137 ] || fail "kill: $(cat err)"
grep -q "1 execution of loops or blocks cut off by.* up to [1-9] are missing" err ||
    fail "kill: $(cat err)"
"$PSNAP" check p.yaml > out || fail "kill: $(cat out)"

# ------------------------------------------------------------- what needs no words

# Loops whose addresses have quotients take no room for rows; those whose addresses are loaded do.
cat > rows.c << 'END'
#ifdef LOADED
#    define AT(i) index[i]
#else
#    define AT(i) (i + 1) / 2 + i % 3 + (i & 7) - (unsigned)i / 5
#endif
void rows(double *x, const double *y, const long *index, unsigned long n)
{
    for (unsigned long i = 0; i < n; i++)
        x[i] = y[AT(i)];
}
END
flags="-O2 -fno-vectorize -fno-unroll-loops -S -emit-llvm"
"$PSNAP" cc $flags rows.c -o quotients.ll
"$PSNAP" cc $flags -DLOADED rows.c -o loaded.ll
has quotients.ll "__psnap_reserve(i64 5)"
! grep -F '__psnap_reserve(i64 512)' quotients.ll || fail "quotients go into rows"
has loaded.ll "__psnap_reserve(i64 512)"
