/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A repository as commands of other folders read it: opened with its index, and queries of entries.
 */
#ifndef PSNAP_PROFILE_CMD_REPO_READ_H
#define PSNAP_PROFILE_CMD_REPO_READ_H

#include "profile/repo/cmd_repo.h"
#include "profile/repo/query.h"

#endif
