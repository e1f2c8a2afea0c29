/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A group of records that comes again and again: period.c finds it, period_tree.c makes rounds of
 * what its records deliver.
 */
#ifndef PSNAP_CAPTURE_DECODE_PERIOD_H
#define PSNAP_CAPTURE_DECODE_PERIOD_H

#include "capture/decode/decode.h"

enum { PSNAP_PERIOD_WORDS = 2048, PSNAP_PERIOD_RECORDS = 256, PSNAP_PERIOD_COUNTS = 1024 };

/* What the records of a round deliver: nodes as of psnap_rounds, one loop around all of them. */
struct psnap_period_tree {
    uint32_t node_count, width;
    struct psnap_round nodes[PSNAP_ROUNDS_NODES];
    struct psnap_access first[PSNAP_ROUNDS_WIDTH];
    int64_t strides[PSNAP_ROUNDS_WIDTH * PSNAP_ROUNDS_LEVELS];
};

struct psnap_period {
    uint64_t deltas[PSNAP_PERIOD_WORDS]; /* of the words, from one round to the next */
    const struct psnap_capture_piece *pieces[PSNAP_PERIOD_RECORDS]; /* its records' */
    uint32_t records;
    uint64_t found; /* periods so far */
    /* Executions of blocks in a round. */
    bool counts, is_short; /* they are counted; there was no room for all */
    uint32_t count_count;
    struct {
        uint32_t block;
        uint64_t times;
    } executions[PSNAP_PERIOD_COUNTS];
    struct psnap_period_tree trees[2]; /* of the first round, and of the second */
    struct psnap_access block[PSNAP_BLOCK_ACCESSES];
};

/* Empties a tree. */
void psnap_period_tree_init(struct psnap_period_tree *tree);
/* Adds accesses, as runs; a run; rounds. False: there is no room. */
bool psnap_period_tree_accesses(struct psnap_period_tree *tree, const struct psnap_program *program,
                                const struct psnap_access *accesses, size_t n);
bool psnap_period_tree_run(struct psnap_period_tree *tree, const struct psnap_run *run);
bool psnap_period_tree_rounds(struct psnap_period_tree *tree, const struct psnap_rounds *rounds);

/* Makes `tree` that of `count` rounds, of which `second` is the second; false when they are not
 * alike. */
bool psnap_period_tree_close(struct psnap_period_tree *tree, const struct psnap_period_tree *second,
                             uint64_t count);

/* Whether all accesses stay in the ranges that their references remember. */
bool psnap_period_tree_stays(const struct psnap_period_tree *tree,
                             const struct psnap_decoder *decoder);

#endif
