/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ring records to accesses. Almost all records are pieces whose references are
 * plain, an address each, or hoisted loops of a few accesses (decode_short.c); those of other
 * references (decode_expand.c) and of longer hoisted loops and nests (descriptor.c, nest.c) are
 * opened and delivered bit by bit. Addresses are made canonical here; each reference remembers
 * the range its last address was in.
 */
#include "capture/decode/decode.h"

#include <inttypes.h>

#include "capture/collect/rings.h"

enum psnap_status psnap_decoder_corrupt(struct psnap_error *error, uint64_t word)
{
    return psnap_error_set(error, PSNAP_ERROR_CORRUPT,
                           "the program's ring holds a record that cannot be (0x%" PRIx64 ")",
                           word);
}

enum psnap_status psnap_decoder_no_memory(struct psnap_error *error)
{
    return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for the program's mappings");
}

bool psnap_decoder_refresh(struct psnap_decoder *decoder, struct psnap_capture_ref *ref,
                           uint64_t address)
{
    const struct psnap_range *range = psnap_rebase_find(&decoder->rebase, address);
    if (!range)
        return false;
    ref->low = range->low;
    ref->span = range->high - range->low;
    ref->delta = range->delta;
    return true;
}

void psnap_decoder_forget_ranges(struct psnap_decoder *decoder)
{
    if (decoder->generation == decoder->rebase.generation)
        return;
    decoder->generation = decoder->rebase.generation;
    for (uint32_t i = 0; i < decoder->tables.ref_count; i++)
        decoder->tables.refs[i].span = 0;
}

/* The piece whose record starts with this word, NULL when there is none such. */
static struct psnap_capture_piece *find_piece(struct psnap_decoder *decoder, uint64_t word)
{
    const struct psnap_capture_module *module = decoder->module;

    if (!module || word - module->pieces >= module->piece_count) {
        module = psnap_decoder_module(decoder, word);
        if (!module)
            return NULL;
        decoder->module = module;
    }
    return &decoder->tables.pieces[module->first_piece + (word - module->pieces)];
}

/* Room that was taken and has not been marked is all zero, however long: what follows is not. */
static void pass_over_unmarked(struct psnap_decoder *decoder)
{
    while (decoder->at < decoder->end && !*decoder->at)
        decoder->at++;
}

/* What starts with no piece, with `header`: a gap, or an open record, whose header says minus its
 * length, is waited for or passed over; where the program was killed between taking the room and
 * marking it, nothing follows. False when neither. */
static bool pass_over(struct psnap_decoder *decoder, uint64_t header)
{
    const uint64_t gap = header - PSNAP_GAP, left = (uint64_t)(decoder->end - decoder->at);
    const bool is_open = psnap_record_is_open(header) && -header <= left;

    if (gap - 1 < PSNAP_RECORD_WORDS_MAX && gap <= left)
        decoder->at += gap;
    else if (is_open && !decoder->passes_over)
        decoder->is_stuck = true;
    else if (is_open && header) {
        decoder->at += -header;
        decoder->passed_over++;
    } else if (decoder->is_last_part)
        decoder->at = decoder->end;
    else if (is_open)
        pass_over_unmarked(decoder);
    else
        return false;
    return true;
}

/* Whether what is at the decoder's place, with `header`, goes on behind the end of the part that
 * may be read: a batch gives room back that it was seen to take. */
static bool is_cut(const struct psnap_decoder *decoder, uint64_t header,
                   const struct psnap_capture_piece *piece)
{
    const uint64_t *at = decoder->at, left = (uint64_t)(decoder->end - at);

    if (!decoder->is_part)
        return false;
    if (header == PSNAP_EVENT_ALLOC)
        return left < 5;
    if (header - PSNAP_GAP - 1 < PSNAP_RECORD_WORDS_MAX)
        return header - PSNAP_GAP >= left; /* it may be given back at any moment */
    if (psnap_record_is_open(header))
        return -header > left;
    return piece &&
           (left < piece->words ||
            (piece->hoist && decoder->tables.hoists[piece->hoist - 1].has_rows && at[2] > left));
}

static inline bool is_delivering(const struct psnap_decoder *decoder)
{
    return decoder->expansion.piece || decoder->hoisted.hoist || decoder->nested.nest;
}

/* Goes on with the record that is being delivered, behind `n` accesses of the block, until nothing
 * is left of it, the block is full or a run follows. Returns the accesses that the block has then,
 * or a negative status. */
static ssize_t deliver(struct psnap_decoder *decoder, struct psnap_access *block, size_t n,
                       size_t capacity, struct psnap_nest *nest, struct psnap_error *error)
{
    for (;;) {
        ssize_t more = 0;
        if (decoder->expansion.piece)
            more = psnap_decoder_expand(decoder, block + n, capacity - n, error);
        else if (decoder->hoisted.hoist) {
            decoder->hoisted.delivered = n;
            more = psnap_descriptor_next(decoder, block + n, capacity - n, nest, error);
        }
        if (more < 0)
            return more;
        n += (size_t)more;
        if (decoder->expansion.piece || decoder->hoisted.hoist || !decoder->nested.nest ||
            psnap_has_nest(nest) || psnap_decoder_is_full(decoder, n))
            return (ssize_t)n;
        more = psnap_nest_next(decoder, block, n, capacity, nest, error);
        if (more < 0)
            return more;
        n = (size_t)more;
    }
}

ssize_t psnap_decode(struct psnap_decoder *decoder, struct psnap_access *block, size_t capacity,
                     struct psnap_nest *nest, struct psnap_error *error)
{
    size_t n = 0;

    decoder->is_stuck = decoder->is_cut = false;
    if (nest)
        nest->loop_count = 0;
    for (;;) {
        const uint64_t *at;
        uint64_t header;
        struct psnap_capture_piece *piece;
        if (is_delivering(decoder)) {
            ssize_t more = deliver(decoder, block, n, capacity, nest, error);
            if (more < 0)
                return more;
            n = (size_t)more;
            if (is_delivering(decoder) || psnap_has_nest(nest))
                return (ssize_t)n;
        }
        n += psnap_decoder_put_short(decoder, block + n, capacity - n, nest != NULL);
        at = decoder->at;
        if (at == decoder->end || psnap_decoder_is_full(decoder, n))
            return (ssize_t)n;
        header = __atomic_load_n(at, __ATOMIC_ACQUIRE); /* once: it may be written just now */
        piece = header == PSNAP_EVENT_ALLOC ? NULL : find_piece(decoder, header);
        decoder->is_cut = is_cut(decoder, header, piece);
        if (decoder->is_cut)
            return (ssize_t)n;
        if (header == PSNAP_EVENT_ALLOC && decoder->end - at >= 5) {
            enum psnap_status status = psnap_decoder_allocation(decoder, at, error);
            if (status)
                return status;
            decoder->at += 5;
            continue;
        }
        if (!piece || decoder->end - at < piece->words) {
            if (!pass_over(decoder, header))
                return psnap_decoder_corrupt(error, header);
            if (decoder->is_stuck)
                return (ssize_t)n;
            continue;
        }
        if (nest && (piece->hoist || piece->nest) &&
            psnap_decoder_find_period(decoder, piece, nest, error))
            return (ssize_t)n;
        if (piece->hoist || piece->nest) {
            enum psnap_status status = piece->nest ? psnap_nest_open(decoder, piece, error)
                                                   : psnap_descriptor_open(decoder, piece, error);
            if (status)
                return status;
            continue;
        }
        if (nest && piece->is_plain && piece->refs && !decoder->is_part) {
            if (piece->rest)
                piece->rest--;
            else if (psnap_decoder_find_run(decoder, piece, n, nest))
                return (ssize_t)n;
        }
        if (piece->is_plain && capacity - n >= piece->refs) {
            if (!psnap_decoder_put_plain(decoder, piece, at + 1, block + n))
                return psnap_decoder_no_memory(error);
            n += piece->refs;
        } else if (piece->is_plain && n)
            return (ssize_t)n;
        else
            decoder->expansion = (struct psnap_expansion){.piece = piece, .words = at + 1};
        decoder->at += piece->words;
        if (piece->block != PSNAP_NONE && !decoder->is_skipping)
            psnap_decoder_count(decoder, piece->block, 1);
    }
}
