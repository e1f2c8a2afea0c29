/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a file has in it, for commands that keep results of it.
 */
#ifndef PSNAP_PREDICT_CMD_CONTENT_H
#define PSNAP_PREDICT_CMD_CONTENT_H

#include "profile/repo/cmd_repo.h"

/* The id of a regular file's content, and how long it is (`bytes` may be NULL). */
enum psnap_status content_id(const char *path, struct repo_id *id, uint64_t *bytes,
                             struct psnap_error *error);

#endif
