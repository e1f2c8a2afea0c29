/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The index as a file: opened, checked, brought up to date. One process at a time changes it, under
 * cache/index.lock: it removes the sum, and writes; on closing it empties SQLite's log into the
 * file, and writes the sum anew. So a sum that is there is the file's, or something is damaged;
 * where a writer died there is none, and SQLite's own check is made.
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

#define SCHEMA_VERSION "1"

static const char schema[] =
    "BEGIN IMMEDIATE;"
    "CREATE TABLE IF NOT EXISTS packs (name TEXT PRIMARY KEY) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS places (id TEXT, pack TEXT, offset INTEGER, stored INTEGER,"
    " PRIMARY KEY (id, pack, offset)) WITHOUT ROWID;"
    "CREATE INDEX IF NOT EXISTS places_by_pack ON places (pack);"
    "CREATE TABLE IF NOT EXISTS notes (id TEXT, pack TEXT, profile TEXT, version INTEGER,"
    " tags TEXT, licence TEXT, input TEXT, stated REAL, added TEXT,"
    " PRIMARY KEY (id, pack)) WITHOUT ROWID;"
    "CREATE INDEX IF NOT EXISTS notes_by_profile ON notes (profile);"
    "CREATE INDEX IF NOT EXISTS notes_by_pack ON notes (pack);"
    "CREATE TABLE IF NOT EXISTS entries (id TEXT PRIMARY KEY, bytes INTEGER, stored INTEGER,"
    " lost INTEGER, known INTEGER, program TEXT, command TEXT, build_id TEXT, language TEXT,"
    " compiler TEXT, host TEXT, recorded TEXT, model TEXT, functions TEXT, accesses INTEGER,"
    " loads INTEGER, stores INTEGER, atomics INTEGER, loops INTEGER, regions INTEGER,"
    " working_set INTEGER, certified REAL, signature BLOB, tags TEXT, licence TEXT, input TEXT,"
    " stated REAL, added TEXT);"
    "CREATE INDEX IF NOT EXISTS entries_by_known ON entries (known) WHERE known = 0;"
    "PRAGMA user_version = " SCHEMA_VERSION ";"
    "COMMIT;";

static const char *const files[] = {INDEX_SUM, INDEX_FILE, INDEX_FILE "-wal", INDEX_FILE "-shm",
                                    INDEX_FILE "-journal"};

static void remove_files(const struct repo *repo)
{
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        unlinkat(repo->cache, files[i], 0);
}

/* SQLite opens these by their names: what is no file goes. */
static void remove_links(const struct repo *repo)
{
    struct stat about;

    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        if (!fstatat(repo->cache, files[i], &about, AT_SYMLINK_NOFOLLOW) &&
            (!S_ISREG(about.st_mode) || about.st_nlink > 1))
            unlinkat(repo->cache, files[i], 0);
}

static bool lock(struct index *index)
{
    int result;

    index->lock = index->repo->cache < 0 ? -1
                                         : openat(index->repo->cache, "index.lock",
                                                  O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (index->lock < 0)
        return false;
    do
        result = flock(index->lock, LOCK_EX);
    while (result && errno == EINTR);
    if (!result)
        return true;
    close(index->lock);
    index->lock = -1;
    return false;
}

static void unlock(struct index *index)
{
    if (index->lock >= 0)
        close(index->lock);
    index->lock = -1;
}

static bool read_file(int at, const char *name, struct repo_bytes *bytes)
{
    const int fd = openat(at, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = -1;

    bytes->size = 0;
    while (fd >= 0) {
        uint8_t *room = repo_bytes_room(bytes, (size_t)1 << 20);
        n = room ? read(fd, room, (size_t)1 << 20) : -1;
        if (n <= 0)
            break;
        bytes->size += (size_t)n;
    }
    if (fd >= 0)
        close(fd);
    return n == 0;
}

enum sum_state { SUM_HOLDS, SUM_IS_WRONG, SUM_IS_MISSING };

/* Whether the file is what its sum says; its bytes are read. */
static enum sum_state check_sum(const struct repo *repo, struct repo_bytes *bytes)
{
    struct repo_bytes sum = {0};
    struct stat log;
    struct repo_id id;
    char text[REPO_ID_DIGITS + 2];
    enum sum_state state = SUM_IS_MISSING;

    if (fstatat(repo->cache, INDEX_FILE "-wal", &log, AT_SYMLINK_NOFOLLOW))
        log.st_size = 0;
    /* where there is a log, who wrote it has died: SQLite reads it */
    if (!log.st_size && read_file(repo->cache, INDEX_SUM, &sum) &&
        read_file(repo->cache, INDEX_FILE, bytes)) {
        repo_id_of(bytes->data, bytes->size, &id);
        memcpy(repo_id_text(&id, text) + REPO_ID_DIGITS, "\n", 2);
        state = sum.size == REPO_ID_DIGITS + 1 && !memcmp(sum.data, text, sum.size) ? SUM_HOLDS
                                                                                    : SUM_IS_WRONG;
    }
    repo_bytes_release(&sum);
    return state;
}

/* After the file was written. Without sum the next one checks more. */
static void write_sum(struct index *index)
{
    struct repo_bytes bytes = {0};
    struct repo_id id;
    char text[REPO_ID_DIGITS + 2];

    if (db_checkpoint(index->db) && db_read_file(index->db, &bytes)) {
        repo_id_of(bytes.data, bytes.size, &id);
        repo_id_text(&id, text);
        text[REPO_ID_DIGITS] = '\n';
        repo_commit_cache(index->repo, INDEX_SUM, text, REPO_ID_DIGITS + 1, NULL);
    }
    repo_bytes_release(&bytes);
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

static bool has_version(struct db *db, const char *version, struct psnap_error *error)
{
    struct db_rows *rows = db_select(db, error, "PRAGMA user_version", "");
    bool has = false;

    if (!rows)
        return false;
    has = db_next(rows) && db_text(rows, 0) && !strcmp(db_text(rows, 0), version);
    if (!has)
        psnap_error_set(error, PSNAP_ERROR_VERSION, "it is of another version");
    return !db_end(rows, error) && has;
}

static bool has_schema(struct db *db)
{
    return has_version(db, SCHEMA_VERSION, NULL);
}

static struct db *open_path(const struct index *index, struct psnap_error *error)
{
    char path[4200];

    if ((size_t)snprintf(path, sizeof path, "%s/cache/" INDEX_FILE, index->repo->real) >=
        sizeof path)
        return NULL;
    return db_open(path, journal_for(index->repo), error);
}

/* Opens the file under its lock; false: there is no good one, and the error says why. */
static bool open_file(struct index *index, bool is_checked, struct psnap_error *error)
{
    index->db = open_path(index, error);
    if (index->db && has_version(index->db, SCHEMA_VERSION, error) &&
        (is_checked || db_is_sound(index->db, error)))
        return true;
    db_close(index->db);
    index->db = NULL;
    return false;
}

/* Whoever made it has died, or found no room, before anything was in it. */
static bool is_unfinished(const struct index *index)
{
    struct db *db = open_path(index, NULL);
    const bool is_empty = db && has_version(db, "0", NULL) && db_is_sound(db, NULL);

    db_close(db);
    return is_empty;
}

static bool make_file(struct index *index)
{
    remove_files(index->repo);
    index->db = open_path(index, NULL);
    if (index->db && !db_script(index->db, schema, NULL))
        return true;
    db_close(index->db);
    index->db = NULL;
    remove_files(index->repo);
    return false;
}

static void open_or_make_file(struct index *index)
{
    struct psnap_error why = {.message = "it is not what its sum says"};
    struct repo_bytes bytes = {0};
    enum sum_state state;

    if (!lock(index))
        return;
    remove_links(index->repo);
    state = check_sum(index->repo, &bytes);
    repo_bytes_release(&bytes);
    if (!faccessat(index->repo->cache, INDEX_FILE, F_OK, 0)) {
        index->is_file = state != SUM_IS_WRONG && open_file(index, state == SUM_HOLDS, &why);
        index->is_written = index->is_file && state == SUM_IS_MISSING; /* it gets one */
        if (!index->is_file && !is_unfinished(index))
            snprintf(index->notice, sizeof index->notice,
                     "the index is made anew of the objects: %.120s", why.message);
    }
    if (!index->is_file)
        index->is_file = make_file(index);
    if (!index->is_file)
        unlock(index);
}

/* Where nothing can be written: what a good file says, or nothing yet. */
static bool open_memory(struct index *index, bool is_fresh, struct psnap_error *error)
{
    struct repo_bytes bytes = {0};

    if (!is_fresh && index->repo->cache >= 0 && check_sum(index->repo, &bytes) == SUM_HOLDS)
        index->db = db_open_bytes(bytes.data, bytes.size, NULL);
    if (index->db && !has_schema(index->db)) {
        db_close(index->db);
        index->db = NULL;
    }
    repo_bytes_release(&bytes);
    if (index->db)
        return true;
    index->db = db_open(NULL, DB_ROLLBACK, error);
    return index->db && !db_script(index->db, schema, error);
}

/* Goes on in memory when the file refuses. */
static bool leave_file(struct index *index, struct psnap_error *error)
{
    const bool is_corrupt = db_is_corrupt(index->db);

    db_close(index->db);
    index->db = NULL;
    if (is_corrupt)
        remove_files(index->repo);
    else
        unlinkat(index->repo->cache, INDEX_SUM, 0);
    unlock(index);
    index->is_file = false;
    return open_memory(index, true, error);
}

static enum psnap_status begin(struct index *index, struct psnap_error *error)
{
    if (index->is_file) {
        if (index->lock < 0)
            lock(index);
        unlinkat(index->repo->cache, INDEX_SUM, 0);
    }
    return db_script(index->db, "BEGIN IMMEDIATE", error);
}

static enum psnap_status end(struct index *index, enum psnap_status status,
                             struct psnap_error *error)
{
    if (!status)
        status = db_script(index->db, "COMMIT", error);
    if (status)
        db_script(index->db, "ROLLBACK", NULL);
    else
        index->is_written = index->is_file;
    unlock(index);
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

static enum psnap_status take_files(struct index *index, const struct repo_ids *fresh,
                                    const struct repo_ids *gone, struct psnap_error *error)
{
    struct repo_bytes file = {0};
    struct sealed sealed;
    char name[REPO_ID_DIGITS + 1];
    enum psnap_status status = begin(index, error);

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
        status = repo_files(index->repo, REPO_OBJECT, fresh, NULL, NULL, error);
        if (!status)
            status = compare_files(index, fresh, gone, error);
    }
    return status;
}

enum psnap_status index_sync(struct index *index, struct psnap_error *error)
{
    struct repo_ids fresh = {0}, gone = {0};
    enum psnap_status status = find_changes(index, &fresh, &gone, error);

    if (!status && (fresh.count || gone.count))
        status = take_files(index, &fresh, &gone, error);
    unlock(index);
    repo_ids_release(&fresh);
    repo_ids_release(&gone);
    if (status && index->is_file && leave_file(index, error))
        status = index_sync(index, error);
    return status;
}

static struct index *open_index(struct repo *repo, bool is_fresh, struct psnap_error *error)
{
    struct index *index = calloc(1, sizeof *index);

    if (!index) {
        psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
        return NULL;
    }
    index->repo = repo;
    index->lock = -1;
    if (!is_fresh)
        open_or_make_file(index);
    if ((index->db || open_memory(index, is_fresh, error)) && !index_sync(index, error))
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

struct index *index_inspect(struct repo *repo, char *problem, size_t size)
{
    struct index *index = calloc(1, sizeof *index);
    struct repo_bytes bytes = {0};
    struct psnap_error why;
    enum sum_state state = SUM_IS_MISSING;

    problem[0] = '\0';
    if (!index)
        return NULL;
    index->repo = repo;
    index->lock = -1;
    lock(index);
    if (repo->cache >= 0)
        state = check_sum(repo, &bytes);
    if (state == SUM_IS_WRONG) {
        snprintf(problem, size, "it is not what its sum (cache/" INDEX_SUM ") says");
    } else if (state == SUM_HOLDS) {
        index->db = db_open_bytes(bytes.data, bytes.size, NULL);
        if (!index->db || !has_schema(index->db))
            snprintf(problem, size, "it is no index of this version");
    } else if (repo->cache >= 0 && !faccessat(repo->cache, INDEX_FILE, F_OK, AT_SYMLINK_NOFOLLOW)) {
        remove_links(repo);
        index->is_file = open_file(index, false, &why);
        if (!index->is_file && !is_unfinished(index))
            snprintf(problem, size, "%s", why.message);
    }
    unlock(index);
    repo_bytes_release(&bytes);
    if (index->db && !problem[0] && !index_sync(index, NULL))
        return index;
    index_close(index);
    return NULL;
}

void index_close(struct index *index)
{
    if (!index)
        return;
    if (index->is_written && index->is_file && (index->lock >= 0 || lock(index)))
        write_sum(index);
    db_close(index->db);
    unlock(index);
    free(index);
}

enum psnap_status index_take_pack(struct index *index, const struct repo_id *pack,
                                  const struct repo_bytes *body, struct psnap_error *error)
{
    enum psnap_status status = begin(index, error);

    if (!status)
        status = index_fill(index, pack, body->data, body->size, error);
    status = end(index, status, error);
    if (status && index->is_file && leave_file(index, error))
        status = index_sync(index, error);
    return status;
}

enum psnap_status index_forget_lost(struct index *index, struct psnap_error *error)
{
    enum psnap_status status = begin(index, error);

    if (!status)
        status = db_run(index->db, error, "DELETE FROM entries WHERE lost <> 0", "");
    return end(index, status, error);
}
