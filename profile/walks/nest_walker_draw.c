/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The addresses that leaves draw: of many iterations as a column for each reference, of few access
 * by access. Both give the same: an address that goes with another draw is told from the last one
 * of that, which in a column is the one of the iteration before or of this one.
 */
#include "profile/walks/nest_walker.h"

#include <stdlib.h>

static const struct nest_source *source_of(const struct psnap_walker *w, uint32_t draw)
{
    return nest_source_of(&w->nests->models->draws[draw], w->is_entry);
}

static struct gather_walk *walk_of(const struct psnap_walker *w, uint32_t draw)
{
    return w->is_entry && w->nests->models->draws[draw].has_entry ? w->draws[draw].entry
                                                                  : w->draws[draw].rest;
}

/* ---- many iterations ---- */

/* The reference that has the last address of a draw before reference k of an iteration: of the same
 * one below k, of the one before from k on; the width: none of the leaf. */
static uint32_t find_last(const struct nest_shape *shape, uint32_t draw, uint32_t k)
{
    for (uint32_t i = 0; i < shape->width; i++) {
        const uint32_t at = (k + shape->width - 1 - i) % shape->width;
        if (shape->refs[at].mode == NEST_DRAWN && shape->refs[at].draw == draw)
            return at;
    }
    return shape->width;
}

/* Addresses of a gather to the references of the leaf that draw from it, in the order in which they
 * come; the first of them is k. */
static void draw_gather(struct psnap_walker *w, uint32_t k, uint64_t n)
{
    const struct nest_shape *shape = w->shape;
    const uint32_t draw = shape->refs[k].draw;
    uint32_t copies[NEST_WIDTH_MAX], m = 0;

    for (uint32_t i = k; i < shape->width; i++)
        if (shape->refs[i].mode == NEST_DRAWN && shape->refs[i].draw == draw)
            copies[m++] = i;
    if (!walk_of(w, draw))
        return;
    if (m == 1) {
        gather_walk_next(walk_of(w, draw), w->drawn[k], n);
        return;
    }
    gather_walk_next(walk_of(w, draw), w->interleaved, m * n);
    for (uint64_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < m; j++)
            w->drawn[copies[j]][i] = w->interleaved[i * m + j];
}

/* Addresses of a reference that goes with another draw, whose are there. */
static void draw_with(struct psnap_walker *w, uint32_t k, uint64_t n)
{
    const struct nest_source *source = source_of(w, w->shape->refs[k].draw);
    const uint32_t leader = find_last(w->shape, source->with, k);

    for (uint64_t i = 0; i < n; i++)
        if (leader == w->shape->width || (leader >= k && !i))
            w->drawn[k][i] = w->draws[source->with].last + source->offset;
        else
            w->drawn[k][i] = w->drawn[leader][leader >= k ? i - 1 : i] + source->offset;
}

/* What is drawn around an address that the leaf leaves as it is needs not come one by one. */
static void rest(const struct psnap_walker *w, uint64_t n)
{
    const struct walker_access *accesses = w->refs->of[w->is_entry];

    for (uint32_t k = 0; w->refs->has_rests && k < w->shape->width; k++)
        if (accesses[k].rests)
            gather_walk_rest(accesses[k].walk, n * accesses[k].rests);
}

/* Address by address; those of gathers are there. */
static void draw_in_order(struct psnap_walker *w, uint64_t n)
{
    const struct nest_shape *shape = w->shape;
    const struct walker_access *accesses = w->refs->of[w->is_entry];

    rest(w, n);
    for (uint64_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < shape->width; k++)
            if (accesses[k].is_drawn && accesses[k].walk && !accesses[k].is_around) {
                *accesses[k].last = *accesses[k].begun = w->drawn[k][i];
                walker_drawn(w, shape->refs[k].draw, w->drawn[k][i]);
            } else if (accesses[k].is_drawn)
                w->drawn[k][i] = walker_take(w, &accesses[k], w->has_trail);
}

/* Whether an address depends on what was drawn just before. */
static bool is_after(const struct psnap_walker *w, const struct nest_source *source)
{
    return source->after_count || source->around != PSNAP_NONE ||
           (source->with != PSNAP_NONE && w->nests->models->draws[source->with].start);
}

static bool has_after(const struct psnap_walker *w)
{
    for (uint32_t k = 0; k < w->shape->width; k++)
        if (w->shape->refs[k].mode == NEST_DRAWN &&
            is_after(w, source_of(w, w->shape->refs[k].draw)))
            return true;
    return false;
}

void walker_draw_chunk(struct psnap_walker *w, uint64_t n)
{
    const struct nest_shape *shape = w->shape;
    const bool is_in_order = has_after(w);
    bool is_there[NEST_WIDTH_MAX], is_any = !is_in_order;

    for (uint32_t k = 0; k < shape->width; k++) {
        const struct nest_ref *ref = &shape->refs[k];
        is_there[k] = ref->mode != NEST_DRAWN || source_of(w, ref->draw)->with == PSNAP_NONE;
        w->columns[k] = (struct psnap_column){.words = ref->mode == NEST_DRAWN ? w->drawn[k] : NULL,
                                              .pitch = 1};
        if (ref->mode != NEST_DRAWN)
            continue;
        if (is_there[k] && !is_after(w, source_of(w, ref->draw)) &&
            find_last(shape, ref->draw, k) >= k)
            draw_gather(w, k, n);
    }
    while (is_any) {
        is_any = false;
        for (uint32_t k = 0; k < shape->width; k++) {
            const uint32_t leader =
                is_there[k] ? 0 : find_last(shape, source_of(w, shape->refs[k].draw)->with, k);
            if (is_there[k] || (leader < shape->width && !is_there[leader]))
                continue;
            draw_with(w, k, n);
            is_there[k] = is_any = true;
        }
    }
    if (is_in_order)
        draw_in_order(w, n);
    for (uint64_t i = n > NEST_BACK_MAX ? n - NEST_BACK_MAX : 0; !is_in_order && i < n; i++)
        for (uint32_t k = 0; k < shape->width; k++)
            if (shape->refs[k].mode == NEST_DRAWN)
                walker_drawn(w, shape->refs[k].draw, w->drawn[k][i]);
    for (uint32_t k = 0; k < shape->width; k++)
        if (shape->refs[k].mode == NEST_DRAWN) {
            w->draws[shape->refs[k].draw].last = w->drawn[k][n - 1];
            *w->refs->of[w->is_entry][k].begun = w->drawn[k][0];
            w->first[k].address = w->drawn[k][0];
        }
}

/* ---- few iterations ---- */

static inline void write_drawn(struct psnap_walker *w, uint64_t n, struct psnap_access *block,
                               bool has_trail)
{
    const struct walker_access *accesses = w->refs->of[w->is_entry];
    const uint32_t width = w->shape->width;

    rest(w, n);
    for (uint64_t i = 0; i < n; i++, block += width) {
        for (uint32_t k = 0; k < width; k++) {
            block[k] = accesses[k].access;
            block[k].address = walker_take(w, &accesses[k], has_trail);
        }
        for (uint32_t k = 0; !w->refs->is_all_drawn && k < width; k++)
            w->first[k].address += (uint64_t)w->strides[k];
    }
}

void walker_write_short(struct psnap_walker *w, uint64_t n, struct psnap_access *block)
{
    const struct walker_access *accesses = w->refs->of[0];
    const uint32_t width = w->shape->width;

    if (w->is_cut && w->has_trail)
        write_drawn(w, n, block, true);
    else if (w->is_cut)
        write_drawn(w, n, block, false);
    for (uint64_t i = 0; !w->is_cut && i < n; i++)
        for (uint32_t k = 0; k < width; k++, block++) {
            *block = accesses[k].access;
            block->address = w->first[k].address;
            w->first[k].address += (uint64_t)w->strides[k];
        }
}

/* ---- how addresses come ---- */

/* Of a draw. */
static void set_drawn(struct psnap_walker *w, struct walker_access *access,
                      struct gather_left *stay, uint32_t index, bool is_entry)
{
    const struct nest_draw *draw = &w->nests->models->draws[index];
    const struct nest_source *source = nest_source_of(draw, is_entry);
    struct drawing *drawing = &w->draws[index];
    const struct drawn_ways *ways = &drawing->ways[is_entry && draw->has_entry];

    access->last = &drawing->last;
    access->draw = index;
    if (is_entry && drawing->begun)
        access->begun = drawing->begun;
    access->is_drawn = true;
    if (source->with != PSNAP_NONE) {
        stay->at = &w->draws[source->with].last;
        access->offset = source->offset;
    } else if (ways->count) {
        stay->at = &drawing->last;
        access->ways = ways->is_plain ? NULL : ways;
        access->back = (uint16_t)ways->back[0];
        access->offset = ways->offset[0];
    } else
        access->walk = is_entry && draw->has_entry ? drawing->entry : drawing->rest;
    if (access->walk) {
        access->left = &((struct gather_ahead *)access->walk)->left;
        access->step = 1;
        access->is_around = source->around != PSNAP_NONE;
    }
}

/* Whether the leaf leaves the last address of a draw as it is. */
static bool is_left(const struct psnap_walker *w, const struct nest_shape *shape, uint32_t draw)
{
    for (uint32_t k = 0; k < shape->width; k++)
        if ((shape->refs[k].mode < NEST_DRAWN_FIRST ? w->draw_of[shape->refs[k].ref]
                                                    : shape->refs[k].draw) == draw)
            return false;
    return true;
}

/* Which of them take words that are drawn around points that rest. */
static void set_rests(const struct psnap_walker *w, struct walker_accesses *accesses,
                      const struct nest_shape *shape, bool is_entry)
{
    for (uint32_t k = 0; k < shape->width; k++) {
        struct walker_access *const access = &accesses->of[is_entry][k];
        uint32_t first = 0;
        if (!access->is_around ||
            !is_left(
                w, shape,
                nest_source_of(&w->nests->models->draws[shape->refs[k].draw], is_entry)->around))
            continue;
        while (accesses->of[is_entry][first].walk != access->walk)
            first++;
        accesses->of[is_entry][first].rests++;
        accesses->has_rests = true;
    }
}

static bool add_shape(struct psnap_walker *w, struct walker_accesses *all,
                      const struct nest_shape *shape)
{
    struct walker_accesses *accesses = &all[shape->number];
    const uint32_t width = shape->width;

    if (accesses->of[0] || !width)
        return true;
    accesses->of[0] = calloc(2 * (size_t)width, sizeof *accesses->of[0]);
    accesses->stay = calloc(2 * (size_t)width, sizeof *accesses->stay);
    if (!accesses->of[0] || !accesses->stay)
        return false;
    accesses->of[1] = accesses->of[0] + width;
    accesses->is_all_drawn = true;
    for (uint32_t i = 0; i < 2 * width; i++) {
        const struct nest_ref *ref = &shape->refs[i % width];
        struct walker_access *access = &accesses->of[0][i];
        *access = (struct walker_access){
            .left = &accesses->stay[i], .last = &w->nothing, .begun = &w->nothing};
        access->access = (struct psnap_access){
            .ref = ref->ref, .thread = ref->thread, .size = ref->size, .kind = ref->kind};
        accesses->stay[i].at = &w->first[i % width].address;
        if (ref->mode == NEST_DRAWN)
            set_drawn(w, access, &accesses->stay[i], ref->draw, i >= width);
        accesses->is_drawn |= access->is_drawn;
        accesses->is_all_drawn &= access->is_drawn;
        accesses->has_ways |= access->ways || access->back;
        accesses->has_turns |= access->ways && access->ways->share;
        if (ref->mode >= NEST_DRAWN_FIRST) {
            const struct nest_draw *draw = &w->nests->models->draws[ref->draw];
            accesses->has_points |= draw->rest.slope || (draw->has_entry && draw->entry.slope);
        }
    }
    set_rests(w, accesses, shape, false);
    set_rests(w, accesses, shape, true);
    return true;
}

/* What ways lead back to; false: out of memory. */
static bool add_past(struct drawn_ways *ways, const struct nest_source *source)
{
    if (nest_comes_back(source))
        ways->past = calloc(1, sizeof *ways->past);
    return ways->past || !nest_comes_back(source);
}

/* What a way goes from, if not from the trail. */
static const uint64_t *last_of(const struct psnap_walker *w, const struct drawing *own,
                               const struct nest_past *past, const struct nest_after *after)
{
    const struct drawing *other = after->draw ? &w->draws[after->draw - 1] : own;

    if (after->is_left && other->ways[0].past)
        return &other->ways[0].past->left;
    return after->earlier ? &past->addresses[after->earlier - 1] : &other->last;
}

static void set_ways(struct psnap_walker *w, struct drawn_ways *ways, struct drawing *drawing,
                     const struct nest_source *source)
{
    bool is_own = true;

    ways->drawing = drawing;
    ways->count = source->after_count;
    ways->low = source->span_bytes ? source->low : 0;
    ways->span = source->span_bytes ? source->span_bytes : UINT64_MAX;
    ways->is_plain = source->after_count == 1 && !source->span_bytes;
    for (uint32_t i = 0; i < NEST_AFTER_MAX; i++) {
        const struct nest_after *after = &source->after[i];
        ways->below[i] = UINT64_MAX;
        if (i >= source->after_count)
            continue;
        ways->by[i] = after->by - 1;
        ways->by_count += after->by != 0;
        ways->all += after->by ? 0 : after->times;
        ways->back[i] = after->back;
        ways->offset[i] = after->offset;
        ways->scale[i] = after->scale > 1 ? after->scale : 1;
        ways->last[i] = last_of(w, drawing, ways->past, after);
        ways->is_plain =
            ways->is_plain && !after->draw && !after->by && !after->earlier && ways->scale[i] == 1;
        is_own = is_own && !after->draw && !after->by && !after->back && !after->earlier &&
                 ways->scale[i] == 1;
        w->has_trail |= ways->back[i] || !ways->is_plain;
        if (i + 1 < source->after_count)
            ways->below[i] = ways->all;
    }
    ways->all += ways->all == 0; /* there are only such as ask by whom: the last one is left */
    if (is_own && ways->count == 2)
        ways->share = (uint64_t)(0x1p64 * (double)ways->below[0] / (double)ways->all);
}

/* Draw i has the start of another one; before there is one, that is where it may draw. */
static void set_start(struct psnap_walker *w, uint32_t i)
{
    const struct nest_models *models = w->nests->models;
    const uint32_t of = models->draws[i].start - 1;
    const struct nest_source *source = nest_source_of(&models->draws[of], true);
    uint64_t offset = 0;

    w->draws[of].begun = &w->draws[i].last;
    w->has_trail = true;
    for (uint32_t n = 0; source->with != PSNAP_NONE && n < models->draw_count; n++) {
        const struct nest_draw *leader = &models->draws[source->with];
        offset += source->offset;
        if (leader->leads[0]) {
            w->draws[i].last = w->draws[source->with].last + offset;
            return;
        }
        source =
            leader->start ? nest_source_of(&models->draws[leader->start - 1], true) : &leader->rest;
    }
    if (source->gather.area_count)
        w->draws[i].last = source->gather.areas[0].base + offset;
}

static bool add_pattern(struct psnap_walker *w, struct walker_accesses *all,
                        const struct nest_pattern *pattern)
{
    bool is_done = pattern->body_count || add_shape(w, all, pattern->shape);

    for (uint32_t i = 0; is_done && i < pattern->body_count; i++)
        is_done = add_pattern(w, all, pattern->body[i]);
    return is_done;
}

bool walker_draw_init(struct psnap_walker *w)
{
    const struct nest_models *models = w->nests->models;
    bool is_done = true;

    w->accesses[0] =
        calloc(nest_shape_count(w->nests->patterns) + (size_t)1, sizeof *w->accesses[0]);
    w->accesses[1] =
        calloc((models ? nest_shape_count(models->shapes) : 0) + (size_t)1, sizeof *w->accesses[1]);
    if (!w->accesses[0] || !w->accesses[1])
        return false;
    for (uint32_t i = 0; i < TRAIL; i++)
        w->trail_by[i] = PSNAP_NONE;
    for (uint32_t i = 0; models && i < models->draw_count; i++)
        if (models->draws[i].start)
            set_start(w, i);
    for (uint32_t i = 0; models && is_done && i < models->draw_count; i++)
        is_done = add_past(&w->draws[i].ways[0], &models->draws[i].rest) &&
                  add_past(&w->draws[i].ways[1], &models->draws[i].entry);
    for (uint32_t i = 0; models && is_done && i < models->draw_count; i++) {
        set_ways(w, &w->draws[i].ways[0], &w->draws[i], &models->draws[i].rest);
        set_ways(w, &w->draws[i].ways[1], &w->draws[i], &models->draws[i].entry);
    }
    for (size_t i = 0; is_done && i < w->nests->count; i++)
        is_done = add_pattern(w, w->accesses[0], w->nests->terms[i].pattern);
    for (uint32_t i = 0; models && is_done && i < models->mix_count; i++)
        for (uint32_t k = 0;
             is_done && models->mixes[i].chain && k < models->mixes[i].chain->state_count; k++)
            is_done = add_shape(w, w->accesses[1], models->mixes[i].states[k]);
    return is_done;
}

void walker_draw_release(struct psnap_walker *w)
{
    const struct nest_models *models = w->nests ? w->nests->models : NULL;
    const uint32_t counts[2] = {w->nests ? nest_shape_count(w->nests->patterns) : 0,
                                models ? nest_shape_count(models->shapes) : 0};

    for (int which = 0; which < 2; which++) {
        for (uint32_t i = 0; w->accesses[which] && i < counts[which]; i++) {
            free(w->accesses[which][i].of[0]);
            free(w->accesses[which][i].stay);
        }
        free(w->accesses[which]);
    }
}
