/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The program as a source: whose chunk comes next, what has to be known before
 * it is decoded, and the waiting for it.
 *
 * Before a chunk of a thread is decoded, the control ring is read as far as it
 * was written when the chunk was left behind, so tables are there before they
 * are needed. At a barrier (rings.c) the control ring waits until the rings are
 * read up to there.
 * Expects Linux: futex and pidfd.
 */
#include "capture/decode/decode.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "capture/collect/process.h"
#include "capture/collect/rings.h"

struct capture {
    struct psnap_source base;
    struct psnap_rings rings;
    int watched, other; /* pidfds: the process started, and the one that recorded; -1 none */
    const struct psnap_deadline *deadline; /* NULL: none */
    bool is_cut_short;                     /* it is over */
    uint32_t *taker;     /* who takes the session; NULL: it is nobody else's to take */
    bool is_identified;  /* what program attached has been noted */
    bool may_spin;       /* there is a processor for us besides the program's */
    uint32_t ring;       /* being read, 0 for none */
    uint64_t control_at; /* words read of the control ring's open chunk */
    uint32_t known_threads[PSNAP_RINGS]; /* thread + 1 whose stack is known */
    struct psnap_decoder decoder;
};

static bool is_barrier(uint64_t event)
{
    return event == PSNAP_EVENT_REUSE || event == PSNAP_EVENT_THREAD;
}

/* `at` is in the control ring, `words` from its end; returns the event's length, 0 on failure. */
static uint64_t take_event(struct capture *self, const uint64_t *at, uint64_t words,
                           struct psnap_error *error)
{
    uint64_t length;

    if (!is_barrier(*at))
        return psnap_context_control(&self->decoder.context, at, at + words, error);
    length = psnap_rings_set_barrier(&self->rings, at, words);
    if (!length)
        psnap_error_set(error, PSNAP_ERROR_CORRUPT,
                        "the program's ring holds a barrier that cannot be (%" PRIu64 " rings)",
                        words < 3 ? 0 : at[1]);
    return length;
}

static enum psnap_status read_control_words(struct capture *self, const uint64_t *begin,
                                            uint64_t words, struct psnap_error *error)
{
    for (;;) {
        const bool is_held = psnap_rings_is_held(&self->rings); /* lifts it, also at the end */
        uint64_t length;
        if (self->control_at >= words ||
            (is_held && (!self->rings.starting || is_barrier(begin[self->control_at]))))
            return PSNAP_OK;
        length = take_event(self, begin + self->control_at, words - self->control_at, error);
        if (!length)
            return error->code;
        self->control_at += length;
    }
}

/* A program that a shell, env or make has started is not the one that was to be run. */
static void identify(struct capture *self)
{
    struct psnap_program *program = self->base.program;
    char path[sizeof self->rings.session->program + 1] = "", build_id[PSNAP_BUILD_ID_CHARS];
    const char *slash = strrchr(strncpy(path, self->rings.session->program, sizeof path - 1), '/');

    self->is_identified = true;
    psnap_build_id_read(path, build_id);
    if (!slash || !program->provenance.name || !*build_id ||
        !strcmp(build_id, program->provenance.build_id))
        return;
    program->provenance.name = psnap_program_string(program, slash + 1);
    program->provenance.build_id = psnap_program_string(program, build_id);
}

/* The program's memory may hold anything. */
static enum psnap_status check_ring(const struct capture *self, uint32_t index,
                                    struct psnap_error *error)
{
    if (psnap_rings_is_whole(&self->rings, index))
        return PSNAP_OK;
    return psnap_error_set(error, PSNAP_ERROR_CORRUPT,
                           "the program's ring %" PRIu32 " is not what a ring can be", index);
}

/* Everything that is in the control ring now. */
static enum psnap_status read_control(struct capture *self, struct psnap_error *error)
{
    struct psnap_ring *ring = psnap_session_ring(self->rings.session, 0);
    struct psnap_error local;
    enum psnap_status status = PSNAP_OK;

    error = error ? error : &local;
    if (check_ring(self, 0, error))
        return error->code;
    if (__atomic_load_n(&ring->state, __ATOMIC_ACQUIRE) != PSNAP_RING_ACTIVE)
        return PSNAP_OK;
    self->decoder.context.rebase.program = (pid_t)self->rings.session->program_pid;
    if (!self->is_identified)
        identify(self);
    while (!status && ring->consumed < __atomic_load_n(&ring->produced, __ATOMIC_ACQUIRE)) {
        status = read_control_words(self, psnap_rings_chunk(&self->rings, 0),
                                    psnap_ring_left_words(ring), error);
        if (self->control_at < psnap_ring_left_words(ring))
            return status; /* it waits for the rings */
        self->control_at = 0;
        psnap_rings_give_back(&self->rings, 0);
    }
    if (!status) {
        uint64_t words = psnap_ring_open_words(ring);
        if (__atomic_load_n(&ring->produced, __ATOMIC_ACQUIRE) == ring->consumed)
            status = read_control_words(self, psnap_rings_chunk(&self->rings, 0), words, error);
    }
    return status;
}

/* The stacks of all threads that have begun: one may read what lies on another's. */
static bool learn_threads(struct capture *self)
{
    struct psnap_context *context = &self->decoder.context;

    for (uint32_t i = 1, end = psnap_rings_used(&self->rings); i < end; i++) {
        const struct psnap_ring *ring = psnap_session_ring(self->rings.session, i);
        uint32_t state = __atomic_load_n(&ring->state, __ATOMIC_ACQUIRE);
        if ((state != PSNAP_RING_ACTIVE && state != PSNAP_RING_FINISHED) ||
            self->known_threads[i] == ring->thread + 1)
            continue;
        self->known_threads[i] = ring->thread + 1;
        context->rebase.thread = ring->thread;
        if (!psnap_rebase_add_stack(&context->rebase, ring->thread, ring->frame, ring->stack_low,
                                    ring->stack_high) ||
            !psnap_rebase_add_local(&context->rebase, ring->local, ring->local_low,
                                    ring->local_high))
            return false;
        psnap_context_forget_ranges(context);
    }
    return true;
}

/* Points the decoder at a chunk of ring `index`, or to where it got stuck in it. */
static enum psnap_status open_chunk(struct capture *self, uint32_t index, struct psnap_error *error)
{
    struct psnap_ring *ring = psnap_session_ring(self->rings.session, index);
    struct psnap_context *context = &self->decoder.context;
    enum psnap_status status = read_control(self, error);
    uint64_t words =
        psnap_rings_readable(&self->rings, index, &context->is_part); /* now that control is read */

    if (status)
        return status;
    context->is_last_part =
        !context->is_part && ring->consumed == __atomic_load_n(&ring->produced, __ATOMIC_ACQUIRE);
    if (!learn_threads(self))
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for a stack");
    self->ring = index;
    context->thread = (uint16_t)(ring->thread < UINT16_MAX ? ring->thread : UINT16_MAX);
    context->rebase.thread = ring->thread;
    context->at = psnap_rings_chunk(&self->rings, index);
    context->end = context->at + words;
    context->passes_over = psnap_rings_is_final(&self->rings, index);
    context->at += self->rings.read_to[index] ? self->rings.read_to[index] - 1
                                              : psnap_rings_begin(&self->rings, index);
    context->passed = NULL;
    if (context->at > context->end)
        context->end = context->at; /* a barrier has come up meanwhile */
    self->rings.read_to[index] = 0;
    return PSNAP_OK;
}

static void free_finished(struct capture *self, uint32_t index)
{
    struct psnap_ring *ring = psnap_session_ring(self->rings.session, index);

    if (__atomic_load_n(&ring->state, __ATOMIC_ACQUIRE) == PSNAP_RING_FINISHED &&
        ring->consumed == __atomic_load_n(&ring->produced, __ATOMIC_ACQUIRE)) {
        self->known_threads[index] = 0;
        __atomic_store_n(&ring->state, PSNAP_RING_FREE, __ATOMIC_RELEASE);
    }
}

/* Finds something to decode, what was left behind first; *found says whether. */
static enum psnap_status next_chunk(struct capture *self, bool *found, struct psnap_error *error)
{
    const uint32_t end = psnap_rings_used(&self->rings);
    uint64_t least = UINT64_MAX;
    uint32_t first = 0;

    for (uint32_t index = 1; index < end; index++) {
        const struct psnap_ring *ring = psnap_session_ring(self->rings.session, index);
        enum psnap_status status = check_ring(self, index, error);
        if (status)
            return status;
        if (!psnap_rings_is_ready(&self->rings, index)) {
            free_finished(self, index);
        } else if (!first || psnap_ring_left(ring) < least) {
            first = index;
            least = psnap_ring_left(ring);
        }
    }
    *found = first;
    return first ? open_chunk(self, first, error) : PSNAP_OK;
}

/* The chunk has an open record, or may not be read further yet: on to other rings. */
static void set_chunk_aside(struct capture *self)
{
    const uint64_t *begin = psnap_rings_chunk(&self->rings, self->ring);
    self->rings.read_to[self->ring] = (uint32_t)(self->decoder.context.at - begin) + 1;
    self->ring = 0;
}

static void done_with_chunk(struct capture *self)
{
    struct psnap_ring *ring = psnap_session_ring(self->rings.session, self->ring);
    if (self->decoder.context.is_part) { /* as far as it goes for now */
        set_chunk_aside(self);
        return;
    }
    if (self->decoder.context.is_last_part) /* never written again, never read again */
        __atomic_store_n(&ring->state, PSNAP_RING_TAKEN, __ATOMIC_RELEASE);
    else
        psnap_rings_give_back(&self->rings, self->ring);
    free_finished(self, self->ring);
    self->ring = 0;
}

static bool has_chunks(const struct capture *self)
{
    for (uint32_t i = 1, end = psnap_rings_used(&self->rings); i < end; i++)
        if (psnap_rings_is_ready(&self->rings, i))
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

/* The process that has attached, or is about to; 0: none. When it can be none any more the session
 * is withdrawn. */
static pid_t recorded_process(struct capture *self)
{
    const uint32_t program = __atomic_load_n(&self->rings.session->program_pid, __ATOMIC_ACQUIRE);
    const uint32_t us = (uint32_t)getpid();
    uint32_t nobody = 0;

    if (program || !self->taker || !psnap_process_is_over(self->watched) ||
        __atomic_compare_exchange_n(self->taker, &nobody, us, false, __ATOMIC_SEQ_CST,
                                    __ATOMIC_SEQ_CST))
        return (pid_t)program;
    return nobody == us ? 0 : (pid_t)nobody;
}

/* Sleeps until a chunk is left behind or the program ends; looks for that now and then. */
static void wait_for_program(struct capture *self)
{
    struct psnap_session *session = self->rings.session;
    const struct timespec patience = {.tv_nsec = 5 * 1000 * 1000};
    uint32_t seen = __atomic_load_n(&session->doorbell, __ATOMIC_SEQ_CST);
    pid_t program = recorded_process(self);

    if (program && self->other < 0)
        self->other = (int)syscall(SYS_pidfd_open, program, 0);
    if (__atomic_load_n(&session->closing, __ATOMIC_ACQUIRE) ||
        (psnap_process_is_over(self->watched) && psnap_process_is_over(self->other))) {
        self->rings.has_ended = true;
        return;
    }
    if (spin_for_chunks(self))
        return;
    __atomic_store_n(&session->collector_waiting, 1, __ATOMIC_SEQ_CST);
    if (!has_chunks(self)) /* one may have been left just before */
        syscall(SYS_futex, &session->doorbell, FUTEX_WAIT, seen, &patience, NULL, 0);
    __atomic_store_n(&session->collector_waiting, 0, __ATOMIC_SEQ_CST);
}

/* The decoder has stopped: at the end of the chunk, or at a record that is for later. False: it
 * stopped because the block is full. */
static bool leave_chunk(struct capture *self)
{
    const uint32_t ring = self->ring;

    if (self->decoder.context.passed)
        psnap_rings_keep(&self->rings, ring, self->decoder.context.passed);
    if (self->decoder.context.is_cut || self->decoder.context.is_stuck)
        set_chunk_aside(self);
    else if (!psnap_decoder_is_done(&self->decoder))
        return false;
    else
        done_with_chunk(self);
    if (self->decoder.context.is_cut) /* the record is behind the barrier */
        self->rings.barrier[ring] = psnap_rings_words_read(&self->rings, ring);
    return true;
}

/* No chunk may be read now: takes what the control ring has, and waits. *is_over: no chunk will
 * come any more. */
static enum psnap_status await_chunk(struct capture *self, bool *is_over, struct psnap_error *error)
{
    enum psnap_status status;

    *is_over = false;
    if (self->rings.has_ended && self->rings.barrier_rings) {
        self->rings.barrier_rings = self->rings.starting = 0; /* nothing more will come before it */
        return PSNAP_OK;
    }
    status = read_control(self, error);
    *is_over = self->rings.has_ended && !self->rings.barrier_rings && !has_chunks(self);
    if (*is_over)
        psnap_capture_tables_count(&self->decoder.context.tables);
    else if (!status)
        wait_for_program(self);
    return status;
}

/* The deadline is over: the program goes on unrecorded, if it goes on. */
static bool is_cut_short(struct capture *self)
{
    if (!self->is_cut_short && psnap_deadline_is_over(self->deadline)) {
        self->is_cut_short = true;
        psnap_capture_enough(&self->base);
    }
    return self->is_cut_short;
}

static ssize_t capture_next_nest(struct psnap_source *source, struct psnap_access *room,
                                 size_t capacity, const struct psnap_access **block,
                                 struct psnap_nest *nest, struct psnap_error *error)
{
    struct capture *self = (struct capture *)source;
    size_t n = 0;

    (void)block;
    for (;;) {
        bool found = self->ring, is_over = false;
        enum psnap_status status = found ? PSNAP_OK : next_chunk(self, &found, error);
        ssize_t more;

        if (is_cut_short(self))
            return (ssize_t)n;
        if (!status && !found && n)
            return (ssize_t)n;
        if (!status && !found)
            status = await_chunk(self, &is_over, error);
        if (status || is_over)
            return status;
        if (!found)
            continue;
        more = psnap_decode(&self->decoder, room + n, capacity - n, nest, error);
        if (more < 0)
            return more;
        n += (size_t)more;
        self->decoder.context.most -= (uint64_t)more;
        if (nest->loop_count || !leave_chunk(self))
            return (ssize_t)n;
    }
}

static void capture_free(struct psnap_source *source)
{
    struct capture *self = (struct capture *)source;

    if (self->rings.session)
        psnap_capture_close(source);
    psnap_rings_release(&self->rings);
    if (self->watched >= 0)
        close(self->watched);
    if (self->other >= 0)
        close(self->other);
    psnap_capture_tables_release(&self->decoder.context.tables);
    psnap_rebase_release(&self->decoder.context.rebase);
    psnap_decoder_release(&self->decoder);
    psnap_program_free(self->base.program);
    free(self);
}

static const struct psnap_source_ops capture_ops = {.free = capture_free,
                                                    .next_nest = capture_next_nest};

/* A capture without its memory. */
static struct capture *new_capture(struct psnap_error *error)
{
    struct capture *self = calloc(1, sizeof *self);

    if (self) {
        self->base.ops = &capture_ops;
        self->base.program = psnap_program_new();
        self->rings.fd = self->watched = self->other = -1;
        psnap_rebase_init(&self->decoder.context.rebase);
        self->decoder.context.program = self->base.program;
        psnap_capture_tables_init(&self->decoder.context.tables, self->base.program);
        self->may_spin = psnap_processors() > 1;
    }
    if (self && self->base.program)
        return self;
    psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    if (self)
        capture_free(&self->base);
    return NULL;
}

struct psnap_source *psnap_capture_open(int fd, struct psnap_error *error)
{
    struct capture *self = new_capture(error);

    if (!self && fd >= 0)
        close(fd);
    if (!self || (fd < 0 ? psnap_rings_create(&self->rings, error)
                         : psnap_rings_adopt(&self->rings, fd, error)))
        return self ? &self->base : NULL;
    capture_free(&self->base);
    return NULL;
}

void psnap_capture_attend(struct psnap_source *capture, uint64_t accesses, bool counts)
{
    struct psnap_context *context = &((struct capture *)capture)->decoder.context;

    context->is_bounded = true;
    context->most = accesses;
    context->is_skipping = !counts;
}

void psnap_capture_enough(struct psnap_source *capture)
{
    struct capture *self = (struct capture *)capture;
    struct psnap_session *session = self->rings.session;

    __atomic_store_n(&session->is_enough, 1, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&session->changes, 1, __ATOMIC_SEQ_CST);
    for (uint32_t i = 0, end = psnap_rings_used(&self->rings); i < end; i++) {
        struct psnap_ring *ring = psnap_session_ring(session, i);
        if (i)
            __atomic_store_n(&ring->limit, PSNAP_LIMIT_CHANGED, __ATOMIC_SEQ_CST);
        __atomic_fetch_add(&ring->consumed_futex, 1, __ATOMIC_SEQ_CST);
        syscall(SYS_futex, &ring->consumed_futex, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
    }
    psnap_capture_tables_count(&self->decoder.context.tables);
}

int psnap_capture_fd(const struct psnap_source *capture)
{
    return ((const struct capture *)capture)->rings.fd;
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

void psnap_capture_obey(struct psnap_source *capture, const struct psnap_deadline *deadline)
{
    ((struct capture *)capture)->deadline = deadline;
}

void psnap_capture_offer(struct psnap_source *capture, uint32_t *taker)
{
    ((struct capture *)capture)->taker = taker;
}

struct psnap_capture_report psnap_capture_report(const struct psnap_source *capture)
{
    const struct capture *self = (const struct capture *)capture;
    const struct psnap_session *session = self->rings.session;

    return (struct psnap_capture_report){
        .modules = self->decoder.context.tables.module_count,
        .threads = session->threads,
        .threads_lost = session->threads_lost,
        .copies = session->copies,
        .threads_early = session->threads_early,
        .words_unknown = self->decoder.context.words_unknown + session->words_early,
        .is_cut_short = self->is_cut_short && !session->closing,
        .cut_off = self->decoder.context.passed_over,
        .accesses_lost = session->is_enough ? 0 : self->decoder.context.accesses_lost,
        .late = session->is_enough ? 0 : psnap_rings_late(&self->rings),
        .forked_inside = session->forked_inside,
        .is_quiet = session->is_quiet,
        .unheard = session->unheard,
        .unnamed = self->decoder.context.unnamed,
        .program = (pid_t)session->program_pid,
        .roi = {session->has_regions, session->regions, session->roi_found, session->roi_inlined,
                false},
    };
}

void psnap_capture_close(struct psnap_source *capture)
{
    struct psnap_session *session = ((struct capture *)capture)->rings.session;
    __atomic_store_n(&session->closed, 1, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, &session->closed, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}
