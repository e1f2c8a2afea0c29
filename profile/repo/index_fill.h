/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What index.c and index_fill.c share. Private to index*.c.
 */
#ifndef PSNAP_PROFILE_REPO_INDEX_FILL_H
#define PSNAP_PROFILE_REPO_INDEX_FILL_H

#include "profile/repo/index.h"

/* Takes in what the body of a file has, within a transaction. Only what the system refuses, or the
 * database, is an error; what is damaged is counted. */
enum psnap_status index_fill(struct index *index, const struct repo_id *pack, const uint8_t *body,
                             size_t size, struct psnap_error *error);
/* Takes out what only a file had that is no more there. */
enum psnap_status index_drop(struct index *index, const char *pack, struct psnap_error *error);
/* Derives the facts of entries whose files have none. */
enum psnap_status index_derive(struct index *index, struct psnap_error *error);

#endif
