/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Logs of data objects against one that looks at all lines: an access by reuse time takes the line
 * whose last access is nearest to that time; short times take the lines of the latest accesses;
 * first touches go to lines that were not touched, as long as there are any.
 */
#include "tests/unit/test.h"

#include "formats/base/program.h"
#include "profile/walk/recall.h"

enum { LINES = 300, LOW = 1 << 20 };

static char name[] = "x";

/* When each line was last accessed, and where. */
struct oracle {
    uint64_t time[LINES], latest[LINES];
    bool is_touched[LINES];
};

static uint64_t distance(uint64_t a, uint64_t b)
{
    return a < b ? b - a : a - b;
}

/* How near the nearest last access is to a time. */
static uint64_t nearest(const struct oracle *oracle, uint64_t time)
{
    uint64_t best = UINT64_MAX;

    for (int i = 0; i < LINES; i++)
        if (oracle->is_touched[i] && distance(oracle->time[i], time) < best)
            best = distance(oracle->time[i], time);
    return best;
}

TEST(lines_are_the_nearest)
{
    struct model_object object = {.name = name, .low = LOW, .bytes = LINES * 64};
    const struct psnap_stream_model model = {.objects = &object, .object_count = 1};

    for (uint64_t seed = 0; seed < 20; seed++) {
        struct oracle oracle = {0};
        struct recall recall;
        struct psnap_rng rng;
        psnap_rng_init(&rng, seed);
        assert_true(recall_init(&recall, &model, seed));
        for (uint64_t time = 0; time < 20000; time++) {
            const uint64_t line = psnap_rng_below(&rng, 1 + psnap_rng_below(&rng, LINES));
            const uint64_t address = LOW + 64 * line + 8 * psnap_rng_below(&rng, 8);
            assert_true(recall_touch(&recall, 0, address, time));
            recall.recent[time % RECALL_RECENT] = address;
            oracle.time[line] = time;
            oracle.latest[line] = address;
            oracle.is_touched[line] = true;
            if (time < 100 || psnap_rng_below(&rng, 100))
                continue;
            for (uint32_t bin = 0; bin < 24; bin++) {
                bool is_first;
                const uint64_t drawn = recall_draw(&recall, 0, bin, time + 1, &is_first);
                const uint64_t taken = drawn / 64 - LOW / 64;
                const uint64_t low = reuse_bin_low(bin), width = reuse_bin_width(bin);
                assert_false(is_first);
                assert_in_range(taken, 0, LINES - 1);
                assert_int_equal(oracle.latest[taken] / 64, drawn / 64);
                if (bin < RECALL_RECENT) {
                    assert_int_equal(drawn, recall.recent[(time - bin) % RECALL_RECENT]);
                    continue;
                }
                /* some time of the bin has no line that is nearer than the one taken */
                bool is_nearest = false;
                for (uint64_t ago = low + 1; ago <= low + width && !is_nearest; ago++) {
                    const uint64_t at = ago < time + 1 ? time + 1 - ago : 0;
                    is_nearest = distance(oracle.time[taken], at) == nearest(&oracle, at);
                }
                assert_true(is_nearest);
                assert_int_equal(drawn, oracle.latest[taken]);
            }
        }
        recall_release(&recall);
    }
}

TEST(first_touches_are_of_other_lines)
{
    struct model_object object = {.name = name,
                                  .low = LOW,
                                  .bytes = LINES * 64,
                                  .strides = {{2, 3}, {-7, 1}},
                                  .stride_count = 2,
                                  .firsts = 6};
    const struct psnap_stream_model model = {.objects = &object, .object_count = 1};
    bool is_touched[LINES] = {false};
    struct recall recall;

    assert_true(recall_init(&recall, &model, 3));
    for (uint64_t time = 0; time < LINES; time++) {
        bool is_first;
        const uint64_t address = recall_draw(&recall, 0, REUSE_FIRST, time, &is_first);
        const uint64_t line = address / 64 - LOW / 64;
        assert_true(is_first);
        assert_in_range(line, 0, LINES - 1);
        assert_false(is_touched[line]);
        is_touched[line] = true;
        assert_true(recall_touch(&recall, 0, address, time));
    }
    recall_release(&recall);
}

/* Two objects, and all else of their group; nothing is drawn from others. */
TEST(objects_are_found)
{
    const uint64_t heap = UINT64_C(2) << 40;
    struct model_object objects[] = {{.low = heap + 64, .bytes = 1 << 20},
                                     {.name = name, .low = heap + 8192, .bytes = 4096},
                                     {.name = name, .low = heap + 4096, .bytes = 4096}};
    const struct psnap_stream_model model = {.objects = objects, .object_count = 3};
    const struct {
        uint64_t address;
        uint32_t object;
    } cases[] = {{heap, 0},
                 {heap + 4095, 0},
                 {heap + 4096, 2},
                 {heap + 8191, 2},
                 {heap + 8192, 1},
                 {heap + 12288, 0},
                 {UINT64_C(3) << 40, PSNAP_NONE}};
    struct recall recall;

    assert_true(recall_init(&recall, &model, 0));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t low, end, other_low, other_end;
        assert_int_equal(recall_object_at(&recall, cases[i].address, &low, &end), cases[i].object);
        assert_true(low <= cases[i].address && cases[i].address < end);
        assert_int_equal(recall_object_at(&recall, low, &other_low, &other_end), cases[i].object);
        assert_int_equal(recall_object_at(&recall, end - 1, &other_low, &other_end),
                         cases[i].object);
    }
    recall_release(&recall);
}

/* Of a pool and of all else of its group only the ranges are drawn from, also by first touches. */
TEST(ranges_part_objects)
{
    const uint64_t heap = UINT64_C(2) << 40;
    struct model_range of_pool[] = {{0, 640}, {6400, 640}}, of_rest[] = {{0, 3200}, {9600, 64}};
    struct model_object objects[] = {
        {.name = name,
         .is_pool = true,
         .low = heap,
         .bytes = 7040,
         .ranges = of_pool,
         .range_count = 2},
        {.low = heap + 640, .bytes = 9664, .ranges = of_rest, .range_count = 2},
        {.name = name, .low = heap + 1280, .bytes = 1280}};
    const struct psnap_stream_model model = {.objects = objects, .object_count = 3};
    static const uint32_t owners[] = {
        0, 1, 2, 2, 1, 1, PSNAP_NONE, PSNAP_NONE, PSNAP_NONE, PSNAP_NONE, 0, PSNAP_NONE};
    struct recall recall;
    uint64_t low, end;

    assert_true(recall_init(&recall, &model, 0));
    for (uint32_t i = 0; i < sizeof owners / sizeof *owners; i++)
        assert_int_equal(recall_object_at(&recall, heap + 640 * i + 64, &low, &end), owners[i]);
    for (uint32_t object = 0; object < 2; object++)
        for (uint64_t time = 0; time < 20; time++) {
            bool is_first;
            const uint64_t address = recall_draw(&recall, object, REUSE_FIRST, time, &is_first);
            assert_int_equal(recall_object_at(&recall, address, &low, &end), object);
            assert_true(recall_touch(&recall, object, address, time));
        }
    assert_int_equal(recall.logs[0].alive_count, 20); /* all lines of the pool */
    assert_int_equal(recall.logs[1].alive_count, 20);
    recall_release(&recall);
}
