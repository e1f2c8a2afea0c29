/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One method fitted to points, then to all but each of `folds` parts of them in turn. Points of one
 * size are in one part, as they have hit rates in common: each part holds out sizes. Parts are
 * drawn by the seed, the same for all methods.
 */
#include "predict/bandwidth/fit.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/reals.h"
#include "formats/base/rng.h"

struct job {
    const struct fit_settings *settings;
    enum bandwidth_method method;
    uint32_t fold;
    const struct map_point **points; /* in use, in an order that was drawn */
    uint32_t *parts;                 /* that they are held out in, from 1 on */
    size_t count;
};

static void tell_generation(void *context, uint32_t generation, double mean_error)
{
    const struct job *job = context;

    (void)mean_error;
    if (job->settings->tell)
        job->settings->tell(job->settings->context, job->method, job->fold, generation);
}

static enum psnap_status fit_model(struct job *job, const struct samples *samples,
                                   struct fit_result *result, struct psnap_error *error)
{
    const struct genetic_settings genetic = {.population = job->settings->population,
                                             .generations = job->settings->generations,
                                             .threads = job->settings->threads,
                                             .seed = job->settings->seed,
                                             .tell = tell_generation,
                                             .context = job};
    struct bandwidth_model *model = &result->model;

    *model = (struct bandwidth_model){.method = job->method, .sources = samples->sources};
    tell_generation(job, 0, 0);
    switch (job->method) {
    case METHOD_GA:
        return fit_genetic(samples, &genetic, &model->penalised, &result->generations, error);
    case METHOD_NLOPT:
        return fit_nlopt(samples, job->settings->seed, &model->penalised, error);
    case METHOD_NNLS:
        return fit_overlapped(samples, &model->overlapped, error);
    case METHOD_AVERAGED:
    case METHOD_ADDITIVE:
    case METHODS:
        break;
    }
    return fit_plain(samples, job->method, model->bandwidth, error);
}

/* Points that are of fold `fold`, of 1 to folds; or all the others. */
static size_t take_samples(const struct job *job, uint32_t fold, bool held_out,
                           struct samples *samples)
{
    samples->count = 0;
    for (size_t i = 0; i < job->count; i++) {
        struct sample *sample = &samples->items[samples->count];

        if (fold && (job->parts[i] == fold) != held_out)
            continue;
        sources_rates(&samples->sources, &job->points[i]->supply, sample->rates);
        sample->bandwidth = map_point_bandwidth(job->points[i]);
        samples->count++;
    }
    return samples->count;
}

static void judge(const struct job *job, const struct samples *samples, struct fit_result *result)
{
    double sums[MAP_PROBES] = {0};
    uint32_t counts[MAP_PROBES] = {0};

    result->points = (uint32_t)samples->count;
    result->mean_error = samples_error(samples, &result->model);
    for (size_t i = 0; i < samples->count; i++) {
        const struct sample *sample = &samples->items[i];
        const double error =
            fabs(bandwidth_of_rates(&result->model, sample->rates) / sample->bandwidth - 1);

        result->worst_error = fmax(result->worst_error, error);
        sums[job->points[i]->probe] += error;
        counts[job->points[i]->probe]++;
    }
    for (int probe = 0; probe < MAP_PROBES; probe++)
        result->probe_error[probe] = counts[probe] ? sums[probe] / counts[probe] : NAN;
}

static enum psnap_status hold_out(struct job *job, struct samples *samples,
                                  struct fit_result *result, struct psnap_error *error)
{
    const uint32_t folds = job->settings->folds;
    double sum = 0, mean = 0, squares = 0;
    enum psnap_status status = PSNAP_OK;

    for (job->fold = 1; job->fold <= folds && !status; job->fold++) {
        struct fit_result fitted = {0};
        double held;

        take_samples(job, job->fold, false, samples);
        status = fit_model(job, samples, &fitted, error);
        if (status)
            break;
        take_samples(job, job->fold, true, samples);
        held = samples_error(samples, &fitted.model);
        sum += held * (double)samples->count;
        mean += held / folds;
        squares += held * held / folds;
    }
    result->held_out_error = sum / (double)job->count;
    result->held_out_spread = sqrt(fmax(squares - mean * mean, 0) * folds / (folds - 1.0));
    return status;
}

static uint32_t parameters_of(enum bandwidth_method method, uint32_t sources)
{
    switch (method) {
    case METHOD_GA:
    case METHOD_NLOPT:
        return 2 * sources + 3;
    case METHOD_NNLS:
        return 1 + (sources - 1) * OVERLAPS;
    case METHOD_AVERAGED:
    case METHOD_ADDITIVE:
    case METHODS:
        break;
    }
    return sources;
}

/* By levels alone MultiMAPS' points are fitted to; else all that have something to say of kinds. */
static bool is_fitted(const struct map_point *point, const struct fit_settings *settings)
{
    const bool is_random = point->alpha >= 1 && point->step == 1;

    switch (point->probe) {
    case MAP_STRIDED:
        return true;
    case MAP_STREAMS:
        return settings->by_kind;
    case MAP_APEX:
        return settings->with_apex || (is_random && settings->by_kind);
    case MAP_CHAIN:
    case MAP_PROBES:
        break;
    }
    return false;
}

static size_t draw_points(const struct maps *maps, const struct fit_settings *settings,
                          const struct map_point **points)
{
    struct psnap_rng rng;
    size_t count = 0;

    for (size_t i = 0; i < maps->count; i++)
        if (is_fitted(&maps->points[i], settings))
            points[count++] = &maps->points[i];
    psnap_rng_init(&rng, settings->seed);
    psnap_rng_shuffle(&rng, points, count, sizeof(const struct map_point *));
    return count;
}

/* In turn to the sizes, as the points' order was drawn; or to the points, where there are fewer
 * sizes than parts. */
static void draw_parts(struct job *job)
{
    const uint32_t folds = job->settings->folds;
    uint32_t sizes = 0;

    for (size_t i = 0; i < job->count; i++) {
        size_t first = 0;

        while (job->points[first]->size_bytes != job->points[i]->size_bytes)
            first++;
        job->parts[i] = first < i ? job->parts[first] : sizes++ % folds + 1;
    }
    for (size_t i = 0; sizes < folds && i < job->count; i++)
        job->parts[i] = (uint32_t)(i % folds) + 1;
}

enum psnap_status fit_latencies(const struct maps *maps, double latencies[SUPPLY_LEVELS],
                                struct psnap_error *error)
{
    const struct map_point **chains = calloc(maps->count + 1, sizeof *chains);
    struct samples samples = {.items = calloc(maps->count + 1, sizeof *samples.items)};
    double bandwidths[SOURCES_MAX];
    enum psnap_status status = PSNAP_OK;

    memset(latencies, 0, SUPPLY_LEVELS * sizeof *latencies);
    if (!chains || !samples.items)
        status = psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for a fit");
    for (size_t i = 0; i < maps->count && !status; i++)
        if (maps->points[i].probe == MAP_CHAIN)
            chains[samples.count++] = &maps->points[i];
    if (!status && samples.count) {
        sources_choose(&samples.sources, chains, samples.count, maps->machine.level_count, false);
        for (size_t i = 0; i < samples.count; i++) {
            sources_rates(&samples.sources, &chains[i]->supply, samples.items[i].rates);
            samples.items[i].bandwidth = map_point_bandwidth(chains[i]);
        }
        status = fit_plain(&samples, METHOD_ADDITIVE, bandwidths, error);
        for (uint32_t i = 0; i <= maps->machine.level_count && !status; i++)
            latencies[i] = MAP_WORD_BYTES / bandwidths[samples.sources.of[i][SUPPLY_NEAR]];
    }
    free(chains);
    free(samples.items);
    return status;
}

static enum psnap_status check_points(const struct job *job, const struct fit_result *result,
                                      struct psnap_error *error)
{
    size_t left = job->count;

    for (uint32_t fold = 1; fold <= job->settings->folds; fold++) {
        size_t others = 0;

        for (size_t i = 0; i < job->count; i++)
            others += job->parts[i] != fold;
        left = others < left ? others : left;
    }
    if (job->settings->folds > job->count)
        return psnap_error_set(error, PSNAP_ERROR_VALUE,
                               "%" PRIu32 " folds of %zu points: fewer folds, or more points",
                               job->settings->folds, job->count);
    if (left > result->parameters)
        return PSNAP_OK;
    return psnap_error_set(
        error, PSNAP_ERROR_VALUE,
        "%s has %" PRIu32 " parameters, and there are %zu points to fit them to%s: measure more "
        "sizes, or fewer levels%s",
        bandwidth_method_name(job->method), result->parameters, left,
        job->settings->folds ? " in each fold" : "",
        job->settings->by_kind ? ", or leave kinds of streams together (--as-published)" : "");
}

enum psnap_status fit_points(const struct maps *maps, enum bandwidth_method method,
                             const struct fit_settings *settings, struct fit_result *result,
                             struct psnap_error *error)
{
    struct job job = {.settings = settings, .method = method};
    struct samples samples = {0};
    double begin;
    enum psnap_status status;

    *result = (struct fit_result){.held_out_error = NAN, .held_out_spread = NAN};
    job.points = calloc(maps->count + 1, sizeof *job.points);
    job.parts = calloc(maps->count + 1, sizeof *job.parts);
    samples.items = calloc(maps->count + 1, sizeof *samples.items);
    if (!job.points || !job.parts || !samples.items) {
        status = psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for a fit");
        goto out;
    }
    job.count = draw_points(maps, settings, job.points);
    if (settings->folds)
        draw_parts(&job);
    sources_choose(&samples.sources, job.points, job.count, maps->machine.level_count,
                   settings->by_kind && maps->has_kinds);
    result->parameters = parameters_of(method, samples.sources.count);
    status = check_points(&job, result, error);
    if (!status) {
        begin = psnap_reals_now();
        take_samples(&job, 0, false, &samples);
        status = fit_model(&job, &samples, result, error);
        result->seconds = psnap_reals_now() - begin;
    }
    if (!status)
        judge(&job, &samples, result);
    if (!status && settings->folds)
        status = hold_out(&job, &samples, result, error);
out:
    free(job.points);
    free(job.parts);
    free(samples.items);
    return status;
}

/* An error that is not known is worse than any. */
static double error_of(const struct fit_result *result, bool is_held_out)
{
    const double error = is_held_out ? result->held_out_error : result->mean_error;

    return isnan(error) ? INFINITY : error;
}

size_t fit_best(const struct fit_result *results, size_t count)
{
    bool is_held_out = false;
    size_t best = 0;

    for (size_t i = 0; i < count; i++)
        is_held_out |= !isnan(results[i].held_out_error);
    for (size_t i = 1; i < count; i++)
        if (error_of(&results[i], is_held_out) < error_of(&results[best], is_held_out))
            best = i;
    return best;
}
