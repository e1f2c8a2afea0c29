/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an access touches: objects that hide one another, groups of the layout
 * where there are none, and many of them.
 */
#include "formats/base/layout.h"
#include "formats/base/rng.h"
#include "formats/base/touched.h"
#include "tests/unit/test_simcore_support.h"
#include "tests/unit/test.h"

static void add_object(struct psnap_program *program, uint64_t address, uint64_t size,
                       const char *name)
{
    const struct psnap_object object = {address, size, psnap_program_string(program, name),
                                        PSNAP_OBJECT_GLOBAL};
    psnap_program_add_object(program, &object);
}

static void assert_touches(struct psnap_touched *touched, uint32_t ref, uint64_t address,
                           const char *loop, const char *object)
{
    const struct psnap_access access = {address, ref, 8, PSNAP_LOAD, 0};
    const struct psnap_touched_row *rows;
    uint32_t row, count;

    assert_int_equal(psnap_touched_tag(touched, &access, 1, &row, NULL), PSNAP_OK);
    rows = psnap_touched_rows(touched, &count);
    assert_true(row < count);
    assert_string_equal(rows[row].loop, loop);
    assert_string_equal(rows[row].object, object);
}

TEST(accesses_know_what_they_touch)
{
    struct psnap_program *program = program_with_loops();
    struct psnap_touched *touched = psnap_touched_new(program);
    const uint64_t heap = 2 * PSNAP_LAYOUT_WINDOW;
    uint32_t count;

    assert_touches(touched, 0, heap, "f", "(heap)");
    assert_touches(touched, 1, heap, "f", "known"); /* the reference knows */
    assert_touches(touched, 0, heap * 2, "f", "(stack)");
    /* one reference on both sides of where the layout changes, with no object near */
    assert_touches(touched, 0, heap + PSNAP_LAYOUT_WINDOW, "f", "(mmap)");
    assert_touches(touched, 0, heap + PSNAP_LAYOUT_WINDOW - 1, "f", "(heap)");
    assert_touches(touched, 0, heap, "f", "(heap)");
    assert_touches(touched, 0, heap - 1, "f", "(image)");
    assert_touches(touched, 0, heap + PSNAP_LAYOUT_WINDOW - 1, "f", "(heap)");
    assert_touches(touched, 0, heap + PSNAP_LAYOUT_WINDOW, "f", "(mmap)");
    add_object(program, heap, 100, "a");
    add_object(program, heap + 40, 20, "b"); /* hides the middle of a */
    assert_touches(touched, 0, heap, "f", "a");
    assert_touches(touched, 0, heap + 39, "f", "a");
    assert_touches(touched, 0, heap + 40, "f", "b");
    assert_touches(touched, 0, heap + 60, "f", "a");
    assert_touches(touched, 0, heap + 100, "f", "(heap)");
    assert_touches(touched, 0, heap - 1, "f", "(image)");
    add_object(program, heap, 100, "c"); /* the memory is used again */
    assert_touches(touched, 0, heap + 50, "f", "c");
    assert_touches(touched, 2, heap + 50, "f:1", "c");
    assert_touches(touched, 6, heap + 99, "f:1", "c"); /* the other part of the loop */
    add_object(program, UINT64_MAX - 9, 100, "at the top");
    assert_touches(touched, 0, UINT64_MAX, "f", "at the top");
    assert_touches(touched, 0, 0, "f", "(unknown)");
    psnap_touched_rows(touched, &count);
    assert_int_equal(count, 11);
    psnap_touched_free(touched);
    psnap_program_free(program);
}

/* Against psnap_program_find_object, which looks through all objects. */
TEST(ranges_agree_with_a_search)
{
    struct psnap_rng rng;

    psnap_rng_init(&rng, 5);
    for (int round = 0; round < 50; round++) {
        struct psnap_program *program = program_with_loops();
        struct psnap_touched *touched = psnap_touched_new(program);

        for (int i = 0; i < 200; i++) {
            const uint64_t address = psnap_rng_below(&rng, 1000);
            const struct psnap_object *object;
            char name[16];

            for (uint64_t n = psnap_rng_below(&rng, 3); n > 0; n--) { /* none to two at once */
                snprintf(name, sizeof name, "o%d", (int)psnap_rng_below(&rng, 20));
                add_object(program, psnap_rng_below(&rng, 1000), psnap_rng_below(&rng, 300), name);
            }
            object = psnap_program_find_object(program, address);
            assert_touches(touched, 0, address, "f", object ? object->name : "(unknown)");
        }
        psnap_touched_free(touched);
        psnap_program_free(program);
    }
}

/* What a program with many small allocations announces, the highest address first. */
TEST(many_objects_are_no_burden)
{
    enum { COUNT = 1 << 18 };
    struct psnap_program *program = program_with_loops();
    struct psnap_touched *touched = psnap_touched_new(program);
    const char *const name = psnap_program_string(program, "small");

    for (uint64_t i = COUNT; i-- > 0;) {
        const struct psnap_object object = {32 * i, 16, name, PSNAP_OBJECT_ALLOCATION};
        psnap_program_add_object(program, &object);
        if (i % 4096 == 0) {
            assert_touches(touched, 0, 32 * i, "f", "small");
            assert_touches(touched, 0, 32 * i + 16, "f", "(unknown)");
        }
    }
    add_object(program, 0, 32 * COUNT, "large"); /* hides them all */
    assert_touches(touched, 0, 0, "f", "large");
    assert_touches(touched, 0, 32 * COUNT - 1, "f", "large");
    psnap_touched_free(touched);
    psnap_program_free(program);
}
