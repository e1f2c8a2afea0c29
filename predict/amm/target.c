/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Larger inputs by AMM (Chennupati et al.): P(D) = sum over blocks of P(BB) P(D | BB), with the
 * small input's P(D | BB) and the larger one's P(BB). The paper weights blocks by their executions;
 * here each execution counts for the accesses that it makes, which is P(D) of an access.
 */
#include "predict/amm/target.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static enum psnap_status no_memory(struct psnap_error *error)
{
    return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for the larger input");
}

static enum psnap_status target_begin(struct target *target, const struct measure *base,
                                      struct psnap_error *error)
{
    const struct psnap_program *program = base->program;
    const size_t loops = program->loop_count + (size_t)1;

    *target = (struct target){.base = base};
    target->accesses = calloc(program->ref_count + (size_t)1, sizeof *target->accesses);
    target->operations = calloc(loops * PSNAP_OPERATION_COUNT, sizeof *target->operations);
    target->iterations = calloc(loops, sizeof *target->iterations);
    target->entries = calloc(loops, sizeof *target->entries);
    return target->accesses && target->operations && target->iterations && target->entries
               ? PSNAP_OK
               : no_memory(error);
}

void target_release(struct target *target)
{
    free(target->accesses);
    free(target->operations);
    free(target->iterations);
    free(target->entries);
    *target = (struct target){0};
}

/* -------------------------------------------------------------- by executions */

enum psnap_status target_same(struct target *target, const struct measure *base,
                              struct psnap_error *error)
{
    const struct psnap_program *program = base->program;
    const enum psnap_status status = target_begin(target, base, error);

    for (uint32_t i = 0; i < program->ref_count && !status; i++)
        target->accesses[i] = base->accesses[i];
    for (uint32_t i = 0; i < program->loop_count && !status; i++) {
        target->iterations[i] = base->iterations[i];
        target->entries[i] = base->entries[i];
        for (size_t op = 0; op < PSNAP_OPERATION_COUNT; op++)
            target->operations[i * PSNAP_OPERATION_COUNT + op] =
                base->operations[i * PSNAP_OPERATION_COUNT + op];
    }
    return status;
}

/* By how much a loop's blocks whose executions are known are executed more often; its parent's
 * where none is. ratios[i] is of loop i. */
static double *loop_ratios(const struct measure *base, const double *executions)
{
    const struct psnap_program *program = base->program;
    double *ratios = calloc(program->loop_count + (size_t)1, sizeof *ratios);
    double *before = calloc(program->loop_count + (size_t)1, sizeof *before);

    for (uint32_t b = 0; b < program->block_count && ratios && before; b++) {
        const uint32_t loop = program->blocks[b].loop;
        if (loop >= program->loop_count || !(executions[b] >= 0))
            continue;
        ratios[loop] += executions[b];
        before[loop] += base->executions[b];
    }
    for (uint32_t i = 0; i < program->loop_count && ratios && before; i++)
        ratios[i] = before[i] > 0 ? ratios[i] / before[i] : -1;
    for (uint32_t i = 0; i < program->loop_count && ratios && before; i++) {
        uint32_t at = i;
        while (at < program->loop_count && !(ratios[at] >= 0))
            at = program->loops[at].parent;
        if (!(ratios[i] >= 0))
            ratios[i] = at < program->loop_count ? ratios[at] : 1;
    }
    if (!before) {
        free(ratios);
        ratios = NULL;
    }
    free(before);
    return ratios;
}

enum psnap_status target_executions(struct target *target, const struct measure *base,
                                    const double *executions, struct psnap_error *error)
{
    const struct psnap_program *program = base->program;
    double *ratios, *known;
    enum psnap_status status = target_begin(target, base, error);

    if (status)
        return status;
    ratios = loop_ratios(base, executions);
    known = calloc(program->block_count + (size_t)1, sizeof *known);
    for (uint32_t b = 0; b < program->block_count && ratios && known; b++) {
        const struct psnap_block *block = &program->blocks[b];
        known[b] = executions[b] >= 0                  ? executions[b]
                   : block->loop < program->loop_count ? base->executions[b] * ratios[block->loop]
                                                       : base->executions[b];
        for (size_t op = 0; op < PSNAP_OPERATION_COUNT && block->loop < program->loop_count; op++)
            target->operations[block->loop * PSNAP_OPERATION_COUNT + op] +=
                known[b] * block->operations[op];
    }
    for (uint32_t i = 0; i < program->ref_count && ratios && known; i++) {
        const uint32_t b = program->refs[i].block;
        if (base->executions[b] > 0)
            target->accesses[i] = base->accesses[i] * known[b] / base->executions[b];
        else
            target->unknown += known[b];
    }
    for (uint32_t i = 0; i < program->loop_count && ratios && known; i++) {
        if (program->loops[i].header < program->block_count)
            target->iterations[i] = known[program->loops[i].header];
        if (program->loops[i].entry < program->block_count)
            target->entries[i] = known[program->loops[i].entry];
    }
    status = ratios && known ? PSNAP_OK : no_memory(error);
    free(ratios);
    free(known);
    return status;
}

/* ------------------------------------------------------------- another measure */

static bool is_same_program(const struct measure *a, const struct measure *b)
{
    const struct psnap_program *x = a->program, *y = b->program;

    if (x->block_count != y->block_count || x->ref_count != y->ref_count ||
        x->loop_count != y->loop_count)
        return false;
    for (uint32_t i = 0; i < x->loop_count; i++)
        if (strcmp(x->loops[i].id, y->loops[i].id) != 0)
            return false;
    for (uint32_t i = 0; i < x->ref_count; i++)
        if (x->refs[i].block != y->refs[i].block)
            return false;
    return true;
}

static bool are_known(const char *a, const char *b)
{
    return a && b && *a && *b;
}

/*
 * A block of one program says nothing of another's. One build is one program; of two builds, or
 * where they are not known, the name must be the same, and blocks be alike.
 */
static enum psnap_status check_program(const struct measure *base, const struct measure *large,
                                       struct psnap_error *error)
{
    const struct psnap_provenance *a = &base->program->provenance;
    const struct psnap_provenance *b = &large->program->provenance;
    const bool is_build = are_known(a->build_id, b->build_id) && !strcmp(a->build_id, b->build_id);

    if (!is_build && are_known(a->name, b->name) && strcmp(a->name, b->name) != 0)
        return psnap_error_set(error, PSNAP_ERROR_VALUE,
                               "the larger input is of another program, '%.60s' instead of "
                               "'%.60s': record it with the program of INPUT",
                               b->name, a->name);
    if (!is_same_program(base, large))
        return psnap_error_set(error, PSNAP_ERROR_VALUE,
                               "the larger input is of another build of the program, which has "
                               "other blocks: record both inputs with the same build");
    return PSNAP_OK;
}

#define UNKNOWN_SHARE_MAX 0.1

/* What is left out must be little beside what is predicted. */
static enum psnap_status check_unknown(const struct target *target, struct psnap_error *error)
{
    double known = 0;

    for (uint32_t i = 0; i < target->base->program->ref_count; i++)
        known += target->accesses[i];
    if (target->unknown <= UNKNOWN_SHARE_MAX * (known + target->unknown))
        return PSNAP_OK;
    return psnap_error_set(error, PSNAP_ERROR_VALUE,
                           "%.0f %% of the larger input's accesses are of blocks that "
                           "INPUT did not execute: it is of another program, or of other "
                           "arguments; record both with the same build, and an INPUT that does "
                           "all that the larger one does",
                           100 * target->unknown / (known + target->unknown));
}

enum psnap_status target_at(struct target *target, const struct measure *base,
                            const struct measure *large, struct psnap_error *error)
{
    enum psnap_status status = check_program(base, large, error);

    *target = (struct target){.base = base};
    if (status)
        return status;
    status = target_executions(target, base, large->executions, error);
    return status ? status : check_unknown(target, error);
}

/* ------------------------------------------------------------------ hit rates */

double target_hit_rate(const struct target *target, size_t plan, bool per_set, uint32_t ref,
                       uint64_t ways, uint64_t lines)
{
    const size_t at = plan * target->base->program->ref_count + ref;
    const struct psnap_distances *distances = target->base->distances[at];

    if (!distances)
        return NAN;
    return per_set ? psnap_distances_hit_rate(distances, ways)
                   : psnap_sdcm_hit_rate(distances, ways, lines);
}

double target_growth(const struct target *target, uint32_t block)
{
    const struct psnap_program *program = target->base->program;
    double before = 0, after = 0;

    for (uint32_t ref = 0; ref < program->ref_count; ref++)
        if (program->refs[ref].block == block) {
            before += target->base->accesses[ref];
            after += target->accesses[ref];
        }
    return before > 0 ? after / before : 1;
}

double target_ref_growth(const struct target *target, uint32_t ref)
{
    const double before = target->base->accesses[ref];

    return before > 0 ? target->accesses[ref] / before : 1;
}

void target_distances(const struct target *target,
                      void (*each)(void *context, uint64_t distance, double accesses),
                      void *context)
{
    for (uint32_t ref = 0; ref < target->base->program->ref_count; ref++) {
        const struct psnap_distances *distances = target->base->distances[ref];
        struct psnap_distance_count count = {0};
        double scale;

        if (!distances)
            continue;
        scale = target->accesses[ref] / (double)psnap_distances_accesses(distances);
        each(context, PSNAP_DISTANCE_COLD, scale * (double)psnap_distances_cold(distances));
        while (psnap_distances_next(distances, &count))
            each(context, count.distance, scale * (double)count.count);
    }
}
