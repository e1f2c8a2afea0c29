/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Replacement, the TLB and the stride prefetcher: cases worked out by hand, and what must hold on
 * any stream. test_simcore_oracle.c has all of them against a naive simulator.
 */
#include "simcore/rpt.h"
#include "tests/unit/test_simcore_support.h"

/* ---- replacement ---- */

/* Lines as they come, "Ab": A misses and b hits, in one set. */
static void assert_outcomes(const char *text, const char *lines)
{
    const struct psnap_machine machine = machine_of(text);
    const uint64_t apart = machine.levels[0].line_bytes * machine.levels[0].sets;
    struct watch watch;

    watch_begin(&watch, &machine, NULL);
    for (size_t i = 0; lines[i]; i++) {
        const bool hit = lines[i] >= 'a';
        const uint64_t line = (uint64_t)(lines[i] - (hit ? 'a' : 'A'));
        const struct psnap_access access = {line * apart, 0, 4, PSNAP_LOAD, 0};
        if (step(&watch, access).hits[0] != hit)
            fail_msg("%s: step %zu of %s", text, i, lines);
    }
    watch_end(&watch);
}

/*
 * Pseudo-LRU of four ways; bits (root, ways 0 and 1, ways 2 and 3), 0 pointing to the lower half,
 * after each step: A in way 0, 110; B in 1, 100; C in 2, 001; D in 3, 000; a, 110: LRU would now
 * give up B; E for C, 011; b, 101; C for D, 000; D for A, 110; e, 011; A for B, 101; d, 111; F for
 * C, 010. SRRIP of three; ages after each step: A 2, B 22, a 02, C 022, D for B 123, B for C 122,
 * a 022, E for D 123, D for B 122, a 022: LRU would have given up A for E.
 */
TEST(replacement_by_hand)
{
    assert_outcomes("64:16:4:plru", "ABCDaEbCDeAdFead");
    assert_outcomes("1K:16:4:plru", "ABCDaEbCDeAdFead");
    assert_outcomes("32:16:2:fifo", "ABaCAcBaCbA");
    assert_outcomes("48:16:3:srrip", "ABaCDBaEDa");
}

/* One line more than there are ways, in turn: LRU never hits, and a random victim is the line that
 * is wanted next in one case of four. */
TEST(random_does_not_fall_for_cycles)
{
    const struct psnap_machine lru = machine_of("64:16:full");
    struct psnap_machine random = machine_of("64:16:full:random");
    struct psnap_access stream[5000];
    uint64_t first, other;

    for (uint64_t i = 0; i < 5000; i++)
        stream[i] = (struct psnap_access){i % 5 * 16, 0, 4, PSNAP_LOAD, 0};
    assert_int_equal(tally_of(&lru, stream, 5000).hits[0], 0);
    first = tally_of(&random, stream, 5000).hits[0];
    assert_int_equal(tally_of(&random, stream, 5000).hits[0], first);
    random.levels[0].seed = 1;
    other = tally_of(&random, stream, 5000).hits[0];
    assert_int_not_equal(first, other);
    /*
     * After a miss the line that is missing is uniform among the other four, so the next miss comes
     * after 1, 2, 3 or 4 accesses, 2.5 in the mean: 3 of 5 hit.
     */
    assert_in_range(first, 2900, 3100);
    assert_in_range(other, 2900, 3100);
}

/* ---- the TLB ---- */

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
    watch_begin(&watch, &machine, NULL);
    for (size_t i = 0; i < COUNT(steps); i++) {
        const struct psnap_tally tally =
            step(&watch, (struct psnap_access){steps[i].address, 0, 8, i % 2 == 0, 0});
        if (tally.tlb_hits[0] != (steps[i].level == 0) ||
            tally.tlb_hits[1] != (steps[i].level == 1))
            fail_msg("step %zu: %u, %u", i, (unsigned)tally.tlb_hits[0],
                     (unsigned)tally.tlb_hits[1]);
    }
    watch_end(&watch);
}

/* ---- the prefetcher ---- */

TEST(predictions_go_through_their_states)
{
    static const struct {
        int64_t address;
        int64_t stride; /* to prefetch along */
    } steps[] = {
        {100, 0},                   /* initial */
        {108, 8},                   /* wrong: transient */
        {116, 8},                   /* right: steady */
        {200, 8},                   /* wrong: initial, the stride is kept */
        {208, 8},                   /* right: steady */
        {216, 8},       {300, 8},   /* initial */
        {350, 50},                  /* wrong: transient */
        {250, 0},                   /* wrong: no prediction, of -100 */
        {260, 0},                   /* wrong: still none, of 10 */
        {270, 10},                  /* right: transient */
        {290, 0},                   /* wrong: no prediction */
        {310, 20},      {330, 20},  /* transient, steady */
        {0, 20},                    /* initial */
        {4000, 4000},   {0, 0},     /* transient, no prediction */
        {-4000, -4000},             /* transient, backwards */
        {-8000, -4000},             /* steady */
        {-8000, -4000},             /* initial */
        {-8000, 0},     {-8000, 0}, /* transient, of 0, and steady */
    };
    struct rpt rpt;

    assert_true(rpt_init(&rpt, 1));
    for (size_t i = 0; i < COUNT(steps); i++) {
        const int64_t stride = (int64_t)rpt_train(&rpt, 7, (uint64_t)steps[i].address);
        if (stride != steps[i].stride)
            fail_msg("step %zu: %lld", i, (long long)stride);
    }
    rpt_release(&rpt);
}

/*
 * n accesses, each to a line of its own, all strides alike. The second one tells the stride, so
 * that lines 1 + distance and on are there in time: lines 0 to `distance` miss. The last
 * prefetch is of line n - 1 + distance + degree - 1.
 */
TEST(a_strided_stream_misses_in_training_only)
{
    static const int64_t strides[] = {64, -64, 128, -4096, 72, 1000};
    enum { N = 100, DEGREES = 4, DISTANCES = 5 };

    for (uint32_t c = 0; c < COUNT(strides) * DEGREES * DISTANCES; c++) {
        const uint32_t degree = 1 + c / DISTANCES % DEGREES, distance = 1 + 2 * (c % DISTANCES);
        const uint64_t stride = (uint64_t)strides[c / DISTANCES / DEGREES];
        struct psnap_machine machine = machine_of("64K:64:full");
        struct psnap_access stream[N];
        struct psnap_tally tally;

        machine.levels[0].prefetch = (struct psnap_prefetch){4, degree, distance};
        for (uint64_t i = 0; i < N; i++)
            stream[i] =
                (struct psnap_access){(UINT64_C(1) << 40) + i * stride, 3, 4, PSNAP_STORE, 0};
        tally = tally_of(&machine, stream, N);
        assert_int_equal(N - tally.hits[0], distance + 1);
        assert_int_equal(tally.prefetches[0], N + degree - 2);
        assert_int_equal(tally.prefetches_useful[0], N - 1 - distance);
        assert_int_equal(tally.prefetches_useless[0], 0);
    }
}
