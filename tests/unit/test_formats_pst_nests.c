/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The native trace of loop nests whose counts and starts are affine in outer
 * counters, or the quotient or the remainder of such by a constant, which is
 * what vectorising and unrolling make of triangles: they come out as they went
 * in, and what they take hardly grows with their counts.
 */
#include "tests/unit/test_formats_support.h"
#include "tests/unit/test.h"

enum { REFS = 16, ROOM = 4096 };

/* What writes a nest's accesses, and keeps them, too, where they are to be compared. */
struct nest {
    struct psnap_program *program;
    struct psnap_sink *sink;
    FILE *file;
    char *data;
    size_t size;
    struct psnap_access block[ROOM], *kept;
    size_t count, kept_count, kept_room;
};

static void flush(struct nest *nest)
{
    struct psnap_error error;

    assert_int_equal(psnap_sink_put(nest->sink, nest->block, nest->count, &error), PSNAP_OK);
    if (nest->kept_room) {
        assert_true(nest->kept_count + nest->count <= nest->kept_room);
        memcpy(nest->kept + nest->kept_count, nest->block, nest->count * sizeof *nest->block);
        nest->kept_count += nest->count;
    }
    nest->count = 0;
}

static void put(struct nest *nest, uint32_t ref, uint64_t address)
{
    nest->block[nest->count++] = (struct psnap_access){address, ref, 8, 0, 0};
    if (nest->count == ROOM)
        flush(nest);
}

static void start(struct nest *nest, size_t kept_room)
{
    const struct psnap_ref ref = {0};
    struct psnap_error error;

    *nest = (struct nest){.program = psnap_program_new(), .kept_room = kept_room};
    nest->kept = malloc((kept_room + 1) * sizeof *nest->kept);
    assert_int_equal(psnap_program_add_anonymous(nest->program, "nest"), PSNAP_OK);
    while (nest->program->ref_count < REFS)
        psnap_program_add_ref(nest->program, &ref);
    nest->file = open_memstream(&nest->data, &nest->size);
    nest->sink = psnap_trace_writer_new("pst", nest->file, nest->program, &error);
    assert_non_null(nest->sink);
}

static void finish(struct nest *nest)
{
    struct psnap_error error;

    flush(nest);
    assert_int_equal(psnap_sink_finish(nest->sink, &error), PSNAP_OK);
    psnap_sink_free(nest->sink);
    fclose(nest->file);
}

static void release(struct nest *nest)
{
    psnap_program_free(nest->program);
    free(nest->kept);
    free(nest->data);
}

/* floor((a + b i) / p), at least 0. */
struct bound {
    int64_t a, b, p;
};

static uint64_t quotient(const struct bound *bound, uint64_t i)
{
    const int64_t n = bound->a + bound->b * (int64_t)i;

    return n > 0 ? (uint64_t)(n / bound->p) : 0;
}

static uint64_t rest(const struct bound *bound, uint64_t i)
{
    const int64_t n = bound->a + bound->b * (int64_t)i;

    return n > 0 ? (uint64_t)(n % bound->p) : 0;
}

/* The vector loop and the rest of a row that is `bound` long from `at` on, and a store behind. */
static void put_row(struct nest *nest, uint32_t ref, const struct bound *bound, uint64_t i,
                    uint64_t at, uint64_t other)
{
    const uint64_t wide = quotient(bound, i), narrow = rest(bound, i);

    for (uint64_t j = 0; j < wide; j++, at += 8 * (uint64_t)bound->p) {
        put(nest, ref, at);
        put(nest, ref + 1, other + at);
    }
    for (uint64_t j = 0; j < narrow; j++, at += 8)
        put(nest, ref + 2, at);
    put(nest, ref + 3, other + 8 * i);
}

static struct bound random_bound(struct psnap_rng *rng, int64_t outer)
{
    static const int64_t periods[] = {1, 2, 3, 4, 8, 16};

    return (struct bound){(int64_t)psnap_rng_below(rng, 60),
                          (int64_t)psnap_rng_below(rng, 7) - 3 + (outer > 100),
                          periods[psnap_rng_below(rng, 6)]};
}

/* Three deep, and again: rows whose length and start follow from both outer counters, some of them
 * interrupted by what does not follow from anything. */
static void put_random(struct nest *nest, struct psnap_rng *rng)
{
    const uint64_t again = 1 + psnap_rng_below(rng, 4), planes = 1 + psnap_rng_below(rng, 12);
    const struct bound rows = random_bound(rng, 0), row = random_bound(rng, 0),
                       shift = random_bound(rng, 0);
    const uint32_t ref = 4 * (uint32_t)psnap_rng_below(rng, REFS / 4);
    const bool is_disturbed = psnap_rng_below(rng, 4) == 0;

    for (uint64_t t = 0; t < again * planes; t++)
        for (uint64_t i = 0; i < quotient(&rows, t % planes) && nest->kept_count < 200000; i++) {
            put_row(nest, ref, &row, i + t % planes, 0x10000 * t + 8 * (rest(&shift, i) + 64 * i),
                    0x100000);
            if (is_disturbed && psnap_rng_below(rng, 20) == 0)
                put(nest, ref, 8 * psnap_rng_below(rng, 1000));
        }
}

/* The search for the largest of `n`: each one, and the largest so far. */
static void put_search(struct nest *nest, struct psnap_rng *rng, uint64_t n)
{
    uint64_t largest = 0;

    for (uint64_t i = 1; i < n; i++) {
        put(nest, 0, 0x5000000 + 4800 * i);
        put(nest, 1, 0x5000000 + 4800 * largest);
        if (psnap_rng_below(rng, i + 1) == 0)
            largest = i;
    }
}

/* What walks of random length at random places load is stored where it was loaded. */
static void put_walks(struct nest *nest, struct psnap_rng *rng, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t at = 8 * psnap_rng_below(rng, 100000), length = psnap_rng_below(rng, 20);

        for (uint64_t j = 0; j < length; j++) {
            put(nest, 2, at + 8 * j);
            put(nest, 3, at + 8 * j);
        }
    }
}

static void put_all(struct nest *nest, uint64_t seed, int nests)
{
    struct psnap_rng rng;

    psnap_rng_init(&rng, seed);
    for (int i = 0; i < nests; i++) {
        put_random(nest, &rng);
        put_search(nest, &rng, psnap_rng_below(&rng, 500));
        put_walks(nest, &rng, psnap_rng_below(&rng, 100));
    }
}

static void check_source(const struct nest *nest, struct psnap_source *source)
{
    struct psnap_error error;
    enum psnap_status status;
    struct psnap_access *back;
    size_t n;

    assert_non_null(source);
    back = read_all(source, &n, &status, &error);
    assert_int_equal(status, PSNAP_OK);
    assert_same_accesses(nest->kept, nest->kept_count, back, n);
    free(back);
    psnap_source_free(source);
}

TEST(test_random_nests)
{
    static struct nest nest;

    for (uint64_t seed = 0; seed < 60; seed++) {
        struct memory_input input;
        struct psnap_error error;

        start(&nest, 1000000);
        put_all(&nest, seed, 12);
        finish(&nest);
        check_source(&nest, open_memory(&input, nest.data, nest.size, 1 << 20, NULL, &error));
        release(&nest);
    }
}

/* Searches for a maximum take a byte for each new one: when it comes, and little else. */
TEST(test_searches)
{
    static struct nest nest;
    struct psnap_rng rng;

    psnap_rng_init(&rng, 1);
    start(&nest, 0);
    for (int i = 0; i < 400; i++)
        put_search(&nest, &rng, 500);
    finish(&nest);
    assert_true(nest.size < 4000);
    release(&nest);
}

static size_t finished_size(struct nest *nest)
{
    size_t size;

    finish(nest);
    size = nest->size;
    release(nest);
    return size;
}

/* Rows of n - i (falls) or i elements, by vectors of `wide`. */
static size_t triangle_size(uint64_t n, int64_t wide, bool falls)
{
    static struct nest nest;
    const struct bound row = {falls ? (int64_t)n : 0, falls ? -1 : 1, wide};

    start(&nest, 0);
    for (uint64_t i = 0; i < n; i++)
        put_row(&nest, 0, &row, i, 0x1000000 + 8 * i * (n + 1), 0x10000000);
    return finished_size(&nest);
}

/* For each of n planes the triangle of the rows up to there, as a Cholesky or LU factoring goes. */
static void put_pyramid(struct nest *nest, uint64_t n, int64_t wide)
{
    for (uint64_t k = 0; k < n; k++) {
        const struct bound row = {(int64_t)(n - k), 0, wide};

        for (uint64_t i = k; i < n; i++)
            put_row(nest, 0, &row, i, 0x1000000 + 8 * (i * n + k), 0x10000000);
    }
}

static size_t pyramid_size(uint64_t n, int64_t wide)
{
    static struct nest nest;

    start(&nest, 0);
    put_pyramid(&nest, n, wide);
    return finished_size(&nest);
}

/* The same after random addresses and turns of the references of its rows, a part of them twice. */
static size_t disturbed_pyramid_size(uint64_t n)
{
    static struct nest nest;

    start(&nest, 0);
    for (int part = 0; part < 3; part++) {
        struct psnap_rng rng;

        psnap_rng_init(&rng, (uint64_t)(part / 2)); /* the second is the first again */
        for (int i = 0; i < (part < 2 ? 2000 : 20000); i++)
            put(&nest, (uint32_t)psnap_rng_below(&rng, 4), 8 * psnap_rng_below(&rng, 1 << 20));
    }
    put_pyramid(&nest, n, 4);
    return finished_size(&nest);
}

TEST(test_size_does_not_grow)
{
    static const int64_t widths[] = {1, 2, 4, 8, 16};

    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++)
        for (int falls = 0; falls < 2; falls++) {
            const size_t small = triangle_size(1000, widths[i], falls),
                         large = triangle_size(2000, widths[i], falls);
            assert_true(small < 2000);
            assert_true(large < small + small / 20);
        }
    for (size_t i = 0; widths[i] < 8; i++) {
        const size_t small = pyramid_size(150, widths[i]), large = pyramid_size(300, widths[i]);

        assert_true(small < 1000);
        assert_true(large < small + small / 3);
    }
}

/* Where nothing folded for long, folding of what is folded is given up, until there is more to
 * fold: then all begins anew (and takes 2000 bytes less than if it had not been given up). */
TEST(test_after_disturbance)
{
    assert_true(disturbed_pyramid_size(150) < disturbed_pyramid_size(0) + 2000);
}
