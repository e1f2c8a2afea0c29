/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The builder of programs with threads: the stream is split by thread, each
 * thread has a builder of its own (builder.c), and what they have is joined
 * when the stream has ended. So the profile does not depend on the order in
 * which the accesses of different threads come.
 *
 * Memory is bounded: above BUILD_LIVE_BYTES the builders that have had no
 * access for the longest time are joined at once, for which their threads have
 * ended, mostly; one that goes on begins anew. Joining is the same in any order
 * but for loops with more regions than the limit (builder_join.c).
 */
#include "profile/builder.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 1 << 16 };
#define BUILD_LIVE_BYTES ((size_t)48 << 20)

struct threads {
    struct psnap_sink base;
    struct psnap_program *program;
    struct psnap_builder_options options;
    struct builder **builders; /* by thread */
    struct builder **live;     /* all of them, in no order */
    uint32_t live_count, live_room;
    struct builder *current;
    size_t live_bytes;          /* of those that are not current */
    uint64_t clock;             /* changes of thread */
    struct build_loop **joined; /* by index in program->loops */
    uint32_t joined_count;      /* of that array */
    uint32_t region_count;      /* in joined */
    struct build_itinerary *itineraries;
    uint32_t itinerary_count;
    bool is_finished, is_taken;
};

static enum psnap_status no_memory(struct psnap_error *error)
{
    return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
}

static size_t size_of(const struct builder *b)
{
    const size_t loop_bytes =
        sizeof(struct build_loop) + b->options.region_limit * (3 * sizeof(void *) + 2);

    return sizeof *b + b->ref_count * sizeof *b->refs + b->loop_of_count * 12u +
           b->loop_count * loop_bytes + b->region_count * sizeof(struct build_region);
}

/* ------------------------------------------------------------- joining */

static bool grow_joined(struct threads *t)
{
    const uint32_t count = t->program->loop_count;
    struct build_loop **joined;

    if (count <= t->joined_count && t->joined)
        return true;
    joined = realloc(t->joined, (count + 1) * sizeof(struct build_loop *));
    if (!joined)
        return false;
    for (uint32_t i = t->joined_count; i < count; i++)
        joined[i] = NULL;
    t->joined = joined;
    t->joined_count = count;
    return true;
}

/* Itineraries that have no loop that none before them has are of no use. */
static bool prune_itineraries(struct threads *t)
{
    bool *has = calloc(t->joined_count + 1, sizeof *has);
    uint32_t kept = 0;

    if (!has)
        return false;
    for (uint32_t i = 0; i < t->itinerary_count; i++) {
        struct build_itinerary *itinerary = &t->itineraries[i];
        bool is_new = false;
        for (uint32_t k = 0; k < itinerary->count; k++) {
            is_new |= !has[itinerary->stops[k].index];
            has[itinerary->stops[k].index] = true;
        }
        if (is_new) {
            t->itineraries[kept++] = *itinerary;
            continue;
        }
        fold_release(&itinerary->visits);
        free(itinerary->stops);
    }
    t->itinerary_count = kept;
    free(has);
    return true;
}

/* The builder's visits become an itinerary, before those of higher threads. */
static bool take_itinerary(struct threads *t, struct builder *b)
{
    struct build_itinerary itinerary = {.count = b->loop_count, .thread = b->thread};
    struct build_itinerary *grown =
        realloc(t->itineraries, (t->itinerary_count + 1) * sizeof *grown);
    uint32_t at = t->itinerary_count;

    if (grown)
        t->itineraries = grown;
    itinerary.stops = malloc((b->loop_count + 1) * sizeof *itinerary.stops);
    if (!grown || !itinerary.stops) {
        free(itinerary.stops);
        return false;
    }
    for (uint32_t i = 0; i < b->loop_count; i++)
        itinerary.stops[i] = (struct build_stop){b->loops[i]->index, b->loops[i]->unit};
    itinerary.visits = b->visits;
    memset(&b->visits, 0, sizeof b->visits);
    for (; at > 0 && grown[at - 1].thread > b->thread; at--)
        grown[at] = grown[at - 1];
    grown[at] = itinerary;
    t->itinerary_count++;
    return prune_itineraries(t);
}

/* Joins one loop of a thread. With very many regions in all, loops get along with fewer. */
static bool join_loop(struct threads *t, struct build_loop *loop, uint16_t thread)
{
    struct build_loop **joined = &t->joined[loop->index];
    uint32_t limit = t->options.region_limit;

    loop->thread = thread;
    for (uint32_t i = 0; i < loop->count; i++)
        loop->order[i]->first_thread = loop->order[i]->last_thread = thread;
    if (!*joined) {
        *joined = loop;
        t->region_count += loop->count;
        return true;
    }
    if (t->region_count + loop->count > BUILD_REGIONS_MAX / 2 && limit > BUILD_JOINED_LEAST)
        limit = BUILD_JOINED_LEAST;
    t->region_count -= (*joined)->count;
    *joined = build_loop_join(*joined, loop, t->program, limit);
    if (!*joined)
        return false;
    t->region_count += (*joined)->count;
    return true;
}

/* Frees the builder, too. */
static enum psnap_status join_builder(struct threads *t, struct builder *b,
                                      struct psnap_error *error)
{
    bool is_done = !psnap_sink_finish(&b->base, error) && grow_joined(t) && take_itinerary(t, b);

    for (uint32_t i = 0; i < b->loop_count && is_done; i++) {
        struct build_loop *loop = b->loops[i];
        b->loops[i] = NULL;
        is_done = join_loop(t, loop, b->thread);
    }
    t->builders[b->thread] = NULL;
    psnap_sink_free(&b->base);
    return is_done ? PSNAP_OK : no_memory(error);
}

/* Joins what has rested longest until there is room again. */
static enum psnap_status make_room(struct threads *t, struct psnap_error *error)
{
    enum psnap_status status = PSNAP_OK;

    while (t->live_bytes > BUILD_LIVE_BYTES && t->live_count > 1 && !status) {
        uint32_t oldest = t->live[0] == t->current;
        struct builder *b;
        for (uint32_t i = 0; i < t->live_count; i++)
            if (t->live[i] != t->current && t->live[i]->used < t->live[oldest]->used)
                oldest = i;
        b = t->live[oldest];
        t->live[oldest] = t->live[--t->live_count];
        t->live_bytes -= size_of(b);
        status = join_builder(t, b, error);
    }
    return status;
}

/* ------------------------------------------------------------- splitting */

static struct builder *new_builder(struct threads *t, uint16_t thread)
{
    struct builder *b;

    if (t->live_count == t->live_room) {
        const uint32_t room = t->live_room ? 2 * t->live_room : 8;
        struct builder **live = realloc(t->live, room * sizeof(struct builder *));
        if (!live)
            return NULL;
        t->live = live;
        t->live_room = room;
    }
    b = build_new(t->program, &t->options);
    if (!b)
        return NULL;
    b->thread = thread;
    t->live[t->live_count++] = t->builders[thread] = b;
    return b;
}

/* What follows is of another thread. */
static enum psnap_status change_thread(struct threads *t, uint16_t thread,
                                       struct psnap_error *error)
{
    struct builder *next = t->builders[thread];

    if (t->current) {
        t->current->used = ++t->clock;
        t->live_bytes += size_of(t->current);
    }
    if (next)
        t->live_bytes -= size_of(next);
    else
        next = new_builder(t, thread);
    t->current = next;
    return next ? make_room(t, error) : no_memory(error);
}

/* How many of the accesses from the first on are of its thread. */
static size_t count_alike(const struct psnap_access *block, size_t n)
{
    enum { STEP = 64 };
    size_t i = 0;

    for (; n - i >= STEP; i += STEP) {
        uint16_t differs = 0;
        for (size_t k = 0; k < STEP; k++)
            differs |= block[i + k].thread ^ block->thread;
        if (differs)
            break;
    }
    while (i < n && block[i].thread == block->thread)
        i++;
    return i;
}

static enum psnap_status put(struct psnap_sink *self, const struct psnap_access *block, size_t n,
                             struct psnap_error *error)
{
    struct threads *t = (struct threads *)self;
    enum psnap_status status = PSNAP_OK;

    while (n && !status) {
        const size_t alike = count_alike(block, n);
        if (!t->current || t->current->thread != block->thread)
            status = change_thread(t, block->thread, error);
        if (!status)
            status = build_put(&t->current->base, block, alike, error);
        block += alike;
        n -= alike;
    }
    return status;
}

static enum psnap_status put_run(struct psnap_sink *self, const struct psnap_run *run,
                                 struct psnap_error *error)
{
    struct threads *t = (struct threads *)self;
    const uint16_t thread = run->width ? run->first->thread : 0;
    enum psnap_status status = PSNAP_OK;
    bool is_mixed = false;

    for (size_t k = 1; k < run->width; k++)
        is_mixed |= run->first[k].thread != thread;
    if (is_mixed)
        return psnap_sink_put_repetitions(self, run, 0, run->count, error);
    if (!t->current || t->current->thread != thread)
        status = change_thread(t, thread, error);
    return status ? status : build_put_run(&t->current->base, run, error);
}

/* ------------------------------------------------------------- the sink */

static int compare_threads(const void *a, const void *b)
{
    const struct builder *p = *(struct builder *const *)a, *q = *(struct builder *const *)b;

    return p->thread < q->thread ? -1 : p->thread > q->thread;
}

static enum psnap_status finish(struct psnap_sink *self, struct psnap_error *error)
{
    struct threads *t = (struct threads *)self;
    enum psnap_status status = grow_joined(t) ? PSNAP_OK : no_memory(error);

    t->is_finished = true;
    t->current = NULL;
    if (t->live_count)
        qsort(t->live, t->live_count, sizeof(struct builder *), compare_threads);
    for (uint32_t i = 0; i < t->live_count; i++) {
        struct builder *b = t->live[i];
        t->live[i] = NULL;
        if (!status)
            status = join_builder(t, b, error);
        else
            psnap_sink_free(&b->base);
    }
    t->live_count = 0;
    return status;
}

static void threads_free(struct psnap_sink *self)
{
    struct threads *t = (struct threads *)self;

    for (uint32_t i = 0; i < t->live_count; i++)
        psnap_sink_free(&t->live[i]->base);
    for (uint32_t i = 0; i < t->joined_count; i++)
        build_loop_free(t->joined[i]);
    for (uint32_t i = 0; i < t->itinerary_count; i++) {
        fold_release(&t->itineraries[i].visits);
        free(t->itineraries[i].stops);
    }
    free(t->itineraries);
    free(t->joined);
    free(t->live);
    free(t->builders);
    free(t);
}

static const struct psnap_sink_ops threads_ops = {put, finish, threads_free, put_run};

struct psnap_sink *psnap_profile_builder_new(struct psnap_program *program,
                                             const struct psnap_builder_options *options,
                                             struct psnap_error *error)
{
    struct threads *t;
    struct psnap_builder_options read = options ? *options : (struct psnap_builder_options){0};

    if (read.region_gap_bytes == 0)
        read.region_gap_bytes = PSNAP_REGION_GAP_DEFAULT;
    if (read.region_limit == 0)
        read.region_limit = PSNAP_REGION_LIMIT_DEFAULT;
    if (read.region_gap_bytes > PSNAP_REGION_GAP_MAX ||
        read.region_limit < PSNAP_REGION_LIMIT_MIN || read.region_limit > PSNAP_REGION_LIMIT_MAX) {
        psnap_error_set(error, PSNAP_ERROR_USAGE,
                        "a gap of at most %" PRIu64 " bytes and %u to %u regions are possible",
                        PSNAP_REGION_GAP_MAX, PSNAP_REGION_LIMIT_MIN, PSNAP_REGION_LIMIT_MAX);
        return NULL;
    }
    t = calloc(1, sizeof *t);
    if (t)
        t->builders = calloc(THREADS, sizeof(struct builder *));
    if (!t || !t->builders) {
        free(t);
        no_memory(error);
        return NULL;
    }
    t->base.ops = &threads_ops;
    t->program = program;
    t->options = read;
    return &t->base;
}

struct psnap_profile *psnap_profile_builder_take(struct psnap_sink *builder,
                                                 struct psnap_error *error)
{
    struct threads *t = (struct threads *)builder;
    struct build_result result;

    if (!t->is_finished || t->is_taken) {
        psnap_error_set(error, PSNAP_ERROR_USAGE,
                        "a profile is taken once, after the stream has ended");
        return NULL;
    }
    t->is_taken = true;
    if (!grow_joined(t)) {
        no_memory(error);
        return NULL;
    }
    result = (struct build_result){t->joined, t->itineraries, t->itinerary_count, &t->options};
    return build_profile(t->program, &result, error);
}
