/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tar archives through libarchive (transfer.h), and the only file that knows it. Nothing is written
 * by the names that they have. Of its formats and filters only tar and three ways of compression
 * are switched on.
 */
#include "profile/repo/transfer.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/text.h"

enum { BLOCK = 512, NOTE_MAX = 16 * ADD_NOTE_MAX }; /* of many notes */

static enum psnap_status fail(struct archive *archive, const char *what, struct psnap_error *error)
{
    const char *text = archive ? archive_error_string(archive) : NULL;
    const int reason = archive ? archive_errno(archive) : ENOMEM;

    if (reason == ENOSPC || reason == EFBIG || reason == EPIPE || reason == ENOMEM)
        return psnap_error_system(error, reason, "%s", what);
    return psnap_error_set(error, PSNAP_ERROR_CORRUPT, "%s: %s", what,
                           text ? text : "it is damaged");
}

/* -------------------------------------------------------------------------- tar: out */

static int set_filter(struct archive *archive, const char *name)
{
    if (psnap_text_ends_in(name, ".gz") || psnap_text_ends_in(name, ".tgz"))
        return archive_write_add_filter_gzip(archive) || /* no time of day in it */
               archive_write_set_filter_option(archive, "gzip", "timestamp", NULL);
    if (psnap_text_ends_in(name, ".zst"))
        return archive_write_add_filter_zstd(archive);
    return psnap_text_ends_in(name, ".xz") ? archive_write_add_filter_xz(archive) : ARCHIVE_OK;
}

static enum psnap_status put(struct archive *archive, const char *name,
                             const struct repo_bytes *bytes, struct psnap_error *error)
{
    struct archive_entry *entry = archive_entry_new();
    bool is_good = entry != NULL;

    if (entry) {
        archive_entry_set_pathname(entry, name);
        archive_entry_set_size(entry, (int64_t)bytes->size);
        archive_entry_set_filetype(entry, AE_IFREG);
        archive_entry_set_perm(entry, 0644);
        archive_entry_set_mtime(entry, 0, 0);
        is_good = !archive_write_header(archive, entry) &&
                  archive_write_data(archive, bytes->data, bytes->size) == (ssize_t)bytes->size;
        archive_entry_free(entry);
    }
    return is_good ? PSNAP_OK : fail(archive, "cannot write the archive", error);
}

struct exporter {
    struct repo *repo;
    struct archive *archive;
    const struct repo_told *told;
};

static enum psnap_status put_profile(void *context, const struct repo_profile *profile,
                                     struct psnap_error *error)
{
    const struct exporter *exporter = context;
    const struct repo_bytes yaml = {(char *)(uintptr_t)profile->yaml, profile->yaml_bytes};
    enum psnap_status status = PSNAP_OK;
    char name[64], *said;

    if (!profile->yaml) {
        exporter->told->tell(exporter->told->context, true, profile->id, profile->problem);
        return PSNAP_OK;
    }
    said = repo_said(exporter->repo, profile->id);
    snprintf(name, sizeof name, "notes/%.32s.note", profile->id);
    if (said)
        status = put(exporter->archive, name, &(struct repo_bytes){said, strlen(said)}, error);
    snprintf(name, sizeof name, "profiles/%.32s.yaml", profile->id);
    free(said);
    return status ? status : put(exporter->archive, name, &yaml, error);
}

enum psnap_status transfer_export(struct repo *repo, const struct query *query, const char *name,
                                  FILE *file, const struct repo_told *told,
                                  struct psnap_error *error)
{
    static const char *const ends[] = {".tar", ".tar.gz", ".tgz", ".tar.zst", ".tar.xz", "-"};
    struct archive *archive = archive_write_new();
    struct exporter exporter = {repo, archive, told};
    enum psnap_status status = PSNAP_OK;
    bool is_known = false;

    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        is_known = is_known || psnap_text_ends_in(name, ends[i]);
    if (!is_known)
        status =
            psnap_error_set(error, PSNAP_ERROR_USAGE,
                            "'%s' should end in .tar, .tar.gz, .tgz, .tar.zst or .tar.xz", name);
    else if (!archive || archive_write_set_format_pax_restricted(archive) ||
             archive_write_set_bytes_in_last_block(archive, 1) || /* no zeros behind frames */
             set_filter(archive, name) || archive_write_open_FILE(archive, file))
        status = fail(archive, "cannot write the archive", error);
    if (!status)
        status = repo_read_each(repo, query, put_profile, &exporter, error);
    if (status && archive)
        archive_write_fail(archive);
    else if (!status && archive_write_close(archive))
        status = fail(archive, "cannot write the archive", error);
    archive_write_free(archive);
    return status;
}

/* --------------------------------------------------------------------------- tar: in */

struct importer {
    struct adder *adder;
    struct archive *archive;
    const struct repo_told *told;
    char note[REPO_NAME], *said; /* a note's name, and the note, of the profile that follows */
    uint64_t found;              /* profiles, also those left out */
};

/* A member's bytes; its size was checked. */
static enum psnap_status read_member(struct archive *archive, size_t size, struct repo_bytes *bytes,
                                     struct psnap_error *error)
{
    ssize_t n = 1;

    *bytes = (struct repo_bytes){calloc(1, size + 1), 0};
    if (!bytes->data)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    while (n > 0 && bytes->size < size) {
        n = archive_read_data(archive, bytes->data + bytes->size, size - bytes->size);
        bytes->size += n > 0 ? (size_t)n : 0;
    }
    if (n > 0 || !size)
        return PSNAP_OK;
    free(bytes->data);
    *bytes = (struct repo_bytes){NULL, 0};
    return n < 0 ? fail(archive, "cannot read the archive", error)
                 : psnap_error_set(error, PSNAP_ERROR_TRUNCATED, "the archive ends in a member");
}

/* Takes over a profile; the note that came before it goes with it if it is of its id. */
static enum psnap_status take_profile(struct importer *importer, const char *name,
                                      struct repo_bytes yaml, struct psnap_error *error)
{
    char *said = importer->said;
    struct repo_id id;

    repo_id_of(yaml.data, yaml.size, &id);
    importer->said = NULL;
    if (said && strncmp(psnap_text_base_name(importer->note), id.text, REPO_ID_DIGITS) != 0) {
        importer->told->tell(importer->told->context, false, importer->note,
                             "a note of another profile than the one that follows");
        free(said);
        said = NULL;
    }
    return add_item(importer->adder, name, &yaml, said, error);
}

static enum psnap_status take_member(struct importer *importer, struct archive_entry *entry,
                                     struct psnap_error *error)
{
    const char *name = archive_entry_pathname(entry) ? archive_entry_pathname(entry) : "?";
    const bool is_note = psnap_text_ends_in(name, ".note"),
               is_profile = psnap_text_ends_in(name, ".yaml") || psnap_text_ends_in(name, ".yml"),
               is_file = archive_entry_filetype(entry) == AE_IFREG &&
                         !archive_entry_hardlink(entry) && !archive_entry_symlink(entry);
    const uint64_t size = (uint64_t)archive_entry_size(entry);
    const char *reason = NULL;
    struct repo_bytes bytes;
    enum psnap_status status;

    if (archive_entry_filetype(entry) == AE_IFDIR)
        return PSNAP_OK;
    importer->found += is_file && is_profile;
    if (!is_file)
        reason = "no regular file";
    else if (!is_note && !is_profile)
        reason = "its name does not end in .yaml";
    else if (size > (is_note ? NOTE_MAX : importer->adder->limit_bytes))
        reason = "too long (--max-size)";
    if (reason) {
        importer->told->tell(importer->told->context, false, name, reason);
        return PSNAP_OK;
    }
    status = read_member(importer->archive, (size_t)size, &bytes, error);
    if (status || is_profile)
        return status ? status : take_profile(importer, name, bytes, error);
    free(importer->said);
    importer->said = bytes.data;
    snprintf(importer->note, sizeof importer->note, "%s", name);
    return PSNAP_OK;
}

static enum psnap_status read_members(struct importer *importer, uint64_t limit,
                                      struct psnap_error *error)
{
    struct archive *archive = importer->archive;
    struct archive_entry *entry;
    enum psnap_status status = PSNAP_OK;
    int64_t end = 0; /* of what has been read: the next header, or the block that ends all */
    int result;

    while (!status && (result = archive_read_next_header(archive, &entry)) != ARCHIVE_EOF) {
        const int64_t at = archive_filter_bytes(archive, 0), size = archive_entry_size(entry);
        if (result != ARCHIVE_OK && result != ARCHIVE_WARN)
            return fail(archive, "no sound tar archive", error);
        if (at < 0 || size < 0 || (uint64_t)at > limit || (uint64_t)size > limit - (uint64_t)at)
            return psnap_error_set(
                error, PSNAP_ERROR_LIMIT,
                "the archive expands to more than %" PRIu64 " bytes (--max-total)", limit);
        end = at + (archive_entry_sparse_count(entry) ? 0 : (size + BLOCK - 1) / BLOCK * BLOCK);
        status = take_member(importer, entry, error);
    }
    if (!status && archive_filter_bytes(archive, 0) < end + BLOCK)
        status =
            psnap_error_set(error, PSNAP_ERROR_TRUNCATED, "the archive was cut off: it has no end");
    if (!status && !importer->found)
        status = psnap_error_set(error, PSNAP_ERROR_VALUE, "there is no profile in it");
    return status;
}

enum psnap_status transfer_import(struct adder *adder, FILE *file, uint64_t limit,
                                  const struct repo_told *told, struct psnap_error *error)
{
    struct importer importer = {.adder = adder, .archive = archive_read_new(), .told = told};
    struct psnap_error late;
    enum psnap_status status, finished;

    if (!importer.archive)
        return fail(NULL, "cannot read", error);
    archive_read_support_filter_gzip(importer.archive);
    archive_read_support_filter_zstd(importer.archive);
    archive_read_support_filter_xz(importer.archive);
    archive_read_support_format_tar(importer.archive);
    status = archive_read_open_FILE(importer.archive, file)
                 ? fail(importer.archive, "no tar archive", error)
                 : read_members(&importer, limit, error);
    finished = add_finish(adder, status ? &late : error); /* what came before damage is good */
    archive_read_free(importer.archive);
    free(importer.said);
    return status ? status : finished;
}
