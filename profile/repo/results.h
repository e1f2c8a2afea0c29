/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Results of simulations, kept beside the profiles: one file for each, by a key of one line that
 * says all that the result follows from.
 */
#ifndef PSNAP_PROFILE_REPO_RESULTS_H
#define PSNAP_PROFILE_REPO_RESULTS_H

#include "profile/repo/store.h"

/* The text of a result; NULL: there is none, or a damaged one. The caller frees it. */
char *results_read(const struct repo *repo, const char *key);
/* Makes it appear, whole, in place of one that is there. */
enum psnap_status results_write(struct repo *repo, const char *key, const char *text,
                                struct psnap_error *error);
/* Tells the damaged ones by their path in the repository. */
void results_verify(const struct repo *repo, void (*tell)(void *context, const char *path),
                    void *context);

#endif
