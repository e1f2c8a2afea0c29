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
    *order = (struct order){.patterns = patterns};
    nest_fold_init(&order->fold, patterns);
}

void order_release(struct order *order)
{
    nest_fold_release(&order->fold);
    for (uint32_t i = 0; i < order->chain_count; i++)
        chain_release(&order->chains[i]);
    free(order->chains);
    free(order->places);
    free(order->bodies);
    free(order->symbols);
}

bool order_know_body(struct order *order, uint32_t body)
{
    struct order_place *bodies =
        psnap_with_room(order->bodies, &order->body_room, body + (size_t)1, sizeof *bodies);
    const struct nest_pattern **symbols = psnap_with_room(
        order->symbols, &order->symbol_room, body + (size_t)1, sizeof(struct nest_pattern *));

    order->bodies = bodies ? bodies : order->bodies;
    order->symbols = symbols ? symbols : order->symbols;
    if (!bodies || !symbols)
        return false;
    for (; order->body_count <= body; order->body_count++) {
        bodies[order->body_count] = (struct order_place){PSNAP_NONE, 0};
        symbols[order->body_count] = nest_pattern_symbol(order->patterns, order->body_count);
        if (!symbols[order->body_count])
            return false;
    }
    return true;
}

static struct order_place *place_of(const struct order *order, uint32_t symbol)
{
    return symbol & ORDER_CHAIN ? &order->places[symbol & ~ORDER_CHAIN] : &order->bodies[symbol];
}

/* ---- visits ---- */

/* Visits end until only `depth` of them are open, `times` times at once. */
static bool close_visits(struct order *order, uint32_t depth, uint64_t times)
{
    while (order->depth > depth)
        if (!chain_go(&order->chains[order->open[--order->depth]], 0, times))
            return false;
    return true;
}

static bool push_symbol(struct order *order, const struct nest_pattern *symbol)
{
    return symbol && nest_fold_leaf(&order->fold, symbol, &(const uint64_t){1});
}

/* The chains around a state of chain `chain`, the outermost first; returns how many. */
static uint32_t path_to(const struct order *order, uint32_t chain, uint32_t path[ORDER_DEPTH])
{
    uint32_t depth = 0, at = chain;

    for (; at != PSNAP_NONE; at = order->places[at].chain)
        depth++;
    for (uint32_t i = depth; i-- > 0; chain = order->places[chain].chain)
        path[i] = chain;
    return depth;
}

/* Executes a symbol that is a state somewhere, `times` times at once (1 when its outermost chain is
 * not open: the visit of that begins once): visits that it is not in end,
 * those that it is in begin, the outermost one as a symbol of the fold. */
static bool step(struct order *order, uint32_t symbol, uint64_t times)
{
    const struct order_place place = *place_of(order, symbol);
    uint32_t path[ORDER_DEPTH], depth = path_to(order, place.chain, path), same = 0;

    while (same < depth && same < order->depth && order->open[same] == path[same])
        same++;
    if (!close_visits(order, same, times))
        return false;
    for (; same < depth; same++) {
        const uint32_t chain = path[same];
        if (same ? !chain_go(&order->chains[path[same - 1]], order->places[chain].state, times)
                 : !push_symbol(order, nest_pattern_symbol(order->patterns, ORDER_CHAIN | chain)))
            return false;
        order->chains[chain].at = 0;
        order->open[order->depth++] = chain;
    }
    return chain_go(&order->chains[place.chain], place.state, times);
}

/* The outermost symbol around one. */
static uint32_t outermost(const struct order *order, uint32_t symbol)
{
    while (place_of(order, symbol)->chain != PSNAP_NONE)
        symbol = ORDER_CHAIN | place_of(order, symbol)->chain;
    return symbol;
}

/* ---- chains for what does not fold ---- */

struct lowering {
    struct order *order;
    uint32_t *sets;  /* union and find of symbols: bodies, and chains behind them */
    uint64_t *comes; /* as `sets`: how many loose terms a symbol is in */
    uint32_t *size;  /* as `sets`: how many symbols a set has */
    uint32_t *chain; /* as `sets`: that a set becomes, or PSNAP_NONE */
    bool *is_piled;  /* by term */
};

static uint32_t find(uint32_t *sets, uint32_t i)
{
    while (sets[i] != i)
        i = sets[i] = sets[sets[i]];
    return i;
}

/* Of a symbol that may be a state by now: that of what is around it all. */
static uint32_t index_of(const struct lowering *l, uint32_t symbol)
{
    symbol = outermost(l->order, symbol);
    return symbol & ORDER_CHAIN ? l->order->body_count + (symbol & ~ORDER_CHAIN) : symbol;
}

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
        l->comes[index_of(l, pattern->symbol)]++;
}

/* Whether all symbols of a pattern are in at least so many loose terms. */
static bool is_frequent(const struct lowering *l, const struct nest_pattern *pattern,
                        uint64_t least)
{
    for (uint32_t i = 0; i < pattern->body_count; i++)
        if (!is_frequent(l, pattern->body[i], least))
            return false;
    return pattern->body_count || l->comes[index_of(l, pattern->symbol)] >= least;
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
    own = find(l->sets, index_of(l, pattern->symbol));
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

/* How deep chains in a symbol are. */
static uint32_t height_of(const struct order *order, uint32_t symbol)
{
    uint32_t height = 0;

    if (!(symbol & ORDER_CHAIN))
        return 0;
    for (uint32_t i = 1; i < order->chains[symbol & ~ORDER_CHAIN].count; i++) {
        const uint32_t inner =
            height_of(order, order->chains[symbol & ~ORDER_CHAIN].states[i].symbol);
        height = inner > height ? inner : height;
    }
    return height + 1;
}

uint32_t order_add_chain(struct order *order)
{
    struct chain *chains = psnap_with_room(order->chains, &order->chain_room,
                                           order->chain_count + (size_t)1, sizeof *chains);
    struct order_place *places = psnap_with_room(order->places, &order->place_room,
                                                 order->chain_count + (size_t)1, sizeof *places);

    order->chains = chains ? chains : order->chains;
    order->places = places ? places : order->places;
    if (!chains || !places || !chain_init(&chains[order->chain_count]))
        return PSNAP_NONE;
    places[order->chain_count] = (struct order_place){PSNAP_NONE, 0};
    return order->chain_count++;
}

/* The symbol becomes a state of a chain. */
static bool add_state(struct order *order, uint32_t chain, uint32_t symbol)
{
    struct order_place *place = place_of(order, symbol);

    place->state = chain_add_state(&order->chains[chain], symbol);
    place->chain = chain;
    return place->state != PSNAP_NONE;
}

/* Each set of two symbols and more becomes a chain; *is_any: there is one. */
static bool make_sets(struct lowering *l, uint32_t count, bool *is_any)
{
    struct order *order = l->order;

    for (uint32_t i = 0; i < count; i++) {
        l->chain[i] = PSNAP_NONE;
        l->size[find(l->sets, i)]++;
    }
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t set = find(l->sets, i);
        const uint32_t symbol = i < order->body_count ? i : ORDER_CHAIN | (i - order->body_count);
        if (l->size[set] < 2 || height_of(order, symbol) + 1 >= ORDER_DEPTH)
            continue;
        *is_any = true;
        if ((l->chain[set] == PSNAP_NONE &&
             (l->chain[set] = order_add_chain(order)) == PSNAP_NONE) ||
            !add_state(order, l->chain[set], symbol))
            return false;
    }
    return true;
}

/* Goes through a term of a pile `times` times at once: the first iteration of a loop is entered
 * from outside, all others from its end. */
static bool absorb(struct order *order, const struct nest_pattern *pattern, const uint64_t *values,
                   uint64_t times);

static bool absorb_body(struct order *order, const struct nest_pattern *loop,
                        const uint64_t *values, uint64_t times)
{
    for (uint32_t i = 0, at = 0; i < loop->body_count; at += loop->body[i++]->values)
        if (!absorb(order, loop->body[i], values + at, times))
            return false;
    return true;
}

struct absorbing {
    struct order *order;
    uint64_t times;
};

static bool absorb_one(void *context, const struct nest_pattern *pattern, const uint64_t *values)
{
    const struct absorbing *a = context;

    return absorb(a->order, pattern, values, a->times);
}

static bool absorb(struct order *order, const struct nest_pattern *pattern, const uint64_t *values,
                   uint64_t times)
{
    bool is_steady = true;

    if ((int64_t)values[0] <= 0)
        return true;
    if (!pattern->body_count)
        return step(order, pattern->symbol, times);
    for (uint32_t i = 0; i + 1 < pattern->values; i++)
        is_steady &= !pattern->steps[i];
    if (is_steady)
        return absorb_body(order, pattern, values + 1, times) &&
               (values[0] == 1 || absorb_body(order, pattern, values + 1, times * (values[0] - 1)));
    return nest_each_iteration(pattern, values, absorb_one, &(struct absorbing){order, times});
}

/* Whether all symbols of a term are in one outermost chain, *around (PSNAP_NONE: any). Chains that
 * are too deep to be states may be of a pile, too; a loop over several outermost chains would begin
 * and end a visit of each in every iteration, which `step` does not count. */
static bool are_in_one(const struct order *order, const struct nest_pattern *pattern,
                       uint32_t *around)
{
    const uint32_t own = pattern->body_count ? PSNAP_NONE : outermost(order, pattern->symbol);
    const uint32_t wanted = *around;

    for (uint32_t i = 0; i < pattern->body_count; i++)
        if (!are_in_one(order, pattern->body[i], around))
            return false;
    if (pattern->body_count)
        return true;
    *around = own;
    return place_of(order, pattern->symbol)->chain != PSNAP_NONE &&
           (wanted == PSNAP_NONE || wanted == own);
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
        uint32_t around = PSNAP_NONE;
        is_done = l->is_piled[i] && are_in_one(order, pattern, &around)
                      ? absorb(order, pattern, values, 1)
                      : close_visits(order, 0, 1) && nest_fold_term(&order->fold, pattern, values);
    }
    nest_fold_release(&before);
    return is_done && close_visits(order, 0, 1);
}

/* Makes chains of the symbols that are in one of `share` loose terms, which have at most so many
 * executions; *is_any: there were some. */
static bool make_chains(struct order *order, uint64_t most, uint64_t share, bool *is_any)
{
    struct lowering l = {.order = order};
    const uint32_t count = order->body_count + order->chain_count;
    bool is_done;

    l.sets = malloc((count + (size_t)1) * sizeof *l.sets);
    l.comes = calloc(count + (size_t)1, sizeof *l.comes);
    l.size = calloc(count + (size_t)1, sizeof *l.size);
    l.chain = malloc((count + (size_t)1) * sizeof *l.chain);
    l.is_piled = calloc(order->fold.terms.count + 1, sizeof *l.is_piled);
    is_done = l.sets && l.comes && l.size && l.chain && l.is_piled;
    for (uint32_t i = 0; is_done && i < count; i++)
        l.sets[i] = i;
    if (is_done) {
        find_piles(&l, most, share);
        is_done = make_sets(&l, count, is_any) && (!*is_any || fold_again(&l));
    }
    free(l.sets);
    free(l.comes);
    free(l.size);
    free(l.chain);
    free(l.is_piled);
    return is_done;
}

/* Lowers the terms to `most` values, as far as chains do that. */
static bool lower(struct order *order, size_t most)
{
    uint64_t length = SHORT, share = SHARE;
    bool is_any = true;

    if (!close_visits(order, 0, 1) || !nest_fold_end(&order->fold))
        return false;
    while (order->fold.terms.value_count > most && (is_any || length < UINT64_MAX)) {
        is_any = false;
        if (!make_chains(order, length, share, &is_any) || !nest_fold_end(&order->fold))
            return false;
        if (share > order->fold.terms.count)
            length = length > UINT64_MAX / 64 ? UINT64_MAX : length * 64;
        share *= share < UINT64_MAX / 4 ? 4 : 1;
    }
    return true;
}

bool order_put(struct order *order, uint32_t body)
{
    if (body >= order->body_count && !order_know_body(order, body))
        return false;
    if (order->bodies[body].chain != PSNAP_NONE) {
        const struct order_place place = order->bodies[body];
        if (order->depth && order->open[order->depth - 1] == place.chain)
            return chain_go(&order->chains[place.chain], place.state, 1);
        return step(order, body, 1);
    }
    return close_visits(order, 0, 1) && push_symbol(order, order->symbols[body]) &&
           (order->fold.terms.value_count <= MOST || lower(order, MOST / 4));
}

bool order_end(struct order *order)
{
    return close_visits(order, 0, 1) && nest_fold_end(&order->fold) &&
           (order->fold.terms.value_count <= LAST || lower(order, LAST));
}
