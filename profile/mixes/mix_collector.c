/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collecting a mix (mix.h): states in the order in which they come, and a hash table of the
 * transitions between their nodes.
 *
 * When there are MIX_EDGES_MAX kinds of transitions the rarer half of them, the older ones of
 * equally rare, is led through MIX_ANY: a transition from s to t becomes one from s to MIX_ANY and
 * one from there to t. One that comes again is counted anew. The same is done for good when a mix
 * is taken in fewer. Numbers into and out of each node stay as they were.
 *
 * Of each node the transition is found that comes in more than half of the cases (R. S. Boyer and
 * J S. Moore, "MJRTY - A fast majority vote algorithm", 1991), and how often it comes in a row.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/base/room.h"
#include "profile/mixes/mix_collect.h"

enum {
    TABLE_ROOM = 64, /* slots at first; a power of two */
    ROUNDS_TRIES = 1 << 12,
    WEIGHT_MAX = 1 << 20
};

/* ---- tables ---- */

static struct slot *find(const struct table *table, uint64_t key)
{
    const uint64_t mixed = key * UINT64_C(0x9e3779b97f4a7c15);
    size_t at = (size_t)(mixed ^ mixed >> 32) & (table->room - 1);

    while (table->slots[at].key && table->slots[at].key != key)
        at = (at + 1) & (table->room - 1);
    return &table->slots[at];
}

static bool rebuild(struct table *table, size_t room)
{
    struct table larger = {calloc(room, sizeof *larger.slots), table->count, room};

    if (!larger.slots)
        return false;
    for (size_t i = 0; i < table->room; i++)
        if (table->slots[i].key)
            *find(&larger, table->slots[i].key) = table->slots[i];
    free(table->slots);
    *table = larger;
    return true;
}

/* The key's number, 0 if it is new; NULL: out of memory. */
static uint64_t *number_of(struct table *table, uint64_t key)
{
    struct slot *slot = table->room ? find(table, key) : NULL;

    if (slot && slot->key)
        return &slot->number;
    if (2 * table->count >= table->room) {
        if (!rebuild(table, table->room ? 2 * table->room : TABLE_ROOM))
            return NULL;
        slot = find(table, key);
    }
    slot->key = key;
    table->count++;
    return &slot->number;
}

static uint64_t edge_key(uint32_t from, uint32_t to)
{
    return ((uint64_t)from << 32 | to) + 1;
}

static struct mix_link link_of(const struct slot *slot)
{
    return (struct mix_link){(uint32_t)((slot->key - 1) >> 32), (uint32_t)(slot->key - 1),
                             slot->number};
}

/* ---- fewer transitions ---- */

static int compare_rare(const void *a, const void *b)
{
    const struct mix_link *x = a, *y = b;

    if (x->times != y->times)
        return x->times < y->times ? -1 : 1;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    return x->to < y->to ? -1 : x->to > y->to;
}

/* Links, to `wanted` of them if that can be: the rarest go through MIX_ANY. `links` has room for
 * two more for each of the nodes. Returns how many there are. */
static uint32_t thin(struct mix_link *links, uint32_t count, uint32_t nodes, uint64_t *through,
                     uint32_t wanted)
{
    uint64_t *in = through, *out = through + nodes; /* of MIX_ANY, by the other node */
    uint32_t kept = 0, any = 0, done = 0, n = 0;

    memset(through, 0, 2 * (size_t)nodes * sizeof *through);
    for (uint32_t i = 0; i < count; i++) {
        const struct mix_link link = links[i];
        if (link.to == MIX_ANY) {
            in[link.from] = link.times;
            any++;
        } else if (link.from == MIX_ANY) {
            out[link.to] = link.times;
            any++;
        } else {
            links[kept++] = link;
        }
    }
    if (kept + any > wanted)
        qsort(links, kept, sizeof *links, compare_rare);
    for (; done < kept && kept - done + any > wanted; done++) {
        any += (in[links[done].from] ? 0 : 1u) + (out[links[done].to] ? 0 : 1u);
        in[links[done].from] += links[done].times;
        out[links[done].to] += links[done].times;
    }
    memmove(links, links + done, (kept - done) * sizeof *links);
    n = kept - done;
    for (uint32_t node = 0; node < nodes; node++) {
        if (in[node])
            links[n++] = (struct mix_link){node, MIX_ANY, in[node]};
        if (out[node])
            links[n++] = (struct mix_link){MIX_ANY, node, out[node]};
    }
    return n;
}

struct mix_link *mix_list_edges(const struct mix_collector *collector, uint32_t wanted,
                                uint32_t *count)
{
    const struct table *edges = &collector->edges;
    const size_t nodes = MIX_STATE + collector->state_count;
    struct mix_link *links = malloc((edges->count + 2 * nodes) * sizeof *links);
    uint64_t *through = malloc(2 * nodes * sizeof *through);
    uint32_t n = 0;

    if (links && through) {
        for (size_t i = 0; i < edges->room; i++)
            if (edges->slots[i].key)
                links[n++] = link_of(&edges->slots[i]);
        *count = thin(links, n, (uint32_t)nodes, through, wanted);
        free(through);
        return links;
    }
    free(links);
    free(through);
    return NULL;
}

static bool thin_table(struct mix_collector *collector)
{
    struct table *edges = &collector->edges;
    uint32_t count;
    struct mix_link *links = mix_list_edges(collector, MIX_EDGES_MAX / 2, &count);

    if (!links)
        return false;
    memset(edges->slots, 0, edges->room * sizeof *edges->slots);
    edges->count = count;
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t key = edge_key(links[i].from, links[i].to);
        *find(edges, key) = (struct slot){key, links[i].times};
    }
    free(links);
    return true;
}

/* ---- tokens ---- */

struct mix_collector *mix_collector_new(void)
{
    return calloc(1, sizeof(struct mix_collector));
}

void mix_collector_free(struct mix_collector *collector)
{
    if (!collector)
        return;
    for (size_t i = 0; i < collector->state_count; i++) {
        counts_release(&collector->states[i].counts);
        counts_release(&collector->states[i].rounds.counts);
        rests_release(&collector->states[i].rests);
    }
    counts_release(&collector->lengths);
    counts_release(&collector->begin.counts);
    free(collector->states);
    free(collector->ids.slots);
    free(collector->edges.slots);
    free(collector);
}

uint64_t mix_collector_visits(const struct mix_collector *collector)
{
    return collector->visits;
}

uint32_t mix_collector_states(const struct mix_collector *collector)
{
    return (uint32_t)collector->state_count;
}

/* The state's index, which it gets if it is new. */
static enum psnap_status state_of(struct mix_collector *collector, uint32_t id, uint32_t *index)
{
    const struct slot *slot = collector->ids.room ? find(&collector->ids, (uint64_t)id + 1) : NULL;
    struct state *states;
    uint64_t *number;

    if (slot && slot->key) {
        *index = (uint32_t)slot->number;
        return PSNAP_OK;
    }
    if (collector->state_count == MIX_STATES_MAX)
        return PSNAP_ERROR_LIMIT;
    states = psnap_with_room(collector->states, &collector->state_room, collector->state_count + 1,
                             sizeof *states);
    if (!states)
        return PSNAP_ERROR_MEMORY;
    collector->states = states;
    number = number_of(&collector->ids, (uint64_t)id + 1);
    if (!number)
        return PSNAP_ERROR_MEMORY;
    *number = *index = (uint32_t)collector->state_count++;
    states[*index] = (struct state){.id = id};
    return PSNAP_OK;
}

static bool add_edge(struct mix_collector *collector, uint32_t from, uint32_t to, uint64_t times)
{
    uint64_t *number;

    if (collector->edges.count >= MIX_EDGES_MAX && !thin_table(collector))
        return false;
    number = number_of(&collector->edges, edge_key(from, to));
    if (!number)
        return false;
    *number += times;
    return true;
}

/* The transition under way is from the node that the collector is at. */
static bool note_round(struct mix_collector *collector, uint32_t to)
{
    struct rounds *rounds = collector->at == MIX_OUTSIDE
                                ? &collector->begin
                                : &collector->states[collector->at - MIX_STATE].rounds;

    if (rounds->to == to && rounds->weight) {
        rounds->now++;
        rounds->weight += rounds->weight < WEIGHT_MAX;
        return true;
    }
    if (rounds->weight) {
        const uint64_t now = rounds->now;
        rounds->now = 0;
        rounds->weight--;
        return counts_add(&rounds->counts, now);
    }
    if (rounds->tries == ROUNDS_TRIES)
        return true;
    rounds->tries++;
    counts_release(&rounds->counts);
    rounds->counts = (struct counts_collector){0};
    rounds->to = to;
    rounds->weight = 1;
    rounds->now = 1;
    return true;
}

/* Of the token that comes now. */
static bool note_rest(struct mix_collector *collector, struct state *state, uint64_t count)
{
    if (collector->at >= MIX_STATE)
        return rests_note(&state->rests, collector->at,
                          &collector->states[collector->at - MIX_STATE].counts, collector->last,
                          count);
    rests_release(&state->rests);
    return true;
}

enum psnap_status mix_begin(struct mix_collector *collector)
{
    const enum psnap_status status = mix_end(collector);

    if (status)
        return status;
    collector->is_visit = true;
    collector->at = MIX_OUTSIDE;
    collector->made = 0;
    collector->visits++;
    return PSNAP_OK;
}

enum psnap_status mix_add(struct mix_collector *collector, uint32_t id, uint64_t count)
{
    uint32_t index;
    enum psnap_status status = state_of(collector, id, &index);

    if (!status && !collector->is_visit)
        status = mix_begin(collector);
    if (status)
        return status;
    if (!add_edge(collector, collector->at, MIX_STATE + index, 1) ||
        !note_round(collector, MIX_STATE + index) ||
        (!collector->states[index].rests.is_over &&
         !note_rest(collector, &collector->states[index], count)) ||
        !counts_add(&collector->states[index].counts, count))
        return PSNAP_ERROR_MEMORY;
    collector->at = MIX_STATE + index;
    collector->last = count;
    collector->made++;
    collector->tokens++;
    return PSNAP_OK;
}

enum psnap_status mix_end(struct mix_collector *collector)
{
    if (!collector->is_visit)
        return PSNAP_OK;
    if (!add_edge(collector, collector->at, MIX_OUTSIDE, 1) ||
        (collector->made && !note_round(collector, MIX_OUTSIDE)) ||
        !counts_add(&collector->lengths, collector->made))
        return PSNAP_ERROR_MEMORY;
    collector->is_visit = false;
    return PSNAP_OK;
}

/* ---- of two, one ---- */

/* Those of a node that only one of them has, or both with the same transition. */
static bool merge_rounds(struct rounds *into, const struct rounds *from, const uint32_t *nodes)
{
    if (!from->weight || (into->weight && into->to != nodes[from->to]))
        return true;
    if (!into->weight) { /* what it has is of another transition */
        counts_release(&into->counts);
        into->counts = (struct counts_collector){0};
        into->now = 0;
    }
    into->to = nodes[from->to];
    into->weight += from->weight;
    into->tries = from->tries > into->tries ? from->tries : into->tries;
    return counts_merge(&into->counts, &from->counts);
}

/* nodes[]: the node in `into` of each in `from`, whose states it gets. */
static enum psnap_status merge_states(struct mix_collector *into, const struct mix_collector *from,
                                      uint32_t *nodes)
{
    enum psnap_status status = PSNAP_OK;
    size_t count = into->state_count;

    for (size_t i = 0; i < from->state_count; i++)
        count += !into->ids.room || !find(&into->ids, (uint64_t)from->states[i].id + 1)->key;
    if (count > MIX_STATES_MAX)
        return PSNAP_ERROR_LIMIT;
    nodes[MIX_OUTSIDE] = MIX_OUTSIDE;
    nodes[MIX_ANY] = MIX_ANY;
    for (size_t i = 0; i < from->state_count && !status; i++) {
        uint32_t index = 0;
        status = state_of(into, from->states[i].id, &index);
        nodes[MIX_STATE + i] = MIX_STATE + index;
        if (!status && !counts_merge(&into->states[index].counts, &from->states[i].counts))
            status = PSNAP_ERROR_MEMORY;
    }
    for (size_t i = 0; i < from->state_count && !status; i++)
        if (!merge_rounds(&into->states[nodes[MIX_STATE + i] - MIX_STATE].rounds,
                          &from->states[i].rounds, nodes) ||
            !rests_merge(&into->states[nodes[MIX_STATE + i] - MIX_STATE].rests,
                         &from->states[i].rests, nodes[from->states[i].rests.from]))
            status = PSNAP_ERROR_MEMORY;
    if (!status && !merge_rounds(&into->begin, &from->begin, nodes))
        status = PSNAP_ERROR_MEMORY;
    return status;
}

enum psnap_status mix_merge(struct mix_collector *into, struct mix_collector *from)
{
    uint32_t *nodes = malloc((MIX_STATE + from->state_count) * sizeof *nodes), count = 0;
    enum psnap_status status = nodes ? mix_end(from) : PSNAP_ERROR_MEMORY;
    struct mix_link *links = status ? NULL : mix_list_edges(from, UINT32_MAX, &count);

    if (!links)
        status = PSNAP_ERROR_MEMORY;
    if (!status)
        status = merge_states(into, from, nodes);
    for (uint32_t i = 0; i < count && !status; i++)
        if (!add_edge(into, nodes[links[i].from], nodes[links[i].to], links[i].times))
            status = PSNAP_ERROR_MEMORY;
    if (!status && !counts_merge(&into->lengths, &from->lengths))
        status = PSNAP_ERROR_MEMORY;
    into->visits += status ? 0 : from->visits;
    into->tokens += status ? 0 : from->tokens;
    free(links);
    free(nodes);
    return status;
}
