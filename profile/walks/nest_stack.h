/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nests of a stream, and how of it is told what does not fold.
 */
#ifndef PSNAP_PROFILE_NEST_STACK_H
#define PSNAP_PROFILE_NEST_STACK_H

#include "profile/walks/nest_leaves.h"

struct nest_stack;

/* `program`, the stream's, must outlive it. NULL: out of memory. */
struct nest_stack *nest_stack_new(const struct psnap_program *program);
void nest_stack_free(struct nest_stack *stack);
/* The next iterations; false: out of memory. */
bool nest_stack_put(struct nest_stack *stack, struct nest_iterations *iterations);
/* An iteration of a loop, if its kind came before: nest_leaves_put_again. */
enum nest_taken nest_stack_put_again(struct nest_stack *stack, uint32_t loop,
                                     const struct psnap_access *accesses, uint32_t width);
/* The leaves, until it is told in another way: the next put; NULL when they have no order. */
struct nest_leaves *nest_stack_leaves(struct nest_stack *stack);
/* Whether all addresses of a reference are drawn: its iterations may come with their column. */
bool nest_stack_draws(const struct nest_stack *stack, uint32_t ref);
/* The stream has ended; false: out of memory. */
bool nest_stack_end(struct nest_stack *stack);
/* After the end: the nests with their models, owned by the stack; NULL when they have no order. */
const struct psnap_nests *nest_stack_nests(const struct nest_stack *stack);

/* ---- how much of it has not folded: nest_loose.c ---- */

/* Values of terms that are no loops with much of the program in them, and neither lead into one
 * nor out of it. */
size_t nest_loose(const struct psnap_nests *nests);

/* ---- terms told in another way: nest_again.c ---- */

/*
 * Terms of `from`, which were told as `before` says, told as `after` says; what is no longer told
 * is drawn into `collected`, or nothing when that is NULL. Terms of more than `most` leaves stay as
 * they are. NULL: out of memory.
 */
struct nest_leaves *nest_leaves_again(const struct psnap_nests *from,
                                      const struct nest_states *before,
                                      const struct nest_states *after,
                                      struct nest_collected *collected, double most);

/* ---- what is to blame for terms that do not fold: nest_blame.c ---- */

/*
 * Changes how references and counts are told of which the values on the stack change by another
 * amount each time, and do not fold when they are alone if `is_alone`; *is_any says whether there
 * was one. What is in terms of more than `most` leaves stays as it is. False: out of memory.
 */
bool nest_blame(const struct psnap_nests *nests, struct nest_states *states, double most,
                bool is_alone, bool *is_any);
/* References of loops that are not kept and become part of a mix: first addresses are drawn of
 * those that mostly walk on by their stride and then begin elsewhere, all addresses of others.
 * False: out of memory. */
bool nest_blame_mixed(const struct psnap_nests *nests, struct nest_states *states,
                      const bool *is_kept);
/* About how many leaves a term has. */
double nest_count_leaves(const struct nest_pattern *pattern, const uint64_t *values);

/* ---- what does not fold even when it is alone: nest_alone.c ---- */

/* By reference, whether its addresses do not fold, and whether they moreover cut the leaves of
 * others; by loop, whether its numbers of iterations do not fold. False: out of memory. */
bool nest_alone(const struct psnap_nests *nests, const struct nest_states *states,
                bool *is_irregular_ref, bool *is_cutting, bool *is_irregular_count);

/* ---- what there is when it is left out: nest_skeleton.c ---- */

/* Loops that keep the others from folding become mixes, of which there were and then are
 * *mix_count; *is_any says whether there were such loops. False: out of memory. */
bool nest_skeleton(const struct psnap_nests *nests, struct nest_states *states, uint32_t *mix_count,
                   bool *is_any);

#endif
