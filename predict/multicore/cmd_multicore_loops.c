/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Run times of sections from those of loops: what psnap predict runtime makes of a loop
 * (predict/amm/runtime.c has the equations), with the hit rates that the loop's references have on
 * so many cores. A section takes of each loop's time its share of the loop, which is that of the
 * loop's function, and of that the part that its busiest core has of the section's accesses:
 *
 *     T(section) = busiest / accesses * sum over loops of weight(section, loop) T(loop)
 *
 * T(loop) is of the accesses that the sequential run makes in it, so that busiest / accesses is 1
 * where every core does all of them. One core keeps `effective_bytes` of a level that many share;
 * n of these cores keep n times that.
 */
#include <math.h>
#include <stdlib.h>

#include "predict/amm/cmd_runtime_work.h"
#include "predict/multicore/cmd_multicore_pass.h"

/* Where hit rates of references are. */
struct rates {
    const struct multicore *study;
    const struct pass *pass;
    size_t machine;
};

/* runtime_settings.hit_rate */
static double hit_rate(const void *context, uint32_t ref, uint32_t l)
{
    const struct rates *rates = context;
    const struct psnap_cache_level *level = &rates->study->machines[rates->machine].levels[l];
    uint64_t bytes = level->size_bytes;

    if (level->effective_bytes) {
        const uint64_t kept = level->effective_bytes * pass_share(level, rates->pass->cores);
        bytes = kept < bytes ? kept : bytes;
    } else if (rates->study->timed == MULTICORE_SIM) {
        return pass_simulated(rates->pass, rates->machine, l, PSNAP_VIEW_REF, ref);
    } else if (rates->study->timed == MULTICORE_SETS) {
        return pass_sets(rates->pass, level, PSNAP_VIEW_REF, ref);
    }
    return pass_sdcm(rates->pass, level, bytes / level->line_bytes, PSNAP_VIEW_REF, ref);
}

/* Of each loop, what the sequential run has of its accesses in proportion to what all cores make;
 * 1 of what is in no loop. The caller frees it; NULL: out of memory. */
static double *factors_of(const struct measure *measure, const struct pass *pass)
{
    const struct psnap_program *program = measure->program;
    const uint32_t loops = program->loop_count;
    double *factors = calloc((size_t)loops + 1, sizeof *factors);
    double *made = calloc((size_t)loops + 1, sizeof *made);
    size_t count;
    const struct psnap_section *sections = psnap_mimic_sections(pass->mimic, &count);

    if (factors && made) {
        for (size_t s = 0; s < count; s++)
            for (uint32_t l = 0; l < sections[s].loop_count && l < loops; l++)
                factors[l] += (double)sections[s].loop_accesses[l];
        for (uint32_t ref = 0; ref < program->ref_count; ref++)
            if (program->refs[ref].loop < loops)
                made[program->refs[ref].loop] += measure->accesses[ref];
        for (uint32_t l = 0; l <= loops; l++)
            factors[l] = made[l] > 0 ? factors[l] / made[l] : 1;
    }
    if (!made) {
        free(factors);
        factors = NULL;
    }
    free(made);
    return factors;
}

static enum psnap_status scale(struct measure *measure, const struct pass *pass,
                               struct psnap_error *error)
{
    double *factors = factors_of(measure, pass);

    if (!factors)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for run times");
    measure_scale(measure, factors);
    free(factors);
    return PSNAP_OK;
}

/* Adds what a loop takes to the sections that it is of; `loop` loops: code in no loop. */
static void add_loop(const struct multicore *study, const struct multicore_run *run, size_t m,
                     const struct runtime_seconds *seconds, uint32_t loop, uint32_t loops)
{
    for (size_t s = 0; s < study->tasks.count; s++) {
        const struct task *task = &study->tasks.tasks[s];
        struct multicore_row *row = multicore_row(study, run, m, s);
        const double weight = loop < loops ? study->weights[s * loops + loop] : s == 0;

        if (task->accesses && row->accesses)
            runtime_add_seconds(&row->seconds, *seconds,
                                weight * (double)row->busiest / (double)task->accesses);
    }
}

static enum psnap_status time_machine(const struct multicore *study, const struct pass *pass,
                                      const struct multicore_run *run, size_t m,
                                      const struct target *target, struct psnap_error *error)
{
    const uint32_t loops = target->base->program->loop_count;
    const struct rates rates = {study, pass, m};
    const struct runtime_settings settings = {
        .machine = &study->machines[m],
        .hit_rate = hit_rate,
        .rates = &rates,
        .mca = study->assembly->count ? &study->mca : NULL,
    };
    struct runtime_work *work = runtime_work_of(target, &settings);
    enum psnap_status status;

    if (!work)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for run times");
    status = runtime_work_check(work, loops, study->time, settings.machine, error);
    if (status)
        multicore_lacks(error);
    for (uint32_t l = 0; l <= loops && !status; l++) {
        const struct runtime_seconds seconds =
            runtime_predict(settings.machine, &work[l], study->time, settings.reading);
        add_loop(study, run, m, &seconds, l, loops);
    }
    free(work);
    return status;
}

enum psnap_status multicore_time_loops(struct multicore *study, const struct pass *pass,
                                       const struct multicore_run *run, struct psnap_error *error)
{
    struct measure measure;
    struct target target = {0};
    enum psnap_status status = measure_take(&measure, pass->loops, pass->profile, error);

    if (!status)
        status = scale(&measure, pass, error);
    if (!status)
        status = target_same(&target, &measure, error);
    if (!status && study->assembly->count && !study->mca.cycles)
        status = mca_measure(&study->mca, study->assembly, study->cpu, measure.program,
                             measure.iterations, error);
    for (size_t m = 0; m < study->machine_count && !status; m++)
        status = time_machine(study, pass, run, m, &target, error);
    target_release(&target);
    measure_release(&measure);
    return status;
}
