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

/* Address by address; those of gathers are there. */
static void draw_in_order(struct psnap_walker *w, uint64_t n)
{
    const struct nest_shape *shape = w->shape;

    for (uint64_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < shape->width; k++) {
            const struct nest_ref *ref = &shape->refs[k];
            if (ref->mode != NEST_DRAWN)
                continue;
            const struct nest_source *source = source_of(w, ref->draw);
            if (source->with != PSNAP_NONE)
                w->drawn[k][i] = w->draws[source->with].last + source->offset;
            else if (source->after_count)
                w->drawn[k][i] = walker_after(w, source, &w->draws[ref->draw]);
            w->draws[ref->draw].last = w->drawn[k][i];
            walker_drawn(w, w->drawn[k][i]);
        }
}

static bool has_after(const struct psnap_walker *w)
{
    for (uint32_t k = 0; k < w->shape->width; k++)
        if (w->shape->refs[k].mode == NEST_DRAWN &&
            source_of(w, w->shape->refs[k].draw)->after_count)
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
        if (is_there[k] && (find_last(shape, ref->draw, k) >= k))
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
                walker_drawn(w, w->drawn[k][i]);
    for (uint32_t k = 0; k < shape->width; k++)
        if (shape->refs[k].mode == NEST_DRAWN) {
            w->draws[shape->refs[k].draw].last = w->drawn[k][n - 1];
            w->first[k].address = w->drawn[k][0];
        }
}

/* ---- few iterations ---- */

void walker_write_short(struct psnap_walker *w, uint64_t n, struct psnap_access *block)
{
    const uint32_t width = w->shape->width;
    const struct drawn_ref *refs = w->refs->of[w->is_entry];

    for (uint64_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < width; k++, block++) {
            *block = w->first[k];
            if (refs && refs[k].last) {
                const struct drawn_ref *ref = &refs[k];
                if (ref->walk)
                    block->address = gather_walk_take(ref->walk);
                else if (ref->from)
                    block->address = *ref->from + ref->offset;
                else if (ref->after)
                    block->address = walker_after(w, ref->after, ref->drawing);
                *ref->last = block->address;
                walker_drawn(w, block->address);
            }
            w->first[k].address += (uint64_t)w->strides[k];
        }
}

static struct drawn_ref drawn_ref(struct psnap_walker *w, const struct nest_ref *ref, bool is_entry)
{
    const struct nest_draw *draw = &w->nests->models->draws[ref->draw];
    const struct nest_source *source = nest_source_of(draw, is_entry);
    struct drawing *drawing = &w->draws[ref->draw];
    struct drawn_ref made = {.last = &drawing->last, .offset = source->offset};

    if (source->with != PSNAP_NONE)
        made.from = &w->draws[source->with].last;
    else if (source->after_count) {
        made.after = source;
        made.drawing = drawing;
    } else
        made.walk = is_entry && draw->has_entry ? drawing->entry : drawing->rest;
    return made;
}

static bool add_shape(struct psnap_walker *w, struct drawn_refs *all,
                      const struct nest_shape *shape)
{
    struct drawn_refs *refs = &all[shape->number];
    bool is_drawn = false;

    for (uint32_t k = 0; k < shape->width; k++)
        is_drawn |= shape->refs[k].mode == NEST_DRAWN;
    if (!is_drawn || refs->of[0])
        return true;
    refs->of[0] = calloc(2 * (size_t)shape->width, sizeof *refs->of[0]);
    if (!refs->of[0])
        return false;
    refs->of[1] = refs->of[0] + shape->width;
    for (uint32_t k = 0; k < shape->width; k++)
        for (int is_entry = 0; is_entry < 2; is_entry++)
            if (shape->refs[k].mode == NEST_DRAWN)
                refs->of[is_entry][k] = drawn_ref(w, &shape->refs[k], is_entry);
    return true;
}

static bool add_pattern(struct psnap_walker *w, struct drawn_refs *all,
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

    w->drawn_refs[0] =
        calloc(nest_shape_count(w->nests->patterns) + (size_t)1, sizeof *w->drawn_refs[0]);
    w->drawn_refs[1] = calloc((models ? nest_shape_count(models->shapes) : 0) + (size_t)1,
                              sizeof *w->drawn_refs[1]);
    if (!w->drawn_refs[0] || !w->drawn_refs[1])
        return false;
    for (size_t i = 0; models && is_done && i < w->nests->count; i++)
        is_done = add_pattern(w, w->drawn_refs[0], w->nests->terms[i].pattern);
    for (uint32_t i = 0; models && is_done && i < models->mix_count; i++)
        for (uint32_t k = 0;
             is_done && models->mixes[i].chain && k < models->mixes[i].chain->state_count; k++)
            is_done = add_shape(w, w->drawn_refs[1], models->mixes[i].states[k]);
    return is_done;
}

void walker_draw_release(struct psnap_walker *w)
{
    const struct nest_models *models = w->nests ? w->nests->models : NULL;
    const uint32_t counts[2] = {w->nests ? nest_shape_count(w->nests->patterns) : 0,
                                models ? nest_shape_count(models->shapes) : 0};

    for (int which = 0; which < 2; which++) {
        for (uint32_t i = 0; w->drawn_refs[which] && i < counts[which]; i++)
            free(w->drawn_refs[which][i].of[0]);
        free(w->drawn_refs[which]);
    }
}
