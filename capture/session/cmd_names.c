/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Names of files with parts that each process fills in: %p its process id, %h
 * the host, %q{VAR} a variable of its environment (as it was when the program
 * started), %r its rank in a parallel job, %% a percent sign.
 *
 * Ranks are what Open MPI, PMIx, MPICH and its kin (PMI), MVAPICH and Slurm say
 * in the environment, in this order.
 */
#include "capture/session/cmd_names.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/base/room.h"

enum { FILE_BYTES_MAX = 4 << 20 };

char *psnap_process_file(pid_t pid, const char *name, size_t *size)
{
    char path[64], *text = NULL;
    size_t room = 0;
    ssize_t more = 1;
    int fd;

    snprintf(path, sizeof path, "/proc/%ld/%s", (long)pid, name);
    *size = 0;
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    for (; more > 0; *size += (size_t)more) {
        if (room < FILE_BYTES_MAX && !psnap_make_room(&text, &room, *size + 4096, 1))
            break;
        more = read(fd, text + *size, room - *size - 1);
        more = more < 0 ? 0 : more;
    }
    close(fd);
    if (text)
        text[*size] = '\0';
    return text;
}

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
