/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Edits of reuse histograms (profile/address/reuse.h).
 *
 *   scaled      reuse times of 16 and more are F times as long, as when F times as much is
 *               accessed in between; a bin that then lies in several is parted among them as if
 *               its times were spread evenly. Shorter ones and first touches stay
 *   repeated    of K times as many executions those that are first touches stay: the same lines
 *               are touched again, after as many accesses as an entry of the loop has
 *   stretched   an object K times as long whose elements share lines has K times as many of these,
 *               until each element has one of its own: there are as many times as many first
 *               touches, taken from all other bins alike, and longer times are scaled by as much.
 *               Places in lines follow from the addresses
 */
#include "profile/edit/edit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Changes the histograms of a reference in an object, by phase, with room for all bins. */
static void change_bins(struct editing *e, struct reuse *reuse, double factor,
                        void (*change)(struct editing *e, uint64_t counts[REUSE_BINS],
                                       double factor))
{
    uint64_t(*counts)[REUSE_BINS] = edit_alloc(e, REUSE_PHASES, sizeof *counts);
    struct reuse_bin_count *more = malloc((size_t)REUSE_PHASES * REUSE_BINS * sizeof *more);

    if (!edit_need(e, more != NULL) || !counts) {
        free(more);
        return;
    }
    for (uint32_t i = 0; i < reuse->bin_count; i++)
        if (reuse->bins[i].phase < REUSE_PHASES)
            counts[reuse->bins[i].phase][reuse->bins[i].bin] += reuse->bins[i].count;
    free(reuse->bins);
    reuse->bins = more;
    reuse->bin_count = 0;
    for (uint32_t p = 0; p < REUSE_PHASES; p++) {
        change(e, counts[p], factor);
        for (uint32_t i = 0; i < REUSE_BINS; i++)
            if (counts[p][i])
                more[reuse->bin_count++] = (struct reuse_bin_count){p, i, counts[p][i]};
    }
}

/* `part` of `count`, rounded. */
static uint64_t part_of(uint64_t count, double part)
{
    const double n = floor((double)count * part + 0.5);

    return n <= 0 ? 0 : n >= (double)count ? count : (uint64_t)n;
}

/* ---- scaled times ---- */

/* The count of a bin goes to where its times, from low up to high, then are. */
static void spread(uint64_t counts[REUSE_BINS], double low, double high, uint64_t count)
{
    uint64_t done = 0;

    for (uint32_t i = 0; i < REUSE_FIRST && done < count; i++) {
        const double end = (double)(reuse_bin_low(i) + reuse_bin_width(i));
        uint64_t up_to;
        if (end <= low)
            continue;
        up_to = i + 1 == REUSE_FIRST || end >= high ? count
                                                    : part_of(count, (end - low) / (high - low));
        counts[i] += up_to - done;
        done = up_to;
    }
}

static void scale_times(struct editing *e, uint64_t counts[REUSE_BINS], double factor)
{
    uint64_t before[REUSE_FIRST];

    (void)e;
    memcpy(before, counts, sizeof before);
    memset(&counts[REUSE_EXACT], 0, (REUSE_FIRST - REUSE_EXACT) * sizeof *counts);
    for (uint32_t i = REUSE_EXACT; i < REUSE_FIRST; i++)
        if (before[i])
            spread(counts, (double)reuse_bin_low(i) * factor,
                   (double)(reuse_bin_low(i) + reuse_bin_width(i)) * factor, before[i]);
}

/* Whether the edit is about what a loop does in an object. */
static bool is_wanted(const struct editing *e, uint32_t loop, const struct model_object *object)
{
    const struct psnap_profile_loop *of = &e->profile->loops[loop];

    if (e->edit->object)
        return !strcmp(object->id, e->edit->object) ||
               (object->name && !strcmp(object->name, e->edit->object));
    for (size_t i = 0; i < e->edit->region_count; i++) {
        if (object->name && !strcmp(object->name, e->edit->regions[i]))
            return true;
        for (uint32_t k = 0; e->edit->loop && k < of->region_count; k++)
            if (!strcmp(of->regions[k].id, e->edit->regions[i]) &&
                of->regions[k].low < object->low + object->bytes &&
                of->regions[k].low + of->regions[k].bytes > object->low)
                return true;
    }
    return !e->edit->region_count;
}

void edit_reuse(struct editing *e)
{
    const char *name = e->edit->object         ? e->edit->object
                       : e->edit->region_count ? e->edit->regions[0]
                                               : NULL;
    bool is_any = false;

    for (uint32_t i = 0; i < e->model->ref_count; i++)
        for (uint32_t k = 0; k < e->model->refs[i].reuse_count; k++) {
            struct reuse *reuse = &e->model->refs[i].reuses[k];
            if (!e->is_selected[e->model->refs[i].loop] ||
                !is_wanted(e, e->model->refs[i].loop, &e->model->objects[reuse->object]))
                continue;
            is_any = true;
            change_bins(e, reuse, e->edit->factor, scale_times);
        }
    if (!is_any)
        edit_fail(e, PSNAP_NONE,
                  "nothing%s%.100s%s is drawn by reuse time: strides, working sets and iterations "
                  "change what is regular",
                  name ? " in '" : "", name ? name : "", name ? "'" : "");
}

/* ---- more executions ---- */

/* K times as many executions, of which first touches come again after `period` accesses. */
static void repeat(struct editing *e, uint64_t counts[REUSE_BINS], double period)
{
    const uint64_t firsts = counts[REUSE_FIRST];

    for (uint32_t i = 0; i < REUSE_BINS; i++)
        edit_scale_count(e, &counts[i]);
    counts[reuse_bin((uint64_t)period)] += counts[REUSE_FIRST] - firsts;
    counts[REUSE_FIRST] = firsts;
}

void edit_repeat_reuses(struct editing *e, struct model_ref *ref, uint64_t period)
{
    for (uint32_t k = 0; k < ref->reuse_count; k++)
        change_bins(e, &ref->reuses[k], (double)(period < REUSE_EXACT ? REUSE_EXACT : period),
                    repeat);
}

/* ---- stretched objects ---- */

/* How many elements of an object share a line, by where in lines a reference accesses it. */
static double elements_per_line(const struct psnap_stream_model *model, uint32_t object)
{
    double most = 1;

    for (uint32_t i = 0; i < model->ref_count; i++)
        for (uint32_t k = 0; k < model->refs[i].reuse_count; k++) {
            const struct reuse *reuse = &model->refs[i].reuses[k];
            const double size = model->refs[i].size < 8 ? model->refs[i].size : 8;
            double used = 0;
            for (uint32_t slot = 0; slot < REUSE_SLOTS; slot++)
                used += reuse->slots[slot] > 0;
            if (reuse->object == object && used * 8 / size > most && used > 1)
                most = used * 8 / size;
        }
    return most;
}

/* As many first touches as `factor` says, from all other bins alike, or to them. */
static void scale_firsts(uint64_t counts[REUSE_BINS], double factor)
{
    const uint64_t firsts = counts[REUSE_FIRST];
    uint64_t others = 0, left, wanted, seen = 0, done = 0;

    for (uint32_t i = 0; i < REUSE_FIRST; i++)
        others += counts[i];
    if (!others)
        return;
    wanted = part_of(firsts + others, (double)firsts * factor / (double)(firsts + others));
    left = firsts + others - wanted;
    for (uint32_t i = 0; i < REUSE_FIRST; i++) {
        uint64_t up_to;
        seen += counts[i];
        up_to = part_of(left, (double)seen / (double)others);
        counts[i] = up_to - done;
        done = up_to;
    }
    counts[REUSE_FIRST] = wanted;
}

/* Where in lines elements are that are so many times as far from an address. */
static void move_places(struct reuse *reuse, uint64_t low, uint64_t times, uint64_t over)
{
    uint64_t slots[REUSE_SLOTS] = {0};
    const struct reuse_steps steps = reuse->steps;

    for (uint64_t line = 0; line < over; line++)
        for (uint64_t slot = 0; slot < REUSE_SLOTS; slot++) {
            const uint64_t at = (line + 1) * 64 + slot * 8 - low % 64;
            slots[(low % 64 + at * times / over) / 8 % REUSE_SLOTS] += reuse->slots[slot];
        }
    for (uint64_t slot = 0; slot < REUSE_SLOTS; slot++)
        reuse->slots[slot] = (slots[slot] + over - 1) / over;
    reuse->steps = (struct reuse_steps){.elsewhere = steps.elsewhere};
    for (uint32_t i = 0; i < steps.count; i++) {
        const int64_t bytes = steps.steps[i].bytes * (int64_t)times / (int64_t)over;
        if (bytes > -REUSE_LINE && bytes < REUSE_LINE)
            reuse->steps.steps[reuse->steps.count++] =
                (struct reuse_step){(int32_t)bytes, steps.steps[i].count};
        else
            reuse->steps.elsewhere += steps.steps[i].count;
    }
}

/* Longer times, and first touches, when there are `factor` times as many lines. */
static void stretch(struct editing *e, uint64_t counts[REUSE_BINS], double factor)
{
    scale_times(e, counts, factor);
    scale_firsts(counts, factor);
}

void edit_stretch_reuses(struct editing *e, uint32_t object, uint64_t times, uint64_t over)
{
    const double most = elements_per_line(e->model, object);
    const double factor = (double)times / (double)over;

    for (uint32_t i = 0; i < e->model->ref_count; i++)
        for (uint32_t r = 0; r < e->model->refs[i].reuse_count; r++) {
            struct reuse *reuse = &e->model->refs[i].reuses[r];
            if (reuse->object != object)
                continue;
            move_places(reuse, e->model->objects[object].low, times, over < 64 ? over : 64);
            change_bins(e, reuse, factor > most ? most : factor, stretch);
        }
}

/* ---- another reference's ---- */

void edit_inherit_reuses(struct editing *e, struct model_ref *to, const struct model_ref *from,
                         int64_t bytes)
{
    const double part = from->executions ? (double)to->executions / (double)from->executions : 0;
    uint64_t all = from->executions, sum, done = 0;
    double seen = 0;

    to->reuses = calloc(from->reuse_count + (size_t)1, sizeof *to->reuses);
    edit_need(e, to->reuses != NULL);
    to->rule = MODEL_REUSE;
    to->phases = from->phases;
    for (uint32_t k = 0; k < from->reuse_count && !e->status; k++) {
        const struct reuse *old = &from->reuses[k];
        struct reuse *reuse = &to->reuses[to->reuse_count++];
        *reuse = *old;
        reuse->bin_count = 0;
        reuse->bins = malloc((old->bin_count + (size_t)1) * sizeof *reuse->bins);
        for (uint32_t slot = 0; slot < REUSE_SLOTS; slot++)
            reuse->slots[(slot + (uint64_t)(bytes / 8)) % REUSE_SLOTS] = old->slots[slot];
        for (uint32_t i = 0; edit_need(e, reuse->bins != NULL) && i < old->bin_count; i++) {
            struct reuse_bin_count bin = old->bins[i];
            seen += (double)bin.count * part;
            all -= bin.count;
            sum = all ? (uint64_t)floor(seen + 0.5) : to->executions;
            bin.count = sum > done ? sum - done : 0;
            done += bin.count;
            if (bin.count)
                reuse->bins[reuse->bin_count++] = bin;
        }
    }
}
