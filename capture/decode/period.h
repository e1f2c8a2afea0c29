/* SPDX-License-Identifier: BSD-3-Clause */
/* A group of records that comes again and again: an iteration of a loop of the program (period.c).
 */
#ifndef PSNAP_CAPTURE_DECODE_PERIOD_H
#define PSNAP_CAPTURE_DECODE_PERIOD_H

#include "capture/decode/value.h"

enum { PSNAP_PERIOD_RECORDS = PSNAP_PERIOD_WORDS / 4 };

struct psnap_period {
    uint64_t deltas[PSNAP_PERIOD_WORDS]; /* of its words, to the next iteration */
    const struct psnap_capture_piece *pieces[PSNAP_PERIOD_RECORDS]; /* its records' */
    uint32_t records;
    bool is_bounded; /* words that nests compare advance: not all iterations need be alike */
    uint64_t found;  /* periods so far */
    struct psnap_tally tally;              /* of an iteration */
    struct psnap_nest_maker iterations[2]; /* the first, as the body of a loop, and the second */
    struct psnap_access block[PSNAP_BLOCK_ACCESSES];
};

/* How many iterations of so many words there are from the context's place on in the chunk, up to
 * `most`; 0: the words are none. */
uint64_t psnap_period_find(struct psnap_context *context, struct psnap_period *period,
                           uint32_t words, uint64_t most);

/* Counts so many iterations: what has been put aside and, unless that is put aside, too, that the
 * loops have ended. */
void psnap_period_count(struct psnap_context *context, const struct psnap_period *period,
                        uint64_t iterations);

/* Adds accesses to a nest, as runs of the references that follow each other, repeated while they
 * advance by strides; false: there is no room. */
bool psnap_period_add(struct psnap_nest_maker *maker, const struct psnap_program *program,
                      const struct psnap_access *accesses, size_t n);

#endif
