/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An archive as commands of other folders read it.
 */
#ifndef PSNAP_PROFILE_CMD_REPO_READ_H
#define PSNAP_PROFILE_CMD_REPO_READ_H

#include "formats/base/cmd.h"
#include "profile/repo/index.h"

/* Calls `take` with each profile of the archive at `path` that the words of a query (psnap repo
 * search) find, all of them where there are no words; an error of `take` ends it. */
enum psnap_status repo_each(const char *path, char *const *words, size_t word_count,
                            enum psnap_status (*take)(void *context,
                                                      const struct repo_profile *profile,
                                                      struct psnap_error *error),
                            void *context, struct psnap_error *error);

#endif
