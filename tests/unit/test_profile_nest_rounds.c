/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A profile of walks of rounds is that of their accesses one by one: of random rounds, which come
 * again and again, at once and in turn with others, further each time, with accesses between them;
 * of runs with several iterations in a repetition; of what one reference does in two places, which
 * meets in some round. What the nest goes on to expect takes no longer with counts that nobody
 * could go through.
 */
#include "profile/walks/nests.h"
#include "tests/unit/test_profile_support.h"
#include "tests/unit/test_rounds_support.h"

enum { LOOPS_MADE = 6, REFS_MADE = 24, MADE = 4, SEEDS = 120, MOST = 30000 };

/* References r of loops r % LOOPS_MADE. */
static struct psnap_program *make_few(void)
{
    static const char *const ids[LOOPS_MADE] = {"f:1", "f:2", "f:3", "f:4", "f:5", "f:6"};
    static const char *const sources[LOOPS_MADE] = {"s1", "s2", "s3", "s4", "s5", "s6"};

    return make_striped(ids, sources, LOOPS_MADE, REFS_MADE);
}

/* The same stream put in two ways. */
struct both {
    struct psnap_program *program;
    struct psnap_sink *by_rounds, *by_access;
};

static struct both new_both(void)
{
    const struct psnap_builder_options options = {.walks = true};
    struct both both = {.program = make_few()};

    both.by_rounds = psnap_profile_builder_new(both.program, &options, NULL);
    both.by_access = psnap_profile_builder_new(both.program, &options, NULL);
    assert_true(both.by_rounds && both.by_access);
    return both;
}

static void take(const struct psnap_access *access, void *to)
{
    assert_int_equal(psnap_sink_put(to, access, 1, NULL), PSNAP_OK);
}

static void put_rounds(struct both *both, const struct psnap_rounds *rounds)
{
    uint64_t round[PSNAP_ROUNDS_LEVELS];

    assert_int_equal(psnap_sink_put_rounds(both->by_rounds, rounds, NULL), PSNAP_OK);
    for_each_access(rounds, 0, 0, round, take, both->by_access);
}

static void put_run(struct both *both, const struct psnap_run *run)
{
    assert_int_equal(psnap_sink_put_run(both->by_rounds, run, NULL), PSNAP_OK);
    for (uint64_t i = 0; i < run->count; i++)
        for (size_t k = 0; k < run->width; k++) {
            struct psnap_access access = run->first[k];
            access.address = psnap_run_address(run, i, k);
            take(&access, both->by_access);
        }
}

static void put_access(struct both *both, const struct psnap_access *access)
{
    take(access, both->by_rounds);
    take(access, both->by_access);
}

static void end_both(struct both *both, unsigned seed)
{
    struct psnap_profile *one = end_profile(both->by_rounds), *other = end_profile(both->by_access);
    char *a = write_text(one), *b = write_text(other);

    if (strcmp(a, b) != 0)
        fail_msg("seed %u: rounds make another profile:\n%s\n---\n%s", seed, a, b);
    free(a);
    free(b);
    psnap_profile_free(one);
    psnap_profile_free(other);
    psnap_program_free(both->program);
}

static void make(struct random_rounds *made, struct psnap_rounds *rounds, struct psnap_rng *rng,
                 unsigned seed)
{
    do {
        *made = (struct random_rounds){
            .refs = REFS_MADE, .loops = LOOPS_MADE, .areas = 20, .base = HEAP};
        *rounds = make_rounds(made, rng, 2 + seed % 4, seed % 2 ? 5 : 20);
        if (seed % 3 == 0) /* one place for each reference, most likely */
            for (uint32_t a = 0; a < made->width; a++)
                for (uint32_t b = 0; b < a; b++)
                    if (made->first[a].ref == made->first[b].ref)
                        memcpy(&made->strides[(size_t)a * PSNAP_ROUNDS_LEVELS],
                               &made->strides[(size_t)b * PSNAP_ROUNDS_LEVELS],
                               (PSNAP_ROUNDS_LEVELS - 2) * sizeof *made->strides);
    } while (psnap_rounds_accesses(rounds) > MOST / 10);
}

static void rounds_equal_their_accesses(void **state)
{
    (void)state;
    for (unsigned seed = 0; seed < SEEDS; seed++) {
        struct random_rounds made[MADE];
        struct psnap_rounds rounds[MADE];
        struct both both = new_both();
        struct psnap_rng rng;
        uint64_t accesses = 0;
        psnap_rng_init(&rng, seed);
        for (unsigned i = 0; i < MADE; i++)
            make(&made[i], &rounds[i], &rng, seed);
        for (unsigned turn = 0; turn < 40 && accesses < MOST; turn++) {
            const bool is_in_turn = seed % 5 != 0; /* a loop around all of them */
            const unsigned which = is_in_turn ? turn % MADE : (unsigned)psnap_rng_below(&rng, MADE);
            put_rounds(&both, &rounds[which]);
            accesses += psnap_rounds_accesses(&rounds[which]);
            if (!is_in_turn && psnap_rng_below(&rng, 3) == 0)
                put_access(&both, &made[0].first[0]);
            if (seed % 4 == 1) /* more each time, or now and then */
                made[which].nodes[0].count++;
            else if (seed % 4 == 2 && psnap_rng_below(&rng, 10) == 0)
                made[which].nodes[0].count = 1 + psnap_rng_below(&rng, 12);
            for (uint32_t k = 0; seed % 7 && k < made[which].width; k++)
                made[which].first[k].address += 64 * (made[which].first[k].ref % 5);
        }
        end_both(&both, seed);
    }
}

/* A run of several iterations in a repetition: what the halves of a counter lead to. */
static void turns_equal_their_accesses(void **state)
{
    static const uint32_t refs[] = {0, 6, 12};

    (void)state;
    for (unsigned seed = 0; seed < SEEDS / 3; seed++) {
        struct both both = new_both();
        struct psnap_access first[24];
        int64_t strides[24], step[3];
        struct psnap_run run = {.first = first, .strides = strides};
        struct psnap_rng rng;
        psnap_rng_init(&rng, seed);
        for (unsigned time = 0; time < 8; time++) {
            const uint32_t width = 1 + (uint32_t)psnap_rng_below(&rng, 3);
            run.turns = 2 + (uint32_t)psnap_rng_below(&rng, 5);
            run.width = width * run.turns;
            run.count = 1 + psnap_rng_below(&rng, 40);
            for (uint32_t k = 0; k < width; k++)
                step[k] = 8 * (int64_t)psnap_rng_below(&rng, 4);
            for (uint32_t i = 0; i < run.width; i++) {
                const uint32_t turn = i / width, k = i % width;
                first[i] = (struct psnap_access){.address = HEAP + 0x10000 * (k + 4 * time) +
                                                            (uint64_t)step[k] * (turn / (1 + k)),
                                                 .ref = refs[k],
                                                 .size = 8};
                strides[i] = step[k] * (int64_t)(seed % 3 ? run.turns / (1 + k) : turn);
            }
            for (unsigned again = 0; again < 4; again++) {
                put_run(&both, &run);
                put_access(&both, &(struct psnap_access){.address = HEAP, .ref = 1, .size = 4});
            }
        }
        end_both(&both, seed);
    }
}

/* A reference in two places: in one round it goes on from the first to the second, and they are one
 * leaf; before and after that they are two. */
static void places_may_meet(void **state)
{
    (void)state;
    for (unsigned meets = 0; meets < 40; meets++) {
        const struct psnap_access first[] = {
            {.address = HEAP, .ref = 0, .size = 8},
            {.address = HEAP + 32 + 8 * (uint64_t)meets, .ref = 0, .size = 8},
            {.address = HEAP + 0x10000, .ref = 1, .size = 8}};
        const int64_t strides[3 * PSNAP_ROUNDS_LEVELS] = {
            [0] = 8, [1] = 8, [PSNAP_ROUNDS_LEVELS] = 0, [PSNAP_ROUNDS_LEVELS + 1] = 8};
        const struct psnap_round nodes[] = {
            {40, 3, 0, 3}, {4, 0, 0, 1}, {4, 0, 1, 1}, {1, 0, 2, 1}};
        struct both both = new_both();
        put_rounds(&both, &(struct psnap_rounds){nodes, first, strides, 4});
        end_both(&both, meets);
    }
}

/* Of a term of which the counts within are the same in all iterations. */
static uint64_t count_accesses(const struct nest_pattern *pattern, const uint64_t *values)
{
    const uint64_t *at = values + 1;
    uint64_t sum = pattern->body_count ? 0 : pattern->shape->width;

    for (uint32_t i = 0; i < pattern->body_count; at += pattern->body[i++]->values)
        sum += count_accesses(pattern->body[i], at);
    return values[0] * sum;
}

/* Loops in loops and a run of turns, each of which is gone through as often as that. */
static void what_is_expected_is_not_gone_through(void **state)
{
    const uint64_t many = UINT64_C(1) << 40;
    const struct psnap_access first[] = {{.address = HEAP, .ref = 0, .size = 8},
                                         {.address = HEAP + 0x2000, .ref = 1, .size = 8},
                                         {.address = HEAP + 0x4000, .ref = 7, .size = 8},
                                         {.address = HEAP + 0x6000, .ref = 2, .size = 8}};
    const struct psnap_access turns[] = {{.address = HEAP + 0x8000, .ref = 3, .size = 8},
                                         {.address = HEAP + 0x8000, .ref = 3, .size = 8},
                                         {.address = HEAP + 0x8008, .ref = 3, .size = 8}};
    const int64_t strides[4 * PSNAP_ROUNDS_LEVELS] = {[1] = 8,
                                                      [2] = 64,
                                                      [PSNAP_ROUNDS_LEVELS + 2] = 64,
                                                      [2 * PSNAP_ROUNDS_LEVELS + 2] = 16,
                                                      [3 * PSNAP_ROUNDS_LEVELS + 1] = 8};
    const int64_t none[3] = {0};
    struct psnap_program *program = make_few();
    struct psnap_round nodes[] = {
        {0, 4, 0, 4}, {5, 2, 0, 3}, {10, 0, 0, 1}, {3, 0, 1, 2}, {1, 0, 3, 1}};
    struct psnap_run run = {.first = turns, .strides = none, .width = 3, .turns = 3};
    struct psnap_sink *builder = nest_builder_new(program);
    const struct psnap_nests *nests;
    uint64_t sum = 0;

    (void)state;
    assert_non_null(builder);
    for (unsigned i = 0; i < 5; i++) { /* to know all of it, and then as often as that */
        nodes[0].count = run.count = i < 4 ? 20 : many;
        assert_int_equal(
            psnap_sink_put_rounds(builder, &(struct psnap_rounds){nodes, first, strides, 5}, NULL),
            PSNAP_OK);
        assert_int_equal(psnap_sink_put_run(builder, &run, NULL), PSNAP_OK);
    }
    assert_int_equal(psnap_sink_finish(builder, NULL), PSNAP_OK);
    nests = nest_builder_nests(builder);
    assert_non_null(nests);
    for (size_t i = 0; i < nests->count; i++)
        sum += count_accesses(nests->terms[i].pattern, nests_values(nests, i));
    assert_true(sum == (many + 80) * (5 * (10 + 6) + 1 + 3));
    psnap_sink_free(builder);
    psnap_program_free(program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounds_equal_their_accesses), cmocka_unit_test(turns_equal_their_accesses),
        cmocka_unit_test(places_may_meet), cmocka_unit_test(what_is_expected_is_not_gone_through)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
