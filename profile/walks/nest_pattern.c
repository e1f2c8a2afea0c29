/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Patterns and shapes, one of each kind, found by hash and never changed.
 */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "formats/base/arena.h"
#include "profile/walks/nests.h"

enum { TABLE_FIRST = 256 };

/* A hash table of pointers, half full at most. */
struct table {
    void **slots;
    uint32_t room, count; /* room is a power of two */
};

struct nest_patterns {
    struct psnap_arena *arena;
    struct table patterns, shapes;
};

static size_t step_count(const struct nest_pattern *pattern)
{
    return pattern->values - 1;
}

static uint64_t hash_pattern(const void *item)
{
    const struct nest_pattern *pattern = item;
    const uint64_t hash = XXH3_64bits(pattern->steps, step_count(pattern) * sizeof *pattern->steps);

    if (pattern->body_count)
        return XXH3_64bits_withSeed(pattern->body,
                                    pattern->body_count * sizeof(struct nest_pattern *), hash);
    return XXH3_64bits_withSeed(&pattern->shape, sizeof(const struct nest_shape *), hash);
}

static bool equal_patterns(const void *one, const void *other)
{
    const struct nest_pattern *a = one, *b = other;

    return a->values == b->values && a->body_count == b->body_count && a->shape == b->shape &&
           !memcmp(a->steps, b->steps, step_count(a) * sizeof *a->steps) &&
           (!a->body_count ||
            !memcmp(a->body, b->body, a->body_count * sizeof(struct nest_pattern *)));
}

static uint64_t hash_shape(const void *item)
{
    const struct nest_shape *shape = item;

    return XXH3_64bits_withSeed(shape->refs, shape->width * sizeof shape->refs[0],
                                shape->loop + ((uint64_t)shape->counts << 32));
}

static bool equal_shapes(const void *one, const void *other)
{
    return nest_shape_is_equal(one, other);
}

static bool grow(struct table *table, uint64_t (*hash)(const void *item))
{
    const uint32_t room = table->room ? table->room * 2 : TABLE_FIRST;
    void **slots = calloc(room, sizeof(void *));

    if (!slots)
        return false;
    for (uint32_t i = 0; i < table->room; i++) {
        uint64_t at;
        if (!table->slots[i])
            continue;
        for (at = hash(table->slots[i]); slots[at & (room - 1)]; at++)
            continue;
        slots[at & (room - 1)] = table->slots[i];
    }
    free(table->slots);
    table->slots = slots;
    table->room = room;
    return true;
}

/* Where an item is that is equal to this one, or where it would be; NULL: out of memory. */
static void **find(struct table *table, const void *item, uint64_t (*hash)(const void *item),
                   bool (*equal)(const void *one, const void *other))
{
    uint64_t at;

    if (table->count * 2 >= table->room && !grow(table, hash))
        return NULL;
    for (at = hash(item); table->slots[at & (table->room - 1)]; at++)
        if (equal(table->slots[at & (table->room - 1)], item))
            break;
    return &table->slots[at & (table->room - 1)];
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
    free(patterns->patterns.slots);
    free(patterns->shapes.slots);
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
    void **slot = find(&patterns->patterns, wanted, hash_pattern, equal_patterns);
    struct nest_pattern *made;

    if (!slot || *slot)
        return slot ? *slot : NULL;
    made = copy(patterns->arena, wanted, sizeof *wanted);
    if (!made)
        return NULL;
    made->number = patterns->patterns.count;
    made->steps = copy(patterns->arena, wanted->steps, step_count(wanted) * sizeof *made->steps);
    made->body =
        copy(patterns->arena, wanted->body, wanted->body_count * sizeof(struct nest_pattern *));
    if (!made->steps || !made->body)
        return NULL;
    *slot = made;
    patterns->patterns.count++;
    return made;
}

const struct nest_pattern *nest_pattern_leaf(struct nest_patterns *patterns,
                                             const struct nest_shape *shape,
                                             const uint64_t *strides)
{
    const struct nest_pattern wanted = {
        .values = 1 + shape->width, .shape = shape, .steps = (uint64_t *)strides};

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

const struct nest_shape *nest_shape_of(struct nest_patterns *patterns,
                                       const struct nest_shape *wanted)
{
    void **slot = find(&patterns->shapes, wanted, hash_shape, equal_shapes);

    if (slot && !*slot) {
        struct nest_shape *made = copy(patterns->arena, wanted, nest_shape_bytes(wanted->width));
        if (made)
            made->number = patterns->shapes.count++;
        *slot = made;
    }
    return slot ? *slot : NULL;
}

const struct nest_shape *nest_shape_copy(struct nest_patterns *to, const struct nest_shape *from,
                                         void (*change)(void *context, struct nest_shape *shape),
                                         void *context)
{
    struct nest_shape *changed = malloc(nest_shape_bytes(from->width));
    const struct nest_shape *shape;

    if (!changed)
        return NULL;
    memcpy(changed, from, nest_shape_bytes(from->width));
    if (change)
        change(context, changed);
    shape = nest_shape_of(to, changed);
    free(changed);
    return shape;
}

const struct nest_pattern *
nest_pattern_copy(struct nest_patterns *to, const struct nest_pattern *from,
                  void (*change)(void *context, struct nest_shape *shape), void *context)
{
    const struct nest_pattern **body, *made = NULL;
    const struct nest_shape *shape;
    uint32_t i = 0;

    if (!from->body_count) {
        shape = nest_shape_copy(to, from->shape, change, context);
        return shape ? nest_pattern_leaf(to, shape, from->steps) : NULL;
    }
    body = malloc((from->body_count + (size_t)1) * sizeof(struct nest_pattern *));
    while (body && i < from->body_count &&
           (body[i] = nest_pattern_copy(to, from->body[i], change, context)))
        i++;
    if (i == from->body_count)
        made = nest_pattern_loop(to, body, i, from->steps);
    free(body);
    return made;
}

/* Whether counts of a term of the pattern, and in it, stay as they are. */
static bool is_steady(const struct nest_pattern *pattern, const uint64_t *steps)
{
    if (*steps++)
        return false;
    for (uint32_t i = 0; i < pattern->body_count; steps += pattern->body[i++]->values)
        if (!is_steady(pattern->body[i], steps))
            return false;
    return true;
}

bool nest_is_body_steady(const struct nest_pattern *loop)
{
    const uint64_t *steps = loop->steps;

    for (uint32_t i = 0; i < loop->body_count; steps += loop->body[i++]->values)
        if (!is_steady(loop->body[i], steps))
            return false;
    return true;
}

bool nest_each_iteration(const struct nest_pattern *loop, const uint64_t *values,
                         bool (*put)(void *context, const struct nest_pattern *pattern,
                                     const uint64_t *values),
                         void *context)
{
    const size_t n = loop->values - 1;
    uint64_t *iteration = malloc((n + 1) * sizeof *iteration);
    bool is_done = iteration != NULL;

    if (iteration)
        memcpy(iteration, values + 1, n * sizeof *iteration);
    for (uint64_t i = 0; is_done && i < values[0]; i++) {
        for (uint32_t k = 0, at = 0; is_done && k < loop->body_count; at += loop->body[k++]->values)
            is_done = put(context, loop->body[k], iteration + at);
        for (size_t k = 0; k < n; k++)
            iteration[k] += loop->steps[k];
    }
    free(iteration);
    return is_done;
}

uint32_t nest_shape_count(const struct nest_patterns *patterns)
{
    return patterns->shapes.count;
}

uint32_t nest_pattern_count(const struct nest_patterns *patterns)
{
    return patterns->patterns.count;
}

const struct nest_pattern *nest_pattern_numbered(const struct nest_patterns *patterns,
                                                 uint32_t number)
{
    for (uint32_t i = 0; i < patterns->patterns.room; i++) {
        const struct nest_pattern *pattern = patterns->patterns.slots[i];
        if (pattern && pattern->number == number)
            return pattern;
    }
    return NULL;
}
