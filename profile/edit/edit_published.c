/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Edits of the published model: counts, histograms of strides and their graphs, the schedule.
 *
 * A stride in another bin is that bin's name changed in the histogram and in the graph; two that
 * become one add up. Strides are powers of two, so an array is stretched by powers of two alone.
 *
 * K times as many accesses are the walk K times, one behind the other. What leads from the end of
 * one to the beginning of the next is a stride that was not there; it is taken to be the first one
 * again, as replay takes the one behind the last (replay/MODELS.md).
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/arena.h"
#include "profile/build/bins.h"
#include "profile/edit/edit.h"

/* ---- regions ---- */

/* Regions to where arrays are after an edit (edit_space.c). */
static enum psnap_status move_regions(struct editing *e)
{
    enum psnap_status status = PSNAP_OK;

    for (uint32_t i = 0; i < e->profile->loop_count; i++)
        for (uint32_t k = 0; k < e->profile->loops[i].region_count && !status; k++) {
            struct psnap_profile_region *region = &e->profile->loops[i].regions[k];
            const struct edit_array *array = &e->arrays[edit_array_of(e, region->low)];
            if (array->times != array->over) {
                region->bytes = (region->bytes + array->over - 1) / array->over * array->over;
                status = edit_scale_count(e, array->times, array->over, &region->bytes);
            }
            if (!status)
                status = edit_place(e, &region->low);
        }
    return status;
}

/* ---- strides ---- */

/* Bins by other names. */
static enum psnap_status rename_bins(const struct editing *e, struct psnap_profile_region *region,
                                     const unsigned names[PSNAP_STRIDE_BINS])
{
    struct stride_bins old, new = {{0}, {{0}}};

    bins_open(region, &old);
    for (unsigned i = 0; i < PSNAP_STRIDE_BINS; i++) {
        new.strides[names[i]] += old.strides[i];
        for (unsigned k = 0; k < PSNAP_STRIDE_BINS; k++)
            new.edges[names[i]][names[k]] += old.edges[i][k];
    }
    return bins_close(&new, e->profile->arena, region) ? PSNAP_OK : edit_no_memory(e);
}

/* The bins' strides times 2^power. */
static enum psnap_status stretch(const struct editing *e, uint32_t loop, uint32_t index, int power)
{
    struct psnap_profile_region *region = &e->profile->loops[loop].regions[index];
    unsigned names[PSNAP_STRIDE_BINS];

    for (int bin = 0; bin < PSNAP_STRIDE_BINS; bin++) {
        const int up = bin - PSNAP_STRIDE_ZERO;
        const int to = up > 0 ? up + power : up < 0 ? up - power : 0;
        bool is_there = false;
        names[bin] = (unsigned)bin;
        if (bin == PSNAP_STRIDE_RANDOM || !up)
            continue;
        names[bin] =
            abs(to) > PSNAP_STRIDE_ZERO ? PSNAP_STRIDE_RANDOM : (unsigned)(to + PSNAP_STRIDE_ZERO);
        for (unsigned i = 0; i < region->stride_count; i++)
            is_there |= region->strides[i].bin == bin;
        if (is_there && up * to <= 0)
            return edit_fail(e, loop, index, "a stride of %s bytes cannot be made that much less",
                             psnap_stride_label((unsigned)bin));
    }
    return rename_bins(e, region, names);
}

static enum psnap_status stretch_regions(struct editing *e, uint64_t times, uint64_t over)
{
    const uint64_t larger = times > over ? times / over : over / times;
    int power = __builtin_ctzll(larger);

    if (larger != UINT64_C(1) << power || (times > over ? times % over : over % times))
        return edit_fail(e, PSNAP_NONE, PSNAP_NONE,
                         "the published model has strides of powers of two alone: an array can be "
                         "2, 4, 8 times as large, or 1/2, and 2, 4, 8 be interleaved");
    power = times > over ? power : -power;
    for (uint32_t i = 0; i < e->profile->loop_count; i++)
        for (uint32_t k = 0; k < e->profile->loops[i].region_count; k++) {
            const uint64_t low = e->profile->loops[i].regions[k].low;
            enum psnap_status status = PSNAP_OK;
            if (e->arrays[edit_array_of(e, low)].is_wanted)
                status = stretch(e, i, k, power);
            if (status)
                return status;
        }
    return PSNAP_OK;
}

/* That accesses of a region which is interleaved are of no more than an element. */
static enum psnap_status fit_element(const struct editing *e, uint32_t loop, uint32_t index,
                                     uint64_t element)
{
    const struct psnap_profile_region *region = &e->profile->loops[loop].regions[index];

    if (!e->arrays[edit_array_of(e, region->low)].is_wanted)
        return PSNAP_OK;
    for (unsigned i = 0; i < region->size_count; i++)
        if (region->sizes[i].size > element)
            return edit_fail(e, loop, index,
                             "loop '%.100s' accesses %d bytes at once of '%.100s': they would not "
                             "lie together any more",
                             e->profile->loops[loop].id, region->sizes[i].size, region->id);
    return PSNAP_OK;
}

/* Regions of arrays of which element i comes behind element i of another one. */
static enum psnap_status interleave_regions(struct editing *e)
{
    const uint64_t element = e->edit->fields[0];
    uint64_t arrays = 0;
    enum psnap_status status = PSNAP_OK;

    for (uint32_t i = 0; i < e->array_count; i++)
        arrays += e->arrays[i].is_wanted;
    for (uint32_t i = 0; i < e->profile->loop_count && !status; i++)
        for (uint32_t k = 0; k < e->profile->loops[i].region_count && !status; k++)
            status = fit_element(e, i, k, element);
    status = status ? status : stretch_regions(e, arrays, 1);
    for (uint32_t i = 0; i < e->profile->loop_count && !status; i++)
        for (uint32_t k = 0; k < e->profile->loops[i].region_count && !status; k++) {
            struct psnap_profile_region *region = &e->profile->loops[i].regions[k];
            if (e->arrays[edit_array_of(e, region->low)].is_wanted)
                status = edit_scale_count(e, arrays, 1, &region->bytes);
        }
    return status;
}

static bool is_stride(int64_t stride)
{
    const uint64_t size = stride < 0 ? -(uint64_t)stride : (uint64_t)stride;

    return size <= PSNAP_STRIDE_MAX && !(size & (size - 1));
}

/* How much of its memory a region needs then: in proportion, when it is the stride that it mostly
 * goes on by. */
static void stretch_bytes(struct editing *e, struct psnap_profile_region *region, unsigned bin)
{
    const uint64_t from = (uint64_t)llabs(e->edit->old_stride);
    const uint64_t to = (uint64_t)llabs(e->edit->new_stride);
    struct edit_array *array = &e->arrays[edit_array_of(e, region->low)];
    uint64_t most = 0, count = 0, bytes, end;

    for (unsigned i = 0; i < region->stride_count; i++) {
        if (region->strides[i].bin == bin)
            count = region->strides[i].count;
        else if (region->strides[i].bin != PSNAP_STRIDE_ZERO &&
                 region->strides[i].bin != PSNAP_STRIDE_RANDOM && region->strides[i].count > most)
            most = region->strides[i].count;
    }
    if (!from || count < most || region->bytes > PSNAP_COUNT_MAX / PSNAP_STRIDE_MAX)
        return;
    bytes = region->bytes * to / from;
    region->bytes = bytes > to + PSNAP_ACCESS_SIZE_MAX ? bytes : to + PSNAP_ACCESS_SIZE_MAX;
    end = region->low + region->bytes;
    if (end > array->high + array->grown)
        array->grown = end - array->high;
}

static enum psnap_status no_such_stride(const struct editing *e,
                                        const bool is_seen[PSNAP_STRIDE_BINS])
{
    char seen[PSNAP_STRIDE_BINS * 16] = "";
    size_t at = 0;

    for (unsigned bin = 0; bin < PSNAP_STRIDE_BINS; bin++)
        if (is_seen[bin])
            at += (size_t)snprintf(seen + at, sizeof seen - at, "%s%s", at ? ", " : ", only ",
                                   psnap_stride_label(bin));
    return edit_fail(e, PSNAP_NONE, PSNAP_NONE, "no stride is %" PRId64 " there%s",
                     e->edit->old_stride, seen);
}

static enum psnap_status edit_strides(struct editing *e)
{
    const unsigned from = psnap_stride_bin(e->edit->old_stride);
    const unsigned to = psnap_stride_bin(e->edit->new_stride);
    bool is_any = false, is_seen[PSNAP_STRIDE_BINS] = {false};

    if (!is_stride(e->edit->old_stride) || !is_stride(e->edit->new_stride))
        return edit_fail(e, PSNAP_NONE, PSNAP_NONE,
                         "the published model has strides of 0 and of powers of two to %d bytes, "
                         "up and down, not %" PRId64,
                         PSNAP_STRIDE_MAX,
                         is_stride(e->edit->old_stride) ? e->edit->new_stride
                                                        : e->edit->old_stride);
    for (uint32_t i = 0; i < e->profile->loop_count; i++)
        for (uint32_t k = 0; k < e->profile->loops[i].region_count && e->is_selected[i]; k++) {
            struct psnap_profile_region *region = &e->profile->loops[i].regions[k];
            unsigned names[PSNAP_STRIDE_BINS];
            bool is_there = false;
            if (e->edit->region_count && !e->arrays[edit_array_of(e, region->low)].is_wanted)
                continue;
            for (unsigned bin = 0; bin < PSNAP_STRIDE_BINS; bin++)
                names[bin] = bin == from ? to : bin;
            for (unsigned j = 0; j < region->stride_count; j++) {
                is_there |= region->strides[j].bin == from;
                is_seen[region->strides[j].bin] = true;
            }
            if (!is_there)
                continue;
            is_any = true;
            stretch_bytes(e, region, from);
            if (rename_bins(e, region, names))
                return PSNAP_ERROR_MEMORY;
        }
    return is_any ? PSNAP_OK : no_such_stride(e, is_seen);
}

/* ---- more accesses ---- */

/* The region's walk K times. */
static enum psnap_status repeat_region(const struct editing *e, struct psnap_profile_region *region)
{
    const uint64_t k = e->edit->times;
    struct stride_bins bins;
    unsigned first = PSNAP_STRIDE_ZERO, last = PSNAP_STRIDE_ZERO;
    enum psnap_status status = edit_scale_count(e, k, 1, &region->accesses);

    for (unsigned kind = 0; kind < 3 && !status; kind++)
        status = edit_scale_count(e, k, 1, &region->kinds[kind]);
    for (unsigned i = 0; i < region->size_count && !status; i++)
        status = edit_scale_count(e, k, 1, &region->sizes[i].count);
    if (status || k == 1)
        return status;
    if (region->stride_count)
        psnap_region_ends(region, &first, &last);
    bins_open(region, &bins);
    for (unsigned i = 0; i < PSNAP_STRIDE_BINS; i++) {
        bins.strides[i] *= k;
        for (unsigned j = 0; j < PSNAP_STRIDE_BINS; j++)
            bins.edges[i][j] *= k;
    }
    bins.strides[first] += k - 1;
    if (region->stride_count) {
        bins.edges[last][first] += k - 1;
        bins.edges[first][first] += k - 1;
    } else
        bins.edges[first][first] += k - 2;
    return bins_close(&bins, e->profile->arena, region) ? PSNAP_OK : edit_no_memory(e);
}

static enum psnap_status repeat_accesses(struct editing *e)
{
    enum psnap_status status = edit_scale_loops(e);

    for (uint32_t i = 0; i < e->profile->loop_count && !status; i++) {
        struct psnap_profile_loop *loop = &e->profile->loops[i];
        for (uint32_t k = 0; k < loop->region_count && e->is_inside[i] && !status; k++)
            status = repeat_region(e, &loop->regions[k]);
        if (!status && e->is_inside[i])
            status = edit_scale_count(e, e->edit->times, 1, &loop->accesses);
        status = edit_in_loop(e, i, status);
    }
    return status;
}

/* ---- the schedule ---- */

struct scheduling {
    struct editing *e;
    struct psnap_sequence to;
    const uint64_t *visits; /* by item */
    enum psnap_status status;
};

static uint32_t common(const struct psnap_profile *profile, uint32_t a, uint32_t b)
{
    for (; a != PSNAP_NONE; a = profile->loops[a].parent)
        if (edit_is_within(profile, b, a))
            return a;
    return PSNAP_NONE;
}

/* The loop, of the whole where it is a thread's part, that items [from, to) are within: as in
 * edit_loops.c, a visit is an entry of its loop, or a piece of an iteration when there are as many
 * visits as iterations. */
static uint32_t around(const struct scheduling *s, uint32_t from, uint32_t to)
{
    const struct psnap_profile *profile = s->e->profile;
    uint32_t of = PSNAP_NONE;

    for (uint32_t i = from; i < to; i += profile->schedule.items[i].span + 1) {
        const struct psnap_sequence_item *item = &profile->schedule.items[i];
        uint32_t one = item->what;
        if (one == PSNAP_NONE) {
            one = around(s, i + 1, i + 1 + item->span);
            if (one != PSNAP_NONE && profile->loops[one].depth > 0)
                one = profile->loops[one].parent;
        } else {
            if (profile->loops[one].whole != PSNAP_NONE)
                one = profile->loops[one].whole;
            if (profile->loops[one].iterations != s->visits[i] ||
                profile->loops[one].entries == s->visits[i])
                one = profile->loops[one].parent;
        }
        of = i == from ? one : common(profile, of, one);
    }
    return of;
}

static bool is_inside(const struct scheduling *s, const struct psnap_sequence *from, uint32_t i)
{
    for (uint32_t k = i; k <= i + from->items[i].span; k++)
        if (from->items[k].what != PSNAP_NONE && !s->e->is_inside[from->items[k].what])
            return false;
    return true;
}

static struct psnap_sequence_item *append(struct scheduling *s, struct psnap_sequence_item item)
{
    s->to.items[s->to.count] = item;
    return &s->to.items[s->to.count++];
}

static void schedule_items(struct scheduling *s, uint32_t from, uint32_t to);

static void schedule_item(struct scheduling *s, uint32_t i)
{
    const struct psnap_sequence *schedule = &s->e->profile->schedule;
    const struct psnap_edit *edit = s->e->edit;
    struct psnap_sequence_item item = schedule->items[i];
    const uint32_t at = s->to.count;

    if (item.what != PSNAP_NONE) {
        if (edit->what == PSNAP_EDIT_REMOVE && s->e->is_inside[item.what])
            return;
        if (item.accesses != PSNAP_EVENLY && s->e->is_inside[item.what])
            s->status = edit_scale_count(s->e, edit->times, 1, &item.accesses);
        append(s, item);
        return;
    }
    if (edit->what == PSNAP_EDIT_ITERATIONS && is_inside(s, schedule, i)) {
        const uint32_t of = around(s, i + 1, i + 1 + item.span);
        if (of != PSNAP_NONE && s->e->is_selected[of])
            s->status = edit_scale_count(s->e, edit->times, 1, &item.repeat);
    }
    append(s, item);
    schedule_items(s, i + 1, i + 1 + schedule->items[i].span);
    s->to.items[at].span = s->to.count - at - 1;
    if (s->to.count == at + 1)
        s->to.count = at; /* of nothing */
}

/* Items from the document's order on; those within the edit's loops that stand one behind the other
 * are entered more often together. */
static void schedule_items(struct scheduling *s, uint32_t from, uint32_t to)
{
    const struct psnap_sequence *schedule = &s->e->profile->schedule;
    const bool wraps = s->e->edit->what == PSNAP_EDIT_ENTRIES && s->e->edit->times > 1;

    for (uint32_t i = from; i < to && !s->status;) {
        const uint32_t at = s->to.count;
        if (!wraps || !is_inside(s, schedule, i)) {
            schedule_item(s, i);
            i += schedule->items[i].span + 1;
            continue;
        }
        append(s, (struct psnap_sequence_item){s->e->edit->times, PSNAP_EVENLY, PSNAP_NONE, 0});
        while (i < to && is_inside(s, schedule, i) && !s->status) {
            const uint32_t end = i + schedule->items[i].span;
            for (; i <= end && !s->status; i++) {
                struct psnap_sequence_item item = schedule->items[i];
                if (item.what != PSNAP_NONE && item.accesses != PSNAP_EVENLY)
                    s->status = edit_scale_count(s->e, s->e->edit->times, 1, &item.accesses);
                append(s, item);
            }
        }
        s->to.items[at].span = s->to.count - at - 1;
    }
}

static enum psnap_status schedule(struct editing *e)
{
    struct psnap_sequence *from = &e->profile->schedule;
    uint64_t *visits = calloc(from->count + (size_t)1, sizeof *visits);
    struct scheduling s = {
        .e = e,
        .visits = visits,
        .to = {psnap_arena_alloc(e->profile->arena,
                                 (2 * (size_t)from->count + 1) * sizeof *from->items),
               0}};

    if (!visits || !s.to.items) {
        free(visits);
        return edit_no_memory(e);
    }
    psnap_sequence_visits(from, visits);
    schedule_items(&s, 0, from->count);
    free(visits);
    *from = s.to;
    return s.status;
}

/* The schedule's items, and what is in them, more often. */
static enum psnap_status repeat_all(struct editing *e)
{
    const enum psnap_status status = schedule(e);

    return status ? status : repeat_accesses(e);
}

enum psnap_status edit_published(struct editing *e)
{
    enum psnap_status status = PSNAP_OK;

    switch (e->edit->what) {
    case PSNAP_EDIT_SPAN:
        status = stretch_regions(e, e->edit->times, e->edit->over);
        break;
    case PSNAP_EDIT_INTERLEAVE:
        status = interleave_regions(e);
        break;
    case PSNAP_EDIT_SPLIT:
        status = edit_fail(e, PSNAP_NONE, PSNAP_NONE,
                           "the published model does not say which accesses are of which field: "
                           "records cannot be split (with model nests they can)");
        break;
    case PSNAP_EDIT_STRIDE:
        status = edit_strides(e);
        break;
    case PSNAP_EDIT_ITERATIONS:
        status = edit_have_iterations(e, NULL);
        status = status ? status : repeat_all(e);
        break;
    case PSNAP_EDIT_ENTRIES:
        status = repeat_all(e);
        break;
    case PSNAP_EDIT_REMOVE:
        status = schedule(e);
        break;
    default:
        break;
    }
    if (!status)
        status = edit_settle_space(e);
    return status ? status : move_regions(e);
}
