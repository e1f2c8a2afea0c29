/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compressed files, by libarchive's filters. zlib itself reads gzip, whose checksums libarchive
 * does not compare.
 *
 * Compressed data are recognised by their first bytes, never by a name, and may have any number of
 * members, streams or frames one after the other. Zero bytes may follow, as tapes and block devices
 * leave them. Data that end within a member are an error (TRUNCATED), told when what came before
 * was read (but for the last 128 KiB that libarchive had in hand); damage is one (CORRUPT) with its
 * place in the compressed file. Errors of the trace itself have their places in the decompressed
 * data.
 */
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define ZLIB_CONST /* zlib's input pointer is to const */
#include <zlib.h>

#include "formats/formats.h"
#include "formats/reader.h"

/* First bytes. What begins so by chance is read as it is: libarchive looks at more of them. */
static const struct beginning {
    unsigned at, bytes;
    const char *mark, *name;
} beginnings[] = {
    {0, 3, "\x1f\x8b\x8", "gzip"},
    {0, 6, "\xfd\x37zXZ", "xz"},
    {0, 4, "\x28\xb5\x2f\xfd", "zstd"},
    {1, 3, "\x2a\x4d\x18", "zstd"}, /* a skippable frame, as pzstd writes */
    {0, 3, "BZh", "bzip2"},
    {0, 4, "\x04\x22\x4d\x18", "lz4"},
    {0},
};

#define BEGIN_BYTES 6u

struct decompression {
    struct psnap_reader *inner;
    const char *name;
    struct archive *archive; /* NULL: gzip */
    int result;              /* of libarchive's last step */
    uint64_t begin;          /* of the compressed data in the input */
    size_t given;            /* bytes that libarchive looks at */
    const unsigned char *data;
    size_t size; /* of what is decompressed and not read yet */
    z_stream gzip;
    bool is_between; /* members of gzip */
    struct psnap_error error;
};

/* Tells why reading failed: the input's own error, the library's `reason`, or, NULL, its end. */
static ssize_t fail(struct decompression *it, int code, const char *reason)
{
    struct psnap_reader *inner = it->inner;

    if (!psnap_reader_failed(inner, &it->error)) {
        if (code == ENOMEM)
            psnap_error_set(&it->error, PSNAP_ERROR_MEMORY, "out of memory");
        else if (reason)
            psnap_error_set(&it->error, PSNAP_ERROR_CORRUPT, "damaged %s data: %s", it->name,
                            reason);
        else
            psnap_error_set(&it->error, PSNAP_ERROR_TRUNCATED,
                            "the %s data end too early: the file was cut off", it->name);
        psnap_error_at_offset(&it->error, inner->name, psnap_reader_offset(inner));
    }
    errno = EIO;
    return -1;
}

/* Ends reading behind the last member, where nothing but zero bytes may follow; returns 0 or -1. */
static ssize_t end(struct decompression *it)
{
    struct psnap_reader *inner = it->inner;

    while (psnap_reader_ahead(inner, 1) > 0 && !inner->data[inner->at])
        inner->at++;
    if (inner->at == inner->end && !inner->failure)
        return 0;
    return fail(it, 0, "something else follows them");
}

static ssize_t read_gzip(void *context, void *buffer, size_t n)
{
    struct decompression *it = context;
    struct psnap_reader *inner = it->inner;
    z_stream *gzip = &it->gzip;
    int result = Z_OK;

    gzip->next_out = buffer;
    gzip->avail_out = n < UINT_MAX ? (uInt)n : UINT_MAX;
    while (result == Z_OK && gzip->next_out == buffer) {
        const size_t have = psnap_reader_ahead(inner, 1);

        if (it->is_between && (!have || inner->data[inner->at] != 0x1f))
            return end(it);
        if (it->is_between)
            inflateReset(gzip);
        if (!have)
            break;
        gzip->next_in = inner->data + inner->at;
        gzip->avail_in = have < UINT_MAX ? (uInt)have : UINT_MAX;
        result = inflate(gzip, Z_NO_FLUSH);
        inner->at = (size_t)(gzip->next_in - inner->data);
        it->is_between = result == Z_STREAM_END;
        if (it->is_between)
            result = Z_OK;
    }
    if (gzip->next_out == buffer)
        return fail(it, result == Z_MEM_ERROR ? ENOMEM : 0, gzip->msg);
    return (ssize_t)((unsigned char *)gzip->next_out - (unsigned char *)buffer);
}

/* Shows libarchive the next bytes of the input, until it asks for more. */
static la_ssize_t give(struct archive *archive, void *context, const void **block)
{
    struct decompression *it = context;
    struct psnap_reader *inner = it->inner;

    (void)archive;
    inner->at += it->given;
    it->given = psnap_reader_ahead(inner, 1);
    *block = inner->data + inner->at;
    return inner->failure ? -1 : (la_ssize_t)it->given;
}

static ssize_t fail_archive(struct decompression *it)
{
    const bool has_ended = it->inner->ended && it->given == 0;

    return fail(it, archive_errno(it->archive),
                has_ended ? NULL : archive_error_string(it->archive));
}

/* Ends reading behind the last byte that libarchive used, if that is still at hand. */
static ssize_t end_archive(struct decompression *it)
{
    const uint64_t used = it->begin + (uint64_t)archive_filter_bytes(it->archive, -1);
    const uint64_t at = psnap_reader_offset(it->inner);

    if (used > at)
        it->inner->at += (size_t)(used - at);
    it->given = 0;
    return end(it);
}

static ssize_t read_archive(void *context, void *buffer, size_t n)
{
    struct decompression *it = context;
    la_int64_t offset;

    while (it->size == 0 && it->result == ARCHIVE_OK)
        it->result =
            archive_read_data_block(it->archive, (const void **)&it->data, &it->size, &offset);
    if (it->result != ARCHIVE_OK)
        return it->result == ARCHIVE_EOF ? end_archive(it) : fail_archive(it);
    n = n < it->size ? n : it->size;
    memcpy(buffer, it->data, n);
    it->data += n;
    it->size -= n;
    return (ssize_t)n;
}

static enum psnap_status explain(const void *context, struct psnap_error *error)
{
    const struct decompression *it = context;

    if (error)
        *error = it->error;
    return it->error.code;
}

static uint64_t compressed_bytes(const void *context)
{
    return psnap_reader_bytes(((const struct decompression *)context)->inner);
}

static void close_decompression(void *context)
{
    struct decompression *it = context;

    archive_read_free(it->archive);
    inflateEnd(&it->gzip);
    psnap_reader_free(it->inner);
    free(it);
}

/* Lets libarchive look for a filter. False: it->error says why the data cannot be read. */
static bool begin_archive(struct decompression *it)
{
    struct archive *archive = it->archive = archive_read_new();
    struct archive_entry *entry;

    if (!archive)
        return fail(it, ENOMEM, NULL) == 0;
    archive_read_support_filter_xz(archive);
    archive_read_support_filter_zstd(archive);
    archive_read_support_filter_bzip2(archive);
    archive_read_support_filter_lz4(archive);
    archive_read_support_format_raw(archive);
    archive_read_support_format_empty(archive);
    it->begin = psnap_reader_offset(it->inner);
    it->result = archive_read_open(archive, it, NULL, give, NULL);
    if (it->result == ARCHIVE_OK)
        it->result = archive_read_next_header(archive, &entry);
    return it->result == ARCHIVE_OK || it->result == ARCHIVE_EOF || fail_archive(it) == 0;
}

static bool begin_gzip(struct decompression *it)
{
    return inflateInit2(&it->gzip, 15 + 16) == Z_OK || /* 16: a gzip header */
           fail(it, ENOMEM, NULL) == 0;
}

struct psnap_reader *psnap_decompress(struct psnap_reader *inner, struct psnap_error *error)
{
    const size_t n = psnap_reader_ahead(inner, BEGIN_BYTES);
    const unsigned char *start = inner->data + inner->at;
    const struct beginning *found = beginnings;
    const bool is_gzip = n >= 3 && !memcmp(start, found->mark, found->bytes);
    struct decompression *it;
    struct psnap_reader *reader;

    while (found->mark && (n < found->at + found->bytes ||
                           memcmp(start + found->at, found->mark, found->bytes) != 0))
        found++;
    if (!found->mark)
        return inner;
    it = calloc(1, sizeof *it);
    if (!it) {
        psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
        psnap_reader_free(inner);
        return NULL;
    }
    it->inner = inner;
    it->name = found->name;
    if (!(is_gzip ? begin_gzip(it) : begin_archive(it))) {
        explain(it, error);
        close_decompression(it);
        return NULL;
    }
    reader = psnap_reader_new(is_gzip ? read_gzip : read_archive, close_decompression, it,
                              inner->name, error);
    if (reader) {
        reader->explain = explain;
        reader->bytes = compressed_bytes;
    }
    return reader;
}

/* Suffixes of files that are written, and libarchive's names and options. */
static const struct compression {
    const char *suffix, *filter, *options;
} compressions[] = {
    {".gz", "gzip", "!timestamp"},
    {".xz", "xz", "compression-level=1"}, /* text: 2 % larger than by 3, in half the time */
    {".zst", "zstd", NULL},
    {".bz2", "bzip2", NULL},
    {NULL},
};

struct psnap_compressor {
    struct archive *archive;
    FILE *file, *to; /* the cookie file; its output, which is not owned */
};

const char *psnap_compression_of_path(const char *path)
{
    const char *dot = strrchr(path, '.');
    const struct compression *each = compressions;

    while (dot && each->suffix && strcmp(each->suffix, dot) != 0)
        each++;
    return dot ? each->suffix : NULL;
}

static la_ssize_t write_out(struct archive *archive, void *context, const void *data, size_t n)
{
    if (fwrite(data, 1, n, context) == n)
        return (la_ssize_t)n;
    archive_set_error(archive, errno, "cannot write");
    return -1;
}

static ssize_t compress_some(void *cookie, const char *data, size_t n)
{
    struct archive *archive = cookie;

    if (archive_write_data(archive, data, n) == (la_ssize_t)n)
        return (ssize_t)n;
    errno = archive_errno(archive);
    return 0;
}

/* Begins a stream that `suffix` names; false: out of memory. */
static bool begin_write(struct archive *archive, const char *suffix, FILE *to)
{
    const struct compression *with = compressions;
    struct archive_entry *entry = archive_entry_new();
    bool is_begun;

    while (strcmp(with->suffix, suffix) != 0)
        with++;
    is_begun =
        entry && archive_write_add_filter_by_name(archive, with->filter) == ARCHIVE_OK &&
        archive_write_set_format_raw(archive) == ARCHIVE_OK &&
        (!with->options || archive_write_set_options(archive, with->options) == ARCHIVE_OK) &&
        archive_write_set_bytes_per_block(archive, 0) == ARCHIVE_OK &&
        archive_write_open(archive, to, NULL, write_out, NULL) == ARCHIVE_OK;
    if (is_begun) {
        archive_entry_set_filetype(entry, AE_IFREG);
        is_begun = archive_write_header(archive, entry) == ARCHIVE_OK;
    }
    archive_entry_free(entry);
    return is_begun;
}

struct psnap_compressor *psnap_compressor_new(FILE *to, const char *suffix,
                                              struct psnap_error *error)
{
    static const cookie_io_functions_t functions = {.write = compress_some};
    struct psnap_compressor *it = calloc(1, sizeof *it);

    if (it) {
        it->to = to;
        it->archive = archive_write_new();
    }
    if (it && it->archive && begin_write(it->archive, suffix, to))
        it->file = fopencookie(it->archive, "w", functions);
    if (it && it->file)
        return it;
    psnap_compressor_end(it, false, NULL);
    psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    return NULL;
}

FILE *psnap_compressor_file(struct psnap_compressor *it)
{
    return it->file;
}

enum psnap_status psnap_compressor_end(struct psnap_compressor *it, bool is_whole,
                                       struct psnap_error *error)
{
    enum psnap_status status = PSNAP_OK;

    if (!it)
        return PSNAP_OK;
    if (!is_whole)
        archive_write_fail(it->archive);
    if (it->file && fclose(it->file) && is_whole)
        status = psnap_error_system(error, errno, "cannot write");
    if (is_whole && !status && (archive_write_close(it->archive) || fflush(it->to)))
        status = psnap_error_system(error, errno, "cannot write");
    archive_write_free(it->archive);
    free(it);
    return status;
}
