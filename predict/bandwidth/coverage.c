/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bins of hit-rate coverage: misses double from one to the next. Hit rates are compared with
 * their ends as the paper prints them: 1 - 0.92 would not be 0.08.
 */
#include "predict/bandwidth/coverage.h"

/* Each bin is above its end, the last one has all the others. */
static const double ends[COVERAGE_BINS] = {0.99, 0.98, 0.96, 0.92, 0.84, 0.68, 0.36, -1};

int coverage_bin(double hit_rate)
{
    int bin = 0;

    while (hit_rate <= ends[bin])
        bin++;
    return bin;
}

const char *coverage_bin_name(int bin)
{
    static const char *const names[COVERAGE_BINS] = {"99-100", "98-99", "96-98", "92-96",
                                                     "84-92",  "68-84", "36-68", "0-36"};

    return names[bin];
}
