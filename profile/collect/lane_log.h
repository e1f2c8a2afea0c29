/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A log of what one iteration of a loop of a nest does to a lane: the numbers that its series of
 * addresses and sweeps get, and the executions of bodies that end. While a lane has a log, numbers
 * are written to it and not put to their series. In the end it is played: once, or as often as the
 * loop has iterations left, all numbers of a series further each time, by as much as its addresses
 * are. Each series gets its own part of the log until it goes on by itself (series_repeats), and
 * the rest at once: a nest takes no longer with more iterations.
 *
 * A loop within one that is logged has a log of its own, which is played into that around it.
 *
 * Only lanes without reuse times have logs. In these the accesses of different references have
 * nothing to do with each other.
 */
#ifndef PSNAP_PROFILE_LANE_LOG_H
#define PSNAP_PROFILE_LANE_LOG_H

#include "formats/base/stream.h"
#include "profile/nest/series.h"

struct lane;

#define LANE_SWEEP (UINT32_C(1) << 31) /* targets from here on are sweeps, those below sites */

/* What a target gets: numbers, the end of a row, or other ops again and again. */
struct lane_op {
    uint64_t first, stride;
    uint64_t count;  /* 0: a row ends */
    uint32_t length; /* not 0: so many ops that follow are put `count` times, `stride` further each
                        time */
    uint32_t next;   /* the target's next one, or PSNAP_NONE, of one that is in no other */
};

/* A target of the loop. */
struct lane_track {
    uint64_t step;        /* from one iteration to the next */
    uint32_t loop;        /* number of the loop */
    uint32_t first, last; /* its ops, or PSNAP_NONE */
};

/* An execution of a body that ended, or so many executions that follow, again and again. */
struct lane_execution {
    uint64_t iterations; /* or times */
    uint32_t body, length;
};

struct lane_log {
    struct lane_log *outer; /* of the loop around; NULL: none */
    uint32_t loop;          /* number of the latest loop, from 1 on */
    struct lane_op *ops;
    uint32_t *targets;                 /* that have ops */
    struct lane_track *sites, *sweeps; /* by site, by sweep */
    struct lane_execution *executions; /* in their order */
    uint32_t op_count, target_count, execution_count;
    size_t op_room, target_room, site_room, sweep_room, execution_room;
};

void lane_log_release(struct lane_log *log);
/* Begins a log, which is none of the lane's, for an iteration of a loop at a level of the nest, of
 * which the lane has had another one; *is_on is false when it cannot have one: accesses of a
 * reference go on by different steps. False: out of memory, as below. */
bool lane_log_begin(struct lane *lane, struct lane_log *log, const struct psnap_nest *nest,
                    uint32_t loop, uint32_t level, bool *is_on);
/* Ends the innermost log: `times` times what it has goes to the one around it, or else to the
 * series and bodies, whose executions there have been once. */
bool lane_log_play(struct lane *lane, uint64_t times);
/* Ends all logs. */
bool lane_log_end(struct lane *lane);

/* Numbers of a target, to the log or to its series. */
bool lane_log_put(struct lane *lane, uint32_t target, uint64_t first, uint64_t stride,
                  uint64_t count);
/* The same runs `count` times, `step` further each time. */
bool lane_log_put_repeated(struct lane *lane, uint32_t target, const struct series_run *runs,
                           uint32_t n, uint64_t step, uint64_t count);
/* With a log: a row of a site's addresses ends; an execution of a body has ended. */
bool lane_log_end_row(struct lane *lane, uint32_t site);
bool lane_log_execution(struct lane *lane, uint32_t body, uint64_t iterations);

#endif
