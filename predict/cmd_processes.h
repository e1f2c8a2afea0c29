/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Work in processes of this one: one item each, so many at a time. One that fails, or is ended by a
 * signal, costs its own item alone.
 */
#ifndef PSNAP_PREDICT_CMD_PROCESSES_H
#define PSNAP_PREDICT_CMD_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "formats/base/cmd_progress.h"

enum { PROCESSES_MAX = 256 }; /* at a time */

enum process_end { PROCESS_DONE, PROCESS_FAILED, PROCESS_KILLED /* by a signal */ };

struct processes {
    void *context;                   /* of both functions */
    uint32_t at_a_time;              /* PROCESSES_MAX at most; 0: as there are processors */
    struct psnap_progress *progress; /* of items; NULL: none. `take` erases it before it prints */
    /* In a process of its own; what it has to tell goes to `file`. False: it has failed. */
    bool (*work)(void *context, void *item, FILE *file);
    /* Here, with what it told. An error ends the work. */
    enum psnap_status (*take)(void *context, void *item, enum process_end end, const char *told,
                              struct psnap_error *error);
};

/* Works on the items, in their order as far as processes are free. On an error processes that have
 * begun their item are waited for, and what they told is taken. */
enum psnap_status processes_run(const struct processes *processes, void *const *items, size_t count,
                                struct psnap_error *error);

#endif
