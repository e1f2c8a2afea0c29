/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The listed representation of a cache: nodes are lines, one hash table over
 * all of them finds a line, one list per set keeps them in order of recency
 * under LRU, of arrival under FIFO. Nodes are handed out once each and then recycled: a full set
 * gives its oldest node to the line that comes in. Under the other policies there are no lists:
 * node 1 + set * ways + way is that way. Line numbers are spread over the buckets by a Fibonacci
 * hash (Knuth, The Art of Computer Programming, vol. 3, 6.4).
 */
#include "simcore/cache_ways.h"

#include <stdlib.h>
#include <string.h>

#include "simcore/rename.h"

#define GOLDEN_RATIO UINT64_C(0x9e3779b97f4a7c15) /* 2^64 / phi, odd */

bool cache_listed_init(struct cache *cache)
{
    const uint64_t lines = cache->sets * cache->ways;
    unsigned bits = 1; /* so that the shift below is under 64 */

    while (UINT64_C(1) << bits < lines)
        bits++;
    cache->bucket_shift = 64 - bits;
    cache->node_count = 1;
    cache->nodes = calloc(lines + 1, sizeof *cache->nodes);
    cache->buckets = calloc((size_t)1 << bits, sizeof *cache->buckets);
    cache->lists = calloc(cache->sets, sizeof *cache->lists);
    return cache->nodes && cache->buckets && cache->lists;
}

static uint32_t *bucket_of(const struct cache *cache, uint64_t line)
{
    return cache->buckets + (line * GOLDEN_RATIO >> cache->bucket_shift);
}

static uint32_t find(const struct cache *cache, uint64_t line)
{
    uint32_t index = *bucket_of(cache, line);

    while (index && cache->nodes[index].line != line)
        index = cache->nodes[index].chain;
    return index;
}

static void hash_remove(struct cache *cache, uint32_t index)
{
    uint32_t *link = bucket_of(cache, cache->nodes[index].line);

    while (*link != index)
        link = &cache->nodes[*link].chain;
    *link = cache->nodes[index].chain;
}

static void hash_insert(struct cache *cache, uint32_t index)
{
    uint32_t *bucket = bucket_of(cache, cache->nodes[index].line);

    cache->nodes[index].chain = *bucket;
    *bucket = index;
}

static void list_remove(struct cache *cache, struct cache_list *list, uint32_t index)
{
    const struct cache_node *node = &cache->nodes[index];

    *(node->newer ? &cache->nodes[node->newer].older : &list->newest) = node->older;
    *(node->older ? &cache->nodes[node->older].newer : &list->oldest) = node->newer;
}

static void list_push(struct cache *cache, struct cache_list *list, uint32_t index)
{
    cache->nodes[index].newer = 0;
    cache->nodes[index].older = list->newest;
    *(list->newest ? &cache->nodes[list->newest].newer : &list->oldest) = index;
    list->newest = index;
}

/* One that was removed, or the next fresh one: side by side those that come together. */
static uint32_t claim_node(struct cache *cache)
{
    const uint32_t index = cache->free_nodes;

    if (!index)
        return cache->node_count++;
    cache->free_nodes = cache->nodes[index].chain;
    return index;
}

/* The lowest empty way of a set that is not full, whose first node is `first`. */
static uint32_t claim_way(struct cache *cache, uint32_t first)
{
    while (cache->nodes[first].present)
        first++;
    return first;
}

/* A node for a line that comes in: a fresh one, or that of a line of a full set that makes room. */
static uint32_t claim(struct cache *cache, uint64_t set, enum cache_touch *touch, uint64_t *victim)
{
    const bool is_queue = cache_is_queue(cache);
    const uint32_t first = (uint32_t)(1 + set * cache->ways);
    struct cache_list *list = &cache->lists[set];
    uint32_t index;

    *touch = CACHE_MISS;
    cache->has_victim = list->used == cache->ways;
    if (list->used < cache->ways) {
        index = first + list->used++;
        return is_queue ? claim_node(cache) : cache->has_holes ? claim_way(cache, first) : index;
    }
    index = is_queue ? list->oldest : first + cache_victim_way(cache, set);
    if (cache->nodes[index].dirty)
        *touch = CACHE_MISS_DIRTY;
    *victim = cache->nodes[index].line << cache->line_shift;
    cache->marks_evicted += cache->nodes[index].marked;
    if (is_queue)
        list_remove(cache, list, index);
    hash_remove(cache, index);
    return index;
}

/* A node becomes the newest of its set: a line came into it, or it was used and is in no list. */
static void use(struct cache *cache, uint64_t set, uint32_t index, bool is_new)
{
    if (cache_is_queue(cache))
        list_push(cache, &cache->lists[set], index);
    else
        cache_use_way(cache, set, (uint32_t)(index - 1 - set * cache->ways), is_new);
}

static enum cache_touch bring_in(struct cache *cache, uint64_t line, bool dirty, bool marked,
                                 uint64_t *victim)
{
    const uint64_t set = cache_index(cache, line);
    enum cache_touch touch;
    const uint32_t index = claim(cache, set, &touch, victim);

    cache->nodes[index].line = line;
    cache->nodes[index].dirty = dirty;
    cache->nodes[index].marked = marked;
    cache->nodes[index].present = true;
    hash_insert(cache, index);
    use(cache, set, index, true);
    return touch;
}

enum cache_touch cache_listed_touch(struct cache *cache, uint64_t line, bool dirty,
                                    uint64_t *victim)
{
    const uint64_t set = cache_index(cache, line);
    struct cache_list *list = &cache->lists[set];
    uint32_t index = list->newest;

    if (index == 0 || cache->nodes[index].line != line) {
        index = find(cache, line);
        if (!index)
            return bring_in(cache, line, dirty, false, victim);
        if (cache->replacement == PSNAP_REPLACE_LRU)
            list_remove(cache, list, index);
        if (cache->replacement != PSNAP_REPLACE_FIFO)
            use(cache, set, index, false);
    }
    cache->nodes[index].dirty |= dirty;
    cache->marks_touched += cache->nodes[index].marked;
    cache->nodes[index].marked = false;
    return CACHE_HIT;
}

enum cache_touch cache_listed_fetch_ahead(struct cache *cache, uint64_t line, uint64_t *victim)
{
    return find(cache, line) ? CACHE_HIT : bring_in(cache, line, false, true, victim);
}

bool cache_listed_mark_dirty(struct cache *cache, uint64_t line)
{
    const uint32_t index = find(cache, line);

    if (index)
        cache->nodes[index].dirty = true;
    return index != 0;
}

bool cache_listed_holds(const struct cache *cache, uint64_t line)
{
    return find(cache, line) != 0;
}

bool cache_listed_remove(struct cache *cache, uint64_t line, bool *dirty)
{
    struct cache_list *list = &cache->lists[cache_index(cache, line)];
    const uint32_t index = find(cache, line);

    if (!index)
        return false;
    *dirty = cache->nodes[index].dirty;
    hash_remove(cache, index);
    cache->nodes[index].present = false;
    cache->has_holes = true;
    list->used--;
    if (cache_is_queue(cache)) {
        list_remove(cache, list, index);
        cache->nodes[index].chain = cache->free_nodes;
        cache->free_nodes = index;
    }
    return true;
}

bool cache_listed_clean(struct cache *cache, uint64_t line)
{
    const uint32_t index = find(cache, line);
    const bool is_dirty = index && cache->nodes[index].dirty;

    if (is_dirty)
        cache->nodes[index].dirty = false;
    return is_dirty;
}

void cache_listed_rename_back(struct cache *cache, const struct rename *rename)
{
    const size_t buckets = (size_t)1 << (64 - cache->bucket_shift);

    memset(cache->buckets, 0, buckets * sizeof *cache->buckets);
    for (uint32_t index = 1; index <= cache->sets * cache->ways; index++) {
        struct cache_node *node = &cache->nodes[index];
        if (!node->present)
            continue;
        node->line = rename_back(rename, node->line << cache->line_shift) >> cache->line_shift;
        hash_insert(cache, index);
    }
}
