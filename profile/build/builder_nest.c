/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nests in closed form: what loops in loops add to a profile, without going through them. The edges
 * that a nest adds to the graphs of strides of its regions are found by builder_nest_edges.c.
 *
 * A nest has a closed form only while every access stays in the range of the region that its
 * reference touched last, so that nothing but counts changes. Visits of loops (fold.h) are followed
 * until an iteration changes nothing but counts either; then they are multiplied.
 *
 * A loop in which counts depend on its iteration is put iteration by iteration. A test compares
 * random nests with their runs.
 */
#include "profile/build/builder_nest.h"

#include <stdlib.h>
#include <string.h>

enum { STEPS_MAX = 8192 /* accesses that are gone through before a nest is given up */ };

void build_nest_free(struct build_nest *put)
{
    for (unsigned i = 0; put && i < PSNAP_NEST_LEVELS; i++)
        fold_mark_release(&put->marks[i]);
    free(put);
}

/* ------------------------------------------------------------- regions */

/* The place of a region, made if need be; BUILD_PLACES_MAX when there are too many. */
static uint32_t place_of(struct build_nest *put, struct build_loop *loop,
                         struct build_region *region)
{
    uint32_t i = 0;

    while (i < put->place_count && put->places[i].region != region)
        i++;
    if (i == put->place_count && i < BUILD_PLACES_MAX) {
        put->places[put->place_count++] =
            (struct build_place){.region = region,
                                 .loop = loop,
                                 .address = region->previous,
                                 .last = PSNAP_NONE,
                                 .bin = (uint8_t)build_previous_bin(region)};
    }
    return i;
}

/* How far access a, of a run at `depth`, goes down and up in the iterations of the loops from level
 * `from` on; false when that is beyond all bounds. */
static bool find_extent(const struct build_nest *put, uint32_t a, unsigned from, unsigned depth,
                        uint64_t *down, uint64_t *up)
{
    const int64_t *strides = build_nest_strides(put, a);
    int64_t low = 0, high = 0, way;

    *down = *up = 0;
    for (unsigned l = from; l <= depth; l++)
        if (__builtin_mul_overflow(strides[l], (int64_t)(put->counts[l] - 1), &way) ||
            __builtin_add_overflow(way < 0 ? low : high, way, way < 0 ? &low : &high))
            return false;
    *down = 0 - (uint64_t)low;
    *up = (uint64_t)high;
    return true;
}

/* The address of an access in the first iterations. */
static uint64_t first_address(const struct build_nest *put, uint32_t a, unsigned depth)
{
    const int64_t *strides = build_nest_strides(put, a);
    uint64_t address = put->nest->first[a].address;

    for (unsigned l = 0; l <= depth; l++)
        address += put->from[l] * (uint64_t)strides[l];
    return address;
}

/* Whether the access never goes more than the gap beyond where it has been. */
static bool is_dense(const struct build_nest *put, uint32_t a, unsigned top, unsigned depth,
                     uint64_t gap)
{
    const int64_t *strides = build_nest_strides(put, a);
    uint64_t extent = 0;

    for (unsigned l = depth + 1; l-- > top;) {
        if (strides[l] < 0 || (uint64_t)strides[l] > extent + gap)
            return false;
        extent += l > top ? (uint64_t)strides[l] * (put->counts[l] - 1) : 0;
    }
    return true;
}

/* In how many iterations of the loop at level `top` an access of a run at `depth` stays in the
 * region that its reference touched last, which may grow upwards as far as that concerns no
 * neighbour. */
static uint64_t iterations_inside(const struct build_nest *put, uint32_t a, unsigned top,
                                  unsigned depth)
{
    const struct psnap_access *access = &put->nest->first[a];
    const struct build_region *region = put->b->refs[access->ref].region;
    const uint64_t gap = put->b->refs[access->ref].loop->gap;
    const uint64_t first = first_address(put, a, depth);
    const int64_t stride = build_nest_strides(put, a)[top];
    uint64_t down, up, bound = region->high;

    if (!find_extent(put, a, top + 1, depth, &down, &up))
        return 0;
    if (region->free_high > bound && (first <= bound || first - bound <= gap) &&
        is_dense(put, a, top, depth, gap))
        bound = region->free_high;
    if (first < region->low || first - region->low < down || first > bound || bound - first < up ||
        bound > UINT64_MAX - access->size)
        return 0;
    if (stride == 0)
        return UINT64_MAX;
    if (stride < 0)
        return (first - region->low - down) / (0 - (uint64_t)stride) + 1;
    return (bound - first - up) / (uint64_t)stride + 1;
}

/* In how many iterations of the loop at level `top` all accesses of a loop in it are known and stay
 * where they are; finds their regions. */
static uint64_t find_places(struct build_nest *put, uint32_t at, unsigned top, unsigned depth)
{
    const struct psnap_nest_loop *loop = &put->nest->loops[at];
    const struct builder *b = put->b;
    uint64_t most = INT64_MAX;

    if (loop->inside && depth + 1 == PSNAP_NEST_LEVELS)
        return 0;
    for (uint32_t i = at + 1; i <= at + loop->inside && most; i += 1 + put->nest->loops[i].inside) {
        uint64_t inside;
        put->from[depth + 1] = 0;
        put->counts[depth + 1] = build_nest_count(put, i, depth + 1);
        if (!put->counts[depth + 1])
            return 0;
        for (unsigned l = top; l <= depth; l++)
            if (put->nest->loops[i].count_steps[l])
                return 0;
        inside = find_places(put, i, top, depth + 1);
        most = inside < most ? inside : most;
    }
    for (uint32_t a = loop->begin; !loop->inside && a < (uint32_t)loop->begin + loop->width && most;
         a++) {
        const struct psnap_access *access = &put->nest->first[a];
        const struct ref_state *state = access->ref < b->ref_count ? &b->refs[access->ref] : NULL;
        uint64_t inside;
        uint32_t place;
        if (!state || !state->loop || state->region == &b->nowhere ||
            state->loop->pattern_count < BUILD_PATTERN ||
            access->size - 1u >= PSNAP_ACCESS_SIZE_MAX || access->kind > PSNAP_ATOMIC)
            return 0;
        inside = iterations_inside(put, a, top, depth);
        most = inside < most ? inside : most;
        place = place_of(put, state->loop, state->region);
        if (place == BUILD_PLACES_MAX)
            return 0;
        put->place_of[a] = (uint8_t)place;
    }
    return most;
}

/* Makes the regions' ranges hold all accesses of a loop. */
static void widen(struct build_nest *put, uint32_t at, unsigned top, unsigned depth)
{
    const struct psnap_nest_loop *loop = &put->nest->loops[at];

    for (uint32_t i = at + 1; i <= at + loop->inside && depth + 1 < PSNAP_NEST_LEVELS;
         i += 1 + put->nest->loops[i].inside) {
        put->from[depth + 1] = 0;
        put->counts[depth + 1] = build_nest_count(put, i, depth + 1);
        widen(put, i, top, depth + 1);
    }
    for (uint32_t a = loop->begin; !loop->inside && a < (uint32_t)loop->begin + loop->width; a++) {
        const struct build_place *place = &put->places[put->place_of[a]];
        uint64_t high = first_address(put, a, depth), down, up;
        find_extent(put, a, top, depth, &down, &up);
        high += up;
        build_region_widen(place->loop, place->region, high, high + put->nest->first[a].size - 1);
    }
}

/* What the accesses of a loop are, `times` of each; false: out of memory. */
static bool count_shapes(struct build_nest *put, uint32_t at, unsigned depth, uint64_t times)
{
    const struct psnap_nest_loop *loop = &put->nest->loops[at];
    bool is_short = false;

    for (uint32_t i = at + 1; i <= at + loop->inside; i += 1 + put->nest->loops[i].inside)
        is_short |= !count_shapes(put, i, depth + 1, times * build_nest_count(put, i, depth + 1));
    for (uint32_t a = loop->begin; !loop->inside && a < (uint32_t)loop->begin + loop->width; a++) {
        const struct psnap_access *access = &put->nest->first[a];
        const struct build_place *place = &put->places[put->place_of[a]];
        const unsigned shape =
            build_shape_place(place->loop, place->region, build_key(access->kind, access->size));
        place->region->shapes[shape].count += times;
        is_short |= place->region->is_short;
    }
    return !is_short;
}

/* ------------------------------------------------------------- visits */

/* Accesses of an iteration, or of a repetition. */
static uint64_t accesses_of(const struct build_nest *put, uint32_t at, unsigned depth)
{
    const struct psnap_nest_loop *loop = &put->nest->loops[at];
    uint64_t sum = loop->inside ? 0 : loop->width;

    for (uint32_t i = at + 1; i <= at + loop->inside; i += 1 + put->nest->loops[i].inside)
        sum += build_nest_count(put, i, depth + 1) * accesses_of(put, i, depth + 1);
    return sum;
}

static bool has_one_loop(const struct build_nest *put, const struct psnap_nest_loop *loop)
{
    const struct psnap_access *first = &put->nest->first[loop->begin];
    const struct build_loop *of = put->b->refs[first->ref].loop;

    for (uint32_t k = 1; k < loop->width; k++)
        if (put->b->refs[first[k].ref].loop != of)
            return false;
    return true;
}

/* What the visits of an iteration depend on, beside what a mark has. */
struct visiting {
    const struct build_loop *current, *visited, *last;
    uint64_t start, position;
};

static struct visiting visiting_of(const struct builder *b)
{
    return (struct visiting){b->current, b->visited, b->last_visited, b->visit_start, b->position};
}

/* Whether the next iteration has the visits that this one had, between `before` and now: none, or
 * such that the last one goes on as long. */
static bool is_alike(const struct builder *b, const struct visiting *before)
{
    return b->current == before->current && b->visited == before->visited &&
           b->last_visited == before->last &&
           (b->visit_start == before->start ||
            b->position - b->visit_start == before->position - before->start);
}

/* The visits of `count` iterations of a loop. */
static enum psnap_status visit(struct build_nest *put, uint32_t at, unsigned depth, uint64_t count,
                               struct psnap_error *error)
{
    const struct psnap_nest_loop *loop = &put->nest->loops[at];
    struct builder *b = put->b;
    const uint64_t accesses = accesses_of(put, at, depth);

    if (has_one_loop(put, loop)) {
        const struct psnap_access *first = &put->nest->first[loop->begin];
        enum psnap_status status = PSNAP_OK;
        if (b->refs[first->ref].loop != b->current)
            status = build_switch_loop(b, first, error);
        b->position += accesses * count;
        return status;
    }
    for (uint64_t i = 0; i < count; i++) {
        const bool is_marked = i && i + 1 < count && fold_mark(&b->visits, &put->marks[depth]);
        const struct visiting before = visiting_of(b);
        for (uint32_t k = at + 1; k <= at + loop->inside; k += 1 + put->nest->loops[k].inside) {
            enum psnap_status status =
                visit(put, k, depth + 1, build_nest_count(put, k, depth + 1), error);
            if (status)
                return status;
        }
        if (is_marked && is_alike(b, &before) &&
            fold_repeat(&b->visits, &put->marks[depth], count - i - 1)) {
            b->position += (count - i - 1) * accesses;
            b->visit_start += (count - i - 1) * (b->visit_start - before.start);
            break;
        }
    }
    return PSNAP_OK;
}

/* ------------------------------------------------------------- putting */

static struct build_nest *get_nest(struct builder *b)
{
    if (!b->nest) {
        b->nest = calloc(1, sizeof *b->nest);
        b->plan_bytes += b->nest ? sizeof *b->nest : 0;
    }
    return b->nest;
}

/* Rounds of a loop from `from` on in closed form, *done of them, none where there is none. */
static enum psnap_status put_closed(struct build_nest *put, uint32_t at, unsigned depth,
                                    uint64_t from, uint64_t *done, struct psnap_error *error)
{
    uint64_t left = build_nest_count(put, at, depth) - from, inside;

    *done = 0;
    for (unsigned l = 0; l < PSNAP_NEST_LEVELS; l++)
        put->counts[l] = put->size[l] = 1;
    put->place_count = put->edge_count = 0;
    put->steps = STEPS_MAX;
    put->from[depth] = from;
    inside = find_places(put, at, depth, depth);
    left = inside < left ? inside : left;
    if (left < 2 || !build_nest_pass(put, at, depth, from, from + left, 1))
        return PSNAP_OK;
    *done = left;
    put->from[depth] = from;
    put->counts[depth] = left;
    widen(put, at, depth, depth);
    if (!build_nest_commit(put) || !count_shapes(put, at, depth, left))
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    return visit(put, at, depth, left, error);
}

/* The run of a loop, in the iterations that the loops around it are in. */
static enum psnap_status put_leaf(struct build_nest *put, uint32_t at, unsigned depth,
                                  struct psnap_error *error)
{
    const struct psnap_nest_loop *loop = &put->nest->loops[at];
    struct psnap_access first[PSNAP_NEST_WIDTH];
    int64_t strides[PSNAP_NEST_WIDTH];
    const struct psnap_run run = {.first = first,
                                  .strides = strides,
                                  .width = loop->width,
                                  .count = build_nest_count(put, at, depth),
                                  .shape = loop->shape,
                                  .turns = loop->turns};

    for (uint32_t k = 0; k < loop->width; k++) {
        const int64_t *from = build_nest_strides(put, loop->begin + k);
        first[k] = put->nest->first[loop->begin + k];
        for (unsigned l = 0; l < depth; l++)
            first[k].address += put->from[l] * (uint64_t)from[l];
        strides[k] = from[depth];
    }
    return build_put_run(&put->b->base, &run, error);
}

/* A loop, in the iterations that the loops around it are in. What cannot be put in closed form is
 * put iteration by iteration, ever more of them before the next look. */
static enum psnap_status put_loop(struct build_nest *put, uint32_t at, unsigned depth,
                                  struct psnap_error *error)
{
    const struct psnap_nest_loop *loop = &put->nest->loops[at];
    const uint64_t count = build_nest_count(put, at, depth);
    uint64_t from = 0, singly = 1;
    enum psnap_status status = PSNAP_OK;

    if (!loop->inside && count)
        return put_leaf(put, at, depth, error);
    while (loop->inside && from < count && !status) {
        uint64_t end = singly < count - from ? from + singly : count, done;
        status = put_closed(put, at, depth, from, &done, error);
        if (done) {
            from += done;
            singly = 1;
            continue;
        }
        for (; from < end && !status; from++)
            for (uint32_t i = at + 1; i <= at + loop->inside && !status;
                 i += 1 + put->nest->loops[i].inside) {
                put->from[depth] = from;
                status = put_loop(put, i, depth + 1, error);
            }
        singly *= 2;
    }
    return status;
}

enum psnap_status build_put_nest(struct psnap_sink *self, const struct psnap_nest *nest,
                                 struct psnap_error *error)
{
    struct builder *b = (struct builder *)self;
    struct build_nest *put = get_nest(b);

    if (!put)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    put->b = b;
    put->nest = nest;
    return put_loop(put, 0, 0, error);
}
