/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where a recording goes: options that go together, the files' names and formats, and how a file
 * appears under its name when it is whole.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/session/cmd_recording_parts.h"
#include "formats/base/text.h"
#include "simcore/cmd_certify.h"

enum { PROFILE_BYTES = 1 << 20 }; /* profiles are seldom larger */

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
    expanded = psnap_name_expand(*name, &none, error);
    if (!expanded)
        return error->code;
    snprintf(room, sizeof((struct psnap_recording *)0)->default_profile, "%s", expanded);
    free(expanded);
    *name = room;
    return PSNAP_OK;
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
    enum psnap_status status = PSNAP_OK;
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
    if (recording->no_profile)
        recording->profile = NULL;
    else if (!recording->profile)
        choose_name(recording, program);
    else
        status = settle_name(&recording->profile, recording->default_profile, &recording->is_late,
                             error);
    if (!status && recording->trace)
        status = settle_name(&recording->trace, recording->trace_name, &recording->is_late, error);
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

enum psnap_status psnap_recording_commit(struct psnap_recording *recording,
                                         struct psnap_output **output, struct psnap_error *error)
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
