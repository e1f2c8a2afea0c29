/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a thread's lane has collected, as part of a model (model.h). The rule of each reference is
 * the first of these that holds: its addresses are a nest; those of a sweep that it shares are;
 * another one's tell them; it is drawn by reuse time, which always holds.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/base/room.h"
#include "profile/collect/lane.h"

enum {
    TRIPS_FEW = 8, /* bins of trip counts, and of all bodies together so many more */
    TRIPS_MOST = 2000,
    RARE = 1000 /* references with less than one in so many accesses have no phases */
};

struct taking {
    struct lane *lane;
    struct psnap_stream_model *model;
    uint32_t first_ref, first_chain; /* of the lane's in the model */
    uint32_t *objects;               /* by object of the lane: of the model, or PSNAP_NONE */
    uint32_t *bodies;                /* by body of the lane: of the model */
    uint32_t object_count;
};

/* Room for `more` items behind the `count` that there are; they are zeroed. */
static bool extend(void *array, uint32_t count, uint32_t more, size_t size)
{
    char *items;

    if (!psnap_resize(array, ((size_t)count + more) + 1, size))
        return false;
    memcpy(&items, array, sizeof items);
    memset(items + (size_t)count * size, 0, more * size);
    return true;
}

/* The same number again and again is one. */
static void take_constant(struct nest_terms *terms)
{
    if (terms->count == 1 && !terms->terms[0].pattern->body_count &&
        !terms->terms[0].pattern->steps[0])
        terms->values[0] = 1;
}

static bool take_terms(const struct taking *t, struct nest_terms *to, const struct nest_terms *from)
{
    to->patterns = t->model->patterns;
    if (!nest_terms_copy(to, from))
        return false;
    take_constant(to);
    return true;
}

/* ---- references ---- */

/* The object of the model that one of the lane's is; PSNAP_NONE: out of memory. */
static uint32_t take_object(struct taking *t, uint32_t object)
{
    struct psnap_stream_model *model = t->model;
    const struct data_object *from = &t->lane->objects.objects[object];
    struct model_object *to;

    while (t->object_count <= object) {
        if (!psnap_resize(&t->objects, t->object_count + (size_t)1, sizeof *t->objects))
            return PSNAP_NONE;
        t->objects[t->object_count++] = PSNAP_NONE;
    }
    if (t->objects[object] != PSNAP_NONE)
        return t->objects[object];
    if (!extend(&model->objects, model->object_count, 1, sizeof *model->objects))
        return PSNAP_NONE;
    to = &model->objects[model->object_count];
    to->kind = from->kind;
    to->is_pool = from->is_pool;
    if (from->name && !from->is_pool) {
        to->low = from->low;
        to->bytes = from->end - from->low;
    }
    if (from->name && !(to->name = strdup(from->name)))
        return PSNAP_NONE;
    return t->objects[object] = model->object_count++;
}

/* An object takes in where a reference went in it. */
static void stretch(struct model_object *object, uint64_t low, uint64_t end)
{
    const uint64_t before = object->low + object->bytes;

    if (!object->bytes) {
        object->low = low;
        object->bytes = end - low;
    } else {
        object->low = low < object->low ? low : object->low;
        object->bytes = (end > before ? end : before) - object->low;
    }
}

/* The strides of a reference's first touches are those of the object that it is in most. */
static void take_firsts(const struct reuse_firsts *from, struct model_object *to)
{
    for (uint32_t i = 0; i < REUSE_STRIDES && from->strides[i].count; i++) {
        uint32_t at = 0;
        while (at + 1 < REUSE_STRIDES && at < to->stride_count &&
               to->strides[at].lines != from->strides[i].lines)
            at++;
        if (at == to->stride_count)
            to->strides[to->stride_count++] = (struct reuse_stride){from->strides[i].lines, 0};
        else if (to->strides[at].lines != from->strides[i].lines)
            continue; /* it is elsewhere */
        to->strides[at].count += from->strides[i].count;
        for (; at && to->strides[at].count > to->strides[at - 1].count; at--) {
            const struct reuse_stride kept = to->strides[at];
            to->strides[at] = to->strides[at - 1];
            to->strides[at - 1] = kept;
        }
    }
    to->firsts += from->count - 1;
}

/* Where in their bounds objects are that other ones lie within. */
static bool take_ranges(const struct taking *t)
{
    bool is_done = true;

    for (uint32_t i = 0; i < t->object_count && is_done; i++) {
        struct model_object *to;
        struct data_range *ranges;
        size_t count;
        if (t->objects[i] == PSNAP_NONE)
            continue;
        to = &t->model->objects[t->objects[i]];
        if (to->name && !to->is_pool)
            continue;
        if (!objects_ranges(&t->lane->objects, i, to->low, to->low + to->bytes, MODEL_RANGES,
                            &ranges, &count))
            return false;
        if (count && ranges->end - ranges->low < to->bytes) {
            is_done = (to->ranges = malloc(count * sizeof *to->ranges)) != NULL;
            to->range_count = is_done ? (uint32_t)count : 0;
            for (uint32_t k = 0; k < to->range_count; k++)
                to->ranges[k] =
                    (struct model_range){ranges[k].low - to->low, ranges[k].end - ranges[k].low};
        }
        free(ranges);
    }
    return is_done;
}

static int by_bin(const void *a, const void *b)
{
    const struct reuse_bin_count *p = a, *q = b;

    return p->bin < q->bin ? -1 : p->bin > q->bin;
}

/* All phases become one. */
static void join_phases(struct model_ref *ref)
{
    for (uint32_t i = 0; i < ref->reuse_count && ref->phases > 1; i++) {
        struct reuse *reuse = &ref->reuses[i];
        uint32_t kept = 0;
        memset(reuse->when, 0, sizeof reuse->when); /* that was of the first one */
        qsort(reuse->bins, reuse->bin_count, sizeof *reuse->bins, by_bin);
        for (uint32_t b = 0; b < reuse->bin_count; b++) {
            reuse->bins[b].phase = 0;
            if (kept && reuse->bins[kept - 1].bin == reuse->bins[b].bin)
                reuse->bins[kept - 1].count += reuse->bins[b].count;
            else
                reuse->bins[kept++] = reuse->bins[b];
        }
        reuse->bin_count = kept;
    }
    ref->phases = 1;
}

static bool take_reuse(struct taking *t, uint32_t site, struct model_ref *to)
{
    struct lane *lane = t->lane;
    struct lane_history *from = &lane->histories[site];
    uint32_t *objects, most = 0;
    bool is_done;

    if (!from->reuse.count && /* none of its lines was in the sample */
        !reuse_note(&from->reuse, lane->sites[site].latest, 0, REUSE_EXACT, 0, 1))
        return false;
    objects = malloc(from->reuse.count * sizeof *objects);
    is_done = objects != NULL;
    for (uint32_t i = 0; is_done && i < from->reuse.count; i++) {
        const struct reuse_seen *seen = &from->reuse.seen[i];
        const uint32_t object = objects_at(&lane->objects, lane->program, seen->low);
        is_done = object != PSNAP_NONE && (objects[i] = take_object(t, object)) != PSNAP_NONE;
        if (is_done &&
            (!lane->objects.objects[object].name || lane->objects.objects[object].is_pool))
            stretch(&t->model->objects[objects[i]], seen->low, seen->high + lane->sites[site].size);
    }
    is_done = is_done && reuse_take(&from->reuse, objects, to->executions, &to->reuses,
                                    &to->reuse_count, &to->phases);
    free(objects);
    if (is_done && to->executions < lane->now / RARE)
        join_phases(to);
    for (uint32_t i = 1; is_done && i < to->reuse_count; i++)
        most = reuse_accesses(&to->reuses[i]) > reuse_accesses(&to->reuses[most]) ? i : most;
    if (is_done && from->reuse.firsts)
        take_firsts(from->reuse.firsts, &t->model->objects[to->reuses[most].object]);
    return is_done;
}

/* A rule that a reference may go by. */
struct candidate {
    uint32_t site;
    const struct depend_rule *rule;
};

static int compare_candidates(const void *a, const void *b)
{
    const struct candidate *p = a, *q = b;
    const int order = depend_compare(p->rule, q->rule);

    if (order)
        return order;
    if (p->site != q->site)
        return p->site < q->site ? -1 : 1;
    return p->rule < q->rule ? -1 : p->rule > q->rule;
}

/* Whether the addresses of a reference follow from those of another one, by way of others. */
static bool depends_on(const struct taking *t, uint32_t site, uint32_t other)
{
    const struct model_ref *ref = &t->model->refs[t->first_ref + site];

    if (site == other)
        return true;
    for (uint32_t i = 0; ref->rule == MODEL_DEPENDENT && i < ref->base_count; i++)
        if (depends_on(t, ref->bases[i] - t->first_ref, other))
            return true;
    return false;
}

/* How many of a reference's sampled accesses came back to a line within REUSE_EXACT others. */
static double soon_of(const struct lane_history *site)
{
    uint64_t soon = 0, all = 0;

    for (uint32_t i = 0; i < site->reuse.count; i++)
        for (uint32_t p = 0; p < REUSE_COLLECTED; p++)
            for (uint32_t k = 0; site->reuse.seen[i].phases[p] && k < REUSE_BINS; k++) {
                all += site->reuse.seen[i].phases[p][k];
                soon += k < REUSE_EXACT ? site->reuse.seen[i].phases[p][k] : 0;
            }
    return all ? (double)soon / (double)all : 0;
}

/* Whether a rule leads to lines that were not used lately while those of the reference were: then
 * something else tells them, which the base does not go by. */
static bool loses_lines(const struct taking *t, const struct candidate *c)
{
    double soon = 0;

    for (uint32_t i = 0; i < c->rule->offset_count; i++)
        if (c->rule->offsets[i].bytes > -64 && c->rule->offsets[i].bytes < 64)
            return false;
    for (uint32_t i = 0; i < c->rule->base_count; i++)
        soon += soon_of(&t->lane->histories[c->rule->bases[i]]) / c->rule->base_count;
    return soon_of(&t->lane->histories[c->site]) > soon + 0.1;
}

/* References become dependent by the simplest rules with the nearest bases first, as far as no
 * reference then depends on itself. */
static bool choose_bases(struct taking *t)
{
    const struct lane *lane = t->lane;
    struct candidate *candidates =
        malloc((lane->site_count * (size_t)DEPEND_RULES + 1) * sizeof *candidates);
    size_t count = 0;

    if (!candidates)
        return false;
    for (uint32_t i = 0; i < lane->site_count; i++) {
        const struct depend_collector *depend = lane->histories[i].depend;
        for (uint32_t k = 0;
             t->model->refs[t->first_ref + i].rule == MODEL_REUSE && depend && k < depend->count;
             k++)
            if (depend_holds(&depend->rules[k]))
                candidates[count++] = (struct candidate){i, &depend->rules[k]};
    }
    if (count)
        qsort(candidates, count, sizeof *candidates, compare_candidates);
    for (size_t c = 0; c < count; c++) {
        const struct depend_rule *rule = candidates[c].rule;
        struct model_ref *to = &t->model->refs[t->first_ref + candidates[c].site];
        bool is_circle = false;
        for (uint32_t i = 0; i < rule->base_count; i++)
            is_circle |= depends_on(t, rule->bases[i], candidates[c].site);
        if (to->rule != MODEL_REUSE || is_circle || loses_lines(t, &candidates[c]))
            continue;
        to->rule = MODEL_DEPENDENT;
        to->base_count = rule->base_count;
        for (uint32_t i = 0; i < rule->base_count; i++)
            to->bases[i] = t->first_ref + rule->bases[i];
        for (uint32_t i = 0; i < rule->offset_count; i++)
            if (rule->offsets[i].count)
                to->offsets[to->offset_count++] = rule->offsets[i];
    }
    free(candidates);
    return true;
}

/* References share the nest of their sweep when that is one and those of their own are not all, or
 * are twice as long in the mean: the first of them has it. */
static bool take_sweep(struct taking *t, uint32_t sweep)
{
    const struct lane *lane = t->lane;
    const struct lane_sweep *from = &lane->sweeps[sweep];
    struct nest_terms terms = {.patterns = t->model->patterns};
    uint32_t first = PSNAP_NONE;
    size_t own = 0, count = 0;
    bool is_wanted = false;

    for (uint32_t i = lane->site_count; i-- > 0;)
        if (lane->sites[i].sweep == sweep) {
            is_wanted |= lane->histories[i].addresses.is_none;
            count++;
            own += lane->histories[i].addresses.fold.terms.value_count;
            first = i;
        }
    if (from->bytes.is_none ||
        (!is_wanted && own <= 2 * count * from->bytes.fold.terms.value_count))
        return true;
    if (!nest_terms_widen(&terms, &from->bytes.fold.terms, from->element, false)) {
        nest_terms_release(&terms);
        return true;
    }
    for (uint32_t i = first; i < lane->site_count; i++) {
        struct model_ref *to = &t->model->refs[t->first_ref + i];
        if (lane->sites[i].sweep != sweep)
            continue;
        to->rule = i == first ? MODEL_NEST : MODEL_SHARED;
        to->sweep = t->first_ref + first;
    }
    t->model->refs[t->first_ref + first].addresses = terms;
    t->model->refs[t->first_ref + first].element = from->element;
    return true;
}

static bool take_refs(struct taking *t, uint16_t thread)
{
    struct lane *lane = t->lane;

    if (!extend(&t->model->refs, t->model->ref_count, lane->site_count, sizeof *t->model->refs))
        return false;
    t->model->ref_count += lane->site_count;
    for (uint32_t i = 0; i < lane->site_count; i++) {
        const struct lane_site *from = &lane->sites[i];
        t->model->refs[t->first_ref + i] = (struct model_ref){
            .loop = from->ref == PSNAP_NONE ? lane->program->loop_count
                                            : lane->program->refs[from->ref].loop,
            .number = from->ref,
            .thread = thread,
            .size = from->size,
            .kind = from->kind,
            .rule = lane->histories[i].addresses.is_none ? MODEL_REUSE : MODEL_NEST,
            .executions = from->length};
    }
    for (uint32_t i = 0; i < lane->sweep_count; i++)
        if (!take_sweep(t, i))
            return false;
    if (!choose_bases(t))
        return false;
    for (uint32_t i = 0; i < lane->site_count; i++) {
        struct model_ref *to = &t->model->refs[t->first_ref + i];
        const struct series *addresses = &lane->histories[i].addresses;
        if (to->rule == MODEL_NEST && !to->element &&
            !take_terms(t, &to->addresses, &addresses->fold.terms))
            return false;
        if ((to->rule == MODEL_REUSE || to->rule == MODEL_DEPENDENT) && !take_reuse(t, i, to))
            return false;
    }
    return true;
}

/* ---- bodies, order ---- */

static bool take_body(struct taking *t, const struct lane_body *from, uint16_t thread,
                      struct model_body *to)
{
    *to = (struct model_body){.loop = from->loop,
                              .thread = thread,
                              .width = from->width,
                              .refs = malloc(from->width * sizeof *to->refs),
                              .is_drawn = from->trips.is_none,
                              .executions = from->executions,
                              .iterations = from->iterations};
    for (uint32_t k = 0; to->refs && k < from->width; k++)
        to->refs[k] = t->first_ref + from->sites[k];
    if (!to->refs)
        return false;
    if (to->is_drawn) {
        if (!trips_copy(&to->histogram, &from->histogram))
            return false;
        trips_coarsen(&to->histogram, (uint32_t)lane_budget(t->lane, from->iterations * from->width,
                                                            TRIPS_FEW, TRIPS_MOST));
        return true;
    }
    return take_terms(t, &to->trips, &from->trips.fold.terms);
}

/* A body of parts: its trip counts are of iterations of the source when these tell those of the
 * parts, and are a nest. */
static bool take_whole(struct taking *t, const struct lane_body *from, struct model_body *to)
{
    const struct lane_unit *unit = from->unit;
    uint64_t bytes;

    to->parts = calloc(EXPAND_PARTS, sizeof *to->parts);
    to->part_count = unit->part_count;
    to->is_drawn = false;
    to->trips.patterns = t->model->patterns;
    if (!to->parts)
        return false;
    to->is_counted = unit_rule(t->lane, unit, to->parts, &bytes) && !from->trips.is_none &&
                     nest_terms_widen(&to->trips, &from->trips.fold.terms, bytes, true);
    if (to->is_counted)
        take_constant(&to->trips);
    else
        nest_terms_release(&to->trips);
    for (uint32_t i = 0; i < to->part_count; i++) {
        struct model_body *part = &t->model->bodies[t->bodies[to->parts[i].body]];
        to->parts[i].body = t->bodies[to->parts[i].body];
        part->is_part = to->is_counted;
        if (part->is_part) {
            part->is_drawn = false;
            nest_terms_release(&part->trips);
            trips_release(&part->histogram);
        }
        if (to->parts[i].width == 1)
            to->loop = part->loop;
    }
    return true;
}

/* One part alone needs no whole. */
static bool is_whole(const struct lane_body *body)
{
    return body->unit && body->executions && body->unit->part_count > 1;
}

static bool take_bodies(struct taking *t, uint16_t thread)
{
    struct lane *lane = t->lane;
    struct psnap_stream_model *model = t->model;
    bool is_done = true;

    for (uint32_t i = 0; i < lane->body_count; i++)
        if (!lane->bodies[i].unit || is_whole(&lane->bodies[i]))
            t->bodies[i] = model->body_count++;
    for (uint32_t i = 0; i < lane->body_count; i++)
        if (lane->bodies[i].unit && !is_whole(&lane->bodies[i]))
            t->bodies[i] = t->bodies[lane->bodies[i].unit->parts[0].body];
    for (uint32_t i = 0; is_done && i < lane->body_count; i++)
        if (!lane->bodies[i].unit)
            is_done = take_body(t, &lane->bodies[i], thread, &model->bodies[t->bodies[i]]);
    for (uint32_t i = 0; is_done && i < lane->body_count; i++) {
        struct model_body *to = &model->bodies[t->bodies[i]];
        if (!is_whole(&lane->bodies[i]))
            continue;
        *to = (struct model_body){.loop = lane->bodies[i].loop,
                                  .thread = thread,
                                  .executions = lane->bodies[i].executions};
        is_done = take_whole(t, &lane->bodies[i], to);
    }
    return is_done;
}

/* The chain is moved, its transitions sorted, and those left out that were taken out again. */
static void take_chain(const struct taking *t, struct chain *from, struct chain *to)
{
    *to = *from;
    *from = (struct chain){0};
    for (uint32_t i = 0; i < to->count; i++) {
        struct chain_state *state = &to->states[i];
        if (i)
            state->symbol = state->symbol & ORDER_CHAIN
                                ? MODEL_CHAIN | (t->first_chain + (state->symbol & ~ORDER_CHAIN))
                                : t->bodies[state->symbol];
        if (state->edge_count)
            qsort(state->edges, state->edge_count, sizeof *state->edges, chain_commonest_first);
        while (state->edge_count && !state->edges[state->edge_count - 1].count)
            state->edge_count--;
    }
}

/* Symbols of the lane to those of the model. */
static const struct nest_pattern *take_pattern(const struct taking *t,
                                               const struct nest_pattern *from)
{
    struct nest_patterns *patterns = t->model->patterns;
    const struct nest_pattern **body, *made = NULL;
    uint32_t i = 0;

    if (!from->body_count)
        return nest_pattern_symbol(
            patterns, from->symbol & ORDER_CHAIN
                          ? MODEL_CHAIN | (t->first_chain + (from->symbol & ~ORDER_CHAIN))
                          : t->bodies[from->symbol]);
    body = malloc(from->body_count * sizeof(struct nest_pattern *));
    while (body && i < from->body_count && (body[i] = take_pattern(t, from->body[i])))
        i++;
    if (i == from->body_count)
        made = nest_pattern_loop(patterns, body, i, from->steps);
    free(body);
    return made;
}

static bool take_order(struct taking *t, uint16_t thread)
{
    struct psnap_stream_model *model = t->model;
    struct order *from = &t->lane->order;
    struct model_order *to = &model->orders[model->order_count++];
    bool is_done = true;

    *to = (struct model_order){.thread = thread,
                               .with = thread,
                               .turn = UINT32_MAX,
                               .after = MODEL_NO_PLACE,
                               .terms = {.patterns = model->patterns}};
    for (uint32_t i = 0; i < from->chain_count; i++)
        take_chain(t, &from->chains[i], &model->chains[model->chain_count++]);
    for (size_t i = 0; is_done && i < from->fold.terms.count; i++) {
        const struct nest_pattern *pattern = take_pattern(t, from->fold.terms.terms[i].pattern);
        is_done =
            pattern && nest_terms_push(&to->terms, pattern, nest_term_values(&from->fold.terms, i));
    }
    return is_done;
}

bool lane_take(struct lane *lane, uint16_t thread, struct psnap_stream_model *model)
{
    struct taking t = {.lane = lane,
                       .model = model,
                       .first_ref = model->ref_count,
                       .first_chain = model->chain_count};
    bool is_done =
        extend(&model->bodies, model->body_count, lane->body_count, sizeof *model->bodies) &&
        extend(&model->chains, model->chain_count, lane->order.chain_count,
               sizeof *model->chains) &&
        extend(&model->orders, model->order_count, 1, sizeof *model->orders);

    t.bodies = calloc(lane->body_count + (size_t)1, sizeof *t.bodies);
    is_done = is_done && t.bodies && take_refs(&t, thread) && take_ranges(&t) &&
              take_bodies(&t, thread) && take_order(&t, thread);
    free(t.objects);
    free(t.bodies);
    return is_done;
}
