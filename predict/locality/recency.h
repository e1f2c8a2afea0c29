/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How many other words were touched since a word last was (its reuse distance), by powers
 * of two, for the temporal score.
 */
#ifndef PSNAP_PREDICT_RECENCY_H
#define PSNAP_PREDICT_RECENCY_H

#include <stdbool.h>
#include <stdint.h>

#define RECENCY_NONE (-1)

struct recency;

/* Of the `reach` words touched last, a power of two up to 2^17; of these one in `every`, a power of
 * two, will come, drawn, and distances are estimates unless it is 1. NULL: out of memory. */
struct recency *recency_new(uint32_t reach, uint32_t every);
void recency_free(struct recency *recency);

/* The next access: 0 when its word was the last one, c when 2^(c-1) to 2^c - 1 others were touched
 * since, RECENCY_NONE when `reach` or more were, or it is new. */
int recency_access(struct recency *recency, uint64_t word);
/* That a word will be accessed: some accesses later, or soon. Advice that only saves time, when
 * both have been said. */
void recency_expect(const struct recency *recency, uint64_t word, bool soon);

#endif
