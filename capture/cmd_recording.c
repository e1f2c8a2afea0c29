/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From a captured stream to files: a tee feeds the profile builder and, when a
 * trace was asked for, the trace writer, in one pass; no access is kept. With a
 * second processor the stream is decoded in a thread of its own.
 */
#include "capture/cmd_recording.h"
#include "capture/cmd_roi.h"
#include "capture/engine_valgrind.h"
#include "capture/guest_roi.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "capture/build_id.h"
#include "formats/base/cmd.h"
#include "formats/base/cmd_progress.h"
#include "formats/base/stream.h"
#include "formats/formats.h"
#include "profile/profile.h"
#include "simcore/cmd_certify.h"

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* PROG.psnap.yaml, or with .2, .3 and so on: the first that does not exist. */
static void choose_name(struct psnap_recording *recording, const char *program)
{
    char *name = recording->default_profile;
    size_t size = sizeof recording->default_profile;

    snprintf(name, size, "%s.psnap.yaml", base_name(program));
    for (unsigned n = 2; access(name, F_OK) == 0; n++)
        snprintf(name, size, "%s.psnap.yaml.%u", base_name(program), n);
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
    if (recording->trace && psnap_format_of_path(recording->trace))
        format = psnap_format_of_path(recording->trace);
    if (!format->writable)
        return psnap_error_set(error, PSNAP_ERROR_USAGE, "format '%s' cannot be written",
                               format->name);
    recording->trace_format = format;
    if (recording->trace_limit.max_bytes &&
        (!recording->trace || format != psnap_format_find("pst")))
        return psnap_error_set(error, PSNAP_ERROR_USAGE,
                               "--max-bytes is for --trace, and a .pst there");
    return PSNAP_OK;
}

/* A name whose parts are the same for all processes is filled in here. */
static enum psnap_status settle_name(const char **name, char *room, bool *is_late,
                                     struct psnap_error *error)
{
    const struct psnap_process none = {0};
    bool late;
    enum psnap_status status = psnap_name_check(*name, &late, error);
    char *expanded = NULL;

    if (status || late || !strchr(*name, '%')) {
        *is_late |= late;
        return status;
    }
    expanded = psnap_name_expand(*name, &none);
    if (!expanded)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    snprintf(room, sizeof((struct psnap_recording *)0)->default_profile, "%s", expanded);
    free(expanded);
    *name = room;
    return PSNAP_OK;
}

enum psnap_status psnap_recording_prepare(struct psnap_recording *recording, const char *program,
                                          struct psnap_error *error)
{
    enum psnap_status status = PSNAP_OK;
    bool has_profile =
        !recording->no_profile && recording->profile && psnap_output_is_stdout(recording->profile);
    bool has_trace = recording->trace && psnap_output_is_stdout(recording->trace);

    recording->is_walks = recording->model && strcmp(recording->model, "walks") == 0;
    if (recording->model && strcmp(recording->model, "psnap") != 0 && !recording->is_walks)
        return psnap_error_set(error, PSNAP_ERROR_USAGE, "no model '%s'; there are psnap and walks",
                               recording->model);
    if (recording->is_walks && recording->is_apart)
        return psnap_error_set(error, PSNAP_ERROR_USAGE,
                               "--model walks has the threads merged, not apart");
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
    if (recording->no_profile)
        recording->profile = NULL;
    else if (!recording->profile)
        choose_name(recording, program);
    else
        status = settle_name(&recording->profile, recording->default_profile, &recording->is_late,
                             error);
    if (!status && recording->trace)
        status = settle_name(&recording->trace, recording->trace_name, &recording->is_late, error);
    return status;
}

enum psnap_status psnap_recording_open(struct psnap_recording *recording, struct psnap_error *error)
{
    const bool force = recording->force || recording->spare; /* looked at when it is written */

    if (recording->profile) {
        recording->profile_output = psnap_output_open(recording->profile, force, error);
        if (!recording->profile_output)
            return error->code;
    }
    if (recording->trace) {
        recording->trace_output = psnap_output_open_partial(recording->trace, force, error);
        if (!recording->trace_output)
            return error->code;
    }
    return PSNAP_OK;
}

void psnap_recording_release(struct psnap_recording *recording)
{
    psnap_output_abandon(recording->profile_output);
    psnap_output_abandon(recording->trace_output);
    recording->profile_output = recording->trace_output = NULL;
}

/* The first of NAME, NAME.SPARE, NAME.SPARE.2 ... that does not exist; the caller frees it. */
static char *free_name(const struct psnap_recording *recording, const char *path)
{
    char *name = strdup(path);

    for (unsigned n = 1; name && !recording->force && access(name, F_OK) == 0; n++) {
        free(name);
        if ((n == 1 ? asprintf(&name, "%s.%ld", path, (long)recording->spare)
                    : asprintf(&name, "%s.%ld.%u", path, (long)recording->spare, n)) < 0)
            return NULL;
    }
    return name;
}

static enum psnap_status commit(const struct psnap_recording *recording,
                                struct psnap_output **output, struct psnap_error *error)
{
    struct psnap_output *done = *output;
    const char *path = psnap_output_path(done);
    char *name = recording->spare ? free_name(recording, path) : NULL;
    enum psnap_status status = PSNAP_OK;

    *output = NULL;
    if (name && strncmp(path, "/dev/", 5) != 0) {
        if (strcmp(name, path) != 0)
            fprintf(stderr, "psnap %s: '%s' exists already, writing '%s'\n", recording->command,
                    path, name);
        status = psnap_output_rename(done, name, error);
    }
    free(name);
    if (!status)
        return psnap_output_commit(done, error);
    psnap_output_abandon(done);
    return status;
}

/* Without a certificate the profile is written all the same. */
static void certify(struct psnap_recording *recording, struct psnap_sink *certifier,
                    struct psnap_profile *profile)
{
    struct psnap_error error, said;

    if (!psnap_certifier_certify(certifier, profile, &error))
        return;
    recording->is_uncertified = true;
    psnap_error_set(&said, PSNAP_ERROR_IO, "no certificate: %.480s", error.message);
    psnap_cmd_fail(recording->command, &said);
}

/* `certifier` may be NULL. */
static enum psnap_status write_profile(struct psnap_recording *recording,
                                       struct psnap_sink *builder, struct psnap_sink *certifier,
                                       struct psnap_error *error)
{
    struct psnap_profile *profile = psnap_profile_builder_take(builder, error);
    enum psnap_status status = profile ? PSNAP_OK : error->code;

    if (!status && recording->is_walks && !profile->nests)
        fprintf(stderr, "psnap %s: the order of loops does not fold: model psnap, not walks\n",
                recording->command);
    if (!status && certifier)
        certify(recording, certifier, profile);
    if (!status)
        status = psnap_profile_write(profile, psnap_output_file(recording->profile_output), error);
    if (status == PSNAP_ERROR_IO)
        psnap_error_at(error, recording->profile, 0, 0);
    if (!status)
        status = commit(recording, &recording->profile_output, error);
    psnap_profile_free(profile);
    return status;
}

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

/*
 * The trace beside a profile: when it cannot be written any more the profile goes on. The first
 * error is kept, and what comes after it is dropped.
 */
struct trace_sink {
    struct psnap_sink base;
    struct psnap_sink *writer; /* not owned */
    enum psnap_status status;
    struct psnap_error error;
};

static enum psnap_status trace_put(struct psnap_sink *self, const struct psnap_access *block,
                                   size_t n, struct psnap_error *error)
{
    struct trace_sink *sink = (struct trace_sink *)self;

    (void)error;
    if (!sink->status)
        sink->status = psnap_sink_put(sink->writer, block, n, &sink->error);
    return PSNAP_OK;
}

static enum psnap_status trace_put_run(struct psnap_sink *self, const struct psnap_run *run,
                                       struct psnap_error *error)
{
    struct trace_sink *sink = (struct trace_sink *)self;

    (void)error;
    if (!sink->status)
        sink->status = psnap_sink_put_run(sink->writer, run, &sink->error);
    return PSNAP_OK;
}

static enum psnap_status trace_finish(struct psnap_sink *self, struct psnap_error *error)
{
    struct trace_sink *sink = (struct trace_sink *)self;

    (void)error;
    if (!sink->status)
        sink->status = psnap_sink_finish(sink->writer, &sink->error);
    return PSNAP_OK;
}

static void nothing_to_free(struct psnap_sink *self)
{
    (void)self; /* lies on the stack */
}

/* Puts the trace in its place, or says why there is none. */
static enum psnap_status end_trace(struct psnap_recording *recording, struct trace_sink *sink,
                                   struct psnap_error *error)
{
    if (!sink->status)
        return commit(recording, &recording->trace_output, error);
    *error = sink->error;
    psnap_error_at(error, recording->trace, 0, 0);
    return sink->status;
}

/* Each may be NULL. Where one file cannot be written the other is there all the same; when none can
 * be, the error is the profile's, and the trace's is said. */
static enum psnap_status write_files(struct psnap_recording *recording, struct psnap_sink *builder,
                                     struct psnap_sink *certifier, struct trace_sink *trace,
                                     struct psnap_error *error)
{
    struct psnap_error other;
    enum psnap_status status =
        builder ? write_profile(recording, builder, certifier, error) : PSNAP_OK;

    if (trace && end_trace(recording, trace, &other)) {
        if (status)
            psnap_cmd_fail(recording->command, &other);
        else
            *error = other;
        status = status ? status : other.code;
    }
    return status;
}

/* What could be written of a trace stays, up to its last whole chunk. */
static void keep_part(struct psnap_recording *recording)
{
    char name[4096];

    psnap_output_keep(recording->trace_output, name, sizeof name);
    recording->trace_output = NULL;
    if (name[0])
        fprintf(stderr, "psnap %s: the trace up to there is in %s\n", recording->command, name);
}

static void say_limited(const struct psnap_recording *recording)
{
    char traced[32], all[32];

    fprintf(stderr, "psnap %s: %s: has its --max-bytes: the first %s of %s accesses\n",
            recording->command, recording->trace,
            psnap_group_digits(recording->trace_limit.accesses, traced),
            psnap_group_digits(recording->accesses, all));
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

/* What of the source's regions is known. */
static struct psnap_roi_report roi_report(const struct psnap_recording *recording,
                                          const struct psnap_source *capture)
{
    const struct psnap_guest_roi *roi;

    if (!recording->is_foreign)
        return psnap_capture_report(capture).roi;
    roi = psnap_valgrind_roi(capture);
    return (struct psnap_roi_report){roi->list && *roi->list, roi->regions, roi->found, 0, true};
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
    cpu_set_t processors;

    if (!way.part) {
        psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
        return way;
    }
    if (sched_getaffinity(0, sizeof processors, &processors) == 0 && CPU_COUNT(&processors) > 1)
        way.relay = psnap_relay_source_new(way.part, NULL); /* without it is but slower */
    way.shown = way.relay ? way.relay : way.part;
    if (recording->is_foreign)
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

static enum psnap_status note_put_run(struct psnap_sink *self, const struct psnap_run *run,
                                      struct psnap_error *error)
{
    (void)self, (void)run, (void)error;
    return PSNAP_OK;
}

static enum psnap_status note_finish(struct psnap_sink *self, struct psnap_error *error)
{
    const struct note_sink *sink = (const struct note_sink *)self;

    if (roi_report(sink->recording, sink->way->capture).has_regions &&
        !psnap_roi_note(sink->recording->roi, sink->way->shown->program))
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    return PSNAP_OK;
}

enum { SINKS_MAX = 3 }; /* builder, certifier, trace */

/* Moves the stream into `count` sinks, and notes of which part of the program it is. */
static enum psnap_status pump(struct psnap_recording *recording, const struct way *way,
                              struct psnap_sink *const *sinks, size_t count,
                              struct psnap_error *error)
{
    static const struct psnap_sink_ops ops = {
        .put = note_put, .finish = note_finish, .free = nothing_to_free, .put_run = note_put_run};
    struct note_sink note = {{&ops}, recording, way};
    struct psnap_sink *all[1 + SINKS_MAX] = {&note.base}, *tee;
    enum psnap_status status;

    memcpy(all + 1, sinks, count * sizeof *sinks);
    tee = psnap_tee_sink_new(all, 1 + count);
    if (!tee)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    status = psnap_pump(way->shown, tee, &recording->accesses, error);
    psnap_sink_free(tee);
    return status;
}

enum psnap_status psnap_recording_run(struct psnap_recording *recording,
                                      struct psnap_source *capture, struct psnap_error *error)
{
    const struct psnap_builder_options options = {.region_gap_bytes = recording->gap_bytes,
                                                  .is_apart = recording->is_apart,
                                                  .walks = recording->is_walks};
    static const struct psnap_sink_ops ops = {.put = trace_put,
                                              .finish = trace_finish,
                                              .free = nothing_to_free,
                                              .put_run = trace_put_run};
    struct trace_sink trace = {.base = {&ops}};
    struct psnap_sink *sinks[SINKS_MAX], *builder = NULL, *certifier = NULL, *writer = NULL;
    const struct way way = open_way(recording, capture, error);
    enum psnap_status status = way.shown ? PSNAP_OK : error->code;
    size_t n = 0;

    if (!status && recording->profile_output) {
        builder = psnap_profile_builder_new(way.shown->program, &options, error);
        status = builder ? PSNAP_OK : error->code;
        sinks[n++] = builder;
    }
    if (builder && recording->certifies) {
        certifier = psnap_certifier_new(recording->machines, way.shown->program,
                                        psnap_output_path(recording->profile_output), error);
        status = certifier ? PSNAP_OK : error->code;
        sinks[n++] = certifier;
    }
    if (!status && recording->trace_output) {
        writer = writer_new(recording, way.shown->program, error);
        status = writer ? PSNAP_OK : error->code;
        trace.writer = writer;
        sinks[n++] = builder ? &trace.base : writer;
    }
    if (!status) {
        status = pump(recording, &way, sinks, n, error);
        if (status == PSNAP_ERROR_IO && writer) /* only the trace is written by now */
            psnap_error_at(error, recording->trace, 0, 0);
    }
    if (!status && has_anything(recording, capture))
        status = write_files(recording, builder, certifier, writer ? &trace : NULL, error);
    if (status && writer && recording->trace_output)
        keep_part(recording);
    else if (recording->trace_limit.is_reached)
        say_limited(recording);
    psnap_sink_free(writer);
    psnap_sink_free(certifier);
    psnap_sink_free(builder);
    close_way(&way);
    return status;
}

void psnap_recording_say_not_instrumented(const char *command)
{
    fprintf(stderr,
            "psnap %s: the program is not instrumented, nothing was recorded; compile and "
            "link it with 'psnap cc' or 'psnap c++' (CC=\"psnap cc\" under make), or record it as "
            "it is, more slowly, with 'psnap record --engine valgrind'\n",
            command);
}

bool psnap_recording_complain_foreign(const struct psnap_recording *recording,
                                      const struct psnap_source *capture)
{
    const struct psnap_roi_report report = roi_report(recording, capture);

    return psnap_roi_complain(recording->command, recording->roi, &report, capture->program) ||
           recording->is_uncertified;
}

bool psnap_recording_complain(const struct psnap_recording *recording,
                              const struct psnap_source *capture)
{
    struct psnap_capture_report report = psnap_capture_report(capture);
    const char *command = recording->command;

    if (!report.modules)
        psnap_recording_say_not_instrumented(command);
    if (report.modules && !report.threads)
        fprintf(stderr, "psnap %s: no instrumented code has run, the profile is empty\n", command);
    if (report.copies)
        fprintf(stderr,
                "psnap %s: %" PRIu32
                " instrumented shared librar%s not recorded: there are too many "
                "for a program that is not instrumented itself\n",
                command, report.copies, report.copies == 1 ? "y was" : "ies were");
    if (report.threads > UINT16_MAX)
        fprintf(stderr, "psnap %s: threads from %u on share one number\n", command, UINT16_MAX);
    if (report.is_abandoned)
        fprintf(stderr,
                "psnap %s: the program could not reach the collector, accesses are "
                "missing\n",
                command);
    if (report.threads_lost)
        fprintf(stderr,
                "psnap %s: %" PRIu32 " threads found no free ring, their accesses are "
                "missing\n",
                command, report.threads_lost);
    /* other threads come and go in the middle of their loops */
    if (report.loops_lost && !(report.roi.has_regions && report.threads > 1) &&
        !getenv(PSNAP_ENV_UNHOISTED))
        fprintf(stderr,
                "psnap %s: %" PRIu64
                " execution%s of loops that a signal cut off: their last accesses "
                "are missing\n",
                command, report.loops_lost, report.loops_lost == 1 ? "" : "s");
    if (report.unnamed)
        fprintf(stderr,
                "psnap %s: %" PRIu64 " allocation%s too many to keep their names: regions in them "
                "may have none\n",
                command, report.unnamed, report.unnamed == 1 ? "" : "s");
    return psnap_roi_complain(command, recording->roi, &report.roi, capture->program) ||
           !report.modules || !report.threads || report.copies || report.is_abandoned ||
           report.threads_lost || recording->is_uncertified;
}

enum psnap_status psnap_recording_describe(struct psnap_program *program,
                                           const struct psnap_process *process, const char *path,
                                           struct psnap_error *error)
{
    struct psnap_provenance *provenance = &program->provenance;
    const char *const *argv = process->argv;
    char build_id[PSNAP_BUILD_ID_CHARS], recorded[32];
    time_t now = time(NULL);
    struct utsname host;
    struct tm utc;

    psnap_build_id_read(path, build_id);
    strftime(recorded, sizeof recorded, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    provenance->name = psnap_program_string(program, base_name(argv[0]));
    provenance->build_id = psnap_program_string(program, build_id);
    provenance->recorded = psnap_program_string(program, recorded);
    provenance->has_rank = psnap_process_rank(process, &provenance->rank, &provenance->ranks);
    provenance->host = psnap_program_string(program, uname(&host) == 0 ? host.machine : "");
    if (!provenance->name || !provenance->build_id || !provenance->recorded || !provenance->host ||
        psnap_program_set_command(program, argv))
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    return PSNAP_OK;
}
