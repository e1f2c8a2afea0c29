/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Iterations that come again and again, put all at once.
 */
#ifndef PSNAP_PROFILE_NEST_REPEAT_H
#define PSNAP_PROFILE_NEST_REPEAT_H

#include "profile/walks/nest_leaves.h"

/* By how much the addresses of references advance from one time to the next. */
struct nest_advances {
    struct nest_advance {
        uint64_t bytes;
        uint64_t known; /* in which turn it was */
    } *of;              /* by reference */
    size_t room;
    uint64_t turn;
};

/* Whether it is known by how much a reference advances, and by so much. */
static inline bool nest_advances_by(const struct nest_advances *advances, uint32_t ref,
                                    uint64_t bytes)
{
    return ref < advances->room && advances->of[ref].known == advances->turn &&
           advances->of[ref].bytes == bytes;
}

/* Leaves as they were: a nest with what comes next, and the leaf under way. */
struct nest_mark {
    bool is_set, is_open;
    uint32_t depth;
    uint64_t changes;
    struct nest_frame frames[NEST_DEPTH_MAX];
    struct nest_shape *shape; /* room for the widest, as values and strides */
    uint64_t *values, *strides;
};

struct nest_mark *nest_mark_new(void); /* NULL: out of memory */
void nest_mark_free(struct nest_mark *mark);
void nest_mark_set(struct nest_mark *mark, const struct nest_leaves *leaves);

/* What was put since the mark was set is put up to `times` more, with addresses that advance by
 * `advances` each time, if that is nothing but what the nest expects and will go on to expect.
 * Returns how many times; when these are 0 nothing is changed. */
uint64_t nest_leaves_repeat(struct nest_leaves *leaves, const struct nest_mark *mark,
                            const struct nest_advances *advances, uint64_t times);

#endif
