/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Verifying a repository.
 */
#ifndef PSNAP_PROFILE_REPO_VERIFY_H
#define PSNAP_PROFILE_REPO_VERIFY_H

#include "profile/repo/index.h"

enum finding_kind {
    FOUND_STRANGER, /* not the repository's; no damage */
    FOUND_MENDED,   /* damaged, and nothing is lost: gc mends it */
    FOUND_DAMAGED   /* something cannot be read any more */
};

struct finding {
    enum finding_kind kind;
    const char *path;    /* within the repository */
    const char *profile; /* the id of the profile that is lost; NULL */
    const char *message;
};

struct verify_result {
    uint64_t files, profiles, notes; /* that are good */
    uint64_t mended, damaged;        /* findings */
};

/* Reads everything. `is_deep`: each profile is parsed, and what the facts say compared with it. */
enum psnap_status repo_verify(struct repo *repo, bool is_deep,
                              void (*tell)(void *context, const struct finding *finding),
                              void *context, struct verify_result *result,
                              struct psnap_error *error);

#endif
