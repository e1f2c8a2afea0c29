/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parts of an area's span: stretches in each of which all places are used alike. What share of
 * the accesses lies below a place is known exactly at the ends of blocks, and within blocks that
 * have much, a hot head or a few hot elements, from the addresses of bursts. Of this curve parts
 * are straight pieces: begun with one, that which is farthest off is cut where it is, until all are
 * near enough or there are GATHER_PARTS of them. So parts are narrow where much is.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profile/gathers/gather_fit.h"

#define EVEN 0.05 /* how far equal parts of what is used evenly are from their share, at most */
#define OFF 0.001 /* of the curve, at most */
#define NOISE 0.3 /* of a share of n samples, times its root: an eighth of them is farther off */

enum {
    FINE_SHARE = 128, /* blocks that have one in so many accesses are looked into, */
    FINE_BURSTS = 4,  /* when one in so many bursts has an address in them, */
    FINE_SAMPLES = 64 /* and these are so many together */
};

/* Of the accesses the share `below` lies below `at` (bytes of the span). */
struct knot {
    double at, below;
};

struct curve {
    struct knot *knots;
    size_t count;
    double noise; /* how far it may be off by chance where it is of samples */
};

static void add_knot(struct curve *curve, double at, double below)
{
    struct knot *last = curve->count ? &curve->knots[curve->count - 1] : NULL;

    if (last && last->at >= at)
        last->below = below;
    else
        curve->knots[curve->count++] = (struct knot){at, below};
}

/* ---- the curve ---- */

/* The addresses of bursts that lie in a block, in ascending order; none when they do not tell
 * enough. */
static size_t find_samples(const struct gather_collector *c, size_t block, uint64_t *samples)
{
    size_t n = 0, bursts = 0;

    for (size_t i = 0; i < c->burst_count; i++) {
        const size_t before = n;
        for (size_t j = 0; j < gather_burst_length(c, i); j++)
            if ((c->bursts[i][j] >> c->block_shift) - c->block_origin == block)
                samples[n++] = c->bursts[i][j];
        bursts += n > before;
    }
    if (n < FINE_SAMPLES || bursts * FINE_BURSTS < c->burst_count)
        return 0;
    qsort(samples, n, sizeof *samples, gather_ascending);
    return n;
}

/* The curve within a block, which begins with `below`, and has `share`. */
static void add_samples(struct curve *curve, const struct gather_area *m, const uint64_t *samples,
                        size_t n, double below, double share)
{
    for (size_t i = 0, end; i < n; i = end) {
        const double at = (double)(samples[i] - m->base);
        end = i + 1;
        while (end < n && samples[end] == samples[i])
            end++;
        add_knot(curve, at, below + share * (double)i / (double)n);
        add_knot(curve, at + m->element_bytes, below + share * (double)end / (double)n);
    }
}

static void take_curve(const struct gather_collector *c, const struct gather_area *m,
                       struct curve *curve, uint64_t *samples)
{
    const double size = ldexp(1, (int)c->block_shift), span = (double)m->span_bytes;
    double below = 0;

    add_knot(curve, 0, 0);
    for (size_t i = 0; i < BLOCKS; i++) {
        const double share = (double)c->blocks[i] / (double)c->counted;
        const double low = (double)((c->block_origin + i) << c->block_shift) - (double)m->base;
        size_t n = 0;
        if (low + size <= 0 || low >= span)
            continue;
        if (low > 0)
            add_knot(curve, low, below);
        if (share * (double)FINE_SHARE >= 1 && m->element_bytes < size)
            n = find_samples(c, i, samples);
        add_samples(curve, m, samples, n, below, share);
        if (n)
            curve->noise = fmax(curve->noise, NOISE * share / sqrt((double)n));
        below += share;
        add_knot(curve, fmin(low + size, span), below);
    }
    add_knot(curve, span, 1);
}

/* ---- its pieces ---- */

struct piece {
    size_t from, to, worst; /* knots: its ends, and that which is farthest off */
    double off;
};

static struct piece piece_of(const struct curve *curve, size_t from, size_t to)
{
    const struct knot *a = &curve->knots[from], *b = &curve->knots[to];
    struct piece piece = {from, to, from, 0};

    for (size_t i = from + 1; i < to; i++) {
        const struct knot *k = &curve->knots[i];
        const double off =
            fabs(a->below + (b->below - a->below) * (k->at - a->at) / (b->at - a->at) - k->below);
        if (off > piece.off)
            piece = (struct piece){from, to, i, off};
    }
    return piece;
}

static int by_place(const void *a, const void *b)
{
    const struct piece *x = a, *y = b;

    return (x->from > y->from) - (x->from < y->from);
}

static void cut_curve(const struct curve *curve, double near, struct gather_area *m)
{
    struct piece pieces[GATHER_PARTS];
    uint32_t n = 1, worst = 0;

    pieces[0] = piece_of(curve, 0, curve->count - 1);
    while (n < GATHER_PARTS && pieces[worst].off > near) {
        const struct piece cut = pieces[worst];
        pieces[worst] = piece_of(curve, cut.from, cut.worst);
        pieces[n++] = piece_of(curve, cut.worst, cut.to);
        for (uint32_t i = 0; i < n; i++)
            worst = pieces[i].off > pieces[worst].off ? i : worst;
    }
    qsort(pieces, n, sizeof *pieces, by_place);
    m->part_count = n;
    for (uint32_t i = 0; i < n; i++) {
        const struct knot *a = &curve->knots[pieces[i].from], *b = &curve->knots[pieces[i].to];
        m->parts[i] =
            (struct gather_part){b->at / (double)m->span_bytes, fmax(b->below - a->below, 0)};
    }
}

/* Whether equal parts have nearly equal shares. */
static bool is_even(const struct curve *curve, double span)
{
    double before = 0;
    size_t k = 0;

    for (size_t i = 1; i <= GATHER_PARTS; i++) {
        const double at = span * (double)i / (double)GATHER_PARTS;
        double below;
        while (k + 2 < curve->count && curve->knots[k + 1].at < at)
            k++;
        const struct knot *a = &curve->knots[k], *b = a + 1;
        below = a->below + (b->below - a->below) * (at - a->at) / (b->at - a->at);
        if (fabs((below - before) * (double)GATHER_PARTS - 1) >= EVEN)
            return false;
        before = below;
    }
    return true;
}

void gather_fit_parts(const struct gather_collector *c, struct gather_area *m)
{
    const size_t samples = (size_t)BURSTS * BURST;
    uint64_t *room = malloc(samples * sizeof *room);
    struct curve curve = {malloc((2 * samples + 3 * (size_t)BLOCKS + 2) * sizeof *curve.knots), 0,
                          0};

    m->part_count = 1;
    m->parts[0] = (struct gather_part){1, 1};
    if (room && curve.knots) {
        take_curve(c, m, &curve, room);
        if (!is_even(&curve, (double)m->span_bytes))
            cut_curve(&curve, fmax(fmax(OFF, curve.noise), 1 / sqrt((double)c->counted)), m);
    }
    free(room);
    free(curve.knots);
}

double gather_share_below(const struct gather_area *m, uint64_t address)
{
    const double at = address <= m->base ? 0 : (double)(address - m->base) / (double)m->span_bytes;
    double below = 0, low = 0;

    for (uint32_t i = 0; i < m->part_count; i++) {
        const struct gather_part *part = &m->parts[i];
        if (at < part->end)
            return below + part->share * (at - low) / (part->end - low);
        below += part->share;
        low = part->end;
    }
    return below;
}
