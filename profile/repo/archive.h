/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tar archives, plain or compressed, through libarchive. Nothing is ever extracted: members are
 * read into memory.
 */
#ifndef PSNAP_PROFILE_REPO_ARCHIVE_H
#define PSNAP_PROFILE_REPO_ARCHIVE_H

#include <stdio.h>

#include "profile/repo/bytes.h"

struct tar_writer;
/* To an open file; `name` says how it is compressed: .tar, .tar.gz, .tgz, .tar.zst, .tar.xz (else
 * PSNAP_ERROR_USAGE). The same members make the same archive. */
struct tar_writer *tar_create(FILE *file, const char *name, struct psnap_error *error);
enum psnap_status tar_put(struct tar_writer *writer, const char *name, const void *bytes,
                          size_t size, struct psnap_error *error);
/* After the last one; frees. With `error` NULL it is given up. */
enum psnap_status tar_end(struct tar_writer *writer, struct psnap_error *error);

struct tar_reader;
struct tar_member {
    char name[512]; /* for messages: it may be cut */
    bool is_file;   /* a regular file, and no link */
    uint64_t bytes;
};
/* `file` is read from where it is, and stays open. */
struct tar_reader *tar_open(FILE *file, struct psnap_error *error);
/* The next member: 1, 0 at the end, negative on failure. `limit` bytes of the whole archive are
 * expanded at most. */
int tar_next(struct tar_reader *reader, uint64_t limit, struct tar_member *member,
             struct psnap_error *error);
/* The bytes of the member. */
enum psnap_status tar_read(struct tar_reader *reader, const struct tar_member *member,
                           struct repo_bytes *bytes, struct psnap_error *error);
void tar_close(struct tar_reader *reader);

#endif
