/* SPDX-License-Identifier: BSD-3-Clause */
/* Records of hoisted loops (hoisted.c), of which accesses are delivered bit by bit. */
#ifndef PSNAP_CAPTURE_DECODE_HOISTED_H
#define PSNAP_CAPTURE_DECODE_HOISTED_H

#include "capture/decode/hoist.h"

struct psnap_hoisted {
    const struct psnap_capture_hoist *hoist; /* NULL: none */
    const uint64_t *record, *row, *end;      /* row: of the next iteration */
    uint64_t count, begun;                   /* whole iterations; those of earlier records */
    uint32_t last;                           /* pieces that the partial iteration came past */
    uint64_t iteration;                      /* of the record, the next to deliver */
    uint64_t alike;                          /* from it on, that have the following in common: */
    uint64_t mask;
    uint32_t pieces, refs, pitch;
    bool may_run;         /* they do not have more accesses than wanted */
    uint64_t rest;        /* so many go before a run of them is looked for again */
    uint32_t piece, ref;  /* where in the iteration delivery goes on */
    const uint64_t *word; /* ... and in its row */
};

/* Takes the record of a hoisted loop, which begins at the context's place and ends as the row `end`
 * says. */
enum psnap_status psnap_hoisted_open(struct psnap_context *context, struct psnap_hoisted *open,
                                     const struct psnap_capture_piece *end,
                                     struct psnap_error *error);
/* Delivers it until the block is full or a run follows; all of it once its hoist is NULL. */
enum psnap_status psnap_hoisted_next(struct psnap_context *context, struct psnap_hoisted *open,
                                     struct psnap_delivery *to, struct psnap_error *error);

/* Where the record at `at`, of `left` words at most, is of a loop that was left in an iteration,
 * its words get to say of the others what an end would have. Returns how many accesses of that
 * iteration it says nothing about, at most. */
uint64_t psnap_hoisted_settle(const struct psnap_context *context,
                              const struct psnap_capture_piece *end, uint64_t *at, uint64_t left);

static inline bool psnap_piece_is_executed(const struct psnap_capture_piece *piece, uint64_t mask)
{
    return !piece->guard || (mask >> (piece->guard - 1) & 1);
}

#endif
