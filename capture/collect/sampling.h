/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A stretch of a running program's accesses, or windows of it: what `--skip`,
 * `--count` and `--window` leave of the stream that is recorded.
 */
#ifndef PSNAP_CAPTURE_COLLECT_SAMPLING_H
#define PSNAP_CAPTURE_COLLECT_SAMPLING_H

#include <stdbool.h>

#include "formats/base/stream.h"

/* What the source of a running program can be told; either may be NULL. */
struct psnap_sampled_ops {
    /* A run has at most so many accesses from here on; executions of blocks count, or do not. */
    void (*attend)(struct psnap_source *inner, uint64_t accesses, bool counts);
    /* Nothing more will be read: the program is to go on alone. */
    void (*enough)(struct psnap_source *inner);
};

/*
 * The accesses [skip, skip + count) of `inner`, or of each `period` of these the
 * first `window`. At the end the program's sampling says what was seen, and how far
 * loops may be off. Does not own `inner`, shares its program, whose sampling has the
 * wishes. NULL: out of memory.
 */
struct psnap_source *psnap_sample_source_new(struct psnap_source *inner,
                                             const struct psnap_sampled_ops *ops);

/* "X/Y": whether it is two numbers, 1 to Y and Y. */
bool psnap_window_read(const char *text, uint64_t *window, uint64_t *period);

#endif
