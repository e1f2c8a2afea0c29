/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nests in closed form: what loops in loops add to a profile, without going through them.
 *
 * Within a region each stride is the difference of two addresses that are both linear in the
 * iterations of the loops around them, so over a box of iterations its least and its largest value
 * are those at two corners. Where these are equal, or both random on the same side, all strides of
 * the box have one bin, and an edge of the graph is counted as often as the box has iterations. A
 * loop is gone through like this: its first iteration with the loops around it where they are; then
 * all others at once, as a box, for which each region must be left by the bin by which it was
 * entered. Where a stride leaves its bin the box is halved, and what does not come out in any
 * box is put iteration by iteration. Edges go to a list first: all or none are counted.
 *
 * Only while every access stays in the range of the region that its reference touched last, so
 * that nothing but counts changes. Visits of loops (fold.h) are followed until an iteration changes
 * nothing but counts either; then they are multiplied.
 *
 * A loop in which counts depend on its iteration is put iteration by iteration. A test compares
 * random nests with their runs.
 */
#include "profile/build/builder.h"

#include <stdlib.h>
#include <string.h>

enum {
    PLACES_MAX = 64, /* regions of one put */
    EDGES_MAX = 2048,
    STEPS_MAX = 8192 /* accesses that are gone through before it is given up */
};

/* A region: where the last access was, in the first iteration of all loops that are boxes. */
struct place {
    struct build_region *region;
    struct build_loop *loop;
    uint64_t address;
    uint32_t last; /* that access; PSNAP_NONE: one before the iterations */
    uint8_t bin;   /* of its stride, or BUILD_START */
};

struct edge {
    uint64_t times;
    uint8_t place, from, to;
};

struct build_nest {
    struct builder *b;
    const struct psnap_nest *nest;
    /* The box: by level, the first iteration and how many. */
    uint64_t from[PSNAP_NEST_LEVELS], size[PSNAP_NEST_LEVELS];
    uint64_t counts[PSNAP_NEST_LEVELS]; /* of what is put in closed form */
    uint32_t place_count, edge_count;
    uint32_t steps;  /* left */
    uint32_t failed; /* levels, as bits, along which a stride has left its bin */
    struct place places[PLACES_MAX];
    uint8_t place_of[PSNAP_NEST_WIDTH]; /* by access */
    struct edge edges[EDGES_MAX];
    struct fold_mark marks[PSNAP_NEST_LEVELS];
};

void build_nest_free(struct build_nest *put)
{
    for (unsigned i = 0; put && i < PSNAP_NEST_LEVELS; i++)
        fold_mark_release(&put->marks[i]);
    free(put);
}

/* Iterations of a loop at `depth`, in the iterations that those around it are in. */
static uint64_t count_of(const struct build_nest *put, uint32_t at, unsigned depth)
{
    const struct psnap_nest_loop *loop = &put->nest->loops[at];
    uint64_t count = (uint64_t)loop->count;

    for (unsigned l = 0; l < depth; l++)
        count += put->from[l] * (uint64_t)loop->count_steps[l];
    return (int64_t)count > 0 ? count : 0;
}

static inline const int64_t *strides_of(const struct build_nest *put, uint32_t a)
{
    return &put->nest->strides[(size_t)a * put->nest->levels];
}

/* ------------------------------------------------------------- edges */

/* The bin of all strides of the box, from the place to `address` at its first corner; false: there
 * are several. */
static bool find_bin(struct build_nest *put, const struct place *place, uint64_t address,
                     const int64_t *strides, unsigned depth, unsigned *bin)
{
    const int64_t *others = place->last == PSNAP_NONE ? NULL : strides_of(put, place->last);
    const uint64_t first = address - place->address;
    int64_t low = (int64_t)first, high = low;
    uint32_t varies = 0;

    for (unsigned l = 0; l <= depth; l++) {
        int64_t by = 0, way = 0;
        if (put->size[l] == 1)
            continue;
        by = (int64_t)((uint64_t)strides[l] - (others ? (uint64_t)others[l] : 0));
        if (!by)
            continue;
        varies |= 1u << l;
        if (__builtin_mul_overflow(by, (int64_t)(put->size[l] - 1), &way) ||
            __builtin_add_overflow(by < 0 ? low : high, way, by < 0 ? &low : &high)) {
            put->failed = varies;
            return false;
        }
    }
    *bin = put->b->bins[BUILD_BINS_SPAN];
    if (low > PSNAP_STRIDE_MAX || high < -PSNAP_STRIDE_MAX)
        return true;
    *bin = put->b->bins[first + PSNAP_STRIDE_MAX < BUILD_BINS_SPAN ? first + PSNAP_STRIDE_MAX
                                                                   : BUILD_BINS_SPAN];
    put->failed = varies;
    return low == high;
}

/* An access of a run at `depth`, in all iterations of the box, of which there are `times`. */
static bool pass_access(struct build_nest *put, uint32_t a, unsigned depth, uint64_t times)
{
    const int64_t *strides = strides_of(put, a);
    struct place *place = &put->places[put->place_of[a]];
    uint64_t address = put->nest->first[a].address;
    unsigned bin;

    for (unsigned l = 0; l <= depth; l++)
        address += put->from[l] * (uint64_t)strides[l];
    put->failed = 0;
    if (!put->steps-- || put->edge_count == EDGES_MAX) {
        put->steps = 0;
        return false;
    }
    if (!find_bin(put, place, address, strides, depth, &bin))
        return false;
    put->edges[put->edge_count++] =
        (struct edge){times, put->place_of[a], place->bin, (uint8_t)bin};
    place->address = address;
    place->last = a;
    place->bin = (uint8_t)bin;
    return true;
}

static bool pass_loop(struct build_nest *put, uint32_t at, unsigned depth, uint64_t from,
                      uint64_t end, uint64_t times);

/* What is in a loop, once for each iteration of the box. */
static bool pass_body(struct build_nest *put, uint32_t at, unsigned depth, uint64_t times)
{
    const struct psnap_nest_loop *loop = &put->nest->loops[at];

    if (!loop->inside) {
        for (uint32_t a = loop->begin; a < (uint32_t)loop->begin + loop->width; a++)
            if (!pass_access(put, a, depth, times))
                return false;
        return true;
    }
    for (uint32_t i = at + 1; i <= at + loop->inside; i += 1 + put->nest->loops[i].inside)
        if (!pass_loop(put, i, depth + 1, 0, count_of(put, i, depth + 1), times))
            return false;
    return true;
}

/* Whether the place was touched in the loop, whose last iteration is over. */
static bool is_touched(const struct place *place, const struct psnap_nest_loop *loop)
{
    return place->last != PSNAP_NONE && place->last - loop->begin < loop->width;
}

/* Whether the regions that the loop touches were left by the bins that they were entered by. */
static bool is_periodic(const struct build_nest *put, const struct psnap_nest_loop *loop,
                        const struct place *before)
{
    for (uint32_t i = 0; i < put->place_count; i++)
        if (is_touched(&put->places[i], loop) && put->places[i].bin != before[i].bin)
            return false;
    return true;
}

/* Rounds [from, from + size) at once; as it was before when false. */
static bool pass_box(struct build_nest *put, uint32_t at, unsigned depth, uint64_t from,
                     uint64_t size, uint64_t times, bool *is_uneven)
{
    const struct psnap_nest_loop *loop = &put->nest->loops[at];
    const uint32_t edge_count = put->edge_count;
    struct place before[PLACES_MAX];

    memcpy(before, put->places, put->place_count * sizeof *before);
    put->from[depth] = from;
    put->size[depth] = size;
    *is_uneven = false;
    if (pass_body(put, at, depth, times * size)) {
        if (size == 1)
            return true;
        *is_uneven = !is_periodic(put, loop, before);
        for (uint32_t i = 0; i < put->place_count && !*is_uneven; i++)
            if (is_touched(&put->places[i], loop))
                put->places[i].address +=
                    (size - 1) * (uint64_t)strides_of(put, put->places[i].last)[depth];
        if (!*is_uneven)
            return true;
    }
    put->edge_count = edge_count;
    memcpy(put->places, before, put->place_count * sizeof *before);
    return false;
}

/* Rounds [from, end) of a loop: the first one, then what is left in boxes. */
static bool pass_loop(struct build_nest *put, uint32_t at, unsigned depth, uint64_t from,
                      uint64_t end, uint64_t times)
{
    bool is_uneven;

    if (!pass_box(put, at, depth, from, 1, times, &is_uneven))
        return false;
    for (from++; from < end;) {
        uint64_t size = end - from;
        while (!pass_box(put, at, depth, from, size, times, &is_uneven)) {
            if (size == 1 || !put->steps || (!is_uneven && !(put->failed >> depth & 1)))
                return false; /* because of the loops around it */
            size = is_uneven ? 1 : (size + 1) / 2;
        }
        from += size;
    }
    put->size[depth] = 1;
    return true;
}

static bool commit_edges(struct build_nest *put)
{
    bool is_short = false;

    for (uint32_t i = 0; i < put->edge_count; i++) {
        const struct edge *edge = &put->edges[i];
        const struct place *place = &put->places[edge->place];
        build_edge_add(place->loop, place->region, edge->from, edge->to, edge->times);
    }
    for (uint32_t i = 0; i < put->place_count; i++) {
        const struct place *place = &put->places[i];
        place->region->previous = place->address;
        build_previous_set(place->loop, place->region, place->bin);
        is_short |= place->region->is_short;
    }
    return !is_short;
}

/* ------------------------------------------------------------- regions */

/* The place of a region, made if need be; PLACES_MAX when there are too many. */
static uint32_t place_of(struct build_nest *put, struct build_loop *loop,
                         struct build_region *region)
{
    uint32_t i = 0;

    while (i < put->place_count && put->places[i].region != region)
        i++;
    if (i == put->place_count && i < PLACES_MAX) {
        put->places[put->place_count++] =
            (struct place){.region = region,
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
    const int64_t *strides = strides_of(put, a);
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
    const int64_t *strides = strides_of(put, a);
    uint64_t address = put->nest->first[a].address;

    for (unsigned l = 0; l <= depth; l++)
        address += put->from[l] * (uint64_t)strides[l];
    return address;
}

/* Whether the access never goes more than the gap beyond where it has been. */
static bool is_dense(const struct build_nest *put, uint32_t a, unsigned top, unsigned depth,
                     uint64_t gap)
{
    const int64_t *strides = strides_of(put, a);
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
    const int64_t stride = strides_of(put, a)[top];
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
        put->counts[depth + 1] = count_of(put, i, depth + 1);
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
        if (place == PLACES_MAX)
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
        put->counts[depth + 1] = count_of(put, i, depth + 1);
        widen(put, i, top, depth + 1);
    }
    for (uint32_t a = loop->begin; !loop->inside && a < (uint32_t)loop->begin + loop->width; a++) {
        const struct place *place = &put->places[put->place_of[a]];
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
        is_short |= !count_shapes(put, i, depth + 1, times * count_of(put, i, depth + 1));
    for (uint32_t a = loop->begin; !loop->inside && a < (uint32_t)loop->begin + loop->width; a++) {
        const struct psnap_access *access = &put->nest->first[a];
        const struct place *place = &put->places[put->place_of[a]];
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
        sum += count_of(put, i, depth + 1) * accesses_of(put, i, depth + 1);
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
            enum psnap_status status = visit(put, k, depth + 1, count_of(put, k, depth + 1), error);
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
    uint64_t left = count_of(put, at, depth) - from, inside;

    *done = 0;
    for (unsigned l = 0; l < PSNAP_NEST_LEVELS; l++)
        put->counts[l] = put->size[l] = 1;
    put->place_count = put->edge_count = 0;
    put->steps = STEPS_MAX;
    put->from[depth] = from;
    inside = find_places(put, at, depth, depth);
    left = inside < left ? inside : left;
    if (left < 2 || !pass_loop(put, at, depth, from, from + left, 1))
        return PSNAP_OK;
    *done = left;
    put->from[depth] = from;
    put->counts[depth] = left;
    widen(put, at, depth, depth);
    if (!commit_edges(put) || !count_shapes(put, at, depth, left))
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
                                  .count = count_of(put, at, depth),
                                  .shape = loop->shape,
                                  .turns = loop->turns};

    for (uint32_t k = 0; k < loop->width; k++) {
        const int64_t *from = strides_of(put, loop->begin + k);
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
    const uint64_t count = count_of(put, at, depth);
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
