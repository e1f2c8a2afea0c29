/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The model of an irregular reference's area from what its collector kept: what the area is like,
 * then of the candidates for how its places are chosen the one to keep. Each candidate is drawn
 * from and what is drawn is measured as the real accesses were, by how soon lines come back; what
 * comes back sooner than by chance is added as echoes.
 */
#include <math.h>
#include <stdlib.h>

#include "profile/gathers/gather_fit.h"

#define NEAR_ENOUGH 0.004 /* of a model without echoes */

enum {
    ECHOES_FIT = 15, /* octaves that are compared */
    DRAWN = 1 << 17  /* accesses, at most, by which a model is measured */
};

/* What the model draws; false: out of memory. */
static bool draw(const struct gather_area *m, uint64_t *addresses, size_t n)
{
    struct psnap_gather *model = calloc(1, sizeof *model);
    struct gather_walk *walk = NULL;

    if (model) {
        model->accesses = m->accesses;
        model->area_count = 1;
        model->areas[0] = *m;
        model->next_area[0][0] = 1;
        walk = gather_walk_new(model, 1);
    }
    if (walk)
        gather_walk_next(walk, addresses, n);
    gather_walk_free(walk);
    free(model);
    return walk;
}

/* Visits of lines by octave of the accesses since the last, as the model has them. */
static bool draw_gaps(const struct gather_area *m, size_t n, double gaps[64])
{
    struct gather_collector *measure = gather_collector_new();
    uint64_t *drawn = malloc(n * sizeof *drawn);
    const bool good = measure && drawn && draw(m, drawn, n);

    for (size_t i = 0; i < n && good; i++)
        gather_collector_put(measure, drawn[i]);
    if (good) {
        gather_collector_take(measure);
        gather_collector_gaps(measure, gaps);
    }
    gather_collector_free(measure);
    free(drawn);
    return good;
}

/* Mean difference of the shares of visits that come within an octave or sooner. */
static double gaps_apart(const double *a, const double *b)
{
    double x = 0, y = 0, sum = 0;

    for (int i = 0; i < ECHOES_FIT; i++) {
        x += a[i];
        y += b[i];
        sum += fabs(x - y);
    }
    return sum / (double)ECHOES_FIT;
}

/*
 * What comes back soon more often than the model has it: the model is drawn from and measured.
 * Returns how far it is off then, and leaves how far it was off before.
 */
static double fit_echoes(const struct gather_collector *c, struct gather_area *m, double *raw)
{
    enum { ROUNDS = 4 };
    double wanted[64], drawn[64] = {0}, apart = 1;
    struct gather_area best = *m;
    const size_t n = c->count < DRAWN ? c->count : DRAWN;

    gather_collector_gaps(c, wanted);
    for (int round = 0; round < ROUNDS; round++) {
        double sum = 0;
        if (!draw_gaps(m, n, drawn))
            return 1;
        if (round == 0)
            *raw = gaps_apart(wanted, drawn);
        if (gaps_apart(wanted, drawn) < apart) {
            apart = gaps_apart(wanted, drawn);
            best = *m;
        }
        if (apart < (round ? 0.002 : NEAR_ENOUGH))
            break;
        for (int i = 0; i < ECHOES_FIT; i++) {
            const double lack = wanted[i] - drawn[i];
            m->echoes[i] = fmax(0, m->echoes[i] + 0.7 * lack);
            sum += m->echoes[i];
        }
        for (int i = 0; i < ECHOES_FIT && sum > 0.99; i++)
            m->echoes[i] *= 0.99 / sum;
    }
    *m = best;
    return apart;
}

/* Of several ways to choose places the one that comes nearest to what was measured; of those that
   come near enough the first, which says most. */
static void choose_places(const struct gather_collector *c, struct gather_area *m)
{
    enum { WAYS = 5 };
    bool (*const fit[WAYS])(const struct gather_collector *, struct gather_area *) = {
        gather_fit_once, gather_fit_cursors, gather_fit_band, gather_fit_reach, gather_fit_classes};
    struct gather_area best = *m;
    double least = 2;

    for (int i = 0; i < WAYS; i++) {
        struct gather_area way = *m;
        double apart, raw = 1;

        if (!fit[i](c, &way))
            continue;
        apart = fit_echoes(c, &way, &raw);
        if (apart < least) {
            least = apart;
            best = way;
        }
        if (raw < NEAR_ENOUGH)
            break;
    }
    *m = best;
}

/* Down a tree, if lines are used again as soon then: they are sooner where searches follow each
 * other for what is sorted, or for a few. */
static bool choose_descent(const struct gather_collector *c, struct gather_area *m)
{
    const size_t n = c->count < DRAWN ? c->count : DRAWN;
    struct gather_area way = *m;
    uint64_t *drawn;
    bool is_one;

    if (!gather_fit_descent(c, &way))
        return false;
    drawn = malloc(n * sizeof *drawn);
    is_one = drawn && draw(&way, drawn, n) && gather_descents_are_alike(c->descents, drawn, n);
    if (is_one)
        *m = way;
    free(drawn);
    return is_one;
}

void gather_fit(struct gather_collector *c, struct gather_area *m)
{
    gather_collector_take(c);
    gather_fit_area(c, m);
    if (!gather_fit_passes(c, m) && !choose_descent(c, m) && !gather_fit_sweep(c, m))
        choose_places(c, m);
}
