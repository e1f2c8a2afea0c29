/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The convolver: per loop, hit rates -> bandwidth -> memory time, and the time that units need for
 * its operations.
 *
 *   memory time = accesses * MAP_WORD_BYTES / F(rates)
 *
 * An access counts as one of the benchmark's words whatever its size: a wider one takes as long in
 * level 1, and what it takes beyond is in its hit rates. Times are those of the loops' own rates,
 * and the total's is their sum.
 */
#include "predict/bandwidth/cmd_convolve.h"

#include <math.h>
#include <stdlib.h>

#include "profile/profile.h"
#include "simcore/cmd_turns.h"

struct pass {
    struct convolve_input *input;
    const struct convolve_settings *settings;
    struct psnap_profile *profile; /* NULL: a trace */
};

static enum psnap_status no_memory(struct psnap_error *error)
{
    return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for the prediction");
}

void convolve_release(struct convolve_input *input)
{
    for (size_t i = 0; i < input->count; i++) {
        free(input->rows[i].id);
        free(input->rows[i].name);
    }
    free(input->rows);
    input->rows = NULL;
    input->count = 0;
}

/* ------------------------------------------------------------------------ counts */

static void take_supply(struct convolve_row *row, const struct supply *supply)
{
    supply_add(&row->supply, supply, 1);
    row->accesses = (uint64_t)(supply_total(&row->supply) + 0.5);
}

static void take_operations(const struct pass *pass, const struct psnap_program *program,
                            const struct psnap_grouping *grouping)
{
    struct convolve_row *rows = pass->input->rows;
    uint32_t loop = 0;

    for (uint32_t i = 0; !pass->profile && i < program->block_count; i++) {
        const struct psnap_block *block = &program->blocks[i];
        double *sum = rows[1 + psnap_grouping_loop(grouping, block->loop)].operations;

        for (int op = 0; op < PSNAP_OPERATION_COUNT; op++)
            sum[op] += (double)block->executions * block->operations[op];
    }
    /* the program's loops are the profile's but for threads' parts, in the same order */
    for (uint32_t i = 0; pass->profile && i < pass->profile->loop_count; i++) {
        const struct psnap_profile_loop *from = &pass->profile->loops[i];

        if (from->whole != PSNAP_NONE || loop >= program->loop_count)
            continue;
        for (int op = 0; op < PSNAP_OPERATION_COUNT; op++)
            rows[1 + psnap_grouping_loop(grouping, loop)].operations[op] +=
                (double)from->operations[op];
        loop++;
    }
}

static enum psnap_status take_rows(const struct pass *pass, const struct psnap_sink *sink,
                                   const struct psnap_program *program, struct psnap_error *error)
{
    struct convolve_input *input = pass->input;
    struct psnap_grouping grouping;
    bool fits = psnap_grouping_init(&grouping, PSNAP_SCOPE_LOOP, program, program->ref_count, NULL);

    if (fits)
        input->rows = calloc(grouping.row_count + (size_t)1, sizeof *input->rows);
    fits = fits && input->rows;
    input->count = fits ? grouping.row_count + (size_t)1 : 0;
    for (uint32_t i = 0; fits && i < grouping.row_count; i++)
        fits = psnap_grouping_name(&grouping, i, &input->rows[1 + i].id, &input->rows[1 + i].name);
    for (uint32_t loop = 0; fits && loop < program->loop_count; loop++) {
        struct supply supply;

        supply_of_loop(sink, loop, &supply);
        take_supply(&input->rows[1 + psnap_grouping_loop(&grouping, loop)], &supply);
    }
    if (fits)
        take_operations(pass, program, &grouping);
    psnap_grouping_release(&grouping);
    return fits ? PSNAP_OK : no_memory(error);
}

static enum psnap_status run(void *context, struct psnap_source *source, struct psnap_error *error)
{
    struct pass *pass = context;
    struct psnap_sink *sink;
    enum psnap_status status;

    convolve_release(pass->input);
    sink = supply_sink_new(&pass->settings->fits->machine, source->program, 0, error);
    if (!sink)
        return error->code;
    status = psnap_pump(source, sink, NULL, error);
    if (!status)
        status = take_rows(pass, sink, source->program, error);
    psnap_sink_free(sink);
    return status;
}

/* ------------------------------------------------------------------------- times */

/* What units need for a row's operations, if none waits for another. */
static double compute_seconds(const struct convolve_row *row, const struct psnap_machine *costs)
{
    double cycles = 0;

    if (!costs)
        return NAN;
    for (int op = 0; op < PSNAP_OPERATION_COUNT; op++) {
        const bool is_floating = op >= PSNAP_OP_FP_ADD && op <= PSNAP_OP_FP_MATH;

        cycles += is_floating ? row->operations[op] * costs->operations[op].throughput_cycles : 0;
    }
    return cycles / costs->clock_hz;
}

static void predict(struct convolve_input *input, const struct convolve_settings *settings)
{
    const struct fits *fits = settings->fits;
    struct convolve_row *total = &input->rows[0];

    for (size_t i = 1; i < input->count; i++) {
        struct convolve_row *row = &input->rows[i];

        for (size_t k = 0; row->accesses && k < fits->count; k++) {
            row->memory_seconds[k] = (double)row->accesses * MAP_WORD_BYTES /
                                     bandwidth_of(&fits->results[k].model, &row->supply);
            total->memory_seconds[k] += row->memory_seconds[k];
        }
        row->compute_seconds = compute_seconds(row, settings->costs);
        take_supply(total, &row->supply);
        total->compute_seconds += row->compute_seconds;
        for (int op = 0; op < PSNAP_OPERATION_COUNT; op++)
            total->operations[op] += row->operations[op];
    }
}

enum psnap_status convolve_input(struct convolve_input *input,
                                 const struct convolve_settings *settings,
                                 struct psnap_error *error)
{
    struct pass pass = {.input = input, .settings = settings};
    struct psnap_input_options options = settings->input;
    bool in_turn;
    enum psnap_status status;

    options.kept = &pass.profile;
    status = psnap_turns_pass(input->path, &options, false, run, &pass, &in_turn, error);
    psnap_profile_free(pass.profile);
    if (!status)
        predict(input, settings);
    if (!status && !input->rows[0].accesses)
        status = psnap_error_set(error, PSNAP_ERROR_VALUE, "'%.200s' has no accesses", input->path);
    return status;
}
