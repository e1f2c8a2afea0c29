/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The archive, for commands of other folders: repo_open, repo_list, object_read, repo_close.
 */
#ifndef PSNAP_PROFILE_CMD_REPO_READ_H
#define PSNAP_PROFILE_CMD_REPO_READ_H

#include "profile/repo/repo.h"

#endif
