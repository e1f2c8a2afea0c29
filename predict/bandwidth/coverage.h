/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hit-rate coverage: which hit rates of applications the points of a benchmark have been near, by
 * the paper's bins of a level's cumulative hit rate in percent: [100,99) [99,98) [98,96) [96,92)
 * [92,84) [84,68) [68,36) [36,0]. A function says least where there were no points.
 */
#ifndef PSNAP_PREDICT_BANDWIDTH_COVERAGE_H
#define PSNAP_PREDICT_BANDWIDTH_COVERAGE_H

enum { COVERAGE_BINS = 8 };

/* The bin of a hit rate, 0 to 1. */
int coverage_bin(double hit_rate);
/* "99-100" */
const char *coverage_bin_name(int bin);

#endif
