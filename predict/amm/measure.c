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
#include "predict/amm/pages.h"

/* A sink that hands on what it counts; windows are tagged once for all plans. */
struct pass {
    struct psnap_sink base;
    const struct psnap_program *program;
    struct windows *windows;
    const struct psnap_access *block; /* that `rows` are of */
    uint32_t rows[PSNAP_BLOCK_ACCESSES];
    double *bytes; /* by reference */
    size_t bytes_room;
    uint32_t bytes_count;
    struct psnap_sink *pattern, *pages, *reuse[MEASURE_PLANS_MAX]; /* by plan */
    size_t plan_count;
    bool is_shared; /* reuse is of others */
};

static enum psnap_status no_memory(struct psnap_error *error)
{
    return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for the blocks' distances");
}

/* ------------------------------------------------------------------- the pass */

static enum psnap_status add_bytes(struct pass *pass, const struct psnap_access *block, size_t n,
                                   struct psnap_error *error)
{
    const struct psnap_program *program = pass->program;
    double *bytes =
        psnap_with_room(pass->bytes, &pass->bytes_room, program->ref_count, sizeof *bytes);

    if (!bytes)
        return no_memory(error);
    pass->bytes = bytes;
    while (pass->bytes_count < program->ref_count)
        bytes[pass->bytes_count++] = 0;
    for (size_t i = 0; i < n; i++) {
        if (block[i].ref >= program->ref_count ||
            program->refs[block[i].ref].block >= program->block_count)
            return psnap_error_set(error, PSNAP_ERROR_VALUE,
                                   "an access of the stream is of no block");
        bytes[block[i].ref] += block[i].size;
    }
    return PSNAP_OK;
}

/* The tagger of all plans: of a part of the pass's block. */
static enum psnap_status take_rows(void *context, const struct psnap_access *block, size_t n,
                                   uint32_t *rows, struct psnap_error *error)
{
    const struct pass *pass = context;

    (void)error;
    memcpy(rows, pass->rows + (block - pass->block), n * sizeof *rows);
    return PSNAP_OK;
}

static enum psnap_status put(struct psnap_sink *self, const struct psnap_access *block, size_t n,
                             struct psnap_error *error)
{
    struct pass *pass = (struct pass *)self;
    enum psnap_status status = add_bytes(pass, block, n, error);

    for (size_t some; n && !status; block += some, n -= some) {
        some = n < PSNAP_BLOCK_ACCESSES ? n : PSNAP_BLOCK_ACCESSES;
        pass->block = block;
        status = windows_tag(pass->windows, block, some, pass->rows, error);
        if (!status)
            status = psnap_sink_put(pass->pattern, block, some, error);
        if (!status)
            status = psnap_sink_put(pass->pages, block, some, error);
        for (size_t i = 0; i < pass->plan_count && !pass->is_shared && !status; i++)
            status = psnap_sink_put(pass->reuse[i], block, some, error);
    }
    return status;
}

static enum psnap_status finish(struct psnap_sink *self, struct psnap_error *error)
{
    const struct pass *pass = (const struct pass *)self;
    enum psnap_status status = psnap_sink_finish(pass->pattern, error);

    if (!status)
        status = psnap_sink_finish(pass->pages, error);
    for (size_t i = 0; i < pass->plan_count && !pass->is_shared && !status; i++)
        status = psnap_sink_finish(pass->reuse[i], error);
    return status;
}

static void end(struct psnap_sink *self)
{
    struct pass *pass = (struct pass *)self;

    for (size_t i = 0; i < pass->plan_count && !pass->is_shared; i++)
        psnap_sink_free(pass->reuse[i]);
    psnap_sink_free(pass->pattern);
    psnap_sink_free(pass->pages);
    windows_free(pass->windows);
    free(pass->bytes);
    free(pass);
}

static enum psnap_status begin(struct pass *pass, const struct psnap_program *program,
                               const struct measure_options *options, struct psnap_error *error)
{
    static const struct psnap_sink_ops ops = {.put = put, .finish = finish, .free = end};

    pass->base.ops = &ops;
    pass->program = program;
    pass->windows = windows_new(program, options->rate, options->seed);
    pass->pattern = pattern_new(program);
    pass->pages = pages_new(program);
    if (!pass->windows || !pass->pattern || !pass->pages)
        return no_memory(error);
    pass->is_shared = options->reuse != NULL;
    if (pass->is_shared) {
        pass->plan_count = options->plan_count;
        memcpy(pass->reuse, options->reuse, pass->plan_count * sizeof *pass->reuse);
    }
    for (; pass->plan_count < options->plan_count; pass->plan_count++) {
        const struct measure_plan *plan = &options->plans[pass->plan_count];
        const struct psnap_reuse_options reuse = {.line_bytes = plan->line_bytes,
                                                  .sets = plan->sets,
                                                  .ways = plan->ways,
                                                  .tagger = take_rows,
                                                  .tagger_context = pass};
        pass->reuse[pass->plan_count] = psnap_reuse_new(program, &reuse, error);
        if (!pass->reuse[pass->plan_count])
            return error->code;
    }
    return PSNAP_OK;
}

struct psnap_sink *measure_sink_new(const struct psnap_program *program,
                                    const struct measure_options *options,
                                    struct psnap_error *error)
{
    struct pass *pass = calloc(1, sizeof *pass);

    if (!pass) {
        no_memory(error);
        return NULL;
    }
    if (!begin(pass, program, options, error))
        return &pass->base;
    psnap_sink_free(&pass->base);
    return NULL;
}

/* ------------------------------------------------------------------- what was */

static bool make_tables(struct measure *measure)
{
    const struct psnap_program *program = measure->program;
    const size_t refs = program->ref_count + (size_t)1, blocks = program->block_count + (size_t)1;
    const size_t loops = program->loop_count + (size_t)1;

    measure->accesses = calloc(refs, sizeof *measure->accesses);
    measure->bytes = calloc(refs, sizeof *measure->bytes);
    measure->pages = calloc(refs, sizeof *measure->pages);
    measure->fresh = calloc(refs, sizeof *measure->fresh);
    measure->patterns = calloc(refs, sizeof *measure->patterns);
    measure->partners = calloc(refs, sizeof *measure->partners);
    measure->memory = calloc(refs, sizeof *measure->memory);
    measure->distances = calloc(refs * (measure->plan_count + 1), sizeof(struct psnap_distances *));
    measure->executions = calloc(blocks, sizeof *measure->executions);
    measure->windows = calloc(blocks, sizeof *measure->windows);
    measure->mispredictions = calloc(blocks, sizeof *measure->mispredictions);
    measure->operations = calloc(loops * PSNAP_OPERATION_COUNT, sizeof *measure->operations);
    measure->iterations = calloc(loops, sizeof *measure->iterations);
    measure->entries = calloc(loops, sizeof *measure->entries);
    return measure->accesses && measure->bytes && measure->pages && measure->fresh &&
           measure->patterns && measure->partners && measure->memory && measure->distances &&
           measure->executions && measure->windows && measure->mispredictions &&
           measure->operations && measure->iterations && measure->entries;
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

/* The program's loops are the profile's. */
static void take_loops(struct measure *measure, const struct psnap_profile *profile)
{
    for (uint32_t i = 0; i < profile->loop_count; i++) {
        const struct psnap_profile_loop *from = &profile->loops[i];
        for (size_t op = 0; op < PSNAP_OPERATION_COUNT; op++)
            measure->operations[i * PSNAP_OPERATION_COUNT + op] = (double)from->operations[op];
        measure->iterations[i] = from->iterations != UINT64_MAX ? (double)from->iterations : 0;
        measure->entries[i] = from->entries != UINT64_MAX ? (double)from->entries : 0;
    }
}

static enum psnap_status take_distances(struct measure *measure, const struct pass *pass,
                                        struct psnap_error *error)
{
    const uint32_t refs = measure->program->ref_count;

    for (size_t plan = 0; plan < measure->plan_count; plan++)
        for (uint32_t ref = 0; ref < refs; ref++) {
            struct psnap_distances **sum = &measure->distances[plan * refs + ref];
            uint32_t rows[2];
            const enum psnap_view view = pass->is_shared ? PSNAP_VIEW_REF : PSNAP_VIEW_TAG;
            int count = windows_rows(pass->windows, ref, rows);
            if (pass->is_shared) {
                rows[0] = ref;
                count = 1;
            }
            for (int i = 0; i < count; i++) {
                const struct psnap_distances *row =
                    psnap_reuse_row(pass->reuse[plan], view, rows[i]);
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

enum psnap_status measure_take(struct measure *measure, const struct psnap_sink *sink,
                               const struct psnap_profile *profile, struct psnap_error *error)
{
    const struct pass *pass = (const struct pass *)sink;
    const struct psnap_program *program = pass->program;
    const struct windows *windows = pass->windows;

    *measure = (struct measure){.program = program, .plan_count = pass->plan_count};
    if (!make_tables(measure))
        return no_memory(error);
    measure->threads = windows_threads(windows);
    for (uint32_t i = 0; i < program->ref_count; i++) {
        measure->total += windows_accesses(windows, i);
        measure->accesses[i] = (double)windows_accesses(windows, i);
        if (measure->accesses[i] > 0)
            measure->bytes[i] = pass->bytes[i] / measure->accesses[i];
        measure->memory[i] = pattern_memory(pass->pattern, i);
        measure->partners[i] = pattern_partner(pass->pattern, i);
        measure->pages[i] = (double)pages_of(pass->pages, i).pages;
        measure->fresh[i] = (double)pages_of(pass->pages, i).fresh;
    }
    for (uint32_t i = 0; i < program->block_count; i++)
        measure->windows[i] = (double)windows_count(windows, i);
    take_blocks(measure);
    if (profile)
        take_loops(measure, profile);
    for (size_t i = 0; i < (size_t)program->loop_count * PSNAP_OPERATION_COUNT; i++)
        measure->has_operations |= measure->operations[i] > 0;
    for (uint32_t i = 0; i < program->block_count && program->block_count > 1 && !profile; i++)
        measure->has_block_counts |= measure->executions[i] > 0;
    for (uint32_t i = 0; i < program->block_count; i++)
        measure->mispredictions[i] = (double)windows_mispredictions(windows, i);
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
    struct psnap_sink *sink = measure_sink_new(source->program, options, error);
    enum psnap_status status = sink ? psnap_pump(source, sink, NULL, error) : error->code;

    *measure = (struct measure){.program = source->program};
    if (!status)
        status = measure_take(measure, sink, profile, error);
    psnap_sink_free(sink);
    return status;
}

void measure_scale(struct measure *measure, const double *factors)
{
    const struct psnap_program *program = measure->program;
    const uint32_t loops = program->loop_count;

    for (uint32_t ref = 0; ref < program->ref_count; ref++) {
        const double factor =
            factors[program->refs[ref].loop < loops ? program->refs[ref].loop : loops];
        measure->accesses[ref] *= factor;
        measure->pages[ref] *= factor;
        measure->fresh[ref] *= factor;
    }
    for (uint32_t block = 0; block < program->block_count; block++)
        measure->mispredictions[block] *=
            factors[program->blocks[block].loop < loops ? program->blocks[block].loop : loops];
}

void measure_part(struct measure *measure, const struct psnap_profile *profile)
{
    const struct psnap_program *program = measure->program;

    for (uint32_t i = 0; i < profile->loop_count; i++) {
        double share = 0;
        for (uint32_t ref = 0; ref < program->ref_count && profile->loops[i].accesses; ref++)
            if (program->refs[ref].loop == i)
                share += measure->accesses[ref] / (double)profile->loops[i].accesses;
        for (size_t op = 0; op < PSNAP_OPERATION_COUNT; op++)
            measure->operations[i * PSNAP_OPERATION_COUNT + op] *= share;
        measure->iterations[i] *= share;
        measure->entries[i] *= share;
    }
}

void measure_release(struct measure *measure)
{
    const size_t refs = measure->distances ? measure->program->ref_count : 0;

    for (size_t i = 0; i < refs * measure->plan_count; i++)
        psnap_distances_free(measure->distances[i]);
    free(measure->distances);
    free(measure->accesses);
    free(measure->bytes);
    free(measure->pages);
    free(measure->fresh);
    free(measure->patterns);
    free(measure->partners);
    free(measure->memory);
    free(measure->executions);
    free(measure->windows);
    free(measure->mispredictions);
    free(measure->operations);
    free(measure->iterations);
    free(measure->entries);
    free(measure->transitions);
    *measure = (struct measure){0};
}
