/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A run without accesses that are sure to hit level 1 and to change nothing: by the line instead of
 * by the access.
 *
 * Sets of an LRU cache are independent. A repetition that touches the same lines of a set in the
 * same order as the one before, no more than there are ways, hits them all and leaves their order
 * as it is; stores have made them dirty then. So what maps to a set is simulated in repetitions in
 * which some access is in another line than before, and left out up to the next such; an access
 * that is alone in its set, in this repetition and in the one before, only where it changes its own
 * line. Accesses that lie in two lines are never left out.
 */
#ifndef PSNAP_SIMCORE_REDUCE_H
#define PSNAP_SIMCORE_REDUCE_H

#include "formats/base/stream.h"

enum { REDUCE_WIDTH_MAX = 64, REDUCE_SHAPES_MAX = 16, REDUCE_BUCKETS = 512, REDUCE_LINES_MAX = 7 };

/* A first level. */
struct reduce_shape {
    unsigned line_shift;
    uint64_t sets, mask; /* `mask` sets - 1 where that is one, else 0 */
    uint64_t ways;
};

struct reduce {
    const struct psnap_run *run;
    const struct reduce_shape *shapes;
    size_t shape_count;
    uint64_t line_bytes; /* the shortest lines of all */
    uint64_t repetition;
    size_t at;                         /* access of it that comes next */
    uint64_t left;                     /* accesses that were not left out */
    uint64_t change[REDUCE_WIDTH_MAX]; /* repetition in which it is in another line, or in two */
    bool shares[REDUCE_WIDTH_MAX];     /* its set with another line of the run */
    bool crowds[REDUCE_WIDTH_MAX];     /* it with more lines than there are ways */
    bool is_due[REDUCE_WIDTH_MAX];     /* in this repetition */
    uint32_t stamp;
    struct {
        uint32_t stamp, count;
        uint64_t lines[REDUCE_LINES_MAX];
    } buckets[REDUCE_BUCKETS]; /* of sets: the lines that the run is in; beyond room they are
                                  counted each time */
};

/* Whether a run can be taken so, and it is worth it: strides alone, most of them within a line. */
bool reduce_suits(const struct psnap_run *run, uint64_t line_bytes);

void reduce_begin(struct reduce *reduce, const struct psnap_run *run,
                  const struct reduce_shape *shapes, size_t shape_count, uint64_t line_bytes);

/* The next accesses that are not left out, in order; 0 at the end. */
size_t reduce_next(struct reduce *reduce, struct psnap_access *block, size_t capacity);

#endif
