/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Supplies: kinds of streams of hand-worked ones, frames that are a bijection, sums that are those
 * of the simulator, points whose supply is that of all their accesses one by one, and how many
 * points there are.
 */
#include "tests/unit/test.h"

#include <math.h>

#include "formats/base/rng.h"
#include "predict/bandwidth/maps.h"
#include "tests/unit/test_bandwidth_support.h"
#include "tests/unit/test_simcore_support.h"

static struct supply supply_of_addresses(const char *machine_text, const uint64_t *addresses,
                                         size_t n)
{
    const struct psnap_machine machine = machine_of(machine_text);
    struct psnap_program *program = program_with_refs(1);
    struct psnap_error error;
    struct psnap_sink *sink = supply_sink_new(&machine, program, 0, &error);
    struct supply supply;

    assert_non_null(sink);
    for (size_t i = 0; i < n; i++) {
        const struct psnap_access access = {.address = addresses[i], .size = 8};

        assert_int_equal(psnap_sink_put(sink, &access, 1, &error), PSNAP_OK);
    }
    supply_of_all(sink, &supply);
    psnap_sink_free(sink);
    psnap_program_free(program);
    return supply;
}

/* Lines of one page, each once: all miss, and only what lies around them differs. The first one's
 * page is new. */
TEST(kinds_of_streams)
{
    static const struct {
        uint64_t stride;
        enum supply_kind kind;
    } cases[] = {{64, SUPPLY_NEAR}, {128, SUPPLY_SKIP}, {448, SUPPLY_SKIP}, {512, SUPPLY_FAR}};

    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        uint64_t addresses[8];
        struct supply supply;

        for (uint64_t i = 0; i < 8; i++)
            addresses[i] = (c % 2 ? i : 7 - i) * cases[c].stride; /* up and down */
        supply = supply_of_addresses("1K:64:2", addresses, 8);
        assert_near(supply_total(&supply), 8, 0);
        assert_near(supply.accesses[1][SUPPLY_LOST], 1, 0);
        assert_near(supply.accesses[1][cases[c].kind], 7, 0);
    }
}

/* A stream goes on in the next page; a place in a page that was not accessed is lost, whatever the
 * stride. */
TEST(kinds_across_pages)
{
    const uint64_t across[] = {4096 - 64, 4096}, columns[] = {0, 4160, 8320, 12480};
    struct supply supply = supply_of_addresses("1K:64:2", across, 2);

    assert_near(supply.accesses[1][SUPPLY_LOST], 1, 0);
    assert_near(supply.accesses[1][SUPPLY_NEAR], 1, 0);
    supply = supply_of_addresses("1K:64:2", columns, 4);
    assert_near(supply.accesses[1][SUPPLY_LOST], 4, 0);
}

/* Two streams in turn have company from when both have gone on once; one stream of two pages, or
 * one beside a line that stays, has none. */
TEST(streams_have_company)
{
    uint64_t turns[64], alone[64], resting[64];
    struct supply supply;

    for (uint64_t i = 0; i < 64; i++) {
        turns[i] = i / 2 * 64 + i % 2 * (1 << 20);
        alone[i] = 4096 - 32 * 64 + i * 64;
        resting[i] = i % 2 ? 1 << 20 : i / 2 * 64;
    }
    supply = supply_of_addresses("1K:64:2", turns, 64);
    assert_near(supply.accesses[1][SUPPLY_LOST], 2, 0);
    assert_near(supply.accesses[1][SUPPLY_NEAR], 1, 0); /* the first that goes on */
    assert_near(supply.accesses[1][SUPPLY_BESIDE], 61, 0);
    supply = supply_of_addresses("1K:64:2", alone, 64);
    assert_near(supply.accesses[1][SUPPLY_NEAR], 63, 0);
    supply = supply_of_addresses("1K:64:2", resting, 64);
    assert_near(supply.accesses[1][SUPPLY_BESIDE], 0, 0);
    assert_near(supply.accesses[1][SUPPLY_NEAR], 31, 0);
}

static int by_number(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

    return (a > b) - (a < b);
}

TEST(frames_differ)
{
    enum { PAGES = 200000 };
    uint64_t *frames = malloc(PAGES * sizeof *frames);

    assert_non_null(frames);
    for (uint64_t seed = 0; seed < 3; seed++) {
        for (uint64_t page = 0; page < PAGES; page++)
            frames[page] = supply_frame(page * (seed ? 1 : 4099), seed);
        qsort(frames, PAGES, sizeof *frames, by_number);
        for (size_t i = 1; i < PAGES; i++)
            assert_true(frames[i] != frames[i - 1]);
        assert_true(frames[PAGES - 1] < UINT64_C(1) << 52);
    }
    free(frames);
}

/* Within one page frames change nothing but the page: the counts are the simulator's. */
TEST(sums_are_the_simulators)
{
    static const char machine_text[] = "512:64:2,2K:64:4";
    const struct psnap_machine machine = machine_of(machine_text);
    struct psnap_access stream[3000];
    uint64_t addresses[COUNT(stream)];
    struct psnap_tally tally;
    struct supply supply;
    struct psnap_rng rng;

    psnap_rng_init(&rng, 1);
    for (size_t i = 0; i < COUNT(stream); i++) {
        const uint64_t r = psnap_rng_below(&rng, 64);

        addresses[i] = r * r % 64 * 64 + 8 * psnap_rng_below(&rng, 8);
        stream[i] = (struct psnap_access){.address = addresses[i], .size = 8};
    }
    tally = tally_of(&machine, stream, COUNT(stream));
    supply = supply_of_addresses(machine_text, addresses, COUNT(stream));
    assert_near(supply_total(&supply), COUNT(stream), 0);
    for (uint32_t i = 0; i < 2; i++)
        assert_near(supply_hit_rate(&supply, i), psnap_tally_cumulative(&tally, i), 1e-12);
}

/* A point's supply, by its definition: all accesses of as many passes, one by one. */
static struct supply slow_supply(const struct map_point *point, const char *machine_text)
{
    const struct psnap_machine machine = machine_of(machine_text);
    const uint64_t count = map_pass_accesses(point), each = count / point->streams;
    struct psnap_program *program = program_with_refs(1);
    struct psnap_error error;
    struct psnap_sink *sink = supply_sink_new(&machine, program, point->size_bytes, &error);
    struct supply before = {0}, supply;

    assert_non_null(sink);
    for (int pass = 0; pass < 12; pass++) {
        for (uint64_t i = 0; i < count; i++) {
            const uint64_t line = i / 8 / point->streams, stream = i / 8 % point->streams;
            const uint64_t word =
                point->streams > 1 ? stream * each + line * 8 + i % 8 : i * point->step;
            const struct psnap_access access = {.address = word * 8, .size = 8};

            assert_int_equal(psnap_sink_put(sink, &access, 1, &error), PSNAP_OK);
        }
        if (pass == 3)
            supply_of_all(sink, &before);
    }
    supply_of_all(sink, &supply);
    supply_add(&supply, &before, -1);
    supply_normalise(&supply);
    psnap_sink_free(sink);
    psnap_program_free(program);
    return supply;
}

static void assert_same(const struct supply *left, const struct supply *right)
{
    for (int level = 0; level < SUPPLY_LEVELS; level++)
        for (int kind = 0; kind < SUPPLY_KINDS; kind++)
            assert_near(left->accesses[level][kind], right->accesses[level][kind], 1e-9);
}

TEST(points_as_one_by_one)
{
    static const char machine_text[] = "1K:64:4,16K:64:4";
    const struct psnap_machine machine = machine_of(machine_text);

    for (uint64_t size = 1024; size <= 65536; size *= 4)
        for (uint32_t step = 1; step <= 64; step *= 2) {
            struct map_point point = {.step = step, .size_bytes = size, .streams = 1};
            struct supply slow;
            struct psnap_error error;

            assert_int_equal(map_point_supply(&point, &machine, &error), PSNAP_OK);
            slow = slow_supply(&point, machine_text);
            assert_same(&point.supply, &slow);
        }
    for (uint32_t streams = 2; streams <= 4; streams *= 2) {
        struct map_point point = {
            .probe = MAP_STREAMS, .step = 1, .streams = streams, .size_bytes = 32768};
        struct supply slow;
        struct psnap_error error;

        assert_int_equal(map_point_supply(&point, &machine, &error), PSNAP_OK);
        slow = slow_supply(&point, machine_text);
        assert_same(&point.supply, &slow);
    }
}

/* Points that go through the same lines are simulated once: the same as each for itself. */
TEST(points_together)
{
    const struct psnap_machine machine = machine_of("1K:64:4,16K:64:4");
    struct maps maps = {0};
    struct psnap_error error;

    assert_int_equal(maps_plan_strided(&maps, 9, 65536, 64, &error), PSNAP_OK);
    assert_int_equal(maps_plan_further(&maps, 3, 65536, &error), PSNAP_OK);
    assert_int_equal(maps_supply(&maps, &machine, NULL, NULL, &error), PSNAP_OK);
    for (size_t i = 0; i < maps.count; i++) {
        struct map_point point = maps.points[i];

        assert_int_equal(map_point_supply(&point, &machine, &error), PSNAP_OK);
        assert_same(&point.supply, &maps.points[i].supply);
    }
    maps_release(&maps);
}

/* All lines of a chain, each once, before the first one again. */
TEST(chains)
{
    struct map_point point = {
        .probe = MAP_CHAIN, .step = MAP_CHAIN_WORDS, .streams = 1, .size_bytes = 32768};
    const struct psnap_machine machine = machine_of("1K:64:4,16K:64:full");
    const size_t count = map_start_count(&point);
    bool is_there[512] = {false};
    uint32_t starts[512];
    size_t in_order = 0;
    struct psnap_error error;

    assert_int_equal(count, 512);
    map_starts(&point, starts, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(starts[i] % MAP_CHAIN_WORDS, 0);
        assert_false(is_there[starts[i] / MAP_CHAIN_WORDS]);
        is_there[starts[i] / MAP_CHAIN_WORDS] = true;
        in_order += i && starts[i] == starts[i - 1] + MAP_CHAIN_WORDS;
    }
    assert_true(in_order < 10);
    assert_int_equal(map_point_supply(&point, &machine, &error), PSNAP_OK);
    assert_near(supply_hit_rate(&point.supply, 1), 0, 0); /* LRU, and twice as large as it */
}

/* The paper's plan: 54 sizes by 7 strides, whatever the last cache. */
TEST(all_sizes)
{
    enum { SIZES = 54, STRIDES = 7 };

    for (uint64_t largest = UINT64_C(50) << 20; largest <= MAP_SIZE_MAX; largest *= 2) {
        struct maps maps = {0};
        struct psnap_error error;

        assert_int_equal(maps_plan_strided(&maps, SIZES, largest, 64, &error), PSNAP_OK);
        assert_int_equal(maps.count, SIZES * STRIDES);
        for (size_t i = 0; i < maps.count; i++) {
            assert_int_equal(maps.points[i].step, 1 << i % STRIDES);
            if (i % STRIDES)
                assert_int_equal(maps.points[i].size_bytes, maps.points[i - 1].size_bytes);
            else if (i)
                assert_true(maps.points[i].size_bytes > maps.points[i - 1].size_bytes);
        }
        assert_int_equal(maps.points[0].size_bytes, 1024);
        assert_int_equal(maps.points[maps.count - 1].size_bytes, largest);
        maps_release(&maps);
    }
}

TEST(known_points)
{
    const struct psnap_machine machine = machine_of("1K:64:full,16K:64:full");
    struct map_point point = {.step = 1, .streams = 1, .size_bytes = 512};
    struct psnap_error error;

    assert_int_equal(map_point_supply(&point, &machine, &error), PSNAP_OK);
    assert_near(point.supply.accesses[0][SUPPLY_NEAR], 1, 0);
    point = (struct map_point){
        .step = 2, .streams = 1, .size_bytes = 8192}; /* four accesses of a line */
    assert_int_equal(map_point_supply(&point, &machine, &error), PSNAP_OK);
    assert_near(supply_hit_rate(&point.supply, 0), 0.75, 1e-12);
    assert_near(supply_hit_rate(&point.supply, 1), 1, 1e-12);
    point = (struct map_point){.step = 16, .streams = 1, .size_bytes = 1 << 20};
    assert_int_equal(map_point_supply(&point, &machine, &error), PSNAP_OK);
    assert_near(supply_hit_rate(&point.supply, 1), 0, 1e-12);
    assert_true(point.supply.accesses[2][SUPPLY_SKIP] > 0.95); /* but the first of each page */
}

/* Apex-MAP with alpha 1 in an array of twice a cache hits half of the time, but for what the list
 * of places takes of the cache; 15 of 16 accesses to the list hit. */
TEST(random_points)
{
    const struct psnap_machine machine = machine_of("512K:64:full");
    struct map_point point = {.probe = MAP_APEX, .step = 1, .size_bytes = 1 << 20, .alpha = 1};
    uint32_t starts[1000];
    struct psnap_error error;

    assert_int_equal(map_point_supply(&point, &machine, &error), PSNAP_OK);
    assert_near(supply_hit_rate(&point.supply, 0), 0.5 * (15 / 16.0 + 0.46), 0.01);
    point.alpha = 0.01; /* nearly always the first words */
    map_starts(&point, starts, 1000);
    for (size_t i = 0; i < 1000; i++)
        assert_true(starts[i] < point.size_bytes / 8 - 1);
    assert_int_equal(map_point_supply(&point, &machine, &error), PSNAP_OK);
    assert_true(supply_hit_rate(&point.supply, 0) > 0.95);
}
