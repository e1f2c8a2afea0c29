/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a mix's collector has (mix_collector.c), for who takes a mix from it (mix_take.c).
 */
#ifndef PSNAP_PROFILE_MIX_COLLECT_H
#define PSNAP_PROFILE_MIX_COLLECT_H

#include "profile/mixes/mix_graph.h"
#include "profile/mixes/mix_rests.h"

/* Keys, which are not 0, and a number for each. */
struct table {
    struct slot {
        uint64_t key, number;
    } *slots;
    size_t count, room;
};

/* The transition from a node that comes most, as far as that is known, and how often in a row. */
struct rounds {
    uint32_t to, weight, tries;
    uint64_t now; /* so many since another one came */
    struct counts_collector counts;
};

struct state {
    uint32_t id;
    struct counts_collector counts;
    struct rounds rounds;
    struct rests rests; /* of the counts before */
};

struct mix_collector {
    struct state *states;
    size_t state_count, state_room;
    struct table ids;   /* id + 1: index */
    struct table edges; /* edge_key: times */
    struct counts_collector lengths;
    struct rounds begin; /* of MIX_OUTSIDE */
    uint64_t visits, tokens;
    uint64_t made; /* tokens of the visit under way */
    uint64_t last; /* the count of the last one */
    uint32_t at;   /* the node it is at; MIX_OUTSIDE with is_visit: it has just begun */
    bool is_visit;
};

/* The collector's transitions, in `wanted` if that can be, at *count, the caller's; NULL: out of
 * memory. */
struct mix_link *mix_list_edges(const struct mix_collector *collector, uint32_t wanted,
                                uint32_t *count);

#endif
