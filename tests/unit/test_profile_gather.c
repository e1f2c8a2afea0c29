/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Models of irregular references: streams whose making is known are recognised as what they are,
 * and what is drawn from a model has the properties that made the stream.
 */
#include <math.h>

#include "formats/base/rng.h"
#include "profile/gathers/gather_collect.h"
#include "profile/gathers/gather_fit.h"
#include "tests/unit/test_gather_support.h"

enum { MANY = 300000 };

/* Addresses that wait for others tell what each tells at once. */
static void test_taken_any_time(void **state)
{
    enum { TAKEN = 5 * MANY / 6 + 100 };
    struct gather_collector *at_once = gather_collector_new(), *later = gather_collector_new();
    struct gather_area *areas = calloc(2, sizeof *areas);
    struct psnap_rng rng;

    (void)state;
    assert_true(at_once && later && areas);
    at_once->is_sweep = later->is_sweep = false; /* as they will be, some addresses later */
    psnap_rng_init(&rng, 7);
    for (size_t i = 0; i < TAKEN; i++) {
        const uint64_t x = psnap_rng_below(&rng, 1 << 16), few = psnap_rng_below(&rng, 64);
        const uint64_t address = BASE + (i % 3 ? 4 * x : i % 7 ? 256 * few : 8 * (i % 1000));
        gather_collector_put(at_once, address);
        gather_collector_take(at_once);
        gather_collector_put(later, address);
        if (x < 20)
            gather_collector_take(later);
    }
    gather_fit(at_once, &areas[0]);
    gather_fit(later, &areas[1]);
    assert_int_equal(areas[0].accesses, TAKEN);
    assert_memory_equal(&areas[0], &areas[1], sizeof *areas);
    gather_collector_free(at_once), gather_collector_free(later), free(areas);
}

/* Runs of `step` bytes that go on from each other: all of them, or but for one in so many. */
static void assert_runs_are_addresses(uint64_t step, uint64_t elements, unsigned breaks)
{
    struct gather_areas *by_run = gather_areas_new(), *by_one = gather_areas_new();
    struct psnap_gather *models = calloc(2, sizeof *models);
    struct psnap_rng rng;
    uint64_t at = 0;

    psnap_rng_init(&rng, 5);
    for (uint64_t n, done = 0; done < 3000000; done += n) {
        n = 1 + psnap_rng_below(&rng, done % 3 ? 30 : 3000);
        n = n < elements - at ? n : elements - at; /* where a lap ends, so does a run */
        gather_areas_put_run(by_run, BASE + (uint64_t)1e9 + at * step, step, n);
        for (uint64_t i = 0; i < n; i++)
            gather_areas_put(by_one, BASE + (uint64_t)1e9 + (at + i) * step);
        at = (at + n) % elements;
        if (breaks && psnap_rng_below(&rng, breaks) == 0)
            at = psnap_rng_below(&rng, elements);
    }
    assert_int_equal(gather_areas_count(by_run), gather_areas_count(by_one));
    gather_areas_fit(by_run, &models[0]);
    gather_areas_fit(by_one, &models[1]);
    if (breaks) { /* what is no sweep after all is looked at from some address on */
        assert_int_equal(models[0].area_count, models[1].area_count);
        assert_int_equal(models[0].areas[0].accesses, models[1].areas[0].accesses);
        assert_int_equal(models[0].areas[0].base, models[1].areas[0].base);
        assert_int_equal(models[0].areas[0].span_bytes, models[1].areas[0].span_bytes);
        assert_int_equal(models[0].areas[0].steps[0], models[1].areas[0].steps[0]);
    } else {
        assert_memory_equal(&models[0], &models[1], sizeof *models);
    }
    gather_areas_free(by_one);
    gather_areas_free(by_run);
    free(models);
}

static void test_runs(void **state)
{
    (void)state;
    assert_runs_are_addresses(8, 100000, 0);
    assert_runs_are_addresses((uint64_t)-16, 70000, 0);
    assert_runs_are_addresses(40, 5000000, 0);
    assert_runs_are_addresses(8, 100000, 2);
    assert_runs_are_addresses(0, 1000, 0);
    assert_runs_are_addresses((uint64_t)1 << 20, 3000, 0); /* areas */
}

static void test_uniform(void **state)
{
    uint64_t *real = room_for(MANY), *drawn, *again, *other;
    struct psnap_gather *model;
    struct psnap_rng rng;

    (void)state;
    psnap_rng_init(&rng, 1);
    for (size_t i = 0; i < MANY; i++)
        real[i] = BASE + 8 * psnap_rng_below(&rng, 100000);
    model = model_of(real, MANY);
    assert_int_equal(model->area_count, 1);
    assert_int_equal(model->areas[0].element_bytes, 8);
    assert_int_equal(model->areas[0].places, GATHER_ANYWHERE);
    assert_int_equal(model->areas[0].part_count, 1);
    assert_int_equal(model->areas[0].class_count, 1);
    drawn = drawn_from(model, 5, MANY);
    again = drawn_from(model, 5, MANY);
    other = drawn_from(model, 6, MANY);
    assert_inside(&model->areas[0], drawn, MANY);
    assert_memory_equal(drawn, again, MANY * sizeof *drawn);
    assert_memory_not_equal(drawn, other, MANY * sizeof *drawn);
    assert_true(gaps_apart(real, drawn, MANY) < 0.01);
    free(real), free(drawn), free(again), free(other), free(model);
}

/* Many millions of addresses, of which most are not watched: how soon lines come back, and how much
 * each part is used, is as if all were. Lines of x * y, and a sixth of all at a few lines. */
static void test_long(void **state)
{
    enum { LONG = 6000000 };
    uint64_t *real = malloc(LONG * sizeof *real);
    struct gather_collector *collector = gather_collector_new();
    struct gather_area *area = calloc(1, sizeof *area);
    double wanted[64], gaps[64], parts[GATHER_PARTS] = {0}, x = 0, below = 0;
    struct psnap_rng rng;

    (void)state;
    assert_true(real && collector && area);
    psnap_rng_init(&rng, 11);
    for (size_t i = 0; i < LONG; i++) {
        const uint64_t a = psnap_rng_below(&rng, 1 << 6), b = psnap_rng_below(&rng, 1 << 6);
        real[i] = BASE + 64 * (psnap_rng_below(&rng, 6) ? a * b : 5000 + a % 8) + 8 * (b % 8);
        gather_collector_put(collector, real[i]);
    }
    gather_collector_take(collector);
    assert_true(collector->weight > 1 || collector->watched_from > WATCHED_FIRST);
    assert_true(collector->lines.shift > 0);
    gaps_of(real, LONG, wanted);
    gather_collector_gaps(collector, gaps);
    for (int i = 0; i < 14; i++) {
        x += gaps[i] - wanted[i];
        assert_true(fabs(x) < 0.01);
    }
    gather_fit(collector, area);
    for (size_t i = 0; i < LONG; i++)
        parts[(real[i] - area->base) * GATHER_PARTS / area->span_bytes] += 1.0 / LONG;
    for (size_t p = 0; p < GATHER_PARTS; p++) {
        below += parts[p];
        assert_true(fabs(below - gather_share_below(area, area->base + area->span_bytes * (p + 1) /
                                                                           GATHER_PARTS)) < 0.01);
    }
    gather_collector_free(collector), free(area), free(real);
}

/* A list of nodes of 64 bytes in a random order, walked again and again: each node once a lap, the
   laps alike, so that a line comes back after one lap exactly. */
static void test_laps(void **state)
{
    enum { NODES = 20000, LAPS = 15 };
    uint64_t *real = room_for(MANY), *drawn;
    uint8_t *seen = calloc(NODES, 1);
    uint32_t order[NODES];
    struct psnap_gather *model;
    struct psnap_rng rng;

    (void)state;
    psnap_rng_init(&rng, 3);
    for (uint32_t i = 0; i < NODES; i++)
        order[i] = i;
    for (uint32_t i = NODES - 1; i > 0; i--) {
        const uint32_t j = (uint32_t)psnap_rng_below(&rng, i + 1), other = order[j];
        order[j] = order[i];
        order[i] = other;
    }
    for (size_t i = 0; i < MANY; i++)
        real[i] = BASE + 64 * order[i % NODES];
    model = model_of(real, MANY);
    assert_int_equal(model->areas[0].places, GATHER_ONCE);
    assert_true(model->areas[0].same_order);
    assert_int_equal(model->areas[0].lap, NODES);
    drawn = drawn_from(model, 1, MANY);
    for (size_t i = 0; i < NODES; i++) {
        assert_int_equal(drawn[i], drawn[i + NODES]);
        assert_int_equal(seen[(drawn[i] - BASE) / 64]++, 0);
    }
    free(real), free(drawn), free(model), free(seen);
}

/* Nodes of 48 bytes, lap after lap in the same random order, of which the second word is read, then
 * the first: no more lines than these lie in, and each node once a lap. */
static void test_grid(void **state)
{
    enum { NODES = 2000 };
    uint64_t *real = room_for(MANY), *drawn;
    uint8_t *seen = calloc(NODES, 1);
    struct psnap_gather *model;
    const struct gather_area *area;
    uint32_t crossing = 0;

    (void)state;
    for (uint64_t i = 0; i < MANY; i++)
        real[i] = BASE + i / 2 * 617 % NODES * 48 + (i % 2 ? 0 : 8);
    model = model_of(real, MANY);
    area = &model->areas[0];
    assert_int_equal(area->grid_bytes, 16);
    assert_int_equal(area->grid_start, 8);
    assert_int_equal(area->places, GATHER_ONCE);
    assert_int_equal(area->place_bytes, 48);
    drawn = drawn_from(model, 1, MANY);
    assert_inside(area, drawn, MANY);
    for (size_t i = 1; i + 1 < MANY; i += 2) { /* a walk begins with what follows a jump */
        assert_int_equal(drawn[i] - drawn[i + 1], 8);
        crossing += drawn[i] / 64 != drawn[i + 1] / 64;
        if (i < 2 * area->lap)
            assert_int_equal(seen[(drawn[i] - BASE) / 48]++, 0);
    }
    assert_int_equal(crossing, 0);
    free(real), free(drawn), free(model), free(seen);
}

/* Runs are places. Where elements of a run are used again it is none: two steps on and one back go
 * past 64 elements twice before a jump, and there is no room for a lap of that. */
static void test_runs_are_places(void **state)
{
    enum { PLACES = 1000, RUN = 4 };

    (void)state;
    for (int is_once = 0; is_once < 2; is_once++) {
        struct gather_collector *collector = gather_collector_new();
        struct gather_area *area = calloc(1, sizeof *area);
        assert_true(collector && area);
        for (uint64_t i = 0; i < MANY; i++) {
            const uint64_t place = i / RUN * 617 % PLACES, to_and_fro = i % 126;
            gather_collector_put(
                collector,
                BASE + 8 * (is_once ? place * RUN + i % RUN : to_and_fro / 2 + to_and_fro % 2 * 2));
        }
        gather_collector_take(collector);
        gather_fit_area(collector, area);
        assert_int_equal(gather_fit_once(collector, area), is_once);
        if (is_once) {
            assert_int_equal(area->place_bytes, 8 * RUN);
            assert_int_equal(area->lap, PLACES);
        }
        gather_collector_free(collector);
        free(area);
    }
}

/* Numbers put into 300 buckets of one array in turn, at random: as many places that move on. */
static void test_cursors(void **state)
{
    enum { BUCKETS = 300, SIZE = MANY * 5 / 4 / BUCKETS };
    uint64_t *real = room_for(MANY), *drawn;
    uint32_t fill[BUCKETS] = {0};
    struct psnap_gather *model;
    struct psnap_rng rng;
    uint64_t cursors = 0;

    (void)state;
    psnap_rng_init(&rng, 4);
    for (size_t i = 0; i < MANY; i++) {
        const uint64_t k = psnap_rng_below(&rng, BUCKETS);
        real[i] = BASE + 4 * (k * SIZE + fill[k]++);
    }
    model = model_of(real, MANY);
    assert_int_equal(model->areas[0].places, GATHER_CURSORS);
    assert_int_equal(model->areas[0].cursor_step, 4);
    for (uint32_t i = 0; i < model->areas[0].cursor_classes; i++)
        cursors += model->areas[0].cursors[i].count;
    assert_true(cursors > BUCKETS * 0.85 && cursors < BUCKETS * 1.15);
    drawn = drawn_from(model, 1, MANY);
    assert_inside(&model->areas[0], drawn, MANY);
    assert_true(gaps_apart(real, drawn, MANY) < 0.03);
    free(real), free(drawn), free(model);
}

/* The same keys again and again: each element is once in a lap, and in the same order, but it is in
 * its line that it comes after its neighbour. Laps are as long as a power of two. */
static void test_cursors_of_laps(void **state)
{
    enum { BUCKETS = 300, LAP = 1 << 16, SIZE = LAP * 5 / 4 / BUCKETS };
    uint64_t *real = room_for(MANY), *drawn, cursors = 0;
    uint32_t fill[BUCKETS];
    struct psnap_gather *model;
    struct psnap_rng rng;

    (void)state;
    for (size_t i = 0; i < MANY; i++) {
        if (i % LAP == 0) {
            psnap_rng_init(&rng, 4);
            memset(fill, 0, sizeof fill);
        }
        const uint64_t k = psnap_rng_below(&rng, BUCKETS);
        real[i] = BASE + 4 * (k * SIZE + fill[k]++);
    }
    model = model_of(real, MANY);
    assert_int_equal(model->areas[0].places, GATHER_CURSORS);
    for (uint32_t i = 0; i < model->areas[0].cursor_classes; i++)
        cursors += model->areas[0].cursors[i].count;
    assert_true(cursors > BUCKETS * 0.85 && cursors < BUCKETS * 1.15);
    drawn = drawn_from(model, 1, MANY);
    assert_true(gaps_apart(real, drawn, MANY) < 0.03);
    free(real), free(drawn), free(model);
}

/* One burst is kept of each stretch of as many as a power of two, whole and as it came; where in
 * the stretch it lies changes: loops are often of such a length, too. */
static void test_bursts(void **state)
{
    struct gather_collector *c = gather_collector_new();
    uint64_t phases = 0;

    (void)state;
    assert_non_null(c);
    for (uint64_t i = 0; i < MANY; i++)
        gather_collector_put(c, BASE + 8 * i);
    gather_collector_take(c);
    assert_int_equal(c->burst_shift, 6);
    assert_true(c->burst_count >= MANY / BURST >> 6);
    for (size_t i = 0; i < c->burst_count; i++) {
        assert_int_equal(c->burst_at[i] / BURST >> 6, i);
        assert_int_equal(c->burst_at[i] % BURST, 0);
        phases |= UINT64_C(1) << (c->burst_at[i] / BURST & 63);
        for (size_t j = 0; j < (i + 1 < c->burst_count ? BURST : c->burst_fill); j++)
            assert_int_equal(c->bursts[i][j], BASE + 8 * (c->burst_at[i] + j));
    }
    assert_true(__builtin_popcountll(phases) > 8);
    gather_collector_free(c);
}

/* Within 2000 elements of the diagonal, which is passed three times. */
static void test_band(void **state)
{
    enum { ROWS = 100000, HALF = 1000 };
    uint64_t *real = room_for(MANY), *drawn;
    struct psnap_gather *model;
    struct psnap_rng rng;

    (void)state;
    psnap_rng_init(&rng, 5);
    for (size_t i = 0; i < MANY; i++)
        real[i] = BASE + 8 * (i % ROWS + psnap_rng_below(&rng, 2 * HALF));
    model = model_of(real, MANY);
    assert_int_equal(model->areas[0].places, GATHER_BAND);
    assert_in_range(model->areas[0].lap, ROWS - ROWS / 50, ROWS + ROWS / 50);
    assert_true(model->areas[0].offsets[0] > -1.3 * HALF);
    assert_true(model->areas[0].offsets[GATHER_QUANTILES - 1] < 1.3 * HALF);
    drawn = drawn_from(model, 1, MANY);
    assert_inside(&model->areas[0], drawn, MANY);
    assert_true(gaps_apart(real, drawn, MANY) < 0.03);
    free(real), free(drawn), free(model);
}

/* Shuffled first, sequential then: two eras of one memory, in this order. */
static void test_eras(void **state)
{
    uint64_t *real = room_for(MANY);
    struct psnap_gather *model;
    struct psnap_rng rng;

    (void)state;
    psnap_rng_init(&rng, 6);
    for (size_t i = 0; i < MANY; i++)
        real[i] = BASE + 8 * (i < MANY / 3 ? psnap_rng_below(&rng, 50000) : i % 50000);
    model = model_of(real, MANY);
    assert_int_equal(model->area_count, 2);
    assert_int_equal(model->turn_count, 2);
    assert_int_equal(model->turns[0].accesses + model->turns[1].accesses, MANY);
    assert_in_range(model->turns[0].accesses, MANY / 3, MANY / 3 + 4 * 4096);
    assert_int_equal(model->areas[0].places, GATHER_ANYWHERE);
    assert_int_equal(model->areas[1].places, GATHER_SWEEP);
    free(real), free(model);
}

/* Of three areas, used at random, each has all that is its own, and is left as often as it was. */
static void test_areas(void **state)
{
    enum { AREAS = 3, SIZE = 9000 };
    uint64_t *real = room_for(MANY), *drawn, counts[AREAS] = {0};
    uint64_t changes[AREAS][AREAS] = {{0}}, again[AREAS][AREAS] = {{0}};
    struct psnap_gather *model;
    struct psnap_rng rng;
    uint32_t area = 0;

    (void)state;
    psnap_rng_init(&rng, 9);
    for (size_t i = 0; i < MANY; i++) {
        const uint32_t before = area;
        if (i < AREAS) /* they are numbered as they come */
            area = (uint32_t)i;
        else if (psnap_rng_below(&rng, 400) < 20 * (area + 1))
            area = (uint32_t)psnap_rng_below(&rng, AREAS);
        changes[before][area]++;
        real[i] =
            BASE + ((uint64_t)area << 40) + 8 * psnap_rng_below(&rng, counts[area] ? SIZE : 1);
        counts[area]++;
    }
    model = model_of(real, MANY);
    assert_int_equal(model->area_count, AREAS);
    assert_int_equal(model->turn_count, 0);
    for (uint32_t i = 0; i < AREAS; i++) {
        const uint64_t left = changes[i][0] + changes[i][1] + changes[i][2];
        assert_int_equal(model->areas[i].accesses, counts[i]);
        assert_int_equal(model->areas[i].base, BASE + ((uint64_t)i << 40));
        assert_int_equal(model->areas[i].span_bytes, 8 * SIZE);
        for (uint32_t j = 0; j < AREAS; j++)
            assert_true(model->next_area[i][j] == (double)changes[i][j] / (double)left);
    }
    drawn = drawn_from(model, 1, MANY);
    for (size_t i = 1; i < MANY; i++)
        again[(drawn[i - 1] - BASE) >> 40][(drawn[i] - BASE) >> 40]++;
    for (uint32_t i = 0; i < AREAS; i++)
        for (uint32_t j = 0; j < AREAS; j++)
            assert_true(fabs((double)again[i][j] / (double)changes[i][j] - 1) < 0.1);
    free(real), free(model), free(drawn);
}

/* What is short, or one address, has a model too. */
static void test_short(void **state)
{
    const uint64_t few[] = {BASE, BASE + 800, BASE + 16};

    (void)state;
    for (size_t n = 1; n <= 3; n++) {
        struct psnap_gather *model = model_of(few, n);
        uint64_t *drawn = drawn_from(model, 1, 1000);
        assert_inside(&model->areas[0], drawn, 1000);
        free(model), free(drawn);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_taken_any_time),
        cmocka_unit_test(test_runs),
        cmocka_unit_test(test_uniform),
        cmocka_unit_test(test_laps),
        cmocka_unit_test(test_runs_are_places),
        cmocka_unit_test(test_grid),
        cmocka_unit_test(test_cursors),
        cmocka_unit_test(test_cursors_of_laps),
        cmocka_unit_test(test_bursts),
        cmocka_unit_test(test_band),
        cmocka_unit_test(test_eras),
        cmocka_unit_test(test_areas),
        cmocka_unit_test(test_short),
        cmocka_unit_test(test_long),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
