/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reuse times are collected as soon as a reference turns out to be irregular, of all that came
 * before as well: the model is that of a lane that has collected them from the beginning on.
 * Streams of nests, some of which come again, and of accesses; in some of them a reference, trip
 * counts or the order become irregular, early, late or at the very end.
 */
#include "tests/unit/test_model_support.h"

#include "profile/collect/choose.h"
#include "profile/collect/lane.h"

enum { LOOPS = 4, REFS = 3, PARTS = 120, SINGLE = 40 };

/* Where a stream goes: a builder, and a lane that has reuse times. */
struct both {
    struct psnap_sink *builder; /* NULL: none */
    struct lane *lane;
};

static void put(const struct both *both, const struct psnap_access *block, size_t n)
{
    struct psnap_error error = {0};

    assert_true(!both->builder || psnap_sink_put(both->builder, block, n, &error) == PSNAP_OK);
    assert_true(lane_put(both->lane, block, n));
}

static void put_nest(const struct both *both, const struct psnap_nest *nest)
{
    struct psnap_error error = {0};

    assert_true(!both->builder || psnap_sink_put_nest(both->builder, nest, &error) == PSNAP_OK);
    assert_true(lane_put_nest(both->lane, nest));
}

/* Rows of a matrix, gone through by all references of a loop; its number says where and how. */
static void put_matrix(const struct both *both, uint32_t number)
{
    const uint32_t loop = number % (LOOPS - 1);
    const struct psnap_nest_loop loops[] = {
        {.count = 4 + number % 3, .inside = 1, .width = REFS},
        {.count = 30 + number % 7, .width = REFS, .count_steps = {number % 2}}};
    struct psnap_access first[REFS];
    int64_t strides[REFS * 2];

    for (uint32_t k = 0; k < REFS; k++) {
        first[k] = (struct psnap_access){.address = HEAP + 4096 * (number + k),
                                         .ref = loop * REFS + k,
                                         .size = 8,
                                         .kind = k % 2};
        strides[2 * k] = 512;
        strides[2 * k + 1] = 8 * k;
    }
    put_nest(both,
             &(struct psnap_nest){
                 .loops = loops, .first = first, .strides = strides, .loop_count = 2, .levels = 2});
}

/* Accesses of the last loop: in line, or anywhere in the matrices. */
static void put_single(const struct both *both, bool is_irregular, struct psnap_rng *rng)
{
    struct psnap_access block[SINGLE];

    for (int i = 0; i < SINGLE; i++)
        block[i] = (struct psnap_access){
            .address = HEAP + 8 * (is_irregular ? psnap_rng_below(rng, 4000) : (uint64_t)i),
            .ref = (LOOPS - 1) * REFS,
            .size = 8};
    put(both, block, SINGLE);
}

static void assert_same_reuse(const struct reuse *a, const struct reuse *b)
{
    assert_int_equal(a->object, b->object);
    assert_int_equal(a->bin_count, b->bin_count);
    assert_memory_equal(a->slots, b->slots, sizeof a->slots);
    assert_memory_equal(a->when, b->when, sizeof a->when);
    assert_int_equal(a->steps.count, b->steps.count);
    assert_int_equal(a->steps.elsewhere, b->steps.elsewhere);
    for (uint32_t i = 0; i < a->bin_count; i++) {
        assert_int_equal(a->bins[i].bin, b->bins[i].bin);
        assert_int_equal(a->bins[i].phase, b->bins[i].phase);
        assert_int_equal(a->bins[i].count, b->bins[i].count);
    }
}

/* Returns how many references are drawn. */
static unsigned assert_same_model(const struct psnap_stream_model *a,
                                  const struct psnap_stream_model *b)
{
    unsigned drawn = 0;

    assert_int_equal(a->ref_count, b->ref_count);
    assert_int_equal(a->object_count, b->object_count);
    for (uint32_t i = 0; i < a->ref_count; i++) {
        const struct model_ref *p = &a->refs[i], *q = &b->refs[i];
        assert_int_equal(p->rule, q->rule);
        assert_int_equal(p->executions, q->executions);
        assert_int_equal(p->base_count, q->base_count);
        assert_int_equal(p->offset_count, q->offset_count);
        for (uint32_t k = 0; k < p->base_count; k++)
            assert_int_equal(p->bases[k], q->bases[k]);
        for (uint32_t k = 0; k < p->offset_count; k++) {
            assert_int_equal(p->offsets[k].bytes, q->offsets[k].bytes);
            assert_int_equal(p->offsets[k].count, q->offsets[k].count);
        }
        assert_int_equal(p->addresses.value_count, q->addresses.value_count);
        assert_int_equal(p->reuse_count, q->reuse_count);
        assert_int_equal(p->phases, q->phases);
        for (uint32_t k = 0; k < p->reuse_count; k++)
            assert_same_reuse(&p->reuses[k], &q->reuses[k]);
        drawn += p->reuse_count > 0;
    }
    return drawn;
}

TEST(models_are_those_of_eager_lanes)
{
    unsigned drawn = 0, plain = 0;

    for (uint64_t seed = 0; seed < 60; seed++) {
        struct psnap_program *program = make_program(LOOPS, REFS);
        struct both both = {model_builder_new(program), lane_new(program, true)};
        const unsigned from = seed % 3 ? (unsigned)(seed * 37 % (PARTS + 1)) : PARTS;
        struct psnap_stream_model *a, *b = model_new();
        struct psnap_rng rng;
        unsigned references;

        psnap_rng_init(&rng, seed);
        for (unsigned i = 0; i < PARTS; i++) {
            put_matrix(&both, (uint32_t)psnap_rng_below(&rng, 9));
            put_single(&both, i >= from, &rng);
        }
        a = end_model(both.builder);
        assert_true(lane_end(both.lane) && lane_take(both.lane, 0, b) && model_choose(b, NULL));
        references = assert_same_model(a, b);
        drawn += references > 0;
        plain += references == 0;
        model_free(a);
        model_free(b);
        lane_free(both.lane);
        psnap_program_free(program);
    }
    print_message("%u models with irregular references, %u without\n", drawn, plain);
    assert_true(drawn > 10 && plain > 5);
}

/* A run of a loop's references over the same addresses, of so many iterations. */
static void put_row(const struct both *both, uint32_t loop, int64_t count)
{
    const struct psnap_nest_loop of_run = {.count = count, .width = REFS};
    struct psnap_access first[REFS];
    int64_t strides[REFS];

    for (uint32_t k = 0; k < REFS; k++) {
        first[k] =
            (struct psnap_access){.address = HEAP + 64 * k, .ref = loop * REFS + k, .size = 8};
        strides[k] = 0;
    }
    put_nest(
        both,
        &(struct psnap_nest){
            .loops = &of_run, .first = first, .strides = strides, .loop_count = 1, .levels = 1});
}

/* References stay nests, and are not drawn; their loops' trip counts or order are irregular from
 * the beginning on or later, and in the end so is a reference, or not. */
TEST(what_is_no_nest_may_be_kept_no_longer)
{
    for (unsigned i = 0; i < 8; i++) {
        const bool has_trips = i & 1, is_late = i & 2, is_irregular = i & 4;
        struct psnap_program *program = make_program(LOOPS, REFS);
        struct both both = {model_builder_new(program), lane_new(program, true)};
        struct psnap_stream_model *a, *b = model_new();
        struct psnap_rng rng;
        uint32_t loop = 0;

        psnap_rng_init(&rng, i);
        for (uint32_t k = 0; k < 12000; k++) {
            const bool is_random = !is_late || k > 4000;
            const int64_t random = (int64_t)psnap_rng_below(&rng, UINT64_C(1) << 32);
            loop = (loop + 1 + (is_random && !has_trips ? (uint32_t)random % 2 : 0)) % 3;
            put_row(&both, loop, is_random && has_trips ? 8 + random % 50 : 20);
        }
        for (int k = 0; k < 20; k++)
            put_single(&both, is_irregular, &rng);
        a = end_model(both.builder);
        assert_true(lane_end(both.lane) && lane_take(both.lane, 0, b) && model_choose(b, NULL));
        assert_int_equal(assert_same_model(a, b), is_irregular);
        assert_int_equal(a->body_count, b->body_count);
        assert_int_equal(a->chain_count, b->chain_count);
        for (uint32_t k = 0; k < a->body_count; k++) {
            assert_int_equal(a->bodies[k].iterations, b->bodies[k].iterations);
            assert_int_equal(a->bodies[k].is_drawn, b->bodies[k].is_drawn);
        }
        assert_int_equal(has_trips, a->bodies[0].is_drawn);
        assert_int_equal(!has_trips, a->chain_count > 0);
        model_free(a);
        model_free(b);
        lane_free(both.lane);
        psnap_program_free(program);
    }
}

/* The last loop accesses records, in line or at random, by two references; the first access of a
 * record may be where reference 2 of another loop was just before. */
static void put_records(const struct both *both, uint64_t seed, struct psnap_rng *rng)
{
    const uint64_t count = 1 + psnap_rng_below(rng, 3), at = psnap_rng_below(rng, 300);

    for (uint64_t i = 0; i < count; i++) {
        const uint64_t record = HEAP + 96 * (seed % 3 ? at + i : psnap_rng_below(rng, 4000));
        const struct psnap_access block[] = {
            {.address = record, .ref = seed % 5 ? (LOOPS - 1) * REFS : 2, .size = 8},
            {.address = record + (seed % 2 ? 8 : 200), .ref = (LOOPS - 1) * REFS + 1, .size = 8},
            {.address = record + 16, .ref = (LOOPS - 1) * REFS + 2, .size = 8, .kind = 1}};
        put(both, block, 3);
    }
}

/* Rows that lengthen: in what they access there are more lines than a sample has. */
static void put_rows(const struct both *both, uint32_t number, uint64_t seed)
{
    const uint32_t loop = number % (LOOPS - 1);
    const struct psnap_nest_loop loops[] = {
        {.count = 40, .inside = 1, .width = REFS},
        {.count = 20 + 10 * (int64_t)(seed % 4), .width = REFS}};
    struct psnap_access first[REFS];
    int64_t strides[REFS * 2];

    for (uint32_t k = 0; k < REFS; k++) {
        first[k] = (struct psnap_access){.address = HEAP + (UINT64_C(1) << 18) * k + 4096 * loop,
                                         .ref = loop * REFS + k,
                                         .size = 8,
                                         .kind = k % 2};
        strides[2 * k] = 6400;
        strides[2 * k + 1] = seed % 4 < 2 ? 8 : 80;
    }
    put_nest(both,
             &(struct psnap_nest){
                 .loops = loops, .first = first, .strides = strides, .loop_count = 2, .levels = 2});
}

/* References have too few accesses for the values that they have. All else is nests, of which some
 * are as irregular for a time, and bases of the others. */
TEST(rare_references_are_looked_at_in_the_end)
{
    unsigned late = 0, dependent = 0, thinned = 0;

    for (uint64_t seed = 0; seed < 90; seed++) {
        struct psnap_program *program = make_program(LOOPS, REFS);
        struct lane *eager = lane_new(program, true), *lane = lane_new(program, false);
        const struct both goes[] = {{NULL, eager}, {NULL, lane}};
        struct psnap_stream_model *a = model_new(), *b = model_new();
        struct psnap_rng rng;

        for (int i = 0; i < 2; i++) {
            psnap_rng_init(&rng, seed);
            for (uint32_t part = 0; part < 60 + seed; part++) {
                put_rows(&goes[i], part, seed);
                if (psnap_rng_below(&rng, 3) == 0 || part < 12)
                    put_records(&goes[i], seed, &rng);
            }
            assert_true(lane_end(goes[i].lane));
        }
        if (lane->wants_times) {
            assert_true(lane_collect_times(lane));
            assert_int_equal(lane->now, eager->now);
        }
        if (lane->wants_times && !lane_wants_reuse(lane)) { /* their bases are rare, too */
            assert_true(lane_take(eager, 0, a) && lane_take(lane, 0, b));
            late += assert_same_model(a, b) > 0;
            for (uint32_t i = 0; i < b->ref_count; i++)
                dependent += b->refs[i].rule == MODEL_DEPENDENT;
            thinned += lane->sample.weight > 1;
        }
        model_free(a);
        model_free(b);
        lane_free(eager);
        lane_free(lane);
        psnap_program_free(program);
    }
    print_message("%u with reuse times in the end, %u dependent references, %u thinned samples\n",
                  late, dependent, thinned);
    assert_true(late > 30 && dependent > 20 && thinned > 5);
}
