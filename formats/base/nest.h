/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The affine loop nest: what loops in loops do to memory, in closed form. It is the one form in
 * which regular accesses travel from a recorded program to simulators, traces and profiles.
 *
 * The loops of a nest are a tree, each before those within it. An innermost loop has accesses, in
 * the order of an iteration; any other one has loops. The first loop has all others within it. Let
 * i[0] be the iteration that the first loop is in, i[1] that of the loop within it, and so on.
 * Access a, of an innermost loop at depth d (the first loop is at depth 0), is at
 *
 *     first[a].address + sum over l = 0 ... d of i[l] * strides[a * levels + l]
 *
 * (modulo 2^64), and the loop at depth d has
 *
 *     count + sum over l = 0 ... d - 1 of i[l] * count_steps[l]
 *
 * iterations: none when that is negative. All accesses are of one thread. The references of an
 * innermost loop belong to one loop of the program, and none occurs twice in it, unless an
 * iteration is several of the program's, its `turns`: then these have the same ones in the same
 * order.
 *
 * A nest of one loop may have accesses whose addresses are no function of its iterations, but lie
 * in columns in memory.
 */
#ifndef PSNAP_BASE_NEST_H
#define PSNAP_BASE_NEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/base/access.h"
#include "formats/base/api.h"

enum {
    PSNAP_NEST_LEVELS = 6, /* of loops in loops */
    PSNAP_NEST_LOOPS = 256,
    PSNAP_NEST_WIDTH = 8192 /* accesses of all innermost loops, where there are several loops */
};

/*
 * The addresses of one irregular access, where they lie: that of iteration i is
 * words[i * pitch] + offset.
 */
struct psnap_column {
    const uint64_t *words; /* NULL: the access advances by its stride */
    size_t pitch;          /* words from one iteration to the next */
    uint64_t offset;       /* added modulo 2^64 */
};

/*
 * Whether `count` words, `pitch` words apart, all lie in [low, low + span], span below 2^63. Of
 * word - low and low + span - word one is negative, as numbers of 64 bits with sign, when it
 * does not; signs are collected without a branch, for the compiler to do several words at once.
 */
static inline bool psnap_words_inside(const uint64_t *words, size_t pitch, uint64_t count,
                                      uint64_t low, uint64_t span)
{
    uint64_t signs = 0;

    if (pitch == 1)
        for (uint64_t i = 0; i < count; i++)
            signs |= (words[i] - low) | (low + span - words[i]);
    else
        for (uint64_t i = 0; i < count; i++)
            signs |= (words[i * pitch] - low) | (low + span - words[i * pitch]);
    return !(signs >> 63);
}

struct psnap_nest_loop {
    int64_t count;   /* iterations, in the first iterations of the loops around it */
    uint32_t inside; /* loops within; 0: innermost */
    uint16_t begin;  /* its first access, or the first within */
    uint16_t width;  /* accesses, or those of all innermost loops within */
    uint32_t shape;  /* of an innermost loop, not 0: the same as of another one of the stream, of
                        the same width, says that these have the same refs, sizes and kinds */
    uint32_t turns;  /* of an innermost loop; 0 and 1: no reference occurs twice */
    int64_t count_steps[PSNAP_NEST_LEVELS]; /* by level around it; else 0 */
};

struct psnap_nest {
    const struct psnap_nest_loop *loops;
    const struct psnap_access *first;
    const int64_t *strides; /* `levels` of each access; 0 beyond its depth, unused for a column */
    const struct psnap_column *columns; /* of the only loop, one for each access; NULL: none */
    uint32_t loop_count;                /* 0: there is no nest */
    uint32_t levels;                    /* at least the depth of the deepest loop, and 1 more */
};

/* Levels of loops in loops that there are. */
PSNAP_API uint32_t psnap_nest_depth(const struct psnap_nest *nest);
/* Accesses in all, modulo 2^64. */
PSNAP_API uint64_t psnap_nest_accesses(const struct psnap_nest *nest);

/*
 * An execution of an innermost loop: `count` iterations of the same `width` accesses. The k-th
 * access of iteration i is first[k] at the address first[k].address + i * strides[k] (modulo 2^64)
 * or, where columns[k] has words, at that of the column; first[k] is then the one of iteration 0 as
 * well.
 */
struct psnap_run {
    const struct psnap_access *first;
    const int64_t *strides;             /* unused for a column */
    const struct psnap_column *columns; /* `width` of them, or NULL: all accesses have strides */
    size_t width;
    uint64_t count;
    uint32_t shape, turns; /* as the loop has them */
};

/* The address of the k-th access of iteration i. */
static inline uint64_t psnap_run_address(const struct psnap_run *run, uint64_t i, size_t k)
{
    if (run->columns && run->columns[k].words)
        return run->columns[k].words[i * run->columns[k].pitch] + run->columns[k].offset;
    return run->first[k].address + i * (uint64_t)run->strides[k];
}

/* Writes `n` of the run's accesses, one after the other, from number `from` on: access k of
 * iteration i is number i * width + k. */
PSNAP_API void psnap_run_accesses(const struct psnap_run *run, uint64_t from, size_t n,
                                  struct psnap_access *block);

/* A run as a nest of one loop, which goes to `loop`. What the run refers to must outlive both. */
PSNAP_API struct psnap_nest psnap_nest_of_run(struct psnap_nest_loop *loop,
                                              const struct psnap_run *run);

/* The executions of a nest's innermost loops, one after the other. */
struct psnap_nest_walk {
    const struct psnap_nest *nest;
    uint32_t at, depth;                          /* the next loop; how many loops are open */
    uint32_t open[PSNAP_NEST_LEVELS];            /* these, */
    uint64_t iteration[PSNAP_NEST_LEVELS];       /* the iterations that they are in, */
    uint64_t count[PSNAP_NEST_LEVELS];           /* of so many */
    struct psnap_access first[PSNAP_NEST_WIDTH]; /* of the run */
    int64_t strides[PSNAP_NEST_WIDTH];
};

/* The nest outlives the walk; without one (loop_count 0) there are no runs. */
PSNAP_API void psnap_nest_walk_init(struct psnap_nest_walk *walk, const struct psnap_nest *nest);
/* The next run, of at least one iteration, valid until the next call; false at the end. */
PSNAP_API bool psnap_nest_walk_next(struct psnap_nest_walk *walk, struct psnap_run *run);
/* All that is left of the loop at a depth is passed over: walk->open[depth], which is open. */
PSNAP_API void psnap_nest_walk_leave(struct psnap_nest_walk *walk, uint32_t depth);

/*
 * A nest that is being made: its loops, each at a level, in their order. Another loop is an
 * innermost one until one at a deeper level follows it.
 */
struct psnap_nest_maker {
    uint32_t loop_count, width;
    struct psnap_nest_loop loops[PSNAP_NEST_LOOPS];
    struct psnap_access first[PSNAP_NEST_WIDTH];
    int64_t strides[PSNAP_NEST_WIDTH * PSNAP_NEST_LEVELS];
};

/* Begins a nest whose first loop has so many iterations. */
PSNAP_API void psnap_nest_begin(struct psnap_nest_maker *maker, uint64_t count);
/* Adds a run without columns, or all loops of another nest, right within the first loop. False:
 * there is no room, and the nest is as it was. */
PSNAP_API bool psnap_nest_add_run(struct psnap_nest_maker *maker, const struct psnap_run *run);
PSNAP_API bool psnap_nest_add(struct psnap_nest_maker *maker, const struct psnap_nest *nest);
/* The first loop's strides are the distances from this iteration to the next one, which was made
 * the same way; false: the two differ in more than addresses and counts. */
PSNAP_API bool psnap_nest_advance(struct psnap_nest_maker *maker,
                                  const struct psnap_nest_maker *next);
/* The nest so far, valid until the maker changes. */
PSNAP_API struct psnap_nest psnap_nest_made(const struct psnap_nest_maker *maker);

#endif
