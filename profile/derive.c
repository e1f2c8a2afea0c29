/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a profile of model nests says of its loops in the words of the published model: regions with
 * accesses, sizes, working sets and strides, and patterns. It follows from the model (model.h). A
 * region is a data object with a name, or addresses that references reach which are no further
 * apart than the gap; where irregular references go outside of named objects, all else of that
 * group. What references do in a region is counted in the smallest one that has all of it, so that
 * it follows from the model and the places of the regions, and can be checked. Strides are those of
 * each reference by itself, from its first addresses; what is drawn is random.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/base/layout.h"
#include "formats/base/room.h"
#include "profile/model.h"
#include "profile/walk/reader.h"

enum {
    SAMPLE = 512,           /* addresses of a reference whose strides are counted */
    NAMING_STEPS = 1 << 26, /* to look for names, of all of them together */
    MANY = 64,              /* bodies: of a model that has more, */
    FEW = 1000              /* regions with less than one in so many accesses are joined */
};

/* Addresses that a reference reaches, so many times. */
struct span {
    uint64_t low, end, accesses;
    const char *name; /* of the object that they are in, or NULL */
    uint8_t kind;     /* of that */
    uint32_t object;  /* of the model, PSNAP_NONE: none */
    uint32_t ref;
    uint32_t region; /* of the loop */
};

struct deriving {
    struct psnap_profile *profile;
    const struct psnap_program *program; /* NULL: names are not known */
    uint64_t naming_steps;
    uint64_t few;       /* accesses: regions with fewer are joined */
    struct span *spans; /* of one loop */
    size_t count, room;
};

/* ---- spans ---- */

/* What the runs of a term reach, and how many numbers they have, about, in the order of the runs.
 * Numbers are affine in the iterations, so the first and the last iteration of each loop that has
 * any have the lowest and highest. */
struct extent {
    uint64_t low, high; /* low > high: nothing yet */
    double count;
};

static uint32_t count_runs(const struct nest_pattern *pattern)
{
    uint32_t count = !pattern->body_count;

    for (uint32_t i = 0; i < pattern->body_count; i++)
        count += count_runs(pattern->body[i]);
    return count;
}

/* False: out of memory. */
static bool find_extents(const struct nest_pattern *pattern, const uint64_t *values, double times,
                         struct extent *extents)
{
    const int64_t count = (int64_t)values[0];
    bool is_done = true;
    uint64_t *last;

    if (count <= 0)
        return true;
    if (!pattern->body_count) {
        const uint64_t end = values[1] + (values[0] - 1) * pattern->steps[0];
        const uint64_t low = values[1] < end ? values[1] : end;
        const uint64_t high = values[1] < end ? end : values[1];
        extents->low = low < extents->low ? low : extents->low;
        extents->high = high > extents->high ? high : extents->high;
        extents->count += times * (double)count;
        return true;
    }
    last = malloc(pattern->values * sizeof *last);
    is_done = last != NULL;
    for (uint32_t i = 0, at = 1; is_done && i < pattern->body_count;
         at += pattern->body[i++]->values) {
        is_done = find_extents(pattern->body[i], values + at, times * (double)count / 2, extents);
        for (int64_t back = 1; is_done && back <= count && back <= 64; back++) {
            for (size_t k = 0; k < pattern->body[i]->values; k++)
                last[k] = values[at + k] + (uint64_t)(count - back) * pattern->steps[at - 1 + k];
            if ((int64_t)last[0] <= 0) /* a triangle's last rows are empty */
                continue;
            is_done = find_extents(pattern->body[i], last, times * (double)count / 2, extents);
            break;
        }
        extents += count_runs(pattern->body[i]);
    }
    free(last);
    return is_done;
}

static bool add_span(struct deriving *d, const struct span *span)
{
    struct span *more = psnap_with_room(d->spans, &d->room, d->count + 1, sizeof *more);

    if (!more)
        return false;
    d->spans = more;
    more[d->count++] = *span;
    return true;
}

/* The name of what is at an address. */
static void find_name(struct deriving *d, struct span *span)
{
    const struct psnap_object *object;

    if (!d->program || d->naming_steps > NAMING_STEPS)
        return;
    d->naming_steps += d->program->object_count;
    object = psnap_program_find_object(d->program, span->low);
    if (object) {
        span->name = object->name;
        span->kind = object->kind;
    }
}

/* The spans of a nest that a reference goes by, or that goes by it at an offset. */
static bool add_nest(struct deriving *d, uint32_t index, uint64_t offset, uint64_t executions)
{
    const struct model_ref *ref = &d->profile->stream->refs[index];
    uint32_t runs = 0, at = 0;
    double all = 0;
    uint64_t given = 0;
    struct extent *extents;
    bool is_done = true;

    for (size_t i = 0; i < ref->addresses.count; i++)
        runs += count_runs(ref->addresses.terms[i].pattern);
    extents = calloc(runs + (size_t)1, sizeof *extents);
    for (uint32_t k = 0; extents && k < runs; k++)
        extents[k].low = UINT64_MAX;
    for (size_t i = 0; extents && is_done && i < ref->addresses.count; i++) {
        const struct nest_pattern *pattern = ref->addresses.terms[i].pattern;
        is_done = find_extents(pattern, nest_term_values(&ref->addresses, i), 1, &extents[at]);
        at += count_runs(pattern);
    }
    for (uint32_t k = 0; extents && k < runs; k++)
        all += extents[k].count;
    for (uint32_t k = runs; extents && k-- > 0 && is_done;) { /* the first one gets what is left */
        struct span span = {.low = extents[k].low + offset,
                            .end = extents[k].high + offset + model_nest_width(ref),
                            .object = PSNAP_NONE,
                            .ref = index};
        const double part = all > 0 ? extents[k].count / all * (double)executions : 0;
        span.accesses = k ? (uint64_t)part : executions - given;
        if (span.accesses > executions - given)
            span.accesses = executions - given;
        given += span.accesses;
        if (extents[k].low > extents[k].high || !span.accesses)
            continue;
        find_name(d, &span);
        is_done = add_span(d, &span);
    }
    free(extents);
    return extents && is_done;
}

/* An object of the model, for accesses of a reference. */
static bool add_object(struct deriving *d, uint32_t index, uint32_t object, uint64_t accesses)
{
    const struct model_object *of = &d->profile->stream->objects[object];
    const struct span span = {.low = of->low,
                              .end = of->low + of->bytes,
                              .accesses = accesses,
                              .name = of->name,
                              .kind = of->kind,
                              .object = object,
                              .ref = index};

    return !accesses || add_span(d, &span);
}

/* The object of the model that lies so far from another one, if one with a name does. */
static uint32_t object_beside(const struct psnap_stream_model *model, uint32_t object,
                              int64_t offset)
{
    const uint64_t at =
        model->objects[object].low + model->objects[object].bytes / 2 + (uint64_t)offset;

    for (uint32_t i = 0; i < model->object_count; i++)
        if (model->objects[i].name && !model->objects[i].is_pool &&
            at - model->objects[i].low < model->objects[i].bytes)
            return i;
    return object;
}

/* Where a reference goes that follows `root`, at an offset. */
static bool add_ref(struct deriving *d, uint32_t index)
{
    const struct psnap_stream_model *model = d->profile->stream;
    const uint64_t executions = model->refs[index].executions;
    const struct model_ref *root = &model->refs[index];
    int64_t offset = 0;
    uint64_t sum = 0, given = 0;

    while (root->rule == MODEL_DEPENDENT) {
        offset += root->offsets[0].bytes;
        root = &model->refs[root->bases[0]];
    }
    root = model_nest_of(model, root);
    if (root->rule == MODEL_NEST && root == &model->refs[index])
        return add_nest(d, index, 0, executions);
    if (root->rule == MODEL_NEST) {
        const size_t before = d->count;
        if (!add_nest(d, (uint32_t)(root - model->refs), (uint64_t)offset, executions))
            return false;
        for (size_t i = before; i < d->count; i++)
            d->spans[i].ref = index;
        return true;
    }
    for (uint32_t i = 0; i < root->reuse_count; i++)
        sum += reuse_accesses(&root->reuses[i]);
    for (uint32_t i = 0; i < root->reuse_count; i++) {
        const uint64_t part = i + 1 == root->reuse_count
                                  ? executions - given
                                  : (uint64_t)((double)reuse_accesses(&root->reuses[i]) /
                                               (double)sum * (double)executions);
        given += part;
        if (!add_object(d, index, object_beside(model, root->reuses[i].object, offset), part))
            return false;
    }
    return true;
}

/* ---- regions ---- */

/* Named objects first, by name; then what has none, groups last. */
static int compare_spans(const void *a, const void *b)
{
    const struct span *p = a, *q = b;
    const int order = p->name && q->name ? strcmp(p->name, q->name) : !p->name - !q->name;

    if (order)
        return order;
    if (!p->name && (p->object == PSNAP_NONE) != (q->object == PSNAP_NONE))
        return p->object == PSNAP_NONE ? -1 : 1;
    if (p->object != q->object && !p->name)
        return p->object < q->object ? -1 : 1;
    if (p->low != q->low)
        return p->low < q->low ? -1 : 1;
    return p->ref < q->ref ? -1 : p->ref > q->ref;
}

/* Whether a span and a region, which begins below it, have so few accesses that they are one where
 * they are of one kind of data. */
static bool are_few(const struct deriving *d, const struct psnap_profile_region *region,
                    const struct span *span)
{
    const struct psnap_place a = psnap_layout_split(region->low), b = psnap_layout_split(span->low);

    return region->accesses < d->few && span->accesses < d->few && a.group == b.group &&
           a.index == b.index;
}

static bool are_one(const struct deriving *d, const struct psnap_profile_region *region,
                    const struct span *before, const struct span *span)
{
    if (are_few(d, region, span) && before->object == span->object &&
        !before->name == !span->name && (!before->name || !strcmp(before->name, span->name)))
        return true;
    if (before->name && span->name && !strcmp(before->name, span->name))
        return region->low + region->bytes + d->profile->region_gap_bytes >= span->low ||
               (span->object != PSNAP_NONE && before->object == span->object);
    if (before->name || span->name || before->object != span->object)
        return false;
    return span->object != PSNAP_NONE ||
           region->low + region->bytes + d->profile->region_gap_bytes >= span->low;
}

static void add_size(struct psnap_profile_region *region, uint8_t size, uint64_t count)
{
    uint16_t at = 0;

    while (at < region->size_count && region->sizes[at].size < size)
        at++;
    if (at == region->size_count || region->sizes[at].size != size) {
        memmove(&region->sizes[at + 1], &region->sizes[at],
                (region->size_count - (size_t)at) * sizeof *region->sizes);
        region->sizes[at] = (struct psnap_size_count){0, size};
        region->size_count++;
    }
    region->sizes[at].count += count;
}

/* Strides of a reference, `accesses` of them, by bin; as of its own when it shares a sweep. */
static bool count_strides(const struct psnap_stream_model *model, const struct model_ref *ref,
                          uint64_t accesses, double *bins)
{
    const struct model_ref *of = model_nest_of(model, ref);
    const uint32_t takes = model_takes(model, ref);
    struct reader reader;
    uint64_t before = 0, counts[PSNAP_STRIDE_BINS] = {0}, sum = 0;

    if (of->rule != MODEL_NEST) {
        bins[PSNAP_STRIDE_RANDOM] += (double)accesses;
        return true;
    }
    reader_init(&reader, &of->addresses);
    for (uint64_t i = 0; i < ref->executions && i < SAMPLE; i++) {
        uint64_t next;
        if (!reader.left && !reader_fill(&reader)) {
            reader_release(&reader);
            return false;
        }
        next = reader_take(&reader, takes);
        sum += i > 0;
        if (i)
            counts[psnap_stride_bin((int64_t)(next - before))]++;
        before = next;
    }
    reader_release(&reader);
    for (unsigned i = 0; i < PSNAP_STRIDE_BINS && sum; i++)
        bins[i] += (double)counts[i] * (double)accesses / (double)sum;
    return true;
}

static bool make_strides(struct deriving *d, struct psnap_profile_region *region,
                         const double *bins)
{
    region->strides =
        psnap_arena_alloc(d->profile->arena, PSNAP_STRIDE_BINS * sizeof *region->strides);
    for (unsigned i = 0; region->strides && i < PSNAP_STRIDE_BINS; i++)
        if (bins[i] >= 0.5)
            region->strides[region->stride_count++] =
                (struct psnap_stride_count){(uint64_t)(bins[i] + 0.5), (uint8_t)i};
    return region->strides != NULL;
}

/* The regions that spans are in: places and names. */
static bool make_regions(struct deriving *d, struct psnap_profile_loop *loop)
{
    struct span *spans = malloc((d->count + 1) * sizeof *spans);
    struct psnap_profile_region *region = NULL;
    bool is_done;

    loop->region_count = 0;
    loop->regions = psnap_arena_alloc(d->profile->arena, d->count * sizeof *loop->regions);
    is_done = loop->regions && spans;
    if (is_done && d->count) {
        memcpy(spans, d->spans, d->count * sizeof *spans);
        qsort(spans, d->count, sizeof *spans, compare_spans);
    }
    for (size_t i = 0; i < d->count && is_done; i++) {
        const struct span *span = &spans[i];
        if (!region || !are_one(d, region, span - 1, span)) {
            region = &loop->regions[loop->region_count];
            *region = (struct psnap_profile_region){.low = span->low};
            if (span->name)
                region->object =
                    psnap_arena_strndup(d->profile->arena, span->name, strlen(span->name));
            region->object_kind = span->kind;
            region->id = profile_region_id(d->profile->arena, loop->regions, loop->region_count++);
            is_done = region->id && (!span->name || region->object);
        }
        if (span->end - region->low > region->bytes)
            region->bytes = span->end - region->low;
        region->accesses += span->accesses;
    }
    free(spans);
    return is_done;
}

/* The smallest region that has a span, or else the nearest one below it. */
static uint32_t region_of_span(const struct psnap_profile_loop *loop, const struct span *span)
{
    uint32_t best = PSNAP_NONE, below = 0;

    for (uint32_t i = 0; i < loop->region_count; i++) {
        const struct psnap_profile_region *region = &loop->regions[i];
        if (span->low - region->low < region->bytes && span->end - region->low <= region->bytes &&
            (best == PSNAP_NONE || region->bytes < loop->regions[best].bytes))
            best = i;
        if (region->low <= span->low &&
            (loop->regions[below].low > span->low || loop->regions[below].low < region->low))
            below = i;
    }
    return best == PSNAP_NONE ? below : best;
}

/* What references do in the regions that there are. */
static bool fill_regions(struct deriving *d, struct psnap_profile_loop *loop)
{
    const struct psnap_stream_model *model = d->profile->stream;
    double(*bins)[PSNAP_STRIDE_BINS] = calloc(loop->region_count + (size_t)1, sizeof *bins);
    bool is_done = bins != NULL;

    for (uint32_t i = 0; i < loop->region_count && is_done; i++) {
        struct psnap_profile_region *region = &loop->regions[i];
        *region = (struct psnap_profile_region){
            .id = region->id,
            .object = region->object,
            .object_kind = region->object_kind,
            .low = region->low,
            .bytes = region->bytes,
            .sizes = psnap_arena_alloc(d->profile->arena,
                                       (PSNAP_ACCESS_SIZE_MAX + 1) * sizeof *region->sizes),
            .is_derived = true};
        is_done = region->sizes != NULL;
    }
    for (size_t i = 0; i < d->count && loop->region_count && is_done; i++) {
        struct span *span = &d->spans[i];
        const struct model_ref *ref = &model->refs[span->ref];
        struct psnap_profile_region *region;
        span->region = region_of_span(loop, span);
        region = &loop->regions[span->region];
        region->accesses += span->accesses;
        region->kinds[ref->kind] += span->accesses;
        add_size(region, ref->size, span->accesses);
        is_done = count_strides(model, ref, span->accesses, bins[span->region]);
    }
    for (uint32_t i = 0; i < loop->region_count && is_done; i++)
        is_done = make_strides(d, &loop->regions[i], bins[i]);
    free(bins);
    return is_done;
}

/* Regions all of whose spans are in smaller ones go; whether there were any. */
static bool drop_empty(struct psnap_profile_loop *loop)
{
    const uint32_t count = loop->region_count;

    loop->region_count = 0;
    for (uint32_t i = 0; i < count; i++)
        if (loop->regions[i].accesses)
            loop->regions[loop->region_count++] = loop->regions[i];
    return loop->region_count < count;
}

/* ---- patterns ---- */

/* The region of the loop that a reference is in first. */
static uint32_t region_of(const struct deriving *d, uint32_t ref)
{
    for (size_t i = 0; i < d->count; i++)
        if (d->spans[i].ref == ref)
            return d->spans[i].region;
    return 0;
}

/* The pattern of the body that iterates most. */
static bool make_pattern(struct deriving *d, uint32_t index, const struct model_list *bodies)
{
    const struct psnap_stream_model *model = d->profile->stream;
    struct psnap_profile_loop *loop = &d->profile->loops[index];
    const struct model_body *most = NULL;
    struct psnap_sequence_item *items;

    for (uint32_t i = bodies->first[index]; i < bodies->first[index + 1]; i++) {
        const struct model_body *body = &model->bodies[bodies->items[i]];
        if (!body->part_count && (!most || body->iterations > most->iterations))
            most = body;
    }
    loop->is_pattern_derived = true;
    if (!most || !loop->region_count) /* regions may be left out */
        return true;
    items = psnap_arena_alloc(d->profile->arena, most->width * sizeof *items);
    for (uint32_t k = 0; items && k < most->width; k++)
        items[k] = (struct psnap_sequence_item){
            .repeat = 1, .accesses = PSNAP_EVENLY, .what = region_of(d, most->refs[k])};
    loop->pattern = (struct psnap_sequence){items, most->width};
    return items != NULL;
}

/* ---- all loops ---- */

/* Regions are made anew, or stay where they are. */
static enum psnap_status derive(struct deriving *d, bool is_anew)
{
    struct psnap_profile *profile = d->profile;
    const struct psnap_stream_model *model = profile->stream;
    struct model_index by_loop;
    bool is_done = model_index_init(&by_loop, model, profile->loop_count);

    for (uint32_t i = 0; i < profile->loop_count && is_done; i++) {
        struct psnap_profile_loop *loop = &profile->loops[i];
        d->count = 0;
        loop->accesses = 0;
        loop->pattern = (struct psnap_sequence){0};
        for (uint32_t at = by_loop.refs.first[i]; at < by_loop.refs.first[i + 1] && is_done; at++) {
            loop->accesses += model->refs[by_loop.refs.items[at]].executions;
            is_done = add_ref(d, by_loop.refs.items[at]);
        }
        is_done = is_done && (!is_anew || make_regions(d, loop)) && fill_regions(d, loop) &&
                  (!is_anew || !drop_empty(loop) || fill_regions(d, loop)) &&
                  make_pattern(d, i, &by_loop.bodies);
    }
    free(d->spans);
    model_index_release(&by_loop);
    return is_done ? PSNAP_OK : PSNAP_ERROR_MEMORY;
}

enum psnap_status model_derive(struct psnap_profile *profile, const struct psnap_program *program)
{
    const struct psnap_stream_model *model = profile->stream;
    struct deriving d = {.profile = profile, .program = program};
    uint64_t accesses = 0;

    for (uint32_t i = 0; i < model->ref_count; i++)
        accesses += model->refs[i].executions;
    d.few = model->body_count > MANY ? accesses / FEW : 0;
    return derive(&d, true);
}

enum psnap_status model_fill_regions(struct psnap_profile *profile)
{
    return derive(&(struct deriving){.profile = profile}, false);
}
