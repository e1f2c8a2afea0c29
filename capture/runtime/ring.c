/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The producer's side of the rings: instrumented code takes the room of each record, or of a batch
 * of them, between ring->cursor and ring->limit, and fills it by itself. What is called for every
 * allocation, nest or few records comes first, then the chunks of a ring; which ring it is, is in
 * ring_thread.c.
 *
 */
#include "ring.h"

#include <linux/futex.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

const char __psnap_abi_16 = PSNAP_CAPTURE_ABI;

struct psnap_session *psnap_rt_session;
static bool recording;  /* atomic */
static uint32_t reuses; /* atomic: modules that came where others had been */
_Thread_local uint64_t *psnap_rt_idle;

const struct psnap_rt_hooks psnap_rt_hooks = {
    PSNAP_CAPTURE_ABI, psnap_rt_add_copy, __psnap_reserve,      __psnap_renew_nest,
    __psnap_allocated, __psnap_register,  psnap_rt_mark,        psnap_rt_pass,
    __psnap_forked,    __psnap_sandboxed, __psnap_sandbox_tried};

bool psnap_rt_collector_alive(void)
{
    const struct psnap_session *session = __atomic_load_n(&psnap_rt_session, __ATOMIC_RELAXED);

    return session && !__atomic_load_n(&session->closed, __ATOMIC_ACQUIRE) &&
           !psnap_alive_has_ended(&session->collector);
}

bool psnap_rt_is_recording(void)
{
    return __atomic_load_n(&recording, __ATOMIC_ACQUIRE);
}

void psnap_rt_set_recording(bool is_recording)
{
    __atomic_store_n(&recording, is_recording, __ATOMIC_RELEASE);
}

void psnap_rt_stop(void)
{
    psnap_rt_set_recording(false);
    psnap_rt_set_ring(&psnap_rt_empty_ring);
}

/* *at = after, if it still is `before`: one instruction, which no handler of a signal splits. Only
 * this thread and its handlers write there, so that no lock is needed. */
static inline bool swap(void *at, uint64_t before, uint64_t after)
{
    bool is_swapped;

#if defined(__x86_64__)
    __asm__ volatile("cmpxchgq %3, (%2)"
                     : "=@ccz"(is_swapped), "+a"(before)
                     : "r"(at), "r"(after)
                     : "memory");
#else
    is_swapped = __atomic_compare_exchange_n((uint64_t *)at, &before, after, false,
                                             __ATOMIC_RELAXED, __ATOMIC_RELAXED);
#endif
    return is_swapped;
}

static inline bool move_cursor(struct psnap_ring *ring, const uint64_t *from, const uint64_t *to)
{
    return swap(&ring->cursor, (uint64_t)from, (uint64_t)to);
}

uint64_t *psnap_rt_claim(struct psnap_ring *ring, uint64_t words)
{
    uint64_t *room = ring->cursor;

    if (!room || room + words > ring->limit || !move_cursor(ring, room, room + words))
        return NULL;
    *room = -words;
    return room;
}

/* The thread has written to the end of what nobody reads, and may begin again. Nothing else is
 * looked at, so that it costs little. NULL when there is more to do. */
static uint64_t *claim_idle(struct psnap_ring *ring, uint64_t words)
{
    uint64_t *cursor = ring->cursor, *begin = psnap_rt_idle;

    if (!begin || ring->limit != begin + PSNAP_RT_IDLE_WORDS || psnap_rt_is_forked())
        return NULL;
    return move_cursor(ring, cursor, begin + words) ? begin : NULL;
}

static inline bool is_idle(const uint64_t *room)
{
    return psnap_rt_idle && room >= psnap_rt_idle && room < psnap_rt_idle + PSNAP_RT_IDLE_WORDS;
}

/* Signals are blocked; `signals` is the thread's mask. */
static uint64_t *reserve(uint64_t words, uint64_t frame, const sigset_t *signals)
{
    psnap_rt_is_forked(); /* a child's ring is its parent's: it must not be written to */
    for (;;) {
        struct psnap_ring *ring = __psnap_ring;
        uint64_t *room = psnap_rt_claim(ring, words);
        if (room)
            return room;
        if (ring == &psnap_rt_empty_ring)
            psnap_rt_attach(frame);
        else if (psnap_rt_is_scratch(ring) && psnap_rt_is_recording() && !ring->thread)
            psnap_rt_leave_scratch(ring); /* it ran before the first module was announced */
        else if (psnap_rt_is_scratch(ring))
            ring->cursor = ring->data;
        else if (!psnap_rt_is_recording())
            psnap_rt_stop();
        else if (psnap_rt_has_chunk(ring) && !psnap_rt_is_outdated(ring) &&
                 (ring->aside || ring->limit == PSNAP_LIMIT_CHANGED))
            psnap_rt_look(ring);
        else if (psnap_rt_renew_chunk(ring, signals))
            psnap_rt_look(ring);
        else
            psnap_rt_stop();
    }
}

/* A record that is kept whatever is wanted. Signals are blocked but for waits: handlers get chunks
 * and suspend them. NULL when nothing is recorded any more, or not by this process: a child tells
 * all allocations when it gets its ring. */
static uint64_t *reserve_anyway(uint64_t words, const sigset_t *signals)
{
    struct psnap_ring *ring = __psnap_ring;

    while (psnap_rt_is_real(ring) && ring == __psnap_ring) {
        uint64_t *room;
        psnap_rt_resume(ring);
        room = psnap_rt_claim(ring, words);
        if (room)
            return room;
        if (psnap_rt_is_enough() || !psnap_rt_renew_chunk(ring, signals))
            return NULL;
    }
    return NULL;
}

/* We are a further copy: the first one's rings are ours. */
static uint64_t *reserve_at_first(uint64_t words)
{
    static _Thread_local bool is_known;

    if (!is_known)
        is_known = psnap_rt_first->add_copy(&__psnap_ring);
    if (is_known)
        return psnap_rt_first->reserve(words);
    __atomic_store_n(&psnap_rt_first, NULL, __ATOMIC_RELAXED); /* one copy too many */
    return __psnap_reserve(words);
}

/* Where the chunk has no room, or the thread no ring yet; `caller` is the code that asks. */
__attribute__((preserve_most, noinline)) static uint64_t *reserve_outside(uint64_t words,
                                                                          uint64_t caller)
{
    struct psnap_rt_outside outside;
    uint64_t *room;

    if (__psnap_ring->state == PSNAP_RING_EARLY) {
        __psnap_ring->produced += words;
        return psnap_rt_nowhere;
    }
    if (!psnap_rt_first) {
        room = claim_idle(__psnap_ring, words);
        if (room)
            return room;
        psnap_rt_enroll(caller);
    }
    if (psnap_rt_first)
        return reserve_at_first(words);
    if (!psnap_rt_begin_noise())
        return psnap_rt_reserve_quietly(words);
    psnap_rt_block_signals(&outside);
    room = reserve(words, (uint64_t)__builtin_frame_address(0), &outside.signals);
    psnap_rt_unblock_signals(&outside);
    psnap_rt_end_noise();
    return room;
}

static inline uint64_t *reserve_for(uint64_t words, void *caller)
{
    uint64_t *room = psnap_rt_claim(__psnap_ring, words);

    return room ? room : reserve_outside(words, (uint64_t)caller);
}

__attribute__((preserve_most)) uint64_t *__psnap_reserve(uint64_t words)
{
    return reserve_for(words, __builtin_return_address(0));
}
PSNAP_PLAIN_HOOK(uint64_t *, __psnap_reserve, (uint64_t words))

__attribute__((preserve_most)) uint64_t *__psnap_reserve_kind(uint64_t words, uint64_t is_unhoisted)
{
    if (is_unhoisted != psnap_rt_unhoisted)
        return psnap_rt_nowhere;
    return reserve_for(words, __builtin_return_address(0));
}
PSNAP_PLAIN_HOOK(uint64_t *, __psnap_reserve_kind, (uint64_t words, uint64_t is_unhoisted))

/* The batch becomes a gap of one word with its records behind it; the rest goes back to the ring,
 * unless a signal handler has appended records: then it is a gap. (A handler that comes before the
 * last swap and fills the whole ring up to the same place would lose its own.) */
__attribute__((preserve_most)) void __psnap_close_batch(uint64_t *batch, uint64_t *end)
{
    uint64_t *all = batch + PSNAP_RECORD_WORDS_MAX;
    const uint64_t gap = (uint64_t)(all - end) + PSNAP_GAP;

    *end = gap;
    __atomic_store_n(batch, PSNAP_GAP + 1, __ATOMIC_RELEASE);
    if (move_cursor(__psnap_ring, all, end))
        swap(end, gap, 0);
}

__attribute__((preserve_most)) uint64_t *__psnap_renew_batch(uint64_t *batch, uint64_t *end)
{
    __psnap_close_batch(batch, end);
    if (batch == psnap_rt_nowhere && psnap_rt_unhoisted)
        return batch;
    return reserve_for(PSNAP_RECORD_WORDS_MAX, __builtin_return_address(0));
}

/* Leaves a chunk early when the collector has nothing to read: a record of a nest is short, and
 * stands for a million accesses. A thread that has just made another one delays that, so that the
 * new thread begins before the maker's next accesses are read. */
static void hand_over(void)
{
    struct psnap_ring *ring = __psnap_ring;
    struct psnap_rt_outside outside;

    if (!psnap_rt_is_real(ring) || !psnap_rt_is_recording() || ring->aside ||
        psnap_rt_unread_chunks(ring) || (ring->delays && ring->delays--) || !psnap_rt_begin_noise())
        return;
    psnap_rt_block_signals(&outside);
    if (!psnap_rt_is_forked() && ring == __psnap_ring && psnap_rt_has_chunk(ring) && !ring->aside &&
        !psnap_rt_unread_chunks(ring) && psnap_rt_renew_chunk(ring, &outside.signals))
        psnap_rt_look(ring); /* what is wanted may have changed meanwhile */
    psnap_rt_unblock_signals(&outside);
    psnap_rt_end_noise();
}

__attribute__((preserve_most)) uint64_t *__psnap_renew_nest(uint64_t *record, uint64_t words,
                                                            uint64_t levels)
{
    uint64_t copy[PSNAP_NEST_WORDS_MAX], *from = copy + PSNAP_NEST_HEADER_WORDS, *room = record - 2;
    const uint64_t progress = record[-1];

    if (psnap_rt_first)
        return psnap_rt_first->renew_nest(record, words, levels);
    /* A handler may have written over it; it is nowhere, or of a child's parent. */
    if (is_idle(room) ? __psnap_ring->cursor != record + words
                      : *room != -(words + 2) && *room != PSNAP_KEPT)
        return record;
    memcpy(copy, record, words * sizeof *copy);
    memcpy(from, from + levels, levels * sizeof *from);
    copy[1] = progress >> PSNAP_NEST_STEP_SHIFT;
    __atomic_store_n(room, PSNAP_GAP + 2, __ATOMIC_RELEASE);
    hand_over();
    room = reserve_for(words + 2, __builtin_return_address(0));
    room[1] = progress;
    return memcpy(room + 2, copy, words * sizeof *copy);
}

static void put_allocation(uint64_t *room, const uint64_t allocation[4])
{
    for (int i = 0; i < 4; i++)
        room[1 + i] = allocation[i];
    __atomic_store_n(&room[0], PSNAP_EVENT_ALLOC, __ATOMIC_RELEASE);
}

/* What is not wanted may touch memory first that is wanted later. */
static void put_allocation_anyway(const uint64_t allocation[4])
{
    struct psnap_rt_outside outside;
    uint64_t *room;

    psnap_rt_block_signals(&outside);
    room = reserve_anyway(5, &outside.signals);
    if (room)
        put_allocation(room, allocation);
    if (psnap_rt_is_real(__psnap_ring) && psnap_rt_has_chunk(__psnap_ring))
        psnap_rt_look(__psnap_ring);
    psnap_rt_unblock_signals(&outside);
}

void psnap_rt_put_records(const uint64_t *words, uint64_t count)
{
    struct psnap_rt_outside outside;
    uint64_t *room;

    psnap_rt_block_signals(&outside);
    if (__psnap_ring == &psnap_rt_empty_ring)
        psnap_rt_attach((uint64_t)__builtin_frame_address(0));
    room = psnap_rt_is_wanted() ? reserve_anyway(count, &outside.signals) : NULL;
    if (room)
        memcpy(room, words, count * sizeof *words);
    if (psnap_rt_is_real(__psnap_ring) && psnap_rt_has_chunk(__psnap_ring))
        psnap_rt_look(__psnap_ring);
    psnap_rt_unblock_signals(&outside);
}

/* The number of this thread, which gets a ring if it has none. */
static uint32_t my_thread(uint64_t frame)
{
    if (__psnap_ring == &psnap_rt_empty_ring) {
        struct psnap_rt_outside outside;
        psnap_rt_block_signals(&outside);
        psnap_rt_attach(frame);
        psnap_rt_unblock_signals(&outside);
    }
    return psnap_rt_is_real(__psnap_ring) ? __psnap_ring->thread : 0;
}

void psnap_rt_tell_allocation(uint64_t address, uint64_t size_bytes, const unsigned char *site,
                              uint32_t thread)
{
    const uint64_t number = psnap_rt_announce(address, size_bytes, thread);
    const uint64_t allocation[] = {address, size_bytes, (uint64_t)site, number};
    uint64_t *room;

    if (__psnap_ring->aside) {
        put_allocation_anyway(allocation);
        return;
    }
    room = psnap_rt_claim(__psnap_ring, 5);
    if (!room)
        room = __psnap_reserve(5);
    if (is_idle(room)) /* its first record */
        put_allocation_anyway(allocation);
    else
        put_allocation(room, allocation);
}

static void tell_allocation(const void *address, uint64_t size_bytes, const unsigned char *site)
{
    const uint64_t at = (uint64_t)address;
    uint32_t thread;

    if (psnap_rt_is_forked())
        psnap_rt_rejoin();
    if (!psnap_rt_is_recording() || !address || address == MAP_FAILED || psnap_rt_is_enough())
        return;
    thread = my_thread((uint64_t)__builtin_frame_address(0));
    psnap_rt_note_allocation(at, size_bytes, site, thread, psnap_rt_is_large(at, size_bytes));
    psnap_rt_tell_allocation(at, size_bytes, site, thread);
}

void __psnap_allocated(const void *address, uint64_t size_bytes, const unsigned char *site)
{
    if (!psnap_rt_first && __psnap_ring == &psnap_rt_empty_ring)
        psnap_rt_enroll((uint64_t)__builtin_return_address(0));
    if (psnap_rt_first)
        psnap_rt_first->allocated(address, size_bytes, site);
    else if (psnap_rt_begin_noise()) {
        tell_allocation(address, size_bytes, site);
        psnap_rt_end_noise();
    }
}

/* ---- chunks ---- */

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
