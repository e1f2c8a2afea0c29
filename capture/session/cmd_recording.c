/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From a captured stream to files: a tee feeds the profile builder and, when a
 * trace was asked for, the trace writer, in one pass; no access is kept. With a
 * second processor the stream is decoded in a thread of its own.
 */
#include <stdio.h>
#include <string.h>

#include "capture/session/cmd_recording_parts.h"
#include "capture/session/cmd_roi.h"
#include "capture/valgrind/engine_valgrind.h"
#include "formats/base/cmd_progress.h"
#include "formats/base/cmd_timing.h"
#include "formats/base/stream.h"

/* Whether there is something to write: a further process may have run nothing of ours. */
static bool has_anything(const struct psnap_recording *recording,
                         const struct psnap_source *capture)
{
    struct psnap_capture_report report;

    if (recording->is_foreign)
        return true;
    report = psnap_capture_report(capture);
    if (recording->is_further && report.roi.has_regions && !report.roi.regions)
        return false;
    return report.modules && (report.threads || !recording->is_further);
}

/* What could be written of a trace stays, up to its last whole chunk. */
static void keep_part(struct psnap_recording *recording)
{
    char name[4096];

    psnap_output_keep(recording->trace_output, name, sizeof name);
    recording->trace_output = NULL;
    if (name[0])
        psnap_print(stderr, "psnap %s: the trace up to there is in %s\n", recording->command, name);
}

static void say_limited(const struct psnap_recording *recording)
{
    char traced[32], all[32];

    psnap_print(stderr, "psnap %s: %s: --max-bytes leaves it the first %s of %s accesses\n",
                recording->command, recording->trace,
                psnap_group_digits(recording->trace_limit.accesses, traced),
                psnap_group_digits(recording->accesses, all));
}

/* The part of the stream that is wanted, which does not own it; itself when that is all of a
 * compiled program's. NULL: out of memory. */
static struct psnap_source *sample(const struct psnap_recording *recording,
                                   struct psnap_source *capture)
{
    static const struct psnap_sampled_ops compiled = {psnap_capture_attend, psnap_capture_enough};
    static const struct psnap_sampled_ops foreign = {psnap_valgrind_attend, NULL};
    const struct psnap_sampling *wish = &recording->sampling;

    capture->program->sampling = *wish;
    if (recording->roi && *recording->roi && !psnap_roi_note(recording->roi, capture->program))
        return NULL;
    if (!wish->skip && !wish->count && !wish->window && !recording->is_foreign)
        return capture;
    return psnap_sample_source_new(capture, recording->is_foreign ? &foreign : &compiled);
}

/* A captured stream on its way to the sinks. */
struct way {
    struct psnap_source *capture; /* not owned */
    struct psnap_source *part;    /* what is wanted of it; may be the same */
    struct psnap_source *relay;   /* reads that in a thread of its own; NULL: none to be had */
    struct psnap_source *shown;   /* the end: that, or with progress; NULL: there is an error */
};

static struct way open_way(const struct psnap_recording *recording, struct psnap_source *capture,
                           struct psnap_error *error)
{
    struct way way = {.capture = capture, .part = sample(recording, capture)};

    if (!way.part) {
        psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
        return way;
    }
    if (psnap_processors() > 1 || psnap_timing_is_wanted())
        way.relay = psnap_relay_source_new(way.part, NULL); /* without it is but slower */
    way.shown = way.relay ? way.relay : way.part;
    if (way.shown != capture &&
        (recording->is_foreign || psnap_timing_is_wanted())) /* it owns that */
        way.shown = psnap_progress_source_new(way.shown, 0, -1);
    return way;
}

static void close_way(const struct way *way)
{
    if (way->relay || way->shown != way->capture)
        psnap_source_free(way->shown);
    if (way->part != way->capture && (way->relay || !way->shown))
        psnap_source_free(way->part);
}

/* Goes before the others: at the end they are to know of which regions the stream was, which only
 * the program tells if they are marked in its source. */
struct note_sink {
    struct psnap_sink base;
    const struct psnap_recording *recording;
    const struct way *way;
};

static enum psnap_status note_put(struct psnap_sink *self, const struct psnap_access *block,
                                  size_t n, struct psnap_error *error)
{
    (void)self, (void)block, (void)n, (void)error;
    return PSNAP_OK;
}

static enum psnap_status note_put_nest(struct psnap_sink *self, const struct psnap_nest *nest,
                                       struct psnap_error *error)
{
    (void)self, (void)nest, (void)error;
    return PSNAP_OK;
}

static enum psnap_status note_finish(struct psnap_sink *self, struct psnap_error *error)
{
    const struct note_sink *sink = (const struct note_sink *)self;

    if (psnap_recording_roi(sink->recording, sink->way->capture).has_regions &&
        !psnap_roi_note(sink->recording->roi, sink->way->shown->program))
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    return PSNAP_OK;
}

/* Moves the stream into the sinks, and notes of which part of the program it is. */
static enum psnap_status pump(struct psnap_recording *recording, const struct way *way,
                              const struct psnap_recording_sinks *sinks, struct psnap_error *error)
{
    static const struct psnap_sink_ops ops = {
        .put = note_put, .finish = note_finish, .put_nest = note_put_nest};
    struct note_sink note = {{&ops}, recording, way};
    struct psnap_sink *all[1 + PSNAP_RECORDING_SINKS] = {&note.base}, *tee;
    enum psnap_status status;

    memcpy(all + 1, sinks->all, sinks->count * sizeof *all);
    tee = psnap_tee_sink_new(all, 1 + sinks->count);
    if (!tee)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    status = psnap_pump(way->shown, tee, &recording->accesses, error);
    psnap_sink_free(tee);
    if (status == PSNAP_ERROR_IO && sinks->writer) /* only the trace is written by now */
        psnap_error_at(error, recording->trace, 0, 0);
    return status;
}

enum psnap_status psnap_recording_run(struct psnap_recording *recording,
                                      struct psnap_source *capture, struct psnap_error *error)
{
    struct psnap_recording_sinks sinks = {0};
    const struct way way = open_way(recording, capture, error);
    enum psnap_status status = way.shown ? PSNAP_OK : error->code;

    if (!status)
        status = psnap_recording_sinks_open(&sinks, recording, way.shown->program, error);
    if (!status)
        status = pump(recording, &way, &sinks, error);
    if (!status && has_anything(recording, capture))
        status = psnap_recording_sinks_write(&sinks, recording, error);
    if (status && sinks.writer && recording->trace_output)
        keep_part(recording);
    else if (recording->trace_limit.is_reached)
        say_limited(recording);
    psnap_recording_sinks_free(&sinks);
    close_way(&way);
    return status;
}
