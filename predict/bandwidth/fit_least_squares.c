/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fits by non-negative least squares: of each source's time or bandwidth (the baselines), and of
 * times with overlap (struct overlapped).
 *
 * min ||A t - 1||^2 over t >= 0, rows the samples' coefficients of t divided by what was measured,
 * so that residuals are relative, is solved by coordinate descent on the normal equations: each
 * coordinate in turn to its best value, or 0. Weights 1/max(|residual|, FLOOR), anew in each of
 * ROUNDS rounds, make it least absolute deviations, as the error of fits is. In each round a
 * sample counts if the model or the measurement has it take longer than level 1 does: of a sample
 * that is as fast as level 1 the time of further levels is hidden, and may be anything below.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/reals.h"
#include "predict/bandwidth/model.h"

enum { COLUMNS_MAX = SOURCES_MAX * OVERLAPS, ROUNDS = 100, SWEEPS = 200 };

#define FLOOR 0.01        /* relative residuals below count alike */
#define HIDDEN 1.05       /* times level 1's time: a sample that takes no longer may be hidden */
#define SECONDS_MIN 1e-12 /* of an access: less is a fit's way to say nothing */
#define SATISFIED 0.95    /* of a sample's accesses: they are those of one source */
#define MIXED 0.05        /* of a sample's accesses: it has something to say of a source */
#define FEW_HITS 0.2      /* of level 1 */
#define MANY_HITS 0.5
#define RIDGE 1e-9 /* of the largest diagonal element, for columns that are sums of others */

struct system {
    size_t columns;
    double (*rows)[COLUMNS_MAX]; /* [samples], coefficients */
    double *measured;            /* [samples], seconds of an access, or bytes per second: */
    bool is_of_bandwidth;
    double first;
    double solution[COLUMNS_MAX], best[COLUMNS_MAX];
    double product[COLUMNS_MAX][COLUMNS_MAX], right[COLUMNS_MAX];
};

static double model_of(const struct system *system, size_t row)
{
    double sum = 0;

    for (size_t c = 0; c < system->columns; c++)
        sum += system->rows[row][c] * system->solution[c];
    return sum;
}

static void add_row(struct system *system, size_t row)
{
    const double *of = system->rows[row], measured = system->measured[row];
    const double residual = model_of(system, row) / measured - 1;
    const double weight = 1 / fmax(fabs(residual), FLOOR);

    for (size_t a = 0; a < system->columns; a++) {
        const double scaled = weight * of[a] / measured;

        if (!(of[a] > 0))
            continue;
        system->right[a] += scaled;
        for (size_t b = 0; b < system->columns; b++)
            system->product[a][b] += scaled * of[b] / measured;
    }
}

static void descend(struct system *system)
{
    const size_t n = system->columns;
    double largest = 0;

    for (size_t a = 0; a < n; a++)
        largest = fmax(largest, system->product[a][a]);
    for (int sweep = 0; sweep < SWEEPS; sweep++)
        for (size_t a = 0; a < n; a++) {
            double remaining = system->right[a];

            for (size_t b = 0; b < n; b++)
                remaining -= b == a ? 0 : system->product[a][b] * system->solution[b];
            system->solution[a] =
                remaining > 0 ? remaining / (system->product[a][a] + RIDGE * largest) : 0;
        }
}

/* The mean relative error of bandwidths. */
static double error_of(const struct system *system, size_t rows)
{
    double sum = 0;

    for (size_t i = 0; i < rows; i++)
        sum += system->is_of_bandwidth
                   ? fabs(model_of(system, i) / system->measured[i] - 1)
                   : fabs(system->measured[i] / fmax(model_of(system, i), system->first) - 1);
    return sum / (double)rows;
}

static void solve(struct system *system, size_t rows)
{
    double least = INFINITY;

    for (size_t c = 0; c < system->columns; c++)
        system->solution[c] = system->first;
    for (int round = 0; round < ROUNDS; round++) {
        double error, previous[COLUMNS_MAX];

        memcpy(previous, system->solution, sizeof previous);
        memset(system->product, 0, sizeof system->product);
        memset(system->right, 0, sizeof system->right);
        for (size_t i = 0; i < rows; i++)
            if (system->measured[i] > HIDDEN * system->first ||
                model_of(system, i) > system->first / HIDDEN)
                add_row(system, i);
        descend(system);
        for (size_t c = 0; c < system->columns; c++) /* which rows count changes: half a step */
            system->solution[c] = 0.5 * (system->solution[c] + previous[c]);
        error = error_of(system, rows);
        if (error < least) {
            least = error;
            memcpy(system->best, system->solution, sizeof system->best);
        }
    }
}

static struct system *system_new(const struct samples *samples)
{
    struct system *system = calloc(1, sizeof *system);

    if (!system)
        return NULL;
    system->rows = calloc(samples->count, sizeof *system->rows);
    system->measured = calloc(samples->count, sizeof *system->measured);
    for (size_t i = 0; system->measured && i < samples->count; i++)
        system->measured[i] = MAP_WORD_BYTES / samples->items[i].bandwidth;
    return system;
}

static void system_free(struct system *system)
{
    if (system) {
        free(system->rows);
        free(system->measured);
    }
    free(system);
}

/* The median time of samples that have nearly all accesses of one source; 0: there are none. */
static double median_of(const struct samples *samples, uint32_t source, double *room)
{
    size_t n = 0;

    for (size_t i = 0; i < samples->count; i++)
        if (samples->items[i].rates[source] > SATISFIED)
            room[n++] = MAP_WORD_BYTES / samples->items[i].bandwidth;
    if (!n)
        return 0;
    qsort(room, n, sizeof *room, psnap_reals_compare);
    return room[n / 2];
}

static enum psnap_status no_memory(struct psnap_error *error)
{
    return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for a fit");
}

enum psnap_status fit_plain(const struct samples *samples, enum bandwidth_method method,
                            double bandwidth[SOURCES_MAX], struct psnap_error *error)
{
    struct system *system = system_new(samples);
    double slowest = INFINITY;

    if (!system || !system->rows || !system->measured) {
        system_free(system);
        return no_memory(error);
    }
    system->columns = samples->sources.count;
    system->first = 1e-15; /* nothing is hidden */
    system->is_of_bandwidth = method == METHOD_AVERAGED;
    for (size_t i = 0; i < samples->count; i++) {
        slowest = fmin(slowest, samples->items[i].bandwidth);
        memcpy(system->rows[i], samples->items[i].rates,
               samples->sources.count * sizeof *system->rows[i]);
        if (system->is_of_bandwidth)
            system->measured[i] = samples->items[i].bandwidth;
    }
    solve(system, samples->count);
    for (uint32_t s = 0; s < samples->sources.count; s++) {
        const double best = system->best[s];

        if (system
                ->is_of_bandwidth) /* what the fit gives nothing is as slow as the slowest point */
            bandwidth[s] = best > 1 ? best : slowest;
        else
            bandwidth[s] = MAP_WORD_BYTES / fmax(best, SECONDS_MIN);
    }
    system_free(system);
    return PSNAP_OK;
}

/* Whether samples tell how a source's time depends on the hits of level 1: they have mostly this
 * source behind it, some with few hits and some with many. Where they do not, as of strides of a
 * line and more, it is taken not to. */
static bool has_mixtures(const struct samples *samples, uint32_t source)
{
    double least = 1, most = 0;

    for (size_t i = 0; i < samples->count; i++) {
        const double *rates = samples->items[i].rates;

        if (rates[source] > MIXED && rates[source] > 0.5 * (1 - rates[0])) {
            least = fmin(least, rates[0]);
            most = fmax(most, rates[0]);
        }
    }
    return least < FEW_HITS && most > MANY_HITS;
}

/* What a source takes is what the nearer ones of its kind take, and more: no level is faster than
 * one before it, whatever points have to say of both. */
static bool is_on_the_way(const struct sources *sources, uint32_t nearer, uint32_t source)
{
    return sources->level[nearer] <= sources->level[source] &&
           (!sources->by_kind || sources->kind[nearer] == sources->kind[source]);
}

/* A share of accesses, as it comes into the forms of degree 2 in h, or into the first column alone.
 */
static void add_forms(double columns[OVERLAPS], bool is_mixed, double h, double rate)
{
    columns[0] += is_mixed ? rate * (1 - h) * (1 - h) : rate;
    columns[1] += is_mixed ? rate * 2 * h * (1 - h) : 0;
    columns[2] += is_mixed ? rate * h * h : 0;
}

enum psnap_status fit_overlapped(const struct samples *samples, struct overlapped *fitted,
                                 struct psnap_error *error)
{
    struct system *system = system_new(samples);
    double *room = calloc(samples->count, sizeof *room);
    bool is_mixed[SOURCES_MAX] = {false};
    enum psnap_status status = PSNAP_OK;

    *fitted = (struct overlapped){0};
    if (!room || !system || !system->rows || !system->measured) {
        status = no_memory(error);
        goto out;
    }
    for (uint32_t s = 1; s < samples->sources.count; s++)
        is_mixed[s] = has_mixtures(samples, s);
    system->columns = (size_t)(samples->sources.count - 1) * OVERLAPS;
    system->first = median_of(samples, 0, room);
    if (!(system->first > 0)) {
        status = psnap_error_set(error, PSNAP_ERROR_VALUE,
                                 "no point has all its accesses in level 1: add smaller arrays");
        goto out;
    }
    for (size_t i = 0; i < samples->count; i++)
        for (uint32_t s = 1; s < samples->sources.count; s++)
            for (uint32_t nearer = 1; nearer <= s; nearer++)
                if (is_on_the_way(&samples->sources, nearer, s))
                    add_forms(&system->rows[i][(nearer - 1) * OVERLAPS], is_mixed[nearer],
                              samples->items[i].rates[0], samples->items[i].rates[s]);
    solve(system, samples->count);
    fitted->first = system->first;
    for (uint32_t s = 1; s < samples->sources.count; s++)
        for (uint32_t nearer = 1; nearer <= s; nearer++)
            for (int form = 0; is_on_the_way(&samples->sources, nearer, s) && form < OVERLAPS;
                 form++)
                fitted->t[s][form] +=
                    system->best[(nearer - 1) * OVERLAPS + (is_mixed[nearer] ? (size_t)form : 0)];
out:
    system_free(system);
    free(room);
    return status;
}
