/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A group of records that comes again and again, an iteration of a loop of the program: period.c
 * finds it, period_tree.c makes parts of a nest of its accesses.
 */
#ifndef PSNAP_CAPTURE_DECODE_PERIOD_H
#define PSNAP_CAPTURE_DECODE_PERIOD_H

#include "capture/decode/decode.h"

enum { PSNAP_PERIOD_WORDS = 4096, PSNAP_PERIOD_RECORDS = 1024, PSNAP_PERIOD_COUNTS = 2048 };

struct psnap_period {
    uint64_t deltas[PSNAP_PERIOD_WORDS]; /* of its words, to the next iteration */
    const struct psnap_capture_piece *pieces[PSNAP_PERIOD_RECORDS]; /* its records' */
    uint32_t records;
    uint64_t found; /* periods so far */
    /* Executions of blocks in an iteration. */
    bool counts, is_short; /* they are counted; there was no room for all */
    uint32_t count_count;
    struct {
        uint32_t block;
        uint64_t times;
    } executions[PSNAP_PERIOD_COUNTS];
    struct psnap_nest_maker iterations[2]; /* the first, as the body of a loop, and the second */
    struct psnap_access block[PSNAP_BLOCK_ACCESSES];
};

/* Adds accesses to a nest, as runs; false: there is no room. */
bool psnap_period_add(struct psnap_nest_maker *maker, const struct psnap_program *program,
                      const struct psnap_access *accesses, size_t n);

/* Whether all accesses stay in the ranges that their references remember. */
bool psnap_period_stays(const struct psnap_nest *nest, const struct psnap_decoder *decoder);

#endif
