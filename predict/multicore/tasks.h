/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A task list, the model's input as PPT-Multicore has it: of each parallel section of a program its
 * operations, accesses and, for numbers of cores, histograms of reuse distances as private caches
 * (PRD) and shared ones (CRD) see them.
 */
#ifndef PSNAP_PREDICT_TASKS_H
#define PSNAP_PREDICT_TASKS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "predict/predict.h"

/* Of caches that `shared_by` cores have together, all of them; PRD where that is 1. */
struct task_profile {
    uint64_t line_bytes;
    uint32_t shared_by; /* at most the run's cores */
    struct psnap_distances *distances;
};

/* A section on so many cores. */
struct task_run {
    uint32_t cores;
    uint64_t accesses, busiest; /* of all cores; of the one that has most, barrier by barrier */
    struct task_profile *profiles;
    size_t profile_count;
};

struct task {
    char *id, *file;
    uint32_t src_line;
    uint64_t executions, loops, iterations, barriers;
    uint64_t accesses, bytes;                 /* of the sequential run */
    double operations[PSNAP_OPERATION_COUNT]; /* likewise */
    struct task_run *runs;
    size_t run_count;
};

struct tasks {
    char *program;
    struct task *tasks; /* the first is what is sequential */
    size_t count;
};

/* An empty list of `count` tasks; false: out of memory. */
bool tasks_init(struct tasks *tasks, const char *program, size_t count);
void tasks_release(struct tasks *tasks);

/* A run more, with room for `profiles`; NULL: out of memory. */
struct task_run *task_add_run(struct task *task, uint32_t cores, size_t profiles);
const struct task_run *task_find_run(const struct task *task, uint32_t cores);
/* The profile that a level is predicted from, NULL if there is none. */
const struct task_profile *task_find_profile(const struct task_run *run, uint64_t line_bytes,
                                             uint32_t shared_by);

/* To and from YAML (MULTICORE.md). Distances above 64 come in bins, 16 to a power of two, of which
 * the file has the mean distance. */
enum psnap_status tasks_write(const struct tasks *tasks, FILE *file, struct psnap_error *error);
enum psnap_status tasks_read(struct tasks *tasks, FILE *file, const char *name,
                             struct psnap_error *error);

#endif
