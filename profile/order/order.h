/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collects the order in which bodies of loops execute, while a stream goes on. A body is what one
 * iteration accesses; an execution of a body, all its iterations, is one symbol. Symbols are folded
 * into nests (profile/nest/nest.h). When this leaves too many terms, the symbols that are most
 * frequent in short ones become the states of a Markov chain (chain.h). A visit of the chain is one
 * symbol in their place, and may become a state of another chain in its turn; long nests stay. In
 * the worst case all becomes one visit of one chain, so every program has an order.
 */
#ifndef PSNAP_PROFILE_ORDER_H
#define PSNAP_PROFILE_ORDER_H

#include "formats/base/map.h"
#include "profile/nest/nest.h"
#include "profile/order/chain.h"

#define ORDER_CHAIN (UINT32_C(1) << 31) /* symbols from here on are chains, those below bodies */

/* Where a body or a chain is a state. */
struct order_place {
    uint32_t chain; /* PSNAP_NONE: nowhere */
    uint32_t state;
    uint32_t level;     /* chains around that one, */
    uint32_t outermost; /* and the outermost of them, or itself */
};

struct order {
    struct nest_patterns *patterns; /* not owned */
    struct nest_fold fold;
    bool keeps, is_over;                 /* it makes no chains, but is over when it would have */
    struct order_place *bodies, *places; /* of bodies; of chains */
    const struct nest_pattern **symbols; /* by body */
    struct chain *chains;
    uint32_t body_count, chain_count;
    size_t body_room, symbol_room, chain_room, place_room, open_room;
    uint32_t *open; /* chains that are being visited, each within the one before; room for all */
    uint32_t depth;
    /* Pairs of bodies within one outermost chain. Which visits end and begin between the two
     * follows from where they are states, also if that chain becomes a state of another one later.
     * So such pairs are only counted while the stream goes on, and become transitions at its end.
     */
    struct psnap_map pairs; /* how often body b executed right after a, by a << 32 | b */
    uint32_t last; /* body that executed last, if it is a state: the visits around it are open */
};

void order_init(struct order *order, struct nest_patterns *patterns);
void order_release(struct order *order);
/* The next execution; false: out of memory. */
bool order_put(struct order *order, uint32_t body);
bool order_end(struct order *order);
/* Whether it has as few terms as chains would leave in the end. */
bool order_is_low(const struct order *order);

/* ---- other symbols: replace.c ---- */

/* One or two bodies in the place of a symbol; not is_other: it is the same body with another
 * number. */
struct order_instead {
    uint32_t count, to[2];
    bool is_other;
};

/* After order_end: bodies[i] is in the place of body i, chains[i] of chain i, which stays when that
 * has a count of 0; `body_count` bodies there are then. *is_done is false when an iteration would
 * have too many terms: the order is as it was. False: out of memory. */
bool order_replace(struct order *order, const struct order_instead *bodies,
                   const struct order_instead *chains, uint32_t body_count, bool *is_done);

/* ---- for these two ---- */

bool order_know_body(struct order *order, uint32_t body); /* false: out of memory */
uint32_t order_add_chain(struct order *order);            /* PSNAP_NONE: out of memory */

#endif
