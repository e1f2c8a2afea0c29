/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The stream of a thread on its way to nests.
 */
#ifndef PSNAP_PROFILE_NEST_LANE_H
#define PSNAP_PROFILE_NEST_LANE_H

#include "profile/walks/nest_stack.h"

struct nest_rounds; /* nest_rounds.c */

struct nest_lane {
    const struct psnap_program *program;
    struct nest_stack *stack;
    struct nest_shape *iteration; /* under way, `width` 0: none */
    uint64_t firsts[NEST_WIDTH_MAX], steps[NEST_WIDTH_MAX];
    struct nest_rounds *rounds; /* NULL: none came */
    uint32_t *last_refs; /* by loop, of `known_refs` references; of loops below `loop_room` */
    uint32_t known_refs, loop_room;
};

/* `program`, the stream's, must outlive it. NULL: out of memory. */
struct nest_lane *nest_lane_new(const struct psnap_program *program);
void nest_lane_free(struct nest_lane *lane);
enum psnap_status nest_lane_put(struct nest_lane *lane, const struct psnap_access *block, size_t n,
                                struct psnap_error *error);
/* Those of one thread. */
enum psnap_status nest_lane_put_run(struct nest_lane *lane, const struct psnap_run *run,
                                    struct psnap_error *error);
/* Whether there are several iterations in a repetition of these accesses. */
bool nest_lane_has_turns(const struct nest_lane *lane, const struct psnap_access *first,
                         size_t width);
/* The iteration under way is whole. */
enum psnap_status nest_lane_end(struct nest_lane *lane, struct psnap_error *error);

enum psnap_status nest_no_memory(struct psnap_error *error);

/* ---- loops in loops: nest_rounds.c ---- */

/* As their runs one by one. */
enum psnap_status nest_lane_put_rounds(struct nest_lane *lane, const struct psnap_rounds *rounds,
                                       struct psnap_error *error);
/* A run with several iterations in a repetition and no columns, PSNAP_ROUNDS_WIDTH wide at most. */
enum psnap_status nest_lane_put_turns(struct nest_lane *lane, const struct psnap_run *run,
                                      struct psnap_error *error);
void nest_rounds_free(struct nest_rounds *rounds);

#endif
