/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The model of a stream from YAML, as a whole: objects (read_reuse.c), references (read_refs.c)
 * and bodies (read_bodies.c) of all loops, chains and the schedule (read_schedule.c), in this
 * order, since each names those before it. Then counts are checked against each other. A name of
 * something that is not there, or a contradiction to another place, is an error at its line.
 */
#include "profile/yaml/read_model.h"

#include <inttypes.h>
#include <stdlib.h>

#define REF_NUMBERS 65536u   /* of references, whatever the profile has, */
#define REF_NUMBERS_EACH 16u /* and more for each that it has */

/* A replayed program has a row for each number from 0 to a loop's largest: of all loops together
 * not many more than there are references, whose sorted names these are. */
static enum psnap_status check_ref_numbers(const struct model_reading *m)
{
    const uint32_t count = m->model->ref_count;
    const uint64_t most = REF_NUMBERS + REF_NUMBERS_EACH * (uint64_t)count;
    uint64_t rows = 0;

    for (uint32_t i = 0; i < count; i++) {
        const struct model_name *name = &m->refs[i];
        if (i + 1 < count && name[1].loop == name->loop)
            continue;
        rows += name->number + UINT64_C(1);
        if (rows > most)
            return psnap_yaml_fail(m->r->doc, name->node, m->r->error, PSNAP_ERROR_VALUE,
                                   "the numbers of references up to here, from 0 to the largest of "
                                   "each loop, are %" PRIu64 ", but at most %" PRIu64
                                   " are possible with %" PRIu32 " reference%s",
                                   rows, most, count, count == 1 ? "" : "s");
    }
    return PSNAP_OK;
}

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
    if (!status)
        status = check_ref_numbers(m);
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
            status = model_read_body(m, node, loop, &model->bodies[model->body_count],
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
        status = model_read_chains(&m, psnap_yaml_get(root, "chains"));
    if (!status)
        status = model_read_schedule(&m, schedule);
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
