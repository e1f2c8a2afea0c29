/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Facts and notes as text: a first line with what it is and its version, "psnap-note 1", then a
 * line for each member, "key value". Values are one line of printable UTF-8.
 */
#ifndef PSNAP_PROFILE_REPO_LINES_H
#define PSNAP_PROFILE_REPO_LINES_H

#include "profile/repo/bytes.h"

enum { LINES_VALUE_MAX = 1000 }; /* bytes; what is longer is cut */

/* Adds a member unless `text` is NULL or "". What is no printable character becomes '?'. */
void lines_add(struct repo_bytes *lines, const char *key, const char *text);
void lines_add_u64(struct repo_bytes *lines, const char *key, uint64_t value);
void lines_add_real(struct repo_bytes *lines, const char *key, double value); /* not NaN */

/* The value of the line at *at, with this key or any (NULL), into a terminated copy within `line`,
 * which has key and value one after the other; and moves on. False at the end. */
struct lines_member {
    char key[32], value[LINES_VALUE_MAX + 1];
};
bool lines_next(const struct repo_bytes *lines, size_t *at, struct lines_member *member);
/* Whether the first line is this; the members begin at *at. */
bool lines_begin(const struct repo_bytes *lines, const char *first, size_t *at);

#endif
