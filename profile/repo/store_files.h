/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How files come into a repository. Private to store*.c.
 */
#ifndef PSNAP_PROFILE_REPO_STORE_FILES_H
#define PSNAP_PROFILE_REPO_STORE_FILES_H

#include "profile/repo/store.h"

/* Opens a directory that is no link; -1 with errno set. */
int repo_open_directory(int at, const char *name);
/* "cannot VERB 'PATH/NAME': reason", by errno. */
enum psnap_status repo_fail(const struct repo *repo, const char *verb, const char *name,
                            struct psnap_error *error);
/* Writes a temporary file, makes it last, and gives it its name in a directory, which is then made
 * to last, too. `shown` is for messages. */
enum psnap_status repo_commit_at(struct repo *repo, int directory, const char *name,
                                 const void *bytes, size_t size, const char *shown,
                                 struct psnap_error *error);

#endif
