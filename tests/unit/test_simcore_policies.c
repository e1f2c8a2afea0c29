/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pseudo-LRU, random replacement, the stride prefetcher and the TLB: cases worked
 * out by hand, and what must hold on any stream. test_simcore_oracle.c has all of
 * them against a naive simulator.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "formats/base/rng.h"
#include "simcore/rpt.h"
#include "simcore/simcore.h"

#define REFS 8

static struct psnap_program *eight_refs(void)
{
    struct psnap_program *program = psnap_program_new();

    assert_non_null(program);
    for (uint32_t i = 0; i < REFS; i++)
        psnap_program_add_ref(program, &(struct psnap_ref){.loop = PSNAP_NONE});
    return program;
}

static struct psnap_machine machine_of(const char *text)
{
    struct psnap_machine machine;
    struct psnap_error error;

    if (psnap_machine_find(text, &machine, &error) != PSNAP_OK)
        fail_msg("%s", error.message);
    return machine;
}

static struct psnap_machine prefetching(const char *text, uint32_t level, uint32_t entries,
                                        uint32_t degree, uint32_t distance)
{
    struct psnap_machine machine = machine_of(text);

    machine.levels[level].prefetch = (struct psnap_prefetch){entries, degree, distance};
    assert_int_equal(psnap_machine_check(&machine, NULL), PSNAP_OK);
    return machine;
}

/* What one machine counts of one access, in a stream of them. */
struct watch {
    struct psnap_program *program;
    struct psnap_sink *sim;
    struct psnap_tally before;
};

static void watch_begin(struct watch *watch, const struct psnap_machine *machine)
{
    watch->program = eight_refs();
    watch->sim = psnap_sim_new(machine, 1, watch->program, NULL, NULL);
    assert_non_null(watch->sim);
    watch->before = (struct psnap_tally){0};
}

static void watch_end(struct watch *watch)
{
    psnap_sink_free(watch->sim);
    psnap_program_free(watch->program);
}

static struct psnap_tally watch_total(const struct watch *watch)
{
    struct psnap_tally total = {0};

    psnap_sim_add_total(watch->sim, 0, &total);
    return total;
}

static struct psnap_tally step(struct watch *watch, uint64_t address, uint8_t size, uint8_t kind,
                               uint32_t ref, uint16_t thread)
{
    const struct psnap_access access = {address, ref, size, kind, thread};
    struct psnap_tally now, step = {0};

    assert_int_equal(psnap_sink_put(watch->sim, &access, 1, NULL), PSNAP_OK);
    now = watch_total(watch);
    for (int i = 0; i < PSNAP_LEVELS_MAX; i++) {
        step.hits[i] = now.hits[i] - watch->before.hits[i];
        step.write_backs[i] = now.write_backs[i] - watch->before.write_backs[i];
        step.prefetches[i] = now.prefetches[i] - watch->before.prefetches[i];
        step.prefetches_useful[i] = now.prefetches_useful[i] - watch->before.prefetches_useful[i];
        step.prefetches_useless[i] =
            now.prefetches_useless[i] - watch->before.prefetches_useless[i];
    }
    for (int i = 0; i < PSNAP_TLB_LEVELS_MAX; i++)
        step.tlb_hits[i] = now.tlb_hits[i] - watch->before.tlb_hits[i];
    watch->before = now;
    return step;
}

/* A mixture of walks and of picks from a small set. */
static void mixed_stream(uint64_t seed, struct psnap_access *stream, size_t n)
{
    struct psnap_rng rng;
    uint64_t walks[REFS] = {0};

    psnap_rng_init(&rng, seed);
    for (size_t i = 0; i < n; i++) {
        const uint32_t ref = (uint32_t)psnap_rng_below(&rng, REFS);
        uint64_t address = psnap_rng_below(&rng, 1 << 14);

        if (ref < REFS / 2)
            address = walks[ref] += 8 * (ref + 1);
        stream[i] = (struct psnap_access){address, ref, 8, (uint8_t)psnap_rng_below(&rng, 2), 0};
    }
}

enum { MIXED = 20000 };

static struct psnap_tally tally_of(const struct psnap_machine *machine,
                                   const struct psnap_access *stream, size_t n)
{
    struct watch watch;
    struct psnap_tally total;

    watch_begin(&watch, machine);
    assert_int_equal(psnap_sink_put(watch.sim, stream, n, NULL), PSNAP_OK);
    total = watch_total(&watch);
    watch_end(&watch);
    return total;
}

/* --------------------------------------------------------------- replacement */

static void pseudo_lru_of_four_ways(void **state)
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

    (void)state;
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
static void misses_go_round_the_tree(void **state)
{
    static const struct {
        const char *machine;
        unsigned bits;
    } cases[] = {{"128:16:8:plru", 3},
                 {"1K:16:full:plru", 6},
                 {"4K:16:full:plru", 8},
                 {"512:1:full:plru", 9}};

    (void)state;
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

static void policies_of_one_way_are_one_and_plru_of_two_is_lru(void **state)
{
    static const char *const alike[][3] = {
        {"1K:16:1", "1K:16:1:plru", "1K:16:1:random"},
        {"1K:16:2,4K:64:2", "1K:16:2:plru,4K:64:2:plru", "1K:16:2:plru,4K:64:2"},
        {"96:16:2", "96:16:2:plru", "96:16:2:plru"},
    };
    static struct psnap_access stream[MIXED];

    (void)state;
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
static void random_does_not_fall_for_cycles(void **state)
{
    const struct psnap_machine lru = machine_of("64:16:full");
    struct psnap_machine random = machine_of("64:16:full:random");
    struct psnap_access stream[5000];
    struct psnap_tally first, again, other;

    (void)state;
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

static void a_level_draws_for_itself(void **state)
{
    static const char *const texts[] = {"1K:16:4:random", "1K:16:4:random,8K:16:8:random",
                                        "1K:16:4:random,8K:16:8"};
    static struct psnap_access stream[MIXED];
    struct psnap_machine machines[4];
    struct psnap_program *program = eight_refs();
    struct psnap_sink *together;

    (void)state;
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

/* -------------------------------------------------------------- the prefetcher */

static void predictions_go_through_their_states(void **state)
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

    (void)state;
    assert_true(rpt_init(&rpt, 1));
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        const int64_t stride = (int64_t)rpt_train(&rpt, 7, (uint64_t)steps[i].address);
        if (stride != steps[i].stride)
            fail_msg("step %zu: %lld", i, (long long)stride);
    }
    rpt_release(&rpt);
}

static void the_table_forgets_the_least_recently_used(void **state)
{
    struct rpt rpt;

    (void)state;
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
static void a_strided_stream_misses_in_training_only(void **state)
{
    static const int64_t strides[] = {64, -64, 128, -4096, 72, 1000};

    (void)state;
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
static void short_strides_fetch_each_line_once(void **state)
{
    const struct psnap_machine machine = prefetching("4K:64:8", 0, 4, 1, 4);
    struct watch watch;

    (void)state;
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
static void straddling_accesses_are_foreseen_whole(void **state)
{
    const struct psnap_machine machine = prefetching("64K:64:full", 0, 4, 1, 1);
    struct watch watch;

    (void)state;
    watch_begin(&watch, &machine);
    for (uint64_t i = 0; i < 50; i++) {
        const struct psnap_tally tally = step(&watch, 60 + i * 256, 8, PSNAP_LOAD, 0, 0);
        assert_int_equal(tally.hits[0], i > 1);
        assert_int_equal(tally.prefetches[0], i > 0 ? 2 : 0);
        assert_int_equal(tally.prefetches_useful[0], i > 1 ? 2 : 0);
    }
    watch_end(&watch);
}

static void prefetches_fill_the_levels_below_and_may_be_in_vain(void **state)
{
    /* Level 1 has one line, so every prefetch replaces the line of its access. */
    const struct psnap_machine machine = prefetching("64:64:1,64K:64:full", 0, 4, 1, 1);
    struct watch watch;
    struct psnap_tally tally;

    (void)state;
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
static void a_prefetcher_below_leaves_the_levels_above_alone(void **state)
{
    static struct psnap_access stream[MIXED];
    const struct psnap_machine plain = machine_of("1K:64:4,64K:64:16");
    const struct psnap_machine ahead = prefetching("1K:64:4,64K:64:16", 1, 16, 2, 2);
    struct psnap_tally expected, tally;

    (void)state;
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
static void threads_have_strides_of_their_own(void **state)
{
    const struct psnap_machine machine = prefetching("64K:64:full", 0, 4, 1, 1);
    struct watch watch;

    (void)state;
    watch_begin(&watch, &machine);
    for (uint64_t i = 0; i < 50; i++)
        for (uint16_t thread = 0; thread < 2; thread++) {
            const uint64_t address = thread * (UINT64_C(1) << 30) + i * (thread ? 192 : 64);
            assert_int_equal(step(&watch, address, 8, PSNAP_LOAD, 5, thread).hits[0], i > 1);
        }
    watch_end(&watch);
}

/* Machines in one pass are as each alone, however little they differ by. */
static void prefetchers_are_not_shared_unless_alike(void **state)
{
    static const uint32_t shapes[][3] = {{0, 0, 0}, {4, 1, 1}, {8, 1, 1}, {4, 2, 1}, {4, 1, 2}};
    enum { N = sizeof shapes / sizeof shapes[0] };
    static struct psnap_access stream[MIXED];
    struct psnap_program *program = eight_refs();
    struct psnap_machine machines[N];
    struct psnap_tally alone[N];
    struct psnap_sink *together;

    (void)state;
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

/* ------------------------------------------------------------------- the TLB */

static void translations_by_hand(void **state)
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

    (void)state;
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
static void a_tlb_and_the_caches_are_apart(void **state)
{
    static struct psnap_access stream[MIXED];
    struct psnap_machine plain = machine_of("32K:64:8,1M:64:16,32M:64:16");
    struct psnap_machine with = machine_of("tlb-64");
    const struct psnap_machine pages = machine_of("256K:4K:full");
    struct psnap_tally caches, both, of_pages;

    (void)state;
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

static void tlb_rates_follow_from_counts(void **state)
{
    const struct psnap_tally tally = {.accesses = 100, .tlb_hits = {80, 15}}, none = {0};

    (void)state;
    assert_int_equal(psnap_tally_tlb_reached(&tally, 0), 100);
    assert_int_equal(psnap_tally_tlb_reached(&tally, 1), 20);
    assert_true(psnap_tally_tlb_hit_rate(&tally, 1) == 0.75);
    assert_true(psnap_tally_tlb_cumulative(&tally, 1) == 0.95);
    assert_true(psnap_tally_tlb_cumulative(&none, 0) != psnap_tally_tlb_cumulative(&none, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pseudo_lru_of_four_ways),
        cmocka_unit_test(misses_go_round_the_tree),
        cmocka_unit_test(policies_of_one_way_are_one_and_plru_of_two_is_lru),
        cmocka_unit_test(random_does_not_fall_for_cycles),
        cmocka_unit_test(a_level_draws_for_itself),
        cmocka_unit_test(predictions_go_through_their_states),
        cmocka_unit_test(the_table_forgets_the_least_recently_used),
        cmocka_unit_test(a_strided_stream_misses_in_training_only),
        cmocka_unit_test(short_strides_fetch_each_line_once),
        cmocka_unit_test(straddling_accesses_are_foreseen_whole),
        cmocka_unit_test(prefetches_fill_the_levels_below_and_may_be_in_vain),
        cmocka_unit_test(a_prefetcher_below_leaves_the_levels_above_alone),
        cmocka_unit_test(threads_have_strides_of_their_own),
        cmocka_unit_test(prefetchers_are_not_shared_unless_alike),
        cmocka_unit_test(translations_by_hand),
        cmocka_unit_test(a_tlb_and_the_caches_are_apart),
        cmocka_unit_test(tlb_rates_follow_from_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
