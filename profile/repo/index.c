/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The index as a file: opened, brought up to date, made anew. Who writes at the same time is
 * SQLite's matter. All who have it open share cache/index.lock, so that nobody removes a damaged
 * file while another one has it open; who must not, and whoever can write no file, goes on in
 * memory.
 */
#include "profile/repo/index.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "profile/repo/index_fill.h"

#define SCHEMA_VERSION "2"

static const char schema[] =
    "BEGIN IMMEDIATE;"
    "CREATE TABLE IF NOT EXISTS packs (name TEXT PRIMARY KEY, bytes INTEGER) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS places (id TEXT, pack TEXT, offset INTEGER, stored INTEGER,"
    " PRIMARY KEY (id, pack, offset)) WITHOUT ROWID;"
    "CREATE INDEX IF NOT EXISTS places_by_pack ON places (pack);"
    "CREATE TABLE IF NOT EXISTS notes (id TEXT, pack TEXT, profile TEXT, version INTEGER,"
    " tags TEXT, licence TEXT, input TEXT, stated REAL, added TEXT,"
    " PRIMARY KEY (id, pack)) WITHOUT ROWID;"
    "CREATE INDEX IF NOT EXISTS notes_by_profile ON notes (profile);"
    "CREATE INDEX IF NOT EXISTS notes_by_pack ON notes (pack);"
    "CREATE TABLE IF NOT EXISTS entries (id TEXT PRIMARY KEY, bytes INTEGER,"
    " lost INTEGER, known INTEGER, program TEXT, command TEXT, build_id TEXT, language TEXT,"
    " compiler TEXT, host TEXT, recorded TEXT, model TEXT, functions TEXT, accesses INTEGER,"
    " loads INTEGER, stores INTEGER, atomics INTEGER, loops INTEGER, regions INTEGER,"
    " working_set INTEGER, certified REAL, signature BLOB, tags TEXT, licence TEXT, input TEXT,"
    " stated REAL, added TEXT) WITHOUT ROWID;"
    "CREATE INDEX IF NOT EXISTS entries_by_known ON entries (known) WHERE known = 0;"
    "PRAGMA user_version = " SCHEMA_VERSION ";"
    "COMMIT;";

static const char *const files[] = {INDEX_FILE, INDEX_FILE "-wal", INDEX_FILE "-shm",
                                    INDEX_FILE "-journal"};

/* SQLite opens these by their names: what is no file goes. */
static void remove_links(const struct repo *repo)
{
    struct stat about;

    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        if (!fstatat(repo->cache, files[i], &about, AT_SYMLINK_NOFOLLOW) &&
            (!S_ISREG(about.st_mode) || about.st_nlink > 1))
            unlinkat(repo->cache, files[i], S_ISDIR(about.st_mode) ? AT_REMOVEDIR : 0);
}

/* Shared, for as long as the file is open. */
static bool lock(struct index *index)
{
    int result = -1;

    if (index->repo->cache >= 0)
        index->lock = openat(index->repo->cache, "index.lock",
                             O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
    while (index->lock >= 0 && (result = flock(index->lock, LOCK_SH)) && errno == EINTR)
        continue;
    return !result;
}

/* A damaged file goes, unless somebody else has it open. */
static bool remove_files(const struct index *index)
{
    bool is_ours = !flock(index->lock, LOCK_EX | LOCK_NB);

    for (size_t i = 0; is_ours && i < sizeof files / sizeof files[0]; i++)
        is_ours = !unlinkat(index->repo->cache, files[i], 0) || errno == ENOENT;
    flock(index->lock, LOCK_SH);
    return is_ours;
}

/* Write-ahead logs need memory that all processes share. */
static enum db_journal journal_for(const struct repo *repo)
{
    static const unsigned long networks[] = {0x6969,     0x517B,     0xFF534D42, 0xFE534D42,
                                             0x65735546, 0x5346414F, 0x01021997, 0x00C36400,
                                             0x0BD00BD0, 0x47504653};
    struct statfs about;

    if (fstatfs(repo->cache, &about))
        return DB_ROLLBACK;
    for (size_t i = 0; i < sizeof networks / sizeof networks[0]; i++)
        if ((unsigned long)about.f_type == networks[i])
            return DB_ROLLBACK;
    return DB_WAL;
}

/* Makes the tables where there are none. */
static enum psnap_status need_schema(struct db *db, struct psnap_error *error)
{
    struct db_rows *rows = db_select(db, error, "PRAGMA user_version", "");
    char version[16] = "";
    enum psnap_status status;

    if (!rows)
        return PSNAP_ERROR_IO;
    if (db_next(rows) && db_text(rows, 0))
        snprintf(version, sizeof version, "%s", db_text(rows, 0));
    status = db_end(rows, error);
    if (!status && !strcmp(version, "0"))
        return db_script(db, schema, error);
    if (!status && strcmp(version, SCHEMA_VERSION) != 0)
        status = psnap_error_set(error, PSNAP_ERROR_CORRUPT, "the index: it is of another version");
    return status;
}

static enum psnap_status open_path(struct index *index, const char *path, struct psnap_error *error)
{
    enum psnap_status status = PSNAP_ERROR_IO;

    index->db = db_open(path, path ? journal_for(index->repo) : DB_ROLLBACK, error);
    if (index->db)
        status = need_schema(index->db, error);
    if (!status)
        return PSNAP_OK;
    db_close(index->db);
    index->db = NULL;
    return error->code;
}

static enum psnap_status open_file(struct index *index, struct psnap_error *error)
{
    char path[4200];

    remove_links(index->repo);
    if ((size_t)snprintf(path, sizeof path, "%s/cache/" INDEX_FILE, index->repo->real) >=
        sizeof path)
        return psnap_error_set(error, PSNAP_ERROR_LIMIT, "its path is too long");
    return open_path(index, path, error);
}

/* Another database in the place of one that failed, as `why` says: a damaged file is made anew,
 * once; else the index goes on in memory. What was in memory stays as it failed. */
static enum psnap_status replace(struct index *index, const struct psnap_error *why,
                                 struct psnap_error *error)
{
    const bool is_damaged = why->code == PSNAP_ERROR_CORRUPT && !index->notice[0];
    struct psnap_error again = *why;
    enum psnap_status status = why->code;

    if (index->is_file) {
        db_close(index->db);
        index->db = NULL;
        if (is_damaged)
            snprintf(index->notice, sizeof index->notice,
                     "the index is made anew of the objects: %.150s", why->message);
        index->is_file = is_damaged && remove_files(index) && !open_file(index, &again);
        if (index->is_file || !(status = open_path(index, NULL, &again)))
            return index_sync(index, error);
    }
    if (error)
        *error = again;
    return status;
}

/* The files that the index knows and that are not there any more; those it knows go out of `ids`.
 */
static enum psnap_status compare_files(struct index *index, struct repo_ids *ids,
                                       struct repo_ids *gone, struct psnap_error *error)
{
    struct db_rows *rows = db_select(index->db, error, "SELECT name FROM packs ORDER BY name", "");
    size_t kept = 0, i = 0;
    struct repo_id id;

    if (!rows)
        return PSNAP_ERROR_IO;
    while (db_next(rows)) {
        if (!db_text(rows, 0) || !repo_id_parse(db_text(rows, 0), &id))
            continue;
        while (i < ids->count && memcmp(&ids->items[i], &id, sizeof id) < 0)
            ids->items[kept++] = ids->items[i++];
        if (i < ids->count && repo_id_is_same(&ids->items[i], &id))
            i++;
        else
            repo_ids_add(gone, &id);
    }
    while (i < ids->count)
        ids->items[kept++] = ids->items[i++];
    ids->count = kept;
    return db_end(rows, error);
}

static enum psnap_status end(struct index *index, enum psnap_status status,
                             struct psnap_error *error)
{
    if (!status)
        status = db_script(index->db, "COMMIT", error);
    if (status)
        db_script(index->db, "ROLLBACK", NULL);
    return status;
}

static enum psnap_status take_files(struct index *index, const struct repo_ids *fresh,
                                    const struct repo_ids *gone, struct psnap_error *error)
{
    struct repo_bytes file = {0};
    struct sealed sealed;
    char name[REPO_ID_DIGITS + 1];
    enum psnap_status status = db_script(index->db, "BEGIN IMMEDIATE", error);

    for (size_t i = 0; !status && i < fresh->count; i++) {
        if (repo_read_sealed(index->repo, REPO_OBJECT, &fresh->items[i], &file, &sealed, NULL))
            continue; /* it has gone, or cannot be read: a matter of `verify` */
        index->unusable += sealed.state == SEAL_DAMAGED;
        status = index_fill(index, &fresh->items[i], sealed.body, sealed.size, error);
    }
    for (size_t i = 0; !status && i < gone->count; i++)
        status = index_drop(index, repo_id_text(&gone->items[i], name), error);
    if (!status && fresh->count)
        status = index_derive(index, error);
    repo_bytes_release(&file);
    return end(index, status, error);
}

/* What has come and gone. Where a file has gone another may have come just before, which the list
 * does not have when its directory was read by then: so it is made once more. */
static enum psnap_status find_changes(struct index *index, struct repo_ids *fresh,
                                      struct repo_ids *gone, struct psnap_error *error)
{
    enum psnap_status status = PSNAP_OK;

    for (int pass = 0; !status && pass < 2 && (!pass || gone->count); pass++) {
        gone->count = 0;
        /* the index as it was before the directory is read: else what comes between would seem gone
         */
        status = db_script(index->db, "BEGIN; SELECT 1 FROM packs LIMIT 1;", error);
        if (!status)
            status = repo_files(index->repo, REPO_OBJECT, fresh, NULL, NULL, error);
        if (!status)
            status = compare_files(index, fresh, gone, error);
        status = end(index, status, error);
    }
    return status;
}

enum psnap_status index_sync(struct index *index, struct psnap_error *error)
{
    struct repo_ids fresh = {0}, gone = {0};
    struct psnap_error why;
    enum psnap_status status = find_changes(index, &fresh, &gone, &why);

    if (!status && (fresh.count || gone.count))
        status = take_files(index, &fresh, &gone, &why);
    repo_ids_release(&fresh);
    repo_ids_release(&gone);
    return status ? replace(index, &why, error) : PSNAP_OK;
}

static struct index *open_index(struct repo *repo, bool is_fresh, struct psnap_error *error)
{
    struct index *index = calloc(1, sizeof *index);
    enum psnap_status status;
    struct psnap_error why;

    if (!index) {
        psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
        return NULL;
    }
    index->repo = repo;
    index->lock = -1;
    index->is_file = !is_fresh && lock(index);
    status = index->is_file ? open_file(index, &why) : open_path(index, NULL, &why);
    if (!(status ? replace(index, &why, error) : index_sync(index, error)))
        return index;
    index_close(index);
    return NULL;
}

struct index *index_open(struct repo *repo, struct psnap_error *error)
{
    return open_index(repo, false, error);
}

struct index *index_open_fresh(struct repo *repo, struct psnap_error *error)
{
    return open_index(repo, true, error);
}

void index_close(struct index *index)
{
    if (!index)
        return;
    db_close(index->db);
    if (index->lock >= 0)
        close(index->lock);
    free(index);
}

bool index_doubt(struct index *index)
{
    const struct psnap_error why = {.code = PSNAP_ERROR_VALUE};

    return index->is_file && !replace(index, &why, NULL);
}

enum psnap_status index_remake(struct index *index, struct psnap_error *error)
{
    const struct psnap_error why = {.code = PSNAP_ERROR_CORRUPT, .message = "it lies"};

    index->notice[0] = '\0';
    return replace(index, &why, error);
}

enum psnap_status index_take_pack(struct index *index, const struct repo_id *pack,
                                  const struct repo_bytes *body, struct psnap_error *error)
{
    struct psnap_error why;
    enum psnap_status status = db_script(index->db, "BEGIN IMMEDIATE", &why);

    if (!status)
        status = index_fill(index, pack, body->data, body->size, &why);
    return end(index, status, &why) ? replace(index, &why, error) : PSNAP_OK;
}

enum psnap_status index_forget_lost(struct index *index, struct psnap_error *error)
{
    enum psnap_status status = db_script(index->db, "BEGIN IMMEDIATE", error);

    if (!status)
        status = db_run(index->db, error, "DELETE FROM entries WHERE lost <> 0", "");
    return end(index, status, error);
}

enum psnap_status index_small_packs(struct index *index, uint64_t below, uint64_t *count,
                                    struct psnap_error *error)
{
    struct db_rows *rows = db_select(index->db, error, "SELECT count(*) FROM packs WHERE bytes < ?",
                                     "i", (int64_t)below);

    *count = 0;
    if (!rows)
        return PSNAP_ERROR_IO;
    if (db_next(rows))
        *count = (uint64_t)db_integer(rows, 0);
    return db_end(rows, error);
}
