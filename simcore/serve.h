/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a level does with a block of accesses and with its queue of requests: the simulator's hot
 * loops, instantiated once per representation of a cache (hierarchy.c, serve_packed.c), whose
 * `kind` is a constant in each.
 */
#ifndef PSNAP_SIMCORE_SERVE_H
#define PSNAP_SIMCORE_SERVE_H

#include "simcore/cache_packed.h"
#include "simcore/hierarchy.h"

#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define HOT static inline __attribute__((always_inline))

#define AHEAD 8 /* requests between fetching a set into the host's cache and using it */

/* Caches that are called, not inlined; only they have prefetchers. `kind` is a constant. */
#define OUTLINED(kind) ((kind) == CACHE_GENERAL || (kind) == CACHE_LISTED)

static uint64_t mask_of(uint64_t offset, uint64_t n) /* n >= 1 bits from `offset` on, both <= 64 */
{
    return UINT64_MAX >> (64 - n) << offset;
}

/*
 * Asks all levels that follow; behind the last one memory takes everything.
 * Numbers instead of a struct request: it is put together where it stays.
 */
HOT void send(struct level *from, uint64_t address, uint64_t bytes, uint32_t access, uint32_t size)
{
    for (struct level *level = from->below; level; level = level->sibling) {
        struct request *request;

        if (UNLIKELY(level->queued == HIERARCHY_QUEUE))
            level_drain(level);
        request = &level->queue[level->queued++];
        request->address = address;
        request->bytes = bytes;
        request->access = access;
        request->size = size;
    }
}

static void evict(struct level *level, uint64_t victim, uint32_t access)
{
    if (!level->evictions[access]++)
        level->evicting[level->evicting_count++] = (uint16_t)access;
    send(level, victim, level->cache->line_bytes, access, 0);
}

HOT void pass_on(struct level *level, uint64_t address, uint64_t bytes, uint32_t access,
                 uint32_t size)
{
    level->misses[level->miss_count++] = (uint16_t)access;
    send(level, address, bytes, access, size);
}

/* An access's cache is the level's from now on; of levels that have several. */
HOT void choose(struct level *level, uint32_t access)
{
    level->cache = &level->caches[level->owners[access & (HIERARCHY_BLOCK - 1)]];
}

HOT enum cache_touch touch_line(struct cache *cache, enum cache_kind kind, uint64_t address,
                                bool dirty, uint64_t *victim)
{
#ifdef __AVX2__
    if (kind == CACHE_PACKED || kind == CACHE_PACKED_WIDE)
        return packed_touch(cache, kind == CACHE_PACKED ? 1 : 2, address, dirty, victim);
#endif
    return cache_touch(cache, kind, address, dirty, victim);
}

enum purpose { LOAD, STORE, FETCH_AHEAD };

/* Touches the lines of an access in general: any number of them, any of its bytes sought. Returns
 * those of its bytes that were missing. */
HOT uint64_t touch_lines(struct level *level, enum cache_kind kind, const struct request *request,
                         enum purpose purpose)
{
    const uint64_t line_bytes = level->cache->line_bytes;
    enum cache_touch touch;
    uint64_t missing = 0, victim, n;

    for (uint64_t offset = 0; offset < request->size; offset += n) {
        const uint64_t address = request->address + offset; /* wraps at the top, as it should */
        uint64_t bytes;

        n = line_bytes - (address & (line_bytes - 1));
        if (n > request->size - offset)
            n = request->size - offset;
        bytes = mask_of(offset, n) & request->bytes;
        if (!bytes)
            continue;
        touch = purpose == FETCH_AHEAD
                    ? cache_fetch_ahead(level->cache, address, &victim)
                    : touch_line(level->cache, kind, address, purpose == STORE, &victim);
        if (touch == CACHE_HIT)
            continue;
        if (touch == CACHE_MISS_DIRTY)
            evict(level, victim, request->access);
        if (purpose == FETCH_AHEAD)
            level->ahead->issued[request->access]++;
        missing |= bytes;
    }
    return missing;
}

/* All bytes of an access that lies in two lines. */
HOT void serve_two(struct level *level, struct cache *cache, enum cache_kind kind, uint64_t address,
                   uint32_t size, bool store, uint32_t access)
{
    const uint64_t second = (address | (cache->line_bytes - 1)) + 1, first_size = second - address;
    uint64_t victim, missing = 0;
    enum cache_touch touch = touch_line(cache, kind, address, store, &victim);

    if (touch == CACHE_MISS_DIRTY)
        evict(level, victim, access);
    if (touch != CACHE_HIT)
        missing = mask_of(0, first_size);
    touch = touch_line(cache, kind, second, store, &victim);
    if (touch == CACHE_MISS_DIRTY)
        evict(level, victim, access);
    if (touch != CACHE_HIT)
        missing |= mask_of(first_size, size - first_size);
    if (missing)
        pass_on(level, address, missing, access, size);
}

HOT void serve_split(struct level *level, enum cache_kind kind, const struct request *request,
                     bool store)
{
    const uint64_t missing = touch_lines(level, kind, request, store ? STORE : LOAD);

    if (missing)
        pass_on(level, request->address, missing, request->access, request->size);
}

/* The usual access, within one line: true when it was there. */
HOT bool serve_line(struct level *level, struct cache *cache, enum cache_kind kind,
                    uint64_t address, bool store, uint32_t access)
{
    uint64_t victim;
    const enum cache_touch touch = touch_line(cache, kind, address, store, &victim);

    if (touch == CACHE_MISS_DIRTY)
        evict(level, victim, access);
    return touch == CACHE_HIT;
}

/* Lines that are here become dirty, without being used; the rest goes further down. */
static void serve_write_back(struct level *level, const struct request *request)
{
    const uint64_t line_bytes = level->cache->line_bytes;
    uint64_t n;

    for (uint64_t done = 0; done < request->bytes; done += n) {
        const uint64_t address = request->address + done;

        n = line_bytes - (address & (line_bytes - 1));
        if (n > request->bytes - done)
            n = request->bytes - done;
        if (!cache_mark_dirty(level->cache, address))
            send(level, address, n, request->access, 0);
    }
}

/* What became of marked lines since the last call goes to an access. */
static void note_marks(struct level *level, uint32_t access)
{
    struct ahead *ahead = level->ahead;
    struct cache *cache = level->cache;

    ahead->useful[access] = (uint16_t)(ahead->useful[access] + cache->marks_touched);
    ahead->useless[access] = (uint16_t)(ahead->useless[access] + cache->marks_evicted);
    cache->marks_touched = cache->marks_evicted = 0;
}

/* A prefetch of a level above: a fetch like any other, but no access. */
static void serve_ahead(struct level *level, const struct request *request)
{
    struct request load = *request;
    uint64_t missing;

    load.size = request->access >> REQUEST_AHEAD_SHIFT;
    load.access &= HIERARCHY_BLOCK - 1;
    missing = touch_lines(level, level->cache->kind, &load, LOAD);
    if (missing)
        send(level, load.address, missing, request->access, 0);
    if (level->ahead)
        note_marks(level, load.access);
}

/* The prefetcher's turn after an access was served: `degree` accesses ahead of it. */
static void look_ahead(struct level *level, uint64_t address, uint64_t bytes, uint32_t access,
                       uint32_t size)
{
    const struct psnap_prefetch *shape = &level->shape.prefetch;
    const struct psnap_access *by = &level->ahead->block[access];
    const uint64_t key = (uint64_t)by->thread << 32 | by->ref;
    const uint64_t stride =
        rpt_train(&level->ahead->rpts[level->cache - level->caches], key, address);

    for (uint32_t i = 0; i < shape->degree && stride; i++) {
        const struct request next = {address + stride * (shape->distance + i), bytes, access, size};
        const uint64_t missing = touch_lines(level, level->cache->kind, &next, FETCH_AHEAD);

        if (missing)
            send(level, next.address, missing, access | size << REQUEST_AHEAD_SHIFT, 0);
    }
    note_marks(level, access);
}

/* Whatever is no access. */
static void serve_aside(struct level *level, const struct request *request)
{
    if (request->access < HIERARCHY_BLOCK)
        serve_write_back(level, request);
    else
        serve_ahead(level, request);
}

HOT bool within_line(const struct cache *cache, uint64_t address, uint64_t size)
{
    return (address & (cache->line_bytes - 1)) + size <= cache->line_bytes;
}

HOT void prefetch_set(const struct cache *cache, enum cache_kind kind, uint64_t address)
{
    if (kind == CACHE_FLAT || kind == CACHE_GENERAL)
        cache_prefetch(cache, address);
    if (kind == CACHE_PACKED || kind == CACHE_PACKED_WIDE)
        __builtin_prefetch(packed_set(cache, kind, address >> cache->line_shift), 1);
}

HOT void serve_queue(struct level *level, enum cache_kind kind, bool apart)
{
    struct cache copy = *level->cache; /* nothing else can change it: it stays in registers */
    struct cache *cache = OUTLINED(kind) ? level->cache : &copy;
    const struct request *const end = level->queue + level->queued;

    for (const struct request *request = level->queue; request < end; request++) {
        if (apart) {
            choose(level, request->access);
            cache = level->cache;
        }
        if (end - request > AHEAD)
            prefetch_set(cache, kind, request[AHEAD].address);
        if (UNLIKELY(request->size == 0)) {
            serve_aside(level, request);
            continue;
        }
        if (UNLIKELY(!within_line(cache, request->address, request->size)))
            serve_split(level, kind, request, false);
        else if (!serve_line(level, cache, kind, request->address, false, request->access))
            pass_on(level, request->address, request->bytes, request->access, request->size);
        if (OUTLINED(kind) && level->ahead)
            look_ahead(level, request->address, request->bytes, request->access, request->size);
    }
    level->queued = 0;
}

HOT void serve_block(struct level *level, enum cache_kind kind, bool apart,
                     const struct psnap_access *block, size_t n)
{
    struct cache copy = *level->cache;
    struct cache *cache = OUTLINED(kind) ? level->cache : &copy;

    for (uint32_t i = 0; i < n; i++, block++) {
        const uint64_t address = block->address;
        const uint32_t size = block->size;
        const bool store = block->kind != PSNAP_LOAD;

        if (apart) {
            choose(level, i);
            cache = level->cache;
        }

        if (UNLIKELY(!within_line(cache, address, size)) && !OUTLINED(kind) &&
            size <= cache->line_bytes) {
            serve_two(level, cache, kind, address, size, store, i);
        } else if (UNLIKELY(!within_line(cache, address, size))) {
            const struct request whole = {address, mask_of(0, size), i, size};
            serve_split(level, kind, &whole, store);
        } else if (!serve_line(level, cache, kind, address, store, i)) {
            pass_on(level, address, mask_of(0, size), i, size);
        }
        if (OUTLINED(kind) && level->ahead)
            look_ahead(level, address, mask_of(0, size), i, size);
    }
}

/* Each is a function of its own, so that one's needs for registers are not another's. `apart`: the
 * level has several caches. */
#define SERVE(name, kind, apart)                                                                   \
    static __attribute__((noinline)) void name##_block(struct level *level,                        \
                                                       const struct psnap_access *block, size_t n) \
    {                                                                                              \
        serve_block(level, kind, apart, block, n);                                                 \
    }                                                                                              \
    static __attribute__((noinline)) void name##_queue(struct level *level)                        \
    {                                                                                              \
        serve_queue(level, kind, apart);                                                           \
    }

#endif
