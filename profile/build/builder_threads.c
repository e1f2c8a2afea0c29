/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The builder of programs with threads: the stream is split by thread, each
 * thread has a builder of its own (builder.c), and what they have is joined
 * when the stream has ended, in one part for all threads or one for each
 * (builder_parts.c). So the profile does not depend on the order in which the
 * accesses of different threads come.
 *
 * Memory is bounded: above BUILD_LIVE_BYTES the builders that have had no
 * access for the longest time are joined at once, for which their threads have
 * ended, mostly; one that goes on begins anew. Joining is the same in any order
 * but for loops with more regions than the limit (builder_join.c).
 */
#include "profile/build/builder.h"
#include "profile/model.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define BUILD_LIVE_BYTES ((size_t)32 << 20)

struct threads {
    struct psnap_sink base;
    struct psnap_program *program;
    struct psnap_builder_options options;
    struct builder **builders; /* by thread */
    struct builder **live;     /* all of them, in no order */
    uint32_t live_count, live_room;
    struct builder *current;
    size_t live_bytes; /* of those that are not current */
    uint64_t clock;    /* changes of thread */
    struct build_parts joined;
    struct psnap_sink *nests; /* model nests, else NULL: `model`, perhaps in another thread */
    struct psnap_sink *model;
    bool is_finished, is_taken;
};

static enum psnap_status no_memory(struct psnap_error *error)
{
    return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
}

static size_t size_of(const struct builder *b)
{
    return sizeof *b + b->ref_count * (sizeof *b->refs + sizeof *b->plans) + b->plan_bytes +
           b->loop_of_count * (sizeof *b->loop_of + sizeof(struct build_loop *)) + b->loop_bytes +
           fold_bytes(&b->visits);
}

/* ------------------------------------------------------------- joining */

/* Frees the builder, too. */
static enum psnap_status join_builder(struct threads *t, struct builder *b,
                                      struct psnap_error *error)
{
    const bool is_done = !psnap_sink_finish(&b->base, error) && build_parts_take(&t->joined, b);

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

static enum psnap_status put(struct psnap_sink *self, const struct psnap_access *block, size_t n,
                             struct psnap_error *error)
{
    struct threads *t = (struct threads *)self;
    enum psnap_status status = PSNAP_OK;

    if (t->nests)
        return psnap_sink_put(t->nests, block, n, error);
    while (n && !status) {
        const size_t alike = psnap_accesses_of_thread(block, n);
        if (!t->current || t->current->thread != block->thread)
            status = change_thread(t, block->thread, error);
        if (!status)
            status = psnap_sink_put(&t->current->base, block, alike, error);
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
    if (t->nests)
        return psnap_sink_put_run(t->nests, run, error);
    if (!t->current || t->current->thread != thread)
        status = change_thread(t, thread, error);
    return status ? status : psnap_sink_put_run(&t->current->base, run, error);
}

static enum psnap_status put_nest(struct psnap_sink *self, const struct psnap_nest *nest,
                                  struct psnap_error *error)
{
    struct threads *t = (struct threads *)self;
    const uint16_t thread = nest->first->thread;
    enum psnap_status status = PSNAP_OK;

    if (t->nests)
        return psnap_sink_put_nest(t->nests, nest, error);
    if (!t->current || t->current->thread != thread)
        status = change_thread(t, thread, error);
    return status ? status : psnap_sink_put_nest(&t->current->base, nest, error);
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
    enum psnap_status status = PSNAP_OK;

    if (t->nests)
        status = psnap_sink_finish(t->nests, error);
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
    build_parts_release(&t->joined);
    psnap_sink_free(t->nests);
    free(t->live);
    free(t->builders);
    free(t);
}

static const struct psnap_sink_ops threads_ops = {put, finish, threads_free, put_run, put_nest};

enum psnap_status psnap_builder_choose_model(struct psnap_builder_options *options,
                                             const char *name, struct psnap_error *error)
{
    const char *model = name ? name : options->is_apart ? "psnap" : "nests";

    options->nests = strcmp(model, "nests") == 0;
    if (!options->nests && strcmp(model, "psnap") != 0)
        return psnap_error_set(error, PSNAP_ERROR_USAGE, "no model '%s'; there are nests and psnap",
                               model);
    if (options->nests && options->is_apart)
        return psnap_error_set(error, PSNAP_ERROR_USAGE,
                               "model nests has the threads merged, not apart");
    return PSNAP_OK;
}

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
    if (read.nests && read.is_apart) {
        psnap_error_set(error, PSNAP_ERROR_USAGE, "model nests is of merged threads");
        return NULL;
    }
    t = calloc(1, sizeof *t);
    if (t)
        t->builders = calloc(PSNAP_THREADS_MAX, sizeof(struct builder *));
    if (!t || !t->builders) {
        free(t);
        no_memory(error);
        return NULL;
    }
    t->base.ops = &threads_ops;
    t->program = program;
    t->options = read;
    build_parts_init(&t->joined, program, &t->options);
    if (read.nests && read.is_alone)
        t->nests = t->model = model_builder_new(program);
    else if (read.nests)
        t->nests = psnap_aside_sink_new(program, model_builder_new, &t->model);
    if (read.nests && !t->nests) {
        threads_free(&t->base);
        no_memory(error);
        return NULL;
    }
    return &t->base;
}

struct psnap_profile *psnap_profile_builder_take(struct psnap_sink *builder,
                                                 struct psnap_error *error)
{
    struct threads *t = (struct threads *)builder;
    struct psnap_profile *profile = NULL;
    struct build_result result;

    if (!t->is_finished || t->is_taken) {
        psnap_error_set(error, PSNAP_ERROR_USAGE,
                        "a profile is taken once, after the stream has ended");
        return NULL;
    }
    t->is_taken = true;
    if (build_result_init(&result, &t->joined)) {
        result.stream = t->nests ? model_builder_take(t->model, t->options.deadline) : NULL;
        if (t->nests && !result.stream)
            no_memory(error);
        else
            profile = build_profile(t->program, &result, error);
    } else
        no_memory(error);
    build_result_release(&result);
    return profile;
}
