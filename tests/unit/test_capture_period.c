/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records of hoisted loops that come again and again, advanced, are rounds where they may be
 * (capture/decode/period.c): the stream and what is counted are those of one record after the
 * other. Those of nests and pieces: test_capture_fold.c.
 */
#include "tests/unit/test.h"

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
        if (hoist->rows && w < PSNAP_HOIST_ROWS_WORDS)
            deltas[w] = 0;
        else if (!is_base(module, hoist, w))
            deltas[w] = odd && below(rng, 6) == 0;
        else
            deltas[w] = below(rng, 20) ? 8 * below(rng, 500) : HEAP - IMAGE;
}

/* Appends a record with its rows, all of one mask. */
static void put_record(struct module *module, const struct psnap_table_hoist *hoist,
                       const uint64_t *record, uint64_t mask, struct psnap_rng *rng)
{
    const uint32_t index = (uint32_t)(hoist - module->hoists);
    uint64_t *to = module->ring + module->ring_words, *row = to + hoist->words;

    memcpy(to, record, hoist->words * sizeof *record);
    for (uint64_t n = 0; n < record[1]; n++)
        row += put_iteration(module, hoist, record, row, n, hoist->pieces, mask, rng);
    if (record[0] != PIECES + module->first_end[index])
        row += put_iteration(module, hoist, record, row, record[1], module->last[index], mask, rng);
    if (hoist->rows)
        to[2] = (uint64_t)(row - to);
    module->ring_words += (size_t)(row - to);
    module->ended++;
    assert_true(module->ring_words < RING_WORDS);
}

/* Records of one or two loops in turn, without rows or with those of masks alone, which in some
 * rounds are others. */
static void put_again(struct module *module, struct psnap_rng *rng)
{
    const uint64_t rounds = 2 + below(rng, 10), pair = 1 + below(rng, 2);
    const bool odd = below(rng, 2);
    uint64_t records[2][RECORD_MAX], deltas[2][RECORD_MAX], masks[2];
    const struct psnap_table_hoist *hoists[2];

    for (uint64_t k = 0; k < pair; k++) {
        static const uint32_t indices[] = {0, 3, MASKS_ALONE};
        const uint32_t index = indices[below(rng, 3)];
        hoists[k] = &module->hoists[index];
        assert_true(hoists[k]->words <= RECORD_MAX);
        records[k][0] = PIECES + module->first_end[index] + below(rng, 2);
        records[k][1] = below(rng, below(rng, 2) ? 3 : 30);
        records[k][2] = records[k][3] = 0;
        put_words(module, hoists[k], records[k], rng);
        make_deltas(module, hoists[k], odd, deltas[k], rng);
        masks[k] = psnap_rng_next(rng);
    }
    for (uint64_t i = 0; i < rounds * pair; i++) {
        uint64_t *record = records[i % pair];
        put_record(module, hoists[i % pair], record, masks[i % pair], rng);
        for (uint32_t w = 0; w < hoists[i % pair]->words; w++)
            record[w] += deltas[i % pair][w];
        if (odd && below(rng, 9) == 0)
            masks[i % pair] = psnap_rng_next(rng);
    }
}

TEST(periods)
{
    struct module *module = calloc(1, sizeof *module);
    uint64_t rounds = 0;

    assert_non_null(module);
    for (uint64_t seed = 0; seed < 300; seed++) {
        struct psnap_rng rng;
        psnap_rng_init(&rng, seed);
        make_hoists(module, &rng);
        for (unsigned i = 0; i < 10; i++)
            put_again(module, &rng);
        rounds += take_module(module, 1 + below(&rng, 300), true).nests;
    }
    assert_true(rounds > 100);
    free(module);
}

/* Rows of a loop, and another one behind each row: planes. But for the first of them, in which the
 * length of a row becomes known, they are few nests. */
static void put_planes(struct module *module, unsigned planes, struct psnap_rng *rng)
{
    enum { ROW_ITERATIONS = 9 };
    const struct psnap_table_hoist *inner = &module->hoists[0], *outer = &module->hoists[3];
    uint64_t records[2][RECORD_MAX];

    records[0][0] = PIECES + module->first_end[0];
    records[1][0] = PIECES + module->first_end[3];
    records[0][1] = records[1][1] = 5;
    put_words(module, inner, records[0], rng);
    put_words(module, outer, records[1], rng);
    for (unsigned plane = 0; plane < planes; plane++) {
        for (unsigned i = 0; i < ROW_ITERATIONS; i++) {
            put_record(module, inner, records[0], 0, rng);
            for (uint32_t w = 2; w < inner->words; w++)
                records[0][w] += is_base(module, inner, w) ? 16 : 0;
        }
        put_record(module, outer, records[1], 0, rng);
        for (uint32_t w = 2; w < outer->words; w++)
            records[1][w] += is_base(module, outer, w) ? 64 : 0;
    }
}

TEST(planes)
{
    enum { PLANES = 20 };
    struct module *module = calloc(1, sizeof *module);
    unsigned few = 0;

    assert_non_null(module);
    for (uint64_t seed = 0; seed < 60; seed++) {
        struct psnap_rng rng;
        uint64_t nests;
        psnap_rng_init(&rng, seed);
        make_hoists(module, &rng);
        put_planes(module, PLANES, &rng);
        nests = take_module(module, 1 + below(&rng, 300), true).nests;
        few += nests > 0 && nests <= 4;
    }
    assert_true(few >= 20);
    free(module);
}
