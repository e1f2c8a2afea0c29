/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A run without accesses that are sure to hit level 1: by the line instead of by the access.
 *
 * Take a window of a run's repetitions, in which no set of level 1 is touched in more lines than
 * it has ways. Sets of an LRU cache are independent, and a line that was touched in the window is
 * younger than all that were not: it is not evicted before the window ends. So of a line only
 * its first touch can miss, and in which order lines were touched matters at the window's end
 * alone. What is left of the window are the first touch of each line and the first store to it,
 * and, where lines of a set are then in another order than they should be, their last touches at
 * the end.
 *
 * Where all accesses advance by the same stride, and a window's is a multiple of the line, the next
 * window is the same one some lines further on: which lines share a set is as before. So a window's
 * schedule is made once for all runs of the same accesses, as far from each other, at the same
 * place within a line, as those of a loop in a loop are.
 */
#ifndef PSNAP_SIMCORE_REDUCE_H
#define PSNAP_SIMCORE_REDUCE_H

#include "formats/base/stream.h"

enum {
    REDUCE_WIDTH_MAX = 64,
    REDUCE_SHAPES_MAX = 16,
    REDUCE_TOUCHES_MAX = 512, /* accesses of a window */
    REDUCE_SCHEDULES = 64     /* that are kept */
};

/* A first level. */
struct reduce_shape {
    unsigned line_shift;
    uint64_t sets;
    uint64_t mask; /* sets - 1 of a power of two of sets, else 0 */
    uint64_t ways;
};

/* Of all runs whose accesses are `first` but for one number that is added to all addresses, which
 * is a multiple of the longest line. */
struct schedule {
    struct psnap_access first[REDUCE_WIDTH_MAX]; /* the address of the first is within a line */
    int64_t stride;
    uint32_t width;  /* 0: none */
    uint32_t window; /* repetitions */
    bool is_made;    /* else the run was seen once */
    uint32_t left;   /* accesses of a window; 0: nothing is left out */
    struct psnap_access due[2 * REDUCE_TOUCHES_MAX];
};

struct reduce {
    struct reduce_shape shapes[REDUCE_SHAPES_MAX];
    size_t shape_count;
    uint64_t line_bytes; /* the longest lines of all */
    struct schedule schedules[REDUCE_SCHEDULES];
};

/* What is left of a run; all zero: nothing. Valid until the next reduce_begin(). */
struct reduced {
    const struct schedule *schedule;
    uint64_t base;    /* addresses of the window are those of the schedule and this */
    uint64_t windows; /* that come, with the one in hand */
    uint32_t at;      /* in `due` */
};

/* Returns how many of a run's repetitions, from the first one on, reduce_next() delivers; 0: it is
 * not worth it. */
uint64_t reduce_begin(struct reduce *reduce, const struct psnap_run *run, struct reduced *reduced);

/* The next accesses that are not left out, in order; 0 at the end. */
size_t reduce_next(struct reduced *reduced, struct psnap_access *block, size_t capacity);

/* Repetitions of a long run that are whole windows, and all of a short one. */
uint64_t reduce_part(const struct reduce *reduce, const struct psnap_run *run);

#endif
