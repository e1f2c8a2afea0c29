/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reuse distances of streams against their definition: of each line that an access overlaps the
 * distinct lines since it was touched last, of these the largest.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/rng.h"
#include "predict/predict.h"
#include "simcore/simcore.h"

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

static void random_streams(void **state)
{
    (void)state;
    for (uint64_t digits = 0; digits < 13; digits++)
        check_stream(UINT64_C(1) << digits, digits);
}

/* Hits that psnap_sim counts in caches of one level, of all ways up to 12. */
static void sets_against_simulator(void **state)
{
    static struct psnap_access stream[ACCESSES];
    static const uint64_t sets[] = {1, 2, 3, 16, 21};
    struct psnap_program *program = new_program();
    struct psnap_rng rng;

    (void)state;
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

static void bad_input(void **state)
{
    static const uint64_t sizes[] = {0, 3, 48, UINT64_C(1) << 31};
    struct psnap_program *program = new_program();
    const struct psnap_access stray = {0, REFS, 8, PSNAP_LOAD, 0};
    struct psnap_error error;
    struct psnap_sink *sink;

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const struct psnap_reuse_options options = {.line_bytes = sizes[i]};
        assert_null(psnap_reuse_new(program, &options, &error));
        assert_int_equal(error.code, PSNAP_ERROR_USAGE);
    }
    sink = psnap_reuse_new(program, &(struct psnap_reuse_options){.line_bytes = 64}, &error);
    assert_non_null(sink);
    assert_int_equal(psnap_sink_put(sink, &stray, 1, &error), PSNAP_ERROR_VALUE);
    psnap_sink_free(sink);
    psnap_program_free(program);
}

/* Distances far apart, the hit rates of caches between them, and a sum. */
static void histogram(void **state)
{
    struct psnap_distances *a = psnap_distances_new(), *b = psnap_distances_new();
    struct psnap_distance_count each = {0};
    const uint64_t distances[] = {0, 63, 64, 511, 512, 1 << 20};

    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_streams),
        cmocka_unit_test(sets_against_simulator),
        cmocka_unit_test(bad_input),
        cmocka_unit_test(histogram),
    };

    return cmocka_run_group_tests_name("reuse", tests, NULL, NULL);
}
