/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The sink that makes a profile of a stream, of either model: the accesses go to the model's
 * builder (published/, collect/), the profile is taken when the stream has ended. It has the loops
 * with accesses, and the loops around them, in the order of the program's table, and regions in the
 * order in which they were opened. Names, counts of executions and operations come from the program
 * as it is then.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/model.h"
#include "profile/published/published.h"

enum { FEW = 100 /* a loop with less than one access in so many is not worth a word */ };

struct profile_sink {
    struct psnap_sink base;
    struct psnap_program *program;
    struct psnap_builder_options options;
    struct psnap_sink *inner; /* the model's builder, perhaps in another thread; owned */
    struct psnap_sink *nests; /* model nests: that builder, else NULL */
    bool is_finished, is_taken;
};

/* The program, the builder and the profile while it is made. */
struct taking {
    const struct psnap_program *program;
    struct psnap_profile *profile;
    struct psnap_sink *published;      /* model psnap: its builder, else NULL */
    struct psnap_stream_model *stream; /* model nests, else NULL */
    uint32_t
        *kept; /* index in the profile by program loop, or PSNAP_NONE; the last is rare code's */
};

static const char *copy(struct taking *t, const char *text)
{
    return psnap_arena_strndup(t->profile->arena, text ? text : "", text ? strlen(text) : 0);
}

/* Marks a loop and those around it. */
static void keep(struct taking *t, uint32_t loop)
{
    if (loop == t->program->loop_count) /* rare code */
        t->kept[loop] = 0;
    for (; loop < t->program->loop_count && t->kept[loop] == PSNAP_NONE;
         loop = t->program->loops[loop].parent)
        t->kept[loop] = 0;
}

/* Marks loops with accesses and those around them, numbers the marked. */
static void choose_loops(struct taking *t)
{
    const struct psnap_program *program = t->program;
    uint32_t count = 0;

    for (uint32_t i = 0; i <= program->loop_count; i++)
        t->kept[i] = PSNAP_NONE;
    for (uint32_t i = 0; t->stream && i < t->stream->ref_count; i++)
        keep(t, t->stream->refs[i].loop);
    for (uint32_t i = 0; !t->stream && i < program->loop_count; i++)
        if (published_loop(t->published, i))
            keep(t, i);
    for (uint32_t i = 0; i <= program->loop_count; i++)
        if (t->kept[i] != PSNAP_NONE)
            t->kept[i] = count++;
    t->profile->loop_count = count;
}

/* The regions of model psnap; their objects' names are the program's. */
static enum psnap_status take_regions(struct taking *t, struct loop *from,
                                      struct psnap_profile_loop *to)
{
    enum psnap_status status = published_take(from, t->profile, to);

    for (uint32_t i = 0; i < to->region_count && !status; i++) {
        struct psnap_profile_region *region = &to->regions[i];
        if (region->object)
            region->object = copy(t, region->object);
        region->id = profile_region_id(t->profile->arena, to->regions, i);
        if (!region->id)
            status = PSNAP_ERROR_MEMORY;
    }
    return status;
}

/* A block that was never executed has not been counted: the stream has its accesses. */
static uint64_t executions(const struct psnap_program *program, uint32_t block)
{
    uint64_t count = block < program->block_count ? program->blocks[block].executions : 0;

    if (!count)
        return UINT64_MAX;
    return count < PSNAP_COUNT_MAX ? count : PSNAP_COUNT_MAX;
}

static enum psnap_status take_loop(struct taking *t, uint32_t index)
{
    const struct psnap_loop *from = &t->program->loops[index];
    struct psnap_profile_loop *to = &t->profile->loops[t->kept[index]];
    struct loop *published;

    to->id = copy(t, from->id);
    to->src_id = copy(t, from->src_id);
    to->function = copy(t, from->function);
    to->file = copy(t, from->file);
    if (!to->id || !to->src_id || !to->function || !to->file)
        return PSNAP_ERROR_MEMORY;
    to->src_line = from->src_line;
    to->depth = from->depth < UINT16_MAX ? from->depth : UINT16_MAX;
    to->parent = PSNAP_NONE;
    if (from->parent < t->program->loop_count &&
        t->program->loops[from->parent].depth < from->depth)
        to->parent = t->kept[from->parent];
    to->entries = executions(t->program, from->entry);
    to->iterations = executions(t->program, from->header);
    published = t->stream ? NULL : published_loop(t->published, index);
    return published ? take_regions(t, published, to) : PSNAP_OK; /* or model_derive makes them */
}

/* The loop of rare code (profile/collect/rare.c). */
static void take_rare(const struct taking *t)
{
    if (t->kept[t->program->loop_count] != PSNAP_NONE)
        t->profile->loops[t->kept[t->program->loop_count]] =
            (struct psnap_profile_loop){.id = PSNAP_RARE,
                                        .src_id = PSNAP_RARE,
                                        .function = "",
                                        .file = "",
                                        .parent = PSNAP_NONE,
                                        .entries = UINT64_MAX,
                                        .iterations = UINT64_MAX};
}

/* Operations of loops that are not there are those of rare code, if there is some. */
static void take_operations(struct taking *t)
{
    uint64_t totals[PSNAP_OPERATION_COUNT] = {0};

    for (uint32_t i = 0; i < t->program->block_count; i++) {
        const struct psnap_block *block = &t->program->blocks[i];
        struct psnap_profile_loop *loop;
        uint32_t at;
        if (block->loop >= t->program->loop_count)
            continue;
        at = t->kept[block->loop] != PSNAP_NONE ? block->loop : t->program->loop_count;
        if (t->kept[at] == PSNAP_NONE)
            continue;
        loop = &t->profile->loops[t->kept[at]];
        for (unsigned op = 0; op < PSNAP_OPERATION_COUNT; op++) {
            uint64_t executed;
            if (__builtin_mul_overflow(block->executions, block->operations[op], &executed))
                executed = PSNAP_COUNT_MAX;
            if (executed > PSNAP_COUNT_MAX - totals[op]) /* readers take no more in all */
                executed = PSNAP_COUNT_MAX - totals[op];
            totals[op] += executed;
            loop->operations[op] += executed;
        }
    }
}

static int compare_ids(const void *a, const void *b)
{
    const struct psnap_profile_loop *p = *(struct psnap_profile_loop *const *)a;
    const struct psnap_profile_loop *q = *(struct psnap_profile_loop *const *)b;
    const int order = strcmp(p->id, q->id);

    return order ? order : p < q ? -1 : p > q;
}

/* Programs promise unique ids; a foreign one that breaks it still gets a profile that reads. */
static enum psnap_status make_ids_unique(struct taking *t)
{
    const uint32_t count = t->profile->loop_count;
    struct psnap_profile_loop **sorted = malloc((count + 1) * sizeof(struct psnap_profile_loop *));
    enum psnap_status status = sorted ? PSNAP_OK : PSNAP_ERROR_MEMORY;
    bool again = true;

    while (again && !status) {
        again = false;
        for (uint32_t i = 0; i < count; i++)
            sorted[i] = &t->profile->loops[i];
        qsort(sorted, count, sizeof(struct psnap_profile_loop *), compare_ids);
        for (uint32_t i = 0; i < count && !status; i++) {
            const size_t size = strlen(sorted[i]->id) + 16;
            char *id;
            if (*sorted[i]->id && (i == 0 || strcmp(sorted[i - 1]->id, sorted[i]->id) != 0))
                continue;
            again = true;
            id = psnap_arena_alloc(t->profile->arena, size);
            if (id)
                snprintf(id, size, "%s~%" PRIu32, sorted[i]->id,
                         (uint32_t)(sorted[i] - t->profile->loops));
            sorted[i]->id = id;
            status = id ? PSNAP_OK : PSNAP_ERROR_MEMORY;
        }
    }
    free(sorted);
    return status;
}

/* A count; PSNAP_COUNT_MAX for what is more, or is none, as no profile may have. */
static uint64_t to_count(double value)
{
    return value < (double)PSNAP_COUNT_MAX ? (uint64_t)value : PSNAP_COUNT_MAX;
}

/* Estimates what loops of the whole run have as the recorded times run / recorded accesses; the
 * errors of this are the recorder's (capture/collect/sampling.c), and not known of rare code. */
static enum psnap_status take_sampling(struct taking *t)
{
    const struct psnap_sampling *from = &t->program->sampling;
    struct psnap_sampling *to = &t->profile->sampling;
    uint64_t *const numbers[] = {&to->skip,   &to->count,   &to->window,
                                 &to->period, &to->windows, &to->run_accesses};
    const enum psnap_status status = psnap_sampling_copy(from, t->profile->arena, to);
    struct psnap_profile_totals totals;
    double weight;

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        *numbers[i] = *numbers[i] < PSNAP_COUNT_MAX ? *numbers[i] : PSNAP_COUNT_MAX;
    psnap_profile_totals(t->profile, &totals);
    weight = totals.accesses ? (double)from->run_accesses / (double)totals.accesses : 0;
    for (uint32_t i = 0; i <= t->program->loop_count; i++) {
        struct psnap_profile_loop *loop;
        if (t->kept[i] == PSNAP_NONE)
            continue;
        loop = &t->profile->loops[t->kept[i]];
        loop->estimate_accesses = loop->estimate_error = UINT64_MAX;
        if (!from->window || !loop->accesses)
            continue;
        loop->estimate_accesses = to_count(round(weight * (double)loop->accesses));
        if (i < t->program->loop_count && i < from->loop_error_count)
            loop->estimate_error = to_count(ceil(from->loop_errors[i]));
    }
    return status;
}

/* By how many points the replay of each loop is expected to be off: reuse times were. */
static enum psnap_status take_expected(struct psnap_profile *profile)
{
    const struct psnap_stream_model *model = profile->stream;
    double *off = calloc(profile->loop_count + (size_t)1, sizeof *off);
    uint64_t all = 0;

    for (uint32_t i = 0; i < profile->loop_count; i++)
        all += profile->loops[i].accesses;
    for (uint32_t i = 0; off && i < model->ref_count; i++)
        off[model->refs[i].loop] += model->refs[i].off * (double)model->refs[i].executions;
    for (uint32_t i = 0; off && i < profile->loop_count; i++) {
        struct psnap_profile_loop *loop = &profile->loops[i];
        const double points =
            loop->accesses > all / FEW ? 100 * off[i] / (double)loop->accesses : 0;
        loop->expected_off = points > PSNAP_OFF_POINTS ? round(points * 10) / 10 : 0;
    }
    free(off);
    return off ? PSNAP_OK : PSNAP_ERROR_MEMORY;
}

static enum psnap_status take_all(struct taking *t)
{
    struct psnap_profile *profile = t->profile;
    enum psnap_status status =
        psnap_provenance_copy(&t->program->provenance, profile->arena, &profile->provenance);

    choose_loops(t);
    profile->loops =
        psnap_arena_alloc(profile->arena, (profile->loop_count + 1) * sizeof *profile->loops);
    if (!profile->loops)
        return PSNAP_ERROR_MEMORY;
    for (uint32_t i = 0; i < t->program->loop_count && !status; i++)
        if (t->kept[i] != PSNAP_NONE)
            status = take_loop(t, i);
    take_rare(t);
    if (!status)
        status = make_ids_unique(t);
    if (!status && t->stream) {
        profile->model = PSNAP_MODEL_NESTS;
        profile->stream = t->stream;
        status = model_adopt(profile->stream, t->kept, profile) ? PSNAP_OK : PSNAP_ERROR_MEMORY;
        if (!status)
            status = model_count(profile->stream, NULL);
        if (!status)
            status = model_derive(profile, t->program);
        if (!status)
            status = take_expected(profile);
    } else if (!status)
        status = published_schedule(t->published, t->kept, profile);
    take_operations(t);
    if (!status)
        status = take_sampling(t);
    return status;
}

static enum psnap_status no_memory(struct psnap_error *error)
{
    return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
}

struct psnap_profile *psnap_profile_builder_take(struct psnap_sink *builder,
                                                 struct psnap_error *error)
{
    struct profile_sink *sink = (struct profile_sink *)builder;
    struct taking t = {.program = sink->program, .profile = psnap_profile_new()};
    bool is_done = false;

    if (!sink->is_finished || sink->is_taken) {
        psnap_profile_free(t.profile);
        psnap_error_set(error, PSNAP_ERROR_USAGE,
                        "a profile is taken once, after the stream has ended");
        return NULL;
    }
    sink->is_taken = true;
    if (sink->nests)
        t.stream = model_builder_take(sink->nests, sink->options.deadline);
    else
        t.published = sink->inner;
    t.kept = calloc(sink->program->loop_count + (size_t)1, sizeof *t.kept);
    if (t.profile && t.kept && (t.stream || t.published)) {
        t.profile->region_gap_bytes = sink->options.region_gap_bytes;
        t.profile->region_limit = sink->options.region_limit;
        is_done = !take_all(&t);
    }
    free(t.kept);
    if (is_done)
        return t.profile;
    no_memory(error);
    if (!t.profile || !t.profile->stream) /* it has not become the profile's */
        model_free(t.stream);
    psnap_profile_free(t.profile);
    return NULL;
}

/* ---- the sink ---- */

static enum psnap_status put(struct psnap_sink *self, const struct psnap_access *block, size_t n,
                             struct psnap_error *error)
{
    return psnap_sink_put(((struct profile_sink *)self)->inner, block, n, error);
}

static enum psnap_status put_run(struct psnap_sink *self, const struct psnap_run *run,
                                 struct psnap_error *error)
{
    return psnap_sink_put_run(((struct profile_sink *)self)->inner, run, error);
}

static enum psnap_status put_nest(struct psnap_sink *self, const struct psnap_nest *nest,
                                  struct psnap_error *error)
{
    return psnap_sink_put_nest(((struct profile_sink *)self)->inner, nest, error);
}

static enum psnap_status finish(struct psnap_sink *self, struct psnap_error *error)
{
    struct profile_sink *sink = (struct profile_sink *)self;

    sink->is_finished = true;
    return psnap_sink_finish(sink->inner, error);
}

static void sink_free(struct psnap_sink *self)
{
    psnap_sink_free(((struct profile_sink *)self)->inner);
    free(self);
}

enum psnap_status psnap_builder_choose_model(struct psnap_builder_options *options,
                                             const char *name, struct psnap_error *error)
{
    options->nests = !name || strcmp(name, "nests") == 0;
    return options->nests || strcmp(name, "psnap") == 0
               ? PSNAP_OK
               : psnap_error_set(error, PSNAP_ERROR_USAGE,
                                 "no model '%s'; there are nests and psnap", name);
}

struct psnap_sink *psnap_profile_builder_new(struct psnap_program *program,
                                             const struct psnap_builder_options *options,
                                             struct psnap_error *error)
{
    static const struct psnap_sink_ops ops = {
        .put = put, .finish = finish, .free = sink_free, .put_run = put_run, .put_nest = put_nest};
    struct psnap_builder_options read = options ? *options : (struct psnap_builder_options){0};
    struct profile_sink *sink;

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
    sink = calloc(1, sizeof *sink);
    if (sink) {
        *sink = (struct profile_sink){.base.ops = &ops, .program = program, .options = read};
        if (!read.nests)
            sink->inner = published_builder_new(program, &sink->options);
        else if (read.is_alone)
            sink->inner = sink->nests = model_builder_new(program);
        else
            sink->inner = psnap_aside_sink_new(program, model_builder_new, &sink->nests);
    }
    if (sink && sink->inner)
        return &sink->base;
    free(sink);
    no_memory(error);
    return NULL;
}
