/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * INPUT of all commands: a profile is recognised by its first byte, which no
 * trace format begins with; everything else goes to the trace readers. A pipe
 * is opened and looked at once only: the byte is pushed back, and the open
 * file handed on.
 */
#include "replay/cmd_input.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "formats/base/cmd_progress.h"
#include "formats/formats.h"
#include "profile/profile.h"
#include "replay/replay.h"

/* Whether YAML that may be a profile begins here: `psnap: 1`, a comment, a document mark, a
 * directive, a quoted key, a flow map. */
bool psnap_input_is_profile(FILE *file)
{
    const int first = getc(file);

    if (first == EOF)
        return false;
    ungetc(first, file);
    return strchr("p#-%\"'{", first) != NULL;
}

/* Reads what should be a profile from an open file. */
static struct psnap_profile *read_profile(FILE *file, const char *name, struct psnap_error *error)
{
    if (!psnap_input_is_profile(file) && !feof(file)) {
        psnap_error_set(error, PSNAP_ERROR_VALUE,
                        "no profile but perhaps a trace; 'psnap profile' makes a profile of one");
        psnap_error_at(error, name, 0, 0);
        return NULL;
    }
    return psnap_profile_read(file, name, error);
}

struct psnap_profile *psnap_input_read_profile(const char *path, struct psnap_error *error)
{
    const bool is_stdin = !strcmp(path, "-");
    FILE *file = is_stdin ? stdin : fopen(path, "rbe");
    struct psnap_profile *profile;

    if (!file) {
        psnap_error_system(error, errno, "cannot open '%s'", path);
        return NULL;
    }
    profile = read_profile(file, is_stdin ? "stdin" : path, error);
    if (!is_stdin)
        fclose(file);
    return profile;
}

static struct psnap_source *open_profile(FILE *file, const char *name,
                                         const struct psnap_input_options *options,
                                         uint64_t *accesses, struct psnap_error *error)
{
    struct psnap_profile *profile = read_profile(file, name, error);
    struct psnap_source *source = profile ? psnap_replay_new(profile, options->seed, error) : NULL;

    if (profile) {
        struct psnap_profile_totals totals;
        psnap_profile_totals(profile, &totals);
        *accesses = totals.accesses;
    }
    psnap_profile_free(profile);
    if (file != stdin)
        fclose(file);
    return source;
}

/* A window of the stream; in a trace, chunks before it are passed over without decoding. */
static struct psnap_source *limit(struct psnap_source *source, bool is_trace,
                                  const struct psnap_input_options *options,
                                  struct psnap_error *error)
{
    uint64_t skip = options->skip;
    struct psnap_source *limited;

    if (is_trace && skip) {
        if (psnap_trace_skip(source, skip, NULL, error)) {
            psnap_source_free(source);
            return NULL;
        }
        skip = 0;
    }
    if (!skip && options->count == UINT64_MAX)
        return source;
    limited = psnap_limit_source_new(source, skip, options->count);
    if (!limited)
        psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    return limited;
}

struct psnap_source *psnap_input_open(const char *path, const struct psnap_input_options *options,
                                      struct psnap_error *error)
{
    static const struct psnap_input_options defaults = PSNAP_INPUT_DEFAULTS;
    const bool is_stdin = !strcmp(path, "-");
    FILE *file = is_stdin ? stdin : fopen(path, "rbe");
    const char *name = is_stdin ? "stdin" : path;
    struct psnap_source *source;
    uint64_t accesses = 0; /* in all, 0 when unknown */
    bool is_trace;

    options = options ? options : &defaults;
    if (!file) {
        psnap_error_system(error, errno, "cannot open '%s'", path);
        return NULL;
    }
    if (options->from)
        is_trace = strcmp(options->from, "profile") != 0;
    else
        is_trace = !psnap_input_is_profile(file);
    source = is_trace ? psnap_trace_open_file(file, name, options->from, error)
                      : open_profile(file, name, options, &accesses, error);
    if (source)
        source = limit(source, is_trace, options, error);
    if (!source)
        return NULL;
    if (options->skip || options->count < accesses)
        accesses = options->count < accesses ? options->count : 0;
    return psnap_progress_source_new(source, accesses, is_trace ? fileno(file) : -1);
}
