/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap sweep: inputs, edits and seeds on machines, as a work list. Items are simulated by
 * processes of this one, as many at a time as there are processors; several such may share a list,
 * as ranks of mpirun or srun, on machines that see the same files. Each result is kept when it is
 * there, so that what a crash left is gone on with; whoever finds all results writes them, in the
 * list's order, the same ones whoever simulated what.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/base/cmd.h"
#include "formats/base/output.h"
#include "formats/base/text.h"
#include "predict/cmd_processes.h"
#include "predict/worklist/cmd_worklist.h"
#include "profile/repo/cmd_repo.h"

enum { PARTS_MAX = 65536 };

struct sweep {
    struct worklist list;
    const char *output;
    struct journal *journal;
    struct psnap_progress *progress;
    uint32_t job_count;
    size_t done, failed;
};

/* --------------------------------------------------------------- processes */

/* Its rows to the file, or what went wrong. */
static bool work(void *context, void *item, FILE *file)
{
    const struct sweep *sweep = context;
    struct psnap_error error;

    if (!worklist_simulate(&sweep->list, item, file, &error))
        return true;
    if (fseek(file, 0, SEEK_SET) == 0 && ftruncate(fileno(file), 0) == 0)
        fprintf(file, "%s%s%s", error.file, *error.file ? ": " : "", error.message);
    return false;
}

static void fail(struct sweep *sweep, const struct item *item, const char *problem)
{
    psnap_progress_erase(sweep->progress);
    psnap_print(stderr, "psnap sweep: %s%s%s: %s\n", item->input, *item->edit ? ", " : "",
                item->edit, problem);
    sweep->failed++;
}

static enum psnap_status take_result(void *context, void *which, enum process_end end,
                                     const char *told, struct psnap_error *error)
{
    struct sweep *sweep = context;
    struct item *item = which;

    if (end == PROCESS_KILLED)
        fail(sweep, item, "its process was ended by a signal");
    else if (end == PROCESS_FAILED)
        fail(sweep, item, told);
    else if (!worklist_is_unchanged(&sweep->list, item))
        fail(sweep, item, "it was changed while it was simulated");
    else if (!(item->rows = strdup(told)))
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for a result");
    else {
        sweep->done++;
        return journal_add(sweep->journal, &sweep->list, item, error);
    }
    return PSNAP_OK;
}

/* ------------------------------------------------------------------- the list */

/* Items of this rank that are not done, the largest first. */
static int compare_sizes(const void *a, const void *b)
{
    const struct item *one = *(void *const *)a, *other = *(void *const *)b;

    return (one->bytes < other->bytes) - (one->bytes > other->bytes);
}

static enum psnap_status run_items(struct sweep *sweep, struct psnap_error *error)
{
    struct worklist *list = &sweep->list;
    struct processes processes = {
        .context = sweep, .at_a_time = sweep->job_count, .work = work, .take = take_result};
    void **items = malloc((list->count + 1) * sizeof *items);
    enum psnap_status status;
    size_t count = 0;

    if (!items)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    for (size_t i = list->rank; i < list->count; i += list->ranks)
        if (!list->items[i].rows)
            items[count++] = &list->items[i];
    qsort(items, count, sizeof *items, compare_sizes);
    processes.progress = sweep->progress = psnap_progress_of(count, "items");
    status = processes_run(&processes, items, count, error);
    psnap_progress_free(sweep->progress);
    free(items);
    return status;
}

static size_t missing(const struct worklist *list)
{
    size_t count = 0;

    for (size_t i = 0; i < list->count; i++)
        count += !list->items[i].rows;
    return count;
}

/* Whether a file has these bytes. */
static bool has_content(const char *path, const char *text, size_t size)
{
    FILE *file = fopen(path, "re");
    size_t found = 0;
    char *content = file ? psnap_cmd_content(file, &found) : NULL;
    const bool is_same = content && found == size && !memcmp(content, text, size);

    if (file)
        fclose(file);
    free(content);
    return is_same;
}

static enum psnap_status write_all(struct sweep *sweep, bool force, struct psnap_error *error)
{
    enum psnap_status status = journal_wait(sweep->journal, error);
    struct psnap_output *output;
    size_t size = 0;
    char *text = NULL;
    FILE *file = status ? NULL : open_memstream(&text, &size);

    if (!file)
        return status ? status : psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    status = counts_report(&sweep->list, file, error);
    if (fclose(file) != 0 && !status)
        status = psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    if (!status) {
        output = psnap_output_open(sweep->output, force, error);
        if (output)
            fwrite(text, 1, size, psnap_output_file(output));
        status = psnap_output_finish(output, output ? PSNAP_OK : error->code, error);
    }
    /* Another rank may have found all results at the same time, and written the same. */
    if (status == PSNAP_ERROR_EXISTS && has_content(sweep->output, text, size))
        status = PSNAP_OK;
    free(text);
    return status;
}

/* What this rank did, and where it is if it is not in R.csv. */
static void say_end(const struct sweep *sweep, size_t found, size_t left)
{
    const struct worklist *list = &sweep->list;

    fputs("psnap sweep: ", stderr);
    if (list->ranks > 1)
        fprintf(stderr, "rank %" PRIu32 " of %" PRIu32 ": ", list->rank, list->ranks);
    fprintf(stderr, "%zu of %zu items simulated", sweep->done, list->count);
    if (found)
        fprintf(stderr, ", %zu were there", found);
    if (sweep->failed)
        fprintf(stderr, ", %zu failed", sweep->failed);
    if (left > sweep->failed)
        fprintf(stderr, ", %zu are others' to do", left - sweep->failed);
    if (left)
        psnap_print(stderr,
                    "; results so far are in %s" JOURNAL_FOLDER ", whoever finds all writes %s",
                    sweep->output, sweep->output);
    else if (list->ranks > 1)
        psnap_print(stderr, "; all are in %s", sweep->output);
    fputc('\n', stderr);
}

static int run(struct sweep *sweep, bool force)
{
    struct psnap_error error;
    struct psnap_output *probe = psnap_output_open(sweep->output, force, &error);
    enum psnap_status status = probe ? PSNAP_OK : error.code;
    size_t left = 0, found = 0;

    psnap_output_abandon(probe);
    if (!status)
        status = worklist_lay_out(&sweep->list, &error);
    if (!status && !sweep->list.count)
        return psnap_cmd_usage("sweep", "there is nothing to do: no inputs");
    if (!status) {
        sweep->journal = journal_open(sweep->output, &sweep->list, &error);
        status = sweep->journal ? PSNAP_OK : error.code;
    }
    if (!status) {
        found = sweep->list.count - missing(&sweep->list);
        status = run_items(sweep, &error);
    }
    if (!status)
        status = journal_update(sweep->journal, &sweep->list, &error);
    left = missing(&sweep->list);
    if (!status && !left)
        status = write_all(sweep, force, &error);
    journal_close(sweep->journal, !status && !left);
    if (status)
        return psnap_cmd_fail("sweep", &error);
    say_end(sweep, found, left);
    return sweep->failed ? PSNAP_EXIT_FAILED : PSNAP_EXIT_DONE;
}

/* ------------------------------------------------------------------- the command */

/* "1/4", or what mpirun and srun say. */
static bool find_rank(const char *text, struct worklist *list)
{
    static const char *const names[][2] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                           {"PMI_RANK", "PMI_SIZE"},
                                           {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}};
    const char *ranks = NULL;
    char rank[32];
    uint64_t number, count;

    list->rank = 0;
    list->ranks = 1;
    if (text) {
        ranks = strchr(text, '/');
        snprintf(rank, sizeof rank, "%.*s", ranks ? (int)(ranks - text) : 0, text);
        ranks = ranks ? ranks + 1 : "";
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0] && !ranks; i++)
        if (getenv(names[i][0]) && getenv(names[i][1])) {
            snprintf(rank, sizeof rank, "%s", getenv(names[i][0]));
            ranks = getenv(names[i][1]);
        }
    if (!ranks)
        return true;
    if (!psnap_text_u64(rank, &number) || !psnap_text_u64(ranks, &count) || number >= count ||
        count > UINT32_MAX)
        return false;
    list->rank = (uint32_t)number;
    list->ranks = (uint32_t)count;
    return true;
}

static int check(struct sweep *sweep, const char *rank, const struct psnap_text_list *seeds,
                 uint64_t jobs, uint64_t parts)
{
    struct worklist *list = &sweep->list;

    if (!sweep->output || psnap_output_is_stdout(sweep->output))
        return psnap_cmd_usage("sweep", "-o R.csv is missing, or no file");
    if (!find_rank(rank, list))
        return psnap_cmd_usage("sweep", "--rank wants a rank and their number, as 0/4");
    if (jobs > PROCESSES_MAX)
        return psnap_cmd_usage("sweep", "-j wants at most %d", PROCESSES_MAX);
    if (parts > PARTS_MAX)
        return psnap_cmd_usage("sweep", "--split wants at most %d", PARTS_MAX);
    list->split.parts = (uint32_t)parts;
    sweep->job_count = (uint32_t)jobs;
    if (seeds->count)
        list->seeds = calloc(seeds->count, sizeof *list->seeds);
    for (size_t i = 0; i < seeds->count; i++)
        if (!list->seeds || !psnap_text_u64(seeds->items[i], &list->seeds[list->seed_count++]))
            return psnap_cmd_usage("sweep", "--seed: '%s' is no number", seeds->items[i]);
    return 0;
}

int psnap_cmd_sweep(int argc, char **argv)
{
    static struct sweep sweep;
    struct psnap_text_list seeds = {0};
    struct psnap_error error;
    const char *file = NULL, *rank = NULL;
    uint64_t jobs = 0, parts = 0;
    bool force = false;
    const struct psnap_option options[] = {
        {PSNAP_OPTION_TEXT, 'o', "output", &sweep.output, "R.csv", "where results go"},
        {PSNAP_OPTION_TEXT, 0, "list", &file, "FILE",
         "a YAML file of inputs, machines, edits and seeds, with those of the command line"},
        {PSNAP_OPTION_LIST, 'm', "machine", &sweep.list.machine_names, "MACHINE",
         "may be repeated (the ten structures table1-1 to table1-10)"},
        {PSNAP_OPTION_LIST, 'p', "parameter", &sweep.list.parameters, "FIELD=V,V...",
         "each machine with each of these values, as levels[L2].size_bytes=1M,2M; may be repeated"},
        {PSNAP_OPTION_LIST, 'e', "edit", &sweep.list.edits, "EDIT",
         "of profiles, as of 'psnap whatif', beside the profile as it is; may be repeated"},
        {PSNAP_OPTION_LIST, 0, "seed", &seeds, "N", "of profiles' replay; may be repeated (0)"},
        {PSNAP_OPTION_COUNT, 0, "count", &sweep.list.accesses, "N",
         "stop after N accesses of each"},
        {PSNAP_OPTION_FLAG, 0, "loops", &sweep.list.by_loop, NULL, "rows of loops, too"},
        {PSNAP_OPTION_U64, 0, "split", &parts, "N",
         "each stream in N items, of a part of the machines' sets each; the same results"},
        {PSNAP_OPTION_U64, 'j', "jobs", &jobs, "N", "items at a time (processors)"},
        {PSNAP_OPTION_TEXT, 0, "rank", &rank, "I/N",
         "each N-th item from I on (what mpirun or srun say)"},
        {PSNAP_OPTION_FLAG, 0, "force", &force, NULL, "overwrite R.csv"},
        {.type = PSNAP_OPTION_END},
    };
    const struct psnap_usage usage = {
        "psnap sweep INPUT... | REPO [QUERY...] [-m MACHINE ...] [-p PARAMETER ...] [-e EDIT ...] "
        "-o "
        "R.csv",
        "Simulates each input, a profile with each edit and seed, on all machines, as a\n"
        "work list: on the processors there are, or, started by mpirun or srun, on those\n"
        "of several machines that see the same files. Results are kept as they come, in\n"
        "R.csv.psnap-sweep/; started again after a crash, it goes on with what is missing.\n"
        "R.csv appears when all items are done, in the list's order. A repository of\n"
        "profiles (REPO) is all of these, or those that a query finds ('psnap repo search').",
        options};
    int status, operands;

    sweep.list.accesses = UINT64_MAX;
    operands = psnap_options_parse(argc, argv, &usage, false, &status);
    if (operands == 0 && !file)
        status = psnap_cmd_usage("sweep", "which inputs? (files, a repository, or --list FILE)");
    else if (operands >= 0) {
        status = check(&sweep, rank, &seeds, jobs, parts);
        if (!status && file && worklist_read(&sweep.list, file, &error))
            status = psnap_cmd_fail("sweep", &error);
        for (int i = 1; i <= operands && !status; i++)
            if (!(i > 1 && repo_is_there(argv[1]) ? worklist_add_query
                                                  : worklist_add_input)(&sweep.list, argv[i])) {
                psnap_error_set(&error, PSNAP_ERROR_MEMORY, "out of memory");
                status = psnap_cmd_fail("sweep", &error);
            }
        if (!status)
            status = run(&sweep, force);
    }
    worklist_release(&sweep.list);
    psnap_text_list_release(&seeds);
    return status;
}
