/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fit of an area, part by part: private to gather_fit*.c. What an area is like comes first,
 * then how its places are chosen: candidates, which return false where what was collected does not
 * look like that, or memory is out. Each sets its part of the model and reads what was set before.
 */
#ifndef PSNAP_PROFILE_GATHER_FIT_H
#define PSNAP_PROFILE_GATHER_FIT_H

#include "profile/gathers/gather_collect.h"

/* ---- what kept bursts say (gather_fit_area.c) ---- */

/* Addresses in the burst: the last one may be under way. */
size_t gather_burst_length(const struct gather_collector *collector, size_t burst);
/* Bytes from the address before to the j-th of the burst, j >= 1. */
int64_t gather_stride(const struct gather_collector *collector, size_t burst, size_t j);
/* A stride's kind, as of `next`: 0 is a jump, k the k-th step. */
uint32_t gather_kind(const struct gather_area *area, int64_t stride);
/* For qsort() of uint64_t. */
int gather_ascending(const void *a, const void *b);

/* ---- what an area is like (gather_fit_area.c) ---- */

/* Sets accesses, base, span, element, steps, parts, fixed, and one class. */
void gather_fit_area(const struct gather_collector *collector, struct gather_area *area);

/* ---- which parts of it are used how much (gather_fit_parts.c) ---- */

/* The parts; needs the base, the span and the element. All are one when memory is out. */
void gather_fit_parts(const struct gather_collector *collector, struct gather_area *area);
/* Of the jumps to anywhere. */
double gather_share_below(const struct gather_area *area, uint64_t address);

/* ---- candidates that sampled lines and addresses give (gather_fit_lines.c) ---- */

bool gather_fit_once(const struct gather_collector *collector, struct gather_area *area);
bool gather_fit_cursors(const struct gather_collector *collector, struct gather_area *area);
/* Anywhere, by classes of lines: fits always. */
bool gather_fit_classes(const struct gather_collector *collector, struct gather_area *area);

/* ---- by another stride each time (gather_passes.c) ---- */

bool gather_fit_passes(const struct gather_collector *collector, struct gather_area *area);

/* ---- down a tree (gather_descent.c) ---- */

bool gather_fit_descent(const struct gather_collector *collector, struct gather_area *area);

/* ---- candidates that bursts give (gather_fit_bursts.c) ---- */

bool gather_fit_sweep(const struct gather_collector *collector, struct gather_area *area);
bool gather_fit_band(const struct gather_collector *collector, struct gather_area *area);
/* Anywhere, in what is used of the span at the time. */
bool gather_fit_reach(const struct gather_collector *collector, struct gather_area *area);

#endif
