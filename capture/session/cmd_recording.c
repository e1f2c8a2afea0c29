/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A recording: options that go together, the files' names and formats, the captured stream on its
 * way into profile, certificate and trace, in one pass, and how a file appears under its name when
 * it is whole. Each file is written where it can be, whatever becomes of the other. No access is
 * kept. With a second processor the stream is decoded in a thread of its own.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/session/cmd_recording.h"
#include "capture/session/cmd_roi.h"
#include "capture/valgrind/engine_valgrind.h"
#include "formats/base/cmd_progress.h"
#include "formats/base/cmd_timing.h"
#include "formats/base/text.h"
#include "simcore/cmd_certify.h"

enum { PROFILE_BYTES = 1 << 20 }; /* profiles are seldom larger */

/* ---- files ---- */

/* PROG.psnap.yaml, PROG.psnap.2.yaml and so on: the first that does not exist. */
static void choose_name(struct psnap_recording *recording, const char *program)
{
    char *name = recording->default_profile;
    size_t size = sizeof recording->default_profile;

    snprintf(name, size, "%s.psnap.yaml", psnap_text_base_name(program));
    for (unsigned n = 2; access(name, F_OK) == 0; n++)
        snprintf(name, size, "%s.psnap.%u.yaml", psnap_text_base_name(program), n);
    recording->profile = name;
}

/* A trace is in the format that its name ends in, else .pst; a name that promises another kind of
 * file than it would get is a slip. */
static enum psnap_status choose_formats(struct psnap_recording *recording,
                                        struct psnap_error *error)
{
    const char *dot = recording->trace ? strrchr(recording->trace, '.') : NULL;
    const struct psnap_format *format = psnap_format_find("pst");

    if (!recording->no_profile && recording->profile && psnap_format_of_path(recording->profile))
        return psnap_error_set(error, PSNAP_ERROR_USAGE,
                               "'%s' is to be a profile, but has a trace's name; --trace "
                               "writes traces",
                               recording->profile);
    if (dot && (!strcmp(dot, ".yaml") || !strcmp(dot, ".yml")))
        return psnap_error_set(error, PSNAP_ERROR_USAGE,
                               "'%s' is to be a trace, but has a profile's name; -o writes "
                               "profiles",
                               recording->trace);
    if (recording->trace && psnap_compression_of_path(recording->trace))
        return psnap_error_set(
            error, PSNAP_ERROR_USAGE,
            "'%s': a trace is not compressed while it is recorded, and a .pst is "
            "small as it is; 'psnap convert' compresses traces",
            recording->trace);
    if (recording->trace && psnap_format_of_path(recording->trace))
        format = psnap_format_of_path(recording->trace);
    else if (dot && !strchr(dot, '/'))
        psnap_print(stderr,
                    "psnap record: '%s' names no format by its end, and is written as pst\n",
                    recording->trace);
    if (!format->writable)
        return psnap_error_set(error, PSNAP_ERROR_USAGE, "format '%s' cannot be written",
                               format->name);
    recording->trace_format = format;
    if (recording->trace && psnap_format_check_path(format, recording->trace, error))
        return error->code;
    if (recording->trace_limit.max_bytes &&
        (!recording->trace || format != psnap_format_find("pst")))
        return psnap_error_set(error, PSNAP_ERROR_USAGE,
                               "--max-bytes is for --trace, and a .pst there");
    return PSNAP_OK;
}

/* A name is filled in here whose parts are the same for all processes, or are those of `process`;
 * NULL: of none yet. */
static enum psnap_status settle_name(const char **name, char *room, bool *is_late,
                                     const struct psnap_process *process, struct psnap_error *error)
{
    const struct psnap_process none = {0};
    bool late;
    enum psnap_status status = psnap_name_check(*name, &late, error);
    char *expanded = NULL;

    *is_late |= late && !process;
    if (status || (late && !process) || !strchr(*name, '%'))
        return status;
    expanded = psnap_name_expand(*name, process ? process : &none, error);
    if (!expanded)
        return error->code;
    snprintf(room, sizeof((struct psnap_recording *)0)->default_profile, "%s", expanded);
    free(expanded);
    *name = room;
    return PSNAP_OK;
}

/* The names of the files; a foreign recording is of this process's program alone. */
static enum psnap_status settle_names(struct psnap_recording *recording, const char *program,
                                      struct psnap_error *error)
{
    enum psnap_status status = PSNAP_OK;
    struct psnap_process self = {0}, *process = recording->is_foreign ? &self : NULL;

    if (process)
        psnap_process_read(process, getpid());
    if (recording->no_profile)
        recording->profile = NULL;
    else if (!recording->profile)
        choose_name(recording, program);
    else
        status = settle_name(&recording->profile, recording->default_profile, &recording->is_late,
                             process, error);
    if (!status && recording->trace)
        status = settle_name(&recording->trace, recording->trace_name, &recording->is_late, process,
                             error);
    psnap_process_release(&self);
    return status;
}

/* Names that processes will settle: where they are to be, as far as no process has a part in it. */
static enum psnap_status check_folder(const char *name, struct psnap_error *error)
{
    const char *slash = name ? strrchr(name, '/') : NULL;
    const size_t length = slash ? (size_t)(slash - name) + 1 : 0; /* with the slash: a folder */
    char folder[4096] = "./";

    if (!name || memchr(name, '%', length) || length >= sizeof folder)
        return PSNAP_OK;
    if (slash)
        snprintf(folder, sizeof folder, "%.*s", (int)length, name);
    if (access(folder, W_OK | X_OK) == 0)
        return PSNAP_OK;
    psnap_error_file(error, errno, "create", name);
    return error->code;
}

enum psnap_status psnap_recording_prepare(struct psnap_recording *recording, const char *program,
                                          struct psnap_error *error)
{
    enum psnap_status status;
    bool has_profile = !recording->no_profile && psnap_output_is_stdout(recording->profile);
    bool has_trace = psnap_output_is_stdout(recording->trace);

    if (psnap_builder_choose_model(&recording->builder, recording->model, error))
        return error->code;
    if (recording->no_profile && !recording->trace)
        return psnap_error_set(error, PSNAP_ERROR_USAGE,
                               "--no-profile without --trace leaves nothing to record");
    if (has_profile && has_trace)
        return psnap_error_set(error, PSNAP_ERROR_USAGE,
                               "profile and trace cannot both go to standard output");
    if (recording->certifies && recording->no_profile)
        return psnap_error_set(error, PSNAP_ERROR_USAGE,
                               "--certify is for profiles, and there is --no-profile");
    if (recording->certifies && psnap_certifier_check(recording->machines, error))
        return error->code;
    recording->takes_stdout = has_profile || has_trace;
    if (choose_formats(recording, error))
        return error->code;
    status = settle_names(recording, program, error);
    if (!status && recording->is_late)
        status = check_folder(recording->profile, error);
    if (!status && recording->is_late && recording->trace)
        status = check_folder(recording->trace, error);
    if (!status && recording->profile && recording->trace &&
        strcmp(recording->profile, recording->trace) == 0 &&
        strncmp(recording->trace, "/dev/", 5) != 0)
        return psnap_error_set(error, PSNAP_ERROR_USAGE,
                               "profile and trace cannot both be '%s'; -o and --trace name them",
                               recording->trace);
    return status;
}

/* A header without accesses stands in the partial file until the trace begins: a recording that is
 * killed before leaves a file that can be read. */
static void write_empty_trace(struct psnap_recording *recording)
{
    FILE *file = psnap_output_file(recording->trace_output);
    struct psnap_program *program = psnap_program_new();
    struct psnap_sink *writer =
        program ? psnap_trace_writer_new(recording->trace_format->name, file, program, NULL) : NULL;

    psnap_sink_free(writer);
    if (writer && (fflush(file) != 0 || fseek(file, 0, SEEK_SET) != 0))
        clearerr(file); /* the trace will meet the same failure, and says so */
    psnap_program_free(program);
}

/* Parts in other formats are not known again, and never overwritten. */
static bool is_pst(const void *start, size_t n)
{
    return psnap_format_recognise(start, n, true) == psnap_format_find("pst");
}

enum psnap_status psnap_recording_open(struct psnap_recording *recording, struct psnap_error *error)
{
    const char *paths[] = {recording->profile, recording->trace};
    struct psnap_output **outputs[] = {&recording->profile_output, &recording->trace_output};
    const bool force = recording->force || recording->spare; /* looked at when it is written */

    for (size_t i = 0; i < 2; i++) {
        bool has_other;
        if (!paths[i])
            continue;
        *outputs[i] = i ? psnap_output_open_partial(paths[i], force, is_pst, error)
                        : psnap_output_open(paths[i], force, error);
        if (*outputs[i])
            continue;
        has_other = i == 0 ? paths[1] != NULL : recording->profile_output != NULL;
        if (error->code == PSNAP_ERROR_EXISTS || !(recording->spare || has_other))
            return error->code; /* the program has not been started yet */
        recording->unwritten = i == 0 ? "profile" : "trace";
        psnap_cmd_fail(recording->command, error);
    }
    if (!recording->profile_output && !recording->trace_output)
        recording->unwritten = "file";
    if (recording->trace_output && psnap_output_is_partial(recording->trace_output))
        write_empty_trace(recording);
    if (recording->profile_output && recording->trace_output) /* which may fill the disk */
        psnap_output_reserve(recording->profile_output, PROFILE_BYTES);
    return PSNAP_OK;
}

void psnap_recording_release(struct psnap_recording *recording)
{
    psnap_output_abandon(recording->profile_output);
    psnap_output_abandon(recording->trace_output);
    recording->profile_output = recording->trace_output = NULL;
}

/* Makes one of the recording's two files appear, where its name is taken by now under a spare one,
 * which is said and is the recording's from then on; *output is NULL afterwards in any case. */
static enum psnap_status commit(struct psnap_recording *recording, struct psnap_output **output,
                                struct psnap_error *error)
{
    const bool is_trace = output == &recording->trace_output;
    const char **path = is_trace ? &recording->trace : &recording->profile;
    char *room = is_trace ? recording->trace_name : recording->default_profile;
    struct psnap_output *done = *output;
    char name[sizeof recording->trace_name];
    enum psnap_status status;

    *output = NULL;
    if (recording->force || !recording->spare)
        return psnap_output_commit(done, error);
    status = psnap_output_commit_beside(done, (long)recording->spare, name, sizeof name, error);
    if (status || !strcmp(name, *path))
        return status;
    psnap_print(stderr, "psnap %s: '%s' exists already, writing '%s'\n", recording->command, *path,
                name);
    *path = strcpy(room, name);
    return PSNAP_OK;
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

/* ---- the stream ---- */

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

/*
 * All that the stream goes into. Regions that are marked in the program's source are known at its
 * end alone: they are noted before the other sinks finish. A trace beside a profile: when it cannot
 * be written any more the profile goes on; the first error is kept, and what comes after it is
 * dropped.
 */
struct sinks {
    struct psnap_sink base;
    const struct psnap_recording *recording;
    const struct way *way;
    struct psnap_sink *builder, *certifier, *writer; /* owned; each may be NULL */
    enum psnap_status trace_status;
    struct psnap_error trace_error;
};

/* An operation on each sink. */
struct step {
    const struct psnap_access *block; /* put; NULL: */
    size_t n;
    const struct psnap_nest *nest; /* put; NULL: finish */
};

static enum psnap_status take(struct psnap_sink *sink, const struct step *step,
                              struct psnap_error *error)
{
    if (!sink)
        return PSNAP_OK;
    return step->block  ? psnap_sink_put(sink, step->block, step->n, error)
           : step->nest ? psnap_sink_put_nest(sink, step->nest, error)
                        : psnap_sink_finish(sink, error);
}

static enum psnap_status take_all(struct psnap_sink *self, const struct step *step,
                                  struct psnap_error *error)
{
    struct sinks *sinks = (struct sinks *)self;
    enum psnap_status status = take(sinks->builder, step, error);

    if (!status)
        status = take(sinks->certifier, step, error);
    if (!status && !sinks->trace_status)
        sinks->trace_status = take(sinks->writer, step, &sinks->trace_error);
    if (!status && sinks->trace_status && !sinks->builder) {
        *error = sinks->trace_error;
        status = sinks->trace_status;
    }
    return status;
}

static enum psnap_status sinks_put(struct psnap_sink *self, const struct psnap_access *block,
                                   size_t n, struct psnap_error *error)
{
    return take_all(self, &(struct step){.block = block, .n = n}, error);
}

static enum psnap_status sinks_put_nest(struct psnap_sink *self, const struct psnap_nest *nest,
                                        struct psnap_error *error)
{
    return take_all(self, &(struct step){.nest = nest}, error);
}

static enum psnap_status sinks_finish(struct psnap_sink *self, struct psnap_error *error)
{
    const struct sinks *sinks = (const struct sinks *)self;

    if (psnap_recording_roi(sinks->recording, sinks->way->capture).has_regions &&
        !psnap_roi_note(sinks->recording->roi, sinks->way->shown->program))
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    return take_all(self, &(struct step){0}, error);
}

/* ---- what becomes of it ---- */

/* Puts the trace in its place, or says why there is none. */
static enum psnap_status end_trace(struct psnap_recording *recording, const struct sinks *sinks,
                                   struct psnap_error *error)
{
    recording->trace_left_out = psnap_sink_left_out(sinks->writer);
    if (!sinks->trace_status)
        return commit(recording, &recording->trace_output, error);
    *error = sinks->trace_error;
    psnap_error_at(error, recording->trace, 0, 0);
    return sinks->trace_status;
}

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
        status = commit(recording, &recording->profile_output, error);
    psnap_profile_free(profile);
    return status;
}

/* The writer of the trace; NULL with `error` filled. */
static struct psnap_sink *writer_new(struct psnap_recording *recording,
                                     struct psnap_program *program, struct psnap_error *error)
{
    FILE *file = psnap_output_file(recording->trace_output);

    if (recording->trace_limit.max_bytes)
        return psnap_trace_writer_new_limited(file, program, &recording->trace_limit, error);
    return psnap_trace_writer_new(recording->trace_format->name, file, program, error);
}

/* The sinks for the outputs that are open; to be freed also where that fails. */
static enum psnap_status open_sinks(struct sinks *sinks, struct psnap_recording *recording,
                                    struct psnap_error *error)
{
    struct psnap_program *program = sinks->way->shown->program;
    struct psnap_builder_options options = recording->builder;

    if (recording->profile_output) {
        options.is_alone = !recording->certifies && !recording->trace_output;
        sinks->builder = psnap_profile_builder_new(program, &options, error);
        if (!sinks->builder)
            return error->code;
    }
    if (sinks->builder && recording->certifies) {
        sinks->certifier = psnap_certifier_new(recording->machines, program, error);
        if (!sinks->certifier)
            return error->code;
    }
    if (recording->trace_output) {
        sinks->writer = writer_new(recording, program, error);
        if (!sinks->writer)
            return error->code;
    }
    return PSNAP_OK;
}

/* Where one file cannot be written the other is there all the same; when none can be, the error is
 * the profile's, and the trace's is said. */
static enum psnap_status write_files(const struct sinks *sinks, struct psnap_recording *recording,
                                     struct psnap_error *error)
{
    struct psnap_error other;
    enum psnap_status status =
        sinks->builder ? write_profile(recording, sinks->builder, sinks->certifier, error)
                       : PSNAP_OK;

    if (sinks->writer && end_trace(recording, sinks, &other)) {
        if (status)
            psnap_cmd_fail(recording->command, &other);
        else
            *error = other;
        status = status ? status : other.code;
    }
    return status;
}

/* Tells whether there is something to write: a further process may have run no recorded code. */
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

enum psnap_status psnap_recording_run(struct psnap_recording *recording,
                                      struct psnap_source *capture, struct psnap_error *error)
{
    static const struct psnap_sink_ops ops = {
        .put = sinks_put, .finish = sinks_finish, .put_nest = sinks_put_nest};
    const struct way way = open_way(recording, capture, error);
    struct sinks sinks = {.base = {&ops}, .recording = recording, .way = &way};
    enum psnap_status status = way.shown ? open_sinks(&sinks, recording, error) : error->code;

    if (!status) {
        status = psnap_pump(way.shown, &sinks.base, &recording->accesses, error);
        if (status == PSNAP_ERROR_IO && sinks.writer) /* only the trace is written by now */
            psnap_error_at(error, recording->trace, 0, 0);
    }
    if (!status && has_anything(recording, capture))
        status = write_files(&sinks, recording, error);
    if (status && sinks.writer && recording->trace_output)
        keep_part(recording);
    else if (recording->trace_limit.is_reached)
        say_limited(recording);
    psnap_sink_free(sinks.writer);
    psnap_sink_free(sinks.certifier);
    psnap_sink_free(sinks.builder);
    close_way(&way);
    return status;
}
