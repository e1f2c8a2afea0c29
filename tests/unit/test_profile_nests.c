/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nests (profile/walks/nests.h): programs of random affine loops come back access for access,
 * however their stream was cut into blocks and runs; and a hand-worked one has the nest that it
 * was written as.
 */
#include "profile/walks/nest_stack.h"
#include "tests/unit/test_nests_support.h"

enum { LEVELS = 4, ITEMS = 3 };

/* ---- random programs ---- */

struct affine {
    int64_t first, steps[LEVELS];
};

/* A loop, or an innermost one with references. */
struct node {
    struct affine count;
    struct node *items[ITEMS];
    unsigned item_count;
    uint32_t loop, width;
    struct affine addresses[REFS]; /* of its own iterations in steps[LEVELS - 1] */
};

static struct affine random_affine(struct psnap_rng *rng, unsigned depth, uint64_t first,
                                   uint64_t step)
{
    struct affine made = {.first = (int64_t)psnap_rng_below(rng, first)};

    for (unsigned i = 0; i < depth; i++)
        if (psnap_rng_below(rng, 2))
            made.steps[i] = (int64_t)psnap_rng_below(rng, 2 * step + 1) - (int64_t)step;
    return made;
}

static struct node *random_node(struct psnap_rng *rng, unsigned depth, uint32_t *loop)
{
    struct node *node = calloc(1, sizeof *node);

    assert_non_null(node);
    node->count = random_affine(rng, depth, 9, 1);
    if (depth + 1 < LEVELS && psnap_rng_below(rng, 4)) {
        node->item_count = 1 + (unsigned)psnap_rng_below(rng, ITEMS);
        for (unsigned i = 0; i < node->item_count; i++)
            node->items[i] = random_node(rng, depth + 1, loop);
        return node;
    }
    node->loop = (*loop)++ % LOOPS;
    node->width = 1 + (uint32_t)psnap_rng_below(rng, REFS);
    for (uint32_t k = 0; k < node->width; k++) {
        node->addresses[k] = random_affine(rng, depth, 1 << 16, 4096);
        node->addresses[k].first += (int64_t)HEAP + (1 << 20);
        node->addresses[k].steps[LEVELS - 1] = (int64_t)psnap_rng_below(rng, 65) - 32;
    }
    return node;
}

static void free_node(struct node *node)
{
    for (unsigned i = 0; i < node->item_count; i++)
        free_node(node->items[i]);
    free(node);
}

static int64_t value_of(const struct affine *affine, const int64_t *at)
{
    int64_t value = affine->first;

    for (unsigned i = 0; i < LEVELS; i++)
        value += affine->steps[i] * at[i];
    return value;
}

static void run_node(const struct node *node, unsigned depth, int64_t *at, struct stream *stream)
{
    const int64_t count = value_of(&node->count, at);
    const unsigned own = node->width ? LEVELS - 1 : depth;

    for (at[own] = 0; at[own] < count && stream->count + REFS <= ACCESSES; at[own]++) {
        for (unsigned i = 0; i < node->item_count; i++)
            run_node(node->items[i], depth + 1, at, stream);
        for (uint32_t k = 0; k < node->width; k++)
            stream->accesses[stream->count++] =
                (struct psnap_access){.address = (uint64_t)value_of(&node->addresses[k], at),
                                      .ref = node->loop * REFS + k,
                                      .size = (uint8_t)(1 + k),
                                      .kind = (uint8_t)(k % 3)};
    }
    at[own] = 0;
}

/* Puts the stream with runs where there are some, beginning and ending anywhere. */
static void put_cut(struct psnap_sink *sink, const struct stream *stream, struct psnap_rng *rng)
{
    const struct psnap_access *at = stream->accesses, *end = at + stream->count;
    int64_t strides[REFS];

    while (at < end) {
        const size_t width = 1 + psnap_rng_below(rng, REFS);
        struct psnap_run run = {.first = at, .strides = strides, .width = width, .count = 1};
        const size_t left = (size_t)(end - at), n = 1 + psnap_rng_below(rng, 40);
        bool is_same = left >= 2 * width && psnap_rng_below(rng, 3) > 0;
        for (size_t k = 0; k < width && is_same; k++) {
            strides[k] = (int64_t)(at[width + k].address - at[k].address);
            is_same = at[k].ref / REFS == at->ref / REFS;
            for (size_t j = 0; j < k; j++)
                is_same = is_same && at[k].ref != at[j].ref;
        }
        while (is_same && left >= (run.count + 1) * width && psnap_rng_below(rng, 50)) {
            for (size_t k = 0; k < width; k++) {
                const struct psnap_access *next = at + run.count * width + k;
                is_same = is_same && next->ref == at[k].ref &&
                          next->address == at[k].address + run.count * (uint64_t)strides[k];
            }
            run.count += is_same;
        }
        if (run.count > 1) {
            assert_int_equal(psnap_sink_put_run(sink, &run, NULL), PSNAP_OK);
            at += run.count * width;
        } else {
            assert_int_equal(psnap_sink_put(sink, at, n < left ? n : left, NULL), PSNAP_OK);
            at += n < left ? n : left;
        }
    }
}

static struct psnap_profile *build_walks(struct psnap_program *program, const struct stream *stream,
                                         struct psnap_rng *rng)
{
    const struct psnap_builder_options options = {.walks = true};
    struct psnap_sink *builder = psnap_profile_builder_new(program, &options, NULL);

    assert_non_null(builder);
    put_cut(builder, stream, rng);
    return end_profile(builder);
}

static void test_random_programs(void **state)
{
    struct psnap_program *program = make_program(LOOPS, REFS);
    struct stream stream = new_stream();
    unsigned folded = 0, all = 0;
    struct psnap_rng rng;

    (void)state;
    psnap_rng_init(&rng, 42);
    for (unsigned round = 0; round < 300; round++) {
        struct psnap_profile *one, *other, *again;
        int64_t at[LEVELS] = {0};
        uint32_t loop = 0;
        char *text, *second;
        struct node *node = random_node(&rng, 0, &loop);
        stream.count = 0;
        run_node(node, 0, at, &stream);
        free_node(node);
        if (!stream.count)
            continue;
        one = build_walks(program, &stream, &rng);
        other = build_walks(program, &stream, &rng);
        text = write_text(one);
        second = write_text(other);
        assert_string_equal(text, second);
        free(second);
        all++;
        if (one->nests) {
            again = read_text(text);
            second = write_text(again);
            assert_string_equal(text, second);
            if (nests_have_models(one->nests))
                assert_resembles(again, &stream, 0);
            else
                assert_replays(again, &stream, round % 2);
            folded += one->nests->value_count * 4 < stream.count && !nests_have_models(one->nests);
            free(second);
            psnap_profile_free(again);
        }
        free(text);
        psnap_profile_free(one);
        psnap_profile_free(other);
    }
    assert_true(folded * 4 > all); /* those of a few accesses need not */
    free(stream.accesses);
    psnap_program_free(program);
}

/* ---- hand-worked ---- */

/* for i < n: a[i]; for j < i + 2: b[i][j] */
static void make_triangle(struct stream *stream, uint64_t n)
{
    stream->count = 0;
    for (uint64_t i = 0; i < n; i++) {
        add(stream, 0, HEAP + 8 * i);
        for (uint64_t j = 0; j < i + 2; j++)
            add(stream, REFS, HEAP + 4096 + 1024 * i + 8 * j);
    }
}

static void test_triangle(void **state)
{
    struct psnap_program *program = make_program(LOOPS, REFS);
    struct stream stream = new_stream();

    (void)state;
    for (uint64_t n = 20; n <= 200; n += 180) {
        struct psnap_profile *profile;
        const struct nest_pattern *loop;
        const uint64_t *values;
        make_triangle(&stream, n);
        profile = profile_of(program, &stream);
        assert_non_null(profile->nests);
        /* The size is that of the nest, not of the triangle. */
        assert_int_equal(profile->nests->count, 1);
        loop = profile->nests->terms[0].pattern;
        values = nests_values(profile->nests, 0);
        assert_int_equal(loop->body_count, 2);
        assert_int_equal(values[0], n);
        assert_int_equal(values[1], 1); /* a: once, at the start of the heap */
        assert_int_equal(values[2], HEAP);
        assert_int_equal(values[3], 2); /* b: twice, once more each time */
        assert_int_equal(loop->steps[0], 0);
        assert_int_equal(loop->steps[1], 8);
        assert_int_equal(loop->steps[2], 1);
        assert_int_equal(loop->steps[3], 1024);
        assert_replays(profile, &stream, true);
        psnap_profile_free(profile);
    }
    free(stream.accesses);
    psnap_program_free(program);
}

/* Cholesky's triangles in a triangle as a compiler unrolls them, by 2 and by 4. */
static void make_unrolled(struct stream *stream, uint64_t n)
{
    const uint64_t row = 1024;

    stream->count = 0;
    for (uint64_t i = 0; i < n; i++) {
        for (uint64_t j = 0; j < i; j++) {
            add(stream, 0, HEAP + row * i + 8 * j);
            for (uint64_t k = 0; k + 1 < j; k += 2)
                for (uint64_t u = 0; u < 2; u++) {
                    add(stream, (uint32_t)(REFS + 2 * u), HEAP + row * i + 8 * (k + u));
                    add(stream, (uint32_t)(REFS + 2 * u + 1), HEAP + row * j + 8 * (k + u));
                }
            if (j % 2)
                add(stream, 1, HEAP + row * j + 8 * (j - 1));
            add(stream, 2, HEAP + row * j + 8 * j);
        }
        for (uint64_t k = 0; k + 3 < i; k += 4)
            for (uint64_t u = 0; u < 4; u++)
                add(stream, (uint32_t)(2 * REFS + u), HEAP + row * i + 8 * (k + u));
        for (uint64_t k = i / 4 * 4; k < i; k++)
            add(stream, 3 * REFS, HEAP + row * i + 8 * k);
    }
}

/* What a nest begins and ends with is no reason to draw it, however many rows that takes. */
static void test_unrolled(void **state)
{
    struct psnap_program *program = make_program(LOOPS, REFS);
    struct stream stream = new_stream();

    (void)state;
    for (uint64_t n = 24; n <= 44; n += 5) {
        struct psnap_profile *profile;
        make_unrolled(&stream, n);
        profile = profile_of(program, &stream);
        assert_non_null(profile->nests);
        assert_false(nests_have_models(profile->nests));
        assert_replays(profile, &stream, true);
        psnap_profile_free(profile);
    }
    free(stream.accesses);
    psnap_program_free(program);
}

/* 100 terms of two values, then a loop of three: what leads into it is 12 values at most, if a
 * sixteenth of all is in it. */
static void test_loose(void **state)
{
    static const struct {
        uint64_t times, loose;
    } cases[] = {{3, 203}, {6, 203}, {7, 188}, {1000, 188}};
    static const uint64_t no_steps[3];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct psnap_nests *nests = nests_new();
        struct nest_shape *shape = calloc(1, nest_shape_bytes(1));
        const struct nest_pattern *leaf, *loop;
        uint64_t values[3] = {1, HEAP, 0};

        assert_non_null(nests);
        assert_non_null(shape);
        shape->width = 1;
        shape->refs[0].size = 8;
        leaf = nest_pattern_leaf(nests->patterns, nest_shape_of(nests->patterns, shape), no_steps);
        loop = nest_pattern_loop(nests->patterns, &leaf, 1, no_steps);
        for (unsigned k = 0; k < 100; k++)
            assert_true(nests_push(nests, leaf, values));
        assert_int_equal(nest_loose(nests), 200);
        values[0] = cases[i].times;
        assert_true(nests_push(nests, loop, values));
        assert_int_equal(nest_loose(nests), cases[i].loose);
        free(shape);
        nests_free(nests);
    }
}

/* ---- threads ---- */

enum { THREADS = 4, AREA = 1 << 24 };

/* Puts pieces of the streams in turn, of random lengths: each stream in its order. */
static struct psnap_profile *build_mixed(struct psnap_program *program,
                                         const struct stream *streams, struct psnap_rng *rng)
{
    const struct psnap_builder_options options = {.walks = true};
    struct psnap_sink *builder = psnap_profile_builder_new(program, &options, NULL);
    size_t done[THREADS] = {0}, all = 0, left;

    assert_non_null(builder);
    for (unsigned t = 0; t < THREADS; t++)
        all += streams[t].count;
    for (left = all; left;) {
        const uint64_t t = psnap_rng_below(rng, THREADS);
        const size_t most = streams[t].count - done[t], n = 1 + psnap_rng_below(rng, 300);
        const struct stream piece = {streams[t].accesses + done[t], n < most ? n : most};
        put_cut(builder, &piece, rng);
        done[t] += piece.count;
        left -= piece.count;
    }
    return end_profile(builder);
}

/* However threads were recorded in turn, the profile is the same and each stream comes back. */
static void test_threads(void **state)
{
    struct psnap_program *program = make_program(LOOPS, REFS);
    struct stream streams[THREADS], all = {calloc(THREADS * ACCESSES, sizeof *all.accesses), 0};
    struct psnap_rng rng;

    (void)state;
    psnap_rng_init(&rng, 11);
    for (unsigned t = 0; t < THREADS; t++)
        streams[t] = new_stream();
    for (unsigned round = 0; round < 60; round++) {
        struct psnap_profile *one, *other;
        char *text, *second;
        all.count = 0;
        for (unsigned t = 0; t < THREADS; t++) {
            int64_t at[LEVELS] = {0};
            uint32_t loop = 0;
            struct node *node = random_node(&rng, 0, &loop);
            streams[t].count = 0;
            run_node(node, 0, at, &streams[t]);
            free_node(node);
            for (size_t i = 0; i < streams[t].count; i++) {
                streams[t].accesses[i].thread = (uint16_t)(t + 1);
                all.accesses[all.count++] = streams[t].accesses[i];
            }
        }
        if (!all.count)
            continue;
        one = build_mixed(program, streams, &rng);
        other = build_mixed(program, streams, &rng);
        text = write_text(one);
        second = write_text(other);
        assert_string_equal(text, second);
        if (one->nests && !nests_have_models(one->nests))
            assert_replays(one, &all, round % 2);
        if (one->nests)
            assert_is_its_text(one);
        free(text), free(second);
        psnap_profile_free(one), psnap_profile_free(other);
    }
    for (unsigned t = 0; t < THREADS; t++)
        free(streams[t].accesses);
    free(all.accesses);
    psnap_program_free(program);
}

/* Rows of random lengths, that lie behind each other, and what they gather. */
static void make_rows(struct stream *stream, uint64_t area, uint64_t rows, struct psnap_rng *rng)
{
    uint64_t entry = 0;

    for (uint64_t i = 0; i < rows; i++) {
        add(stream, 0, area + 8 * i);
        for (uint64_t j = 0, n = 1 + psnap_rng_below(rng, 20); j < n; j++) {
            add(stream, REFS, area + (1 << 20) + 4 * entry++);
            add(stream, REFS + 1, area + (2 << 20) + 8 * psnap_rng_below(rng, 1 << 16));
        }
    }
}

/* Loops in no order. */
static void make_mix(struct stream *stream, uint64_t area, size_t count, struct psnap_rng *rng)
{
    while (stream->count < count)
        add(stream, REFS * (uint32_t)psnap_rng_below(rng, LOOPS),
            area + 8 * psnap_rng_below(rng, 1 << 16));
}

/* That each thread has as many accesses of each loop as before, in an area of its own. */
static void assert_apart(const struct psnap_profile *profile, const struct stream *streams)
{
    struct psnap_source *source = psnap_replay_new(profile, 1, NULL);
    uint64_t counts[THREADS][LOOPS] = {{0}};
    struct psnap_access block[64];
    ssize_t got;

    assert_non_null(source);
    for (unsigned t = 0; t < THREADS; t++)
        for (size_t i = 0; i < streams[t].count; i++)
            counts[t][streams[t].accesses[i].ref / REFS]++;
    while ((got = psnap_source_next(source, block, 64, NULL)) > 0)
        for (ssize_t i = 0; i < got; i++) {
            const uint32_t t = block[i].thread;
            assert_in_range(t, 0, THREADS - 1);
            assert_int_equal((block[i].address - HEAP) / AREA, t);
            counts[t][loop_of(source, &block[i])]--;
        }
    assert_int_equal(got, 0);
    for (unsigned t = 0; t < THREADS; t++)
        for (unsigned loop = 0; loop < LOOPS; loop++)
            assert_int_equal(counts[t][loop], 0);
    psnap_source_free(source);
}

/* What threads draw is of models of their own. */
static void test_drawing_threads(void **state)
{
    struct psnap_program *program = make_program(LOOPS, REFS);
    struct psnap_profile *profile;
    struct stream streams[THREADS];
    struct psnap_rng rng;

    (void)state;
    psnap_rng_init(&rng, 12);
    for (unsigned t = 0; t < THREADS; t++) {
        const uint64_t area = HEAP + (uint64_t)t * AREA;
        streams[t] = new_stream();
        if (t < 2)
            make_rows(&streams[t], area, 300 + 200 * t, &rng);
        else
            make_mix(&streams[t], area, 4000 * t, &rng);
        for (size_t i = 0; i < streams[t].count; i++)
            streams[t].accesses[i].thread = (uint16_t)t;
    }
    profile = build_mixed(program, streams, &rng);
    assert_non_null(profile->nests);
    assert_int_equal(profile->nests->models->count_count, 2);
    assert_int_equal(profile->nests->models->walk_count, 2);
    assert_int_equal(profile->nests->models->mix_count, 2);
    assert_apart(profile, streams);
    assert_is_its_text(profile);
    psnap_profile_free(profile);
    for (unsigned t = 0; t < THREADS; t++)
        free(streams[t].accesses);
    psnap_program_free(program);
}

/* Two loops in no order, whose iterations have some of their references, a third one whose rows are
 * as long as they are, and a fourth one behind each of these: most of it is drawn. */
static void make_irregular(struct stream *stream, size_t room, struct psnap_rng *rng)
{
    while (stream->count + 1000 < room) {
        const uint64_t tokens = psnap_rng_below(rng, 6), row = 1 + psnap_rng_below(rng, 30);
        for (uint64_t i = 0; i < tokens; i++) {
            const uint32_t loop = (uint32_t)psnap_rng_below(rng, 2);
            const uint64_t n = 1 + psnap_rng_below(rng, 8), refs = 1 + psnap_rng_below(rng, 7);
            for (uint32_t k = 0; k < n * 3; k++)
                if (refs >> k % 3 & 1)
                    add_to(stream, room, loop * REFS + k % 3,
                           HEAP + 8 * psnap_rng_below(rng, 1 << 16));
        }
        for (uint64_t i = 0; i < row; i++) {
            add_to(stream, room, 2 * REFS, HEAP + (1 << 24) + 8 * stream->count);
            add_to(stream, room, 2 * REFS + 1, HEAP + 8 * psnap_rng_below(rng, 1 << 16));
        }
        for (unsigned i = 0; i < 3; i++) /* another shape, with no visit before it */
            add_to(stream, room, 3 * REFS + 1, HEAP + (1 << 25) + 8 * stream->count);
    }
}

/* Most iterations of such a stream are taken from the blocks that they come in: as one by one. */
static void test_cut_draws(void **state)
{
    enum { ROOM = 2000000 };
    struct psnap_program *program = make_program(LOOPS, REFS);
    const struct psnap_builder_options options = {.walks = true};
    struct psnap_sink *single = psnap_profile_builder_new(program, &options, NULL);
    struct stream stream = {calloc(ROOM, sizeof *stream.accesses), 0};
    struct psnap_profile *one, *other;
    struct psnap_rng rng;
    char *text, *second;

    (void)state;
    psnap_rng_init(&rng, 31);
    make_irregular(&stream, ROOM, &rng);
    one = build_walks(program, &stream, &rng);
    for (size_t i = 0; i < stream.count; i++)
        assert_int_equal(psnap_sink_put(single, &stream.accesses[i], 1, NULL), PSNAP_OK);
    other = end_profile(single);
    assert_non_null(one->nests);
    assert_true(nests_have_models(one->nests));
    text = write_text(one);
    second = write_text(other);
    assert_string_equal(text, second);
    free(text);
    free(second);
    psnap_profile_free(one);
    psnap_profile_free(other);
    psnap_program_free(program);
    free(stream.accesses);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_programs), cmocka_unit_test(test_triangle),
        cmocka_unit_test(test_unrolled),        cmocka_unit_test(test_loose),
        cmocka_unit_test(test_threads),         cmocka_unit_test(test_drawing_threads),
        cmocka_unit_test(test_cut_draws),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
