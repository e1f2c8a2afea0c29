#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Threads of all kinds: pthreads, C11, OpenMP (clang's, where libomp is installed), by the
# thousand and at once; streams apart in the trace, one profile. Under the thread sanitizer the
# instrumented program is as clean as it is by itself.
set -eu
. "$PSNAP_SOURCE/tests/cli/capture_common.sh"

# loops PROFILE: "function accesses" of functions work_NAME
loops() {
    "$PSNAP" check "$1" > check.out 2>&1 || fail "$1: $(cat check.out)"
    "$PSNAP" show "$1" --json | python3 -c '
import collections, json, sys
sums = collections.Counter()
for loop in json.load(sys.stdin)["loops"]:
    name = loop["function"].split(".")[0]
    if name.startswith("work_"):
        sums[name] += loop["accesses"]
print(*(f"{name} {sums[name]}" for name in sorted(sums)))
'
}
# threads TRACE: "thread: accesses, bytes apart" of stores to arrays, by thread
threads() {
    "$PSNAP" convert "$1" -f csv -o - 2> /dev/null | python3 -c '
import collections, sys
rows = [line.split(",") for line in sys.stdin][1:]
stores = collections.defaultdict(list)
for row in rows:
    if int(row[0], 16) >> 32 == 0x100 and row[2][0].upper() == "S":
        stores[int(row[3])].append(int(row[0], 16))
for thread in sorted(stores):
    at = stores[thread]
    steps = collections.Counter(b - a for a, b in zip(at, at[1:]))
    print(thread, len(at), steps.most_common(1)[0] if steps else "")
'
}

# ------------------------------------------------------------- C11

cat > c11.c << 'END'
#include <stdatomic.h>
#include <threads.h>
static long cells[16][1000];
static _Thread_local long mine[100];
static atomic_long sum;
__attribute__((noinline)) static void work_c11(long *row)
{
    for (int i = 0; i < 1000; i++)
        row[i] = i;
}
__attribute__((noinline)) static void work_local(void)
{
    for (int i = 0; i < 100; i++) {
        mine[i] += i;
        atomic_fetch_add(&sum, mine[i]);
    }
}
static int run(void *row)
{
    work_c11(row);
    work_local();
    thrd_exit(0);
}
int main(int argc, char **argv)
{
    thrd_t all[16];
    (void)argv;
    for (int i = 0; i < 16; i++)
        if (thrd_create(&all[i], run, cells[i]) != thrd_success ||
            (argc > 1 && thrd_join(all[i], NULL) != thrd_success))
            return 1;
    for (int i = 0; i < 16 && argc == 1; i++)
        thrd_join(all[i], NULL);
    return sum != 16 * 4950;
}
END
"$PSNAP" cc -O1 -fno-vectorize -pthread c11.c -o c11
"$PSNAP" record -o c11.yaml --trace c11.pst -- ./c11
[ "$(loops c11.yaml)" = "work_c11 16000 work_local 4800" ] || fail "c11: $(loops c11.yaml)"
threads c11.pst > seen # thread 0 is the main one: it makes no stores of the kind
awk '$2 > 10 { print $1 }' seen | cmp - <(seq 1 16) || fail "c11: threads $(cat seen)"
[ "$(grep -c '(8, 999)' seen)" = 16 ] || fail "c11: streams are not apart: $(cat seen)"
for n in 1 2 3; do # threads that are there one after the other come so
    "$PSNAP" record --force -o each.yaml --trace each.pst -- ./c11 each
    "$PSNAP" convert each.pst -f csv -o - 2> err | cut -d , -f 4 | uniq > order
    [ "$(grep -v '^0$' order | tail -n +2 | tr '\n' ' ')" = "$(seq -s ' ' 1 16) " ] || fail "order: $(cat order)"
done
"$PSNAP" sim c11.pst -m 32K:64:8 --by thread --json > sim.json
python3 - << 'END' || fail "sim --by thread: $(cat sim.json)"
import json
rows = [r for r in json.load(open("sim.json"))["rows"] if r["scope"] == "thread"]
assert len(rows) == 17, len(rows)
END

# ------------------------------------------------------------- cancelled

# A thread that is to be cancelled at its next cancellation point has none in its first record,
# for which the runtime opens and polls files; and one that may be cancelled anywhere is not so
# while it has a lock of the runtime's.
cat > start.c << 'END'
#include <pthread.h>
void *work_cancelled(void *cells);
void *start(void *cells)
{
    pthread_cancel(pthread_self());
    return work_cancelled(cells);
}
END
cat > cancel.c << 'END'
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
void *start(void *cells);
static long cells[64];
void *work_cancelled(void *cells)
{
    volatile long *cell = cells;
    for (int i = 0; i < 200000; i++)
        cell[i * (i + 1L) / 2 % 64] = i;
    return NULL;
}
static void map(void)
{
    char *memory =
        mmap(NULL, 1 << 18, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *(volatile char *)memory = 1;
    munmap(memory, 1 << 18);
}
static void *maps(void *ready)
{
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    for (;;) {
        map();
        __atomic_store_n((int *)ready, 1, __ATOMIC_RELAXED);
    }
}
int main(void)
{
    pthread_t thread;
    void *result;
    pthread_create(&thread, NULL, start, cells);
    pthread_join(thread, &result);
    puts(result == PTHREAD_CANCELED ? "cancelled" : "finished");
    for (int i = 0; i < 100; i++) {
        int ready = 0;
        pthread_create(&thread, NULL, maps, &ready);
        while (!__atomic_load_n(&ready, __ATOMIC_RELAXED))
            ;
        pthread_cancel(thread);
        pthread_join(thread, NULL);
        map();
    }
    puts("done");
    return 0;
}
END
${PSNAP_CC:-cc} -c start.c -o start.o
"$PSNAP" cc -O1 -pthread cancel.c start.o -o cancel
[ "$(status "$PSNAP" record -o cancel.yaml -- timeout -s KILL 100 ./cancel)" = 0 ] || fail "cancel: $(cat err)"
printf 'finished\ndone\n' | cmp - out || fail "cancel: $(cat out)"
[ "$(loops cancel.yaml)" = "work_cancelled 200000" ] || fail "cancel: $(loops cancel.yaml)"

# ------------------------------------------------------------- by the thousand, and at once

cat > crowd.c << 'END'
#include <pthread.h>
#include <stdlib.h>
#ifdef APART
static _Thread_local
#else
static
#endif
volatile long cells[1024];
static pthread_barrier_t barrier;
static int together;
__attribute__((noinline)) static void work_crowd(long n)
{
    for (long i = 0; i < n; i++)
        cells[i * (i + 1L) / 2 % 1024] = i;
}
static void *run(void *n)
{
    work_crowd((long)n);
    if (together)
        pthread_barrier_wait(&barrier);
    work_crowd((long)n);
    return NULL;
}
int main(int argc, char **argv)
{
    int count = atoi(argv[1]);
    pthread_t *all = calloc((size_t)count, sizeof *all);
    pthread_attr_t small;
    together = argc > 3;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 1 << 16);
    pthread_barrier_init(&barrier, NULL, (unsigned)count);
    for (int i = 0; i < count; i++) {
        if (pthread_create(&all[i], &small, run, (void *)atol(argv[2])))
            return 1;
        if (!together && i >= 4)
            pthread_join(all[i - 4], NULL);
    }
    for (int i = together ? 0 : count < 4 ? 0 : count - 4; i < count; i++)
        pthread_join(all[i], NULL);
    return 0;
}
END
"$PSNAP" cc -O1 -pthread crowd.c -o crowd
for arguments in "5000 50" "1000 50 together" "8 1000000 together"; do
    set -- $arguments
    "$PSNAP" record --force -o crowd.yaml -- ./crowd "$@" || fail "crowd $*"
    [ "$(loops crowd.yaml)" = "work_crowd $((2 * $1 * $2))" ] || fail "crowd $*: $(loops crowd.yaml)"
done

# ------------------------------------------------------------- ends disturbed by signals

# Handlers come between any two instructions of a thread's end, and what they do counts; also when
# nothing is wanted of them.
cat > ends.c << 'END'
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
static volatile long cells[64];
static int handled;
__attribute__((noinline)) static void work_handler(void)
{
    for (int i = 0; i < 50; i++)
        cells[i] = i;
}
__attribute__((noinline)) static void work_thread(long n)
{
    for (long i = 0; i < n; i++)
        cells[i * (i + 1L) / 2 % 64] = i;
}
static void on_signal(int signal)
{
    (void)signal;
    work_handler();
    __atomic_fetch_add(&handled, 1, __ATOMIC_RELAXED);
}
static void *run(void *unused)
{
    work_thread(100);
    return unused;
}
int main(int argc, char **argv)
{
    const int count = argc > 1 ? atoi(argv[1]) : 0;
    signal(SIGUSR1, on_signal);
    for (int i = 0; i < count; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, run, NULL))
            return 1;
        while (pthread_tryjoin_np(thread, NULL)) {
            pthread_kill(thread, SIGUSR1);
            for (volatile int pause = 0; pause < i % 97 * 20; pause++)
                ;
        }
    }
    printf("%d\n", handled);
    return 0;
}
END
"$PSNAP" cc -O1 -pthread ends.c -o ends
[ "$(status "$PSNAP" record --force -o ends.yaml -- ./ends 2000)" = 0 ] && [ ! -s err ] ||
    fail "ends: $(cat err)"
[ "$(loops ends.yaml)" = "work_handler $((50 * $(cat out))) work_thread 200000" ] ||
    fail "ends: $(loops ends.yaml), $(cat out) handlers"
[ "$(status "$PSNAP" record --force -o ends.yaml --roi work_thread -- ./ends 2000)" = 0 ] ||
    fail "ends, --roi: $(cat err)"
loops ends.yaml | grep -q 'work_thread 200000$' || fail "ends, --roi: $(loops ends.yaml)"

# ------------------------------------------------------------- OpenMP

cat > omp.c << 'END'
#include <omp.h>
#include <stdio.h>
static double a[10000], b[10000];
static long histogram[64];
__attribute__((noinline)) static void work_for(void)
{
#pragma omp parallel for schedule(static)
    for (int i = 0; i < 10000; i++)
        a[i] = b[i] + 1;
}
__attribute__((noinline)) static void work_tasks(void)
{
#pragma omp parallel
#pragma omp single
    for (int t = 0; t < 100; t++)
#pragma omp task firstprivate(t)
        for (int i = 0; i < 100; i++)
            b[t * 100 + i] = t;
}
__attribute__((noinline)) static void work_dynamic(void)
{
#pragma omp parallel for schedule(dynamic, 7)
    for (int i = 0; i < 1000; i++)
#pragma omp atomic
        histogram[i % 64]++;
}
int main(void)
{
    omp_set_num_threads(4);
    for (int k = 0; k < 5; k++) {
        work_tasks();
        work_for();
        work_dynamic();
    }
    printf("%ld %g\n", histogram[3], a[150]);
    return 0;
}
END
if "$PSNAP" cc -O1 -fno-vectorize -fopenmp omp.c -o omp 2> omp.err; then
    [ "$("$PSNAP" record -o omp.yaml --trace omp.pst -- ./omp)" = "80 2" ] || fail "omp: output"
    "$PSNAP" check omp.yaml > /dev/null
    cells=$(awk '/^ *symbol: /{ of = $2 } /^ *- id: /{ of = "" }
        /^ *accesses: /{ sum[of] += $2 } END { print sum["a"] + sum["b"], sum["histogram"] }' omp.yaml)
    # a and b are neighbours: whose a region is that spans both depends on the order of threads
    [ "$cells" = "150001 5001" ] || fail "omp: $cells accesses to a, b, histogram"
    "$PSNAP" sim omp.pst -m 32K:64:8 --by thread > out
    [ "$(grep -c thread out)" -ge 4 ] || fail "omp: $(cat out)"
else
    echo "skipped OpenMP: $(head -n 1 omp.err)"
fi

# ------------------------------------------------------------- the thread sanitizer

if "$PSNAP" cc -fsanitize=thread probe.c -o probe 2> probe.err && ./probe 2> probe.err; then
    for flags in "-O1" "-O0" "-O2 --psnap-stage=vectorizer-start"; do
        "$PSNAP" cc $flags -g -pthread -fsanitize=thread -DAPART crowd.c -o apart
        [ "$(status ./apart 8 1000 together)" = 0 ] && [ ! -s err ] || fail "tsan: $(head -20 err)"
        for arguments in "8 100000 together" "200 100"; do
            [ "$(status "$PSNAP" record --force -o tsan.yaml -- ./apart $arguments)" = 0 ] &&
                [ ! -s err ] || fail "tsan $flags $arguments, recorded: $(head -20 err)"
        done
    done
    grep -q 'function: work_crowd' tsan.yaml || fail "tsan: no profile"
    "$PSNAP" cc -O1 -g -pthread -fsanitize=thread crowd.c -o crowd_tsan
    # and a race of the program's own is still found
    [ "$(status "$PSNAP" record --force -o race.yaml -- ./crowd_tsan 4 100 together)" = 66 ] ||
        fail "a race is not found: $(cat err)"
    has err "data race"
    ! grep -q __psnap err || fail "races of ours: $(grep __psnap err)"
else
    echo "skipped -fsanitize=thread: $(head -n 1 probe.err)"
fi
