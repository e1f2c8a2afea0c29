/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Logs of iterations of nests (lane_log.h): written, and played.
 */
#include "profile/collect/lane_log.h"

#include <stdlib.h>

#include "formats/base/room.h"
#include "profile/collect/lane.h"

enum { OPS_MAX = 1 << 16 /* of a log; a longer one is played before it goes on */ };

void lane_log_release(struct lane_log *log)
{
    free(log->ops);
    free(log->targets);
    free(log->sites);
    free(log->sweeps);
    free(log->executions);
    *log = (struct lane_log){0};
}

static struct series *series_of(const struct lane *lane, uint32_t target)
{
    return target & LANE_SWEEP ? &lane->sweeps[target & ~LANE_SWEEP].bytes
                               : &lane->histories[target].addresses;
}

/* The track of a target; NULL: it is none of the nest's. */
static struct lane_track *track_of(const struct lane_log *log, uint32_t target)
{
    const uint32_t index = target & ~LANE_SWEEP;
    struct lane_track *track = target & LANE_SWEEP ? &log->sweeps[index] : &log->sites[index];

    if (index >= (target & LANE_SWEEP ? log->sweep_room : log->site_room))
        return NULL;
    return track->nest == log->nest ? track : NULL;
}

static bool put_numbers(struct lane *lane, uint32_t target, uint64_t first, uint64_t stride,
                        uint64_t count)
{
    return target & LANE_SWEEP ? series_put(series_of(lane, target), first, stride, count)
                               : lane_put_numbers(lane, target, first, stride, count);
}

/* ---- beginning ---- */

/* Room for the tracks of so many targets, new ones zeroed. */
static bool make_room(struct lane_track **tracks, size_t *room, size_t wanted)
{
    const size_t before = *room;
    struct lane_track *more = psnap_with_room(*tracks, room, wanted + 1, sizeof *more);

    if (!more)
        return false;
    memset(more + before, 0, (*room - before) * sizeof *more);
    *tracks = more;
    return true;
}

/* Adds a target to the nest; false: it goes on by another step as well. */
static bool add_target(struct lane_log *log, struct lane_track *track, uint64_t step)
{
    if (track->nest == log->nest)
        return track->step == step;
    *track = (struct lane_track){
        .step = step, .nest = log->nest, .first = PSNAP_NONE, .last = PSNAP_NONE};
    return true;
}

bool lane_log_begin(struct lane *lane, const struct psnap_nest *nest, bool *is_on)
{
    struct lane_log *log = &lane->log;

    *is_on = false;
    if (!make_room(&log->sites, &log->site_room, lane->site_count) ||
        !make_room(&log->sweeps, &log->sweep_room, lane->sweep_count))
        return false;
    log->nest++;
    for (uint32_t k = 0; k < nest->loops->width; k++) {
        const uint32_t index = lane_site_of(lane, &nest->first[k]);
        const uint64_t step = (uint64_t)nest->strides[(size_t)k * nest->levels];
        const struct lane_site *site = &lane->sites[index];
        if (index == PSNAP_NONE)
            return false;
        if (index >= log->site_room || !add_target(log, &log->sites[index], step) ||
            (site->sweep != PSNAP_NONE && !add_target(log, &log->sweeps[site->sweep], step)))
            return true;
    }
    log->op_count = log->target_count = log->execution_count = 0;
    *is_on = log->is_on = true;
    return true;
}

/* ---- writing ---- */

/* Adds ops of a target; returns the first of them. PSNAP_NONE: out of memory. */
static uint32_t add_ops(struct lane_log *log, struct lane_track *track, uint32_t target,
                        uint32_t count)
{
    struct lane_op *ops =
        psnap_with_room(log->ops, &log->op_room, log->op_count + (size_t)count, sizeof *ops);
    uint32_t *targets = psnap_with_room(log->targets, &log->target_room,
                                        log->target_count + (size_t)1, sizeof *targets);
    const uint32_t at = log->op_count;

    log->ops = ops ? ops : log->ops;
    log->targets = targets ? targets : log->targets;
    if (!ops || !targets)
        return PSNAP_NONE;
    if (track->first == PSNAP_NONE) {
        targets[log->target_count++] = target;
        track->first = at;
    } else {
        ops[track->last].next = at;
    }
    track->last = at;
    ops[at] = (struct lane_op){.next = PSNAP_NONE};
    log->op_count += count;
    return at;
}

/* Whether numbers go on the op's, which then has them. */
static bool joins(struct lane_op *op, uint64_t first, uint64_t stride, uint64_t count)
{
    if (op->length || !op->count || (count > 1 && op->count > 1 && stride != op->stride))
        return false;
    if (op->count == 1) {
        if (count > 1 && first - op->first != stride)
            return false;
        op->stride = first - op->first;
    } else if (first != op->first + op->count * op->stride) {
        return false;
    }
    op->count += count;
    return true;
}

/* The track that a target's next ops go to; NULL: none, it has no log. *is_done is false when out
 * of memory. */
static struct lane_track *track_for(struct lane *lane, uint32_t target, bool *is_done)
{
    struct lane_track *track = lane->log.is_on ? track_of(&lane->log, target) : NULL;

    *is_done = true;
    if (!lane->log.is_on || (track && lane->log.op_count < OPS_MAX))
        return track;
    *is_done = lane_log_play(lane, 1);
    return NULL;
}

bool lane_log_put(struct lane *lane, uint32_t target, uint64_t first, uint64_t stride,
                  uint64_t count)
{
    bool is_done;
    struct lane_track *track = track_for(lane, target, &is_done);
    uint32_t at;

    if (!track)
        return is_done && put_numbers(lane, target, first, stride, count);
    if (track->last != PSNAP_NONE && joins(&lane->log.ops[track->last], first, stride, count))
        return true;
    at = add_ops(&lane->log, track, target, 1);
    if (at == PSNAP_NONE)
        return false;
    lane->log.ops[at].first = first;
    lane->log.ops[at].stride = stride;
    lane->log.ops[at].count = count;
    return true;
}

bool lane_log_put_repeated(struct lane *lane, uint32_t target, const struct series_run *runs,
                           uint32_t n, uint64_t step, uint64_t count)
{
    bool is_done;
    struct lane_track *track = track_for(lane, target, &is_done);
    uint32_t at;

    for (uint64_t i = 0; !track && is_done && i < count; i++)
        for (uint32_t k = 0; k < n && is_done; k++)
            is_done =
                put_numbers(lane, target, runs[k].first + i * step, runs[k].stride, runs[k].count);
    if (!track)
        return is_done;
    at = add_ops(&lane->log, track, target, 1 + n);
    if (at == PSNAP_NONE)
        return false;
    lane->log.ops[at] =
        (struct lane_op){.stride = step, .count = count, .length = n, .next = PSNAP_NONE};
    for (uint32_t k = 0; k < n; k++)
        lane->log.ops[at + 1 + k] = (struct lane_op){
            .first = runs[k].first, .stride = runs[k].stride, .count = runs[k].count};
    return true;
}

bool lane_log_end_row(struct lane *lane, uint32_t site)
{
    bool is_done;
    struct lane_track *track = track_for(lane, site, &is_done);

    if (track)
        return add_ops(&lane->log, track, site, 1) != PSNAP_NONE;
    series_end_row(&lane->histories[site].addresses);
    return is_done;
}

bool lane_log_execution(struct lane *lane, uint32_t body, uint64_t iterations)
{
    struct lane_log *log = &lane->log;
    struct lane_execution *more = psnap_with_room(log->executions, &log->execution_room,
                                                  log->execution_count + (size_t)1, sizeof *more);

    if (!more)
        return false;
    log->executions = more;
    more[log->execution_count++] = (struct lane_execution){iterations, body};
    return true;
}

/* ---- playing ---- */

/* Ops of a target that are put again and again. */
struct part {
    uint32_t target, first, count; /* so many from the first one on, or all that follow it (0) */
    uint64_t step, times;
};

static bool put_part(struct lane *lane, const struct part *part, uint64_t by);

static bool put_op(struct lane *lane, uint32_t target, uint32_t at, uint64_t by)
{
    const struct lane_op *op = &lane->log.ops[at];

    if (op->length)
        return put_part(lane, &(struct part){target, at + 1, op->length, op->stride, op->count},
                        by);
    if (op->count)
        return put_numbers(lane, target, op->first + by, op->stride, op->count);
    series_end_row(series_of(lane, target));
    return true;
}

static bool put_once(struct lane *lane, const struct part *part, uint64_t by)
{
    uint32_t at = part->first;

    for (uint32_t k = 0; k < part->count; k++)
        if (!put_op(lane, part->target, at + k, by))
            return false;
    for (; !part->count && at != PSNAP_NONE; at = lane->log.ops[at].next)
        if (!put_op(lane, part->target, at, by))
            return false;
    return true;
}

/* All numbers are `by` further than the log has them. */
static bool put_part(struct lane *lane, const struct part *part, uint64_t by)
{
    struct series *series = series_of(lane, part->target);

    for (uint64_t i = 0; i < part->times; i++) {
        struct series_mark mark;
        uint64_t more = part->times - i - 1, numbers;
        series_mark(series, &mark);
        if (!put_once(lane, part, by + i * part->step))
            return false;
        numbers = series_repeats(series, &mark, part->step);
        more = numbers < more ? numbers : more;
        if (!more)
            continue;
        numbers = more * (series->length - mark.length);
        series_skip(series, &mark, part->step, more);
        if (!(part->target & LANE_SWEEP))
            lane_skip_numbers(lane, part->target, numbers);
        i += more;
    }
    return true;
}

bool lane_log_play(struct lane *lane, uint64_t times)
{
    struct lane_log *log = &lane->log;

    log->is_on = false;
    for (uint32_t i = 0; i < log->target_count; i++) {
        const uint32_t target = log->targets[i];
        const struct lane_track *track = track_of(log, target);
        const struct part part = {target, track->first, 0, track->step, times};
        if (!put_part(lane, &part, 0))
            return false;
        if (target & LANE_SWEEP)
            lane->sweeps[target & ~LANE_SWEEP].end += (times - 1) * track->step;
        else
            lane->sites[target].latest += (times - 1) * track->step;
    }
    return true;
}
