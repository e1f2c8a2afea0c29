/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The archive of profiles, from the inside. From below: store.c, a directory whose files appear
 * whole or not at all; object.c, profiles as compressed files in it; facts.c, a profile's columns;
 * query.c, searches; index.c, the columns of all profiles, in SQLite; add.c and transfer.c,
 * profiles into it and out of it.
 *
 *     psnap-repo-3                 marks the directory as an archive
 *     objects/ab/cdef....yaml.zst  a profile, named by its id
 *     objects/ab/cdef....yaml.zst+TAG  a tag of that profile: an empty file
 *     dictionaries/ID.dict         a dictionary of objects, and the same as ID.copy
 *     cache/                       the index, files that are being written: can be deleted
 */
#ifndef PSNAP_PROFILE_REPO_H
#define PSNAP_PROFILE_REPO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "formats/base/status.h"

enum { REPO_ID_DIGITS = 32, REPO_TAG_BYTES = 100, REPO_PATH = 192 };
#define REPO_LAYOUT "psnap-repo-"
#define REPO_FORMAT REPO_LAYOUT "3"
#define REPO_FORMAT_TEXT "An archive of profiles, format 3: see psnap repo --help\n"
#define REPO_PROFILE ".yaml.zst"
#define REPO_PROFILE_MAX ((size_t)16 << 20) /* hostile ones that are longer would take minutes */

/* XXH3 of bytes, 128 bits, as xxh128sum(1) prints it. */
struct repo_id {
    char text[REPO_ID_DIGITS + 1];
};

struct repo_bytes {
    char *data; /* owned; NULL: none */
    size_t size;
};

/* Paths of files; zero-initialise. */
struct repo_names {
    char **items; /* owned, and their texts */
    size_t count, room;
};

struct repo {
    char *path;                      /* as the user names it */
    int root;                        /* the directory */
    struct dictionary *dictionaries; /* object.c's; owned */
    size_t dictionary_count;
    struct sqlite3 *index; /* index.c's; NULL: not open */
    bool is_index_damaged; /* it was, and has been made anew */
    uint64_t unusable;     /* objects that the index could not read */
    /* The callback for files that are damaged or left out; to be set before verify, export, import.
     */
    void (*tell)(void *context, bool is_damaged, const char *path, const char *message);
    void *context;
};

/* ---- store.c; paths are from the root ---- */

void repo_id_of(const void *bytes, size_t size, struct repo_id *id);
/* Reads an id; false: the text is not 32 hexadecimal digits with `end` behind them. */
bool repo_id_parse(const char *text, const char *end, struct repo_id *id);
bool repo_is_tag(const char *text);
/* Takes the first of tags that have blanks behind them; false: none is left. */
bool repo_next_tag(const char **tags, char tag[REPO_TAG_BYTES + 1]);

/* Writes the path of a profile, or of its tag; returns `path`. */
const char *store_path(const struct repo_id *id, const char *tag, char path[REPO_PATH]);
/* Returns the tag that a path is of, "" of a profile's; NULL: it is neither. */
const char *store_parse(const char *path, struct repo_id *id);
/* "cannot VERB 'repository/NAME'" by errno. */
enum psnap_status repo_fail(const struct repo *repo, const char *verb, const char *name,
                            struct psnap_error *error);

/* Lists the files below a folder, in order; a missing one has none. After an error all that can be
 * listed is. */
enum psnap_status store_list(const struct repo *repo, const char *folder, struct repo_names *names,
                             struct psnap_error *error);
void store_list_release(struct repo_names *names);

/* Reads a file to its end, or its first bytes, more than `limit`; false with errno. */
bool store_read_open(int fd, size_t limit, struct repo_bytes *bytes);
bool store_read(const struct repo *repo, const char *path, struct repo_bytes *bytes);

/* Writes a new file, and to the disk if it `flushes`; false with errno, part of it may be there.
 * Folders are made as they are needed. */
bool store_write_new(const struct repo *repo, const char *path, const struct repo_bytes *bytes,
                     bool flushes);
/* Writes one in cache/ with a name of its own. */
bool store_temporary(const struct repo *repo, const struct repo_bytes *bytes, bool flushes,
                     char path[REPO_PATH]);
/* Gives it its name; 0 or an errno: EEXIST unless it may replace a file. */
int store_place(const struct repo *repo, const char *temporary, const char *path, bool replaces,
                bool flushes);
/* Writes a file whole, and to the disk; it may replace one. */
enum psnap_status store_write(const struct repo *repo, const char *path,
                              const struct repo_bytes *bytes, struct psnap_error *error);

/* Removes files older than a day that are none of the archive's: temporary ones, strangers in
 * objects/, and tags of profiles that have gone. */
enum psnap_status repo_gc(const struct repo *repo, uint64_t *removed, struct psnap_error *error);

/* ---- object.c ---- */

/* Reads the profile, checked by its id. Errors name its file. */
enum psnap_status object_read(const struct repo *repo, const struct repo_id *id,
                              struct repo_bytes *yaml, struct psnap_error *error);
/* Finds the one profile whose id begins so, by the objects alone. */
enum psnap_status repo_find(const struct repo *repo, const char *prefix, struct repo_id *id,
                            struct psnap_error *error);
/* Compresses a profile as its file has it; false: out of memory. */
bool object_pack(const struct repo *repo, const struct repo_bytes *yaml, struct repo_bytes *object);
/* Reads the dictionaries; before objects are read. */
enum psnap_status dictionaries_load(struct repo *repo, struct psnap_error *error);
/* Makes one of profiles that are to be added, where there is none and they are enough. */
enum psnap_status dictionary_train(struct repo *repo, const struct repo_bytes *samples,
                                   size_t count, struct psnap_error *error);
/* Tells of files of dictionaries that are damaged or missing where a copy is not, and writes them
 * anew if it can. */
void dictionaries_check(const struct repo *repo);
void dictionaries_release(struct repo *repo);

/* ---- facts.c ---- */

/* The columns of a profile that are derived from it: X(name, kind). */
#define REPO_COLUMNS(X)                                                                            \
    X(bytes, NUMBER)                                                                               \
    X(program, TEXT)                                                                               \
    X(command, WORDS)                                                                              \
    X(build_id, TEXT)                                                                              \
    X(language, TEXT)                                                                              \
    X(compiler, TEXT)                                                                              \
    X(host, TEXT)                                                                                  \
    X(recorded, TEXT)                                                                              \
    X(model, TEXT)                                                                                 \
    X(functions, LINES)                                                                            \
    X(accesses, NUMBER)                                                                            \
    X(loads, NUMBER)                                                                               \
    X(stores, NUMBER)                                                                              \
    X(atomics, NUMBER)                                                                             \
    X(loops, NUMBER) X(regions, NUMBER) X(working_set, NUMBER) X(fidelity, NUMBER)

/* Checks a profile, and finds its columns, as an object in JSON that the caller frees. NULL on
 * failure. */
char *facts_of(const struct repo_bytes *yaml, const char *name, struct psnap_error *error);

/* ---- query.c ---- */

enum repo_kind {
    KIND_TEXT,  /* "": unknown */
    KIND_WORDS, /* joined by blanks */
    KIND_LINES, /* each with a line feed behind it */
    KIND_TAGS,  /* each with a blank behind it; they are found whole */
    KIND_NUMBER /* NULL: unknown */
};

enum {
    REPO_ID,
#define REPO_COLUMN(name, kind) REPO_##name,
    REPO_COLUMNS(REPO_COLUMN) REPO_ADDED,
    REPO_TAGS,
    REPO_COLUMN_COUNT
};

extern const struct repo_column {
    const char *name;
    enum repo_kind kind;
} repo_columns[REPO_COLUMN_COUNT];

extern const char query_help[];

/* A search: words that must all hold (query_help). */
struct repo_query {
    char *const *words;
    size_t count;
    uint64_t limit; /* 0: all */
};

/* The conditions in SQL, which the caller frees; NULL on failure. */
char *query_conditions(const struct repo_query *query, struct psnap_error *error);

/* ---- index.c ---- */

struct repo *repo_open(const char *path, struct psnap_error *error); /* NULL on failure */
void repo_close(struct repo *repo);
bool repo_is_there(const char *path);
enum psnap_status repo_init(const char *path, struct psnap_error *error);

/* Calls `take` with the rows that a query finds, values by repo_columns, until it returns no 0. */
enum psnap_status repo_list(struct repo *repo, const struct repo_query *query,
                            int (*take)(void *context, int count, char **row, char **names),
                            void *context, struct psnap_error *error);

struct add_item {
    char *path;             /* for messages when its bytes are given; owned */
    struct repo_bytes yaml; /* given, or read from `path` */
    char *tags;             /* owned */
    struct repo_id id;
    bool is_new;              /* it was not there before */
    struct psnap_error error; /* why it is not there now */
    /* On the way: */
    char *facts;
    char temporary[REPO_PATH]; /* its file until it is committed */
};

/* Takes in what was added. Where it cannot the next opening does. */
void index_add(struct repo *repo, const struct add_item *items, size_t count);

/* Reads everything and tells of what is not as it should be. An index that differs from the objects
 * is made anew. */
enum psnap_status repo_verify(struct repo *repo, uint64_t *profiles, struct psnap_error *error);

/* ---- add.c ---- */

enum { ADD_BATCH = 256 };

struct adder {
    struct repo *repo;
    const char *const *tags; /* of all of them */
    size_t tag_count;
    void (*done)(void *context, const struct add_item *item);
    void *context;
    /* The batch: */
    struct add_item items[ADD_BATCH];
    size_t count, bytes;
};

/* Adds a profile to the batch, of these bytes or, when NULL, of a file; a full batch is committed,
 * and `done` is told of each of its items. Takes over the bytes. */
enum psnap_status add_item(struct adder *adder, const char *path, const struct repo_bytes *yaml,
                           const char *tags, struct psnap_error *error);
/* Commits the last batch. */
enum psnap_status add_finish(struct adder *adder, struct psnap_error *error);

/* ---- transfer.c ---- */

/* Writes the profiles that a query finds as a tar archive; the name of the file says how it is
 * compressed. Tells of profiles that are left out. */
enum psnap_status transfer_export(struct repo *repo, const struct repo_query *query,
                                  const char *name, FILE *file, struct psnap_error *error);
/* Adds what is in a tar archive, "-" is standard input; what was committed before an error stays.
 * Tells of what is left out. */
enum psnap_status transfer_import(struct adder *adder, const char *path, struct psnap_error *error);

#endif
