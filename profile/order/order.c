/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Symbols to nests, and where these do not fold to chains (order.h).
 */
#include "profile/order/order.h"

#include <stdlib.h>
#include <string.h>

#include "formats/base/program.h"
#include "formats/base/room.h"

enum {
    MOST = 4096,    /* values of loose terms while the stream goes on, */
    LAST = 512,     /* and when it has ended */
    SHARE = 16,     /* symbols in one of so many loose terms become states first */
    SHORT = 1 << 14 /* executions of a loose term; when all are states 64 times as many */
};

void order_init(struct order *order, struct nest_patterns *patterns)
{
    *order = (struct order){.patterns = patterns, .open = PSNAP_NONE};
    nest_fold_init(&order->fold, patterns);
}

void order_release(struct order *order)
{
    nest_fold_release(&order->fold);
    for (uint32_t i = 0; i < order->chain_count; i++)
        chain_release(&order->chains[i]);
    free(order->chains);
    free(order->bodies);
    free(order->symbols);
}

static bool know_body(struct order *order, uint32_t body)
{
    struct order_body *bodies =
        psnap_with_room(order->bodies, &order->body_room, body + (size_t)1, sizeof *bodies);
    const struct nest_pattern **symbols = psnap_with_room(
        order->symbols, &order->symbol_room, body + (size_t)1, sizeof(struct nest_pattern *));

    order->bodies = bodies ? bodies : order->bodies;
    order->symbols = symbols ? symbols : order->symbols;
    if (!bodies || !symbols)
        return false;
    for (; order->body_count <= body; order->body_count++) {
        bodies[order->body_count] = (struct order_body){PSNAP_NONE, 0};
        symbols[order->body_count] = nest_pattern_symbol(order->patterns, order->body_count);
        if (!symbols[order->body_count])
            return false;
    }
    return true;
}

static bool push_symbol(struct order *order, const struct nest_pattern *symbol)
{
    return symbol && nest_fold_leaf(&order->fold, symbol, &(const uint64_t){1});
}

/* The visit that is open ends. */
static bool close_visit(struct order *order)
{
    const uint32_t open = order->open;

    order->open = PSNAP_NONE;
    return open == PSNAP_NONE || chain_go(&order->chains[open], 0, 1);
}

/* `times` executions of a body that is a state. */
static bool step(struct order *order, uint32_t body, uint64_t times)
{
    const struct order_body *of = &order->bodies[body];

    return chain_go(&order->chains[of->chain], of->state, times);
}

/* ---- chains for what does not fold ---- */

/* Sets of bodies that become one chain each, by union and find; chains that there are have the
 * numbers behind the bodies. */
static uint32_t find(uint32_t *sets, uint32_t i)
{
    while (sets[i] != i)
        i = sets[i] = sets[sets[i]];
    return i;
}

static uint32_t set_of_symbol(const struct order *order, uint32_t symbol)
{
    if (symbol & ORDER_CHAIN)
        return order->body_count + (symbol & ~ORDER_CHAIN);
    return symbol;
}

struct lowering {
    struct order *order;
    uint32_t *sets;     /* by body, and chain behind the bodies */
    uint64_t *comes;    /* as `sets`: how many loose terms it is in */
    bool *is_piled;     /* by term */
    uint32_t chain;     /* being visited, or PSNAP_NONE */
    uint64_t times;     /* of the iteration that is gone through */
};

static bool is_loose(const struct lowering *l, size_t term, uint64_t most)
{
    const struct nest_terms *terms = &l->order->fold.terms;

    return nest_length(terms->terms[term].pattern, nest_term_values(terms, term)) <= most;
}

static void count_symbols(struct lowering *l, const struct nest_pattern *pattern)
{
    for (uint32_t i = 0; i < pattern->body_count; i++)
        count_symbols(l, pattern->body[i]);
    if (!pattern->body_count)
        l->comes[set_of_symbol(l->order, pattern->symbol)]++;
}

/* Whether all symbols of a pattern are in at least so many loose terms. */
static bool is_frequent(const struct lowering *l, const struct nest_pattern *pattern,
                        uint64_t least)
{
    for (uint32_t i = 0; i < pattern->body_count; i++)
        if (!is_frequent(l, pattern->body[i], least))
            return false;
    return pattern->body_count || l->comes[set_of_symbol(l->order, pattern->symbol)] >= least;
}

/* Joins the sets of all symbols of a pattern with set `with` (PSNAP_NONE: its own first one), which
 * is returned. */
static uint32_t join(struct lowering *l, const struct nest_pattern *pattern, uint32_t with)
{
    uint32_t own;

    for (uint32_t i = 0; i < pattern->body_count; i++)
        with = join(l, pattern->body[i], with);
    if (pattern->body_count)
        return with;
    own = find(l->sets, set_of_symbol(l->order, pattern->symbol));
    if (with == PSNAP_NONE)
        return own;
    return l->sets[own] = find(l->sets, with);
}

/* Loose terms of frequent symbols are piles: the symbols of neighbours belong together. */
static void find_piles(struct lowering *l, uint64_t most, uint64_t share)
{
    const struct nest_terms *terms = &l->order->fold.terms;
    uint32_t set = PSNAP_NONE;
    uint64_t loose = 0;

    for (size_t i = 0; i < terms->count; i++)
        if (is_loose(l, i, most)) {
            count_symbols(l, terms->terms[i].pattern);
            loose++;
        }
    for (size_t i = 0; i < terms->count; i++) {
        const struct nest_pattern *pattern = terms->terms[i].pattern;
        l->is_piled[i] = is_loose(l, i, most) && is_frequent(l, pattern, loose / share);
        set = l->is_piled[i] ? join(l, pattern, set) : PSNAP_NONE;
    }
}

/* The chain of a set, made if there is none: chains of the set become one. PSNAP_NONE: out of
 * memory. */
static uint32_t chain_of_set(struct lowering *l, uint32_t set)
{
    struct order *order = l->order;
    uint32_t chain = PSNAP_NONE;

    for (uint32_t i = 0; i < order->chain_count; i++) {
        if (!order->chains[i].states || find(l->sets, order->body_count + i) != set)
            continue;
        if (chain == PSNAP_NONE) {
            chain = i;
            continue;
        }
        if (!chain_merge(&order->chains[chain], &order->chains[i]))
            return PSNAP_NONE;
        chain_release(&order->chains[i]);
    }
    if (chain == PSNAP_NONE) {
        struct chain *more = psnap_with_room(order->chains, &order->chain_room,
                                             order->chain_count + (size_t)1, sizeof *more);
        if (!more)
            return PSNAP_NONE;
        order->chains = more;
        if (!chain_init(&more[order->chain_count]))
            return PSNAP_NONE;
        chain = order->chain_count++;
        l->sets[order->body_count + chain] = set;
    }
    for (uint32_t b = 0; b < order->body_count; b++) {
        struct order_body *body = &order->bodies[b];
        if (find(l->sets, b) != set)
            continue;
        body->chain = chain;
        body->state = chain_state_of(&order->chains[chain], b);
        if (body->state == PSNAP_NONE)
            return PSNAP_NONE;
    }
    return chain;
}

/* Goes through a term of a pile `times` times at once: the first iteration of a loop is entered from
 * outside, all others from its end. Visits of a chain are gone through one by one. */
static bool absorb(struct lowering *l, const struct nest_pattern *pattern, const uint64_t *values,
                   uint64_t times);

static bool absorb_body(struct lowering *l, const struct nest_pattern *loop,
                        const uint64_t *values, uint64_t times)
{
    for (uint32_t i = 0, at = 0; i < loop->body_count; at += loop->body[i++]->values)
        if (!absorb(l, loop->body[i], values + at, times))
            return false;
    return true;
}

static bool has_visits(const struct nest_pattern *pattern)
{
    for (uint32_t i = 0; i < pattern->body_count; i++)
        if (has_visits(pattern->body[i]))
            return true;
    return !pattern->body_count && pattern->symbol & ORDER_CHAIN;
}

static bool absorb_one(void *context, const struct nest_pattern *pattern, const uint64_t *values)
{
    struct lowering *l = context;

    return absorb(l, pattern, values, l->times);
}

static bool absorb(struct lowering *l, const struct nest_pattern *pattern, const uint64_t *values,
                   uint64_t times)
{
    struct order *order = l->order;
    const uint64_t before = l->times;
    bool is_steady = !has_visits(pattern), is_done; /* of visits, times is 1 */

    if ((int64_t)values[0] <= 0)
        return true;
    if (!pattern->body_count && pattern->symbol & ORDER_CHAIN)
        return chain_go_through(&order->chains[l->chain]);
    if (!pattern->body_count)
        return step(order, pattern->symbol, times);
    for (uint32_t i = 0; i + 1 < pattern->values; i++)
        is_steady &= !pattern->steps[i];
    if (is_steady)
        return absorb_body(l, pattern, values + 1, times) &&
               (values[0] == 1 || absorb_body(l, pattern, values + 1, times * (values[0] - 1)));
    l->times = times;
    is_done = nest_each_iteration(pattern, values, absorb_one, l);
    l->times = before;
    return is_done;
}

/* A visit of the chain begins. */
static bool open_visit(struct order *order, uint32_t chain)
{
    if (order->open == chain)
        return true;
    if (!close_visit(order))
        return false;
    order->open = chain;
    order->chains[chain].at = 0;
    return push_symbol(order, nest_pattern_symbol(order->patterns, ORDER_CHAIN | chain));
}

static uint32_t first_set(struct lowering *l, const struct nest_pattern *pattern)
{
    while (pattern->body_count)
        pattern = pattern->body[0];
    return find(l->sets, set_of_symbol(l->order, pattern->symbol));
}

/* Renames chains that became part of others. */
static const struct nest_pattern *renamed(struct lowering *l, const struct nest_pattern *pattern)
{
    struct order *order = l->order;
    const struct nest_pattern **body, *made = NULL;
    uint32_t i = 0;

    if (!pattern->body_count && pattern->symbol & ORDER_CHAIN) {
        const uint32_t set = find(l->sets, set_of_symbol(order, pattern->symbol));
        for (uint32_t c = 0; c < order->chain_count; c++)
            if (order->chains[c].states && find(l->sets, order->body_count + c) == set)
                return nest_pattern_symbol(order->patterns, ORDER_CHAIN | c);
    }
    if (!pattern->body_count)
        return pattern;
    body = malloc(pattern->body_count * sizeof(struct nest_pattern *));
    while (body && i < pattern->body_count && (body[i] = renamed(l, pattern->body[i])))
        i++;
    if (i == pattern->body_count)
        made = nest_pattern_loop(order->patterns, body, i, pattern->steps);
    free(body);
    return made;
}

/* Folds the terms anew, piles as visits of chains. */
static bool fold_again(struct lowering *l)
{
    struct order *order = l->order;
    struct nest_fold before = order->fold;
    bool is_done = true;

    nest_fold_init(&order->fold, order->patterns);
    for (size_t i = 0; is_done && i < before.terms.count; i++) {
        const struct nest_pattern *pattern = before.terms.terms[i].pattern;
        const uint64_t *values = nest_term_values(&before.terms, i);
        if (!l->is_piled[i]) {
            pattern = renamed(l, pattern);
            is_done = pattern && close_visit(order) &&
                      nest_fold_term(&order->fold, pattern, values);
            continue;
        }
        l->chain = chain_of_set(l, first_set(l, pattern));
        is_done = l->chain != PSNAP_NONE && open_visit(order, l->chain) &&
                  absorb(l, pattern, values, 1);
    }
    nest_fold_release(&before);
    return is_done;
}

/* Makes chains of the symbols that are in one of `share` loose terms, which have at most so many
 * executions. */
static bool make_chains(struct order *order, uint64_t most, uint64_t share)
{
    struct lowering l = {.order = order, .chain = PSNAP_NONE};
    /* a chain made now gets a number behind those of the chains that there are */
    const size_t set_count = 2 * (size_t)order->body_count + order->chain_count;
    bool is_done;

    l.sets = malloc((set_count + 1) * sizeof *l.sets);
    l.comes = calloc(set_count + 1, sizeof *l.comes);
    l.is_piled = calloc(order->fold.terms.count + 1, sizeof *l.is_piled);
    is_done = l.sets && l.comes && l.is_piled;
    for (uint32_t i = 0; is_done && i < set_count; i++)
        l.sets[i] = i;
    for (uint32_t b = 0; is_done && b < order->body_count; b++)
        if (order->bodies[b].chain != PSNAP_NONE)
            l.sets[b] = order->body_count + order->bodies[b].chain;
    if (is_done) {
        find_piles(&l, most, share);
        is_done = fold_again(&l);
    }
    free(l.sets);
    free(l.comes);
    free(l.is_piled);
    return is_done;
}

static bool lower(struct order *order, size_t most)
{
    uint64_t length = SHORT, share = SHARE;

    if (!close_visit(order) || !nest_fold_end(&order->fold))
        return false;
    while (order->fold.terms.value_count > most) {
        if (!make_chains(order, length, share) || !close_visit(order) ||
            !nest_fold_end(&order->fold))
            return false;
        if (share > order->fold.terms.count)
            length = length > UINT64_MAX / 64 ? UINT64_MAX : length * 64;
        share *= 4;
    }
    return true;
}

bool order_put(struct order *order, uint32_t body)
{
    if (body >= order->body_count && !know_body(order, body))
        return false;
    if (order->bodies[body].chain != PSNAP_NONE) {
        const uint32_t chain = order->bodies[body].chain;
        return (order->open == chain || open_visit(order, chain)) && step(order, body, 1);
    }
    return (order->open == PSNAP_NONE || close_visit(order)) &&
           push_symbol(order, order->symbols[body]) &&
           (order->fold.terms.value_count <= MOST || lower(order, MOST / 4));
}

bool order_end(struct order *order)
{
    bool is_done = close_visit(order) && nest_fold_end(&order->fold) &&
                   (order->fold.terms.value_count <= LAST || lower(order, LAST));

    for (uint32_t i = 0; is_done && i < order->chain_count; i++)
        is_done = !order->chains[i].states || chain_connect(&order->chains[i]);
    return is_done;
}
