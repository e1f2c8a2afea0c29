/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Recording without system calls, for programs that are killed for them: between the hooks of a
 * call that may enter a seccomp sandbox (capture/pass/region.cpp) no other thread begins system
 * calls of ours (noise), and the call waits for those that have begun, as the sandbox may be for
 * all threads. When it has entered one, all threads are quiet for ever.
 *
 * noise and tries are as in Dekker's algorithm: each side counts itself, then looks at the other.
 * Nobody waits for ever: a thread may be cancelled, or leave by a jump, in a handler that comes
 * while it is noisy, and a call that enters a sandbox need not return.
 *
 * A quiet thread does not block signals while its ring gets a chunk; a handler that comes
 * in between records nothing, which is counted. It does not sleep while its ring is full, but
 * looks again and again, and wakes nobody: the collector looks at the rings each 5 ms anyway. What
 * it allocates is not told, its children are not recorded, and threads that are started from
 * now on have no ring.
 */
#include "ring.h"

#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* Looks of some 10 to 50 ns at what others do, until they are taken to have gone */
#define NOISE_LOOKS_MAX (UINT64_C(1) << 26) /* by a call: a second or some */
#define TRY_LOOKS_MAX (UINT64_C(1) << 23)   /* for a call: a tenth of that */

static bool quiet;     /* atomic: the program is in a sandbox */
static unsigned tries; /* atomic: threads between the hooks of a call that may enter one */
static unsigned noise; /* atomic: threads in system calls of ours */
static _Thread_local unsigned own_noise; /* how deep */
static _Thread_local enum { NO_TRY, TRY, TRY_WITH_LISTENER } own_try;
static _Thread_local bool is_at_work; /* a chunk is being changed; handlers keep off */

static void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

static void enter_quiet(void)
{
    __atomic_store_n(&quiet, true, __ATOMIC_SEQ_CST);
    if (psnap_rt_is_recording())
        __atomic_store_n(&psnap_rt_session->is_quiet, 1, __ATOMIC_RELAXED);
}

bool psnap_rt_is_quiet(void)
{
    return __atomic_load_n(&quiet, __ATOMIC_SEQ_CST) || __atomic_load_n(&tries, __ATOMIC_SEQ_CST);
}

bool psnap_rt_begin_noise(void)
{
    for (uint64_t looks = 0;; looks++) {
        __atomic_fetch_add(&noise, 1, __ATOMIC_SEQ_CST);
        if (own_noise++) /* calls wait for us already */
            __atomic_fetch_sub(&noise, 1, __ATOMIC_SEQ_CST);
        if (!__atomic_load_n(&quiet, __ATOMIC_SEQ_CST) &&
            (own_noise > 1 || !__atomic_load_n(&tries, __ATOMIC_SEQ_CST)))
            return true;
        psnap_rt_end_noise();
        if (looks == TRY_LOOKS_MAX)
            enter_quiet();
        if (own_try || __atomic_load_n(&quiet, __ATOMIC_SEQ_CST))
            return false;
        relax();
    }
}

void psnap_rt_end_noise(void)
{
    if (--own_noise == 0)
        __atomic_fetch_sub(&noise, 1, __ATOMIC_SEQ_CST);
}

void psnap_rt_forget_noise(void)
{
    if (own_noise) {
        own_noise = 1;
        psnap_rt_end_noise();
    }
}

void psnap_rt_fork_noise(void)
{
    noise = own_noise != 0;
    tries = own_try != NO_TRY;
}

/* Without system calls: another thread may have entered a sandbox for all of them meanwhile. */
static void wait_for_others(void)
{
    for (uint64_t looks = 0; looks < NOISE_LOOKS_MAX; looks++) {
        if (__atomic_load_n(&noise, __ATOMIC_SEQ_CST) <= (own_noise != 0))
            break;
        relax();
    }
}

/* A system call that may succeed in entering a sandbox. */
static bool is_sandbox(uint64_t number, uint64_t operation, uint64_t second, uint64_t third)
{
    const uint32_t what = (uint32_t)operation, mode = (uint32_t)second;

    if (number == SYS_prctl)
        return what == PR_SET_SECCOMP &&
               (mode == SECCOMP_MODE_STRICT || (mode == SECCOMP_MODE_FILTER && third));
    return number == SYS_seccomp &&
           (what == SECCOMP_SET_MODE_STRICT || (what == SECCOMP_SET_MODE_FILTER && third));
}

void __psnap_sandboxed(uint64_t number, uint64_t operation, uint64_t second, uint64_t third)
{
    const int saved_errno = errno;

    if (psnap_rt_first) {
        psnap_rt_first->sandboxed(number, operation, second, third);
        return;
    }
    if (!is_sandbox(number, operation, second, third))
        return;
    psnap_rt_prepare_quiet();
    errno = saved_errno;
    is_at_work = false; /* its memory is there */
    own_try = number == SYS_seccomp && (second & SECCOMP_FILTER_FLAG_NEW_LISTENER)
                  ? TRY_WITH_LISTENER
                  : TRY;
    __atomic_fetch_add(&tries, 1, __ATOMIC_SEQ_CST);
    wait_for_others();
}
PSNAP_PLAIN_HOOK(void, __psnap_sandboxed,
                 (uint64_t number, uint64_t operation, uint64_t second, uint64_t third))

/* A positive number is a listener's descriptor, or the thread that could not be taken along. */
void __psnap_sandbox_tried(int64_t result)
{
    if (psnap_rt_first) {
        psnap_rt_first->sandbox_tried(result);
        return;
    }
    if (!own_try)
        return;
    if (result == 0 || (result > 0 && own_try == TRY_WITH_LISTENER))
        enter_quiet();
    own_try = NO_TRY;
    __atomic_fetch_sub(&tries, 1, __ATOMIC_SEQ_CST);
}
PSNAP_PLAIN_HOOK(void, __psnap_sandbox_tried, (int64_t result))

/* Until a chunk is free, or a handler has got one; false: there will be none. */
static bool wait_for_chunk(const struct psnap_ring *ring)
{
    while (!psnap_rt_has_chunk(ring) && psnap_rt_unread_chunks(ring) >= PSNAP_RING_CHUNKS) {
        if (psnap_rt_is_enough() || !psnap_rt_collector_alive())
            return false;
        relax();
    }
    return true;
}

/* Handlers of the thread may do so as well, meanwhile. */
static bool wait_at_rest(const struct psnap_ring *ring)
{
    bool is_free;

    is_at_work = false;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    is_free = wait_for_chunk(ring);
    is_at_work = true;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    return is_free && !psnap_rt_is_child();
}

/* The ring gets a chunk, if it is full, or what is wanted is looked at. False: nothing is recorded
 * any more. */
static bool renew(struct psnap_ring *ring)
{
    if (!psnap_rt_has_chunk(ring) || psnap_rt_is_outdated(ring) ||
        (!ring->aside && ring->limit != PSNAP_LIMIT_CHANGED)) {
        psnap_rt_leave_chunk(ring);
        if (!wait_at_rest(ring))
            return false;
        if (!psnap_rt_has_chunk(ring))
            psnap_rt_open_chunk(ring);
    }
    psnap_rt_look(ring);
    return true;
}

uint64_t *psnap_rt_reserve_quietly(uint64_t words)
{
    struct psnap_ring *ring = __psnap_ring;
    uint64_t *room = NULL;

    if (is_at_work) {
        if (psnap_rt_is_real(ring))
            __atomic_fetch_add(&psnap_rt_session->unheard, 1, __ATOMIC_RELAXED);
        return psnap_rt_nowhere;
    }
    is_at_work = true;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    while (psnap_rt_is_recording() && psnap_rt_is_real(ring) && !psnap_rt_is_child()) {
        room = psnap_rt_claim(ring, words);
        if (room || !renew(ring))
            break;
    }
    if (!room)
        psnap_rt_give_up(ring);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    is_at_work = false;
    return room ? room : psnap_rt_nowhere;
}
