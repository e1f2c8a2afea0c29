/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A process as the system describes it, names of files that depend on it, and processes that may
 * still ask the hub for a session: as long as there is one, it has to stay.
 */
#ifndef PSNAP_CAPTURE_SESSION_CMD_PROCESS_H
#define PSNAP_CAPTURE_SESSION_CMD_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "formats/base/status.h"

struct psnap_process {
    pid_t pid;
    char *environment; /* as it was when the program started: texts, a NUL behind each */
    size_t environment_bytes;
    char *command;     /* likewise */
    const char **argv; /* into it, NULL-terminated, at least one; NULL when out of memory */
};

/* What cannot be read is empty. */
void psnap_process_read(struct psnap_process *process, pid_t pid);
void psnap_process_release(struct psnap_process *process);
const char *psnap_process_variable(const struct psnap_process *process, const char *name,
                                   size_t length);

/* Its rank in a parallel job and how many there are (0: unknown); false when it has none. */
bool psnap_process_rank(const struct psnap_process *process, uint32_t *rank, uint32_t *ranks);

/* *is_late: the name depends on the process. */
enum psnap_status psnap_name_check(const char *pattern, bool *is_late, struct psnap_error *error);

/* The name for a process; to be freed. NULL on failure, as when a variable that it names is not
 * set, with `error` filled. */
char *psnap_name_expand(const char *pattern, const struct psnap_process *process,
                        struct psnap_error *error);

struct psnap_newcomers {
    pid_t one;       /* any of them, 0: there is none */
    size_t attached; /* that are instrumented and not known */
};

/* Looks for processes that have `session` as PSNAP_ENV_SESSION, or the page (its `inode`) in their
 * memory. Without `is_known` the first one will do and none is counted as attached. */
struct psnap_newcomers psnap_newcomers_find(const char *session, uint64_t inode,
                                            bool (*is_known)(const void *context, pid_t pid),
                                            const void *context);

#endif
