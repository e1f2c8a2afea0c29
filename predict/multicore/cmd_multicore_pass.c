/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A pass over the mimicked stream (cmd_multicore_pass.h). Levels of all machines that agree in
 * lines, sets and sharing have their distances in common.
 */
#include "predict/multicore/cmd_multicore_pass.h"

#include <math.h>

#include "predict/amm/measure.h"
#include "profile/profile.h"

static enum psnap_status no_memory(struct psnap_error *error)
{
    return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for the prediction");
}

uint32_t pass_share(const struct psnap_cache_level *level, uint32_t cores)
{
    const uint32_t share = level->shared_by ? level->shared_by : 1;

    return share < cores ? share : cores;
}

/* Where a level's distances are, among all lines (`sets` 0) or within sets; the number of stacks if
 * there are none. */
static size_t find_stacks(const struct pass *pass, const struct psnap_cache_level *level,
                          uint64_t sets)
{
    size_t i = 0;

    while (i < pass->count &&
           (pass->stacks[i].line_bytes != level->line_bytes || pass->stacks[i].sets != sets ||
            pass->stacks[i].share != pass_share(level, pass->cores)))
        i++;
    return i;
}

static void plan_stacks(struct pass *pass, const struct psnap_cache_level *level, uint64_t sets)
{
    const size_t i = find_stacks(pass, level, sets);

    if (i == pass->count)
        pass->stacks[pass->count++] = (struct pass_stacks){
            .line_bytes = level->line_bytes, .sets = sets, .share = pass_share(level, pass->cores)};
    if (pass->stacks[i].ways < level->ways)
        pass->stacks[i].ways = level->ways;
}

static enum psnap_status tag(void *context, const struct psnap_access *block, size_t n,
                             uint32_t *rows, struct psnap_error *error)
{
    const uint32_t section = psnap_mimic_section(context);

    (void)block;
    (void)error;
    for (size_t i = 0; i < n; i++)
        rows[i] = section;
    return PSNAP_OK;
}

/* Makes the pass's sinks, for the levels of all machines. */
static enum psnap_status plan(struct pass *pass, const struct multicore *study,
                              struct psnap_error *error)
{
    const struct psnap_program *program = pass->mimic->program;
    const struct psnap_sim_options options = {
        .tagger = tag, .tagger_context = pass->mimic, .cores = pass->cores};
    const struct measure_options counts = {.rate = 1};

    for (size_t m = 0; m < study->machine_count; m++)
        for (uint32_t l = 0; l < study->machines[m].level_count; l++) {
            const struct psnap_cache_level *level = &study->machines[m].levels[l];
            plan_stacks(pass, level, 0);
            if (study->methods[MULTICORE_SETS] && level->sets > 1)
                plan_stacks(pass, level, level->sets);
        }
    for (size_t i = 0; i < pass->count; i++) {
        struct pass_stacks *stacks = &pass->stacks[i];
        const struct psnap_reuse_options reuse = {.line_bytes = stacks->line_bytes,
                                                  .sets = stacks->sets,
                                                  .ways = stacks->ways,
                                                  .tagger = tag,
                                                  .tagger_context = pass->mimic};
        stacks->reuse = psnap_reuse_new(program, &reuse, error);
        if (!stacks->reuse)
            return error->code;
        stacks->groups = psnap_groups_new(stacks->reuse, stacks->share);
        if (!stacks->groups)
            return no_memory(error);
    }
    if (study->methods[MULTICORE_SIM]) {
        pass->sim = psnap_sim_new(study->machines, study->machine_count, program, &options, error);
        if (!pass->sim)
            return error->code;
    }
    if (study->by_loops)
        pass->loops = measure_sink_new(program, &counts, error);
    return study->by_loops && !pass->loops ? error->code : PSNAP_OK;
}

static enum psnap_status pump(struct pass *pass, struct psnap_error *error)
{
    struct psnap_sink *sinks[PASS_STACKS_MAX + 2], *tee;
    size_t count = 0;
    enum psnap_status status;

    for (size_t i = 0; i < pass->count; i++)
        sinks[count++] = pass->stacks[i].groups;
    if (pass->sim)
        sinks[count++] = pass->sim;
    if (pass->loops)
        sinks[count++] = pass->loops;
    tee = psnap_tee_sink_new(sinks, count);
    status = tee ? psnap_pump(pass->mimic, tee, NULL, error) : no_memory(error);
    psnap_sink_free(tee);
    return status;
}

enum psnap_status pass_run(struct pass *pass, const struct multicore *study, uint32_t cores,
                           bool is_again, struct psnap_error *error)
{
    struct psnap_mimic_options mimic = study->mimic;
    struct psnap_input_options input = study->input;
    struct psnap_source *source;
    enum psnap_status status;

    *pass = (struct pass){.cores = cores};
    mimic.cores = cores;
    input.is_again = is_again;
    input.kept = &pass->profile;
    source = psnap_input_open(study->from, &input, error);
    if (source && !multicore_has_order(pass->profile, study->path, error)) {
        psnap_source_free(source);
        source = NULL;
    }
    pass->mimic = source ? psnap_mimic_new(source, &mimic, error) : NULL;
    status = pass->mimic ? plan(pass, study, error) : error->code;
    return status ? status : pump(pass, error);
}

void pass_release(struct pass *pass)
{
    for (size_t i = 0; i < pass->count; i++) {
        psnap_sink_free(pass->stacks[i].groups);
        psnap_sink_free(pass->stacks[i].reuse);
    }
    psnap_sink_free(pass->sim);
    psnap_sink_free(pass->loops);
    psnap_source_free(pass->mimic);
    psnap_profile_free(pass->profile);
}

/* ---------------------------------------------------------------------- rates */

double pass_sdcm(const struct pass *pass, const struct psnap_cache_level *level, uint64_t lines,
                 enum psnap_view view, uint32_t row)
{
    const struct pass_stacks *stacks = &pass->stacks[find_stacks(pass, level, 0)];
    const struct psnap_distances *distances = psnap_reuse_row(stacks->reuse, view, row);

    return distances ? psnap_sdcm_hit_rate(distances, level->ways, lines) : NAN;
}

double pass_sets(const struct pass *pass, const struct psnap_cache_level *level,
                 enum psnap_view view, uint32_t row)
{
    const uint64_t sets = level->sets > 1 ? level->sets : 0;
    const struct pass_stacks *stacks = &pass->stacks[find_stacks(pass, level, sets)];
    const struct psnap_distances *distances = psnap_reuse_row(stacks->reuse, view, row);

    return distances ? psnap_distances_hit_rate(distances, level->ways) : NAN;
}

double pass_simulated(const struct pass *pass, size_t m, uint32_t l, enum psnap_view view,
                      uint32_t row)
{
    struct psnap_tally tally = {0};

    psnap_sim_add(pass->sim, m, view, row, &tally);
    return psnap_tally_cumulative(&tally, l);
}
