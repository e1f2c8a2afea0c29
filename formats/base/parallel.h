/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One kind of work on many things, by threads that take the next of them until there is none.
 */
#ifndef PSNAP_BASE_PARALLEL_H
#define PSNAP_BASE_PARALLEL_H

#include <stddef.h>

enum { PSNAP_PARALLEL_MAX = 16 }; /* threads */

/* work(context, thread, i) of each i below `count`, by as many threads as there are processors, at
 * most PSNAP_PARALLEL_MAX; the calling one is thread 0. */
void psnap_parallel(size_t count, void (*work)(void *context, unsigned thread, size_t i),
                    void *context);

#endif
