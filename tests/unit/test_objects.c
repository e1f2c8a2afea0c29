/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Data objects: which one an address is in, and the parts of memory that an object has, against a
 * list of announcements that is searched from its end. Of more parts than wanted, those with the
 * narrowest gaps between them become one.
 */
#include "tests/unit/test.h"

#include "formats/base/layout.h"
#include "formats/base/rng.h"
#include "profile/address/objects.h"

#define HEAP ((uint64_t)PSNAP_GROUP_HEAP * PSNAP_LAYOUT_WINDOW)

enum {
    CELL = 512, /* bytes: announcements begin and end at multiples */
    CELLS = 400,
    LARGE_CELLS = 4096 / CELL, /* smaller announcements are no objects */
    MADE = 60                  /* announcements */
};

static uint64_t address_of(uint64_t cell)
{
    return HEAP + cell * CELL;
}

static void announce(struct psnap_program *program, const char *name, uint64_t cell, uint64_t cells)
{
    const struct psnap_object object = {.address = address_of(cell),
                                        .size_bytes = cells * CELL,
                                        .name = name,
                                        .kind = PSNAP_OBJECT_ALLOCATION};

    assert_int_not_equal(psnap_program_add_object(program, &object), PSNAP_NONE);
}

static struct psnap_program *new_program(void)
{
    struct psnap_program *program = psnap_program_new();

    assert_non_null(program);
    return program;
}

/* ---- by hand ---- */

/* The parts of an object from cell `from` to cell `end`. */
static void assert_ranges(const struct objects *objects, uint32_t object, uint64_t from,
                          uint64_t end, size_t most, uint64_t (*cells)[2], size_t wanted)
{
    struct data_range *ranges;
    size_t count;

    assert_true(
        objects_ranges(objects, object, address_of(from), address_of(end), most, &ranges, &count));
    assert_int_equal(count, wanted);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(ranges[i].low, address_of(cells[i][0]));
        assert_int_equal(ranges[i].end, address_of(cells[i][1]));
        assert_int_equal(ranges[i].object, object);
    }
    free(ranges);
}

/* Three blocks of a site are objects, its fourth and fifth a pool; all else is around them. */
TEST(a_pool_and_all_else)
{
    struct psnap_program *program = new_program();
    struct objects objects = {0};
    uint32_t pool, rest;

    announce(program, "site", 10, 8);
    announce(program, "site", 20, 8);
    announce(program, "site", 30, 8);
    announce(program, "site", 50, 8);
    announce(program, "site", 60, 8);
    announce(program, "small", 80, 2); /* less than a page: of all else */
    pool = objects_at(&objects, program, address_of(50));
    rest = objects_at(&objects, program, address_of(0));
    assert_true(objects.objects[pool].is_pool);
    assert_null(objects.objects[rest].name);
    assert_int_equal(objects_at(&objects, program, address_of(67)), pool);
    assert_int_equal(objects_at(&objects, program, address_of(68)), rest);
    assert_int_equal(objects_at(&objects, program, address_of(80)), rest);
    assert_int_not_equal(objects_at(&objects, program, address_of(10)), pool);
    assert_ranges(&objects, pool, 0, 100, 9, (uint64_t[][2]){{50, 58}, {60, 68}}, 2);
    assert_ranges(&objects, pool, 0, 65, 9, (uint64_t[][2]){{50, 58}, {60, 65}}, 2);
    assert_ranges(&objects, pool, 0, 100, 1, (uint64_t[][2]){{50, 68}}, 1);
    assert_ranges(&objects, rest, 0, 100, 9,
                  (uint64_t[][2]){{0, 10}, {18, 20}, {28, 30}, {38, 50}, {58, 60}, {68, 100}}, 6);
    assert_ranges(&objects, rest, 0, 100, 3, /* gaps of 8 cells, all alike: the first three close */
                  (uint64_t[][2]){{0, 50}, {58, 60}, {68, 100}}, 3);
    announce(program, "late", 55, 16); /* hides the pool's second and third blocks */
    assert_int_not_equal(objects_at(&objects, program, address_of(60)), pool);
    assert_int_equal(objects_at(&objects, program, address_of(50)), rest);
    assert_ranges(&objects, pool, 0, 100, 9, NULL, 0);
    objects_release(&objects);
    psnap_program_free(program);
}

/* ---- at random ---- */

/* By cell, the announcement that it is in; -1: all else. A new one takes the place of all that it
 * overlaps, whole. */
struct oracle {
    int of[CELLS];
};

static void oracle_announce(struct oracle *oracle, int number, uint64_t cell, uint64_t cells)
{
    for (uint64_t i = cell; i < cell + cells; i++) {
        const int hidden = oracle->of[i];
        for (int k = 0; hidden >= 0 && k < CELLS; k++)
            oracle->of[k] = oracle->of[k] == hidden ? -1 : oracle->of[k];
    }
    for (uint64_t i = cell; cells >= LARGE_CELLS && i < cell + cells; i++)
        oracle->of[i] = number;
}

/* The parts of an object from cell to cell, narrowest gaps closed one by one; returns how many. */
static size_t oracle_parts(const uint32_t owners[CELLS], uint32_t object, size_t from, size_t to,
                           size_t most, uint64_t parts[CELLS][2])
{
    size_t count = 0;

    for (size_t i = from; i < to; i++) {
        if (owners[i] != object)
            continue;
        if (count && parts[count - 1][1] == i)
            parts[count - 1][1] = i + 1;
        else {
            parts[count][0] = i;
            parts[count++][1] = i + 1;
        }
    }
    while (count > most) {
        size_t best = 1;
        for (size_t i = 2; i < count; i++)
            if (parts[i][0] - parts[i - 1][1] < parts[best][0] - parts[best - 1][1])
                best = i;
        parts[best - 1][1] = parts[best][1];
        for (size_t i = best + 1; i < count; i++) {
            parts[i - 1][0] = parts[i][0];
            parts[i - 1][1] = parts[i][1];
        }
        count--;
    }
    return count;
}

TEST(ranges_are_those_of_the_list)
{
    static const char *const names[] = {"a", "b", "c", "d"};

    for (uint64_t seed = 0; seed < 300; seed++) {
        struct psnap_program *program = new_program();
        struct objects objects = {0};
        struct oracle oracle;
        uint32_t owners[CELLS];
        struct psnap_rng rng;
        psnap_rng_init(&rng, seed);
        for (int i = 0; i < CELLS; i++)
            oracle.of[i] = -1;
        for (int i = 0; i < MADE; i++) {
            const uint64_t cells = 1 + psnap_rng_below(&rng, 3 * LARGE_CELLS);
            const uint64_t cell = psnap_rng_below(&rng, CELLS - cells);
            announce(program, names[psnap_rng_below(&rng, 4)], cell, cells);
            oracle_announce(&oracle, i, cell, cells);
            if (!psnap_rng_below(&rng, 8)) /* not all are announced when the first is asked for */
                assert_int_not_equal(objects_at(&objects, program, HEAP), PSNAP_NONE);
        }
        for (int i = 0; i < CELLS; i++) {
            const struct data_object *object;
            owners[i] = objects_at(&objects, program, address_of((uint64_t)i) + (uint64_t)i % CELL);
            object = &objects.objects[owners[i]];
            if (oracle.of[i] < 0)
                assert_null(object->name);
            else
                assert_string_equal(object->name, program->objects[oracle.of[i]].name);
            if (i && oracle.of[i] >= 0 && oracle.of[i] == oracle.of[i - 1])
                assert_int_equal(owners[i], owners[i - 1]);
        }
        for (int turn = 0; turn < 30; turn++) {
            const uint32_t object = (uint32_t)psnap_rng_below(&rng, objects.count);
            const size_t from = psnap_rng_below(&rng, CELLS), most = 1 + psnap_rng_below(&rng, 8);
            const size_t to = from + psnap_rng_below(&rng, CELLS - from + 1);
            uint64_t parts[CELLS][2];
            const size_t wanted = oracle_parts(owners, object, from, to, most, parts);
            assert_ranges(&objects, object, from, to, most, parts, wanted);
        }
        objects_release(&objects);
        psnap_program_free(program);
    }
}
