/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The order of machines, and how far it is to be trusted. With predictions p = t exp(e), errors e
 * independent and normal with standard deviation sigma (a mean that they share cancels out), the
 * true order of two machines is the opposite of the predicted one with probability
 *
 *     Phi(-|ln(p_a / p_b)| / (sigma sqrt 2)) = erfc(|ln(p_a / p_b)| / (2 sigma)) / 2
 *
 * Inversions over a threshold: Chen, Gunn, Simon, Carrington, Snavely, "Metrics for Ranking the
 * Performance of Supercomputers", CTWatch Quarterly 2 (4B), November 2006. Kendall's tau-b:
 * Kendall, "The treatment of ties in ranking problems", Biometrika 33 (1945). Geometric means of
 * relative speeds: Fleming and Wallace, "How not to lie with statistics", CACM 29 (1986).
 */
#include "predict/rank/ranking.h"

#include <math.h>
#include <stdlib.h>

/* That the first of two machines is in truth the slower one, where ln(second / first) of their
 * predicted times is `ahead`; above 1/2 where that is below 0. */
static double inversion(double ahead, double sigma)
{
    if (isnan(ahead) || isnan(sigma))
        return NAN;
    /* sigma 0: erfc(inf) is 0, erfc(-inf) is 2 */
    return ahead > 0 || ahead < 0 ? erfc(ahead / (2 * sigma)) / 2 : 0.5;
}

double ranking_inversion(double seconds, double other_seconds, double sigma)
{
    return inversion(fabs(log(seconds) - log(other_seconds)), sigma);
}

double ranking_tau(const double *x, const double *y, size_t count)
{
    double same = 0, x_tied = 0, y_tied = 0, pairs = 0, root;

    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++) {
            const int by_x = (x[i] > x[j]) - (x[i] < x[j]), by_y = (y[i] > y[j]) - (y[i] < y[j]);

            if (isnan(x[i]) || isnan(x[j]) || isnan(y[i]) || isnan(y[j]))
                continue;
            pairs++;
            same += by_x * by_y;
            x_tied += !by_x;
            y_tied += !by_y;
        }
    root = sqrt(pairs - x_tied) * sqrt(pairs - y_tied);
    return root > 0 ? same / root : NAN;
}

enum times_kind ranking_kind(const struct times *times)
{
    return times->has[TIMES_PREDICTED] ? TIMES_PREDICTED : TIMES_MEASURED;
}

double ranking_case_speed(const struct ranking *ranking, const struct times *times, size_t index,
                          size_t machine, enum times_kind kind)
{
    return times_get(times, index, ranking->base, kind) / times_get(times, index, machine, kind);
}

/* Finds the cases that all machines have. */
static void find_common(struct ranking *ranking, const struct times *times)
{
    for (size_t i = 0; i < times->case_count; i++)
        for (int kind = 0; kind < TIMES_KINDS; kind++) {
            bool *is_common = &ranking->cases[i].is_common[kind];

            *is_common = true;
            for (size_t m = 0; m < times->machine_count; m++)
                *is_common &= !isnan(times_get(times, i, m, (enum times_kind)kind));
            ranking->common[kind] += *is_common;
        }
}

/* ------------------------------------------------------------------------- error */

static void estimate(struct ranking_error *error, const struct times *times)
{
    double sum = 0, squares = 0, absolute = 0;

    error->pairs = 0;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < times->case_count; i++)
            for (size_t m = 0; m < times->machine_count; m++) {
                const double measured = times_get(times, i, m, TIMES_MEASURED),
                             predicted = times_get(times, i, m, TIMES_PREDICTED);
                const double ratio = log(predicted) - log(measured);

                if (isnan(ratio))
                    continue;
                if (pass) {
                    squares += (ratio - error->bias) * (ratio - error->bias);
                    continue;
                }
                error->pairs++;
                sum += ratio;
                error->bias = sum / (double)error->pairs;
                absolute += fabs(predicted / measured - 1);
            }
    error->mean_absolute = absolute / (double)error->pairs;
    if (!error->pairs)
        error->bias = NAN;
    error->deviation =
        error->pairs >= RANKING_PAIRS_MIN ? sqrt(squares / (double)(error->pairs - 1)) : NAN;
}

/* ------------------------------------------------------------------------- speeds */

static struct ranking_speed speed_of(const struct ranking *ranking, const struct times *times,
                                     size_t machine, enum times_kind kind)
{
    struct ranking_speed speed = {NAN, NAN, HUGE_VAL, 0};
    double sum = 0, squares = 0, count = 0;

    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < times->case_count; i++) {
            const double now = ranking_case_speed(ranking, times, i, machine, kind);

            if (!ranking->cases[i].is_common[kind])
                continue;
            if (pass) {
                squares += (log(now) - sum / count) * (log(now) - sum / count);
                continue;
            }
            count++;
            sum += log(now);
            speed.lowest = fmin(speed.lowest, now);
            speed.highest = fmax(speed.highest, now);
        }
    if (count < 1)
        return (struct ranking_speed){NAN, NAN, NAN, NAN};
    speed.mean = exp(sum / count);
    if (count > 1)
        speed.deviation = exp(sqrt(squares / (count - 1)));
    return speed;
}

/* Geometric mean over the cases that all machines have of this kind, and of `also` too. */
static double seconds_of(const struct ranking *ranking, const struct times *times, size_t machine,
                         enum times_kind kind, enum times_kind also)
{
    double sum = 0, count = 0;

    for (size_t i = 0; i < times->case_count; i++)
        if (ranking->cases[i].is_common[kind] && ranking->cases[i].is_common[also]) {
            sum += log(times_get(times, i, machine, kind));
            count++;
        }
    return exp(sum / count); /* NaN without cases */
}

/* -------------------------------------------------------------------------- order */

/* In how many cases of both `a` is faster than `b`, less those where `b` is. */
static long lead(const struct times *times, size_t a, size_t b, enum times_kind kind)
{
    long lead = 0;

    for (size_t i = 0; i < times->case_count; i++) {
        const double of_a = times_get(times, i, a, kind), of_b = times_get(times, i, b, kind);

        lead += (of_a < of_b) - (of_a > of_b);
    }
    return lead;
}

static bool is_before(const struct ranking *ranking, size_t a, size_t b)
{
    const struct ranking_machine *of_a = &ranking->machines[a], *of_b = &ranking->machines[b];

    if (ranking->is_by_wins)
        return of_a->wins > of_b->wins;
    return of_a->seconds[ranking->kind] < of_b->seconds[ranking->kind];
}

/* By insertion: equal ones stay in the order in which they came. */
static void sort(struct ranking *ranking, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t at = i;

        for (; at > 0 && is_before(ranking, i, ranking->order[at - 1]); at--)
            ranking->order[at] = ranking->order[at - 1];
        ranking->order[at] = i;
    }
}

static void measure_machines(struct ranking *ranking, const struct times *times)
{
    ranking->is_by_wins = !ranking->common[ranking->kind];
    for (size_t m = 0; m < times->machine_count; m++) {
        struct ranking_machine *machine = &ranking->machines[m];

        for (int kind = 0; kind < TIMES_KINDS; kind++)
            machine->seconds[kind] =
                seconds_of(ranking, times, m, (enum times_kind)kind, (enum times_kind)kind);
        for (size_t other = 0; other < times->machine_count; other++)
            machine->wins += lead(times, m, other, ranking->kind) > 0;
    }
}

/* -------------------------------------------------------------------------- pairs */

static void count_inversions(struct ranking_pair *pair, const struct times *times, size_t index,
                             double threshold)
{
    const double a = times_get(times, index, pair->first, TIMES_PREDICTED),
                 b = times_get(times, index, pair->second, TIMES_PREDICTED),
                 of_a = times_get(times, index, pair->first, TIMES_MEASURED),
                 of_b = times_get(times, index, pair->second, TIMES_MEASURED);

    if (isnan(a) || isnan(b) || isnan(of_a) || isnan(of_b))
        return;
    pair->compared++;
    pair->observed += (a < b && of_a > of_b) || (b < a && of_b > of_a);
    pair->over_threshold +=
        (a < b && of_a > (1 + threshold) * of_b) || (b < a && of_b > (1 + threshold) * of_a);
}

static struct ranking_pair pair_of(const struct ranking *ranking, const struct times *times,
                                   size_t first, size_t second)
{
    struct ranking_pair pair = {.first = first, .second = second};
    const double sigma = ranking->error.sigma;
    double sum = 0;

    for (size_t i = 0; i < times->case_count; i++) {
        const double a = times_get(times, i, first, ranking->kind),
                     b = times_get(times, i, second, ranking->kind);

        count_inversions(&pair, times, i, ranking->threshold);
        if (isnan(a) || isnan(b))
            continue;
        pair.cases++;
        pair.first_faster += a < b;
        pair.equal += !(a < b) && !(a > b);
        pair.expected += ranking_inversion(a, b, sigma);
        sum += log(b) - log(a);
    }
    pair.ratio = exp(sum / (double)pair.cases);
    pair.probability = pair.expected / (double)pair.cases;
    if (isnan(sigma))
        pair.expected = NAN;
    pair.order_probability = /* the mean of n errors has sigma / sqrt n */
        inversion(sum / (double)pair.cases, sigma / sqrt((double)pair.cases));
    return pair;
}

static void make_pairs(struct ranking *ranking, const struct times *times)
{
    struct ranking_pair *total = &ranking->total;

    for (size_t i = 0; i < times->machine_count; i++)
        for (size_t j = i + 1; j < times->machine_count; j++) {
            const struct ranking_pair pair =
                pair_of(ranking, times, ranking->order[i], ranking->order[j]);

            ranking->pairs[ranking->pair_count++] = pair;
            total->cases += pair.cases;
            total->first_faster += pair.first_faster;
            total->equal += pair.equal;
            total->expected += pair.expected;
            total->compared += pair.compared;
            total->observed += pair.observed;
            total->over_threshold += pair.over_threshold;
        }
    total->probability = total->expected / (double)total->cases;
}

/* ---------------------------------------------------------------------------- tau */

/* x and y: room for a value of each machine. */
static void make_taus(struct ranking *ranking, const struct times *times, double *x, double *y)
{
    size_t defined = 0;
    double sum = 0;

    for (size_t i = 0; i < times->case_count; i++) {
        for (size_t m = 0; m < times->machine_count; m++) {
            x[m] = times_get(times, i, m, TIMES_PREDICTED);
            y[m] = times_get(times, i, m, TIMES_MEASURED);
        }
        ranking->cases[i].tau = ranking_tau(x, y, times->machine_count);
        if (!isnan(ranking->cases[i].tau)) {
            sum += ranking->cases[i].tau;
            defined++;
        }
    }
    ranking->mean_tau = sum / (double)defined;
    for (size_t m = 0; m < times->machine_count; m++) {
        x[m] = seconds_of(ranking, times, m, TIMES_PREDICTED, TIMES_MEASURED);
        y[m] = seconds_of(ranking, times, m, TIMES_MEASURED, TIMES_PREDICTED);
    }
    ranking->order_tau = ranking_tau(x, y, times->machine_count);
}

/* ------------------------------------------------------------------------- making */

static bool allocate(struct ranking *ranking, const struct times *times)
{
    const size_t n = times->machine_count;

    ranking->order = calloc(n, sizeof *ranking->order);
    ranking->machines = calloc(n, sizeof *ranking->machines);
    ranking->pairs = calloc(n * n, sizeof *ranking->pairs);
    ranking->cases = calloc(times->case_count, sizeof *ranking->cases);
    return ranking->order && ranking->machines && ranking->pairs && ranking->cases;
}

enum psnap_status ranking_make(struct ranking *ranking, const struct times *times,
                               const struct ranking_settings *settings, struct psnap_error *error)
{
    const size_t n = times->machine_count;
    double *room = calloc(2 * n, sizeof *room);

    *ranking = (struct ranking){.kind = ranking_kind(times), .threshold = settings->threshold};
    ranking->has_both = times->has[TIMES_MEASURED] && times->has[TIMES_PREDICTED];
    if (!room || !allocate(ranking, times)) {
        free(room);
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for the ranking");
    }
    estimate(&ranking->error, times);
    ranking->error.is_given = !isnan(settings->error);
    ranking->error.sigma = ranking->error.is_given ? settings->error : ranking->error.deviation;
    find_common(ranking, times);
    measure_machines(ranking, times);
    sort(ranking, n);
    ranking->base = settings->base == SIZE_MAX ? ranking->order[n - 1] : settings->base;
    for (size_t m = 0; m < n; m++)
        for (int kind = 0; kind < TIMES_KINDS; kind++)
            ranking->machines[m].speeds[kind] = speed_of(ranking, times, m, (enum times_kind)kind);
    make_pairs(ranking, times);
    make_taus(ranking, times, room, room + n);
    free(room);
    return PSNAP_OK;
}

void ranking_release(struct ranking *ranking)
{
    free(ranking->order);
    free(ranking->machines);
    free(ranking->pairs);
    free(ranking->cases);
    *ranking = (struct ranking){0};
}
