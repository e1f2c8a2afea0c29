/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads the numbers of a nest (addresses, trip counts) in their order, run by run. After the last
 * number the first one follows again.
 */
#ifndef PSNAP_PROFILE_READER_H
#define PSNAP_PROFILE_READER_H

#include "profile/nest/nest.h"

struct reader {
    const struct nest_terms *terms; /* not empty; outlive it */
    size_t term;                    /* the term that is read next */
    bool is_inside;                 /* the cursor is within the loops of the term before */
    bool has_failed;                /* out of memory: numbers since then are 0 */
    struct nest_cursor cursor;
    uint64_t next, stride, left; /* of the run under way */
};

static inline void reader_init(struct reader *reader, const struct nest_terms *terms)
{
    *reader = (struct reader){.terms = terms};
}

void reader_release(struct reader *reader);
/* Makes left at least 1; false: out of memory, or there are no numbers. */
bool reader_fill(struct reader *reader);

/* The next number; 0 when out of memory, which the reader remembers. */
static inline uint64_t reader_next(struct reader *reader)
{
    uint64_t next;

    if (!reader->left && !reader_fill(reader))
        return 0;
    next = reader->next;
    reader->next += reader->stride;
    reader->left--;
    return next;
}

/* The first of the next `count` numbers. */
static inline uint64_t reader_take(struct reader *reader, uint64_t count)
{
    const uint64_t first = reader_next(reader);

    for (uint64_t i = 1; i < count; i++)
        (void)reader_next(reader);
    return first;
}

#endif
