/* SPDX-License-Identifier: BSD-3-Clause */
/* Records in the order in which they lie in a chunk. */
#ifndef PSNAP_CAPTURE_DECODE_RECORDS_H
#define PSNAP_CAPTURE_DECODE_RECORDS_H

#include "capture/decode/hoisted.h"
#include "capture/decode/nest.h"

/* A record that is being written out access by access. */
struct psnap_expansion {
    const struct psnap_capture_piece *piece; /* NULL: none */
    const uint64_t *words;                   /* of the next reference */
    uint32_t ref;                            /* of the piece, the next to write out */
    uint64_t step;                           /* accesses of it already written out */
};

/* The record that is being delivered: none is when nothing of this is open. */
struct psnap_records {
    struct psnap_expansion expansion;
    struct psnap_hoisted hoisted; /* a record, or a part of a nest's */
    struct psnap_nested nested;
};

static inline bool psnap_records_are_open(const struct psnap_records *records)
{
    return records->expansion.piece || records->hoisted.hoist || records->nested.nest;
}

/*
 * Delivers records from the context's place on until the chunk ends, the block is full, a nest
 * follows the accesses, or a record is next that may begin a period, whose piece then is
 * `*loop` (else NULL): to be opened, or passed.
 */
enum psnap_status psnap_records_next(struct psnap_context *context, struct psnap_records *records,
                                     struct psnap_delivery *to, struct psnap_capture_piece **loop,
                                     struct psnap_error *error);

/* Opens the record at the context's place, of a hoisted loop, a nest or a piece that is not plain.
 */
enum psnap_status psnap_records_open(struct psnap_context *context, struct psnap_records *records,
                                     const struct psnap_capture_piece *loop,
                                     struct psnap_error *error);

#endif
