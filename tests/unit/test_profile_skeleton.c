/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the data decides in a regular program (profile/walks/nest_skeleton.c, nest_alone.c): loops
 * that come or do not come, and addresses that cut the iterations of others. All the rest is
 * replayed access for access.
 */
#include "tests/unit/test_nests_support.h"

enum { ROWS = 90, ROW_BYTES = 1024, DRAWN = 4 * REFS };

/* Loops 0 to 2 of elimination with pivots: rest of a column by column k, by fours and what is left
 * over. */
static void eliminate(struct stream *stream, uint64_t k)
{
    const uint64_t width = ROWS - 1 - k;

    for (uint64_t i = k + 1; i < k + 8 && i < ROWS; i++) {
        add(stream, 0, HEAP + i * ROW_BYTES + 8 * k);
        for (uint64_t j = 0; j < width / 4; j++)
            add(stream, REFS, HEAP + i * ROW_BYTES + 8 * (k + 1) + 32 * j);
        for (uint64_t j = width / 4 * 4; j < width; j++)
            add(stream, 2 * REFS, HEAP + i * ROW_BYTES + 8 * (k + 1 + j));
    }
}

/* Loop 3: a search down column k, which also looks at the row that was best so far. Loops 4 and 5:
 * two rows are swapped, or not, in one of two ways. */
static void pivot(struct stream *stream, uint64_t k, struct psnap_rng *rng)
{
    const uint32_t swap = psnap_rng_below(rng, 3) ? 4 * REFS : 5 * REFS;
    uint64_t best = k;

    for (uint64_t i = k + 1; i < ROWS; i++) {
        add(stream, 3 * REFS, HEAP + i * ROW_BYTES + 8 * k);
        add(stream, 3 * REFS + 1, HEAP + best * ROW_BYTES + 8 * k);
        best = psnap_rng_below(rng, i - k + 1) ? best : i;
    }
    if (psnap_rng_below(rng, 4) == 0)
        return;
    for (uint64_t j = 0; j < 12; j++) {
        add(stream, swap, HEAP + best * ROW_BYTES + 16 * j);
        add(stream, swap + 1, HEAP + best * ROW_BYTES + 16 * j);
    }
}

static struct psnap_profile *eliminate_all(struct psnap_program *program, struct stream *stream)
{
    struct psnap_rng rng;

    psnap_rng_init(&rng, 11);
    for (uint64_t k = 0; k + 1 < ROWS; k++) {
        pivot(stream, k, &rng);
        eliminate(stream, k);
    }
    return profile_of(program, stream);
}

static void test_swaps(void **state)
{
    struct psnap_program *program = make_program(LOOPS, REFS);
    struct stream stream = new_stream();
    struct psnap_profile *profile = eliminate_all(program, &stream);
    const struct nest_models *models;
    const struct psnap_mix *chain;

    (void)state;
    assert_non_null(profile->nests);
    models = profile->nests->models;
    assert_int_equal(models->mix_count, 1);
    chain = models->mixes[0].chain;
    assert_int_equal(chain->state_count, 2);
    /* A visit for each search; of those without a swap there are some. */
    assert_int_equal(chain->visits, ROWS - 1);
    assert_true(chain->tokens > ROWS / 2 && chain->tokens < chain->visits);
    assert_int_equal(chain->lengths.bins[0].low, 0);
    /* Both references walk a row from an address that is drawn; the second one with the first. */
    for (uint32_t i = 0; i < 2; i++) {
        const struct nest_shape *shape = models->mixes[0].states[i];
        assert_int_equal(shape->refs[0].mode, NEST_DRAWN_FIRST);
        assert_int_equal(models->mixes[0].strides[i][0], 16);
        assert_int_equal(models->mixes[0].strides[i][1], 16);
        assert_int_equal(models->draws[shape->refs[1].draw].rest.with, shape->refs[0].draw);
    }
    assert_drawn(program, &stream, profile, 3 * REFS);
}

/* Of the search the column is as it was; what looks at the best row so far is drawn. */
static void test_search(void **state)
{
    struct psnap_program *program = make_program(LOOPS, REFS);
    struct stream stream = new_stream();
    struct psnap_profile *profile = eliminate_all(program, &stream);
    struct psnap_source *source = psnap_replay_new(profile, 1, NULL);
    struct psnap_access block[64];
    size_t at = 0;
    ssize_t got;

    (void)state;
    assert_non_null(source);
    while ((got = psnap_source_next(source, block, 64, NULL)) > 0)
        for (ssize_t i = 0; i < got; i++) {
            const struct psnap_program *of = source->program;
            const struct psnap_ref *ref = &of->refs[block[i].ref];
            if (strcmp(of->loops[ref->loop].id, "f:3") != 0 ||
                (block[i].ref && ref[-1].loop == ref->loop))
                continue;
            while (stream.accesses[at].ref != 3 * REFS)
                at++;
            assert_int_equal(block[i].address, stream.accesses[at++].address);
        }
    assert_int_equal(got, 0);
    psnap_source_free(source);
    psnap_profile_free(profile);
    free(stream.accesses);
    psnap_program_free(program);
}

/* A loop that now and then comes between others does not keep them from folding, wherever they were
 * grouped when it came. */
static void test_now_and_then(void **state)
{
    struct psnap_program *program = make_program(LOOPS, REFS);
    struct stream stream = new_stream();
    struct psnap_profile *profile;
    struct psnap_rng rng;

    (void)state;
    psnap_rng_init(&rng, 3);
    for (uint64_t i = 0; i < 1200; i++) {
        const uint64_t width = 4 + i % 4;
        for (uint64_t j = 0; j < width; j++)
            add(&stream, 0, HEAP + 256 * i + 8 * j);
        for (uint64_t j = 0; j < 5; j++)
            add(&stream, REFS, HEAP + (1 << 20) + 64 * i + 8 * j);
        if (psnap_rng_below(&rng, 9) == 0)
            for (uint64_t j = 0; j < 6; j++)
                add(&stream, DRAWN, HEAP + (8 << 20) + 64 * psnap_rng_below(&rng, 1 << 12));
    }
    profile = profile_of(program, &stream);
    assert_non_null(profile->nests);
    assert_true(profile->nests->value_count < 200);
    assert_drawn(program, &stream, profile, DRAWN);
}

/* Stages of a transform, each of another shape, behind a permutation in place: that does not fold,
 * and what is left of its walks makes the terms many. The few of the stages are not to blame. */
static void test_stages(void **state)
{
    enum { MANY = 300000, ELEMENTS = 1 << 17 };
    struct psnap_program *program = make_program(LOOPS, REFS);
    struct stream stream = {calloc(MANY, sizeof *stream.accesses), 0};
    struct psnap_profile *profile;

    (void)state;
    assert_non_null(stream.accesses);
    for (uint64_t i = 0, j = 0; i < ELEMENTS; i++) {
        if (i < j) {
            add_to(&stream, MANY, DRAWN, HEAP + 8 * i);
            add_to(&stream, MANY, DRAWN + 1, HEAP + 8 * j);
        }
        for (uint64_t bit = ELEMENTS / 2; (j ^= bit) < bit && bit; bit /= 2)
            continue;
    }
    for (uint64_t stage = 0; stage < 20; stage++)
        for (uint64_t i = 0; i < stage + 3; i++)
            for (uint64_t k = 0; k < 20; k++) {
                add_to(&stream, MANY, 0, HEAP + (i << (stage + 4)) + 8 * k);
                for (uint32_t ref = 1; ref < 4; ref++)
                    add_to(&stream, MANY, ref, HEAP + (ref << 26) + (k << stage));
            }
    profile = profile_of(program, &stream);
    assert_non_null(profile->nests);
    assert_true(profile->nests->models->draw_count);
    assert_drawn(program, &stream, profile, DRAWN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_swaps),
        cmocka_unit_test(test_search),
        cmocka_unit_test(test_now_and_then),
        cmocka_unit_test(test_stages),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
