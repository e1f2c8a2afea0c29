/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hub: a process beside `psnap record` from which all processes of a
 * recording get their sessions (struct psnap_hub), each further one with a
 * collector and files of its own.
 */
#ifndef PSNAP_CAPTURE_SESSION_CMD_HUB_H
#define PSNAP_CAPTURE_SESSION_CMD_HUB_H

#include <stdbool.h>
#include <sys/types.h>

#include "capture/session/cmd_recording.h"

struct psnap_hub_process {
    struct psnap_hub *page; /* shared with the hub and with all processes that are recorded */
    int fd;
    pid_t pid;
    char path[64]; /* of the page, for PSNAP_ENV_SESSION */
};

/* Starts the hub of a prepared recording; outputs are not open yet, as it would keep them open.
 * Every process asks for a session until psnap_hub_offer. */
enum psnap_status psnap_hub_start(struct psnap_hub_process *hub,
                                  const struct psnap_recording *recording,
                                  struct psnap_error *error);

/* This process's own session goes to the first process that comes; to nobody when it has ended
 * before one has. The page must outlive it. */
void psnap_hub_offer(struct psnap_hub_process *hub, struct psnap_source *capture);

/* A process that came could not be recorded, which psnap_hub_finish will say. */
bool psnap_hub_has_refused(const struct psnap_hub_process *hub);

/* Waits until the files of all processes that have ended are written, says what is missing, and
 * releases the hub, which stays for processes that go on. True when something is missing. */
bool psnap_hub_finish(struct psnap_hub_process *hub, const struct psnap_recording *recording);

#endif
