/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Names of files with parts that each process fills in: %p its process id, %h
 * the host, %q{VAR} a variable of its environment (as it was when the program
 * started), %r its rank in a parallel job, %% a percent sign. Ranks are what Open MPI, PMIx, MPICH
 * and its kin (PMI), MVAPICH and Slurm say in the environment, in this order.
 *
 * Who may come to the hub has its address in the environment that its program was started
 * with, as has every child by fork, or has mapped its page. A program that has written over its
 * environment (to change its title) is looked at for the page alone. A process that is found by
 * nobody may have been made, by one that has ended, while we looked: so we look again until no
 * process has been made meanwhile.
 * Limit: processes that the system does not let us look into (they have changed their user, or
 * said that they are not to be dumped) are not seen.
 */
#include "capture/session/cmd_process.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "capture/collect/process.h"
#include "formats/base/capture_abi.h"

enum {
    ROUNDS_MAX = 8,   /* where others make processes all the time */
    EXECS_WAIT = 100, /* ms for a program that is being started to have its environment */
};

void psnap_process_read(struct psnap_process *process, pid_t pid)
{
    size_t size, count = 0;

    *process = (struct psnap_process){.pid = pid};
    process->environment = psnap_process_file(pid, "environ", &process->environment_bytes);
    process->command = psnap_process_file(pid, "cmdline", &size);
    for (size_t at = 0; at < size; at += strlen(process->command + at) + 1)
        count++;
    process->argv = calloc(count + 2, sizeof *process->argv);
    if (!process->argv)
        return;
    count = 0;
    for (size_t at = 0; at < size; at += strlen(process->command + at) + 1)
        process->argv[count++] = process->command + at;
    if (!count)
        process->argv[0] = "unknown";
}

void psnap_process_release(struct psnap_process *process)
{
    free(process->environment);
    free(process->command);
    free(process->argv);
    *process = (struct psnap_process){0};
}

const char *psnap_process_variable(const struct psnap_process *process, const char *name,
                                   size_t length)
{
    for (size_t at = 0; at < process->environment_bytes;
         at += strlen(process->environment + at) + 1)
        if (!strncmp(process->environment + at, name, length) &&
            process->environment[at + length] == '=')
            return process->environment + at + length + 1;
    return NULL;
}

static bool first_number(const struct psnap_process *process, const char *const *names,
                         uint32_t *number)
{
    for (; *names; names++) {
        const char *text = psnap_process_variable(process, *names, strlen(*names));
        char *end;
        unsigned long value = text ? strtoul(text, &end, 10) : 0;
        if (text && isdigit((unsigned char)*text) && !*end && value < UINT32_MAX) {
            *number = (uint32_t)value;
            return true;
        }
    }
    return false;
}

bool psnap_process_rank(const struct psnap_process *process, uint32_t *rank, uint32_t *ranks)
{
    static const char *const rank_names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK",    "PMI_RANK",
                                             "MV2_COMM_WORLD_RANK",  "SLURM_PROCID", NULL};
    static const char *const size_names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
                                             "MV2_COMM_WORLD_SIZE",  "SLURM_STEP_NUM_TASKS",
                                             "SLURM_NTASKS",         NULL};

    *rank = *ranks = 0;
    if (!first_number(process, rank_names, rank))
        return false;
    first_number(process, size_names, ranks);
    return true;
}

enum psnap_status psnap_name_check(const char *pattern, bool *is_late, struct psnap_error *error)
{
    *is_late = false;
    for (const char *at = strchr(pattern, '%'); at; at = strchr(at, '%')) {
        const char *end = at[1] == 'q' && at[2] == '{' ? strchr(at + 3, '}') : NULL;
        if (!at[1] || !strchr("phqr%", at[1]) || (at[1] == 'q' && (!end || end == at + 3)))
            return psnap_error_set(error, PSNAP_ERROR_USAGE,
                                   "in '%s': there are %%p (process), %%h (host), %%q{VARIABLE}, "
                                   "%%r (rank) and %%%%",
                                   pattern);
        *is_late |= at[1] != '%' && at[1] != 'h';
        at = end ? end + 1 : at + 2;
    }
    return PSNAP_OK;
}

/* The value of the variable that `*at` is before, which goes to its end; NULL when it is not set,
 * which an empty name would hide. */
static const char *expand_variable(const char **at, const char *pattern,
                                   const struct psnap_process *process, struct psnap_error *error)
{
    const char *name = *at + 2;
    const size_t length = strcspn(name, "}");
    const char *value = psnap_process_variable(process, name, length);

    *at = name + length;
    if (!value)
        psnap_error_set(error, PSNAP_ERROR_USAGE,
                        "in '%.200s': the variable %.*s is not set in process %ld", pattern,
                        (int)length, name, (long)process->pid);
    return value;
}

char *psnap_name_expand(const char *pattern, const struct psnap_process *process,
                        struct psnap_error *error)
{
    char *name = NULL, host[256] = "";
    size_t size;
    FILE *out = open_memstream(&name, &size);
    const char *value = "";
    uint32_t rank, ranks;

    if (!out) {
        psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
        return NULL;
    }
    for (const char *at = pattern; *at && value; at++) {
        if (*at != '%') {
            fputc(*at, out);
            continue;
        }
        switch (*++at) {
        case 'p':
            fprintf(out, "%ld", (long)process->pid);
            break;
        case 'h':
            gethostname(host, sizeof host - 1);
            fputs(host, out);
            break;
        case 'r':
            psnap_process_rank(process, &rank, &ranks);
            fprintf(out, "%u", rank);
            break;
        case 'q':
            value = expand_variable(&at, pattern, process, error);
            fputs(value ? value : "", out);
            break;
        default:
            fputc('%', out);
        }
    }
    if (fclose(out) != 0 && value) {
        psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
        value = NULL;
    }
    if (!value) {
        free(name);
        name = NULL;
    }
    return name;
}

/* ---- newcomers ---- */

struct search {
    const char *session;
    uint64_t inode;
    bool (*is_known)(const void *context, pid_t pid);
    const void *context;
    struct psnap_newcomers found;
};

/* It is a program of ours that runs. Else errno is ENOENT for one that has ended, and for a thread
 * of the system's. */
static bool has_memory(pid_t pid)
{
    char path[64], target[8];

    snprintf(path, sizeof path, "/proc/%ld/exe", (long)pid);
    return readlink(path, target, sizeof target) >= 0;
}

static bool has_mapped(pid_t pid, uint64_t inode)
{
    struct psnap_mappings mappings;
    struct psnap_mapping mapping;
    bool result = false;

    psnap_mappings_open(&mappings, pid);
    while (!result && psnap_mappings_next(&mappings, &mapping))
        result = mapping.inode == inode &&
                 !strncmp(mapping.path, "/memfd:" PSNAP_HUB_NAME, sizeof PSNAP_HUB_NAME + 6);
    psnap_mappings_close(&mappings);
    return result;
}

static bool names_session(const struct psnap_process *process, const char *session)
{
    const char *value =
        psnap_process_variable(process, PSNAP_ENV_SESSION, strlen(PSNAP_ENV_SESSION));

    return value && !strcmp(value, session);
}

static bool is_written_over(const struct psnap_process *process)
{
    for (size_t at = 0; at < process->environment_bytes;
         at += strlen(process->environment + at) + 1)
        if (!strchr(process->environment + at, '='))
            return true;
    return false;
}

/* The environment of a process, or of a thread of one; to be freed. It is empty as well for a
 * moment while a program is started: we wait, and *is_starting says when that was in vain. */
static void read_environment(struct psnap_process *process, pid_t pid, bool *is_starting)
{
    const struct timespec moment = {.tv_nsec = 1000 * 1000};

    *is_starting = false;
    for (int i = 0; i < EXECS_WAIT; i++) {
        size_t command_bytes;
        process->environment = psnap_process_file(pid, "environ", &process->environment_bytes);
        if (process->environment_bytes)
            return;
        free(psnap_process_file(pid, "cmdline", &command_bytes));
        if (command_bytes || !has_memory(pid))
            return;
        free(process->environment);
        process->environment = NULL;
        nanosleep(&moment, NULL);
    }
    *is_starting = true;
}

/* One thread's memory is that of all. False: there is nothing to see; with ENOENT, in this one. */
static bool look_at(struct search *search, pid_t pid, pid_t thread)
{
    struct psnap_process process = {0};
    bool may_come, is_attached = false, is_starting;

    if (!has_memory(thread))
        return false;
    read_environment(&process, thread, &is_starting);
    may_come = is_starting || names_session(&process, search->session);
    if (may_come ? search->is_known != NULL : is_written_over(&process))
        is_attached = has_mapped(thread, search->inode);
    psnap_process_release(&process);
    if (may_come || is_attached)
        search->found.one = pid;
    if (is_attached && search->is_known && !search->is_known(search->context, pid))
        search->found.attached++;
    return true;
}

static pid_t number(const char *name)
{
    char *end;
    const long pid = strtol(name, &end, 10);

    return *end || pid <= 0 ? 0 : (pid_t)pid;
}

/* A process whose first thread has ended is what its others are. */
static void look_at_threads(struct search *search, pid_t pid)
{
    char path[64];
    struct stat about;
    DIR *threads;
    bool is_done = false;

    snprintf(path, sizeof path, "/proc/%ld/task", (long)pid);
    if (stat(path, &about) != 0 || about.st_nlink == 3) /* itself */
        return;
    threads = opendir(path);
    for (struct dirent *entry; !is_done && threads && (entry = readdir(threads));) {
        const pid_t thread = number(entry->d_name);
        is_done = thread && thread != pid && look_at(search, pid, thread);
    }
    if (threads)
        closedir(threads);
}

static void look(struct search *search)
{
    DIR *processes = opendir("/proc");
    struct dirent *entry;

    while (processes && (search->is_known || !search->found.one) && (entry = readdir(processes))) {
        const pid_t pid = number(entry->d_name);
        if (pid && !look_at(search, pid, pid) && errno == ENOENT)
            look_at_threads(search, pid);
    }
    if (processes)
        closedir(processes);
}

/* Processes that have been made since the system was started; 0: unknown. */
static unsigned long long made(void)
{
    FILE *file = fopen("/proc/stat", "re");
    unsigned long long count = 0;
    char *line = NULL;
    size_t size = 0;

    while (file && !count && getline(&line, &size, file) > 0)
        if (sscanf(line, "processes %llu", &count) != 1)
            count = 0;
    free(line);
    if (file)
        fclose(file);
    return count;
}

struct psnap_newcomers psnap_newcomers_find(const char *session, uint64_t inode,
                                            bool (*is_known)(const void *context, pid_t pid),
                                            const void *context)
{
    struct search search = {
        .session = session, .inode = inode, .is_known = is_known, .context = context};
    unsigned long long before;
    int rounds = 0;

    do {
        before = made();
        look(&search);
    } while (!search.found.one && made() != before && ++rounds < ROUNDS_MAX);
    return search.found;
}
