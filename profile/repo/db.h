/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * SQLite, as far as the index needs it. Values are given by a text of one letter each: t text
 * (NULL is none), i int64_t, r double (NaN is none), b const void * and size_t.
 */
#ifndef PSNAP_PROFILE_REPO_DB_H
#define PSNAP_PROFILE_REPO_DB_H

#include "profile/repo/bytes.h"

struct db;
struct db_rows;

enum { DB_VALUES_MAX = 64 };

/* Values of a statement that is made at run time. */
struct db_value {
    char type; /* as above */
    const char *text;
    int64_t integer;
    double real;
    const void *blob;
    size_t size;
};

enum db_journal {
    DB_WAL,
    DB_ROLLBACK /* where memory cannot be shared: network file systems */
};

/* The file at `path`, which is made when it is not there; NULL: in memory. NULL on failure. */
struct db *db_open(const char *path, enum db_journal journal, struct psnap_error *error);
void db_close(struct db *db);
/* SQLite's own check of all of it. */
enum psnap_status db_check(struct db *db, struct psnap_error *error);

/* Statements that return nothing; `sql` of db_run must last as long as the database. */
enum psnap_status db_script(struct db *db, const char *sql, struct psnap_error *error);
enum psnap_status db_run(struct db *db, struct psnap_error *error, const char *sql,
                         const char *types, ...);

/* Rows of a query; NULL on failure. One of them at a time for each text of `sql`. */
struct db_rows *db_select(struct db *db, struct psnap_error *error, const char *sql,
                          const char *types, ...);
struct db_rows *db_select_values(struct db *db, struct psnap_error *error, const char *sql,
                                 const struct db_value *values, size_t count);
/* The next row; false at the end, or when db_end returns an error. */
bool db_next(struct db_rows *rows);
enum psnap_status db_end(struct db_rows *rows, struct psnap_error *error);
/* Values of the row, until the next one; text and blob NULL, real NaN when there is none. */
const char *db_text(struct db_rows *rows, int column);
int64_t db_integer(struct db_rows *rows, int column);
double db_real(struct db_rows *rows, int column);
const void *db_blob(struct db_rows *rows, int column, size_t *size);

#endif
