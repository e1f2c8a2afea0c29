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
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profile/edit/edit.h"
#include "profile/model.h"

/* Histograms by phase, with room for all bins. */
struct bins {
    uint64_t counts[REUSE_PHASES][REUSE_BINS];
};

static void take_bins(const struct reuse *from, struct bins *bins)
{
    memset(bins, 0, sizeof *bins);
    for (uint32_t i = 0; i < from->bin_count; i++)
        if (from->bins[i].phase < REUSE_PHASES)
            bins->counts[from->bins[i].phase][from->bins[i].bin] += from->bins[i].count;
}

static enum psnap_status put_bins(const struct editing *e, const struct bins *bins,
                                  struct reuse *to)
{
    struct reuse_bin_count *more = malloc((size_t)REUSE_PHASES * REUSE_BINS * sizeof *more);

    if (!more)
        return edit_no_memory(e);
    free(to->bins);
    to->bins = more;
    to->bin_count = 0;
    for (uint32_t p = 0; p < REUSE_PHASES; p++)
        for (uint32_t i = 0; i < REUSE_BINS; i++)
            if (bins->counts[p][i])
                more[to->bin_count++] = (struct reuse_bin_count){p, i, bins->counts[p][i]};
    return PSNAP_OK;
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

static void scale_times(struct bins *bins, double factor)
{
    for (uint32_t p = 0; p < REUSE_PHASES; p++) {
        uint64_t before[REUSE_BINS];
        memcpy(before, bins->counts[p], sizeof before);
        memset(&bins->counts[p][REUSE_EXACT], 0,
               (REUSE_FIRST - REUSE_EXACT) * sizeof bins->counts[p][0]);
        for (uint32_t i = REUSE_EXACT; i < REUSE_FIRST; i++)
            if (before[i])
                spread(bins->counts[p], (double)reuse_bin_low(i) * factor,
                       (double)(reuse_bin_low(i) + reuse_bin_width(i)) * factor, before[i]);
    }
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

enum psnap_status edit_reuse(struct editing *e)
{
    struct psnap_stream_model *model = e->profile->stream;
    enum psnap_status status = PSNAP_OK;
    struct bins bins;
    bool is_any = false;

    for (uint32_t i = 0; i < model->ref_count; i++)
        for (uint32_t k = 0; k < model->refs[i].reuse_count && !status; k++) {
            struct reuse *reuse = &model->refs[i].reuses[k];
            if (!e->is_selected[model->refs[i].loop] ||
                !is_wanted(e, model->refs[i].loop, &model->objects[reuse->object]))
                continue;
            is_any = true;
            take_bins(reuse, &bins);
            scale_times(&bins, e->edit->factor);
            status = put_bins(e, &bins, reuse);
        }
    if (!status && !is_any)
        return edit_fail(e, PSNAP_NONE, PSNAP_NONE,
                         "nothing%s%.100s%s is drawn by reuse time: strides, working sets and "
                         "iterations change what is regular",
                         e->edit->object || e->edit->region_count ? " in '" : "",
                         e->edit->object         ? e->edit->object
                         : e->edit->region_count ? e->edit->regions[0]
                                                 : "",
                         e->edit->object || e->edit->region_count ? "'" : "");
    return status;
}

/* ---- more executions ---- */

enum psnap_status edit_repeat_reuses(const struct editing *e, struct model_ref *ref,
                                     uint64_t period)
{
    const uint32_t again = reuse_bin(period < REUSE_EXACT ? REUSE_EXACT : period);
    enum psnap_status status = PSNAP_OK;
    struct bins bins;

    for (uint32_t k = 0; k < ref->reuse_count && !status; k++) {
        take_bins(&ref->reuses[k], &bins);
        for (uint32_t p = 0; p < REUSE_PHASES && !status; p++) {
            const uint64_t firsts = bins.counts[p][REUSE_FIRST];
            for (uint32_t i = 0; i < REUSE_BINS && !status; i++)
                status = edit_scale_count(e, e->edit->times, 1, &bins.counts[p][i]);
            bins.counts[p][again] += bins.counts[p][REUSE_FIRST] - firsts;
            bins.counts[p][REUSE_FIRST] = firsts;
        }
        if (!status)
            status = put_bins(e, &bins, &ref->reuses[k]);
    }
    return status;
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

enum psnap_status edit_stretch_reuses(const struct editing *e, uint32_t object, uint64_t times,
                                      uint64_t over)
{
    struct psnap_stream_model *model = e->profile->stream;
    const double k = (double)times / (double)over, most = elements_per_line(model, object);
    const double factor = k > most ? most : k;
    enum psnap_status status = PSNAP_OK;
    struct bins bins;

    for (uint32_t i = 0; i < model->ref_count; i++)
        for (uint32_t r = 0; r < model->refs[i].reuse_count && !status; r++) {
            struct reuse *reuse = &model->refs[i].reuses[r];
            if (reuse->object != object)
                continue;
            move_places(reuse, model->objects[object].low, times, over < 64 ? over : 64);
            take_bins(reuse, &bins);
            scale_times(&bins, factor);
            for (uint32_t p = 0; p < REUSE_PHASES; p++)
                scale_firsts(bins.counts[p], factor);
            status = put_bins(e, &bins, reuse);
        }
    return status;
}

/* ---- another reference's ---- */

enum psnap_status edit_inherit_reuses(const struct editing *e, struct model_ref *to,
                                      const struct model_ref *from, int64_t bytes)
{
    const double part = from->executions ? (double)to->executions / (double)from->executions : 0;
    uint64_t all = from->executions, sum, done = 0;
    double seen = 0;

    to->reuses = calloc(from->reuse_count + (size_t)1, sizeof *to->reuses);
    if (!to->reuses)
        return edit_no_memory(e);
    to->rule = MODEL_REUSE;
    to->phases = from->phases;
    for (uint32_t k = 0; k < from->reuse_count; k++) {
        const struct reuse *old = &from->reuses[k];
        struct reuse *reuse = &to->reuses[to->reuse_count++];
        *reuse = (struct reuse){.object = old->object};
        reuse->bins = malloc((old->bin_count + (size_t)1) * sizeof *reuse->bins);
        if (!reuse->bins)
            return edit_no_memory(e);
        reuse->steps = old->steps;
        memcpy(reuse->when, old->when, sizeof reuse->when);
        for (uint32_t slot = 0; slot < REUSE_SLOTS; slot++)
            reuse->slots[(slot + (uint64_t)(bytes / 8)) % REUSE_SLOTS] = old->slots[slot];
        for (uint32_t i = 0; i < old->bin_count; i++) {
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
    return PSNAP_OK;
}
