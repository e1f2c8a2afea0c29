/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs, which simulators take by the line (simcore/reduce.h) or know beforehand (simcore/memo.h):
 * random runs and nests of loops, with accesses between them, runs that differ from those of other
 * rounds, and counts that are read half way, on random machines of small caches. Every count of
 * every reference and thread has to be what it is access by access. And by hand what is left out.
 */
#include "tests/unit/test_random_machines.h"

#include "simcore/reduce.h"

enum { WIDTH = 12, NEST_WIDTH = 6, RUNS = 6, NESTS = 3, MACHINES = 3 };

/* Two simulators of the same machines: by runs, perhaps in threads, and by accesses. */
struct pair {
    struct psnap_program *program;
    struct psnap_sink *runs, *accesses;
    size_t machines;
    bool by_thread;
};

static void begin(struct pair *pair, const struct psnap_machine *machines, size_t count, int round)
{
    const bool by_thread = round % 2;

    *pair = (struct pair){program_with_refs(WIDTH), NULL, NULL, count, by_thread};
    pair->runs = psnap_sim_new(
        machines, count, pair->program,
        &(struct psnap_sim_options){.by_thread = by_thread, .threads = round % 3 ? 1 : 2}, NULL);
    pair->accesses = psnap_sim_new(machines, count, pair->program,
                                   &(struct psnap_sim_options){.by_thread = by_thread}, NULL);
    assert_true(pair->runs && pair->accesses);
}

static void put(const struct pair *pair, const struct psnap_access *block, size_t n)
{
    assert_int_equal(psnap_sink_put(pair->runs, block, n, NULL), PSNAP_OK);
    assert_int_equal(psnap_sink_put(pair->accesses, block, n, NULL), PSNAP_OK);
}

static void put_run(const struct pair *pair, const struct psnap_run *run)
{
    assert_int_equal(psnap_sink_put_run(pair->runs, run, NULL), PSNAP_OK);
    assert_int_equal(psnap_sink_put_repetitions(pair->accesses, run, 0, run->count, NULL),
                     PSNAP_OK);
}

/* Compares all counts, and ends the simulators. */
static void end(const struct pair *pair, int round)
{
    assert_int_equal(psnap_sink_finish(pair->runs, NULL), PSNAP_OK);
    assert_int_equal(psnap_sim_accesses(pair->runs), psnap_sim_accesses(pair->accesses));
    for (size_t i = 0; i < pair->machines; i++)
        for (int view = 0; view < PSNAP_VIEW_COUNT; view++)
            for (uint32_t row = 0; row < WIDTH; row++) {
                struct psnap_tally a = {0}, b = {0};
                if (view == PSNAP_VIEW_TAG || (view == PSNAP_VIEW_THREAD && !pair->by_thread))
                    continue;
                psnap_sim_add(pair->runs, i, (enum psnap_view)view, row, &a);
                psnap_sim_add(pair->accesses, i, (enum psnap_view)view, row, &b);
                if (memcmp(&a, &b, sizeof a) != 0)
                    fail_msg("round %d, machine %zu of %zu, view %d, row %u: %llu accesses, %llu "
                             "hits, not %llu",
                             round, i, pair->machines, view, row, (unsigned long long)b.accesses,
                             (unsigned long long)a.hits[0], (unsigned long long)b.hits[0]);
            }
    psnap_sink_free(pair->runs);
    psnap_sink_free(pair->accesses);
    psnap_program_free(pair->program);
}

/* ---- by the line ---- */

struct made {
    struct psnap_access first[WIDTH];
    int64_t strides[WIDTH];
    struct psnap_run run;
};

static void random_run(struct psnap_rng *rng, struct made *made)
{
    static const int64_t strides[] = {0, 1, 4, 8, 8, 8, 16, -8, -4, 24, 64, -200};
    const bool alike = pick(rng, 0, 3);
    const int64_t common = strides[pick(rng, 0, 11)];

    memset(made, 0, sizeof *made);
    made->run = (struct psnap_run){.first = made->first,
                                   .strides = made->strides,
                                   .width = pick(rng, 1, WIDTH),
                                   .count = pick(rng, 1, pick(rng, 0, 3) ? 100 : 1000)};
    for (size_t k = 0; k < made->run.width; k++) {
        made->strides[k] = alike ? common : strides[pick(rng, 0, 11)];
        made->first[k] =
            (struct psnap_access){.address = (pick(rng, 0, 50) ? 100000 : UINT64_MAX - 3000) +
                                             pick(rng, 0, 40) * pick(rng, 1, 64),
                                  .ref = (uint32_t)k,
                                  .size = (uint8_t)pick(rng, 1, 16),
                                  .kind = (uint8_t)pick(rng, 0, 2)};
    }
}

/* First levels are LRU by modulo, else runs are taken access by access. */
static void random_plain(struct psnap_rng *rng, struct psnap_machine *machine)
{
    random_machine(rng, machine, 5);
    machine->tlb_level_count = 0;
    for (uint32_t l = 0; l < machine->level_count; l++)
        machine->levels[l].prefetch = (struct psnap_prefetch){0};
    machine->levels[0].replacement = PSNAP_REPLACE_LRU;
    machine->levels[0].index = PSNAP_INDEX_MODULO;
    machine->levels[0].seed = 0;
    assert_int_equal(psnap_machine_check(machine, NULL), PSNAP_OK);
}

TEST(runs_are_as_their_accesses)
{
    struct psnap_rng rng;

    psnap_rng_init(&rng, 4);
    for (int round = 0; round < 500; round++) {
        struct psnap_machine machines[MACHINES];
        const size_t count = pick(&rng, 1, MACHINES);
        struct pair pair;

        for (size_t i = 0; i < count; i++)
            random_plain(&rng, &machines[i]);
        begin(&pair, machines, count, round);
        for (int r = 0; r < RUNS; r++) {
            struct made made;
            random_run(&rng, &made);
            for (int again = 0; again < 3; again++) { /* the second one has a schedule */
                put_run(&pair, &made.run);
                for (size_t k = 0; k < made.run.width; k++)
                    made.first[k].address += 64 * 7;
            }
            random_run(&rng, &made);
            put(&pair, made.first, made.run.width);
        }
        end(&pair, round);
    }
}

/* How many accesses of a run are left, on a cache of 64 sets of lines of 64 bytes; UINT64_MAX: it
 * is not taken by the line. */
static uint64_t left_of(const struct psnap_run *run, uint64_t ways)
{
    struct reduce *reduce = calloc(1, sizeof *reduce);
    struct psnap_access block[100];
    struct reduced reduced;
    uint64_t all, n;

    reduce->shapes[0] = (struct reduce_shape){6, 64, 63, ways};
    reduce->shape_count = 1;
    reduce->line_bytes = 64;
    all = (run->count - reduce_begin(reduce, run, &reduced)) * run->width;
    if (all == run->count * run->width)
        all = UINT64_MAX;
    else
        while ((n = reduce_next(&reduced, block, 100)))
            all += n;
    free(reduce);
    return all;
}

TEST(what_is_left)
{
    struct psnap_access first[2] = {{0x10000, 0, 8, PSNAP_LOAD, 0},
                                    {0x20040, 1, 8, PSNAP_STORE, 0}};
    int64_t strides[2] = {8, 8};
    /* 100 windows of four lines, eight accesses to each */
    struct psnap_run run = {.first = first, .strides = strides, .width = 2, .count = 3200};

    assert_int_equal(left_of(&run, 2), 800); /* each line of each once */
    first[1].address = 0x20020;              /* five lines of a window, and sets that both are in */
    assert_in_range(left_of(&run, 3), 900, 1800);
    first[1].address = 0x20000; /* always the same set, which has room for two, */
    assert_int_equal(left_of(&run, 2), 800);
    assert_int_equal(left_of(&run, 1), UINT64_MAX); /* or not */
    first[1].address = 0x10008;                     /* what another access touches first */
    assert_int_equal(left_of(&run, 2), 600);        /* but the first store */
    first[0].address = 0x1003c;                     /* each eighth lies in two lines */
    first[1].address = 0x20100;
    assert_int_equal(left_of(&run, 2), 800);
    run.count = 3210; /* and what is no whole window */
    assert_int_equal(left_of(&run, 2), 800 + 20);
    strides[1] = 0; /* out of step */
    assert_int_equal(left_of(&run, 2), UINT64_MAX);
    strides[0] = strides[1] = 64; /* each in a line of its own */
    assert_int_equal(left_of(&run, 2), UINT64_MAX);
}

/* ---- beforehand ---- */

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

static void put_some(struct psnap_rng *rng, const struct pair *pair, uint64_t address,
                     uint16_t thread)
{
    struct psnap_access block[300];
    const size_t n = pick(rng, 0, 30) ? pick(rng, 1, 5) : 300;

    for (size_t i = 0; i < n; i++)
        block[i] = (struct psnap_access){.address = address + 24 * i,
                                         .ref = (uint32_t)pick(rng, NEST_WIDTH, WIDTH - 1),
                                         .size = 8,
                                         .kind = (uint8_t)pick(rng, 0, 1),
                                         .thread = thread};
    if (pick(rng, 0, 30) == 0)
        block[n - 1].thread ^= 1;
    put(pair, block, n);
}

/* Loops in loops, the inner one a run: mostly all arrays move alike. */
struct nest {
    struct psnap_access first[NEST_WIDTH];
    int64_t strides[3][NEST_WIDTH];
    uint64_t counts[3], width, plain;
};

static void random_nest(struct psnap_rng *rng, struct nest *nest)
{
    static const int64_t inner[] = {8, 8, 16, 4, -8, 64, 0},
                         outer[] = {64, 1200, 640, 4096, 8, -328, 0};
    const uint64_t where = pick(rng, 0, 2) ? 1 << 20 : UINT64_C(0x7f1234500000);

    memset(nest, 0, sizeof *nest);
    nest->width = pick(rng, 1, NEST_WIDTH);
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
    struct psnap_access first[NEST_WIDTH];
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

TEST(nests_are_as_their_accesses)
{
    struct psnap_rng rng;

    psnap_rng_init(&rng, 12);
    for (int round = 0; round < 120; round++) {
        struct psnap_machine machines[MACHINES];
        const size_t count = pick(&rng, 1, MACHINES);
        struct pair pair;

        for (size_t i = 0; i < count; i++)
            random_levels(&rng, &machines[i]);
        begin(&pair, machines, count, round);
        for (int n = 0; n < NESTS; n++) {
            struct nest nest;
            const uint64_t times = pick(&rng, 1, 3);
            random_nest(&rng, &nest);
            for (uint64_t again = 0; again < times; again++)
                put_nest(&rng, &pair, &nest, pick(&rng, 0, 1));
        }
        end(&pair, round);
    }
}

/* An array at the foot of the address space and one above 2^42, stored to in turn, each of the size
 * of a first level whose ways are 4 KiB: each is as far from the other one, in the 43 bits of
 * renamed addresses, and what is written back at level 1 must come to the line of level 2 that it
 * is of. */
TEST(arrays_are_half_of_all_addresses_apart)
{
    static const uint64_t places[] = {UINT64_C(0x7f0000100000), 0x100000};
    static const int64_t stride = 8, line = 64;
    const struct psnap_machine machine = machine_of("32K:64:8,256K:64:8");

    for (int rounds = 3; rounds < 9; rounds++) {
        struct psnap_access first = {.size = 8, .kind = PSNAP_STORE};
        struct psnap_run run = {.first = &first, .strides = &stride, .width = 1, .count = 4096};
        struct pair pair;

        begin(&pair, &machine, 1, rounds);
        for (int round = 0; round < rounds; round++) {
            first.address = places[round % 2];
            put_run(&pair, &run);
        }
        first = (struct psnap_access){.address = 1 << 30, .size = 8};
        run.strides = &line; /* all of level 2 leaves */
        run.count = 10000;
        put_run(&pair, &run);
        end(&pair, rounds);
    }
}
