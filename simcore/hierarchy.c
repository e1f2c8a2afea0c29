/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The simulator's hot loop: non-inclusive, write back, allocate on load and
 * store (MACHINES.md states the model in full).
 *
 * No level ever changes what a level above it holds, so a level may serve a
 * whole block before the next one starts: each is a filter from a queue of
 * requests to the queue of the next, in order, and its loop is small enough for
 * the host's branch predictors and prefetchers. A full queue is drained where it
 * is filled, so queues have a fixed size and running cannot fail. For the same
 * reason machines whose first levels are alike can share them.
 *
 * An access carries the set of its bytes that are still sought, as a mask: a
 * level clears those in lines it holds, and passes the rest on as the same one
 * access. Its lines are touched in ascending order, each once. A store makes
 * lines dirty in level 1; to the levels below it is a fetch like any other. A
 * dirty line is written back before the line that replaces it is fetched.
 *
 * A prefetcher sees the accesses that reach its level, each once it was served.
 * What it foresees goes through this level and those below as an access would,
 * marked so that nobody counts it.
 */
#include "simcore/hierarchy.h"

#include <stdlib.h>
#include <string.h>

#include "simcore/cache_wide.h"

#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define HOT static inline __attribute__((always_inline))

#define AHEAD 8 /* requests between fetching a set into the host's cache and using it */

/* Caches that are called, not inlined; only they have prefetchers. `kind` is a constant. */
#define OUTLINED(kind) ((kind) == CACHE_GENERAL || (kind) == CACHE_LISTED)

static void level_drain(struct level *level);

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

enum purpose { LOAD, STORE, FETCH_AHEAD };

/* A constant, too: whether flat sets are searched by vectors (cache_wide.h). */
HOT enum cache_touch touch_line(struct cache *cache, enum cache_kind kind, bool wide,
                                uint64_t address, bool dirty, uint64_t *victim)
{
    return wide ? cache_wide_touch(cache, kind, address, dirty, victim)
                : cache_touch(cache, kind, address, dirty, victim);
}

/* Touches the lines of an access in general: any number of them, any of its bytes sought. Returns
 * those of its bytes that were missing. */
HOT uint64_t touch_lines(struct level *level, enum cache_kind kind, bool wide,
                         const struct request *request, enum purpose purpose)
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
                    : touch_line(level->cache, kind, wide, address, purpose == STORE, &victim);
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
HOT void serve_two(struct level *level, struct cache *cache, enum cache_kind kind, bool wide,
                   uint64_t address, uint32_t size, bool store, uint32_t access)
{
    const uint64_t second = (address | (cache->line_bytes - 1)) + 1, first_size = second - address;
    uint64_t victim, missing = 0;
    enum cache_touch touch = touch_line(cache, kind, wide, address, store, &victim);

    if (touch == CACHE_MISS_DIRTY)
        evict(level, victim, access);
    if (touch != CACHE_HIT)
        missing = mask_of(0, first_size);
    touch = touch_line(cache, kind, wide, second, store, &victim);
    if (touch == CACHE_MISS_DIRTY)
        evict(level, victim, access);
    if (touch != CACHE_HIT)
        missing |= mask_of(first_size, size - first_size);
    if (missing)
        pass_on(level, address, missing, access, size);
}

HOT void serve_split(struct level *level, enum cache_kind kind, bool wide,
                     const struct request *request, bool store)
{
    const uint64_t missing = touch_lines(level, kind, wide, request, store ? STORE : LOAD);

    if (missing)
        pass_on(level, request->address, missing, request->access, request->size);
}

/* The usual access, within one line: true when it was there. */
HOT bool serve_line(struct level *level, struct cache *cache, enum cache_kind kind, bool wide,
                    uint64_t address, bool store, uint32_t access)
{
    uint64_t victim;
    const enum cache_touch touch = touch_line(cache, kind, wide, address, store, &victim);

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
    missing = touch_lines(level, level->cache->kind, false, &load, LOAD);
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
        const uint64_t missing = touch_lines(level, level->cache->kind, false, &next, FETCH_AHEAD);

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

HOT void serve_queue(struct level *level, enum cache_kind kind, bool wide, bool apart)
{
    struct cache copy = *level->cache; /* nothing else can change it: it stays in registers */
    struct cache *cache = OUTLINED(kind) ? level->cache : &copy;
    const struct request *const end = level->queue + level->queued;

    for (const struct request *request = level->queue; request < end; request++) {
        if (apart) {
            choose(level, request->access);
            cache = level->cache;
        }
        if ((kind == CACHE_FLAT || kind == CACHE_GENERAL) && end - request > AHEAD)
            cache_prefetch(cache, request[AHEAD].address);
        if (UNLIKELY(request->size == 0)) {
            serve_aside(level, request);
            continue;
        }
        if (UNLIKELY(!within_line(cache, request->address, request->size)))
            serve_split(level, kind, wide, request, false);
        else if (!serve_line(level, cache, kind, wide, request->address, false, request->access))
            pass_on(level, request->address, request->bytes, request->access, request->size);
        if (OUTLINED(kind) && level->ahead)
            look_ahead(level, request->address, request->bytes, request->access, request->size);
    }
    level->queued = 0;
}

HOT void serve_block(struct level *level, enum cache_kind kind, bool wide, bool apart,
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
            serve_two(level, cache, kind, wide, address, size, store, i);
        } else if (UNLIKELY(!within_line(cache, address, size))) {
            const struct request whole = {address, mask_of(0, size), i, size};
            serve_split(level, kind, wide, &whole, store);
        } else if (!serve_line(level, cache, kind, wide, address, store, i)) {
            pass_on(level, address, mask_of(0, size), i, size);
        }
        if (OUTLINED(kind) && level->ahead)
            look_ahead(level, address, mask_of(0, size), i, size);
    }
}

/* The loops above once per representation: `kind` is a constant in each, and each is a function of
 * its own, so that one's needs for registers are not another's. Levels of several caches have the
 * general or the listed one. */
#define SERVE(name, kind, wide, apart)                                                             \
    static __attribute__((noinline)) void name##_block(struct level *level,                        \
                                                       const struct psnap_access *block, size_t n) \
    {                                                                                              \
        serve_block(level, kind, wide, apart, block, n);                                           \
    }                                                                                              \
    static __attribute__((noinline)) void name##_queue(struct level *level)                        \
    {                                                                                              \
        serve_queue(level, kind, wide, apart);                                                     \
    }
SERVE(flat, CACHE_FLAT, false, false)
SERVE(flat_modulo, CACHE_FLAT_MODULO, false, false)
SERVE(wide, CACHE_FLAT, true, false)
SERVE(wide_modulo, CACHE_FLAT_MODULO, true, false)
SERVE(general, CACHE_GENERAL, false, false)
SERVE(listed, CACHE_LISTED, false, false)
SERVE(general_apart, CACHE_GENERAL, false, true)
SERVE(listed_apart, CACHE_LISTED, false, true)

static const struct loops {
    void (*block)(struct level *, const struct psnap_access *, size_t);
    void (*queue)(struct level *);
} plain[] = {{flat_block, flat_queue},
             {flat_modulo_block, flat_modulo_queue},
             {general_block, general_queue},
             {listed_block, listed_queue}},
  wide[] = {{wide_block, wide_queue}, {wide_modulo_block, wide_modulo_queue}},
  apart[] = {{NULL, NULL},
             {NULL, NULL},
             {general_apart_block, general_apart_queue},
             {listed_apart_block, listed_apart_queue}};

static const struct loops *loops_of(const struct level *level)
{
    const struct loops *loops = level->cache_count > 1        ? apart
                                : cache_is_wide(level->cache) ? wide
                                                              : plain;

    return &loops[level->cache->kind];
}

static void level_drain(struct level *level)
{
    level->loops->queue(level);
}

static void level_enter(struct level *level, const struct psnap_access *block, size_t n)
{
    level->loops->block(level, block, n);
}

void hierarchy_run(struct hierarchy *hierarchy, const struct psnap_access *block, size_t n)
{
    for (size_t i = 0; i < hierarchy->level_count; i++) {
        struct level *level = hierarchy->levels[i];

        level->miss_count = 0;
        for (size_t k = 0; k < n && level->cache_count > 1; k++)
            level->owners[k] = (uint16_t)(block[k].thread / level->share);
        while (level->evicting_count)
            level->evictions[level->evicting[--level->evicting_count]] = 0;
        if (level->ahead) {
            level->ahead->block = block;
            memset(level->ahead->issued, 0, sizeof level->ahead->issued);
            memset(level->ahead->useful, 0, sizeof level->ahead->useful);
            memset(level->ahead->useless, 0, sizeof level->ahead->useless);
        }
    }
    for (struct level *root = hierarchy->roots; root; root = root->sibling)
        level_enter(root, block, n);
    for (size_t i = 0; i < hierarchy->level_count; i++)
        level_drain(hierarchy->levels[i]);
}

/* ---------------------------------------------------------------- the forest */

static uint32_t share_of(const struct psnap_cache_level *shape)
{
    return shape->shared_by ? shape->shared_by : 1;
}

static bool same_shape(const struct psnap_cache_level *a, const struct psnap_cache_level *b)
{
    return share_of(a) == share_of(b) && a->size_bytes == b->size_bytes &&
           a->line_bytes == b->line_bytes && a->ways == b->ways &&
           a->replacement == b->replacement && a->seed == b->seed &&
           a->prefetch.entries == b->prefetch.entries && a->prefetch.degree == b->prefetch.degree &&
           a->prefetch.distance == b->prefetch.distance;
}

/* The level's caches, and their prefetchers. False: out of memory. */
static bool level_init(struct level *level, const struct psnap_cache_level *shape, uint32_t index,
                       enum cache_kind kind, uint32_t cores)
{
    bool fits = true;

    level->shape = *shape;
    level->share = share_of(shape);
    level->cache_count = cores ? (cores - 1) / level->share + 1 : 1;
    level->cache = level->caches = calloc(level->cache_count, sizeof *level->caches);
    if (!level->caches)
        return false;
    if (level->cache_count > 1 && kind != CACHE_LISTED)
        kind = CACHE_GENERAL;
    for (uint32_t i = 0; i < level->cache_count && fits; i++)
        fits = cache_init(&level->caches[i], shape, index + i * PSNAP_LEVELS_MAX, kind);
    level->loops = loops_of(level);
    if (!fits || !shape->prefetch.entries)
        return fits;
    level->ahead = calloc(1, sizeof *level->ahead);
    if (level->ahead)
        level->ahead->rpts = calloc(level->cache_count, sizeof *level->ahead->rpts);
    fits = level->ahead && level->ahead->rpts;
    for (uint32_t i = 0; i < level->cache_count && fits; i++)
        fits = rpt_init(&level->ahead->rpts[i], shape->prefetch.entries);
    return fits;
}

static void level_free(struct level *level)
{
    for (uint32_t i = 0; i < level->cache_count && level->caches; i++)
        cache_release(&level->caches[i]);
    for (uint32_t i = 0; level->ahead && level->ahead->rpts && i < level->cache_count; i++)
        rpt_release(&level->ahead->rpts[i]);
    if (level->ahead)
        free(level->ahead->rpts);
    free(level->ahead);
    free(level->caches);
    free(level);
}

/* The level of this shape among those of a list, the index-th of their machines, made if need be.
 * NULL: out of memory. */
static struct level *level_in(struct hierarchy *hierarchy, struct level **list,
                              const struct psnap_cache_level *shape, uint32_t index,
                              enum cache_kind kind)
{
    struct level *level;

    for (; *list; list = &(*list)->sibling)
        if (same_shape(&(*list)->shape, shape))
            return *list;
    level = calloc(1, sizeof *level);
    if (!level)
        return NULL;
    *list = level;
    hierarchy->levels[hierarchy->level_count++] = level;
    return level_init(level, shape, index, kind, hierarchy->cores) ? level : NULL;
}

static bool add_path(struct hierarchy *hierarchy, struct path *path,
                     const struct psnap_cache_level *shapes, uint32_t n, enum cache_kind kind)
{
    struct level **list = &hierarchy->roots;

    for (uint32_t i = 0; i < n; i++) {
        struct level *level = level_in(hierarchy, list, &shapes[i], i, kind);

        if (!level)
            return false;
        path->levels[path->level_count++] = level;
        list = &level->below;
    }
    return true;
}

static bool add_machine(struct hierarchy *hierarchy, const struct psnap_machine *machine,
                        enum cache_kind kind)
{
    struct paths *paths = &hierarchy->paths[hierarchy->machine_count++];
    struct psnap_cache_level pages[PSNAP_TLB_LEVELS_MAX];

    for (uint32_t i = 0; i < machine->tlb_level_count; i++) {
        const struct psnap_tlb_level *tlb = &machine->tlb[i];

        pages[i] = (struct psnap_cache_level){.size_bytes = tlb->entries * tlb->page_bytes,
                                              .line_bytes = tlb->page_bytes,
                                              .ways = tlb->ways,
                                              .sets = tlb->sets};
    }
    return add_path(hierarchy, &paths->caches, machine->levels, machine->level_count, kind) &&
           add_path(hierarchy, &paths->tlb, pages, machine->tlb_level_count, kind);
}

struct hierarchy *hierarchy_new(const struct psnap_machine *machines, size_t n,
                                enum cache_kind kind, uint32_t cores)
{
    struct hierarchy *hierarchy = calloc(1, sizeof *hierarchy + n * sizeof hierarchy->paths[0]);
    bool fits = hierarchy != NULL;

    if (!fits)
        return NULL;
    hierarchy->cores = cores;
    hierarchy->levels =
        calloc(n + 1, (PSNAP_LEVELS_MAX + PSNAP_TLB_LEVELS_MAX) * sizeof(struct level *));
    fits = hierarchy->levels != NULL;
    for (size_t i = 0; i < n && fits; i++)
        fits = add_machine(hierarchy, &machines[i], kind);
    if (!fits) {
        hierarchy_free(hierarchy);
        return NULL;
    }
    return hierarchy;
}

void hierarchy_free(struct hierarchy *hierarchy)
{
    if (!hierarchy)
        return;
    for (size_t i = 0; i < hierarchy->level_count; i++)
        level_free(hierarchy->levels[i]);
    free(hierarchy->levels);
    free(hierarchy);
}
