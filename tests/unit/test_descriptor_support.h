/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random modules of hoisted loops (guards, affine references with constant and recorded steps, with
 * quotients and without, irregular ones) and random records of them, with what these mean, one
 * access at a time.
 */
#ifndef PSNAP_TEST_DESCRIPTOR_SUPPORT_H
#define PSNAP_TEST_DESCRIPTOR_SUPPORT_H

#include "tests/unit/test_capture_support.h"

enum {
    HOISTS = 6,
    MASKS_ALONE = 5, /* whose rows have no addresses */
    PARTS_MAX = 5,   /* pieces of a loop */
    ENDS = 3,
    PIECES_MAX = HOISTS * (PARTS_MAX + ENDS),
    REFS_MAX = 160,
    QUOTIENTS_MAX = 3 * REFS_MAX,
    RING_WORDS = 16000,
    ACCESSES_MAX = 600000,
    RECORD_MAX = 128
};

struct module {
    struct psnap_table_block blocks[1 + PIECES_MAX]; /* one for each piece; the first enters all */
    struct psnap_table_ref refs[REFS_MAX];
    struct psnap_table_move moves[REFS_MAX];
    struct psnap_table_quotient quotients[QUOTIENTS_MAX];
    struct psnap_table_piece pieces[PIECES_MAX];
    struct psnap_table_hoist hoists[HOISTS];
    uint32_t ref_count, quotient_count, piece_count, first_end[HOISTS], last[HOISTS];
    struct table table;
    uint64_t ring[RING_WORDS];
    size_t ring_words;
    uint64_t executions[1 + PIECES_MAX], ended;
    struct psnap_access expected[ACCESSES_MAX];
    size_t expected_count;
};

static inline uint64_t below(struct psnap_rng *rng, uint64_t n)
{
    return psnap_rng_below(rng, n);
}

/* 0, or a word of the record, whose value put_words sets. */
static inline uint32_t make_word(struct psnap_table_hoist *hoist, struct psnap_rng *rng)
{
    return below(rng, 3) ? 0 : hoist->words++;
}

/* Numerators of few bits wrap around, those of many do not. */
static inline void make_quotient(struct module *module, struct psnap_table_hoist *hoist,
                                 struct psnap_rng *rng)
{
    static const uint32_t bits[] = {1, 3, 5, 8, 11, 16, 32, 64};
    static const uint32_t divisors[] = {1, 2, 2, 2, 3, 4, 7, 60, 1000};
    static const int64_t steps[] = {1, 1, 1, 2, -1, -2, 0, 3};
    static const int64_t factors[] = {8, 8, -8, 24, 256};
    struct psnap_table_quotient *quotient = &module->quotients[module->quotient_count++];

    *quotient = (struct psnap_table_quotient){.bits = bits[below(rng, 8)],
                                              .divisor = divisors[below(rng, 9)]};
    quotient->offset = 5000 + (int64_t)below(rng, 9);
    quotient->base = make_word(hoist, rng);
    quotient->stride = steps[below(rng, 8)];
    quotient->step = make_word(hoist, rng);
    quotient->multiplier = factors[below(rng, 5)];
    quotient->factor = make_word(hoist, rng);
}

/* In half of the loops; some are those of the reference before. */
static inline void make_quotients(struct module *module, struct psnap_table_hoist *hoist,
                                  bool shares, struct psnap_rng *rng)
{
    struct psnap_table_move *move = &module->moves[module->ref_count];

    move->first_quotient = shares ? move[-1].first_quotient : module->quotient_count;
    move->quotients = shares ? move[-1].quotients : (uint32_t)below(rng, 3);
    while (module->quotient_count < move->first_quotient + move->quotients)
        make_quotient(module, hoist, rng);
    hoist->quotients = module->quotient_count - hoist->first_quotient;
}

/* Some are the same as others', some recorded with the loop, some irregular. */
static inline void make_move(struct module *module, struct psnap_table_hoist *hoist,
                             struct psnap_rng *rng)
{
    static const int64_t steps[] = {0, 8, 8, -8, 64, 1, -4096};
    struct psnap_table_move *move = &module->moves[module->ref_count];
    const struct psnap_table_move *before = move - 1; /* of the same loop, if it has a base */
    const bool shares = module->ref_count > hoist->first_move && before->base && below(rng, 2);
    const int64_t offset = (int64_t)below(rng, 1000) - 500, step = steps[below(rng, 7)];

    *move = (struct psnap_table_move){0};
    if (hoist->rows && hoist != &module->hoists[MASKS_ALONE] && below(rng, 2))
        return;
    move->base = shares ? before->base : hoist->words++;
    move->step = below(rng, 4) ? 0 : hoist->words++;
    move->offset = offset;
    move->stride = step;
    if (hoist->first_piece % 2)
        make_quotients(module, hoist, shares, rng);
}

static inline void make_hoist(struct module *module, uint32_t index, struct psnap_rng *rng)
{
    static const uint32_t sizes[] = {1, 2, 4, 8, 16, 32, 64};
    struct psnap_table_hoist *hoist = &module->hoists[index];
    const bool rows = index % 3 != 0;

    *hoist = (struct psnap_table_hoist){
        .first_piece = module->piece_count,
        .pieces = 1 + (uint32_t)below(rng, PARTS_MAX),
        .first_move = module->ref_count,
        .first_quotient = module->quotient_count,
        .words = rows ? PSNAP_HOIST_ROWS_WORDS : PSNAP_HOIST_HEADER_WORDS,
        .rows = rows,
    };
    for (uint32_t i = 0; i < hoist->pieces; i++) {
        struct psnap_table_piece *piece = &module->pieces[module->piece_count];
        *piece = (struct psnap_table_piece){
            .first_ref = module->ref_count,
            .refs = (uint32_t)below(rng, 6),
            .block = below(rng, 4) ? 1 + module->piece_count : PSNAP_NONE,
            .guard = index % 3 == 2 && below(rng, 2) ? ++hoist->guards : 0,
        };
        module->piece_count++;
        piece->words = 1 + piece->refs;
        for (uint32_t k = 0; k < piece->refs; k++, module->ref_count++) {
            module->refs[module->ref_count] =
                (struct psnap_table_ref){.op = PSNAP_REF_PLAIN,
                                         .kind = (uint32_t)below(rng, 3),
                                         .size = sizes[below(rng, 7)],
                                         .lanes = 1};
            make_move(module, hoist, rng);
        }
    }
    module->first_end[index] = module->piece_count;
    module->last[index] = 1 + (uint32_t)below(rng, hoist->pieces);
    for (int i = 0; i < ENDS; i++)
        module->pieces[module->piece_count++] = (struct psnap_table_piece){
            .words = hoist->words,
            .block = PSNAP_NONE,
            .hoist = index + 1,
            .last = i == 0   ? 0
                    : i == 1 ? module->last[index]
                             : PSNAP_NONE,
        };
}

static inline void make_table(struct module *module)
{
    static const char strings[8] = "\0main";
    const struct psnap_table_loop loop = {.id = 1, .src_id = 1, .parent = PSNAP_NONE};
    const struct psnap_table_header header = {
        .magic = PSNAP_CAPTURE_MAGIC,
        .abi = PSNAP_CAPTURE_ABI,
        .loops = 1,
        .blocks = 1 + PIECES_MAX,
        .refs = module->ref_count,
        .pieces = module->piece_count,
        .hoists = HOISTS,
        .moves = module->ref_count,
        .quotients = module->quotient_count,
        .string_bytes = sizeof strings,
    };

    struct table *table = &module->table;

    table->count = 0;
    put_rows(table, &header, sizeof header);
    put_rows(table, &loop, sizeof loop);
    put_rows(table, module->blocks, sizeof module->blocks);
    put_rows(table, module->refs, module->ref_count * sizeof *module->refs);
    put_rows(table, module->pieces, module->piece_count * sizeof *module->pieces);
    put_rows(table, module->hoists, sizeof module->hoists);
    put_rows(table, module->moves, module->ref_count * sizeof *module->moves);
    put_rows(table, module->quotients, module->quotient_count * sizeof *module->quotients);
    put_rows(table, strings, sizeof strings);
}

/* ------------------------------------------------------------- records and what they mean */

static inline void expect(struct module *module, uint64_t address, uint32_t ref)
{
    assert_true(module->expected_count < ACCESSES_MAX);
    module->expected[module->expected_count++] = (struct psnap_access){
        .address = canonical(address),
        .ref = ref,
        .size = (uint8_t)module->refs[ref].size,
        .kind = (uint8_t)module->refs[ref].kind,
        .thread = 3,
    };
}

static inline uint64_t some_address(struct psnap_rng *rng)
{
    const uint64_t offset = IMAGE_BYTES / 4 + below(rng, IMAGE_BYTES / 4);
    return (below(rng, 8) ? IMAGE : HEAP) + offset;
}

static inline uint64_t add_quotients(const struct module *module,
                                     const struct psnap_table_move *move, const uint64_t *record,
                                     uint64_t i)
{
    uint64_t sum = 0;

    for (uint32_t k = 0; k < move->quotients; k++) {
        const struct psnap_table_quotient *quotient = &module->quotients[move->first_quotient + k];
        const uint64_t start =
            (uint64_t)quotient->offset + (quotient->base ? record[quotient->base] : 0);
        const uint64_t step = quotient->step ? record[quotient->step] : (uint64_t)quotient->stride;
        const uint64_t factor =
            quotient->factor ? record[quotient->factor] : (uint64_t)quotient->multiplier;
        uint64_t x = start + i * step;
        if (quotient->bits < 64)
            x %= UINT64_C(1) << quotient->bits;
        sum += x / quotient->divisor * factor;
    }
    return sum;
}

/* One iteration: what it touches is expected, its row is at `row`. Returns the words of that. */
static inline size_t put_iteration(struct module *module, const struct psnap_table_hoist *hoist,
                                   const uint64_t *record, uint64_t *row, uint64_t i,
                                   uint32_t pieces, uint64_t mask, struct psnap_rng *rng)
{
    size_t words = 0;

    if (hoist->guards)
        row[words++] = mask;
    for (uint32_t p = hoist->first_piece; p < hoist->first_piece + pieces; p++) {
        const struct psnap_table_piece *piece = &module->pieces[p];
        if (piece->guard && !(mask >> (piece->guard - 1) & 1))
            continue;
        if (piece->block != PSNAP_NONE)
            module->executions[piece->block]++;
        for (uint32_t ref = piece->first_ref; ref < piece->first_ref + piece->refs; ref++) {
            const struct psnap_table_move *move = &module->moves[ref];
            const uint64_t offset = (uint64_t)move->offset;
            uint64_t step = (uint64_t)move->stride, address;
            if (move->step)
                step = record[move->step];
            if (move->base)
                address =
                    record[move->base] + offset + i * step + add_quotients(module, move, record, i);
            else
                address = row[words++] = some_address(rng);
            expect(module, address, ref);
        }
    }
    return words;
}

/* The words are addresses, or, where a move says so, steps. */
static inline void put_words(const struct module *module, const struct psnap_table_hoist *hoist,
                             uint64_t *record, struct psnap_rng *rng)
{
    for (uint32_t i = hoist->rows ? 4 : 2; i < hoist->words; i++)
        record[i] = some_address(rng);
    for (uint32_t i = hoist->first_quotient; i < hoist->first_quotient + hoist->quotients; i++) {
        const struct psnap_table_quotient *quotient = &module->quotients[i];
        if (quotient->base)
            record[quotient->base] = below(rng, 1000);
        if (quotient->step)
            record[quotient->step] = below(rng, 5) - 2;
        if (quotient->factor)
            record[quotient->factor] = 8 * below(rng, 5) - 16;
    }
    for (uint32_t p = hoist->first_piece; p < hoist->first_piece + hoist->pieces; p++)
        for (uint32_t i = 0; i < module->pieces[p].refs; i++) {
            const struct psnap_table_move *move = &module->moves[module->pieces[p].first_ref + i];
            if (move->step)
                record[move->step] = below(rng, 3) * 8 - 8;
        }
}

static inline void put_hoist(struct module *module, uint32_t index, struct psnap_rng *rng)
{
    const struct psnap_table_hoist *hoist = &module->hoists[index];
    const uint64_t end = below(rng, ENDS), choice = below(rng, 3);
    const uint64_t most = choice == 0 ? 4 : choice == 1 ? 40 : hoist->rows ? 25 : 300;
    const uint64_t count = below(rng, most);
    const bool is_left =
        end == 2 && (!hoist->rows || below(rng, 2)); /* in a batch that stays open */
    uint64_t *record = module->ring + module->ring_words + is_left, *row = record + hoist->words;
    const uint64_t begun = hoist->rows && below(rng, 2) ? 1000 : 0;
    uint64_t mask = psnap_rng_next(rng);

    record[0] = PIECES + module->first_end[index] + end;
    record[1] = count;
    put_words(module, hoist, record, rng);
    for (uint64_t i = 0; i < count; i++) {
        row += put_iteration(module, hoist, record, row, begun + i, hoist->pieces, mask, rng);
        mask = below(rng, 8) ? mask : psnap_rng_next(rng);
    }
    if (end == 1)
        row += put_iteration(module, hoist, record, row, begun + count, module->last[index], mask,
                             rng);
    if (hoist->rows) {
        record[2] = (uint64_t)(row - record);
        record[3] = begun;
    }
    if (is_left && hoist->rows &&
        (row == record + hoist->words || row - record >= PSNAP_RECORD_WORDS_MAX)) {
        record[-1] = PSNAP_GAP + 1; /* there are no such rows: it has ended */
    } else if (is_left) {
        record[-1] = -(uint64_t)(row - record + 1);
        record[1] = hoist->rows ? below(rng, 2) : count;
        record[2] = hoist->rows ? (uint64_t)(uintptr_t)row : record[2];
    }
    module->ended += end != 2;
    module->ring_words += (size_t)(row - record) + is_left;
    assert_true(module->ring_words < RING_WORDS);
}

static inline void make_hoists(struct module *module, struct psnap_rng *rng)
{
    memset(module, 0, sizeof *module);
    for (uint32_t i = 0; i < HOISTS; i++)
        make_hoist(module, i, rng);
    make_table(module);
}

static inline void make_module(struct module *module, uint64_t seed)
{
    struct psnap_rng rng;

    psnap_rng_init(&rng, seed);
    make_hoists(module, &rng);
    while (module->ring_words < RING_WORDS - 2000) {
        uint64_t *at = module->ring + module->ring_words, words = 1 + below(&rng, 20);
        if (below(&rng, 5) == 0) {
            *at = below(&rng, 2) ? PSNAP_GAP + words : -words;
            module->ring_words += words;
        } else
            put_hoist(module, (uint32_t)below(&rng, HOISTS), &rng);
    }
}

/* ------------------------------------------------------------- decoding it */

static inline enum psnap_status open_decoder(struct psnap_decoder *decoder,
                                             const struct module *module, struct psnap_error *error)
{
    return open_ring(decoder, &module->table, module->piece_count, module->ring, module->ring_words,
                     error);
}

/* All that the module's ring has is what is expected; it is decoded in blocks of so many. */
static inline struct taking take_module(const struct module *module, size_t capacity,
                                        bool with_runs)
{
    struct taking taking = {.expected = module->expected, .expected_count = module->expected_count};
    struct psnap_decoder decoder;
    struct psnap_error error = {0};

    assert_int_equal(open_decoder(&decoder, module, &error), PSNAP_OK);
    take_all(&decoder, &taking, capacity, with_runs);
    assert_executed(&decoder, module->executions, PIECES_MAX);
    decoder_release(&decoder);
    return taking;
}

#endif
