/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What of a cache is not in the hot loop: choosing its representation, memory,
 * and marking lines dirty. Tables are zeroed lazily by the system, so that a
 * simulated cache costs only what the stream touches of it.
 */
#include "simcore/cache.h"

#include <stdlib.h>

#include "simcore/cache_packed.h"
#include "simcore/rename.h"

enum { HOST_LINE_BYTES = 64 };

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
    if (wanted == CACHE_PACKED && power_of_two && level->ways <= 16 &&
        level->sets * level->line_bytes >> (43 - CACHE_PACKED_BITS))
        return level->ways <= 8 ? CACHE_PACKED : CACHE_PACKED_WIDE;
    return power_of_two ? CACHE_FLAT : CACHE_FLAT_MODULO;
}

/* So many bytes, all 0, from the start of a line of the host's cache on; NULL: out of memory. */
static void *in_lines(struct cache *cache, size_t bytes)
{
    cache->allocated = calloc(bytes + HOST_LINE_BYTES, 1);
    if (!cache->allocated)
        return NULL;
    return (void *)(((uintptr_t)cache->allocated + HOST_LINE_BYTES - 1) &
                    ~(uintptr_t)(HOST_LINE_BYTES - 1));
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
        .set_bits = log2_exact(level->sets),
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
    if (cache_is_packed(cache))
        return (cache->tags = in_lines(cache, level->sets * packed_row(cache->kind) * 4)) != NULL;
    return (cache->words = in_lines(cache, level->sets * level->ways * 8)) != NULL;
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

static bool packed_to_flat(struct cache *cache, const struct rename *rename)
{
    struct cache flat = *cache;

    flat.kind = CACHE_FLAT;
    flat.words = in_lines(&flat, flat.sets * flat.ways * 8);
    if (!flat.words)
        return false;
    for (uint64_t set = 0; set < cache->sets; set++)
        for (uint32_t way = 0; way < cache->ways; way++) {
            const uint32_t word = packed_set(cache, cache->kind, set)[way];
            if (word)
                flat.words[set * cache->ways + way] =
                    rename_back(rename, packed_address(cache, set, word)) | CACHE_VALID |
                    (word & 1 ? CACHE_DIRTY : 0);
        }
    free(cache->allocated);
    flat.tags = NULL;
    *cache = flat;
    return true;
}

bool cache_rename_back(struct cache *cache, const struct rename *rename)
{
    if (cache_is_packed(cache))
        return packed_to_flat(cache, rename);
    if (cache->kind == CACHE_LISTED) {
        cache_listed_rename_back(cache, rename);
        return true;
    }
    for (uint64_t i = 0; i < cache->sets * cache->ways; i++) {
        const uint64_t flags = cache->words[i] & (cache->line_bytes - 1);
        if (cache->words[i])
            cache->words[i] = rename_back(rename, cache->words[i] - flags) | flags;
    }
    return true;
}

static bool packed_mark_dirty(struct cache *cache, uint64_t line)
{
    const uint32_t word = packed_word(cache, line);
    uint32_t *set = packed_set(cache, cache->kind, line);

    for (uint32_t way = 0; way < cache->ways; way++)
        if ((set[way] ^ word) <= 1) {
            set[way] |= 1;
            return true;
        }
    return false;
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
    if (cache_is_packed(cache))
        return packed_mark_dirty(cache, line);
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
