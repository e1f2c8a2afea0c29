/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Processes that may still ask the hub for a session: as long as there is one, it has to stay.
 */
#ifndef PSNAP_CAPTURE_SESSION_CMD_NEWCOMERS_H
#define PSNAP_CAPTURE_SESSION_CMD_NEWCOMERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

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
