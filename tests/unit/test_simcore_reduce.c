/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs by the line (simcore/reduce.h): random runs, and single accesses between them, on random
 * machines of small caches, in which lines of a run share sets more often than not; every count of
 * every reference has to be what it is access by access. And by hand what is left out.
 */
#include "tests/unit/test_random_machines.h"

#include "simcore/reduce.h"

enum { WIDTH = 12, RUNS = 6 };

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

static struct psnap_program *refs(void)
{
    struct psnap_program *program = psnap_program_new();

    for (uint32_t i = 0; i < WIDTH; i++)
        psnap_program_add_ref(program, &(struct psnap_ref){.loop = PSNAP_NONE});
    return program;
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
    struct psnap_program *program = refs();
    struct psnap_rng rng;

    psnap_rng_init(&rng, 4);
    for (int round = 0; round < 500; round++) {
        struct psnap_machine machines[3];
        const size_t count = pick(&rng, 1, 3);
        const struct psnap_sim_options options = {.by_thread = round % 2,
                                                  .threads = round % 3 ? 1 : 2};
        const struct psnap_sim_options alone = {.by_thread = round % 2};
        struct psnap_sink *by_line, *by_access;

        for (size_t i = 0; i < count; i++)
            random_plain(&rng, &machines[i]);
        by_line = psnap_sim_new(machines, count, program, &options, NULL);
        by_access = psnap_sim_new(machines, count, program, &alone, NULL);
        for (int r = 0; r < RUNS; r++) {
            struct made made;
            random_run(&rng, &made);
            for (int again = 0; again < 3; again++) { /* the second one has a schedule */
                assert_int_equal(psnap_sink_put_run(by_line, &made.run, NULL), PSNAP_OK);
                assert_int_equal(
                    psnap_sink_put_repetitions(by_access, &made.run, 0, made.run.count, NULL),
                    PSNAP_OK);
                for (size_t k = 0; k < made.run.width; k++)
                    made.first[k].address += 64 * 7;
            }
            random_run(&rng, &made);
            assert_int_equal(psnap_sink_put(by_line, made.first, made.run.width, NULL), PSNAP_OK);
            assert_int_equal(psnap_sink_put(by_access, made.first, made.run.width, NULL), PSNAP_OK);
        }
        assert_int_equal(psnap_sim_accesses(by_line), psnap_sim_accesses(by_access));
        for (size_t i = 0; i < count; i++)
            for (int view = 0; view < PSNAP_VIEW_COUNT; view++)
                for (uint32_t row = 0; row < WIDTH; row++) {
                    struct psnap_tally a = {0}, b = {0};
                    if (view == PSNAP_VIEW_TAG || (view == PSNAP_VIEW_THREAD && round % 2 == 0))
                        continue;
                    psnap_sim_add(by_line, i, (enum psnap_view)view, row, &a);
                    psnap_sim_add(by_access, i, (enum psnap_view)view, row, &b);
                    if (memcmp(&a, &b, sizeof a) != 0)
                        fail_msg("round %d, machine %zu of %zu, view %d, row %u", round, i, count,
                                 view, row);
                }
        psnap_sink_free(by_line);
        psnap_sink_free(by_access);
    }
    psnap_program_free(program);
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
