/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * While a mix is collected: how often which count of a state came after which of the state before,
 * as long as that is always the same one. Most are soon known to have several, or counts that do
 * not depend on those before, and are looked at no longer.
 */
#ifndef PSNAP_PROFILE_MIX_RESTS_H
#define PSNAP_PROFILE_MIX_RESTS_H

#include "profile/mixes/mix.h"

enum { RESTS_MAX = 16 /* the highest count */ };

struct rests {     /* zeroed: of no counts */
    uint32_t from; /* the node before, if there are some */
    bool is_over;
    uint32_t row_count;
    uint64_t tokens;
    uint64_t (*rows)[RESTS_MAX]; /* by bin of the counts before (counts_bin_of), then count - 1 */
};

void rests_release(struct rests *rests);
/* A count that comes after one of `before` (the last of which was `last`), of node `from`; false:
 * out of memory. */
bool rests_note(struct rests *rests, uint32_t from, const struct counts_collector *before,
                uint64_t last, uint64_t count);
/* Adds what `from` has, whose node before is `node`; false: out of memory. */
bool rests_merge(struct rests *into, const struct rests *from, uint32_t node);
/* Whether counts are told by those of `before`, of the state that they come after. */
bool rests_are_told(const struct rests *rests, const struct counts_collector *before);
/* Lists them at `taken` by the bins of `counts`, which were taken from `before`: how many, at most
 * RESTS_MAX for each of the bins. `state` and `to` are not set. */
uint32_t rests_take(const struct rests *rests, const struct counts_collector *before,
                    const struct psnap_counts *counts, struct mix_rest *taken);

#endif
