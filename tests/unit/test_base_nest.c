/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A nest is loops in loops: a sink that takes none, behind a tee and a pump, gets its accesses in
 * order, and as many as it says. So does a reader that takes accesses, in blocks of any size. A
 * nest made of two iterations goes on as they do.
 */
#include "tests/unit/test_affine_support.h"
#include "tests/unit/vectors.h"
#include "tests/unit/test.h"

/* A nest once, then the end. */
struct once {
    struct psnap_source base;
    struct psnap_nest nest;
    struct psnap_access before;
};

static ssize_t once_next(struct psnap_source *self, struct psnap_access *room, size_t capacity,
                         const struct psnap_access **block, struct psnap_nest *nest,
                         struct psnap_error *error)
{
    struct once *once = (struct once *)self;

    (void)room, (void)capacity, (void)error;
    *nest = once->nest;
    *block = &once->before;
    once->nest.loop_count = 0;
    return nest->loop_count > 0;
}

static void once_free(struct psnap_source *self)
{
    (void)self; /* it is the caller's */
}

static const struct psnap_source_ops once_ops = {.free = once_free, .next_nest = once_next};

static void take(const struct psnap_access *access, void *to)
{
    struct psnap_error error = {0};

    assert_int_equal(psnap_sink_put(to, access, 1, &error), PSNAP_OK);
}

/* What the sink has, and has to have. */
static void compare(struct psnap_sink *expected, struct psnap_sink *got)
{
    size_t n, m;
    const struct psnap_access *a = vector_sink_data(expected, &n);
    const struct psnap_access *b = vector_sink_data(got, &m);

    assert_int_equal(n, m);
    if (n)
        assert_memory_equal(a, b, n * sizeof *a);
}

TEST(nests_are_their_accesses)
{
    struct random_nest made = {.refs = 12, .loops = 3, .areas = 3, .base = 0x100000};
    struct psnap_rng rng;

    psnap_rng_init(&rng, 1);
    for (unsigned turn = 0; turn < 300; turn++) {
        struct once once = {.base.ops = &once_ops, .before = {.address = 77, .size = 1}};
        struct psnap_sink *expected = vector_sink_new(), *got = vector_sink_new();
        struct psnap_sink *single = vector_sink_new(), *tee = psnap_tee_sink_new(&got, 1);
        struct psnap_error error = {0};
        struct psnap_access block[50];
        struct psnap_nest nest;
        uint64_t iteration[PSNAP_NEST_LEVELS], count;
        ssize_t n;

        made.is_uneven = turn % 2;
        nest = make_affine(&made, &rng, 2 + turn % 3, 5);
        take(&once.before, expected);
        for_each_access(&nest, 0, 0, iteration, take, expected);
        once.nest = nest;
        assert_int_equal(psnap_pump(&once.base, tee, &count, &error), PSNAP_OK);
        compare(expected, got);
        assert_int_equal(psnap_nest_accesses(&nest), count - 1);
        once.nest = nest;
        while ((n = psnap_source_next(&once.base, block, 1 + turn % 50, &error)) > 0)
            assert_int_equal(psnap_sink_put(single, block, (size_t)n, &error), PSNAP_OK);
        assert_int_equal(n, 0);
        compare(expected, single);
        psnap_source_free(&once.base);
        psnap_sink_free(tee);
        psnap_sink_free(got);
        psnap_sink_free(single);
        psnap_sink_free(expected);
    }
}

/* The same loops elsewhere, and some longer. */
static void move(struct random_nest *made, struct psnap_rng *rng)
{
    for (uint32_t a = 0; a < made->width; a++)
        made->first[a].address += 8 * psnap_rng_below(rng, 30);
    for (uint32_t i = 0; i < made->loop_count; i++)
        made->made[i].count += (int64_t)psnap_rng_below(rng, 2);
}

TEST(two_iterations_make_a_nest)
{
    static struct psnap_nest_maker maker[2];
    static struct random_nest made[2];
    unsigned too_deep = 0;
    struct psnap_rng rng;

    psnap_rng_init(&rng, 2);
    made[0] = (struct random_nest){
        .refs = 12, .loops = 3, .areas = 3, .base = 0x100000, .is_uneven = true};
    for (unsigned turn = 0; turn < 400; turn++) {
        struct psnap_sink *expected = vector_sink_new(), *got = vector_sink_new();
        struct psnap_nest first = make_affine(&made[0], &rng, 2 + turn % 5, 4), second = first,
                          nest;
        uint64_t iteration[PSNAP_NEST_LEVELS];
        struct psnap_error error = {0};
        bool has_room;

        made[1] = made[0];
        move(&made[1], &rng);
        second.loops = made[1].made;
        second.first = made[1].first;
        psnap_nest_begin(&maker[0], 2);
        psnap_nest_begin(&maker[1], 2);
        assert_false(psnap_nest_made(&maker[0]).loop_count);
        has_room = psnap_nest_add(&maker[0], &first);
        assert_int_equal(psnap_nest_add(&maker[1], &second), has_room);
        assert_int_equal(psnap_nest_advance(&maker[0], &maker[1]), true);
        too_deep += !has_room;
        if (has_room) {
            nest = psnap_nest_made(&maker[0]);
            for_each_access(&first, 0, 0, iteration, take, expected);
            for_each_access(&second, 0, 0, iteration, take, expected);
            assert_int_equal(psnap_sink_put_nest(got, &nest, &error), PSNAP_OK);
            compare(expected, got);
        }
        psnap_sink_free(expected);
        psnap_sink_free(got);
    }
    assert_true(too_deep < 200);
}

/* What is refused: columns, more loops than there is room for, another shape. */
TEST(other_loops_make_none)
{
    static struct psnap_nest_maker maker[2];
    const struct psnap_access access = {.address = 8, .size = 8}, other = {.address = 8, .size = 4};
    const int64_t stride = 8;
    const struct psnap_column column = {0};
    struct psnap_run run = {.first = &access, .strides = &stride, .width = 1, .count = 3};

    for (unsigned i = 0; i < 2; i++) {
        psnap_nest_begin(&maker[i], 2);
        assert_true(psnap_nest_add_run(&maker[i], &run));
    }
    run.columns = &column;
    assert_false(psnap_nest_add_run(&maker[0], &run));
    run.columns = NULL;
    assert_true(psnap_nest_advance(&maker[0], &maker[1]));
    assert_true(psnap_nest_add_run(&maker[0], &run));
    assert_false(psnap_nest_advance(&maker[0], &maker[1]));
    run.first = &other;
    assert_true(psnap_nest_add_run(&maker[1], &run));
    assert_false(psnap_nest_advance(&maker[0], &maker[1]));
    while (maker[1].loop_count < PSNAP_NEST_LOOPS)
        assert_true(psnap_nest_add_run(&maker[1], &run));
    assert_false(psnap_nest_add_run(&maker[1], &run));
}

/* A sink that takes runs and nests, and counts what it is given. */
struct both {
    struct psnap_sink base;
    unsigned runs, nests, columns;
};

static enum psnap_status both_put_run(struct psnap_sink *self, const struct psnap_run *run,
                                      struct psnap_error *error)
{
    (void)error;
    ((struct both *)self)->runs++;
    ((struct both *)self)->columns += run->columns != NULL;
    return PSNAP_OK;
}

static enum psnap_status both_put_nest(struct psnap_sink *self, const struct psnap_nest *nest,
                                       struct psnap_error *error)
{
    (void)nest, (void)error;
    ((struct both *)self)->nests++;
    return PSNAP_OK;
}

TEST(nests_of_one_loop_are_runs)
{
    static const struct psnap_sink_ops ops = {.put_run = both_put_run, .put_nest = both_put_nest};
    static struct psnap_nest_maker maker;
    struct both both = {.base.ops = &ops};
    struct psnap_sink *sink = &both.base, *tee = psnap_tee_sink_new(&sink, 1);
    const struct psnap_access access = {.address = 8, .size = 8};
    const int64_t stride = 8;
    const struct psnap_column column = {0};
    struct psnap_run run = {.first = &access, .strides = &stride, .width = 1, .count = 3};
    struct psnap_nest nest;
    struct psnap_error error = {0};

    psnap_nest_begin(&maker, 5);
    assert_true(psnap_nest_add_run(&maker, &run));
    nest = psnap_nest_made(&maker);
    assert_int_equal(psnap_sink_put_nest(tee, &nest, &error), PSNAP_OK);
    run.columns = &column;
    assert_int_equal(psnap_sink_put_run(tee, &run, &error), PSNAP_OK);
    assert_int_equal(both.runs, 1);
    assert_int_equal(both.columns, 1);
    assert_int_equal(both.nests, 1);
    psnap_sink_free(tee);
}
