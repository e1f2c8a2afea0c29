/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records of hoisted loops to accesses (capture_abi.h has their layout): the k-th
 * reference of an iteration is base + offset + i * step, or the next word of the
 * iteration's row. Iterations that touch the same references, in most loops all of
 * them, are one run: affine references with their strides, the others as columns
 * of the rows where they lie in the ring. Few iterations, what spans two
 * ranges of the program's memory, and readers that take no runs get them one by one.
 *
 * A program that was killed, or a bug, may have written any words: rows stay in
 * their record, references in their tables.
 */
#include "capture/decode/decode.h"

#include <inttypes.h>

static enum psnap_status corrupt(struct psnap_error *error, const char *what)
{
    return psnap_error_set(error, PSNAP_ERROR_CORRUPT,
                           "the program's ring holds a loop that cannot be: %s", what);
}

/* Bit n is that of the pieces whose guard is n + 1. */
static inline uint64_t mask_of(const struct psnap_capture_hoist *hoist, const uint64_t *row)
{
    return hoist->guards ? row[0] : 0;
}

/* Words of a row of the first `pieces` pieces, and the references they execute. */
static uint32_t measure(const struct psnap_decoder *decoder,
                        const struct psnap_capture_hoist *hoist, uint32_t pieces, uint64_t mask,
                        uint32_t *refs)
{
    const struct psnap_capture_piece *piece = &decoder->tables.pieces[hoist->first_piece];
    uint32_t words = hoist->guards > 0;

    *refs = 0;
    for (uint32_t i = 0; i < pieces; i++, piece++)
        if (psnap_piece_is_executed(piece, mask)) {
            words += piece->row_words;
            *refs += piece->refs;
        }
    return words;
}

enum psnap_status psnap_descriptor_open(struct psnap_decoder *decoder,
                                        const struct psnap_capture_piece *end,
                                        struct psnap_error *error)
{
    const uint64_t *at = decoder->at;
    struct psnap_capture_hoist *hoist = &decoder->tables.hoists[end->hoist - 1];
    uint64_t words = hoist->has_rows ? at[2] : hoist->words;

    if (words < hoist->words || words > (uint64_t)(decoder->end - at))
        return corrupt(error, "it is longer than there is room");
    decoder->hoisted = (struct psnap_hoisted){
        .hoist = hoist,
        .record = at,
        .row = at + hoist->words,
        .end = at + words,
        .count = at[1],
        .begun = hoist->has_rows ? at[3] : 0,
        .last = end->last == PSNAP_NONE ? 0 : end->last,
    };
    hoist->completed += end->last != PSNAP_NONE && !decoder->tries;
    decoder->at += words;
    return PSNAP_OK;
}

/* Iterations from here on that touch the same references, the partial one alone. Sets what they
 * have in common; 0 when their rows leave the record. */
static uint64_t count_alike(const struct psnap_decoder *decoder, struct psnap_hoisted *open)
{
    const struct psnap_capture_hoist *hoist = open->hoist;
    uint64_t left = open->count - open->iteration, room = (uint64_t)(open->end - open->row);
    const uint64_t *row = open->row;
    uint64_t alike = 1;

    if (!hoist->guards && left) {
        open->pieces = hoist->pieces;
        open->mask = 0;
        open->pitch = hoist->row_words;
        open->refs = hoist->refs;
        return !open->pitch || room / open->pitch >= left ? left : 0;
    }
    if (hoist->guards && !room)
        return 0;
    open->pieces = left ? hoist->pieces : open->last;
    open->mask = mask_of(hoist, row);
    open->pitch = measure(decoder, hoist, open->pieces, open->mask, &open->refs);
    if (open->pitch > room)
        return 0;
    if (!hoist->guards)
        return 1;
    while (alike < left && (alike + 1) * open->pitch <= room &&
           !((row[alike * open->pitch] ^ open->mask) & hoist->mask_refs))
        alike++;
    return alike;
}

/* Of the next iterations, those whose masks have the piece. */
static uint64_t count_masks(const struct psnap_hoisted *open,
                            const struct psnap_capture_piece *piece, uint64_t times)
{
    const unsigned shift = piece->guard - 1u;
    uint64_t count = 0;

    for (uint64_t i = 0; i < times; i++)
        count += open->row[i * open->pitch] >> shift & 1;
    return count;
}

/* Pieces without references may be executed in some of them only. */
static void count_executions(struct psnap_decoder *decoder, const struct psnap_hoisted *open,
                             uint64_t times)
{
    const struct psnap_capture_piece *piece = &decoder->tables.pieces[open->hoist->first_piece];

    for (uint32_t i = 0; i < open->pieces && !decoder->is_skipping; i++, piece++) {
        const uint64_t count = piece->guard ? count_masks(open, piece, times) : times;
        if (count && piece->block != PSNAP_NONE)
            psnap_decoder_count(decoder, piece->block, count);
    }
}

/* The address of an affine reference or the next in the row, made canonical in `access`. */
static inline bool put_access(struct psnap_decoder *decoder, const uint64_t *record, uint64_t i,
                              const struct psnap_capture_move *move, const uint64_t **word,
                              uint32_t index, struct psnap_access *access)
{
    struct psnap_capture_ref *ref = &decoder->tables.refs[index];
    const uint64_t address = move->base ? psnap_move_address(decoder, move, record, i) : *(*word)++;

    if (!psnap_decoder_reach(decoder, ref, address))
        return false;
    *access = psnap_decoder_access(decoder, ref, index, address);
    return true;
}

/* `times` iterations from the start of one, for which the block has room; false: no memory. */
static bool put_iterations(struct psnap_decoder *decoder, const struct psnap_hoisted *open,
                           uint64_t times, struct psnap_access *block)
{
    const struct psnap_capture_hoist *hoist = open->hoist;
    const struct psnap_capture_piece *first = &decoder->tables.pieces[hoist->first_piece];
    const struct psnap_capture_move *moves = &decoder->tables.moves[hoist->first_move];
    const uint64_t *record = open->record, mask = open->mask;
    const uint64_t begun = open->begun + open->iteration;

    for (uint64_t i = begun; i < begun + times; i++) {
        const uint64_t *word = open->word + (i - begun) * open->pitch;
        const struct psnap_capture_move *move = moves;
        for (uint32_t p = 0; p < open->pieces; p++) {
            const uint32_t index = first[p].first_ref, refs = first[p].refs;
            if (psnap_piece_is_executed(&first[p], mask))
                for (uint32_t r = 0; r < refs; r++, block++)
                    if (!put_access(decoder, record, i, move + r, &word, index + r, block))
                        return false;
            move += refs;
        }
    }
    return true;
}

/* The rest of one iteration, as far as the block has room; negative when out of memory. */
static ssize_t put_rest(struct psnap_decoder *decoder, struct psnap_hoisted *open,
                        struct psnap_access *block, size_t capacity)
{
    const struct psnap_capture_hoist *hoist = open->hoist;
    size_t n = 0;

    for (; open->piece < open->pieces; open->piece++, open->ref = 0) {
        const struct psnap_capture_piece *piece =
            &decoder->tables.pieces[hoist->first_piece + open->piece];
        if (!psnap_piece_is_executed(piece, open->mask))
            continue;
        for (; open->ref < piece->refs; open->ref++) {
            const uint32_t index = piece->first_ref + open->ref;
            if (n == capacity)
                return (ssize_t)n;
            if (!put_access(decoder, open->record, open->begun + open->iteration,
                            &decoder->tables.moves[hoist->first_move + index - hoist->first_ref],
                            &open->word, index, &block[n++]))
                return -1;
        }
    }
    return (ssize_t)n;
}

void psnap_descriptor_count(struct psnap_decoder *decoder, const struct psnap_capture_hoist *hoist,
                            uint64_t count)
{
    const struct psnap_capture_piece *piece = &decoder->tables.pieces[hoist->first_piece];

    for (uint32_t i = 0; i < hoist->pieces && !decoder->is_skipping; i++, piece++)
        if (piece->block != PSNAP_NONE)
            psnap_decoder_count(decoder, piece->block, count);
}

bool psnap_descriptor_put(struct psnap_decoder *decoder, const struct psnap_capture_hoist *hoist,
                          const uint64_t *values, uint64_t count, struct psnap_access *block)
{
    const struct psnap_capture_move *moves = &decoder->tables.moves[hoist->first_move];

    for (uint64_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < hoist->refs; k++)
            if (!put_access(decoder, values, i, &moves[k], NULL, hoist->first_ref + k, block++))
                return false;
    psnap_descriptor_count(decoder, hoist, count);
    return true;
}

static void advance(struct psnap_hoisted *open, uint64_t iterations)
{
    open->iteration += iterations;
    open->rest -= iterations < open->rest ? iterations : open->rest;
    open->row += iterations * open->pitch;
    open->alike -= iterations;
    open->piece = open->ref = 0;
    open->word = open->row + (open->hoist->guards > 0);
}

/* Of the iterations that are alike those that may be delivered as a whole. */
static uint64_t bounded(const struct psnap_decoder *decoder, const struct psnap_hoisted *open,
                        size_t delivered)
{
    return open->refs
               ? psnap_decoder_bound(decoder, open->delivered + delivered, open->refs, open->alike)
               : open->alike;
}

/* From the beginning of an iteration on as many as are a run; false when they are not worth one:
 * some are put one by one. */
static bool next_run(struct psnap_decoder *decoder, struct psnap_hoisted *open,
                     struct psnap_nest *nest)
{
    const struct psnap_capture_hoist *hoist = open->hoist;
    uint64_t times = open->alike;
    uint32_t turns = 1;

    open->rest = open->alike;
    if (!nest || !open->may_run)
        return false;
    if (hoist->quotients)
        times = psnap_quotients_alike(decoder, hoist, open->record, open->begun + open->iteration,
                                      open->alike, open->refs, &turns);
    if (times * open->refs >= PSNAP_RUN_ACCESSES_MIN &&
        psnap_hoisted_run(decoder, times, turns, nest)) {
        open->rest = 0;
        advance(open, times);
        return true;
    }
    times = times < PSNAP_RUN_ACCESSES_MIN ? PSNAP_RUN_ACCESSES_MIN : times;
    open->rest = times < open->alike ? times : open->alike;
    return false;
}

ssize_t psnap_descriptor_next(struct psnap_decoder *decoder, struct psnap_access *block,
                              size_t capacity, struct psnap_nest *nest, struct psnap_error *error)
{
    struct psnap_hoisted *open = &decoder->hoisted;
    size_t n = 0;

    while (open->alike || open->iteration < open->count ||
           (open->iteration == open->count && open->last)) {
        uint64_t whole;
        ssize_t more;
        if (psnap_decoder_is_full(decoder, open->delivered + n))
            return (ssize_t)n;
        if (!open->alike) {
            open->alike = count_alike(decoder, open);
            if (!open->alike)
                return corrupt(error, "its rows do not fit");
            whole = bounded(decoder, open, n);
            open->may_run = whole > 0;
            open->alike = whole ? whole : 1; /* cut short: so that executions count as far */
            count_executions(decoder, open, open->alike);
            advance(open, open->refs ? 0 : open->alike);
            continue;
        }
        if (!open->rest && next_run(decoder, open, nest)) {
            if (open->iteration == open->count && !open->last)
                open->hoist = NULL;
            return (ssize_t)n;
        }
        if (!open->piece && !open->ref && capacity - n >= open->refs) {
            const uint64_t room = (capacity - n) / open->refs;
            const uint64_t times = open->rest < room ? open->rest : room;
            if (!put_iterations(decoder, open, times, block + n))
                return psnap_decoder_no_memory(error);
            n += (size_t)times * open->refs;
            advance(open, times);
            continue;
        }
        more = put_rest(decoder, open, block + n, capacity - n);
        if (more < 0)
            return psnap_decoder_no_memory(error);
        n += (size_t)more;
        if (open->piece < open->pieces)
            return (ssize_t)n; /* the block is full */
        advance(open, 1);
    }
    open->hoist = NULL;
    return (ssize_t)n;
}

/* Executions of a loop of whose end nothing has been read. */
static uint64_t unfinished(const struct psnap_program *program, uint32_t loop, uint64_t completed)
{
    const uint32_t entry = program->loops[loop].entry;
    const uint64_t begun = entry == PSNAP_NONE ? 0 : program->blocks[entry].executions;

    return begun > completed ? begun - completed : 0;
}

uint64_t psnap_descriptor_lost(const struct psnap_decoder *decoder, uint64_t regions)
{
    const struct psnap_capture_tables *tables = &decoder->tables;
    uint64_t lost = 0;

    for (uint32_t i = 0; i < tables->hoist_count; i++)
        if (!tables->hoists[i].is_part)
            lost +=
                unfinished(decoder->program, tables->hoists[i].loop, tables->hoists[i].completed);
    for (uint32_t i = 0; i < tables->nest_count; i++)
        lost += unfinished(decoder->program, tables->nests[i].loop, tables->nests[i].completed);
    lost -= lost < regions ? lost : regions;
    return lost > decoder->passed_over ? lost : decoder->passed_over;
}
