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

/* A loop, a run of numbers or a symbol. The root is a loop of one iteration that is not there: it
 * has depth 0, as those in it. */
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

struct editing; /* owns the nodes */

/* The root of the terms' tree; NULL: out of memory, which is a failure of the edit. */
struct edit_node *edit_tree_new(struct editing *e, const struct nest_terms *terms);
/* Replaces the terms with those of the tree; fails when loops are too deep. */
void edit_tree_store(struct editing *e, const struct edit_node *root, struct nest_terms *terms);
/* Fills what is measured; false: that takes too long. */
bool edit_tree_measure(struct edit_node *root);
/* Calls `see` for every leaf in order. */
void edit_each_leaf(struct editing *e, struct edit_node *node,
                    void (*see)(struct editing *e, struct edit_node *leaf));
/* Puts `count` children of a loop, from `at` on, into a new loop of so many iterations, which has
 * their place and in which nothing changes; false, a failure: loops are too deep. */
bool edit_tree_wrap(struct editing *e, struct edit_node *parent, uint32_t at, uint32_t count,
                    int64_t iterations);
/* Makes a child, of a count that does not change, a loop in which it has so many iterations; as
 * above. */
bool edit_tree_split(struct editing *e, struct edit_node *parent, uint32_t at, int64_t iterations);
/* Whether a count in the node, or its own, changes in the loop of that depth around it. */
bool edit_node_varies(const struct edit_node *node, uint32_t depth);
/* Whether no count in a loop changes with its iterations. */
bool edit_loop_is_steady(const struct edit_node *loop);
/* Numbers of a run, or symbols, that one execution has; false: that changes, or is too much. */
bool edit_node_length(const struct edit_node *node, uint64_t *length);

#endif
