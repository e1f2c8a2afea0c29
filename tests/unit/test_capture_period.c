/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records of hoisted loops that come again and again, advanced, are rounds where they may be
 * (capture/decode/period.c): the stream and what is counted are those of one record after the
 * other. Those of nests and pieces: test_capture_repeat.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/test_descriptor_support.h"

static bool is_base(const struct module *module, const struct psnap_table_hoist *hoist,
                    uint32_t word)
{
    for (uint32_t p = hoist->first_piece; p < hoist->first_piece + hoist->pieces; p++)
        for (uint32_t i = 0; i < module->pieces[p].refs; i++)
            if (module->moves[module->pieces[p].first_ref + i].base == word)
                return true;
    return false;
}

/* By how much a record's words advance: addresses, seldom from the image to the heap; in `odd` ones
 * numbers of iterations, steps and what quotients are of, too. */
static void make_deltas(const struct module *module, const struct psnap_table_hoist *hoist,
                        bool odd, uint64_t *deltas, struct psnap_rng *rng)
{
    deltas[0] = 0;
    for (uint32_t w = 1; w < hoist->words; w++)
        if (!is_base(module, hoist, w))
            deltas[w] = odd && below(rng, 6) == 0;
        else
            deltas[w] = below(rng, 20) ? 8 * below(rng, 500) : HEAP - IMAGE;
}

/* Records of one or two loops without rows, in turn. */
static void put_again(struct module *module, struct psnap_rng *rng)
{
    const uint64_t rounds = 2 + below(rng, 10), pair = 1 + below(rng, 2);
    const bool odd = below(rng, 2);
    uint64_t records[2][RECORD_MAX], deltas[2][RECORD_MAX];
    const struct psnap_table_hoist *hoists[2];

    for (uint64_t k = 0; k < pair; k++) {
        const uint32_t index = 3 * (uint32_t)below(rng, (HOISTS + 2) / 3);
        hoists[k] = &module->hoists[index];
        assert_true(!hoists[k]->rows && hoists[k]->words <= RECORD_MAX);
        records[k][0] = PIECES + module->first_end[index] + below(rng, 2);
        records[k][1] = below(rng, below(rng, 2) ? 3 : 30);
        put_words(module, hoists[k], records[k], rng);
        make_deltas(module, hoists[k], odd, deltas[k], rng);
    }
    for (uint64_t i = 0; i < rounds * pair; i++) {
        const struct psnap_table_hoist *hoist = hoists[i % pair];
        const uint32_t index = (uint32_t)(hoist - module->hoists);
        uint64_t *record = records[i % pair];
        for (uint64_t n = 0; n < record[1]; n++)
            put_iteration(module, hoist, record, NULL, n, hoist->pieces, 0, rng);
        if (record[0] != PIECES + module->first_end[index])
            put_iteration(module, hoist, record, NULL, record[1], module->last[index], 0, rng);
        memcpy(module->ring + module->ring_words, record, hoist->words * sizeof *record);
        module->ring_words += hoist->words;
        module->ended++;
        for (uint32_t w = 0; w < hoist->words; w++)
            record[w] += deltas[i % pair][w];
    }
}

static void test_periods(void **state)
{
    struct module *module = calloc(1, sizeof *module);
    uint64_t rounds = 0, records = 0;

    (void)state;
    assert_non_null(module);
    for (uint64_t seed = 0; seed < 300; seed++) {
        struct psnap_decoder decoder;
        struct psnap_error error = {0};
        struct taking taking = {.expected = module->expected};
        struct psnap_rng rng;
        psnap_rng_init(&rng, seed);
        make_hoists(module, &rng);
        for (unsigned i = 0; i < 10; i++)
            put_again(module, &rng);
        taking.expected_count = module->expected_count;
        assert_int_equal(open_decoder(&decoder, module, &error), PSNAP_OK);
        while (take(&decoder, &taking, 1 + below(&rng, 300), true))
            ;
        assert_int_equal(taking.seen, module->expected_count);
        assert_counted(&decoder, module);
        rounds += taking.nests;
        records += module->ended;
        decoder_release(&decoder);
    }
    print_message("%u records, %u times rounds of them\n", (unsigned)records, (unsigned)rounds);
    assert_true(rounds > 100);
    free(module);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_periods)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
