/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * References of a stream's model from YAML: where each one goes, by a nest of addresses
 * (read_numbers.c), by bases and offsets, as a part of another one's sweep, or by reuse histograms
 * (read_reuse.c).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/base/capture_abi.h"
#include "profile/yaml/read_model.h"

static const char *const ref_kinds[3] = {"load", "store", "atomic"};

/* Offsets from a base, which is looked up when all references are there. */
static enum psnap_status read_offsets(const struct model_reading *m,
                                      const struct psnap_yaml_node *map, struct model_ref *ref)
{
    const struct reading *r = m->r;
    const struct psnap_yaml_node *offset = psnap_yaml_get(map, "offset"), *node;
    const struct psnap_yaml_node *offsets = psnap_yaml_get(map, "offsets");
    enum psnap_status status = PSNAP_OK;

    ref->rule = MODEL_DEPENDENT;
    if (!offset == !offsets)
        return psnap_yaml_fail(r->doc, map, r->error, PSNAP_ERROR_VALUE,
                               "a dependent reference has 'offset' or 'offsets'");
    if (offset) {
        ref->offset_count = 1;
        ref->offsets[0].count = 1;
        return psnap_yaml_i64(r->doc, offset, INT64_MIN, INT64_MAX, &ref->offsets[0].bytes,
                              r->error);
    }
    status = psnap_yaml_expect(r->doc, offsets, PSNAP_YAML_MAP, "offsets", r->error);
    if (!status && (!offsets->count || offsets->count > DEPEND_OFFSETS))
        status = psnap_yaml_fail(r->doc, offsets, r->error, PSNAP_ERROR_VALUE,
                                 "1 to %d offsets are possible", DEPEND_OFFSETS);
    for (node = status ? NULL : offsets->first; node && !status; node = node->next) {
        status = model_read_key(m, node, &ref->offsets[ref->offset_count].bytes);
        if (!status)
            status = model_read_positive(m, node, &ref->offsets[ref->offset_count++].count);
    }
    return status;
}

static enum psnap_status read_mark(const struct reading *r, const struct psnap_yaml_node *node,
                                   struct model_ref *ref)
{
    const char *mark;
    enum psnap_status status = psnap_yaml_text(r->doc, node, &mark, r->error);

    if (!status && !psnap_capture_is_mark(mark, PSNAP_MARK_KIND))
        status =
            psnap_yaml_fail(r->doc, node, r->error, PSNAP_ERROR_VALUE,
                            "no mark '%.40s': they are those of predict/multicore/MULTICORE.md,"
                            " as omp.parallel",
                            mark);
    if (!status)
        snprintf(ref->mark, sizeof ref->mark, "%s", mark);
    return status;
}

enum psnap_status model_read_ref(const struct model_reading *m, const struct psnap_yaml_node *map,
                                 uint32_t loop, struct model_ref *ref, struct model_name *name)
{
    static const char *const keys[] = {"ref",    "load",    "store",  "atomic",  "thread",
                                       "region", "start",   "nest",   "counts",  "strides",
                                       "base",   "bases",   "offset", "offsets", "reuse",
                                       "sweep",  "element", "mark",   NULL};
    static const char *const of_runs[] = {"region", "counts", "strides"};
    const struct reading *r = m->r;
    const struct psnap_yaml_node *node, *base, *reuse, *sweep;
    uint64_t number = 0, size = 0, kinds = 0, thread = 0, element = 0;
    enum psnap_status status = psnap_yaml_expect_keys(r->doc, map, "a reference", keys, r->error);

    node = status ? NULL : psnap_yaml_require(r->doc, map, "ref", r->error);
    if (!node)
        return PSNAP_ERROR_VALUE;
    status = psnap_yaml_u64(r->doc, node, 0, UINT32_MAX / 2, &number, r->error);
    *name = (struct model_name){.loop = loop, .number = (uint32_t)number, .node = node};
    for (uint8_t kind = 0; kind < 3 && !status; kind++) {
        node = psnap_yaml_get(map, ref_kinds[kind]);
        if (!node)
            continue;
        ref->kind = kind;
        kinds++;
        status = psnap_yaml_u64(r->doc, node, 1, PSNAP_ACCESS_SIZE_MAX, &size, r->error);
    }
    if (!status && kinds != 1)
        status = psnap_yaml_fail(r->doc, map, r->error, PSNAP_ERROR_VALUE,
                                 "a reference has one of 'load', 'store' and 'atomic'");
    node = psnap_yaml_get(map, "thread");
    if (!status && node)
        status = psnap_yaml_u64(r->doc, node, 0, PSNAP_THREADS_MAX - 1, &thread, r->error);
    node = psnap_yaml_get(map, "mark");
    if (!status && node)
        status = read_mark(r, node, ref);
    ref->loop = loop;
    ref->number = (uint32_t)number;
    ref->size = (uint8_t)size;
    ref->thread = (uint16_t)thread;
    ref->addresses.patterns = m->model->patterns;
    base = psnap_yaml_get(map, "base");
    base = base ? base : psnap_yaml_get(map, "bases");
    reuse = psnap_yaml_get(map, "reuse");
    sweep = psnap_yaml_get(map, "sweep");
    if (!status && (base != NULL) + (reuse != NULL) + (sweep != NULL) +
                           (psnap_yaml_get(map, "start") || psnap_yaml_get(map, "nest")) !=
                       1)
        status = psnap_yaml_fail(r->doc, map, r->error, PSNAP_ERROR_VALUE,
                                 "a reference has addresses ('start' or 'nest'), a 'base', a "
                                 "'sweep', or 'reuse' times");
    node = psnap_yaml_get(map, "element");
    if (!status && node && (base || reuse || sweep))
        status = psnap_yaml_fail(r->doc, node, r->error, PSNAP_ERROR_VALUE,
                                 "only addresses are of elements");
    if (!status && node)
        status = psnap_yaml_u64(r->doc, node, 1, size, &element, r->error);
    if (!status && element && size % element)
        status =
            psnap_yaml_fail(r->doc, node, r->error, PSNAP_ERROR_VALUE,
                            "an access of %" PRIu64 " bytes has no whole number of elements", size);
    ref->element = (uint8_t)element;
    for (size_t i = 0; i < sizeof of_runs / sizeof *of_runs && !status; i++) {
        node = psnap_yaml_get(map, of_runs[i]);
        if (node && !psnap_yaml_get(map, "start") && (i || !psnap_yaml_get(map, "nest")))
            status = psnap_yaml_fail(r->doc, node, r->error, PSNAP_ERROR_VALUE,
                                     "'%s' is of a reference with 'start'", of_runs[i]);
    }
    if (status)
        return status;
    if (sweep) {
        ref->rule = MODEL_SHARED;
        return PSNAP_OK; /* whose it is is looked up when all references are there */
    }
    if (base)
        return read_offsets(m, map, ref);
    if (reuse)
        return model_read_reuse(m, reuse, ref);
    return read_numbers(r, map, &r->profile->loops[loop], &ref->addresses);
}

/* A base of a dependent reference, or the one whose sweep another one shares. */
static enum psnap_status read_base(const struct model_reading *m,
                                   const struct psnap_yaml_node *node,
                                   const struct name_index *names, const struct model_ref *ref,
                                   uint32_t *base)
{
    static const char *const keys[] = {"loop", "ref", NULL};
    const struct reading *r = m->r;
    const struct psnap_yaml_node *number = node, *loop;
    struct model_name wanted = {.loop = ref->loop};
    uint64_t value;
    enum psnap_status status = PSNAP_OK;

    if (node->kind == PSNAP_YAML_MAP) {
        const struct named_node *named = NULL;
        status = psnap_yaml_known_keys(r->doc, node, keys, r->error);
        loop = status ? NULL : psnap_yaml_require(r->doc, node, "loop", r->error);
        number = loop ? psnap_yaml_require(r->doc, node, "ref", r->error) : NULL;
        if (!number)
            return PSNAP_ERROR_VALUE;
        if (loop->text)
            named = find_name(names, loop->text);
        if (!named)
            return psnap_yaml_fail(r->doc, loop, r->error, PSNAP_ERROR_VALUE, "no such loop");
        wanted.loop = named->index;
    }
    status = psnap_yaml_u64(r->doc, number, 0, UINT32_MAX / 2, &value, r->error);
    if (status)
        return status;
    wanted.number = (uint32_t)value;
    *base = model_find(m->refs, m->model->ref_count, &wanted);
    if (*base == PSNAP_NONE)
        return psnap_yaml_fail(r->doc, number, r->error, PSNAP_ERROR_VALUE,
                               "there is no such reference");
    return PSNAP_OK;
}

enum psnap_status model_read_bases(const struct model_reading *m, const struct psnap_yaml_node *map,
                                   const struct name_index *names, struct model_ref *ref)
{
    const struct psnap_yaml_node *base = psnap_yaml_get(map, "base"), *node;
    const struct psnap_yaml_node *bases = psnap_yaml_get(map, "bases");
    enum psnap_status status;

    if (base && bases)
        return psnap_yaml_fail(m->r->doc, bases, m->r->error, PSNAP_ERROR_VALUE,
                               "'base' (line %" PRIu32 ") stands there as well", base->src_line);
    if (base)
        return read_base(m, base, names, ref, &ref->bases[ref->base_count++]);
    status = psnap_yaml_expect(m->r->doc, bases, PSNAP_YAML_SEQUENCE, "bases", m->r->error);
    if (!status && (!bases->count || bases->count > DEPEND_BASES))
        status = psnap_yaml_fail(m->r->doc, bases, m->r->error, PSNAP_ERROR_VALUE,
                                 "1 to %d bases are possible", DEPEND_BASES);
    for (node = status ? NULL : bases->first; node && !status; node = node->next)
        status = read_base(m, node, names, ref, &ref->bases[ref->base_count++]);
    return status;
}

enum psnap_status model_read_sweep(const struct model_reading *m, const struct psnap_yaml_node *map,
                                   const struct name_index *names, struct model_ref *ref)
{
    const struct psnap_yaml_node *node = psnap_yaml_get(map, "sweep");
    const struct model_ref *of;
    enum psnap_status status = read_base(m, node, names, ref, &ref->sweep);

    if (status)
        return status;
    of = &m->model->refs[ref->sweep];
    if (!of->element)
        return psnap_yaml_fail(m->r->doc, node, m->r->error, PSNAP_ERROR_VALUE,
                               "that reference has no addresses with 'element'");
    if (ref->size % of->element)
        return psnap_yaml_fail(m->r->doc, node, m->r->error, PSNAP_ERROR_VALUE,
                               "an access of %u bytes has no whole number of elements of %u",
                               (unsigned)ref->size, (unsigned)of->element);
    if (ref->thread != of->thread)
        return psnap_yaml_fail(m->r->doc, node, m->r->error, PSNAP_ERROR_VALUE,
                               "that reference is another thread's");
    return PSNAP_OK;
}

/* No reference depends on itself by way of others: each is settled when all of its bases are. */
enum psnap_status model_check_bases(const struct model_reading *m)
{
    const struct psnap_stream_model *model = m->model;
    bool *is_settled = calloc(model->ref_count + (size_t)1, sizeof *is_settled);
    bool has_changed = is_settled != NULL;
    enum psnap_status status = is_settled ? PSNAP_OK : read_out_of_memory(m->r);

    while (has_changed) {
        has_changed = false;
        for (uint32_t i = 0; i < model->ref_count; i++) {
            const struct model_ref *ref = &model->refs[i];
            bool are_bases = !is_settled[i];
            for (uint32_t k = 0; ref->rule == MODEL_DEPENDENT && k < ref->base_count; k++)
                are_bases &= is_settled[ref->bases[k]];
            is_settled[i] |= are_bases;
            has_changed |= are_bases;
        }
    }
    for (uint32_t i = 0; i < model->ref_count && !status; i++)
        if (!is_settled[i])
            status = psnap_yaml_fail(m->r->doc, m->ref_nodes[i], m->r->error, PSNAP_ERROR_VALUE,
                                     "this reference depends on itself");
    free(is_settled);
    return status;
}
