/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The numbers of threads: 0 is the main one, the others follow in the order in
 * which they were created, not that in which they come to their first record,
 * which changes from run to run. The system numbers threads upwards as they
 * are created, so whoever comes first gives numbers to those before it that are
 * there and have none yet; they find them when they come.
 *
 * Limits: a thread that has ended without a record gets a number if somebody
 * came meanwhile, else none; of those more than PROBES system numbers apart,
 * and when these begin anew, the first to come is the first.
 */
#include "runtime.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PROBES = 8192, EXPECTED = 1024 };

/* Has a number, but no record yet. */
struct expected {
    pid_t thread;
    uint32_t number;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct expected expected[EXPECTED];
static unsigned expected_count;
static uint32_t next_number;
static pid_t latest; /* that has a number */

static bool is_there(pid_t thread)
{
    return syscall(SYS_tgkill, getpid(), thread, 0) == 0;
}

static void forget_ended(void)
{
    unsigned kept = 0;

    for (unsigned i = 0; i < expected_count; i++)
        if (is_there(expected[i].thread))
            expected[kept++] = expected[i];
    expected_count = kept;
}

static bool take_expected(pid_t thread, uint32_t *number)
{
    for (unsigned i = 0; i < expected_count; i++) {
        if (expected[i].thread != thread)
            continue;
        *number = expected[i].number;
        expected[i] = expected[--expected_count];
        return true;
    }
    return false;
}

/* Numbers for the threads between the latest that has one and `thread`. */
static void expect_before(pid_t thread)
{
    pid_t first = latest + 1;

    if (first < thread - PROBES)
        first = thread - PROBES;
    for (; first < thread; first++) {
        if (!is_there(first))
            continue;
        if (expected_count == EXPECTED)
            forget_ended();
        if (expected_count < EXPECTED)
            expected[expected_count++] = (struct expected){first, next_number++};
    }
}

uint32_t psnap_rt_number_thread(void)
{
    pid_t thread = (pid_t)syscall(SYS_gettid);
    uint32_t number = 0;

    if (thread == getpid())
        return 0;
    pthread_mutex_lock(&lock);
    if (!next_number) {
        next_number = 1;
        latest = getpid();
    }
    if (!take_expected(thread, &number)) {
        expect_before(thread);
        number = next_number++;
        if (thread > latest)
            latest = thread;
    }
    pthread_mutex_unlock(&lock);
    return number;
}

void psnap_rt_forget_numbers(void)
{
    lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    expected_count = 0;
    next_number = 0;
}
