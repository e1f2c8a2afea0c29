/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What sections do beside accesses, which a stream does not say: a loop's operations, and what its
 * code takes by its assembly, are divided among sections by how many accesses its function makes in
 * each.
 */
#include <math.h>
#include <stdlib.h>

#include "predict/amm/cmd_mca.h"
#include "predict/multicore/cmd_multicore.h"
#include "profile/profile.h"

/* The function that a loop is in. */
static uint32_t function_of(const struct psnap_program *program, uint32_t loop)
{
    while (program->loops[loop].parent != PSNAP_NONE)
        loop = program->loops[loop].parent;
    return loop;
}

/* weights[section * loops + loop]: accesses of sections by function, those of functions that have
 * none as all of them. NULL: out of memory. */
static double *weigh(const struct psnap_program *program, const struct psnap_section *sections,
                     size_t count)
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

/* Adds operations of a loop to sections, by how many accesses its function makes in each. */
static void spread(struct tasks *tasks, const double *weights, const struct psnap_program *program,
                   uint32_t loop, int op, double count)
{
    for (size_t s = 0; s < tasks->count && count > 0; s++)
        tasks->tasks[s].operations[op] +=
            weights[s * program->loop_count + function_of(program, loop)] * count;
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

/* ------------------------------------------------------------------------ code */

static double executions_of(const struct psnap_program *program, uint32_t block)
{
    return block < program->block_count ? (double)program->blocks[block].executions : 0;
}

/* Cycles of all of a loop's iterations on a machine; 0: it has no assembly. */
static double cycles_of(const struct psnap_program *program, uint32_t loop,
                        const struct mca_loops *mca, const struct psnap_machine *machine)
{
    const double iterations = executions_of(program, program->loops[loop].header);
    const double entries = executions_of(program, program->loops[loop].entry);
    const double hidden = mca_hidden(mca, loop, entries > 0 ? iterations / entries : 0);
    const double throughput = mca_throughput(mca, loop, machine);

    if (isnan(throughput))
        return 0;
    return iterations * fmax(throughput, mca_latency(mca, loop, machine).iteration * (1 - hidden));
}

static enum psnap_status share_code(struct multicore *study, const double *weights,
                                    const struct psnap_program *program, struct psnap_error *error)
{
    const size_t sections = study->tasks.count;
    double *iterations = calloc(program->loop_count + (size_t)1, sizeof *iterations);
    struct mca_loops mca = {0};
    enum psnap_status status;

    study->code_cycles = calloc(study->machine_count * sections + 1, sizeof *study->code_cycles);
    if (!iterations || !study->code_cycles) {
        free(iterations);
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for assembly");
    }
    for (uint32_t l = 0; l < program->loop_count; l++)
        iterations[l] = executions_of(program, program->loops[l].header);
    status = mca_measure(&mca, study->assembly, study->cpu, program, iterations, error);
    for (uint32_t l = 0; l < program->loop_count && !status; l++)
        for (size_t m = 0; m < study->machine_count; m++) {
            const double cycles = cycles_of(program, l, &mca, &study->machines[m]);
            for (size_t s = 0; s < sections; s++)
                study->code_cycles[m * sections + s] +=
                    cycles * weights[s * program->loop_count + function_of(program, l)];
        }
    mca_release(&mca);
    free(iterations);
    return status;
}

enum psnap_status multicore_share(struct multicore *study, const struct psnap_program *program,
                                  const struct psnap_profile *profile,
                                  const struct psnap_section *sections, struct psnap_error *error)
{
    double *weights = weigh(program, sections, study->tasks.count);
    enum psnap_status status = PSNAP_OK;

    if (!weights)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for sections");
    share_operations(&study->tasks, weights, program, profile);
    if (study->assembly->count)
        status = share_code(study, weights, program, error);
    free(weights);
    return status;
}
