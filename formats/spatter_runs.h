/* SPDX-License-Identifier: BSD-3-Clause */
/* The patterns of one region, as they come. Private to formats/. */
#ifndef PSNAP_FORMATS_SPATTER_RUNS_H
#define PSNAP_FORMATS_SPATTER_RUNS_H

#include <stdbool.h>
#include <stdint.h>

enum {
    SPATTER_WINDOW = 64,  /* accesses in which a pattern is looked for */
    SPATTER_PATTERN = 32, /* the longest that repeats */
    SPATTER_PIECES = 8    /* different patterns of a region */
};

/* Repetitions of a pattern: access j of repetition i is to `first[j]` + i * step. */
struct spatter_piece {
    uint32_t length;
    uint64_t step;                     /* in bytes, as a number with sign; a multiple of 8 */
    uint64_t offsets[SPATTER_PATTERN]; /* in elements of 8 bytes from the lowest on */
    uint64_t longest;                  /* repetitions of the longest run */
    uint64_t runs, accesses;           /* in whole repetitions, of all of them */
};

struct spatter_region {
    uint64_t accesses, left_out;
    uint64_t window[SPATTER_WINDOW]; /* addresses: not looked at yet, or */
    uint32_t used;
    uint32_t length;      /* those of the last repetition, if not 0: so many */
    uint64_t step, count; /* what is repeated, and accesses of it so far */
    uint64_t begin[SPATTER_PATTERN];
    struct spatter_piece pieces[SPATTER_PIECES];
    uint32_t piece_count;
    uint64_t irregular[SPATTER_WINDOW]; /* addresses of the first window without a pattern */
    uint32_t irregular_used;
    uint64_t irregular_accesses, low, high; /* of all such */
};

void spatter_add(struct spatter_region *region, uint64_t address);
/* The stream has ended. */
void spatter_end(struct spatter_region *region);

#endif
