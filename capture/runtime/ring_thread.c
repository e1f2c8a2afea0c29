/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which ring a thread writes into: one of the session's while it is recorded, from its
 * first record to its end. A thread that is not recorded, or of a program whose
 * collector has died, writes into scratch memory that nobody reads, and one whose
 * records are not wanted for now (ring.c) over and over a few words of its own.
 */
#include "ring.h"

#include <pthread.h>
#include <stddef.h>
#include <sys/mman.h>
#include <time.h>

struct psnap_ring psnap_rt_empty_ring;
_Thread_local struct psnap_ring *__psnap_ring = &psnap_rt_empty_ring;

struct scratch {
    struct psnap_ring ring;
    uint64_t words[PSNAP_RT_SCRATCH_WORDS];
};
static struct scratch last_resort; /* shared by threads when memory has run out */
static pthread_key_t thread_end;
static pthread_once_t thread_end_once = PTHREAD_ONCE_INIT;
static bool has_thread_end;

enum {
    COPIES_MAX = 7,
    HAND_OVER_DELAYS = 8 /* until a new thread has most probably begun */
};

/* Of this thread. The C library has little storage for the variables of libraries that are opened
 * later, each with a copy of the runtime: so these are packed. */
static _Thread_local struct {
    struct psnap_ring **copies[COPIES_MAX]; /* variables of this thread in further copies */
    uint64_t first_frame;                   /* in a child by fork it is still the parent's */
    uint32_t copy_count;
    uint32_t awaited_before; /* threads that it has made before it had a ring */
} own;

void psnap_rt_set_ring(struct psnap_ring *ring)
{
    __psnap_ring = ring;
    for (unsigned i = 0; i < own.copy_count; i++)
        *own.copies[i] = ring;
}

bool psnap_rt_add_copy(struct psnap_ring **ring_of_copy)
{
    if (own.copy_count == COPIES_MAX) {
        if (psnap_rt_is_forked())
            psnap_rt_rejoin(); /* it is not the parent's loss */
        if (psnap_rt_session)
            __atomic_fetch_add(&psnap_rt_session->copies, 1, __ATOMIC_RELAXED);
        return false;
    }
    *ring_of_copy = __psnap_ring;
    own.copies[own.copy_count++] = ring_of_copy;
    return true;
}

uint64_t *psnap_rt_map_idle(void)
{
    uint64_t *words = NULL;

    if (psnap_rt_begin_noise()) {
        words = psnap_rt_map(PSNAP_RT_IDLE_WORDS * sizeof *words);
        psnap_rt_end_noise();
    }
    return words ? words : last_resort.words;
}

/* Handlers that come before know the ring, and what they write is read; to those that come later
 * the thread is a new one. In a child that nobody has noticed the ring is its parent's. In a
 * sandbox memory stays and signals come, as that takes no system calls. */
static void end_of_thread(void *pointer)
{
    struct psnap_rt_outside outside;
    struct psnap_ring *ring = pointer;
    uint64_t *idle;
    bool is_parents, is_quiet;

    psnap_rt_forget_noise();
    is_quiet = !psnap_rt_begin_noise();
    if (!is_quiet)
        psnap_rt_block_signals(&outside);
    is_parents = psnap_rt_is_forked();
    psnap_rt_end_thread_region();
    psnap_rt_set_ring(&psnap_rt_empty_ring);
    if (!is_parents && psnap_rt_is_real(ring)) {
        psnap_rt_leave_chunk(ring);
        __atomic_store_n(&ring->state, PSNAP_RING_FINISHED, __ATOMIC_RELEASE);
        psnap_rt_ring_doorbell();
    }
    if (is_quiet)
        return;
    if (!is_parents && psnap_rt_is_scratch(ring) && ring != &last_resort.ring)
        munmap(ring, sizeof(struct scratch));
    idle = psnap_rt_idle;
    psnap_rt_idle = NULL;
    if (idle && idle != last_resort.words)
        munmap(idle, PSNAP_RT_IDLE_WORDS * sizeof *idle);
    psnap_rt_unblock_signals(&outside);
    psnap_rt_end_noise();
}

static void make_thread_end(void)
{
    has_thread_end = pthread_key_create(&thread_end, end_of_thread) == 0;
}

static struct psnap_ring *scratch_ring(void)
{
    struct scratch *scratch = psnap_rt_map(sizeof *scratch);

    if (!scratch)
        scratch = &last_resort;
    scratch->ring.data = scratch->words;
    scratch->ring.cursor = scratch->words;
    scratch->ring.limit = scratch->words + PSNAP_RT_SCRATCH_WORDS;
    return &scratch->ring;
}

/* A ring that has been another thread's. *any_finished: one will be free when it is read. */
static struct psnap_ring *take_used_ring(uint32_t used, bool *any_finished)
{
    for (uint32_t i = 1; i < used; i++) {
        struct psnap_ring *ring = psnap_rt_ring(i);
        uint32_t state = PSNAP_RING_FREE;
        if (!ring)
            continue; /* another thread is about to have it */
        if (__atomic_compare_exchange_n(&ring->state, &state, PSNAP_RING_TAKEN, false,
                                        __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            return ring;
        *any_finished |= state == PSNAP_RING_FINISHED;
    }
    return NULL;
}

/* The next ring that nobody has had; the collector looks at no ring behind the last one that was
 * used. NULL when there is none, or no address space for it. */
static struct psnap_ring *take_new_ring(uint32_t used)
{
    uint32_t next;
    struct psnap_ring *ring;

    while (used < psnap_rt_ring_count &&
           !__atomic_compare_exchange_n(&psnap_rt_session->rings_used, &used, used + 1, false,
                                        __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        ;
    if (used >= psnap_rt_ring_count)
        return NULL;
    ring = psnap_rt_map_ring(used);
    next = used + 1;
    if (!ring) /* the number is for the next thread, which may find room */
        __atomic_compare_exchange_n(&psnap_rt_session->rings_used, &next, used, false,
                                    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
    return ring;
}

/* A ring of the session, waiting for the collector to give back those of ended threads when there
 * is no other. */
static struct psnap_ring *take_ring(void)
{
    const struct timespec moment = {.tv_nsec = 1000 * 1000};

    for (;;) {
        const uint32_t used = __atomic_load_n(&psnap_rt_session->rings_used, __ATOMIC_ACQUIRE);
        bool any_finished = false;
        struct psnap_ring *ring = take_used_ring(used, &any_finished);
        if (!ring)
            ring = take_new_ring(used);
        if (ring)
            return ring;
        if (!any_finished || !psnap_rt_collector_alive())
            return NULL;
        psnap_rt_ring_doorbell();
        nanosleep(&moment, NULL);
    }
}

__attribute__((preserve_most)) void __psnap_creating(uint64_t threads)
{
    struct psnap_ring *ring = __psnap_ring;
    const bool is_real = psnap_rt_is_real(ring);
    uint32_t *awaited = is_real ? &ring->awaited : &own.awaited_before;

    if (is_real && psnap_rt_is_child())
        return; /* it is the parent's */
    if (is_real && threads) {
        ring->delays = HAND_OVER_DELAYS;
        __atomic_store_n(&ring->creating, psnap_rt_ring_words(ring), __ATOMIC_RELEASE);
    }
    if (threads == 1)
        __atomic_fetch_add(awaited, 1, __ATOMIC_RELEASE);
    else
        __atomic_store_n(awaited, threads ? UINT32_MAX : 0, __ATOMIC_RELEASE);
}
PSNAP_PLAIN_HOOK(void, __psnap_creating, (uint64_t threads))

struct psnap_ring *psnap_rt_attach(uint64_t frame)
{
    struct psnap_session *session;
    struct psnap_ring *ring;
    bool wanted;

    if (psnap_rt_is_forked())
        psnap_rt_rejoin();
    session = psnap_rt_session;
    wanted = psnap_rt_is_recording() && !psnap_rt_is_enough();
    ring = wanted ? take_ring() : NULL;
    if (!own.first_frame)
        own.first_frame = frame;
    if (ring) {
        ring->data = psnap_ring_words(ring);
        ring->creating = 0;
        ring->awaited = own.awaited_before;
        own.awaited_before = 0;
        ring->thread = psnap_rt_number_thread();
        __atomic_fetch_add(&session->threads, 1, __ATOMIC_RELAXED);
        ring->frame = own.first_frame;
        psnap_rt_find_stack(own.first_frame, &ring->stack_low, &ring->stack_high);
        ring->local = (uint64_t)&__psnap_ring;
        psnap_rt_find_mapping(ring->local, &ring->local_low, &ring->local_high);
        psnap_rt_open_chunk(ring);
        psnap_rt_look(ring);
        __atomic_store_n(&ring->state, PSNAP_RING_ACTIVE, __ATOMIC_RELEASE);
    } else {
        ring = scratch_ring();
        ring->thread = psnap_rt_is_recording(); /* lost, or too late: not to be tried again */
        if (wanted)
            __atomic_fetch_add(&session->threads_lost, 1, __ATOMIC_RELAXED);
    }
    pthread_once(&thread_end_once, make_thread_end);
    if (has_thread_end)
        pthread_setspecific(thread_end, ring);
    psnap_rt_set_ring(ring);
    if (psnap_rt_is_real(ring) && ring->thread)
        psnap_rt_announce_thread(ring);
    if (psnap_rt_has_inherited())
        psnap_rt_repeat_allocations(psnap_rt_tell_allocation);
    return ring;
}

void psnap_rt_leave_scratch(struct psnap_ring *ring)
{
    __atomic_fetch_add(&psnap_rt_session->threads_early, 1, __ATOMIC_RELAXED);
    psnap_rt_set_ring(&psnap_rt_empty_ring);
    if (ring != &last_resort.ring)
        munmap(ring, sizeof(struct scratch));
}

struct psnap_ring *psnap_rt_set_aside(void)
{
    struct psnap_ring *ring = __psnap_ring;

    last_resort.ring.data = last_resort.words;
    last_resort.ring.thread = 1;
    last_resort.ring.limit = last_resort.words + PSNAP_RT_SCRATCH_WORDS;
    last_resort.ring.cursor = last_resort.words;
    psnap_rt_set_ring(&last_resort.ring);
    return ring;
}

void psnap_rt_give_up(struct psnap_ring *ring)
{
    static bool is_refused; /* this process is a child, and that is counted */

    if (psnap_rt_is_recording() && psnap_rt_is_child() && !is_refused) {
        is_refused = true;
        psnap_rt_refuse();
    } else if (ring == &psnap_rt_empty_ring && psnap_rt_is_recording() && !psnap_rt_is_child())
        __atomic_fetch_add(&psnap_rt_session->threads_lost, 1, __ATOMIC_RELAXED);
    psnap_rt_set_aside();
}

void psnap_rt_prepare_quiet(void)
{
    struct psnap_rt_outside outside;

    if (!psnap_rt_begin_noise())
        return;
    psnap_rt_block_signals(&outside);
    if (psnap_rt_is_forked() || __psnap_ring == &psnap_rt_empty_ring)
        psnap_rt_attach((uint64_t)__builtin_frame_address(0));
    if (!psnap_rt_idle)
        psnap_rt_idle = psnap_rt_map_idle();
    psnap_rt_unblock_signals(&outside);
    psnap_rt_end_noise();
}

bool psnap_rt_leave_ring(void)
{
    bool is_left = !psnap_rt_is_real(__psnap_ring) || psnap_rt_detach(__psnap_ring);

    psnap_rt_set_ring(&psnap_rt_empty_ring);
    if (has_thread_end)
        pthread_setspecific(thread_end, NULL);
    return is_left;
}
