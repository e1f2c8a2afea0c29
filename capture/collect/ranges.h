/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranges of a program's addresses and the canonical ones they stand for
 * (formats/base/layout.h).
 */
#ifndef PSNAP_CAPTURE_COLLECT_RANGES_H
#define PSNAP_CAPTURE_COLLECT_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct psnap_image;

/* canonical = address + delta, for addresses in [low, high). */
struct psnap_range {
    uint64_t low, high, delta;
    const struct psnap_image *image; /* the file that is mapped there; NULL: none, or not known */
};

/* Sorted, disjoint. */
struct psnap_ranges {
    struct psnap_range *items;
    size_t count, room;
};

/* The range that holds all of [low, high), or NULL. */
const struct psnap_range *psnap_ranges_holder(const struct psnap_ranges *ranges, uint64_t low,
                                              uint64_t high);
/* Whether one has addresses in [low, high). */
bool psnap_ranges_overlap(const struct psnap_ranges *ranges, uint64_t low, uint64_t high);
/* Cuts [low, high), which holds `address`, down to the gap that the ranges leave there. */
void psnap_ranges_clip(const struct psnap_ranges *ranges, uint64_t address, uint64_t *low,
                       uint64_t *high);
/* Puts a range on top of what was there; nothing where it is empty. False when out of memory. */
bool psnap_ranges_put(struct psnap_ranges *ranges, struct psnap_range range);
void psnap_ranges_release(struct psnap_ranges *ranges);

#endif
