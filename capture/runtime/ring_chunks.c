/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The chunks of a ring. A full ring makes the program wait for the collector.
 *
 * Invariant: 0 <= produced - consumed <= PSNAP_RING_CHUNKS, and the chunk being
 * written is produced % PSNAP_RING_CHUNKS; none is while `cursor` and `aside` are NULL.
 *
 * While nothing is wanted (region.c) the thread writes over and over the same few
 * words, and its chunk waits: `aside` is its cursor, which allocations, always
 * recorded, go on from. A thread looks at what is wanted when its limit says that
 * this has changed; `changes` is counted before limits are set, and looked at after
 * a thread has set its own, so that none is missed.
 *
 * Where a module takes the place of another (the REUSE event) the collector reads a chunk as one of
 * the old module up to where its thread was then; but a batch that was open gives room before that
 * back later. So what comes behind goes into another chunk: limits are changed for that, too.
 *
 * Signals are blocked while a ring changes hands, not while the thread waits:
 * its handlers then come here too, and find a ring that has no chunk. Who waits
 * for ring 0 holds its lock, which a handler could want: signals that have one
 * wait with it, those that end or stop the program do not.
 */
#include "ring.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static uint32_t reuses; /* atomic: modules that came where others had been */

void psnap_rt_ring_doorbell(void)
{
    struct psnap_session *session = psnap_rt_session;
    __atomic_fetch_add(&session->doorbell, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&session->collector_waiting, __ATOMIC_SEQ_CST) && !psnap_rt_is_quiet())
        syscall(SYS_futex, &session->doorbell, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static uint64_t *chunk_of(const struct psnap_ring *ring)
{
    return ring->data + ring->produced % PSNAP_RING_CHUNKS * PSNAP_CHUNK_WORDS;
}

bool psnap_rt_is_outdated(const struct psnap_ring *ring)
{
    return ring->reuses != __atomic_load_n(&reuses, __ATOMIC_SEQ_CST);
}

void psnap_rt_open_chunk(struct psnap_ring *ring)
{
    ring->reuses = __atomic_load_n(&reuses, __ATOMIC_SEQ_CST);
    ring->limit = chunk_of(ring) + PSNAP_CHUNK_WORDS;
    __atomic_store_n(&ring->cursor,
                     chunk_of(ring) + ring->begins[ring->produced % PSNAP_RING_CHUNKS],
                     __ATOMIC_RELEASE);
}

void psnap_rt_resume(struct psnap_ring *ring)
{
    if (ring->aside) {
        __atomic_store_n(&ring->cursor, ring->aside, __ATOMIC_RELEASE);
        __atomic_store_n(&ring->aside, NULL, __ATOMIC_RELEASE);
    }
    ring->limit =
        psnap_rt_is_outdated(ring) ? PSNAP_LIMIT_CHANGED : chunk_of(ring) + PSNAP_CHUNK_WORDS;
}

/* What comes now is not wanted. */
static void suspend(struct psnap_ring *ring)
{
    if (!psnap_rt_idle)
        psnap_rt_idle = psnap_rt_map_idle();
    if (!ring->aside)
        __atomic_store_n(&ring->aside, ring->cursor, __ATOMIC_RELEASE);
    __atomic_store_n(&ring->cursor, psnap_rt_idle, __ATOMIC_RELEASE);
    ring->limit = psnap_rt_idle + PSNAP_RT_IDLE_WORDS;
}

void psnap_rt_look(struct psnap_ring *ring)
{
    uint32_t seen;

    if (!psnap_rt_is_real(ring))
        return; /* any more: a handler has forked */
    do {
        seen = __atomic_load_n(&psnap_rt_session->changes, __ATOMIC_SEQ_CST);
        if (psnap_rt_is_wanted())
            psnap_rt_resume(ring);
        else
            suspend(ring);
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
    } while (seen != __atomic_load_n(&psnap_rt_session->changes, __ATOMIC_SEQ_CST));
}

void psnap_rt_change(void)
{
    struct psnap_session *session;
    uint32_t used;

    if (psnap_rt_is_forked())
        return; /* it is the parent's, and may be unmapped at any moment */
    session = psnap_rt_session;
    if (!session)
        return;
    used = __atomic_load_n(&session->rings_used, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&session->changes, 1, __ATOMIC_SEQ_CST);
    for (uint32_t i = 1; i < used; i++) {
        struct psnap_ring *ring = psnap_rt_ring(i);
        if (ring)
            __atomic_store_n(&ring->limit, PSNAP_LIMIT_CHANGED, __ATOMIC_SEQ_CST);
    }
}

void psnap_rt_reuse(void)
{
    __atomic_fetch_add(&reuses, 1, __ATOMIC_SEQ_CST);
    psnap_rt_change();
}

void psnap_rt_leave_chunk(struct psnap_ring *ring)
{
    if (!psnap_rt_has_chunk(ring))
        return;
    if (ring->aside)
        psnap_rt_resume(ring);
    ring->used_words[ring->produced % PSNAP_RING_CHUNKS] =
        (uint32_t)(ring->cursor - chunk_of(ring));
    ring->left[ring->produced % PSNAP_RING_CHUNKS] =
        __atomic_fetch_add(&psnap_rt_session->chunks_left, 1, __ATOMIC_RELAXED);
    ring->limit = NULL;
    __atomic_store_n(&ring->produced, ring->produced + 1, __ATOMIC_RELEASE);
    __atomic_store_n(&ring->cursor, NULL, __ATOMIC_RELEASE); /* psnap_rt_ring_words counts on it */
    psnap_rt_ring_doorbell();
}

uint64_t psnap_rt_ring_words(struct psnap_ring *ring)
{
    for (;;) {
        uint64_t produced = __atomic_load_n(&ring->produced, __ATOMIC_ACQUIRE);
        uint64_t *cursor = psnap_ring_cursor(ring);
        uint64_t *chunk = ring->data + produced % PSNAP_RING_CHUNKS * PSNAP_CHUNK_WORDS;
        uint64_t words = ((uint64_t)cursor - (uint64_t)chunk) / sizeof *chunk;
        if (__atomic_load_n(&ring->produced, __ATOMIC_ACQUIRE) != produced)
            continue;
        return produced * PSNAP_CHUNK_WORDS +
               (ring->data && words <= PSNAP_CHUNK_WORDS ? words : 0);
    }
}

uint64_t psnap_rt_ring_words_before(struct psnap_ring *ring)
{
    uint32_t awaited = __atomic_load_n(&ring->awaited, __ATOMIC_ACQUIRE);

    while (awaited && awaited != UINT32_MAX &&
           !__atomic_compare_exchange_n(&ring->awaited, &awaited, awaited - 1, false,
                                        __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        ;
    return awaited ? __atomic_load_n(&ring->creating, __ATOMIC_ACQUIRE) : psnap_rt_ring_words(ring);
}

/* Sleeps until a chunk is free, a signal has come or some time has passed; false when the
 * collector has died. */
static bool wait_for_chunk(struct psnap_ring *ring)
{
    const struct timespec patience = {.tv_nsec = 200 * 1000 * 1000};
    uint32_t seen = __atomic_load_n(&ring->consumed_futex, __ATOMIC_SEQ_CST);
    bool alive = true;

    __atomic_store_n(&ring->producer_waiting, 1, __ATOMIC_SEQ_CST);
    if (psnap_rt_unread_chunks(ring) >= PSNAP_RING_CHUNKS &&
        syscall(SYS_futex, &ring->consumed_futex, FUTEX_WAIT, seen, &patience, NULL, 0) != 0 &&
        errno != EAGAIN)
        alive = psnap_rt_collector_alive();
    __atomic_store_n(&ring->producer_waiting, 0, __ATOMIC_RELAXED);
    return alive;
}

bool psnap_rt_renew_chunk(struct psnap_ring *ring, const sigset_t *signals)
{
    sigset_t all;

    psnap_rt_leave_chunk(ring);
    sigfillset(&all);
    while (!psnap_rt_has_chunk(ring) && psnap_rt_unread_chunks(ring) >= PSNAP_RING_CHUNKS &&
           !psnap_rt_is_enough()) {
        bool alive;
        pthread_sigmask(SIG_SETMASK, signals, NULL);
        alive = wait_for_chunk(ring);
        pthread_sigmask(SIG_SETMASK, &all, NULL);
        if (!psnap_rt_is_real(ring))
            return true; /* the ring of the parent of this child, which a handler has forked */
        if (!alive && !psnap_rt_is_enough())
            return false;
    }
    if (!psnap_rt_has_chunk(ring))
        psnap_rt_open_chunk(ring);
    return true;
}

/* The mask, and all signals that have a handler. */
static sigset_t with_handlers(const sigset_t *signals)
{
    sigset_t mask = *signals;

    for (int signal = 1; signal < NSIG; signal++) {
        struct sigaction action;
        if (sigaction(signal, NULL, &action) == 0 && action.sa_handler != SIG_DFL &&
            action.sa_handler != SIG_IGN)
            sigaddset(&mask, signal);
    }
    return mask;
}

uint64_t *psnap_rt_room(struct psnap_ring *ring, uint64_t words, const sigset_t *signals)
{
    bool has_room = true;

    while (has_room && (!psnap_rt_has_chunk(ring) || ring->cursor + words > ring->limit)) {
        sigset_t waiting = with_handlers(signals);
        has_room = psnap_rt_renew_chunk(ring, &waiting);
    }
    return has_room ? ring->cursor : NULL;
}

void psnap_rt_publish(struct psnap_ring *ring, uint64_t *end)
{
    __atomic_store_n(&ring->cursor, end, __ATOMIC_RELEASE);
}
