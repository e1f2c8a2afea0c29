/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Accesses of a thread to iterations and executions (lane.h).
 */
#include "profile/collect/lane.h"

#include <stdlib.h>
#include <string.h>

#include "formats/base/room.h"

enum {
    BODIES_MAX = 48, /* of a loop, before its basic blocks are told apart */
    MOST = 20000,    /* values of all nests in the end, parted by their accesses, */
    FEW = 48,        /* and of each so many more, */
    FEW_OF_MANY = 12 /* when there are many */
};

/* ---- references, iterations ---- */

/* Learns of references and loops that the program has by now. */
static bool learn_refs(struct lane *lane)
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
    struct lane_site *more =
        psnap_with_room(lane->sites, &lane->site_room, lane->site_count + (size_t)1, sizeof *more);

    if (!more)
        return PSNAP_NONE;
    lane->sites = more;
    more[lane->site_count] = (struct lane_site){.ref = access->ref,
                                                .next = lane->site_of_ref[access->ref],
                                                .root = PSNAP_NONE,
                                                .size = access->size,
                                                .kind = access->kind,
                                                .is_irregular = true};
    series_init(&more[lane->site_count].addresses, lane->patterns);
    lane->site_of_ref[access->ref] = lane->site_count;
    return lane->site_count++;
}

/* PSNAP_NONE: out of memory */
static inline uint32_t site_of(struct lane *lane, const struct psnap_access *access)
{
    uint32_t at;

    if (access->ref >= lane->known_refs && !learn_refs(lane))
        return PSNAP_NONE;
    for (at = lane->site_of_ref[access->ref]; at != PSNAP_NONE; at = lane->sites[at].next)
        if (lane->sites[at].size == access->size && lane->sites[at].kind == access->kind)
            return at;
    return add_site(lane, access);
}

static uint32_t add_node(struct lane *lane, uint32_t site, uint32_t parent)
{
    struct lane_node *more =
        psnap_with_room(lane->nodes, &lane->node_room, lane->node_count + (size_t)1, sizeof *more);

    if (!more)
        return PSNAP_NONE;
    lane->nodes = more;
    more[lane->node_count] = (struct lane_node){.site = site,
                                                .parent = parent,
                                                .child = PSNAP_NONE,
                                                .sibling = PSNAP_NONE,
                                                .body = PSNAP_NONE};
    return lane->node_count++;
}

/* The node of an iteration that goes on from `node` (PSNAP_NONE: that begins) with a site. */
static inline uint32_t go_on(struct lane *lane, uint32_t node, uint32_t site)
{
    uint32_t at, before = PSNAP_NONE;

    if (node == PSNAP_NONE) {
        if (lane->sites[site].root == PSNAP_NONE)
            lane->sites[site].root = add_node(lane, site, PSNAP_NONE);
        return lane->sites[site].root;
    }
    for (at = lane->nodes[node].child; at != PSNAP_NONE; at = lane->nodes[at].sibling) {
        if (lane->nodes[at].site == site)
            break;
        before = at;
    }
    if (at == PSNAP_NONE) {
        at = add_node(lane, site, node);
        if (at == PSNAP_NONE)
            return PSNAP_NONE;
    } else if (before == PSNAP_NONE) {
        return at;
    } else {
        lane->nodes[before].sibling = lane->nodes[at].sibling;
    }
    lane->nodes[at].sibling = lane->nodes[node].child;
    lane->nodes[node].child = at;
    return at;
}

/* Whether an access may be of the same iteration as one of reference `ref` just before it. */
static inline bool follows(const struct lane *lane, uint32_t ref, const struct psnap_access *next)
{
    const struct psnap_ref *refs = lane->program->refs;

    return next->ref > ref && refs[next->ref].loop == refs[ref].loop &&
           (!lane->loops[refs[ref].loop].is_parted || refs[next->ref].block == refs[ref].block);
}

static inline bool follows_iteration(const struct lane *lane, const struct psnap_access *next)
{
    return lane->width && lane->width < LANE_WIDTH_MAX &&
           follows(lane, lane->sites[lane->nodes[lane->node].site].ref, next);
}

/* The body of iterations that end at a node; PSNAP_NONE: out of memory. */
static uint32_t body_at(struct lane *lane, uint32_t node, uint32_t width)
{
    struct lane_body *more, *body;
    struct lane_loop *loop;

    if (lane->nodes[node].body != PSNAP_NONE)
        return lane->nodes[node].body;
    more =
        psnap_with_room(lane->bodies, &lane->body_room, lane->body_count + (size_t)1, sizeof *more);
    if (!more)
        return PSNAP_NONE;
    lane->bodies = more;
    body = &more[lane->body_count];
    *body = (struct lane_body){.width = width, .sites = malloc(width * sizeof *body->sites)};
    if (!body->sites)
        return PSNAP_NONE;
    series_init(&body->trips, lane->patterns);
    for (uint32_t at = node, k = width; k; at = lane->nodes[at].parent)
        body->sites[--k] = lane->nodes[at].site;
    body->loop = lane->program->refs[lane->sites[body->sites[0]].ref].loop;
    loop = &lane->loops[body->loop];
    loop->is_parted |= ++loop->body_count > BODIES_MAX;
    lane->nodes[node].body = lane->body_count;
    return lane->body_count++;
}

/* ---- executions ---- */

/* Counts executions of the same number of iterations. */
static bool flush_trips(struct lane_body *body)
{
    const uint64_t times = body->times;

    body->times = 0;
    return !times || (series_put(&body->trips, body->same, 0, times) &&
                      trips_add(&body->histogram, body->same, times));
}

/* The body that was executing is done. */
static bool end_execution(struct lane *lane)
{
    struct lane_body *body;

    if (lane->pending == PSNAP_NONE)
        return true;
    body = &lane->bodies[lane->pending];
    body->executions++;
    body->iterations += lane->iterations;
    if (body->times && body->same != lane->iterations && !flush_trips(body))
        return false;
    body->same = lane->iterations;
    body->times++;
    for (uint32_t k = 0; k < body->width; k++)
        series_end_row(&lane->sites[body->sites[k]].addresses);
    if (!order_put(&lane->order, lane->pending))
        return false;
    lane->pending = PSNAP_NONE;
    lane->iterations = 0;
    return true;
}

static inline bool execute(struct lane *lane, uint32_t body, uint64_t iterations)
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
static bool end_iteration(struct lane *lane)
{
    const uint32_t width = lane->width;
    const struct lane_body *of;
    uint32_t body;

    if (!width)
        return true;
    lane->width = 0;
    body = body_at(lane, lane->node, width);
    if (body == PSNAP_NONE || !execute(lane, body, 1))
        return false;
    of = &lane->bodies[body];
    for (uint32_t k = 0; k < width; k++)
        if (!lane_touch(lane, of->sites[k], lane->addresses[k], lane->now + k))
            return false;
    lane->now += width;
    return true;
}

static inline bool put_one(struct lane *lane, const struct psnap_access *access)
{
    const uint32_t site = site_of(lane, access);

    if (site == PSNAP_NONE || (!follows_iteration(lane, access) && !end_iteration(lane)))
        return false;
    lane->node = go_on(lane, lane->width ? lane->node : PSNAP_NONE, site);
    lane->addresses[lane->width++] = access->address;
    return lane->node != PSNAP_NONE;
}

bool lane_put(struct lane *lane, const struct psnap_access *block, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!put_one(lane, &block[i]))
            return false;
    return true;
}

/* ---- runs ---- */

/* Accesses [from, to) of a repetition. */
static bool put_slice(struct lane *lane, const struct psnap_run *run, uint64_t i, size_t from,
                      size_t to)
{
    for (size_t k = from; k < to; k++) {
        struct psnap_access access = run->first[k];
        access.address = psnap_run_address(run, i, k);
        if (!put_one(lane, &access))
            return false;
    }
    return true;
}

/* Where in a run's repetition an iteration begins: a run may begin within one. False when there are
 * several iterations in a repetition. */
static bool find_turn(const struct lane *lane, const struct psnap_run *run, size_t *turn)
{
    *turn = 0;
    if (run->width > LANE_WIDTH_MAX)
        return false;
    for (size_t k = 1; k < run->width; k++) {
        if (follows(lane, run->first[k - 1].ref, &run->first[k]))
            continue;
        if (*turn)
            return false;
        *turn = k;
    }
    return !*turn || follows(lane, run->first[run->width - 1].ref, &run->first[0]);
}

/* Repetitions of a run from `head` on, without its first `turn` accesses and with as many behind
 * them: iterations of one body. */
static bool put_repetitions(struct lane *lane, const struct psnap_run *run, size_t turn,
                            uint64_t head, uint64_t count)
{
    const uint32_t width = (uint32_t)run->width;
    uint32_t node = PSNAP_NONE, body, order[LANE_WIDTH_MAX];
    const uint32_t *sites;

    if (!end_iteration(lane))
        return false;
    for (uint32_t i = 0; i < width; i++) {
        const uint32_t site = site_of(lane, &run->first[(turn + i) % width]);
        order[i] = (uint32_t)((turn + i) % width);
        node = site == PSNAP_NONE ? PSNAP_NONE : go_on(lane, node, site);
        if (node == PSNAP_NONE)
            return false;
    }
    body = body_at(lane, node, width);
    if (body == PSNAP_NONE || !execute(lane, body, count))
        return false;
    sites = lane->bodies[body].sites;
    for (uint64_t done = 0, batch; done < count; done += batch) {
        bool is_irregular = false; /* something is: then access by access, in their order */
        batch = count - done;
        for (uint32_t i = 0; i < width; i++) {
            const uint64_t left = lane_until_look(&lane->sites[sites[i]]);
            is_irregular |= lane->sites[sites[i]].is_irregular ||
                            (run->columns && run->columns[order[i]].words);
            batch = left < batch ? left : batch;
        }
        for (uint32_t i = 0; i < width && !is_irregular; i++) {
            const uint32_t k = order[i];
            if (!lane_touch_run(lane, sites[i], psnap_run_address(run, head + done + (k < turn), k),
                                (uint64_t)run->strides[k], batch, lane->now + i, width))
                return false;
        }
        for (uint64_t b = 0; b < batch && is_irregular; b++)
            for (uint32_t i = 0; i < width; i++) {
                const uint32_t k = order[i];
                if (!lane_touch(lane, sites[i],
                                psnap_run_address(run, head + done + b + (k < turn), k),
                                lane->now + b * width + i))
                    return false;
            }
        lane->now += batch * width;
    }
    return true;
}

bool lane_put_run(struct lane *lane, const struct psnap_run *run)
{
    const struct psnap_access *last = &run->first[run->width - 1];
    uint64_t head, count, tail;
    size_t turn;

    for (size_t k = 0; k < run->width; k++)
        if (run->first[k].ref >= lane->known_refs && !learn_refs(lane))
            return false;
    if (!find_turn(lane, run, &turn)) {
        for (uint64_t i = 0; i < run->count; i++)
            if (!put_slice(lane, run, i, 0, run->width))
                return false;
        return true;
    }
    /* What comes first may belong to an iteration that is under way, what comes last to one that
     * goes on. */
    head = turn || follows_iteration(lane, &run->first[0]);
    if (head && !put_slice(lane, run, 0, 0, turn ? turn : run->width))
        return false;
    count = run->count - head;
    tail = count && !turn && lane->loops[lane->program->refs[last->ref].loop].last_ref != last->ref;
    if (count > tail && !put_repetitions(lane, run, turn, turn ? 0 : head, count - tail))
        return false;
    return !(turn || tail) || put_slice(lane, run, run->count - 1, turn, run->width);
}

/* ---- lanes ---- */

size_t lane_budget(const struct lane *lane, uint64_t accesses, size_t few, size_t most)
{
    return few + (size_t)((double)accesses / (double)lane->now * (double)most);
}

/* Values that even a nest of next to no accesses may have: more where there are few in all. */
static size_t few_of(const struct lane *lane)
{
    size_t values = 0;

    for (uint32_t i = 0; i < lane->site_count; i++)
        values += lane->sites[i].addresses.fold.terms.value_count;
    return values <= MOST / 2 ? FEW : FEW_OF_MANY;
}

/* The trip counts of bodies. Where they are drawn, a nest that has values for every execution tells
 * nothing: rows[i] is how many executions of such bodies reference i is in, if in no others. False:
 * out of memory. */
static bool end_bodies(struct lane *lane, size_t few, uint64_t *rows)
{
    for (uint32_t i = 0; i < lane->body_count; i++) {
        struct lane_body *body = &lane->bodies[i];
        const uint64_t accesses = body->iterations * body->width;
        if (!flush_trips(body) || !series_end(&body->trips, lane_budget(lane, accesses, few, MOST)))
            return false;
        for (uint32_t k = 0; k < body->width; k++) {
            uint64_t *row = &rows[body->sites[k]];
            *row = body->trips.is_none && *row < UINT64_MAX ? *row + body->executions : UINT64_MAX;
        }
    }
    return true;
}

bool lane_end(struct lane *lane)
{
    bool is_done = end_iteration(lane) && end_execution(lane) && order_end(&lane->order) &&
                   lane_lower_rare(lane);
    uint64_t *rows = calloc(lane->site_count + (size_t)1, sizeof *rows);
    const size_t few = few_of(lane);

    is_done = is_done && rows && end_bodies(lane, few, rows);
    for (uint32_t i = 0; is_done && i < lane->site_count; i++) {
        struct lane_site *site = &lane->sites[i];
        const uint64_t most_of_rows = rows[i] / 2 > FEW_OF_MANY ? rows[i] / 2 : FEW_OF_MANY;
        size_t most = lane_budget(lane, site->addresses.length, few, MOST);
        most = most < most_of_rows ? most : (size_t)most_of_rows;
        /* without reuse times it is a nest */
        is_done = series_end(&site->addresses, site->is_irregular ? most : SIZE_MAX);
    }
    free(rows);
    return is_done;
}

void lane_site_release(struct lane_site *site)
{
    series_release(&site->addresses);
    reuse_collector_release(&site->reuse);
    free(site->depend);
}

void lane_body_release(struct lane_body *body)
{
    series_release(&body->trips);
    trips_release(&body->histogram);
    free(body->sites);
}

void lane_free(struct lane *lane)
{
    if (!lane)
        return;
    order_release(&lane->order);
    for (uint32_t i = 0; i < lane->site_count; i++)
        lane_site_release(&lane->sites[i]);
    for (uint32_t i = 0; i < lane->body_count; i++)
        lane_body_release(&lane->bodies[i]);
    sample_release(&lane->sample);
    objects_release(&lane->objects);
    nest_patterns_free(lane->patterns);
    free(lane->sites);
    free(lane->nodes);
    free(lane->bodies);
    free(lane->loops);
    free(lane->site_of_ref);
    free(lane);
}

struct lane *lane_new(const struct psnap_program *program)
{
    struct lane *lane = calloc(1, sizeof *lane);

    if (!lane)
        return NULL;
    lane->program = program;
    lane->pending = PSNAP_NONE;
    lane->patterns = nest_patterns_new();
    for (int i = 0; i < DEPEND_RECENT; i++)
        lane->recent.ring[i].site = PSNAP_NONE;
    if (lane->patterns && sample_init(&lane->sample)) {
        order_init(&lane->order, lane->patterns);
        return lane;
    }
    nest_patterns_free(lane->patterns);
    free(lane);
    return NULL;
}
