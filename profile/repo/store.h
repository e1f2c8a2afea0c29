/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The directory of a repository: files in it, how they are committed, locks. REPO.md describes the
 * layout on disk. No symbolic link within the directory is followed.
 */
#ifndef PSNAP_PROFILE_REPO_STORE_H
#define PSNAP_PROFILE_REPO_STORE_H

#include "profile/repo/codec.h"
#include "profile/repo/ids.h"
#include "profile/repo/seal.h"

enum { REPO_FORMAT_VERSION = 1 };

enum repo_kind { REPO_OBJECT, REPO_DICTIONARY };

struct repo {
    char *path; /* as the user gave it, for messages; owned */
    char *real; /* absolute, no links in it; owned */
    int root, objects, dictionaries;
    int cache; /* -1: there is none, and none can be made */
    int lock;  /* file descriptor of cache/lock, -1 when none is held */
    struct codec *codec;
    struct codec_dictionary **loaded; /* dictionaries */
    size_t loaded_count;
    int level; /* of compression with dictionaries */
    unsigned temporaries;
};

/* Whether there is a repository, of any version, at this path. */
bool repo_is_there(const char *path);
enum psnap_status repo_init(const char *path, struct psnap_error *error);
/* NULL on failure, with `error` filled. */
struct repo *repo_open(const char *path, struct psnap_error *error);
void repo_close(struct repo *repo);

/* Whether the text of the format file is as it should be; and writes it so. */
bool repo_has_format(const struct repo *repo);
enum psnap_status repo_write_format(struct repo *repo, struct psnap_error *error);

enum repo_lock_mode {
    REPO_SHARED,       /* files are added */
    REPO_EXCLUSIVE,    /* files are merged and removed */
    REPO_EXCLUSIVE_NOW /* the same, or an error where one would wait */
};
/* The end of the process gives it back. Without a place for locks: an error. */
enum psnap_status repo_lock(struct repo *repo, enum repo_lock_mode mode, struct psnap_error *error);
void repo_unlock(struct repo *repo);

/* The names of all files of a kind. Files with other names are told by `stranger` (may be NULL). */
enum psnap_status repo_files(const struct repo *repo, enum repo_kind kind, struct repo_ids *ids,
                             void (*stranger)(void *context, const char *path), void *context,
                             struct psnap_error *error);

/* "objects/12ab....pack" */
char *repo_file_name(enum repo_kind kind, const struct repo_id *id, char name[64]);

/* Opens for reading, -1 with errno set: no link, no device. */
int repo_open_file(const struct repo *repo, enum repo_kind kind, const struct repo_id *id);
/* Reads and opens a sealed file; what is damaged in it is no error here. */
enum psnap_status repo_read_sealed(const struct repo *repo, enum repo_kind kind,
                                   const struct repo_id *id, struct repo_bytes *file,
                                   struct sealed *sealed, struct psnap_error *error);
/* Seals a body and makes the file appear, whole and lasting; its name is the hash of the body. */
enum psnap_status repo_commit(struct repo *repo, enum repo_kind kind, const struct repo_bytes *body,
                              struct repo_id *id, struct psnap_error *error);
enum psnap_status repo_remove(struct repo *repo, enum repo_kind kind, const struct repo_id *id,
                              struct psnap_error *error);
/* Removes what writers that died have left in cache/; returns how many files. */
unsigned repo_sweep(struct repo *repo);

/* The dictionary with this id, NULL for none. It belongs to the repository. */
enum psnap_status repo_dictionary(struct repo *repo, const struct repo_id *id,
                                  const struct codec_dictionary **dictionary,
                                  struct psnap_error *error);
/* The one that new profiles are compressed with; NULL: there is none yet, or it is damaged. */
const struct codec_dictionary *repo_dictionary_for_new(struct repo *repo);

/* Appends the bytes of a record, whose stored bytes are there, and checks a profile's id. */
enum psnap_status repo_expand(struct repo *repo, const struct record *record,
                              struct repo_bytes *raw, struct psnap_error *error);
/* The same of the record of a type and id in a file, at `offset` or wherever it is. */
enum psnap_status repo_read_record(struct repo *repo, const struct repo_id *pack, uint64_t offset,
                                   enum record_type type, const struct repo_id *id,
                                   struct repo_bytes *raw, struct psnap_error *error);

#endif
