/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A histogram of reuse distances, exact: a count for each distance. Counts of distances below
 * DISTANCES_NEAR are an array, those above lie in pages that are there once a distance of theirs
 * is: distances of a loop are few, or many next to each other.
 */
#ifndef PSNAP_PREDICT_REUSE_DISTANCES_H
#define PSNAP_PREDICT_REUSE_DISTANCES_H

#include "predict/predict.h"

enum { DISTANCES_NEAR = 64, DISTANCES_PAGE = 512 };

struct psnap_distances {
    uint64_t accesses, cold;
    uint64_t near[DISTANCES_NEAR];
    uint64_t **pages; /* [i]: distances i * DISTANCES_PAGE up; NULL: none */
    size_t page_count, page_room;
};

/* As psnap_distances_add(), which is no call where the distance is near. */
static inline bool distances_add(struct psnap_distances *distances, uint64_t distance,
                                 uint64_t count)
{
    if (distance >= DISTANCES_NEAR)
        return psnap_distances_add(distances, distance, count);
    distances->near[distance] += count;
    distances->accesses += count;
    return true;
}

#endif
