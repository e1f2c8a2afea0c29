/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loops of the source that the compiler made several loops of: a vector body, perhaps a narrower
 * one, and a remainder. Iterations expand into those of the parts as a compiler's loops count them;
 * triangles of any width come back access for access, rows of random lengths with all that the
 * parts sweep together; neither depends on how the stream was cut into blocks and runs.
 */
#include "tests/unit/test_model_support.h"

#include "profile/order/expand.h"

enum { OUTER, VECTOR, NARROW, REST, LOOPS, REFS = 8 };

static struct stream recorded, replayed, again;

/* ---- expanding ---- */

/* As the loops of a compiler do it. */
static void count_naively(const struct expand_part *parts, uint64_t n, uint64_t counts[3])
{
    for (int i = 0; i < 3; i++) {
        counts[i] = 0;
        if (n >= parts[i].from)
            for (; n >= parts[i].width + parts[i].leaves; n -= parts[i].width)
                counts[i]++;
    }
}

TEST(hand_worked)
{
    const struct expand_part parts[2] = {{0, 4, 4, 0}, {1, 1, 1, 0}};
    const struct expand_part late[2] = {{0, 1, 1, 0}, {1, 4, 9, 1}};
    uint64_t counts[EXPAND_PARTS], sums[EXPAND_PARTS] = {0}, steps = 100;

    expand_counts(parts, 2, 7, counts);
    assert_int_equal(counts[0], 1);
    assert_int_equal(counts[1], 3);
    expand_counts(late, 2, 8, counts); /* too few, although two would fit */
    assert_int_equal(counts[0], 8);
    assert_int_equal(counts[1], 0);
    expand_counts(late, 2, 12, counts); /* one is left over at least */
    assert_int_equal(counts[0], 4);
    assert_int_equal(counts[1], 2);
    assert_true(expand_sums(parts, 2, 9, (uint64_t)-1, 10, &steps, sums)); /* 9, 8, ... 0 */
    assert_int_equal(sums[0], 2 + 2 + 1 + 1 + 1 + 1);
    assert_int_equal(sums[1], 1 + 0 + 3 + 2 + 1 + 0 + 3 + 2 + 1 + 0);
}

TEST(expanding_is_counting)
{
    for (uint64_t seed = 0; seed < 3000; seed++) {
        struct expand_part parts[3] = {{0}, {.body = 1}, {2, 1, 1, 0}};
        struct psnap_rng rng;
        uint64_t first, stride, runs, steps = 100000, sums[EXPAND_PARTS] = {0}, all[3] = {0};
        psnap_rng_init(&rng, seed);
        parts[1].width = 2 + psnap_rng_below(&rng, 4);
        parts[0].width = parts[1].width * (2 + psnap_rng_below(&rng, 5));
        for (int i = 0; i < 2; i++) {
            parts[i].leaves = psnap_rng_below(&rng, 3);
            parts[i].from = parts[i].width + parts[i].leaves + psnap_rng_below(&rng, 20);
        }
        first = psnap_rng_below(&rng, 100);
        stride = psnap_rng_below(&rng, 8);
        runs = 1 + psnap_rng_below(&rng, 200);
        if (psnap_rng_below(&rng, 2)) { /* falling */
            first += stride * runs;
            stride = 0 - stride;
        }
        for (uint64_t i = 0; i < runs; i++) {
            uint64_t counts[EXPAND_PARTS], naive[3];
            expand_counts(parts, 3, first + i * stride, counts);
            count_naively(parts, first + i * stride, naive);
            for (int k = 0; k < 3; k++) {
                assert_int_equal(counts[k], naive[k]);
                all[k] += naive[k];
            }
        }
        assert_true(expand_sums(parts, 3, first, stride, runs, &steps, sums));
        for (int k = 0; k < 3; k++)
            assert_int_equal(sums[k], all[k]);
    }
}

/* ---- programs ---- */

struct shape {
    struct expand_part parts[3]; /* vector body, narrower one, remainder */
    uint32_t copies[3];          /* of each reference in the part: unrolled */
    bool has_narrow;
    uint64_t rows, base;
    int64_t step; /* of the rows' lengths; 0: they are random */
    bool is_packed;
};

static void random_shape(struct shape *shape, bool is_triangle, struct psnap_rng *rng)
{
    const uint64_t lanes = UINT64_C(2) << psnap_rng_below(rng, 2);

    *shape = (struct shape){.copies = {1 + (uint32_t)psnap_rng_below(rng, 2), 1, 1},
                            .has_narrow = psnap_rng_below(rng, 2),
                            .rows = 5 + psnap_rng_below(rng, 60),
                            .base = HEAP + 8 * psnap_rng_below(rng, 1000),
                            .step = is_triangle ? (psnap_rng_below(rng, 2) ? 1 : -1) : 0,
                            .is_packed = !is_triangle};
    shape->parts[0].width = lanes * shape->copies[0] * 2;
    shape->parts[1].width = lanes;
    shape->parts[2] = (struct expand_part){.width = 1, .from = 1};
    for (int i = 0; i < 2; i++) {
        shape->parts[i].leaves = psnap_rng_below(rng, 4) ? 0 : 1;
        shape->parts[i].from = shape->parts[i].width + shape->parts[i].leaves +
                               (psnap_rng_below(rng, 3) ? 0 : shape->parts[i].width);
    }
    if (!shape->has_narrow)
        shape->parts[1].from = UINT64_MAX;
}

static struct psnap_program *make_parts(void)
{
    static const char *const ids[LOOPS] = {"f:1", "f:2.vector", "f:2.narrow", "f:2.rest"};
    struct psnap_program *program = psnap_program_new();

    assert_non_null(program);
    for (uint32_t l = 0; l < LOOPS; l++) {
        psnap_program_add_loop(program, &(struct psnap_loop){.id = ids[l],
                                                             .src_id = l ? "f:2" : ids[0],
                                                             .function = "f",
                                                             .file = "f.c",
                                                             .depth = l ? 2 : 1,
                                                             .parent = l ? 0 : PSNAP_NONE,
                                                             .header = PSNAP_NONE,
                                                             .entry = PSNAP_NONE});
        psnap_program_add_block(program, &(struct psnap_block){.loop = l});
        for (uint32_t i = 0; i < REFS; i++)
            psnap_program_add_ref(program, &(struct psnap_ref){.block = l, .loop = l});
    }
    return program;
}

/* Accesses go to a stream, one by one, and to a sink, as runs of a random length. */
struct putting {
    struct stream *stream;
    struct psnap_sink *sink;
    struct psnap_rng *rng;
};

static void put(struct putting *p, const struct psnap_access *first, const int64_t *strides,
                size_t width, uint64_t count)
{
    for (uint64_t done = 0, part; done < count; done += part) {
        struct psnap_access cut[REFS];
        struct psnap_run run = {.first = cut, .strides = strides, .width = width};
        part = 1 + psnap_rng_below(p->rng, count - done);
        for (size_t k = 0; k < width; k++) {
            cut[k] = first[k];
            cut[k].address += done * (uint64_t)strides[k];
        }
        run.count = part;
        assert_int_equal(psnap_sink_put_run(p->sink, &run, NULL), PSNAP_OK);
        for (uint64_t i = 0; i < part; i++)
            for (size_t k = 0; k < width; k++) {
                struct psnap_access access = cut[k];
                access.address += i * (uint64_t)strides[k];
                add_access(p->stream, access);
            }
    }
}

/* So many iterations of a part, from element `at` on: it loads a[] and b[], and stores a[]. */
static void run_part(struct putting *p, const struct shape *shape, uint32_t part, uint64_t a,
                     uint64_t b, uint64_t iterations)
{
    const uint32_t copies = shape->copies[part];
    const uint64_t width = shape->parts[part].width;
    struct psnap_access first[REFS];
    int64_t strides[REFS];
    size_t n = 0;

    for (uint32_t k = 0; k < 3; k++)
        for (uint32_t c = 0; c < copies; c++, n++) {
            const uint64_t element = k == 1 ? 4 : 8, each = width / copies * element;
            first[n] = (struct psnap_access){.address = (k == 1 ? b : a) + c * each,
                                             .ref = (VECTOR + part) * REFS + (uint32_t)n,
                                             .size = (uint8_t)each,
                                             .kind = k == 2};
            strides[n] = (int64_t)(width * element);
        }
    if (iterations)
        put(p, first, strides, n, iterations);
}

static void make_rows(struct putting *p, const struct shape *shape)
{
    uint64_t a = shape->base, b = HEAP + (1 << 24), packed = 0;

    for (uint64_t row = 0; row < shape->rows; row++) {
        const struct psnap_access outer = {
            .address = HEAP + (1 << 26) + 8 * row, .ref = OUTER * REFS, .size = 8};
        const int64_t stride = 8;
        uint64_t n = shape->step > 0   ? row
                     : shape->step < 0 ? shape->rows - 1 - row
                                       : psnap_rng_below(p->rng, 70);
        uint64_t at = shape->is_packed ? packed : row * shape->rows, counts[3];
        packed += n;
        put(p, &outer, &stride, 1, 1);
        count_naively(shape->parts, n, counts);
        for (uint32_t part = 0; part < 3; part++) {
            run_part(p, shape, part, a + 8 * at, b + 4 * at, counts[part]);
            at += counts[part] * shape->parts[part].width;
        }
    }
}

/* Bytes of the loads of a[] in their order: whatever the trip counts, they are swept. */
static void assert_sweep(const struct shape *shape, const struct stream *stream, uint64_t seed)
{
    uint64_t next = shape->base;

    for (size_t i = 0; i < stream->count; i++) {
        const struct psnap_access *access = &stream->of[i];
        const uint64_t copies = access->ref / REFS ? shape->copies[access->ref / REFS - VECTOR] : 0;
        if (access->ref % REFS >= copies)
            continue;
        if (access->address == shape->base)
            next = shape->base; /* all rows once more */
        if (access->address != next)
            fail_msg("seed %u: %u is elsewhere", (unsigned)seed, (unsigned)access->ref);
        next += access->size;
    }
}

static void programs(bool is_triangle)
{
    static const struct psnap_builder_options options = {.nests = true};
    unsigned counted = 0, shared = 0;

    for (uint64_t seed = 0; seed < 150; seed++) {
        struct psnap_program *program = make_parts();
        struct psnap_sink *sink = model_builder_new(program);
        struct psnap_stream_model *model;
        struct psnap_profile *profile, *read;
        struct psnap_rng rng;
        struct putting p = {&recorded, sink, &rng};
        struct shape shape;
        char *text;
        psnap_rng_init(&rng, seed);
        random_shape(&shape, is_triangle, &rng);
        recorded.count = 0;
        for (uint64_t time = 1 + psnap_rng_below(&rng, 3); time; time--)
            make_rows(&p, &shape);
        model = end_model(sink);
        read_all(model_source_new(model, NULL, NULL, seed), &replayed, STREAM_MAX, NULL);
        model_free(model);
        profile = build(program, recorded.of, recorded.count, &options);
        text = write_text(profile);
        counted += strstr(text, "of: [{body: ") != NULL;
        shared += strstr(text, "sweep: ") != NULL;
        read = read_text(text);
        read_all(psnap_replay_new(read, seed, NULL), &again, STREAM_MAX, NULL);
        assert_int_equal(again.count, recorded.count);
        if (is_triangle) {
            assert_same_stream(&recorded, &replayed, seed);
            for (size_t i = 0; i < again.count; i++)
                assert_int_equal(again.of[i].address, recorded.of[i].address);
        }
        assert_int_equal(replayed.count, recorded.count);
        for (size_t i = 0; i < again.count; i++)
            assert_int_equal(again.of[i].address, replayed.of[i].address);
        if (!is_triangle && recorded.count > 4000)
            assert_sweep(&shape, &replayed, seed);
        free(text);
        psnap_profile_free(read);
        psnap_profile_free(profile);
        psnap_program_free(program);
    }
    assert_in_range(counted, 100, 150);
    assert_in_range(shared, is_triangle ? 50 : 140, 150);
}

TEST(triangles_come_back)
{
    programs(true);
}

TEST(rows_are_swept)
{
    programs(false);
}
