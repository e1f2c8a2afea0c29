/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Adding profiles: many at a time. They are read, checked and compressed by all processors, written
 * into one file, which is committed; only then is an item done.
 */
#ifndef PSNAP_PROFILE_REPO_ADD_H
#define PSNAP_PROFILE_REPO_ADD_H

#include "profile/repo/index.h"

enum { ADD_BATCH = 256 };
#define ADD_BATCH_BYTES (UINT64_C(24) << 20)
#define ADD_LIMIT_BYTES (UINT64_C(8) << 20) /* of a profile, unless said otherwise */

struct add_options {
    const char *const *tags;
    size_t tag_count;
    const char *licence, *input; /* NULL: not said */
    double fidelity;             /* points; NaN: not said */
    uint64_t limit_bytes;
};

enum add_state {
    ADD_NEW,   /* it is in the repository now */
    ADD_KNOWN, /* it was before */
    ADD_FAILED /* `error` says why */
};

struct add_item {
    const char *path; /* of the profile, for messages when its bytes are given */
    struct repo_bytes
        raw; /* the YAML: given (`has_raw`), or read from `path`; released when done */
    bool has_raw;
    const struct note *note; /* what else is said of it (of an import); NULL: nothing */
    enum add_state state;
    struct repo_id id;
    struct psnap_error error;
    /* On the way: */
    const struct add_item *twin; /* an earlier one with the same bytes */
    struct repo_bytes facts, stored;
    struct record
        records[2]; /* profile and facts; their bytes are in `stored`, one after another */
};

struct adder {
    struct repo *repo;
    struct index *index;
    struct add_options options;
};

/* Adds a batch. What is wrong with one item is in its state; an error is of all of them, of which
 * then none is new. Items' memory is released but for path, state, id and error. */
enum psnap_status add_batch(struct adder *adder, struct add_item *items, size_t count,
                            struct psnap_error *error);
/* All of these, in batches; `done` gets each item, in order, when it is committed or has failed. */
enum psnap_status add_paths(struct adder *adder, char **paths, size_t count,
                            void (*done)(void *context, const struct add_item *item), void *context,
                            struct psnap_error *error);

#endif
