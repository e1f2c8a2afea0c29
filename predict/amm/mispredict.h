/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How often a processor would go on with another basic block than the one that comes next.
 */
#ifndef PSNAP_PREDICT_AMM_MISPREDICT_H
#define PSNAP_PREDICT_AMM_MISPREDICT_H

#include <stdbool.h>
#include <stdint.h>

struct mispredict;

/* NULL: out of memory. */
struct mispredict *mispredict_new(void);
void mispredict_free(struct mispredict *mispredict);

/* Block `to` follows `from` in a thread, below PSNAP_THREADS_MAX. False: out of memory. */
bool mispredict_add(struct mispredict *mispredict, uint16_t thread, uint32_t from, uint32_t to);

/* How often what followed a block was not what was expected. */
uint64_t mispredict_count(const struct mispredict *mispredict, uint32_t block);

#endif
