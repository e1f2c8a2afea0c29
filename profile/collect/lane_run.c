/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs of a thread to iterations and executions (lane.h). The iterations of a run are of
 * one body, but for its ends: what comes first may belong to an iteration that is under way, what
 * comes last to one that goes on. These are put access by access.
 */
#include "profile/collect/lane.h"

/* Accesses [from, to) of a repetition. */
static bool put_slice(struct lane *lane, const struct psnap_run *run, uint64_t i, size_t from,
                      size_t to)
{
    struct psnap_access block[LANE_WIDTH_MAX];
    size_t n = 0;

    for (size_t k = from; k < to; k++) {
        block[n] = run->first[k];
        block[n++].address = psnap_run_address(run, i, k);
        if (n < LANE_WIDTH_MAX && k + 1 < to)
            continue;
        if (!lane_put(lane, block, n))
            return false;
        n = 0;
    }
    return true;
}

/* Whether one more body, or the one that is under way as well, may part a loop. */
static bool may_be_parted(const struct lane *lane, uint32_t loop)
{
    return !lane->loops[loop].is_parted && lane->loops[loop].body_count + 1 >= LANE_BODIES_MAX;
}

/* How a run's repetitions consist of iterations. */
struct cut {
    uint32_t turn;  /* where in a repetition an iteration begins: a run may begin within one */
    uint32_t turns; /* iterations in a repetition, all of one body */
};

/* False when there are iterations of several bodies in a repetition. */
static bool find_cut(const struct lane *lane, const struct psnap_run *run, struct cut *cut)
{
    uint32_t begins = 0, width = 0;

    if (run->width > LANE_WIDTH_MAX)
        return false;
    *cut = (struct cut){0, 1};
    for (uint32_t k = 1; k < run->width; k++)
        if (!lane_follows(lane, run->first[k - 1].ref, run->first[k].ref)) {
            width = begins++ ? width : k;
            if (k != begins * width)
                return false;
        }
    if (!begins)
        return true;
    cut->turn = width;
    if (begins == 1 && lane_follows(lane, run->first[run->width - 1].ref, run->first[0].ref))
        return true;
    *cut = (struct cut){0, begins + 1};
    if (may_be_parted(lane, lane->program->refs[run->first->ref].loop))
        return false;
    for (size_t k = width; k < run->width; k++)
        if (lane_key(&run->first[k]) != lane_key(&run->first[k - width]))
            return false;
    return run->width == cut->turns * width;
}

/* How many repetitions of a run there are until a site is looked at again. */
static uint64_t until_look(const struct lane *lane, const struct lane_run *run, uint64_t count)
{
    for (uint32_t i = 0; i < run->width / run->turns; i++) {
        const uint64_t left = lane_until_look(&lane->sites[run->sites[i]]);
        if (left < count * run->turns)
            count = run->turns == 1 ? left : left / run->turns;
    }
    return count;
}

/* One repetition, access by access. */
static bool touch_repetition(struct lane *lane, const struct lane_run *run)
{
    uint64_t addresses[LANE_WIDTH_MAX];

    for (uint32_t i = 0; i < run->width; i++)
        addresses[i] = run_column_address(&run->columns[i], 0);
    return lane_touch(lane, run->sites, run->width, addresses, lane->now);
}

/* Repetitions of a run from `head` on, without the accesses before its first whole iteration and
 * with as many behind them: iterations of one body. */
static bool put_repetitions(struct lane *lane, const struct psnap_run *run, struct cut cut,
                            uint64_t head, uint64_t count)
{
    const uint32_t width = (uint32_t)run->width, once = width / cut.turns;
    struct run_column columns[LANE_WIDTH_MAX];
    uint32_t node = 0, body, sites[LANE_WIDTH_MAX];
    struct lane_run part = {sites, columns, width, cut.turns, 0};

    if (!lane_end_iteration(lane) || !lane_empty_queue(lane))
        return false;
    for (uint32_t i = 0; i < width; i++) {
        const bool is_whole = cut.turn + i < width; /* within the repetition */
        const uint32_t k = cut.turn + i - (is_whole ? 0 : width);
        columns[i] = run_column(run, k, head + !is_whole);
        sites[i] = i < once ? lane_site_of(lane, &run->first[k]) : sites[i - once];
        if (sites[i] == PSNAP_NONE)
            return false;
        if (i < once &&
            !(node = i ? lane_go_on(lane, node, sites[i]) : lane_begin_with(lane, sites[i])))
            return false;
    }
    body = lane->nodes[node].body;
    if (body == PSNAP_NONE)
        body = lane_add_body(lane, node, once);
    if (body == PSNAP_NONE || !lane_execute(lane, body, count * cut.turns))
        return false;
    for (; count; count -= part.count) {
        part.count = lane->log ? count : until_look(lane, &part, count);
        if (part.count ? !sweep_put_run(lane, &part) || !lane_touch_run(lane, &part, lane->now)
                       : !touch_repetition(lane, &part))
            return false;
        part.count += !part.count;
        lane->now += part.count * width;
        for (uint32_t i = 0; i < width; i++)
            run_column_skip(&columns[i], part.count);
    }
    return true;
}

bool lane_put_run(struct lane *lane, const struct psnap_run *run)
{
    const struct psnap_access *last = &run->first[run->width - 1];
    uint64_t head, count, tail;
    struct cut cut;

    for (size_t k = 0; k < run->width; k++)
        if (run->first[k].ref >= lane->known_refs && !lane_learn_refs(lane))
            return false;
    if (!find_cut(lane, run, &cut)) {
        for (uint64_t i = 0; i < run->count; i++)
            if (!put_slice(lane, run, i, 0, run->width))
                return false;
        return true;
    }
    /* What comes first may belong to an iteration that is under way, what comes last to one that
     * goes on. */
    head = cut.turn || lane_follows_iteration(lane, &run->first[0]);
    if (head && !put_slice(lane, run, 0, 0, cut.turn ? cut.turn : run->width))
        return false;
    count = run->count - head;
    tail = count && !cut.turn &&
           lane->loops[lane->program->refs[last->ref].loop].last_ref != last->ref;
    if (count > tail && !put_repetitions(lane, run, cut, cut.turn ? 0 : head, count - tail))
        return false;
    return !(cut.turn || tail) || put_slice(lane, run, run->count - 1, cut.turn, run->width);
}
