/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A repository as commands of other folders read it: opened with its index, queries of entries, and
 * the page that lists entries.
 */
#ifndef PSNAP_PROFILE_CMD_REPO_READ_H
#define PSNAP_PROFILE_CMD_REPO_READ_H

#include "profile/repo/cmd_repo.h"
#include "profile/repo/query.h"
#include "profile/repo/site_page.h"

#endif
