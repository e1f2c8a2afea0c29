/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What of a cache is not in the hot loop: choosing its representation, memory,
 * and marking lines dirty. Tables are zeroed lazily by the system, so that a
 * simulated cache costs only what the stream touches of it.
 */
#include "simcore/cache.h"

#include <stdlib.h>

enum { HOST_LINE_WORDS = 8 };

static unsigned log2_exact(uint64_t power_of_two)
{
    unsigned shift = 0;

    while (power_of_two > UINT64_C(1) << shift)
        shift++;
    return shift;
}

/* The representation of a level, as it is asked for where that is possible. */
static enum cache_kind kind_of(const struct psnap_cache_level *level, enum cache_kind wanted)
{
    const bool power_of_two = (level->sets & (level->sets - 1)) == 0;
    const bool plain = level->replacement == PSNAP_REPLACE_LRU &&
                       level->index == PSNAP_INDEX_MODULO && !level->prefetch.entries &&
                       wanted != CACHE_GENERAL;

    if (wanted == CACHE_LISTED || level->ways > CACHE_FLAT_WAYS_MAX ||
        level->line_bytes < (plain ? CACHE_FLAT_LINE_BYTES_MIN : CACHE_GENERAL_LINE_BYTES_MIN))
        return CACHE_LISTED;
    if (!plain)
        return CACHE_GENERAL;
    return power_of_two ? CACHE_FLAT : CACHE_FLAT_MODULO;
}

bool cache_init(struct cache *cache, const struct psnap_cache_level *level, uint32_t index,
                enum cache_kind kind)
{

    *cache = (struct cache){
        .kind = kind_of(level, kind),
        .line_shift = log2_exact(level->line_bytes),
        .line_bytes = level->line_bytes,
        .sets = level->sets,
        .set_mask = level->sets - 1,
        .ways = (uint32_t)level->ways,
        .replacement = level->replacement,
        .index = level->index,
        .set_bits = level->index == PSNAP_INDEX_XOR ? log2_exact(level->sets) : 0,
        .tree_words = (uint32_t)((level->ways + 63) / 64),
    };
    psnap_rng_init_stream(&cache->rng, level->seed, index);
    if (level->replacement == PSNAP_REPLACE_PLRU) {
        cache->trees = calloc(level->sets * cache->tree_words, sizeof *cache->trees);
        if (!cache->trees)
            return false;
    }
    if (level->replacement == PSNAP_REPLACE_SRRIP) {
        cache->ages = calloc(level->sets * level->ways, sizeof *cache->ages);
        if (!cache->ages)
            return false;
    }
    if (cache->kind == CACHE_LISTED)
        return cache_listed_init(cache);
    cache->allocated = calloc(level->sets * level->ways + HOST_LINE_WORDS, sizeof *cache->words);
    if (!cache->allocated)
        return false;
    cache->words = (uint64_t *)(((uintptr_t)cache->allocated + HOST_LINE_WORDS * 8 - 1) &
                                ~(uintptr_t)(HOST_LINE_WORDS * 8 - 1));
    return true;
}

void cache_release(struct cache *cache)
{
    free(cache->allocated);
    free(cache->trees);
    free(cache->ages);
    free(cache->nodes);
    free(cache->buckets);
    free(cache->lists);
    *cache = (struct cache){0};
}

bool cache_mark_dirty(struct cache *cache, uint64_t address)
{
    const uint64_t line = address >> cache->line_shift;
    const uint64_t word = (line << cache->line_shift) | CACHE_VALID;
    uint64_t *set;

    if (cache->kind == CACHE_LISTED)
        return cache_listed_mark_dirty(cache, line);
    if (cache->kind == CACHE_GENERAL)
        return cache_general_mark_dirty(cache, line);
    set = cache_set(cache, cache->kind, line);
    for (uint32_t way = 0; way < cache->ways; way++) {
        if ((set[way] ^ word) <= CACHE_DIRTY) {
            set[way] |= CACHE_DIRTY;
            return true;
        }
    }
    return false;
}

enum cache_touch cache_fetch_ahead(struct cache *cache, uint64_t address, uint64_t *victim)
{
    const uint64_t line = address >> cache->line_shift;

    return cache->kind == CACHE_LISTED ? cache_listed_fetch_ahead(cache, line, victim)
                                       : cache_general_fetch_ahead(cache, line, victim);
}

bool cache_holds(const struct cache *cache, uint64_t address)
{
    const uint64_t line = address >> cache->line_shift;

    return cache->kind == CACHE_LISTED ? cache_listed_holds(cache, line)
                                       : cache_general_holds(cache, line);
}

bool cache_remove(struct cache *cache, uint64_t address, bool *dirty)
{
    const uint64_t line = address >> cache->line_shift;

    return cache->kind == CACHE_LISTED ? cache_listed_remove(cache, line, dirty)
                                       : cache_general_remove(cache, line, dirty);
}

bool cache_clean(struct cache *cache, uint64_t address)
{
    const uint64_t line = address >> cache->line_shift;

    return cache->kind == CACHE_LISTED ? cache_listed_clean(cache, line)
                                       : cache_general_clean(cache, line);
}
