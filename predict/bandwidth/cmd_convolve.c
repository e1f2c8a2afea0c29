/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The convolver: per loop, hit rates -> bandwidth -> memory time, and the time that units need for
 * its operations.
 *
 *   memory time = (accesses - waits) * MAP_WORD_BYTES / F(their rates) + sum over levels waits_i
 * l_i
 *
 * Waits are loads whose next one needs what they bring (predict/amm's pattern.h), l_i is the
 * latency of chains. Of chains that are n links long a core goes through WINDOW / n at once, as far
 * as it sees their beginnings: n / WINDOW of them wait. An access counts as one of the benchmark's
 * words whatever its size: a wider one takes as long in level 1, and what it takes beyond is in its
 * hit rates. Times are those of the loops' own rates, and the total's is their sum.
 */
#include "predict/bandwidth/cmd_convolve.h"

#include <math.h>
#include <stdlib.h>

#include "predict/amm/measure.h"
#include "profile/profile.h"
#include "simcore/cmd_turns.h"

struct pass {
    struct convolve_input *inputs; /* by each fit */
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

/* Accesses that a core has under way: some hundred instructions, of which chains have a few each. A
 * choice that was not varied in a measurement. */
#define WINDOW 64

/* The share of a reference's accesses that the core waits for. Of a program whose blocks are not
 * known, as of most other tools' traces, none is: random words may be a chain or may be not. */
static double waiting(const struct measure *measure, uint32_t ref)
{
    const uint32_t loop = measure->program->refs[ref].loop;
    const bool is_counted = loop < measure->program->loop_count && measure->entries[loop] > 0;
    const double links = is_counted ? measure->iterations[loop] / measure->entries[loop] : WINDOW;

    return measure->has_operations && measure->patterns[ref] == RUNTIME_DEPENDENT
               ? fmin(links / WINDOW, 1)
               : 0;
}

static void take_ref(struct convolve_row *row, const struct supply *supply, double share)
{
    supply_add(&row->supply, supply, 1);
    supply_add(&row->waits, supply, share);
}

static enum psnap_status take_rows(struct convolve_input *input, const struct measure *measure,
                                   const struct psnap_sink *rates, bool has_latencies,
                                   struct psnap_error *error)
{
    const struct psnap_program *program = measure->program;
    struct psnap_grouping grouping;
    bool fits = psnap_grouping_init(&grouping, PSNAP_SCOPE_LOOP, program, program->ref_count, NULL);

    if (fits)
        input->rows = calloc(grouping.row_count + (size_t)1, sizeof *input->rows);
    fits = fits && input->rows;
    input->count = fits ? grouping.row_count + (size_t)1 : 0;
    for (uint32_t i = 0; fits && i < grouping.row_count; i++)
        fits = psnap_grouping_name(&grouping, i, &input->rows[1 + i].id, &input->rows[1 + i].name);
    for (uint32_t ref = 0; fits && ref < program->ref_count; ref++) {
        struct supply supply;

        supply_of_ref(rates, ref, &supply);
        take_ref(&input->rows[1 + psnap_grouping_row(&grouping, ref)], &supply,
                 has_latencies ? waiting(measure, ref) : 0);
    }
    for (uint32_t loop = 0; fits && loop < program->loop_count; loop++)
        for (size_t op = 0; op < PSNAP_OPERATION_COUNT; op++)
            input->rows[1 + psnap_grouping_loop(&grouping, loop)].operations[op] +=
                measure->operations[loop * PSNAP_OPERATION_COUNT + op];
    psnap_grouping_release(&grouping);
    return fits ? PSNAP_OK : no_memory(error);
}

static enum psnap_status run(void *context, struct psnap_source *source, struct psnap_error *error)
{
    struct pass *pass = context;
    const struct fits *fits = pass->settings->fits;
    const size_t count = pass->settings->count;
    const struct measure_options counts = {.rate = 1};
    struct psnap_sink **sinks = calloc(count + 1, sizeof *sinks); /* rates of each fit, counts */
    struct psnap_sink *tee = NULL;
    struct measure measure = {.program = source->program};
    enum psnap_status status = sinks ? PSNAP_OK : no_memory(error);

    for (size_t i = 0; i <= count && !status; i++) {
        sinks[i] = i < count ? supply_sink_new(&fits[i].machine, source->program, 0, error)
                             : measure_sink_new(source->program, &counts, error);
        status = sinks[i] ? PSNAP_OK : error->code;
    }
    if (!status)
        tee = psnap_tee_sink_new(sinks, count + 1);
    if (!status)
        status = tee ? psnap_pump(source, tee, NULL, error) : no_memory(error);
    if (!status)
        status = measure_take(&measure, sinks[count], pass->profile, error);
    for (size_t i = 0; i < count && !status; i++) {
        convolve_release(&pass->inputs[i]);
        status = take_rows(&pass->inputs[i], &measure, sinks[i], fits[i].latencies[0] > 0, error);
    }
    measure_release(&measure);
    psnap_sink_free(tee);
    for (size_t i = 0; sinks && i <= count; i++)
        psnap_sink_free(sinks[i]);
    free(sinks);
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

/* By one fit. */
static double memory_seconds(const struct convolve_row *row, const struct fits *fits, size_t result)
{
    struct supply flow = row->supply;
    double seconds = 0, accesses;

    supply_add(&flow, &row->waits, -1);
    accesses = supply_total(&flow);
    if (accesses > 0)
        seconds = accesses * MAP_WORD_BYTES / bandwidth_of(&fits->results[result].model, &flow);
    for (uint32_t level = 0; level <= fits->machine.level_count; level++)
        for (int kind = 0; kind < SUPPLY_KINDS; kind++)
            seconds += row->waits.accesses[level][kind] * fits->latencies[level];
    return seconds;
}

static void predict(struct convolve_input *input, const struct fits *fits,
                    const struct psnap_machine *costs)
{
    struct convolve_row *total = &input->rows[0];

    for (size_t i = 1; i < input->count; i++) {
        struct convolve_row *row = &input->rows[i];

        row->accesses = (uint64_t)(supply_total(&row->supply) + 0.5);
        for (size_t k = 0; row->accesses && k < fits->count; k++) {
            row->memory_seconds[k] = memory_seconds(row, fits, k);
            total->memory_seconds[k] += row->memory_seconds[k];
        }
        row->compute_seconds = compute_seconds(row, costs);
        total->accesses += row->accesses;
        supply_add(&total->supply, &row->supply, 1);
        supply_add(&total->waits, &row->waits, 1);
        total->compute_seconds += row->compute_seconds;
        for (int op = 0; op < PSNAP_OPERATION_COUNT; op++)
            total->operations[op] += row->operations[op];
    }
}

enum psnap_status convolve_input(struct convolve_input *inputs,
                                 const struct convolve_settings *settings,
                                 struct psnap_error *error)
{
    struct pass pass = {.inputs = inputs, .settings = settings};
    struct psnap_input_options options = settings->input;
    bool in_turn;
    enum psnap_status status;

    options.kept = &pass.profile;
    status = psnap_turns_pass(inputs->path, &options, run, &pass, &in_turn, error);
    psnap_profile_free(pass.profile);
    for (size_t i = 0; i < settings->count && !status; i++)
        predict(&inputs[i], &settings->fits[i], settings->costs ? &settings->costs[i] : NULL);
    if (!status && !inputs->rows[0].accesses)
        status =
            psnap_error_set(error, PSNAP_ERROR_VALUE, "'%.200s' has no accesses", inputs->path);
    return status;
}
