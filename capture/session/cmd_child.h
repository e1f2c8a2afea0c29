/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The program that a command runs as its child, and the signals that are sent to the command
 * meanwhile.
 *
 * SIGTERM, SIGHUP, SIGINT and SIGQUIT are passed on to the program, and ask the command to end: it
 * stops recording PSNAP_CHILD_GRACE_MS later, whether the program has ended by then or not.
 * What the terminal sends has reached the program by itself, which may live on (an interpreter's
 * prompt): it asks the command to end only when the program has ended already.
 */
#ifndef PSNAP_CAPTURE_SESSION_CMD_CHILD_H
#define PSNAP_CAPTURE_SESSION_CMD_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "formats/base/deadline.h"

enum { PSNAP_CHILD_GRACE_MS = 400 };

struct psnap_child_start {
    char **argv;
    const char *session;       /* for PSNAP_ENV_SESSION; NULL: the program is not recorded */
    void (*environment)(void); /* further changes, in the child; NULL: none */
    bool moves_stdout;         /* what it prints goes to standard error */
    bool cannot_go_on;         /* it would wait for us: it is killed when the time is over */
};

/* Before the first psnap_child_start: standard files that are closed stay so for programs, but no
 * file of ours gets their numbers; a file that grows too large is an error and no signal. */
void psnap_child_prepare(void);

/* Holds signals back from now on; returns the mask before. */
sigset_t psnap_signals_hold(const int *signals, size_t count);

/* Returns its number; -1 with *failure the errno of an exec that failed. */
pid_t psnap_child_start(const struct psnap_child_start *how, int *failure);

/* Waits for the program that runs; returns its exit status (128+n for signal n), or, when it has
 * not ended though we were asked to, 128 and the signal: it goes on, which is said. */
int psnap_child_reap(const char *command);

/* When what the command does is to end. */
const struct psnap_deadline *psnap_child_deadline(void);
/* It is kept there from now on, where others see it too; NULL: no more. */
void psnap_child_share_deadline(struct psnap_deadline *place);

#endif
