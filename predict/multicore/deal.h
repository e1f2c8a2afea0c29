/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whose an access of a parallel section is: one core's, or every core's.
 */
#ifndef PSNAP_PREDICT_DEAL_H
#define PSNAP_PREDICT_DEAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/base/access.h"
#include "predict/multicore/marks.h"

/* How often a reference came in a loop before the first marked iteration, if there is one. */
struct deal_count {
    uint32_t ref;
    uint64_t count;
};

struct deal_loop {
    uint64_t iterations; /* 0: none are marked */
    uint64_t chunk;      /* 0: a contiguous part for each core */
    size_t first, count; /* of the counts these are its references' */
};

/* A part of a section between barriers. */
struct deal {
    uint32_t cores;
    uint64_t chunk;    /* of all loops, 0: as each has it */
    bool as_published; /* everything is dealt by counts */
    struct deal_loop *loops;
    size_t loop_count, loop_room;
    struct deal_count *counts;
    size_t count_count, count_room;
    /* while it is taken: */
    bool is_open;   /* in a loop */
    uint64_t *seen; /* by reference */
    size_t seen_room;
};

void deal_release(struct deal *deal);

/* A new part; `chunk`, `cores` and `as_published` stay. False: out of memory, as below. */
bool deal_begin(struct deal *deal);
/* Takes what comes, mark or access; `refs` there are. */
bool deal_take(struct deal *deal, const struct mark *mark, uint32_t ref, uint32_t refs);
void deal_end(struct deal *deal);

/* A core's way through the part, once it is ended. */
struct deal_cursor {
    const struct deal *deal;
    uint32_t core;
    enum { DEAL_ALL, DEAL_LOOP, DEAL_COUNTED, DEAL_SINGLE } where;
    bool is_mine; /* the iteration */
    size_t next;  /* loop */
    uint64_t iteration, iterations, chunk;
    const struct deal_count *counts; /* of the loop, by reference */
    size_t count_count;
    uint64_t *seen; /* of these */
    size_t seen_room;
};

/* Begins again; cursors are zeroed before the first time. False: out of memory. */
bool deal_cursor_begin(struct deal_cursor *cursor, const struct deal *deal, uint32_t core);
void deal_cursor_release(struct deal_cursor *cursor);
/* Follows a mark; false: out of memory. */
bool deal_cursor_mark(struct deal_cursor *cursor, const struct mark *mark);
/* Whether the core makes this access, which is the cursor's next. */
bool deal_cursor_access(struct deal_cursor *cursor, uint32_t ref);

#endif
