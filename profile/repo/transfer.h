/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Profiles out of an archive into tar archives and back. Such a file has profiles/ID.yaml, and
 * before it notes/ID.note when people said something of it.
 */
#ifndef PSNAP_PROFILE_REPO_TRANSFER_H
#define PSNAP_PROFILE_REPO_TRANSFER_H

#include <stdio.h>

#include "profile/repo/add.h"

/* Writes the profiles that a query finds; the form is by the name of the file. Tells of profiles
 * that are left out. */
enum psnap_status transfer_export(struct repo *repo, const struct query *query, const char *name,
                                  FILE *file, const struct repo_told *told,
                                  struct psnap_error *error);
/* Adds what is in a tar archive, which may expand to `limit` bytes; what was
 * committed before an error stays. Tells of what is left out. */
enum psnap_status transfer_import(struct adder *adder, FILE *file, uint64_t limit,
                                  const struct repo_told *told, struct psnap_error *error);

#endif
