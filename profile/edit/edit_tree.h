/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nests (nests.h) as a tree that can be changed: each value with its steps in every loop around
 * it, as the schedule of a profile has it. Private to the edits (edit.h).
 */
#ifndef PSNAP_PROFILE_EDIT_TREE_H
#define PSNAP_PROFILE_EDIT_TREE_H

#include "profile/walks/nest_profile.h"

/* A value that is affine in the iterations around, the outermost first. */
struct edit_value {
    int64_t first;
    int64_t steps[NEST_DEPTH_MAX];
};

struct edit_ref {
    struct nest_ref ref;
    struct edit_value value; /* as its mode says: the first address, what is skipped, nothing */
    int64_t stride;
    uint64_t low, high; /* affine: lowest address and the end of the highest access; high 0: none */
    uint32_t array;     /* of an edit, that it is in, or PSNAP_NONE */
};

struct edit_node {
    bool is_repeat;
    struct edit_value count;
    uint32_t depth; /* repeats around it */
    /* A repeat: */
    struct edit_node **children;
    uint32_t child_count;
    uint32_t owner; /* the loop whose iterations it is, or PSNAP_NONE */
    /* A leaf; of width 0 a visit of the mix `loop`: */
    uint32_t loop, width, counts; /* as a shape has them */
    struct edit_ref *refs;
    bool is_piece;        /* not the iterations of its loop, but a part of one (a visit: of one
                             execution of the loop that all is within) */
    uint64_t visits, all; /* how often it is come to, and its repetitions then, in all */
};

struct edit_tree {
    struct psnap_arena *arena; /* owns all */
    struct edit_node root; /* a repeat, of one time, that is not there: depth 0 likewise inside */
};

/* NULL: out of memory. */
struct edit_tree *edit_tree_new(const struct psnap_nests *nests);
void edit_tree_free(struct edit_tree *tree);
/* Nests of the tree, without models; NULL: out of memory, or deeper than nests are. */
struct psnap_nests *edit_tree_nests(const struct edit_tree *tree);
/* Counts visits and repetitions and finds where references lead; false: that takes too long. */
bool edit_tree_measure(struct edit_tree *tree);
/* Calls `see` for every leaf and visit, in order. */
void edit_tree_leaves(struct edit_node *node, void (*see)(void *context, struct edit_node *leaf),
                      void *context);
/* Puts `count` children of a repeat, from `at` on, into a new one of `times` times that has the
 * place; false: out of memory, or too deep. */
bool edit_tree_wrap(struct edit_tree *tree, struct edit_node *parent, uint32_t at, uint32_t count,
                    int64_t times);
/* Takes away the leaves that `is_gone` wants gone, and repeats of nothing. */
void edit_tree_prune(struct edit_node *node,
                     bool (*is_gone)(const void *context, const struct edit_node *leaf),
                     const void *context);

#endif
