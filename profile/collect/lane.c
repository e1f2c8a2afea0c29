/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Accesses of a thread to iterations and executions (lane.h).
 */
#include "profile/collect/lane.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "formats/base/room.h"

/* ---- references, iterations ---- */

/* Learns of references and loops that the program has by now. */
bool lane_learn_refs(struct lane *lane)
{
    const struct psnap_program *program = lane->program;
    uint32_t *site_of_ref = psnap_with_room(lane->site_of_ref, &lane->ref_room, program->ref_count,
                                            sizeof *site_of_ref);

    lane->site_of_ref = site_of_ref ? site_of_ref : lane->site_of_ref;
    if (!site_of_ref)
        return false;
    if (lane->loop_count < program->loop_count) {
        if (!psnap_resize(&lane->loops, program->loop_count, sizeof *lane->loops))
            return false;
        memset(&lane->loops[lane->loop_count], 0,
               (program->loop_count - lane->loop_count) * sizeof *lane->loops);
        lane->loop_count = program->loop_count;
    }
    for (; lane->known_refs < program->ref_count; lane->known_refs++) {
        site_of_ref[lane->known_refs] = PSNAP_NONE;
        lane->loops[program->refs[lane->known_refs].loop].last_ref = lane->known_refs;
    }
    return true;
}

static uint32_t add_site(struct lane *lane, const struct psnap_access *access)
{
    const size_t wanted = lane->site_count + (size_t)1;
    struct lane_site *more = psnap_with_room(lane->sites, &lane->site_room, wanted, sizeof *more);
    struct lane_history *histories =
        psnap_with_room(lane->histories, &lane->history_room, wanted, sizeof *histories);

    lane->sites = more ? more : lane->sites;
    lane->histories = histories ? histories : lane->histories;
    if (!more || !histories)
        return PSNAP_NONE;
    more[lane->site_count] = (struct lane_site){.ref = access->ref,
                                                .next = lane->site_of_ref[access->ref],
                                                .sweep = PSNAP_NONE,
                                                .size = access->size,
                                                .kind = access->kind,
                                                .is_irregular = true,
                                                .is_series = true};
    histories[lane->site_count] = (struct lane_history){0};
    series_init(&histories[lane->site_count].addresses, lane->patterns);
    histories[lane->site_count].addresses.keeps = !lane->has_reuse;
    lane->site_of_ref[access->ref] = lane->site_count;
    return lane->site_count++;
}

/* PSNAP_NONE: out of memory */
uint32_t lane_site_of(struct lane *lane, const struct psnap_access *access)
{
    uint32_t at;

    if (access->ref >= lane->known_refs && !lane_learn_refs(lane))
        return PSNAP_NONE;
    for (at = lane->site_of_ref[access->ref]; at != PSNAP_NONE; at = lane->sites[at].next)
        if (lane->sites[at].size == access->size && lane->sites[at].kind == access->kind)
            return at;
    return add_site(lane, access);
}

/* 0: out of memory */
static uint32_t add_node(struct lane *lane, uint32_t site, uint32_t parent)
{
    struct lane_node *more =
        psnap_with_room(lane->nodes, &lane->node_room, lane->node_count + (size_t)1, sizeof *more);
    const struct lane_site *of = &lane->sites[site];

    if (!more)
        return 0;
    lane->nodes = more;
    more[lane->node_count] = (struct lane_node){
        .key = lane_key(&(struct psnap_access){.ref = of->ref, .size = of->size, .kind = of->kind}),
        .site = site,
        .parent = parent,
        .body = PSNAP_NONE};
    return lane->node_count++;
}

/* The node of iterations that begin with a site; 0: out of memory. */
uint32_t lane_begin_with(struct lane *lane, uint32_t site)
{
    if (!lane->sites[site].root)
        lane->sites[site].root = add_node(lane, site, 0);
    return lane->sites[site].root;
}

/* The node of an iteration that goes on from `node` with a site; 0: out of memory. */
uint32_t lane_go_on(struct lane *lane, uint32_t node, uint32_t site)
{
    uint32_t at, before = 0;

    for (at = lane->nodes[node].child; at; at = lane->nodes[at].sibling) {
        if (lane->nodes[at].site == site)
            break;
        before = at;
    }
    if (!at && !(at = add_node(lane, site, node)))
        return 0;
    if (at == lane->nodes[node].child)
        return at;
    if (before)
        lane->nodes[before].sibling = lane->nodes[at].sibling;
    lane->nodes[at].sibling = lane->nodes[node].child;
    lane->nodes[node].child = at;
    return at;
}

/* Whether an access may be of the same iteration as one of reference `ref` just before it. */
bool lane_follows(const struct lane *lane, uint32_t ref, uint32_t next)
{
    const struct psnap_ref *refs = lane->program->refs;

    return next > ref && refs[next].loop == refs[ref].loop &&
           (!lane->loops[refs[ref].loop].is_parted || refs[next].block == refs[ref].block);
}

static inline uint32_t ref_of(const struct lane *lane, uint32_t node)
{
    return lane->sites[lane->nodes[node].site].ref;
}

bool lane_follows_iteration(const struct lane *lane, const struct psnap_access *next)
{
    return lane->node && lane->queued - lane->begun < LANE_WIDTH_MAX &&
           lane_follows(lane, ref_of(lane, lane->node), next->ref);
}

/* An iteration of the loop is a basic block from now on: none goes on into another one. */
static void part_loop(struct lane *lane, uint32_t loop)
{
    lane->loops[loop].is_parted = true;
    for (uint32_t i = 1; i < lane->node_count; i++) {
        uint32_t *link = &lane->nodes[i].child;
        while (*link) {
            const uint32_t ref = ref_of(lane, i), child = *link;
            if (lane_follows(lane, ref, ref_of(lane, child)))
                link = &lane->nodes[child].sibling;
            else
                *link = lane->nodes[child].sibling;
        }
    }
}

/* The body of iterations that end at a node, which has none yet; PSNAP_NONE: out of memory. */
uint32_t lane_add_body(struct lane *lane, uint32_t node, uint32_t width)
{
    struct lane_body *more, *body;
    struct lane_loop *loop;

    more =
        psnap_with_room(lane->bodies, &lane->body_room, lane->body_count + (size_t)1, sizeof *more);
    if (!more)
        return PSNAP_NONE;
    lane->bodies = more;
    body = &more[lane->body_count];
    *body = (struct lane_body){
        .width = width, .sites = malloc(2 * width * sizeof *body->sites), .whole = PSNAP_NONE};
    if (!body->sites)
        return PSNAP_NONE;
    body->rows = body->sites + width;
    body->row_count = width;
    series_init(&body->trips, lane->patterns);
    body->trips.keeps = !lane->has_reuse;
    for (uint32_t at = node, k = width; k; at = lane->nodes[at].parent)
        body->sites[--k] = lane->nodes[at].site;
    memcpy(body->rows, body->sites, width * sizeof *body->rows);
    body->loop = lane->program->refs[lane->sites[body->sites[0]].ref].loop;
    loop = &lane->loops[body->loop];
    if (++loop->body_count > LANE_BODIES_MAX && !loop->is_parted)
        part_loop(lane, body->loop);
    lane->nodes[node].body = lane->body_count;
    return lane->body_count++;
}

/* ---- executions ---- */

uint64_t lane_source(const struct lane *lane, uint32_t loop)
{
    const struct psnap_loop *of = &lane->program->loops[loop];

    return strcmp(of->id, of->src_id) != 0 ? XXH3_64bits(of->src_id, strlen(of->src_id)) | 1 : 0;
}

bool lane_flush_trips(struct lane *lane, struct lane_body *body)
{
    const uint64_t times = body->times;

    body->times = 0;
    if (times && (!series_put(&body->trips, body->same, 0, times) ||
                  !trips_add(&body->histogram, body->same, times)))
        return false;
    lane->wants_reuse |= body->trips.is_over;
    return true;
}

bool lane_count_trips(struct lane *lane, uint32_t index, uint64_t trips, uint64_t times)
{
    struct lane_body *body = &lane->bodies[index];

    if (body->times && body->same != trips && !lane_flush_trips(lane, body))
        return false;
    body->same = trips;
    body->times += times;
    return true;
}

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

bool lane_execute_again(struct lane *lane, const struct lane_execution *execution)
{
    lane->bodies[execution->body].executions++;
    lane->bodies[execution->body].iterations += execution->iterations;
    return unit_put(lane, execution->body, execution->iterations);
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
