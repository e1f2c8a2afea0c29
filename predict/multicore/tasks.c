/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Task lists as they are in memory.
 */
#include "predict/multicore/tasks.h"

#include <stdlib.h>
#include <string.h>

#include "formats/base/room.h"

bool tasks_init(struct tasks *tasks, const char *program, size_t count)
{
    *tasks = (struct tasks){.program = strdup(program), .count = count};
    tasks->tasks = calloc(count + 1, sizeof *tasks->tasks);
    return tasks->program && tasks->tasks;
}

static void release_run(struct task_run *run)
{
    for (size_t i = 0; i < run->profile_count; i++)
        psnap_distances_free(run->profiles[i].distances);
    free(run->profiles);
}

void tasks_release(struct tasks *tasks)
{
    for (size_t i = 0; tasks->tasks && i < tasks->count; i++) {
        for (size_t k = 0; k < tasks->tasks[i].run_count; k++)
            release_run(&tasks->tasks[i].runs[k]);
        free(tasks->tasks[i].runs);
        free(tasks->tasks[i].id);
        free(tasks->tasks[i].file);
    }
    free(tasks->tasks);
    free(tasks->program);
    *tasks = (struct tasks){0};
}

struct task_run *task_add_run(struct task *task, uint32_t cores, size_t profiles)
{
    struct task_run *run;

    if (!psnap_resize(&task->runs, task->run_count + 1, sizeof *task->runs))
        return NULL;
    run = &task->runs[task->run_count];
    *run = (struct task_run){.cores = cores, .profile_count = profiles};
    run->profiles = calloc(profiles + 1, sizeof *run->profiles);
    if (!run->profiles)
        return NULL;
    task->run_count++;
    for (size_t i = 0; i < profiles; i++) {
        run->profiles[i].distances = psnap_distances_new();
        if (!run->profiles[i].distances)
            return NULL;
    }
    return run;
}

const struct task_run *task_find_run(const struct task *task, uint32_t cores)
{
    for (size_t i = 0; i < task->run_count; i++)
        if (task->runs[i].cores == cores)
            return &task->runs[i];
    return NULL;
}

const struct task_profile *task_find_profile(const struct task_run *run, uint64_t line_bytes,
                                             uint32_t shared_by)
{
    const uint32_t share = shared_by > run->cores ? run->cores : shared_by ? shared_by : 1;

    for (size_t i = 0; i < run->profile_count; i++)
        if (run->profiles[i].line_bytes == line_bytes && run->profiles[i].shared_by == share)
            return &run->profiles[i];
    return NULL;
}
