/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What of a schedule is written once: items that come again, one behind the other, are a nest with
 * a name.
 */
#ifndef PSNAP_PROFILE_WRITE_ONCE_H
#define PSNAP_PROFILE_WRITE_ONCE_H

#include "profile/walks/nest_profile.h"

/* The loops around a term, and where in their iteration's values it is. */
struct nest_path {
    const struct nest_path *outer;
    const struct nest_pattern *loop;
    size_t at; /* of the term's values; path of `outer` likewise gives the loop's own */
    uint32_t depth;
};

/* The step of value `k` of a term in the loop `path`, of one around it when `up` is not 0. */
static inline uint64_t nest_step(const struct nest_path *path, size_t k, uint32_t up)
{
    for (; up; up--) {
        k += 1 + path->at;
        path = path->outer;
    }
    return path->loop->steps[path->at + k];
}

#define ONCE_NEST (UINT32_C(1) << 31) /* a symbol: that of a nest, else of an item */

struct once_list {
    uint32_t *symbols;
    uint32_t count;
};

struct once_item {
    size_t key, words; /* what it is, in the keys */
    uint32_t lines;    /* that it takes */
    uint32_t body;     /* list of a loop's, or PSNAP_NONE */
    uint32_t loop;     /* of its first walk, or PSNAP_NONE */
};

struct once_nest {
    uint32_t list;
    uint32_t length; /* items of the schedule, those of nests in it too */
    uint32_t loop;
    bool is_visited;
    char name[72];
};

/* List 0 is the whole schedule. */
struct once {
    struct once_list *lists;
    struct once_item *items;
    struct once_nest *nests;
    uint64_t *keys;
    uint32_t *table; /* items by hash, +1 */
    size_t list_count, list_room, item_count, item_room, nest_count, nest_room, key_count, key_room;
    size_t table_room;
};

enum { ONCE_NESTS_MAX = 64 };

/* What there is in the order of the schedule. */
struct once_visitor {
    /* Both have items, until the end. */
    void (*repeat)(void *context, const struct nest_pattern *loop, const uint64_t *values,
                   const struct nest_path *path);
    void (*nest)(void *context, const char *name);
    void (*again)(void *context, const char *name); /* the same items as there */
    void (*end)(void *context);
    void (*walk)(void *context, const struct nest_pattern *leaf, const uint64_t *values,
                 const struct nest_path *path);
    void (*mix)(void *context, uint32_t mix);
};

/* NULL: out of memory. */
struct once *once_new(const struct psnap_profile *profile);
void once_free(struct once *once);
/* Goes through the profile's nests, once. */
void once_visit(struct once *once, const struct psnap_nests *nests,
                const struct once_visitor *visitor, void *context);

#endif
