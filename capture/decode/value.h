/* SPDX-License-Identifier: BSD-3-Clause */
/* The values of a nest (capture_abi.h): what they are in an iteration, and how they advance. */
#ifndef PSNAP_CAPTURE_DECODE_VALUE_H
#define PSNAP_CAPTURE_DECODE_VALUE_H

#include "capture/decode/context.h"

/* Computes `count` values of an iteration of the loop that they are of, from number `first` on;
 * `values` has those before them. */
void psnap_values_compute(const struct psnap_table_value *value, uint32_t count, uint64_t iteration,
                          uint64_t *values, uint32_t first);

/*
 * By how much a value, which is `result` now, advances from one iteration of a loop to the next, as
 * those that it depends on advance by `deltas`. Lowers *times to as many iterations more as that
 * goes on; to 0 when there is no rule for it. `is_own`: it is of the loop's iterations.
 */
int64_t psnap_value_advance(const struct psnap_table_value *value, const uint64_t *values,
                            const int64_t *deltas, bool is_own, uint64_t result, uint64_t *times);

/* Lowers *times to as many iterations as `value`, of `bits`, does not wrap around in when it
 * advances by `delta`. */
void psnap_value_bound(uint64_t value, int64_t delta, unsigned bits, uint64_t *times);

/* Whether a value is computed of two others. */
static inline bool psnap_value_has_second(const struct psnap_table_value *value)
{
    return value->op != PSNAP_VALUE_SEXT && value->op != PSNAP_VALUE_TRUNC;
}

#endif
