/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Streams whose nests are all of one loop, read run by run.
 */
#ifndef PSNAP_TEST_NEXT_RUN_H
#define PSNAP_TEST_NEXT_RUN_H

#include <stdlib.h>
#include <string.h>

#include "formats/base/stream.h"

/* As psnap_source_next_nest: accesses into the block, and the run behind them; its count is 0 when
 * there is none. */
static inline ssize_t next_run(struct psnap_source *source, struct psnap_access *block,
                               size_t capacity, struct psnap_run *run, struct psnap_error *error)
{
    static struct psnap_nest_walk walk;
    static struct psnap_nest nest;
    const struct psnap_access *at;
    const ssize_t n = psnap_source_next_nest(source, block, capacity, &at, &nest, error);

    if (nest.loop_count > 1 || (n > 0 && (size_t)n > capacity))
        abort();
    if (n > 0)
        memmove(block, at, (size_t)n * sizeof *block);
    psnap_nest_walk_init(&walk, &nest);
    if (!psnap_nest_walk_next(&walk, run))
        *run = (struct psnap_run){.count = 0};
    return n;
}

#endif
