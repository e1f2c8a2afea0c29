/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nests from YAML: of numbers, and of symbols. A term is read with each value's steps in all loops
 * around it; when a loop is complete its innermost ones become the loop's own.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/room.h"
#include "profile/yaml/read_model.h"

enum {
    VALUES_MAX = 1 << 16, /* of a nest */
    STEPS_MAX = NEST_DEPTH_MAX
};

/* A term that has been read: values[i] changes by steps[i * STEPS_MAX + l] in loop l around it. */
struct parsed {
    const struct nest_pattern *pattern;
    uint64_t *values, *steps;
    uint32_t count;
};

struct parsing {
    const struct reading *r;
    const struct psnap_profile_loop *loop;
    const struct psnap_yaml_node *usual; /* region of terms that name none; NULL: none */
    struct nest_patterns *patterns;
    enum psnap_status (*symbol_of)(const void *context, const struct psnap_yaml_node *node,
                                   uint32_t *symbol);
    const void *context;
    uint32_t values; /* so far */
};

static void release(struct parsed *term)
{
    free(term->values);
    free(term->steps);
}

static enum psnap_status no_memory(const struct parsing *p)
{
    return read_out_of_memory(p->r);
}

/* `count` more values behind those of a term. */
static enum psnap_status extend(struct parsing *p, const struct psnap_yaml_node *node,
                                struct parsed *term, uint32_t count)
{
    p->values += count;
    if (p->values > VALUES_MAX)
        return psnap_yaml_fail(p->r->doc, node, p->r->error, PSNAP_ERROR_MEMORY,
                               "a nest of more than %d values", VALUES_MAX);
    if (!psnap_resize(&term->values, term->count + (size_t)count, sizeof *term->values) ||
        !psnap_resize(&term->steps, (term->count + (size_t)count) * STEPS_MAX, sizeof *term->steps))
        return no_memory(p);
    memset(&term->values[term->count], 0, count * sizeof *term->values);
    memset(&term->steps[(size_t)term->count * STEPS_MAX], 0,
           (size_t)count * STEPS_MAX * sizeof *term->steps);
    term->count += count;
    return PSNAP_OK;
}

/* A count: a number, or {first, steps: [one for each loop around]}. */
static enum psnap_status read_count_of(const struct parsing *p, const struct psnap_yaml_node *node,
                                       uint32_t depth, uint64_t *value, uint64_t *steps)
{
    static const char *const keys[] = {"first", "steps", NULL};
    const struct psnap_yaml_node *first, *list, *step;
    const struct reading *r = p->r;
    enum psnap_status status;
    int64_t number;

    if (node->kind != PSNAP_YAML_MAP) {
        status = psnap_yaml_i64(r->doc, node, INT64_MIN / 2, INT64_MAX / 2, &number, r->error);
        *value = (uint64_t)number;
        return status;
    }
    status = psnap_yaml_expect_keys(r->doc, node, "a count", keys, r->error);
    if (status)
        return status;
    first = psnap_yaml_require(r->doc, node, "first", r->error);
    list = first ? psnap_yaml_require(r->doc, node, "steps", r->error) : NULL;
    if (!list)
        return PSNAP_ERROR_VALUE;
    status = psnap_yaml_i64(r->doc, first, INT64_MIN / 2, INT64_MAX / 2, &number, r->error);
    *value = (uint64_t)number;
    if (!status)
        status = psnap_yaml_expect(r->doc, list, PSNAP_YAML_SEQUENCE, "steps", r->error);
    if (!status && list->count != depth)
        status = psnap_yaml_fail(r->doc, list, r->error, PSNAP_ERROR_VALUE,
                                 "%zu steps in %" PRIu32 " loops", list->count, depth);
    for (step = status ? NULL : list->first; step && !status; step = step->next) {
        status = psnap_yaml_i64(r->doc, step, INT64_MIN, INT64_MAX, &number, r->error);
        *steps++ = (uint64_t)number;
    }
    return status;
}

/* The loop of terms whose values are those of `body` one after the other, at this depth. */
static enum psnap_status make_loop(struct parsing *p, const struct psnap_yaml_node *node,
                                   const struct nest_pattern *const *bodies, uint32_t body_count,
                                   const struct parsed *body, uint32_t depth, struct parsed *loop)
{
    uint64_t *own = malloc((body->count + (size_t)1) * sizeof *own);
    enum psnap_status status = own ? extend(p, node, loop, body->count) : no_memory(p);

    for (uint32_t i = 0; !status && i < body->count; i++) {
        const size_t from = (size_t)i * STEPS_MAX, to = (size_t)(i + 1) * STEPS_MAX;
        own[i] = body->steps[from + depth];
        loop->values[1 + i] = body->values[i];
        memcpy(&loop->steps[to], &body->steps[from], depth * sizeof *loop->steps);
    }
    if (!status) {
        loop->pattern = nest_pattern_loop(p->patterns, bodies, body_count, own);
        status = loop->pattern ? PSNAP_OK : no_memory(p);
    }
    free(own);
    if (!status && loop->pattern->depth >= NEST_DEPTH_MAX)
        status = psnap_yaml_fail(p->r->doc, node, p->r->error, PSNAP_ERROR_VALUE,
                                 "more than %d loops in each other", NEST_DEPTH_MAX);
    return status;
}

/* That of a map, or a number that is one itself. */
static enum psnap_status read_start(const struct parsing *p, const struct psnap_yaml_node *map,
                                    uint64_t *first)
{
    const struct psnap_yaml_node *start =
        map->kind == PSNAP_YAML_SCALAR ? map
                                       : psnap_yaml_require(p->r->doc, map, "start", p->r->error);
    const struct psnap_yaml_node *region = psnap_yaml_get(map, "region");
    enum psnap_status status;
    int64_t number;

    if (!start)
        return PSNAP_ERROR_VALUE;
    status = psnap_yaml_i64(p->r->doc, start, INT64_MIN, INT64_MAX, &number, p->r->error);
    *first = (uint64_t)number;
    region = region ? region : p->usual;
    if (status || !region)
        return status;
    for (uint32_t i = 0; p->loop && region->text && i < p->loop->region_count; i++)
        if (!strcmp(p->loop->regions[i].id, region->text)) {
            *first += p->loop->regions[i].low;
            return PSNAP_OK;
        }
    return psnap_yaml_fail(p->r->doc, region, p->r->error, PSNAP_ERROR_VALUE,
                           "there is no such region%s%.100s", p->loop ? " in loop " : "",
                           p->loop ? p->loop->id : "");
}

/* A run, and the loops with nothing else in them: `counts` (absent: a single number) and `strides`
 * (absent: 0) of these and of the `depth` loops around. */
static enum psnap_status read_run(struct parsing *p, const struct psnap_yaml_node *map,
                                  uint32_t depth, struct parsed *term)
{
    const struct reading *r = p->r;
    const struct psnap_yaml_node *counts = psnap_yaml_get(map, "counts"), *node;
    const struct psnap_yaml_node *strides = psnap_yaml_get(map, "strides");
    const uint32_t levels = counts ? (uint32_t)counts->count : 1;
    const uint32_t loops = depth + (counts ? levels : 0);
    struct parsed run = {0};
    uint64_t level_counts[STEPS_MAX + 1] = {1}, (*level_steps)[STEPS_MAX] = NULL,
                                      all[STEPS_MAX + 1] = {0};
    enum psnap_status status = PSNAP_OK;
    uint32_t i = 0;

    if ((counts && psnap_yaml_expect(r->doc, counts, PSNAP_YAML_SEQUENCE, "counts", r->error)) ||
        (strides && psnap_yaml_expect(r->doc, strides, PSNAP_YAML_SEQUENCE, "strides", r->error)))
        return PSNAP_ERROR_VALUE;
    if (!levels || levels + depth > STEPS_MAX)
        return psnap_yaml_fail(r->doc, map, r->error, PSNAP_ERROR_VALUE,
                               "1 to %d loops in each other are possible", STEPS_MAX);
    if (strides && strides->count != loops)
        return psnap_yaml_fail(r->doc, strides, r->error, PSNAP_ERROR_VALUE,
                               "%zu strides, but %" PRIu32 " counts in %" PRIu32 " loops around",
                               strides->count, loops - depth, depth);
    level_steps = calloc(levels, sizeof *level_steps);
    if (!level_steps)
        return no_memory(p);
    for (node = counts ? counts->first : NULL; node && !status; node = node->next, i++)
        status = read_count_of(p, node, depth + i, &level_counts[i], level_steps[i]);
    i = 0;
    for (node = strides ? strides->first : NULL; node && !status; node = node->next) {
        int64_t number;
        status = psnap_yaml_i64(r->doc, node, INT64_MIN, INT64_MAX, &number, r->error);
        all[i++] = (uint64_t)number;
    }
    if (!status)
        status = extend(p, map, &run, 2);
    if (!status)
        status = read_start(p, map, &run.values[1]);
    if (!status) {
        run.values[0] = level_counts[levels - 1];
        memcpy(run.steps, level_steps[levels - 1], sizeof level_steps[0]);
        memcpy(run.steps + STEPS_MAX, all, (depth + levels - 1) * sizeof *all);
        if (depth + levels == 1 && run.values[0] == 1)
            all[0] = 0; /* a single number has no stride */
        run.pattern = nest_pattern_run(p->patterns, all[depth + levels - 1]);
        status = run.pattern ? PSNAP_OK : no_memory(p);
    }
    for (uint32_t l = levels - 1; l-- > 0 && !status;) { /* from the innermost loop outwards */
        struct parsed loop = {0};
        status = extend(p, map, &loop, 1);
        if (!status)
            status = make_loop(p, map, &run.pattern, 1, &run, depth + l, &loop);
        if (!status) {
            loop.values[0] = level_counts[l];
            memcpy(loop.steps, level_steps[l], sizeof level_steps[0]);
        }
        release(&run);
        run = loop;
    }
    free(level_steps);
    *term = run;
    return status;
}

static enum psnap_status read_term(struct parsing *p, const struct psnap_yaml_node *node,
                                   uint32_t depth, struct parsed *term);

static enum psnap_status read_repeat(struct parsing *p, const struct psnap_yaml_node *map,
                                     uint32_t depth, struct parsed *term)
{
    static const char *const keys[] = {"repeat", "of", NULL};
    const struct reading *r = p->r;
    const struct psnap_yaml_node *of, *node;
    const struct nest_pattern **bodies;
    struct parsed body = {0};
    uint32_t count = 0;
    enum psnap_status status = psnap_yaml_known_keys(r->doc, map, keys, r->error);

    of = status ? NULL : psnap_yaml_require(r->doc, map, "of", r->error);
    if (!of || psnap_yaml_expect(r->doc, of, PSNAP_YAML_SEQUENCE, "of", r->error))
        return PSNAP_ERROR_VALUE;
    if (!of->count || of->count > NEST_BODY_MAX || depth + 1 > STEPS_MAX - 1)
        return psnap_yaml_fail(r->doc, of, r->error, PSNAP_ERROR_VALUE,
                               "1 to %d terms in at most %d loops are possible", NEST_BODY_MAX,
                               STEPS_MAX);
    bodies = calloc(of->count, sizeof(struct nest_pattern *));
    status = bodies ? extend(p, map, term, 1) : no_memory(p);
    for (node = of->first; node && !status; node = node->next) {
        struct parsed one = {0};
        const uint32_t at = body.count;
        status = read_term(p, node, depth + 1, &one);
        if (!status)
            status = extend(p, node, &body, one.count);
        if (!status) {
            memcpy(&body.values[at], one.values, one.count * sizeof *one.values);
            memcpy(&body.steps[(size_t)at * STEPS_MAX], one.steps,
                   (size_t)one.count * STEPS_MAX * sizeof *one.steps);
            bodies[count++] = one.pattern;
        }
        release(&one);
    }
    if (!status)
        status = make_loop(p, map, bodies, count, &body, depth, term);
    if (!status)
        status =
            read_count_of(p, psnap_yaml_get(map, "repeat"), depth, &term->values[0], term->steps);
    release(&body);
    free(bodies);
    return status;
}

static enum psnap_status read_symbol(struct parsing *p, const struct psnap_yaml_node *node,
                                     struct parsed *term)
{
    uint32_t symbol;
    enum psnap_status status = p->symbol_of(p->context, node, &symbol);

    if (!status)
        status = extend(p, node, term, 1);
    if (status)
        return status;
    term->values[0] = 1;
    term->pattern = nest_pattern_symbol(p->patterns, symbol);
    return term->pattern ? PSNAP_OK : no_memory(p);
}

static enum psnap_status read_term(struct parsing *p, const struct psnap_yaml_node *node,
                                   uint32_t depth, struct parsed *term)
{
    static const char *const keys[] = {"region", "start", "counts", "strides", NULL};
    enum psnap_status status;

    if (psnap_yaml_get(node, "repeat"))
        return read_repeat(p, node, depth, term);
    if (p->symbol_of)
        return read_symbol(p, node, term);
    status = node->kind == PSNAP_YAML_SCALAR
                 ? PSNAP_OK
                 : psnap_yaml_expect_keys(p->r->doc, node, "a term", keys, p->r->error);
    return status ? status : read_run(p, node, depth, term);
}

static enum psnap_status read_terms(struct parsing *p, const struct psnap_yaml_node *list,
                                    struct nest_terms *terms)
{
    enum psnap_status status =
        psnap_yaml_expect(p->r->doc, list, PSNAP_YAML_SEQUENCE, "a nest", p->r->error);

    for (const struct psnap_yaml_node *node = status ? NULL : list->first; node && !status;
         node = node->next) {
        struct parsed term = {0};
        status = read_term(p, node, 0, &term);
        if (!status && !nest_terms_push(terms, term.pattern, term.values))
            status = no_memory(p);
        release(&term);
    }
    return status;
}

enum psnap_status read_numbers(const struct reading *r, const struct psnap_yaml_node *map,
                               const struct psnap_profile_loop *loop, struct nest_terms *terms)
{
    struct parsing p = {
        .r = r, .loop = loop, .usual = psnap_yaml_get(map, "region"), .patterns = terms->patterns};
    const struct psnap_yaml_node *nest = psnap_yaml_get(map, "nest");
    struct parsed term = {0};
    enum psnap_status status;

    if (nest && !nest->count)
        return psnap_yaml_fail(r->doc, nest, r->error, PSNAP_ERROR_VALUE, "a nest of no terms");
    if (nest)
        return read_terms(&p, nest, terms);
    status = read_run(&p, map, 0, &term);
    if (!status && !nest_terms_push(terms, term.pattern, term.values))
        status = no_memory(&p);
    release(&term);
    return status;
}

enum psnap_status read_order(const struct reading *r, const struct psnap_yaml_node *list,
                             enum psnap_status (*symbol_of)(const void *context,
                                                            const struct psnap_yaml_node *node,
                                                            uint32_t *symbol),
                             const void *context, struct nest_terms *terms)
{
    struct parsing p = {
        .r = r, .patterns = terms->patterns, .symbol_of = symbol_of, .context = context};

    return read_terms(&p, list, terms);
}
