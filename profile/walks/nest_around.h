/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Addresses that lie around another draw's last one, at no distance that stays: private to
 * nest_draws*.c. Of a reference a sample of its jumps is kept, with what the draws that came last
 * had drawn then; a fit tells around which of them they lie closest, and how.
 */
#ifndef PSNAP_PROFILE_NEST_AROUND_H
#define PSNAP_PROFILE_NEST_AROUND_H

#include "profile/walks/nest_models.h"

enum { NEST_LEADERS = 8 /* draws that came last */ };

struct nest_jump {
    uint64_t address;
    uint32_t draws[NEST_LEADERS]; /* PSNAP_NONE: none */
    uint64_t lasts[NEST_LEADERS];
    uint32_t refs[NEST_MARKS]; /* the same of what is not drawn */
    uint64_t marks[NEST_MARKS];
    uint64_t count; /* iterations of the leaf or the state that it was in; 0: not known */
    uint64_t rest;  /* and of what is left over after these, if that comes */
};

struct nest_jumps;

/* A stride that leads so far, or the first address, is a jump. */
static inline bool nest_is_jump(uint64_t stride)
{
    return stride + 64 > 128;
}

/* Where the next jump is to be put, or NULL when it is not of the sample; *jumps is made when it is
 * NULL; false: out of memory. */
bool nest_jumps_next(struct nest_jumps **jumps, struct nest_jump **jump);
/* Of the jumps that have been put since it was called last; jumps may be NULL. */
void nest_jumps_count(struct nest_jumps *jumps, uint64_t count);
/* Of those of which the count was said last: so much is left over. */
void nest_jumps_rest(struct nest_jumps *jumps, uint64_t count);

/* What a draw is by now, and whether the reference's addresses may come from its: PSNAP_NONE if
 * not. */
typedef uint32_t nest_leader_of(void *context, uint32_t draw);

/* Whether jumps mostly lead as far from one other draw's last address, always. */
bool nest_jumps_are_tight(const struct nest_jumps *jumps, nest_leader_of *leader_of, void *context);

/* Makes the jumps of a source with one area lie around another draw's last address, if they do so
 * much closer than the gather says, or around that of a reference (of the program) which is not
 * drawn, so much further for each iteration that comes then; else leaves it as it is. `is_start`:
 * it is what is drawn when a loop has just been come to, each time anew. */
void nest_jumps_fit(const struct nest_jumps *jumps, nest_leader_of *leader_of, void *context,
                    bool is_start, struct nest_source *source);

#endif
