/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cases small enough to work out by hand, the rates and sums that reports are
 * made of, what an access touches, and the errors of the comparison.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/layout.h"
#include "formats/base/rng.h"
#include "simcore/compare.h"
#include "simcore/scope.h"
#include "simcore/simcore.h"
#include "simcore/touched.h"

static struct psnap_program *program_with_refs(uint32_t n)
{
    struct psnap_program *program = psnap_program_new();

    assert_non_null(program);
    for (uint32_t i = 0; i < n; i++)
        psnap_program_add_ref(program, &(struct psnap_ref){.loop = PSNAP_NONE});
    return program;
}

struct step {
    uint64_t address;
    uint8_t size, kind;
    int8_t level;           /* that satisfies it, from 0; level_count: memory */
    uint8_t write_backs[3]; /* evicted for it */
};

/* Every step is a reference of its own, so its counts are its own. */
static void check_steps(const char *machine_text, const struct step *steps, uint32_t n)
{
    struct psnap_program *program = program_with_refs(n);
    struct psnap_machine machine;
    struct psnap_sink *sim;

    assert_int_equal(psnap_machine_find(machine_text, &machine, NULL), PSNAP_OK);
    sim = psnap_sim_new(&machine, 1, program, NULL, NULL);
    assert_non_null(sim);
    for (uint32_t i = 0; i < n; i++) {
        const struct psnap_access access = {steps[i].address, i, steps[i].size, steps[i].kind, 0};
        assert_int_equal(psnap_sink_put(sim, &access, 1, NULL), PSNAP_OK);
    }
    for (uint32_t i = 0; i < n; i++) {
        struct psnap_tally tally = {0};
        psnap_sim_add(sim, 0, PSNAP_SIM_REF, i, &tally);
        assert_int_equal(tally.accesses, 1);
        for (uint32_t level = 0; level < machine.level_count; level++) {
            if (tally.hits[level] != (steps[i].level == (int)level) ||
                tally.write_backs[level] != steps[i].write_backs[level])
                fail_msg("%s, step %u, level %u: %u hits, %u write-backs", machine_text, i,
                         level + 1, (unsigned)tally.hits[level],
                         (unsigned)tally.write_backs[level]);
        }
    }
    psnap_sink_free(sim);
    psnap_program_free(program);
}

#define CHECK(machine, steps) check_steps(machine, steps, sizeof steps / sizeof steps[0])
#define L PSNAP_LOAD
#define S PSNAP_STORE
#define A PSNAP_ATOMIC

static void least_recently_used_goes_first(void **state)
{
    /* one set of two ways, lines of 16 bytes */
    static const struct step steps[] = {
        {0x00, 4, L, 1, {0}}, {0x10, 4, L, 1, {0}}, {0x00, 4, L, 0, {0}}, {0x20, 4, L, 1, {0}},
        {0x0c, 4, L, 0, {0}}, {0x10, 4, L, 1, {0}}, {0x20, 4, L, 1, {0}},
    };

    (void)state;
    CHECK("32:16:2", steps);
}

static void line_zero_is_a_line_and_the_top_wraps(void **state)
{
    static const struct step steps[] = {
        {0, 1, L, 1, {0}},
        {0, 1, L, 0, {0}},
        {UINT64_MAX, 1, L, 1, {0}},
        {UINT64_MAX - 3, 8, L, 0, {0}}, /* the last line and line 0 */
    };

    (void)state;
    CHECK("64:16:full", steps);
    CHECK("1K:16:1", steps);
    CHECK("4K:16:full", steps); /* 256 ways: the listed representation */
}

static void sets_are_a_modulo(void **state)
{
    /* three sets, direct mapped: lines 0 and 3 share a set, 1 and 2 have their own */
    static const struct step steps[] = {
        {0, 8, L, 1, {0}},  {16, 8, L, 1, {0}}, {32, 8, L, 1, {0}}, {0, 8, L, 0, {0}},
        {48, 8, L, 1, {0}}, {0, 8, L, 1, {0}},  {16, 8, L, 0, {0}}, {32, 8, L, 0, {0}},
    };

    (void)state;
    CHECK("48:16:1", steps);
}

static void straddling_is_one_access_and_needs_all_its_lines(void **state)
{
    static const struct step steps[] = {
        {0x00, 8, L, 2, {0}},
        {0x0c, 8, L, 2, {0}}, /* line 0 hits, line 1 misses: a miss, of line 1 only */
        {0x0c, 8, L, 0, {0}},
        {0x08, 24, L, 0, {0}}, /* two lines, both there */
        {0x18, 64, L, 2, {0}}, /* lines 1 to 5, one of them there; the fifth evicts it */
        {0x10, 1, L, 1, {0}},
    };

    (void)state;
    CHECK("64:16:full,4K:16:full", steps);
}

static void only_missing_bytes_go_on(void **state)
{
    /*
     * Level 1 has two lines of 16 bytes, level 2 one line of 32. The last access
     * misses line 1 of level 1 only. Its bytes there are in level 2, its other
     * ones are not, but nobody asks level 2 for them: a hit.
     */
    static const struct step steps[] = {
        {0x20, 4, L, 2, {0}}, /* level 2 holds [0x20, 0x40) */
        {0x00, 4, L, 2, {0}}, /* level 2 holds [0x00, 0x20) */
        {0x20, 4, L, 0, {0}},
        {0x1c, 8, L, 1, {0}},
    };

    (void)state;
    CHECK("32:16:2,32:32:1", steps);
}

static void lines_of_the_next_level_may_be_smaller_or_larger(void **state)
{
    static const struct step narrow[] = {
        {0x00, 4, L, 2, {0}},                       /* a line of 64 in level 1, of 16 in level 2 */
        {0x30, 4, L, 0, {0}}, {0x40, 4, L, 2, {0}}, /* evicts level 1's only line */
        {0x00, 4, L, 1, {0}}, {0x40, 4, L, 1, {0}},
        {0x30, 4, L, 2, {0}}, /* was in level 1's line, but never asked of level 2 */
    };
    static const struct step wide[] = {
        {0x00, 4, L, 2, {0}},
        {0x20, 4, L, 1, {0}},
        {0x18, 16, L, 1, {0}},
        {0x38, 16, L, 2, {0}},
    };

    (void)state;
    CHECK("64:64:1,256:16:full", narrow);
    CHECK("64:16:full,256:64:full", wide);
}

static void dirty_lines_are_written_back_once(void **state)
{
    static const struct step steps[] = {
        {0x00, 4, S, 2, {0}},    {0x04, 4, L, 0, {0}},
        {0x10, 4, L, 2, {1, 0}}, /* level 1 evicts line 0, dirty; level 2 marks its copy */
        {0x20, 4, L, 2, {0, 1}}, /* level 1 evicts a clean line, level 2 the marked one */
        {0x00, 4, L, 2, {0, 0}}, /* clean again */
        {0x10, 4, A, 2, {0, 0}}, /* an atomic is a store */
        {0x30, 4, L, 2, {1, 0}}, {0x40, 4, L, 2, {0, 1}},
    };

    (void)state;
    CHECK("16:16:1,32:16:2", steps);
}

static void write_backs_do_not_refresh_or_allocate(void **state)
{
    /* Level 2 (two ways) holds 0 and 1, 0 older; 0's write-back must not make it newer. */
    static const struct step steps[] = {
        {0x00, 4, S, 2, {0}},    {0x10, 4, L, 2, {1, 0}}, /* writes 0 back */
        {0x20, 4, L, 2, {0, 1}}, /* 0 is the oldest of level 2, and dirty */
        {0x10, 4, S, 1, {0}},    {0x20, 4, L, 1, {1, 0}}, /* 1 in level 2 becomes dirty */
        {0x30, 4, L, 2, {0, 1}},                          /* and goes: it was used before 2 */
        {0x40, 4, S, 2, {0}},                             /* 2 goes from level 2, clean */
        {0x20, 4, S, 2, {1, 0}},
    };
    /* Level 2 lost the line before level 1 wrote it back: the dirt goes to level 3. */
    static const struct step passing[] = {
        {0x00, 4, S, 3, {0}},       {0x10, 4, L, 3, {0}}, /* level 2 now has line 1 only */
        {0x20, 4, L, 3, {1, 0, 0}}, /* level 1 evicts 0: not in level 2, dirty in level 3 */
        {0x00, 4, L, 2, {0, 0, 0}}, {0x30, 4, L, 3, {0, 0, 0}}, {0x40, 4, L, 3, {0, 0, 0}},
        {0x50, 4, L, 3, {0, 0, 0}}, {0x60, 4, L, 3, {0, 0, 1}}, /* line 0 leaves level 3 dirty */
    };

    (void)state;
    CHECK("16:16:1,32:16:2", steps);
    CHECK("32:16:2,16:16:1,64:16:4", passing);
}

/* ------------------------------------------------------------------- the sink */

static void nonsense_is_an_error_of_the_stream(void **state)
{
    static const struct psnap_access bad[] = {
        {0, 3, 8, L, 0}, {0, 0, 0, L, 0}, {0, 0, 65, L, 0}, {0, 0, 8, 3, 0}, {0, 0, 8, 255, 0}};
    struct psnap_program *program = program_with_refs(3);
    struct psnap_machine machine;

    (void)state;
    assert_int_equal(psnap_machine_find("1K:64:2", &machine, NULL), PSNAP_OK);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const struct psnap_access block[] = {{0, 2, 64, A, 65535}, bad[i]};
        struct psnap_sink *sim = psnap_sim_new(&machine, 1, program, NULL, NULL);
        struct psnap_error error;

        assert_int_equal(psnap_sink_put(sim, block, 1, &error), PSNAP_OK);
        assert_int_equal(psnap_sim_threads(sim), 1);
        assert_int_equal(psnap_sink_put(sim, block, 2, &error), PSNAP_ERROR_VALUE);
        assert_non_null(strstr(error.message, "access 2 of the stream"));
        assert_int_equal(psnap_sim_accesses(sim), 1);
        assert_int_equal(psnap_sink_put(sim, (struct psnap_access[]){{0, 0, 1, L, 64}}, 1, NULL),
                         PSNAP_OK);
        assert_int_equal(psnap_sink_put(sim, (struct psnap_access[]){{0, 0, 1, L, 0}}, 1, NULL),
                         PSNAP_OK);
        assert_int_equal(psnap_sim_threads(sim), 3);
        psnap_sink_free(sim);
    }
    psnap_program_free(program);
}

static void programs_may_grow_between_blocks(void **state)
{
    struct psnap_program *program = program_with_refs(1);
    struct psnap_machine machine;
    struct psnap_sink *sim;
    struct psnap_tally tally = {0};

    (void)state;
    assert_int_equal(psnap_machine_find("1K:64:2", &machine, NULL), PSNAP_OK);
    sim = psnap_sim_new(&machine, 1, program, NULL, NULL);
    for (uint32_t i = 0; i < 1000; i++) {
        const struct psnap_access access = {0, i, 8, L, 0};
        assert_int_equal(psnap_sink_put(sim, &access, 1, NULL), PSNAP_OK);
        psnap_program_add_ref(program, &(struct psnap_ref){0});
    }
    assert_int_equal(psnap_sim_rows(sim, PSNAP_SIM_REF), 1000);
    assert_int_equal(psnap_sim_rows(sim, PSNAP_SIM_THREAD), 0);
    assert_int_equal(psnap_sim_accesses(sim), 1000);
    psnap_sim_add(sim, 0, PSNAP_SIM_REF, 1000, &tally);
    assert_int_equal(tally.accesses, 0);
    psnap_sim_add_total(sim, 0, &tally);
    assert_int_equal(tally.accesses, 1000);
    assert_int_equal(tally.hits[0], 999);
    psnap_sink_free(sim);
    psnap_program_free(program);
}

static void references_come_in_any_order(void **state)
{
    enum { REFS = 10000, EVERY = 100 };
    struct psnap_program *program = program_with_refs(REFS);
    struct psnap_machine machine;
    struct psnap_sink *sim;

    (void)state;
    assert_int_equal(psnap_machine_find("1K:64:2", &machine, NULL), PSNAP_OK);
    sim = psnap_sim_new(&machine, 1, program, NULL, NULL);
    for (uint32_t ref = REFS - EVERY; ref > 0; ref -= EVERY)
        for (uint32_t i = 0; i < ref / EVERY; i++) {
            const struct psnap_access access = {64 * ref, ref, 8, L, 0};
            assert_int_equal(psnap_sink_put(sim, &access, 1, NULL), PSNAP_OK);
        }
    assert_int_equal(psnap_sim_rows(sim, PSNAP_SIM_REF), REFS - EVERY + 1);
    for (uint32_t ref = 0; ref < REFS; ref++) {
        const uint32_t times = ref % EVERY ? 0 : ref / EVERY;
        struct psnap_tally tally = {0};
        psnap_sim_add(sim, 0, PSNAP_SIM_REF, ref, &tally);
        assert_int_equal(tally.accesses, times);
        assert_int_equal(tally.hits[0], times ? times - 1 : 0);
    }
    psnap_sink_free(sim);
    psnap_program_free(program);
}

static void rates_follow_from_counts(void **state)
{
    const struct psnap_tally tally = {.accesses = 100, .hits = {80, 15, 0}};
    const struct psnap_tally all = {.accesses = 5, .hits = {5}}, none = {0};

    (void)state;
    assert_int_equal(psnap_tally_reached(&tally, 0), 100);
    assert_int_equal(psnap_tally_reached(&tally, 1), 20);
    assert_int_equal(psnap_tally_reached(&tally, 2), 5);
    assert_true(psnap_tally_hit_rate(&tally, 1) == 0.75);
    assert_true(psnap_tally_hit_rate(&tally, 2) == 0);
    assert_true(psnap_tally_cumulative(&tally, 1) == 0.95);
    assert_true(psnap_tally_cumulative(&all, 1) == 1);
    assert_true(isnan(psnap_tally_hit_rate(&all, 1)));
    assert_true(isnan(psnap_tally_cumulative(&none, 0)));
}

/* ------------------------------------------------------ rows, and what is touched */

/* Loops: f (pseudo), f:1 in two parts, f:2; a block and two refs in each, refs 2i and 2i + 1. */
static struct psnap_program *program_with_loops(void)
{
    static const char *const ids[][2] = {
        {"f", "f"}, {"f:1.vector", "f:1"}, {"f:2", "f:2"}, {"f:1.rest", "f:1"}};
    struct psnap_program *program = psnap_program_new();

    for (uint32_t i = 0; i < 4; i++) {
        const struct psnap_loop loop = {.id = ids[i][0],
                                        .src_id = ids[i][1],
                                        .function = "f",
                                        .file = "f.c",
                                        .src_line = i + 1};
        psnap_program_add_loop(program, &loop);
        psnap_program_add_block(program, &(struct psnap_block){.loop = i});
        psnap_program_add_ref(program, &(struct psnap_ref){.block = i, .loop = i});
        psnap_program_add_ref(program,
                              &(struct psnap_ref){.block = i, .loop = i, .object = "known"});
    }
    return program;
}

static void put(struct psnap_sink *sim, uint32_t ref, uint64_t address, int times)
{
    for (int i = 0; i < times; i++) {
        const struct psnap_access access = {address, ref, 8, L, (uint16_t)(ref % 2)};
        assert_int_equal(psnap_sink_put(sim, &access, 1, NULL), PSNAP_OK);
    }
}

static void assert_row(const struct scope_rows *rows, size_t index, const char *id,
                       const char *name, uint64_t accesses)
{
    assert_true(index < rows->count);
    assert_string_equal(rows->rows[index].id, id);
    assert_string_equal(rows->rows[index].name, name);
    assert_int_equal(rows->rows[index].tallies[0].accesses, accesses);
}

static void parts_of_a_loop_are_one_row(void **state)
{
    struct psnap_program *program = program_with_loops();
    const struct psnap_sim_options options = {.by_thread = true};
    struct psnap_machine machine;
    struct psnap_sink *sim;
    struct scope_rows rows;

    (void)state;
    assert_int_equal(psnap_machine_find("1K:64:2", &machine, NULL), PSNAP_OK);
    sim = psnap_sim_new(&machine, 1, program, &options, NULL);
    put(sim, 2, 0, 5);  /* f:1.vector */
    put(sim, 7, 0, 3);  /* f:1.rest */
    put(sim, 4, 0, 10); /* f:2 */
    assert_int_equal(scope_rows_init(&rows, SCOPE_LOOP, sim, 1, program, NULL, NULL), PSNAP_OK);
    assert_int_equal(rows.count, 2); /* none for f: it has no accesses */
    assert_row(&rows, 0, "f:2", "f f.c:3", 10);
    assert_row(&rows, 1, "f:1", "f f.c:2", 8);
    scope_rows_release(&rows);
    assert_int_equal(scope_rows_init(&rows, SCOPE_BLOCK, sim, 1, program, NULL, NULL), PSNAP_OK);
    assert_int_equal(rows.count, 3);
    assert_row(&rows, 1, "b1", "f:1.vector", 5);
    assert_row(&rows, 2, "b3", "f:1.rest", 3);
    scope_rows_release(&rows);
    assert_int_equal(scope_rows_init(&rows, SCOPE_THREAD, sim, 1, program, NULL, NULL), PSNAP_OK);
    assert_int_equal(rows.count, 2);
    assert_row(&rows, 0, "0", "thread 0", 15);
    assert_row(&rows, 1, "1", "thread 1", 3);
    scope_rows_release(&rows);
    psnap_sink_free(sim);
    sim = psnap_sim_new(&machine, 1, program, NULL, NULL);
    assert_int_equal(scope_rows_init(&rows, SCOPE_TOTAL, sim, 1, program, NULL, NULL), PSNAP_OK);
    assert_int_equal(rows.count, 1); /* also of nothing */
    assert_row(&rows, 0, "total", "all", 0);
    scope_rows_release(&rows);
    psnap_sink_free(sim);
    psnap_program_free(program);
}

static void add_object(struct psnap_program *program, uint64_t address, uint64_t size,
                       const char *name)
{
    const struct psnap_object object = {address, size, psnap_program_string(program, name),
                                        PSNAP_OBJECT_GLOBAL};
    psnap_program_add_object(program, &object);
}

static void assert_touches(struct touched *touched, uint32_t ref, uint64_t address,
                           const char *loop, const char *object)
{
    const struct psnap_access access = {address, ref, 8, L, 0};
    const struct touched_row *rows;
    uint32_t row, count;

    assert_int_equal(touched_tag(touched, &access, 1, &row, NULL), PSNAP_OK);
    rows = touched_rows(touched, &count);
    assert_true(row < count);
    assert_string_equal(rows[row].loop, loop);
    assert_string_equal(rows[row].object, object);
}

static void accesses_know_what_they_touch(void **state)
{
    struct psnap_program *program = program_with_loops();
    struct touched *touched = touched_new(program);
    const uint64_t heap = 2 * PSNAP_LAYOUT_WINDOW;
    uint32_t count;

    (void)state;
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
    touched_rows(touched, &count);
    assert_int_equal(count, 11);
    touched_free(touched);
    psnap_program_free(program);
}

/* Against psnap_program_find_object, which looks through all objects. */
static void ranges_agree_with_a_search(void **state)
{
    struct psnap_rng rng;

    (void)state;
    psnap_rng_init(&rng, 5);
    for (int round = 0; round < 50; round++) {
        struct psnap_program *program = program_with_loops();
        struct touched *touched = touched_new(program);

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
        touched_free(touched);
        psnap_program_free(program);
    }
}

/* ------------------------------------------------------------- the comparison */

static void side_of(struct compare_side *side, struct psnap_program *program,
                    const struct psnap_machine *machines, size_t n, const int *misses_and_hits)
{
    struct psnap_sink *sim = psnap_sim_new(machines, n, program, NULL, NULL);
    uint64_t address = 0;

    for (uint32_t loop = 0; loop < 4; loop++) {
        for (int i = 0; i < misses_and_hits[2 * loop]; i++)
            put(sim, 2 * loop, address += 4096, 1);
        put(sim, 2 * loop, address, misses_and_hits[2 * loop + 1]);
    }
    *side = (struct compare_side){.path = "x", .accesses = psnap_sim_accesses(sim)};
    assert_int_equal(scope_rows_init(&side->total, SCOPE_TOTAL, sim, n, program, NULL, NULL), 0);
    assert_int_equal(scope_rows_init(&side->loops, SCOPE_LOOP, sim, n, program, NULL, NULL), 0);
    psnap_sink_free(sim);
}

static const struct compare_row *row_of(const struct compare *compare, size_t machine,
                                        const char *id)
{
    for (size_t i = 0; i < compare->count; i++)
        if (compare->rows[i].machine == machine && !strcmp(compare->rows[i].id, id))
            return &compare->rows[i];
    fail_msg("no row '%s'", id);
    return NULL;
}

static bool near(double a, double b)
{
    return fabs(a - b) < 1e-9;
}

/* What a program with many small allocations announces, the highest address first. */
static void many_objects_are_no_burden(void **state)
{
    enum { COUNT = 1 << 18 };
    struct psnap_program *program = program_with_loops();
    struct touched *touched = touched_new(program);
    const char *const name = psnap_program_string(program, "small");

    (void)state;
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
    touched_free(touched);
    psnap_program_free(program);
}

static void errors_are_as_defined(void **state)
{
    /* misses and hits in f, f:1.vector, f:2, f:1.rest; every miss goes to memory */
    static const int observed_counts[] = {1, 2, 50, 350, 10, 487, 50, 50};
    static const int synthetic_counts[] = {2, 1, 100, 400, 0, 0, 0, 0};
    struct psnap_program *program = program_with_loops();
    struct psnap_machine machines[2];
    struct compare_side observed, synthetic;
    struct compare compare;
    const struct compare_row *row;

    (void)state;
    assert_int_equal(psnap_machine_find("1K:64:2", &machines[0], NULL), PSNAP_OK);
    assert_int_equal(psnap_machine_find("1K:64:2,8K:64:4", &machines[1], NULL), PSNAP_OK);
    side_of(&observed, program, machines, 2, observed_counts);
    side_of(&synthetic, program, machines, 2, synthetic_counts);
    assert_int_equal(compare_init(&compare, machines, 2, &observed, &synthetic, NULL), PSNAP_OK);
    assert_int_equal(compare.count, 8);
    assert_int_equal(compare.relevant_loops, 2);
    assert_int_equal(compare.missing_loops, 1);
    row = row_of(&compare, 1, "f:1"); /* 400 of 500 hit, and the same */
    assert_true(row->relevant && near(row->share, 0.5));
    assert_true(near(row->levels[0].observed, 0.8) && near(row->levels[1].synthetic, 0.8));
    assert_true(near(row->levels[0].error_points, 0));
    assert_true(near(row->levels[0].relative_miss_error, 0));
    row = row_of(&compare, 0, "f:2"); /* lost */
    assert_true(row->relevant && !row->in_synthetic && isnan(row->levels[0].synthetic));
    assert_true(near(row->levels[0].error_points, 100));
    assert_true(isnan(row->levels[0].relative_miss_error));
    row = row_of(&compare, 0, "f"); /* 3 of 1000: not relevant, whatever its error */
    assert_false(row->relevant);
    assert_true(near(row->levels[0].error_points, 100.0 / 3));
    assert_true(near(row->levels[0].relative_miss_error, 1));
    row = row_of(&compare, 1, "total"); /* 889 of 1000 and 401 of 503 */
    assert_true(near(row->levels[0].error_points, 100 * (0.889 - 401.0 / 503)));
    assert_true(near(row->levels[0].relative_miss_error, 9.0 / 111));
    assert_int_equal(compare.levels, 2);
    for (int level = 0; level < 2; level++) {
        assert_true(near(compare.mean_points[level], 50));
        assert_true(near(compare.max_points[level], 100));
        assert_true(near(compare.total_points[level], 100 * (0.889 - 401.0 / 503)));
    }
    for (size_t i = 1; i < compare.count; i++)
        assert_true(compare.rows[i].worst_points <= compare.rows[i - 1].worst_points);
    compare_release(&compare);
    /* the other way round f:2 is only synthetic, and still counts */
    assert_int_equal(compare_init(&compare, machines, 2, &synthetic, &observed, NULL), PSNAP_OK);
    row = row_of(&compare, 0, "f:2");
    assert_true(row->relevant && !row->in_observed && near(row->share, 0));
    assert_true(near(row->levels[0].error_points, 100));
    assert_true(near(compare.mean_points[0], (100 + 0 + 100.0 / 3) / 3));
    compare_release(&compare);
    scope_rows_release(&observed.total);
    scope_rows_release(&observed.loops);
    scope_rows_release(&synthetic.total);
    scope_rows_release(&synthetic.loops);
    psnap_program_free(program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(least_recently_used_goes_first),
        cmocka_unit_test(line_zero_is_a_line_and_the_top_wraps),
        cmocka_unit_test(sets_are_a_modulo),
        cmocka_unit_test(straddling_is_one_access_and_needs_all_its_lines),
        cmocka_unit_test(only_missing_bytes_go_on),
        cmocka_unit_test(lines_of_the_next_level_may_be_smaller_or_larger),
        cmocka_unit_test(dirty_lines_are_written_back_once),
        cmocka_unit_test(write_backs_do_not_refresh_or_allocate),
        cmocka_unit_test(nonsense_is_an_error_of_the_stream),
        cmocka_unit_test(programs_may_grow_between_blocks),
        cmocka_unit_test(references_come_in_any_order),
        cmocka_unit_test(rates_follow_from_counts),
        cmocka_unit_test(parts_of_a_loop_are_one_row),
        cmocka_unit_test(accesses_know_what_they_touch),
        cmocka_unit_test(ranges_agree_with_a_search),
        cmocka_unit_test(many_objects_are_no_burden),
        cmocka_unit_test(errors_are_as_defined),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
