/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Profiles out of a repository and into one: archives, other repositories. An archive has
 * profiles/ID.yaml, and before it notes/ID.note when there is a note.
 */
#ifndef PSNAP_PROFILE_REPO_TRANSFER_H
#define PSNAP_PROFILE_REPO_TRANSFER_H

#include "profile/repo/add.h"
#include "profile/repo/archive.h"

/* Called for each profile that is exported; `raw` is NULL, and the error set, when it cannot be
 * read. A status other than PSNAP_OK ends it. */
struct transfer {
    enum psnap_status (*take)(void *context, const struct entry *entry,
                              const struct repo_bytes *raw, struct psnap_error *error);
    void *context;
};

/* The profiles that a query finds. */
enum psnap_status transfer_each(struct index *index, const struct index_query *query,
                                const struct transfer *transfer, struct psnap_error *error);

/* Writes an archive; `refused` is told of profiles that cannot be read. */
enum psnap_status export_tar(struct index *index, const struct index_query *query,
                             struct tar_writer *writer,
                             void (*refused)(void *context, const struct psnap_error *error),
                             void *context, struct psnap_error *error);

struct importer {
    struct adder *adder;
    uint64_t limit_total; /* bytes that an archive expands to */
    void (*done)(void *context, const struct add_item *item);
    /* A member that is no profile and is left out, with the reason. */
    void (*left_out)(void *context, const char *name, const char *reason);
    void *context;
    /* private: */
    struct add_item items[ADD_BATCH];
    char *names[ADD_BATCH];
    struct note notes[ADD_BATCH];
    size_t count, found; /* found: profiles of the archive, also those left out */
    uint64_t bytes;
    struct note note; /* of the profile that comes next */
};
#define IMPORT_TOTAL_BYTES (UINT64_C(16) << 30)

/* Adds what is in an archive, or in another repository. What was committed before an error stays.
 */
enum psnap_status import_tar(struct importer *importer, struct tar_reader *reader,
                             struct psnap_error *error);
enum psnap_status import_repository(struct importer *importer, struct index *from,
                                    struct psnap_error *error);
void importer_release(struct importer *importer);

#endif
