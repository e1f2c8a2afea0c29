/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The simulator: cases small enough to work out by hand, the stream it takes,
 * and the rates and sums that reports are made of.
 */
#include <math.h>

#include "tests/unit/test_simcore_support.h"

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
    const struct psnap_machine machine = machine_of(machine_text);
    struct psnap_sink *sim = psnap_sim_new(&machine, 1, program, NULL, NULL);

    assert_non_null(sim);
    for (uint32_t i = 0; i < n; i++) {
        const struct psnap_access access = {steps[i].address, i, steps[i].size, steps[i].kind, 0};
        assert_int_equal(psnap_sink_put(sim, &access, 1, NULL), PSNAP_OK);
    }
    for (uint32_t i = 0; i < n; i++) {
        struct psnap_tally tally = {0};
        psnap_sim_add(sim, 0, PSNAP_VIEW_REF, i, &tally);
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

TEST(straddling_is_one_access_and_needs_all_its_lines)
{
    static const struct step steps[] = {
        {0x00, 8, L, 2, {0}},
        {0x0c, 8, L, 2, {0}}, /* line 0 hits, line 1 misses: a miss, of line 1 only */
        {0x0c, 8, L, 0, {0}},
        {0x08, 24, L, 0, {0}}, /* two lines, both there */
        {0x18, 64, L, 2, {0}}, /* lines 1 to 5, one of them there; the fifth evicts it */
        {0x10, 1, L, 1, {0}},
    };

    CHECK("64:16:full,4K:16:full", steps);
}

TEST(only_missing_bytes_go_on)
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

    CHECK("32:16:2,32:32:1", steps);
}

TEST(lines_of_the_next_level_may_be_smaller_or_larger)
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

    CHECK("64:64:1,256:16:full", narrow);
    CHECK("64:16:full,256:64:full", wide);
}

TEST(dirty_lines_are_written_back_once)
{
    static const struct step steps[] = {
        {0x00, 4, S, 2, {0}},    {0x04, 4, L, 0, {0}},
        {0x10, 4, L, 2, {1, 0}}, /* level 1 evicts line 0, dirty; level 2 marks its copy */
        {0x20, 4, L, 2, {0, 1}}, /* level 1 evicts a clean line, level 2 the marked one */
        {0x00, 4, L, 2, {0, 0}}, /* clean again */
        {0x10, 4, A, 2, {0, 0}}, /* an atomic is a store */
        {0x30, 4, L, 2, {1, 0}}, {0x40, 4, L, 2, {0, 1}},
    };

    CHECK("16:16:1,32:16:2", steps);
}

TEST(write_backs_do_not_refresh_or_allocate)
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

    CHECK("16:16:1,32:16:2", steps);
    CHECK("32:16:2,16:16:1,64:16:4", passing);
}

/* ------------------------------------------------------------------- the sink */

TEST(nonsense_is_an_error_of_the_stream)
{
    static const struct psnap_access bad[] = {
        {0, 3, 8, L, 0}, {0, 0, 0, L, 0}, {0, 0, 65, L, 0}, {0, 0, 8, 3, 0}, {0, 0, 8, 255, 0}};
    struct psnap_program *program = program_with_refs(3);
    const struct psnap_machine machine = machine_of("1K:64:2");

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

/* References of a program that grows, in any order. */
TEST(references_come_in_any_order)
{
    enum { REFS = 10000, EVERY = 100 };
    struct psnap_program *program = program_with_refs(1);
    const struct psnap_machine machine = machine_of("1K:64:2");
    struct psnap_sink *sim = psnap_sim_new(&machine, 1, program, NULL, NULL);

    assert_int_equal(psnap_sink_put(sim, (struct psnap_access[]){{0, 0, 8, L, 0}}, 1, NULL),
                     PSNAP_OK);
    while (psnap_program_add_ref(program, &(struct psnap_ref){0}) < REFS - 1)
        ;
    for (uint32_t ref = REFS - EVERY; ref > 0; ref -= EVERY)
        for (uint32_t i = 0; i < ref / EVERY; i++) {
            const struct psnap_access access = {64 * ref, ref, 8, L, 0};
            assert_int_equal(psnap_sink_put(sim, &access, 1, NULL), PSNAP_OK);
        }
    assert_int_equal(psnap_sim_rows(sim, PSNAP_VIEW_REF), REFS - EVERY + 1);
    assert_int_equal(psnap_sim_rows(sim, PSNAP_VIEW_THREAD), 0);
    for (uint32_t ref = 0; ref < REFS; ref++) {
        const uint32_t times = ref % EVERY ? 0 : ref ? ref / EVERY : 1;
        struct psnap_tally tally = {0};
        psnap_sim_add(sim, 0, PSNAP_VIEW_REF, ref, &tally);
        assert_int_equal(tally.accesses, times);
        assert_int_equal(tally.hits[0], times ? times - 1 : 0);
    }
    assert_int_equal(total_of(sim, 0).accesses, psnap_sim_accesses(sim));
    psnap_sink_free(sim);
    psnap_program_free(program);
}

/* Simulators of no program count what one with a program does, several at once; no machine and no
 * such reference are errors. */
TEST(simulators_alone)
{
    const struct psnap_machine machine = machine_of("1K:64:2,4K:64:4");
    struct psnap_error error = {.code = PSNAP_OK};
    struct psnap_sink *alone = psnap_sim_new_alone("1K:64:2,4K:64:4", &error);
    struct psnap_sink *other = psnap_sim_new_alone("i7-5960x", &error);
    struct psnap_tally total, wanted, of_ref = {0};
    struct psnap_access stream[2000];
    struct psnap_rng rng;

    assert_true(alone && other);
    psnap_rng_init(&rng, 1);
    for (size_t i = 0; i < COUNT(stream); i++) {
        stream[i] =
            (struct psnap_access){8 * psnap_rng_below(&rng, 1000), (uint32_t)pick(&rng, 0, 1), 8,
                                  (uint8_t)pick(&rng, 0, 1), 0};
        assert_int_equal(psnap_sink_put(alone, &stream[i], 1, &error), PSNAP_OK);
        assert_int_equal(psnap_sink_put(other, &stream[i], 1, &error), PSNAP_OK);
    }
    total = total_of(alone, 0);
    wanted = tally_of(&machine, stream, COUNT(stream));
    assert_memory_equal(&total, &wanted, sizeof total);
    psnap_sim_add(alone, 0, PSNAP_VIEW_REF, 1, &of_ref);
    assert_in_range(of_ref.accesses, COUNT(stream) / 3, COUNT(stream) * 2 / 3);
    stream[0].ref = 2;
    assert_int_equal(psnap_sink_put(alone, stream, 1, &error), PSNAP_ERROR_VALUE);
    psnap_sink_free(other);
    psnap_sink_free(alone);
    assert_null(psnap_sim_new_alone("32K:64", &error));
    assert_true(error.message[0]);
    assert_null(psnap_sim_new_alone("nonesuch", NULL));
}

TEST(rates_follow_from_counts)
{
    const struct psnap_tally tally = {.accesses = 100, .hits = {80, 15, 0}};
    const struct psnap_tally translated = {.accesses = 100, .tlb_hits = {80, 15}};
    const struct psnap_tally all = {.accesses = 5, .hits = {5}}, none = {0};

    assert_int_equal(psnap_tally_reached(&tally, 0), 100);
    assert_int_equal(psnap_tally_reached(&tally, 1), 20);
    assert_int_equal(psnap_tally_reached(&tally, 2), 5);
    assert_true(psnap_tally_hit_rate(&tally, 1) == 0.75);
    assert_true(psnap_tally_hit_rate(&tally, 2) == 0);
    assert_true(psnap_tally_cumulative(&tally, 1) == 0.95);
    assert_true(psnap_tally_cumulative(&all, 1) == 1);
    assert_true(isnan(psnap_tally_hit_rate(&all, 1)));
    assert_true(isnan(psnap_tally_cumulative(&none, 0)));
    assert_int_equal(psnap_tally_tlb_reached(&translated, 1), 20);
    assert_true(psnap_tally_tlb_hit_rate(&translated, 1) == 0.75);
    assert_true(psnap_tally_tlb_cumulative(&translated, 1) == 0.95);
    assert_true(isnan(psnap_tally_tlb_cumulative(&none, 0)));
}
