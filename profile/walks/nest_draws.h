/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Addresses that are drawn, while a stream goes on: what references draw, and which go together.
 */
#ifndef PSNAP_PROFILE_NEST_DRAWS_H
#define PSNAP_PROFILE_NEST_DRAWS_H

#include "profile/walks/nest_models.h"

struct nest_draws;

struct nest_draws *nest_draws_new(const struct psnap_program *program); /* NULL: out of memory */
void nest_draws_free(struct nest_draws *draws);
/* The number of the draw of a reference that is at `address` (0: not known), or PSNAP_NONE when out
 * of memory. Copies that unrolling and vectorising made of one turn out to be one. */
uint32_t nest_draws_add(struct nest_draws *draws, const struct nest_ref *ref, uint64_t address);
/* The next address of a draw; what is seen of several in turn tells which go together. */
void nest_draws_put(struct nest_draws *draws, uint32_t draw, bool is_entry, uint64_t address);

/* The same of the references of an iteration that are drawn, whose accesses these are. */
void nest_draws_put_iteration(struct nest_draws *draws, const struct nest_shape *shape,
                              const struct psnap_access *accesses, bool is_entry);

/* The same of a walk's first address, which others that are drawn do not come behind; */
void nest_draws_put_first(struct nest_draws *draws, uint32_t draw, bool is_entry, uint64_t address);
/* and its last address: the walk has ended. */
void nest_draws_move(struct nest_draws *draws, uint32_t draw, uint64_t address);

/* The leaf or state ends in which addresses were put: it had so many iterations. What comes next of
 * another part of the loop's source is what it left over; PSNAP_NONE: nobody asks that. */
void nest_draws_end(struct nest_draws *draws, uint32_t loop, uint64_t count);

/* Where a reference of the program, of which nothing is drawn, was in the last iteration of a leaf
 * that has ended; PSNAP_NONE: nobody knows where such ones were. */
void nest_draws_mark(struct nest_draws *draws, uint32_t ref, uint64_t address);

/* What a reference of several iterations draws: addresses that lie in a column, or go on by a step.
 */
struct nest_drawn {
    uint32_t draw;
    const uint64_t *words; /* NULL: a step */
    uint64_t pitch;        /* words from one to the next */
    uint64_t first, step;  /* first: added to each word */
};

static inline uint64_t nest_drawn_address(const struct nest_drawn *drawn, uint64_t i)
{
    return drawn->words ? drawn->words[i * drawn->pitch] + drawn->first
                        : drawn->first + i * drawn->step;
}

/* As putting n iterations of `width` references one by one, the first of which is an entry or
 * not. */
void nest_draws_put_all(struct nest_draws *draws, const struct nest_drawn *drawn, uint32_t width,
                        uint64_t n, bool is_entry);
/* False: out of memory, at some call before. */
bool nest_draws_are_whole(const struct nest_draws *draws);
/* The models of all, in their order, but of copies one, the caller's; NULL: out of memory. */
struct nest_draw *nest_draws_take(struct nest_draws *draws, uint32_t *count);
/* Once they are taken: where in their list that of each draw is, the caller's; NULL: out of memory.
 */
uint32_t *nest_draws_number(const struct nest_draws *draws);

#endif
