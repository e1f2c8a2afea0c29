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

static bool put_numbers(struct lane *lane, uint32_t target, uint64_t first, uint64_t stride,
                        uint64_t count)
{
    return target & LANE_SWEEP ? series_put(series_of(lane, target), first, stride, count)
                               : lane_put_numbers(lane, target, first, stride, count);
}

/* The track of a target; NULL: it is none of the loop's. */
static struct lane_track *track_of(const struct lane_log *log, uint32_t target)
{
    const uint32_t index = target & ~LANE_SWEEP;
    struct lane_track *track = target & LANE_SWEEP ? &log->sweeps[index] : &log->sites[index];

    if (index >= (target & LANE_SWEEP ? log->sweep_room : log->site_room))
        return NULL;
    return track->loop == log->loop ? track : NULL;
}

/* ---- beginning ---- */

/* Room for the tracks of so many targets and one more, new ones zeroed. */
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

/* Adds a target to the loop; false: it goes on by another step as well. */
static bool add_target(const struct lane_log *log, struct lane_track *track, uint64_t step)
{
    if (track->loop == log->loop)
        return track->step == step;
    *track = (struct lane_track){
        .step = step, .loop = log->loop, .first = PSNAP_NONE, .last = PSNAP_NONE};
    return true;
}

bool lane_log_begin(struct lane *lane, struct lane_log *log, const struct psnap_nest *nest,
                    uint32_t loop, uint32_t level, bool *is_on)
{
    const struct psnap_nest_loop *of = &nest->loops[loop];

    *is_on = false;
    if (!make_room(&log->sites, &log->site_room, lane->site_count) ||
        !make_room(&log->sweeps, &log->sweep_room, lane->sweep_count))
        return false;
    log->loop++;
    for (uint32_t k = of->begin; k < of->begin + (uint32_t)of->width; k++) {
        const uint32_t index = lane_site_of(lane, &nest->first[k]);
        const uint64_t step = (uint64_t)nest->strides[(size_t)k * nest->levels + level];
        const struct lane_site *site = &lane->sites[index];
        if (index == PSNAP_NONE)
            return false;
        if (index >= log->site_room || !add_target(log, &log->sites[index], step) ||
            (site->sweep != PSNAP_NONE && !add_target(log, &log->sweeps[site->sweep], step)))
            return true;
    }
    log->op_count = log->target_count = log->execution_count = 0;
    log->outer = lane->log;
    lane->log = log;
    *is_on = true;
    return true;
}

/* ---- writing ---- */

/* The innermost log, and a target's track in it; logs that cannot go on are played before. NULL:
 * there is no log, or no memory (*is_done is false). */
static struct lane_log *log_for(struct lane *lane, uint32_t target, struct lane_track **track,
                                bool *is_done)
{
    *is_done = true;
    while (lane->log && *is_done) {
        *track = track_of(lane->log, target);
        if (*track && lane->log->op_count < OPS_MAX)
            return lane->log;
        *is_done = lane_log_play(lane, 1);
    }
    return NULL;
}

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

bool lane_log_put(struct lane *lane, uint32_t target, uint64_t first, uint64_t stride,
                  uint64_t count)
{
    struct lane_track *track;
    bool is_done;
    struct lane_log *log = log_for(lane, target, &track, &is_done);
    uint32_t at;

    if (!log)
        return is_done && put_numbers(lane, target, first, stride, count);
    if (track->last != PSNAP_NONE && joins(&log->ops[track->last], first, stride, count))
        return true;
    at = add_ops(log, track, target, 1);
    if (at == PSNAP_NONE)
        return false;
    log->ops[at].first = first;
    log->ops[at].stride = stride;
    log->ops[at].count = count;
    return true;
}

bool lane_log_put_repeated(struct lane *lane, uint32_t target, const struct series_run *runs,
                           uint32_t n, uint64_t step, uint64_t count)
{
    struct lane_track *track;
    bool is_done;
    struct lane_log *log = log_for(lane, target, &track, &is_done);
    uint32_t at;

    for (uint64_t i = 0; !log && i < count; i++)
        for (uint32_t k = 0; k < n && is_done; k++)
            is_done =
                put_numbers(lane, target, runs[k].first + i * step, runs[k].stride, runs[k].count);
    if (!log)
        return is_done;
    at = add_ops(log, track, target, 1 + n);
    if (at == PSNAP_NONE)
        return false;
    log->ops[at] =
        (struct lane_op){.stride = step, .count = count, .length = n, .next = PSNAP_NONE};
    for (uint32_t k = 0; k < n; k++)
        log->ops[at + 1 + k] = (struct lane_op){
            .first = runs[k].first, .stride = runs[k].stride, .count = runs[k].count};
    return true;
}

bool lane_log_end_row(struct lane *lane, uint32_t site)
{
    struct lane_track *track;
    bool is_done;
    struct lane_log *log = log_for(lane, site, &track, &is_done);

    if (log)
        return add_ops(log, track, site, 1) != PSNAP_NONE;
    series_end_row(&lane->histories[site].addresses);
    return is_done;
}

/* Room for so many executions more; NULL: out of memory. */
static struct lane_execution *add_executions(struct lane_log *log, uint32_t count)
{
    struct lane_execution *more = psnap_with_room(
        log->executions, &log->execution_room, log->execution_count + (size_t)count, sizeof *more);

    if (!more)
        return NULL;
    log->executions = more;
    log->execution_count += count;
    return more + log->execution_count - count;
}

bool lane_log_execution(struct lane *lane, uint32_t body, uint64_t iterations)
{
    struct lane_execution *more = add_executions(lane->log, 1);

    if (more)
        *more = (struct lane_execution){.iterations = iterations, .body = body};
    return more != NULL;
}

/* ---- playing, into series ---- */

/* Ops that a target gets again and again. */
struct part {
    const struct lane_op *ops; /* of the log */
    uint32_t target;
    uint32_t first, length; /* so many from the first one on, or (0) it and those that follow it */
    uint64_t step, times;
};

static bool put_part(struct lane *lane, const struct part *part, uint64_t by);

static bool put_op(struct lane *lane, const struct part *part, uint32_t at, uint64_t by)
{
    const struct lane_op *op = &part->ops[at];

    if (op->length)
        return put_part(lane,
                        &(struct part){.ops = part->ops,
                                       .target = part->target,
                                       .first = at + 1,
                                       .length = op->length,
                                       .step = op->stride,
                                       .times = op->count},
                        by);
    if (op->count)
        return put_numbers(lane, part->target, op->first + by, op->stride, op->count);
    series_end_row(series_of(lane, part->target));
    return true;
}

static bool put_once(struct lane *lane, const struct part *part, uint64_t by)
{
    uint32_t at = part->first;

    for (; part->length && at < part->first + part->length; at += 1 + part->ops[at].length)
        if (!put_op(lane, part, at, by))
            return false;
    for (; !part->length && at != PSNAP_NONE; at = part->ops[at].next)
        if (!put_op(lane, part, at, by))
            return false;
    return true;
}

/* All numbers are `by` further than the ops have them. */
static bool put_part(struct lane *lane, const struct part *part, uint64_t by)
{
    struct series *series = series_of(lane, part->target);
    struct series_mark mark;

    for (uint64_t i = 0; i < part->times; i++) {
        uint64_t more = part->times - i - 1, numbers;
        if (more)
            series_mark(series, &mark);
        if (!put_once(lane, part, by + i * part->step))
            return false;
        numbers = more ? series_repeats(series, &mark, part->step) : 0;
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

/* Executions of bodies, again. */
static bool execute(struct lane *lane, const struct lane_execution *executions, uint32_t count,
                    uint64_t times)
{
    for (uint64_t i = 0; i < times; i++)
        for (uint32_t k = 0; k < count; k += 1 + executions[k].length)
            if (executions[k].length ? !execute(lane, executions + k + 1, executions[k].length,
                                                executions[k].iterations)
                                     : !lane_execute_again(lane, &executions[k]))
                return false;
    return true;
}

/* ---- playing, into the log around ---- */

/* What a target has of a log, so often, becomes ops of another log. */
static bool add_part(struct lane_log *log, struct lane_track *track, const struct part *part)
{
    uint32_t length = 0, at, to;

    for (at = part->first; at != PSNAP_NONE; at = part->ops[at].next)
        length += 1 + part->ops[at].length;
    to = add_ops(log, track, part->target, 1 + length);
    if (to == PSNAP_NONE)
        return false;
    log->ops[to] = (struct lane_op){
        .stride = part->step, .count = part->times, .length = length, .next = PSNAP_NONE};
    for (at = part->first, to++; at != PSNAP_NONE; at = part->ops[at].next) {
        memcpy(&log->ops[to], &part->ops[at], (1 + part->ops[at].length) * sizeof *log->ops);
        to += 1 + part->ops[at].length;
    }
    return true;
}

/* The log around gets executions that have come once, and so often more. */
static bool add_again(struct lane_log *log, const struct lane_log *from, uint64_t times)
{
    const uint32_t count = from->execution_count;
    struct lane_execution *more = count ? add_executions(log, 1 + count) : NULL;

    if (!more)
        return !count;
    *more = (struct lane_execution){.iterations = 1 + times, .length = count};
    memcpy(more + 1, from->executions, count * sizeof *more);
    return true;
}

/* A part of the innermost log that was goes to the one around, or to its series. */
static bool play(struct lane *lane, const struct part *part)
{
    const struct lane_op *op = &part->ops[part->first];
    const bool is_one = op->count == 1, goes_on = part->step == op->count * op->stride;
    struct lane_track *track;
    bool is_done;
    struct lane_log *log;

    if (op->next == PSNAP_NONE && !op->length && op->count && (is_one || goes_on))
        return lane_log_put(lane, part->target, op->first, is_one ? part->step : op->stride,
                            op->count * part->times);
    log = log_for(lane, part->target, &track, &is_done);
    return is_done && (log ? add_part(log, track, part) : put_part(lane, part, 0));
}

bool lane_log_play(struct lane *lane, uint64_t times)
{
    const struct lane_log *from = lane->log;

    lane->log = from->outer;
    for (uint32_t i = 0; i < from->target_count; i++) {
        const uint32_t target = from->targets[i];
        const struct lane_track *track = track_of(from, target);
        const struct part part = {from->ops, target, track->first, 0, track->step, times};
        if (!play(lane, &part))
            return false;
        if (target & LANE_SWEEP)
            lane->sweeps[target & ~LANE_SWEEP].end += (times - 1) * track->step;
        else
            lane->sites[target].latest += (times - 1) * track->step;
    }
    return (!lane->log || add_again(lane->log, from, times - 1)) &&
           execute(lane, from->executions, from->execution_count, times - 1);
}

bool lane_log_end(struct lane *lane)
{
    while (lane->log)
        if (!lane_log_play(lane, 1))
            return false;
    return true;
}
