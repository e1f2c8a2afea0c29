/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reuse histograms (reuse.h): collected from a sample, then scaled so that their sums are exact.
 * Phases are equally many executions while they are collected, too: whenever there are too many,
 * two neighbours become one. In the end they are four, two or one: as few as differ, which is when
 * the histograms of two have more than a tenth of their accesses in other bins.
 */
#include "profile/address/reuse.h"

#include <stdlib.h>
#include <string.h>

#include "formats/base/room.h"

enum {
    WIDTH_FIRST = 1024,         /* a power of two */
    STEPS = 2 * REUSE_LINE - 1, /* from one byte of a line to another */
    ALIKE_PERCENT = 10,         /* of accesses in other bins: phases are one */
    EVEN_PERCENT = 10,          /* of first touches that come at other times than evenly */
    PARTS_MAX = 24,             /* of memory with histograms of their own */
    SHIFT_FIRST = 12,           /* of a page at first */
    SMALL = 100                 /* an object with one in so many accesses is not told apart */
};

void reuse_collector_release(struct reuse_collector *collector)
{
    for (uint32_t i = 0; i < collector->count; i++) {
        for (uint32_t p = 0; p < REUSE_COLLECTED; p++)
            free(collector->seen[i].phases[p]);
        free(collector->seen[i].steps);
        free(collector->seen[i].when);
    }
    free(collector->seen);
    free(collector->firsts);
    *collector = (struct reuse_collector){0};
}

/* Adds `n` counts, which may be none yet, to others. */
static void add_counts(uint64_t **into, uint64_t **from, uint32_t n)
{
    if (!*into) {
        *into = *from;
        *from = NULL;
        return;
    }
    for (uint32_t i = 0; *from && i < n; i++)
        (*into)[i] += (*from)[i];
    free(*from);
    *from = NULL;
}

static void widen(struct reuse_collector *collector)
{
    for (uint32_t i = 0; i < collector->count; i++) {
        uint64_t **phases = collector->seen[i].phases;
        for (uint32_t p = 0; p < REUSE_COLLECTED; p += 2) {
            uint64_t *joined = NULL;
            add_counts(&joined, &phases[p], REUSE_BINS);
            add_counts(&joined, &phases[p + 1], REUSE_BINS);
            phases[p / 2] = joined;
            if (p)
                phases[p] = NULL;
            phases[p + 1] = NULL;
        }
    }
    collector->width *= 2;
}

/* One part takes in another one, which is left empty. */
static void join(struct reuse_seen *into, struct reuse_seen *from)
{
    into->low = from->low < into->low ? from->low : into->low;
    into->high = from->high > into->high ? from->high : into->high;
    for (uint32_t i = 0; i < REUSE_SLOTS; i++)
        into->slots[i] += from->slots[i];
    add_counts(&into->steps, &from->steps, STEPS);
    add_counts(&into->when, &from->when, REUSE_WHEN);
    for (uint32_t p = 0; p < REUSE_COLLECTED; p++)
        add_counts(&into->phases[p], &from->phases[p], REUSE_BINS);
}

/* Parts become twice as large. */
static void coarsen(struct reuse_collector *collector)
{
    uint32_t kept = 0;

    collector->shift++;
    for (uint32_t i = 0; i < collector->count; i++) {
        struct reuse_seen *seen = &collector->seen[i];
        uint32_t k = 0;
        seen->part /= 2;
        while (k < kept && collector->seen[k].part != seen->part)
            k++;
        if (k < kept)
            join(&collector->seen[k], seen);
        else if (kept++ != i)
            collector->seen[k] = *seen;
    }
    collector->count = kept;
    collector->at = 0;
}

static struct reuse_seen *find(struct reuse_collector *collector, uint64_t address)
{
    struct reuse_seen *seen;
    uint32_t i;

    if (!collector->shift)
        collector->shift = SHIFT_FIRST;
    for (;;) {
        const uint64_t part = address >> collector->shift;
        if (collector->count && collector->seen[collector->at].part == part)
            return &collector->seen[collector->at];
        for (i = 0; i < collector->count && collector->seen[i].part != part; i++)
            continue;
        collector->at = i;
        if (i < collector->count)
            return &collector->seen[i];
        if (i < PARTS_MAX)
            break;
        coarsen(collector);
    }
    if (!psnap_resize(&collector->seen, (size_t)i + 1, sizeof *collector->seen))
        return NULL;
    seen = &collector->seen[collector->count++];
    *seen =
        (struct reuse_seen){.part = address >> collector->shift, .low = address, .high = address};
    return seen;
}

bool reuse_note(struct reuse_collector *collector, uint64_t address, uint64_t index, uint32_t bin,
                unsigned last, uint64_t weight)
{
    struct reuse_seen *seen = find(collector, address);
    const unsigned byte = (unsigned)address % REUSE_LINE;
    uint64_t **phase;

    if (!seen)
        return false;
    seen->low = address < seen->low ? address : seen->low;
    seen->high = address > seen->high ? address : seen->high;
    if (!collector->width)
        collector->width = WIDTH_FIRST;
    while (index >> __builtin_ctzll(collector->width) >= REUSE_COLLECTED)
        widen(collector);
    phase = &seen->phases[index >> __builtin_ctzll(collector->width)];
    if (!*phase && !(*phase = calloc(REUSE_BINS, sizeof **phase)))
        return false;
    (*phase)[bin] += weight;
    seen->slots[byte / 8] += weight;
    if (bin == REUSE_FIRST) {
        if (!seen->when && !(seen->when = calloc(REUSE_WHEN, sizeof *seen->when)))
            return false;
        seen->when[reuse_when(index)] += weight;
        return true;
    }
    if (!seen->steps && !(seen->steps = calloc(STEPS, sizeof *seen->steps)))
        return false;
    seen->steps[byte - last + REUSE_LINE - 1] += weight;
    return true;
}

bool reuse_note_first(struct reuse_collector *collector, uint64_t line)
{
    struct reuse_firsts *firsts = collector->firsts;
    struct reuse_stride *strides;
    int64_t lines;
    uint32_t at = 0;

    if (!firsts && !(collector->firsts = firsts = calloc(1, sizeof *firsts)))
        return false;
    strides = firsts->strides;
    lines = (int64_t)(line - firsts->latest);
    firsts->latest = line;
    if (!firsts->count++)
        return true;
    while (at + 1 < REUSE_STRIDES && strides[at].count && strides[at].lines != lines)
        at++;
    if (strides[at].lines != lines) /* the rarest one makes room, and leaves its count */
        strides[at].lines = lines;
    strides[at].count++;
    for (; at && strides[at].count > strides[at - 1].count; at--) {
        const struct reuse_stride kept = strides[at];
        strides[at] = strides[at - 1];
        strides[at - 1] = kept;
    }
    return true;
}

/* ---- the model ---- */

struct taking {
    uint64_t *bins; /* by phase, object, bin */
    uint32_t phases, objects;
    uint32_t *of;   /* by part: which of the reference's objects it is */
    uint32_t *part; /* by object: the first of its parts */
};

static uint64_t *bins_of(const struct taking *t, uint32_t phase, uint32_t object)
{
    return &t->bins[((size_t)phase * t->objects + object) * REUSE_BINS];
}

static uint64_t sum_of(const struct taking *t, uint32_t phase)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < t->objects * REUSE_BINS; i++)
        sum += bins_of(t, phase, 0)[i];
    return sum;
}

/* Whether phase p and the next one have the same shares of accesses in their bins. */
static bool are_alike(const struct taking *t, uint32_t p)
{
    const double a = (double)sum_of(t, p), b = (double)sum_of(t, p + 1);
    double differ = 0;

    if (a == 0 || b == 0)
        return true;
    for (uint32_t i = 0; i < t->objects * REUSE_BINS; i++) {
        const double d = (double)bins_of(t, p, 0)[i] / a - (double)bins_of(t, p + 1, 0)[i] / b;
        differ += d < 0 ? -d : d;
    }
    /* Half of the sum of differences is in other bins. */
    return differ * 50 <= (double)ALIKE_PERCENT;
}

/* Each two phases become one. */
static void halve(struct taking *t)
{
    const size_t n = (size_t)t->objects * REUSE_BINS;

    for (uint32_t p = 0; p < t->phases / 2; p++)
        for (size_t i = 0; i < n; i++)
            t->bins[p * n + i] = t->bins[2 * p * n + i] + t->bins[(2 * p + 1) * n + i];
    t->phases /= 2;
}

/* Makes the counts of a phase add up to `executions`: largest remainders get what is missing. */
static bool scale(struct taking *t, uint32_t phase, uint64_t executions)
{
    const uint32_t n = t->objects * REUSE_BINS;
    uint64_t *bins = bins_of(t, phase, 0), left = executions, best;
    const double sum = (double)sum_of(t, phase);
    double *rest = calloc(n, sizeof *rest);

    if (!rest)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        const double share = sum > 0 ? (double)bins[i] * (double)executions / sum : 0;
        bins[i] = (uint64_t)share < left ? (uint64_t)share : left;
        rest[i] = share - (double)bins[i];
        left -= bins[i];
    }
    for (; left; left--) {
        best = 0;
        for (uint32_t i = 1; i < n; i++)
            best = rest[i] > rest[best] ? i : best;
        if (rest[best] <= 0) { /* nothing was seen, or rounding: all that is left */
            for (uint32_t i = 1; i < n; i++)
                best = bins[i] > bins[best] ? i : best;
            bins[best] += left;
            break;
        }
        bins[best]++;
        rest[best] = 0;
    }
    free(rest);
    return true;
}

/* The phases that there were as REUSE_PHASES of equally many executions: those that were collected
 * end somewhere within the last one. */
static bool gather(struct taking *t, const struct reuse_collector *collector, uint64_t executions)
{
    const uint64_t used =
        collector->width ? (executions + collector->width - 1) / collector->width : 1;

    t->phases = used >= REUSE_PHASES ? REUSE_PHASES : 1;
    t->bins = calloc((size_t)t->phases * t->objects * REUSE_BINS + 1, sizeof *t->bins);
    for (uint32_t p = 0; t->bins && p < REUSE_COLLECTED; p++) {
        uint32_t to = (uint32_t)((2 * p + 1) * t->phases / (2 * used));
        to = to < t->phases ? to : t->phases - 1;
        for (uint32_t k = 0; k < collector->count; k++)
            for (uint32_t i = 0; collector->seen[k].phases[p] && i < REUSE_BINS; i++)
                bins_of(t, to, t->of[k])[i] += collector->seen[k].phases[p][i];
    }
    return t->bins != NULL;
}

/* Counts in percent; what is there stays there. */
static void take_percents(const uint64_t *from, uint64_t *to)
{
    uint64_t all = 0;

    for (uint32_t i = 0; i < REUSE_SLOTS; i++)
        all += from[i];
    for (uint32_t i = 0; all && i < REUSE_SLOTS; i++)
        to[i] = from[i] ? (from[i] * 100 + all - 1) / all : 0;
}

/* The commonest steps, in percent of all. */
static void take_steps(const uint64_t *from, struct reuse_steps *reuse)
{
    uint64_t all = 0, kept = 0;

    for (uint32_t i = 0; i < STEPS; i++)
        all += from[i];
    for (uint32_t i = 0; i < STEPS; i++) {
        const uint64_t share = (from[i] * 100 + all / 2) / (all ? all : 1);
        uint32_t at = reuse->count;
        if (!share)
            continue;
        if (at == REUSE_STEPS) {
            at--;
            if (reuse->steps[at].count >= share)
                continue;
        }
        for (; at && reuse->steps[at - 1].count < share; at--)
            reuse->steps[at] = reuse->steps[at - 1];
        reuse->steps[at] = (struct reuse_step){(int32_t)i - (REUSE_LINE - 1), share};
        reuse->count += reuse->count < REUSE_STEPS;
    }
    for (uint32_t i = 0; i < reuse->count; i++)
        kept += reuse->steps[i].count;
    reuse->elsewhere = kept < 100 && all ? 100 - kept : 0;
}

/* When first touches come in the first `executions`, unless that is about as often at all times. */
static void take_when(uint64_t executions, uint64_t when[REUSE_WHEN])
{
    double all = 0, sum = 0, most = 0;

    for (uint32_t k = 0; k < REUSE_WHEN; k++) {
        const double begin = (double)((UINT64_C(1) << k) - 1);
        const double length = (double)(UINT64_C(1) << k);
        const double within = ((double)executions - begin) / length;
        if (within < 1)
            when[k] = within > 0 ? (uint64_t)((double)when[k] * within) : 0;
        all += (double)when[k];
    }
    for (uint32_t k = 0; all > 0 && k < REUSE_WHEN; k++) {
        const double end = (double)((UINT64_C(2) << k) - 1);
        double differ = end < (double)executions ? end / (double)executions : 1;
        sum += (double)when[k];
        differ = sum / all - differ;
        most = differ > most ? differ : -differ > most ? -differ : most;
    }
    if (most * 100 < (double)EVEN_PERCENT)
        memset(when, 0, REUSE_WHEN * sizeof *when);
}

static bool take_object(const struct taking *t, const struct reuse_collector *collector,
                        uint32_t object, uint32_t o, uint64_t executions, struct reuse *reuse)
{
    uint64_t slots[REUSE_SLOTS] = {0}, steps[STEPS] = {0};

    *reuse = (struct reuse){.object = object};
    reuse->bins = malloc(((size_t)t->phases * REUSE_BINS + 1) * sizeof *reuse->bins);
    if (!reuse->bins)
        return false;
    for (uint32_t p = 0; p < t->phases; p++)
        for (uint32_t i = 0; i < REUSE_BINS; i++)
            if (bins_of(t, p, o)[i])
                reuse->bins[reuse->bin_count++] =
                    (struct reuse_bin_count){p, i, bins_of(t, p, o)[i]};
    for (uint32_t k = 0; k < collector->count; k++) {
        const struct reuse_seen *seen = &collector->seen[k];
        for (uint32_t i = 0; t->of[k] == o && i < REUSE_SLOTS; i++)
            slots[i] += seen->slots[i];
        for (uint32_t i = 0; t->of[k] == o && seen->steps && i < STEPS; i++)
            steps[i] += seen->steps[i];
        for (uint32_t i = 0; t->of[k] == o && seen->when && i < REUSE_WHEN; i++)
            reuse->when[i] += seen->when[i];
    }
    take_percents(slots, reuse->slots);
    take_steps(steps, &reuse->steps);
    if (reuse_timed_firsts(reuse))
        take_when(executions / t->phases, reuse->when);
    else
        memset(reuse->when, 0, sizeof reuse->when);
    return true;
}

static uint64_t weight_of(const struct reuse_seen *seen)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < REUSE_SLOTS; i++)
        sum += seen->slots[i];
    return sum;
}

/* Which parts are one object; those of next to no accesses are that of most. */
static bool find_objects(struct taking *t, const struct reuse_collector *collector,
                         const uint32_t *objects)
{
    uint64_t *weights = calloc(collector->count + (size_t)1, sizeof *weights), all = 0;
    uint32_t most = 0, kept = 0;

    t->of = malloc((collector->count + (size_t)1) * sizeof *t->of);
    t->part = malloc((collector->count + (size_t)1) * sizeof *t->part);
    if (!weights || !t->of || !t->part) {
        free(weights);
        return false;
    }
    for (uint32_t i = 0; i < collector->count; i++) { /* weights of objects, at their first parts */
        uint32_t k = 0;
        while (objects[k] != objects[i])
            k++;
        t->of[i] = k;
        weights[k] += weight_of(&collector->seen[i]);
        all += weight_of(&collector->seen[i]);
        most = weights[k] > weights[most] ? k : most;
    }
    for (uint32_t i = 0; i < collector->count; i++)
        if (weights[t->of[i]] < all / SMALL)
            t->of[i] = most;
    for (uint32_t i = 0; i < collector->count; i++)
        if (t->of[i] == i)
            t->part[kept++] = i;
    for (uint32_t i = 0; i < collector->count; i++)
        for (uint32_t k = 0; k < kept; k++)
            if (t->part[k] == t->of[i]) {
                t->of[i] = k;
                break;
            }
    t->objects = kept;
    free(weights);
    return true;
}

bool reuse_take(const struct reuse_collector *collector, const uint32_t *objects,
                uint64_t executions, struct reuse **reuses, uint32_t *count, uint32_t *phases)
{
    struct taking t = {0};
    bool is_done = find_objects(&t, collector, objects) && gather(&t, collector, executions);

    *reuses = NULL;
    *count = 0;
    while (is_done && t.phases > 1) {
        bool are_all = true;
        for (uint32_t p = 0; p < t.phases; p += 2)
            are_all &= are_alike(&t, p);
        for (uint32_t p = 0; p < t.phases; p++) /* a phase of which no line was in the sample */
            are_all |= !sum_of(&t, p);
        if (!are_all)
            break;
        halve(&t);
    }
    for (uint32_t p = 0; is_done && p < t.phases; p++)
        is_done = scale(&t, p, executions * (p + 1) / t.phases - executions * p / t.phases);
    *phases = t.phases;
    if (is_done && t.objects) {
        *reuses = calloc(t.objects, sizeof **reuses);
        is_done = *reuses != NULL;
    }
    for (uint32_t o = 0; is_done && o < t.objects; o++) {
        is_done = take_object(&t, collector, objects[t.part[o]], o, executions, &(*reuses)[*count]);
        if (is_done && !(*reuses)[*count].bin_count)
            free((*reuses)[*count].bins);
        else
            ++*count;
    }
    free(t.bins);
    free(t.of);
    free(t.part);
    if (!is_done) {
        reuse_release(*reuses, *count);
        *reuses = NULL;
        *count = 0;
    }
    return is_done;
}

void reuse_release(struct reuse *reuses, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        free(reuses[i].bins);
    free(reuses);
}

uint64_t reuse_accesses(const struct reuse *reuse)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < reuse->bin_count; i++)
        sum += reuse->bins[i].count;
    return sum;
}

void reuse_add_up(const struct reuse *reuses, uint32_t count, uint64_t bins[REUSE_BINS])
{
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < reuses[i].bin_count; k++)
            bins[reuses[i].bins[k].bin] += reuses[i].bins[k].count;
}

uint64_t reuse_timed_firsts(const struct reuse *reuse)
{
    uint64_t firsts = 0;
    bool is_timed = false;

    for (uint32_t i = 0; i < REUSE_WHEN; i++)
        is_timed |= reuse->when[i] > 0;
    for (uint32_t i = 0; i < reuse->bin_count; i++)
        if (reuse->bins[i].bin == REUSE_FIRST && !reuse->bins[i].phase)
            firsts += reuse->bins[i].count;
    return is_timed ? firsts : 0;
}
