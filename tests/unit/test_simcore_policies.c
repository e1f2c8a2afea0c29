/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pseudo-LRU, random replacement and the TLB: cases worked out by hand, and what
 * must hold on any stream. test_simcore_oracle.c has all of them against a naive
 * simulator.
 */
#include "tests/unit/test_watch_support.h"

/* --------------------------------------------------------------- replacement */

TEST(pseudo_lru_of_four_ways)
{
    /* Bits (root, ways 0 and 1, ways 2 and 3), 0 pointing to the lower half, after each step. */
    static const struct {
        char line;
        bool hit, write_back;
    } steps[] = {
        {'A', false, false}, /* way 0: 1 1 0 */
        {'B', false, false}, /* way 1: 1 0 0 */
        {'C', false, false}, /* way 2: 0 0 1, a store */
        {'D', false, false}, /* way 3: 0 0 0 */
        {'A', true, false},  /* way 0: 1 1 0; LRU would now give up B */
        {'E', false, true},  /* C in way 2 goes: 0 1 1 */
        {'B', true, false},  /* way 1: 1 0 1 */
        {'C', false, false}, /* D in way 3 goes: 0 0 0, a store */
        {'D', false, false}, /* A in way 0 goes: 1 1 0 */
        {'E', true, false},  /* way 2: 0 1 1 */
        {'A', false, false}, /* B in way 1 goes: 1 0 1 */
        {'D', true, false},  /* way 0: 1 1 1 */
        {'F', false, true},  /* C in way 3 goes: 0 1 0 */
        {'E', true, false},  {'A', true, false}, {'D', true, false},
    };
    static const char *const machines[] = {"64:16:4:plru", "1K:16:4:plru"};

    for (uint64_t sets = 1, m = 0; m < 2; sets = 16, m++) {
        const struct psnap_machine machine = machine_of(machines[m]);
        struct watch watch;

        watch_begin(&watch, &machine);
        for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
            const uint64_t address = (uint64_t)(steps[i].line - 'A') * 16 * sets;
            const struct psnap_tally tally =
                step(&watch, address, 4, steps[i].line == 'C' ? PSNAP_STORE : PSNAP_LOAD, 0, 0);

            if (tally.hits[0] != steps[i].hit || tally.write_backs[0] != steps[i].write_back)
                fail_msg("step %zu, %c: %u hits, %u write-backs", i, steps[i].line,
                         (unsigned)tally.hits[0], (unsigned)tally.write_backs[0]);
        }
        watch_end(&watch);
    }
}

/*
 * Where all bits say the same, misses alone replace the ways in the order of their numbers read
 * backwards: each flips the bits on its path, the root every time. One line was stored to, and its
 * write-back tells when it goes.
 */
TEST(misses_go_round_the_tree)
{
    static const struct {
        const char *machine;
        unsigned bits;
    } cases[] = {{"128:16:8:plru", 3},
                 {"1K:16:full:plru", 6},
                 {"4K:16:full:plru", 8},
                 {"512:1:full:plru", 9}};

    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        const struct psnap_machine machine = machine_of(cases[c].machine);
        const uint64_t ways = machine.levels[0].ways;

        assert_int_equal(ways, 1 << cases[c].bits);
        for (uint64_t stored = 0; stored < ways; stored += 1 + ways / 16) {
            struct watch watch;
            uint64_t backwards = 0;

            for (unsigned bit = 0; bit < cases[c].bits; bit++)
                backwards |= (stored >> bit & 1) << (cases[c].bits - 1 - bit);
            watch_begin(&watch, &machine);
            for (uint64_t i = 0; i < 2 * ways; i++) {
                const uint8_t kind = i == stored ? PSNAP_STORE : PSNAP_LOAD;
                const struct psnap_tally tally =
                    step(&watch, i * machine.levels[0].line_bytes, 1, kind, 0, 0);
                if (tally.hits[0] || tally.write_backs[0] != (i == ways + backwards))
                    fail_msg("%s: way %u, step %u", cases[c].machine, (unsigned)stored,
                             (unsigned)i);
            }
            watch_end(&watch);
        }
    }
}

/* Lines as they come, "Ab": A misses and b hits. */
static void assert_outcomes(const struct psnap_machine *machine, const char *lines)
{
    struct watch watch;

    watch_begin(&watch, machine);
    for (size_t i = 0; lines[i]; i++) {
        const bool hit = lines[i] >= 'a';
        const uint64_t line = (uint64_t)(lines[i] - (hit ? 'a' : 'A'));
        if (step(&watch, line * machine->levels[0].line_bytes, 4, PSNAP_LOAD, 0, 0).hits[0] != hit)
            fail_msg("%s: step %zu of %s", machine->name, i, lines);
    }
    watch_end(&watch);
}

TEST(fifo_does_not_care_for_use)
{
    const struct psnap_machine machines[] = {machine_of("32:16:2:fifo"),
                                             machine_of("2K:16:full:fifo")};
    struct watch watch;

    assert_outcomes(&machines[0], "ABaCAcBaCbA");
    watch_begin(&watch, &machines[1]); /* 128 ways: the list */
    for (uint64_t i = 0; i < 128; i++)
        step(&watch, i * 16, 4, PSNAP_LOAD, 0, 0);
    assert_int_equal(step(&watch, 0, 4, PSNAP_LOAD, 0, 0).hits[0], 1);
    assert_int_equal(step(&watch, 128 * 16, 4, PSNAP_LOAD, 0, 0).hits[0], 0);
    assert_int_equal(step(&watch, 0, 4, PSNAP_LOAD, 0, 0).hits[0], 0);
    assert_int_equal(step(&watch, 16, 4, PSNAP_LOAD, 0, 0).hits[0], 0);
    watch_end(&watch);
}

/* Three ways; ages after each step: A 2, B 22, a 02, C 022, D for B 123, B for C 122, a 022, E for
 * D 123, D for B 122, a 022. LRU would have given up A for E. */
TEST(srrip_keeps_what_was_used)
{
    const struct psnap_machine machine = machine_of("48:16:3:srrip");

    assert_outcomes(&machine, "ABaCDBaEDa");
}

/* Lines as far apart as there are sets: one set, or all of them. */
TEST(xor_spreads_powers_of_two)
{
    struct psnap_machine machine = machine_of("64:16:1");
    struct psnap_access stream[32];

    for (uint64_t i = 0; i < 32; i++)
        stream[i] = (struct psnap_access){i % 4 * 64, 0, 4, PSNAP_LOAD, 0};
    assert_int_equal(tally_of(&machine, stream, 32).hits[0], 0);
    machine.levels[0].index = PSNAP_INDEX_XOR;
    assert_int_equal(tally_of(&machine, stream, 32).hits[0], 28);
}

TEST(policies_of_one_way_are_one_and_plru_of_two_is_lru)
{
    static const char *const alike[][3] = {
        {"1K:16:1", "1K:16:1:plru", "1K:16:1:random"},
        {"1K:16:2,4K:64:2", "1K:16:2:plru,4K:64:2:plru", "1K:16:2:plru,4K:64:2"},
        {"96:16:2", "96:16:2:plru", "96:16:2:plru"},
    };
    static struct psnap_access stream[MIXED];

    mixed_stream(1, stream, MIXED);
    for (size_t i = 0; i < sizeof alike / sizeof alike[0]; i++) {
        struct psnap_machine machine = machine_of(alike[i][0]);
        const struct psnap_tally lru = tally_of(&machine, stream, MIXED);

        for (int j = 1; j < 3; j++) {
            struct psnap_tally other;

            machine = machine_of(alike[i][j]);
            other = tally_of(&machine, stream, MIXED);
            assert_memory_equal(&lru, &other, sizeof lru);
        }
    }
}

/* One line more than there are ways, in turn: LRU never hits, and a random victim is the line that
 * is wanted next in one case of four. */
TEST(random_does_not_fall_for_cycles)
{
    const struct psnap_machine lru = machine_of("64:16:full");
    struct psnap_machine random = machine_of("64:16:full:random");
    struct psnap_access stream[5000];
    struct psnap_tally first, again, other;

    for (uint64_t i = 0; i < 5000; i++)
        stream[i] = (struct psnap_access){i % 5 * 16, 0, 4, PSNAP_LOAD, 0};
    assert_int_equal(tally_of(&lru, stream, 5000).hits[0], 0);
    first = tally_of(&random, stream, 5000);
    again = tally_of(&random, stream, 5000);
    assert_memory_equal(&first, &again, sizeof first);
    random.levels[0].seed = 1;
    other = tally_of(&random, stream, 5000);
    assert_int_not_equal(first.hits[0], other.hits[0]);
    /*
     * After a miss the line that is missing is uniform among the other four, so the next miss comes
     * after 1, 2, 3 or 4 accesses, 2.5 in the mean: 3 of 5 hit.
     */
    assert_in_range(first.hits[0], 2900, 3100);
    assert_in_range(other.hits[0], 2900, 3100);
}

TEST(a_level_draws_for_itself)
{
    static const char *const texts[] = {"1K:16:4:random", "1K:16:4:random,8K:16:8:random",
                                        "1K:16:4:random,8K:16:8"};
    static struct psnap_access stream[MIXED];
    struct psnap_machine machines[4];
    struct psnap_program *program = eight_refs();
    struct psnap_sink *together;

    mixed_stream(2, stream, MIXED);
    for (int i = 0; i < 3; i++)
        machines[i] = machine_of(texts[i]);
    machines[3] = machines[1];
    machines[3].levels[1].seed = 5;
    together = psnap_sim_new(machines, 4, program, NULL, NULL);
    assert_int_equal(psnap_sink_put(together, stream, MIXED, NULL), PSNAP_OK);
    for (size_t i = 0; i < 4; i++) {
        const struct psnap_tally alone = tally_of(&machines[i], stream, MIXED);
        struct psnap_tally total = {0};

        psnap_sim_add_total(together, i, &total);
        assert_memory_equal(&alone, &total, sizeof total);
        assert_int_equal(total.hits[0], tally_of(&machines[0], stream, MIXED).hits[0]);
    }
    assert_int_not_equal(tally_of(&machines[1], stream, MIXED).hits[1],
                         tally_of(&machines[3], stream, MIXED).hits[1]);
    psnap_sink_free(together);
    psnap_program_free(program);
}

/* ------------------------------------------------------------------- the TLB */

TEST(translations_by_hand)
{
    static const struct {
        uint64_t address;
        uint8_t level; /* that translates, from 0 */
    } steps[] = {
        {0x0000, 2}, {0x0ff8, 0}, {0x1000, 2},
        {0x2000, 2},              /* 0 goes from level 1 */
        {0x0008, 1},              /* but not from level 2; 1 goes */
        {0x2ff0, 0}, {0x2ffc, 2}, /* pages 2 and 3: only 3 is missing */
        {0x2000, 0}, {0x3000, 0}, {0x1000, 1},
        {0x5000, 2}, /* level 2: 3 goes, of whose use in level 1 it knows nothing */
        {0x3000, 2}, {0x1000, 2}, {0x3000, 0},
    };
    struct psnap_machine machine = machine_of("1K:64:2");
    struct watch watch;

    machine.tlb_level_count = 2;
    machine.tlb[0] = (struct psnap_tlb_level){.entries = 2, .page_bytes = 4096, .ways = 2};
    machine.tlb[1] = (struct psnap_tlb_level){.entries = 4, .page_bytes = 4096, .ways = 2};
    assert_int_equal(psnap_machine_check(&machine, NULL), PSNAP_OK);
    assert_int_equal(machine.tlb[1].sets, 2);
    watch_begin(&watch, &machine);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        const struct psnap_tally tally =
            step(&watch, steps[i].address, 8, i % 2 ? PSNAP_LOAD : PSNAP_STORE, 0, 0);
        if (tally.tlb_hits[0] != (steps[i].level == 0) ||
            tally.tlb_hits[1] != (steps[i].level == 1))
            fail_msg("step %zu: %u, %u", i, (unsigned)tally.tlb_hits[0],
                     (unsigned)tally.tlb_hits[1]);
    }
    watch_end(&watch);
}

/* A TLB is beside the caches: either is as it is without the other. */
TEST(a_tlb_and_the_caches_are_apart)
{
    static struct psnap_access stream[MIXED];
    struct psnap_machine plain = machine_of("32K:64:8,1M:64:16,32M:64:16");
    struct psnap_machine with = machine_of("tlb-64");
    const struct psnap_machine pages = machine_of("256K:4K:full");
    struct psnap_tally caches, both, of_pages;

    mixed_stream(4, stream, MIXED);
    for (size_t i = 0; i < MIXED; i++)
        stream[i].address *= 64; /* over 256 pages */
    caches = tally_of(&plain, stream, MIXED);
    both = tally_of(&with, stream, MIXED);
    of_pages = tally_of(&pages, stream, MIXED);
    assert_true(both.tlb_hits[0] > MIXED / 10 && both.tlb_hits[0] < MIXED - MIXED / 10);
    assert_int_equal(both.tlb_hits[0], of_pages.hits[0]);
    both.tlb_hits[0] = 0;
    assert_memory_equal(&caches, &both, sizeof both);
}

TEST(tlb_rates_follow_from_counts)
{
    const struct psnap_tally tally = {.accesses = 100, .tlb_hits = {80, 15}}, none = {0};

    assert_int_equal(psnap_tally_tlb_reached(&tally, 0), 100);
    assert_int_equal(psnap_tally_tlb_reached(&tally, 1), 20);
    assert_true(psnap_tally_tlb_hit_rate(&tally, 1) == 0.75);
    assert_true(psnap_tally_tlb_cumulative(&tally, 1) == 0.95);
    assert_true(psnap_tally_tlb_cumulative(&none, 0) != psnap_tally_tlb_cumulative(&none, 0));
}
