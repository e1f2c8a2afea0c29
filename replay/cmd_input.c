/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * INPUT of all commands: what a trace format recognises is a trace; else text
 * that begins as a YAML map does is a profile, whichever of its keys comes
 * first; the rest goes to the trace readers, which say that they do not know
 * it. A pipe is opened and looked at once only: the bytes are pushed back (glibc
 * takes any number of them), and the open file handed on. A .pst that was cut
 * off is read up to its last whole chunk, with a warning.
 */
#include "replay/cmd_input.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/base/cmd.h"
#include "formats/base/cmd_progress.h"
#include "formats/base/text.h"
#include "formats/formats.h"
#include "profile/profile.h"
#include "replay/replay.h"

struct start {
    unsigned char bytes[PSNAP_BID_BYTES + 1]; /* a 0 behind them */
    size_t count;
    bool is_whole;
};

/* Looks at an input's first bytes, and puts them back. */
static void look(FILE *file, struct start *start)
{
    int next = 0;

    start->count = 0;
    while (start->count < PSNAP_BID_BYTES && (next = getc(file)) != EOF)
        start->bytes[start->count++] = (unsigned char)next;
    start->bytes[start->count] = 0;
    start->is_whole = next == EOF;
    for (size_t i = start->count; i-- > 0;)
        ungetc(start->bytes[i], file);
}

/* Whether the first line that is no comment, mark or directive is `{`, `key:` or `"key":`. */
static bool begins_map(const struct start *start)
{
    const char *text = (const char *)start->bytes;
    const char *end = text + start->count, *at;

    if (!strncmp(text, "\xef\xbb\xbf", 3)) /* a byte order mark */
        text += 3;
    for (; text < end; text += strcspn(text, "\n") + 1) {
        text += strspn(text, " \t\r\n");
        if (*text && *text != '#' && *text != '%' && strncmp(text, "---", 3) != 0)
            break;
    }
    if (text >= end) /* comments alone: an empty document */
        return start->count > 0;
    if (*text == '{')
        text += 1 + strspn(text + 1, " \t\r\n");
    if (*text == '}')
        return true;
    at = text + strspn(text, "\"'");
    at += strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-");
    if (at == text)
        return false;
    at += strspn(at, "\"' ");
    return at[0] == ':' && (!at[1] || strchr(" \t\r\n", at[1]));
}

/* Text has none of these. */
static bool is_binary(const struct start *start)
{
    for (size_t i = 0; i < start->count; i++)
        if (start->bytes[i] < ' ' && !memchr("\t\n\r", start->bytes[i], 3))
            return true;
    return false;
}

bool psnap_input_is_profile(FILE *file)
{
    struct start start;

    look(file, &start);
    return !psnap_format_recognise(start.bytes, start.count, start.is_whole) && begins_map(&start);
}

/* Whether a file may be a profile; false with `error` filled: it is a trace, or no text. */
static bool may_be_profile(FILE *file, const char *name, struct psnap_error *error)
{
    const struct psnap_format *format;
    struct start start;

    look(file, &start);
    format = psnap_format_recognise(start.bytes, start.count, start.is_whole);
    if (!format && (begins_map(&start) || !is_binary(&start)))
        return true;
    if (format)
        psnap_error_set(error, PSNAP_ERROR_VALUE,
                        "no profile but a trace (%s); 'psnap profile' makes a profile of one",
                        format->name);
    else
        psnap_error_set(error, PSNAP_ERROR_VALUE, "no profile: it has bytes that are no text");
    psnap_error_at(error, name, 0, 0);
    return false;
}

static struct psnap_profile *read_profile(FILE *file, const char *name, struct psnap_error *error)
{
    return may_be_profile(file, name, error) ? psnap_profile_read(file, name, error) : NULL;
}

FILE *psnap_input_file(const char *path, struct psnap_error *error)
{
    FILE *file = strcmp(path, "-") != 0 ? fopen(path, "rbe") : stdin;
    struct stat about;
    int reason = errno;

    if (file && !fstat(fileno(file), &about) && S_ISDIR(about.st_mode)) {
        if (file != stdin)
            fclose(file);
        file = NULL;
        reason = EISDIR;
    }
    if (!file)
        psnap_error_file(error, reason, "open", path);
    return file;
}

bool psnap_input_may_be_profile(const char *path, struct psnap_error *error)
{
    struct stat about;
    FILE *file = !stat(path, &about) && S_ISREG(about.st_mode) ? fopen(path, "rbe") : NULL;
    const bool may_be = !file || may_be_profile(file, path, error);

    if (file)
        fclose(file);
    return may_be;
}

struct psnap_profile *psnap_input_read_profile(const char *path, struct psnap_error *error)
{
    FILE *file = psnap_input_file(path, error);
    struct psnap_profile *profile;

    if (!file)
        return NULL;
    profile = read_profile(file, file == stdin ? "stdin" : path, error);
    if (file != stdin)
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
    if (source && options->kept)
        *options->kept = profile;
    else
        psnap_profile_free(profile);
    if (file != stdin)
        fclose(file);
    return source;
}

/* A window of the stream of so many `accesses` (if it is a profile's); in a trace, chunks before it
 * are passed over without decoding. A long replay comes in parts, for its progress to be seen. */
static struct psnap_source *limit(struct psnap_source *source, bool is_trace,
                                  const struct psnap_input_options *options, const char *name,
                                  uint64_t accesses, struct psnap_error *error)
{
    uint64_t skip = options->skip, there = accesses;
    struct psnap_source *limited;

    if (is_trace && skip) {
        if (psnap_trace_skip(source, skip, &there, error)) {
            psnap_source_free(source);
            return NULL;
        }
    }
    if (there < skip) {
        psnap_error_set(error, PSNAP_ERROR_VALUE,
                        "%" PRIu64 " accesses are to be left out, but there are only %" PRIu64,
                        skip, there);
        psnap_error_at(error, name, 0, 0);
        psnap_source_free(source);
        return NULL;
    }
    skip = is_trace ? 0 : skip;
    if (!skip && options->count == UINT64_MAX && (is_trace || accesses <= PSNAP_PROGRESS_LONG))
        return source;
    limited = psnap_limit_source_new(source, skip, options->count);
    if (!limited)
        psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    return limited;
}

void psnap_input_say_omitted(const struct psnap_source *trace, const char *name)
{
    const char *what;
    char digits[32];
    uint64_t count;

    for (size_t i = 0; (what = psnap_trace_omitted(trace, i, &count)); i++) {
        struct psnap_error error;
        if (!count)
            continue;
        psnap_error_set(&error, PSNAP_ERROR_VALUE, "left out: %s (%s)", what,
                        psnap_group_digits(count, digits));
        psnap_error_at(&error, name, 0, 0);
        psnap_cmd_warn(&error);
    }
}

/* A trace that may have been cut off: its whole chunks are the stream, and a warning says so. What
 * is left out of it is said at the end. */
struct whole_part {
    struct psnap_source base;
    struct psnap_source *inner, *trace; /* the trace is in `inner`, or is it */
    char *name;
    bool is_quiet;
};

static ssize_t whole_next_nest(struct psnap_source *self, struct psnap_access *room,
                               size_t capacity, const struct psnap_access **block,
                               struct psnap_nest *nest, struct psnap_error *error)
{
    struct whole_part *part = (struct whole_part *)self;
    const ssize_t n = psnap_source_next_nest(part->inner, room, capacity, block, nest, error);

    if (n != PSNAP_ERROR_TRUNCATED)
        return n;
    if (!part->is_quiet)
        psnap_cmd_cut_off(error);
    return 0;
}

static void whole_free(struct psnap_source *self)
{
    struct whole_part *part = (struct whole_part *)self;

    if (!part->is_quiet)
        psnap_input_say_omitted(part->trace, part->name);
    psnap_source_free(part->inner);
    free(part->name);
    free(part);
}

/* Owns `inner`, which reads `trace`, freed also when this fails with NULL. */
static struct psnap_source *whole_part_new(struct psnap_source *inner, struct psnap_source *trace,
                                           const char *name, bool is_quiet,
                                           struct psnap_error *error)
{
    static const struct psnap_source_ops ops = {.free = whole_free, .next_nest = whole_next_nest};
    struct whole_part *part = calloc(1, sizeof *part);

    if (!part || !(part->name = strdup(name))) {
        free(part);
        psnap_source_free(inner);
        psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
        return NULL;
    }
    part->base = (struct psnap_source){.ops = &ops, .program = inner->program};
    part->inner = inner;
    part->trace = trace;
    part->is_quiet = is_quiet;
    return &part->base;
}

struct psnap_source *psnap_input_open(const char *path, const struct psnap_input_options *options,
                                      struct psnap_error *error)
{
    static const struct psnap_input_options defaults = PSNAP_INPUT_DEFAULTS;
    FILE *file = psnap_input_file(path, error);
    const char *name = file == stdin ? "stdin" : path;
    struct psnap_source *source, *trace;
    uint64_t accesses = 0; /* in all, 0 when unknown */
    bool is_trace;

    options = options ? options : &defaults;
    if (!file)
        return NULL;
    if (options->from)
        is_trace = strcmp(options->from, "profile") != 0;
    else
        is_trace = !psnap_input_is_profile(file);
    if (options->is_profile)
        *options->is_profile = !is_trace;
    source = trace = is_trace ? psnap_trace_open_file(file, name, options->from, error)
                              : open_profile(file, name, options, &accesses, error);
    if (source)
        source = limit(source, is_trace, options, name, accesses, error);
    if (source && is_trace)
        source = whole_part_new(source, trace, name, options->is_again, error);
    if (!source)
        return NULL;
    if (options->is_lane)
        return source;
    if (is_trace)
        accesses = psnap_pst_count(fileno(file));
    if (options->skip || options->count < accesses)
        accesses = options->count < accesses ? options->count : 0;
    return psnap_progress_source_new(source, accesses, is_trace ? fileno(file) : -1);
}

const char *psnap_output_format(const char *path, const char *asked)
{
    const struct psnap_format *named = psnap_format_of_path(path);

    if (asked)
        return asked;
    if (!named && strchr(psnap_text_base_name(path), '.'))
        psnap_print(stderr, "psnap: '%s' names no format by its end, and is written as pst\n",
                    path);
    return named ? named->name : "pst";
}

bool psnap_output_spares_terminal(const char *path, const char *format)
{
    const struct psnap_format *written = psnap_format_find(format);

    return strcmp(path, "-") != 0 || !isatty(STDOUT_FILENO) || !written || written->is_text;
}
