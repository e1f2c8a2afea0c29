/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Markov chains with exact counts, against a matrix of transitions: what is counted, that it is a
 * circuit or where it is none, that a walk through it takes every transition as often as it was
 * seen and is outside then.
 */
#include "tests/unit/test.h"

#include "formats/base/program.h"
#include "profile/order/chain.h"

enum { STATES = 12 };

struct matrix {
    uint64_t of[STATES][STATES];
};

/* Symbols 100, 101 and so on are states 1, 2 and so on. */
static void make_states(struct chain *chain)
{
    assert_true(chain_init(chain));
    for (uint32_t i = 1; i < STATES; i++) {
        assert_int_equal(chain_add_state(chain, 99 + i), i);
        assert_int_equal(chain->states[i].symbol, 99 + i);
    }
    assert_int_equal(chain->count, STATES);
}

static void go(struct chain *chain, struct matrix *matrix, uint32_t to, uint64_t times)
{
    matrix->of[chain->at][to] += times;
    assert_true(chain_go(chain, to, times));
    assert_int_equal(chain->at, to);
}

/* Visits of random lengths, in which some states are frequent and some are never. */
static void make_visits(struct chain *chain, struct matrix *matrix, unsigned visits,
                        struct psnap_rng *rng)
{
    const uint32_t states = 2 + (uint32_t)psnap_rng_below(rng, STATES - 2);

    for (unsigned v = 0; v < visits; v++) {
        for (uint64_t n = 1 + psnap_rng_below(rng, 30); n; n--) {
            const uint32_t to =
                1 + (uint32_t)psnap_rng_below(rng, 1 + psnap_rng_below(rng, states));
            if (to >= STATES)
                continue;
            go(chain, matrix, to, 1);
            if (!psnap_rng_below(rng, 5)) /* to itself, many times */
                go(chain, matrix, to, 1 + psnap_rng_below(rng, 50));
        }
        if (chain->at)
            go(chain, matrix, 0, 1);
    }
}

static void assert_matrix(const struct chain *chain, const struct matrix *matrix)
{
    struct matrix seen = {0};

    for (uint32_t i = 0; i < chain->count; i++)
        for (uint32_t k = 0; k < chain->states[i].edge_count; k++) {
            const struct chain_edge *edge = &chain->states[i].edges[k];
            assert_int_equal(seen.of[i][edge->to], 0); /* one of each */
            seen.of[i][edge->to] = edge->count;
        }
    assert_memory_equal(&seen, matrix, sizeof seen);
}

static uint64_t sum_of(const struct matrix *matrix)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < STATES; i++)
        for (uint32_t k = 0; k < STATES; k++)
            sum += matrix->of[i][k];
    return sum;
}

/* A walk takes each transition as often as there is of it, again and again. */
static void assert_draws(const struct chain *chain, const struct matrix *matrix, uint64_t seed)
{
    struct chain_draw draw;
    struct psnap_rng rng;
    uint32_t state = 0;

    psnap_rng_init(&rng, seed);
    assert_true(chain_draw_init(&draw, chain));
    for (int turn = 0; turn < 3; turn++) {
        struct matrix left = *matrix;
        for (uint64_t n = sum_of(matrix); n; n--) {
            const uint32_t next = chain_draw_next(&draw, state, &rng);
            assert_in_range(next, 0, chain->count - 1);
            assert_true(left.of[state][next]-- > 0);
            state = next;
        }
        assert_int_equal(state, 0);
    }
    chain_draw_release(&draw);
}

TEST(walks_take_all)
{
    for (uint64_t seed = 0; seed < 300; seed++) {
        struct matrix matrix = {0};
        struct chain chain;
        struct psnap_rng rng;
        uint64_t visits = 0;
        uint32_t at;
        psnap_rng_init(&rng, seed);
        make_states(&chain);
        make_visits(&chain, &matrix, 1 + (unsigned)psnap_rng_below(&rng, 20), &rng);
        assert_matrix(&chain, &matrix);
        assert_int_equal(chain_is_circuit(&chain, &at), 1);
        for (uint32_t k = 0; k < STATES; k++)
            visits += matrix.of[0][k];
        assert_int_equal(chain_circuits(&chain), visits);
        assert_draws(&chain, &matrix, seed);
        chain_release(&chain);
    }
}

/* The same seed, the same walk; another one, another. */
TEST(draws_are_by_the_seed)
{
    uint32_t walks[3][500];
    struct matrix matrix = {0};
    struct chain chain;
    struct psnap_rng rng;

    psnap_rng_init(&rng, 1);
    make_states(&chain);
    make_visits(&chain, &matrix, 40, &rng);
    for (int w = 0; w < 3; w++) {
        struct chain_draw draw;
        uint32_t at = 0;
        assert_true(chain_draw_init(&draw, &chain));
        psnap_rng_init(&rng, w == 2);
        for (int i = 0; i < 500; i++)
            walks[w][i] = at = chain_draw_next(&draw, at, &rng);
        chain_draw_release(&draw);
    }
    chain_release(&chain);
    assert_memory_equal(walks[0], walks[1], sizeof walks[0]);
    assert_memory_not_equal(walks[0], walks[2], sizeof walks[0]);
}

TEST(hand_worked)
{
    struct chain chain;
    struct chain_draw draw;
    struct psnap_rng rng;
    uint32_t at = PSNAP_NONE;

    psnap_rng_init(&rng, 0);
    assert_true(chain_init(&chain));
    assert_int_equal(chain_is_circuit(&chain, &at), 1); /* nothing is left as often as entered */
    assert_true(chain_draw_init(&draw, &chain));
    assert_int_equal(chain_draw_next(&draw, 0, &rng), 0);
    chain_draw_release(&draw);
    assert_int_equal(chain_add_state(&chain, 7), 1);
    assert_int_equal(chain_add_state(&chain, 3), 2);
    assert_true(chain_go(&chain, 1, 1)); /* outside, 7 five times, 3, outside */
    assert_true(chain_go(&chain, 1, 4));
    assert_true(chain_go(&chain, 2, 1));
    assert_int_equal(chain_is_circuit(&chain, &at), 0);
    assert_true(chain_go(&chain, 0, 1));
    assert_int_equal(chain_is_circuit(&chain, &at), 1);
    assert_true(chain_draw_init(&draw, &chain));
    at = 0;
    for (int i = 0; i < 21; i++) { /* there is one way */
        static const uint32_t expected[] = {1, 1, 1, 1, 1, 2, 0};
        at = chain_draw_next(&draw, at, &rng);
        assert_int_equal(at, expected[i % 7]);
    }
    chain_draw_release(&draw);
    chain.states[2].edges[0].to = 2; /* 3 is entered, and never left for good */
    chain.states[1].edges[0].count = 4;
    assert_int_equal(chain_is_circuit(&chain, &at), 0);
    chain_release(&chain);
}

/* One transition more or less is no circuit. */
TEST(contradictions_are_found)
{
    for (uint64_t seed = 0; seed < 100; seed++) {
        struct matrix matrix = {0};
        struct chain chain;
        struct psnap_rng rng;
        uint32_t i, at, to;
        psnap_rng_init(&rng, seed);
        make_states(&chain);
        make_visits(&chain, &matrix, 5, &rng);
        do
            i = (uint32_t)psnap_rng_below(&rng, STATES);
        while (!chain.states[i].edge_count);
        at = (uint32_t)psnap_rng_below(&rng, chain.states[i].edge_count);
        to = chain.states[i].edges[at].to;
        chain.states[i].edges[at].count++;
        assert_int_equal(chain_is_circuit(&chain, &at), to == i);
        if (to != i)
            assert_true(at == i || at == to);
        chain_release(&chain);
    }
    /* in balance, but apart from all others */
    struct chain chain;
    uint32_t at;
    assert_true(chain_init(&chain));
    chain_add_state(&chain, 1);
    chain_add_state(&chain, 2);
    assert_true(chain_go(&chain, 1, 1) && chain_go(&chain, 0, 1));
    chain.at = 2;
    assert_true(chain_go(&chain, 2, 3));
    assert_int_equal(chain_is_circuit(&chain, &at), 0);
    assert_int_equal(at, 2);
    chain_release(&chain);
}
