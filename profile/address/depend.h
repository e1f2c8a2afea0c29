/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Dependent references: those whose address is that of the latest access of another irregular
 * reference, or of the latest of a few, and an offset, as the fields of a record and the store
 * after the load of a counter are. Rules are looked for in a sample of the executions; one holds
 * when at least 98 % of them have it.
 */
#ifndef PSNAP_PROFILE_DEPEND_H
#define PSNAP_PROFILE_DEPEND_H

#include <stdbool.h>
#include <stdint.h>

enum {
    DEPEND_BASES = 4,   /* of a rule: several of them with one offset, */
    DEPEND_OFFSETS = 4, /* or one of them with several offsets */
    DEPEND_RULES = 12,  /* looked at at once */
    DEPEND_RECENT = 8   /* accesses before, whose references may be bases */
};

/* How often an access was so many bytes behind the base's latest one. */
struct depend_offset {
    int64_t bytes;
    uint64_t count;
};

struct depend_rule {
    uint32_t bases[DEPEND_BASES];
    struct depend_offset offsets[DEPEND_OFFSETS];
    uint32_t base_count, offset_count;
    bool is_of_bases;                /* another base may be added, else another offset */
    uint64_t trials, hits, distance; /* distance: accesses since those of the base, over all hits */
};

struct depend_collector { /* zeroed: nothing yet */
    struct depend_rule rules[DEPEND_RULES];
    uint32_t count;
};

/* An irregular access, and those before it: a ring. */
struct depend_access {
    uint32_t site;
    uint64_t address, time;
};

struct depend_recent {
    struct depend_access ring[DEPEND_RECENT];
    uint32_t at; /* the oldest one */
};

static inline void depend_recent_add(struct depend_recent *recent, uint32_t site, uint64_t address,
                                     uint64_t time)
{
    recent->ring[recent->at] = (struct depend_access){site, address, time};
    recent->at = (recent->at + 1) % DEPEND_RECENT;
}

/* Looks whether an access goes by one of the recent ones, or by a rule seen before: latest(context,
 * site) is the latest access of a reference. */
void depend_note(struct depend_collector *collector, const struct depend_access *access,
                 const struct depend_recent *recent,
                 struct depend_access (*latest)(const void *context, uint32_t site),
                 const void *context);

/* Whether a rule holds. */
bool depend_holds(const struct depend_rule *rule);
/* Of two rules the one that is simpler and has nearer bases comes first: below 0, 0, above 0. */
int depend_compare(const struct depend_rule *a, const struct depend_rule *b);

#endif
