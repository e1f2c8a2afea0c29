/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Changes of Markov chains (profile/order/chain.h) that leave every state left as often as it is
 * entered. Private to the edits.
 */
#ifndef PSNAP_PROFILE_EDIT_CHAIN_H
#define PSNAP_PROFILE_EDIT_CHAIN_H

#include "profile/order/chain.h"

/*
 * States of which `inside` is true, by state, execute `times` times as often: whenever the chain
 * would leave them, it begins anew at one of those by which it enters them, `times` - 1 times.
 * 0: done, 1: that is more than can be counted, negative: out of memory.
 */
int edit_chain_repeat(struct chain *chain, const bool *inside, uint64_t times);
/* These states are not there: predecessors lead to successors. As above. */
int edit_chain_remove(struct chain *chain, const bool *gone);

#endif
