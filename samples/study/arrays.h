/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The arrays of the study's samples. They lie one behind the other in one allocation, as in a
 * common block of Fortran, with room between them so that they begin spread over the sets of the
 * caches: each a ninth of 2 MB, a way of the Origin's level 2, further than the one before, which
 * is 3584 bytes further in the 16 KB of a way of level 1. From malloc large arrays begin at the
 * same place of a page, and at some sizes of a way, so that all loops would miss, as nine arrays do
 * not fit into two ways: an accident of sizes, which is not what is studied.
 */
#ifndef SAMPLES_STUDY_ARRAYS_H
#define SAMPLES_STUDY_ARRAYS_H

#include "../sample.h"

enum { STUDY_WAY = 2097152, STUDY_SHIFT = 232960 };

/* Sets `count` pointers to arrays of so many numbers, all 0. What is returned is to be freed; NULL:
 * out of memory. */
static inline void *study_arrays(size_t count, double **const arrays[], size_t numbers)
{
    const size_t bytes = (numbers * sizeof(double) + STUDY_WAY - 1) / STUDY_WAY * STUDY_WAY;
    const size_t apart = (bytes + STUDY_SHIFT) / sizeof(double);
    double *all = calloc(count * apart, sizeof(double));

    for (size_t i = 0; i < count && all; i++)
        *arrays[i] = all + i * apart;
    return all;
}

#endif
