/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The index (index.h), and the only file that knows SQLite.
 */
#include "profile/repo/index.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include "formats/base/parallel.h"

enum { BATCH = 256 };
#define VERSION "1" /* of the columns and of what is in them */
#define NOTE ".note"
#define INDEX "cache/index.sqlite"

#define TEXTS(X)                                                                                   \
    X(program)                                                                                     \
    X(command) X(build_id) X(language) X(compiler) X(host) X(recorded) X(model) X(functions)
#define COUNTS(X) X(accesses) X(loads) X(stores) X(atomics) X(loops) X(regions) X(working_set)
#define NAME(column) ", " #column
#define EXTRACT(column) ", json_extract(?5, '$." #column "')"
#define SHOWN(column) ", coalesce(" #column ", '') AS " #column
#define COLUMNS                                                                                    \
    "id, bytes, signature" TEXTS(NAME) COUNTS(NAME) ", certified, tags, licence, input, stated"

/* The tables of the index, as SQLite keeps their text. */
#define SCHEMA(maybe)                                                                              \
    "CREATE TABLE " maybe "notes (name PRIMARY KEY, id, said);"                                    \
    "CREATE INDEX " maybe "notes_by_id ON notes (id);"                                             \
    "CREATE TABLE " maybe "profiles (added, " COLUMNS ", PRIMARY KEY (id))"
static const char schema[] =
    "BEGIN IMMEDIATE;" SCHEMA("IF NOT EXISTS ") "; PRAGMA application_id = " VERSION "; COMMIT",
                  schema_is[] = "SELECT group_concat(sql, ';') FROM (SELECT sql FROM sqlite_master "
                                "WHERE sql IS NOT NULL ORDER BY name)";

/* Of notes, which are JSON, all tags hold together, and of the rest what was said last. */
#define LATEST "ORDER BY json_extract(said, '$.time') DESC, name DESC LIMIT 1"
#define SAID(key)                                                                                  \
    "(SELECT json_extract(said, '$." key "') AS value FROM notes WHERE notes.id = profiles.id"     \
    " AND value IS NOT NULL " LATEST ")"
#define SETTLE                                                                                     \
    "UPDATE profiles SET licence = " SAID("licence") ", input = " SAID(                            \
        "input") ", stated = " SAID("fidelity") ", tags = (SELECT ' ' || group_concat(tag, ' ') "  \
                                                "|| ' ' FROM"                                      \
                                                " (SELECT DISTINCT replace(value, ' ', '_') AS "   \
                                                "tag FROM notes, json_each(said, '$.tags')"        \
                                                " WHERE notes.id = profiles.id ORDER BY tag))"

struct entry {
    sqlite3_stmt *row;
};

static enum psnap_status fail(sqlite3 *db, struct psnap_error *error)
{
    return psnap_error_set(error, PSNAP_ERROR_IO, "the index: %s; 'psnap repo verify' looks at it",
                           sqlite3_errmsg(db));
}

static int script(sqlite3 *db, const char *sql)
{
    return sqlite3_exec(db, sql, NULL, NULL, NULL);
}

/* Prepares a statement with texts for its first places, up to a NULL. */
static sqlite3_stmt *prepare(sqlite3 *db, const char *sql, const char *const *texts)
{
    sqlite3_stmt *statement = NULL;

    if (!sqlite3_prepare_v2(db, sql, -1, &statement, NULL))
        for (int i = 0; texts && texts[i]; i++)
            sqlite3_bind_text(statement, i + 1, texts[i], -1, SQLITE_TRANSIENT);
    return statement;
}

/* Runs one; the first value of its result, which the caller frees, goes to `value` if there is one.
 * Returns SQLite's code. */
static int run(sqlite3 *db, const char *sql, const char *const *texts, char **value)
{
    sqlite3_stmt *statement = prepare(db, sql, texts);
    const int result = statement ? sqlite3_step(statement) : sqlite3_errcode(db);

    if (value)
        *value = NULL;
    if (result == SQLITE_ROW && value && sqlite3_column_text(statement, 0))
        *value = strdup((const char *)sqlite3_column_text(statement, 0));
    sqlite3_finalize(statement);
    return result == SQLITE_DONE || result == SQLITE_ROW ? SQLITE_OK : result;
}

/* Tells whether the result of a statement is `wanted`; *result is SQLite's code. */
static bool is(sqlite3 *db, const char *sql, const char *wanted, int *result)
{
    char *value = NULL;
    bool is_so;

    *result = run(db, sql, NULL, &value);
    is_so = value && !strcmp(value, wanted);
    free(value);
    return is_so;
}

/* ----------------------------------------------------------------- the objects' files */

struct file {
    char name[REPO_NAME]; /* of a profile its id, of a note id.ID.note */
    struct repo_id id;
    struct repo_bytes bytes;
    struct facts facts;
    struct psnap_error error; /* it cannot be read */
};

struct sync {
    struct repo *repo;
    const struct repo_told *told; /* NULL: nobody */
    FILE *names;                  /* of all files, as a list in JSON */
    uint32_t sum;                 /* of the hashes of these, in whatever order they come */
    bool is_listed;               /* once at least: strangers were told of */
    struct psnap_error error;     /* they cannot be listed */
    struct file *files;           /* that the index does not have */
    size_t count;
};

static bool is_note(const char *name, struct repo_id *id)
{
    char text[REPO_ID_DIGITS + 1];
    struct repo_id note;

    snprintf(text, sizeof text, "%.32s", name);
    return repo_id_parse(text, "", id) && name[REPO_ID_DIGITS] == '.' &&
           repo_id_parse(name + REPO_ID_DIGITS + 1, NOTE, &note);
}

static void list_file(void *context, int folder, const char *name, const char *file)
{
    struct sync *sync = context;
    char whole[REPO_NAME], path[REPO_NAME];
    struct repo_id id;

    (void)folder;
    snprintf(whole, sizeof whole, "%s%.80s", name, file);
    snprintf(path, sizeof path, "objects/%s/%.80s", name, file);
    if (repo_id_parse(whole, REPO_PROFILE, &id))
        whole[REPO_ID_DIGITS] = '\0';
    else if (!is_note(whole, &id)) {
        if (sync->told && !sync->is_listed)
            sync->told->tell(sync->told->context, false, path, "no file of an archive");
        return;
    }
    fprintf(sync->names, "%s\"%s\"", ftell(sync->names) > 1 ? "," : "", whole);
    sync->sum += (uint32_t)XXH3_64bits(whole, strlen(whole));
}

static void list_folder(void *context, int folder, const char *name, const char *file)
{
    struct sync *sync = context;
    char path[REPO_NAME];

    if (strlen(file) != 2 || strspn(file, "0123456789abcdef") != 2 ||
        store_walk(folder, file, list_file, context))
        return;
    snprintf(path, sizeof path, "%s/%.2s", name, file);
    repo_fail(sync->repo, "list", path, &sync->error);
    if (sync->told && !sync->is_listed)
        sync->told->tell(sync->told->context, true, path, sync->error.message);
}

static const char *path_of(const char *name, char path[REPO_NAME])
{
    snprintf(path, REPO_NAME, "objects/%.2s/%.80s%s", name, name + 2,
             name[REPO_ID_DIGITS] ? "" : REPO_PROFILE);
    return path;
}

static void read_note(const struct repo *repo, struct file *file)
{
    const int folder = object_folder(repo, &file->id, false);
    struct repo_id found;

    if (folder < 0 || !store_read(folder, file->name + 2, &file->bytes))
        repo_fail(repo, "read", file->name, &file->error);
    repo_id_of(file->bytes.data, file->bytes.size, &found);
    if (strncmp(found.text, file->name + REPO_ID_DIGITS + 1, REPO_ID_DIGITS) != 0)
        psnap_error_set(&file->error, PSNAP_ERROR_CORRUPT, "its sum is another one");
    if (folder >= 0)
        close(folder);
}

static void read_file(void *context, unsigned thread, size_t i)
{
    const struct sync *sync = context;
    struct file *file = &sync->files[i];

    if (is_note(file->name, &file->id))
        read_note(sync->repo, file);
    else if (!object_read(sync->repo, thread, &file->id, &file->bytes, &file->error))
        facts_of(&file->bytes, file->name, &file->facts, &file->error);
}

static int settle(sqlite3 *db, const struct repo_id *id)
{
    return run(db, SETTLE " WHERE id = ?1", (const char *[]){id->text, NULL}, NULL);
}

/* A profile is added when its file is written. */
static int insert_profile(const struct repo *repo, sqlite3 *db, const struct repo_id *id,
                          size_t bytes, const struct facts *facts)
{
    static const char sql[] =
        "INSERT OR REPLACE INTO profiles (id, bytes, added, signature" TEXTS(NAME)
            COUNTS(NAME) ", certified) VALUES (?1, CAST(?2 AS INTEGER), "
                         "strftime('%Y-%m-%dT%H:%M:%SZ', ?3, 'unixepoch'), ?4" TEXTS(EXTRACT)
                             COUNTS(EXTRACT) EXTRACT(certified) ")";
    char size[24], added[24] = "", path[REPO_NAME];
    const char *const texts[] = {id->text, size, added, "", facts->json, NULL};
    sqlite3_stmt *statement;
    struct stat about;
    int result;

    snprintf(size, sizeof size, "%zu", bytes);
    if (!fstatat(repo->root, path_of(id->text, path), &about, AT_SYMLINK_NOFOLLOW))
        snprintf(added, sizeof added, "%lld", (long long)about.st_mtim.tv_sec);
    statement = prepare(db, sql, texts);
    sqlite3_bind_blob(statement, 4, facts->signature, sizeof facts->signature, SQLITE_TRANSIENT);
    result = statement ? sqlite3_step(statement) : SQLITE_ERROR;
    sqlite3_finalize(statement);
    return result == SQLITE_DONE ? settle(db, id) : result;
}

static int insert_note(sqlite3 *db, const char *name, const struct repo_id *id, const char *said)
{
    const int result = run(db,
                           "INSERT OR REPLACE INTO notes SELECT ?1, ?2, CASE WHEN json_valid(?3) "
                           "THEN ?3 ELSE '{}' END",
                           (const char *[]){name, id->text, said, NULL}, NULL);

    return result ? result : settle(db, id);
}

/* Reads files and takes in what they say. */
static int take_in(struct sync *sync, sqlite3 *db)
{
    int result;

    dictionaries_load(sync->repo, NULL); /* the files may be newer than those that are known */
    psnap_parallel(sync->count, read_file, sync);
    result = script(db, "BEGIN IMMEDIATE");
    for (size_t i = 0; i < sync->count; i++) {
        struct file *file = &sync->files[i];
        char path[REPO_NAME];
        if (file->error.code && sync->told)
            sync->told->tell(sync->told->context, true, path_of(file->name, path),
                             file->error.message);
        if (!result && file->error.code)
            result = run(db, "INSERT INTO unusable VALUES (?1)", (const char *[]){file->name, NULL},
                         NULL);
        else if (!result && file->name[REPO_ID_DIGITS])
            result = insert_note(db, file->name, &file->id, file->bytes.data);
        else if (!result)
            result = insert_profile(sync->repo, db, &file->id, file->bytes.size, &file->facts);
        sync->repo->unusable += file->error.code != 0;
        facts_release(&file->facts);
        free(file->bytes.data);
    }
    script(db, result ? "ROLLBACK" : "COMMIT");
    sync->count = 0;
    return result;
}

/* The names of all files, as a list in JSON; NULL: they cannot be listed. Who is told of folders
 * that cannot gets the others. */
static char *list_names(struct sync *sync)
{
    char *names = NULL;
    size_t size;

    sync->sum = 1; /* 0 is an index that is to be compared */
    sync->error.code = PSNAP_OK;
    sync->names = open_memstream(&names, &size);
    if (!sync->names)
        return NULL;
    fputc('[', sync->names);
    if (!store_walk(sync->repo->root, "objects", list_folder, sync))
        repo_fail(sync->repo, "list", "objects", &sync->error);
    else if (sync->told)
        sync->error.code = PSNAP_OK;
    fputc(']', sync->names);
    sync->is_listed = true;
    if (!fclose(sync->names) && !sync->error.code)
        return names;
    free(names);
    return NULL;
}

/* The first files that the index does not have. */
static int find_new(struct sync *sync, sqlite3 *db, const char *const *names)
{
    sqlite3_stmt *rows = prepare(db,
                                 "SELECT value FROM json_each(?1) EXCEPT SELECT id FROM profiles "
                                 "EXCEPT SELECT name FROM notes"
                                 " EXCEPT SELECT name FROM unusable",
                                 names);
    int result = SQLITE_ROW;

    while (sync->count < BATCH && (result = sqlite3_step(rows)) == SQLITE_ROW) {
        struct file *file = &sync->files[sync->count++];
        *file = (struct file){.name = ""};
        snprintf(file->name, sizeof file->name, "%s", (const char *)sqlite3_column_text(rows, 0));
        is_note(file->name, &file->id);
    }
    sqlite3_finalize(rows);
    return result == SQLITE_ROW || result == SQLITE_DONE ? SQLITE_OK : result;
}

/* Takes out what has gone, and finds what is new, while nobody else can write: a file is there
 * before its row is. When nothing is new user_version becomes the sum of the names. */
static int compare(struct sync *sync, sqlite3 *db)
{
#define GONE(table, key)                                                                           \
    "DELETE FROM " table " WHERE " key " NOT IN (SELECT value FROM json_each(?1))"
    int result = script(db, "BEGIN IMMEDIATE");
    char *names = result ? NULL : list_names(sync), version[64];
    const char *const texts[] = {names, NULL};

    if (!result && !names)
        result = SQLITE_IOERR;
    if (!result)
        result = run(db, GONE("profiles", "id"), texts, NULL);
    if (!result)
        result = run(db, GONE("notes", "name"), texts, NULL);
    if (!result && sqlite3_changes(db))
        result = script(db, SETTLE);
    if (!result)
        result = find_new(sync, db, texts);
    snprintf(version, sizeof version, "PRAGMA user_version = %d", (int32_t)sync->sum);
    if (!result && !sync->count && !sync->repo->unusable)
        result = script(db, version);
    script(db, result ? "ROLLBACK" : "COMMIT");
    free(names);
    return result;
}

static int bring_up_to_date(struct sync *sync, sqlite3 *db)
{
    char *names = list_names(sync), sum[16];
    int result = names ? SQLITE_OK : SQLITE_IOERR;
    bool is_same;

    free(names);
    snprintf(sum, sizeof sum, "%d", (int32_t)sync->sum);
    is_same = !result && is(db, "PRAGMA user_version", sum, &result);
    sync->files = is_same ? NULL : calloc(BATCH, sizeof *sync->files);
    while (!result && !is_same && sync->files) {
        result = compare(sync, db);
        is_same = !sync->count;
        if (!result && sync->count)
            result = take_in(sync, db);
    }
    free(sync->files);
    return is_same || result ? result : SQLITE_NOMEM;
}

/* ---------------------------------------------------------------------------- opening */

/* share(signature, bin): of accesses, 0 to 1 */
static void sql_share(sqlite3_context *context, int count, sqlite3_value **values)
{
    const float *signature = sqlite3_value_blob(values[0]);
    const int bin = sqlite3_value_int(values[1]);

    (void)count;
    if (sqlite3_value_bytes(values[0]) == SIGNATURE_BINS * sizeof *signature && bin >= 0 &&
        bin < PSNAP_STRIDE_BINS)
        sqlite3_result_double(context, (double)signature[bin] * signature[bin]);
}

/* similarity(signature, signature): 0 to 1 */
static void sql_similarity(sqlite3_context *context, int count, sqlite3_value **values)
{
    const int size = SIGNATURE_BINS * sizeof(float);

    (void)count;
    if (sqlite3_value_bytes(values[0]) == size && sqlite3_value_bytes(values[1]) == size)
        sqlite3_result_double(context, signature_similarity(sqlite3_value_blob(values[0]),
                                                            sqlite3_value_blob(values[1])));
}

/* Write-ahead logs need memory that all processes share: of these file systems it is known. */
static bool is_local(int folder)
{
    static const unsigned long local[] = {0xEF53,     0x58465342, 0x9123683E, 0x01021994,
                                          0x794C7630, 0x2FC12FC1, 0xF2F52010}; /* ext4, xfs, btrfs,
                                          tmpfs, overlayfs, zfs, f2fs */
    struct statfs about;
    bool is_one = false;

    for (size_t i = 0; i < sizeof local / sizeof local[0] && !fstatfs(folder, &about); i++)
        is_one = is_one || (unsigned long)about.f_type == local[i];
    return is_one;
}

/* Makes an open database an index that is up to date. Whoever made the file: nothing in its schema
 * is run. */
static int set_up(struct sync *sync, sqlite3 *db)
{
    int result;

    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, (int *)NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, (int *)NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, (int *)NULL);
    sqlite3_create_function(db, "share", 2, SQLITE_UTF8, NULL, sql_share, NULL, NULL);
    sqlite3_create_function(db, "similarity", 2, SQLITE_UTF8, NULL, sql_similarity, NULL, NULL);
    script(db, "PRAGMA temp_store = MEMORY; CREATE TEMP TABLE unusable (name);"
               "PRAGMA cache_size = -65536; PRAGMA synchronous = NORMAL;"
               "PRAGMA cell_size_check = ON");
    if (is(db, "PRAGMA application_id", "0", &result))
        result = script(db, schema);
    else if (!result && !is(db, "PRAGMA application_id", VERSION, &result) && !result)
        result = SQLITE_SCHEMA;
    if (!result &&
        !(is(db, "PRAGMA integrity_check(1)", "ok", &result) &&
          is(db, schema_is, SCHEMA(""), &result)) &&
        !result)
        result = SQLITE_CORRUPT;
    return result ? result : bring_up_to_date(sync, db);
}

/* Where an index comes from: the first that can be had. */
enum origin { FROM_FILE, FROM_RESET_FILE, FROM_READ_ONLY_FILE, FROM_NOTHING };

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
        script(db, is_local(repo->cache) ? "PRAGMA journal_mode = WAL; PRAGMA mmap_size = 268435456"
                                         : "PRAGMA journal_mode = TRUNCATE");
    return db;
}

static bool is_damage(int result)
{
    return result == SQLITE_CORRUPT || result == SQLITE_NOTADB || result == SQLITE_ERROR;
}

/* Opens the index, and brings it up to date; `told`, if any, of what cannot be read. */
static sqlite3 *open_index(struct repo *repo, enum origin origin, const struct repo_told *told,
                           struct psnap_error *error)
{
    int result = SQLITE_OK;

    for (; origin <= FROM_NOTHING; origin++) {
        struct sync sync = {.repo = repo, .told = told};
        const bool is_damaged = is_damage(result);
        sqlite3 *db;
        if ((origin == FROM_RESET_FILE && !is_damaged && result != SQLITE_SCHEMA) ||
            (origin == FROM_READ_ONLY_FILE && result == SQLITE_BUSY))
            continue;
        repo->is_index_damaged |= is_damaged;
        repo->unusable = 0;
        db = open_database(repo, origin);
        result = set_up(&sync, db) & 0xff;
        if (!result)
            return db;
        fail(db, error);
        if (sync.error.code && error)
            *error = sync.error;
        sqlite3_close(db);
    }
    return NULL;
}

static enum psnap_status need_index(struct repo *repo, struct psnap_error *error)
{
    if (!repo->index) {
        store_prepare(repo, NULL);
        repo->index = open_index(repo, FROM_FILE, NULL, error);
    }
    return repo->index ? PSNAP_OK : PSNAP_ERROR_IO;
}

struct repo *repo_open(const char *path, struct psnap_error *error)
{
    struct repo *repo = store_open(path, error);

    if (!repo || !dictionaries_load(repo, error))
        return repo;
    repo_close(repo);
    return NULL;
}

void repo_close(struct repo *repo)
{
    if (!repo)
        return;
    sqlite3_close(repo->index);
    object_release(repo);
    store_close(repo);
}

/* ---------------------------------------------------------------------------- asking */

static int column_of(const struct entry *entry, const char *name)
{
    int i = sqlite3_column_count(entry->row) - 1;

    while (i >= 0 && strcmp(sqlite3_column_name(entry->row, i), name) != 0)
        i--;
    return i;
}

const char *entry_text(const struct entry *entry, const char *column)
{
    const unsigned char *text = sqlite3_column_text(entry->row, column_of(entry, column));

    return text ? (const char *)text : "";
}

uint64_t entry_number(const struct entry *entry, const char *column)
{
    return (uint64_t)sqlite3_column_int64(entry->row, column_of(entry, column));
}

double entry_real(const struct entry *entry, const char *column)
{
    const int i = column_of(entry, column);

    return sqlite3_column_type(entry->row, i) == SQLITE_NULL ? NAN
                                                             : sqlite3_column_double(entry->row, i);
}

/* "\nmain\nspmv\n" as a list */
static void json_list(struct psnap_json *json, const char *key, const char *text,
                      const char *separator)
{
    char *copy = strdup(text), *rest = copy, *item;

    psnap_json_begin_array(json, key);
    while ((item = strsep(&rest, separator)))
        if (*item)
            psnap_json_text(json, NULL, item);
    psnap_json_end_array(json);
    free(copy);
}

void entry_json(const struct entry *entry, struct psnap_json *json)
{
    psnap_json_begin_object(json, NULL);
    for (int i = 0; i < sqlite3_column_count(entry->row); i++) {
        const char *name = sqlite3_column_name(entry->row, i);
        const int type = sqlite3_column_type(entry->row, i);
        if (!strcmp(name, "functions") || !strcmp(name, "tags"))
            json_list(json, name, entry_text(entry, name), *name == 't' ? " " : "\n");
        else if (type == SQLITE_TEXT)
            psnap_json_text(json, name, entry_text(entry, name));
        else if (type == SQLITE_INTEGER)
            psnap_json_u64(json, name, entry_number(entry, name));
        else
            psnap_json_real(json, name, entry_real(entry, name));
    }
    psnap_json_end_object(json);
}

enum psnap_status repo_list(struct repo *repo, const struct query *query,
                            bool (*take)(void *context, const struct entry *entry), void *context,
                            struct psnap_error *error)
{
    static const char select[] =
        "SELECT id, bytes" TEXTS(SHOWN) SHOWN(tags) SHOWN(licence) SHOWN(input) ", added" COUNTS(
            NAME) ", coalesce(stated, certified) AS fidelity,"
                  " similarity(signature, (SELECT signature FROM profiles WHERE id = ?1))"
                  " AS similarity FROM profiles WHERE 1%s"
                  " ORDER BY similarity DESC, program, recorded, command, id LIMIT %lld";
    struct entry entry = {NULL};
    enum psnap_status status = need_index(repo, error);
    struct repo_id like = {""};
    char *sql;
    int result = SQLITE_ERROR;

    if (!status && query->like)
        status = repo_find(repo, query->like, &like, error);
    if (status)
        return status;
    sql = sqlite3_mprintf(select, query->where ? query->where : "",
                          query->limit ? (long long)query->limit : -1LL);
    if (sql && !sqlite3_prepare_v2(repo->index, sql, -1, &entry.row, NULL)) {
        sqlite3_bind_text(entry.row, 1, like.text, -1, SQLITE_TRANSIENT);
        for (size_t i = 0; i < query->count; i++)
            sqlite3_bind_text(entry.row, (int)i + 2, query->values[i], -1, SQLITE_TRANSIENT);
        do
            result = sqlite3_step(entry.row);
        while (result == SQLITE_ROW && take(context, &entry));
    }
    if (result != SQLITE_ROW && result != SQLITE_DONE)
        status = fail(repo->index, error);
    sqlite3_finalize(entry.row);
    sqlite3_free(sql);
    return status;
}

struct each {
    struct repo *repo;
    enum psnap_status (*take)(void *context, const struct repo_profile *profile,
                              struct psnap_error *error);
    void *context;
    struct psnap_error *error;
    enum psnap_status status;
};

static bool read_entry(void *context, const struct entry *entry)
{
    struct each *each = context;
    struct repo_bytes yaml = {NULL, 0};
    struct psnap_error why;
    struct repo_id id;
    const bool is_good = repo_id_parse(entry_text(entry, "id"), "", &id) &&
                         !object_read(each->repo, 0, &id, &yaml, &why);
    const struct repo_profile profile = {id.text, entry_text(entry, "tags"), yaml.data, yaml.size,
                                         is_good ? NULL : why.message};

    each->status = each->take(each->context, &profile, each->error);
    free(yaml.data);
    return !each->status;
}

enum psnap_status repo_read_each(struct repo *repo, const struct query *query,
                                 enum psnap_status (*take)(void *context,
                                                           const struct repo_profile *profile,
                                                           struct psnap_error *error),
                                 void *context, struct psnap_error *error)
{
    struct each each = {repo, take, context, error, PSNAP_OK};
    const enum psnap_status status = repo_list(repo, query, read_entry, &each, error);

    return status ? status : each.status;
}

/* ---------------------------------------------------------------------- what is added */

bool index_begin(struct repo *repo)
{
    return !need_index(repo, NULL) &&
           !script(repo->index, "BEGIN IMMEDIATE; PRAGMA user_version = 0"); /* to be compared */
}

void index_add(struct repo *repo, const struct repo_id *id, size_t bytes, const struct facts *facts)
{
    insert_profile(repo, repo->index, id, bytes, facts);
}

void index_end(struct repo *repo)
{
    if (script(repo->index, "COMMIT"))
        script(repo->index, "ROLLBACK");
}

/* Tells whether the last note of a profile says so, and its file is there. */
static bool is_said(const struct repo *repo, const struct repo_id *id, const char *said)
{
    char *name, path[REPO_NAME];
    bool is_so;

    run(repo->index,
        "SELECT name FROM (SELECT name, said FROM notes WHERE id = ?1 " LATEST
        ") WHERE json_remove(said, '$.time') = json(?2)",
        (const char *[]){id->text, said, NULL}, &name);
    is_so = name && !faccessat(repo->root, path_of(name, path), F_OK, AT_SYMLINK_NOFOLLOW);
    free(name);
    return is_so;
}

enum psnap_status repo_note(struct repo *repo, const struct repo_id *id, const char *said,
                            struct psnap_error *error)
{
    char name[REPO_NAME], seconds[24], fraction[24], *text = NULL;
    struct timespec time;
    struct repo_bytes bytes;
    struct repo_id note;
    enum psnap_status status = need_index(repo, error);
    int folder;

    if (status || is_said(repo, id, said))
        return status;
    clock_gettime(CLOCK_REALTIME, &time);
    snprintf(seconds, sizeof seconds, "%lld", (long long)time.tv_sec);
    snprintf(fraction, sizeof fraction, ".%09ldZ", time.tv_nsec);
    run(repo->index,
        "SELECT json_set(?1, '$.time', strftime('%Y-%m-%dT%H:%M:%S', ?2, 'unixepoch') || ?3)"
        " WHERE CASE WHEN json_valid(?1) THEN json_type(?1) END = 'object'",
        (const char *[]){said, seconds, fraction, NULL}, &text);
    if (!text)
        return psnap_error_set(error, PSNAP_ERROR_VALUE, "what is said of '%s' is no note",
                               id->text);
    bytes = (struct repo_bytes){text, strlen(text)};
    repo_id_of(text, bytes.size, &note);
    snprintf(name, sizeof name, "%s.%s" NOTE, id->text, note.text);
    folder = object_folder(repo, id, true);
    status = folder < 0 ? repo_fail(repo, "write", name, error)
                        : store_write(repo, folder, name + 2, &bytes, error);
    if (folder >= 0)
        close(folder);
    if (!status && index_begin(repo)) {
        insert_note(repo->index, name, id, text);
        index_end(repo);
    }
    free(text);
    return status;
}

char *repo_said(struct repo *repo, const char *id)
{
    char *said;

    run(repo->index,
        "SELECT json_object('licence', licence, 'input', input, 'fidelity', stated, 'tags',"
        " (SELECT json_group_array(DISTINCT value) FROM notes, json_each(said, '$.tags')"
        " WHERE notes.id = profiles.id)) FROM profiles WHERE id = ?1"
        " AND coalesce(licence, input, stated, tags) IS NOT NULL",
        (const char *[]){id, NULL}, &said);
    return said;
}

/* ----------------------------------------------------------------------- verification */

static void check_dictionary(void *context, int folder, const char *name, const char *file)
{
    const struct sync *sync = context;
    const char *problem = dictionary_check(sync->repo, folder, file);
    char path[REPO_NAME];

    snprintf(path, sizeof path, "%s/%.80s", name, file);
    if (problem)
        sync->told->tell(sync->told->context, true, path, problem);
}

/* Asks whether the index, attached as `old`, lacks a row that it should have, or has one of no
 * file. Times are left out: copies of files have others. */
static const char is_other[] =
    "SELECT EXISTS (SELECT " COLUMNS " FROM main.profiles EXCEPT SELECT " COLUMNS
    " FROM old.profiles) OR EXISTS (SELECT * FROM main.notes EXCEPT SELECT * FROM old.notes)"
    " OR EXISTS (SELECT id FROM old.profiles UNION SELECT name FROM old.notes"
    " EXCEPT SELECT value FROM json_each(?1))";
static const char remake[] =
    "BEGIN IMMEDIATE; DELETE FROM old.profiles; DELETE FROM old.notes; PRAGMA old.user_version = 0;"
    "INSERT INTO old.profiles SELECT * FROM main.profiles;"
    "INSERT INTO old.notes SELECT * FROM main.notes; COMMIT";

/* Its rows are looked at before the files: a file is there before its row is. */
static void check_index(struct repo *repo, sqlite3 *fresh, const struct repo_told *told)
{
    const char *path = sqlite3_db_filename(repo->index, "main"); /* "": it is in memory */
    struct sync sync = {.repo = repo};
    char *names = NULL, *other = NULL;
    int result = *path ? run(fresh, "ATTACH ?1 AS old", (const char *[]){path, NULL}, NULL)
                       : SQLITE_CANTOPEN;

    if (!result)
        result = script(fresh, "BEGIN; SELECT 1 FROM old.profiles LIMIT 1");
    if (!result && (names = list_names(&sync)))
        result = run(fresh, is_other, (const char *[]){names, NULL}, &other);
    script(fresh, "COMMIT");
    if (repo->is_index_damaged || is_damage(result & 0xff) || (other && *other == '1'))
        told->tell(told->context, true, INDEX,
                   *path && !script(fresh, remake)
                       ? "it says something else than the objects; it is made anew"
                       : "it says something else than the objects");
    free(names);
    free(other);
}

enum psnap_status repo_verify(struct repo *repo, const struct repo_told *told, uint64_t *profiles,
                              struct psnap_error *error)
{
    sqlite3 *fresh = open_index(repo, FROM_NOTHING, told, error);
    struct sync sync = {.repo = repo, .told = told};
    struct repo_bytes format = {NULL, 0};
    char *count;

    if (!fresh)
        return PSNAP_ERROR_IO;
    if (!store_read(repo->root, REPO_FORMAT, &format) || strcmp(format.data, REPO_FORMAT_TEXT) != 0)
        told->tell(told->context, true, REPO_FORMAT, "it says something else");
    free(format.data);
    if (!need_index(repo, NULL)) /* else there are folders that cannot be listed */
        check_index(repo, fresh, told);
    store_walk(repo->root, "dictionaries", check_dictionary, &sync);
    run(fresh, "SELECT count(*) FROM profiles", NULL, &count);
    *profiles = count ? strtoull(count, NULL, 10) : 0;
    sqlite3_close(fresh);
    free(count);
    return PSNAP_OK;
}
