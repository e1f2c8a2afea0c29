/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A nest (profile/nest/nest.h) as a tree that can be changed. In a pattern a loop has the steps of
 * all values in it; here each value has its own steps, one for each loop around it, so that a part
 * can be changed, split, wrapped in a loop or taken away by itself. Private to the edits (edit.h).
 */
#ifndef PSNAP_PROFILE_EDIT_TREE_H
#define PSNAP_PROFILE_EDIT_TREE_H

#include "profile/nest/nest.h"

/* A value that is affine in the iterations of the loops around, the outermost first. */
struct edit_value {
    int64_t first;
    int64_t steps[NEST_DEPTH_MAX];
};

/* A loop, a run of numbers or a symbol. */
struct edit_node {
    struct edit_node **children; /* of a loop */
    uint32_t child_count;
    bool is_loop;
    uint32_t depth;  /* loops around it */
    uint32_t symbol; /* of a leaf, or NEST_NUMBERS */
    struct edit_value count;
    struct edit_value value; /* a run's first number */
    int64_t stride;          /* of a run */
    uint64_t visits, all;    /* measured: executions, and the sum of its counts in these */
    uint64_t low, high;      /* measured: the lowest and the highest number of a run */
    uint32_t array;          /* of an edit: that a run's addresses are in, or PSNAP_NONE */
};

struct edit_tree {
    struct psnap_arena *arena; /* owns the nodes */
    struct edit_node root;     /* a loop of one iteration that is not there: depth 0, as within */
};

/* NULL: out of memory. */
struct edit_tree *edit_tree_new(const struct nest_terms *terms);
void edit_tree_free(struct edit_tree *tree);
/* Replaces the terms with those of the tree; false: out of memory, or loops are too deep. */
bool edit_tree_store(const struct edit_tree *tree, struct nest_terms *terms);
/* Fills what is measured; false: that takes too long. */
bool edit_tree_measure(struct edit_tree *tree);
/* Calls `see` for every leaf in order, until it is false. */
bool edit_tree_leaves(struct edit_node *node, bool (*see)(void *context, struct edit_node *leaf),
                      void *context);
/* Puts `count` children of a loop, from `at` on, into a new loop of so many iterations, which has
 * their place and in which nothing changes; false: out of memory, or too deep. */
bool edit_tree_wrap(struct edit_tree *tree, struct edit_node *parent, uint32_t at, uint32_t count,
                    int64_t iterations);
/* Makes a child, of a count that does not change, a loop in which it has so many iterations;
 * false: out of memory, or too deep. */
bool edit_tree_split(struct edit_tree *tree, struct edit_node *parent, uint32_t at,
                     int64_t iterations);
/* Keeps so many numbers, or symbols, from the beginning, of a tree that has more: what is left of
 * an iteration that is cut through is one run. False: out of memory, or lengths change. */
bool edit_tree_cut(struct edit_tree *tree, uint64_t length);
/* Whether a count in the node, or its own, changes in the loop of that depth around it. */
bool edit_node_varies(const struct edit_node *node, uint32_t depth);
/* Numbers of a run, or symbols, that one execution has; false: that changes, or is too much. */
bool edit_node_length(const struct edit_node *node, uint64_t *length);

#endif
