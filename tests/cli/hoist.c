/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loops of all shapes, for test_hoist.sh, in the files beside this one: recorded hoisted and
 * unhoisted they are the same stream. Each gets its bounds and steps from outside, so that the
 * compiler does not know them. Here: signals and jumps.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/cli/hoist.h"

double a[SIZE], b[SIZE], c[SIZE];
int where[SIZE];
unsigned char bytes[SIZE];
volatile long sink;

static sigjmp_buf place;
static int counts_signals;

static void handle(int number)
{
    (void)number;
    counts_signals++;
    gather(c, b, where, 40);
    sink = (long)sum(b, 30);
}

static void leave(int number)
{
    (void)number;
    siglongjmp(place, 1);
}

/* Handlers run at the same addresses each time: not behind a frame that the kernel aligns. */
void on_signal(int number, void (*handler)(int))
{
    static char stack[1 << 16] __attribute__((aligned(4096)));
    const stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
    const struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};

    sigaltstack(&other, NULL);
    sigaction(number, &action, NULL);
}

/* Signals come at the same place in both recordings: a trap, which is no call. */
#if defined(__x86_64__)
#    define TRAP() __asm__ volatile("int3")
#elif defined(__aarch64__)
#    define TRAP() __asm__ volatile("brk #0")
#else
#    define TRAP() (void)0
#endif

OPAQUE static void after_traps(long n)
{
    for (long i = 0; i < n; i++)
        a[i] = 4;
    TRAP();
    for (long i = 0; i < n; i++)
        a[where[i]] = 5;
    TRAP();
}

int main(int argc, char **argv)
{
    const long seed = argc > 1 ? atol(argv[1]) : 1;

    for (long i = 0; i < SIZE; i++) {
        where[i] = (int)(((unsigned long)i * 1103515245 + (unsigned long)seed * 12345) >> 7 & 2047);
        a[i] = b[i] = (double)(i % 7);
    }
    for (long n = 0; n < 12; n++) {
        affine(n, seed);
        nests(n);
        wraps(n);
        exits(n);
        quotients((size_t)n);
        straight(n);
        branches(n);
    }
    large_nests(seed);
    large_exits();
    on_signal(SIGTRAP, handle);
    after_traps(50);
    on_signal(SIGTRAP, leave);
    for (volatile int i = 0; i < 3; i++)
        if (sigsetjmp(place, 1) == 0)
            after_traps(20 + i);
    printf("%d signals, sink %ld\n", counts_signals, sink);
    return 0;
}
