/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap repo: its commands. Private to cmd_repo*.c.
 */
#ifndef PSNAP_PROFILE_CMD_REPO_H
#define PSNAP_PROFILE_CMD_REPO_H

#include "formats/base/cmd.h"
#include "profile/repo/index.h"

int psnap_cmd_repo_init(int argc, char **argv);
int psnap_cmd_repo_add(int argc, char **argv);
int psnap_cmd_repo_list(int argc, char **argv);
int psnap_cmd_repo_search(int argc, char **argv);
int psnap_cmd_repo_get(int argc, char **argv);
int psnap_cmd_repo_diff(int argc, char **argv);
int psnap_cmd_repo_verify(int argc, char **argv);
int psnap_cmd_repo_gc(int argc, char **argv);
int psnap_cmd_repo_export(int argc, char **argv);
int psnap_cmd_repo_import(int argc, char **argv);

/* A repository and its index. */
struct opened {
    struct repo *repo;
    struct index *index;
};

/* Opens both, with warnings of what is out of order; a status of the program. */
int repo_cmd_open(const char *command, const char *path, struct opened *opened);
void repo_cmd_close(struct opened *opened);
/* Warns of what the index could not read. */
void repo_cmd_warn_unusable(const struct opened *opened);
/* {"psnap": 1, "command": "repo list", ... : begun. */
void repo_cmd_begin_json(struct psnap_json *json, FILE *file, const char *command);
void repo_cmd_end_json(struct psnap_json *json);
/* Members of an entry. */
void repo_cmd_json_entry(struct psnap_json *json, const struct entry *entry);

#endif
