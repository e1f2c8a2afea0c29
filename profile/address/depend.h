/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Dependent references: those whose address is that of another irregular reference's latest access
 * and an offset, as the fields of a record and the store after the load of a counter are. Rules are
 * looked for in a sample of the executions; one holds when at least 98 % of them have it.
 */
#ifndef PSNAP_PROFILE_DEPEND_H
#define PSNAP_PROFILE_DEPEND_H

#include <stdbool.h>
#include <stdint.h>

enum {
    DEPEND_OFFSETS = 4, /* of a rule */
    DEPEND_BASES = 6,   /* looked at at once */
    DEPEND_RECENT = 8   /* accesses before, whose references may be bases */
};

/* How often an access was so many bytes behind the base's latest one. */
struct depend_offset {
    int64_t bytes;
    uint64_t count;
};

struct depend_base {
    uint32_t site;
    uint32_t offset_count;
    uint64_t trials, hits;
    struct depend_offset offsets[DEPEND_OFFSETS];
};

struct depend_collector { /* zeroed: nothing yet */
    struct depend_base bases[DEPEND_BASES];
    uint32_t count;
    uint64_t trials;
};

/* An irregular access, and those of other references before it: a ring. */
struct depend_access {
    uint32_t site;
    uint64_t address;
};

struct depend_recent {
    struct depend_access ring[DEPEND_RECENT];
    uint32_t at; /* the oldest one */
};

static inline void depend_recent_add(struct depend_recent *recent, uint32_t site, uint64_t address)
{
    recent->ring[recent->at] = (struct depend_access){site, address};
    recent->at = (recent->at + 1) % DEPEND_RECENT;
}

/* Looks whether an access of `site` goes by one of the recent ones, or by the latest access of a
 * base known before: latest(context, site) has its address. */
void depend_note(struct depend_collector *collector, uint32_t site, uint64_t address,
                 const struct depend_recent *recent,
                 uint64_t (*latest)(const void *context, uint32_t site), const void *context);

/* The rule of which the fewest offsets tell enough; NULL: there is none. `may_be(context, site)`
 * says whether a base will do. */
const struct depend_base *depend_rule(const struct depend_collector *collector,
                                      bool (*may_be)(const void *context, uint32_t site),
                                      const void *context);

#endif
