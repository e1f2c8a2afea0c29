/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An archive as commands of other folders read it: opened with its index, and queries of entries.
 */
#ifndef PSNAP_PROFILE_CMD_REPO_READ_H
#define PSNAP_PROFILE_CMD_REPO_READ_H

#include "profile/repo/cmd_repo.h"
#include "profile/repo/query.h"

/* A profile that a query finds. */
struct repo_profile {
    const char *id;   /* the hash of the YAML, REPO_ID_DIGITS digits */
    const char *tags; /* "hpc sparse"; "": none */
    const char *yaml; /* NULL: it cannot be read */
    size_t yaml_bytes;
    const char *problem; /* then why */
};

/* Calls `take` with each profile of the archive at `path` that the words of a query (psnap repo
 * search) find, all of them where there are no words; an error of `take` ends it. */
enum psnap_status repo_each(const char *path, char *const *words, size_t word_count,
                            enum psnap_status (*take)(void *context,
                                                      const struct repo_profile *profile,
                                                      struct psnap_error *error),
                            void *context, struct psnap_error *error);

#endif
