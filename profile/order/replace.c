/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An order with other symbols in the place of some (order_replace). Chains whose visits are
 * replaced are left out, and numbers close up; a symbol that comes in several chains is not where
 * order_put would look for it, so nothing is put any more.
 */
#include <stdlib.h>

#include "formats/base/program.h"
#include "formats/base/room.h"
#include "profile/order/order.h"

struct replacing {
    const struct order *order;
    const struct order_instead *bodies, *chains;
    uint32_t *chain_numbers;
    bool *is_too_long; /* an iteration would have too many terms */
};

static const struct order_instead *instead_of(const struct replacing *r, uint32_t symbol)
{
    return symbol & ORDER_CHAIN ? &r->chains[symbol & ~ORDER_CHAIN] : &r->bodies[symbol];
}

/* The symbols in the place of one; returns how many. */
static uint32_t replace(const struct replacing *r, uint32_t symbol, uint32_t to[2])
{
    const struct order_instead *instead = instead_of(r, symbol);

    if (symbol & ORDER_CHAIN && !instead->count) {
        to[0] = ORDER_CHAIN | r->chain_numbers[symbol & ~ORDER_CHAIN];
        return 1;
    }
    to[0] = instead->to[0];
    to[1] = instead->to[1];
    return instead->count;
}

/* ---- chains ---- */

/* The state of a symbol in a chain, which may be there already; PSNAP_NONE: out of memory. */
static uint32_t state_of(struct chain *chain, uint32_t symbol)
{
    for (uint32_t i = 1; i < chain->count; i++)
        if (chain->states[i].symbol == symbol)
            return i;
    return chain_add_state(chain, symbol);
}

static bool add_edge(struct chain *chain, uint32_t from, uint32_t to, uint64_t count)
{
    chain->at = from;
    return chain_go(chain, to, count);
}

/* A chain with the states that there are now; first[s] and last[s] are those of state s. */
static bool convert_states(const struct replacing *r, const struct chain *from, struct chain *to,
                           uint32_t *first, uint32_t *last)
{
    for (uint32_t s = 1; s < from->count; s++) {
        uint32_t symbols[2];
        const uint32_t count = replace(r, from->states[s].symbol, symbols);
        first[s] = state_of(to, symbols[0]);
        last[s] = first[s] == PSNAP_NONE ? PSNAP_NONE : state_of(to, symbols[count - 1]);
        if (last[s] == PSNAP_NONE)
            return false;
        if (count == 2 && !add_edge(to, first[s], last[s], chain_entries(from, s)))
            return false;
    }
    for (uint32_t s = 0; s < from->count; s++)
        for (uint32_t k = 0; k < from->states[s].edge_count; k++) {
            const struct chain_edge *edge = &from->states[s].edges[k];
            if (edge->count && !add_edge(to, last[s], first[edge->to], edge->count))
                return false;
        }
    to->at = 0;
    return true;
}

static bool convert_chain(const struct replacing *r, const struct chain *from, struct chain *to)
{
    uint32_t *first = calloc(from->count, sizeof *first), *last = calloc(from->count, sizeof *last);
    const bool is_done = first && last && convert_states(r, from, to, first, last);

    free(first);
    free(last);
    return is_done;
}

/* ---- nests ---- */

/* Patterns in the place of others, and of which of their values each of their own is one. */
struct converted {
    const struct nest_pattern **patterns;
    size_t *from;
    size_t count, room, value_count, value_room;
};

static void converted_release(struct converted *c)
{
    free(c->patterns);
    free(c->from);
}

static bool append_value(struct converted *c, size_t from)
{
    size_t *more = psnap_with_room(c->from, &c->value_room, c->value_count + 1, sizeof *more);

    if (!more)
        return false;
    c->from = more;
    more[c->value_count++] = from;
    return true;
}

static bool append_pattern(struct converted *c, const struct nest_pattern *pattern)
{
    const struct nest_pattern **more =
        psnap_with_room(c->patterns, &c->room, c->count + 1, sizeof(struct nest_pattern *));

    if (!more || !pattern)
        return false;
    c->patterns = more;
    more[c->count++] = pattern;
    return true;
}

/* Appends what a pattern becomes whose values begin at `at`; false: out of memory. */
static bool convert(const struct replacing *r, const struct nest_pattern *from, size_t at,
                    struct converted *to)
{
    struct nest_patterns *patterns = r->order->patterns;
    struct converted inner = {0};
    bool is_done = true;

    if (!from->body_count) {
        uint32_t symbols[2];
        const uint32_t count = replace(r, from->symbol, symbols);
        for (uint32_t i = 0; is_done && i < count; i++)
            is_done = append_value(to, at) &&
                      append_pattern(to, nest_pattern_symbol(patterns, symbols[i]));
        return is_done;
    }
    for (uint32_t i = 0, value = 1; is_done && i < from->body_count;
         value += from->body[i++]->values)
        is_done = convert(r, from->body[i], value, &inner);
    *r->is_too_long |= inner.count > NEST_BODY_MAX;
    is_done = is_done && append_value(to, at);
    for (size_t i = 0; is_done && i < inner.value_count; i++)
        is_done = append_value(to, at + inner.from[i]);
    if (is_done && !*r->is_too_long) {
        uint64_t *steps = malloc((inner.value_count + 1) * sizeof *steps);
        for (size_t i = 0; steps && i < inner.value_count; i++)
            steps[i] = from->steps[inner.from[i] - 1];
        is_done = steps && append_pattern(to, nest_pattern_loop(patterns, inner.patterns,
                                                                (uint32_t)inner.count, steps));
        free(steps);
    }
    converted_release(&inner);
    return is_done;
}

/* Folds the terms anew, as far as that is possible; false: out of memory. */
static bool convert_terms(const struct replacing *r, struct nest_fold *fold)
{
    const struct nest_terms *terms = &r->order->fold.terms;
    bool is_done = true;

    for (size_t i = 0; is_done && !*r->is_too_long && i < terms->count; i++) {
        const uint64_t *values = nest_term_values(terms, i);
        struct converted c = {0};
        uint64_t *made = NULL;
        size_t at = 0;
        is_done = convert(r, terms->terms[i].pattern, 0, &c) &&
                  (made = malloc((c.value_count + 1) * sizeof *made)) != NULL;
        for (size_t k = 0; is_done && k < c.value_count; k++)
            made[k] = values[c.from[k]];
        for (size_t k = 0; is_done && !*r->is_too_long && k < c.count;
             at += c.patterns[k++]->values)
            is_done = nest_fold_term(fold, c.patterns[k], made + at);
        free(made);
        converted_release(&c);
    }
    return is_done && nest_fold_end(fold);
}

/* ---- the whole ---- */

static bool convert_all(const struct replacing *r, struct order *to, uint32_t body_count)
{
    const struct order *order = r->order;

    if (!order_know_body(to, body_count - 1))
        return false;
    for (uint32_t i = 0; i < order->chain_count; i++) {
        if (r->chains[i].count)
            continue;
        r->chain_numbers[i] = order_add_chain(to);
        if (r->chain_numbers[i] == PSNAP_NONE ||
            !convert_chain(r, &order->chains[i], &to->chains[r->chain_numbers[i]]))
            return false;
    }
    for (uint32_t i = 0; i < to->chain_count; i++)
        for (uint32_t s = 1; s < to->chains[i].count; s++) {
            const uint32_t symbol = to->chains[i].states[s].symbol;
            if (symbol & ORDER_CHAIN)
                to->places[symbol & ~ORDER_CHAIN] = (struct order_place){i, s};
        }
    for (uint32_t i = 0; i < order->body_count; i++) {
        const struct order_place from = order->bodies[i];
        if (from.chain != PSNAP_NONE && !r->chains[from.chain].count && !r->bodies[i].is_other) {
            const uint32_t chain = r->chain_numbers[from.chain];
            to->bodies[r->bodies[i].to[0]] =
                (struct order_place){chain, state_of(&to->chains[chain], r->bodies[i].to[0])};
        }
    }
    return convert_terms(r, &to->fold);
}

bool order_replace(struct order *order, const struct order_instead *bodies,
                   const struct order_instead *chains, uint32_t body_count, bool *is_done)
{
    struct order made;
    bool is_too_long = false, has_memory;
    struct replacing r = {.order = order,
                          .bodies = bodies,
                          .chains = chains,
                          .chain_numbers =
                              calloc(order->chain_count + (size_t)1, sizeof *r.chain_numbers),
                          .is_too_long = &is_too_long};

    order_init(&made, order->patterns);
    has_memory = r.chain_numbers && convert_all(&r, &made, body_count);
    free(r.chain_numbers);
    *is_done = has_memory && !is_too_long;
    if (*is_done) {
        order_release(order);
        *order = made;
    } else {
        order_release(&made);
    }
    return has_memory;
}
