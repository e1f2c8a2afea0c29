/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nests of a thread to iterations and executions (lane.h): run by run. In a lane without reuse
 * times an iteration of the nest's first loop, which the lane has had another one of, is put into a
 * log (lane_log.h). When the lane then is where it was at the beginning of that iteration, but for
 * addresses, all further ones do the same, and the log is played as often as there are iterations.
 */
#include "profile/collect/lane.h"

enum {
    SHORT = 16, /* accesses; a run of fewer is put access by access, with others that follow it */
    TRIES = 3,  /* iterations that are logged before a nest goes run by run */
    LEFT = 2    /* iterations behind a logged one that make it worth while */
};

/* Where a lane is between two of its accesses. */
struct place {
    uint32_t node, queued, pending;
    uint64_t iterations;
};

struct putting {
    struct lane *lane;
    const struct psnap_nest *nest;
    bool may_log;
    uint32_t tries;
    struct place begun; /* where the log began, and ... */
    uint64_t begun_at;  /* ... accesses before it */
    size_t n;
    struct psnap_access block[LANE_WIDTH_MAX]; /* that are yet to be put */
};

static bool put_block(struct putting *p)
{
    const size_t n = p->n;

    p->n = 0;
    return !n || lane_put(p->lane, p->block, n);
}

static bool put_run(struct putting *p, const struct psnap_run *run)
{
    const bool is_short = run->count < SHORT && run->count * run->width < SHORT;

    if ((!is_short || LANE_WIDTH_MAX - p->n < SHORT) && !put_block(p))
        return false;
    for (uint64_t i = 0; i < run->count && is_short; i++)
        for (size_t k = 0; k < run->width; k++) {
            p->block[p->n] = run->first[k];
            p->block[p->n++].address = psnap_run_address(run, i, k);
        }
    return is_short || lane_put_run(p->lane, run);
}

/* ---- iterations that are alike ---- */

/* Whether all iterations of the first loop have the same runs, addresses apart. */
static bool is_even(const struct psnap_nest *nest)
{
    for (uint32_t i = 1; i < nest->loop_count; i++)
        if (nest->loops[i].count_steps[0])
            return false;
    return nest->loop_count > 1 && !nest->columns;
}

static struct place place_of(const struct lane *lane)
{
    return (struct place){lane->node, lane->queued, lane->pending, lane->iterations};
}

/* Whether the lane is where the log began: in an iteration that has come as far, of a body that has
 * executed as long, unless it was executing all the time. */
static bool is_back(const struct putting *p)
{
    const struct place now = place_of(p->lane);

    return now.node == p->begun.node && now.queued == p->begun.queued &&
           now.pending == p->begun.pending &&
           (now.iterations == p->begun.iterations || !p->lane->log.execution_count);
}

/* The logged iteration comes so often again. */
static bool repeat(struct putting *p, uint64_t times)
{
    struct lane *lane = p->lane;
    const struct lane_log *log = &lane->log;

    if (!lane_log_play(lane, 1 + times))
        return false;
    for (uint64_t i = 0; i < times; i++)
        for (uint32_t k = 0; k < log->execution_count; k++)
            if (!lane_execute_again(lane, &log->executions[k]))
                return false;
    lane->iterations += times * (lane->iterations - p->begun.iterations);
    for (uint32_t i = 0; i < lane->queued; i++)
        lane->addresses_queued[i] += times * log->sites[lane->sites_queued[i]].step;
    lane->now += times * (lane->now - p->begun_at);
    return true;
}

/* Before iteration `i` of the first loop: 1 when all that are left have been put, 0: they have to
 * be, negative: out of memory. */
static int skip(struct putting *p, uint64_t i)
{
    struct lane *lane = p->lane;
    const uint64_t left = (uint64_t)p->nest->loops->count - i;
    bool is_on = true;

    if (!put_block(p) || !lane_empty_queue(lane))
        return -1;
    if (lane->log.is_on && is_back(p))
        return repeat(p, left) ? 1 : -1;
    if (lane->log.is_on && !lane_log_play(lane, 1))
        return -1;
    p->may_log = p->tries++ < TRIES && left > LEFT;
    p->begun = place_of(lane);
    p->begun_at = lane->now;
    if (p->may_log && !lane_log_begin(lane, p->nest, &is_on))
        return -1;
    p->may_log &= is_on;
    return 0;
}

bool lane_put_nest(struct lane *lane, const struct psnap_nest *nest)
{
    struct putting p;
    struct psnap_nest_walk walk;
    struct psnap_run run;
    uint64_t iteration = 0;

    p.lane = lane;
    p.nest = nest;
    p.may_log = !lane->has_reuse && is_even(nest);
    p.tries = 0;
    p.n = 0;
    psnap_nest_walk_init(&walk, nest);
    while (psnap_nest_walk_next(&walk, &run)) {
        if (p.may_log && walk.iteration[0] != iteration) {
            const int is_done = skip(&p, walk.iteration[0]);
            if (is_done)
                return is_done > 0;
            iteration = walk.iteration[0];
        }
        if (!put_run(&p, &run))
            return false;
    }
    return put_block(&p) && (!lane->log.is_on || lane_log_play(lane, 1));
}
