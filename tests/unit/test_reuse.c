/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reuse distances of streams against their definition: of each line that an access overlaps the
 * distinct lines since it was touched last, of these the largest.
 */
#include "tests/unit/test.h"

#include <math.h>

#include "formats/base/rng.h"
#include "predict/predict.h"
#include "simcore/simcore.h"
#include "tests/unit/vectors.h"

enum { ACCESSES = 4000, THREADS = 3, REFS = 5, LINES = 1 << 16 };

/* Lines of a thread, the one touched last first. */
struct list {
    uint64_t lines[LINES];
    size_t count;
};

static uint64_t touch(struct list *list, uint64_t line)
{
    size_t at = 0;
    const uint64_t cold = PSNAP_DISTANCE_COLD;
    bool is_new;

    while (at < list->count && list->lines[at] != line)
        at++;
    is_new = at == list->count;
    assert_true(at < LINES);
    list->count += is_new;
    memmove(list->lines + 1, list->lines, at * sizeof list->lines[0]);
    list->lines[0] = line;
    return is_new ? cold : at;
}

static uint64_t defined(struct list *list, const struct psnap_access *access, uint64_t line_bytes)
{
    uint64_t last = UINT64_MAX, largest = 0;

    for (uint64_t i = 0; i < (line_bytes == 1 ? 1 : access->size); i++) {
        const uint64_t line = (access->address + i) / line_bytes;
        uint64_t distance;
        if (i && line == last)
            continue;
        last = line;
        distance = touch(list, line);
        largest = distance > largest ? distance : largest;
    }
    return largest;
}

static struct psnap_program *new_program(void)
{
    struct psnap_program *program = psnap_program_new();

    assert_non_null(program);
    for (uint32_t i = 0; i < REFS; i++)
        psnap_program_add_ref(program, &(struct psnap_ref){.loop = 0, .block = i});
    return program;
}

static void make_stream(struct psnap_access *stream, struct psnap_rng *rng)
{
    uint64_t at = 0;

    for (size_t i = 0; i < ACCESSES; i++) {
        at = psnap_rng_below(rng, 16) ? at + 8 : psnap_rng_below(rng, 4096);
        stream[i] = (struct psnap_access){at % 6000 - 2000, (uint32_t)psnap_rng_below(rng, REFS),
                                          (uint8_t)(1 + psnap_rng_below(rng, 64)), PSNAP_LOAD,
                                          (uint16_t)(i / 50 % THREADS)};
    }
}

static enum psnap_status tag(void *context, const struct psnap_access *block, size_t n,
                             uint32_t *rows, struct psnap_error *error)
{
    (void)context;
    (void)error;
    for (size_t i = 0; i < n; i++)
        rows[i] = block[i].size % 7;
    return PSNAP_OK;
}

static uint32_t row_of(const struct psnap_access *access, int view)
{
    if (view == PSNAP_VIEW_REF)
        return access->ref;
    return view == PSNAP_VIEW_THREAD ? access->thread : access->size % 7;
}

/* The row has each count of `expected`, of a row of the same view, and nothing else. */
static void assert_same(const struct psnap_distances *got, const struct psnap_distances *expected)
{
    struct psnap_distance_count a = {0}, b = {0};
    bool more;

    assert_non_null(got);
    assert_int_equal(psnap_distances_accesses(got), psnap_distances_accesses(expected));
    assert_int_equal(psnap_distances_cold(got), psnap_distances_cold(expected));
    do {
        more = psnap_distances_next(got, &a);
        assert_int_equal(psnap_distances_next(expected, &b), more);
        assert_int_equal(a.distance, b.distance);
        assert_int_equal(a.count, b.count);
    } while (more);
}

static void check_stream(uint64_t line_bytes, uint64_t seed)
{
    static struct list lists[THREADS];
    static struct psnap_access stream[ACCESSES];
    const struct psnap_reuse_options options = {
        .line_bytes = line_bytes, .by_thread = true, .tagger = tag};
    struct psnap_program *program = new_program();
    struct psnap_sink *sink = psnap_reuse_new(program, &options, NULL);
    struct psnap_distances *expected[PSNAP_VIEW_COUNT][8] = {0};
    struct psnap_rng rng;
    uint64_t lines = 0;

    psnap_rng_init(&rng, seed);
    make_stream(stream, &rng);
    for (int i = 0; i < THREADS; i++)
        lists[i].count = 0;
    assert_non_null(sink);
    for (size_t i = 0, n; i < ACCESSES; i += n) {
        n = 1 + psnap_rng_below(&rng, ACCESSES - i);
        assert_int_equal(psnap_sink_put(sink, stream + i, n, NULL), PSNAP_OK);
    }
    for (size_t i = 0; i < ACCESSES; i++) {
        const uint64_t distance = defined(&lists[stream[i].thread], &stream[i], line_bytes);
        for (int view = 0; view < PSNAP_VIEW_COUNT; view++) {
            struct psnap_distances **row = &expected[view][row_of(&stream[i], view)];
            *row = *row ? *row : psnap_distances_new();
            assert_true(*row && psnap_distances_add(*row, distance, 1));
        }
    }
    for (int view = 0; view < PSNAP_VIEW_COUNT; view++)
        for (uint32_t row = 0; row < 8; row++)
            if (expected[view][row])
                assert_same(psnap_reuse_row(sink, (enum psnap_view)view, row), expected[view][row]);
            else
                assert_null(psnap_reuse_row(sink, (enum psnap_view)view, row));
    for (int i = 0; i < THREADS; i++)
        lines += lists[i].count;
    assert_int_equal(psnap_reuse_lines(sink), lines);
    assert_int_equal(psnap_reuse_threads(sink), THREADS);
    for (int view = 0; view < PSNAP_VIEW_COUNT; view++)
        for (uint32_t row = 0; row < 8; row++)
            psnap_distances_free(expected[view][row]);
    psnap_sink_free(sink);
    psnap_program_free(program);
}

TEST(random_streams)
{
    for (uint64_t digits = 0; digits < 13; digits++)
        check_stream(UINT64_C(1) << digits, digits);
}

/* Random runs and accesses into sinks at once; runs are written out for those that are to see none.
 */
static void put_random(struct psnap_rng *rng, struct psnap_sink *by_runs,
                       struct psnap_sink *one_by_one)
{
    static const int64_t strides[] = {0, 8, -8, 16, 4, 72, 4096, -640};
    struct psnap_access first[8];
    int64_t steps[8];
    struct psnap_run run = {.first = first, .strides = steps};

    run.width = 1 + psnap_rng_below(rng, 8);
    run.count = 1 + psnap_rng_below(rng, 80);
    for (size_t k = 0; k < run.width; k++) {
        const uint64_t address =
            psnap_rng_below(rng, 2) && k ? first[k - 1].address + 8 : psnap_rng_below(rng, 50000);
        first[k] = (struct psnap_access){address, (uint32_t)psnap_rng_below(rng, REFS),
                                         (uint8_t)(1 + psnap_rng_below(rng, 16)), PSNAP_LOAD,
                                         (uint16_t)(run.count % THREADS)};
        steps[k] = strides[psnap_rng_below(rng, 8)];
    }
    assert_int_equal(psnap_sink_put_run(by_runs, &run, NULL), PSNAP_OK);
    assert_int_equal(psnap_sink_put_repetitions(one_by_one, &run, 0, run.count, NULL), PSNAP_OK);
    first[0].address ^= 64;
    assert_int_equal(psnap_sink_put(by_runs, first, run.width, NULL), PSNAP_OK);
    assert_int_equal(psnap_sink_put(one_by_one, first, run.width, NULL), PSNAP_OK);
}

static void assert_same_sinks(const struct psnap_sink *a, const struct psnap_sink *b)
{
    assert_int_equal(psnap_reuse_threads(a), psnap_reuse_threads(b));
    assert_int_equal(psnap_reuse_lines(a), psnap_reuse_lines(b));
    for (int view = 0; view < PSNAP_VIEW_COUNT; view++) {
        const uint32_t rows = psnap_reuse_rows(b, (enum psnap_view)view);
        assert_int_equal(psnap_reuse_rows(a, (enum psnap_view)view), rows);
        for (uint32_t i = 0; i < rows; i++)
            if (psnap_reuse_row(b, (enum psnap_view)view, i))
                assert_same(psnap_reuse_row(a, (enum psnap_view)view, i),
                            psnap_reuse_row(b, (enum psnap_view)view, i));
            else
                assert_null(psnap_reuse_row(a, (enum psnap_view)view, i));
    }
}

/* Runs and any number of threads, whose chunks are short, have the results of one access after the
 * other, with a tagger and without, threads together and apart. */
TEST(runs_and_jobs)
{
    static const uint32_t jobs[] = {1, 2, 3, 8};
    static const uint64_t lengths[] = {1, 10, 777, 0};
    struct psnap_program *program = new_program();
    struct psnap_rng rng;

    for (uint64_t i = 0; i < 32; i++) {
        struct psnap_reuse_options options = {.line_bytes = UINT64_C(1) << (i % 8),
                                              .by_thread = true,
                                              .together = i % 3 == 0,
                                              .tagger = i % 5 ? NULL : tag};
        struct psnap_sink *sink, *expected = psnap_reuse_new(program, &options, NULL);
        options.jobs = jobs[i % 4];
        options.chunk_accesses = lengths[i / 4 % 4];
        sink = psnap_reuse_new(program, &options, NULL);
        assert_true(sink && expected);
        psnap_rng_init(&rng, i);
        for (int k = 0; k < 60; k++)
            put_random(&rng, sink, expected);
        assert_int_equal(psnap_sink_finish(sink, NULL), PSNAP_OK);
        assert_int_equal(psnap_sink_finish(expected, NULL), PSNAP_OK);
        assert_same_sinks(sink, expected);
        psnap_sink_free(sink);
        psnap_sink_free(expected);
    }
    psnap_program_free(program);
}

/* A sink that is given up with chunks under way. */
TEST(given_up)
{
    const struct psnap_reuse_options options = {.line_bytes = 64, .jobs = 3, .chunk_accesses = 50};
    struct psnap_program *program = new_program();
    struct psnap_sink *sink = psnap_reuse_new(program, &options, NULL);
    struct psnap_sink *nothing = null_sink_new();
    struct psnap_rng rng;

    psnap_rng_init(&rng, 3);
    for (int i = 0; i < 50; i++)
        put_random(&rng, sink, nothing);
    psnap_sink_free(sink);
    psnap_sink_free(nothing);
    psnap_program_free(program);
}

/* Half of the accesses to 1/8 of the lines, the rest anywhere; some go on from line to line. */
static struct psnap_sink *measure_skewed(struct psnap_program *program, double sample)
{
    enum { MANY = 1 << 18, N = 1000000 };
    const struct psnap_reuse_options options = {.line_bytes = 64, .sample = sample};
    struct psnap_sink *sink = psnap_reuse_new(program, &options, NULL);
    struct psnap_rng rng;
    uint64_t at = 0;

    assert_non_null(sink);
    psnap_rng_init(&rng, 5);
    for (int i = 0; i < N; i++) {
        const uint64_t of = psnap_rng_below(&rng, 2) ? MANY : MANY / 8;
        const uint32_t ref = (uint32_t)(i % 3);
        struct psnap_access access = {0, ref, 8, PSNAP_LOAD, 0};
        at = ref == 2 ? at + 1 : psnap_rng_below(&rng, of);
        access.address = at * 64;
        assert_int_equal(psnap_sink_put(sink, &access, 1, NULL), PSNAP_OK);
    }
    assert_int_equal(psnap_sink_finish(sink, NULL), PSNAP_OK);
    return sink;
}

/* Of a sample rows have the accesses that they have, and hit rates near the exact ones. */
TEST(sample)
{
    struct psnap_program *program = new_program();
    struct psnap_sink *exact = measure_skewed(program, 0), *all = measure_skewed(program, 1);
    struct psnap_sink *sampled = measure_skewed(program, 0.02);
    const double lines = (double)psnap_reuse_lines(exact);

    assert_same_sinks(all, exact);
    assert_true(fabs((double)psnap_reuse_lines(sampled) - lines) < 0.05 * lines);
    for (uint32_t ref = 0; ref < 3; ref++) {
        const struct psnap_distances *row = psnap_reuse_row(exact, PSNAP_VIEW_REF, ref);
        const struct psnap_distances *near = psnap_reuse_row(sampled, PSNAP_VIEW_REF, ref);
        double error = 0;
        assert_int_equal(psnap_distances_accesses(near), psnap_distances_accesses(row));
        for (int k = 0; k < 20; k++)
            error += fabs(psnap_distances_hit_rate(near, UINT64_C(1) << k) -
                          psnap_distances_hit_rate(row, UINT64_C(1) << k));
        assert_true(error / 20 <= 0.005);
    }
    psnap_sink_free(exact);
    psnap_sink_free(all);
    psnap_sink_free(sampled);
    psnap_program_free(program);
}

/* Hits that psnap_sim counts in caches of one level, of all ways up to 12. */
TEST(sets_against_simulator)
{
    static struct psnap_access stream[ACCESSES];
    static const uint64_t sets[] = {1, 2, 3, 16, 21};
    struct psnap_program *program = new_program();
    struct psnap_rng rng;

    psnap_rng_init(&rng, 77);
    make_stream(stream, &rng);
    for (size_t i = 0; i < ACCESSES; i++)
        stream[i].thread = 0;
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++) {
        const struct psnap_reuse_options options = {
            .line_bytes = 64, .sets = sets[i], .ways = 12, .by_thread = true};
        struct psnap_sink *reuse = psnap_reuse_new(program, &options, NULL);
        assert_non_null(reuse);
        assert_int_equal(psnap_sink_put(reuse, stream, ACCESSES, NULL), PSNAP_OK);
        for (uint64_t ways = 1; ways <= 12; ways++) {
            struct psnap_machine machine = {.name = "one", .level_count = 1};
            struct psnap_tally tally = {0};
            struct psnap_sink *sim;
            machine.levels[0] = (struct psnap_cache_level){
                .size_bytes = 64 * ways * sets[i], .line_bytes = 64, .ways = ways};
            assert_int_equal(psnap_machine_check(&machine, NULL), PSNAP_OK);
            sim = psnap_sim_new(&machine, 1, program, NULL, NULL);
            assert_non_null(sim);
            assert_int_equal(psnap_sink_put(sim, stream, ACCESSES, NULL), PSNAP_OK);
            psnap_sim_add_total(sim, 0, &tally);
            assert_true(fabs(psnap_tally_cumulative(&tally, 0) -
                             psnap_distances_hit_rate(psnap_reuse_row(reuse, PSNAP_VIEW_THREAD, 0),
                                                      ways)) < 1e-15);
            psnap_sink_free(sim);
        }
        psnap_sink_free(reuse);
    }
    psnap_program_free(program);
}

TEST(bad_input)
{
    static const uint64_t sizes[] = {0, 3, 48, UINT64_C(1) << 31};
    struct psnap_program *program = new_program();
    const struct psnap_access stray = {0, REFS, 8, PSNAP_LOAD, 0};
    struct psnap_error error;
    struct psnap_sink *sink;

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const struct psnap_reuse_options options = {.line_bytes = sizes[i]};
        assert_null(psnap_reuse_new(program, &options, &error));
        assert_int_equal(error.code, PSNAP_ERROR_USAGE);
    }
    assert_null(psnap_reuse_new(
        program, &(struct psnap_reuse_options){.line_bytes = 64, .sample = 1.5}, &error));
    assert_int_equal(error.code, PSNAP_ERROR_USAGE);
    assert_null(psnap_reuse_new(
        program, &(struct psnap_reuse_options){.line_bytes = 64, .jobs = 5000}, &error));
    assert_int_equal(error.code, PSNAP_ERROR_USAGE);
    sink = psnap_reuse_new(program, &(struct psnap_reuse_options){.line_bytes = 64}, &error);
    assert_non_null(sink);
    assert_int_equal(psnap_sink_put(sink, &stray, 1, &error), PSNAP_ERROR_VALUE);
    psnap_sink_free(sink);
    psnap_program_free(program);
}

/* Distances far apart, the hit rates of caches between them, and a sum. */
TEST(histogram)
{
    struct psnap_distances *a = psnap_distances_new(), *b = psnap_distances_new();
    struct psnap_distance_count each = {0};
    const uint64_t distances[] = {0, 63, 64, 511, 512, 1 << 20};

    assert_true(a && b);
    assert_true(isnan(psnap_distances_hit_rate(a, 1)));
    assert_true(psnap_distances_add(a, PSNAP_DISTANCE_COLD, 4));
    for (size_t i = 0; i < 6; i++)
        assert_true(psnap_distances_add(a, distances[i], i + 1));
    assert_int_equal(psnap_distances_accesses(a), 25);
    for (size_t i = 0; i < 6; i++) {
        assert_true(psnap_distances_next(a, &each));
        assert_int_equal(each.distance, distances[i]);
        assert_int_equal(each.count, i + 1);
    }
    assert_false(psnap_distances_next(a, &each));
    assert_true(fabs(psnap_distances_hit_rate(a, 64) - 3.0 / 25) < 1e-15);
    assert_true(fabs(psnap_distances_hit_rate(a, 65) - 6.0 / 25) < 1e-15);
    assert_true(fabs(psnap_distances_hit_rate(a, UINT64_MAX) - 21.0 / 25) < 1e-15);
    assert_true(psnap_distances_add_all(b, a) && psnap_distances_add_all(b, a));
    assert_int_equal(psnap_distances_accesses(b), 50);
    assert_int_equal(psnap_distances_cold(b), 8);
    assert_true(fabs(psnap_distances_hit_rate(b, 513) - 15.0 / 25) < 1e-15);
    psnap_distances_free(a);
    psnap_distances_free(b);
}
