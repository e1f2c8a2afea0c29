/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nests of a thread to iterations and executions (lane.h): run by run. In a lane without reuse
 * times an iteration of a loop in the nest, which the lane has had another one of, is put into a
 * log (lane_log.h). When the lane then is where it was at the beginning of that iteration, but for
 * addresses, all further ones do the same, and the log is played as often as there are iterations.
 */
#include "profile/collect/lane.h"

enum {
    SHORT = 16,  /* accesses; a run of fewer is put access by access, with others that follow it */
    TRIES = 3,   /* iterations of a loop that are logged before it goes run by run */
    LEFT = 2,    /* iterations behind a logged one, and ... */
    WORTH = 256, /* ... accesses that they have at least, that make it worth while */
    AT_ONCE = 8192 /* accesses of a loop whose first iteration is logged already */
};

/* A loop that the nest is in. */
struct level {
    uint32_t loop;
    uint64_t iteration;
    bool may_log;
    uint32_t tries;
    /* Where the lane was when its log began: between two accesses, in an iteration and an execution
     * that had come so far. */
    uint32_t node, queued, pending;
    uint64_t iterations, now;
};

struct putting {
    struct lane *lane;
    const struct psnap_nest *nest;
    struct psnap_nest_walk walk;
    uint32_t depth;
    struct level levels[PSNAP_NEST_LEVELS];
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

/* Whether all iterations of a loop have the same runs, addresses apart. */
static bool is_even(const struct psnap_nest *nest, uint32_t loop, uint32_t level)
{
    for (uint32_t i = 1; i <= nest->loops[loop].inside; i++)
        if (nest->loops[loop + i].count_steps[level])
            return false;
    return true;
}

static bool has_log(const struct putting *p, uint32_t level)
{
    return p->lane->log == &p->lane->logs[level];
}

/* Whether the lane is where the level's log began: in an iteration that has come as far, of a body
 * that has executed as long, unless it was executing all the time. */
static bool is_back(const struct lane *lane, const struct level *begun)
{
    return lane->node == begun->node && lane->queued == begun->queued &&
           lane->pending == begun->pending &&
           (lane->iterations == begun->iterations || !lane->log->execution_count);
}

/* The logged iteration comes so often again. */
static bool repeat(struct lane *lane, const struct level *begun, uint64_t times)
{
    const struct lane_log *log = lane->log;

    if (!lane_log_play(lane, 1 + times))
        return false;
    lane->iterations += times * (lane->iterations - begun->iterations);
    for (uint32_t i = 0; i < lane->queued; i++)
        lane->addresses_queued[i] += times * log->sites[lane->sites_queued[i]].step;
    lane->now += times * (lane->now - begun->now);
    return true;
}

/* A log begins for the iteration of a loop that is next, if it can have one. */
static bool begin(struct putting *p, uint32_t level)
{
    struct lane *lane = p->lane;
    struct level *at = &p->levels[level];

    at->tries++;
    at->node = lane->node;
    at->queued = lane->queued;
    at->pending = lane->pending;
    at->iterations = lane->iterations;
    at->now = lane->now;
    return lane_log_begin(lane, &lane->logs[level], p->nest, at->loop, level, &at->may_log);
}

/* Before an iteration of the loop at a level: 1 when all that are left have been put, 0: they have
 * to be, negative: out of memory. */
static int skip(struct putting *p, uint32_t level)
{
    struct lane *lane = p->lane;
    struct level *at = &p->levels[level];
    const uint64_t left = p->walk.count[level] - at->iteration;
    const bool is_worth =
        at->tries < TRIES && left > LEFT && left * p->nest->loops[at->loop].width >= WORTH;

    if (!at->may_log || !(is_worth || has_log(p, level)))
        return 0;
    if (!put_block(p) || !lane_empty_queue(lane))
        return -1;
    if (has_log(p, level)) {
        if (is_back(lane, at))
            return repeat(lane, at, left) ? 1 : -1;
        if (!lane_log_play(lane, 1))
            return -1;
    }
    return !is_worth || begin(p, level) ? 0 : -1;
}

/* The nest is in no loop deeper than that any more. */
static bool leave(struct putting *p, uint32_t depth)
{
    while (p->depth > depth)
        if (has_log(p, --p->depth) && (!put_block(p) || !lane_log_play(p->lane, 1)))
            return false;
    return true;
}

/* Goes where the walk is. Returns as skip. */
static int go_on(struct putting *p)
{
    const struct psnap_nest_walk *walk = &p->walk;
    uint32_t level = 0;
    int is_done = 0;

    while (level < p->depth && level < walk->depth && p->levels[level].loop == walk->open[level] &&
           p->levels[level].iteration == walk->iteration[level])
        level++;
    if (level < p->depth && level < walk->depth && p->levels[level].loop == walk->open[level]) {
        if (!leave(p, level + 1))
            return -1;
        p->levels[level].iteration = walk->iteration[level];
        is_done = skip(p, level);
        if (is_done)
            return is_done;
    } else if (!leave(p, level)) {
        return -1;
    }
    while (p->depth < walk->depth) {
        struct level *at = &p->levels[p->depth];
        *at = (struct level){.loop = walk->open[p->depth],
                             .iteration = walk->iteration[p->depth],
                             .may_log = !p->lane->has_reuse &&
                                        is_even(p->nest, walk->open[p->depth], p->depth)};
        p->depth++;
        if (walk->count[p->depth - 1] * p->nest->loops[at->loop].width >= AT_ONCE &&
            skip(p, p->depth - 1) < 0)
            return -1;
    }
    return 0;
}

bool lane_put_nest(struct lane *lane, const struct psnap_nest *nest)
{
    struct putting p;
    struct psnap_run run;

    p.lane = lane;
    p.nest = nest;
    p.depth = 0;
    p.n = 0;
    psnap_nest_walk_init(&p.walk, nest);
    while (psnap_nest_walk_next(&p.walk, &run)) {
        const int is_done = go_on(&p);
        if (is_done < 0 || (!is_done && !put_run(&p, &run)))
            return false;
        if (is_done)
            psnap_nest_walk_leave(&p.walk, p.depth - 1);
    }
    return leave(&p, 0) && put_block(&p);
}
