/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Accesses of a thread to iterations and executions (lane.h).
 */
#include "profile/collect/lane.h"

#include <stdlib.h>
#include <string.h>

#include "formats/base/room.h"

/* ---- executions ---- */

/* Looks at the addresses of all that came before the iteration under way. */
bool lane_empty_queue(struct lane *lane)
{
    const uint32_t count = lane->begun, left = lane->queued - count;

    if (!lane_touch(lane, lane->sites_queued, count, lane->addresses_queued, lane->now))
        return false;
    lane->now += count;
    lane->queued = left;
    lane->begun = 0;
    memmove(lane->sites_queued, lane->sites_queued + count, left * sizeof *lane->sites_queued);
    memmove(lane->addresses_queued, lane->addresses_queued + count,
            left * sizeof *lane->addresses_queued);
    return true;
}

/* The series of a body learn that a row of addresses ends with the execution: the next row may
 * begin elsewhere. */
static bool end_rows(struct lane *lane, struct lane_body *body)
{
    if (!lane_empty_queue(lane))
        return false;
    for (uint32_t k = 0; k < body->row_count;) {
        if (!lane->sites[body->rows[k]].is_series)
            body->rows[k] = body->rows[--body->row_count];
        else if (!lane_log_end_row(lane, body->rows[k++]))
            return false;
    }
    return true;
}

/* The body that was executing is done. */
static bool end_execution(struct lane *lane)
{
    const uint32_t index = lane->pending;
    const uint64_t iterations = lane->iterations;
    struct lane_body *body;

    if (index == PSNAP_NONE)
        return true;
    lane->pending = PSNAP_NONE;
    lane->iterations = 0;
    body = &lane->bodies[index];
    body->iterations += iterations;
    if (!body->executions++) {
        if (!lane_log_end(lane) || !lane_empty_queue(lane) || !sweep_join(lane, body, iterations) ||
            !unit_join(lane, index))
            return false;
        body = &lane->bodies[index];
    }
    if ((iterations > 1 && body->row_count && !end_rows(lane, body)) ||
        (lane->log && !lane_log_execution(lane, index, iterations)))
        return false;
    return unit_put(lane, index, iterations);
}

bool lane_execute(struct lane *lane, uint32_t body, uint64_t iterations)
{
    if (body != lane->pending) {
        if (!end_execution(lane))
            return false;
        lane->pending = body;
    }
    lane->iterations += iterations;
    return true;
}

/* The iteration under way is whole. */
bool lane_end_iteration(struct lane *lane)
{
    uint32_t body = lane->nodes[lane->node].body;

    if (!lane->node)
        return true;
    if (body == PSNAP_NONE &&
        (body = lane_add_body(lane, lane->node, lane->queued - lane->begun)) == PSNAP_NONE)
        return false;
    if (!lane_execute(lane, body, 1))
        return false;
    lane->begun = lane->queued;
    lane->node = 0;
    return true;
}

/* An access that is not as the last one was after the same ones. */
static bool put_other(struct lane *lane, const struct psnap_access *access)
{
    const uint32_t site = lane_site_of(lane, access), before = lane->node;
    uint32_t node;

    if (site == PSNAP_NONE || (lane->queued == LANE_QUEUE && !lane_empty_queue(lane)))
        return false;
    if (lane_follows_iteration(lane, access)) {
        node = lane_go_on(lane, before, site);
    } else {
        if (!lane_end_iteration(lane))
            return false;
        node = lane_begin_with(lane, site);
        lane->nodes[before].next = before ? node : 0;
    }
    lane->node = node;
    lane->sites_queued[lane->queued] = site;
    lane->addresses_queued[lane->queued++] = access->address;
    return node != 0;
}

/* Accesses that are all as the last ones were after the same ones, as far as there is room for
 * them: how many of `n`. *is_done gets false when out of memory. */
static size_t put_known(struct lane *lane, const struct psnap_access *block, size_t n,
                        bool *is_done)
{
    const struct lane_node *nodes = lane->nodes, *node = &nodes[lane->node];
    uint32_t queued = lane->queued;
    size_t i = 0;

    for (; i < n && queued < LANE_QUEUE; i++) {
        const uint64_t key = lane_key(&block[i]);
        const struct lane_node *to = &nodes[node->child];
        if (to->key != key) {
            to = &nodes[node->next];
            if (to->key != key)
                break;
            lane->node = (uint32_t)(node - nodes);
            lane->queued = queued;
            *is_done = lane_end_iteration(lane);
            if (!*is_done)
                break;
            queued = lane->queued;
        }
        node = to;
        lane->sites_queued[queued] = node->site;
        lane->addresses_queued[queued++] = block[i].address;
    }
    lane->queued = queued;
    lane->node = (uint32_t)(node - nodes);
    return i;
}

bool lane_put(struct lane *lane, const struct psnap_access *block, size_t n)
{
    bool is_done = true;

    for (size_t i = 0; i < n && is_done;) {
        i += put_known(lane, block + i, n - i, &is_done);
        if (is_done && i < n) {
            is_done = put_other(lane, &block[i]);
            i++;
        }
    }
    return is_done;
}

/* ---- lanes ---- */

bool lane_flush(struct lane *lane)
{
    return lane_end_iteration(lane) && lane_empty_queue(lane) && end_execution(lane) &&
           unit_end(lane);
}

void lane_history_release(struct lane_history *history)
{
    series_release(&history->addresses);
    reuse_collector_release(&history->reuse);
    free(history->depend);
}

void lane_body_release(struct lane_body *body)
{
    series_release(&body->trips);
    trips_release(&body->histogram);
    free(body->sites);
    free(body->unit);
}

void lane_free(struct lane *lane)
{
    if (!lane)
        return;
    order_release(&lane->order);
    for (uint32_t i = 0; i < lane->site_count; i++)
        lane_history_release(&lane->histories[i]);
    for (uint32_t i = 0; i < lane->sweep_count; i++)
        series_release(&lane->sweeps[i].bytes);
    for (uint32_t i = 0; i < lane->body_count; i++)
        lane_body_release(&lane->bodies[i]);
    sample_release(&lane->sample);
    objects_release(&lane->objects);
    for (uint32_t i = 0; i < PSNAP_NEST_LEVELS; i++)
        lane_log_release(&lane->logs[i]);
    nest_patterns_free(lane->patterns);
    free(lane->sites);
    free(lane->histories);
    free(lane->nodes);
    free(lane->bodies);
    free(lane->loops);
    free(lane->sweeps);
    free(lane->site_of_ref);
    free(lane);
}

struct lane *lane_new(const struct psnap_program *program, bool has_reuse)
{
    struct lane *lane = calloc(1, sizeof *lane);

    if (!lane)
        return NULL;
    lane->program = program;
    lane->has_reuse = has_reuse;
    lane->pending = lane->unit = PSNAP_NONE;
    lane->patterns = nest_patterns_new();
    lane->nodes = psnap_with_room(NULL, &lane->node_room, 1, sizeof *lane->nodes);
    for (int i = 0; i < DEPEND_RECENT; i++)
        lane->recent.ring[i].site = PSNAP_NONE;
    if (lane->patterns && lane->nodes && sample_init(&lane->sample)) {
        lane->nodes[lane->node_count++] = (struct lane_node){.key = UINT64_MAX};
        order_init(&lane->order, lane->patterns);
        lane->order.keeps = !has_reuse;
        return lane;
    }
    nest_patterns_free(lane->patterns);
    free(lane->nodes);
    free(lane);
    return NULL;
}
