/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The index: which entry is in which file, and what is known of it, in SQLite. It is a cache. On
 * opening it is compared with the names of the objects' files: what is new is read, what has gone
 * is taken out. One that is missing, damaged or of another version is made anew; where none can be
 * written it is made in memory.
 */
#ifndef PSNAP_PROFILE_REPO_INDEX_H
#define PSNAP_PROFILE_REPO_INDEX_H

#include "profile/repo/db.h"
#include "profile/repo/facts.h"
#include "profile/repo/note.h"
#include "profile/repo/store.h"

struct index {
    struct repo *repo;
    struct db *db;
    int lock;          /* cache/index.lock, shared while the file is open; else -1 */
    bool is_file;      /* it is in cache/, else in memory */
    char notice[200];  /* what was found out of order on opening; "" nothing */
    uint64_t unusable; /* records that cannot be read: `verify` names them */
};

/* In cache/. */
#define INDEX_FILE "index.sqlite"

/* Opened, and as the objects are. NULL on failure. */
struct index *index_open(struct repo *repo, struct psnap_error *error);
/* In memory, of what the objects say. */
struct index *index_open_fresh(struct repo *repo, struct psnap_error *error);
void index_close(struct index *index);
/* Goes on with one in memory, of what the objects say, since the file's may lie. False: it was in
 * memory already, or cannot be made. */
bool index_doubt(struct index *index);
/* Makes the file anew of what the objects say. */
enum psnap_status index_remake(struct index *index, struct psnap_error *error);
/* Reads what has come, drops what has gone. */
enum psnap_status index_sync(struct index *index, struct psnap_error *error);
/* The same of a pack that was just committed, whose body is at hand. Where the file cannot be
 * written the index goes on in memory. */
enum psnap_status index_take_pack(struct index *index, const struct repo_id *pack,
                                  const struct repo_bytes *body, struct psnap_error *error);

/* Where a profile is; several places are in order of their packs, from `skip` on. 1, 0: nowhere
 * (any more), negative on failure. */
int index_place(struct index *index, const struct repo_id *id, unsigned skip, struct repo_id *pack,
                uint64_t *offset, struct psnap_error *error);
/* The one entry whose id begins so. */
enum psnap_status index_find(struct index *index, const char *prefix, struct repo_id *id,
                             struct psnap_error *error);
/* The note that holds for an entry; version 0: none. The caller releases it. */
enum psnap_status index_note(struct index *index, const struct repo_id *id, struct note *note,
                             struct psnap_error *error);
/* The bytes of a profile: of the first place where they are whole. */
enum psnap_status index_read(struct index *index, const struct repo_id *id, struct repo_bytes *raw,
                             struct psnap_error *error);
/* The same, and where the index is wrong, or files were merged meanwhile, as the objects say now.
 */
enum psnap_status index_fetch(struct index *index, const struct repo_id *id, struct repo_bytes *raw,
                              struct psnap_error *error);
/* How many profiles there are, and the bytes of all of them. */
enum psnap_status index_totals(struct index *index, uint64_t *count, uint64_t *bytes,
                               struct psnap_error *error);
/* Entries that were there and are in no file any more. */
enum psnap_status index_lost(struct index *index, struct repo_ids *ids, struct psnap_error *error);
enum psnap_status index_forget_lost(struct index *index, struct psnap_error *error);
/* How many packs have a body of less than so many bytes. */
enum psnap_status index_small_packs(struct index *index, uint64_t below, uint64_t *count,
                                    struct psnap_error *error);
/* A hash of all that it says: that of two indexes of the same objects is the same. */
enum psnap_status index_hash(struct index *index, uint64_t *hash, struct psnap_error *error);

enum { INDEX_TEXTS = FACTS_TEXTS + 4 };
enum { ENTRY_TAGS = FACTS_TEXTS, ENTRY_LICENCE, ENTRY_INPUT, ENTRY_ADDED };

/* A row of a listing; texts are "" when unknown and valid until the next row. */
struct entry {
    const char *id;
    uint64_t bytes, stored_bytes;
    const char *texts[INDEX_TEXTS];
    uint64_t counts[FACTS_COUNTS];
    double fidelity;          /* points, as stated or by the certificate; NaN: unknown */
    const uint8_t *signature; /* SIGNATURE_BYTES; NULL: unknown */
    double similarity;        /* to the entry that was asked for; NaN: none was */
};

extern const char *const entry_text_keys[INDEX_TEXTS];

/* What is listed: "WHERE" conditions and "ORDER BY" with places for values. */
struct index_query {
    struct repo_bytes where; /* "": all */
    struct db_value values[DB_VALUES_MAX];
    size_t count;
    uint8_t like[SIGNATURE_BYTES]; /* when `is_like`: the most similar ones first */
    bool is_like;
    uint64_t limit; /* 0: all */
};

/* `take` returns false to end it. */
enum psnap_status index_list(struct index *index, const struct index_query *query,
                             bool (*take)(void *context, const struct entry *entry), void *context,
                             struct psnap_error *error);
enum psnap_status index_signature(struct index *index, const struct repo_id *id,
                                  uint8_t signature[SIGNATURE_BYTES], struct psnap_error *error);

#endif
