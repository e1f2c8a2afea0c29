/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a command of another folder needs to make a site of a repository: its entries, what is asked
 * for, and the index page.
 */
#ifndef PSNAP_PROFILE_CMD_SITE_H
#define PSNAP_PROFILE_CMD_SITE_H

#include "profile/repo/cmd_repo.h"
#include "profile/repo/query.h"
#include "profile/repo/site_page.h"

#endif
