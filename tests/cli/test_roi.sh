#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Regions of interest: what lies between the marks of <psnap/roi.h>, and what runs while a
# function does that --roi names, and nothing else; in programs whose accesses are counted by
# hand. A section touches `n` words from word `at` of a global array on, so that what is
# recorded can be written as at+n.
set -eu
. "$PSNAP_SOURCE/tests/cli/capture_common.sh"

cat > touch.h << 'END'
#include <psnap/roi.h>
#define OPAQUE __attribute__((noinline))
#ifdef __cplusplus
extern "C"
#else
extern
#endif
volatile long words[100000];
static OPAQUE void touch(long at, long n)
{
    for (long i = 0; i < n; i++)
        words[at + i] = i;
}
END
echo 'volatile long words[100000];' > words.c

# parts PROGRAM TRACE: what it has of `words`, in order: "at+n ..."; a line per thread that has any
parts() {
    "$PSNAP" convert "$2" -f csv -o - 2> /dev/null | python3 -c '
import sys
base = (0x100 << 32) + int(sys.argv[1], 16)
threads = {}
for line in list(sys.stdin)[1:]:
    address, size, kind, thread = line.split(",")[:4]
    word = (int(address, 16) - base) // 8
    if not 0 <= word < 100000:
        continue
    runs = threads.setdefault(int(thread), [])
    if runs and sum(runs[-1]) == word:
        runs[-1][1] += 1
    else:
        runs.append([word, 1])
for runs in sorted(threads.values()):
    print(" ".join(f"{at}+{n}" for at, n in runs))
' "$(nm "$1" | sed -n 's/ [BbDd] words$//p')"
}

# expect "OPTIONS" PROGRAM ARGUMENTS... "PARTS": what is recorded of it
expect() {
    local options=$1 program=$2 wanted=${*: -1}
    shift 2
    "$PSNAP" record $options -o p.yaml --trace p.pst --force -- "./$program" "${@:1:$#-1}" > out 2> err ||
        fail "$program $options: exit status $?: $(cat err)"
    parts "$program" p.pst > seen
    [ "$(cat seen)" = "$wanted" ] || fail "$program $options $*: $(cat seen err)"
    "$PSNAP" check p.yaml > out 2>&1 || fail "$program $options: $(cat out)"
    [ "$(info_part p.pst)" = "$(info_part p.yaml)" ] || fail "$program $options: the trace: $(info_part p.pst)"
}
# info_part FILE: of which part of a run it is
info_part() {
    "$PSNAP" info --json "$1" 2> info.err | python3 -c '
import json, sys
print(json.dumps(json.load(sys.stdin)["part"]))'
}

build() {
    local driver=cc
    case $1 in *.cpp) driver=c++ ;; esac
    "$PSNAP" $driver ${2:--O2} -c "$1" -o "${1%.*}.o"
    "$PSNAP" $driver ${2:--O2} "${1%.*}.o" words.o -o "${1%.*}" -pthread
}
"$PSNAP" cc -c words.c -o words.o

# ------------------------------------------------------------- marks

cat > marks.c << 'END'
#include "touch.h"
int main(void)
{
    touch(0, 10);
    PSNAP_ROI_END(); /* of nothing */
    PSNAP_ROI_BEGIN();
    touch(100, 20);
    PSNAP_ROI_BEGIN();
    touch(200, 5);
    PSNAP_ROI_END();
    touch(300, 3);
    PSNAP_ROI_END();
    touch(400, 7);
    for (int i = 0; i < 3; i++) {
        PSNAP_ROI_BEGIN();
        touch(500 + 10 * i, 2);
        PSNAP_ROI_END();
        touch(600, 9);
    }
    return 0;
}
END
for flags in -O0 -O2 "-O2 --psnap-stage=vectorizer-start" "-O2 -flto"; do
    build marks.c "$flags"
    expect "" marks "100+20 200+5 300+3 500+2 510+2 520+2"
done

# a region that ends between two loops: the second is not one that was cut off
cat > between.c << 'END'
#include "touch.h"
int main(void)
{
    PSNAP_ROI_BEGIN();
    for (long i = 0; i < 20; i++)
        words[i] = i;
    PSNAP_ROI_END();
    for (long i = 0; i < 1000; i++)
        words[i + 50] = i;
    return 0;
}
END
for flags in -O1 -O2; do
    build between.c "$flags"
    expect "" between "0+20"
    [ ! -s err ] || fail "between: $(cat err)"
done
expect "" marks "100+20 200+5 300+3 500+2 510+2 520+2"
grep -q "roi: \[PSNAP_ROI_BEGIN\]" p.yaml || fail "the profile does not say of what it is"
expect --no-roi marks "0+10 100+20 200+5 300+3 400+7 500+2 600+9 510+2 600+9 520+2 600+9"
expect "--roi main --skip 12 --count 20" marks "102+18 200+2"
expect "--skip 2 --count 25" marks "102+18 200+5 300+2"
[ "$(sed -n 's/.*sampling: {\([^}]*\)}.*/\1/p' p.yaml)" = "skip: 2, count: 25" ] || fail "$(grep sampling p.yaml)"
./marks
rm -f p.yaml
PSNAP_OUT=p.yaml ./marks 2> err
grep -q "totals: {accesses: 34," p.yaml || fail "PSNAP_OUT: $(grep totals p.yaml)"

# A nest has one record for half a million accesses; those outside of a region are not wanted
cat > nests.c << 'END'
#include "touch.h"
static OPAQUE void nest(long at, long rows, long columns)
{
    for (long i = 0; i < rows; i++)
        for (long j = 0; j < columns; j++)
            words[at + j] = i;
}
int main(void)
{
    nest(0, 150, 10000);
    PSNAP_ROI_BEGIN();
    nest(100, 3, 20);
    PSNAP_ROI_END();
    nest(0, 150, 10000);
    PSNAP_ROI_BEGIN();
    nest(0, 60, 10000);
    PSNAP_ROI_END();
    nest(300, 150, 10000);
    PSNAP_ROI_BEGIN();
    nest(200, 1, 7);
    PSNAP_ROI_END();
    return 0;
}
END
build nests.c
nm nests.o | grep -q __psnap_renew_nest || fail "there is no nest"
expect "" nests "100+20 100+20 100+20$(printf ' 0+10000%.0s' $(seq 60)) 200+7"

# A thread that is in a nest when another one begins a region comes to it at its next record
cat > threads.c << 'END'
#include <psnap/roi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
static atomic_int begun;
long words[4096];
static void *nest(void *nothing)
{
    begun = 1;
    for (long i = 0; i < 600000; i++)
        for (long j = 0; j < 4096; j++)
            words[j] = i;
    return nothing;
}
int main(void)
{
    const struct timespec moment = {.tv_nsec = 30000000};
    pthread_t thread;
    pthread_create(&thread, NULL, nest, NULL);
    while (!begun)
        ;
    nanosleep(&moment, NULL);
    PSNAP_ROI_BEGIN();
    nanosleep(&moment, NULL);
    PSNAP_ROI_END();
    pthread_join(thread, NULL);
    return 0;
}
END
"$PSNAP" cc -O2 threads.c -o threads -pthread
"$PSNAP" record --force -o p.yaml -- ./threads 2> err || fail "threads: $(cat err)"
count=$(sed -n 's/^totals: {accesses: \([0-9]*\),.*/\1/p' p.yaml)
[ "$count" -gt 500000 ] && [ "$count" -lt 600000000 ] || fail "threads: $count accesses"

# In other hands the marks are nothing, in any C and C++
for compiler in "clang-19 -std=c89" "clang++-19 -std=c++98 -x c++" "${PSNAP_CC:-cc} -std=c17"; do
    echo '#include "roi.h"
int main(void) { PSNAP_ROI_BEGIN(); PSNAP_ROI_END(); return 0; }' > plain.c
    $compiler -Wall -Wextra -pedantic -Werror -I"$PSNAP_SOURCE/capture" -c plain.c -o plain.o || fail "$compiler"
    ! nm plain.o | grep -q psnap || fail "$compiler: $(nm plain.o)"
done

# ------------------------------------------------------------- functions

cat > functions.c << 'END'
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include "touch.h"
static jmp_buf place;
OPAQUE void recurse(int n)
{
    touch(100 * n, n);
    if (n > 1)
        recurse(n - 1);
    touch(100 * n + 50, 1);
}
OPAQUE void inner(int n) { touch(1000, n); }
OPAQUE void outer(int n)
{
    touch(1100, n);
    inner(n); /* a tail call */
}
OPAQUE void jumps(int n)
{
    touch(1200, n);
    if (n == 2)
        longjmp(place, 1);
}
OPAQUE void catches(void) /* its own region goes on behind the jump */
{
    if (!setjmp(place))
        jumps(2);
    touch(1300, 3);
}
OPAQUE double scalar(double x, long n) /* arguments in all kinds of registers */
{
    touch(1400, n);
    return x + (double)n;
}
OPAQUE int is_odd(long n);
OPAQUE int is_even(long n) { return n ? is_odd(n - 1) : 1; }
OPAQUE int is_odd(long n) { return n ? is_even(n - 1) : 0; }
static inline __attribute__((always_inline)) void melted(void) { touch(1500, 1); }
int main(void)
{
    recurse(3);
    touch(900, 4);
    outer(2);
    touch(910, 1);
    if (!setjmp(place))
        jumps(2);
    touch(920, 1);
    jumps(3);
    touch(930, 1);
    catches();
    touch(940, 1);
    if (scalar(0.5, 2) != 2.5)
        return 1;
    melted();
    return !is_even(3000000); /* would be too deep if it were one */
}
END
all=
for flags in -O2 "-O2 --psnap-stage=vectorizer-start" -O1; do
    build functions.c "$flags"
    expect "--roi recurse" functions "300+3 200+2 100+1 150+1 250+1 350+1"
    expect "--roi outer" functions "1100+2 1000+2"
    expect "--roi inner" functions "1000+2"
    expect "--roi jumps" functions "1200+2 1200+3 1200+2"
    expect "--roi catches" functions "1200+2 1300+3"
    expect "--roi scalar --roi inner" functions "1000+2 1400+2"
    expect "--roi main --skip 6" functions "150+1 250+1 350+1 900+4 1100+2 1000+2 910+1 1200+2 920+1 1200+3 930+1 1200+2 1300+3 940+1 1400+2 1500+1"
done
grep -q "roi: \[main\]" p.yaml || fail "the profile does not say of what it is"
[ "$(info_part p.pst)" = '{"roi": ["main"], "skip": 6}' ] || fail "the trace: $(info_part p.pst)"
"$PSNAP" info p.pst | grep -q '^roi  *main$' || fail "the trace: $("$PSNAP" info p.pst)"

# Of a merged result only one value is left, and is merged no more, once the tail calls have
# returns of their own
cat > returns.c << 'END'
int touched(int);
void note(int *);
int f(int x, int *p)
{
    switch (x) {
    case 1:
        p[1]++;
        note(p);
        return 0;
    case 2:
        p[2]++;
        note(p + 1);
        return 0;
    case 3:
        p[3]++;
        return 0;
    case 4:
        return touched(p[0]);
    }
    return 0;
}
END
MALLOC_PERTURB_=165 "$PSNAP" cc -O2 -c returns.c 2> err || fail "returns.c: $(cat err)"

# The stream of a function is that part of the whole one
"$PSNAP" cc -O2 -fno-inline -o matmul "$PSNAP_SOURCE/samples/matmul.c" -lm
"$PSNAP" record --no-profile --force --trace whole.pst -- ./matmul 12 > out
"$PSNAP" record --no-profile --force --trace part.pst --roi multiply -- ./matmul 12 > out
for side in whole part; do
    "$PSNAP" convert $side.pst -f csv -o - 2> err | sed 1d | cut -d , -f 1-4 > $side.csv
done
[ "$(wc -l < part.csv)" = $((2 * 12 * 12 * 12 + 12 * 12)) ] || fail "multiply: $(wc -l < part.csv) accesses"
python3 -c '
whole, part = open("whole.csv").read(), open("part.csv").read()
assert whole.find(part) > 0' || fail "multiply: other accesses than in the whole"

# Names that are not there: before the program runs, if its file has all there are
[ "$(status "$PSNAP" record --force -o p.yaml --roi recurs -- ./functions)" = 125 ] || fail "recurs: $(cat err)"
has err "the program has no instrumented function 'recurs'; did you mean 'recurse'?"
[ "$(status "$PSNAP" record --force -o p.yaml --roi melted -- ./functions)" = 125 ] || fail "melted: $(cat err)"
has err "function 'melted' was inlined wherever it is used"
[ "$(status "$PSNAP" record --force -o p.yaml --roi recurse --no-roi -- ./functions)" = 125 ] || fail "both: $(cat err)"
has err "contradict"
# ... else when it has ended
printf '#!/bin/sh\nexec ./functions\n' > wrapper
chmod +x wrapper
[ "$(status "$PSNAP" record --force -o p.yaml --roi recurs -- ./wrapper)" = 125 ] || fail "wrapper: $(cat err)"
has err "the program has no instrumented function 'recurs'; did you mean 'recurse'?"
"$PSNAP" record --force --no-profile --trace p.pst --roi inner -- ./wrapper
[ "$(parts functions p.pst)" = "1000+2" ] || fail "wrapper: $(parts functions p.pst)"
[ "$(PSNAP_ROI=inner status "$PSNAP" record --force -o p.yaml -- ./functions)" = 0 ] || fail "PSNAP_ROI: $(cat err)"
! grep -q roi: p.yaml || fail "psnap record takes PSNAP_ROI from its environment"

# ------------------------------------------------------------- C++: names and exceptions

cat > throws.cpp << 'END'
#include <stdexcept>
#include "touch.h"
namespace ns
{
struct shape {
    OPAQUE void area(int n) { touch(100, n); }
    OPAQUE void area(double) { touch(150, 1); }
};
OPAQUE void thrower(int n)
{
    touch(200, n);
    if (n > 1)
        throw std::runtime_error("n");
}
struct guard {
    ~guard() { touch(300, 1); } /* runs while the exception passes */
};
OPAQUE void passes(int n)
{
    guard g;
    thrower(n);
    touch(310, 1);
}
OPAQUE void catches(int n)
{
    try {
        passes(n);
    } catch (const std::exception &) {
        touch(400, 2);
    }
}
} // namespace ns
int main()
{
    ns::shape s;
    s.area(3);
    s.area(1.0);
    touch(0, 1);
    for (int n = 1; n < 3; n++) {
        ns::catches(n);
        touch(10, 1);
    }
    try {
        ns::thrower(4);
    } catch (...) {
        touch(20, 1);
    }
    return 0;
}
END
build throws.cpp
expect "--roi ns::shape::area" throws "100+3 150+1"
expect "--roi _ZN2ns5shape4areaEd" throws "150+1"
expect "--roi ns::thrower" throws "200+1 200+2 200+4"
expect "--roi ns::passes" throws "200+1 310+1 300+1 200+2 300+1"
expect "--roi ns::catches" throws "200+1 310+1 300+1 200+2 300+1 400+2"

# ------------------------------------------------------------- threads: regions are the process's

cat > threads.c << 'END'
#include <pthread.h>
#include <stdlib.h>
#include "touch.h"
static pthread_barrier_t barrier;
static int inside;
OPAQUE void kernel(long at) { touch(at, 5); }
OPAQUE void quits(long at)
{
    touch(at, 2);
    pthread_exit(NULL);
}
static void *work(void *number)
{
    const long at = 1000 * (long)number;
    touch(at, 10);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    touch(at + 100, 20);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    touch(at + 200, 30);
    kernel(at + 300);
    touch(at + 400, 1);
    quits(at + 500);
    return NULL;
}
int main(int argc, char **argv)
{
    enum { THREADS = 3 };
    pthread_t threads[THREADS];
    (void)argv;
    inside = argc;
    pthread_barrier_init(&barrier, NULL, THREADS + 1);
    touch(0, 1);
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)(i + 1));
    pthread_barrier_wait(&barrier);
#ifdef MARKS
    PSNAP_ROI_BEGIN();
#endif
    touch(10, 2);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
#ifdef MARKS
    PSNAP_ROI_END();
#endif
    touch(20, 3);
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    touch(30, 4);
    return 0;
}
END
build threads.c "-O2 -DMARKS"
for i in 1 2 3; do
    expect "" threads "10+2
1100+20
2100+20
3100+20"
done
build threads.c
# the others may be at work while one is in the region, but none misses its own
"$PSNAP" record --force -o p.yaml --trace p.pst --roi kernel -- ./threads 2> err || fail "$(cat err)"
for at in 1300 2300 3300; do
    parts threads p.pst | grep -q "$at+5" || fail "kernel: $(parts threads p.pst)"
done
! parts threads p.pst | grep -qE "(^| )([0-9]?[0-9]?[0-9]|.00[0-9]|.1[0-9]*)\+" || fail "kernel: $(parts threads p.pst)"
"$PSNAP" record --force --no-profile --trace p.pst --roi quits -- ./threads 2> err || fail "$(cat err)"
for at in 1500 2500 3500; do
    parts threads p.pst | grep -q "$at+2" || fail "quits: $(parts threads p.pst)"
done
! parts threads p.pst | grep -q "30+4" || fail "the region of a thread that has ended goes on"

# ------------------------------------------------------------- children

cat > child.c << 'END'
#include <sys/wait.h>
#include <unistd.h>
#include "touch.h"
int main(void)
{
    touch(0, 1);
    PSNAP_ROI_BEGIN();
    touch(10, 2);
    if (fork() == 0) {
        touch(20, 3);
        PSNAP_ROI_END();
        touch(30, 4);
        _exit(0);
    }
    wait(NULL);
    PSNAP_ROI_END();
    touch(40, 5);
    if (fork() == 0) {
        touch(50, 6);
        _exit(0);
    }
    wait(NULL);
    return 0;
}
END
build child.c
rm -f c.pst*
"$PSNAP" record --no-profile --trace c.pst -- ./child 2> err || fail "child: $(cat err)"
[ "$(parts child c.pst)" = "10+2" ] && [ "$(info_part c.pst)" = '{"roi": ["PSNAP_ROI_BEGIN"]}' ] || fail "child: $(parts child c.pst)"
[ "$(ls c.pst.* | wc -l)" = 1 ] || fail "a child without a region has a file: $(ls c.pst.*)"
[ "$(parts child c.pst.*)" = "20+3" ] || fail "child: $(parts child c.pst.*)"

# ------------------------------------------------------------- memory from before the region

cat > heap.c << 'END'
#include <stdlib.h>
#include "touch.h"
OPAQUE void kernel(volatile long *p, long n)
{
    for (long i = 0; i < n; i++)
        p[i]++;
}
int main(void)
{
    long *small = malloc(800), *large = malloc(8 << 20);
    for (int i = 0; i < 30000; i++)
        free(malloc(16)); /* more than the ring's memory has room for */
    touch(0, 1000);
    kernel(small, 100);
    kernel(large, 1000);
    return 0;
}
END
build heap.c
"$PSNAP" record --force -o p.yaml --roi kernel -- ./heap 2> err || fail "heap: $(cat err)"
grep -q "totals: {accesses: 2200," p.yaml || fail "heap: $(grep totals p.yaml)"
[ "$(grep -c "allocation: main heap.c:10" p.yaml)" = 2 ] || fail "names of allocations: $(cat p.yaml)"

# A handler on a stack of its own, above that of the region: functions that it enters, and leaves, or
# that catch what it throws, are in the region and do not end it; a longjmp out of it does.
cat > beside.c << 'END'
#include <setjmp.h>
#include <signal.h>
#include "touch.h"
static jmp_buf inside, outside;
static volatile int way;
OPAQUE void inner(long at) { touch(at, 3); }
static void handle(int signal)
{
    (void)signal;
    inner(100);
    if (setjmp(inside) == 0)
        longjmp(inside, 1);
    inner(200);
    if (way)
        longjmp(outside, 1);
}
OPAQUE void outer(void)
{
    touch(0, 5);
    raise(SIGUSR1);
    touch(300, 5);
}
int main(void)
{
    char above[1 << 16];
    const stack_t stack = {.ss_sp = above, .ss_size = sizeof above};
    const struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK | SA_NODEFER};
    sigaltstack(&stack, 0);
    sigaction(SIGUSR1, &action, 0);
    outer();
    touch(400, 5);
    way = 1;
    if (setjmp(outside) == 0)
        outer();
    touch(500, 5);
    return 0;
}
END
for flags in -O0 -O2; do
    build beside.c $flags
    expect "--roi outer --roi inner" beside "0+5 100+3 200+3 300+5 0+5 100+3 200+3"
done

# A child that no fork handler has noticed is in the marks that it was made in, and ends them.
cat > ends.c << 'END'
#define _GNU_SOURCE
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "touch.h"
long system_call(long number, long flags);
int main(void)
{
    PSNAP_ROI_BEGIN();
    touch(0, 5);
    if (system_call(SYS_clone, SIGCHLD) == 0) {
        PSNAP_ROI_END();
        touch(100, 5);
        PSNAP_ROI_BEGIN();
        touch(200, 5);
        PSNAP_ROI_END();
        touch(300, 5);
        _exit(0);
    }
    wait(0);
    touch(400, 5);
    return 0;
}
END
clang-19 -O1 -xc -c - -o call.o << 'END'
#include <unistd.h>
long system_call(long number, long flags)
{
    return syscall(number, flags, 0l, 0l, 0l, 0l);
}
END
"$PSNAP" cc -O1 -c ends.c -o ends.o
"$PSNAP" cc ends.o words.o call.o -o ends
rm -f c.*
"$PSNAP" record --trace c.%p.pst -o c.%p.yaml -- ./ends > out 2> err || fail "ends: $(cat err)"
for file in c.*.pst; do
    parts ends "$file"
done | sort > seen
printf '0+5 400+5\n200+5\n' | cmp - seen || fail "ends: $(cat seen err)"

# ------------------------------------------------------------- Valgrind

command -v valgrind > /dev/null || exit 0
if ! "$PSNAP" record --help | grep -q valgrind; then exit 0; fi
clang-19 -O1 -gdwarf-4 -I"$PSNAP_SOURCE/capture" -xc - -o plain << 'END'
volatile long words[1000];
__attribute__((noinline)) void kernel(int n)
{
    for (int i = 0; i < n; i++)
        words[i] = i;
}
int main(void)
{
    kernel(100);
    words[500] = 1;
    kernel(50);
    return 0;
}
END
"$PSNAP" record --engine valgrind --force -o p.yaml --roi kernel -- ./plain > out 2> err || fail "valgrind: $(cat err)"
stores=$(sed -n 's/^ *stores: //p' p.yaml | head -1)
[ "$stores" = 150 ] || fail "valgrind: $(cat p.yaml)"
[ "$(status "$PSNAP" record --engine valgrind --force -o p.yaml --roi kernal -- ./plain)" = 125 ] || fail "valgrind: $(cat err)"
has err "no function has run that is called 'kernal'; did you mean 'kernel'?"
"$PSNAP" record --engine valgrind --force -o p.yaml --skip 100 --count 50 -- ./plain > out 2> err || fail "valgrind: $(cat err)"
grep -q "totals: {accesses: 50," p.yaml || fail "valgrind: $(grep totals p.yaml)"

# Threads that do nothing in the part, and are there when the program ends, take nothing from it
cat > idle.c << 'END'
#include <pthread.h>
#include <unistd.h>
static volatile long a[3000];
static volatile int begun;
__attribute__((noinline)) void kernel(void)
{
    for (int i = 0; i < 3000; i++)
        a[i]++;
}
static void *idle(void *unused)
{
    for (int i = 0; i < 100; i++)
        a[i];
    begun = 1;
    pause();
    return unused;
}
int main(void)
{
    pthread_t thread;
    kernel();
    pthread_create(&thread, NULL, idle, NULL);
    while (!begun)
        usleep(100);
    kernel();
    return 0;
}
END
"$PSNAP" cc -O2 -pthread -o idle idle.c
"$PSNAP" record --roi kernel --force -o idle.yaml -- ./idle
"$PSNAP" check idle.yaml | grep -q " 12,000 accesses" || fail "$("$PSNAP" check idle.yaml)"
