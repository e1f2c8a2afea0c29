/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The producer's side of the rings. Instrumented code fills the chunk between
 * ring->cursor and ring->limit by itself; it comes here when a chunk is full
 * or the thread has no ring yet. A full ring makes the program wait; when the
 * collector has died the thread goes on writing into scratch memory that
 * nobody reads, which is also where a program runs that is not recorded.
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
 * Signals are blocked while a ring changes hands, not while the thread waits:
 * its handlers then come here too, and find a ring that has no chunk. Who waits
 * for ring 0 holds its lock, which a handler could want: signals that have one
 * wait with it, those that end or stop the program do not.
 */
#include "runtime.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

const char __psnap_abi_4 = PSNAP_CAPTURE_ABI;

struct psnap_session *psnap_rt_session;
static bool recording; /* atomic */

/* Full from the start, so that the first record of a thread comes to __psnap_reserve. */
static struct psnap_ring empty_ring;
_Thread_local struct psnap_ring *__psnap_ring = &empty_ring;

enum { SCRATCH_WORDS = 4096 };
struct scratch {
    struct psnap_ring ring;
    uint64_t words[SCRATCH_WORDS];
};
static struct scratch last_resort; /* shared by threads when memory has run out */
static pthread_key_t thread_end;
static pthread_once_t thread_end_once = PTHREAD_ONCE_INIT;
static bool has_thread_end;
static _Thread_local uint64_t first_frame; /* in a child by fork it is still the parent's */
enum { IDLE_WORDS = 2 * PSNAP_RECORD_WORDS_MAX };
static _Thread_local uint64_t *idle; /* where this thread writes what is not wanted */

/* Further copies of this runtime in the process: their variables of this thread. */
enum { COPIES_MAX = 7 };
static _Thread_local struct psnap_ring **copies[COPIES_MAX];
static _Thread_local unsigned copy_count;

static void set_ring(struct psnap_ring *ring)
{
    __psnap_ring = ring;
    for (unsigned i = 0; i < copy_count; i++)
        *copies[i] = ring;
}

static bool add_copy(struct psnap_ring **ring_of_copy)
{
    if (copy_count == COPIES_MAX)
        return false;
    *ring_of_copy = __psnap_ring;
    copies[copy_count++] = ring_of_copy;
    return true;
}

const struct psnap_rt_hooks psnap_rt_hooks = {
    PSNAP_CAPTURE_ABI, add_copy,         __psnap_reserve, __psnap_hand_over,
    __psnap_allocated, __psnap_register, psnap_rt_mark,   psnap_rt_pass};

static bool is_real(const struct psnap_ring *ring)
{
    const char *at = (const char *)ring, *session = (const char *)psnap_rt_session;
    return session && at >= session && at < session + sizeof *psnap_rt_session;
}

void psnap_rt_ring_doorbell(void)
{
    struct psnap_session *session = psnap_rt_session;
    __atomic_fetch_add(&session->doorbell, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&session->collector_waiting, __ATOMIC_SEQ_CST))
        syscall(SYS_futex, &session->doorbell, FUTEX_WAKE, 1, NULL, NULL, 0);
}

bool psnap_rt_collector_alive(void)
{
    uint32_t pid = __atomic_load_n(&psnap_rt_session->collector_pid, __ATOMIC_ACQUIRE);

    if (__atomic_load_n(&psnap_rt_session->closed, __ATOMIC_ACQUIRE))
        return false;
    return psnap_rt_is_process(pid);
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
    set_ring(&empty_ring);
}

static uint64_t *chunk_of(const struct psnap_ring *ring)
{
    return ring->data + ring->produced % PSNAP_RING_CHUNKS * PSNAP_CHUNK_WORDS;
}

static void open_chunk(struct psnap_ring *ring)
{
    ring->limit = chunk_of(ring) + PSNAP_CHUNK_WORDS;
    __atomic_store_n(&ring->cursor, chunk_of(ring), __ATOMIC_RELEASE);
}

static bool has_chunk(const struct psnap_ring *ring)
{
    return ring->cursor || ring->aside;
}

/* What is wanted is recorded from here on. */
static void resume(struct psnap_ring *ring)
{
    if (ring->aside) {
        __atomic_store_n(&ring->cursor, ring->aside, __ATOMIC_RELEASE);
        __atomic_store_n(&ring->aside, NULL, __ATOMIC_RELEASE);
    }
    ring->limit = chunk_of(ring) + PSNAP_CHUNK_WORDS;
}

/* What comes now is not wanted. */
static void suspend(struct psnap_ring *ring)
{
    if (!idle) {
        idle = mmap(NULL, IDLE_WORDS * sizeof *idle, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        idle = idle == MAP_FAILED ? last_resort.words : idle;
    }
    if (!ring->aside)
        __atomic_store_n(&ring->aside, ring->cursor, __ATOMIC_RELEASE);
    __atomic_store_n(&ring->cursor, idle, __ATOMIC_RELEASE);
    ring->limit = idle + IDLE_WORDS;
}

/* Of a ring with a chunk, when its limit is reached while it is suspended, or has changed. Signals
 * are blocked. */
static void look(struct psnap_ring *ring)
{
    uint32_t seen;

    do {
        seen = __atomic_load_n(&psnap_rt_session->changes, __ATOMIC_SEQ_CST);
        if (psnap_rt_is_wanted())
            resume(ring);
        else
            suspend(ring);
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
    } while (seen != __atomic_load_n(&psnap_rt_session->changes, __ATOMIC_SEQ_CST));
}

void psnap_rt_change(void)
{
    struct psnap_session *session = psnap_rt_session;
    uint32_t used;

    if (!session || psnap_rt_is_forked())
        return; /* it is the parent's */
    used = __atomic_load_n(&session->rings_used, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&session->changes, 1, __ATOMIC_SEQ_CST);
    for (uint32_t i = 1; i < used && i < psnap_rt_ring_count; i++)
        __atomic_store_n(&session->rings[i].limit, PSNAP_LIMIT_CHANGED, __ATOMIC_SEQ_CST);
}

static void leave_chunk(struct psnap_ring *ring)
{
    if (!has_chunk(ring))
        return;
    if (ring->aside)
        resume(ring);
    ring->used_words[ring->produced % PSNAP_RING_CHUNKS] =
        (uint32_t)(ring->cursor - chunk_of(ring));
    ring->limit = NULL;
    __atomic_store_n(&ring->produced, ring->produced + 1, __ATOMIC_RELEASE);
    __atomic_store_n(&ring->cursor, NULL, __ATOMIC_RELEASE); /* psnap_rt_ring_words counts on it */
    psnap_rt_ring_doorbell();
}

uint64_t psnap_rt_ring_words(const struct psnap_ring *ring)
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

static uint64_t unread_chunks(const struct psnap_ring *ring)
{
    return ring->produced - __atomic_load_n(&ring->consumed, __ATOMIC_SEQ_CST);
}

/* So many chunks may be unread when a thread that has waited goes on. */
static uint64_t few_chunks(const struct psnap_ring *ring)
{
    return __atomic_load_n(&ring->is_held, __ATOMIC_SEQ_CST) ? PSNAP_RING_CHUNKS - 1
                                                             : PSNAP_RING_CHUNKS_LOW;
}

/* Sleeps until chunks are free, a signal has come or some time has passed; false when the
 * collector has died. */
static bool wait_for_chunk(struct psnap_ring *ring)
{
    const struct timespec patience = {.tv_nsec = 200 * 1000 * 1000};
    uint32_t seen = __atomic_load_n(&ring->consumed_futex, __ATOMIC_SEQ_CST);
    bool alive = true;

    __atomic_store_n(&ring->producer_waiting, 1, __ATOMIC_SEQ_CST);
    if (unread_chunks(ring) > few_chunks(ring) &&
        syscall(SYS_futex, &ring->consumed_futex, FUTEX_WAIT, seen, &patience, NULL, 0) != 0 &&
        errno != EAGAIN)
        alive = psnap_rt_collector_alive();
    __atomic_store_n(&ring->producer_waiting, 0, __ATOMIC_RELAXED);
    return alive;
}

/* Nobody reads any more, so that chunks may be written over. */
static bool is_enough(void)
{
    return __atomic_load_n(&psnap_rt_session->is_enough, __ATOMIC_RELAXED);
}

/* The ring gets an empty chunk; `signals` is the mask to wait with. False when there will be
 * none. A handler may have got one in the meantime. */
static bool renew_chunk(struct psnap_ring *ring, const sigset_t *signals)
{
    uint64_t most = PSNAP_RING_CHUNKS - 1;
    sigset_t all;

    leave_chunk(ring);
    sigfillset(&all);
    while (!has_chunk(ring) && unread_chunks(ring) > most && !is_enough()) {
        bool alive;
        pthread_sigmask(SIG_SETMASK, signals, NULL);
        alive = wait_for_chunk(ring);
        pthread_sigmask(SIG_SETMASK, &all, NULL);
        most = few_chunks(ring);
        if (!alive && !is_enough()) {
            __atomic_store_n(&psnap_rt_session->abandoned, 1, __ATOMIC_RELAXED);
            return false;
        }
    }
    if (!has_chunk(ring))
        open_chunk(ring);
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

    while (has_room && (!has_chunk(ring) || ring->cursor + words > ring->limit)) {
        sigset_t waiting = with_handlers(signals);
        has_room = renew_chunk(ring, &waiting);
    }
    return has_room ? ring->cursor : NULL;
}

void psnap_rt_publish(struct psnap_ring *ring, uint64_t *end)
{
    __atomic_store_n(&ring->cursor, end, __ATOMIC_RELEASE);
}

static void end_of_thread(void *pointer)
{
    struct psnap_ring *ring = pointer;

    psnap_rt_end_thread_region();
    if (is_real(ring)) {
        leave_chunk(ring);
        __atomic_store_n(&ring->state, PSNAP_RING_FINISHED, __ATOMIC_RELEASE);
        psnap_rt_ring_doorbell();
    } else if (ring != &last_resort.ring)
        munmap(ring, sizeof(struct scratch));
    set_ring(&empty_ring);
    if (idle && idle != last_resort.words)
        munmap(idle, IDLE_WORDS * sizeof *idle);
    idle = NULL;
}

static void make_thread_end(void)
{
    has_thread_end = pthread_key_create(&thread_end, end_of_thread) == 0;
}

static struct psnap_ring *scratch_ring(void)
{
    struct scratch *scratch =
        mmap(NULL, sizeof *scratch, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (scratch == MAP_FAILED)
        scratch = &last_resort;
    scratch->ring.data = scratch->words;
    scratch->ring.cursor = scratch->words;
    scratch->ring.limit = scratch->words + SCRATCH_WORDS;
    return &scratch->ring;
}

/* The collector looks at no ring that it has not been told of. */
static void note_ring(uint32_t index)
{
    uint32_t used = __atomic_load_n(&psnap_rt_session->rings_used, __ATOMIC_RELAXED);

    while (used <= index &&
           !__atomic_compare_exchange_n(&psnap_rt_session->rings_used, &used, index + 1, false,
                                        __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        ;
}

/* A free ring of the session, waiting for the collector to give back those of ended threads. */
static struct psnap_ring *take_ring(void)
{
    const struct timespec moment = {.tv_nsec = 1000 * 1000};

    for (;;) {
        bool any_finished = false;
        for (uint32_t i = 1; i < psnap_rt_ring_count; i++) {
            struct psnap_ring *ring = &psnap_rt_session->rings[i];
            uint32_t state = PSNAP_RING_FREE;
            if (__atomic_compare_exchange_n(&ring->state, &state, PSNAP_RING_TAKEN, false,
                                            __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
                note_ring(i);
                return ring;
            }
            any_finished |= state == PSNAP_RING_FINISHED;
        }
        if (!any_finished || !psnap_rt_collector_alive())
            return NULL;
        psnap_rt_ring_doorbell();
        nanosleep(&moment, NULL);
    }
}

static void tell_allocation(uint64_t address, uint64_t size_bytes, const unsigned char *site,
                            uint32_t thread);

struct psnap_ring *psnap_rt_attach(uint64_t frame)
{
    struct psnap_session *session;
    struct psnap_ring *ring;
    bool wanted;

    if (psnap_rt_is_forked())
        psnap_rt_rejoin();
    session = psnap_rt_session;
    wanted = psnap_rt_is_recording() && !is_enough();
    ring = wanted ? take_ring() : NULL;
    if (!first_frame)
        first_frame = frame;
    if (ring) {
        ring->data = (uint64_t *)((char *)session + PSNAP_SESSION_HEADER_BYTES) +
                     (uint64_t)(ring - session->rings) * PSNAP_RING_WORDS;
        ring->thread = psnap_rt_number_thread();
        __atomic_fetch_add(&session->threads, 1, __ATOMIC_RELAXED);
        ring->frame = first_frame;
        psnap_rt_find_stack(first_frame, &ring->stack_low, &ring->stack_high);
        ring->local = (uint64_t)&__psnap_ring;
        psnap_rt_find_mapping(ring->local, &ring->local_low, &ring->local_high);
        open_chunk(ring);
        look(ring);
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
    set_ring(ring);
    if (psnap_rt_has_inherited())
        psnap_rt_repeat_allocations(tell_allocation);
    return ring;
}

/* Scratch rings are as long as no chunk is: so a ring of a stopped session is told apart. */
static bool is_scratch(const struct psnap_ring *ring)
{
    return ring->limit == ring->data + SCRATCH_WORDS;
}

static void leave_scratch(struct psnap_ring *ring)
{
    set_ring(&empty_ring);
    if (ring != &last_resort.ring)
        munmap(ring, sizeof(struct scratch));
}

struct psnap_ring *psnap_rt_set_aside(void)
{
    struct psnap_ring *ring = __psnap_ring;

    last_resort.ring.data = last_resort.words;
    last_resort.ring.thread = 1;
    last_resort.ring.limit = last_resort.words + SCRATCH_WORDS;
    last_resort.ring.cursor = last_resort.words;
    set_ring(&last_resort.ring);
    return ring;
}

void psnap_rt_go_on(struct psnap_ring *ring)
{
    set_ring(ring);
}

void psnap_rt_leave_ring(void)
{
    set_ring(&empty_ring);
    if (has_thread_end)
        pthread_setspecific(thread_end, NULL);
}

/* Moves the cursor as instrumented code does (capture/pass/pass.cpp): so that a handler that comes
 * in between makes it fail. */
static bool move_cursor(struct psnap_ring *ring, uint64_t *from, uint64_t *to)
{
    bool is_moved;

#if defined(__x86_64__)
    __asm__ volatile("cmpxchgq %3, %1"
                     : "=@ccz"(is_moved), "+m"(ring->cursor), "+a"(from)
                     : "r"(to));
#else
    is_moved = __atomic_compare_exchange_n(&ring->cursor, &from, to, false, __ATOMIC_RELAXED,
                                           __ATOMIC_RELAXED);
#endif
    return is_moved;
}

/* NULL when a handler came in between, or the chunk is full. */
static uint64_t *claim(struct psnap_ring *ring, uint64_t words)
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
    uint64_t *cursor = ring->cursor, *begin = idle;

    if (!begin || ring->limit != begin + IDLE_WORDS || psnap_rt_is_forked())
        return NULL;
    return move_cursor(ring, cursor, begin + words) ? begin : NULL;
}

/* Signals are blocked; `signals` is the thread's mask. */
static uint64_t *reserve(uint64_t words, uint64_t frame, const sigset_t *signals)
{
    psnap_rt_is_forked(); /* a child's ring is its parent's: it must not be written to */
    for (;;) {
        struct psnap_ring *ring = __psnap_ring;
        uint64_t *room = claim(ring, words);
        if (room)
            return room;
        if (ring == &empty_ring)
            psnap_rt_attach(frame);
        else if (is_scratch(ring) && psnap_rt_is_recording() && !ring->thread)
            leave_scratch(ring); /* it ran before the first module was announced */
        else if (is_scratch(ring))
            ring->cursor = ring->data;
        else if (!psnap_rt_is_recording())
            psnap_rt_stop();
        else if (has_chunk(ring) && (ring->aside || ring->limit == PSNAP_LIMIT_CHANGED))
            look(ring);
        else if (renew_chunk(ring, signals))
            look(ring);
        else
            psnap_rt_stop();
    }
}

/* A record that is kept whatever is wanted. Signals are blocked; NULL when nothing is recorded any
 * more. */
static uint64_t *reserve_anyway(uint64_t words, const sigset_t *signals)
{
    struct psnap_ring *ring = __psnap_ring;
    uint64_t *room;

    resume(ring);
    while (!(room = claim(ring, words)))
        if (is_enough() || !renew_chunk(ring, signals))
            return NULL;
    return room;
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

__attribute__((preserve_most)) uint64_t *__psnap_reserve(uint64_t words)
{
    int saved_errno = errno;
    sigset_t all, signals;
    uint64_t *room;

    if (psnap_rt_first)
        return reserve_at_first(words);
    room = claim_idle(__psnap_ring, words);
    if (room)
        return room;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &signals);
    room = reserve(words, (uint64_t)__builtin_frame_address(0), &signals);
    pthread_sigmask(SIG_SETMASK, &signals, NULL);
    errno = saved_errno;
    return room;
}

/* A record of a nest is short and stands for a million accesses: a collector that has nothing to
 * read would wait for a chunk of them. */
__attribute__((preserve_most)) void __psnap_hand_over(void)
{
    struct psnap_ring *ring = __psnap_ring;
    int saved_errno = errno;
    sigset_t all, signals;

    if (psnap_rt_first) {
        psnap_rt_first->hand_over();
        return;
    }
    if (!is_real(ring) || !psnap_rt_is_recording() || ring->aside || unread_chunks(ring))
        return;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &signals);
    if (!psnap_rt_is_forked() && has_chunk(ring) && !ring->aside && !unread_chunks(ring) &&
        renew_chunk(ring, &signals))
        look(ring); /* what is wanted may have changed meanwhile */
    pthread_sigmask(SIG_SETMASK, &signals, NULL);
    errno = saved_errno;
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
    int saved_errno = errno;
    sigset_t all, signals;
    uint64_t *room;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &signals);
    room = reserve_anyway(5, &signals);
    if (room)
        put_allocation(room, allocation);
    if (has_chunk(__psnap_ring))
        look(__psnap_ring);
    pthread_sigmask(SIG_SETMASK, &signals, NULL);
    errno = saved_errno;
}

/* The number of this thread, which gets a ring if it has none. */
static uint32_t my_thread(uint64_t frame)
{
    if (__psnap_ring == &empty_ring) {
        int saved_errno = errno;
        sigset_t all, signals;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &signals);
        psnap_rt_attach(frame);
        pthread_sigmask(SIG_SETMASK, &signals, NULL);
        errno = saved_errno;
    }
    return is_real(__psnap_ring) ? __psnap_ring->thread : 0;
}

static void tell_allocation(uint64_t address, uint64_t size_bytes, const unsigned char *site,
                            uint32_t thread)
{
    const uint64_t number = psnap_rt_announce(address, size_bytes, thread);
    const uint64_t allocation[] = {address, size_bytes, (uint64_t)site, number};
    uint64_t *room;

    if (__psnap_ring->aside) {
        put_allocation_anyway(allocation);
        return;
    }
    room = claim(__psnap_ring, 5);
    if (!room)
        room = __psnap_reserve(5);
    if (idle && room >= idle && room < idle + IDLE_WORDS) /* its first record */
        put_allocation_anyway(allocation);
    else
        put_allocation(room, allocation);
}

void __psnap_allocated(const void *address, uint64_t size_bytes, const unsigned char *site)
{
    const uint64_t at = (uint64_t)address;
    uint32_t thread;

    if (psnap_rt_first) {
        psnap_rt_first->allocated(address, size_bytes, site);
        return;
    }
    if (psnap_rt_is_forked())
        psnap_rt_rejoin();
    if (!psnap_rt_is_recording() || !address || address == MAP_FAILED || is_enough())
        return;
    thread = my_thread((uint64_t)__builtin_frame_address(0));
    psnap_rt_note_allocation(at, size_bytes, site, thread, psnap_rt_is_large(at, size_bytes));
    tell_allocation(at, size_bytes, site, thread);
}
