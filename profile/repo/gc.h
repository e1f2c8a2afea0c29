/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Putting a repository in order: small files are merged, damage is undone, what is of no use goes
 * (REPO.md has what).
 */
#ifndef PSNAP_PROFILE_REPO_GC_H
#define PSNAP_PROFILE_REPO_GC_H

#include "profile/repo/index.h"

struct gc_options {
    bool forgets;  /* what is lost: files that are damaged for good go, and are no longer missed */
    bool is_quick; /* small files alone are merged, if nobody else is adding */
};

struct gc_result {
    uint64_t temporaries, merged, written, mended, damaged; /* files */
    uint64_t twins, notes;                                  /* records left out */
    uint64_t dictionaries;                                  /* removed */
    uint64_t bytes_before, bytes_after;                     /* of objects */
};

/* `index` NULL: it is opened for it. */
enum psnap_status repo_gc(struct repo *repo, struct index *index, const struct gc_options *options,
                          struct gc_result *result, struct psnap_error *error);

/* After so many profiles were added: merges the small files when they are many, and trains the
 * first dictionary when that can be, if nobody else is adding. What goes wrong changes nothing, and
 * is left to repo_gc. */
void repo_gc_when_due(struct repo *repo, struct index *index, size_t added);

#endif
