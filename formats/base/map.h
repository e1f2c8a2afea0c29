/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A table of numbers by numbers: open addressing with linear probing, at most half full. Texts are
 * found by their hash: a text whose hash is another one's has the next key that is free.
 */
#ifndef PSNAP_BASE_MAP_H
#define PSNAP_BASE_MAP_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct psnap_map_slot {
    uint64_t key, value; /* value 0: a free slot */
};

/* Zero-initialise; the slots are to be freed. */
struct psnap_map {
    struct psnap_map_slot *slots;
    size_t room, count; /* room is a power of two, or 0 */
};

/* The hash of a text, and of those before it that `hash` is of, at first 0: FNV-1a. */
static inline uint64_t psnap_map_hash(uint64_t hash, const char *text)
{
    hash ^= UINT64_C(0xcbf29ce484222325);
    do
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    while (*text++);
    return hash;
}

/* Forgets all keys; the room stays. */
static inline void psnap_map_clear(struct psnap_map *map)
{
    if (map->room)
        memset(map->slots, 0, map->room * sizeof *map->slots);
    map->count = 0;
}

/* The slot of a key, or the free one for it. There is room. */
static inline struct psnap_map_slot *psnap_map_slot(const struct psnap_map *map, uint64_t key)
{
    size_t at = (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (map->room - 1);

    while (map->slots[at].value && map->slots[at].key != key)
        at = (at + 1) & (map->room - 1);
    return &map->slots[at];
}

/* The value of a key; 0: it has none. */
static inline uint64_t psnap_map_get(const struct psnap_map *map, uint64_t key)
{
    return map->room ? psnap_map_slot(map, key)->value : 0;
}

/* A place for the value of a key, which must not stay 0; NULL: out of memory. */
static inline uint64_t *psnap_map_put(struct psnap_map *map, uint64_t key)
{
    struct psnap_map_slot *slot;

    if (2 * (map->count + 1) > map->room) {
        struct psnap_map larger = {NULL, map->room ? 2 * map->room : 1024, map->count};
        larger.slots = (struct psnap_map_slot *)calloc(larger.room, sizeof *larger.slots);
        if (!larger.slots)
            return NULL;
        for (size_t i = 0; i < map->room; i++)
            if (map->slots[i].value)
                *psnap_map_slot(&larger, map->slots[i].key) = map->slots[i];
        free(map->slots);
        *map = larger;
    }
    slot = psnap_map_slot(map, key);
    slot->key = key;
    map->count += !slot->value;
    return &slot->value;
}

#endif
