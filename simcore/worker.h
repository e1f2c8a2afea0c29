/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A thread that does one job whenever it is asked to, for jobs of some microseconds: both sides
 * wait for each other awake for a while, before they let others run.
 */
#ifndef PSNAP_SIMCORE_WORKER_H
#define PSNAP_SIMCORE_WORKER_H

struct worker;

/* NULL: no memory or thread for it. */
struct worker *worker_new(void (*job)(void *context), void *context);
void worker_free(struct worker *worker); /* which waits for the job; NULL is legal */

/* Begins the job; what the caller wrote before, the job sees. */
void worker_begin(struct worker *worker);
/* Waits until it is done; what it wrote, the caller sees. */
void worker_end(struct worker *worker);

#endif
