/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The shared memory, the waiting and the order in which rings are read.
 *
 * Before a chunk of a thread is decoded, the control ring is read as far as it
 * was written when the chunk was left behind, so tables are there before they
 * are needed. Chunks that the program is still writing are read only when it
 * has ended (or waits for us in its exit handler): until then they are its own.
 * Where a module takes the place of another (the REUSE event) the control ring
 * waits until all rings are read up to there, and they go no further.
 * Expects Linux: memfd, futex and pidfd.
 */
#include "capture/collector.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct capture {
    struct psnap_source base;
    struct psnap_session *session;
    int fd;
    uint32_t ring_count; /* rings that are mapped, with ring 0 */
    int watched, other;  /* pidfds: the process started, and the one that recorded; -1 none */
    bool may_spin;       /* there is a processor for us besides the program's */
    bool has_ended;      /* nothing will be written any more */
    bool is_over;        /* and there is nothing left to read in the rings */
    uint32_t ring;       /* being read, 0 for none */
    uint32_t last_ring;  /* read before: the search goes on behind it */
    uint64_t control_at; /* words read of the control ring's open chunk */
    uint32_t known_threads[PSNAP_RINGS]; /* thread + 1 whose stack is known */
    uint32_t stuck_at[PSNAP_RINGS];      /* 1 + words read of a chunk that is read in parts, or 0 */
    uint32_t barrier_rings;              /* rings that are read up to `barrier` only; 0: none */
    uint64_t barrier[PSNAP_RINGS];       /* in words that the ring has ever had */
    struct psnap_decoder decoder;
};

/* Rings that have ever been in use, and ring 0. */
static uint32_t rings_used(const struct capture *self)
{
    uint32_t used = __atomic_load_n(&self->session->rings_used, __ATOMIC_ACQUIRE);
    return used < 1 ? 1 : used < self->ring_count ? used : self->ring_count;
}

static uint64_t *words_of(const struct capture *self, uint32_t ring, uint64_t chunk)
{
    return (uint64_t *)((char *)self->session + PSNAP_SESSION_HEADER_BYTES) +
           ring * PSNAP_RING_WORDS + chunk % PSNAP_RING_CHUNKS * PSNAP_CHUNK_WORDS;
}

static void give_back(struct psnap_ring *ring)
{
    uint64_t unread = __atomic_load_n(&ring->produced, __ATOMIC_SEQ_CST) - ring->consumed - 1;

    __atomic_store_n(&ring->consumed, ring->consumed + 1, __ATOMIC_SEQ_CST);
    if (unread > PSNAP_RING_CHUNKS_LOW)
        return;
    __atomic_fetch_add(&ring->consumed_futex, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&ring->producer_waiting, __ATOMIC_SEQ_CST))
        syscall(SYS_futex, &ring->consumed_futex, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* Words in the chunk that the owner is writing: its cursor is an address in its own space. */
static uint64_t open_words(const struct psnap_ring *ring, uint64_t chunk)
{
    uint64_t *begin = ring->data + chunk % PSNAP_RING_CHUNKS * PSNAP_CHUNK_WORDS;
    uint64_t *cursor = __atomic_load_n(&ring->cursor, __ATOMIC_ACQUIRE);
    uint64_t words = ((uint64_t)(uintptr_t)cursor - (uint64_t)(uintptr_t)begin) / sizeof *begin;
    return ring->data && words <= PSNAP_CHUNK_WORDS ? words : 0;
}

static uint64_t left_behind_words(const struct psnap_ring *ring)
{
    uint32_t words = ring->used_words[ring->consumed % PSNAP_RING_CHUNKS];
    return words <= PSNAP_CHUNK_WORDS ? words : 0;
}

static uint64_t words_read(const struct capture *self, uint32_t index)
{
    const struct psnap_ring *ring = &self->session->rings[index];
    uint32_t part = self->stuck_at[index];

    return ring->consumed * PSNAP_CHUNK_WORDS + (part ? part - 1 : 0);
}

/* Where the chunk that comes next ends by now; earlier than before when a batch has given room
 * back. */
static uint64_t words_had(const struct capture *self, uint32_t index)
{
    const struct psnap_ring *ring = &self->session->rings[index];
    bool is_left = ring->consumed != __atomic_load_n(&ring->produced, __ATOMIC_SEQ_CST);

    return ring->consumed * PSNAP_CHUNK_WORDS +
           (is_left ? left_behind_words(ring) : open_words(ring, ring->consumed));
}

/* The barrier holds as long as there is something before it that may be read. */
static bool is_held(struct capture *self)
{
    for (uint32_t i = 1; i < self->barrier_rings && !self->is_over; i++)
        if (words_read(self, i) < self->barrier[i] && words_read(self, i) < words_had(self, i))
            return true;
    self->barrier_rings = 0;
    return false;
}

/* Sets the barrier that the REUSE event at `at` asks for; returns the event's words, 0 if it cannot
 * be one. */
static uint64_t set_barrier(struct capture *self, const uint64_t *at, uint64_t words)
{
    if (words < 2 || at[1] > words - 2 || at[1] >= self->ring_count)
        return 0;
    self->barrier_rings = (uint32_t)at[1] + 1;
    for (uint32_t i = 1; i < self->barrier_rings; i++)
        self->barrier[i] = at[1 + i];
    return 2 + at[1];
}

static enum psnap_status read_control_words(struct capture *self, const uint64_t *begin,
                                            uint64_t words, struct psnap_error *error)
{
    while (self->control_at < words && !is_held(self)) {
        const uint64_t *at = begin + self->control_at;
        uint64_t length = *at == PSNAP_EVENT_REUSE
                              ? set_barrier(self, at, words - self->control_at)
                              : psnap_decode_control(&self->decoder, at, begin + words, error);
        if (!length)
            return error ? error->code : PSNAP_ERROR_CORRUPT;
        self->control_at += length;
    }
    return PSNAP_OK;
}

/* Everything that is in the control ring now. */
static enum psnap_status read_control(struct capture *self, struct psnap_error *error)
{
    struct psnap_ring *ring = &self->session->rings[0];
    struct psnap_error local;
    enum psnap_status status = PSNAP_OK;

    if (__atomic_load_n(&ring->state, __ATOMIC_ACQUIRE) != PSNAP_RING_ACTIVE)
        return PSNAP_OK;
    error = error ? error : &local;
    self->decoder.rebase.program = (pid_t)self->session->program_pid;
    while (!status && ring->consumed < __atomic_load_n(&ring->produced, __ATOMIC_ACQUIRE)) {
        status = read_control_words(self, words_of(self, 0, ring->consumed),
                                    left_behind_words(ring), error);
        if (self->control_at < left_behind_words(ring))
            return status; /* it waits for the rings */
        self->control_at = 0;
        give_back(ring);
    }
    if (!status) {
        uint64_t words = open_words(ring, ring->consumed);
        if (__atomic_load_n(&ring->produced, __ATOMIC_ACQUIRE) == ring->consumed)
            status = read_control_words(self, words_of(self, 0, ring->consumed), words, error);
    }
    return status;
}

/* The stacks of all threads that have begun: one may read what lies on another's. */
static bool learn_threads(struct capture *self)
{
    struct psnap_decoder *decoder = &self->decoder;

    for (uint32_t i = 1, end = rings_used(self); i < end; i++) {
        const struct psnap_ring *ring = &self->session->rings[i];
        uint32_t state = __atomic_load_n(&ring->state, __ATOMIC_ACQUIRE);
        if ((state != PSNAP_RING_ACTIVE && state != PSNAP_RING_FINISHED) ||
            self->known_threads[i] == ring->thread + 1)
            continue;
        self->known_threads[i] = ring->thread + 1;
        if (!psnap_rebase_add_stack(&decoder->rebase, ring->thread, ring->frame, ring->stack_low,
                                    ring->stack_high) ||
            !psnap_rebase_add_local(&decoder->rebase, ring->local, ring->local_low,
                                    ring->local_high))
            return false;
        psnap_decoder_forget_ranges(decoder);
    }
    return true;
}

/* Nothing more will come of the records that are open in this ring: its thread, or the program, has
 * ended, or its thread waits for us. */
static bool is_final(const struct capture *self, const struct psnap_ring *ring)
{
    return self->has_ended ||
           __atomic_load_n(&ring->state, __ATOMIC_ACQUIRE) == PSNAP_RING_FINISHED ||
           __atomic_load_n(&ring->producer_waiting, __ATOMIC_SEQ_CST) ||
           __atomic_load_n(&ring->produced, __ATOMIC_ACQUIRE) - ring->consumed == PSNAP_RING_CHUNKS;
}

/* Words of the chunk of ring `index` that comes next, as far as they may be read; 0: none, or none
 * new. *is_part: the chunk goes on behind them. */
static uint64_t readable_words(const struct capture *self, uint32_t index, bool *is_part)
{
    const struct psnap_ring *ring = &self->session->rings[index];
    uint32_t state = __atomic_load_n(&ring->state, __ATOMIC_ACQUIRE);
    uint64_t start = ring->consumed * PSNAP_CHUNK_WORDS, words = 0;

    *is_part = false;
    if (state != PSNAP_RING_ACTIVE && state != PSNAP_RING_FINISHED)
        return 0;
    if (ring->consumed != __atomic_load_n(&ring->produced, __ATOMIC_SEQ_CST))
        words = left_behind_words(ring);
    else if (self->has_ended && state == PSNAP_RING_ACTIVE)
        words = open_words(ring, ring->consumed);
    if (index < self->barrier_rings && self->barrier[index] < start + PSNAP_CHUNK_WORDS) {
        const bool is_left = ring->consumed != __atomic_load_n(&ring->produced, __ATOMIC_SEQ_CST);
        const uint64_t had = words_had(self, index), end = self->barrier[index];
        uint64_t before = end < had ? end : had;
        if (is_left && end >= had)
            return words; /* all of the chunk */
        before = before > start ? before - start : 0;
        *is_part = true;
        words = before > words_read(self, index) - start ? before : 0;
    }
    return words;
}

/* There is a chunk to read in ring `index`, beyond an open record if that is where we are. */
static bool is_ready(const struct capture *self, uint32_t index)
{
    const struct psnap_ring *ring = &self->session->rings[index];
    const uint64_t *chunk = words_of(self, index, ring->consumed);
    uint32_t at = self->stuck_at[index];
    bool is_part;
    uint64_t words = readable_words(self, index, &is_part);
    bool is_left = ring->consumed != __atomic_load_n(&ring->produced, __ATOMIC_SEQ_CST);

    if (!words && !(is_left && !is_part))
        return false;
    return !at || at - 1 >= words || is_final(self, ring) ||
           !psnap_decoder_is_open(__atomic_load_n(&chunk[at - 1], __ATOMIC_ACQUIRE));
}

/* Points the decoder at a chunk of ring `index`, or to where it got stuck in it. */
static enum psnap_status open_chunk(struct capture *self, uint32_t index, struct psnap_error *error)
{
    struct psnap_ring *ring = &self->session->rings[index];
    struct psnap_decoder *decoder = &self->decoder;
    enum psnap_status status = read_control(self, error);
    uint64_t words = readable_words(self, index, &decoder->is_part); /* now that control is read */

    if (status)
        return status;
    decoder->is_last_part =
        !decoder->is_part && ring->consumed == __atomic_load_n(&ring->produced, __ATOMIC_ACQUIRE);
    if (!learn_threads(self))
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for a stack");
    self->ring = index;
    decoder->thread = (uint16_t)(ring->thread < UINT16_MAX ? ring->thread : UINT16_MAX);
    decoder->at = words_of(self, index, ring->consumed);
    decoder->end = decoder->at + words;
    decoder->passes_over = is_final(self, ring);
    if (self->stuck_at[index])
        decoder->at += self->stuck_at[index] - 1;
    if (decoder->at > decoder->end)
        decoder->end = decoder->at; /* a barrier has come up meanwhile */
    self->stuck_at[index] = 0;
    return PSNAP_OK;
}

static void free_finished(struct capture *self, struct psnap_ring *ring)
{
    if (__atomic_load_n(&ring->state, __ATOMIC_ACQUIRE) == PSNAP_RING_FINISHED &&
        ring->consumed == __atomic_load_n(&ring->produced, __ATOMIC_ACQUIRE)) {
        self->known_threads[ring - self->session->rings] = 0;
        __atomic_store_n(&ring->state, PSNAP_RING_FREE, __ATOMIC_RELEASE);
    }
}

/* Finds something to decode, after the ring that was read last; *found says whether. */
static enum psnap_status next_chunk(struct capture *self, bool *found, struct psnap_error *error)
{
    const uint32_t rings = rings_used(self) - 1;

    *found = false;
    for (uint32_t i = 0; i < rings && !*found; i++) {
        uint32_t index = (self->last_ring + i) % rings + 1;
        struct psnap_ring *ring = &self->session->rings[index];
        enum psnap_status status = PSNAP_OK;
        *found = is_ready(self, index);
        if (*found)
            status = open_chunk(self, index, error);
        else
            free_finished(self, ring);
        if (status)
            return status;
    }
    return PSNAP_OK;
}

/* The chunk has an open record, or may not be read further yet: on to other rings. */
static void set_chunk_aside(struct capture *self)
{
    const uint64_t *begin = words_of(self, self->ring, self->session->rings[self->ring].consumed);
    self->stuck_at[self->ring] = (uint32_t)(self->decoder.at - begin) + 1;
    self->last_ring = self->ring;
    self->ring = 0;
}

static void done_with_chunk(struct capture *self)
{
    struct psnap_ring *ring = &self->session->rings[self->ring];
    if (self->decoder.is_part) { /* as far as it goes for now */
        set_chunk_aside(self);
        return;
    }
    if (self->decoder.is_last_part) /* never written again, never read again */
        __atomic_store_n(&ring->state, PSNAP_RING_TAKEN, __ATOMIC_RELEASE);
    else
        give_back(ring);
    free_finished(self, ring);
    self->last_ring = self->ring;
    self->ring = 0;
}

static bool has_exited(int pidfd)
{
    struct pollfd ended = {.fd = pidfd, .events = POLLIN};
    return pidfd < 0 || poll(&ended, 1, 0) > 0;
}

static bool has_chunks(const struct capture *self)
{
    for (uint32_t i = 1, end = rings_used(self); i < end; i++)
        if (is_ready(self, i))
            return true;
    return false;
}

/* A chunk takes the program about as long as going to sleep and waking up takes us: where there
 * is a processor for each, look again for a moment first. */
static bool spin_for_chunks(const struct capture *self)
{
    enum { LOOKS = 200, PAUSES = 16 };

    for (int i = 0; i < LOOKS && self->may_spin; i++) {
        if (has_chunks(self))
            return true;
#if defined(__x86_64__)
        for (int k = 0; k < PAUSES; k++)
            __builtin_ia32_pause();
#endif
    }
    return false;
}

/* Sleeps until a chunk is left behind or the program ends; looks for that now and then. */
static void wait_for_program(struct capture *self)
{
    struct psnap_session *session = self->session;
    const struct timespec patience = {.tv_nsec = 5 * 1000 * 1000};
    uint32_t seen = __atomic_load_n(&session->doorbell, __ATOMIC_SEQ_CST);
    pid_t program = (pid_t)__atomic_load_n(&session->program_pid, __ATOMIC_ACQUIRE);

    if (program && self->other < 0)
        self->other = (int)syscall(SYS_pidfd_open, program, 0);
    if (__atomic_load_n(&session->closing, __ATOMIC_ACQUIRE) ||
        (has_exited(self->watched) && has_exited(self->other))) {
        self->has_ended = true;
        return;
    }
    if (spin_for_chunks(self))
        return;
    __atomic_store_n(&session->collector_waiting, 1, __ATOMIC_SEQ_CST);
    if (!has_chunks(self)) /* one may have been left just before */
        syscall(SYS_futex, &session->doorbell, FUTEX_WAIT, seen, &patience, NULL, 0);
    __atomic_store_n(&session->collector_waiting, 0, __ATOMIC_SEQ_CST);
}

static ssize_t capture_next_run(struct psnap_source *source, struct psnap_access *block,
                                size_t capacity, struct psnap_run *run, struct psnap_error *error)
{
    struct capture *self = (struct capture *)source;
    size_t n = 0;

    for (;;) {
        if (self->ring) {
            ssize_t more = psnap_decode(&self->decoder, block + n, capacity - n, run, error);
            if (more < 0)
                return more;
            n += (size_t)more;
            if (run && run->count)
                return (ssize_t)n;
            if (self->decoder.is_cut) {
                const uint32_t cut = self->ring;
                set_chunk_aside(self);
                self->barrier[cut] = words_read(self, cut); /* the record is behind it */
            } else if (self->decoder.is_stuck)
                set_chunk_aside(self);
            else if (!psnap_decoder_is_done(&self->decoder))
                return (ssize_t)n; /* full */
            else
                done_with_chunk(self);
        } else {
            bool found, had_ended = self->has_ended;
            enum psnap_status status = next_chunk(self, &found, error);
            if (status)
                return status;
            if (found)
                continue;
            if (n)
                return (ssize_t)n;
            if (had_ended && self->barrier_rings) {
                self->is_over = true; /* nothing more will come before the barrier */
                is_held(self);
                self->is_over = false;
                continue;
            }
            status = read_control(self, error);
            if (had_ended)
                psnap_capture_tables_count(&self->decoder.tables);
            if (status || had_ended)
                return status;
            wait_for_program(self);
        }
    }
}

static ssize_t capture_next(struct psnap_source *source, struct psnap_access *block,
                            size_t capacity, struct psnap_error *error)
{
    return capture_next_run(source, block, capacity, NULL, error);
}

static void capture_free(struct psnap_source *source)
{
    struct capture *self = (struct capture *)source;

    if (self->session) {
        psnap_capture_close(source);
        munmap(self->session, PSNAP_SESSION_BYTES(self->ring_count));
    }
    if (self->fd >= 0)
        close(self->fd);
    if (self->watched >= 0)
        close(self->watched);
    if (self->other >= 0)
        close(self->other);
    psnap_capture_tables_release(&self->decoder.tables);
    psnap_rebase_release(&self->decoder.rebase);
    psnap_program_free(self->base.program);
    free(self);
}

static const struct psnap_source_ops capture_ops = {capture_next, capture_free, capture_next_run};

static struct capture *open_memory(int fd, uint32_t ring_count, struct psnap_error *error)
{
    struct capture *self = calloc(1, sizeof *self);
    void *memory;

    if (!self) {
        close(fd);
        psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
        return NULL;
    }
    self->base.ops = &capture_ops;
    self->fd = fd;
    self->watched = self->other = -1;
    psnap_rebase_init(&self->decoder.rebase);
    self->base.program = psnap_program_new();
    self->decoder.program = self->base.program;
    psnap_capture_tables_init(&self->decoder.tables, self->base.program);
    self->ring_count = ring_count;
    memory = mmap(NULL, PSNAP_SESSION_BYTES(ring_count), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED || !self->base.program) {
        psnap_error_system(error, errno, "cannot map the shared memory");
        capture_free(&self->base);
        return NULL;
    }
    self->session = memory;
    cpu_set_t processors;
    self->may_spin =
        sched_getaffinity(0, sizeof processors, &processors) == 0 && CPU_COUNT(&processors) > 1;
    return self;
}

/* Rings that there is address space and file size for: all, unless limits are in the way. */
static uint32_t affordable_rings(int fd)
{
    uint32_t rings = PSNAP_RINGS;

    for (; rings >= PSNAP_RINGS_LEAST; rings /= 2) {
        void *memory;
        if (ftruncate(fd, (off_t)PSNAP_SESSION_BYTES(rings)) != 0)
            continue;
        memory = mmap(NULL, PSNAP_SESSION_BYTES(rings), PROT_READ, MAP_SHARED, fd, 0);
        if (memory == MAP_FAILED)
            continue;
        munmap(memory, PSNAP_SESSION_BYTES(rings));
        return rings;
    }
    return 0;
}

struct psnap_source *psnap_capture_new(struct psnap_error *error)
{
    int fd = memfd_create(PSNAP_SESSION_NAME, MFD_CLOEXEC);
    uint32_t rings = fd < 0 ? 0 : affordable_rings(fd);
    struct capture *self;

    if (!rings) {
        psnap_error_system(error, errno, "cannot create shared memory");
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    self = open_memory(fd, rings, error);
    if (!self)
        return NULL;
    self->session->magic = PSNAP_CAPTURE_MAGIC;
    self->session->abi = PSNAP_CAPTURE_ABI;
    self->session->ring_count = rings;
    self->session->collector_pid = (uint32_t)getpid();
    return &self->base;
}

/* The first three fields are where they are in every version: a program of another one sees that
 * its collector was here and has gone. */
static uint32_t read_ring_count(int fd, struct psnap_error *error)
{
    const uint32_t me = (uint32_t)getpid();
    struct psnap_session head;
    struct stat about;

    const bool is_session = pread(fd, &head, offsetof(struct psnap_session, rings), 0) ==
                                offsetof(struct psnap_session, rings) &&
                            head.magic == PSNAP_CAPTURE_MAGIC;
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

struct psnap_source *psnap_capture_adopt(int fd, struct psnap_error *error)
{
    uint32_t rings = read_ring_count(fd, error);
    struct capture *self = rings ? open_memory(fd, rings, error) : NULL;

    if (!self)
        return NULL;
    __atomic_store_n(&self->session->collector_pid, (uint32_t)getpid(), __ATOMIC_RELEASE);
    return &self->base;
}

int psnap_capture_fd(const struct psnap_source *capture)
{
    return ((const struct capture *)capture)->fd;
}

enum psnap_status psnap_capture_watch(struct psnap_source *capture, pid_t pid,
                                      struct psnap_error *error)
{
    struct capture *self = (struct capture *)capture;

    self->watched = (int)syscall(SYS_pidfd_open, pid, 0);
    if (self->watched < 0 && errno != ESRCH)
        return psnap_error_system(error, errno, "cannot watch process %ld", (long)pid);
    return PSNAP_OK;
}

struct psnap_capture_report psnap_capture_report(const struct psnap_source *capture)
{
    const struct capture *self = (const struct capture *)capture;
    const struct psnap_session *session = self->session;

    return (struct psnap_capture_report){
        .modules = self->decoder.tables.module_count,
        .threads = session->next_thread,
        .threads_lost = session->threads_lost,
        .copies = session->copies,
        .is_abandoned = session->abandoned,
        .loops_lost = psnap_descriptor_lost(&self->decoder),
        .program = (pid_t)session->program_pid,
    };
}

void psnap_capture_close(struct psnap_source *capture)
{
    struct psnap_session *session = ((struct capture *)capture)->session;
    __atomic_store_n(&session->closed, 1, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, &session->closed, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}
