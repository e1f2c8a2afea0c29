/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Iterations of hoisted loops (capture_abi.h), whose bases, steps and counts are words of a record
 * or values of a nest, and records of such loops, of which accesses are delivered bit by bit.
 */
#ifndef PSNAP_CAPTURE_DECODE_HOISTED_H
#define PSNAP_CAPTURE_DECODE_HOISTED_H

#include "capture/decode/context.h"

/* Iterations of a hoisted loop of fewer accesses are not worth a run. */
enum { PSNAP_RUN_ACCESSES_MIN = 32 };

/* What the quotients of a reference add to its address in an iteration. */
uint64_t psnap_quotients_add(const struct psnap_context *context,
                             const struct psnap_table_move *move, const uint64_t *record,
                             uint64_t i);
static inline uint64_t psnap_move_step(const struct psnap_table_move *move, const uint64_t *record)
{
    return move->step ? record[move->step] : (uint64_t)move->stride;
}

/* The address of a reference that is not in the row. */
static inline uint64_t psnap_move_address(const struct psnap_context *context,
                                          const struct psnap_table_move *move,
                                          const uint64_t *record, uint64_t i)
{
    const uint64_t address =
        record[move->base] + (uint64_t)move->offset + i * psnap_move_step(move, record);

    return move->quotients ? address + psnap_quotients_add(context, move, record, i) : address;
}

/* The access of reference `index` in iteration i, which takes its address from the next word of the
 * row when it is not affine; false when out of memory. */
static inline bool psnap_move_put(struct psnap_context *context,
                                  const struct psnap_table_move *move, const uint64_t *record,
                                  uint64_t i, const uint64_t **word, uint32_t index,
                                  struct psnap_access *access)
{
    struct psnap_capture_ref *ref = &context->tables.refs[index];
    const uint64_t address = move->base ? psnap_move_address(context, move, record, i) : *(*word)++;

    if (!psnap_context_reach(context, ref, address))
        return false;
    *access = psnap_context_access(context, ref, index, address);
    return true;
}

/* Counts the blocks of `count` iterations of a hoisted loop without guards, and of its first `last`
 * pieces in `times` more. */
void psnap_hoist_count(struct psnap_context *context, const struct psnap_capture_hoist *hoist,
                       uint64_t count, uint32_t last, uint64_t times);

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

#endif
