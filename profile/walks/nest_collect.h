/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What has been collected, while a stream goes on, of what leaves of nests draw (nest_models.h).
 */
#ifndef PSNAP_PROFILE_NEST_COLLECT_H
#define PSNAP_PROFILE_NEST_COLLECT_H

#include "profile/walks/nest_draws.h"

struct nest_collected {
    const struct psnap_program *program;
    struct nest_draws *draws;
    uint64_t *walks;
    struct counts_collector *counts;
    struct mix_collector **mixes; /* NULL: it became part of another */
    size_t walk_count, walk_room, count_count, count_room, mix_count, mix_room;
    struct nest_patterns *shapes;  /* numbers of states, */
    struct nest_patterns *counted; /* and of counts: of shapes however they are told */
};

struct nest_collected *nest_collected_new(const struct psnap_program *program);
void nest_collected_free(struct nest_collected *collected);
/* PSNAP_NONE: out of memory */
uint32_t nest_collected_add_walk(struct nest_collected *collected);
uint32_t nest_collected_add_mix(struct nest_collected *collected);
uint32_t nest_collected_counts_of(struct nest_collected *collected, struct nest_shape *shape);
/* *has_too_many becomes true when both have too many states together. */
bool nest_collected_merge_mixes(struct nest_collected *collected, uint32_t into, uint32_t from,
                                bool *has_too_many);
/* The models of everything, once; mixes of nobody are left out. NULL: out of memory. */
struct nest_models *nest_collected_take(struct nest_collected *collected);

#endif
