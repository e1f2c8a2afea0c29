/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loops of the source of which the compiler made several: n iterations expand into those of a
 * vector body, perhaps a narrower one, and a remainder. The widest part executes first as far as
 * the count is concerned, wherever it stands: when at least `from` iterations are left it takes
 * all of them but `leaves` and what its width does not divide. The narrowest one takes the rest.
 */
#ifndef PSNAP_PROFILE_EXPAND_H
#define PSNAP_PROFILE_EXPAND_H

#include <stdbool.h>
#include <stdint.h>

enum { EXPAND_PARTS = 4 };

struct expand_part {
    uint32_t body;
    uint64_t width;  /* iterations of the source that one of the part is; 1: of the narrowest one */
    uint64_t from;   /* so many must be left */
    uint64_t leaves; /* so many are left over at least; at most `from` */
};

/* The iterations of each part for n of the source. */
void expand_counts(const struct expand_part *parts, uint32_t count, uint64_t n,
                   uint64_t counts[EXPAND_PARTS]);
/* Adds those for `runs` numbers n from `first` on, none negative, a stride apart. False: more than
 * *steps steps, which it takes from these, or than can be counted. */
bool expand_sums(const struct expand_part *parts, uint32_t count, uint64_t first, uint64_t stride,
                 uint64_t runs, uint64_t *steps, uint64_t sums[EXPAND_PARTS]);

#endif
