/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The work of each loop for psnap predict runtime: its references' accesses and hit rates, its
 * operations, what its code takes by its assembly, its mispredicted branches and its new pages.
 */
#include "predict/amm/cmd_runtime_work.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In what one core keeps of a level; where that is a part, there are no sets to go by. */
static double hit_rate(const struct target *target, uint32_t ref,
                       const struct runtime_settings *settings, uint32_t l)
{
    const struct psnap_cache_level *level = &settings->machine->levels[l];
    const uint64_t bytes = level->effective_bytes ? level->effective_bytes : level->size_bytes;

    if (settings->hit_rate)
        return settings->hit_rate(settings->rates, ref, l);
    return target_hit_rate(target, settings->plans[l], settings->per_set && !level->effective_bytes,
                           ref, level->ways, bytes / level->line_bytes);
}

/* Lines that level 1 writes back for a store: as many as it misses there, or as the load does that
 * brings them. */
static double written(const struct target *target, uint32_t ref,
                      const struct runtime_settings *settings, double hits)
{
    const uint32_t partner = target->base->partners[ref];

    if (partner == PSNAP_NONE || !(target->accesses[ref] > 0))
        return 0;
    if (partner != ref)
        hits = fmax(hit_rate(target, partner, settings, 0), 0); /* none known: it misses */
    return target->accesses[ref] * (1 - hits);
}

struct runtime_accesses runtime_accesses_of(const struct target *target, uint32_t ref,
                                            const struct runtime_settings *settings)
{
    const struct psnap_machine *machine = settings->machine;
    struct runtime_accesses accesses = {.accesses = target->accesses[ref],
                                        .bytes = target->accesses[ref] * target->base->bytes[ref],
                                        .fresh = target->base->fresh[ref] *
                                                 target_ref_growth(target, ref)};

    for (uint32_t l = 0; l < PSNAP_LEVELS_MAX; l++) {
        double rate = l ? accesses.cumulative[l - 1] : 0;
        if (l < machine->level_count)
            rate = fmax(rate, hit_rate(target, ref, settings, l));
        accesses.cumulative[l] = rate;
    }
    accesses.written = written(target, ref, settings, accesses.cumulative[0]);
    return accesses;
}

/* What an iteration waits for the one before by way of memory: from a load to the store of what the
 * next one loads, or from one that may meet a store to that store's address, which a load tells. */
static double memory_latency(const struct target *target, uint32_t loop,
                             const struct asm_latency *latency, const struct psnap_machine *machine)
{
    const struct measure *base = target->base;
    const struct psnap_program *program = base->program;
    bool meets = false, scatters = false;
    double cycles = 0;

    for (uint32_t ref = 0; ref < program->ref_count; ref++) {
        if (program->refs[ref].loop != loop || !(target->accesses[ref] > 0))
            continue;
        if (base->memory[ref] == PATTERN_CARRIED)
            cycles = latency->store;
        meets |= base->memory[ref] == PATTERN_MEETS;
        scatters |= base->partners[ref] == ref && base->patterns[ref] != RUNTIME_REGULAR;
    }
    return meets && scatters ? fmax(cycles, machine->levels[0].latency_cycles + 1) : cycles;
}

/* What a loop's code takes by its assembly. */
static void take_cycles(struct runtime_work *work, const struct target *target, uint32_t loop,
                        const struct mca_loops *mca, const struct psnap_machine *machine)
{
    const double iterations = target->iterations[loop], entries = target->entries[loop];
    const struct asm_latency latency = mca_latency(mca, loop, machine);
    const double memory = memory_latency(target, loop, &latency, machine);

    work->throughput_cycles = iterations * mca_throughput(mca, loop, machine);
    work->hidden = mca_hidden(mca, loop, entries > 0 ? iterations / entries : 0);
    work->latency_cycles = iterations * fmax(latency.iteration, memory) * (1 - work->hidden);
    work->decision_cycles = latency.decision;
}

/* The pattern of a reference: the assembly knows better what irregular accesses wait for. */
static enum runtime_pattern pattern_of(const struct target *target, uint32_t ref,
                                       const struct mca_loops *mca)
{
    const uint32_t loop = target->base->program->refs[ref].loop;
    const enum runtime_pattern pattern = target->base->patterns[ref];

    if (pattern == RUNTIME_REGULAR || !mca || loop >= target->base->program->loop_count ||
        isnan(mca->cycles[loop].throughput))
        return pattern;
    return mca->waits[loop] ? RUNTIME_DEPENDENT : RUNTIME_IRREGULAR;
}

/* How long a branch has to wait for a load of its block, beyond level 1, that nothing else waits
 * for. */
static double load_wait(const struct target *target, uint32_t ref, double hidden,
                        const struct runtime_settings *settings)
{
    const struct psnap_machine *machine = settings->machine;
    const enum runtime_pattern pattern = pattern_of(target, ref, settings->mca);
    const struct runtime_accesses accesses = runtime_accesses_of(target, ref, settings);
    const double cycles = runtime_effective_cycles(machine, &accesses, false, false) -
                          machine->levels[0].latency_cycles;

    if (target->base->program->refs[ref].kind != PSNAP_LOAD || !(accesses.accesses > 0) ||
        pattern == RUNTIME_REGULAR)
        return 0;
    return pattern == RUNTIME_DEPENDENT ? cycles * hidden : cycles;
}

/*
 * How long a branch behind a block waits, compared with one of what is loaded from level 1, as the
 * machine's mispredict_cycles are: for the slowest of the loads of its block, and by code as long
 * as it takes to decide; if that is less than a load takes, there is no load in it.
 */
static double branch_wait(const struct target *target, uint32_t block,
                          const struct runtime_work *work, const struct runtime_settings *settings)
{
    const struct psnap_program *program = target->base->program;
    const double nearest = settings->machine->levels[0].latency_cycles;
    double wait = 0;

    for (uint32_t ref = 0; ref < program->ref_count; ref++)
        if (program->refs[ref].block == block)
            wait = fmax(wait, load_wait(target, ref, work->hidden, settings));
    if (isnan(work->decision_cycles))
        return wait;
    return work->decision_cycles - (nearest + 1) + (work->decision_cycles < nearest ? 0 : wait);
}

/* Of each loop its pages and its mispredictions. */
static void take_waits(struct runtime_work *work, const struct target *target,
                       const struct runtime_settings *settings)
{
    const struct measure *base = target->base;
    const struct psnap_program *program = base->program;

    for (uint32_t ref = 0; ref < program->ref_count; ref++) {
        const uint32_t loop = program->refs[ref].loop;
        work[loop < program->loop_count ? loop : program->loop_count].first_touches +=
            base->pages[ref] * target_ref_growth(target, ref);
    }
    for (uint32_t block = 0; block < program->block_count; block++) {
        const uint32_t loop = program->blocks[block].loop;
        struct runtime_work *of = &work[loop < program->loop_count ? loop : program->loop_count];
        const double count = base->mispredictions[block] > 0
                                 ? base->mispredictions[block] * target_growth(target, block)
                                 : 0;
        of->mispredictions += count;
        of->wait_cycles += count > 0 ? count * branch_wait(target, block, of, settings) : 0;
    }
}

/* Calls of functions whose cost the machine says by name. */
static void take_calls(struct runtime_work *work, const struct target *target,
                       const struct runtime_settings *settings)
{
    const struct psnap_program *program = target->base->program;

    for (uint32_t block = 0; block < program->block_count; block++) {
        const uint32_t loop = program->blocks[block].loop;
        const uint16_t *calls = settings->mca->calls + (size_t)block * PSNAP_MATH_FUNCTION_COUNT;
        struct runtime_work *of = &work[loop < program->loop_count ? loop : program->loop_count];
        double executions;

        for (int f = 0; f < PSNAP_MATH_FUNCTION_COUNT; f++) {
            if (!calls[f] || !(settings->machine->function_cycles[f] > 0))
                continue;
            executions = (double)program->blocks[block].executions * target_growth(target, block);
            of->named_calls += executions * calls[f];
            of->named_cycles += executions * calls[f] * settings->machine->function_cycles[f];
        }
    }
}

struct runtime_work *runtime_work_of(const struct target *target,
                                     const struct runtime_settings *settings)
{
    const struct psnap_program *program = target->base->program;
    const uint32_t loops = program->loop_count;
    struct runtime_work *work = calloc(loops + (size_t)1, sizeof *work);

    if (!work)
        return NULL;
    for (uint32_t ref = 0; ref < program->ref_count; ref++) {
        const uint32_t loop = program->refs[ref].loop < loops ? program->refs[ref].loop : loops;
        const struct runtime_accesses accesses = runtime_accesses_of(target, ref, settings);
        if (accesses.accesses > 0)
            runtime_add_accesses(&work[loop].patterns[pattern_of(target, ref, settings->mca)],
                                 &accesses);
    }
    for (uint32_t i = 0; i <= loops; i++)
        work[i].throughput_cycles = work[i].latency_cycles = work[i].decision_cycles = NAN;
    for (uint32_t i = 0; i < loops; i++) {
        if (settings->mca)
            take_cycles(&work[i], target, i, settings->mca, settings->machine);
        memcpy(work[i].operations, &target->operations[i * PSNAP_OPERATION_COUNT],
               sizeof work[i].operations);
    }
    take_waits(work, target, settings);
    if (settings->mca)
        take_calls(work, target, settings);
    return work;
}

/* What all loops have of everything: those with assembly apart, as they need other fields. */
enum psnap_status runtime_work_check(const struct runtime_work *work, uint32_t loops,
                                     enum runtime_method method,
                                     const struct psnap_machine *machine, struct psnap_error *error)
{
    struct runtime_work unknown = {0}, known = {0};
    enum psnap_status status;

    for (uint32_t i = 0; i <= loops; i++)
        runtime_add(isnan(work[i].throughput_cycles) ? &unknown : &known, &work[i]);
    status = runtime_check(machine, &unknown, method, error);
    return status ? status : runtime_check(machine, &known, method, error);
}

void runtime_print_unknown(const struct psnap_machine *machine)
{
    if (!(machine->mispredict_cycles > 0))
        psnap_print(stdout, "%s does not say mispredict_cycles: T_branch is 0\n", machine->name);
    if (!(machine->first_touch_cycles > 0))
        psnap_print(stdout, "%s does not say memory.first_touch_cycles: T_touch is 0\n",
                    machine->name);
}
