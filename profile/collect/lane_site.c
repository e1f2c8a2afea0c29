/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * References of a thread by size and kind (sites), the tree of iterations that they make, bodies,
 * and the series of their addresses and trip counts (lane.h).
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

/* Tells whether an access may be of the same iteration as one of reference `ref` just before it. */
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

/* ---- trip counts ---- */

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

/* ---- series of addresses ---- */

void lane_look(struct lane *lane, struct lane_site *site, struct lane_history *history)
{
    const bool was_irregular = site->is_irregular;
    const bool is_hopeless = series_is_hopeless(&history->addresses);

    if (is_hopeless && lane->has_reuse)
        series_give_up(&history->addresses);
    site->is_series = !history->addresses.is_none;
    lane->wants_reuse |= is_hopeless || history->addresses.is_over;
    site->is_irregular = !series_is_plain(&history->addresses);
    if (was_irregular != site->is_irregular) {
        if (history->turn_count < LANE_TURNS)
            history->turns[history->turn_count] = site->length;
        history->turn_count++;
    }
    if (was_irregular && !site->is_irregular) {
        free(history->depend);
        history->depend = NULL;
    }
}

/* `due` may be too low afterwards, and is corrected at the next access. */
bool lane_put_numbers(struct lane *lane, uint32_t site, uint64_t first, uint64_t stride,
                      uint64_t count)
{
    struct lane_site *of = &lane->sites[site];
    struct lane_history *history = &lane->histories[site];

    while (count) {
        const uint64_t left = lane_until_look(of), n = left < count ? left : count;
        if (!series_put(&history->addresses, first, stride, n))
            return false;
        of->length += n;
        if (n == left)
            lane_look(lane, of, history);
        first += n * stride;
        count -= n;
    }
    return true;
}

/* The series has no other terms when it is looked at: behind a look at PLAIN accesses that changes
 * nothing no other one does. */
void lane_skip_numbers(struct lane *lane, uint32_t site, uint64_t count)
{
    struct lane_site *of = &lane->sites[site];
    struct lane_history *history = &lane->histories[site];
    const uint64_t end = of->length + count, length = history->addresses.length;
    bool is_settled = false;

    while (!is_settled && lane_until_look(of) <= end - of->length) {
        const bool was_irregular = of->is_irregular;
        of->length += lane_until_look(of);
        history->addresses.length = of->length;
        lane_look(lane, of, history);
        is_settled = of->length >= LANE_LOOK_PLAIN && of->is_irregular == was_irregular;
    }
    history->addresses.length = length;
    of->length = end;
}
