/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The language of `psnap repo search`: words that must all hold (query_help).
 */
#ifndef PSNAP_PROFILE_REPO_QUERY_H
#define PSNAP_PROFILE_REPO_QUERY_H

#include "profile/repo/repo.h"

enum { QUERY_VALUES = 64 };

struct query {
    char *where;                /* conditions in SQL, " AND (...)"; owned; NULL: none */
    char *values[QUERY_VALUES]; /* of the places in them; owned */
    size_t count;
    char *like;     /* the beginning of an id; owned; NULL: none */
    uint64_t limit; /* 0: all */
};

/* Adds the words of a text. What is wrong: PSNAP_ERROR_USAGE. */
enum psnap_status query_parse(struct query *query, const char *text, struct psnap_error *error);
void query_release(struct query *query);

extern const char query_help[];

#endif
