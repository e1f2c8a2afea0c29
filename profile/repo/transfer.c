/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Profiles out of an archive into tar archives and back, through libarchive, and the only file that
 * knows it. A profile is profiles/ID.yaml, with its tags as an extended attribute. Nothing is
 * written by the names in an archive, and of libarchive's formats and filters only tar and three
 * ways of compression are switched on.
 */
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/output.h"
#include "formats/base/text.h"
#include "profile/repo/repo.h"

enum { BLOCK = 512 };
#define TAGS "user.psnap.tags"

static enum psnap_status fail(struct archive *archive, const char *verb, struct psnap_error *error)
{
    const int reason = archive ? archive_errno(archive) : ENOMEM;

    return reason > 0 && reason != EILSEQ
               ? psnap_error_system(error, reason, "cannot %s the archive", verb)
               : psnap_error_set(error, PSNAP_ERROR_CORRUPT, "cannot %s the archive: %s", verb,
                                 archive_error_string(archive));
}

/* ------------------------------------------------------------------------------- out */

struct exporter {
    struct repo *repo;
    struct archive *archive;
    struct archive_entry *entry;
    struct psnap_error *error;
    enum psnap_status status;
};

static int put_profile(void *context, int count, char **row, char **names)
{
    struct exporter *exporter = context;
    struct archive *archive = exporter->archive;
    struct archive_entry *entry = archive_entry_clear(exporter->entry);
    struct repo_bytes yaml;
    struct psnap_error why = {.message = "its id is none"};
    struct repo_id id;
    char name[64];

    (void)count, (void)names;
    snprintf(name, sizeof name, "profiles/%s.yaml", row[REPO_ID]);
    if (!repo_id_parse(row[REPO_ID], "", &id) || object_read(exporter->repo, &id, &yaml, &why)) {
        exporter->repo->tell(exporter->repo->context, true, name, why.message);
        return 0;
    }
    archive_entry_set_pathname(entry, name);
    archive_entry_set_size(entry, (int64_t)yaml.size);
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_entry_set_perm(entry, 0644);
    if (*row[REPO_TAGS])
        archive_entry_xattr_add_entry(entry, TAGS, row[REPO_TAGS], strlen(row[REPO_TAGS]));
    if (archive_write_header(archive, entry) ||
        archive_write_data(archive, yaml.data, yaml.size) != (ssize_t)yaml.size)
        exporter->status = fail(archive, "write", exporter->error);
    free(yaml.data);
    return exporter->status;
}

static bool begin_write(struct archive *archive, const char *filter, FILE *file)
{
    return archive && !archive_write_set_format_pax_restricted(archive) &&
           !archive_write_set_format_option(archive, "pax", "xattrheader", "SCHILY") &&
           !archive_write_set_bytes_in_last_block(archive, 1) && /* no zeros behind frames */
           (!filter || !archive_write_add_filter_by_name(archive, filter)) &&
           (!filter || *filter != 'g' || !archive_write_set_options(archive, "!timestamp")) &&
           !archive_write_open_FILE(archive, file);
}

enum psnap_status transfer_export(struct repo *repo, const struct repo_query *query,
                                  const char *name, FILE *file, struct psnap_error *error)
{
    static const char *const forms[][2] = {
        {".tar", NULL}, {".tar.gz", "gzip"}, {".tar.zst", "zstd"}, {".tar.xz", "xz"}};
    struct exporter exporter = {repo, archive_write_new(), archive_entry_new(), error, PSNAP_OK};
    bool is_known = psnap_output_is_stdout(name);
    const char *filter = NULL;
    enum psnap_status status = PSNAP_OK;

    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
        if (psnap_text_ends_in(name, forms[i][0])) {
            is_known = true;
            filter = forms[i][1];
        }
    if (!is_known)
        status = psnap_error_set(error, PSNAP_ERROR_USAGE,
                                 "'%s' should end in .tar, .tar.gz, .tar.zst or .tar.xz", name);
    else if (!exporter.entry || !begin_write(exporter.archive, filter, file))
        status = fail(exporter.archive, "write", error);
    else
        status = repo_list(repo, query, put_profile, &exporter, error);
    status = status ? status : exporter.status;
    if (status && exporter.archive)
        archive_write_fail(exporter.archive);
    else if (!status && archive_write_close(exporter.archive))
        status = fail(exporter.archive, "write", error);
    archive_entry_free(exporter.entry);
    archive_write_free(exporter.archive);
    return status;
}

/* -------------------------------------------------------------------------------- in */

static enum psnap_status take_member(struct adder *adder, struct archive *archive,
                                     struct archive_entry *entry, bool *is_found,
                                     struct psnap_error *error)
{
    const char *path = archive_entry_pathname(entry), *name = path ? path : "?", *key;
    const int64_t size = archive_entry_size(entry);
    const bool is_file = archive_entry_filetype(entry) == AE_IFREG,
               is_profile = is_file && psnap_text_ends_in(name, ".yaml");
    struct repo_bytes bytes = {NULL, (size_t)size};
    const void *value;
    size_t length;
    char *tags = NULL;
    enum psnap_status status;
    ssize_t n;

    *is_found |= is_profile;
    if (!is_profile || size < 0 || (uint64_t)size > REPO_PROFILE_MAX) {
        adder->repo->tell(adder->repo->context, is_profile, name,
                          !is_file      ? "no regular file"
                          : !is_profile ? "its name does not end in .yaml"
                                        : "too long");
        return PSNAP_OK;
    }
    archive_entry_xattr_reset(entry);
    while (!archive_entry_xattr_next(entry, &key, &value, &length))
        if (!strcmp(key, TAGS) && !tags)
            tags = strndup(value, length);
    bytes.data = calloc(1, bytes.size + 1);
    n = bytes.data ? archive_read_data(archive, bytes.data, bytes.size) : -1;
    if (n == size)
        status = add_item(adder, name, &bytes, tags ? tags : "", error);
    else if (n >= 0)
        status = psnap_error_set(error, PSNAP_ERROR_TRUNCATED, "the archive ends in a member");
    else
        status = fail(bytes.data ? archive : NULL, "read", error);
    if (n != size)
        free(bytes.data);
    free(tags);
    return status;
}

static enum psnap_status read_members(struct adder *adder, struct archive *archive,
                                      struct psnap_error *error)
{
    struct archive_entry *entry;
    enum psnap_status status = PSNAP_OK;
    int64_t end = 0; /* of what has been read: the next header, or the block that ends all */
    bool is_found = false;
    int result;

    while (!status && (result = archive_read_next_header(archive, &entry)) != ARCHIVE_EOF) {
        if (result != ARCHIVE_OK && result != ARCHIVE_WARN)
            return fail(archive, "read", error);
        end = archive_filter_bytes(archive, 0);
        if (!archive_entry_sparse_count(entry))
            end += (archive_entry_size(entry) + BLOCK - 1) / BLOCK * BLOCK;
        if (archive_entry_filetype(entry) != AE_IFDIR)
            status = take_member(adder, archive, entry, &is_found, error);
    }
    if (!status && archive_filter_bytes(archive, 0) < end + BLOCK)
        status =
            psnap_error_set(error, PSNAP_ERROR_TRUNCATED, "the archive was cut off: it has no end");
    if (!status && !is_found)
        status = psnap_error_set(error, PSNAP_ERROR_VALUE, "there is no profile in it");
    return status;
}

enum psnap_status transfer_import(struct adder *adder, const char *path, struct psnap_error *error)
{
    struct archive *archive = archive_read_new();
    struct psnap_error late;
    enum psnap_status status, finished;

    if (!archive)
        return fail(NULL, "read", error);
    archive_read_support_filter_gzip(archive);
    archive_read_support_filter_zstd(archive);
    archive_read_support_filter_xz(archive);
    archive_read_support_format_tar(archive);
    status = archive_read_open_filename(archive, strcmp(path, "-") ? path : NULL, 1 << 16)
                 ? fail(archive, "read", error)
                 : read_members(adder, archive, error);
    if (status)
        psnap_error_at(error, path, 0, 0);
    finished = add_finish(adder, status ? &late : error); /* what came before damage is good */
    archive_read_free(archive);
    return status ? status : finished;
}
