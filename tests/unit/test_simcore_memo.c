/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is known of runs beforehand (simcore/memo.h): random nests of loops, with accesses between
 * their runs, runs that differ from those of other rounds, and counts that are read half way, on
 * random machines of small packed caches. Every count of every reference and thread has to be what
 * it is access by access. And that something was known.
 */
#include "tests/unit/test_random_machines.h"

#include "simcore/cache_packed.h"
#include "simcore/sim.h"

enum { WIDTH = 6, REFS = 10, NESTS = 3 };

/* Two simulators of the same machines: by runs, and by accesses. */
struct pair {
    struct psnap_sink *runs, *accesses;
};

static struct psnap_program *refs(void)
{
    struct psnap_program *program = psnap_program_new();

    for (uint32_t i = 0; i < REFS; i++)
        psnap_program_add_ref(program, &(struct psnap_ref){.loop = PSNAP_NONE});
    return program;
}

static void random_levels(struct psnap_rng *rng, struct psnap_machine *machine)
{
    const uint64_t line = pick(rng, 0, 9) ? 64 : 32;

    *machine = (struct psnap_machine){.level_count = (uint32_t)pick(rng, 1, 3)};
    for (uint32_t l = 0; l < machine->level_count; l++) {
        struct psnap_cache_level *level = &machine->levels[l];
        level->line_bytes = pick(rng, 0, 3) ? line : UINT64_C(16) << pick(rng, 0, 3);
        level->ways = pick(rng, 1, l == 0 ? 4 : pick(rng, 0, 9) ? 16 : 20);
        level->size_bytes = /* sets enough for a tag to be short, or hardly */
            level->line_bytes * level->ways *
            (UINT64_C(1) << pick(rng, pick(rng, 0, 9) ? 7 : 5, 8));
    }
    assert_int_equal(psnap_machine_check(machine, NULL), PSNAP_OK);
}

static void put_run(const struct pair *pair, const struct psnap_run *run)
{
    assert_int_equal(psnap_sink_put_run(pair->runs, run, NULL), PSNAP_OK);
    assert_int_equal(psnap_sink_put_repetitions(pair->accesses, run, 0, run->count, NULL),
                     PSNAP_OK);
}

static void put_some(struct psnap_rng *rng, const struct pair *pair, uint64_t address,
                     uint16_t thread)
{
    struct psnap_access block[300];
    const size_t n = pick(rng, 0, 30) ? pick(rng, 1, 5) : 300;

    for (size_t i = 0; i < n; i++)
        block[i] = (struct psnap_access){.address = address + 24 * i,
                                         .ref = (uint32_t)pick(rng, WIDTH, REFS - 1),
                                         .size = 8,
                                         .kind = (uint8_t)pick(rng, 0, 1),
                                         .thread = thread};
    if (pick(rng, 0, 30) == 0)
        block[n - 1].thread ^= 1;
    assert_int_equal(psnap_sink_put(pair->runs, block, n, NULL), PSNAP_OK);
    assert_int_equal(psnap_sink_put(pair->accesses, block, n, NULL), PSNAP_OK);
}

/* Loops in loops, the inner one a run: mostly all arrays move alike. */
struct nest {
    struct psnap_access first[WIDTH];
    int64_t strides[3][WIDTH];
    uint64_t counts[3], width, plain;
};

static void random_nest(struct psnap_rng *rng, struct nest *nest)
{
    static const int64_t inner[] = {8, 8, 16, 4, -8, 64, 0},
                         outer[] = {64, 1200, 640, 4096, 8, -328, 0};
    const uint64_t where = pick(rng, 0, 2) ? 1 << 20 : UINT64_C(0x7f1234500000);

    memset(nest, 0, sizeof *nest);
    nest->width = pick(rng, 1, WIDTH);
    nest->counts[0] = pick(rng, 1, 5);
    nest->counts[1] = pick(rng, 1, 60);
    nest->counts[2] = pick(rng, 0, 3) ? pick(rng, 40, 300) : pick(rng, 1, 3000);
    nest->plain = pick(rng, 0, 2);
    for (int l = 0; l < 3; l++) {
        const bool alike = pick(rng, 0, 4);
        int64_t stride = 0;
        for (size_t k = 0; k < nest->width; k++) {
            if (k == 0 || !alike)
                stride = l == 2 ? inner[pick(rng, 0, 6)] : outer[pick(rng, 0, 6)];
            nest->strides[l][k] = stride;
        }
    }
    for (size_t k = 0; k < nest->width; k++)
        nest->first[k] = (struct psnap_access){.address = where + pick(rng, 0, 5000) * 8 +
                                                          (pick(rng, 0, 9) ? 0 : 3),
                                               .ref = (uint32_t)k,
                                               .size = 8,
                                               .kind = (uint8_t)pick(rng, 0, 1),
                                               .thread = (uint16_t)pick(rng, 0, 1)};
    for (size_t k = 1; k < nest->width; k++)
        nest->first[k].thread = nest->first[0].thread;
}

static void put_nest(struct psnap_rng *rng, const struct pair *pair, const struct nest *nest,
                     bool is_spoiled)
{
    struct psnap_access first[WIDTH];
    struct psnap_run run = {.first = first,
                            .strides = nest->strides[2],
                            .width = nest->width,
                            .count = nest->counts[2]};

    for (uint64_t i = 0; i < nest->counts[0]; i++)
        for (uint64_t j = 0; j < nest->counts[1]; j++) {
            struct psnap_tally tally = {0};
            memcpy(first, nest->first, sizeof first);
            for (size_t k = 0; k < nest->width; k++)
                first[k].address +=
                    i * (uint64_t)nest->strides[0][k] + j * (uint64_t)nest->strides[1][k];
            if (nest->plain == 1 || (is_spoiled && pick(rng, 0, 40) == 0))
                put_some(rng, pair, first[0].address + 512, first[0].thread);
            run.count = nest->counts[2] - (is_spoiled && pick(rng, 0, 40) == 0);
            run.count += run.count == 0;
            put_run(pair, &run);
            if (is_spoiled && pick(rng, 0, 100) == 0)
                psnap_sim_add_total(pair->runs, 0, &tally);
        }
}

static void assert_same(const struct pair *pair, size_t machines, bool by_thread, int round)
{
    assert_int_equal(psnap_sim_accesses(pair->runs), psnap_sim_accesses(pair->accesses));
    for (size_t i = 0; i < machines; i++)
        for (int view = PSNAP_VIEW_REF; view <= (by_thread ? PSNAP_VIEW_THREAD : PSNAP_VIEW_REF);
             view++)
            for (uint32_t row = 0; row < REFS; row++) {
                struct psnap_tally a = {0}, b = {0};
                psnap_sim_add(pair->runs, i, (enum psnap_view)view, row, &a);
                psnap_sim_add(pair->accesses, i, (enum psnap_view)view, row, &b);
                if (memcmp(&a, &b, sizeof a) != 0)
                    fail_msg("round %d, machine %zu of %zu, view %d, row %u: %llu accesses, %llu "
                             "hits, not %llu",
                             round, i, machines, view, row, (unsigned long long)b.accesses,
                             (unsigned long long)a.hits[0], (unsigned long long)b.hits[0]);
            }
}

static uint64_t known_of(const struct psnap_sink *sink)
{
    const struct sim *sim = (const struct sim *)sink;

    return sim->groups[0].memo ? memo_known(sim->groups[0].memo) : 0;
}

TEST(nests_are_as_their_accesses)
{
    struct psnap_program *program = refs();
    uint64_t known = 0, all = 0;
    struct psnap_rng rng;

    psnap_rng_init(&rng, 12);
    for (int round = 0; round < 120; round++) {
        struct psnap_machine machines[3];
        const size_t count = pick(&rng, 1, 3);
        const bool by_thread = round % 2;
        const struct psnap_sim_options options = {.by_thread = by_thread,
                                                  .threads = round % 3 ? 1 : 2};
        const struct psnap_sim_options alone = {.by_thread = by_thread};
        struct pair pair;

        for (size_t i = 0; i < count; i++)
            random_levels(&rng, &machines[i]);
        pair.runs = psnap_sim_new(machines, count, program, &options, NULL);
        pair.accesses = psnap_sim_new(machines, count, program, &alone, NULL);
        for (int n = 0; n < NESTS; n++) {
            struct nest nest;
            const uint64_t times = pick(&rng, 1, 3);
            random_nest(&rng, &nest);
            for (uint64_t again = 0; again < times; again++)
                put_nest(&rng, &pair, &nest, pick(&rng, 0, 1));
        }
        assert_int_equal(psnap_sink_finish(pair.runs, NULL), PSNAP_OK);
        assert_same(&pair, count, by_thread, round);
        all += psnap_sim_accesses(pair.runs);
        known += known_of(pair.runs);
        psnap_sink_free(pair.runs);
        psnap_sink_free(pair.accesses);
    }
    psnap_program_free(program);
    print_message("%.1f %% known\n", 100.0 * (double)known / (double)all);
    if (packed_is_possible())
        assert_true(known > all / 5);
}

/* A stencil of five points on 300 * 300 numbers, four sweeps, from one array to another: almost all
 * of it is known on a small machine, and most on one that phrases are long for. */
TEST(a_stencil_is_known)
{
    static const char *const machines[] = {"8K:64:2,32K:64:4", "32K:64:8,256K:64:8,8M:64:16"};
    static const int offsets[] = {0, -8, 8, -2400, 2400};
    struct psnap_program *program = refs();
    struct psnap_access first[WIDTH];
    int64_t strides[WIDTH];

    for (int m = 0; m < 2; m++) {
        struct psnap_machine machine;
        struct pair pair;
        assert_int_equal(psnap_machine_find(machines[m], &machine, NULL), PSNAP_OK);
        pair.runs = psnap_sim_new(&machine, 1, program, NULL, NULL);
        pair.accesses = psnap_sim_new(&machine, 1, program, NULL, NULL);
        for (uint64_t sweep = 0; sweep < 4; sweep++)
            for (uint64_t row = 1; row < 299; row++) {
                for (uint32_t k = 0; k < WIDTH; k++) {
                    const uint64_t array = (k == 5) ^ (sweep & 1) ? 1 << 24 : 1 << 23;
                    const uint64_t at = array + row * 2400 + 8;
                    strides[k] = 8;
                    first[k] = (struct psnap_access){
                        at + (k < 5 ? (uint64_t)(int64_t)offsets[k] : 0), k, 8, k == 5, 0};
                }
                put_run(&pair, &(struct psnap_run){
                                   .first = first, .strides = strides, .width = 6, .count = 298});
            }
        assert_same(&pair, 1, false, m);
        if (packed_is_possible())
            assert_true((double)known_of(pair.runs) >
                        (m ? 0.6 : 0.9) * (double)psnap_sim_accesses(pair.runs));
        psnap_sink_free(pair.runs);
        psnap_sink_free(pair.accesses);
    }
    psnap_program_free(program);
}

/* An array at the foot of the address space and one above 2^42, stored to in turn, each of the size
 * of a first level whose ways are 4 KiB: each is as far from the other one, in the 43 bits of
 * renamed addresses, and what is written back at level 1 must come to the line of level 2 that it
 * is of. */
TEST(arrays_are_half_of_all_addresses_apart)
{
    static const uint64_t places[] = {UINT64_C(0x7f0000100000), 0x100000};
    static const int64_t stride = 8, line = 64;
    struct psnap_program *program = refs();
    struct psnap_machine machine;

    assert_int_equal(psnap_machine_find("32K:64:8,256K:64:8", &machine, NULL), PSNAP_OK);
    for (int rounds = 3; rounds < 9; rounds++) {
        struct psnap_access first = {.size = 8, .kind = PSNAP_STORE};
        struct pair pair = {psnap_sim_new(&machine, 1, program, NULL, NULL),
                            psnap_sim_new(&machine, 1, program, NULL, NULL)};

        for (int round = 0; round < rounds; round++) {
            first.address = places[round % 2];
            put_run(&pair, &(struct psnap_run){
                               .first = &first, .strides = &stride, .width = 1, .count = 4096});
        }
        if (packed_is_possible())
            assert_true(known_of(pair.runs) > 0);
        first = (struct psnap_access){.address = 1 << 30, .size = 8};
        put_run(&pair, &(struct psnap_run){/* all of level 2 leaves */
                                           .first = &first,
                                           .strides = &line,
                                           .width = 1,
                                           .count = 10000});
        assert_same(&pair, 1, false, rounds);
        psnap_sink_free(pair.runs);
        psnap_sink_free(pair.accesses);
    }
    psnap_program_free(program);
}

/* What a run of 300 accesses did is looked up where a first level has few words of state alone: to
 * copy and to compare those of a large one takes many times what simulating the run does. */
TEST(short_runs_are_known_on_small_first_levels)
{
    static const char *const names[] = {"32K:64:8", "16K:64:4", "8K:64:2", "24K:64:6", "1M:64:16"};
    static const int64_t stride = 8;
    struct psnap_program *program = refs();
    struct psnap_machine machines[5];

    for (int m = 0; m < 5; m++)
        assert_int_equal(psnap_machine_find(names[m], &machines[m], NULL), PSNAP_OK);
    for (size_t count = 1; count <= 5; count++) {
        const struct psnap_access first = {.address = 1 << 20, .size = 8};
        struct pair pair = {psnap_sim_new(machines, count, program, NULL, NULL),
                            psnap_sim_new(machines, count, program, NULL, NULL)};

        for (int i = 0; i < 100; i++)
            put_run(&pair, &(struct psnap_run){
                               .first = &first, .strides = &stride, .width = 1, .count = 300});
        assert_same(&pair, count, false, 0);
        if (packed_is_possible())
            assert_int_equal(known_of(pair.runs) > 0, count < 5);
        psnap_sink_free(pair.runs);
        psnap_sink_free(pair.accesses);
    }
    psnap_program_free(program);
}
