/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a signal that ends psnap run does first: a process beside it removes the FIFO and its
 * folder, as it does when psnap is killed, and the consumer is told by the same signal. Those that
 * came from the terminal went to the consumer as well, and are not passed on. Signals that psnap
 * was started to ignore (nohup) stay ignored.
 */
#ifndef PSNAP_REPLAY_CMD_RUN_SIGNALS_H
#define PSNAP_REPLAY_CMD_RUN_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

void psnap_run_signals_arrange(void);

/* Starts the process that removes these when psnap has ended, however that was, or ends it. False
 * with errno set. */
bool psnap_run_watch(const char *fifo, const char *folder);
void psnap_run_unwatch(void);
/* Whom to pass signals on to; 0: nobody. */
void psnap_run_signals_child(pid_t child);

/* Signals wait from hold until let, which takes what hold returned. */
sigset_t psnap_run_signals_hold(void);
void psnap_run_signals_let(const sigset_t *before);
/* In the child, instead of let: signals are as psnap found them. */
void psnap_run_signals_restore(const sigset_t *before);

#endif
