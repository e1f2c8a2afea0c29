/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Recording without system calls, for programs that are killed for them: from where such a program
 * is about to call prctl(PR_SET_SECCOMP), seccomp() or seccomp_load() (capture/pass/region.cpp) all
 * its threads are quiet.
 *
 * A quiet thread does not block signals while its ring gets a chunk; a handler that comes
 * in between records nothing, which is counted. It does not sleep while its ring is full, but
 * looks again and again, and wakes nobody: the collector looks at the rings each 5 ms anyway. What
 * it allocates is not told, its children are not recorded, and threads that are started from
 * now on have no ring.
 */
#include "ring.h"

/* Looks at a full ring of which nothing is read, until the collector is taken for dead: about a
 * minute. */
#define LOOKS_MAX (UINT64_C(1) << 31)

static bool quiet;                    /* atomic */
static _Thread_local bool is_at_work; /* a chunk is being changed; handlers keep off */

bool psnap_rt_is_quiet(void)
{
    return __atomic_load_n(&quiet, __ATOMIC_RELAXED);
}

void __psnap_sandboxed(void)
{
    if (psnap_rt_first) {
        psnap_rt_first->sandboxed();
        return;
    }
    psnap_rt_prepare_quiet();
    is_at_work = false; /* its memory is there */
    __atomic_store_n(&quiet, true, __ATOMIC_SEQ_CST);
    if (psnap_rt_is_recording())
        __atomic_store_n(&psnap_rt_session->is_quiet, 1, __ATOMIC_RELAXED);
}

static void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

/* Until a chunk is free; false: there will be none. */
static bool wait_for_chunk(const struct psnap_ring *ring)
{
    const uint64_t consumed = __atomic_load_n(&ring->consumed, __ATOMIC_SEQ_CST);

    for (uint64_t looks = 0; psnap_rt_unread_chunks(ring) >= PSNAP_RING_CHUNKS; looks++) {
        if (psnap_rt_is_enough() || __atomic_load_n(&psnap_rt_session->closed, __ATOMIC_RELAXED))
            return false;
        if (looks >= LOOKS_MAX && consumed == __atomic_load_n(&ring->consumed, __ATOMIC_SEQ_CST)) {
            __atomic_store_n(&psnap_rt_session->abandoned, 1, __ATOMIC_RELAXED);
            return false;
        }
        relax();
    }
    return true;
}

/* The ring gets a chunk, if it is full, or what is wanted is looked at. False: nothing is recorded
 * any more. */
static bool renew(struct psnap_ring *ring)
{
    if (!psnap_rt_has_chunk(ring) || psnap_rt_is_outdated(ring) ||
        (!ring->aside && ring->limit != PSNAP_LIMIT_CHANGED)) {
        psnap_rt_leave_chunk(ring);
        if (!wait_for_chunk(ring))
            return false;
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
