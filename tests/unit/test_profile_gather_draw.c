/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is drawn from models of irregular references: the same for ever, and in whatever way the
 * work is cut up.
 */
#include "tests/unit/test_gather_support.h"

/* An area in which this and that is so, as `what` says; what it says of places that it has not is
 * there as well. */
static struct gather_area made_area(enum gather_places places, unsigned what)
{
    struct gather_area area = {.accesses = what & 32 ? 1000000 : 1000,
                               .base = BASE + 1040,
                               .span_bytes = 240000,
                               .element_bytes = what & 1 ? 8 : 24,
                               .places = places,
                               .part_count = what & 2 ? 5 : 1,
                               .parts = {{1, 1}},
                               .class_count = 1,
                               .classes = {{1, 1, 1}},
                               .fixed = what & 4 ? 0.3 : 0,
                               .lap = 777,
                               .same_order = what & 1,
                               .place_bytes = 240,
                               .downwards = what & 1,
                               .inside = 0.8,
                               .cursor_classes = 2,
                               .cursors = {{3, 0.25}, {100, 0.75}},
                               .cursor_step = what & 1 ? -8 : 24,
                               .sweep_bytes = what & 1 ? -480 : 240};

    if (what & 2)
        memcpy(area.parts,
               (struct gather_part[]){{0.2, 0.1}, {0.4, 0.5}, {0.6, 0.001}, {0.8, 0.199}, {1, 0.2}},
               5 * sizeof *area.parts);
    if (what & 4) {
        area.class_count = 3;
        memcpy(area.classes, (struct gather_class[]){{0.02, 0.3, 4}, {0.3, 0.5, 1}, {0.68, 0.2, 1}},
               3 * sizeof *area.classes);
    }
    if (what & 8) {
        area.step_count = 2;
        area.steps[0] = 24;
        area.steps[1] = -48;
        memcpy(area.next,
               what & 1
                   ? (double[3][GATHER_STEPS + 1]){{0.5, 0.3, 0.2}, {0.02, 0.9, 0.08}, {0.05, 0.95}}
                   : (double[3][GATHER_STEPS + 1]){{0.5, 0.3, 0.2}, {0.2, 0.7, 0.1}, {0.6, 0.4}},
               3 * sizeof *area.next);
    }
    if (what & 16)
        memcpy(area.echoes, (double[]){0, 0.1, 0, 0.05, 0, 0, 0, 0, 0, 0, 0, 0.2},
               12 * sizeof(double));
    for (int i = 0; i < GATHER_QUANTILES; i++)
        area.offsets[i] = (i - 7) * 40;
    area.knot_count = what & 1 ? GATHER_KNOTS : 0;
    for (int i = 0; i < GATHER_KNOTS; i++)
        area.knots[i] = (struct gather_reach){0.1 * i, 0.1 * i + 0.2};
    return area;
}

static uint64_t hash_of(const struct psnap_gather *model)
{
    uint64_t *addresses = drawn_from(model, 5, 20000), hash = 0;

    for (size_t i = 0; i < 20000; i++)
        hash = (hash ^ addresses[i]) * UINT64_C(0x100000001b3);
    free(addresses);
    return hash;
}

/* Same model, same seed, same addresses, whatever is done for speed: what was drawn when each was
 * drawn by itself. */
static void test_same_for_ever(void **state)
{
    static const uint64_t wanted[6] = {UINT64_C(0xdce370a27d1c0be0), UINT64_C(0x7f22ad0090443980),
                                       UINT64_C(0x7d9a0af66779fe00), UINT64_C(0x3434a3c2fd373a40),
                                       UINT64_C(0xa1ea0020fcdead80), UINT64_C(0xe0db0ba727f6b190)};
    (void)state;

    for (unsigned places = 0; places < 6; places++) {
        uint64_t hash = 0;
        for (unsigned what = 0; what < 64; what++) {
            struct psnap_gather model = {.accesses = 1000000, .area_count = 1};
            if (places == 5) { /* several, by chance or in turns */
                model.area_count = 4;
                model.turn_count = what & 32 ? 3 : 0;
                memcpy(model.turns, (struct gather_turn[]){{0, 5}, {3, 1}, {2, 900}},
                       3 * sizeof *model.turns);
                for (unsigned i = 0; i < 4; i++) {
                    model.areas[i] = made_area((what + i) % 5, what * (i + 1) % 64);
                    memcpy(model.next_area[i], (double[]){0.1, 0.6, 0.1, 0.2}, 4 * sizeof(double));
                }
            } else
                model.areas[0] = made_area((enum gather_places)places, what);
            hash = hash * 3 + hash_of(&model);
        }
        assert_int_equal(hash, wanted[places]);
    }
}

/* Jumps lead to the grid alone, in the same line, whatever the places; not out of the area. */
static void test_on_grid(void **state)
{
    enum { DRAWN = 20000 };

    (void)state;
    for (unsigned i = 0; i < 6 * 64; i++) {
        struct psnap_gather model = {.accesses = 1000000, .area_count = 1};
        struct gather_area *area = &model.areas[0];
        uint64_t *free_ones, *drawn;
        if (i % 6 == GATHER_SWEEP || i / 6 & (8 | 16)) /* no steps, no echoes */
            continue;
        *area = made_area(i % 6, i / 6 & ~1u);
        area->element_bytes = 8;
        free_ones = drawn_from(&model, 3, DRAWN);
        area->grid_bytes = 32;
        area->grid_start = 24;
        drawn = drawn_from(&model, 3, DRAWN);
        for (size_t k = 0; k < DRAWN; k++) {
            const uint64_t offset = drawn[k] - area->base;
            assert_int_equal(offset % 32, 24);
            assert_true(offset < area->span_bytes);
            if (offset > 32 && offset < area->span_bytes - 32)
                assert_int_equal(drawn[k] / 32, free_ones[k] / 32);
        }
        free(free_ones), free(drawn);
    }
}

/* What is known of lines that are used often is what is found out of others; also where a part is
 * less than a line. */
static void test_known(void **state)
{
    enum { DRAWN = 20000 };

    (void)state;
    for (unsigned what = 0; what < 16; what++) {
        struct psnap_gather model = {.accesses = 1000000, .area_count = 1};
        struct gather_area *area = &model.areas[0];
        uint64_t *known, *found;
        *area = made_area(GATHER_ANYWHERE, (what & 3) | 4);
        area->span_bytes = what & 4 ? 2400000 : 24000000; /* these are too many to be known */
        area->parts[1].end = area->parts[0].end + 1e-6;
        if (what & 8)
            area->classes[0] = (struct gather_class){0.00001, 0.3, 1}; /* not in each part */
        area->knot_count = 0;
        area->accesses = 10000000;
        known = drawn_from(&model, 3, DRAWN);
        area->accesses = 1000;
        found = drawn_from(&model, 3, DRAWN);
        assert_memory_equal(known, found, DRAWN * sizeof *known);
        free(known), free(found);
    }
}

/* Two walks of one model and seed, around an address that is the caller's. */
static void make_around(unsigned what, const uint64_t *last, struct gather_walk *walks[2])
{
    struct psnap_gather model = {.accesses = 1000000, .area_count = 1};

    model.areas[0] = made_area(GATHER_AROUND, what);
    for (int i = 0; i < 2; i++) {
        walks[i] = gather_walk_new(&model, 5);
        assert_non_null(walks[i]);
        gather_walk_around(walks[i], last, 1024);
    }
}

/* Around an address that does not change, one by one as when it does or all at once. */
static void test_around(void **state)
{
    enum { DRAWN = 5000 };
    const uint64_t last = BASE + 100000;
    uint64_t *at_once = malloc(DRAWN * sizeof *at_once);

    (void)state;
    assert_non_null(at_once);
    for (unsigned what = 0; what < 64; what++) {
        struct gather_walk *walks[2];
        make_around(what, &last, walks);
        gather_walk_next(walks[0], at_once, DRAWN);
        for (int i = 0; i < DRAWN; i++)
            assert_int_equal(gather_walk_take(walks[1]), at_once[i]);
        gather_walk_free(walks[0]), gather_walk_free(walks[1]);
    }
    free(at_once);
}

/* Around an address that moves at times, of which it is said when it rests. */
static void test_resting(void **state)
{
    (void)state;
    for (unsigned what = 0; what < 64; what++) {
        struct gather_walk *walks[2];
        uint64_t last = BASE + 100000;
        make_around(what, &last, walks);
        for (unsigned n = 0; n < 150; n++, last = BASE + 100000 + (n * 7919 % 10000) * 8) {
            gather_walk_rest(walks[0], n);
            for (unsigned i = 0; i < n; i++)
                assert_int_equal(gather_walk_take(walks[0]), gather_walk_take(walks[1]));
        }
        gather_walk_free(walks[0]), gather_walk_free(walks[1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_for_ever), cmocka_unit_test(test_known),
        cmocka_unit_test(test_on_grid),       cmocka_unit_test(test_around),
        cmocka_unit_test(test_resting),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
