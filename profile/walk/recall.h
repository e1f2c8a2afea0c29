/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Addresses by reuse time. Each data object has a log of its cache lines in the order of their last
 * accesses; an access of reuse time t at time `now` takes the line whose last access is nearest to
 * now - t. What was swept once is so swept in the same order when it comes back after equal times,
 * and neighbours stay neighbours. A first touch goes on from the object's last one by one of the
 * distances that were most frequent, or anywhere.
 */
#ifndef PSNAP_PROFILE_RECALL_H
#define PSNAP_PROFILE_RECALL_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/base/map.h"
#include "formats/base/rng.h"
#include "profile/model.h"

enum {
    RECALL_RECENT = REUSE_EXACT,
    RECALL_PAGE = 256 /* lines */
};

struct recall_entry {
    uint64_t time;
    uint64_t address; /* of the last access */
};

/* Where the entries of a page's lines are, or UINT32_MAX. */
struct recall_page {
    uint32_t entries[RECALL_PAGE];
};

struct recall_log {
    const struct model_object *object;
    struct recall_entry *entries; /* by rising time */
    uint32_t *starts;             /* spans of 2^shift accesses from time `base` on: the first entry
                                     from each on; an eighth as many as there is room for entries */
    uint32_t start_count, shift;
    uint64_t base;
    uint64_t *alive; /* a bit for each: whether it is its line's last access */
    uint32_t count, room, alive_count;
    uint32_t drawn; /* the entry that was drawn last, UINT32_MAX: before the latest access */
    struct recall_page *pages;
    struct psnap_map page_of; /* indices of pages, plus 1, by line / RECALL_PAGE */
    uint32_t page_count;
    size_t page_room;
    uint64_t latest_first; /* line of the latest first touch, if has_first */
    bool has_first;
};

/* Memory from `low` to the next bound is of one object; PSNAP_NONE: of the object that has all else
 * of the group of mappings, if there is one. */
struct recall_bound {
    uint64_t low;
    uint32_t object;
};

struct recall {
    struct recall_log *logs; /* by object of the model */
    uint32_t count;
    struct recall_bound *bounds; /* by address, all different */
    uint32_t bound_count;
    uint32_t *rests; /* objects that have all else of their group */
    uint32_t rest_count;
    uint64_t
        recent[RECALL_RECENT]; /* addresses of the latest accesses, by time modulo their number */
    struct psnap_rng rng;
};

/* `model` outlives it. False: out of memory. */
bool recall_init(struct recall *recall, const struct psnap_stream_model *model, uint64_t seed);
void recall_release(struct recall *recall);

/* The object that an address is in, or PSNAP_NONE if no reference draws from there. All addresses
 * of
 * [*low, *end) have the same answer. */
uint32_t recall_object_at(const struct recall *recall, uint64_t address, uint64_t *low,
                          uint64_t *end);
/* An access to an object (not PSNAP_NONE); false: out of memory. */
bool recall_touch(struct recall *recall, uint32_t object, uint64_t address, uint64_t time);
/* Draws a line for an access at `time` whose reuse time is in this bin, and returns the address of
 * the line's last access; or, if the access is a first touch (*is_first), where its line begins. */
uint64_t recall_draw(struct recall *recall, uint32_t object, uint32_t bin, uint64_t time,
                     bool *is_first);

#endif
