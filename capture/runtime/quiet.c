/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Recording without system calls, for programs that are killed for them: from where such a program
 * is about to call prctl(PR_SET_SECCOMP), seccomp() or seccomp_load() (capture/pass/region.cpp) all
 * its threads are quiet. The call waits for those that are in system calls of ours (the sandbox may
 * be for all); where it fails nobody is quiet any more.
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
#include <time.h>

enum { WAITS_MAX = 50 * 1000 }; /* of 0.1 ms and more */

static unsigned sandboxes; /* atomic: calls that have made threads quiet */
static unsigned noise;     /* atomic: times that threads have begun noise */
static _Thread_local unsigned own_noise;
static _Thread_local bool is_trying;  /* it is between the hooks of a call */
static _Thread_local bool is_at_work; /* a chunk is being changed; handlers keep off */

bool psnap_rt_is_quiet(void)
{
    return __atomic_load_n(&sandboxes, __ATOMIC_SEQ_CST) != 0;
}

bool psnap_rt_begin_noise(void)
{
    __atomic_fetch_add(&noise, 1, __ATOMIC_SEQ_CST);
    own_noise++;
    if (!psnap_rt_is_quiet())
        return true;
    psnap_rt_end_noise();
    return false;
}

void psnap_rt_end_noise(void)
{
    own_noise--;
    __atomic_fetch_sub(&noise, 1, __ATOMIC_SEQ_CST);
}

void psnap_rt_fork_noise(void)
{
    noise = own_noise;
}

/* Not for ever: a handler that comes while its thread waits for the collector may jump out. */
static void wait_for_others(void)
{
    const struct timespec moment = {.tv_nsec = 100 * 1000};

    for (int i = 0; i < WAITS_MAX && __atomic_load_n(&noise, __ATOMIC_SEQ_CST) > own_noise; i++)
        nanosleep(&moment, NULL);
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
    if (psnap_rt_first) {
        psnap_rt_first->sandboxed(number, operation, second, third);
        return;
    }
    if (!is_sandbox(number, operation, second, third))
        return;
    psnap_rt_prepare_quiet();
    is_at_work = false; /* its memory is there */
    is_trying = true;
    if (__atomic_fetch_add(&sandboxes, 1, __ATOMIC_SEQ_CST) == 0)
        wait_for_others();
    if (psnap_rt_is_recording())
        __atomic_store_n(&psnap_rt_session->is_quiet, 1, __ATOMIC_RELAXED);
}

void __psnap_sandbox_tried(int64_t result)
{
    if (psnap_rt_first) {
        psnap_rt_first->sandbox_tried(result);
        return;
    }
    if (!is_trying)
        return;
    is_trying = false;
    if (result >= 0)
        return;
    if (psnap_rt_is_recording() && __atomic_load_n(&sandboxes, __ATOMIC_SEQ_CST) == 1)
        __atomic_store_n(&psnap_rt_session->is_quiet, 0, __ATOMIC_RELAXED);
    __atomic_fetch_sub(&sandboxes, 1, __ATOMIC_SEQ_CST);
}

static void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

/* Until a chunk is free, or a handler has got one; false: there will be none. */
static bool wait_for_chunk(const struct psnap_ring *ring)
{
    const struct psnap_session *session = psnap_rt_session;

    while (!psnap_rt_has_chunk(ring) && psnap_rt_unread_chunks(ring) >= PSNAP_RING_CHUNKS) {
        if (psnap_rt_is_enough() || __atomic_load_n(&session->closed, __ATOMIC_RELAXED) ||
            psnap_alive_has_ended(&session->collector))
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
        return __psnap_nowhere;
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
    return room ? room : __psnap_nowhere;
}
