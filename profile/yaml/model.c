/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The model of a stream as a whole: objects (objects.c), references (refs.c) and bodies (bodies.c)
 * of all loops, chains and the schedule, read in this order, since each names those before it. A
 * state of a chain is a body or an earlier chain; the schedule names bodies, and visits chains.
 * Then counts are checked against each other. A name of something that is not there, or a
 * contradiction to another place, is an error at its line.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "profile/yaml/fields.h"

#define REF_NUMBERS 65536u   /* of references, whatever the profile has, */
#define REF_NUMBERS_EACH 16u /* and more for each that it has */

/* ---- references and bodies ---- */

/* A replayed program has a row for each number from 0 to a loop's largest: of all loops together
 * not many more than there are references, whose names are sorted. */
static void check_ref_numbers(struct psnap_reading *r)
{
    const struct names *refs = &profile_of(r)->refs;
    const uint64_t most = REF_NUMBERS + REF_NUMBERS_EACH * (uint64_t)refs->count;
    uint64_t rows = 0;

    for (uint32_t i = 0; i < refs->count && !r->status; i++) {
        const struct name *name = &refs->items[i];
        if (i + 1 < refs->count && name[1].loop == name->loop)
            continue;
        rows += name->number + UINT64_C(1);
        if (rows > most)
            psnap_read_fail(r, name->node,
                            "the numbers of references up to here, from 0 to the largest of "
                            "each loop, are %" PRIu64 ", but at most %" PRIu64
                            " are possible with %" PRIu32 " reference%s",
                            rows, most, refs->count, refs->count == 1 ? "" : "s");
    }
}

/* How many items all loops have in their lists of a key. */
static size_t count_items(const struct psnap_yaml_node *loops, const char *key)
{
    size_t count = 0;

    for (const struct psnap_yaml_node *map = loops->first; map; map = map->next)
        count += psnap_yaml_get(map, key) ? psnap_yaml_get(map, key)->count : 0;
    return count;
}

static void read_of_loops(struct psnap_reading *r, const struct psnap_yaml_node *loops)
{
    struct profile_reading *p = profile_of(r);
    struct psnap_stream_model *model = p->model;

    make_items(r, count_items(loops, "references"), &p->refs, &model->refs, sizeof *model->refs);
    make_items(r, count_items(loops, "bodies"), &p->bodies, &model->bodies, sizeof *model->bodies);
    for (const struct psnap_yaml_node *map = loops->first; map; map = map->next, p->loop++)
        read_items(r, psnap_yaml_get(map, "references"), "references", &p->refs, read_ref);
    name_items(r, &p->refs, model->refs);
    check_ref_numbers(r);
    read_bases(r);
    p->loop = 0;
    for (const struct psnap_yaml_node *map = loops->first; map; map = map->next, p->loop++)
        read_items(r, psnap_yaml_get(map, "bodies"), "bodies", &p->bodies, read_body);
    name_items(r, &p->bodies, NULL);
    read_parts(r);
}

/* That references have addresses for as many accesses as bodies iterate. */
static void check_counts(struct psnap_reading *r)
{
    const struct profile_reading *p = profile_of(r);
    const struct psnap_stream_model *model = p->model;
    uint64_t *takes = NULL;

    psnap_read_has(r, model_count_takes(model, &takes) ? p : NULL);
    for (uint32_t i = 0; i < model->ref_count && !r->status; i++) {
        const struct model_ref *ref = &model->refs[i];
        const struct nest_terms *terms = &ref->addresses;
        const struct psnap_yaml_node *node = p->refs.maps[i];
        uint64_t count = 0;
        for (uint32_t k = 0; k < ref->reuse_count; k++)
            for (uint32_t b = 0; b < ref->reuses[k].bin_count; b++)
                read_sum(r, node, ref->reuses[k].bins[b].count, &count);
        for (size_t k = 0; k < terms->count; k++)
            read_sum(r, node, nest_length(terms->terms[k].pattern, nest_term_values(terms, k)),
                     &count);
        if (ref->rule != MODEL_DEPENDENT && ref->rule != MODEL_SHARED &&
            (!count || takes[i] % count))
            psnap_read_fail(r, node,
                            "reference %" PRIu32 " has addresses for %" PRIu64
                            " %s, but bodies make %" PRIu64 " of it",
                            ref->number, count, ref->element ? "elements" : "accesses", takes[i]);
    }
    free(takes);
}

void write_loop_model(const struct psnap_writing *w, const void *record)
{
    const struct profile_writing *p = profile_to(w);
    const struct model_list *bodies = &p->by_loop.bodies, *refs = &p->by_loop.refs;
    const size_t loop = (size_t)(p->loop - p->profile->loops);
    struct psnap_yaml_node *list = NULL;

    (void)record;
    if (!p->profile->stream)
        return;
    if (bodies->first[loop] < bodies->first[loop + 1])
        list = psnap_yaml_add_sequence(w->doc, w->map, "bodies", PSNAP_YAML_BLOCK);
    for (uint32_t i = bodies->first[loop]; i < bodies->first[loop + 1]; i++)
        psnap_record_write(w, list, NULL, &body_record,
                           &p->profile->stream->bodies[bodies->items[i]]);
    if (refs->first[loop] < refs->first[loop + 1])
        list = psnap_yaml_add_sequence(w->doc, w->map, "references", PSNAP_YAML_BLOCK);
    for (uint32_t i = refs->first[loop]; i < refs->first[loop + 1]; i++)
        psnap_record_write(w, list, NULL, &ref_record, &p->profile->stream->refs[refs->items[i]]);
}

/* ---- chains ---- */

/* The body or chain of an id; PSNAP_NONE: there is none. */
static uint32_t symbol_named(const struct profile_reading *p, const char *id)
{
    const uint32_t body = find_id(&p->bodies, id);

    for (uint32_t i = 0; i < p->model->chain_count && body == PSNAP_NONE; i++)
        if (!strcmp(p->model->chain_ids[i], id))
            return MODEL_CHAIN | i;
    return body;
}

/* The state that a key names. */
static uint32_t read_state(struct psnap_reading *r, const struct psnap_yaml_node *node,
                           const struct chain *chain)
{
    const uint32_t symbol = symbol_named(profile_of(r), node->key);
    uint32_t state = 0;

    if (!strcmp(node->key, MODEL_OUTSIDE))
        return 0;
    if (symbol != PSNAP_NONE && !(symbol & MODEL_CHAIN))
        state = profile_of(r)->states[symbol];
    for (uint32_t i = 1; symbol != PSNAP_NONE && symbol & MODEL_CHAIN && i < chain->count; i++)
        state = chain->states[i].symbol == symbol ? i : state;
    if (!state)
        psnap_read_fail(r, node, "there is no %s '%.100s'",
                        symbol == PSNAP_NONE ? "body or earlier chain" : "state", node->key);
    return state;
}

/* Transitions. */
static void read_after(struct psnap_reading *r, const struct psnap_yaml_node *after,
                       struct chain *chain)
{
    uint32_t *states = profile_of(r)->states;
    const struct psnap_yaml_node *row, *node;
    uint64_t sum = 0;

    memset(states, 0, profile_of(r)->model->body_count * sizeof *states);
    row = psnap_read_map(r, after, "after");
    for (; row; row = psnap_read_next(r, row)) {
        const uint32_t symbol = symbol_named(profile_of(r), row->key);
        if (!strcmp(row->key, MODEL_OUTSIDE) || symbol == PSNAP_NONE)
            continue;
        if (!(symbol & MODEL_CHAIN))
            states[symbol] = chain->count;
        psnap_read_has(r, chain_add_state(chain, symbol) == PSNAP_NONE ? NULL : chain);
    }
    row = psnap_read_map(r, after, "after");
    for (; row; row = psnap_read_next(r, row)) {
        const uint32_t from = read_state(r, row, chain);
        node = psnap_read_map(r, row, row->key);
        for (; node; node = psnap_read_next(r, node)) {
            const uint32_t to = read_state(r, node, chain);
            const uint64_t count = read_positive(r, node);
            read_sum(r, node, count, &sum);
            chain->at = from;
            if (!r->status)
                psnap_read_has(r, chain_go(chain, to, count) ? chain : NULL);
        }
    }
    chain->at = 0;
}

static void read_chain(struct psnap_reading *r, const struct psnap_yaml_node *map, uint32_t index)
{
    struct psnap_stream_model *model = profile_of(r)->model;
    struct chain *chain = &model->chains[index];
    const struct psnap_yaml_node *after, *node;
    const char *id;

    psnap_read_keys(r, map, "a chain", "id", "after");
    node = psnap_read_require(r, map, "id");
    id = psnap_read_text(r, node);
    if (!r->status && symbol_named(profile_of(r), id) != PSNAP_NONE)
        psnap_read_fail(r, node, "there is another '%.100s'", id);
    after = psnap_read_require(r, map, "after");
    if (r->status || !psnap_read_has(r, chain_init(chain) ? chain : NULL))
        return;
    read_after(r, after, chain);
    model->chain_ids[model->chain_count++] = strdup(id);
    psnap_read_has(r, model->chain_ids[index]);
}

static void read_chains(struct psnap_reading *r, const struct psnap_yaml_node *list)
{
    struct profile_reading *p = profile_of(r);
    const size_t count = list ? list->count : 0;

    psnap_read_heap(r, &p->model->chain_ids, count, sizeof(char *));
    make_items(r, count, &p->chains, &p->model->chains, sizeof *p->model->chains);
    p->states = psnap_read_scratch(r, p->model->body_count, sizeof *p->states);
    read_items(r, list, "chains", &p->chains, read_chain);
    name_items(r, &p->chains, NULL);
}

static void write_chain(const struct psnap_writing *w, struct psnap_yaml_node *list,
                        const struct chain *chain, const char *id)
{
    const struct psnap_stream_model *model = profile_to(w)->profile->stream;
    struct psnap_yaml_node *map = psnap_yaml_add_map(w->doc, list, NULL, PSNAP_YAML_BLOCK);

    psnap_yaml_add_text(w->doc, map, "id", id);
    map = psnap_yaml_add_map(w->doc, map, "after", PSNAP_YAML_BLOCK);
    for (uint32_t i = 0; i < chain->count; i++) {
        const struct chain_state *state = &chain->states[i];
        struct psnap_yaml_node *row =
            psnap_yaml_add_map(w->doc, map, model_state_id(model, chain, i), PSNAP_YAML_FLOW);
        for (uint32_t k = 0; k < state->edge_count; k++)
            psnap_yaml_add_u64(w->doc, row, model_state_id(model, chain, state->edges[k].to),
                               state->edges[k].count);
    }
}

/* ---- the schedule: a thread's part of it ---- */

/* The thread of a symbol: a chain's is that of its first state. */
static uint16_t thread_of(const struct psnap_stream_model *model, uint32_t symbol)
{
    for (uint32_t depth = 0; symbol & MODEL_CHAIN && depth < model->chain_count; depth++) {
        const struct chain *chain = &model->chains[symbol & ~MODEL_CHAIN];
        if (chain->count < 2)
            return 0;
        symbol = chain->states[1].symbol;
    }
    return symbol & MODEL_CHAIN ? 0 : model->bodies[symbol].thread;
}

/* A symbol of the order that is read, the latest one. */
static uint32_t symbol_of(struct psnap_reading *r, const struct psnap_yaml_node *node)
{
    const struct profile_reading *p = profile_of(r);
    const struct psnap_yaml_node *visit = psnap_yaml_get(node, "visit");
    const char *id;
    uint32_t symbol;

    if (node->kind == PSNAP_YAML_MAP)
        psnap_read_keys(r, node, "a visit", "visit");
    node = visit ? visit : node;
    id = psnap_read_text(r, node);
    symbol = find_id(visit ? &p->chains : &p->bodies, id);
    if (symbol == PSNAP_NONE)
        psnap_read_fail(r, node, "there is no %s '%.100s'", visit ? "chain" : "body", id);
    if (visit)
        symbol |= MODEL_CHAIN;
    if (!r->status &&
        thread_of(p->model, symbol) != p->model->orders[p->model->order_count - 1].thread)
        psnap_read_fail(r, node, "%s '%.100s' is another thread's", visit ? "chain" : "body", id);
    return symbol;
}

static void read_with(struct psnap_reading *r, const struct psnap_yaml_node *node, void *record)
{
    psnap_read_require(r, node->parent, "turn");
    ((struct model_order *)record)->with = (uint16_t)psnap_read_u64(r, node, 0, r->field->high);
}

static void write_with(const struct psnap_writing *w, const void *record)
{
    const struct model_order *order = record;

    if (order->turn != UINT32_MAX)
        psnap_yaml_add_u64(w->doc, w->map, w->field->key, order->with);
}

static void write_of(const struct psnap_writing *w, const void *record)
{
    write_order(w, psnap_yaml_add_sequence(w->doc, w->map, w->field->key, PSNAP_YAML_BLOCK),
                &((const struct model_order *)record)->terms);
}

static const struct psnap_field order_fields[] = {
    {"thread", FIELD_THREAD(struct model_order, thread), .rules = PSNAP_FIELD_NEEDED},
    {"after", FIELD_UINT(struct model_order, after), 0, MODEL_NO_PLACE - 1, MODEL_NO_PLACE},
    {"with", FIELD_FORM(read_with, write_with), .high = PSNAP_THREADS_MAX - 1},
    {"turn", FIELD_UINT(struct model_order, turn), 1, UINT32_MAX - 1, UINT32_MAX},
    {"of", FIELD_FORM(NULL, write_of), .rules = PSNAP_FIELD_NEEDED},
};
static const struct psnap_record order_record =
    PSNAP_RECORD("a thread's part", order_fields, BLOCK);

static void read_thread_order(struct psnap_reading *r, const struct psnap_yaml_node *map,
                              struct model_order *order)
{
    psnap_record_read(r, map, &order_record, order);
    if (r->status)
        return;
    if (order->turn != UINT32_MAX)
        psnap_read_require(r, map, "with");
    else
        order->with = order->thread;
    if (order->after != MODEL_NO_PLACE && !order->thread)
        psnap_read_fail(r, psnap_yaml_get(map, "after"),
                        "thread 0 begins after no access of its own");
    read_order(r, psnap_yaml_get(map, "of"), symbol_of, &order->terms);
}

/* Whether the thread that each part is said to be together with is there, and says the same. */
static void check_turns(struct psnap_reading *r, const struct psnap_yaml_node *list)
{
    const struct psnap_stream_model *model = profile_of(r)->model;
    const struct model_order *orders = model->orders;
    const struct psnap_yaml_node *part = list->first;

    for (uint32_t i = 0; i < model->order_count && !r->status; i++, part = part->next) {
        uint32_t k = 0;
        while (k < model->order_count && orders[k].thread != orders[i].with)
            k++;
        if (k == model->order_count || orders[k].with != orders[i].with ||
            orders[k].turn != orders[i].turn)
            psnap_read_fail(r, part,
                            "thread %u is 'with' thread %u: that one needs the same 'with: %u' "
                            "and 'turn'",
                            orders[i].thread, orders[i].with, orders[i].with);
    }
}

static void read_schedule(struct psnap_reading *r, const struct psnap_yaml_node *list)
{
    struct psnap_stream_model *model = profile_of(r)->model;
    const struct psnap_yaml_node *map = psnap_read_list(r, list, "schedule");
    const bool is_of_threads = map && psnap_yaml_get(map, "thread");

    if (!psnap_read_heap(r, &model->orders, list->count, sizeof *model->orders))
        return;
    for (; map; map = is_of_threads ? psnap_read_next(r, map) : NULL) {
        struct model_order *order = &model->orders[model->order_count++];
        *order = (struct model_order){.turn = UINT32_MAX, .after = MODEL_NO_PLACE};
        order->terms.patterns = model->patterns;
        if (is_of_threads)
            read_thread_order(r, map, order);
        else
            read_order(r, list, symbol_of, &order->terms);
    }
    check_turns(r, list);
}

void write_model(const struct psnap_writing *w)
{
    const struct psnap_stream_model *model = profile_to(w)->profile->stream;
    struct psnap_yaml_node *list =
        psnap_yaml_add_sequence(w->doc, w->map, w->field->key, PSNAP_YAML_BLOCK);

    for (uint32_t i = 0; i < model->order_count; i++)
        if (model->order_count > 1 || model->orders[i].thread)
            psnap_record_write(w, list, NULL, &order_record, &model->orders[i]);
        else
            write_order(w, list, &model->orders[i].terms);
    if (model->chain_count)
        list = psnap_yaml_add_sequence(w->doc, w->map, "chains", PSNAP_YAML_BLOCK);
    for (uint32_t i = 0; i < model->chain_count; i++)
        write_chain(w, list, &model->chains[i], model->chain_ids[i]);
    if (model->object_count)
        list = psnap_yaml_add_sequence(w->doc, w->map, "objects", PSNAP_YAML_BLOCK);
    for (uint32_t i = 0; i < model->object_count; i++)
        write_object(w, list, &model->objects[i]);
}

void read_model(struct psnap_reading *r, const struct psnap_yaml_node *root,
                const struct psnap_yaml_node *loops)
{
    const struct psnap_yaml_node *schedule = psnap_read_require(r, root, "schedule");
    struct profile_reading *p = profile_of(r);

    if (r->status)
        return;
    read_objects(r, psnap_yaml_get(root, "objects"));
    read_of_loops(r, loops);
    read_chains(r, psnap_yaml_get(root, "chains"));
    read_schedule(r, schedule);
    if (r->status)
        return;
    r->status = model_count(p->model, r->error);
    if (r->status == PSNAP_ERROR_VALUE)
        psnap_error_at(r->error, psnap_yaml_name(r->doc), schedule->src_line, schedule->column);
    if (r->status)
        return;
    check_counts(r);
    if (!r->status)
        psnap_read_has(r, model_fill_regions(p->profile) ? NULL : p);
}
