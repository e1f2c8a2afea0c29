/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How far each ring may be read, as its owner and the barrier have it.
 *
 * A chunk that was left behind may be read to its end; one that the program is
 * still writing only when it has ended (or waits for us in its exit handler):
 * until then it is its own. Where a module takes the place of another (the REUSE
 * event), or a thread begins, there is a barrier: rings are read as far as they were written then,
 * and the control ring waits for that.
 *
 * The memory is made by the collector, or by a program that starts a collector of its own and hands
 * it down: as many rings as limits of address space and file size leave room for, beside what the
 * collector itself needs. The list that Linux walks when a thread ends, setting FUTEX_OWNER_DIED in
 * each word that holds the thread's number (get_robust_list(2)), takes the place of the C library's
 * own in this thread, which is for robust mutexes: psnap has none.
 * Expects Linux: memfd.
 */
#include "capture/collect/rings.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SPARE_BYTES ((size_t)32 << 20)

/* ---- the sign of life ---- */

static struct {
    uint64_t first; /* the addresses of entries; of this one at the end */
    long offset;    /* from an entry to its word */
    uint64_t pending;
} list = {0, offsetof(struct psnap_alive, word), 0};

static uint32_t owner; /* in a child by fork it is another, and the list another's */

void psnap_alive_begin(struct psnap_alive *alive)
{
    const uint32_t me = (uint32_t)syscall(SYS_gettid);

    if (owner != me)
        list.first = (uint64_t)&list;
    owner = me;
    syscall(SYS_set_robust_list, &list, sizeof list);
    alive->next = list.first;
    __atomic_store_n(&list.first, (uint64_t)alive, __ATOMIC_SEQ_CST);
    __atomic_store_n(&alive->word, me, __ATOMIC_SEQ_CST);
}

void psnap_alive_end(struct psnap_alive *alive)
{
    uint64_t *link = &list.first;

    while (*link != (uint64_t)alive && *link != (uint64_t)&list)
        link = &((struct psnap_alive *)(uintptr_t)*link)->next;
    if (*link == (uint64_t)alive)
        *link = alive->next;
    __atomic_store_n(&alive->word, PSNAP_ALIVE_DIED, __ATOMIC_SEQ_CST);
}

/* ---- the memory ---- */

static bool map(struct psnap_rings *rings, uint32_t count)
{
    void *memory =
        mmap(NULL, PSNAP_SESSION_BYTES(count), PROT_READ | PROT_WRITE, MAP_SHARED, rings->fd, 0);

    if (memory == MAP_FAILED)
        return false;
    rings->session = memory;
    rings->count = count;
    return true;
}

/* Whether the collector has address space left for what it does with them: its own allocations and
 * the stacks of its threads. */
static bool has_spare(void)
{
    void *spare = mmap(NULL, SPARE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return spare != MAP_FAILED && munmap(spare, SPARE_BYTES) == 0;
}

static void unmap(struct psnap_rings *rings)
{
    munmap(rings->session, PSNAP_SESSION_BYTES(rings->count));
    rings->session = NULL;
}

bool psnap_rings_create(struct psnap_rings *rings, struct psnap_error *error)
{
    rings->fd = memfd_create(PSNAP_SESSION_NAME, MFD_CLOEXEC);
    for (uint32_t count = PSNAP_RINGS; count >= PSNAP_RINGS_LEAST && rings->fd >= 0; count /= 2)
        if (ftruncate(rings->fd, (off_t)PSNAP_SESSION_BYTES(count)) == 0 && map(rings, count)) {
            if (has_spare() || count / 2 < PSNAP_RINGS_LEAST)
                break;
            unmap(rings);
        }
    if (!rings->session) {
        psnap_error_system(error, errno, "cannot create shared memory");
        return false;
    }
    rings->session->magic = PSNAP_CAPTURE_MAGIC;
    rings->session->abi = PSNAP_CAPTURE_ABI;
    rings->session->ring_count = rings->count;
    rings->session->collector_pid = (uint32_t)getpid();
    psnap_alive_begin(&rings->session->collector);
    return true;
}

/* The first three fields are where they are in every version: a program of another one sees that
 * its collector was here and has gone. */
static uint32_t read_ring_count(int fd, struct psnap_error *error)
{
    const uint32_t me = (uint32_t)getpid();
    struct psnap_session head;
    struct stat about;
    const bool is_session =
        pread(fd, &head, sizeof head, 0) == sizeof head && head.magic == PSNAP_CAPTURE_MAGIC;
    const bool is_ours = is_session && head.abi == PSNAP_CAPTURE_ABI;

    if (!is_session ||
        (is_ours && (head.ring_count < PSNAP_RINGS_LEAST || head.ring_count > PSNAP_RINGS ||
                     fstat(fd, &about) != 0 ||
                     (uint64_t)about.st_size != PSNAP_SESSION_BYTES(head.ring_count))))
        psnap_error_set(error, PSNAP_ERROR_USAGE, "descriptor %d is not a recording", fd);
    else if (pwrite(fd, &me, sizeof me, offsetof(struct psnap_session, collector_pid)) !=
             (ssize_t)sizeof me)
        psnap_error_system(error, errno, "cannot write to the recording");
    else if (!is_ours)
        psnap_error_set(error, PSNAP_ERROR_VERSION,
                        "the program was compiled for capture ABI %" PRIu32 ", this is %d",
                        head.abi, PSNAP_CAPTURE_ABI);
    else
        return head.ring_count;
    return 0;
}

bool psnap_rings_adopt(struct psnap_rings *rings, int fd, struct psnap_error *error)
{
    uint32_t count;

    rings->fd = fd;
    count = read_ring_count(fd, error);
    if (!count)
        return false;
    if (!map(rings, count)) {
        psnap_error_system(error, errno, "cannot map the shared memory");
        return false;
    }
    __atomic_store_n(&rings->session->collector_pid, (uint32_t)getpid(), __ATOMIC_RELEASE);
    psnap_alive_begin(&rings->session->collector);
    return true;
}

void psnap_rings_release(struct psnap_rings *rings)
{
    if (rings->session) {
        psnap_alive_end(&rings->session->collector);
        munmap(rings->session, PSNAP_SESSION_BYTES(rings->count));
    }
    if (rings->fd >= 0)
        close(rings->fd);
    rings->session = NULL;
    rings->fd = -1;
}

/* ---- reading ---- */

uint32_t psnap_rings_used(const struct psnap_rings *rings)
{
    uint32_t used = __atomic_load_n(&rings->session->rings_used, __ATOMIC_ACQUIRE);
    return used < 1 ? 1 : used < rings->count ? used : rings->count;
}

bool psnap_rings_is_whole(const struct psnap_rings *rings, uint32_t index)
{
    const struct psnap_ring *ring = psnap_session_ring(rings->session, index);
    const uint64_t produced = __atomic_load_n(&ring->produced, __ATOMIC_ACQUIRE);
    const uint64_t way = (uint64_t)psnap_ring_cursor(ring) - (uint64_t)ring->data;

    return produced - ring->consumed <= PSNAP_RING_CHUNKS && ring->state <= PSNAP_RING_FINISHED &&
           rings->session->rings_used <= rings->count &&
           (produced == ring->consumed ||
            ring->used_words[ring->consumed % PSNAP_RING_CHUNKS] <= PSNAP_CHUNK_WORDS) &&
           (!rings->has_ended || !psnap_ring_cursor(ring) ||
            (way <= PSNAP_RING_WORDS * sizeof(uint64_t) && way % sizeof(uint64_t) == 0));
}

uint64_t *psnap_rings_chunk(const struct psnap_rings *rings, uint32_t index)
{
    struct psnap_ring *ring = psnap_session_ring(rings->session, index);

    return psnap_ring_words(ring) + ring->consumed % PSNAP_RING_CHUNKS * PSNAP_CHUNK_WORDS;
}

uint64_t psnap_ring_left_words(const struct psnap_ring *ring)
{
    uint32_t words = ring->used_words[ring->consumed % PSNAP_RING_CHUNKS];
    return words <= PSNAP_CHUNK_WORDS ? words : 0;
}

/* The owner's cursor is an address in its own space. */
uint64_t psnap_ring_open_words(const struct psnap_ring *ring)
{
    uint64_t *begin = ring->data + ring->consumed % PSNAP_RING_CHUNKS * PSNAP_CHUNK_WORDS;
    uint64_t *cursor = psnap_ring_cursor(ring);
    uint64_t words = ((uint64_t)(uintptr_t)cursor - (uint64_t)(uintptr_t)begin) / sizeof *begin;
    return ring->data && words <= PSNAP_CHUNK_WORDS ? words : 0;
}

bool psnap_ring_is_left(const struct psnap_ring *ring)
{
    return ring->consumed != __atomic_load_n(&ring->produced, __ATOMIC_SEQ_CST);
}

uint64_t psnap_ring_left(const struct psnap_ring *ring)
{
    return psnap_ring_is_left(ring) ? ring->left[ring->consumed % PSNAP_RING_CHUNKS] : UINT64_MAX;
}

/* Where a chunk begins. A batch that gives back room which ends there would move its cursor: so
 * there is a word between them. */
static uint32_t begin_of(const struct psnap_rings *rings, uint32_t index, uint32_t chunk)
{
    const uint32_t kept = rings->kept[index][chunk];
    const uint32_t begin = kept ? kept + PSNAP_RECORD_WORDS_MAX : 0;

    return begin < PSNAP_CHUNK_WORDS ? begin : PSNAP_CHUNK_WORDS;
}

uint32_t psnap_rings_begin(const struct psnap_rings *rings, uint32_t index)
{
    const struct psnap_ring *ring = psnap_session_ring(rings->session, index);

    return begin_of(rings, index, ring->consumed % PSNAP_RING_CHUNKS);
}

/* The record that is kept in a chunk has been closed since. */
static bool is_late(const struct psnap_rings *rings, uint32_t index, uint32_t chunk)
{
    const uint32_t kept = rings->kept[index][chunk];
    const uint64_t *words = psnap_ring_words(psnap_session_ring(rings->session, index)) +
                            (uint64_t)chunk * PSNAP_CHUNK_WORDS;

    return kept && !psnap_record_is_open(__atomic_load_n(words + kept - 1, __ATOMIC_ACQUIRE));
}

void psnap_rings_keep(struct psnap_rings *rings, uint32_t index, uint64_t *record)
{
    enum { LEAST_WORDS = 8 * PSNAP_RECORD_WORDS_MAX }; /* of one chunk: a handler has to go on */
    const struct psnap_ring *ring = psnap_session_ring(rings->session, index);
    const uint32_t chunk = ring->consumed % PSNAP_RING_CHUNKS;
    uint32_t *kept = &rings->kept[index][chunk];
    bool has_room = false;

    rings->late += is_late(rings, index, chunk); /* the one before */
    *kept = (uint32_t)(record - psnap_rings_chunk(rings, index)) + 1;
    for (uint32_t i = 0; i < PSNAP_RING_CHUNKS; i++)
        has_room |= begin_of(rings, index, i) <= PSNAP_CHUNK_WORDS - LEAST_WORDS;
    *kept = has_room ? *kept : 0;
    *record = has_room ? PSNAP_KEPT : 0;
}

uint64_t psnap_rings_late(const struct psnap_rings *rings)
{
    uint64_t late = rings->late;

    for (uint32_t i = 1, used = psnap_rings_used(rings); i < used; i++)
        for (uint32_t chunk = 0; chunk < PSNAP_RING_CHUNKS; chunk++)
            late += is_late(rings, i, chunk);
    return late;
}

/* Behind the last record may be a gap, or a row, of room that a batch has given back. */
static void wipe(uint64_t *chunk, uint64_t begin, uint64_t used_words)
{
    const uint64_t words = used_words + PSNAP_RECORD_WORDS_MAX;
    const uint64_t end = words < PSNAP_CHUNK_WORDS ? words : PSNAP_CHUNK_WORDS;

    if (begin < end)
        memset(chunk + begin, 0, sizeof *chunk * (end - begin));
}

void psnap_rings_give_back(struct psnap_rings *rings, uint32_t index)
{
    struct psnap_ring *ring = psnap_session_ring(rings->session, index);
    const uint32_t chunk = ring->consumed % PSNAP_RING_CHUNKS;
    uint32_t *kept = &rings->kept[index][chunk];
    const bool late = is_late(rings, index, chunk);

    rings->late += late;
    if (late || __atomic_load_n(&ring->state, __ATOMIC_ACQUIRE) == PSNAP_RING_FINISHED)
        *kept = 0;
    ring->begins[chunk] = begin_of(rings, index, chunk);
    wipe(psnap_rings_chunk(rings, index), ring->begins[chunk], psnap_ring_left_words(ring));
    __atomic_store_n(&ring->consumed, ring->consumed + 1, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&ring->consumed_futex, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&ring->producer_waiting, __ATOMIC_SEQ_CST))
        syscall(SYS_futex, &ring->consumed_futex, FUTEX_WAKE, 1, NULL, NULL, 0);
}

uint64_t psnap_rings_words_read(const struct psnap_rings *rings, uint32_t index)
{
    uint32_t part = rings->read_to[index];

    return psnap_session_ring(rings->session, index)->consumed * PSNAP_CHUNK_WORDS +
           (part ? part - 1 : 0);
}

/* Where the chunk that comes next ends by now; earlier than before when a batch has given room
 * back. */
static uint64_t words_had(const struct psnap_ring *ring)
{
    uint64_t words = psnap_ring_open_words(ring);

    if (psnap_ring_is_left(ring)) /* then, or meanwhile: that cursor is of the chunk behind it */
        words = psnap_ring_left_words(ring);
    return ring->consumed * PSNAP_CHUNK_WORDS + words;
}

/* Returns whether an open record keeps a ring from being read on. */
static bool is_stuck(const struct psnap_rings *rings, uint32_t index)
{
    const uint32_t at = rings->read_to[index];

    return at && psnap_record_is_open(
                     __atomic_load_n(&psnap_rings_chunk(rings, index)[at - 1], __ATOMIC_ACQUIRE));
}

/* The ring is not read up to the barrier: it is in a chunk behind the next one, or there are words
 * before it. */
static bool is_short(const struct psnap_rings *rings, uint32_t index)
{
    const struct psnap_ring *ring = psnap_session_ring(rings->session, index);
    const uint64_t read = psnap_rings_words_read(rings, index), barrier = rings->barrier[index];

    return barrier > (ring->consumed + 1) * PSNAP_CHUNK_WORDS ||
           (read < barrier && read < words_had(ring));
}

/* Returns whether records of the thread that begins have been read, or need not be waited for: it
 * has none while another ring, the control ring among them, has left a chunk. */
static bool has_started(struct psnap_rings *rings)
{
    const uint32_t ring = rings->starting;
    const uint64_t read = psnap_rings_words_read(rings, ring);

    rings->barrier[ring] = words_had(psnap_session_ring(rings->session, ring));
    if (read > rings->started_at)
        return true;
    if (read < rings->barrier[ring] && !is_stuck(rings, ring))
        return false;
    for (uint32_t i = 0, used = psnap_rings_used(rings); i < used; i++) /* ring 0 as well */
        if (i != ring && psnap_ring_is_left(psnap_session_ring(rings->session, i)))
            return true;
    return false;
}

bool psnap_rings_is_held(struct psnap_rings *rings)
{
    for (uint32_t i = 1; i < rings->barrier_rings; i++)
        if (is_short(rings, i) && !(rings->starting && is_stuck(rings, i)))
            return true;
    if (rings->starting && !has_started(rings))
        return true;
    rings->barrier_rings = rings->starting = 0;
    return false;
}

uint64_t psnap_rings_set_barrier(struct psnap_rings *rings, const uint64_t *at, uint64_t words)
{
    if (words < 3 || at[1] > words - 3 || at[1] >= rings->count || at[2] >= rings->count)
        return 0;
    rings->barrier_rings = (uint32_t)at[1] + 1;
    rings->starting = (uint32_t)at[2];
    rings->started_at = psnap_rings_words_read(rings, rings->starting);
    for (uint32_t i = 1; i < rings->barrier_rings; i++) {
        rings->barrier[i] = at[2 + i];
        if (at[2 + i] / PSNAP_CHUNK_WORDS > psnap_session_ring(rings->session, i)->produced + 1)
            return 0;
    }
    return 3 + at[1];
}

bool psnap_rings_is_final(const struct psnap_rings *rings, uint32_t index)
{
    const struct psnap_ring *ring = psnap_session_ring(rings->session, index);

    return rings->has_ended ||
           __atomic_load_n(&ring->state, __ATOMIC_ACQUIRE) == PSNAP_RING_FINISHED ||
           __atomic_load_n(&ring->produced, __ATOMIC_ACQUIRE) - ring->consumed == PSNAP_RING_CHUNKS;
}

/* Words of the next chunk before the barrier, those that were read included. */
static uint64_t words_before_barrier(const struct psnap_rings *rings, uint32_t index)
{
    const uint64_t start = psnap_session_ring(rings->session, index)->consumed * PSNAP_CHUNK_WORDS;
    const uint64_t had = words_had(psnap_session_ring(rings->session, index)),
                   end = rings->barrier[index];
    const uint64_t before = end < had ? end : had;

    return before > start ? before - start : 0;
}

uint64_t psnap_rings_readable(const struct psnap_rings *rings, uint32_t index, bool *is_part)
{
    const struct psnap_ring *ring = psnap_session_ring(rings->session, index);
    uint32_t state = __atomic_load_n(&ring->state, __ATOMIC_ACQUIRE);
    uint64_t start = ring->consumed * PSNAP_CHUNK_WORDS, words = 0;
    const bool is_left = psnap_ring_is_left(ring); /* asked once: it may be at any moment */

    *is_part = rings->starting && index >= rings->barrier_rings && index != rings->starting;
    if (*is_part || (state != PSNAP_RING_ACTIVE && state != PSNAP_RING_FINISHED))
        return 0;
    if (is_left)
        words = psnap_ring_left_words(ring);
    else if (rings->has_ended && state == PSNAP_RING_ACTIVE)
        words = psnap_ring_open_words(ring);
    if ((index >= rings->barrier_rings && index != rings->starting) ||
        rings->barrier[index] >= start + PSNAP_CHUNK_WORDS)
        return words;
    if (is_left && rings->barrier[index] >= start + words)
        return words; /* all of the chunk */
    *is_part = true;
    words = words_before_barrier(rings, index);
    return words > psnap_rings_words_read(rings, index) - start ? words : 0;
}

bool psnap_rings_is_ready(const struct psnap_rings *rings, uint32_t index)
{
    const uint32_t at = rings->read_to[index];
    bool is_part;
    const uint64_t words = psnap_rings_readable(rings, index, &is_part);

    if (!words && (is_part || !psnap_ring_is_left(psnap_session_ring(rings->session, index))))
        return false;
    return !at || at - 1 >= words || psnap_rings_is_final(rings, index) || !is_stuck(rings, index);
}
