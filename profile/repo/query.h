/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The language of `psnap repo search`: words that must all hold.
 *
 *   spmv                          in program, command, functions, tags or input, in any case
 *   name:spmv  function:main  tag:hpc  licence:MIT  host:x86  command:-n  input:large
 *   build:3f2a  id:12ab  model:nests  language:C  compiler:clang  recorded>2026-01
 *       ':' in the text (of a tag: the whole tag; of build and id: its beginning), '=' the whole
 *       text; recorded and added compare by '<' '<=' '>' '>=' as well
 *   regions>10  working_set>1M  accesses<=1G  loops:3  bytes<4K  fidelity<2
 *       numbers by '<' '<=' '>' '>=' '=' (or ':'), K M G T are binary
 *   stride:8>0.5  stride:random<0.1
 *       share of accesses by stride: the bins of profiles
 *   like:ID   the most similar ones first
 *   !WORD     it does not hold
 *
 * A word with blanks is in quotes: name:"my program".
 */
#ifndef PSNAP_PROFILE_REPO_QUERY_H
#define PSNAP_PROFILE_REPO_QUERY_H

#include "profile/repo/index.h"

struct query {
    struct index_query ask;
    char *texts[DB_VALUES_MAX]; /* owned: what values refer to */
    size_t text_count;
    char *like; /* beginning of an id; owned; NULL: none */
};

/* Adds the words of a text. What is wrong: PSNAP_ERROR_USAGE. */
enum psnap_status query_parse(struct query *query, const char *text, struct psnap_error *error);
/* Finds what is asked to be alike; before the query is used. */
enum psnap_status query_settle(struct query *query, struct index *index, struct psnap_error *error);
void query_release(struct query *query);

extern const char query_help[];

#endif
