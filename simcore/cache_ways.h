/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Replacement where lines stay in their ways: tree pseudo-LRU, random and SRRIP.
 *
 * The tree of a set is a heap of ways - 1 bits: node 1 is the root, node i has
 * the children 2i and 2i + 1, and a child ways + w is way w. A bit points to the
 * half that is to be replaced next, 0 to the lower ways. Using a way turns the
 * bits on the path to it away from it; the victim is where the bits lead. All
 * start at 0. (Handy, The Cache Memory Book, 1998; of 2 ways it is exact LRU.)
 *
 * SRRIP (Jaleel et al., ISCA 2010, by hits, 2 bits): each way has an age of 0 to 3, how long until
 * it is used again. A line comes in with 2, a use makes it 0; the victim is the lowest way of age
 * 3, and while there is none all get older.
 *
 * Random draws one number per eviction from a full set, from a generator of the
 * cache's own: the same seed, level and stream, the same victims.
 */
#ifndef PSNAP_SIMCORE_CACHE_WAYS_H
#define PSNAP_SIMCORE_CACHE_WAYS_H

#include "simcore/cache.h"

/* `bits` with that of `child`'s parent pointing away from it; no branch, for none could be
 * foreseen.
 */
static inline uint64_t cache_tree_away(uint64_t bits, uint32_t child)
{
    const unsigned at = child / 2 % 64;

    return (bits & ~(UINT64_C(1) << at)) | (uint64_t)(~child & 1) << at;
}

static inline void cache_tree_use(uint64_t *tree, uint32_t ways, uint32_t way)
{
    uint32_t node = ways + way;
    uint64_t bits;

    for (; node >= 128; node /= 2)
        tree[node / 128] = cache_tree_away(tree[node / 128], node);
    for (bits = tree[0]; node > 1; node /= 2) /* the usual tree is this one word */
        bits = cache_tree_away(bits, node);
    tree[0] = bits;
}

static inline uint32_t cache_tree_victim(const uint64_t *tree, uint32_t ways)
{
    uint32_t node = 1;

    while (node < ways)
        node = 2 * node + (uint32_t)(tree[node / 64] >> node % 64 & 1);
    return node - ways;
}

/* A way of set `set` has been used, or a line came into it (`is_new`). Nothing to note for random.
 */
static inline void cache_use_way(struct cache *cache, uint64_t set, uint32_t way, bool is_new)
{
    if (cache->replacement == PSNAP_REPLACE_SRRIP)
        cache->ages[set * cache->ways + way] = is_new ? 2 : 0;
    if (cache->replacement == PSNAP_REPLACE_PLRU)
        cache_tree_use(cache->trees + set * cache->tree_words, cache->ways, way);
}

static inline uint32_t cache_oldest_way(uint8_t *ages, uint32_t ways)
{
    uint8_t oldest = 0;
    uint32_t way = 0;

    for (uint32_t i = 0; i < ways; i++)
        oldest = ages[i] > oldest ? ages[i] : oldest;
    while (ages[way] < oldest)
        way++;
    for (uint32_t i = 0; i < ways && oldest < 3; i++)
        ages[i] = (uint8_t)(ages[i] + 3 - oldest);
    return way;
}

/* The way of a full set that makes room. */
static inline uint32_t cache_victim_way(struct cache *cache, uint64_t set)
{
    if (cache->replacement == PSNAP_REPLACE_PLRU)
        return cache_tree_victim(cache->trees + set * cache->tree_words, cache->ways);
    if (cache->replacement == PSNAP_REPLACE_SRRIP)
        return cache_oldest_way(cache->ages + set * cache->ways, cache->ways);
    return (uint32_t)psnap_rng_below(&cache->rng, cache->ways);
}

#endif
