/* SPDX-License-Identifier: BSD-3-Clause */
/* Sources, sinks and the pump between them, with sources and sinks that fail. */
#include "formats/base/rng.h"
#include "formats/base/stream.h"
#include "tests/unit/vectors.h"
#include "tests/unit/test.h"

static struct psnap_access *make_accesses(size_t n)
{
    struct psnap_access *accesses = calloc(n ? n : 1, sizeof *accesses);
    struct psnap_rng rng;

    psnap_rng_init(&rng, n);
    for (size_t i = 0; i < n; i++)
        accesses[i] = (struct psnap_access){psnap_rng_next(&rng), (uint32_t)i, 8, PSNAP_LOAD, 0};
    return accesses;
}

TEST(pump_moves_everything)
{
    static const size_t sizes[] = {0, 1, 4095, 4096, 4097, 50000};

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const size_t n = sizes[i];
        struct psnap_access *accesses = make_accesses(n);
        struct psnap_source *source = vector_source_new(accesses, n, NULL);
        struct psnap_sink *sink = vector_sink_new();
        const struct psnap_access *data;
        uint64_t moved;
        size_t taken;
        assert_non_null(source->program);
        assert_int_equal(psnap_pump(source, sink, &moved, NULL), PSNAP_OK);
        data = vector_sink_data(sink, &taken);
        assert_int_equal(moved, n);
        assert_int_equal(taken, n);
        if (n)
            assert_memory_equal(data, accesses, n * sizeof *data);
        psnap_source_free(source);
        psnap_sink_free(sink);
        free(accesses);
    }
}

TEST(limit_cuts_a_window)
{
    enum { N = 10000 };
    struct psnap_access *accesses = make_accesses(N);
    struct psnap_rng rng;

    psnap_rng_init(&rng, 5);
    for (int i = 0; i < 200; i++) {
        const uint64_t skip = psnap_rng_below(&rng, N + 1000);
        const uint64_t count = i % 3 ? psnap_rng_below(&rng, N) : i % 2 ? UINT64_MAX : 0;
        const uint64_t there = skip < N ? N - skip : 0;
        const uint64_t expected = count < there ? count : there;
        struct psnap_source *source =
            psnap_limit_source_new(vector_source_new(accesses, N, NULL), skip, count);
        struct psnap_access block[777];
        uint64_t got = 0;
        for (;;) {
            const size_t capacity = 1 + psnap_rng_below(&rng, 777);
            const ssize_t n = psnap_source_next(source, block, capacity, NULL);
            assert_true(n >= 0 && (size_t)n <= capacity);
            if (n == 0)
                break;
            assert_memory_equal(block, accesses + skip + got, (size_t)n * sizeof *block);
            got += (uint64_t)n;
        }
        assert_int_equal(got, expected);
        psnap_source_free(source);
    }
    free(accesses);
}

/* A source that delivers two blocks, then fails. */
struct failing_source {
    struct psnap_source base;
    int calls;
};

static ssize_t failing_next(struct psnap_source *self, struct psnap_access *block, size_t capacity,
                            struct psnap_error *error)
{
    (void)capacity;
    if (((struct failing_source *)self)->calls++ == 2)
        return psnap_error_set(error, PSNAP_ERROR_CORRUPT, "bad block");
    memset(block, 0, 3 * sizeof *block);
    return 3;
}

/* A sink that counts its calls and fails at the n-th put, or at finish. */
struct counting_sink {
    struct psnap_sink base;
    int puts, finishes, fail_at_put;
    enum psnap_status finish_status;
};

static enum psnap_status counting_put(struct psnap_sink *self, const struct psnap_access *block,
                                      size_t n, struct psnap_error *error)
{
    struct counting_sink *sink = (struct counting_sink *)self;

    (void)block, (void)n;
    if (++sink->puts == sink->fail_at_put)
        return psnap_error_set(error, PSNAP_ERROR_IO, "disk full");
    return PSNAP_OK;
}

static enum psnap_status counting_finish(struct psnap_sink *self, struct psnap_error *error)
{
    struct counting_sink *sink = (struct counting_sink *)self;

    sink->finishes++;
    if (sink->finish_status)
        psnap_error_set(error, sink->finish_status, "cannot finish");
    return sink->finish_status;
}

static void no_free(struct psnap_sink *self)
{
    (void)self;
}

static const struct psnap_sink_ops counting_ops = {counting_put, counting_finish, no_free};

TEST(pump_passes_errors_on)
{
    static const struct psnap_source_ops failing_ops = {failing_next, NULL};
    struct failing_source source = {{&failing_ops, NULL}, 0};
    struct counting_sink sink = {.base = {&counting_ops}};
    struct psnap_error error;
    uint64_t moved;

    assert_int_equal(psnap_pump(&source.base, &sink.base, &moved, &error), PSNAP_ERROR_CORRUPT);
    assert_string_equal(error.message, "bad block");
    assert_int_equal(moved, 6);
    assert_int_equal(sink.finishes, 0); /* no trailer after a stream that broke off */

    source.calls = 0;
    sink = (struct counting_sink){.base = {&counting_ops}, .fail_at_put = 2};
    assert_int_equal(psnap_pump(&source.base, &sink.base, &moved, &error), PSNAP_ERROR_IO);
    assert_int_equal(moved, 3);
    assert_int_equal(sink.finishes, 0);
}

TEST(tee_feeds_all_until_one_fails)
{
    struct counting_sink a = {.base = {&counting_ops}};
    struct counting_sink b = {.base = {&counting_ops}, .fail_at_put = 2};
    struct counting_sink c = {.base = {&counting_ops}};
    struct psnap_sink *sinks[] = {&a.base, &b.base, &c.base};
    struct psnap_sink *tee = psnap_tee_sink_new(sinks, 3);
    const struct psnap_access access = {0};
    struct psnap_error error;

    sinks[0] = NULL; /* the array was copied */
    assert_int_equal(psnap_sink_put(tee, &access, 1, &error), PSNAP_OK);
    assert_int_equal(c.puts, 1);
    assert_int_equal(psnap_sink_put(tee, &access, 1, &error), PSNAP_ERROR_IO);
    assert_int_equal(a.puts, 2);
    assert_int_equal(c.puts, 1);
    b.finish_status = PSNAP_ERROR_MEMORY;
    assert_int_equal(psnap_sink_finish(tee, &error), PSNAP_ERROR_MEMORY);
    assert_int_equal(a.finishes, 1);
    assert_int_equal(c.finishes, 0);
    psnap_sink_free(tee);

    tee = psnap_tee_sink_new(NULL, 0);
    assert_int_equal(psnap_sink_put(tee, &access, 1, &error), PSNAP_OK);
    psnap_sink_free(tee);
    psnap_sink_free(NULL);
}

/* A source that delivers a few accesses, then a run, again and again. */
struct run_source {
    struct psnap_source base;
    struct psnap_rng rng;
    int calls;
    struct psnap_access first[5];
    int64_t strides[5];
    uint64_t words[400];
    struct psnap_column columns[5];
    struct psnap_nest_loop loop;
    struct psnap_sink *expected; /* takes what has been delivered, one by one */
};

static ssize_t run_next(struct psnap_source *self, struct psnap_access *block, size_t capacity,
                        const struct psnap_access **at, struct psnap_nest *nest,
                        struct psnap_error *error)
{
    struct run_source *source = (struct run_source *)self;
    struct psnap_rng *rng = &source->rng;
    const size_t n = psnap_rng_below(rng, capacity < 3 ? capacity : 3);
    struct psnap_run run;

    (void)at;
    if (source->calls-- == 0)
        return 0;
    for (size_t i = 0; i < n; i++)
        block[i] = (struct psnap_access){psnap_rng_next(rng), (uint32_t)i, 4, PSNAP_STORE, 0};
    psnap_sink_put(source->expected, block, n, error);
    for (size_t i = 0; i < 400; i++)
        source->words[i] = psnap_rng_next(rng);
    run =
        (struct psnap_run){.first = source->first,
                           .strides = source->strides,
                           .columns = psnap_rng_below(rng, 2) ? source->columns : NULL,
                           .width = 1 + psnap_rng_below(rng, 5),
                           .count = n ? psnap_rng_below(rng, 400) : 1 + psnap_rng_below(rng, 400)};
    if (run.count)
        *nest = psnap_nest_of_run(&source->loop, &run);
    for (size_t k = 0; k < run.width; k++) {
        source->first[k] =
            (struct psnap_access){psnap_rng_next(rng), (uint32_t)k, 8, PSNAP_LOAD, 0};
        source->strides[k] = (int64_t)psnap_rng_next(rng) >> psnap_rng_below(rng, 64);
        source->columns[k] = (struct psnap_column){psnap_rng_below(rng, 2) ? source->words : NULL,
                                                   1, psnap_rng_next(rng)};
    }
    for (uint64_t i = 0; i < run.count; i++)
        for (size_t k = 0; k < run.width; k++) {
            struct psnap_access access = source->first[k];
            if (run.columns && source->columns[k].words)
                access.address = source->words[i] + source->columns[k].offset;
            else
                access.address += i * (uint64_t)source->strides[k];
            psnap_sink_put(source->expected, &access, 1, error);
        }
    return (ssize_t)n;
}

/* A sink that counts accesses, of runs without writing them out. */
struct run_sink {
    struct psnap_sink base;
    uint64_t put, run;
};

static enum psnap_status run_sink_put(struct psnap_sink *self, const struct psnap_access *block,
                                      size_t n, struct psnap_error *error)
{
    (void)block, (void)error;
    ((struct run_sink *)self)->put += n;
    return PSNAP_OK;
}

static enum psnap_status run_sink_put_run(struct psnap_sink *self, const struct psnap_run *run,
                                          struct psnap_error *error)
{
    (void)error;
    ((struct run_sink *)self)->run += run->count * run->width;
    return PSNAP_OK;
}

TEST(runs_are_written_out_for_who_knows_none)
{
    static const struct psnap_source_ops source_ops = {.next_nest = run_next};
    static const struct psnap_sink_ops sink_ops = {run_sink_put, NULL, no_free, run_sink_put_run};
    struct run_source source = {.base = {.ops = &source_ops}, .calls = 500};
    struct run_sink knows = {.base = {&sink_ops}};
    struct psnap_sink *plain = vector_sink_new();
    struct psnap_sink *tee = psnap_tee_sink_new((struct psnap_sink *[]){plain, &knows.base}, 2);
    const struct psnap_access *got, *expected;
    size_t got_count, expected_count;
    uint64_t moved;

    psnap_rng_init(&source.rng, 11);
    source.expected = vector_sink_new();
    assert_int_equal(psnap_pump(&source.base, tee, &moved, NULL), PSNAP_OK);
    got = vector_sink_data(plain, &got_count);
    expected = vector_sink_data(source.expected, &expected_count);
    assert_true(expected_count > 100000);
    assert_int_equal(got_count, expected_count);
    assert_memory_equal(got, expected, got_count * sizeof *got);
    assert_int_equal(moved, expected_count);
    assert_int_equal(knows.put + knows.run, expected_count);
    assert_true(knows.put > 0 && knows.run > 0);
    psnap_sink_free(tee);
    psnap_sink_free(plain);
    psnap_sink_free(source.expected);
}
