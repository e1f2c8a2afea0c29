/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reuse distances of a stream as a sink: measured as it comes (measure.h) or, where there are jobs,
 * chunk by chunk in threads (chunks.h).
 */
#include <inttypes.h>
#include <stdlib.h>

#include "predict/predict.h"
#include "predict/reuse/chunks.h"
#include "predict/reuse/measure.h"

enum { TAGGED = 1024 };

struct reuse {
    struct psnap_sink base;
    const struct psnap_program *program;
    struct psnap_reuse_options options;
    struct measure *measure;
    struct chunks *chunks; /* NULL: none */
    uint32_t tags[TAGGED];
};

static enum psnap_status done(const struct reuse *reuse, bool fits, struct psnap_error *error)
{
    if (fits)
        return PSNAP_OK;
    if (measure_is_full(reuse->measure))
        return psnap_error_set(error, PSNAP_ERROR_MEMORY,
                               "too many lines for reuse distances: a thread may touch 2^30, or "
                               "2^26 that are far apart; take a sample, or longer lines");
    return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for reuse distances");
}

static enum psnap_status check(const struct reuse *reuse, const struct psnap_access *accesses,
                               size_t n, struct psnap_error *error)
{
    const uint32_t refs = reuse->program->ref_count;

    for (size_t i = 0; i < n; i++)
        if (accesses[i].ref >= refs)
            return psnap_error_set(error, PSNAP_ERROR_VALUE,
                                   "an access of the stream makes no sense: reference %" PRIu32
                                   " of %" PRIu32,
                                   accesses[i].ref, refs);
    return PSNAP_OK;
}

static bool take(struct reuse *reuse, const struct psnap_access *block, const uint32_t *tags,
                 size_t n)
{
    return reuse->chunks ? chunks_put(reuse->chunks, block, tags, n)
                         : measure_accesses(reuse->measure, block, tags, n);
}

static enum psnap_status put(struct psnap_sink *self, const struct psnap_access *block, size_t n,
                             struct psnap_error *error)
{
    struct reuse *reuse = (struct reuse *)self;
    const struct psnap_reuse_options *options = &reuse->options;
    enum psnap_status status = check(reuse, block, n, error);

    if (!options->tagger)
        return status ? status : done(reuse, take(reuse, block, NULL, n), error);
    for (size_t some; n && !status; block += some, n -= some) {
        some = n < TAGGED ? n : TAGGED;
        status = options->tagger(options->tagger_context, block, some, reuse->tags, error);
        if (!status)
            status = done(reuse, take(reuse, block, reuse->tags, some), error);
    }
    return status;
}

static enum psnap_status put_run(struct psnap_sink *self, const struct psnap_run *run,
                                 struct psnap_error *error)
{
    struct reuse *reuse = (struct reuse *)self;
    enum psnap_status status;

    if (!measure_takes_run(&reuse->options, run))
        return psnap_sink_put_repetitions(self, run, 0, run->count, error);
    status = check(reuse, run->first, run->width, error);
    if (status)
        return status;
    return done(reuse,
                reuse->chunks ? chunks_put_run(reuse->chunks, run)
                              : measure_run(reuse->measure, run),
                error);
}

static enum psnap_status finish(struct psnap_sink *self, struct psnap_error *error)
{
    struct reuse *reuse = (struct reuse *)self;
    bool fits = !reuse->chunks || chunks_finish(reuse->chunks);

    if (fits && reuse->options.sample > 0)
        fits = measure_estimate(reuse->measure);
    return done(reuse, fits, error);
}

static void free_reuse(struct psnap_sink *self)
{
    struct reuse *reuse = (struct reuse *)self;

    chunks_free(reuse->chunks);
    measure_free(reuse->measure);
    free(reuse);
}

static enum psnap_status check_options(const struct psnap_reuse_options *options,
                                       struct psnap_error *error)
{
    const uint64_t line = options->line_bytes;

    if (!line || line > PSNAP_REUSE_LINE_MAX || line & (line - 1))
        return psnap_error_set(error, PSNAP_ERROR_USAGE,
                               "a line has a power of two of bytes, at most 1G, not %" PRIu64,
                               line);
    if (options->sets && !options->ways)
        return psnap_error_set(error, PSNAP_ERROR_USAGE, "sets have at least one way");
    if (!(options->sample >= 0 && options->sample <= 1))
        return psnap_error_set(error, PSNAP_ERROR_USAGE,
                               "a sample is a share of the lines, above 0 and up to 1, not %g",
                               options->sample);
    if (options->jobs > PSNAP_REUSE_JOBS_MAX)
        return psnap_error_set(error, PSNAP_ERROR_USAGE, "there may be %d jobs, not %" PRIu32,
                               PSNAP_REUSE_JOBS_MAX, options->jobs);
    if (options->sample > 0 && options->sets)
        return psnap_error_set(error, PSNAP_ERROR_USAGE, "sets take no sample");
    return PSNAP_OK;
}

struct psnap_sink *psnap_reuse_new(const struct psnap_program *program,
                                   const struct psnap_reuse_options *options,
                                   struct psnap_error *error)
{
    static const struct psnap_sink_ops ops = {put, finish, free_reuse, put_run};
    struct reuse *reuse;

    if (check_options(options, error))
        return NULL;
    reuse = calloc(1, sizeof *reuse);
    if (reuse) {
        const bool is_apart = options->jobs > 1 && options->sample == 0 && !options->sets;
        reuse->base.ops = &ops;
        reuse->program = program;
        reuse->options = *options;
        reuse->measure = measure_new(&reuse->options, false);
        if (reuse->measure && is_apart)
            reuse->chunks = chunks_new(&reuse->options, reuse->measure);
        if (reuse->measure && (reuse->chunks || !is_apart))
            return &reuse->base;
        free_reuse(&reuse->base);
    }
    psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for reuse distances");
    return NULL;
}

uint32_t psnap_reuse_threads(const struct psnap_sink *sink)
{
    return measure_threads(((const struct reuse *)sink)->measure);
}

uint64_t psnap_reuse_lines(const struct psnap_sink *sink)
{
    return measure_lines(((const struct reuse *)sink)->measure);
}

uint32_t psnap_reuse_rows(const struct psnap_sink *sink, enum psnap_view view)
{
    return measure_view(((const struct reuse *)sink)->measure, view)->count;
}

const struct psnap_distances *psnap_reuse_row(const struct psnap_sink *sink, enum psnap_view view,
                                              uint32_t row)
{
    const struct measure_view *rows = measure_view(((const struct reuse *)sink)->measure, view);

    return row < rows->count ? rows->rows[row].known : NULL;
}
