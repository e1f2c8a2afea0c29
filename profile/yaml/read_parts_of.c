/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bodies that are several others one after the other, `of`, from YAML: the parts that the compiler
 * made of a loop of the source. When such a body has iterations these tell those of its parts.
 */
#include <stdlib.h>

#include "profile/yaml/read_model.h"

static enum psnap_status read_part(const struct model_reading *m,
                                   const struct psnap_yaml_node *node,
                                   const struct model_body *whole, struct expand_part *part)
{
    static const char *const keys[] = {"body", "width", "leaves", "from", NULL};
    const struct reading *r = m->r;
    const bool is_map = node->kind == PSNAP_YAML_MAP;
    const struct psnap_yaml_node *id = node;
    struct model_name wanted = {0};
    const struct model_body *body;
    enum psnap_status status = PSNAP_OK;

    if (is_map) {
        status = psnap_yaml_expect_keys(r->doc, node, "a part", keys, r->error);
        id = status ? NULL : psnap_yaml_require(r->doc, node, "body", r->error);
    }
    if (!id || psnap_yaml_text(r->doc, id, &wanted.id, r->error))
        return PSNAP_ERROR_VALUE;
    part->body = model_find(m->bodies, m->model->body_count, &wanted);
    body = part->body == PSNAP_NONE ? NULL : &m->model->bodies[part->body];
    if (!body || body->part_count || body->thread != whole->thread)
        return psnap_yaml_fail(r->doc, id, r->error, PSNAP_ERROR_VALUE,
                               "there is no body '%.100s' that could be a part", wanted.id);
    part->width = 1;
    if (is_map && !whole->is_counted)
        return psnap_yaml_fail(r->doc, node, r->error, PSNAP_ERROR_VALUE,
                               "without 'iterations' parts are ids");
    if (is_map)
        status = read_count(r, node, "width", 1, &part->width);
    if (!status && is_map)
        status = read_count(r, node, "leaves", 0, &part->leaves);
    part->from = part->width + part->leaves;
    if (!status && is_map)
        status = read_count(r, node, "from", part->from, &part->from);
    if (!status && !part->width)
        status = psnap_yaml_fail(r->doc, node, r->error, PSNAP_ERROR_VALUE, "'width' is 0");
    if (!status && part->from < part->leaves)
        status = psnap_yaml_fail(r->doc, node, r->error, PSNAP_ERROR_VALUE,
                                 "'from' is less than 'leaves'");
    return status;
}

/* Whether widths differ and one part, of width 1, takes all that is left. */
static bool are_widths(const struct model_body *whole)
{
    uint32_t ones = 0;

    for (uint32_t i = 0; i < whole->part_count; i++) {
        const struct expand_part *part = &whole->parts[i];
        ones += part->width == 1;
        if (part->width == 1 && (part->leaves || part->from > 1))
            return false;
        for (uint32_t k = 0; k < i; k++)
            if (whole->parts[k].width == part->width || whole->parts[k].body == part->body)
                return false;
    }
    return ones == 1;
}

enum psnap_status model_read_parts(const struct model_reading *m, const struct psnap_yaml_node *map,
                                   struct model_body *whole)
{
    const struct psnap_yaml_node *list = psnap_yaml_get(map, "of");
    enum psnap_status status = PSNAP_OK;
    uint32_t count = 0;

    for (const struct psnap_yaml_node *node = list->first; node && !status; node = node->next)
        status = read_part(m, node, whole, &whole->parts[count++]);
    if (!status && whole->is_counted && !are_widths(whole))
        status = psnap_yaml_fail(m->r->doc, list, m->r->error, PSNAP_ERROR_VALUE,
                                 "widths of parts must differ, and one of them must be 1");
    for (uint32_t i = 0; i < count && !status && whole->is_counted; i++) {
        struct model_body *part = &m->model->bodies[whole->parts[i].body];
        if (part->is_part || part->trips.count || part->is_drawn)
            status = psnap_yaml_fail(m->r->doc, list, m->r->error, PSNAP_ERROR_VALUE,
                                     "part '%.100s' has iterations by another rule", part->id);
        part->is_part = true;
    }
    return status;
}

enum psnap_status model_default_iterations(const struct model_reading *m)
{
    static const uint64_t once[2] = {1, 1};
    const struct psnap_stream_model *model = m->model;

    for (uint32_t i = 0; i < model->body_count; i++) {
        struct model_body *body = &model->bodies[i];
        const struct nest_pattern *run;
        if (body->part_count || body->is_part || body->trips.count || body->is_drawn)
            continue;
        run = nest_pattern_run(model->patterns, 0);
        if (!run || !nest_terms_push(&body->trips, run, once))
            return read_out_of_memory(m->r);
    }
    return PSNAP_OK;
}
