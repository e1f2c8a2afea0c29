/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nests of numbers and of symbols to YAML. A nest is a list of terms. A term that is a single run
 * within loops has its counts and strides in two lists, the outermost loop first; other loops are
 * `repeat` and `of`. A value that changes in the loops around it has `first` and `steps`, one for
 * each of them.
 */
#include <stdlib.h>

#include "profile/yaml/write_model.h"

struct writing {
    const struct psnap_profile *profile;
    struct psnap_yaml_doc *doc;
    const struct psnap_profile_loop *loop; /* whose regions starts are counted from; NULL: none */
    const struct psnap_profile_region *usual; /* where terms do not say another one; NULL: none */
    const uint64_t *steps[NEST_DEPTH_MAX];    /* by loop around: of the term's first value */
    uint32_t depth;
};

/* Whether a value of the term does not change in the loops around. */
static bool is_steady(const struct writing *w, size_t offset)
{
    bool is_steady = true;

    for (uint32_t i = 0; i < w->depth; i++)
        is_steady &= !w->steps[i][offset];
    return is_steady;
}

/* A count, which may change in the loops around; `key` NULL in a list. */
static void write_count(const struct writing *w, struct psnap_yaml_node *parent, const char *key,
                        const uint64_t *value, size_t offset)
{
    struct psnap_yaml_node *map, *list;

    if (is_steady(w, offset)) {
        psnap_yaml_add_i64(w->doc, parent, key, (int64_t)*value);
        return;
    }
    map = psnap_yaml_add_map(w->doc, parent, key, PSNAP_YAML_FLOW);
    psnap_yaml_add_i64(w->doc, map, "first", (int64_t)*value);
    list = psnap_yaml_add_sequence(w->doc, map, "steps", PSNAP_YAML_FLOW);
    for (uint32_t i = 0; i < w->depth; i++)
        psnap_yaml_add_i64(w->doc, list, NULL, (int64_t)w->steps[i][offset]);
}

const struct psnap_profile_region *model_region_at(const struct psnap_profile_loop *loop,
                                                   uint64_t address)
{
    const struct psnap_profile_region *best = NULL;

    for (uint32_t i = 0; i < loop->region_count; i++) {
        const struct psnap_profile_region *region = &loop->regions[i];
        if (address - region->low < region->bytes)
            return region;
        if (!best || (region->low <= address && (best->low > address || region->low > best->low)))
            best = region;
    }
    return best;
}

static void write_start(const struct writing *w, struct psnap_yaml_node *map, uint64_t first)
{
    const struct psnap_profile_region *region = w->loop ? model_region_at(w->loop, first) : NULL;

    if (region && region != w->usual)
        psnap_yaml_add_text(w->doc, map, "region", region->id);
    psnap_yaml_add_i64(w->doc, map, "start", (int64_t)(first - (region ? region->low : 0)));
}

/* Goes into a loop: the steps of its child at `offset` of its body's values. */
static void enter(struct writing *w, const struct nest_pattern *loop, size_t offset)
{
    for (uint32_t i = 0; i < w->depth; i++)
        w->steps[i] += 1 + offset;
    w->steps[w->depth++] = loop->steps + offset;
}

/* A run and the loops that have nothing else in them. Counts of 1 and strides of 0 are not written.
 */
static void write_run(struct writing *w, struct psnap_yaml_node *map,
                      const struct nest_pattern *pattern, const uint64_t *values)
{
    const struct writing before = *w;
    struct psnap_yaml_node *list;
    const struct nest_pattern *leaf = pattern;
    const uint64_t *first = values;
    const bool is_one = !pattern->body_count && values[0] == 1 && is_steady(w, 0);

    while (leaf->body_count) {
        leaf = leaf->body[0];
        first++;
    }
    write_start(w, map, first[1]);
    list = is_one ? NULL : psnap_yaml_add_sequence(w->doc, map, "counts", PSNAP_YAML_FLOW);
    while (pattern->body_count) {
        write_count(w, list, NULL, values, 0);
        enter(w, pattern, 0);
        pattern = pattern->body[0];
        values++;
    }
    if (!is_one)
        write_count(w, list, NULL, values, 0);
    if (!is_steady(w, 1) || (!is_one && pattern->steps[0])) {
        list = psnap_yaml_add_sequence(w->doc, map, "strides", PSNAP_YAML_FLOW);
        for (uint32_t i = 0; i < w->depth; i++)
            psnap_yaml_add_i64(w->doc, list, NULL, (int64_t)w->steps[i][1]);
        if (!is_one)
            psnap_yaml_add_i64(w->doc, list, NULL, (int64_t)pattern->steps[0]);
    }
    *w = before;
}

static bool is_single(const struct nest_pattern *pattern)
{
    while (pattern->body_count == 1)
        pattern = pattern->body[0];
    return !pattern->body_count;
}

/* A single number that does not change in the loops around and counts from the usual region. */
static bool is_plain(const struct writing *w, const struct nest_pattern *pattern,
                     const uint64_t *values)
{
    return !pattern->body_count && values[0] == 1 && is_steady(w, 0) && is_steady(w, 1) &&
           (!w->loop || model_region_at(w->loop, values[1]) == w->usual);
}

static void write_term(struct writing *w, struct psnap_yaml_node *list,
                       const struct nest_pattern *pattern, const uint64_t *values)
{
    struct psnap_yaml_node *map, *of;
    size_t offset = 0;

    if (is_plain(w, pattern, values)) {
        psnap_yaml_add_i64(w->doc, list, NULL,
                           (int64_t)(values[1] - (w->usual ? w->usual->low : 0)));
        return;
    }
    map = psnap_yaml_add_map(w->doc, list, NULL, PSNAP_YAML_FLOW);
    if (is_single(pattern)) {
        write_run(w, map, pattern, values);
        return;
    }
    write_count(w, map, "repeat", values, 0);
    of = psnap_yaml_add_sequence(w->doc, map, "of", PSNAP_YAML_FLOW);
    for (uint32_t i = 0; i < pattern->body_count; offset += pattern->body[i++]->values) {
        const struct writing before = *w;
        enter(w, pattern, offset);
        write_term(w, of, pattern->body[i], values + 1 + offset);
        *w = before;
    }
}

/* Counts by region the runs of a term that begin there. */
static void count_starts(const struct psnap_profile_loop *loop, const struct nest_pattern *pattern,
                         const uint64_t *values, uint32_t *counts)
{
    if (!pattern->body_count) {
        counts[model_region_at(loop, values[1]) - loop->regions]++;
        return;
    }
    values++;
    for (uint32_t i = 0; i < pattern->body_count; values += pattern->body[i++]->values)
        count_starts(loop, pattern->body[i], values, counts);
}

/* The region that most runs begin in; NULL: there is none. */
static const struct psnap_profile_region *usual_region(const struct psnap_profile_loop *loop,
                                                       const struct nest_terms *terms)
{
    uint32_t *counts = loop ? calloc(loop->region_count + (size_t)1, sizeof *counts) : NULL;
    uint32_t best = 0;

    for (size_t i = 0; counts && loop->region_count && i < terms->count; i++)
        count_starts(loop, terms->terms[i].pattern, nest_term_values(terms, i), counts);
    for (uint32_t i = 1; counts && i < loop->region_count; i++)
        best = counts[i] > counts[best] ? i : best;
    free(counts);
    return counts && loop->region_count ? &loop->regions[best] : NULL;
}

void write_numbers(const struct psnap_profile *profile, const struct psnap_profile_loop *loop,
                   struct psnap_yaml_doc *doc, struct psnap_yaml_node *map,
                   const struct nest_terms *terms)
{
    struct writing w = {.profile = profile, .doc = doc, .loop = loop};
    struct psnap_yaml_node *list;

    if (terms->count == 1 && is_single(terms->terms[0].pattern)) {
        write_run(&w, map, terms->terms[0].pattern, nest_term_values(terms, 0));
        return;
    }
    w.usual = usual_region(loop, terms);
    if (w.usual)
        psnap_yaml_add_text(doc, map, "region", w.usual->id);
    list = psnap_yaml_add_sequence(doc, map, "nest", PSNAP_YAML_FLOW);
    for (size_t i = 0; i < terms->count; i++)
        write_term(&w, list, terms->terms[i].pattern, nest_term_values(terms, i));
}

/* ---- symbols ---- */

static void write_symbols(struct writing *w, struct psnap_yaml_node *list,
                          const struct nest_pattern *pattern, const uint64_t *values)
{
    const struct psnap_stream_model *model = w->profile->stream;
    struct psnap_yaml_node *map, *of;
    size_t offset = 0;

    if (!pattern->body_count && !(pattern->symbol & MODEL_CHAIN)) {
        psnap_yaml_add_text(w->doc, list, NULL, model->bodies[pattern->symbol].id);
        return;
    }
    map = psnap_yaml_add_map(w->doc, list, NULL, PSNAP_YAML_FLOW);
    if (!pattern->body_count) {
        psnap_yaml_add_text(w->doc, map, "visit", model_symbol_id(model, pattern->symbol));
        return;
    }
    write_count(w, map, "repeat", values, 0);
    of = psnap_yaml_add_sequence(w->doc, map, "of", PSNAP_YAML_FLOW);
    for (uint32_t i = 0; i < pattern->body_count; offset += pattern->body[i++]->values) {
        const struct writing before = *w;
        enter(w, pattern, offset);
        write_symbols(w, of, pattern->body[i], values + 1 + offset);
        *w = before;
    }
}

void write_order(const struct psnap_profile *profile, struct psnap_yaml_doc *doc,
                 struct psnap_yaml_node *list, const struct nest_terms *terms)
{
    struct writing w = {.profile = profile, .doc = doc};

    for (size_t i = 0; i < terms->count; i++)
        write_symbols(&w, list, terms->terms[i].pattern, nest_term_values(terms, i));
}
