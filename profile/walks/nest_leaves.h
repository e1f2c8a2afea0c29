/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From iterations of a loop to leaves of nests (nests.h), as the modes say by which the references
 * and counts of loops are told.
 */
#ifndef PSNAP_PROFILE_NEST_LEAVES_H
#define PSNAP_PROFILE_NEST_LEAVES_H

#include "profile/walks/nest_collect.h"
#include "profile/walks/nest_states.h"

/* `count` iterations of the references of a shape. */
struct nest_iterations {
    struct nest_shape *shape;           /* in which modes are filled in */
    uint64_t *firsts;                   /* may change */
    const uint64_t *steps;              /* when there are two and more */
    const struct psnap_column *columns; /* NULL, or of those whose addresses they are */
    uint64_t from;                      /* the first iteration in columns */
    uint64_t count;
    /* What they were before, when they come from a stack: then nothing is drawn twice. The same
     * where there are both. */
    const struct nest_shape *drawn; /* references of which all addresses are drawn, or NULL */
    const struct nest_shape *told;  /* first addresses and counts, or NULL */
    const bool *is_unknown;         /* references whose address is not known, or NULL */
};

/* The first address of a reference. */
static inline uint64_t nest_iterations_first(const struct nest_iterations *iterations, uint32_t k)
{
    const struct psnap_column *column = iterations->columns ? &iterations->columns[k] : NULL;

    return column && column->words
               ? column->words[iterations->from * column->pitch] + column->offset
               : iterations->firsts[k];
}

enum {
    NEST_KNOWN = 4,       /* shapes of a loop */
    NEST_STATES_MANY = 24 /* states of a loop in a mix: then each block of an iteration is one */
};

/* What came last is what comes next, mostly. NULL: there was none. */
struct nest_known {
    const struct nest_pattern *leaf, *state; /* of a loop, */
    bool is_drawn;                           /* all of the state; */
    const struct nest_pattern *visit;        /* of the mix that has its number */
};

/* What has become of an iteration. */
enum nest_taken {
    NEST_NO_MEMORY = -1,
    NEST_OTHER, /* it is to be put as any */
    NEST_TAKEN,
    NEST_ENDED /* the leaf before it is folded: to be put again */
};

/* Where those of a loop are that have so many references, of which this is the last. */
static inline size_t nest_known_index(uint32_t loop, uint32_t width, uint32_t last)
{
    return (size_t)loop * NEST_KNOWN + (width * 3 + last) % NEST_KNOWN;
}

/* Iterations go on to be leaves: one is under way. */
struct nest_leaves {
    struct nest_fold *fold;
    struct nest_states states;
    struct nest_collected *collected; /* not owned; NULL: nothing is drawn, for a try */
    struct nest_known *known;         /* by loop and by mix, NEST_KNOWN of each */
    size_t known_room;
    double again;      /* leaves of a term that may be told in another way, at most */
    uint32_t loop;     /* of the iteration before, or PSNAP_NONE */
    uint32_t visited;  /* the mix that is visited, PSNAP_NONE: a leaf came since */
    bool is_begun;     /* there was a leaf in its visit */
    bool has_too_many; /* states in a mix */
    const struct nest_pattern *state; /* of the leaf of the mix under way, */
    uint64_t state_count;             /* its iterations, */
    uint64_t *state_next;             /* where its references go on, */
    bool is_state_known;              /* when that is known */
    bool is_state_drawn;              /* every address of it */
    uint32_t due;                     /* 1 + the mix that is visited now, even if in vain, or 0 */
    struct nest_shape *shape;         /* of the leaf under way, `width` 0: none */
    struct nest_shape *part, *part_before; /* of an iteration, a block of it, what it was before */
    uint64_t *values, *strides;            /* of the leaf under way, raw; 1 + NEST_WIDTH_MAX each */
    uint64_t *told, *made_strides;         /* the same as its modes say */
    bool *is_told;                         /* references of which the first address is drawn */
    bool is_count_told, has_told;          /* the count; anything of both */
};

struct nest_leaves *nest_leaves_new(void);         /* NULL: out of memory */
void nest_leaves_free(struct nest_leaves *leaves); /* not what was collected */
/* Takes iterations, as many as go on with the leaf under way or can begin one; false: out of
 * memory. To be called until there are none left. */
bool nest_leaves_put(struct nest_leaves *leaves, struct nest_iterations *iterations);
/* Takes an iteration of a loop whose kind came before: its accesses, in rising order of references
 * (nest_leaves_quick.c). */
enum nest_taken nest_leaves_put_again(struct nest_leaves *leaves, uint32_t loop,
                                      const struct psnap_access *accesses, uint32_t width);
/* A visit of a mix, whose tokens are known already, if it has any; those that come on are of it,
 * but not of the chain's visit before. */
bool nest_leaves_visit(struct nest_leaves *leaves, uint32_t mix);
/* The leaf of a mix that was under way elsewhere goes on here, in the mix that is visited. */
bool nest_leaves_go_on(struct nest_leaves *leaves, const struct nest_leaves *before);
/* Any term: nothing is under way after it. */
bool nest_leaves_term(struct nest_leaves *leaves, const struct nest_pattern *pattern,
                      const uint64_t *values);
bool nest_leaves_end_leaf(struct nest_leaves *leaves);
/* Nothing more comes: visits end, too, those that are due with no leaves. */
bool nest_leaves_end(struct nest_leaves *leaves);

/* ---- what its parts share; false or NULL: out of memory ---- */

/* The patterns of leaves of such a shape, or of visits of a mix, that came last. A loop has several
 * shapes by turns when there are branches in it. */
struct nest_known *nest_leaves_known(struct nest_leaves *leaves, const struct nest_shape *shape);
/* Whether a pattern (NULL: none) is a leaf of the shape with these strides. */
bool nest_known_is(const struct nest_pattern *known, const struct nest_shape *shape,
                   const uint64_t *strides);
/* Without the first n. */
void nest_iterations_skip(struct nest_iterations *iterations, uint64_t n);
/* The first n iterations are taken: what of them is to be drawn is drawn. */
void nest_leaves_pass(struct nest_leaves *leaves, struct nest_iterations *iterations, uint64_t n);
/* The visit of a mix is a term of the nests. */
bool nest_leaves_fold_visit(struct nest_leaves *leaves, uint32_t mix);
/* A visit that is due and has not come is one of no leaves. */
bool nest_leaves_end_due(struct nest_leaves *leaves);

/* nest_leaves_mix.c: as nest_leaves_put, of a loop that is mixed. */
bool nest_leaves_put_mixed(struct nest_leaves *leaves, struct nest_iterations *iterations);
/* The state under way is a token. */
bool nest_leaves_end_state(struct nest_leaves *leaves);
/* There is no visit any more. */
bool nest_leaves_end_visit(struct nest_leaves *leaves);

#endif
