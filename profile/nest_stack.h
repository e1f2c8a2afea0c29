/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nests of a stream, and how of it is told what does not fold.
 */
#ifndef PSNAP_PROFILE_NEST_STACK_H
#define PSNAP_PROFILE_NEST_STACK_H

#include "profile/nest_leaves.h"

struct nest_stack;

/* `program`, the stream's, must outlive it. NULL: out of memory. */
struct nest_stack *nest_stack_new(const struct psnap_program *program);
void nest_stack_free(struct nest_stack *stack);
/* The next iterations; false: out of memory. */
bool nest_stack_put(struct nest_stack *stack, struct nest_iterations *iterations);
/* Whether all addresses of a reference are drawn: its iterations may come with their column. */
bool nest_stack_draws(const struct nest_stack *stack, uint32_t ref);
/* The stream has ended; false: out of memory. */
bool nest_stack_end(struct nest_stack *stack);
/* After the end: the nests with their models, owned by the stack; NULL when they have no order. */
const struct psnap_nests *nest_stack_nests(const struct nest_stack *stack);

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
 * amount each time; *is_any says whether there was one. What is in terms of more than `most` leaves
 * stays as it is. False: out of memory.
 */
bool nest_blame(const struct psnap_nests *nests, struct nest_states *states, double most,
                bool *is_any);
/* About how many leaves a term has. */
double nest_count_leaves(const struct nest_pattern *pattern, const uint64_t *values);

#endif
