/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a recording's stream goes into: the builder of the profile, what simulates caches for its
 * certificate, the writer of the trace. And from there into files, of which each is written where
 * it can be, whatever becomes of the other.
 */
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "capture/session/cmd_recording_parts.h"
#include "formats/formats.h"
#include "profile/profile.h"
#include "simcore/cmd_certify.h"

/* ---- the trace beside a profile ---- */

static enum psnap_status trace_put(struct psnap_sink *self, const struct psnap_access *block,
                                   size_t n, struct psnap_error *error)
{
    struct psnap_trace_sink *sink = (struct psnap_trace_sink *)self;

    (void)error;
    if (!sink->status)
        sink->status = psnap_sink_put(sink->writer, block, n, &sink->error);
    return PSNAP_OK;
}

static enum psnap_status trace_put_nest(struct psnap_sink *self, const struct psnap_nest *nest,
                                        struct psnap_error *error)
{
    struct psnap_trace_sink *sink = (struct psnap_trace_sink *)self;

    (void)error;
    if (!sink->status)
        sink->status = psnap_sink_put_nest(sink->writer, nest, &sink->error);
    return PSNAP_OK;
}

static enum psnap_status trace_finish(struct psnap_sink *self, struct psnap_error *error)
{
    struct psnap_trace_sink *sink = (struct psnap_trace_sink *)self;

    (void)error;
    if (!sink->status)
        sink->status = psnap_sink_finish(sink->writer, &sink->error);
    return PSNAP_OK;
}

static const struct psnap_sink_ops trace_ops = {
    .put = trace_put, .finish = trace_finish, .put_nest = trace_put_nest};

/* Puts the trace in its place, or says why there is none. */
static enum psnap_status end_trace(struct psnap_recording *recording, struct psnap_trace_sink *sink,
                                   struct psnap_error *error)
{
    recording->trace_left_out = psnap_sink_left_out(sink->writer);
    if (!sink->status)
        return psnap_recording_commit(recording, &recording->trace_output, error);
    *error = sink->error;
    psnap_error_at(error, recording->trace, 0, 0);
    return sink->status;
}

/* ---- the profile ---- */

/* Without a certificate the profile is written all the same. */
static void certify(struct psnap_recording *recording, struct psnap_sink *certifier,
                    struct psnap_profile *profile)
{
    struct psnap_error error, said;

    if (!psnap_certifier_certify(certifier, profile, recording->builder.deadline, &error))
        return;
    recording->is_uncertified = true;
    psnap_error_set(&said, PSNAP_ERROR_IO, "no certificate: %.480s", error.message);
    psnap_cmd_fail(recording->command, &said);
}

/* Loops whose replay is expected to be off. */
static void say_off(const struct psnap_recording *recording, const struct psnap_profile *profile)
{
    const struct psnap_profile_loop *worst = NULL;
    uint32_t count = 0;

    for (uint32_t i = 0; i < profile->loop_count; i++) {
        const struct psnap_profile_loop *loop = &profile->loops[i];
        count += loop->expected_off > 0;
        if (loop->expected_off > (worst ? worst->expected_off : 0))
            worst = loop;
    }
    if (worst)
        psnap_print(stderr,
                    "psnap %s: reuse times of %" PRIu32
                    " loop%s are expected to be off by more than %d "
                    "points in the replay, at worst those of '%s', by %.1f (--certify tells hit "
                    "rates)\n",
                    recording->command, count, count == 1 ? "" : "s", PSNAP_OFF_POINTS, worst->id,
                    worst->expected_off);
}

/* On a terminal: what is being done, in place of what was said before. */
static void say_stage(const char *text)
{
    if (isatty(STDERR_FILENO))
        psnap_print(stderr, "\r%s\033[K", text);
}

/* `certifier` may be NULL. */
static enum psnap_status write_profile(struct psnap_recording *recording,
                                       struct psnap_sink *builder, struct psnap_sink *certifier,
                                       struct psnap_error *error)
{
    struct psnap_profile *profile;
    enum psnap_status status;

    say_stage("psnap: the recording has ended, its profile is being finished");
    profile = psnap_profile_builder_take(builder, error);
    status = profile ? PSNAP_OK : error->code;
    if (!status && certifier) {
        say_stage("psnap: the profile is being replayed, to certify it");
        certify(recording, certifier, profile);
    }
    say_stage("");
    if (!status)
        status = psnap_profile_seal(profile, error);
    if (!status)
        status = psnap_profile_write(profile, psnap_output_file(recording->profile_output), error);
    if (status == PSNAP_ERROR_IO || status == PSNAP_ERROR_CLOSED)
        psnap_error_at(error, recording->profile, 0, 0);
    if (!status)
        status = psnap_recording_commit(recording, &recording->profile_output, error);
    if (!status && recording->is_verbose)
        say_off(recording, profile);
    psnap_profile_free(profile);
    return status;
}

/* ---- all of them ---- */

/* The writer of the trace; NULL with `error` filled. */
static struct psnap_sink *writer_new(struct psnap_recording *recording,
                                     struct psnap_program *program, struct psnap_error *error)
{
    FILE *file = psnap_output_file(recording->trace_output);

    if (recording->trace_limit.max_bytes)
        return psnap_trace_writer_new_limited(file, program, &recording->trace_limit, error);
    return psnap_trace_writer_new(recording->trace_format->name, file, program, error);
}

enum psnap_status psnap_recording_sinks_open(struct psnap_recording_sinks *sinks,
                                             struct psnap_recording *recording,
                                             struct psnap_program *program,
                                             struct psnap_error *error)
{
    *sinks = (struct psnap_recording_sinks){.trace = {.base = {&trace_ops}}};
    if (recording->profile_output) {
        struct psnap_builder_options options = recording->builder;
        options.is_alone = !recording->certifies && !recording->trace_output;
        sinks->builder = psnap_profile_builder_new(program, &options, error);
        if (!sinks->builder)
            return error->code;
        sinks->all[sinks->count++] = sinks->builder;
    }
    if (sinks->builder && recording->certifies) {
        sinks->certifier = psnap_certifier_new(recording->machines, program, error);
        if (!sinks->certifier)
            return error->code;
        sinks->all[sinks->count++] = sinks->certifier;
    }
    if (recording->trace_output) {
        sinks->writer = writer_new(recording, program, error);
        if (!sinks->writer)
            return error->code;
        sinks->trace.writer = sinks->writer;
        sinks->all[sinks->count++] = sinks->builder ? &sinks->trace.base : sinks->writer;
    }
    return PSNAP_OK;
}

enum psnap_status psnap_recording_sinks_write(struct psnap_recording_sinks *sinks,
                                              struct psnap_recording *recording,
                                              struct psnap_error *error)
{
    struct psnap_error other;
    enum psnap_status status =
        sinks->builder ? write_profile(recording, sinks->builder, sinks->certifier, error)
                       : PSNAP_OK;

    if (sinks->writer && end_trace(recording, &sinks->trace, &other)) {
        if (status)
            psnap_cmd_fail(recording->command, &other);
        else
            *error = other;
        status = status ? status : other.code;
    }
    return status;
}

void psnap_recording_sinks_free(struct psnap_recording_sinks *sinks)
{
    psnap_sink_free(sinks->writer);
    psnap_sink_free(sinks->certifier);
    psnap_sink_free(sinks->builder);
}
