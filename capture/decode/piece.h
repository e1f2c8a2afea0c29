/* SPDX-License-Identifier: BSD-3-Clause */
/* Records of pieces (piece.c): accesses of a block, or of a part of one. */
#ifndef PSNAP_CAPTURE_DECODE_PIECE_H
#define PSNAP_CAPTURE_DECODE_PIECE_H

#include "capture/decode/context.h"

/* A record that is being written out access by access. */
struct psnap_expansion {
    const struct psnap_capture_piece *piece; /* NULL: none */
    const uint64_t *words;                   /* of the next reference */
    uint32_t ref;                            /* of the piece, the next to write out */
    uint64_t step;                           /* accesses of it already written out */
};

/* Writes out the open expansion as far as the block has room; all of it once its piece is NULL. */
enum psnap_status psnap_expansion_next(struct psnap_context *context,
                                       struct psnap_expansion *expansion, struct psnap_delivery *to,
                                       struct psnap_error *error);

/* Looks for a run of `piece` at the context's place; true when there is one. */
bool psnap_piece_find_run(struct psnap_context *context, struct psnap_capture_piece *piece,
                          struct psnap_delivery *to);

/* A plain piece, straight into the block, which has room; false when out of memory. */
static inline bool psnap_piece_put(struct psnap_context *context,
                                   const struct psnap_capture_piece *piece, const uint64_t *words,
                                   struct psnap_access *block)
{
    struct psnap_capture_ref *refs = &context->tables.refs[piece->first_ref];

    for (uint32_t i = 0; i < piece->refs; i++) {
        if (!psnap_context_reach(context, &refs[i], words[i]))
            return false;
        block[i] = psnap_context_access(context, &refs[i], piece->first_ref + i, words[i]);
    }
    return true;
}

#endif
