/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The order in which bodies of loops execute, while a stream goes on. A body is what one iteration
 * accesses; its executions one after the other are one symbol. Symbols are folded into nests
 * (profile/nest/nest.h). When too many terms are left loose, bodies that come next to each other
 * without folding become the states of a Markov chain (chain.h), and a visit of the chain is one
 * symbol; long nests between them stay. That ends at last with one visit of one chain, so every
 * program has an order.
 */
#ifndef PSNAP_PROFILE_ORDER_H
#define PSNAP_PROFILE_ORDER_H

#include "profile/nest/nest.h"
#include "profile/order/chain.h"

#define ORDER_CHAIN (UINT32_C(1) << 31) /* symbols from here on are chains, those below bodies */

struct order_body {
    uint32_t chain; /* that it is a state of, or PSNAP_NONE */
    uint32_t state;
};

struct order {
    struct nest_patterns *patterns; /* not owned */
    struct nest_fold fold;
    struct order_body *bodies;
    const struct nest_pattern **symbols; /* by body */
    struct chain *chains; /* one that became part of another has no states */
    uint32_t body_count, chain_count;
    size_t body_room, symbol_room, chain_room;
    uint32_t open; /* the chain that is being visited, or PSNAP_NONE */
};

void order_init(struct order *order, struct nest_patterns *patterns);
void order_release(struct order *order);
/* The next execution; false: out of memory. */
bool order_put(struct order *order, uint32_t body);
bool order_end(struct order *order);

#endif
