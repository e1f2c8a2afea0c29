/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bodies of loops from YAML: the references that an iteration has, or, of a body `of` others, its
 * parts; and how many iterations executions have, a nest of numbers or a histogram (`drawn`).
 */
#include <inttypes.h>
#include <string.h>

#include "profile/yaml/read_model.h"

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

enum psnap_status model_read_body(const struct model_reading *m, const struct psnap_yaml_node *map,
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
