/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The places that the rows of a draw may have come from: private to nest_after_*.c. A place is the
 * reference's own last address or one so many back in the trail, by how many; the last one of a
 * reference that is not drawn; where a draw began when its loop was come to last; where one came
 * back from; and of an unrolled loop's references the one that came last.
 */
#ifndef PSNAP_PROFILE_NEST_AFTER_PLACES_H
#define PSNAP_PROFILE_NEST_AFTER_PLACES_H

#include "profile/walks/nest_after_rows.h"

enum {
    REFS = 4,                /* references that are not drawn which are looked at, */
    STARTS = 8,              /* and draws that began */
    BEGUN = BACKS + REFS,    /* from here on, where draws began, */
    LEFTS = BEGUN + STARTS,  /* and where they came back from */
    LATEST = LEFTS + STARTS, /* of a loop's references the one that came last */
    PLACES = LATEST + 1
};

struct fitting {
    const struct row *rows;
    uint32_t count;
    uint32_t refs[REFS], ref_count;       /* those of marks that come most often */
    uint32_t starts[STARTS], start_count; /* of draws, the same */
    uint32_t latest[NEST_MARKS], latest_count, latest_loop; /* those of a loop that come last */
    uint64_t low, high;                                     /* of places that are scaled */
    uint64_t places[ROWS][PLACES];
    bool may_lead[ROWS][PLACES], is_told[ROWS];
    uint32_t held[NEST_EARLIER_MAX + 1], held_count; /* beside the rows, in proportion */
};

/* How often numbers come, in the order in which they do. */
struct tally {
    uint32_t numbers[2 * ROWS], counts[2 * ROWS], count;
};

/* One more number, PSNAP_NONE: none. Those that there is no room for are not counted. */
void nest_tally_one(struct tally *tally, uint32_t number);

/* Sets the places of f's rows, and which of them may lead. */
void nest_places_set(struct fitting *f, nest_may_lead *may_lead, void *context);

#endif
