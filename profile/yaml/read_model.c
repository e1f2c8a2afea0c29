/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The model of a stream from YAML: objects, bodies and references of loops, chains, and the
 * schedule. What names something that is not there, or contradicts what stands elsewhere, is an
 * error with its place.
 */
#include "profile/yaml/read_model.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/layout.h"
#include "formats/base/room.h"
#include "profile/order/order.h"
#include "profile/yaml/yaml_keys.h"

/* ---- names ---- */

static int compare_names(const void *a, const void *b)
{
    const struct model_name *p = a, *q = b;

    if (p->id && q->id)
        return strcmp(p->id, q->id);
    if (p->loop != q->loop)
        return p->loop < q->loop ? -1 : 1;
    return p->number < q->number ? -1 : p->number > q->number;
}

/* Sorts names; two equal ones are an error. */
enum psnap_status model_sort_names(const struct model_reading *m, struct model_name *names,
                                   uint32_t count)
{
    if (count)
        qsort(names, count, sizeof *names, compare_names);
    for (uint32_t i = 1; i < count; i++)
        if (!compare_names(&names[i - 1], &names[i]))
            return psnap_yaml_fail(m->r->doc, names[i].node, m->r->error, PSNAP_ERROR_VALUE,
                                   "there is another one in line %" PRIu32,
                                   names[i - 1].node->src_line);
    return PSNAP_OK;
}

/* The index of what is called so; PSNAP_NONE: nothing is. */
uint32_t model_find(const struct model_name *names, uint32_t count, const struct model_name *wanted)
{
    const struct model_name *found =
        count ? bsearch(wanted, names, count, sizeof *names, compare_names) : NULL;

    return found ? found->index : PSNAP_NONE;
}

enum psnap_status model_read_name(const struct model_reading *m, const struct psnap_yaml_node *map,
                                  struct model_name *name, char **id)
{
    const struct psnap_yaml_node *node = psnap_yaml_require(m->r->doc, map, "id", m->r->error);
    enum psnap_status status;

    if (!node)
        return PSNAP_ERROR_VALUE;
    name->node = node;
    status = psnap_yaml_text(m->r->doc, node, &name->id, m->r->error);
    if (!status && id && !(*id = strdup(name->id)))
        status = read_out_of_memory(m->r);
    return status;
}

/* Makes room for `count` items, zeroed; false: out of memory. */
bool model_make_items(void *array, size_t count, size_t size)
{
    void *items = calloc(count + 1, size);

    memcpy(array, &items, sizeof items);
    return items != NULL;
}

/* A key of a histogram as a number. */
enum psnap_status model_read_key(const struct model_reading *m, const struct psnap_yaml_node *node,
                                 int64_t *number)
{
    char *end;

    errno = 0;
    *number = strtoll(node->key, &end, 10);
    if (*end || end == node->key || errno)
        return psnap_yaml_fail(m->r->doc, node, m->r->error, PSNAP_ERROR_VALUE,
                               "the key '%.60s' is no number", node->key);
    return PSNAP_OK;
}

enum psnap_status model_read_positive(const struct model_reading *m,
                                      const struct psnap_yaml_node *node, uint64_t *count)
{
    return psnap_yaml_u64(m->r->doc, node, 1, PSNAP_COUNT_MAX, count, m->r->error);
}

/* ---- bodies ---- */

static enum psnap_status read_drawn(const struct model_reading *m,
                                    const struct psnap_yaml_node *list, struct trips *trips)
{
    static const char *const keys[] = {"is", "from", "to", "times", "sum", NULL};
    const struct reading *r = m->r;
    enum psnap_status status =
        psnap_yaml_expect(r->doc, list, PSNAP_YAML_SEQUENCE, "drawn", r->error);

    if (!status && (!list->count || list->count > TRIPS_BINS))
        status = psnap_yaml_fail(r->doc, list, r->error, PSNAP_ERROR_VALUE,
                                 "1 to %d bins are possible", TRIPS_BINS);
    if (!status && !model_make_items(&trips->bins, list->count, sizeof *trips->bins))
        status = read_out_of_memory(r);
    for (const struct psnap_yaml_node *map = status ? NULL : list->first; map && !status;
         map = map->next) {
        struct trips_bin *bin = &trips->bins[trips->count++];
        const struct psnap_yaml_node *is = psnap_yaml_get(map, "is"), *from = is, *to = is, *node;
        status = psnap_yaml_expect_keys(r->doc, map, "a bin", keys, r->error);
        if (!status && !is) {
            from = psnap_yaml_require(r->doc, map, "from", r->error);
            to = from ? psnap_yaml_require(r->doc, map, "to", r->error) : NULL;
        }
        node = status || !to ? NULL : psnap_yaml_require(r->doc, map, "times", r->error);
        if (!node)
            return PSNAP_ERROR_VALUE;
        if (!status)
            status = psnap_yaml_u64(r->doc, from, 0, PSNAP_COUNT_MAX, &bin->low, r->error);
        if (!status)
            status = psnap_yaml_u64(r->doc, to, 0, PSNAP_COUNT_MAX, &bin->high, r->error);
        if (!status)
            status = model_read_positive(m, node, &bin->times);
        if (!status && bin->high < bin->low)
            status = psnap_yaml_fail(r->doc, to, r->error, PSNAP_ERROR_VALUE,
                                     "'to' is less than 'from'");
        if (!status && bin->high > PSNAP_COUNT_MAX / bin->times)
            status = psnap_yaml_fail(r->doc, node, r->error, PSNAP_ERROR_VALUE, "too much");
        if (status)
            return status;
        status = read_count(r, map, "sum", (bin->low + bin->high) * bin->times / 2, &bin->sum);
        if (!status && (bin->sum < bin->low * bin->times || bin->sum > bin->high * bin->times))
            status = psnap_yaml_fail(
                r->doc, psnap_yaml_get(map, "sum"), r->error, PSNAP_ERROR_VALUE,
                "the sum of %" PRIu64 " counts of %" PRIu64 " to %" PRIu64 " cannot be %" PRIu64,
                bin->times, bin->low, bin->high, bin->sum);
        if (!status)
            status = read_sum(r, node, bin->times, &trips->times);
        if (!status)
            status = read_sum(r, node, bin->sum, &trips->sum);
    }
    return status;
}

static enum psnap_status read_iterations(const struct model_reading *m,
                                         const struct psnap_yaml_node *map, struct model_body *body)
{
    static const char *const keys[] = {"drawn", "start", "nest", "counts", "strides", NULL};
    const struct reading *r = m->r;
    const struct psnap_yaml_node *node = psnap_yaml_get(map, "iterations"), *drawn;
    const struct nest_pattern *run;
    uint64_t values[2] = {1, 0};
    enum psnap_status status;

    body->trips.patterns = m->model->patterns;
    if (!node)
        return PSNAP_OK; /* a part's, or one: model_default_iterations */
    if (node->kind == PSNAP_YAML_SCALAR) {
        status = model_read_positive(m, node, &values[1]);
        run = status ? NULL : nest_pattern_run(m->model->patterns, 0);
        if (!status && (!run || !nest_terms_push(&body->trips, run, values)))
            status = read_out_of_memory(r);
        return status;
    }
    status = psnap_yaml_expect_keys(r->doc, node, "iterations", keys, r->error);
    drawn = psnap_yaml_get(node, "drawn");
    body->is_drawn = drawn != NULL;
    if (status)
        return status;
    return drawn ? read_drawn(m, drawn, &body->histogram)
                 : read_numbers(r, node, NULL, &body->trips);
}

/* A body of parts, which are looked up when all bodies are there. */
static enum psnap_status read_whole(const struct model_reading *m,
                                    const struct psnap_yaml_node *map,
                                    const struct psnap_yaml_node *of, struct model_body *body)
{
    enum psnap_status status =
        psnap_yaml_expect(m->r->doc, of, PSNAP_YAML_SEQUENCE, "of", m->r->error);

    if (!status && (!of->count || of->count > EXPAND_PARTS || psnap_yaml_get(map, "refs")))
        status = psnap_yaml_fail(m->r->doc, of, m->r->error, PSNAP_ERROR_VALUE,
                                 "a body has references, or is of 1 to %d parts", EXPAND_PARTS);
    if (status)
        return status;
    if (!model_make_items(&body->parts, of->count, sizeof *body->parts))
        return read_out_of_memory(m->r);
    body->part_count = (uint32_t)of->count;
    status = read_iterations(m, map, body);
    body->is_counted = body->trips.count > 0;
    if (!status && body->is_drawn)
        status = psnap_yaml_fail(m->r->doc, psnap_yaml_get(map, "iterations"), m->r->error,
                                 PSNAP_ERROR_VALUE,
                                 "drawn iterations do not tell those of parts, which must have "
                                 "their own");
    return status;
}

static enum psnap_status read_body(const struct model_reading *m, const struct psnap_yaml_node *map,
                                   uint32_t loop, struct model_body *body, struct model_name *name)
{
    static const char *const keys[] = {"id", "thread", "refs", "of", "iterations", NULL};
    const struct reading *r = m->r;
    const struct psnap_yaml_node *refs, *node, *of;
    uint64_t thread = 0;
    enum psnap_status status = psnap_yaml_expect_keys(r->doc, map, "a body", keys, r->error);

    body->loop = loop;
    if (!status)
        status = model_read_name(m, map, name, &body->id);
    if (!status && !strcmp(name->id, MODEL_OUTSIDE))
        status = psnap_yaml_fail(r->doc, name->node, r->error, PSNAP_ERROR_VALUE,
                                 "'%s' is no name of a body", MODEL_OUTSIDE);
    node = psnap_yaml_get(map, "thread");
    if (!status && node)
        status = psnap_yaml_u64(r->doc, node, 0, PSNAP_THREADS_MAX - 1, &thread, r->error);
    body->thread = (uint16_t)thread;
    of = psnap_yaml_get(map, "of");
    if (!status && of)
        return read_whole(m, map, of, body);
    refs = status ? NULL : psnap_yaml_require(r->doc, map, "refs", r->error);
    if (!refs || psnap_yaml_expect(r->doc, refs, PSNAP_YAML_SEQUENCE, "refs", r->error))
        return PSNAP_ERROR_VALUE;
    if (!refs->count)
        return psnap_yaml_fail(r->doc, refs, r->error, PSNAP_ERROR_VALUE, "a body has references");
    if (!model_make_items(&body->refs, refs->count, sizeof *body->refs))
        return read_out_of_memory(r);
    for (node = refs->first; node && !status; node = node->next) {
        struct model_name wanted = {.loop = loop};
        uint64_t number;
        status = psnap_yaml_u64(r->doc, node, 0, UINT32_MAX / 2, &number, r->error);
        wanted.number = (uint32_t)number;
        body->refs[body->width] = model_find(m->refs, m->model->ref_count, &wanted);
        for (uint32_t k = 0; !status && k < body->width; k++)
            if (body->refs[k] == body->refs[body->width])
                status = psnap_yaml_fail(r->doc, node, r->error, PSNAP_ERROR_VALUE,
                                         "reference %" PRIu64 " is in the body twice", number);
        if (!status && body->refs[body->width] == PSNAP_NONE)
            status = psnap_yaml_fail(r->doc, node, r->error, PSNAP_ERROR_VALUE,
                                     "the loop has no reference %" PRIu64, number);
        if (!status && m->model->refs[body->refs[body->width]].thread != body->thread)
            status = psnap_yaml_fail(r->doc, node, r->error, PSNAP_ERROR_VALUE,
                                     "reference %" PRIu64 " is another thread's", number);
        body->width++;
    }
    return status ? status : read_iterations(m, map, body);
}

/* ---- chains, schedule ---- */

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

static enum psnap_status read_chains(struct model_reading *m, const struct psnap_yaml_node *list)
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

/* The thread of a symbol: a chain's is that of its first state. */
static uint16_t thread_of(const struct psnap_stream_model *model, uint32_t symbol)
{
    for (int depth = 0; symbol & MODEL_CHAIN && depth < ORDER_DEPTH; depth++) {
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
    static const char *const keys[] = {"thread", "of", NULL};
    const struct psnap_yaml_node *thread, *of;
    struct model_order *order = &m->model->orders[m->model->order_count++];
    uint64_t number;
    enum psnap_status status =
        psnap_yaml_expect_keys(m->r->doc, map, "a thread's part", keys, m->r->error);

    order->terms.patterns = m->model->patterns;
    thread = status ? NULL : psnap_yaml_require(m->r->doc, map, "thread", m->r->error);
    of = thread ? psnap_yaml_require(m->r->doc, map, "of", m->r->error) : NULL;
    if (!of || psnap_yaml_u64(m->r->doc, thread, 0, PSNAP_THREADS_MAX - 1, &number, m->r->error))
        return PSNAP_ERROR_VALUE;
    order->thread = (uint16_t)number;
    return read_order(m->r, of, symbol_of, m, &order->terms);
}

static enum psnap_status read_schedule_of(struct model_reading *m,
                                          const struct psnap_yaml_node *list)
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
        return status;
    }
    m->model->order_count = 1;
    m->model->orders[0].terms.patterns = m->model->patterns;
    return read_order(m->r, list, symbol_of, m, &m->model->orders[0].terms);
}

/* ---- the whole ---- */

/* References and bodies of all loops. */
static enum psnap_status read_loops_of(struct model_reading *m, const struct psnap_yaml_node *loops,
                                       const struct name_index *names)
{
    struct psnap_stream_model *model = m->model;
    size_t refs = 0, bodies = 0;
    uint32_t loop = 0;
    enum psnap_status status = PSNAP_OK;

    for (const struct psnap_yaml_node *map = loops->first; map; map = map->next) {
        const struct psnap_yaml_node *list = psnap_yaml_get(map, "references");
        refs += list ? list->count : 0;
        list = psnap_yaml_get(map, "bodies");
        bodies += list ? list->count : 0;
    }
    if (!model_make_items(&model->refs, refs, sizeof *model->refs) ||
        !model_make_items(&model->bodies, bodies, sizeof *model->bodies) ||
        !model_make_items(&m->refs, refs, sizeof *m->refs) ||
        !model_make_items(&m->bodies, bodies, sizeof *m->bodies) ||
        !model_make_items(&m->ref_nodes, refs, sizeof(struct psnap_yaml_node *)) ||
        !model_make_items(&m->body_nodes, bodies, sizeof(struct psnap_yaml_node *)))
        return read_out_of_memory(m->r);
    for (const struct psnap_yaml_node *map = loops->first; map && !status;
         map = map->next, loop++) {
        const struct psnap_yaml_node *list = psnap_yaml_get(map, "references");
        if (list)
            status =
                psnap_yaml_expect(m->r->doc, list, PSNAP_YAML_SEQUENCE, "references", m->r->error);
        for (const struct psnap_yaml_node *node = list ? list->first : NULL; node && !status;
             node = node->next) {
            m->ref_nodes[model->ref_count] = node;
            status = model_read_ref(m, node, loop, &model->refs[model->ref_count],
                                    &m->refs[model->ref_count]);
            m->refs[model->ref_count].index = model->ref_count;
            model->ref_count++;
        }
    }
    if (!status)
        status = model_sort_names(m, m->refs, model->ref_count);
    for (uint32_t i = 0; i < model->ref_count && !status; i++)
        if (model->refs[i].rule == MODEL_DEPENDENT)
            status = model_read_bases(m, m->ref_nodes[i], names, &model->refs[i]);
        else if (model->refs[i].rule == MODEL_SHARED)
            status = model_read_sweep(m, m->ref_nodes[i], names, &model->refs[i]);
    if (!status)
        status = model_check_bases(m);
    loop = 0;
    for (const struct psnap_yaml_node *map = loops->first; map && !status;
         map = map->next, loop++) {
        const struct psnap_yaml_node *list = psnap_yaml_get(map, "bodies");
        if (list)
            status = psnap_yaml_expect(m->r->doc, list, PSNAP_YAML_SEQUENCE, "bodies", m->r->error);
        for (const struct psnap_yaml_node *node = list ? list->first : NULL; node && !status;
             node = node->next) {
            m->body_nodes[model->body_count] = node;
            status = read_body(m, node, loop, &model->bodies[model->body_count],
                               &m->bodies[model->body_count]);
            m->bodies[model->body_count].index = model->body_count;
            model->body_count++;
        }
    }
    if (!status)
        status = model_sort_names(m, m->bodies, model->body_count);
    for (uint32_t i = 0; i < model->body_count && !status; i++)
        if (model->bodies[i].part_count)
            status = model_read_parts(m, m->body_nodes[i], &model->bodies[i]);
    return status ? status : model_default_iterations(m);
}

/* That references have addresses for as many accesses as bodies iterate. */
static enum psnap_status check_counts(const struct model_reading *m)
{
    const struct psnap_stream_model *model = m->model;
    uint64_t *takes = NULL;
    enum psnap_status status =
        model_count_takes(model, &takes) ? PSNAP_OK : read_out_of_memory(m->r);

    for (uint32_t i = 0; i < model->ref_count && !status; i++) {
        const struct model_ref *ref = &model->refs[i];
        uint64_t count = 0;
        for (uint32_t k = 0; k < ref->reuse_count && !status; k++)
            for (uint32_t b = 0; b < ref->reuses[k].bin_count && !status; b++)
                status = read_sum(m->r, m->ref_nodes[i], ref->reuses[k].bins[b].count, &count);
        for (size_t k = 0; k < ref->addresses.count && !status; k++)
            status = read_sum(
                m->r, m->ref_nodes[i],
                nest_length(ref->addresses.terms[k].pattern, nest_term_values(&ref->addresses, k)),
                &count);
        if (!status && ref->rule != MODEL_DEPENDENT && ref->rule != MODEL_SHARED &&
            (!count || takes[i] % count))
            status = psnap_yaml_fail(m->r->doc, m->ref_nodes[i], m->r->error, PSNAP_ERROR_VALUE,
                                     "reference %" PRIu32 " has addresses for %" PRIu64
                                     " %s, but bodies make %" PRIu64 " of it",
                                     ref->number, count, ref->element ? "elements" : "accesses",
                                     takes[i]);
    }
    free(takes);
    return status;
}

enum psnap_status read_model(const struct reading *r, const struct psnap_yaml_node *root,
                             const struct psnap_yaml_node *loops, const struct name_index *names)
{
    const struct psnap_yaml_node *schedule = psnap_yaml_require(r->doc, root, "schedule", r->error);
    struct model_reading m = {.r = r, .model = model_new()};
    enum psnap_status status = m.model ? PSNAP_OK : read_out_of_memory(r);

    r->profile->stream = m.model;
    if (!schedule)
        return PSNAP_ERROR_VALUE;
    if (!status)
        status = model_read_objects(&m, psnap_yaml_get(root, "objects"));
    if (!status)
        status = read_loops_of(&m, loops, names);
    if (!status)
        status = read_chains(&m, psnap_yaml_get(root, "chains"));
    if (!status)
        status = read_schedule_of(&m, schedule);
    if (!status) {
        status = model_count(m.model, r->error);
        if (status == PSNAP_ERROR_VALUE)
            psnap_error_at(r->error, psnap_yaml_name(r->doc), schedule->src_line, schedule->column);
    }
    if (!status)
        status = check_counts(&m);
    if (!status && model_fill_regions(r->profile))
        status = read_out_of_memory(r);
    if (!status)
        status = check_loops(r, loops);
    free(m.bodies);
    free(m.refs);
    free(m.chains);
    free(m.objects);
    free(m.ref_nodes);
    free(m.body_nodes);
    return status;
}
