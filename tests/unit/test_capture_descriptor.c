/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records of hoisted loops against an expansion that does one access at a time: random loops and
 * random records of them, with gaps, open records and ordinary pieces in between, decoded with
 * blocks of many capacities, with and without runs; accesses, executions and lost loops are
 * compared. And words changed, in the ring and in the table: an error or a stream, and an end.
 */
#include "tests/unit/test.h"

#include "tests/unit/test_descriptor_support.h"

TEST(expansion)
{
    struct module *module = calloc(1, sizeof *module);
    uint64_t runs = 0, columns = 0, turning = 0;

    assert_non_null(module);
    for (uint64_t seed = 0; seed < 60; seed++) {
        make_module(module, seed);
        for (unsigned way = 0; way < WAYS; way++) {
            const struct taking taking = take_module(module, capacities[way / 2], way % 2);
            runs += taking.runs;
            columns += taking.column_runs;
            turning += taking.turning_runs;
        }
    }
    assert_true(runs > 1000 && columns > 1000 && turning > 1000);
    free(module);
}

/* In parts of so many accesses: each has as many, to the one, and so has what is counted. */
TEST(parts)
{
    struct module *module = calloc(1, sizeof *module);

    assert_non_null(module);
    for (uint64_t seed = 0; seed < 60; seed++) {
        struct psnap_decoder decoder;
        struct psnap_error error = {0};
        struct taking taking = {0};
        struct psnap_rng rng;
        bool goes_on = true;
        psnap_rng_init(&rng, seed);
        make_module(module, seed);
        taking.expected = module->expected;
        taking.expected_count = module->expected_count;
        assert_int_equal(open_decoder(&decoder, module, &error), PSNAP_OK);
        decoder.context.is_bounded = true;
        while (goes_on) {
            const uint64_t part = 1 + below(&rng, below(&rng, 2) ? 40 : 3000);
            const uint64_t end = taking.seen + part;
            while (goes_on && taking.seen < end) {
                const uint64_t left = end - taking.seen;
                decoder.context.most = left;
                goes_on = take(&decoder, &taking, left < 4096 ? left : 4096, seed % 3);
                assert_true(taking.seen <= end);
            }
        }
        assert_int_equal(taking.seen, module->expected_count);
        assert_executed(&decoder, module->executions, PIECES_MAX);
        decoder_release(&decoder);
    }
    free(module);
}

/* A loop of two pieces: one with a reference, and a guarded one that is only counted. */
static void make_counting_hoist(struct module *module)
{
    module->hoists[0] = (struct psnap_table_hoist){
        .pieces = 2, .words = PSNAP_HOIST_ROWS_WORDS + 1, .rows = 1, .guards = 1};
    module->refs[module->ref_count++] =
        (struct psnap_table_ref){.op = PSNAP_REF_PLAIN, .size = 8, .lanes = 1};
    module->moves[0] = (struct psnap_table_move){.base = PSNAP_HOIST_ROWS_WORDS, .stride = 8};
    module->pieces[0] = (struct psnap_table_piece){.refs = 1, .words = 2, .block = 1};
    module->pieces[1] =
        (struct psnap_table_piece){.first_ref = 1, .words = 1, .block = 2, .guard = 1};
    module->pieces[2] = (struct psnap_table_piece){
        .words = module->hoists[0].words, .block = PSNAP_NONE, .hoist = 1};
    module->piece_count = 3;
    for (uint32_t i = 1; i < HOISTS; i++)
        module->hoists[i] = module->hoists[0];
    make_table(module);
}

/* Ways through an iteration that touch the same references do not part a run. */
TEST(counting_guards)
{
    const uint64_t fixed[] = {PIECES + 2, 100, PSNAP_HOIST_ROWS_WORDS + 1 + 100, 0, IMAGE};
    struct module *module = calloc(1, sizeof *module);

    assert_non_null(module);
    make_counting_hoist(module);
    memcpy(module->ring, fixed, sizeof fixed);
    module->ring_words = fixed[2];
    for (uint64_t i = 0; i < 100; i++) {
        module->ring[PSNAP_HOIST_ROWS_WORDS + 1 + i] = i % 3 == 0;
        expect(module, IMAGE + 8 * i, 0);
    }
    module->executions[1] = 100;
    module->executions[2] = 34;
    assert_int_equal(take_module(module, 4096, true).runs, 1);
    free(module);
}

/* A record that is open, but too short for one of a loop with rows: nothing is written behind it.
 */
TEST(left_short)
{
    const uint64_t words[] = {-UINT64_C(2), PIECES + 2, 9, IMAGE};
    struct module *module = calloc(1, sizeof *module);
    struct psnap_decoder decoder;
    struct psnap_error error = {0};
    struct taking taking = {0};

    assert_non_null(module);
    make_counting_hoist(module);
    module->pieces[2].last = PSNAP_NONE;
    make_table(module);
    memcpy(module->ring, words, sizeof words);
    module->ring_words = 2;
    assert_int_equal(open_decoder(&decoder, module, &error), PSNAP_OK);
    decoder.context.passes_over = true;
    take_all(&decoder, &taking, 4096, true);
    assert_memory_equal(module->ring + 2, words + 2, 2 * sizeof *words);
    decoder_release(&decoder);
    free(module);
}

TEST(corrupt)
{
    struct module *module = calloc(1, sizeof *module);
    struct outcomes outcomes = {0};
    struct psnap_rng rng;

    assert_non_null(module);
    psnap_rng_init(&rng, 1);
    for (uint64_t seed = 0; seed < 4000; seed++) {
        struct psnap_decoder decoder;
        struct psnap_error error = {0};
        enum psnap_status status;
        if (seed % 10 == 0)
            make_module(module, seed);
        for (uint64_t i = below(&rng, 3); i > 0; i--) {
            const size_t at = below(&rng, module->table.count);
            module->table.words[at] = (uint32_t)odd_word(&rng, module->table.words[at], 1000);
        }
        for (uint64_t i = below(&rng, 4); i > 0; i--) {
            const size_t at = below(&rng, module->ring_words);
            module->ring[at] = odd_word(&rng, module->ring[at], 1000);
        }
        status = open_decoder(&decoder, module, &error);
        take_odd(&decoder, status, &error, ACCESSES_MAX, seed % 2, &rng, &outcomes);
        if (status)
            make_table(module);
        decoder_release(&decoder);
    }
    /* all have been tried */
    assert_true(outcomes.refused > 200 && outcomes.accepted > 200 && outcomes.failed > 200);
    free(module);
}
