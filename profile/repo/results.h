/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Results of simulations, kept beside the profiles: one file for each, by a key of one line that
 * says all that the result follows from. What the text says is the matter of whoever writes it.
 */
#ifndef PSNAP_PROFILE_REPO_RESULTS_H
#define PSNAP_PROFILE_REPO_RESULTS_H

#include "profile/repo/store.h"

/* What a key begins with. */
struct result_key {
    char maker[32];       /* the version of what made it, ordered by strverscmp */
    bool is_profile;      /* the input, a trace else, */
    struct repo_id input; /* and the hash of its content */
};

/* The key of that and what else the result follows from, in which ends of lines become blanks; the
 * caller frees it. NULL: out of memory. */
char *results_key(const struct result_key *key, const char *rest);

/* The text of a result; NULL: there is none, or a damaged one. The caller frees it. */
char *results_read(const struct repo *repo, const char *key);
/* Makes it appear, whole, in place of one that is there. */
enum psnap_status results_write(struct repo *repo, const char *key, const char *text,
                                struct psnap_error *error);
/* Tells the damaged ones by their path in the repository, and those of which `is_stale` (NULL:
 * none) says so. */
void results_verify(const struct repo *repo,
                    bool (*is_stale)(void *context, const struct result_key *key),
                    void (*tell)(void *context, const char *path), void *context);

#endif
