/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The index: the columns of all profiles, in SQLite, and the only file that knows it. It is a
 * cache. On opening it is compared with the names of the objects' files: new ones are read, rows of
 * files that have gone are removed. An index that is missing, damaged or of another schema is made
 * anew; where none can be written it is in memory.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <xxhash.h>

#include "formats/base/parallel.h"
#include "profile/repo/repo.h"

enum { BATCH = 256 };
#define INDEX "cache/index.sqlite"

/* The tables of the index, as SQLite keeps their text, with a number for what is in them. */
#define NAME(column, kind) ", " #column
#define COLUMNS "id" REPO_COLUMNS(NAME)
#define SCHEMA(maybe)                                                                              \
    "CREATE TABLE " maybe "profiles (" COLUMNS ", added, PRIMARY KEY (id) /* 3 */) WITHOUT ROWID;" \
    "CREATE TABLE " maybe "tags (id, tag, PRIMARY KEY (id, tag)) WITHOUT ROWID"

/* Columns of the object in JSON that is ?2 */
#define EXTRACT_TEXT(column) ", coalesce(json_extract(?2, '$." #column "'), '')"
#define EXTRACT_NUMBER(column) ", json_extract(?2, '$." #column "')"
#define EXTRACT_WORDS(column)                                                                      \
    ", (SELECT coalesce(group_concat(value, ' '), '') FROM json_each(?2, '$." #column "'))"
#define EXTRACT_LINES(column)                                                                      \
    ", (SELECT coalesce(group_concat(value || char(10), ''), '') FROM (SELECT DISTINCT value FROM" \
    " json_each(?2, '$." #column "') ORDER BY value))"
#define EXTRACT(column, kind) EXTRACT_##kind(column)

static enum psnap_status fail(sqlite3 *db, struct psnap_error *error)
{
    return psnap_error_set(error, PSNAP_ERROR_IO, "the index: %s; 'psnap repo verify' looks at it",
                           sqlite3_errmsg(db));
}

static int script(sqlite3 *db, const char *sql)
{
    return sqlite3_exec(db, sql, NULL, NULL, NULL);
}

/* Prepares a statement with up to two texts for its first places. */
static sqlite3_stmt *prepare(sqlite3 *db, const char *sql, const char *first, const char *second)
{
    sqlite3_stmt *statement = NULL;

    if (!sqlite3_prepare_v2(db, sql, -1, &statement, NULL)) {
        sqlite3_bind_text(statement, 1, first, -1, SQLITE_STATIC);
        sqlite3_bind_text(statement, 2, second, -1, SQLITE_STATIC);
    }
    return statement;
}

/* Runs one. Returns SQLite's code, SQLITE_ROW where there is a result. */
static int run(sqlite3 *db, const char *sql, const char *first, const char *second)
{
    sqlite3_stmt *statement = prepare(db, sql, first, second);
    const int result = statement ? sqlite3_step(statement) : sqlite3_errcode(db);

    sqlite3_finalize(statement);
    return result == SQLITE_DONE ? SQLITE_OK : result;
}

/* ------------------------------------------------------------------- the objects' files */

static const char add[] = "INSERT OR REPLACE INTO profiles SELECT ?1" REPO_COLUMNS(
    EXTRACT) ", strftime('%%Y-%%m-%%dT%%H:%%M:%%SZ', %lld, 'unixepoch')";

/* A profile is added when its file is written. */
static int insert_profile(const struct repo *repo, sqlite3 *db, const struct repo_id *id,
                          const char *facts)
{
    char path[REPO_PATH], sql[sizeof add + 32];
    struct stat about = {0};

    fstatat(repo->root, store_path(id, "", path), &about, AT_SYMLINK_NOFOLLOW);
    snprintf(sql, sizeof sql, add, (long long)about.st_mtim.tv_sec);
    return run(db, sql, id->text, facts);
}

struct file {
    struct repo_id id;
    char *facts;              /* owned */
    struct psnap_error error; /* it cannot be read */
};

struct sync {
    struct repo *repo;
    struct psnap_error error; /* files cannot be listed */
    struct file files[BATCH]; /* that the index does not have */
    size_t count;
    char sum[16]; /* of the hashes of all files' names, not 0 */
};

static const char is_same[] =
    "SELECT 1 FROM pragma_user_version WHERE user_version = CAST(?1 AS INTEGER)";

/* Lists the archive's files, and sums up their hashes. */
static int list_names(struct sync *sync, struct repo_names *names)
{
    uint32_t sum = 0;

    *names = (struct repo_names){NULL};
    if (store_list(sync->repo, "objects", names, &sync->error))
        return SQLITE_IOERR;
    for (size_t i = 0; i < names->count; i++)
        sum += (uint32_t)XXH3_64bits(names->items[i], strlen(names->items[i]));
    snprintf(sync->sum, sizeof sync->sum, "%u", 1 + sum % INT32_MAX);
    return SQLITE_OK;
}

/* Puts profiles and tags of these names into the table `files`. */
static int fill_files(sqlite3 *db, const struct repo_names *names)
{
    int result = script(db, "SAVEPOINT fill; DELETE FROM files");
    sqlite3_stmt *insert = prepare(db, "INSERT INTO files VALUES (?1, ?2)", NULL, NULL);
    struct repo_id id;

    for (size_t i = 0; i < names->count && !result; i++) {
        const char *tag = store_parse(names->items[i], &id);
        if (tag) {
            sqlite3_bind_text(insert, 1, id.text, -1, SQLITE_STATIC);
            sqlite3_bind_text(insert, 2, tag, -1, SQLITE_STATIC);
            sqlite3_step(insert);
            result = sqlite3_reset(insert);
        }
    }
    sqlite3_finalize(insert);
    script(db, "RELEASE fill");
    return result;
}

static int keep_id(void *context, int count, char **values, char **names)
{
    struct sync *sync = context;

    (void)count, (void)names;
    repo_id_parse(values[0], "", &sync->files[sync->count++].id);
    return 0;
}

static void read_file(void *context, unsigned thread, size_t i)
{
    struct sync *sync = context;
    struct file *file = &sync->files[i];
    struct repo_bytes yaml;

    (void)thread;
    file->facts = NULL;
    if (object_read(sync->repo, &file->id, &yaml, &file->error))
        return;
    file->facts = facts_of(&yaml, file->id.text, &file->error);
    free(yaml.data);
}

/* Takes in profiles that were read. Those that cannot be are no longer listed. */
static int take_in(struct sync *sync, sqlite3 *db)
{
    int result = script(db, "BEGIN IMMEDIATE");

    for (size_t i = 0; i < sync->count; i++) {
        struct file *file = &sync->files[i];
        if (!result)
            result = file->facts ? insert_profile(sync->repo, db, &file->id, file->facts)
                                 : run(db, "DELETE FROM files WHERE id = ?1", file->id.text, NULL);
        sync->repo->unusable += !file->facts;
        free(file->facts);
    }
    if (!result)
        result = script(db, "COMMIT");
    if (result)
        script(db, "ROLLBACK");
    return result;
}

static const char
    new_files[] = "SELECT id FROM files WHERE tag = '' AND NOT EXISTS (SELECT 1 FROM profiles WHERE"
                  " profiles.id = files.id) LIMIT 256",
    has_changed[] =
        "SELECT 1 WHERE (SELECT count(*) FROM profiles) + (SELECT count(*) FROM tags) <>"
        " (SELECT count(*) FROM files) OR"
        " EXISTS (SELECT * FROM files WHERE tag <> '' EXCEPT SELECT * FROM tags)",
    update[] = "DELETE FROM profiles WHERE id NOT IN (SELECT id FROM files);"
               "DELETE FROM tags WHERE (id, tag) NOT IN files;"
               "INSERT OR IGNORE INTO tags SELECT * FROM files WHERE tag <> ''";

/* Removes what has gone, adds tags, and has it known that the index is as the files are. They are
 * listed while nobody else can write: who adds a profile writes its file first, then its row. */
static int settle(struct sync *sync, sqlite3 *db)
{
    struct repo_names names = {NULL};
    char version[64];
    int result = script(db, "BEGIN IMMEDIATE");

    if (result)
        return result;
    result = list_names(sync, &names);
    if (!result)
        result = fill_files(db, &names);
    if (!result)
        result = script(db, update);
    if (!result && !sync->repo->unusable && run(db, new_files, NULL, NULL) != SQLITE_ROW) {
        snprintf(version, sizeof version, "PRAGMA user_version = %s", sync->sum);
        result = script(db, version);
    }
    script(db, result ? "ROLLBACK" : "COMMIT");
    store_list_release(&names);
    return result;
}

static int bring_up_to_date(struct sync *sync, sqlite3 *db)
{
    struct repo_names names;
    int result = list_names(sync, &names), settled;

    if (!result)
        result = run(db, is_same, sync->sum, NULL);
    if (!result)
        result = fill_files(db, &names);
    store_list_release(&names);
    if (result == SQLITE_ROW)
        return SQLITE_OK;
    do {
        sync->count = 0;
        if (!result)
            result = sqlite3_exec(db, new_files, keep_id, sync, NULL);
        if (!result && sync->count) {
            dictionaries_load(sync->repo, NULL); /* the files may be newer */
            psnap_parallel(sync->count, read_file, sync);
            result = take_in(sync, db);
        }
    } while (!result && sync->count);
    if (!result)
        result = run(db, has_changed, NULL, NULL);
    if (result && result != SQLITE_ROW)
        return result;
    settled = settle(sync, db);
    return result == SQLITE_ROW ? settled : SQLITE_OK; /* the rows are right also if that is not */
}

/* ---------------------------------------------------------------------------- opening */

/* Write-ahead logs need memory that all processes share: of these file systems it is known. */
static bool is_local(int folder)
{
    struct statfs about;
    const unsigned long type = fstatfs(folder, &about) ? 0 : (unsigned long)about.f_type;

    return type == EXT4_SUPER_MAGIC || type == XFS_SUPER_MAGIC || type == BTRFS_SUPER_MAGIC ||
           type == F2FS_SUPER_MAGIC || type == TMPFS_MAGIC || type == OVERLAYFS_SUPER_MAGIC;
}

/* Where an index comes from: the first that can be had. */
enum origin { FROM_FILE, FROM_RESET_FILE, FROM_READ_ONLY_FILE, FROM_NOTHING };

/* Whoever made the file: nothing in its schema is run. */
static sqlite3 *open_database(const struct repo *repo, enum origin origin)
{
    static const char *const names[] = {"%s/" INDEX, "%s/" INDEX, "file:%s/" INDEX "?immutable=1",
                                        ":memory:"};
    char *real = realpath(repo->path, NULL),
         *name = sqlite3_mprintf(names[origin], real ? real : repo->path);
    const int flags = origin == FROM_READ_ONLY_FILE ? SQLITE_OPEN_READONLY | SQLITE_OPEN_URI
                                                    : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    sqlite3 *db = NULL;

    sqlite3_open_v2(name, &db, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW, NULL);
    sqlite3_free(name);
    free(real);
    sqlite3_busy_timeout(db, 10000);
    if (origin == FROM_RESET_FILE) { /* as SQLite documents it: others may have it open */
        run(db, "PRAGMA user_version", NULL, NULL);
        sqlite3_db_config(db, SQLITE_DBCONFIG_RESET_DATABASE, 1, (int *)NULL);
        script(db, "VACUUM");
        sqlite3_db_config(db, SQLITE_DBCONFIG_RESET_DATABASE, 0, (int *)NULL);
    }
    if (origin <= FROM_RESET_FILE)
        script(db, is_local(repo->root) ? "PRAGMA journal_mode = WAL; PRAGMA mmap_size = 268435456"
                                        : "PRAGMA journal_mode = TRUNCATE");
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, (int *)NULL);
    script(db,
           "PRAGMA temp_store = MEMORY; PRAGMA cache_size = -65536; PRAGMA synchronous = NORMAL;"
           "PRAGMA cell_size_check = ON; CREATE TEMP TABLE files (id, tag, PRIMARY KEY (id,"
           " tag)) WITHOUT ROWID");
    return db;
}

/* Finds whether the tables are there, and sound, and makes them where there are none. There are no
 * indexes beside them, which a quick check would not compare. */
static int check(sqlite3 *db)
{
    static const char is_sound[] =
        "SELECT 1 FROM (SELECT group_concat(sql, ';') || quick_check AS state FROM"
        " pragma_quick_check(1), (SELECT sql FROM sqlite_master WHERE sql IS NOT NULL"
        " ORDER BY name)) WHERE state = ?1";
    int result = run(db, "SELECT 1 FROM sqlite_master", NULL, NULL);

    if (!result)
        return script(db, "BEGIN IMMEDIATE;" SCHEMA("IF NOT EXISTS ") ";COMMIT");
    if (result == SQLITE_ROW)
        result = run(db, is_sound, SCHEMA("") "ok", NULL);
    return result == SQLITE_ROW ? SQLITE_OK : result ? result : SQLITE_CORRUPT;
}

/* Opens the index, and brings it up to date. */
static enum psnap_status need_index(struct repo *repo, struct psnap_error *error)
{
    static char all[] = "*\n"; /* git is to leave the cache out */
    struct sync *sync = calloc(1, sizeof *sync);
    int result = SQLITE_OK;

    if (!sync)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    store_write_new(repo, "cache/.gitignore", &(struct repo_bytes){all, sizeof all - 1}, false);
    sync->repo = repo;
    for (enum origin origin = FROM_FILE; origin <= FROM_NOTHING && !repo->index; origin++) {
        const bool is_damaged =
            result == SQLITE_CORRUPT || result == SQLITE_NOTADB || result == SQLITE_ERROR;
        if ((origin == FROM_RESET_FILE && !is_damaged) ||
            (origin == FROM_READ_ONLY_FILE && result == SQLITE_BUSY))
            continue;
        repo->is_index_damaged |= is_damaged;
        repo->unusable = 0;
        repo->index = open_database(repo, origin);
        result = check(repo->index);
        if (!result)
            result = bring_up_to_date(sync, repo->index);
        if (result) {
            fail(repo->index, error);
            if (sync->error.code && error)
                *error = sync->error;
            sqlite3_close(repo->index);
            repo->index = NULL;
        }
    }
    free(sync);
    return repo->index ? PSNAP_OK : PSNAP_ERROR_IO;
}

bool repo_is_there(const char *path)
{
    char mark[4096];

    snprintf(mark, sizeof mark, "%s/" REPO_FORMAT, path);
    return !access(mark, F_OK);
}

/* Finds the first file of a folder whose name begins so and is not hidden; false: there is none, or
 * nothing can be listed. */
static bool find_file(int folder, const char *begin, char name[256])
{
    const int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = copy < 0 ? NULL : fdopendir(copy);
    const struct dirent *entry = NULL;

    while (directory && (entry = readdir(directory)) &&
           (entry->d_name[0] == '.' || strncmp(entry->d_name, begin, strlen(begin)) != 0))
        ;
    snprintf(name, 256, "%s", entry ? entry->d_name : "");
    if (directory)
        closedir(directory);
    return entry != NULL;
}

struct repo *repo_open(const char *path, struct psnap_error *error)
{
    struct repo *repo = calloc(1, sizeof *repo);
    char other[256];

    if (repo)
        *repo = (struct repo){.path = strdup(path),
                              .root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    if (!repo || !repo->path)
        psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    else if (repo->root < 0)
        psnap_error_file(error, errno, "open", path);
    else if (!repo_is_there(path) && find_file(repo->root, REPO_LAYOUT, other))
        psnap_error_set(error, PSNAP_ERROR_VALUE,
                        "'%s' has the layout '%.100s' of another psnap, this one has '" REPO_FORMAT
                        "': export with that one, and import",
                        path, other);
    else if (!repo_is_there(path))
        psnap_error_set(error, PSNAP_ERROR_VALUE,
                        "'%s' is no repository of profiles: '" REPO_FORMAT
                        "' is not in it; 'psnap repo init' makes one",
                        path);
    else if (!dictionaries_load(repo, error))
        return repo;
    repo_close(repo);
    return NULL;
}

enum psnap_status repo_init(const char *path, struct psnap_error *error)
{
    static char text[] = REPO_FORMAT_TEXT;
    const struct repo_bytes mark = {text, sizeof text - 1};
    const bool is_new = !mkdir(path, 0777);
    const struct repo repo = {.root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    enum psnap_status status = PSNAP_OK;
    char other[256];

    if (repo.root < 0)
        status = psnap_error_file(error, errno, "create", path);
    else if (find_file(repo.root, "", other))
        status = psnap_error_set(error, PSNAP_ERROR_EXISTS,
                                 repo_is_there(path) ? "'%s' is a repository already"
                                                     : "'%s' is not empty, and no repository",
                                 path);
    else if (!store_write_new(&repo, REPO_FORMAT, &mark, true) && errno != EEXIST) {
        status = psnap_error_file(error, errno, "write", path);
        unlinkat(repo.root, REPO_FORMAT, 0);
    }
    if (status && is_new)
        rmdir(path);
    if (repo.root >= 0)
        close(repo.root);
    return status;
}

void repo_close(struct repo *repo)
{
    if (!repo)
        return;
    sqlite3_close(repo->index);
    dictionaries_release(repo);
    if (repo->root >= 0)
        close(repo->root);
    free(repo->path);
    free(repo);
}

/* ---------------------------------------------------------------------------- asking */

enum psnap_status repo_list(struct repo *repo, const struct repo_query *query,
                            int (*take)(void *context, int count, char **row, char **names),
                            void *context, struct psnap_error *error)
{
    static const char select[] =
        "SELECT * FROM (SELECT *, coalesce((SELECT group_concat(tag || ' ', '') FROM (SELECT"
        " tag FROM tags WHERE tags.id = profiles.id ORDER BY tag)), '') AS tags FROM profiles)"
        " WHERE id IS NOT NULL%s ORDER BY program, recorded, command, id LIMIT %lld";
    const long long limit = query->limit ? (long long)query->limit : -1;
    char *where = query_conditions(query, error), *sql = NULL;
    enum psnap_status status = where ? need_index(repo, error) : error->code;
    int result;

    if (!status) {
        sql = sqlite3_mprintf(select, where, limit);
        result = sqlite3_exec(repo->index, sql, take, context, NULL);
        if (result && result != SQLITE_ABORT)
            status = fail(repo->index, error);
    }
    sqlite3_free(sql);
    free(where);
    return status;
}

/* ---------------------------------------------------------------------- what is added */

void index_add(struct repo *repo, const struct add_item *items, size_t count)
{
    char tag[REPO_TAG_BYTES + 1];

    if (need_index(repo, NULL) || script(repo->index, "BEGIN IMMEDIATE; PRAGMA user_version = 0"))
        return;
    for (size_t i = 0; i < count; i++) {
        const char *rest = items[i].error.code ? "" : items[i].tags;
        if (items[i].facts && !items[i].error.code)
            insert_profile(repo, repo->index, &items[i].id, items[i].facts);
        while (repo_next_tag(&rest, tag))
            run(repo->index, "INSERT OR IGNORE INTO tags VALUES (?1, ?2)", items[i].id.text, tag);
    }
    if (script(repo->index, "COMMIT"))
        script(repo->index, "ROLLBACK");
}

/* ----------------------------------------------------------------------- verification */

/* Reads files, and corrects rows that differ from them; returns how many are whole. */
static size_t verify_files(struct sync *sync)
{
    static const char differs[] =
        "SELECT ?1" REPO_COLUMNS(EXTRACT) " EXCEPT SELECT " COLUMNS " FROM profiles WHERE id = ?1";
    struct repo *repo = sync->repo;
    char path[REPO_PATH];
    size_t whole = 0;

    psnap_parallel(sync->count, read_file, sync);
    for (size_t i = 0; i < sync->count; i++) {
        struct file *file = &sync->files[i];
        if (!file->facts)
            repo->tell(repo->context, true, store_path(&file->id, "", path), file->error.message);
        else if (repo->index && run(repo->index, differs, file->id.text, file->facts)) {
            repo->is_index_damaged = true;
            insert_profile(repo, repo->index, &file->id, file->facts);
        }
        whole += file->facts != NULL;
        free(file->facts);
    }
    sync->count = 0;
    return whole;
}

/* A row of a profile that was not among the files: it was added since then, or there is none. */
static int check_row(void *context, int count, char **values, char **names)
{
    struct repo *repo = context;
    struct repo_id id;
    char path[REPO_PATH];

    (void)count, (void)names;
    if (!repo_id_parse(values[0], "", &id) ||
        faccessat(repo->root, store_path(&id, "", path), F_OK, AT_SYMLINK_NOFOLLOW))
        repo->is_index_damaged = true;
    return 0;
}

enum psnap_status repo_verify(struct repo *repo, uint64_t *profiles, struct psnap_error *error)
{
    struct sync *sync = calloc(1, sizeof *sync);
    struct repo_names names = {NULL};
    struct repo_bytes format = {NULL, 0};
    enum psnap_status status;

    if (!sync)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    if (!store_read(repo, REPO_FORMAT, &format) || strcmp(format.data, REPO_FORMAT_TEXT) != 0)
        repo->tell(repo->context, true, REPO_FORMAT, "it says something else");
    dictionaries_check(repo);
    sync->repo = repo;
    status = store_list(repo, "objects", &names, error);
    need_index(repo, NULL); /* it has a row of all of them then; without one some were not listed */
    for (size_t i = 0; i < names.count; i++) {
        struct repo_id *id = &sync->files[sync->count].id;
        const char *tag = store_parse(names.items[i], id);
        if (!tag)
            repo->tell(repo->context, false, names.items[i], "no file of an archive");
        sync->count += tag && !*tag;
        if (sync->count == BATCH || i + 1 == names.count)
            *profiles += verify_files(sync);
    }
    if (repo->index && !fill_files(repo->index, &names)) {
        sqlite3_exec(repo->index, "SELECT id FROM profiles WHERE id NOT IN (SELECT id FROM files)",
                     check_row, repo, NULL);
        settle(sync, repo->index);
    }
    if (repo->is_index_damaged)
        repo->tell(repo->context, true, INDEX,
                   "it says something else than the objects; it is made anew if it can be written");
    store_list_release(&names);
    free(format.data);
    free(sync);
    return status;
}
