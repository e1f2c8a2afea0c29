/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap sweep: inputs, edits and seeds on machines, as a work list. Items are simulated by -j
 * processes, and leave their results as files (cmd_worklist_result.c); an item whose result is
 * there is skipped. Ranks of mpirun or srun take every N-th item and say nothing to each other:
 * whoever finds all results writes the table, with the same bytes as any other.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "formats/base/cmd_progress.h"
#include "formats/base/output.h"
#include "predict/worklist/cmd_worklist.h"

struct sweep {
    struct worklist list;
    const char *output;
    uint64_t rank, ranks; /* this process takes items rank, rank + ranks, ... */
    uint64_t jobs;
};

/* Takes items until there are none, as a process of its own; a byte to `done` for each. */
static _Noreturn void work(const struct sweep *sweep, atomic_size_t *next, int done)
{
    const struct worklist *list = &sweep->list;
    bool has_failed = false;
    size_t i;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while ((i = sweep->rank + sweep->ranks * atomic_fetch_add(next, 1)) < list->count) {
        const struct item *item = &list->items[i];
        char *rows = result_read(list, item, true);
        struct psnap_error error;
        if (!rows && result_make(list, item, &error)) {
            psnap_print(stderr, "psnap sweep: %s%s%s: %s\n", item->input->path,
                        *item->edit ? ", " : "", item->edit, error.message);
            has_failed = true;
        }
        free(rows);
        if (write(done, "", 1) != 1)
            break;
    }
    _exit(has_failed ? PSNAP_EXIT_FAILED : PSNAP_EXIT_DONE);
}

/* Works on the items of this rank; false: some of them failed, which has been said. */
static bool run_items(const struct sweep *sweep)
{
    const size_t count = (sweep->list.count + sweep->ranks - sweep->rank - 1) / sweep->ranks;
    struct psnap_progress *progress = psnap_progress_of(count, "items");
    atomic_size_t *next =
        mmap(NULL, sizeof *next, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int done[2] = {-1, -1}, status;
    bool fits = next != MAP_FAILED && !pipe(done);
    char byte;

    signal(SIGCHLD, SIG_DFL); /* ignored, it would leave nobody to wait for */
    for (uint64_t i = 0; i < sweep->jobs && i < count && fits; i++) {
        const pid_t pid = fork();
        if (pid == 0)
            work(sweep, next, done[1]);
        fits = pid > 0;
    }
    if (!fits)
        psnap_print(stderr, "psnap sweep: cannot start a process: %s\n", strerror(errno));
    close(done[1]);
    while (read(done[0], &byte, 1) > 0)
        psnap_progress_add(progress, 1);
    close(done[0]);
    psnap_progress_free(progress);
    while (wait(&status) > 0) {
        fits = fits && !status;
        if (WIFSIGNALED(status))
            psnap_print(stderr, "psnap sweep: a process was ended by signal %d\n",
                        WTERMSIG(status));
    }
    return fits;
}

/* Writes the table when all results are there; *missing says how many are not. */
static enum psnap_status write_table(struct sweep *sweep, bool force, size_t *missing,
                                     struct psnap_error *error)
{
    struct psnap_output *output;
    enum psnap_status status;
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);

    *missing = file ? results_table(&sweep->list, file) : 0;
    if (!file || fclose(file) != 0)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for the table");
    output = *missing ? NULL : psnap_output_open(sweep->output, force, error);
    if (output)
        fwrite(text, 1, size, psnap_output_file(output));
    status = psnap_output_finish(output, output || *missing ? PSNAP_OK : error->code, error);
    if (status == PSNAP_ERROR_EXISTS && sweep->ranks > 1) { /* another rank has found all, too */
        char *found = worklist_content(sweep->output, &size);
        status = found && !strcmp(found, text) ? PSNAP_OK : status;
        free(found);
    }
    free(text);
    return status;
}

static int run(struct sweep *sweep, char **operands, size_t count, bool force)
{
    struct worklist *list = &sweep->list;
    struct psnap_error error;
    /* A rank may begin when others have found all results. */
    struct psnap_output *probe =
        psnap_output_open(sweep->output, force || sweep->ranks > 1, &error);
    enum psnap_status status = probe ? PSNAP_OK : error.code;
    size_t missing = 0;
    bool fits = false;

    psnap_output_abandon(probe);
    if (!status)
        status = worklist_lay_out(list, operands, count, &error);
    if (!status && mkdir(list->folder, 0777) != 0 && errno != EEXIST)
        status = psnap_error_file(&error, errno, "make", list->folder);
    if (!status) {
        fits = run_items(sweep);
        status = write_table(sweep, force, &missing, &error);
    }
    if (status)
        return psnap_cmd_fail("sweep", &error);
    psnap_print(stderr, "psnap sweep: %zu of %zu results are in %s%s%s\n", list->count - missing,
                list->count, list->folder, missing ? "; with all of them there is " : ", and in ",
                sweep->output);
    return fits ? PSNAP_EXIT_DONE : PSNAP_EXIT_FAILED;
}

/* ------------------------------------------------------------------- the command */

/* Reads "1/4", or what mpirun and srun say. */
static bool find_rank(const char *text, struct sweep *sweep)
{
    static const char *const names[][2] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                           {"PMI_RANK", "PMI_SIZE"},
                                           {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}};
    char said[64], behind;

    for (size_t i = 0; i < sizeof names / sizeof names[0] && !text; i++)
        if (getenv(names[i][0]) && getenv(names[i][1])) {
            snprintf(said, sizeof said, "%s/%s", getenv(names[i][0]), getenv(names[i][1]));
            text = said;
        }
    sweep->ranks = 1;
    return !text ||
           (sscanf(text, "%" SCNu64 "/%" SCNu64 "%c", &sweep->rank, &sweep->ranks, &behind) == 2 &&
            sweep->rank < sweep->ranks && sweep->ranks <= UINT32_MAX);
}

int psnap_cmd_sweep(int argc, char **argv)
{
    static struct sweep sweep = {.list = {.accesses = UINT64_MAX}};
    struct worklist *list = &sweep.list;
    const char *rank = NULL;
    char *folder = NULL;
    bool force = false;
    const struct psnap_option options[] = {
        {PSNAP_OPTION_TEXT, 'o', "output", &sweep.output, "R.csv", "where the table goes"},
        {PSNAP_OPTION_LIST, 'm', "machine", &list->machine_names, "MACHINE",
         "may be repeated (the ten structures table1-1 to table1-10)"},
        {PSNAP_OPTION_LIST, 'p', "parameter", &list->parameters, "FIELD=V,V...",
         "each machine with each of these values, as levels[L2].size_bytes=1M,2M; may be repeated"},
        {PSNAP_OPTION_LIST, 'e', "edit", &list->edits, "EDIT",
         "of profiles, as of 'psnap whatif', beside the profile as it is; may be repeated"},
        {PSNAP_OPTION_LIST, 0, "seed", &list->seeds, "N", "of profiles; may be repeated (0)"},
        {PSNAP_OPTION_COUNT, 0, "count", &list->accesses, "N", "stop after N accesses of each"},
        {PSNAP_OPTION_FLAG, 0, "loops", &list->by_loop, NULL, "rows of loops, too"},
        {PSNAP_OPTION_U64, 'j', "jobs", &sweep.jobs, "N", "items at a time (processors)"},
        {PSNAP_OPTION_TEXT, 0, "rank", &rank, "I/N", "every N-th item (as mpirun or srun say)"},
        {PSNAP_OPTION_TEXT, 0, "into", &list->folder, "DIR", "of results (R.csv.psnap-sweep)"},
        {PSNAP_OPTION_FLAG, 0, "force", &force, NULL, "overwrite R.csv"},
        {.type = PSNAP_OPTION_END},
    };
    const struct psnap_usage usage = {
        "psnap sweep INPUT... [-m MACHINE ...] [-p PARAMETER ...] [-e EDIT ...] -o R.csv",
        "Simulates each input, a profile with each edit and seed, on all machines: on the\n"
        "processors there are, or, by mpirun or srun, on those of several computers that\n"
        "see the same files. Each result is a file in R.csv.psnap-sweep/; started again, it\n"
        "goes on with what is missing. R.csv appears when all results are there.",
        options};
    int status, operands = psnap_options_parse(argc, argv, &usage, false, &status);

    if (operands == 0)
        status = psnap_cmd_usage("sweep", "which inputs?");
    else if (operands > 0 && (!sweep.output || psnap_output_is_stdout(sweep.output)))
        status = psnap_cmd_usage("sweep", "-o R.csv is missing, or no file");
    else if (operands > 0 && !find_rank(rank, &sweep))
        status = psnap_cmd_usage("sweep", "--rank wants a rank and their number, as 0/4");
    else if (operands > 0) {
        if (!sweep.jobs)
            sweep.jobs = psnap_processors();
        if (!list->folder && asprintf(&folder, "%s.psnap-sweep", sweep.output) >= 0)
            list->folder = folder;
        status = run(&sweep, argv + 1, (size_t)operands, force);
    }
    worklist_release(list);
    free(folder);
    return status;
}
