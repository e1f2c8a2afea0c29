#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Control that leaves the beaten track: longjmp, C++ exceptions, handlers on alternate stacks,
# contexts of their own, constructors before main, destructors of threads, exit from a thread.
# Every access is counted and lies in its loop.
set -eu
. "$PSNAP_SOURCE/tests/cli/capture_common.sh"

# recorded PROGRAM STATUS "LOOP ACCESSES..." [MESSAGE]: of functions work_NAME; nothing is said but
# perhaps a line with MESSAGE
recorded() {
    local result
    rm -f p.yaml
    result=$(status timeout 300 "$PSNAP" record -o p.yaml -- "./$1")
    [ "$result" = "$2" ] || fail "$1: exit status $result: $(cat err)"
    [ ! -s err ] || { [ $# = 4 ] && [ "$(wc -l < err)" = 1 ] && grep -q "$4" err; } ||
        fail "$1: $(cat err)"
    "$PSNAP" check p.yaml > check.out 2>&1 || fail "$1: $(cat check.out)"
    "$PSNAP" show p.yaml --json | python3 -c '
import collections, json, sys
sums = collections.Counter()
for loop in json.load(sys.stdin)["loops"]:
    if loop["function"].startswith("work_"):
        sums[loop["function"].split("(")[0]] += loop["accesses"]
print(*(f"{name} {sums[name]}" for name in sorted(sums)))
' > seen
    [ "$(cat seen)" = "$3" ] || fail "$1: $(cat seen), not $3"
}

cat > jumps.c << 'END'
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>
#include <unistd.h>

static volatile long cells[1024];
static jmp_buf back;
static sigjmp_buf from_handler;
static char alternate[1 << 16];
static ucontext_t main_context, other_context;
static pthread_key_t key;

__attribute__((noinline)) static void work_jump(long n)
{
    for (long i = 0; i < n; i++) {
        cells[i] = i;
        if (i == n / 2)
            longjmp(back, 1);
    }
}
__attribute__((noinline)) static void work_handler(void)
{
    volatile long here[100];
    for (int i = 0; i < 100; i++)
        here[i] = cells[i];
}
static void on_fault(int signal)
{
    (void)signal;
    work_handler();
    siglongjmp(from_handler, 1);
}
__attribute__((noinline)) static int recurse(volatile int *from)
{
    volatile int here[50];
    here[0] = *from;
    return recurse(here) + here[1];
}
__attribute__((noinline)) static void work_context(void)
{
    for (int i = 0; i < 100; i++) {
        cells[i] = i;
        swapcontext(&other_context, &main_context);
    }
}
__attribute__((noinline)) static void work_end(void)
{
    for (int i = 0; i < 100; i++)
        cells[i] = i;
}
static void end_of_thread(void *unused)
{
    static _Thread_local int times;
    (void)unused;
    work_end();
    if (++times < 3) /* behind the runtime's own destructor, whatever the order */
        pthread_setspecific(key, cells);
}
static void *thread(void *unused)
{
    pthread_setspecific(key, cells);
    return unused;
}
__attribute__((constructor)) static void work_early(void)
{
    for (int i = 0; i < 10; i++)
        cells[i] = i;
}
__attribute__((destructor)) static void work_late(void)
{
    for (int i = 0; i < 20; i++)
        cells[i] = i;
}
static void *ends_all(void *unused)
{
    (void)unused;
    exit(9);
}
int main(void)
{
    struct sigaction action = {.sa_handler = on_fault, .sa_flags = SA_ONSTACK | SA_NODEFER};
    stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate};
    static char context_stack[1 << 16];
    pthread_t one;

    for (volatile int i = 0; i < 100; i++)
        if (!setjmp(back))
            work_jump(100);
    sigaltstack(&stack, NULL);
    sigaction(SIGSEGV, &action, NULL);
    for (volatile int i = 0; i < 3; i++)
        if (!sigsetjmp(from_handler, 1))
            recurse((volatile int *)cells); /* the stack ends */
    getcontext(&other_context);
    other_context.uc_stack.ss_sp = context_stack;
    other_context.uc_stack.ss_size = sizeof context_stack;
    makecontext(&other_context, work_context, 0);
    for (int i = 0; i < 100; i++)
        swapcontext(&main_context, &other_context);
    pthread_key_create(&key, end_of_thread);
    for (int i = 0; i < 20; i++) {
        pthread_create(&one, NULL, thread, NULL);
        pthread_join(one, NULL);
    }
    pthread_create(&one, NULL, ends_all, NULL);
    for (;;)
        pause();
}
END
"$PSNAP" cc -O1 -pthread jumps.c -o jumps -Wno-infinite-recursion
# where the stack ends the handler may come when room for a record is taken, before it is written
recorded jumps 9 "work_context 100 work_early 10 work_end 6000 work_handler 600 work_jump 5100 work_late 20" \
    " [123] blocks\\? cut off by"

cat > throws.cpp << 'END'
#include <cstdio>
#include <stdexcept>
#include <thread>
#include <vector>

static volatile long cells[1024];

struct guard {
    ~guard();
};
__attribute__((noinline)) static void work_unwound()
{
    for (int i = 0; i < 10; i++)
        cells[i] = i;
}
guard::~guard()
{
    work_unwound();
}
__attribute__((noinline)) static void work_throws(long n)
{
    guard one;
    for (long i = 0; i < n; i++) {
        cells[i] = i;
        if (i == n / 2)
            throw std::runtime_error("half");
    }
}
__attribute__((noinline)) static int work_catches(int n)
{
    for (int i = 0; i < n; i++) {
        try {
            work_throws(100);
        } catch (const std::exception &) {
            cells[i] = i;
        }
    }
    return n;
}
static volatile long global = work_catches(50); /* before main */

int main()
{
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; i++)
        threads.emplace_back([] { work_catches(100); });
    for (auto &thread : threads)
        thread.join();
    try {
        work_throws(10);
    } catch (...) {
        throw; /* std::terminate: nobody catches */
    }
}
END
for flags in -O0 "-O2 -fno-inline"; do
    "$PSNAP" c++ $flags -pthread throws.cpp -o throws
    rm -f p.yaml
    result=$(status timeout 300 "$PSNAP" record -o p.yaml -- ./throws 2> /dev/null)
    [ "$result" = 134 ] || fail "throws: $result: $(cat err)"
    cells=$(awk '/^ *symbol: /{ in_cells = $2 == "cells" } /^ *- id: /{ in_cells = 0 }
        in_cells && /^ *accesses: /{ sum += $2 } END { print sum + 0 }' p.yaml)
    # 850 caught: 51 stores, 10 unwound, 1 caught; at last 6 and 10
    [ "$cells" = $((850 * 62 + 16)) ] || fail "throws $flags: $cells accesses to cells"
done
