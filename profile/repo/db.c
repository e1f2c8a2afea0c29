/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * SQLite, and the only file that knows it. Statements are prepared once and kept, by the address of
 * their text. The index is a cache of what the objects say, so nothing here waits for the disk more
 * than the file's consistency needs: not for what was written last (synchronous NORMAL), and the
 * write-ahead log is copied into the file when it is long, not whenever a command ends.
 */
#include "profile/repo/db.h"

#include <math.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "profile/repo/facts.h"

enum { STATEMENTS_MAX = 64, BUSY_MS = 10000 };

struct db_rows {
    struct db *db;
    sqlite3_stmt *statement;
    int result;
    bool is_kept; /* among the prepared ones: it is reset, not finalized */
};

struct db {
    sqlite3 *handle;
    struct {
        const char *sql;
        struct db_rows rows;
    } kept[STATEMENTS_MAX];
    unsigned kept_count;
};

static enum psnap_status fail(struct db *db, int result, struct psnap_error *error)
{
    const int reason = result & 0xff;
    enum psnap_status code = PSNAP_ERROR_IO;

    if (reason == SQLITE_NOMEM)
        code = PSNAP_ERROR_MEMORY;
    if (reason == SQLITE_CORRUPT || reason == SQLITE_NOTADB)
        code = PSNAP_ERROR_CORRUPT;
    return psnap_error_set(error, code, "the index: %s%s",
                           db->handle ? sqlite3_errmsg(db->handle) : sqlite3_errstr(result),
                           code == PSNAP_ERROR_CORRUPT ? "; 'psnap repo verify' makes it anew"
                                                       : "");
}

/* share(signature, bin): of accesses, 0 to 1 */
static void sql_share(sqlite3_context *context, int count, sqlite3_value **values)
{
    const uint8_t *signature = sqlite3_value_blob(values[0]);
    const int bin = sqlite3_value_int(values[1]);
    uint64_t sum = 0;

    (void)count;
    if (!signature || sqlite3_value_bytes(values[0]) != SIGNATURE_BYTES || bin < 0 ||
        bin >= PSNAP_STRIDE_BINS) {
        sqlite3_result_null(context);
        return;
    }
    for (int i = 0; i < PSNAP_STRIDE_BINS; i++)
        sum += (uint64_t)signature[i] * signature[i];
    sqlite3_result_double(
        context, sum ? (double)((uint64_t)signature[bin] * signature[bin]) / (double)sum : 0);
}

/* similarity(signature, signature): 0 to 1 */
static void sql_similarity(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)count;
    if (sqlite3_value_bytes(values[0]) != SIGNATURE_BYTES ||
        sqlite3_value_bytes(values[1]) != SIGNATURE_BYTES)
        sqlite3_result_null(context);
    else
        sqlite3_result_double(context, signature_similarity(sqlite3_value_blob(values[0]),
                                                            sqlite3_value_blob(values[1])));
}

/* Whoever made the file: nothing in its schema is run. */
static void distrust(sqlite3 *handle)
{
    sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)NULL);
    sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, (int *)NULL);
    sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, (int *)NULL);
    sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_VIEW, 0, (int *)NULL);
    sqlite3_exec(handle, "PRAGMA cell_size_check = ON", NULL, NULL, NULL);
}

struct db *db_open(const char *path, enum db_journal journal, struct psnap_error *error)
{
    struct db *db = calloc(1, sizeof *db);
    int result;

    if (!db) {
        psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
        return NULL;
    }
    result = sqlite3_open_v2(path ? path : ":memory:", &db->handle,
                             SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX |
                                 (path ? SQLITE_OPEN_NOFOLLOW : 0),
                             NULL);
    if (!result) {
        distrust(db->handle);
        sqlite3_db_config(db->handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)NULL);
        sqlite3_busy_timeout(db->handle, BUSY_MS);
        sqlite3_create_function(db->handle, "share", 2, SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL,
                                sql_share, NULL, NULL);
        sqlite3_create_function(db->handle, "similarity", 2, SQLITE_UTF8 | SQLITE_DETERMINISTIC,
                                NULL, sql_similarity, NULL, NULL);
        if (!path)
            return db;
        if (!db_script(db,
                       journal == DB_WAL ? "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
                                         : "PRAGMA journal_mode=TRUNCATE;",
                       error))
            return db;
    } else {
        fail(db, result, error);
    }
    db_close(db);
    return NULL;
}

void db_close(struct db *db)
{
    if (!db)
        return;
    for (unsigned i = 0; i < db->kept_count; i++)
        sqlite3_finalize(db->kept[i].rows.statement);
    sqlite3_close(db->handle);
    free(db);
}

enum psnap_status db_check(struct db *db, struct psnap_error *error)
{
    struct db_rows *rows = db_select(db, error, "PRAGMA integrity_check(1)", "");
    const bool is_sound =
        rows && db_next(rows) && db_text(rows, 0) && !strcmp(db_text(rows, 0), "ok");
    enum psnap_status status = rows ? db_end(rows, error) : PSNAP_ERROR_CORRUPT;

    return status || is_sound ? status
                              : psnap_error_set(error, PSNAP_ERROR_CORRUPT, "it is not sound");
}

enum psnap_status db_script(struct db *db, const char *sql, struct psnap_error *error)
{
    const int result = sqlite3_exec(db->handle, sql, NULL, NULL, NULL);

    return result ? fail(db, result, error) : PSNAP_OK;
}

static struct db_rows *prepare(struct db *db, const char *sql, bool is_kept,
                               struct psnap_error *error)
{
    struct db_rows *rows = NULL;
    int result;

    for (unsigned i = 0; is_kept && i < db->kept_count; i++)
        if (db->kept[i].sql == sql)
            return &db->kept[i].rows;
    if (!is_kept)
        rows = calloc(1, sizeof *rows);
    else if (db->kept_count < STATEMENTS_MAX)
        rows = &db->kept[db->kept_count].rows;
    if (!rows) {
        psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
        return NULL;
    }
    rows->db = db;
    rows->is_kept = is_kept;
    result = sqlite3_prepare_v2(db->handle, sql, -1, &rows->statement, NULL);
    if (!result) {
        if (is_kept)
            db->kept[db->kept_count++].sql = sql;
        return rows;
    }
    fail(db, result, error);
    if (!is_kept)
        free(rows);
    return NULL;
}

static void bind(struct db_rows *rows, int place, const struct db_value *value)
{
    if (value->type == 't')
        sqlite3_bind_text(rows->statement, place, value->text, -1, SQLITE_TRANSIENT);
    else if (value->type == 'i')
        sqlite3_bind_int64(rows->statement, place, value->integer);
    else if (value->type == 'b')
        sqlite3_bind_blob64(rows->statement, place, value->blob, value->size, SQLITE_TRANSIENT);
    else if (isnan(value->real))
        sqlite3_bind_null(rows->statement, place);
    else
        sqlite3_bind_double(rows->statement, place, value->real);
}

static void bind_all(struct db_rows *rows, const char *types, va_list arguments)
{
    for (int i = 0; types[i]; i++) {
        struct db_value value = {.type = types[i]};
        if (types[i] == 't')
            value.text = va_arg(arguments, const char *);
        else if (types[i] == 'i')
            value.integer = va_arg(arguments, int64_t);
        else if (types[i] == 'r')
            value.real = va_arg(arguments, double);
        else {
            value.blob = va_arg(arguments, const void *);
            value.size = va_arg(arguments, size_t);
        }
        bind(rows, i + 1, &value);
    }
}

enum psnap_status db_run(struct db *db, struct psnap_error *error, const char *sql,
                         const char *types, ...)
{
    struct db_rows *rows = prepare(db, sql, true, error);
    va_list arguments;

    if (!rows)
        return PSNAP_ERROR_IO;
    va_start(arguments, types);
    bind_all(rows, types, arguments);
    va_end(arguments);
    rows->result = SQLITE_ROW;
    while (db_next(rows))
        continue;
    return db_end(rows, error);
}

struct db_rows *db_select(struct db *db, struct psnap_error *error, const char *sql,
                          const char *types, ...)
{
    struct db_rows *rows = prepare(db, sql, true, error);
    va_list arguments;

    if (!rows)
        return NULL;
    va_start(arguments, types);
    bind_all(rows, types, arguments);
    va_end(arguments);
    rows->result = SQLITE_ROW;
    return rows;
}

struct db_rows *db_select_values(struct db *db, struct psnap_error *error, const char *sql,
                                 const struct db_value *values, size_t count)
{
    struct db_rows *rows = prepare(db, sql, false, error);

    if (!rows)
        return NULL;
    for (size_t i = 0; i < count; i++)
        bind(rows, (int)i + 1, &values[i]);
    rows->result = SQLITE_ROW;
    return rows;
}

bool db_next(struct db_rows *rows)
{
    if (rows->result == SQLITE_ROW)
        rows->result = sqlite3_step(rows->statement);
    return rows->result == SQLITE_ROW;
}

enum psnap_status db_end(struct db_rows *rows, struct psnap_error *error)
{
    enum psnap_status status = PSNAP_OK;

    if (rows->result != SQLITE_ROW && rows->result != SQLITE_DONE)
        status = fail(rows->db, rows->result, error);
    if (rows->is_kept) {
        sqlite3_reset(rows->statement);
        sqlite3_clear_bindings(rows->statement);
    } else {
        sqlite3_finalize(rows->statement);
        free(rows);
    }
    return status;
}

const char *db_text(struct db_rows *rows, int column)
{
    return (const char *)sqlite3_column_text(rows->statement, column);
}

int64_t db_integer(struct db_rows *rows, int column)
{
    return sqlite3_column_int64(rows->statement, column);
}

double db_real(struct db_rows *rows, int column)
{
    if (sqlite3_column_type(rows->statement, column) == SQLITE_NULL)
        return NAN;
    return sqlite3_column_double(rows->statement, column);
}

const void *db_blob(struct db_rows *rows, int column, size_t *size)
{
    const void *blob = sqlite3_column_blob(rows->statement, column);

    *size = (size_t)sqlite3_column_bytes(rows->statement, column);
    return blob;
}
