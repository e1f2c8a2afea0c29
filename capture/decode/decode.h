/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an instrumented program writes (capture_abi.h) to nests and accesses. The collector points
 * `context` at a chunk of a ring; how the decoder's parts are above each other is in context.h.
 */
#ifndef PSNAP_CAPTURE_DECODE_DECODE_H
#define PSNAP_CAPTURE_DECODE_DECODE_H

#include "capture/decode/records.h"

/* A group of records that comes again and again: an iteration of a loop of the program. */
enum { PSNAP_PERIOD_RECORDS = PSNAP_PERIOD_WORDS / 4 };

struct psnap_period {
    uint64_t deltas[PSNAP_PERIOD_WORDS]; /* of its words, to the next iteration */
    const struct psnap_capture_piece *pieces[PSNAP_PERIOD_RECORDS]; /* its records' */
    uint32_t records;
    bool is_bounded; /* words that nests compare advance: not all iterations need be alike */
    uint64_t found;  /* periods so far */
    struct psnap_tally tally;              /* of an iteration */
    struct psnap_nest_maker iterations[2]; /* the first, as the body of a loop, and the second */
    struct psnap_access block[PSNAP_BLOCK_ACCESSES];
};

struct psnap_decoder {
    struct psnap_context context;
    struct psnap_records records;
    uint32_t tries; /* periods that are being tried, each within the one before */
    struct psnap_period *periods[PSNAP_PERIOD_DEPTH]; /* NULL: none yet */
};

/* Nothing is left of the chunk. */
static inline bool psnap_decoder_is_done(const struct psnap_decoder *decoder)
{
    return decoder->context.at == decoder->context.end &&
           !psnap_records_are_open(&decoder->records);
}

/*
 * Decodes from the context's place until the chunk ends or the block is full; returns
 * the number of accesses written, or a negative status. Progress is kept in
 * the decoder; the chunk is done when psnap_decoder_is_done says so, or stuck. With `nest` not NULL
 * it also stops behind a nest, which follows the accesses written; without loops: there is none.
 */
ssize_t psnap_decode(struct psnap_decoder *decoder, struct psnap_access *block, size_t capacity,
                     struct psnap_nest *nest, struct psnap_error *error);

/* Frees what decoding has allocated; tables and mappings are the caller's. */
void psnap_decoder_release(struct psnap_decoder *decoder);

#endif
