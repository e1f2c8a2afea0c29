/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The general representation of a cache: sets of words as in a flat one, for
 * every replacement policy, and with marks on lines that were prefetched. Under
 * LRU words are in order of recency, as in a flat cache, under FIFO in that of
 * arrival; under the other policies they stay in their ways. An empty way is filled before any is
 * replaced, the lowest first.
 */
#include "simcore/cache_ways.h"

#define FLAGS (CACHE_DIRTY | CACHE_VALID | CACHE_MARKED)

static uint64_t word_of(const struct cache *cache, uint64_t line)
{
    return (line << cache->line_shift) | CACHE_VALID;
}

/* Without a branch: which way it will be is not to be foreseen. `ways` is a constant. */
CACHE_INLINE uint32_t find_among(const uint64_t *set, uint32_t ways, uint64_t word)
{
    uint32_t found = ways;

    for (uint32_t way = 0; way < ways; way++)
        found = (set[way] ^ word) & ~(CACHE_DIRTY | CACHE_MARKED) ? found : way;
    return found;
}

/* The way that holds a word, whatever its flags say; `ways` when none does. */
static inline uint32_t find(const uint64_t *set, uint32_t ways, uint64_t word)
{
    uint32_t way = 0;

    if (ways == 8)
        return find_among(set, 8, word);
    if (ways == 16)
        return find_among(set, 16, word);
    while (way < ways && ((set[way] ^ word) & ~(CACHE_DIRTY | CACHE_MARKED)))
        way++;
    return way;
}

/* Shifts the words before `way` by one and puts `word` first. */
static void to_front(uint64_t *set, uint32_t way, uint64_t word)
{
    for (; way; way--)
        set[way] = set[way - 1];
    set[0] = word;
}

/* The way that a line that is not there goes to. */
static uint32_t claim(struct cache *cache, uint64_t index, const uint64_t *set)
{
    if (cache_is_queue(cache))
        return cache->ways - 1;
    for (uint32_t i = 0; i < cache->ways; i++)
        if (!set[i])
            return i;
    return cache_victim_way(cache, index);
}

static enum cache_touch bring_in(struct cache *cache, uint64_t index, uint64_t *set, uint64_t word,
                                 uint64_t *victim)
{
    const uint32_t way = claim(cache, index, set);
    const uint64_t old = set[way];

    if (cache_is_queue(cache)) {
        to_front(set, way, word);
    } else {
        set[way] = word;
        cache_use_way(cache, index, way, true);
    }
    cache->marks_evicted += (old & CACHE_MARKED) != 0;
    cache->has_victim = old != 0;
    *victim = old & ~FLAGS;
    return old & CACHE_DIRTY ? CACHE_MISS_DIRTY : CACHE_MISS;
}

enum cache_touch cache_general_touch(struct cache *cache, uint64_t line, bool dirty,
                                     uint64_t *victim)
{
    const uint64_t index = cache_index(cache, line), word = word_of(cache, line);
    uint64_t *set = cache->words + index * cache->ways;
    const uint32_t way = find(set, cache->ways, word);
    uint64_t found;

    if (way == cache->ways)
        return bring_in(cache, index, set, word | dirty, victim);
    found = set[way];
    cache->marks_touched += (found & CACHE_MARKED) != 0;
    found = (found & ~CACHE_MARKED) | dirty;
    if (cache->replacement == PSNAP_REPLACE_LRU) {
        to_front(set, way, found);
    } else {
        set[way] = found;
        cache_use_way(cache, index, way, false);
    }
    return CACHE_HIT;
}

enum cache_touch cache_general_fetch_ahead(struct cache *cache, uint64_t line, uint64_t *victim)
{
    const uint64_t index = cache_index(cache, line), word = word_of(cache, line);
    uint64_t *set = cache->words + index * cache->ways;

    if (find(set, cache->ways, word) < cache->ways)
        return CACHE_HIT;
    return bring_in(cache, index, set, word | CACHE_MARKED, victim);
}

bool cache_general_mark_dirty(struct cache *cache, uint64_t line)
{
    uint64_t *set = cache->words + cache_index(cache, line) * cache->ways;
    const uint32_t way = find(set, cache->ways, word_of(cache, line));

    if (way < cache->ways)
        set[way] |= CACHE_DIRTY;
    return way < cache->ways;
}

static uint64_t *set_of(const struct cache *cache, uint64_t line)
{
    return cache->words + cache_index(cache, line) * cache->ways;
}

bool cache_general_holds(const struct cache *cache, uint64_t line)
{
    return find(set_of(cache, line), cache->ways, word_of(cache, line)) < cache->ways;
}

/* In a queue those behind it move up; elsewhere its way is empty then. */
bool cache_general_remove(struct cache *cache, uint64_t line, bool *dirty)
{
    uint64_t *set = set_of(cache, line);
    uint32_t way = find(set, cache->ways, word_of(cache, line));

    if (way == cache->ways)
        return false;
    *dirty = (set[way] & CACHE_DIRTY) != 0;
    for (; cache_is_queue(cache) && way + 1 < cache->ways; way++)
        set[way] = set[way + 1];
    set[way] = 0;
    return true;
}

bool cache_general_clean(struct cache *cache, uint64_t line)
{
    uint64_t *set = set_of(cache, line);
    const uint32_t way = find(set, cache->ways, word_of(cache, line));
    const bool is_dirty = way < cache->ways && (set[way] & CACHE_DIRTY);

    if (is_dirty)
        set[way] &= ~CACHE_DIRTY;
    return is_dirty;
}
