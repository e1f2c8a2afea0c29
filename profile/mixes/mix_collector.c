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
#include "profile/mixes/mix_graph.h"

enum {
    TABLE_ROOM = 64, /* slots at first; a power of two */
    ROUNDS_MIN = 64, /* times that a transition came in a row, to say how often it does */
    ROUNDS_TRIES = 1 << 12,
    WEIGHT_MAX = 1 << 20
};

/* By chance the variance of how often it comes is m (m + 1), with the mean m. */
#define EVENLY 0.5
#define UNEVENLY 4.0

/* Keys, which are not 0, and a number for each. */
struct table {
    struct slot {
        uint64_t key, number;
    } *slots;
    size_t count, room;
};

/* The transition from a node that comes most, as far as that is known, and how often in a row. */
struct rounds {
    uint32_t to, weight, tries;
    uint64_t now; /* so many since another one came */
    struct counts_collector counts;
};

struct state {
    uint32_t id;
    struct counts_collector counts;
    struct rounds rounds;
};

struct mix_collector {
    struct state *states;
    size_t state_count, state_room;
    struct table ids;   /* id + 1: index */
    struct table edges; /* edge_key: times */
    struct counts_collector lengths;
    struct rounds begin; /* of MIX_OUTSIDE */
    uint64_t visits, tokens;
    uint64_t made; /* tokens of the visit under way */
    uint32_t at;   /* the node it is at; MIX_OUTSIDE with is_visit: it has just begun */
    bool is_visit;
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

/* The collector's transitions, in `wanted` if that can be, at *count; NULL: out of memory. */
static struct mix_link *list_edges(const struct mix_collector *collector, uint32_t wanted,
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
    struct mix_link *links = list_edges(collector, MIX_EDGES_MAX / 2, &count);

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
        !counts_add(&collector->states[index].counts, count))
        return PSNAP_ERROR_MEMORY;
    collector->at = MIX_STATE + index;
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
                          &from->states[i].rounds, nodes))
            status = PSNAP_ERROR_MEMORY;
    if (!status && !merge_rounds(&into->begin, &from->begin, nodes))
        status = PSNAP_ERROR_MEMORY;
    return status;
}

enum psnap_status mix_merge(struct mix_collector *into, struct mix_collector *from)
{
    uint32_t *nodes = malloc((MIX_STATE + from->state_count) * sizeof *nodes), count = 0;
    enum psnap_status status = nodes ? mix_end(from) : PSNAP_ERROR_MEMORY;
    struct mix_link *links = status ? NULL : list_edges(from, UINT32_MAX, &count);

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

/* ---- the mix ---- */

static int compare_ids(const void *a, const void *b)
{
    const uint32_t x = (*(struct state *const *)a)->id, y = (*(struct state *const *)b)->id;

    return x < y ? -1 : x > y;
}

/* Whether how often a transition comes in a row is not what chance gives. The longest row does not
 * count: that may be all that there was before the program did something else. */
static bool is_told(const struct psnap_counts *counts)
{
    const struct psnap_counts_bin *last = &counts->bins[counts->bin_count - 1];
    const double longest = (double)last->sum / (double)last->times;
    const double times = (double)counts->times - 1;
    const double mean = ((double)counts->sum - longest) / times, by_chance = mean * (mean + 1);
    double squares = -longest * longest;

    for (uint32_t i = 0; i < counts->bin_count; i++) {
        const struct psnap_counts_bin *bin = &counts->bins[i];
        squares += (double)bin->sum * (double)bin->sum / (double)bin->times;
    }
    squares = squares / times - mean * mean;
    return mean >= 1 && (squares < EVENLY * by_chance || squares > UNEVENLY * by_chance);
}

/* Rounds of nodes, which are by number of the collector's, that are there among the links; returns
 * how many. */
static uint32_t take_rounds(const struct mix_collector *collector, const uint32_t *nodes,
                            const struct mix_link *links, uint32_t link_count,
                            struct mix_rounds *taken)
{
    uint32_t count = 0;

    for (uint32_t node = 0; node < MIX_STATE + collector->state_count; node++) {
        const struct rounds *rounds =
            node == MIX_OUTSIDE ? &collector->begin : &collector->states[node - MIX_STATE].rounds;
        uint32_t k = 0;
        if (node == MIX_ANY || !rounds->weight || rounds->counts.times < ROUNDS_MIN)
            continue;
        while (k < link_count && (links[k].from != node || links[k].to != rounds->to))
            k++;
        if (k == link_count)
            continue;
        taken[count].node = nodes[node];
        taken[count].to = nodes[rounds->to];
        counts_take(&rounds->counts, COUNTS_BINS, &taken[count].counts);
        count += is_told(&taken[count].counts);
    }
    return count;
}

static int compare_rounds(const void *a, const void *b)
{
    const struct mix_rounds *x = a, *y = b;

    return x->node < y->node ? -1 : x->node > y->node;
}

/* States by id; nodes[]: the mix's node of each of the collector's. */
static void number_states(struct mix_collector *collector, struct state **order, uint32_t *nodes)
{
    const uint32_t n = (uint32_t)collector->state_count;

    for (size_t i = 0; i < n; i++)
        order[i] = &collector->states[i];
    qsort(order, n, sizeof(struct state *), compare_ids);
    nodes[MIX_OUTSIDE] = MIX_OUTSIDE;
    nodes[MIX_ANY] = MIX_ANY;
    for (uint32_t i = 0; i < n; i++)
        nodes[MIX_STATE + (order[i] - collector->states)] = MIX_STATE + i;
}

struct psnap_mix *mix_take(struct mix_collector *collector, uint32_t edges, uint32_t bins)
{
    const uint32_t states = (uint32_t)collector->state_count;
    uint32_t *nodes = malloc((MIX_STATE + states) * sizeof *nodes), count = 0, rounds_count = 0;
    struct state **order = calloc(states + (size_t)1, sizeof(struct state *));
    struct mix_rounds *rounds = calloc(states + (size_t)2, sizeof *rounds);
    struct mix_link *links = nodes && order && rounds && !mix_end(collector)
                                 ? list_edges(collector, edges, &count)
                                 : NULL;
    struct psnap_mix *mix = NULL;

    if (links) {
        number_states(collector, order, nodes);
        rounds_count = take_rounds(collector, nodes, links, count, rounds);
        qsort(rounds, rounds_count, sizeof *rounds, compare_rounds);
        mix = mix_new(states, count, rounds_count);
    }
    if (mix) {
        bool has_lengths = collector->lengths.times > 1; /* a single one: as there are tokens */
        for (uint32_t i = 0; i < states; i++) {
            mix->states[i].id = order[i]->id;
            counts_take(&order[i]->counts, bins, &mix->states[i].counts);
        }
        for (uint32_t i = 0; i < count; i++) {
            links[i].from = nodes[links[i].from];
            links[i].to = nodes[links[i].to];
        }
        mix_set_edges(mix, links, count);
        mix->visits = collector->visits;
        mix->tokens = collector->tokens;
        for (uint32_t i = 0; i < rounds_count; i++) {
            mix->rounds[i] = rounds[i];
            has_lengths &= rounds[i].to != MIX_OUTSIDE; /* these say when visits end */
        }
        if (has_lengths)
            counts_take(&collector->lengths, COUNTS_BINS, &mix->lengths);
    }
    free(links);
    free(rounds);
    free(order);
    free(nodes);
    return mix;
}
