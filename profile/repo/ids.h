/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lists and sets of ids.
 */
#ifndef PSNAP_PROFILE_REPO_IDS_H
#define PSNAP_PROFILE_REPO_IDS_H

#include "profile/repo/bytes.h"

struct repo_ids {
    struct repo_id *items; /* owned */
    size_t count, room;
};

bool repo_ids_add(struct repo_ids *ids, const struct repo_id *id); /* false: out of memory */
void repo_ids_sort(struct repo_ids *ids);
bool repo_ids_have(const struct repo_ids *ids, const struct repo_id *id); /* of sorted ones */
void repo_ids_release(struct repo_ids *ids);

struct repo_set {
    struct repo_id *slots; /* owned; a power of two of them */
    size_t count, room;
    uint64_t seed;
};

bool repo_set_add(struct repo_set *set, const struct repo_id *id); /* false: out of memory */
bool repo_set_has(const struct repo_set *set, const struct repo_id *id);
void repo_set_release(struct repo_set *set);

#endif
