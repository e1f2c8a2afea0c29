/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The models' equations (BANDWIDTH.md).
 *
 * F, with t_s = r_s c_s, T their sum, h_i the cumulative hit rate of level i:
 *
 *   F = sum_s (t_s/T) b_s (1 + q_level(s)),  q_1 = -(p_1 + p_2), q_2 = p_1, q_3 = p_2, others 0
 *   p_i = f_i g(h_i, x_i) w_i,  g(h, x) = (1 - e^(-(1-h)/(1-h+x))) / (1 - e^-1),
 *
 * w_i the sum of t_s/T over level i. As printed the denominator of g is 1 - e, which makes g
 * negative; with 1 - e^-1 it is from 0 to 1, and f has either sign, so both describe the same
 * functions. With one kind of streams s is i, and F is that of the paper.
 */
#include "predict/bandwidth/model.h"

#include <math.h>
#include <string.h>

#define WEIGHT_MIN 0.1 /* points that a source needs, in sum: less says nothing of it */

const char *bandwidth_method_name(enum bandwidth_method method)
{
    static const char *const names[METHODS] = {"ga", "nlopt", "nnls", "averaged", "additive"};

    return names[method];
}

/* --------------------------------------------------------------------- sources */

/* What all points together have of a level and kind, in points. */
static double weight_of(const struct map_point *const *points, size_t count, uint32_t level,
                        int kind, bool by_kind)
{
    double sum = 0;

    for (size_t i = 0; i < count; i++)
        for (int k = 0; k < SUPPLY_KINDS; k++)
            sum += !by_kind || k == kind ? points[i]->supply.accesses[level][k] : 0;
    return sum;
}

void sources_choose(struct sources *sources, const struct map_point *const *points, size_t count,
                    uint32_t level_count, bool by_kind)
{
    *sources = (struct sources){.count = 1, .by_kind = by_kind};
    for (uint32_t level = 1; level <= level_count; level++)
        for (int kind = 0; kind < (by_kind ? SUPPLY_KINDS : 1); kind++)
            if (weight_of(points, count, level, kind, by_kind) > WEIGHT_MIN) {
                sources->level[sources->count] = level;
                sources->kind[sources->count++] = (enum supply_kind)kind;
            }
    sources_complete(sources);
}

/* How well a source stands for a level and kind: the same is best, then another kind of the level,
 * then the nearest level before it; level 1 is the last resort. */
static uint32_t distance(const struct sources *sources, uint32_t s, uint32_t level, int kind)
{
    const int kinds_apart = s && sources->by_kind ? (int)sources->kind[s] - kind : 0;

    if (sources->level[s] > level)
        return UINT32_MAX;
    return (level - sources->level[s]) * SUPPLY_KINDS +
           (uint32_t)(kinds_apart < 0 ? -kinds_apart : kinds_apart);
}

void sources_complete(struct sources *sources)
{
    for (uint32_t level = 0; level < SUPPLY_LEVELS; level++)
        for (int kind = 0; kind < SUPPLY_KINDS; kind++) {
            uint32_t best = 0;

            for (uint32_t s = 1; s < sources->count; s++)
                if (distance(sources, s, level, kind) < distance(sources, best, level, kind))
                    best = s;
            sources->of[level][kind] = best;
        }
}

void sources_rates(const struct sources *sources, const struct supply *supply,
                   double rates[SOURCES_MAX])
{
    const double total = supply_total(supply);

    memset(rates, 0, SOURCES_MAX * sizeof *rates);
    for (int level = 0; level < SUPPLY_LEVELS; level++)
        for (int kind = 0; kind < SUPPLY_KINDS; kind++)
            if (supply->accesses[level][kind] > 0)
                rates[sources->of[level][kind]] += supply->accesses[level][kind] / total;
}

/* ---------------------------------------------------------------------- models */

static double penalty(double f, double x, double h, double w)
{
    const double miss = 1 - h;

    if (!(miss > 0) || !(w > 0))
        return 0;
    return f * w * (1 - exp(-miss / (miss + x))) / (1 - exp(-1));
}

double penalised_bandwidth(const struct penalised *penalised, const struct sources *sources,
                           const double rates[SOURCES_MAX])
{
    double weights[SUPPLY_LEVELS] = {0}, flows[SUPPLY_LEVELS] = {0};
    double total = 0, second = 0, p[2], sum;

    for (uint32_t s = 0; s < sources->count; s++) {
        const double time = rates[s] * penalised->c[s];
        const uint32_t level = sources->level[s];

        if (!(rates[s] > 0))
            continue;
        total += time;
        weights[level] += time;
        flows[level] += time * penalised->b[s];
        second += level == 1 ? rates[s] : 0;
    }
    p[0] = penalty(penalised->f[0], penalised->x[0], rates[0], weights[0] / total);
    p[1] = penalty(penalised->f[1], penalised->x[1], rates[0] + second, weights[1] / total);
    sum = flows[0] * (1 - p[0] - p[1]) + flows[1] * (1 + p[0]) + flows[2] * (1 + p[1]);
    for (uint32_t level = 3; level < SUPPLY_LEVELS; level++)
        sum += flows[level];
    return sum / total;
}

static double overlapped_seconds(const struct overlapped *overlapped, const struct sources *sources,
                                 const double rates[SOURCES_MAX])
{
    const double h = rates[0];
    double sum = 0;

    for (uint32_t s = 1; s < sources->count; s++) {
        const double *t = overlapped->t[s];

        sum += rates[s] * ((1 - h) * (1 - h) * t[0] + 2 * h * (1 - h) * t[1] + h * h * t[2]);
    }
    return sum > overlapped->first ? sum : overlapped->first;
}

double bandwidth_of_rates(const struct bandwidth_model *model, const double rates[SOURCES_MAX])
{
    double sum = 0;

    switch (model->method) {
    case METHOD_GA:
    case METHOD_NLOPT:
        return fmax(penalised_bandwidth(&model->penalised, &model->sources, rates), 1);
    case METHOD_NNLS:
        return MAP_WORD_BYTES / overlapped_seconds(&model->overlapped, &model->sources, rates);
    case METHOD_AVERAGED:
        for (uint32_t s = 0; s < model->sources.count; s++)
            sum += rates[s] * model->bandwidth[s];
        return sum;
    case METHOD_ADDITIVE:
    case METHODS:
        break;
    }
    for (uint32_t s = 0; s < model->sources.count; s++)
        sum += rates[s] > 0 ? rates[s] / model->bandwidth[s] : 0;
    return 1 / sum;
}

double bandwidth_of(const struct bandwidth_model *model, const struct supply *supply)
{
    double rates[SOURCES_MAX];

    sources_rates(&model->sources, supply, rates);
    return bandwidth_of_rates(model, rates);
}

double samples_error(const struct samples *samples, const struct bandwidth_model *model)
{
    double sum = 0;

    for (size_t i = 0; i < samples->count; i++) {
        const struct sample *sample = &samples->items[i];

        sum += fabs(bandwidth_of_rates(model, sample->rates) / sample->bandwidth - 1);
    }
    return sum / (double)samples->count;
}
