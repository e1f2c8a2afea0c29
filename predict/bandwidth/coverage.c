/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bins of hit-rate coverage: misses double from one to the next.
 */
#include "predict/bandwidth/coverage.h"

static const double ends[COVERAGE_BINS] = {0.01, 0.02, 0.04, 0.08,
                                           0.16, 0.32, 0.64, 2}; /* misses */

int coverage_bin(double hit_rate)
{
    int bin = 0;

    while (1 - hit_rate >= ends[bin])
        bin++;
    return bin;
}

const char *coverage_bin_name(int bin)
{
    static const char *const names[COVERAGE_BINS] = {"99-100", "98-99", "96-98", "92-96",
                                                     "84-92",  "68-84", "36-68", "0-36"};

    return names[bin];
}
