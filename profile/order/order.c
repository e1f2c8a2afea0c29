/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Symbols to nests, and where these do not fold to chains (order.h).
 */
#include "profile/order/order.h"

#include <stdlib.h>

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
    *order = (struct order){.patterns = patterns, .last = PSNAP_NONE};
    nest_fold_init(&order->fold, patterns);
}

void order_release(struct order *order)
{
    nest_fold_release(&order->fold);
    for (uint32_t i = 0; i < order->chain_count; i++)
        chain_release(&order->chains[i]);
    free(order->chains);
    free(order->pairs.slots);
    free(order->places);
    free(order->open);
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
        bodies[order->body_count] =
            (struct order_place){.chain = PSNAP_NONE, .outermost = PSNAP_NONE};
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

/* A visit of the chain open[depth] begins, as a symbol of the fold or of the chain around it. */
static bool open_visit(struct order *order, uint64_t times)
{
    const uint32_t chain = order->open[order->depth];
    const struct order_place place = order->places[chain];

    if (place.chain != PSNAP_NONE
            ? !chain_go(&order->chains[place.chain], place.state, times)
            : !push_symbol(order, nest_pattern_symbol(order->patterns, ORDER_CHAIN | chain)))
        return false;
    order->chains[chain].at = 0;
    order->depth++;
    return true;
}

/* Executes a symbol that is a state somewhere, `times` times at once (1 when its outermost chain is
 * not open: the visit of that begins once): visits that it is not in end, those that it is in
 * begin. */
static bool step(struct order *order, struct order_place place, uint64_t times)
{
    uint32_t level = place.level, chain = place.chain;

    while (level >= order->depth || order->open[level] != chain) { /* not being visited */
        chain = order->places[chain].chain;
        if (chain == PSNAP_NONE)
            break;
        level--;
    }
    if (!close_visits(order, chain == PSNAP_NONE ? 0 : level + 1, times))
        return false;
    chain = place.chain;
    for (level = place.level + 1; level > order->depth; chain = order->places[chain].chain)
        order->open[--level] = chain;
    while (order->depth <= place.level)
        if (!open_visit(order, times))
            return false;
    return chain_go(&order->chains[place.chain], place.state, times);
}

/* The visits around the body that executed last are open. */
static void resume(struct order *order)
{
    const struct order_place *place;
    uint32_t level;

    if (order->last == PSNAP_NONE)
        return;
    place = &order->bodies[order->last];
    order->last = PSNAP_NONE;
    order->depth = level = place->level + 1;
    do {
        order->open[--level] = place->chain;
        order->chains[place->chain].at = place->state;
        place = &order->places[place->chain];
    } while (place->chain != PSNAP_NONE);
}

/* ---- pairs ---- */

static bool count_pair(struct order *order, uint32_t from, uint32_t to)
{
    uint64_t *times = psnap_map_put(&order->pairs, (uint64_t)from << 32 | to);

    if (times)
        ++*times;
    return times != NULL;
}

/* All visits end. */
static bool close_all(struct order *order)
{
    resume(order);
    return close_visits(order, 0, 1);
}

/* Pairs become transitions; no visit is open, or will be. */
static bool flush_pairs(struct order *order)
{
    for (size_t i = 0; i < order->pairs.room; i++) {
        const struct psnap_map_slot *pair = &order->pairs.slots[i];
        if (!pair->value)
            continue;
        order->last = (uint32_t)(pair->key >> 32);
        resume(order);
        if (!step(order, order->bodies[(uint32_t)pair->key], pair->value))
            return false;
    }
    order->depth = 0;
    return true;
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

uint32_t order_add_chain(struct order *order)
{
    struct chain *chains = psnap_with_room(order->chains, &order->chain_room,
                                           order->chain_count + (size_t)1, sizeof *chains);
    struct order_place *places = psnap_with_room(order->places, &order->place_room,
                                                 order->chain_count + (size_t)1, sizeof *places);

    order->chains = chains ? chains : order->chains;
    order->places = places ? places : order->places;
    if (!chains || !places ||
        !psnap_make_room(&order->open, &order->open_room, order->chain_count + (size_t)1,
                         sizeof *order->open) ||
        !chain_init(&chains[order->chain_count]))
        return PSNAP_NONE;
    places[order->chain_count] = (struct order_place){.chain = PSNAP_NONE, .outermost = PSNAP_NONE};
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
        if (l->size[set] < 2)
            continue;
        *is_any = true;
        if ((l->chain[set] == PSNAP_NONE &&
             (l->chain[set] = order_add_chain(order)) == PSNAP_NONE) ||
            !add_state(order, l->chain[set], symbol))
            return false;
    }
    return true;
}

static void find_level(const struct order *order, struct order_place *place)
{
    place->level = 0;
    place->outermost = place->chain;
    while (place->outermost != PSNAP_NONE && order->places[place->outermost].chain != PSNAP_NONE) {
        place->outermost = order->places[place->outermost].chain;
        place->level++;
    }
}

/* There are other chains around chains than before. */
static void find_levels(struct order *order)
{
    for (uint32_t i = 0; i < order->body_count; i++)
        find_level(order, &order->bodies[i]);
    for (uint32_t i = 0; i < order->chain_count; i++)
        find_level(order, &order->places[i]);
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
        return step(order, *place_of(order, pattern->symbol), times);
    for (uint32_t i = 0; i + 1 < pattern->values; i++)
        is_steady &= !pattern->steps[i];
    if (is_steady)
        return absorb_body(order, pattern, values + 1, times) &&
               (values[0] == 1 || absorb_body(order, pattern, values + 1, times * (values[0] - 1)));
    return nest_each_iteration(pattern, values, absorb_one, &(struct absorbing){order, times});
}

/* Whether all symbols of a term are in one outermost chain, *around (PSNAP_NONE: any). A loop over
 * several outermost chains would begin and end a visit of each in every iteration, which `step`
 * does not count. */
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

    find_levels(order);
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

    if (!close_all(order) || !nest_fold_end(&order->fold))
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
    const uint32_t last = order->last;

    if (body >= order->body_count && !order_know_body(order, body))
        return false;
    if (last != PSNAP_NONE && order->bodies[body].outermost == order->bodies[last].outermost) {
        order->last = body;
        return count_pair(order, last, body);
    }
    resume(order);
    if (order->bodies[body].chain != PSNAP_NONE) {
        order->last = body;
        return step(order, order->bodies[body], 1);
    }
    if (!close_visits(order, 0, 1) || !push_symbol(order, order->symbols[body]))
        return false;
    order->is_over |= order->fold.terms.value_count > MOST;
    return order->fold.terms.value_count <= MOST || order->keeps || lower(order, MOST / 4);
}

bool order_is_low(const struct order *order)
{
    return order->fold.terms.value_count <= LAST;
}

bool order_end(struct order *order)
{
    return close_all(order) && nest_fold_end(&order->fold) &&
           (order_is_low(order) || order->keeps || lower(order, LAST)) && flush_pairs(order);
}
