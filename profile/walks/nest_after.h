/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Addresses that lie behind what was drawn just before, of whatever reference: private to
 * nest_draws*.c. A trail has the last ones that were drawn; of a reference rows are kept of how far
 * its addresses are from its own last one, and from each of the trail then, and a fit tells of
 * which few pairs of a place in the trail and an offset nearly all rows have one.
 */
#ifndef PSNAP_PROFILE_NEST_AFTER_H
#define PSNAP_PROFILE_NEST_AFTER_H

#include "profile/walks/nest_models.h"

/* The latest is at `at` - 1, modulo the length. */
struct nest_trail {
    uint64_t addresses[NEST_BACK_MAX];
    uint32_t draws[NEST_BACK_MAX]; /* PSNAP_NONE: nothing yet */
    uint32_t at;
    /* The same of what is not drawn: where references were in the last iteration of a leaf. */
    uint64_t marks[NEST_MARKS];
    uint32_t refs[NEST_MARKS];  /* PSNAP_NONE: nothing */
    uint32_t marked, mark_loop; /* how many; of the last one */
};

void nest_trail_init(struct nest_trail *trail);

static inline void nest_trail_mark(struct nest_trail *trail, uint32_t loop, uint32_t ref,
                                   uint64_t address)
{
    trail->mark_loop = loop;
    trail->marks[trail->marked % NEST_MARKS] = address;
    trail->refs[trail->marked++ % NEST_MARKS] = ref;
}

/* The latest first. */
static inline void nest_trail_marks(const struct nest_trail *trail, uint64_t marks[NEST_MARKS],
                                    uint32_t refs[NEST_MARKS])
{
    for (uint32_t i = 0; i < NEST_MARKS; i++) {
        const uint32_t from = (trail->marked - 1 - i) % NEST_MARKS;
        marks[i] = trail->marks[from];
        refs[i] = trail->refs[from];
    }
}

static inline void nest_trail_push(struct nest_trail *trail, uint32_t draw, uint64_t address)
{
    trail->addresses[trail->at % NEST_BACK_MAX] = address;
    trail->draws[trail->at++ % NEST_BACK_MAX] = draw;
}

struct nest_rows;

enum { NEST_STARTS = 8 };

/* Where draws began when their loops were come to last, of those that came last; and from where
 * they came back to earlier addresses last, 0: not known. */
struct nest_starts {
    uint64_t addresses[NEST_STARTS], lefts[NEST_STARTS];
    uint32_t draws[NEST_STARTS]; /* PSNAP_NONE: none */
};

/* One more address of a draw, which had `last` before; *rows is made when it is NULL. *starts is to
 * be filled in, NULL: not this time. False: out of memory. */
bool nest_rows_put(struct nest_rows **rows, const struct nest_trail *trail, uint32_t draw,
                   uint64_t last, uint64_t address, struct nest_starts **starts);

/* The same of an address that a leader tells, of which no row is kept; rows may be NULL. */
void nest_rows_hold(struct nest_rows *rows, uint64_t address);

/* From where a draw came back to an earlier address last, or 0; rows may be NULL. */
uint64_t nest_rows_left(const struct nest_rows *rows);

/* From where it goes on: a draw's last address, the reference's own, where a draw began or came
 * back from. */
enum nest_lead { NEST_LEAD, NEST_LEAD_OWN, NEST_LEAD_LEFT };

/* Whether it may go on from that of a draw. */
typedef bool nest_may_lead(void *context, uint32_t draw, enum nest_lead lead);

/* Sets the source's `after` if that tells nearly all rows (NULL: none); leaves whose trail it is,
 * of which there are `leader_count`. What comes after a mark has the reference, of the program, in
 * the place of a draw, what comes after a start or from where one came back its draw. Where
 * addresses are is that of the rows, of accesses of `size` bytes. */
bool nest_rows_fit(const struct nest_rows *rows, nest_may_lead *may_lead, void *context,
                   uint32_t size, struct nest_source *source, uint32_t leaders[NEST_BACK_MAX],
                   uint32_t *leader_count);

/* The same for where a loop goes on right behind what was drawn just before, by whom that was: by
 * another state of the loop, which may itself go on behind this one. So there is a first address
 * within the bounds of the rows. */
bool nest_rows_go_on(const struct nest_rows *rows, nest_may_lead *may_lead, void *context,
                     uint32_t size, struct nest_source *source);

/* Which share of the rows is foreseen so: the squares of what each way tells, added; and which is
 * told by any. */
double nest_rows_foreseen(const struct nest_rows *rows, nest_may_lead *may_lead, void *context,
                          double *told);

/* Which share of the addresses led back to that before the last, as what recurs does most often of
 * all earlier ones, or 0; *any: to any of those, 1 when there are too few to tell. */
double nest_rows_come_back(const struct nest_rows *rows, double *any);

#endif
