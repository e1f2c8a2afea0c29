/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a signal that ends psnap run does first: the FIFO and its folder are removed, and the
 * consumer is told by the same signal. Those that came from the terminal went to the consumer as
 * well, and are not passed on. Signals that psnap was started to ignore (nohup) stay ignored.
 */
#ifndef PSNAP_REPLAY_CMD_RUN_SIGNALS_H
#define PSNAP_REPLAY_CMD_RUN_SIGNALS_H

#include <signal.h>
#include <sys/types.h>

void psnap_run_signals_arrange(void);

/* What is to be removed: texts that stay where they are until they are replaced by NULL. */
void psnap_run_signals_remove(const char *fifo, const char *folder);
/* Whom to pass signals on to; 0: nobody. */
void psnap_run_signals_child(pid_t child);

/* Signals wait from hold until let, which takes what hold returned. */
sigset_t psnap_run_signals_hold(void);
void psnap_run_signals_let(const sigset_t *before);
/* In the child, instead of let: signals are as psnap found them. */
void psnap_run_signals_restore(const sigset_t *before);

#endif
