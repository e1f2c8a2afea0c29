/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chains and the schedule from YAML: in which order the bodies of loops execute. A state of a chain
 * is a body or an earlier chain; the schedule names bodies, and visits chains.
 */
#include <stdlib.h>
#include <string.h>

#include "profile/order/order.h"
#include "profile/yaml/read_model.h"

/* ---- chains ---- */

/* The body or chain of an id; PSNAP_NONE: there is none. */
static uint32_t symbol_named(const struct model_reading *m, const char *id)
{
    const struct model_name wanted = {.id = id};
    const uint32_t body = model_find(m->bodies, m->model->body_count, &wanted);

    if (body != PSNAP_NONE)
        return body;
    for (uint32_t i = 0; i < m->model->chain_count; i++)
        if (!strcmp(m->model->chain_ids[i], id))
            return MODEL_CHAIN | i;
    return PSNAP_NONE;
}

/* The state that a key names. */
static enum psnap_status read_state(const struct model_reading *m,
                                    const struct psnap_yaml_node *node, const struct chain *chain,
                                    const uint32_t *states, uint32_t *state)
{
    const uint32_t symbol = symbol_named(m, node->key);

    *state = 0;
    if (!strcmp(node->key, MODEL_OUTSIDE))
        return PSNAP_OK;
    if (symbol != PSNAP_NONE && !(symbol & MODEL_CHAIN))
        *state = states[symbol];
    for (uint32_t i = 1; symbol != PSNAP_NONE && symbol & MODEL_CHAIN && i < chain->count; i++)
        *state = chain->states[i].symbol == symbol ? i : *state;
    if (*state)
        return PSNAP_OK;
    return psnap_yaml_fail(m->r->doc, node, m->r->error, PSNAP_ERROR_VALUE,
                           "there is no %s '%.100s'",
                           symbol == PSNAP_NONE ? "body or earlier chain" : "state", node->key);
}

/* Transitions; states[body] is 0 for all bodies. */
static enum psnap_status read_after(const struct model_reading *m,
                                    const struct psnap_yaml_node *after, struct chain *chain,
                                    uint32_t *states)
{
    const struct reading *r = m->r;
    const struct psnap_yaml_node *row, *node;
    enum psnap_status status = psnap_yaml_expect(r->doc, after, PSNAP_YAML_MAP, "after", r->error);
    uint32_t from, to;
    uint64_t sum = 0;

    for (row = status ? NULL : after->first; row && !status; row = row->next) {
        const uint32_t symbol = symbol_named(m, row->key);
        if (!strcmp(row->key, MODEL_OUTSIDE) || symbol == PSNAP_NONE)
            continue;
        if (!(symbol & MODEL_CHAIN))
            states[symbol] = chain->count;
        if (chain_add_state(chain, symbol) == PSNAP_NONE)
            return read_out_of_memory(r);
    }
    for (row = status ? NULL : after->first; row && !status; row = row->next) {
        status = read_state(m, row, chain, states, &from);
        if (!status)
            status = psnap_yaml_expect(r->doc, row, PSNAP_YAML_MAP, row->key, r->error);
        for (node = status ? NULL : row->first; node && !status; node = node->next) {
            uint64_t count = 0;
            status = read_state(m, node, chain, states, &to);
            if (!status)
                status = model_read_positive(m, node, &count);
            if (!status)
                status = read_sum(r, node, count, &sum);
            chain->at = from;
            if (!status && !chain_go(chain, to, count))
                status = read_out_of_memory(r);
        }
    }
    chain->at = 0;
    return status;
}

enum psnap_status model_read_chains(struct model_reading *m, const struct psnap_yaml_node *list)
{
    static const char *const keys[] = {"id", "after", NULL};
    struct psnap_stream_model *model = m->model;
    uint32_t *states;
    enum psnap_status status = PSNAP_OK;

    if (list)
        status = psnap_yaml_expect(m->r->doc, list, PSNAP_YAML_SEQUENCE, "chains", m->r->error);
    if (status || !list)
        return status;
    states = malloc((model->body_count + (size_t)1) * sizeof *states);
    if (!states || !model_make_items(&model->chains, list->count, sizeof *model->chains) ||
        !model_make_items(&m->chains, list->count, sizeof *m->chains) ||
        !model_make_items(&model->chain_ids, list->count, sizeof(char *)))
        status = read_out_of_memory(m->r);
    for (const struct psnap_yaml_node *map = status ? NULL : list->first; map && !status;
         map = map->next) {
        const struct psnap_yaml_node *after;
        char *id = NULL;
        struct chain *chain = &model->chains[model->chain_count];
        m->chains[model->chain_count].index = model->chain_count;
        memset(states, 0, model->body_count * sizeof *states);
        status = psnap_yaml_expect_keys(m->r->doc, map, "a chain", keys, m->r->error);
        if (!status)
            status = model_read_name(m, map, &m->chains[model->chain_count], &id);
        if (!status && symbol_named(m, id) != PSNAP_NONE)
            status = psnap_yaml_fail(m->r->doc, psnap_yaml_get(map, "id"), m->r->error,
                                     PSNAP_ERROR_VALUE, "there is another '%.100s'", id);
        after = status ? NULL : psnap_yaml_require(m->r->doc, map, "after", m->r->error);
        if (!after || !chain_init(chain)) {
            free(id);
            status = after ? read_out_of_memory(m->r) : PSNAP_ERROR_VALUE;
            break;
        }
        status = read_after(m, after, chain, states);
        model->chain_ids[model->chain_count++] = id;
    }
    free(states);
    return status ? status : model_sort_names(m, m->chains, model->chain_count);
}

/* ---- the schedule ---- */

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
static enum psnap_status symbol_of(const void *context, const struct psnap_yaml_node *node,
                                   uint32_t *symbol)
{
    static const char *const keys[] = {"visit", NULL};
    const struct model_reading *m = context;
    const struct psnap_yaml_node *visit = psnap_yaml_get(node, "visit");
    struct model_name wanted = {0};
    enum psnap_status status = PSNAP_OK;

    if (node->kind == PSNAP_YAML_MAP)
        status = psnap_yaml_known_keys(m->r->doc, node, keys, m->r->error);
    if (!status)
        status = psnap_yaml_text(m->r->doc, visit ? visit : node, &wanted.id, m->r->error);
    if (status)
        return status;
    *symbol = visit ? model_find(m->chains, m->model->chain_count, &wanted)
                    : model_find(m->bodies, m->model->body_count, &wanted);
    if (*symbol == PSNAP_NONE)
        return psnap_yaml_fail(m->r->doc, visit ? visit : node, m->r->error, PSNAP_ERROR_VALUE,
                               "there is no %s '%.100s'", visit ? "chain" : "body", wanted.id);
    if (visit)
        *symbol |= MODEL_CHAIN;
    if (thread_of(m->model, *symbol) != m->model->orders[m->model->order_count - 1].thread)
        return psnap_yaml_fail(m->r->doc, visit ? visit : node, m->r->error, PSNAP_ERROR_VALUE,
                               "%s '%.100s' is another thread's", visit ? "chain" : "body",
                               wanted.id);
    return PSNAP_OK;
}

static enum psnap_status read_thread_order(struct model_reading *m,
                                           const struct psnap_yaml_node *map)
{
    static const char *const keys[] = {"thread", "after", "with", "turn", "of", NULL};
    const struct psnap_yaml_node *thread, *of, *turn = psnap_yaml_get(map, "turn"),
                                               *after = psnap_yaml_get(map, "after");
    struct model_order *order = &m->model->orders[m->model->order_count++];
    uint64_t number, with, most = UINT32_MAX;
    enum psnap_status status =
        psnap_yaml_expect_keys(m->r->doc, map, "a thread's part", keys, m->r->error);

    order->terms.patterns = m->model->patterns;
    thread = status ? NULL : psnap_yaml_require(m->r->doc, map, "thread", m->r->error);
    of = thread ? psnap_yaml_require(m->r->doc, map, "of", m->r->error) : NULL;
    if (!of || psnap_yaml_u64(m->r->doc, thread, 0, PSNAP_THREADS_MAX - 1, &number, m->r->error))
        return PSNAP_ERROR_VALUE;
    with = number;
    if (turn) {
        thread = psnap_yaml_require(m->r->doc, map, "with", m->r->error);
        if (!thread ||
            psnap_yaml_u64(m->r->doc, thread, 0, PSNAP_THREADS_MAX - 1, &with, m->r->error) ||
            psnap_yaml_u64(m->r->doc, turn, 1, UINT32_MAX - 1, &most, m->r->error))
            return PSNAP_ERROR_VALUE;
    } else if (psnap_yaml_get(map, "with") &&
               !psnap_yaml_require(m->r->doc, map, "turn", m->r->error))
        return PSNAP_ERROR_VALUE;
    order->after = MODEL_NO_PLACE;
    if (after &&
        psnap_yaml_u64(m->r->doc, after, 0, MODEL_NO_PLACE - 1, &order->after, m->r->error))
        return PSNAP_ERROR_VALUE;
    if (after && !number)
        return psnap_yaml_fail(m->r->doc, after, m->r->error, PSNAP_ERROR_VALUE,
                               "thread 0 begins after no access of its own");
    order->thread = (uint16_t)number;
    order->with = (uint16_t)with;
    order->turn = (uint32_t)most;
    return read_order(m->r, of, symbol_of, m, &order->terms);
}

/* Whether the thread that each part is said to be together with is there, and says the same. */
static enum psnap_status check_turns(const struct model_reading *m,
                                     const struct psnap_yaml_node *list)
{
    const struct model_order *orders = m->model->orders;
    const struct psnap_yaml_node *part = list->first;

    for (uint32_t i = 0; i < m->model->order_count; i++, part = part->next) {
        uint32_t k = 0;
        while (k < m->model->order_count && orders[k].thread != orders[i].with)
            k++;
        if (k == m->model->order_count || orders[k].with != orders[i].with ||
            orders[k].turn != orders[i].turn)
            return psnap_yaml_fail(
                m->r->doc, part, m->r->error, PSNAP_ERROR_VALUE,
                "thread %u is 'with' thread %u: that one needs the same 'with: %u' "
                "and 'turn'",
                orders[i].thread, orders[i].with, orders[i].with);
    }
    return PSNAP_OK;
}

enum psnap_status model_read_schedule(struct model_reading *m, const struct psnap_yaml_node *list)
{
    enum psnap_status status =
        psnap_yaml_expect(m->r->doc, list, PSNAP_YAML_SEQUENCE, "schedule", m->r->error);

    if (!status && !model_make_items(&m->model->orders, list->count, sizeof *m->model->orders))
        status = read_out_of_memory(m->r);
    if (status || !list->count)
        return status;
    if (psnap_yaml_get(list->first, "thread")) {
        for (const struct psnap_yaml_node *map = list->first; map && !status; map = map->next)
            status = read_thread_order(m, map);
        return status ? status : check_turns(m, list);
    }
    m->model->order_count = 1;
    m->model->orders[0].turn = UINT32_MAX;
    m->model->orders[0].after = MODEL_NO_PLACE;
    m->model->orders[0].terms.patterns = m->model->patterns;
    return read_order(m->r, list, symbol_of, m, &m->model->orders[0].terms);
}
