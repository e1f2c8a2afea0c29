/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Passes are found as they come: as long as the stride is the same it is one. Each is a stretch of
 * its own at first; when there are too many, neighbours become one, those first of which the line
 * from the first to the last is least off where they meet.
 */
#include <math.h>
#include <string.h>

#include "profile/gathers/gather_fit.h"

enum {
    LENGTH_LEAST = 8, /* accesses of a pass, in the mean, */
    LENGTH_GOOD = 16, /* and where they are a model */
    SETTLING = 4096,  /* accesses before that is asked, */
    ALIKE_LEAST = 64  /* and passes by the stride of the one before, before their share is */
};

#define OFF_MOST 0.1     /* share of the accesses, of a model */
#define OFF_NOTHING 1e-4 /* and where it is none */
#define ONE_MOST 0.9     /* share of the accesses by one stride: those are steps */

/* ---- stretches that become one ---- */

/* So far of the way that a difference is, to the nearest byte. */
static uint64_t part_of(uint64_t way, double at)
{
    return (uint64_t)llround((double)(int64_t)way * at);
}

/* The pass that is this far between two. */
static struct gather_pass between(const struct gather_pass *a, const struct gather_pass *b,
                                  double at)
{
    return (struct gather_pass){.from = a->from + part_of(b->from - a->from, at),
                                .to = a->to + part_of(b->to - a->to, at),
                                .stride = a->stride +
                                          (int64_t)part_of((uint64_t)(b->stride - a->stride), at)};
}

static double distance(uint64_t a, uint64_t b)
{
    return fabs((double)(int64_t)(a - b));
}

/* How far two passes of one direction are apart, in relation to what they are. */
static double apart(const struct gather_pass *a, const struct gather_pass *b)
{
    const double longer = fmax(distance(a->from, a->to), distance(b->from, b->to));
    const double ends = distance(a->from, b->from) + distance(a->to, b->to);

    return fabs(log((double)a->stride / (double)b->stride)) + ends / fmax(longer, 64);
}

static bool is_one_way(const struct gather_pass *a, const struct gather_pass *b)
{
    return (a->stride < 0) == (b->stride < 0);
}

/* Both as one, if they go one way. */
static bool join(const struct gather_passed *a, const struct gather_passed *b,
                 struct gather_passed *both)
{
    const uint64_t passes = a->stretch.passes + b->stretch.passes;
    const struct gather_pass *first = &a->stretch.first, *last = &b->stretch.last;
    const double steps = (double)(passes - 1);
    struct gather_pass end, begin;

    if (!is_one_way(first, last) || !is_one_way(&a->stretch.last, &b->stretch.first))
        return false;
    end = between(first, last, (double)(a->stretch.passes - 1) / steps);
    begin = between(first, last, (double)a->stretch.passes / steps);
    both->stretch = (struct gather_stretch){passes, *first, *last};
    both->accesses = a->accesses + b->accesses;
    both->off = a->off + b->off +
                fmin(a->accesses, b->accesses) *
                    (apart(&end, &a->stretch.last) + apart(&begin, &b->stretch.first));
    return true;
}

/* How much more a stretch and the next one are off as one. */
static double cost_of(const struct gather_passes *p, uint32_t i)
{
    struct gather_passed both;

    if (i + 1 >= p->used || !join(&p->passed[i], &p->passed[i + 1], &both))
        return INFINITY;
    return both.off - p->passed[i].off - p->passed[i + 1].off;
}

/* Of two that become one those first that cost least: as long as there are more than so many, and
 * as long as they cost no more than that. */
static void make_fewer(struct gather_passes *p, uint32_t count, double most)
{
    double costs[2 * GATHER_STRETCHES];

    for (uint32_t i = 0; i < p->used; i++)
        costs[i] = cost_of(p, i);
    while (p->used > 1) {
        struct gather_passed both;
        uint32_t least = 0;
        for (uint32_t i = 1; i + 1 < p->used; i++)
            least = costs[i] < costs[least] ? i : least;
        if ((p->used <= count && costs[least] > most) ||
            !join(&p->passed[least], &p->passed[least + 1], &both))
            break;
        p->passed[least] = both;
        p->used--;
        for (uint32_t i = least + 1; i < p->used; i++) {
            p->passed[i] = p->passed[i + 1];
            costs[i] = costs[i + 1];
        }
        costs[least] = cost_of(p, least);
        if (least)
            costs[least - 1] = cost_of(p, least - 1);
    }
    p->are_none |= p->used > count;
}

/* ---- as they come ---- */

/* Whether a pass is that of the last stretch once more, which is the same each time. */
static bool is_again(const struct gather_stretch *last, const struct gather_pass *pass)
{
    return !memcmp(&last->first, pass, sizeof *pass) && !memcmp(&last->last, pass, sizeof *pass);
}

static void end_pass(struct gather_passes *p)
{
    const struct gather_pass pass = {p->first, p->last, (int64_t)p->stride};
    struct gather_passed *last = p->used ? &p->passed[p->used - 1] : NULL;

    if (p->count < 2)
        return;
    p->accesses += p->count;
    p->passes++;
    if (last && is_again(&last->stretch, &pass)) {
        last->stretch.passes++;
        last->accesses += (double)p->count;
        return;
    }
    p->alike += last && last->stretch.last.stride == pass.stride;
    p->are_none = !p->stride || p->accesses + SETTLING < p->passes * LENGTH_LEAST ||
                  (p->alike >= ALIKE_LEAST && p->alike * 4 > p->passes * 3);
    p->passed[p->used++] = (struct gather_passed){{1, pass, pass}, (double)p->count, 0};
    if (p->used == 2 * GATHER_STRETCHES)
        make_fewer(p, GATHER_STRETCHES, 0);
}

static inline void put(struct gather_passes *p, uint64_t address)
{
    const uint64_t stride = address - p->last;

    if (p->count > 1 && stride != p->stride) {
        end_pass(p);
        p->count = 0;
    }
    p->first = p->count ? p->first : address;
    p->stride = stride;
    p->last = address;
    p->count++;
}

void gather_passes_put(struct gather_passes *p, const uint64_t *addresses, size_t n)
{
    for (size_t i = 0; i < n && !p->are_none; i++)
        put(p, addresses[i]);
}

void gather_passes_put_run(struct gather_passes *p, uint64_t first, uint64_t step, uint64_t n)
{
    for (; n && !p->are_none; n--, first += step) {
        put(p, first);
        if (p->count < 2 || p->stride != step)
            continue;
        p->count += n - 1;
        p->last = first + (n - 1) * step;
        return;
    }
}

/* ---- the model ---- */

/* The largest share of the accesses that stretches of one stride have. */
static double share_of_one(const struct gather_passes *p)
{
    double most = 0, all = 0;

    for (uint32_t i = 0; i < p->used; i++) {
        const struct gather_stretch *a = &p->passed[i].stretch;
        double share = 0;
        all += p->passed[i].accesses;
        for (uint32_t k = 0; k < p->used; k++) {
            const struct gather_stretch *b = &p->passed[k].stretch;
            if (a->first.stride == b->first.stride && a->first.stride == b->last.stride)
                share += p->passed[k].accesses;
        }
        most = fmax(most, share);
    }
    return most / fmax(all, 1);
}

static struct gather_pass in_area(const struct gather_pass *pass, uint64_t base)
{
    return (struct gather_pass){pass->from - base, pass->to - base, pass->stride};
}

/* Stretches of long passes, not all of one stride, that are near to what there was. */
bool gather_fit_passes(const struct gather_collector *c, struct gather_area *m)
{
    struct gather_passes passes = c->passes, *const p = &passes;
    double off = 0;

    if (!p->are_none)
        end_pass(p);
    make_fewer(p, GATHER_STRETCHES, OFF_NOTHING * (double)p->accesses);
    if (p->are_none || p->accesses < p->passes * LENGTH_GOOD ||
        (double)p->accesses < (1 - OFF_MOST) * (double)c->count)
        return false;
    for (uint32_t i = 0; i < p->used; i++)
        off += p->passed[i].off;
    if (p->used < 1 || off > OFF_MOST * (double)p->accesses || share_of_one(p) > ONE_MOST)
        return false;
    m->places = GATHER_PASSES;
    m->step_count = m->grid_bytes = m->grid_start = 0;
    m->part_count = 1;
    m->parts[0] = (struct gather_part){1, 1};
    m->fixed = 0;
    m->stretch_count = p->used;
    for (uint32_t i = 0; i < p->used; i++) {
        const struct gather_stretch *s = &p->passed[i].stretch;
        m->stretches[i] = (struct gather_stretch){s->passes, in_area(&s->first, m->base),
                                                  in_area(&s->last, m->base)};
    }
    return true;
}
