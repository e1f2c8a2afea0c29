/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lists and sets of ids (ids.h). A set is a table with open addressing. Ids in files from elsewhere
 * may have been chosen to be in each other's way, so that they are hashed with a seed.
 */
#include "profile/repo/ids.h"

#include <stdlib.h>
#include <sys/random.h>
#include <xxhash.h>

bool repo_ids_add(struct repo_ids *ids, const struct repo_id *id)
{
    if (ids->count == ids->room) {
        const size_t room = ids->room * 2 + 64;
        struct repo_id *larger = realloc(ids->items, room * sizeof *larger);
        if (!larger)
            return false;
        ids->items = larger;
        ids->room = room;
    }
    ids->items[ids->count++] = *id;
    return true;
}

static int compare_ids(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct repo_id));
}

void repo_ids_sort(struct repo_ids *ids)
{
    if (ids->count)
        qsort(ids->items, ids->count, sizeof *ids->items, compare_ids);
}

bool repo_ids_have(const struct repo_ids *ids, const struct repo_id *id)
{
    return ids->count && bsearch(id, ids->items, ids->count, sizeof *ids->items, compare_ids);
}

void repo_ids_release(struct repo_ids *ids)
{
    free(ids->items);
    *ids = (struct repo_ids){0};
}

static struct repo_id *find_slot(struct repo_id *slots, size_t room, uint64_t seed,
                                 const struct repo_id *id)
{
    size_t i = (size_t)XXH3_64bits_withSeed(id, sizeof *id, seed) & (room - 1);

    while (!repo_id_is_none(&slots[i]) && !repo_id_is_same(&slots[i], id))
        i = (i + 1) & (room - 1);
    return &slots[i];
}

static bool grow(struct repo_set *set)
{
    const size_t room = set->room ? 2 * set->room : 1024;
    struct repo_id *slots = calloc(room, sizeof *slots);

    if (!slots)
        return false;
    if (!set->room && getrandom(&set->seed, sizeof set->seed, GRND_NONBLOCK) < 0)
        set->seed = 0;
    for (size_t i = 0; i < set->room; i++)
        if (!repo_id_is_none(&set->slots[i]))
            *find_slot(slots, room, set->seed, &set->slots[i]) = set->slots[i];
    free(set->slots);
    set->slots = slots;
    set->room = room;
    return true;
}

bool repo_set_add(struct repo_set *set, const struct repo_id *id)
{
    struct repo_id *slot;

    if (2 * set->count >= set->room && !grow(set))
        return false;
    slot = find_slot(set->slots, set->room, set->seed, id);
    if (repo_id_is_none(slot)) {
        *slot = *id;
        set->count++;
    }
    return true;
}

bool repo_set_has(const struct repo_set *set, const struct repo_id *id)
{
    return set->room && !repo_id_is_none(id) &&
           !repo_id_is_none(find_slot(set->slots, set->room, set->seed, id));
}

void repo_set_release(struct repo_set *set)
{
    free(set->slots);
    *set = (struct repo_set){0};
}
