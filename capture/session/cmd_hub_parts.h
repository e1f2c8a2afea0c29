/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of the hub share: cmd_hub.c, psnap record's side of it, cmd_hub_serve.c, the
 * process beside it, and cmd_hub_names.c.
 */
#ifndef PSNAP_CAPTURE_SESSION_CMD_HUB_PARTS_H
#define PSNAP_CAPTURE_SESSION_CMD_HUB_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "capture/session/cmd_names.h"
#include "capture/session/cmd_recording.h"
#include "formats/base/capture_abi.h"

struct psnap_hub_names {
    char **all; /* in use */
    size_t count;
    bool force; /* files that are there do not matter */
};

/* False when out of memory. */
bool psnap_hub_names_add(struct psnap_hub_names *names, const char *name);
void psnap_hub_names_release(struct psnap_hub_names *names);

/* A name that no other process has, in use from now on; to be freed. NULL when there can be none,
 * which is said, or out of memory. */
char *psnap_hub_names_choose(struct psnap_hub_names *names, const char *pattern,
                             const struct psnap_process *process);

/* Standard output is the first process's. */
const char *psnap_hub_visible_name(const char *pattern);

struct psnap_hub_server {
    struct psnap_hub *page;
    const struct psnap_recording *recording;
    bool is_verbose;
    pid_t record; /* psnap record */
    int log[2];   /* collectors write, the hub passes on */
    struct psnap_hub_names names;
    int fd;            /* of the page, */
    char path[64];     /* of it, for PSNAP_ENV_SESSION, */
    uint64_t inode;    /* and of it */
    int newcomer;      /* pidfd of a process that may ask; -1: none is known */
    bool is_forgotten; /* nobody is left who may ask */
    struct psnap_hub_client *clients;
    size_t client_count;
};

/* What the hub does, to its end. */
void psnap_hub_serve(struct psnap_hub_server *server);

/* Adds one to it, and wakes all that wait for that. */
void psnap_hub_ring(uint32_t *futex);

#endif
