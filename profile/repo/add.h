/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Adding profiles, many at a time: read, checked and compressed by all processors, then committed
 * together. XXH3 is no cryptographic hash: equal ids are not taken for equal bytes.
 */
#ifndef PSNAP_PROFILE_REPO_ADD_H
#define PSNAP_PROFILE_REPO_ADD_H

#include "profile/repo/index.h"

enum { ADD_BATCH = 256, ADD_NOTE_MAX = 64 << 10 };

struct add_item {
    char *path;             /* for messages when its bytes are given; owned */
    struct repo_bytes yaml; /* given, or read from `path` */
    char *said;             /* a note that comes with it; owned, or NULL */
    struct repo_id id;
    bool is_new;              /* it was not there before */
    struct psnap_error error; /* why it is not there now */
    bool is_said_badly;       /* `said` is no note, and left out */
    /* On the way: */
    struct facts facts;
    char temporary[REPO_NAME]; /* its file until it is committed */
    bool is_unwritten;         /* that failed: the error is the batch's */
};

struct adder {
    struct repo *repo;
    const char *said;     /* a note of all of them; NULL: none */
    uint64_t limit_bytes; /* of a profile */
    void (*done)(void *context, const struct add_item *item);
    void *context;
    /* The batch: */
    struct add_item items[ADD_BATCH];
    size_t count, bytes;
};

/* Adds a profile to the batch, of these bytes or, when NULL, of a file; a full batch is committed,
 * and `done` is told of each of its items. Takes over the bytes and `said`. */
enum psnap_status add_item(struct adder *adder, const char *path, const struct repo_bytes *yaml,
                           char *said, struct psnap_error *error);
/* Commits the last batch. */
enum psnap_status add_finish(struct adder *adder, struct psnap_error *error);

#endif
