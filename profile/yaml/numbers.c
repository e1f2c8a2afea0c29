/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nests of numbers and of symbols. A nest is a list of terms. A term that is a single run within
 * loops has its counts and strides in two lists, the outermost loop first; other loops are `repeat`
 * and `of`. A value that changes in the loops around it has `first` and `steps`, one for each of
 * them.
 */
#include "profile/yaml/fields.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/room.h"

/* ---- reading: values are put on a stack with their steps in all loops around ---- */

enum {
    VALUES_MAX = 1 << 16, /* of a nest; a value counts again for each loop around it */
    STEPS_MAX = NEST_DEPTH_MAX
};

struct parsing {
    struct psnap_reading *r;
    const struct psnap_profile_loop *loop;
    const struct psnap_yaml_node *usual; /* region of terms that name none; NULL: none */
    struct nest_patterns *patterns;
    uint32_t (*symbol_of)(struct psnap_reading *r, const struct psnap_yaml_node *node);
    uint64_t *values, (*steps)[STEPS_MAX]; /* of each value, in each loop around it */
    size_t count, value_room, step_room;
    uint32_t spent; /* of VALUES_MAX */
};

static void spend(struct parsing *p, const struct psnap_yaml_node *node, size_t values)
{
    p->spent += (uint32_t)values;
    if (p->spent > VALUES_MAX)
        psnap_read_fail_as(p->r, node, PSNAP_ERROR_MEMORY, "a nest of more than %d values",
                           VALUES_MAX);
}

/* A value more, without steps; its index. */
static size_t push(struct parsing *p, uint64_t value)
{
    const bool has_room =
        psnap_make_room(&p->values, &p->value_room, p->count + 2, sizeof *p->values) &&
        psnap_make_room(&p->steps, &p->step_room, p->count + 2, sizeof *p->steps);

    if (!psnap_read_has(p->r, has_room ? p : NULL))
        return 0;
    p->values[p->count] = value;
    memset(p->steps[p->count], 0, sizeof *p->steps);
    return p->count++;
}

/* Reads a list of numbers, as many as there is room for at `to`. */
static void read_list(struct psnap_reading *r, const struct psnap_yaml_node *list, const char *key,
                      uint64_t *to)
{
    const struct psnap_yaml_node *node = psnap_read_list(r, list, key);

    for (; node; node = psnap_read_next(r, node))
        *to++ = (uint64_t)psnap_read_i64(r, node, INT64_MIN, INT64_MAX);
}

/* The count at `index`: a number, or {first, steps: [one for each loop around]}. */
static void read_count_of(struct parsing *p, const struct psnap_yaml_node *node, uint32_t depth,
                          size_t index)
{
    const struct psnap_yaml_node *first = node, *list = NULL;
    struct psnap_reading *r = p->r;

    if (node->kind == PSNAP_YAML_MAP) {
        psnap_read_keys(r, node, "a count", "first", "steps");
        first = psnap_read_require(r, node, "first");
        list = psnap_read_require(r, node, "steps");
        if (psnap_read_is(r, list, PSNAP_YAML_SEQUENCE, "steps") && list->count != depth)
            psnap_read_fail(r, list, "%zu steps in %" PRIu32 " loops", list->count, depth);
    }
    if (r->status)
        return;
    p->values[index] = (uint64_t)psnap_read_i64(r, first, INT64_MIN / 2, INT64_MAX / 2);
    read_list(r, list, "steps", p->steps[index]);
}

/* The loop of these bodies, whose values are those behind `index` on the stack. */
static const struct nest_pattern *make_loop(struct parsing *p, const struct psnap_yaml_node *node,
                                            const struct nest_pattern *const *bodies,
                                            uint32_t body_count, uint32_t depth, size_t index)
{
    const size_t count = p->count - index - 1;
    const struct nest_pattern *loop;
    uint64_t *own;

    spend(p, node, count);
    own = psnap_read_scratch(p->r, count, sizeof *own);
    if (!own)
        return NULL;
    for (size_t i = 0; i < count; i++)
        own[i] = p->steps[index + 1 + i][depth];
    loop = nest_pattern_loop(p->patterns, bodies, body_count, own);
    if (psnap_read_has(p->r, loop) && loop->depth >= NEST_DEPTH_MAX)
        psnap_read_fail(p->r, node, "more than %d loops in each other", NEST_DEPTH_MAX);
    return loop;
}

/* The address of a map, or of a number that is one itself. */
static uint64_t read_start(const struct parsing *p, const struct psnap_yaml_node *map)
{
    const struct psnap_yaml_node *region = psnap_yaml_get(map, "region");
    const uint64_t first = (uint64_t)psnap_read_i64(
        p->r, map->kind == PSNAP_YAML_SCALAR ? map : psnap_read_require(p->r, map, "start"),
        INT64_MIN, INT64_MAX);

    region = region ? region : p->usual;
    if (!region)
        return first;
    for (uint32_t i = 0; p->loop && region->text && i < p->loop->region_count; i++)
        if (!strcmp(p->loop->regions[i].id, region->text))
            return first + p->loop->regions[i].low;
    psnap_read_fail(p->r, region, "there is no such region%s%.100s", p->loop ? " in loop " : "",
                    p->loop ? p->loop->id : "");
    return 0;
}

/* A run, and the loops with nothing else in them: `counts` (absent: a single number) and `strides`
 * (absent: 0) of these and of the `depth` loops around. */
static const struct nest_pattern *read_run(struct parsing *p, const struct psnap_yaml_node *map,
                                           uint32_t depth)
{
    struct psnap_reading *r = p->r;
    const struct psnap_yaml_node *counts = psnap_yaml_get(map, "counts");
    const struct psnap_yaml_node *strides = psnap_yaml_get(map, "strides"), *node;
    const uint32_t levels = counts ? (uint32_t)counts->count : 1;
    const uint32_t loops = depth + (counts ? levels : 0), inner = depth + levels - 1;
    const struct nest_pattern *pattern;
    uint64_t all[STEPS_MAX + 1] = {0};
    size_t first, start;

    psnap_read_is(r, counts, PSNAP_YAML_SEQUENCE, "counts");
    psnap_read_is(r, strides, PSNAP_YAML_SEQUENCE, "strides");
    if (!levels || levels + depth > STEPS_MAX)
        psnap_read_fail(r, map, "1 to %d loops in each other are possible", STEPS_MAX);
    if (strides && strides->count != loops)
        psnap_read_fail(r, strides,
                        "%zu strides, but %" PRIu32 " counts in %" PRIu32 " loops around",
                        strides->count, loops - depth, depth);
    if (r->status)
        return NULL;
    first = p->count;
    for (uint32_t i = 0; i < levels; i++)
        push(p, 1);
    node = counts ? counts->first : NULL;
    for (uint32_t i = 0; node && !r->status; node = node->next, i++)
        read_count_of(p, node, depth + i, first + i);
    read_list(r, strides, "strides", all);
    spend(p, map, 2);
    start = push(p, read_start(p, map));
    if (r->status)
        return NULL;
    memcpy(p->steps[start], all, inner * sizeof *all);
    if (!inner && p->values[first] == 1)
        all[0] = 0; /* a single number has no stride */
    pattern = nest_pattern_run(p->patterns, all[inner]);
    for (uint32_t l = levels - 1; l-- > 0 && psnap_read_has(r, pattern);) {
        spend(p, map, 1); /* from the innermost loop outwards */
        pattern = make_loop(p, map, &pattern, 1, depth + l, first + l);
    }
    return psnap_read_has(r, pattern) ? pattern : NULL;
}

static const struct nest_pattern *read_term(struct parsing *p, const struct psnap_yaml_node *node,
                                            uint32_t depth);

static const struct nest_pattern *read_repeat(struct parsing *p, const struct psnap_yaml_node *map,
                                              uint32_t depth)
{
    struct psnap_reading *r = p->r;
    const struct nest_pattern **bodies;
    const struct psnap_yaml_node *of, *node;
    uint32_t count = 0;
    size_t first;

    psnap_read_keys(r, map, "a loop", "repeat", "of");
    of = psnap_read_require(r, map, "of");
    if (psnap_read_is(r, of, PSNAP_YAML_SEQUENCE, "of") &&
        (!of->count || of->count > NEST_BODY_MAX || depth + 1 > STEPS_MAX - 1))
        psnap_read_fail(r, of, "1 to %d terms in at most %d loops are possible", NEST_BODY_MAX,
                        STEPS_MAX);
    bodies = psnap_read_scratch(r, of ? of->count : 0, sizeof(struct nest_pattern *));
    first = push(p, 0);
    spend(p, map, 1);
    for (node = r->status ? NULL : of->first; node; node = psnap_read_next(r, node)) {
        const size_t before = p->count;
        bodies[count++] = read_term(p, node, depth + 1);
        spend(p, node, p->count - before);
    }
    if (r->status)
        return NULL;
    read_count_of(p, psnap_yaml_get(map, "repeat"), depth, first);
    return make_loop(p, map, bodies, count, depth, first);
}

static const struct nest_pattern *read_term(struct parsing *p, const struct psnap_yaml_node *node,
                                            uint32_t depth)
{
    const struct nest_pattern *pattern;

    if (psnap_yaml_get(node, "repeat"))
        return read_repeat(p, node, depth);
    if (!p->symbol_of) {
        if (node->kind != PSNAP_YAML_SCALAR)
            psnap_read_keys(p->r, node, "a term", "region", "start", "counts", "strides");
        return p->r->status ? NULL : read_run(p, node, depth);
    }
    push(p, 1);
    spend(p, node, 1);
    pattern = nest_pattern_symbol(p->patterns, p->symbol_of(p->r, node));
    return psnap_read_has(p->r, pattern) ? pattern : NULL;
}

/* The terms of a list, or the one run of a map. */
static void read_terms(struct parsing *p, const struct psnap_yaml_node *list,
                       const struct psnap_yaml_node *run, struct nest_terms *terms)
{
    const struct psnap_yaml_node *node = list ? psnap_read_list(p->r, list, "a nest") : run;

    p->patterns = terms->patterns;
    for (; node; node = list ? psnap_read_next(p->r, node) : NULL) {
        const struct nest_pattern *pattern = list ? read_term(p, node, 0) : read_run(p, node, 0);
        if (pattern && !p->r->status)
            psnap_read_has(p->r, nest_terms_push(terms, pattern, p->values) ? p : NULL);
        p->count = 0;
    }
    free(p->values);
    free(p->steps);
}

void read_numbers(struct psnap_reading *r, const struct psnap_yaml_node *map,
                  const struct psnap_profile_loop *loop, struct nest_terms *terms)
{
    const struct psnap_yaml_node *nest = psnap_yaml_get(map, "nest");
    struct parsing p = {.r = r, .loop = loop, .usual = psnap_yaml_get(map, "region")};

    if (nest && !nest->count)
        psnap_read_fail(r, nest, "a nest of no terms");
    else if (!r->status)
        read_terms(&p, nest, map, terms);
}

void read_order(struct psnap_reading *r, const struct psnap_yaml_node *list,
                uint32_t (*symbol_of)(struct psnap_reading *r, const struct psnap_yaml_node *node),
                struct nest_terms *terms)
{
    struct parsing p = {.r = r, .symbol_of = symbol_of};

    read_terms(&p, list, NULL, terms);
}

/* ---- writing ---- */

struct nest_writing {
    const struct psnap_writing *w;
    const struct psnap_profile_loop *loop; /* whose regions starts are counted from; NULL: none */
    const struct psnap_profile_region *usual; /* where terms do not say another one; NULL: none */
    const uint64_t *steps[NEST_DEPTH_MAX];    /* by loop around: of the term's first value */
    uint32_t depth;
};

/* Whether a value of the term does not change in the loops around. */
static bool is_steady(const struct nest_writing *n, size_t offset)
{
    bool is_steady = true;

    for (uint32_t i = 0; i < n->depth; i++)
        is_steady &= !n->steps[i][offset];
    return is_steady;
}

/* A count, which may change in the loops around; `key` NULL in a list. */
static void write_count(const struct nest_writing *n, struct psnap_yaml_node *parent,
                        const char *key, const uint64_t *value, size_t offset)
{
    struct psnap_yaml_doc *doc = n->w->doc;
    struct psnap_yaml_node *map, *list;

    if (is_steady(n, offset)) {
        psnap_yaml_add_i64(doc, parent, key, (int64_t)*value);
        return;
    }
    map = psnap_yaml_add_map(doc, parent, key, PSNAP_YAML_FLOW);
    psnap_yaml_add_i64(doc, map, "first", (int64_t)*value);
    list = psnap_yaml_add_sequence(doc, map, "steps", PSNAP_YAML_FLOW);
    for (uint32_t i = 0; i < n->depth; i++)
        psnap_yaml_add_i64(doc, list, NULL, (int64_t)n->steps[i][offset]);
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

/* Goes into a loop: the steps of its child at `offset` of its body's values. */
static void enter(struct nest_writing *n, const struct nest_pattern *loop, size_t offset)
{
    for (uint32_t i = 0; i < n->depth; i++)
        n->steps[i] += 1 + offset;
    n->steps[n->depth++] = loop->steps + offset;
}

/* A run and the loops that have nothing else in them. Counts of 1 and strides of 0 are not written.
 */
static void write_run(struct nest_writing n, struct psnap_yaml_node *map,
                      const struct nest_pattern *pattern, const uint64_t *values)
{
    struct psnap_yaml_doc *doc = n.w->doc;
    const bool is_one = !pattern->body_count && values[0] == 1 && is_steady(&n, 0);
    const uint64_t first = values[pattern->values - 1];
    const struct psnap_profile_region *region = n.loop ? model_region_at(n.loop, first) : NULL;
    struct psnap_yaml_node *list;

    if (region && region != n.usual)
        psnap_yaml_add_text(doc, map, "region", region->id);
    psnap_yaml_add_i64(doc, map, "start", (int64_t)(first - (region ? region->low : 0)));
    list = is_one ? NULL : psnap_yaml_add_sequence(doc, map, "counts", PSNAP_YAML_FLOW);
    for (; pattern->body_count; pattern = pattern->body[0]) {
        write_count(&n, list, NULL, values++, 0);
        enter(&n, pattern, 0);
    }
    if (!is_one)
        write_count(&n, list, NULL, values, 0);
    if (is_steady(&n, 1) && (is_one || !pattern->steps[0]))
        return;
    list = psnap_yaml_add_sequence(doc, map, "strides", PSNAP_YAML_FLOW);
    for (uint32_t i = 0; i < n.depth; i++)
        psnap_yaml_add_i64(doc, list, NULL, (int64_t)n.steps[i][1]);
    if (!is_one)
        psnap_yaml_add_i64(doc, list, NULL, (int64_t)pattern->steps[0]);
}

/* Whether it is a run, or loops with nothing else in them. */
static bool is_single(const struct nest_pattern *pattern)
{
    while (pattern->body_count == 1)
        pattern = pattern->body[0];
    return !pattern->body_count && pattern->symbol == NEST_NUMBERS;
}

/* Whether it is a number that does not change in the loops around and counts from the usual
 * region. */
static bool is_plain(const struct nest_writing *n, const struct nest_pattern *pattern,
                     const uint64_t *values)
{
    return !pattern->body_count && pattern->symbol == NEST_NUMBERS && values[0] == 1 &&
           is_steady(n, 0) && is_steady(n, 1) &&
           (!n->loop || model_region_at(n->loop, values[1]) == n->usual);
}

static void write_term(struct nest_writing n, struct psnap_yaml_node *list,
                       const struct nest_pattern *pattern, const uint64_t *values)
{
    const struct psnap_stream_model *model = profile_to(n.w)->profile->stream;
    struct psnap_yaml_doc *doc = n.w->doc;
    const bool is_symbol = !pattern->body_count && pattern->symbol != NEST_NUMBERS;
    struct psnap_yaml_node *map, *of;
    size_t offset = 0;

    if (is_symbol && !(pattern->symbol & MODEL_CHAIN)) {
        psnap_yaml_add_text(doc, list, NULL, model->bodies[pattern->symbol].id);
        return;
    }
    if (is_plain(&n, pattern, values)) {
        psnap_yaml_add_i64(doc, list, NULL, (int64_t)(values[1] - (n.usual ? n.usual->low : 0)));
        return;
    }
    map = psnap_yaml_add_map(doc, list, NULL, PSNAP_YAML_FLOW);
    if (is_symbol) {
        psnap_yaml_add_text(doc, map, "visit", model_symbol_id(model, pattern->symbol));
    } else if (is_single(pattern)) {
        write_run(n, map, pattern, values);
    } else {
        write_count(&n, map, "repeat", values, 0);
        of = psnap_yaml_add_sequence(doc, map, "of", PSNAP_YAML_FLOW);
        for (uint32_t i = 0; i < pattern->body_count; offset += pattern->body[i++]->values) {
            struct nest_writing inner = n;
            enter(&inner, pattern, offset);
            write_term(inner, of, pattern->body[i], values + 1 + offset);
        }
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

void write_numbers(const struct psnap_writing *w, struct psnap_yaml_node *map,
                   const struct psnap_profile_loop *loop, const struct nest_terms *terms)
{
    struct nest_writing n = {.w = w, .loop = loop};
    struct psnap_yaml_node *list;

    if (terms->count == 1 && is_single(terms->terms[0].pattern)) {
        write_run(n, map, terms->terms[0].pattern, nest_term_values(terms, 0));
        return;
    }
    n.usual = usual_region(loop, terms);
    if (n.usual)
        psnap_yaml_add_text(w->doc, map, "region", n.usual->id);
    list = psnap_yaml_add_sequence(w->doc, map, "nest", PSNAP_YAML_FLOW);
    for (size_t i = 0; i < terms->count; i++)
        write_term(n, list, terms->terms[i].pattern, nest_term_values(terms, i));
}

void write_order(const struct psnap_writing *w, struct psnap_yaml_node *list,
                 const struct nest_terms *terms)
{
    for (size_t i = 0; i < terms->count; i++)
        write_term((struct nest_writing){.w = w}, list, terms->terms[i].pattern,
                   nest_term_values(terms, i));
}
