/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The index: what is known of each profile, in SQLite. It is a cache. On opening it is compared
 * with the names of the objects' files: what is new is read, what has gone is taken out. One that
 * is missing, damaged or of another version is made anew; where none can be written it is in
 * memory.
 */
#ifndef PSNAP_PROFILE_REPO_INDEX_H
#define PSNAP_PROFILE_REPO_INDEX_H

#include "formats/base/json.h"
#include "profile/repo/facts.h"
#include "profile/repo/query.h"

struct repo *repo_open(const char *path, struct psnap_error *error); /* NULL on failure */
void repo_close(struct repo *repo);

/* A row of a listing, valid until the next one. Its columns: id, bytes, program, command, build_id,
 * language, compiler, host, recorded, model, functions, tags, licence, input, added, accesses,
 * loads, stores, atomics, loops, regions, working_set, fidelity, similarity. */
struct entry;
const char *entry_text(const struct entry *entry, const char *column); /* "": unknown */
uint64_t entry_number(const struct entry *entry, const char *column);
double entry_real(const struct entry *entry, const char *column); /* NaN: unknown */
/* All of them, as an object. */
void entry_json(const struct entry *entry, struct psnap_json *json);

/* The profiles that a query finds. `take` returns false to end it. */
enum psnap_status repo_list(struct repo *repo, const struct query *query,
                            bool (*take)(void *context, const struct entry *entry), void *context,
                            struct psnap_error *error);

/* A profile that a query finds. */
struct repo_profile {
    const char *id;   /* the hash of the YAML, REPO_ID_DIGITS digits */
    const char *tags; /* " hpc sparse "; "": none */
    const char *yaml; /* NULL: it cannot be read */
    size_t yaml_bytes;
    const char *problem; /* then why */
};

/* Calls `take` with each of them; an error of it is the end. */
enum psnap_status repo_read_each(struct repo *repo, const struct query *query,
                                 enum psnap_status (*take)(void *context,
                                                           const struct repo_profile *profile,
                                                           struct psnap_error *error),
                                 void *context, struct psnap_error *error);

/* Takes in profiles that were added, between begin and end. Where begin fails the next opening does
 * it. */
bool index_begin(struct repo *repo);
void index_add(struct repo *repo, const struct repo_id *id, size_t bytes,
               const struct facts *facts);
void index_end(struct repo *repo);
/* Adds a note to what people say of a profile, if it is news; `said` is an object in JSON, of tags
 * (a list), licence, input and fidelity. */
enum psnap_status repo_note(struct repo *repo, const struct repo_id *id, const char *said,
                            struct psnap_error *error);

/* All that people say of a profile, as one note; the caller frees it. NULL: nothing. */
char *repo_said(struct repo *repo, const char *id);

/* The callback for files that are damaged, or none of the archive's. */
struct repo_told {
    void (*tell)(void *context, bool is_damaged, const char *path, const char *message);
    void *context;
};

/* Reads everything and tells of what is not as it should be. An index that says anything else than
 * the objects is made anew. */
enum psnap_status repo_verify(struct repo *repo, const struct repo_told *told, uint64_t *profiles,
                              struct psnap_error *error);

#endif
