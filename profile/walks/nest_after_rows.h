/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is kept of the addresses of a draw (nest_after.h): private to nest_after*.c. Rows are a
 * sample of all that were looked at (nest_sample.h), with every place that an address may have come
 * from; pairs are a larger one, of an address and the reference's own before it.
 */
#ifndef PSNAP_PROFILE_NEST_AFTER_ROWS_H
#define PSNAP_PROFILE_NEST_AFTER_ROWS_H

#include "profile/walks/nest_after.h"
#include "profile/walks/nest_past.h"

enum {
    ROWS = 256,
    ROWS_MIN = 64, /* to tell anything */
    PAIRS = 1024,
    BACKS = NEST_BACK_MAX + 1
};

struct row {
    uint64_t address, places[BACKS]; /* its own last, the latest, those before */
    uint64_t marks[NEST_MARKS];      /* the latest one first */
    struct nest_starts starts;
    uint32_t draws[BACKS], refs[NEST_MARKS], mark_loop; /* mark_loop: of the latest mark */
    uint32_t earlier;                                   /* so many of its own back, 0: nowhere */
};

/* An address and the reference's own before it: a larger sample. */
struct pair {
    uint64_t last, address;
};

struct nest_rows {
    uint64_t seen, pairs_seen;
    uint64_t low, high; /* of all addresses */
    struct nest_past past;
    /* Addresses by how far back among the draw's own, 0: nowhere; and those of them of which no
       rows are kept, as the present leader has not failed yet. */
    uint64_t came[NEST_EARLIER_MAX + 1], held[NEST_EARLIER_MAX + 1];
    struct row rows[ROWS];
    struct pair pairs[PAIRS];
};

/* Whether the ways to all places are alike from whichever address it comes; a place is `scale`
 * times that, and an offset. */
bool nest_is_chosen_alike(const struct nest_rows *rows, uint64_t scale);

#endif
