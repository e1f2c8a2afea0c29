/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What sections do beside accesses, which a stream does not say: what a loop does and takes is
 * divided among sections by how many accesses its function makes in each.
 */
#include <stdlib.h>

#include "predict/multicore/cmd_multicore.h"
#include "profile/profile.h"

/* The function that a loop is in. */
static uint32_t function_of(const struct psnap_program *program, uint32_t loop)
{
    while (program->loops[loop].parent != PSNAP_NONE)
        loop = program->loops[loop].parent;
    return loop;
}

/* Shares of functions in sections by accesses; a function that has none is as all of them. */
static double *weigh_functions(const struct psnap_program *program,
                               const struct psnap_section *sections, size_t count)
{
    const size_t loops = program->loop_count;
    double *weights = calloc(count * loops + 1, sizeof *weights), all = 0;

    for (size_t s = 0; s < count && weights; s++) {
        for (uint32_t l = 0; l < sections[s].loop_count && l < loops; l++)
            weights[s * loops + function_of(program, l)] += (double)sections[s].loop_accesses[l];
        all += (double)sections[s].accesses;
    }
    for (size_t l = 0; l < loops && weights; l++) {
        double sum = 0;
        for (size_t s = 0; s < count; s++)
            sum += weights[s * loops + l];
        for (size_t s = 0; s < count && all > 0; s++)
            weights[s * loops + l] =
                sum > 0 ? weights[s * loops + l] / sum : (double)sections[s].accesses / all;
    }
    return weights;
}

/* The same of all loops, which have that of their functions. */
static double *weigh(const struct psnap_program *program, const struct psnap_section *sections,
                     size_t count)
{
    const uint32_t loops = program->loop_count;
    double *weights = weigh_functions(program, sections, count);

    for (size_t s = 0; s < count && weights; s++)
        for (uint32_t l = 0; l < loops; l++) /* a function is itself */
            weights[s * loops + l] = weights[s * loops + function_of(program, l)];
    return weights;
}

/* Adds operations of a loop to sections. */
static void spread(struct tasks *tasks, const double *weights, const struct psnap_program *program,
                   uint32_t loop, int op, double count)
{
    for (size_t s = 0; s < tasks->count && count > 0; s++)
        tasks->tasks[s].operations[op] += weights[s * program->loop_count + loop] * count;
}

/* Of a trace its blocks have operations, of a profile (or NULL) its loops. */
static void share_operations(struct tasks *tasks, const double *weights,
                             const struct psnap_program *program,
                             const struct psnap_profile *profile)
{
    for (uint32_t b = 0; b < program->block_count; b++) {
        const struct psnap_block *block = &program->blocks[b];
        for (int op = 0; op < PSNAP_OPERATION_COUNT; op++)
            spread(tasks, weights, program, block->loop, op,
                   (double)block->executions * block->operations[op]);
    }
    for (uint32_t l = 0; profile && l < profile->loop_count && l < program->loop_count; l++)
        for (int op = 0; op < PSNAP_OPERATION_COUNT; op++)
            spread(tasks, weights, program, l, op, (double)profile->loops[l].operations[op]);
}

double *multicore_share(struct tasks *tasks, const struct psnap_program *program,
                        const struct psnap_profile *profile, const struct psnap_section *sections)
{
    double *weights = weigh(program, sections, tasks->count);

    if (weights)
        share_operations(tasks, weights, program, profile);
    return weights;
}

bool multicore_has_order(const struct psnap_profile *profile, const char *path,
                         struct psnap_error *error)
{
    if (!profile || profile->stream)
        return true;
    return !psnap_error_set(error, PSNAP_ERROR_VALUE,
                            "'%s' is a profile of model psnap, which does not say in which order "
                            "marks come: record one of model nests, or a trace",
                            path);
}
