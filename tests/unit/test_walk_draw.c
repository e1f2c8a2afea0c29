/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Draws from reuse histograms: each bin is drawn as often as its count says, phase by phase, and
 * first touches come in the octaves of executions that the weights name, or as soon after these as
 * there are executions.
 */
#include "tests/unit/test.h"

#include "formats/base/program.h"
#include "profile/walk/draw.h"

enum { LINES = 1000, LOW = 1 << 20, PHASES = 4, WIDTH = 250, EXECUTIONS = PHASES * WIDTH };

static char name[] = "x";

/* What a replay has drawn: the object of each access, and whether it was the first to its line. */
struct drawn {
    uint32_t objects[EXECUTIONS];
    bool firsts[EXECUTIONS];
};

/* Of a reference with a histogram for each object. */
static void draw_all(struct model_object *objects, struct reuse *reuses, uint32_t count,
                     uint64_t seed, struct drawn *drawn)
{
    struct model_ref ref = {.rule = MODEL_REUSE,
                            .size = 8,
                            .executions = EXECUTIONS,
                            .reuses = reuses,
                            .reuse_count = count,
                            .phases = PHASES};
    const struct psnap_stream_model model = {
        .objects = objects, .object_count = count, .refs = &ref, .ref_count = 1};
    static const uint32_t numbers[PHASES] = {0, 1, 2, 3};
    static bool is_touched[PHASES * LINES];
    struct recall recall;
    struct draw draw;
    struct psnap_rng rng;

    memset(is_touched, 0, sizeof is_touched);
    psnap_rng_init(&rng, seed);
    assert_true(recall_init(&recall, &model, seed));
    assert_true(draw_init(&draw, &ref, numbers));
    for (uint64_t i = 0; i < EXECUTIONS; i++) {
        const uint64_t address = draw_address(&draw, &ref, &recall, i, &rng);
        const uint64_t line = (address - LOW) / REUSE_LINE;
        assert_in_range(line, 0, count * LINES - 1);
        drawn->objects[i] = (uint32_t)(line / LINES);
        drawn->firsts[i] = !is_touched[line];
        is_touched[line] = true;
        assert_true(recall_touch(&recall, drawn->objects[i], address, i));
        recall.recent[i % RECALL_RECENT] = address;
    }
    assert_int_equal(draw.left_sum, 0);
    assert_int_equal(draw.firsts_left, 0);
    draw_release(&draw);
    recall_release(&recall);
}

/* First touches of the first `executions` accesses. */
static uint64_t firsts_until(const struct drawn *drawn, uint64_t executions)
{
    uint64_t count = 0;

    for (uint64_t i = 0; i < executions; i++)
        count += drawn->firsts[i];
    return count;
}

/* One object, with first touches in the first phase alone or in all. The weights put them early, at
 * the end of the first phase, behind its end, or behind the last execution: then they come at the
 * end of the first phase. What does not fit into an octave comes in the next ones. */
TEST(first_touches_all_come)
{
    static const struct {
        uint32_t octave, phases_with_firsts;
        uint64_t none_before, all_until; /* executions; of one phase with first touches */
    } cases[] = {{0, 1, 0, 127},      {5, 1, 31, 255},   {7, 1, 127, WIDTH}, {9, 1, 127, WIDTH},
                 {20, 1, 127, WIDTH}, {7, PHASES, 0, 0}, {8, PHASES, 0, 0},  {9, PHASES, 0, 0}};

    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (uint64_t seed = 0; seed < 20; seed++) {
            struct model_object object = {.name = name, .low = LOW, .bytes = LINES * REUSE_LINE};
            struct reuse_bin_count bins[2 * PHASES];
            struct reuse reuse = {.bins = bins};
            struct drawn drawn;
            for (uint32_t p = 0; p < PHASES; p++) {
                const uint64_t firsts = p < cases[c].phases_with_firsts ? 100 : 0;
                bins[reuse.bin_count++] = (struct reuse_bin_count){p, 20, WIDTH - firsts};
                if (firsts)
                    bins[reuse.bin_count++] = (struct reuse_bin_count){p, REUSE_FIRST, firsts};
            }
            reuse.when[cases[c].octave] = 1;
            draw_all(&object, &reuse, 1, seed, &drawn);
            /* A reuse before the first first touch has nothing to reuse and is one, too. */
            assert_in_range(firsts_until(&drawn, EXECUTIONS), 100 * cases[c].phases_with_firsts,
                            100 * cases[c].phases_with_firsts + 1);
            if (cases[c].phases_with_firsts == 1) {
                assert_in_range(firsts_until(&drawn, cases[c].none_before), 0, 1);
                assert_true(firsts_until(&drawn, cases[c].all_until) >= 100);
            }
        }
}

/* A profile edited by hand: the first phase has more first touches than executions. Those that are
 * left over come right behind it. */
TEST(first_touches_outgrow_the_phase)
{
    struct model_object object = {.name = name, .low = LOW, .bytes = LINES * REUSE_LINE};
    struct reuse_bin_count bins[] = {
        {0, REUSE_FIRST, 2 * WIDTH - 10}, {1, 20, 10}, {2, 20, WIDTH}, {3, 20, WIDTH}};
    struct reuse reuse = {.bins = bins, .bin_count = 4, .when = {1, 2, 3}};
    struct drawn drawn;

    draw_all(&object, &reuse, 1, 0, &drawn);
    assert_int_equal(firsts_until(&drawn, 2 * WIDTH - 10), 2 * WIDTH - 10);
    assert_int_equal(firsts_until(&drawn, EXECUTIONS), 2 * WIDTH - 10);
}

/* An object for each phase: the phases come in their order, also when a timed first touch is the
 * very first access. */
TEST(phases_come_in_order)
{
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct model_object objects[PHASES];
        struct reuse_bin_count bins[PHASES][2];
        struct reuse reuses[PHASES];
        struct drawn drawn;
        for (uint32_t p = 0; p < PHASES; p++) {
            objects[p] = (struct model_object){.name = name,
                                               .low = LOW + (uint64_t)p * LINES * REUSE_LINE,
                                               .bytes = LINES * REUSE_LINE};
            bins[p][0] = (struct reuse_bin_count){p, 20, WIDTH - 100};
            bins[p][1] = (struct reuse_bin_count){p, REUSE_FIRST, 100};
            reuses[p] =
                (struct reuse){.object = p, .bins = bins[p], .bin_count = 2, .when = {1, 1, 1, 1}};
        }
        draw_all(objects, reuses, PHASES, seed, &drawn);
        for (uint32_t i = 0; i < EXECUTIONS; i++)
            assert_int_equal(drawn.objects[i], i / WIDTH);
        /* The first reuse in an object of which nothing was touched is a first touch, too. */
        assert_in_range(firsts_until(&drawn, EXECUTIONS), 100 * PHASES, 101 * PHASES);
    }
}
