/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What makers of mixes (mix.h) share: the collector, the reader, walks.
 */
#ifndef PSNAP_PROFILE_MIX_GRAPH_H
#define PSNAP_PROFILE_MIX_GRAPH_H

#include "profile/mixes/mix.h"

struct mix_link {
    uint32_t from, to; /* nodes */
    uint64_t times;
};

/* A mix with room for so many, zeroed; NULL: out of memory. */
struct psnap_mix *mix_new(uint32_t states, uint32_t edges, uint32_t rounds, uint32_t rests);
/* Its edges, each pair of nodes once, as many as there is room for; sorts the links. */
void mix_set_edges(struct psnap_mix *mix, struct mix_link *links, uint32_t count);

/*
 * last[node]: where the node's last transition leads to, so that one gets from every node to
 * MIX_OUTSIDE by those alone, and they are frequent ones; UINT32_MAX: one does not get there (and
 * of MIX_OUTSIDE). Of a node with a rest it is the last one of those that are taken when there is
 * none; one gets to MIX_OUTSIDE from the rest as well, without coming to the node, for that may be
 * what it leads to last. Returns how many nodes get there, with MIX_OUTSIDE; 0: out of memory.
 */
uint32_t mix_tree(const struct psnap_mix *mix, uint32_t *last);
/*
 * tails[node]: the most tokens of a visit from here on, this one's included, where the visit is
 * certain to end without coming to a node again; else UINT32_MAX. 0 for MIX_OUTSIDE. False: out
 * of memory.
 */
bool mix_tails(const struct psnap_mix *mix, uint32_t *tails);

#endif
