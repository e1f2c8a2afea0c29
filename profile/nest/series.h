/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A sequence of numbers that may be a nest: the addresses of a reference, or the trip counts of a
 * loop. It is folded while it comes (nest.h). Rows of numbers, as an inner loop makes them, end
 * where the caller says (series_end_row); when that leaves too many terms, rows that go on where the
 * one before ended are joined, as those of a sparse matrix are; when it still does, the series
 * gives up: it is no nest, and forgets its terms.
 */
#ifndef PSNAP_PROFILE_SERIES_H
#define PSNAP_PROFILE_SERIES_H

#include "profile/nest/nest.h"

enum series_state {
    SERIES_ROWS,   /* rows are as they came */
    SERIES_JOINED, /* rows that go on are one */
    SERIES_NONE    /* it is no nest */
};

struct series {
    struct nest_fold fold;
    enum series_state state;
    const struct nest_pattern *pattern; /* that the last run had */
    uint64_t first, next, stride, count; /* of the run under way; 0: none */
    uint64_t length;                     /* numbers so far */
    uint64_t runs;                       /* that were folded */
};

void series_init(struct series *series, struct nest_patterns *patterns);
void series_release(struct series *series);

/* `count` more numbers from `first` on; false: out of memory. */
bool series_put(struct series *series, uint64_t first, uint64_t stride, uint64_t count);
/* A row ends here. */
bool series_end_row(struct series *series);
/* No more will come. Afterwards the state says whether there are terms. */
bool series_end(struct series *series);

/* Whether there are so few terms for the numbers that it is a nest for sure. */
bool series_is_plain(const struct series *series);

#endif
