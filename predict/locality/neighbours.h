/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When the bytes around an address were last accessed: the inner loop of
 * locality surfaces.
 */
#ifndef PSNAP_PREDICT_NEIGHBOURS_H
#define PSNAP_PREDICT_NEIGHBOURS_H

#include <stdbool.h>
#include <stdint.h>

#include "predict/predict.h"

/*
 * Counts of pairs of accesses, [(NEIGHBOURS_LEAD + n) * NEIGHBOURS_CLASSES + k]: k is a class of
 * distances as in struct psnap_locality, n the place of the earlier one's byte among those within
 * PSNAP_SURFACE_STRIDE_MAX, in units, from below. The last k, and what is before and behind, count
 * units that were not accessed within reach, some of them.
 */
#define NEIGHBOURS_LEAD 24
#define NEIGHBOURS_CLASSES (PSNAP_SURFACE_DISTANCES + 1)
#define NEIGHBOURS_COUNTS                                                                          \
    ((NEIGHBOURS_LEAD + PSNAP_SURFACE_STRIDES + NEIGHBOURS_LEAD) * NEIGHBOURS_CLASSES)
#define NEIGHBOURS_UNIT_MAX 3 /* binary digits: units of 8 bytes */

struct neighbours;

/*
 * Distances up to `reach`, a power of two, at most PSNAP_SURFACE_DISTANCE_MAX; addresses are
 * multiples of units of 2^unit bytes. NULL: out of memory.
 */
struct neighbours *neighbours_new(uint32_t reach, unsigned unit);
void neighbours_free(struct neighbours *neighbours);

/* Goes on with smaller units. PSNAP_ERROR_MEMORY, then nothing has changed. */
enum psnap_status neighbours_refine(struct neighbours *neighbours, unsigned unit);

/*
 * The next access. Adds 1 to a count for each unit within PSNAP_SURFACE_STRIDE_MAX that was
 * accessed within reach, and at most 1 to each count; NULL: none. *time (may be NULL): the class of
 * the distance to the last access to the address itself, PSNAP_SURFACE_DISTANCES: out of reach.
 * PSNAP_ERROR_MEMORY, then nothing has changed.
 */
enum psnap_status neighbours_access(struct neighbours *neighbours, uint64_t address,
                                    uint16_t *counts, unsigned *time);

/* That an address will be accessed: some accesses later, or soon. Advice that only saves time, when
 * both have been said. */
void neighbours_expect(const struct neighbours *neighbours, uint64_t address, bool soon);

#endif
