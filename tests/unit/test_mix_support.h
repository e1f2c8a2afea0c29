/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by the tests of mixes (profile/mixes/mix.h): random ones, and whether two are the same.
 */
#ifndef PSNAP_TEST_MIX_SUPPORT_H
#define PSNAP_TEST_MIX_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "formats/base/rng.h"
#include "profile/mixes/mix.h"

enum { EDGES = MIX_EDGES_MAX };

/* The next token of a walk; false: the visit has ended. */
static inline bool mix_walk_next(struct mix_walk *walk, uint32_t *state, uint64_t *count)
{
    const struct mix_token *token = mix_walk_take(walk);

    *state = token->state;
    *count = token->count;
    return token->state != MIX_END;
}

static inline uint64_t times_of(const struct psnap_mix *mix, uint32_t from, uint32_t to)
{
    for (uint32_t i = mix->first[from]; i < mix->first[from + 1]; i++)
        if (mix->edges[i].to == to)
            return mix->edges[i].times;
    return 0;
}

/* The same states, times and sums of counts, visits and tokens; and transitions. */
static inline void assert_same(const struct psnap_mix *a, const struct psnap_mix *b, bool has_edges)
{
    assert_int_equal(a->visits, b->visits);
    assert_int_equal(a->tokens, b->tokens);
    assert_int_equal(a->state_count, b->state_count);
    for (uint32_t i = 0; i < a->state_count; i++) {
        assert_int_equal(a->states[i].id, b->states[i].id);
        assert_int_equal(a->states[i].counts.times, b->states[i].counts.times);
        assert_int_equal(a->states[i].counts.sum, b->states[i].counts.sum);
    }
    for (uint32_t n = 0; has_edges && n < MIX_STATE + a->state_count; n++) {
        assert_int_equal(a->first[n + 1], b->first[n + 1]);
        for (uint32_t i = a->first[n]; i < a->first[n + 1]; i++) {
            assert_int_equal(a->edges[i].to, b->edges[i].to);
            assert_int_equal(a->edges[i].times, b->edges[i].times);
        }
    }
}

/* Tokens of a random graph of `states` states with few successors each, in visits of about
 * `length`. */
static inline struct mix_collector *collect_random(struct psnap_rng *rng, uint32_t states,
                                                   unsigned successors, uint64_t tokens,
                                                   uint64_t length)
{
    struct mix_collector *collector = mix_collector_new();
    uint32_t at = 0;

    assert_non_null(collector);
    for (uint64_t i = 0; i < tokens; i++) {
        if (psnap_rng_below(rng, length) == 0)
            assert_int_equal(mix_begin(collector), PSNAP_OK);
        at = (uint32_t)((at * UINT64_C(7) + 13 + psnap_rng_below(rng, successors) * 104729) %
                        states);
        assert_int_equal(
            mix_add(collector, 3 * at + 5, psnap_rng_below(rng, UINT64_C(1) << (at % 12))),
            PSNAP_OK);
    }
    return collector;
}

static inline uint32_t node_of(const struct psnap_mix *mix, uint32_t id)
{
    const uint32_t index = mix_find(mix, id);

    assert_true(index < mix->state_count);
    return MIX_STATE + index;
}

/* A walk's visits, collected. */
static inline struct mix_collector *walk_all(const struct psnap_mix *mix, uint64_t seed,
                                             uint64_t visits)
{
    struct mix_collector *collector = mix_collector_new();
    struct mix_walk *walk = mix_walk_new(mix, seed);
    uint32_t state;
    uint64_t count;

    assert_non_null(collector);
    assert_non_null(walk);
    for (uint64_t i = 0; i < visits; i++) {
        assert_int_equal(mix_begin(collector), PSNAP_OK);
        while (mix_walk_next(walk, &state, &count))
            assert_int_equal(mix_add(collector, mix->states[state].id, count), PSNAP_OK);
    }
    mix_walk_free(walk);
    return collector;
}

/* A walk through all of a mix has what the mix has. */
static inline void check_walk(const struct psnap_mix *mix, uint64_t seed, bool has_edges)
{
    struct mix_collector *collector = walk_all(mix, seed, mix->visits);
    struct psnap_mix *walked = mix_take(collector, EDGES, COUNTS_BINS);

    assert_non_null(walked);
    assert_same(mix, walked, has_edges);
    mix_free(walked);
    mix_collector_free(collector);
}

#endif
