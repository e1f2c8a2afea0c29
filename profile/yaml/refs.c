/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * References of a stream's model: where each one goes, by a nest of addresses (numbers.c), by bases
 * and offsets, as a part of another one's sweep, or by reuse histograms (reuse.c).
 */
#include <inttypes.h>
#include <stdio.h>

#include "formats/base/capture_abi.h"
#include "profile/yaml/fields.h"

static const char *const kind_keys[3] = {"load", "store", "atomic"};

#define NUMBER_MAX (UINT32_MAX / 2) /* of a reference */

/* ---- the table ---- */

static void read_mark(struct psnap_reading *r, const struct psnap_yaml_node *node, void *record)
{
    struct model_ref *ref = record;
    const char *mark = psnap_read_text(r, node);

    if (!psnap_capture_is_mark(mark, PSNAP_MARK_KIND))
        psnap_read_fail(r, node,
                        "no mark '%.40s': they are those of predict/multicore/MULTICORE.md,"
                        " as omp.parallel",
                        mark);
    snprintf(ref->mark, sizeof ref->mark, "%s", mark);
}

static void write_mark(const struct psnap_writing *w, const void *record)
{
    const struct model_ref *ref = record;

    if (ref->mark[0])
        psnap_yaml_add_text(w->doc, w->map, w->field->key, ref->mark);
}

/* A reference: by its number in the same loop, or {loop, ref}. */
static void write_one_base(const struct psnap_writing *w, struct psnap_yaml_node *parent,
                           const char *key, const struct model_ref *ref, uint32_t index)
{
    const struct psnap_profile *profile = profile_to(w)->profile;
    const struct model_ref *base = &profile->stream->refs[index];

    if (base->loop != ref->loop) {
        parent = psnap_yaml_add_map(w->doc, parent, key, PSNAP_YAML_FLOW);
        psnap_yaml_add_text(w->doc, parent, "loop", profile->loops[base->loop].id);
        key = "ref";
    }
    psnap_yaml_add_u64(w->doc, parent, key, base->number);
}

/* Where it goes, by its rule. */
static void write_rule(const struct psnap_writing *w, const void *record)
{
    const struct model_ref *ref = record;
    struct psnap_yaml_node *inner;

    if (ref->rule == MODEL_NEST)
        write_numbers(w, w->map, &profile_to(w)->profile->loops[ref->loop], &ref->addresses);
    if (ref->rule == MODEL_SHARED)
        write_one_base(w, w->map, "sweep", ref, ref->sweep);
    if (ref->rule != MODEL_DEPENDENT)
        return;
    inner = ref->base_count == 1
                ? w->map
                : psnap_yaml_add_sequence(w->doc, w->map, "bases", PSNAP_YAML_FLOW);
    for (uint32_t i = 0; i < ref->base_count; i++)
        write_one_base(w, inner, ref->base_count == 1 ? "base" : NULL, ref, ref->bases[i]);
    if (ref->offset_count == 1) {
        psnap_yaml_add_i64(w->doc, w->map, "offset", ref->offsets[0].bytes);
        return;
    }
    inner = psnap_yaml_add_map(w->doc, w->map, "offsets", PSNAP_YAML_FLOW);
    for (uint32_t i = 0; i < ref->offset_count; i++)
        write_bin(w, inner, ref->offsets[i].bytes, ref->offsets[i].count);
}

#define REF_SIZE(the_kind)                                                                         \
    FIELD_UINT(struct model_ref, size), 1, PSNAP_ACCESS_SIZE_MAX,                                  \
        FIELD_TAG(struct model_ref, kind, the_kind)

static const struct psnap_field ref_fields[] = {
    {"ref", FIELD_UINT(struct model_ref, number), .high = NUMBER_MAX, .rules = PSNAP_FIELD_NEEDED},
    {"load", REF_SIZE(PSNAP_LOAD)},
    {"store", REF_SIZE(PSNAP_STORE)},
    {"atomic", REF_SIZE(PSNAP_ATOMIC)},
    {"thread", FIELD_THREAD(struct model_ref, thread)},
    {"mark", FIELD_FORM(read_mark, write_mark)},
    {"element", FIELD_UINT(struct model_ref, element), .rules = PSNAP_FIELD_LATER},
    {"region", FIELD_FORM(NULL, write_rule)},
    {"start", PSNAP_FIELD_FORM},
    {"nest", PSNAP_FIELD_FORM},
    {"counts", PSNAP_FIELD_FORM},
    {"strides", PSNAP_FIELD_FORM},
    {"base", PSNAP_FIELD_FORM},
    {"bases", PSNAP_FIELD_FORM},
    {"offset", PSNAP_FIELD_FORM},
    {"offsets", PSNAP_FIELD_FORM},
    {"reuse", PSNAP_FIELD_LIST, PSNAP_AT_LIST(struct model_ref, reuses), .record = &reuse_record,
     .count_at = offsetof(struct model_ref, reuse_count), .style = PSNAP_YAML_FLOW,
     .rules = PSNAP_FIELD_HEAP},
    {"sweep", PSNAP_FIELD_FORM},
};
const struct psnap_record ref_record = PSNAP_RECORD("a reference", ref_fields, FLOW);

/* ---- reading ---- */

/* Offsets from a base, which is looked up when all references are there. */
static void read_offsets(struct psnap_reading *r, const struct psnap_yaml_node *map,
                         struct model_ref *ref)
{
    const struct psnap_yaml_node *offset = psnap_yaml_get(map, "offset"), *node;
    const struct psnap_yaml_node *offsets = psnap_yaml_get(map, "offsets");

    ref->rule = MODEL_DEPENDENT;
    if (!offset == !offsets)
        psnap_read_fail(r, map, "a dependent reference has 'offset' or 'offsets'");
    if (offset) {
        ref->offset_count = 1;
        ref->offsets[0].count = 1;
        ref->offsets[0].bytes = psnap_read_i64(r, offset, INT64_MIN, INT64_MAX);
        return;
    }
    node = psnap_read_map(r, offsets, "offsets");
    if (offsets && (!offsets->count || offsets->count > DEPEND_OFFSETS))
        psnap_read_fail(r, offsets, "1 to %d offsets are possible", DEPEND_OFFSETS);
    for (; node && !r->status; node = node->next) {
        struct depend_offset *to = &ref->offsets[ref->offset_count++];
        to->bytes = read_key(r, node);
        to->count = read_positive(r, node);
    }
}

/* What only a reference with addresses has, and only one with a run. */
static void read_nest_only(struct psnap_reading *r, const struct psnap_yaml_node *map,
                           struct model_ref *ref, bool is_nest)
{
    static const char *const of_runs[] = {"region", "counts", "strides"};
    const struct psnap_yaml_node *node = psnap_yaml_get(map, "element");

    if (node && !is_nest)
        psnap_read_fail(r, node, "only addresses are of elements");
    if (node)
        ref->element = (uint8_t)psnap_read_u64(r, node, 1, ref->size);
    if (ref->element && ref->size % ref->element)
        psnap_read_fail(r, node, "an access of %u bytes has no whole number of elements",
                        (unsigned)ref->size);
    for (size_t i = 0; i < sizeof of_runs / sizeof *of_runs; i++) {
        node = psnap_yaml_get(map, of_runs[i]);
        if (node && !psnap_yaml_get(map, "start") && (i || !psnap_yaml_get(map, "nest")))
            psnap_read_fail(r, node, "'%s' is of a reference with 'start'", of_runs[i]);
    }
}

void read_ref(struct psnap_reading *r, const struct psnap_yaml_node *map, uint32_t index)
{
    struct psnap_stream_model *model = profile_of(r)->model;
    struct model_ref *ref = &model->refs[index];
    const struct psnap_yaml_node *reuse = psnap_yaml_get(map, "reuse");
    const struct psnap_yaml_node *kinds[2];
    const bool is_based = psnap_yaml_get(map, "base") || psnap_yaml_get(map, "bases");
    const bool is_shared = psnap_yaml_get(map, "sweep");
    const bool is_nest = psnap_yaml_get(map, "start") || psnap_yaml_get(map, "nest");

    psnap_record_read(r, map, &ref_record, ref);
    model->ref_count++;
    ref->loop = profile_of(r)->loop;
    ref->addresses.patterns = model->patterns;
    find_two(map, kind_keys, kinds);
    if (!kinds[0] || kinds[1])
        psnap_read_fail(r, map, "a reference has one of 'load', 'store' and 'atomic'");
    if (is_based + (reuse != NULL) + is_shared + is_nest != 1)
        psnap_read_fail(r, map,
                        "a reference has addresses ('start' or 'nest'), a 'base', a 'sweep', or "
                        "'reuse' times");
    if (reuse && !ref->reuse_count)
        psnap_read_fail(r, reuse, "a reuse histogram is of an object");
    read_nest_only(r, map, ref, is_nest);
    if (r->status)
        return;
    if (is_shared)
        ref->rule = MODEL_SHARED; /* whose it is is looked up when all references are there */
    else if (is_based)
        read_offsets(r, map, ref);
    else if (reuse)
        ref->rule = MODEL_REUSE;
    else
        read_numbers(r, map, &profile_of(r)->profile->loops[ref->loop], &ref->addresses);
}

/* A base of a dependent reference, or the one whose sweep another one shares. */
static uint32_t read_base(struct psnap_reading *r, const struct psnap_yaml_node *node,
                          const struct model_ref *ref)
{
    const struct profile_reading *p = profile_of(r);
    const struct psnap_yaml_node *number = node, *loop;
    uint32_t base, of_loop = ref->loop;

    if (node->kind == PSNAP_YAML_MAP) {
        psnap_read_keys(r, node, "a reference", "loop", "ref");
        loop = psnap_read_require(r, node, "loop");
        number = psnap_read_require(r, node, "ref");
        of_loop = loop && loop->text ? find_id(&p->loops, loop->text) : PSNAP_NONE;
        if (of_loop == PSNAP_NONE)
            psnap_read_fail(r, loop, "no such loop");
    }
    base = find_ref(&p->refs, of_loop, (uint32_t)psnap_read_u64(r, number, 0, NUMBER_MAX));
    if (base == PSNAP_NONE)
        psnap_read_fail(r, number, "there is no such reference");
    return r->status ? 0 : base;
}

static void read_bases_of(struct psnap_reading *r, const struct psnap_yaml_node *map,
                          struct model_ref *ref)
{
    const struct psnap_yaml_node *base = psnap_yaml_get(map, "base"), *node;
    const struct psnap_yaml_node *bases = psnap_yaml_get(map, "bases");

    if (base && bases)
        psnap_read_fail(r, bases, "'base' (line %" PRIu32 ") stands there as well", base->src_line);
    if (base)
        ref->bases[ref->base_count++] = read_base(r, base, ref);
    node = psnap_read_list(r, bases, "bases");
    if (bases && (!bases->count || bases->count > DEPEND_BASES))
        psnap_read_fail(r, bases, "1 to %d bases are possible", DEPEND_BASES);
    for (; node && !r->status; node = node->next)
        ref->bases[ref->base_count++] = read_base(r, node, ref);
}

static void read_sweep(struct psnap_reading *r, const struct psnap_yaml_node *node,
                       struct model_ref *ref)
{
    const struct model_ref *of;

    ref->sweep = read_base(r, node, ref);
    of = &profile_of(r)->model->refs[ref->sweep];
    if (!of->element)
        psnap_read_fail(r, node, "that reference has no addresses with 'element'");
    else if (ref->size % of->element)
        psnap_read_fail(r, node, "an access of %u bytes has no whole number of elements of %u",
                        (unsigned)ref->size, (unsigned)of->element);
    else if (ref->thread != of->thread)
        psnap_read_fail(r, node, "that reference is another thread's");
}

/* No reference depends on itself by way of others: each is settled when all of its bases are. */
static void check_bases(struct psnap_reading *r)
{
    const struct psnap_stream_model *model = profile_of(r)->model;
    bool *is_settled = psnap_read_scratch(r, model->ref_count, sizeof *is_settled);
    bool has_changed = is_settled != NULL;

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
    for (uint32_t i = 0; i < model->ref_count && !r->status; i++)
        if (!is_settled[i])
            psnap_read_fail(r, profile_of(r)->refs.maps[i], "this reference depends on itself");
}

void read_bases(struct psnap_reading *r)
{
    const struct profile_reading *p = profile_of(r);

    for (uint32_t i = 0; i < p->model->ref_count && !r->status; i++) {
        struct model_ref *ref = &p->model->refs[i];
        if (ref->rule == MODEL_DEPENDENT)
            read_bases_of(r, p->refs.maps[i], ref);
        else if (ref->rule == MODEL_SHARED)
            read_sweep(r, psnap_yaml_get(p->refs.maps[i], "sweep"), ref);
    }
    check_bases(r);
}
