/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tar archives through libarchive, and the only file that knows it. Of its many formats and filters
 * only tar and three ways of compression are switched on.
 */
#include "profile/repo/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdlib.h>

#include "formats/base/text.h"

struct tar_writer {
    struct archive *archive;
};

enum { BLOCK = 512 };

struct tar_reader {
    struct archive *archive;
    int64_t end; /* of what has been read: the next header is there, or the block that ends all */
};

static enum psnap_status fail(struct archive *archive, const char *what, struct psnap_error *error)
{
    const char *text = archive ? archive_error_string(archive) : NULL;
    const int reason = archive ? archive_errno(archive) : ENOMEM;

    if (reason == ENOSPC || reason == EFBIG || reason == EPIPE)
        return psnap_error_system(error, reason, "%s", what);
    return psnap_error_set(error, archive ? PSNAP_ERROR_CORRUPT : PSNAP_ERROR_MEMORY, "%s: %s",
                           what, text ? text : "out of memory");
}

static int set_filter(struct archive *archive, const char *name)
{
    if (psnap_text_ends_in(name, ".gz") || psnap_text_ends_in(name, ".tgz")) {
        const int result = archive_write_add_filter_gzip(archive);
        /* no time of day in it */
        return result ? result
                      : archive_write_set_filter_option(archive, "gzip", "timestamp", NULL);
    }
    if (psnap_text_ends_in(name, ".zst"))
        return archive_write_add_filter_zstd(archive) ||
               archive_write_set_filter_option(archive, "zstd", "compression-level", "12");
    return psnap_text_ends_in(name, ".xz") ? archive_write_add_filter_xz(archive) : ARCHIVE_OK;
}

struct tar_writer *tar_create(FILE *file, const char *name, struct psnap_error *error)
{
    static const char *const ends[] = {".tar", ".tar.gz", ".tgz", ".tar.zst", ".tar.xz", "-"};
    struct tar_writer *writer = NULL;
    bool is_known = false;

    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        is_known = is_known || psnap_text_ends_in(name, ends[i]);
    if (!is_known) {
        psnap_error_set(error, PSNAP_ERROR_USAGE,
                        "'%s' should end in .tar, .tar.gz, .tgz, .tar.zst or .tar.xz", name);
        return NULL;
    }
    writer = calloc(1, sizeof *writer);
    if (writer)
        writer->archive = archive_write_new();
    if (!writer || !writer->archive) {
        free(writer);
        fail(NULL, "cannot write", error);
        return NULL;
    }
    if (!archive_write_set_format_pax_restricted(writer->archive) &&
        !archive_write_set_bytes_in_last_block(writer->archive, 1) && /* no zeros behind frames */
        !set_filter(writer->archive, name) && !archive_write_open_FILE(writer->archive, file))
        return writer;
    fail(writer->archive, "cannot write the archive", error);
    tar_end(writer, NULL);
    return NULL;
}

enum psnap_status tar_put(struct tar_writer *writer, const char *name, const void *bytes,
                          size_t size, struct psnap_error *error)
{
    struct archive_entry *entry = archive_entry_new();
    bool is_good = entry != NULL;

    if (entry) {
        archive_entry_set_pathname(entry, name);
        archive_entry_set_size(entry, (int64_t)size);
        archive_entry_set_filetype(entry, AE_IFREG);
        archive_entry_set_perm(entry, 0644);
        archive_entry_set_mtime(entry, 0, 0);
        is_good = !archive_write_header(writer->archive, entry) &&
                  (!size || archive_write_data(writer->archive, bytes, size) == (ssize_t)size);
        archive_entry_free(entry);
    }
    return is_good ? PSNAP_OK : fail(writer->archive, "cannot write the archive", error);
}

enum psnap_status tar_end(struct tar_writer *writer, struct psnap_error *error)
{
    enum psnap_status status = PSNAP_OK;

    if (!writer)
        return PSNAP_OK;
    if (!error)
        archive_write_fail(writer->archive);
    else if (archive_write_close(writer->archive))
        status = fail(writer->archive, "cannot write the archive", error);
    archive_write_free(writer->archive);
    free(writer);
    return status;
}

struct tar_reader *tar_open(FILE *file, struct psnap_error *error)
{
    struct tar_reader *reader = calloc(1, sizeof *reader);

    if (reader)
        reader->archive = archive_read_new();
    if (!reader || !reader->archive) {
        free(reader);
        fail(NULL, "cannot read", error);
        return NULL;
    }
    archive_read_support_filter_gzip(reader->archive);
    archive_read_support_filter_zstd(reader->archive);
    archive_read_support_filter_xz(reader->archive);
    archive_read_support_format_tar(reader->archive);
    if (!archive_read_open_FILE(reader->archive, file))
        return reader;
    fail(reader->archive, "no tar archive", error);
    tar_close(reader);
    return NULL;
}

int tar_next(struct tar_reader *reader, uint64_t limit, struct tar_member *member,
             struct psnap_error *error)
{
    struct archive_entry *entry;
    const int result = archive_read_next_header(reader->archive, &entry);
    const int64_t expanded = archive_filter_bytes(reader->archive, 0);
    const char *name;

    if (result == ARCHIVE_EOF && expanded < reader->end + BLOCK)
        return (int)psnap_error_set(error, PSNAP_ERROR_TRUNCATED,
                                    "the archive was cut off: it has no end");
    if (result == ARCHIVE_EOF)
        return 0;
    if (result != ARCHIVE_OK && result != ARCHIVE_WARN)
        return (int)fail(reader->archive, "no sound tar archive", error);
    name = archive_entry_pathname(entry);
    snprintf(member->name, sizeof member->name, "%s", name ? name : "?");
    member->is_file = archive_entry_filetype(entry) == AE_IFREG && !archive_entry_hardlink(entry) &&
                      !archive_entry_symlink(entry);
    member->bytes =
        archive_entry_size(entry) < 0 ? UINT64_MAX : (uint64_t)archive_entry_size(entry);
    if (!archive_entry_size_is_set(entry))
        member->bytes = 0;
    if (expanded < 0 || (uint64_t)expanded > limit || member->bytes > limit - (uint64_t)expanded)
        return (int)psnap_error_set(error, PSNAP_ERROR_LIMIT,
                                    "the archive expands to more than %llu bytes (--max-total)",
                                    (unsigned long long)limit);
    reader->end = expanded;
    if (member->is_file && !archive_entry_sparse_count(entry))
        reader->end += (int64_t)((member->bytes + BLOCK - 1) / BLOCK * BLOCK);
    return 1;
}

enum psnap_status tar_read(struct tar_reader *reader, const struct tar_member *member,
                           struct repo_bytes *bytes, struct psnap_error *error)
{
    uint8_t *at = repo_bytes_room(bytes, (size_t)member->bytes);
    size_t size = 0;

    if (!at)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    while (size < member->bytes) {
        const ssize_t n =
            archive_read_data(reader->archive, at + size, (size_t)member->bytes - size);
        if (n < 0)
            return fail(reader->archive, "cannot read the archive", error);
        if (n == 0)
            return psnap_error_set(error, PSNAP_ERROR_TRUNCATED, "the archive ends in a member");
        size += (size_t)n;
    }
    bytes->size += size;
    return PSNAP_OK;
}

void tar_close(struct tar_reader *reader)
{
    if (!reader)
        return;
    archive_read_free(reader->archive);
    free(reader);
}
