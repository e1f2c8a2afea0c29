/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mixes (mix.h) in profiles:
 *
 *   begin: {1: 10}                        how many visits begin with which state
 *   rounds: {next: 1, times: [...]}       how often in a row visits begin with that state
 *   lengths: [{is: 3, times: 10}]         tokens of a visit: so many times so many
 *   evenly: true                          if these come evenly (counts.h), as at all `times`
 *   any: {2: 4}                           what comes, in random order, where `next` says `any`
 *   states:
 *   - state: 1                            a number, for `begin`, `next` and `any`
 *     ...                                 what it is: the caller's
 *     times: [{is: 5, times: 10}]         counts; a number if all are the same
 *     rest_of: 1                          or they are what is left over after that state's, whose
 *                                         `times` say it (mix_yaml_rests.c)
 *     next: {2: 5, any: 4, end: 1}        how many times which state comes next
 *     rounds: {next: 2, times: [...]}     how often in a row that one does, here
 *
 * What leads into a state is as much as what leads out of it, and that is how often it has a
 * count.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/text.h"
#include "profile/mixes/mix_yaml.h"
#include "profile/profile.h"

static void write_edges(const struct psnap_mix *mix, struct psnap_yaml_doc *doc,
                        struct psnap_yaml_node *map, const char *key, uint32_t node)
{
    const struct mix_edge *edge = &mix->edges[mix->first[node]];
    const struct mix_edge *end = &mix->edges[mix->first[node + 1]];
    const struct mix_edge *to_end = edge < end && edge->to == MIX_OUTSIDE ? edge++ : NULL;
    const struct mix_edge *to_any = edge < end && edge->to == MIX_ANY ? edge++ : NULL;
    char name[16];

    map = psnap_yaml_add_map(doc, map, key, PSNAP_YAML_FLOW);
    for (; edge < end; edge++) {
        snprintf(name, sizeof name, "%" PRIu32, mix->states[edge->to - MIX_STATE].id);
        psnap_yaml_add_u64(doc, map, name, edge->times);
    }
    if (to_any)
        psnap_yaml_add_u64(doc, map, "any", to_any->times);
    if (to_end)
        psnap_yaml_add_u64(doc, map, "end", to_end->times);
}

static void write_rounds(const struct psnap_mix *mix, struct psnap_yaml_doc *doc,
                         struct psnap_yaml_node *map, uint32_t node)
{
    char name[16] = "end";

    for (uint32_t i = 0; i < mix->rounds_count; i++) {
        const uint32_t to = mix->rounds[i].to;
        struct psnap_yaml_node *rounds;
        if (mix->rounds[i].node != node)
            continue;
        rounds = psnap_yaml_add_map(doc, map, "rounds", PSNAP_YAML_FLOW);
        if (to == MIX_ANY)
            snprintf(name, sizeof name, "any");
        if (to >= MIX_STATE)
            snprintf(name, sizeof name, "%" PRIu32, mix->states[to - MIX_STATE].id);
        psnap_yaml_add_text(doc, rounds, "next", name);
        counts_write(&mix->rounds[i].counts, false, doc, rounds, "times");
    }
}

void mix_write(const struct psnap_mix *mix, struct psnap_yaml_doc *doc, struct psnap_yaml_node *map,
               void (*write_state)(void *context, struct psnap_yaml_doc *doc,
                                   struct psnap_yaml_node *map, uint32_t id),
               void *context)
{
    struct psnap_yaml_node *list;

    write_edges(mix, doc, map, "begin", MIX_OUTSIDE);
    write_rounds(mix, doc, map, MIX_OUTSIDE);
    if (mix->lengths.times)
        counts_write(&mix->lengths, true, doc, map, "lengths");
    if (mix->first[MIX_ANY] < mix->first[MIX_ANY + 1])
        write_edges(mix, doc, map, "any", MIX_ANY);
    list = psnap_yaml_add_sequence(doc, map, "states", PSNAP_YAML_BLOCK);
    for (uint32_t i = 0; i < mix->state_count; i++) {
        struct psnap_yaml_node *state = psnap_yaml_add_map(doc, list, NULL, PSNAP_YAML_BLOCK);
        psnap_yaml_add_u64(doc, state, "state", mix->states[i].id);
        if (write_state)
            write_state(context, doc, state, mix->states[i].id);
        if (!mix_write_rest_of(mix, i, doc, state))
            counts_write(&mix->states[i].counts, !mix_has_rest(mix, i), doc, state, "times");
        mix_write_rests(mix, i, psnap_yaml_get(state, "times"), doc);
        write_edges(mix, doc, state, "next", MIX_STATE + i);
        write_rounds(mix, doc, state, MIX_STATE + i);
    }
}

/* ---- reading ---- */

struct mix_reading {
    const struct psnap_yaml_doc *doc;
    struct psnap_error *error;
    struct psnap_mix *mix;
    const struct psnap_yaml_node **places; /* by node: where it is left from */
    uint64_t *into, *out_of;               /* by node: transitions */
    struct mix_link *links;
    uint32_t link_count, rest_room;
};

struct numbered {
    uint32_t id;
    const struct psnap_yaml_node *map;
};

static enum psnap_status no_memory(struct psnap_error *error)
{
    return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
}

static int compare_numbers(const void *a, const void *b)
{
    const struct numbered *x = a, *y = b;

    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    return x->map->src_line < y->map->src_line ? -1 : x->map->src_line > y->map->src_line;
}

/* The maps of a mix's states with their numbers, ascending. */
static enum psnap_status read_numbers(const struct mix_reading *m,
                                      const struct psnap_yaml_node *list, struct numbered *numbers)
{
    uint32_t n = 0;

    for (const struct psnap_yaml_node *map = list->first; map; map = map->next) {
        const struct psnap_yaml_node *node;
        uint64_t id;
        if (psnap_yaml_expect(m->doc, map, PSNAP_YAML_MAP, "a state", m->error))
            return PSNAP_ERROR_VALUE;
        node = psnap_yaml_require(m->doc, map, "state", m->error);
        if (!node || psnap_yaml_u64(m->doc, node, 0, MIX_ID_MAX, &id, m->error))
            return PSNAP_ERROR_VALUE;
        numbers[n++] = (struct numbered){(uint32_t)id, map};
    }
    qsort(numbers, n, sizeof *numbers, compare_numbers);
    for (uint32_t i = 1; i < n; i++)
        if (numbers[i].id == numbers[i - 1].id)
            return psnap_yaml_fail(m->doc, psnap_yaml_get(numbers[i].map, "state"), m->error,
                                   PSNAP_ERROR_VALUE,
                                   "there is a state %" PRIu32 " already (line %" PRIu32 ")",
                                   numbers[i].id, numbers[i - 1].map->src_line);
    return PSNAP_OK;
}

/* The node that a name stands for, a key of `next`. */
static enum psnap_status read_node(const struct mix_reading *m, const struct psnap_yaml_node *entry,
                                   const char *name, uint32_t from, uint32_t *node)
{
    char canonical[24];
    uint64_t id = 0;
    uint32_t index = UINT32_MAX;

    if (!strcmp(name, "end")) {
        *node = MIX_OUTSIDE;
        return PSNAP_OK;
    }
    if (!strcmp(name, "any") && from != MIX_ANY) {
        *node = MIX_ANY;
        return PSNAP_OK;
    }
    if (psnap_text_u64(name, &id) && id <= MIX_ID_MAX)
        index = mix_find(m->mix, (uint32_t)id);
    snprintf(canonical, sizeof canonical, "%" PRIu64, id);
    if (index == UINT32_MAX || strcmp(canonical, name))
        return psnap_yaml_fail(m->doc, entry, m->error, PSNAP_ERROR_VALUE,
                               "there is no state '%.100s' in this mix", name);
    *node = MIX_STATE + index;
    return PSNAP_OK;
}

/* Transitions out of a node. */
static enum psnap_status read_edges(struct mix_reading *m, const struct psnap_yaml_node *map,
                                    uint32_t from, const char *what)
{
    enum psnap_status status = psnap_yaml_expect(m->doc, map, PSNAP_YAML_MAP, what, m->error);
    struct mix_link *links;

    if (!status && !map->count)
        return psnap_yaml_fail(m->doc, map, m->error, PSNAP_ERROR_VALUE, "'%s' leads nowhere",
                               what);
    if (status)
        return status;
    links = realloc(m->links, (m->link_count + map->count) * sizeof *links);
    if (!links)
        return no_memory(m->error);
    m->links = links;
    m->places[from] = map;
    for (const struct psnap_yaml_node *entry = map->first; entry && !status; entry = entry->next) {
        struct mix_link link = {.from = from};
        status = read_node(m, entry, entry->key, from, &link.to);
        if (!status)
            status = psnap_yaml_u64(m->doc, entry, 1, PSNAP_COUNT_MAX, &link.times, m->error);
        if (status)
            return status;
        m->out_of[from] += link.times;
        m->into[link.to] += link.times;
        if (m->out_of[from] > PSNAP_COUNT_MAX || m->into[link.to] > PSNAP_COUNT_MAX)
            return psnap_yaml_fail(m->doc, entry, m->error, PSNAP_ERROR_VALUE,
                                   "transitions come to more than %" PRIu64, PSNAP_COUNT_MAX);
        links[m->link_count++] = link;
    }
    return status;
}

static enum psnap_status read_graph(struct mix_reading *m, const struct psnap_yaml_node *map,
                                    const struct numbered *states)
{
    const struct psnap_yaml_node *any = psnap_yaml_get(map, "any");
    const struct psnap_yaml_node *begin = psnap_yaml_require(m->doc, map, "begin", m->error);
    enum psnap_status status =
        begin ? read_edges(m, begin, MIX_OUTSIDE, "begin") : PSNAP_ERROR_VALUE;

    if (!status && any)
        status = read_edges(m, any, MIX_ANY, "any");
    for (uint32_t i = 0; i < m->mix->state_count && !status; i++) {
        const struct psnap_yaml_node *next =
            psnap_yaml_require(m->doc, states[i].map, "next", m->error);
        status = next ? read_edges(m, next, MIX_STATE + i, "next") : PSNAP_ERROR_VALUE;
    }
    return status;
}

/* What a node is called in a message. */
static const char *node_name(const struct mix_reading *m, uint32_t node, char name[24])
{
    if (node < MIX_STATE)
        return node == MIX_ANY ? "'any'" : "the mix";
    snprintf(name, 24, "state %" PRIu32, m->mix->states[node - MIX_STATE].id);
    return name;
}

/* That one gets to the end from each node. */
static enum psnap_status check_ends(const struct mix_reading *m)
{
    const uint32_t nodes = MIX_STATE + m->mix->state_count;
    uint32_t *last = malloc(nodes * sizeof *last);
    enum psnap_status status = last && mix_tree(m->mix, last) ? PSNAP_OK : no_memory(m->error);
    char name[24];

    for (uint32_t n = MIX_ANY; n < nodes && !status; n++)
        if (m->out_of[n] && last[n] == UINT32_MAX)
            status = psnap_yaml_fail(
                m->doc, m->places[n], m->error, PSNAP_ERROR_VALUE,
                "from %s there is no way to the end of a visit%s", node_name(m, n, name),
                m->mix->rest_count ? ", but through a state after which another is the rest" : "");
    free(last);
    return status;
}

/* As much leads into each node as out of it, and from each to the end. */
static enum psnap_status check_graph(struct mix_reading *m, const struct psnap_yaml_node *map)
{
    const uint32_t nodes = MIX_STATE + m->mix->state_count;
    char name[24];

    for (uint32_t n = 0; n < nodes; n++)
        if (m->into[n] != m->out_of[n])
            return psnap_yaml_fail(m->doc, m->places[n] ? m->places[n] : map, m->error,
                                   PSNAP_ERROR_VALUE,
                                   "%s %s %" PRIu64 " times, but %s %" PRIu64 " times",
                                   node_name(m, n, name), n == MIX_OUTSIDE ? "begins" : "is left",
                                   m->out_of[n], n == MIX_OUTSIDE ? "ends" : "entered", m->into[n]);
    mix_set_edges(m->mix, m->links, m->link_count);
    return check_ends(m);
}

/* rounds: {next, times}, if `map` has them, of a node */
static enum psnap_status read_rounds(struct mix_reading *m, const struct psnap_yaml_node *map,
                                     uint32_t node)
{
    static const char *const keys[] = {"next", "times", "evenly", NULL};
    const struct psnap_mix *mix = m->mix;
    const struct psnap_yaml_node *item = psnap_yaml_get(map, "rounds"), *next, *times;
    struct mix_rounds *rounds = &m->mix->rounds[m->mix->rounds_count];
    uint32_t i = mix->first[node];
    const char *name;

    if (!item)
        return PSNAP_OK;
    if (psnap_yaml_expect_keys(m->doc, item, "'rounds'", keys, m->error) ||
        !(next = psnap_yaml_require(m->doc, item, "next", m->error)) ||
        !(times = psnap_yaml_require(m->doc, item, "times", m->error)) ||
        psnap_yaml_text(m->doc, next, &name, m->error) ||
        read_node(m, next, name, node, &rounds->to) ||
        counts_read(m->doc, times, 0, NULL, &rounds->counts, m->error) ||
        counts_read_evenly(m->doc, item, &rounds->counts, m->error))
        return PSNAP_ERROR_VALUE;
    if (node >= MIX_STATE && mix_has_rest(mix, node - MIX_STATE))
        return psnap_yaml_fail(m->doc, item, m->error, PSNAP_ERROR_VALUE,
                               "'rounds' and a 'rest' both say what comes next");
    while (i < mix->first[node + 1] && mix->edges[i].to != rounds->to)
        i++;
    if (i == mix->first[node + 1])
        return psnap_yaml_fail(m->doc, next, m->error, PSNAP_ERROR_VALUE,
                               "'%.100s' does not come next (line %" PRIu32 ")", name,
                               m->places[node]->src_line);
    if (rounds->to == MIX_OUTSIDE && mix->lengths.times)
        return psnap_yaml_fail(m->doc, next, m->error, PSNAP_ERROR_VALUE,
                               "'rounds' and 'lengths' both say when visits end");
    rounds->node = node;
    m->mix->rounds_count++;
    return PSNAP_OK;
}

static enum psnap_status read_all_rounds(struct mix_reading *m, const struct psnap_yaml_node *map,
                                         const struct numbered *states)
{
    enum psnap_status status = read_rounds(m, map, MIX_OUTSIDE);

    for (uint32_t i = 0; i < m->mix->state_count && !status; i++)
        status = read_rounds(m, states[i].map, MIX_STATE + i);
    return status;
}

/* As many counts as the node is left; in `map` whether they come evenly. */
static enum psnap_status read_times(const struct mix_reading *m, const struct psnap_yaml_node *map,
                                    const struct psnap_yaml_node *node, uint32_t n,
                                    struct psnap_counts *counts)
{
    const uint64_t times = node->kind == PSNAP_YAML_SCALAR ? m->out_of[n] : 0;
    enum psnap_status status =
        counts_read(m->doc, node, times, n == MIX_OUTSIDE ? NULL : "rest", counts, m->error);

    if (!status)
        status = counts_read_evenly(m->doc, map, counts, m->error);
    if (!status && counts->times != m->out_of[n])
        return psnap_yaml_fail(m->doc, node, m->error, PSNAP_ERROR_VALUE,
                               "there are %" PRIu64 " counts here, but '%s' (line %" PRIu32
                               ") comes to %" PRIu64,
                               counts->times, n == MIX_OUTSIDE ? "begin" : "next",
                               m->places[n]->src_line, m->out_of[n]);
    return status;
}

/* The state whose rest a state's counts are, if `map` says so; else UINT32_MAX. */
static enum psnap_status read_rest_of(const struct mix_reading *m,
                                      const struct psnap_yaml_node *map, uint32_t *of)
{
    const struct psnap_yaml_node *node = psnap_yaml_get(map, "rest_of");
    const struct psnap_yaml_node *times = psnap_yaml_get(map, "times");
    uint64_t id;

    *of = UINT32_MAX;
    if (!node)
        return PSNAP_OK;
    if (times)
        return psnap_yaml_fail(m->doc, times, m->error, PSNAP_ERROR_VALUE,
                               "'rest_of' (line %" PRIu32 ") says what 'times' are",
                               node->src_line);
    if (psnap_yaml_u64(m->doc, node, 0, MIX_ID_MAX, &id, m->error))
        return PSNAP_ERROR_VALUE;
    *of = mix_find(m->mix, (uint32_t)id);
    return *of != UINT32_MAX ? PSNAP_OK
                             : psnap_yaml_fail(m->doc, node, m->error, PSNAP_ERROR_VALUE,
                                               "there is no state '%" PRIu64 "' in this mix", id);
}

/* The first `rest` that no state has taken. */
static const struct psnap_yaml_node *unclaimed_rest(const struct mix_reading *m,
                                                    const struct numbered *states)
{
    for (uint32_t i = 0; i < m->mix->state_count; i++) {
        const struct psnap_yaml_node *times = psnap_yaml_get(states[i].map, "times");
        const struct psnap_yaml_node *bin =
            mix_has_rest(m->mix, i) || !times || times->kind != PSNAP_YAML_SEQUENCE ? NULL
                                                                                    : times->first;
        for (; bin; bin = bin->next)
            if (psnap_yaml_get(bin, "rest"))
                return psnap_yaml_get(bin, "rest");
    }
    return NULL;
}

/* Counts that are the rest of others', when these are known. */
static enum psnap_status read_rests(struct mix_reading *m, const struct numbered *states)
{
    struct psnap_mix *mix = m->mix;
    enum psnap_status status = PSNAP_OK;
    uint32_t of;

    for (uint32_t i = 0; i < mix->state_count && !status; i++) {
        const struct psnap_yaml_node *node = psnap_yaml_get(states[i].map, "rest_of");
        status = read_rest_of(m, states[i].map, &of);
        if (!status && of != UINT32_MAX)
            status = mix_read_rest(
                &(struct mix_place){m->doc, node, states[of].map, of, i, m->error}, mix);
    }
    mix_sort_rests(mix);
    if (!status && mix->rest_count)
        status = check_ends(m);
    if (!status && mix->rest_count < m->rest_room)
        return psnap_yaml_fail(m->doc, unclaimed_rest(m, states), m->error, PSNAP_ERROR_VALUE,
                               "there is a 'rest', but no state that is 'rest_of' this one");
    return status;
}

static enum psnap_status read_counts(struct mix_reading *m, const struct psnap_yaml_node *map,
                                     const struct numbered *states)
{
    struct psnap_mix *mix = m->mix;
    const struct psnap_yaml_node *node;
    uint64_t sum = 0;
    enum psnap_status status;

    for (uint32_t i = 0; i < mix->state_count; i++) {
        if (psnap_yaml_get(states[i].map, "rest_of"))
            continue;
        node = psnap_yaml_require(m->doc, states[i].map, "times", m->error);
        status = node ? read_times(m, states[i].map, node, MIX_STATE + i, &mix->states[i].counts)
                      : PSNAP_ERROR_VALUE;
        if (status)
            return status;
    }
    status = read_rests(m, states);
    if (status)
        return status;
    for (uint32_t i = 0; i < mix->state_count; i++) {
        const struct psnap_counts *counts = &mix->states[i].counts;
        node = psnap_yaml_get(states[i].map, "times");
        node = node ? node : psnap_yaml_get(states[i].map, "rest_of");
        sum += counts->sum;
        mix->tokens += counts->times;
        if (sum > PSNAP_COUNT_MAX || mix->tokens > PSNAP_COUNT_MAX)
            return psnap_yaml_fail(m->doc, node, m->error, PSNAP_ERROR_VALUE,
                                   "the counts of a mix come to more than %" PRIu64,
                                   PSNAP_COUNT_MAX);
    }
    mix->visits = m->out_of[MIX_OUTSIDE];
    node = psnap_yaml_get(map, "lengths");
    if (!node)
        return psnap_yaml_get(map, "evenly")
                   ? psnap_yaml_fail(m->doc, psnap_yaml_get(map, "evenly"), m->error,
                                     PSNAP_ERROR_VALUE, "there are no 'lengths' to come evenly")
                   : PSNAP_OK;
    status = read_times(m, map, node, MIX_OUTSIDE, &mix->lengths);
    if (!status && mix->lengths.sum != mix->tokens)
        status = psnap_yaml_fail(m->doc, node, m->error, PSNAP_ERROR_VALUE,
                                 "the visits of the mix have %" PRIu64
                                 " states, but its states come to %" PRIu64,
                                 mix->lengths.sum, mix->tokens);
    return status;
}

/* The numbers of links, to make a mix of the right size. */
static size_t count_links(const struct psnap_yaml_node *map, const struct psnap_yaml_node *list)
{
    const struct psnap_yaml_node *begin = psnap_yaml_get(map, "begin");
    const struct psnap_yaml_node *any = psnap_yaml_get(map, "any");
    size_t count = (begin ? begin->count : 0) + (any ? any->count : 0);

    for (const struct psnap_yaml_node *state = list->first; state; state = state->next) {
        const struct psnap_yaml_node *next = psnap_yaml_get(state, "next");
        count += next ? next->count : 0;
    }
    return count;
}

static enum psnap_status read_states(struct mix_reading *m, const struct psnap_yaml_node *map,
                                     const struct psnap_yaml_node *list)
{
    const size_t states = list->count, nodes = MIX_STATE + states;
    struct numbered *numbers = calloc(states, sizeof *numbers);
    enum psnap_status status = numbers ? read_numbers(m, list, numbers) : no_memory(m->error);

    if (!status) {
        m->rest_room = mix_count_rests(list);
        m->mix = mix_new((uint32_t)states, (uint32_t)count_links(map, list), (uint32_t)states + 1,
                         m->rest_room);
        m->places = calloc(nodes, sizeof(const struct psnap_yaml_node *));
        m->into = calloc(nodes, sizeof *m->into);
        m->out_of = calloc(nodes, sizeof *m->out_of);
        if (!m->mix || !m->places || !m->into || !m->out_of)
            status = no_memory(m->error);
    }
    if (m->mix)
        m->mix->rounds_count = m->mix->rest_count = 0; /* of those that there is room for */
    for (uint32_t i = 0; i < states && !status; i++)
        m->mix->states[i].id = numbers[i].id;
    if (!status)
        status = read_graph(m, map, numbers);
    if (!status)
        status = check_graph(m, map);
    if (!status)
        status = read_counts(m, map, numbers);
    if (!status)
        status = read_all_rounds(m, map, numbers);
    free(numbers);
    return status;
}

enum psnap_status mix_read(const struct psnap_yaml_doc *doc, const struct psnap_yaml_node *map,
                           enum psnap_status (*read_state)(void *context,
                                                           const struct psnap_yaml_node *map,
                                                           uint32_t id, struct psnap_error *error),
                           void *context, struct psnap_mix **mix, struct psnap_error *error)
{
    static const char *const keys[] = {"begin", "rounds", "lengths", "evenly",
                                       "any",   "states", NULL};
    struct mix_reading m = {.doc = doc, .error = error};
    enum psnap_status status = psnap_yaml_expect_keys(doc, map, "a mix", keys, error);
    const struct psnap_yaml_node *list =
        status ? NULL : psnap_yaml_require(doc, map, "states", error);

    *mix = NULL;
    if (!status)
        status = list ? psnap_yaml_expect(doc, list, PSNAP_YAML_SEQUENCE, "states", error)
                      : PSNAP_ERROR_VALUE;
    if (!status && (!list->count || list->count > MIX_STATES_MAX))
        return psnap_yaml_fail(doc, list, error, PSNAP_ERROR_VALUE, "a mix has 1 to %d states",
                               MIX_STATES_MAX);
    if (!status)
        status = read_states(&m, map, list);
    for (const struct psnap_yaml_node *state = status ? NULL : list->first;
         state && read_state && !status; state = state->next) {
        uint64_t id = 0;
        status = psnap_yaml_u64(doc, psnap_yaml_get(state, "state"), 0, MIX_ID_MAX, &id, error);
        if (!status)
            status = read_state(context, state, (uint32_t)id, error);
    }
    if (status)
        mix_free(m.mix);
    else
        *mix = m.mix;
    free(m.places);
    free(m.into);
    free(m.out_of);
    free(m.links);
    return status;
}
