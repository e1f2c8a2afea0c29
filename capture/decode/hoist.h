/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Iterations of hoisted loops (capture_abi.h), whose bases, steps and counts are words of a record
 * or values of a nest. hoist.c has what needs no more than these: executions in closed form.
 */
#ifndef PSNAP_CAPTURE_DECODE_HOIST_H
#define PSNAP_CAPTURE_DECODE_HOIST_H

#include "capture/decode/context.h"

/* Iterations of a hoisted loop of fewer accesses are not worth a run. */
enum { PSNAP_RUN_ACCESSES_MIN = 32 };

/* What the quotients of a reference add to its address in an iteration. */
uint64_t psnap_quotients_add(const struct psnap_context *context,
                             const struct psnap_table_move *move, const uint64_t *record,
                             uint64_t i);
/* How many of the next `count` iterations, from the i-th of the loop on, are a run, whose
 * repetitions are `*turns` of them with `refs` references each: 1 and more, a multiple of that. */
uint64_t psnap_quotients_alike(const struct psnap_context *context,
                               const struct psnap_capture_hoist *hoist, const uint64_t *record,
                               uint64_t i, uint64_t count, uint32_t refs, uint32_t *turns);

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

/* All `count` iterations of a hoisted loop that has no rows and no quotients, of which `values` has
 * bases and steps, as a run; false when they cannot be one, or when out of memory. */
bool psnap_hoist_run(struct psnap_context *context, const struct psnap_capture_hoist *hoist,
                     const uint64_t *values, uint64_t count, struct psnap_delivery *to);

#endif
