/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records of a few accesses: plain pieces, and hoisted loops that are over after a few
 * iterations, as those of a search or of a short row are. There may be one for each three
 * accesses, in an order that nobody can foresee; so they are put one after the other in one
 * loop, which keeps nothing between them. What it leaves alone, psnap_decode takes: what is
 * longer, has guards or cannot be.
 *
 * The accesses of a hoisted loop that ends in its partial iteration are the first so many of
 * whole iterations.
 */
#include "capture/decode/decode.h"

enum { SHORT_ITERATIONS = 64 };

/* Whether accesses of a run's length are to be one. */
static inline bool is_run(uint64_t accesses, bool finds_runs)
{
    return finds_runs && accesses >= PSNAP_RUN_ACCESSES_MIN;
}

/* The first `total` accesses of iterations from `begun` on; false when out of memory. */
static inline bool put_iterations(struct psnap_decoder *decoder,
                                  const struct psnap_capture_hoist *hoist, const uint64_t *record,
                                  uint64_t begun, size_t total, struct psnap_access *block)
{
    const struct psnap_capture_move *moves = &decoder->tables.moves[hoist->first_move];
    struct psnap_capture_ref *const refs = &decoder->tables.refs[hoist->first_ref];
    const struct psnap_access *const end = block + total;
    const uint64_t *word = record + hoist->words;

    for (uint64_t i = begun; block < end; i++)
        for (uint32_t k = 0; k < hoist->refs && block < end; k++, block++) {
            const struct psnap_capture_move *move = &moves[k];
            struct psnap_capture_ref *ref = &refs[k];
            const uint64_t address =
                move->base ? psnap_move_address(decoder, move, record, i) : *word++;
            if (!psnap_decoder_reach(decoder, ref, address))
                return false;
            *block = psnap_decoder_access(decoder, ref, hoist->first_ref + k, address);
        }
    return true;
}

/* The record at `at` of a hoisted loop, of which `left` words are there: adds to *n how many
 * accesses it has, all of them in the block. Returns its words; 0: it is not for here. */
static inline uint64_t put_hoisted(struct psnap_decoder *decoder,
                                   const struct psnap_capture_piece *end, const uint64_t *at,
                                   uint64_t left, struct psnap_access *block, size_t capacity,
                                   bool finds_runs, size_t *n)
{
    struct psnap_capture_hoist *hoist = &decoder->tables.hoists[end->hoist - 1];
    const struct psnap_capture_piece *piece = &decoder->tables.pieces[hoist->first_piece];
    struct psnap_block *blocks = decoder->program->blocks;
    const uint32_t last = end->last == PSNAP_NONE ? 0 : end->last;
    uint64_t words = hoist->words, begun = 0, count;
    size_t total;

    if (hoist->guards || left < words)
        return 0;
    count = at[1];
    if (count > SHORT_ITERATIONS || is_run(count * hoist->refs, finds_runs) ||
        is_run(end->part_refs, finds_runs))
        return 0;
    total = (size_t)count * hoist->refs + end->part_refs;
    if (total > capacity - *n)
        return 0;
    if (hoist->has_rows) {
        words = at[2];
        begun = at[3];
        if (words > left || words < hoist->words + count * hoist->row_words + end->row_words)
            return 0;
    }
    if (!put_iterations(decoder, hoist, at, begun, total, block + *n))
        return 0;
    *n += total;
    hoist->completed += end->last != PSNAP_NONE;
    for (uint32_t i = 0; i < hoist->pieces; i++, piece++)
        if (piece->block != PSNAP_NONE)
            blocks[piece->block].executions += count + (i < last);
    return words;
}

/* A plain piece, straight into the block, which has room; false when an address is not in the range
 * of the one before, which takes longer (psnap_decoder_put_plain). */
static inline bool put_near(const struct psnap_decoder *decoder,
                            const struct psnap_capture_piece *piece, const uint64_t *words,
                            struct psnap_access *block)
{
    const struct psnap_capture_ref *ref = &decoder->tables.refs[piece->first_ref];
    const uint32_t first = piece->first_ref, count = piece->refs;

    for (uint32_t i = 0; i < count; i++, ref++) {
        if (words[i] - ref->low >= ref->span)
            return false;
        block[i] = psnap_decoder_access(decoder, ref, first + i, words[i]);
    }
    return true;
}

/* A module whose records are being decoded. */
struct reading {
    uint64_t first, count; /* words that they begin with */
    struct psnap_capture_piece *pieces;
};

/* False when the record at `at` is of no module. */
static bool read_module(struct psnap_decoder *decoder, uint64_t word, struct reading *reading)
{
    const struct psnap_capture_module *module = psnap_decoder_module(decoder, word);

    if (!module)
        return false;
    decoder->module = module;
    *reading = (struct reading){module->pieces, module->piece_count,
                                &decoder->tables.pieces[module->first_piece]};
    return true;
}

size_t psnap_decoder_put_short(struct psnap_decoder *decoder, struct psnap_access *block,
                               size_t capacity, bool finds_runs)
{
    struct psnap_block *const blocks = decoder->program->blocks;
    struct reading reading = {0};
    const uint64_t *at = decoder->at, *const end = decoder->end;
    size_t n = 0;

    if (decoder->is_part || decoder->is_bounded || decoder->is_skipping || decoder->tries)
        return 0;
    while (at < end) {
        const uint64_t index = *at - reading.first, left = (uint64_t)(end - at);
        struct psnap_capture_piece *piece;
        if (index >= reading.count) {
            const uint64_t gap = *at - PSNAP_GAP;
            if (gap - 1 < PSNAP_RECORD_WORDS_MAX && gap <= left)
                at += gap;
            else if (!read_module(decoder, *at, &reading))
                break;
            continue;
        }
        piece = &reading.pieces[index];
        if (piece->hoist) {
            const uint64_t words =
                put_hoisted(decoder, piece, at, left, block, capacity, finds_runs, &n);
            if (!words)
                break;
            at += words;
            continue;
        }
        if (!piece->is_plain || piece->nest || left < piece->words || capacity - n < piece->refs ||
            (finds_runs && piece->refs && !piece->rest))
            break;
        if (!put_near(decoder, piece, at + 1, block + n) &&
            !psnap_decoder_put_plain(decoder, piece, at + 1, block + n))
            break; /* there it is said why */
        piece->rest = (uint8_t)(piece->rest - (finds_runs && piece->refs));
        n += piece->refs;
        at += piece->words;
        if (piece->block != PSNAP_NONE)
            blocks[piece->block].executions++;
    }
    decoder->at = at;
    return n;
}
