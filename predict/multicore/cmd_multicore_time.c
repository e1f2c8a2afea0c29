/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The run time of a section is that of the busiest of its cores (Barai et al., PPT-Multicore), by
 * the methods of predict/amm/runtime.c, which has the equations. The busiest core has the same
 * share of the section's bytes and operations as of its accesses; as published, an equal one of
 * operations. How an access gets its address is not known of a section: all are taken for regular.
 * What knows loops is cmd_multicore_loops.c.
 */
#include <math.h>
#include <string.h>

#include "predict/multicore/cmd_multicore.h"

enum psnap_status multicore_lacks(struct psnap_error *error)
{
    const struct psnap_error missing = *error;

    return psnap_error_set(error, missing.code, "%s; --no-time predicts hit rates alone",
                           missing.message);
}

enum psnap_status multicore_check_machine(const struct multicore *study,
                                          const struct psnap_machine *machine,
                                          struct psnap_error *error)
{
    struct runtime_work any = {.patterns = {[RUNTIME_REGULAR] = {.accesses = 1}},
                               .throughput_cycles = NAN,
                               .latency_cycles = NAN};

    if (study->by_loops)
        any.patterns[RUNTIME_IRREGULAR] = any.patterns[RUNTIME_DEPENDENT] =
            any.patterns[RUNTIME_REGULAR];
    return runtime_check(machine, &any, study->time, error) ? multicore_lacks(error) : PSNAP_OK;
}

/* What the busiest core does of a section. */
static struct runtime_work work_of(const struct multicore *study,
                                   const struct psnap_machine *machine,
                                   const struct multicore_row *row, size_t section,
                                   double of_operations)
{
    const struct task *task = &study->tasks.tasks[section];
    struct runtime_work work = {.throughput_cycles = NAN, .latency_cycles = NAN};
    struct runtime_accesses *accesses = &work.patterns[RUNTIME_REGULAR];

    accesses->accesses = (double)row->busiest;
    accesses->bytes = (double)task->bytes * ((double)row->busiest / (double)task->accesses);
    memcpy(accesses->cumulative, row->rates[study->timed].levels,
           machine->level_count * sizeof *accesses->cumulative);
    for (int op = 0; op < PSNAP_OPERATION_COUNT; op++)
        work.operations[op] = task->operations[op] * of_operations;
    return work;
}

enum psnap_status multicore_time(const struct multicore *study, const struct psnap_machine *machine,
                                 size_t section, uint32_t cores, struct multicore_row *row,
                                 struct psnap_error *error)
{
    const struct runtime_reading reading = {.as_published = study->mimic.as_published};
    const struct task *task = &study->tasks.tasks[section];
    const bool is_even = study->mimic.as_published && section > 0; /* the first is sequential */
    struct runtime_work work;
    enum psnap_status status;

    if (!task->accesses || !row->accesses)
        return PSNAP_OK;
    work = work_of(study, machine, row, section,
                   is_even ? 1.0 / cores : (double)row->busiest / (double)task->accesses);
    status = runtime_check(machine, &work, study->time, error);
    if (status)
        return multicore_lacks(error);
    row->seconds = runtime_predict(machine, &work, study->time, reading);
    return PSNAP_OK;
}

/*
 * A section is begun and ended by a tree of messages, as a barrier is: two cores' figures times the
 * logarithm of the cores to base 2. One core has no one to wait for.
 */
void multicore_sync(const struct multicore *study, const struct psnap_machine *machine,
                    size_t section, uint32_t cores, struct multicore_row *row)
{
    const struct psnap_parallel_cost *cost = &machine->parallel;
    const struct task *task = &study->tasks.tasks[section];
    const double depth = log2(cores);

    row->sync_seconds = ((double)task->executions *
                             (cores > 1 ? cost->section_cycles * depth : cost->alone_cycles) +
                         (double)task->barriers * cost->barrier_cycles * depth) /
                        machine->clock_hz;
    row->seconds.total += row->sync_seconds;
}
