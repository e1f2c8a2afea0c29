/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The registry of trace formats, and what all of them share: opening a file
 * of an unknown format by asking every descriptor how sure it is of the first
 * bytes (as libarchive does), and passing over accesses.
 */
#include "formats/trace.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "formats/base/output.h"
#include "formats/base/text.h"
#include "formats/foreign.h"
#include "formats/pattern_states.h"
#include "formats/trace_sink.h"

static const struct psnap_format *const formats[] = {
    &psnap_format_pst,           &psnap_format_din,           &psnap_format_xdin,
    &psnap_format_dinbin,        &psnap_format_lackey,        &psnap_format_pinatrace,
    &psnap_format_csv,           &psnap_format_champsim,      &psnap_format_drmemtrace,
    &psnap_format_gem5,          &psnap_format_ramulator1,    &psnap_format_ramulator2_ls,
    &psnap_format_ramulator2_rw, &psnap_format_ramulator_cpu, &psnap_format_dramsim3,
    &psnap_format_prospero,      &psnap_format_prospero_bin,  &psnap_format_oracle,
    &psnap_format_spatter,       &psnap_format_trafficgen,
};

enum { FORMAT_COUNT = sizeof formats / sizeof formats[0] };

const struct psnap_format *psnap_format_at(size_t i)
{
    return i < FORMAT_COUNT ? formats[i] : NULL;
}

const struct psnap_format *psnap_format_find(const char *name)
{
    for (size_t i = 0; i < FORMAT_COUNT; i++)
        if (!strcmp(formats[i]->name, name))
            return formats[i];
    return NULL;
}

const struct psnap_format *psnap_format_of_path(const char *path)
{
    const char *compression = psnap_compression_of_path(path);
    const size_t length = strlen(path) - (compression ? strlen(compression) : 0);
    const char *dot = memrchr(path, '.', length);
    const size_t of_name = dot ? length - (size_t)(dot + 1 - path) : 0;

    for (size_t i = 0; dot && i < FORMAT_COUNT; i++)
        if (strlen(formats[i]->name) == of_name && !memcmp(formats[i]->name, dot + 1, of_name))
            return formats[i];
    return NULL;
}

const struct psnap_format *psnap_format_named(const char *name, struct psnap_error *error)
{
    const struct psnap_format *format = psnap_format_find(name);
    const char *names[FORMAT_COUNT], *nearest;

    for (size_t i = 0; i < FORMAT_COUNT; i++)
        names[i] = formats[i]->name;
    nearest = format ? NULL : psnap_text_nearest(name, names, FORMAT_COUNT);
    if (!format)
        psnap_error_set(error, PSNAP_ERROR_USAGE, "no format '%s'%s%s%s", name,
                        nearest ? "; did you mean '" : "; 'psnap formats' lists them",
                        nearest ? nearest : "", nearest ? "'?" : "");
    return format;
}

/* The format called `name`, which must be readable (or writable), or NULL with `error` filled. */
static const struct psnap_format *named_format(const char *name, bool writable,
                                               struct psnap_error *error)
{
    const struct psnap_format *format = psnap_format_named(name, error);

    if (!format || (writable ? format->writable : format->readable))
        return format;
    psnap_error_set(error, PSNAP_ERROR_USAGE, "format '%s' cannot be %s", name,
                    writable ? "written" : "read");
    return NULL;
}

const struct psnap_format *psnap_format_recognise(const void *start, size_t n, bool whole)
{
    const struct psnap_format *best = NULL;
    int surest = 0;

    for (size_t i = 0; i < FORMAT_COUNT; i++) {
        const int bid = formats[i]->ops->bid ? formats[i]->ops->bid(start, n, whole) : 0;
        if (bid > surest) {
            surest = bid;
            best = formats[i];
        }
    }
    return best;
}

/* Whether it begins with a line of text and commas. */
static bool is_table(const unsigned char *start, size_t n)
{
    unsigned commas = 0;

    for (size_t i = 0; i < n && start[i] != '\n' && start[i] != '\r'; i++) {
        if (start[i] < ' ' && start[i] != '\t')
            return false;
        commas += start[i] == ',';
    }
    return commas >= 2;
}

/* Files that have traces in them, and what passes these on. */
static const struct wrapping {
    unsigned at, bytes;
    const char *mark, *what, *command;
} wrappings[] = {
    {0, 4, "PK\3\4", "a zip archive", "unzip -p"},
    {257, 5, "ustar", "a tar archive", "tar -xOf"},
    {0, 10, "\xff\6\0\0sNaPpY", "compressed by Snappy", "snzip -dc"},
    {0, 6, "7z\xbc\xaf\x27\x1c", "a 7z archive", "7z x -so"},
};

static const struct wrapping *find_wrapping(const unsigned char *start, size_t n)
{
    for (size_t i = 0; i < sizeof wrappings / sizeof wrappings[0]; i++) {
        const struct wrapping *each = &wrappings[i];
        if (n >= each->at + each->bytes && !memcmp(start + each->at, each->mark, each->bytes))
            return each;
    }
    return NULL;
}

/* The format that it may be of as well as of another. */
static const struct psnap_format *find_either(const unsigned char *start, size_t n, bool whole)
{
    for (size_t i = 0; i < FORMAT_COUNT; i++)
        if (formats[i]->ops->bid && formats[i]->ops->bid(start, n, whole) == PSNAP_BID_EITHER)
            return formats[i];
    return NULL;
}

/* Why no format is recognised, as far as the first bytes and the file's name tell. */
static void not_recognised(const struct psnap_reader *reader, const unsigned char *start, size_t n,
                           struct psnap_error *error)
{
    const struct psnap_format *named = psnap_format_of_path(reader->name);
    const struct psnap_format *either = find_either(start, n, reader->ended);
    const struct wrapping *wrapping = find_wrapping(start, n);
    const char *const what = "not a trace in a known format ('psnap formats' lists them)";

    if (wrapping)
        psnap_error_set(error, PSNAP_ERROR_UNSUPPORTED,
                        "%s, which is not unpacked here: '%s FILE | psnap ... -' passes on what "
                        "is in it",
                        wrapping->what, wrapping->command);
    else if (n >= 6 && !memcmp(start, "psnap:", 6))
        psnap_error_set(error, PSNAP_ERROR_UNSUPPORTED,
                        "a compressed profile; profiles are read when they are not compressed");
    else if (either)
        psnap_error_set(error, PSNAP_ERROR_VALUE,
                        "it may be %s, or a format that looks like it: say --from %s if it is",
                        either->name, either->name);
    else if (is_table(start, n))
        psnap_error_set(error, PSNAP_ERROR_VALUE,
                        "%s; a csv begins with the heading 'address,size,kind,thread,ref'", what);
    else if (named && named->readable)
        psnap_error_set(error, PSNAP_ERROR_VALUE, "%s; if it is what its name says, say --from %s",
                        what, named->name);
    else
        psnap_error_set(error, PSNAP_ERROR_VALUE,
                        "%s; those without a mark, champsim and dinbin, need --from", what);
}

/* The format that is surest of the input's first bytes, or NULL with `error` filled. */
static const struct psnap_format *recognise(struct psnap_reader *reader, struct psnap_error *error)
{
    const size_t have = psnap_reader_ahead(reader, PSNAP_BID_BYTES);
    const unsigned char *start = reader->data + reader->at;
    const struct psnap_format *best;

    best = psnap_format_recognise(start, have, reader->ended);
    if (best || psnap_reader_failed(reader, error) != PSNAP_OK)
        return best;
    if (have == 0)
        psnap_error_set(error, PSNAP_ERROR_VALUE,
                        "empty input: no format to recognise, no access to read");
    else
        not_recognised(reader, start, have, error);
    psnap_error_at(error, reader->name, 0, 0);
    return NULL;
}

struct psnap_source *psnap_trace_open_reader(struct psnap_reader *reader, const char *name,
                                             struct psnap_error *error)
{
    const struct psnap_format *format;
    struct psnap_trace *trace;

    reader = psnap_decompress(reader, error);
    if (!reader)
        return NULL;
    format = name ? named_format(name, false, error) : recognise(reader, error);
    if (!format) {
        psnap_reader_free(reader);
        return NULL;
    }
    trace = (format->ops->open ? format->ops->open : psnap_foreign_open)(format, reader, error);
    return trace ? &trace->base : NULL;
}

struct psnap_source *psnap_trace_open(const char *path, const char *format,
                                      struct psnap_error *error)
{
    struct psnap_reader *reader;

    if (format && !named_format(format, false, error))
        return NULL;
    reader = psnap_reader_open(path, error);
    return reader ? psnap_trace_open_reader(reader, format, error) : NULL;
}

struct psnap_source *psnap_trace_open_file(FILE *file, const char *name, const char *format,
                                           struct psnap_error *error)
{
    struct psnap_reader *reader = psnap_reader_of_file(file, name, error);

    return reader ? psnap_trace_open_reader(reader, format, error) : NULL;
}

const struct psnap_format *psnap_trace_format(const struct psnap_source *source)
{
    return ((const struct psnap_trace *)source)->format;
}

uint64_t psnap_trace_bytes(const struct psnap_source *source)
{
    return psnap_reader_bytes(((const struct psnap_trace *)source)->reader);
}

const char *psnap_trace_omitted(const struct psnap_source *source, size_t i, uint64_t *count)
{
    const struct psnap_trace *trace = (const struct psnap_trace *)source;

    if (i == PSNAP_OMISSIONS)
        return NULL;
    *count = trace->omitted[i];
    return trace->format->ops->omits[i];
}

bool psnap_trace_is_limited(const struct psnap_source *source)
{
    return ((const struct psnap_trace *)source)->is_limited;
}

static enum psnap_status skip_by_reading(struct psnap_source *source, uint64_t count,
                                         uint64_t *skipped, struct psnap_error *error)
{
    struct psnap_access *block = malloc(PSNAP_BLOCK_ACCESSES * sizeof *block);
    enum psnap_status status = PSNAP_OK;

    *skipped = 0;
    if (!block)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    while (*skipped < count) {
        const uint64_t left = count - *skipped;
        const size_t want = left < PSNAP_BLOCK_ACCESSES ? (size_t)left : PSNAP_BLOCK_ACCESSES;
        const ssize_t got = psnap_source_next(source, block, want, error);

        if (got < 0)
            status = (enum psnap_status)got;
        if (got <= 0)
            break;
        *skipped += (uint64_t)got;
    }
    free(block);
    return status;
}

enum psnap_status psnap_trace_skip(struct psnap_source *source, uint64_t count, uint64_t *skipped,
                                   struct psnap_error *error)
{
    const struct psnap_format_ops *ops = psnap_trace_format(source)->ops;
    uint64_t passed = 0;
    const enum psnap_status status =
        (ops->skip ? ops->skip : skip_by_reading)(source, count, &passed, error);

    if (skipped)
        *skipped = passed;
    return status;
}

enum psnap_status psnap_format_check_path(const struct psnap_format *format, const char *path,
                                          struct psnap_error *error)
{
    struct stat info;

    if (psnap_text_ends_in(path, ".lz4"))
        return psnap_error_set(error, PSNAP_ERROR_USAGE,
                               "'%.300s': .gz, .xz, .zst and .bz2 are written, .lz4 is read alone",
                               path);
    if (!format->no_fifo || psnap_output_is_stdout(path) || stat(path, &info) != 0 ||
        !S_ISFIFO(info.st_mode))
        return PSNAP_OK;
    return psnap_error_set(
        error, PSNAP_ERROR_VALUE,
        "%s cannot go through a FIFO: %s; write it to a file, and have that read", format->name,
        format->no_fifo);
}

struct psnap_sink *psnap_trace_writer_new(const char *name, FILE *file,
                                          struct psnap_program *program, struct psnap_error *error)
{
    return psnap_trace_writer_new_timed(name, NULL, file, program, error);
}

struct psnap_sink *psnap_trace_writer_new_timed(const char *name, const uint64_t *clock, FILE *file,
                                                struct psnap_program *program,
                                                struct psnap_error *error)
{
    const struct psnap_format *format = named_format(name, true, error);

    if (!format)
        return NULL;
    return (format->ops->create   ? format->ops->create
            : format->ops->access ? psnap_trace_sink_new
                                  : pattern_sink_new)(format, file, program, clock, error);
}
