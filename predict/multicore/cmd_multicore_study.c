/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hit rates and run times of a program on numbers of cores. For each number one pass: the mimicked
 * stream goes to reuse distances of private and shared caches (PRD, CRD), to those within sets, and
 * to the simulator. What SDCM needs of that is the task list, which may be read from a file
 * instead.
 *
 * Predictions take a level as if all accesses of its cores came to it: P_i. The cumulative rate of
 * level i is the largest of P_1 to P_i. Rates of the program are those of its sections, weighted by
 * accesses, and its run time the sum of theirs: sections are one after the other, and at each
 * barrier and at their end cores wait for the busiest one.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predict/multicore/cmd_multicore_pass.h"
#include "profile/profile.h"

const char *const multicore_method_names[MULTICORE_METHODS] = {"sdcm", "per-set", "simulation",
                                                               "observed"};

static enum psnap_status no_memory(struct psnap_error *error)
{
    return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for the prediction");
}

void multicore_release(struct multicore *study)
{
    for (size_t i = 0; i < study->run_count; i++)
        free(study->runs[i].rows);
    tasks_release(&study->tasks);
    mca_release(&study->mca);
    free(study->weights);
}

/* ------------------------------------------------------------------- the tasks */

/* Begins the list with the sections of the first pass. */
static bool begin_tasks(struct tasks *tasks, const struct psnap_program *program,
                        const struct psnap_section *sections, size_t count)
{
    const char *name = program->provenance.name;

    if (!tasks_init(tasks, name ? name : "", count))
        return false;
    for (size_t s = 0; s < count; s++) {
        struct task *task = &tasks->tasks[s];
        *task = (struct task){.id = strdup(sections[s].id),
                              .file = strdup(sections[s].file),
                              .src_line = sections[s].src_line,
                              .executions = sections[s].executions,
                              .loops = sections[s].loops,
                              .iterations = sections[s].iterations,
                              .barriers = sections[s].barriers,
                              .accesses = sections[s].accesses,
                              .bytes = sections[s].bytes};
        if (!task->id || !task->file)
            return false;
    }
    return true;
}

/* Adds what the pass has measured of a section. */
static bool add_run(struct task *task, const struct pass *pass, const struct psnap_section *section,
                    uint32_t row)
{
    struct task_run *run;
    size_t profiles = 0;

    for (size_t i = 0; i < pass->count; i++)
        profiles += !pass->stacks[i].sets;
    run = task_add_run(task, pass->cores, profiles);
    if (!run)
        return false;
    run->busiest = section->busiest_accesses;
    for (uint32_t core = 0; core < pass->cores; core++)
        run->accesses += section->core_accesses[core];
    for (size_t i = 0, at = 0; i < pass->count; i++) {
        const struct pass_stacks *stacks = &pass->stacks[i];
        const struct psnap_distances *distances =
            psnap_reuse_row(stacks->reuse, PSNAP_VIEW_TAG, row);
        struct task_profile *profile;
        if (stacks->sets)
            continue;
        profile = &run->profiles[at++];
        profile->line_bytes = stacks->line_bytes;
        profile->shared_by = stacks->share;
        if (distances && !psnap_distances_add_all(profile->distances, distances))
            return false;
    }
    return true;
}

static bool has_operations(const struct tasks *tasks)
{
    for (size_t s = 0; s < tasks->count; s++)
        for (int op = 0; op < PSNAP_OPERATION_COUNT; op++)
            if (tasks->tasks[s].operations[op] > 0)
                return true;
    return false;
}

/* Whether a further pass had the program and the sections of the first one. */
static bool is_same(const struct multicore *study, const struct psnap_program *program,
                    const struct psnap_section *sections, size_t count)
{
    bool same = count == study->tasks.count && program->loop_count == study->loop_count;

    for (size_t s = 0; s < count && same; s++)
        same = !strcmp(sections[s].id, study->tasks.tasks[s].id) &&
               sections[s].accesses == study->tasks.tasks[s].accesses;
    return same;
}

static enum psnap_status take_tasks(struct multicore *study, const struct pass *pass,
                                    struct psnap_error *error)
{
    const struct psnap_program *program = pass->mimic->program;
    const struct psnap_section *sections;
    size_t count;

    sections = psnap_mimic_sections(pass->mimic, &count);
    if (count == 1)
        return psnap_error_set(
            error, PSNAP_ERROR_VALUE,
            "no parallel section in '%s': marks say where they are; compile the program with "
            "'psnap cc -fopenmp --psnap-openmp' and record all of a run with OMP_NUM_THREADS=1",
            study->path);
    for (size_t s = 1; s < count; s++)
        if (!sections[s].accesses)
            return psnap_error_set(error, PSNAP_ERROR_VALUE,
                                   "section %s (%s:%" PRIu32 ") of '%s' has no accesses: compile "
                                   "what it calls with 'psnap cc', too",
                                   sections[s].id, sections[s].file, sections[s].src_line,
                                   study->path);
    memset(study->core_accesses, 0, sizeof study->core_accesses);
    for (size_t s = 0; s < count; s++)
        for (uint32_t core = 0; core < pass->cores; core++)
            study->core_accesses[core] += sections[s].core_accesses[core];
    if (!study->tasks.tasks) {
        if (!begin_tasks(&study->tasks, program, sections, count))
            return no_memory(error);
        study->weights = multicore_share(&study->tasks, program, pass->profile, sections);
        if (!study->weights)
            return no_memory(error);
        study->loop_count = program->loop_count;
        if (study->has_time && !has_operations(&study->tasks))
            return psnap_error_set(error, PSNAP_ERROR_VALUE,
                                   "'%s' does not say what its blocks compute, which T_cpu is made "
                                   "of: record all of a run; --no-time predicts hit rates alone",
                                   study->path);
    }
    if (!is_same(study, program, sections, count))
        return psnap_error_set(error, PSNAP_ERROR_VALUE, "'%s' changed while it was read",
                               study->path);
    for (uint32_t s = 0; s < count; s++)
        if (!add_run(&study->tasks.tasks[s], pass, &sections[s], s))
            return no_memory(error);
    return PSNAP_OK;
}

/* -------------------------------------------------------------------- rates */

static void no_rates(struct multicore_row *row)
{
    for (int method = 0; method < MULTICORE_METHODS; method++)
        for (int l = 0; l < PSNAP_LEVELS_MAX; l++)
            row->rates[method].levels[l] = NAN;
}

static enum psnap_status begin_run(struct multicore *study, uint32_t cores,
                                   struct psnap_error *error)
{
    struct multicore_run *run = &study->runs[study->run_count];
    const size_t rows = study->machine_count * (study->tasks.count + 1);

    run->cores = cores;
    run->rows = calloc(rows, sizeof *run->rows);
    if (!run->rows)
        return no_memory(error);
    study->run_count++;
    for (size_t i = 0; i < rows; i++)
        no_rates(&run->rows[i]);
    return PSNAP_OK;
}

/* P_1 to P_n become cumulative. */
static void accumulate(struct multicore_rates *rates, uint32_t levels)
{
    for (uint32_t l = 1; l < levels; l++)
        rates->levels[l] = fmax(rates->levels[l], rates->levels[l - 1]);
}

/* What the simulator and the distances within sets say of a section. */
static void take_exact(const struct multicore *study, const struct multicore_run *run,
                       const struct pass *pass, uint32_t section)
{
    for (size_t m = 0; m < study->machine_count; m++) {
        const struct psnap_machine *machine = &study->machines[m];
        struct multicore_row *row = multicore_row(study, run, m, section);

        for (uint32_t l = 0; l < machine->level_count; l++) {
            if (study->methods[MULTICORE_SIM])
                row->rates[MULTICORE_SIM].levels[l] =
                    pass_simulated(pass, m, l, PSNAP_VIEW_TAG, section);
            if (study->methods[MULTICORE_SETS])
                row->rates[MULTICORE_SETS].levels[l] =
                    pass_sets(pass, &machine->levels[l], PSNAP_VIEW_TAG, section);
        }
        accumulate(&row->rates[MULTICORE_SETS], machine->level_count);
    }
}

static enum psnap_status no_profile(const struct multicore *study,
                                    const struct psnap_cache_level *level, uint32_t cores,
                                    struct psnap_error *error)
{
    return psnap_error_set(error, PSNAP_ERROR_VALUE,
                           "the task list '%s' has no profile of lines of %" PRIu64
                           " bytes in caches of %" PRIu32 " of %" PRIu32
                           " cores: write one with this machine and these --cores",
                           study->path, level->line_bytes, pass_share(level, cores), cores);
}

/* What SDCM makes of the tasks, and their numbers of accesses. */
static enum psnap_status take_sdcm(const struct multicore *study, const struct multicore_run *run,
                                   size_t section, struct psnap_error *error)
{
    const struct task_run *task = task_find_run(&study->tasks.tasks[section], run->cores);

    if (!task)
        return psnap_error_set(error, PSNAP_ERROR_VALUE,
                               "the task list '%s' has no run of %" PRIu32 " cores: write one with "
                               "these --cores",
                               study->path, run->cores);
    for (size_t m = 0; m < study->machine_count; m++) {
        const struct psnap_machine *machine = &study->machines[m];
        struct multicore_row *row = multicore_row(study, run, m, section);

        row->accesses = task->accesses;
        row->busiest = task->busiest;
        for (uint32_t l = 0; l < machine->level_count; l++) {
            const struct psnap_cache_level *level = &machine->levels[l];
            const struct task_profile *profile =
                task_find_profile(task, level->line_bytes, level->shared_by);
            if (!profile)
                return no_profile(study, level, run->cores, error);
            if (psnap_distances_accesses(profile->distances))
                row->rates[MULTICORE_SDCM].levels[l] = psnap_sdcm_hit_rate(
                    profile->distances, level->ways, level->size_bytes / level->line_bytes);
        }
        accumulate(&row->rates[MULTICORE_SDCM], machine->level_count);
    }
    return PSNAP_OK;
}

/* -------------------------------------------------------------------- totals */

static void add_to_total(struct multicore_row *total, const struct multicore_row *row)
{
    const double all = (double)(total->accesses + row->accesses);

    for (int method = 0; method < MULTICORE_METHODS && row->accesses; method++)
        for (int l = 0; l < PSNAP_LEVELS_MAX; l++) {
            double *rate = &total->rates[method].levels[l];
            *rate = ((total->accesses ? *rate * (double)total->accesses : 0) +
                     row->rates[method].levels[l] * (double)row->accesses) /
                    all;
        }
    total->accesses += row->accesses;
    total->busiest += row->busiest;
    total->sync_seconds += row->sync_seconds;
    runtime_add_seconds(&total->seconds, row->seconds, 1);
}

static enum psnap_status end_run(const struct multicore *study, const struct multicore_run *run,
                                 struct psnap_error *error)
{
    enum psnap_status status = PSNAP_OK;

    for (size_t m = 0; m < study->machine_count; m++)
        for (size_t s = 0; s < study->tasks.count && !status; s++) {
            struct multicore_row *row = multicore_row(study, run, m, s);
            if (study->has_time && !study->by_loops)
                status = multicore_time(study, &study->machines[m], s, run->cores, row, error);
            if (study->has_sync)
                multicore_sync(study, &study->machines[m], s, run->cores, row);
            add_to_total(multicore_row(study, run, m, study->tasks.count), row);
        }
    return status;
}

/* -------------------------------------------------------------------- the study */

static enum psnap_status take_pass(struct multicore *study, const struct pass *pass,
                                   struct psnap_error *error)
{
    enum psnap_status status = take_tasks(study, pass, error);
    const struct multicore_run *run = &study->runs[study->run_count];

    if (!status)
        status = begin_run(study, pass->cores, error);
    for (uint32_t s = 0; s < study->tasks.count && !status; s++) {
        take_exact(study, run, pass, s);
        status = take_sdcm(study, run, s, error);
    }
    if (!status && study->by_loops)
        status = multicore_time_loops(study, pass, run, error);
    return status;
}

static enum psnap_status study_stream(struct multicore *study, uint32_t cores, bool is_again,
                                      struct psnap_error *error)
{
    struct pass *pass = calloc(1, sizeof *pass);
    enum psnap_status status;

    if (!pass)
        return no_memory(error);
    status = pass_run(pass, study, cores, is_again, error);
    if (!status)
        status = take_pass(study, pass, error);
    pass_release(pass);
    free(pass);
    return status;
}

static enum psnap_status study_list(struct multicore *study, uint32_t cores,
                                    struct psnap_error *error)
{
    enum psnap_status status = begin_run(study, cores, error);

    for (size_t s = 0; s < study->tasks.count && !status; s++)
        status = take_sdcm(study, &study->runs[study->run_count - 1], s, error);
    return status;
}

static enum psnap_status read_list(struct multicore *study, struct psnap_error *error)
{
    FILE *file = psnap_input_file(study->from, error);
    enum psnap_status status;

    if (!file)
        return error->code;
    status = tasks_read(&study->tasks, file, study->path, error);
    if (file != stdin)
        fclose(file);
    return status;
}

enum psnap_status multicore_study(struct multicore *study, struct psnap_error *error)
{
    const size_t count = study->run_count;
    enum psnap_status status = study->is_list ? read_list(study, error) : PSNAP_OK;

    study->run_count = 0;
    for (size_t i = 0; i < count && !status; i++) {
        const uint32_t cores = study->runs[i].cores;

        status = study->is_list ? study_list(study, cores, error)
                                : study_stream(study, cores, i > 0, error);
        if (!status)
            status = end_run(study, &study->runs[i], error);
        if (!status && study->against)
            status = multicore_observe(study, &study->runs[i], error);
    }
    return status;
}
