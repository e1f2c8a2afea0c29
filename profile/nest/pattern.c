/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Patterns, one of each form, found by hash and never changed.
 */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "formats/base/arena.h"
#include "formats/base/map.h"
#include "formats/base/room.h"
#include "profile/nest/nest.h"
#include "profile/profile.h"

enum {
    FEW = 16,              /* values of an iteration that need no memory */
    LENGTH_STEPS = 1 << 22 /* iterations gone through to count */
};

struct nest_patterns {
    struct psnap_arena *arena;
    const struct nest_pattern **all;
    struct psnap_map numbers; /* of patterns, from 1 on, by their hashes or the next free keys */
    size_t room;
    uint32_t count;
};

static size_t step_count(const struct nest_pattern *pattern)
{
    return pattern->values - 1;
}

static uint64_t hash_of(const struct nest_pattern *pattern)
{
    const uint64_t hash = XXH3_64bits_withSeed(
        pattern->steps, step_count(pattern) * sizeof *pattern->steps, pattern->symbol);

    return XXH3_64bits_withSeed(pattern->body, pattern->body_count * sizeof(struct nest_pattern *),
                                hash);
}

static bool is_equal(const struct nest_pattern *a, const struct nest_pattern *b)
{
    return a->values == b->values && a->body_count == b->body_count && a->symbol == b->symbol &&
           (a->values < 2 || !memcmp(a->steps, b->steps, step_count(a) * sizeof *a->steps)) &&
           (!a->body_count ||
            !memcmp(a->body, b->body, a->body_count * sizeof(struct nest_pattern *)));
}

struct nest_patterns *nest_patterns_new(void)
{
    struct nest_patterns *patterns = calloc(1, sizeof *patterns);

    if (patterns && !(patterns->arena = psnap_arena_new())) {
        free(patterns);
        return NULL;
    }
    return patterns;
}

void nest_patterns_free(struct nest_patterns *patterns)
{
    if (!patterns)
        return;
    psnap_arena_free(patterns->arena);
    free(patterns->all);
    free(patterns->numbers.slots);
    free(patterns);
}

static void *copy(struct psnap_arena *arena, const void *from, size_t bytes)
{
    void *to = psnap_arena_alloc(arena, bytes + 1);

    if (to && bytes)
        memcpy(to, from, bytes);
    return to;
}

static const struct nest_pattern *intern(struct nest_patterns *patterns,
                                         const struct nest_pattern *wanted)
{
    struct nest_pattern *made;
    uint64_t key = hash_of(wanted), known, *number;

    for (; (known = psnap_map_get(&patterns->numbers, key)) != 0; key++)
        if (is_equal(patterns->all[known - 1], wanted))
            return patterns->all[known - 1];
    number = psnap_map_put(&patterns->numbers, key);
    if (!number || !psnap_make_room(&patterns->all, &patterns->room, patterns->count + 1,
                                    sizeof(struct nest_pattern *)))
        return NULL;
    made = copy(patterns->arena, wanted, sizeof *wanted);
    if (!made)
        return NULL;
    made->steps = copy(patterns->arena, wanted->steps, step_count(wanted) * sizeof *made->steps);
    made->body =
        copy(patterns->arena, wanted->body, wanted->body_count * sizeof(struct nest_pattern *));
    if (!made->steps || !made->body)
        return NULL;
    made->number = patterns->count;
    patterns->all[patterns->count++] = made;
    *number = patterns->count;
    return made;
}

const struct nest_pattern *nest_pattern_symbol(struct nest_patterns *patterns, uint32_t symbol)
{
    const struct nest_pattern wanted = {.values = 1, .symbol = symbol};

    return intern(patterns, &wanted);
}

const struct nest_pattern *nest_pattern_run(struct nest_patterns *patterns, uint64_t stride)
{
    const struct nest_pattern wanted = {.values = 2, .symbol = NEST_NUMBERS, .steps = &stride};

    return intern(patterns, &wanted);
}

const struct nest_pattern *nest_pattern_loop(struct nest_patterns *patterns,
                                             const struct nest_pattern *const *body,
                                             uint32_t body_count, const uint64_t *steps)
{
    struct nest_pattern wanted = {.values = 1,
                                  .body_count = body_count,
                                  .body = (const struct nest_pattern **)body,
                                  .steps = (uint64_t *)steps};

    for (uint32_t i = 0; i < body_count; i++) {
        wanted.values += body[i]->values;
        if (body[i]->depth >= wanted.depth)
            wanted.depth = body[i]->depth + 1;
    }
    return intern(patterns, &wanted);
}

const struct nest_pattern *nest_pattern_copy(struct nest_patterns *to,
                                             const struct nest_pattern *from)
{
    const struct nest_pattern **body, *made = NULL;
    uint32_t i = 0;

    if (!from->body_count)
        return intern(to, from);
    body = malloc(from->body_count * sizeof(struct nest_pattern *));
    while (body && i < from->body_count && (body[i] = nest_pattern_copy(to, from->body[i])))
        i++;
    if (i == from->body_count)
        made = nest_pattern_loop(to, body, i, from->steps);
    free(body);
    return made;
}

bool nest_each_iteration(const struct nest_pattern *loop, const uint64_t *values,
                         bool (*put)(void *context, const struct nest_pattern *pattern,
                                     const uint64_t *values),
                         void *context)
{
    const size_t n = loop->values - 1;
    uint64_t few[FEW];
    uint64_t *iteration = n <= FEW ? few : malloc(n * sizeof *iteration);
    bool is_done = iteration != NULL;

    if (iteration)
        memcpy(iteration, values + 1, n * sizeof *iteration);
    for (uint64_t i = 0; is_done && i < values[0]; i++) {
        for (uint32_t k = 0, at = 0; is_done && k < loop->body_count; at += loop->body[k++]->values)
            is_done = put(context, loop->body[k], iteration + at);
        for (size_t k = 0; k < n; k++)
            iteration[k] += loop->steps[k];
    }
    if (iteration != few)
        free(iteration);
    return is_done;
}

/* ---- lengths ---- */

/* Whether no count in a term of the pattern changes by these steps. */
static bool is_steady(const struct nest_pattern *pattern, const uint64_t *steps)
{
    if (*steps++)
        return false;
    for (uint32_t i = 0; i < pattern->body_count; steps += pattern->body[i++]->values)
        if (!is_steady(pattern->body[i], steps))
            return false;
    return true;
}

bool nest_is_steady(const struct nest_pattern *loop)
{
    const uint64_t *steps = loop->steps;

    for (uint32_t i = 0; i < loop->body_count; steps += loop->body[i++]->values)
        if (!is_steady(loop->body[i], steps))
            return false;
    return true;
}

struct counting {
    uint64_t sum, steps;
};

static bool count_one(void *context, const struct nest_pattern *pattern, const uint64_t *values)
{
    struct counting *c = context;
    struct counting inner = {0, c->steps};
    uint64_t all = values[0];

    if ((int64_t)values[0] <= 0)
        return true;
    if (pattern->body_count && nest_is_steady(pattern)) {
        for (uint32_t i = 0, at = 1; i < pattern->body_count; at += pattern->body[i++]->values)
            if (!count_one(&inner, pattern->body[i], values + at))
                return false;
        if (__builtin_mul_overflow(inner.sum, values[0], &all))
            return false;
    } else if (pattern->body_count) {
        if (inner.steps < values[0])
            return false;
        inner.steps -= values[0];
        if (!nest_each_iteration(pattern, values, count_one, &inner))
            return false;
        all = inner.sum;
    }
    c->steps = inner.steps;
    if (all > PSNAP_COUNT_MAX || c->sum > PSNAP_COUNT_MAX - all)
        return false;
    c->sum += all;
    return true;
}

uint64_t nest_length(const struct nest_pattern *pattern, const uint64_t *values)
{
    struct counting c = {0, LENGTH_STEPS};

    return count_one(&c, pattern, values) ? c.sum : UINT64_MAX;
}
