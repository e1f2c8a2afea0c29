/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The archive of profiles, from the inside. From below: store.c, a directory whose files appear
 * whole or not at all; object.c, profiles as compressed files in it; index.c, what is known of
 * them, in SQLite; add.c and transfer.c, profiles into it and out of it.
 *
 *     psnap-repo-2                 says what the directory is
 *     objects/ab/cdef....yaml.zst  a profile, named by its id
 *     objects/ab/cdef....ID.note   what people say of it, named by its id and the note's
 *     dictionaries/ID.dict         what objects were compressed with, and the same as ID.copy
 *     cache/                       the index, files that are being written: can be deleted
 */
#ifndef PSNAP_PROFILE_REPO_H
#define PSNAP_PROFILE_REPO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/base/status.h"

enum { REPO_ID_DIGITS = 32, REPO_NAME = 128 };
#define REPO_FORMAT "psnap-repo-2"
#define REPO_FORMAT_TEXT "An archive of profiles, format 2: see psnap repo --help\n"
#define REPO_PROFILE ".yaml.zst"
#define REPO_FILE_MAX ((size_t)256 << 20)

/* XXH3 of bytes, 128 bits, as xxh128sum(1) prints it. */
struct repo_id {
    char text[REPO_ID_DIGITS + 1];
};

struct repo_bytes {
    char *data; /* owned; NULL: none */
    size_t size;
};

struct repo {
    char *path;               /* as the user names it */
    int root, objects, cache; /* folders; -1: there is none */
    struct codec *codec;      /* object.c's */
    struct sqlite3 *index;    /* index.c's; NULL: it was not needed yet */
    bool is_index_damaged;    /* it was, and has been made anew */
    uint64_t unusable;        /* files that the index could not read */
};

void repo_id_of(const void *bytes, size_t size, struct repo_id *id);
/* Reads an id; false: the text is not 32 hexadecimal digits with `end` behind them. */
bool repo_id_parse(const char *text, const char *end, struct repo_id *id);

/* ---- store.c ---- */

bool repo_is_there(const char *path);
enum psnap_status repo_init(const char *path, struct psnap_error *error);
/* The directory alone; NULL on failure. */
struct repo *store_open(const char *path, struct psnap_error *error);
void store_close(struct repo *repo);

/* "cannot VERB 'repository/NAME'" by errno. */
enum psnap_status repo_fail(const struct repo *repo, const char *verb, const char *name,
                            struct psnap_error *error);

/* A folder, made if asked for; -1 with errno. The caller closes it. No link is followed. */
int store_folder(int parent, const char *name, bool makes);
/* Calls take for each file of a folder, with the folder's name; false: it cannot be listed. One
 * that is not there has none. */
bool store_walk(int parent, const char *name,
                void (*take)(void *context, int folder, const char *name, const char *file),
                void *context);
/* Reads a file to its end, or its first bytes, more than `limit`; false with errno. */
bool store_read_open(int fd, size_t limit, struct repo_bytes *bytes);
bool store_read(int folder, const char *name, struct repo_bytes *bytes);

/* Makes the folders that are missing; before anything is written. */
enum psnap_status store_prepare(struct repo *repo, struct psnap_error *error);
/* A new file in cache/ with a name of its own, on the disk if it `flushes`. */
enum psnap_status store_temporary(const struct repo *repo, const struct repo_bytes *bytes,
                                  bool flushes, char name[REPO_NAME], struct psnap_error *error);
/* Gives it its name; 0 or an errno: EEXIST unless it may replace a file. */
int store_place(const struct repo *repo, const char *temporary, int folder, const char *name,
                bool replaces);
/* Writes a file whole, and to the disk; it may replace one. */
enum psnap_status store_write(const struct repo *repo, int folder, const char *name,
                              const struct repo_bytes *bytes, struct psnap_error *error);

/* Removes files in cache/ that somebody left a day ago or more. */
enum psnap_status store_remove_old(const struct repo *repo, uint64_t *removed,
                                   struct psnap_error *error);

/* ---- object.c; `thread` is that of psnap_parallel, 0 elsewhere ---- */

/* The folder of an id's files; -1 with errno. */
int object_folder(const struct repo *repo, const struct repo_id *id, bool makes);
/* The profile, checked by its id. */
enum psnap_status object_read(struct repo *repo, unsigned thread, const struct repo_id *id,
                              struct repo_bytes *yaml, struct psnap_error *error);
/* The one profile whose id begins so, by the objects alone. */
enum psnap_status repo_find(const struct repo *repo, const char *prefix, struct repo_id *id,
                            struct psnap_error *error);
/* The same, and its bytes, which the caller frees. */
enum psnap_status repo_get(struct repo *repo, const char *prefix, struct repo_bytes *yaml,
                           struct psnap_error *error);

/* Compresses a profile as its file has it; false: out of memory. */
bool object_pack(struct repo *repo, unsigned thread, const struct repo_bytes *yaml,
                 struct repo_bytes *object);
/* Gets the dictionaries that are there and not known yet; before objects are read. */
enum psnap_status dictionaries_load(struct repo *repo, struct psnap_error *error);
/* Makes one of profiles that are to be added, where there is none and they are enough. */
enum psnap_status dictionary_train(struct repo *repo, const struct repo_bytes *samples,
                                   size_t count, struct psnap_error *error);
/* Checks a dictionary's file, and writes its other copy if that is missing. Returns the fault,
 * NULL: none. */
const char *dictionary_check(const struct repo *repo, int folder, const char *file);
void object_release(struct repo *repo);

#endif
