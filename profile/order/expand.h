/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the compiler made several loops of one loop of the source, n iterations of the source
 * expand into iterations of the parts: a vector body, perhaps a narrower one, and a remainder. The
 * parts take theirs from the widest to the narrowest, in whichever order they execute: when at
 * least `from` iterations are left a part takes all of them but `leaves` and what its width does
 * not divide. The narrowest part takes what is left.
 */
#ifndef PSNAP_PROFILE_EXPAND_H
#define PSNAP_PROFILE_EXPAND_H

#include <stdbool.h>
#include <stdint.h>

enum { EXPAND_PARTS = 4 };

struct expand_part {
    uint32_t body;
    uint64_t width;  /* iterations of the source that one of the part is; 1: of the narrowest one */
    uint64_t from;   /* the part executes if at least so many iterations are left, */
    uint64_t leaves; /* and leaves at least so many; at most `from` */
};

/* The iterations of each part for n of the source. */
void expand_counts(const struct expand_part *parts, uint32_t count, uint64_t n,
                   uint64_t counts[EXPAND_PARTS]);
/* Adds to `sums` the iterations of each part for `runs` values of n: `first`, and so on by
 * `stride`; none is negative. *steps is how many steps of work it may take, and is lowered by those
 * taken. False: these were too few, or a sum is too large to be counted. */
bool expand_sums(const struct expand_part *parts, uint32_t count, uint64_t first, uint64_t stride,
                 uint64_t runs, uint64_t *steps, uint64_t sums[EXPAND_PARTS]);

#endif
