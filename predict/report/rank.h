/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The loops of several inputs, ranked.
 */
#ifndef PSNAP_PREDICT_RANK_H
#define PSNAP_PREDICT_RANK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RANK_INPUTS = 4 };

struct rank_loop {
    char *id, *name;         /* owned */
    bool is_in[RANK_INPUTS]; /* which inputs have it */
    size_t row[RANK_INPUTS]; /* what the caller calls it there */
    uint64_t accesses[RANK_INPUTS];
    double shares[RANK_INPUTS]; /* of the input's accesses */
};

struct rank {
    struct rank_loop *loops;
    size_t count, room;
};

/* Adds a loop of an input, which has `all` accesses; what other inputs have under the same id is
 * the same loop. False: out of memory. */
bool rank_add(struct rank *rank, size_t input, const char *id, const char *name, size_t row,
              uint64_t accesses, uint64_t all);

/* The loop with the largest share of an input first; by id where shares are the same. */
void rank_sort(struct rank *rank);

/* The largest share of a loop in any input. */
double rank_share(const struct rank_loop *loop);

void rank_release(struct rank *rank);

#endif
