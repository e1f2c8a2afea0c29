/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Orders of bodies: what nests of loops execute folds into few terms that unroll to the same; what
 * does not fold becomes chains, circuits that execute every body exactly as often as it was; memory
 * is bounded; nothing depends on what the symbols were before.
 */
#include "tests/unit/test_nest_support.h"

#include "formats/base/program.h"
#include "formats/base/rng.h"
#include "profile/order/order.h"

enum { BODIES = 128, CHAINS = 500, SYMBOLS_MAX = 1 << 20 };

static uint32_t symbols[SYMBOLS_MAX];
static size_t count;

static void add(uint32_t body)
{
    if (count < SYMBOLS_MAX)
        symbols[count++] = body;
}

static void put_all(struct order *order)
{
    order_init(order, patterns);
    for (size_t i = 0; i < count; i++) {
        assert_true(order_put(order, symbols[i]));
        assert_in_range(order->fold.terms.value_count, 0, 5000);
    }
    assert_true(order_end(order));
}

/* ---- what an order says ---- */

struct tally {
    uint64_t bodies[BODIES], visits[CHAINS];
    size_t at;     /* of the symbols that are expected, */
    bool is_exact; /* if all must be the same */
};

static bool take(void *context, const struct nest_pattern *pattern, const uint64_t *values)
{
    struct tally *t = context;

    if ((int64_t)values[0] <= 0)
        return true;
    if (pattern->body_count)
        return nest_each_iteration(pattern, values, take, t);
    assert_int_equal(values[0], 1);
    if (pattern->symbol & ORDER_CHAIN) {
        assert_false(t->is_exact);
        t->visits[pattern->symbol & ~ORDER_CHAIN]++;
        return true;
    }
    if (t->is_exact)
        assert_int_equal(pattern->symbol, symbols[t->at++]);
    t->bodies[pattern->symbol]++;
    return true;
}

static void unroll(const struct order *order, struct tally *tally)
{
    for (size_t i = 0; i < order->fold.terms.count; i++)
        assert_true(take(tally, order->fold.terms.terms[i].pattern,
                         nest_term_values(&order->fold.terms, i)));
}

/* Those of a chain: it is a circuit, and begins as often as it is visited. */
static void add_chain(const struct chain *chain, uint64_t visits, struct tally *tally)
{
    uint32_t at = 0;

    if (chain_is_circuit(chain, &at) != 1)
        fail_msg("state %u", (unsigned)at);
    assert_int_equal(chain_circuits(chain), visits);
    for (uint32_t i = 0; i < chain->count; i++)
        for (uint32_t k = 0; k < chain->states[i].edge_count; k++) {
            const struct chain_edge *edge = &chain->states[i].edges[k];
            const uint32_t symbol = chain->states[edge->to].symbol;
            assert_true(edge->count > 0);
            if (edge->to)
                *(symbol & ORDER_CHAIN ? &tally->visits[symbol & ~ORDER_CHAIN]
                                       : &tally->bodies[symbol]) += edge->count;
        }
}

/* That every body executes as often as it did; with no chains, in the same order. */
static void assert_order(const struct order *order)
{
    struct tally tally = {0};
    uint64_t expected[BODIES] = {0};

    for (size_t i = 0; i < count; i++)
        expected[symbols[i]]++;
    tally.is_exact = !order->chain_count;
    unroll(order, &tally);
    assert_true(!tally.is_exact || tally.at == count);
    for (uint32_t i = order->chain_count; i-- > 0;) { /* states are of later ones */
        assert_in_range(i, 0, CHAINS - 1);
        add_chain(&order->chains[i], tally.visits[i], &tally);
    }
    for (uint32_t i = 0; i < BODIES; i++)
        assert_int_equal(tally.bodies[i], expected[i]);
    assert_in_range(order->fold.terms.value_count, count != 0, 512);
}

/* ---- sequences ---- */

/* Loops of symbols in each other, counts that may change with the loop around. */
static void add_loop(struct psnap_rng shape, unsigned depth, int64_t outer)
{
    const int64_t step = psnap_rng_below(&shape, 3) ? 0 : 1;
    const int64_t iterations = 1 + (int64_t)psnap_rng_below(&shape, 12) + step * outer;
    const unsigned parts = 1 + (unsigned)psnap_rng_below(&shape, 3);

    for (int64_t i = 0; i < iterations; i++) {
        struct psnap_rng same = shape;
        for (unsigned k = 0; k < parts; k++) {
            const uint32_t body = (uint32_t)psnap_rng_below(&same, BODIES);
            const bool is_loop = depth < 3 && psnap_rng_below(&same, 2);
            struct psnap_rng inner;
            psnap_rng_init(&inner, psnap_rng_next(&same));
            if (is_loop)
                add_loop(inner, depth + 1, i);
            else
                add(body);
        }
    }
}

TEST_OF_PATTERNS(loops_fold)
{
    unsigned folded = 0;

    for (uint64_t seed = 0; seed < 300; seed++) {
        struct order order;
        struct psnap_rng rng;
        count = 0;
        psnap_rng_init(&rng, seed);
        for (int part = 0; part < 3; part++) {
            struct psnap_rng shape;
            psnap_rng_init(&shape, psnap_rng_next(&rng));
            add_loop(shape, 0, 0);
        }
        put_all(&order);
        assert_order(&order);
        folded += !order.chain_count;
        order_release(&order);
    }
    assert_in_range(folded, 290, 300);
}

/* A body, then `inner` executions of two others in turn, many times: one term. */
TEST_OF_PATTERNS(hand_worked)
{
    struct order order;

    count = 0;
    put_all(&order);
    assert_order(&order);
    order_release(&order);
    for (int i = 0; i < 50; i++) {
        add(5);
        for (int j = 0; j < i; j++) {
            add(3);
            add(4);
        }
    }
    put_all(&order);
    assert_order(&order);
    assert_int_equal(order.chain_count, 0);
    assert_in_range(order.fold.terms.value_count, 1, 24);
    order_release(&order);
}

/* Some bodies in random order. */
TEST_OF_PATTERNS(random_orders_are_chains)
{
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct order order;
        struct psnap_rng rng;
        psnap_rng_init(&rng, seed);
        count = 0;
        for (size_t i = 0; i < (seed % 2 ? 2000 : 100000); i++)
            add((uint32_t)psnap_rng_below(&rng, 2 + seed));
        put_all(&order);
        assert_order(&order);
        assert_in_range(order.chain_count, 1, 8);
        order_release(&order);
    }
}

/* Nests around parts that have no order: the nests stay, and visit the chain. */
TEST_OF_PATTERNS(nests_stay_around_chains)
{
    struct order order;
    struct psnap_rng rng;
    size_t outside = 0;

    psnap_rng_init(&rng, 1);
    count = 0;
    for (int i = 0; i < 10; i++) {
        for (int j = 0; j < 6000; j++)
            for (uint32_t k = 0; k < 3; k++)
                add(k);
        for (int j = 0; j < 300; j++)
            add(10 + (uint32_t)psnap_rng_below(&rng, 5));
    }
    put_all(&order);
    assert_order(&order);
    for (uint32_t b = 0; b < 3; b++)
        outside += order.bodies[b].chain == PSNAP_NONE;
    assert_int_equal(outside, 3);
    assert_in_range(order.chain_count, 1, 8);
    order_release(&order);
}

/* Phases of all sorts, one after the other and again: chains are made, and made one. */
TEST_OF_PATTERNS(phases_come_again)
{
    unsigned with_chains = 0;

    for (uint64_t seed = 0; seed < 400; seed++) {
        struct order order;
        struct psnap_rng rng;
        const uint64_t span = 2 + seed % 8;
        psnap_rng_init(&rng, seed);
        count = 0;
        for (unsigned phases = 5 + (unsigned)psnap_rng_below(&rng, 400); phases; phases--) {
            const uint32_t low = (uint32_t)(psnap_rng_below(&rng, 1 + seed % 5) * 8);
            const uint64_t kind = psnap_rng_below(&rng, 4);
            const uint64_t length = psnap_rng_below(&rng, kind == 3 ? 40 : 400);
            for (uint64_t i = 0; i < length; i++)
                add(low + (uint32_t)(kind < 2    ? psnap_rng_below(&rng, span)
                                     : kind == 2 ? i % span
                                                 : span - 1));
        }
        put_all(&order);
        assert_order(&order);
        with_chains += order.chain_count > 0;
        order_release(&order);
    }
    assert_in_range(with_chains, 300, 400);
}

/* A body that is new in each phase, and one that is in all: a chain is made around the chain of the
 * phases before, a hundred times, and all is one visit of the outermost in the end. */
TEST_OF_PATTERNS(chains_in_chains)
{
    struct order order;
    struct psnap_rng rng;
    uint32_t deepest = 0;

    psnap_rng_init(&rng, 1);
    count = 0;
    for (uint32_t phase = 1; phase <= 100; phase++)
        for (int i = 0; i < 5000; i++) {
            add(phase);
            if (psnap_rng_below(&rng, 2))
                add(0);
        }
    put_all(&order);
    assert_in_range(order.chain_count, 64, 128);
    assert_order(&order);
    for (uint32_t b = 0; b < order.body_count; b++)
        if (order.bodies[b].chain != PSNAP_NONE && order.bodies[b].level > deepest)
            deepest = order.bodies[b].level;
    assert_in_range(deepest, 64, 100);
    assert_in_range(order.fold.terms.value_count, 1, 512);
    order_release(&order);
}
