/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The stride prefetcher: cases worked out by hand, and what must hold on any
 * stream. test_simcore_oracle.c has it against a naive simulator.
 */
#include "simcore/rpt.h"
#include "tests/unit/test_watch_support.h"

static struct psnap_machine prefetching(const char *text, uint32_t level, uint32_t entries,
                                        uint32_t degree, uint32_t distance)
{
    struct psnap_machine machine = machine_of(text);

    machine.levels[level].prefetch = (struct psnap_prefetch){entries, degree, distance};
    assert_int_equal(psnap_machine_check(&machine, NULL), PSNAP_OK);
    return machine;
}

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
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        const int64_t stride = (int64_t)rpt_train(&rpt, 7, (uint64_t)steps[i].address);
        if (stride != steps[i].stride)
            fail_msg("step %zu: %lld", i, (long long)stride);
    }
    rpt_release(&rpt);
}

TEST(the_table_forgets_the_least_recently_used)
{
    struct rpt rpt;

    assert_true(rpt_init(&rpt, 2));
    rpt_train(&rpt, 1, 0);
    rpt_train(&rpt, UINT64_C(1) << 32 | 1, 0); /* the same in thread 1 */
    assert_int_equal(rpt_train(&rpt, 1, 64), 64);
    rpt_train(&rpt, 2, 0); /* thread 1's goes */
    assert_int_equal(rpt_train(&rpt, 1, 128), 64);
    assert_int_equal(rpt_train(&rpt, UINT64_C(1) << 32 | 1, 8), 0); /* anew; 2 goes */
    assert_int_equal(rpt_train(&rpt, 1, 192), 64);
    assert_int_equal(rpt_train(&rpt, 2, 8), 0);
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

    for (size_t s = 0; s < sizeof strides / sizeof strides[0]; s++) {
        for (uint32_t degree = 1; degree <= 4; degree++) {
            for (uint32_t distance = 1; distance <= 9; distance += 2) {
                const struct psnap_machine machine =
                    prefetching("64K:64:full", 0, 4, degree, distance);
                enum { N = 100 };
                struct psnap_access stream[N];
                struct psnap_tally tally;

                for (uint64_t i = 0; i < N; i++)
                    stream[i] = (struct psnap_access){
                        (UINT64_C(1) << 40) + i * (uint64_t)strides[s], 3, 4, PSNAP_STORE, 0};
                tally = tally_of(&machine, stream, N);
                assert_int_equal(tally.accesses, N);
                assert_int_equal(N - tally.hits[0], distance + 1);
                assert_int_equal(tally.prefetches[0], N + degree - 2);
                assert_int_equal(tally.prefetches_useful[0], N - 1 - distance);
                assert_int_equal(tally.prefetches_useless[0], 0);
            }
        }
    }
}

/* A stride below a line: the line ahead comes `distance` accesses before it is wanted. */
TEST(short_strides_fetch_each_line_once)
{
    const struct psnap_machine machine = prefetching("4K:64:8", 0, 4, 1, 4);
    struct watch watch;

    watch_begin(&watch, &machine);
    for (uint64_t i = 0; i < 800; i++) {
        const struct psnap_tally tally = step(&watch, i * 8, 8, PSNAP_LOAD, 0, 0);
        assert_int_equal(tally.hits[0], i > 0);
        assert_int_equal(tally.prefetches[0], i % 8 == 4);
        assert_int_equal(tally.prefetches_useful[0], i > 0 && i % 8 == 0);
    }
    watch_end(&watch);
}

/* Accesses across two lines: both are fetched ahead. */
TEST(straddling_accesses_are_foreseen_whole)
{
    const struct psnap_machine machine = prefetching("64K:64:full", 0, 4, 1, 1);
    struct watch watch;

    watch_begin(&watch, &machine);
    for (uint64_t i = 0; i < 50; i++) {
        const struct psnap_tally tally = step(&watch, 60 + i * 256, 8, PSNAP_LOAD, 0, 0);
        assert_int_equal(tally.hits[0], i > 1);
        assert_int_equal(tally.prefetches[0], i > 0 ? 2 : 0);
        assert_int_equal(tally.prefetches_useful[0], i > 1 ? 2 : 0);
    }
    watch_end(&watch);
}

TEST(prefetches_fill_the_levels_below_and_may_be_in_vain)
{
    /* Level 1 has one line, so every prefetch replaces the line of its access. */
    const struct psnap_machine machine = prefetching("64:64:1,64K:64:full", 0, 4, 1, 1);
    struct watch watch;
    struct psnap_tally tally;

    watch_begin(&watch, &machine);
    step(&watch, 0, 4, PSNAP_STORE, 0, 0);
    tally = step(&watch, 64, 4, PSNAP_STORE, 0, 0); /* line 1 for line 0, then line 2 for it */
    assert_int_equal(tally.hits[0] + tally.hits[1], 0);
    assert_int_equal(tally.write_backs[0], 2);
    assert_int_equal(tally.prefetches[0], 1);
    tally = step(&watch, 64, 4, PSNAP_LOAD, 1, 0); /* by another: line 2 goes, for nothing */
    assert_int_equal(tally.hits[1], 1);
    assert_int_equal(tally.prefetches_useless[0], 1);
    tally = step(&watch, 128, 4, PSNAP_LOAD, 2, 0); /* but level 2 has it */
    assert_int_equal(tally.hits[1], 1);
    tally = step(&watch, 128, 4, PSNAP_LOAD, 0, 0); /* right: line 3 for line 2 */
    assert_int_equal(tally.hits[0], 1);
    assert_int_equal(tally.prefetches[0], 1);
    tally = step(&watch, 192, 4, PSNAP_LOAD, 0, 0);
    assert_int_equal(tally.hits[0], 1);
    assert_int_equal(tally.prefetches_useful[0], 1);
    watch_end(&watch);
}

/* A prefetcher of level 2 sees what level 1 misses, and changes nothing there. */
TEST(a_prefetcher_below_leaves_the_levels_above_alone)
{
    static struct psnap_access stream[MIXED];
    const struct psnap_machine plain = machine_of("1K:64:4,64K:64:16");
    const struct psnap_machine ahead = prefetching("1K:64:4,64K:64:16", 1, 16, 2, 2);
    struct psnap_tally expected, tally;

    for (uint64_t i = 0; i < 4000; i++)
        stream[i] = (struct psnap_access){i * 8, 0, 8, PSNAP_LOAD, 0};
    expected = tally_of(&plain, stream, 4000);
    tally = tally_of(&ahead, stream, 4000);
    assert_int_equal(expected.hits[0], 3500);
    assert_int_equal(expected.hits[1], 0);
    assert_int_equal(tally.hits[0], 3500);
    assert_int_equal(tally.hits[1], 497); /* lines 0, 1 and 2 miss */
    assert_int_equal(tally.prefetches[1], 500);
    mixed_stream(3, stream, MIXED);
    expected = tally_of(&plain, stream, MIXED);
    tally = tally_of(&ahead, stream, MIXED);
    assert_int_equal(tally.hits[0], expected.hits[0]);
    assert_int_equal(tally.write_backs[0], expected.write_backs[0]);
    assert_true(tally.prefetches[1] > 0);
    assert_true(tally.prefetches_useful[1] + tally.prefetches_useless[1] <= tally.prefetches[1]);
}

/* Two threads in turn at one instruction go their own ways. */
TEST(threads_have_strides_of_their_own)
{
    const struct psnap_machine machine = prefetching("64K:64:full", 0, 4, 1, 1);
    struct watch watch;

    watch_begin(&watch, &machine);
    for (uint64_t i = 0; i < 50; i++)
        for (uint16_t thread = 0; thread < 2; thread++) {
            const uint64_t address = thread * (UINT64_C(1) << 30) + i * (thread ? 192 : 64);
            assert_int_equal(step(&watch, address, 8, PSNAP_LOAD, 5, thread).hits[0], i > 1);
        }
    watch_end(&watch);
}

/* Machines in one pass are as each alone, however little they differ by. */
TEST(prefetchers_are_not_shared_unless_alike)
{
    static const uint32_t shapes[][3] = {{0, 0, 0}, {4, 1, 1}, {8, 1, 1}, {4, 2, 1}, {4, 1, 2}};
    enum { N = sizeof shapes / sizeof shapes[0] };
    static struct psnap_access stream[MIXED];
    struct psnap_program *program = eight_refs();
    struct psnap_machine machines[N];
    struct psnap_tally alone[N];
    struct psnap_sink *together;

    mixed_stream(5, stream, MIXED);
    for (size_t i = 0; i < N; i++)
        machines[i] = prefetching("1K:64:4,16K:64:8", 0, shapes[i][0], shapes[i][1], shapes[i][2]);
    together = psnap_sim_new(machines, N, program, NULL, NULL);
    assert_int_equal(psnap_sink_put(together, stream, MIXED, NULL), PSNAP_OK);
    for (size_t i = 0; i < N; i++) {
        struct psnap_tally total = {0};

        alone[i] = tally_of(&machines[i], stream, MIXED);
        psnap_sim_add_total(together, i, &total);
        assert_memory_equal(&alone[i], &total, sizeof total);
        for (size_t j = 0; j < i; j++)
            assert_memory_not_equal(&alone[i], &alone[j], sizeof total);
    }
    psnap_sink_free(together);
    psnap_program_free(program);
}
