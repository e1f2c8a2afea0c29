/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One pass over a labelled stream: the windows of its blocks (windows.c), for each plan the reuse
 * distances of the accesses in sampled windows, the patterns of references. P(D | block) is kept
 * by reference: a block's accesses are of several kinds, each execution has the same of each.
 */
#include "predict/amm/measure.h"

#include <stdlib.h>
#include <string.h>

#include "formats/base/room.h"

enum { SINKS_MAX = MEASURE_PLANS_MAX + 3 };

/* Windows that are tagged for nothing: counts without distances. */
struct counter {
    struct psnap_sink base;
    struct windows *windows;
    const struct psnap_program *program;
    double *bytes; /* by reference */
    size_t room;
    uint32_t count;
};

struct pass {
    struct psnap_sink *sinks[SINKS_MAX];
    size_t sink_count;
    struct windows *windows[MEASURE_PLANS_MAX]; /* each plan's own */
    struct counter counter;
    struct psnap_sink *pattern;
};

static enum psnap_status no_memory(struct psnap_error *error)
{
    return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for the blocks' distances");
}

/* --------------------------------------------------------------------- counts */

static enum psnap_status count_block(struct psnap_sink *self, const struct psnap_access *block,
                                     size_t n, struct psnap_error *error)
{
    struct counter *counter = (struct counter *)self;
    const struct psnap_program *program = counter->program;
    uint32_t rows[PSNAP_BLOCK_ACCESSES];
    enum psnap_status status = PSNAP_OK;
    double *bytes =
        psnap_with_room(counter->bytes, &counter->room, program->ref_count, sizeof *bytes);

    if (!bytes)
        return no_memory(error);
    counter->bytes = bytes;
    while (counter->count < program->ref_count)
        bytes[counter->count++] = 0;
    for (size_t i = 0; i < n; i++) {
        if (block[i].ref >= program->ref_count ||
            program->refs[block[i].ref].block >= program->block_count)
            return psnap_error_set(error, PSNAP_ERROR_VALUE,
                                   "an access of the stream is of no block");
        bytes[block[i].ref] += block[i].size;
    }
    for (size_t some; n && !status; block += some, n -= some) {
        some = n < PSNAP_BLOCK_ACCESSES ? n : PSNAP_BLOCK_ACCESSES;
        status = windows_tag(counter->windows, block, some, rows, error);
    }
    return status;
}

static void free_counter(struct psnap_sink *self)
{
    struct counter *counter = (struct counter *)self;

    windows_free(counter->windows);
    free(counter->bytes);
}

/* --------------------------------------------------------------------- the pass */

static bool add_sink(struct pass *pass, struct psnap_sink *sink)
{
    if (sink)
        pass->sinks[pass->sink_count++] = sink;
    return sink != NULL;
}

static enum psnap_status begin(struct pass *pass, const struct psnap_program *program,
                               const struct measure_options *options, struct psnap_error *error)
{
    static const struct psnap_sink_ops ops = {.put = count_block, .free = free_counter};

    pass->counter.base.ops = &ops;
    pass->counter.program = program;
    pass->counter.windows = windows_new(program, options->rate, options->seed);
    add_sink(pass, &pass->counter.base);
    pass->pattern = pattern_new(program);
    if (!add_sink(pass, pass->pattern) || !pass->counter.windows)
        return no_memory(error);
    for (size_t i = 0; i < options->plan_count; i++) {
        const struct measure_plan *plan = &options->plans[i];
        struct psnap_reuse_options reuse = {.line_bytes = plan->line_bytes,
                                            .sets = plan->sets,
                                            .ways = plan->ways,
                                            .tagger = windows_tag};
        pass->windows[i] = windows_new(program, options->rate, options->seed);
        if (!pass->windows[i])
            return no_memory(error);
        reuse.tagger_context = pass->windows[i];
        if (!add_sink(pass, psnap_reuse_new(program, &reuse, error)))
            return error->code;
    }
    return PSNAP_OK;
}

static void end(struct pass *pass)
{
    for (size_t i = 0; i < pass->sink_count; i++)
        psnap_sink_free(pass->sinks[i]);
    for (size_t i = 0; i < MEASURE_PLANS_MAX; i++)
        windows_free(pass->windows[i]);
}

/* ------------------------------------------------------------------- what was */

static bool make_tables(struct measure *measure)
{
    const struct psnap_program *program = measure->program;
    const size_t refs = program->ref_count + (size_t)1, blocks = program->block_count + (size_t)1;
    const size_t loops = program->loop_count + (size_t)1;

    measure->accesses = calloc(refs, sizeof *measure->accesses);
    measure->bytes = calloc(refs, sizeof *measure->bytes);
    measure->patterns = calloc(refs, sizeof *measure->patterns);
    measure->distances = calloc(refs * (measure->plan_count + 1), sizeof(struct psnap_distances *));
    measure->executions = calloc(blocks, sizeof *measure->executions);
    measure->windows = calloc(blocks, sizeof *measure->windows);
    measure->operations = calloc(loops * PSNAP_OPERATION_COUNT, sizeof *measure->operations);
    measure->iterations = calloc(loops, sizeof *measure->iterations);
    measure->entries = calloc(loops, sizeof *measure->entries);
    return measure->accesses && measure->bytes && measure->patterns && measure->distances &&
           measure->executions && measure->windows && measure->operations && measure->iterations &&
           measure->entries;
}

static void take_blocks(struct measure *measure)
{
    const struct psnap_program *program = measure->program;

    for (uint32_t i = 0; i < program->block_count; i++) {
        const struct psnap_block *block = &program->blocks[i];
        measure->executions[i] = (double)block->executions;
        for (size_t op = 0; op < PSNAP_OPERATION_COUNT && block->loop < program->loop_count; op++)
            measure->operations[block->loop * PSNAP_OPERATION_COUNT + op] +=
                (double)block->executions * block->operations[op];
    }
    for (uint32_t i = 0; i < program->loop_count; i++) {
        if (program->loops[i].header < program->block_count)
            measure->iterations[i] = measure->executions[program->loops[i].header];
        if (program->loops[i].entry < program->block_count)
            measure->entries[i] = measure->executions[program->loops[i].entry];
    }
}

/* The program's loops are the profile's but for threads' parts, in the same order. */
static void take_loops(struct measure *measure, const struct psnap_profile *profile)
{
    uint32_t loop = 0;

    for (uint32_t i = 0; i < profile->loop_count; i++) {
        const struct psnap_profile_loop *from = &profile->loops[i];
        if (from->whole != PSNAP_NONE)
            continue;
        for (size_t op = 0; op < PSNAP_OPERATION_COUNT; op++)
            measure->operations[loop * PSNAP_OPERATION_COUNT + op] = (double)from->operations[op];
        measure->iterations[loop] = from->iterations != UINT64_MAX ? (double)from->iterations : 0;
        measure->entries[loop] = from->entries != UINT64_MAX ? (double)from->entries : 0;
        loop++;
    }
}

static enum psnap_status take_distances(struct measure *measure, const struct pass *pass,
                                        struct psnap_error *error)
{
    const uint32_t refs = measure->program->ref_count;
    const size_t first = pass->sink_count - measure->plan_count;

    for (size_t plan = 0; plan < measure->plan_count; plan++)
        for (uint32_t ref = 0; ref < refs; ref++) {
            struct psnap_distances **sum = &measure->distances[plan * refs + ref];
            uint32_t rows[2];
            const int count = windows_rows(pass->windows[plan], ref, rows);
            for (int i = 0; i < count; i++) {
                const struct psnap_distances *row =
                    psnap_reuse_row(pass->sinks[first + plan], PSNAP_VIEW_TAG, rows[i]);
                if (!row)
                    continue;
                if (!*sum)
                    *sum = psnap_distances_new();
                if (!*sum || !psnap_distances_add_all(*sum, row))
                    return no_memory(error);
            }
            measure->sampled += !plan && *sum ? psnap_distances_accesses(*sum) : 0;
        }
    return PSNAP_OK;
}

static enum psnap_status take(struct measure *measure, const struct pass *pass,
                              const struct psnap_profile *profile, struct psnap_error *error)
{
    const struct psnap_program *program = measure->program;
    const struct windows *windows = pass->counter.windows;

    if (!make_tables(measure))
        return no_memory(error);
    measure->threads = windows_threads(windows);
    for (uint32_t i = 0; i < program->ref_count; i++) {
        measure->accesses[i] = (double)windows_accesses(windows, i);
        if (measure->accesses[i] > 0)
            measure->bytes[i] = pass->counter.bytes[i] / measure->accesses[i];
    }
    for (uint32_t i = 0; i < program->block_count; i++)
        measure->windows[i] = (double)windows_count(windows, i);
    take_blocks(measure);
    if (profile)
        take_loops(measure, profile);
    for (size_t i = 0; i < (size_t)program->loop_count * PSNAP_OPERATION_COUNT; i++)
        measure->has_operations |= measure->operations[i] > 0;
    measure->has_blocks = program->block_count > 1;
    for (uint32_t i = 0; i < program->block_count && !profile; i++)
        measure->has_block_counts |= measure->has_blocks && measure->executions[i] > 0;
    measure->transitions = windows_transitions(windows, &measure->transition_count);
    if (!measure->transitions)
        return no_memory(error);
    if (pattern_all(pass->pattern, measure->patterns, error))
        return error->code;
    return take_distances(measure, pass, error);
}

enum psnap_status measure_stream(struct measure *measure, struct psnap_source *source,
                                 const struct psnap_profile *profile,
                                 const struct measure_options *options, struct psnap_error *error)
{
    struct pass *pass = calloc(1, sizeof *pass);
    struct psnap_sink *tee = NULL;
    enum psnap_status status;

    *measure = (struct measure){.program = source->program, .plan_count = options->plan_count};
    if (!pass)
        return no_memory(error);
    status = begin(pass, source->program, options, error);
    if (!status) {
        tee = psnap_tee_sink_new(pass->sinks, pass->sink_count);
        status = tee ? psnap_pump(source, tee, &measure->total, error) : no_memory(error);
    }
    if (!status)
        status = take(measure, pass, profile, error);
    psnap_sink_free(tee);
    end(pass);
    free(pass);
    return status;
}

void measure_release(struct measure *measure)
{
    const size_t refs = measure->distances ? measure->program->ref_count : 0;

    for (size_t i = 0; i < refs * measure->plan_count; i++)
        psnap_distances_free(measure->distances[i]);
    free(measure->distances);
    free(measure->accesses);
    free(measure->bytes);
    free(measure->patterns);
    free(measure->executions);
    free(measure->windows);
    free(measure->operations);
    free(measure->iterations);
    free(measure->entries);
    free(measure->transitions);
    *measure = (struct measure){0};
}
