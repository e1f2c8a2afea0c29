/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hot loops of packed caches (cache_packed.h), compiled for processors with AVX2.
 *
 * A loop over accesses or requests touches the cache alone, and notes what missed without a branch,
 * for whether it did cannot be foreseen; what missed is handed down from time to time, in order, in
 * a loop of its own. What is not within one line is served by the general loops, after what missed
 * before it was handed down.
 */
#include "simcore/cache_packed.h"
#include "simcore/serve.h"

#ifdef __AVX2__

/* Misses that were not handed down yet: indices of accesses in the block, or of requests in the
 * queue, and for each the word that its line replaced. */
struct missed {
    uint32_t n;
    uint16_t at[HIERARCHY_QUEUE + 1]; /* the entry after the last one is written to, too */
    uint32_t left[HIERARCHY_QUEUE + 1];
};

HOT void hand_down_one(struct level *level, uint64_t address, uint64_t bytes, uint32_t access,
                       uint32_t size, uint32_t left)
{
    if (left & 1)
        evict(level, packed_address(level->cache, address >> level->cache->line_shift, left),
              access);
    pass_on(level, address, bytes, access, size);
}

static __attribute__((noinline)) void hand_down_accesses(struct level *level, struct missed *missed,
                                                         const struct psnap_access *block)
{
    for (uint32_t i = 0; i < missed->n; i++) {
        const struct psnap_access *access = &block[missed->at[i]];
        hand_down_one(level, access->address, mask_of(0, access->size), missed->at[i], access->size,
                      missed->left[i]);
    }
    missed->n = 0;
}

static __attribute__((noinline)) void hand_down_requests(struct level *level, struct missed *missed)
{
    for (uint32_t i = 0; i < missed->n; i++) {
        const struct request *request = &level->queue[missed->at[i]];
        hand_down_one(level, request->address, request->bytes, request->access, request->size,
                      missed->left[i]);
    }
    missed->n = 0;
}

/* An access that is not within one line, of which something was missing: it comes after those that
 * missed before it. `second` bytes of it are in the second line. */
static __attribute__((noinline)) void hand_down_split(struct level *level, struct missed *missed,
                                                      const struct psnap_access *block, uint32_t i,
                                                      uint32_t second, const bool found[2],
                                                      const uint32_t left[2])
{
    const struct cache *cache = level->cache;
    const uint64_t address = block[i].address, line = address >> cache->line_shift;
    const uint32_t begin = found[0] ? block[i].size - second : 0;
    const uint32_t size = (found[1] ? block[i].size - second : block[i].size) - begin;

    hand_down_accesses(level, missed, block);
    if (!found[0] && left[0] & 1)
        evict(level, packed_address(cache, line, left[0]), i);
    if (!found[1] && left[1] & 1)
        evict(level, packed_address(cache, line + 1, left[1]), i);
    pass_on(level, address + begin, mask_of(0, size), i, size); /* what is missing alone */
}

/* An access that is not within two lines. */
static __attribute__((noinline)) void serve_many(struct level *level, enum cache_kind kind,
                                                 struct missed *missed,
                                                 const struct psnap_access *block, uint32_t i)
{
    const uint32_t size = block[i].size;
    const struct request whole = {block[i].address, mask_of(0, size), i, size};

    hand_down_accesses(level, missed, block);
    if (kind == CACHE_PACKED)
        serve_split(level, CACHE_PACKED, &whole, block[i].kind != PSNAP_LOAD);
    else
        serve_split(level, CACHE_PACKED_WIDE, &whole, block[i].kind != PSNAP_LOAD);
}

/* An access that is not within one line. */
HOT void packed_split(struct level *level, const struct cache *cache, enum cache_kind kind,
                      struct missed *missed, const struct psnap_access *block, uint32_t i)
{
    const uint64_t address = block[i].address, line = address >> cache->line_shift;
    const uint64_t second = (address & (cache->line_bytes - 1)) + block[i].size - cache->line_bytes;
    const uint32_t dirty = block[i].kind != PSNAP_LOAD;
    uint32_t left[2] = {0};
    bool found[2];

    if (second > cache->line_bytes) {
        serve_many(level, kind, missed, block, i);
        return;
    }
    for (uint32_t k = 0; k < 2; k++) {
        uint32_t *set = packed_set(cache, kind, line + k);
        const uint32_t word = packed_word(cache, line + k);
        found[k] = (set[0] ^ word) <= 1;
        if (!found[k])
            left[k] = packed_search(set, cache->ways, kind == CACHE_PACKED ? 1 : 2, false, word,
                                    dirty, &found[k]);
        else if (dirty & (set[0] == word))
            packed_front_dirty(set);
    }
    if (!found[0] || !found[1])
        hand_down_split(level, missed, block, i, (uint32_t)second, found, left);
}

/* A request that is not within one line, or a write-back that is of several or is not there. */
static __attribute__((noinline)) void serve_other(struct level *level, enum cache_kind kind,
                                                  struct missed *missed,
                                                  const struct request *request)
{
    hand_down_requests(level, missed);
    if (request->size == 0)
        serve_aside(level, request);
    else if (kind == CACHE_PACKED)
        serve_split(level, CACHE_PACKED, request, false);
    else
        serve_split(level, CACHE_PACKED_WIDE, request, false);
}

/* Makes the line of a write-back dirty: false when it is not there, or there are several. */
HOT bool write_back(const struct cache *cache, enum cache_kind kind, const struct request *request)
{
    const uint64_t line = request->address >> cache->line_shift;
    const uint32_t way = packed_way(packed_set(cache, kind, line), kind == CACHE_PACKED ? 1 : 2,
                                    packed_word(cache, line));

    if (way == PSNAP_NONE || !within_line(cache, request->address, request->bytes))
        return false;
    packed_set(cache, kind, line)[way] |= 1;
    return true;
}

HOT void packed_block(struct level *level, enum cache_kind kind, bool foreseen,
                      const struct psnap_access *block, size_t n)
{
    const struct cache cache = *level->cache;
    struct missed missed;
    bool found;

    missed.n = 0;
    for (uint32_t i = 0; i < n; i++) {
        const uint64_t address = block[i].address, line = address >> cache.line_shift;
        const uint32_t word = packed_word(&cache, line), dirty = block[i].kind != PSNAP_LOAD;
        uint32_t *set = packed_set(&cache, kind, line);

        if (UNLIKELY(!within_line(&cache, address, block[i].size))) {
            packed_split(level, &cache, kind, &missed, block, i);
            continue;
        }
        if ((set[0] ^ word) <= 1) {
            if (dirty & (set[0] == word))
                packed_front_dirty(set);
            continue;
        }
        if ((set[1] ^ word) <= 1) {
            packed_swap(set, dirty);
            continue;
        }
        const uint32_t slot = missed.n;
        missed.at[slot] = (uint16_t)i;
        missed.left[slot] = packed_search(set, cache.ways, kind == CACHE_PACKED ? 1 : 2, foreseen,
                                          word, dirty, &found);
        missed.n = slot + !found;
    }
    hand_down_accesses(level, &missed, block);
}

HOT void packed_queue(struct level *level, enum cache_kind kind, bool foreseen)
{
    const struct cache cache = *level->cache;
    const uint32_t queued = level->queued;
    struct missed missed;
    bool found;

    missed.n = 0;
    for (uint32_t i = 0; i < queued; i++) {
        const struct request *request = &level->queue[i];
        const uint64_t line = request->address >> cache.line_shift;

        if (queued - i > AHEAD)
            prefetch_set(&cache, kind, request[AHEAD].address);
        if (!request->size && write_back(&cache, kind, request))
            continue;
        if (UNLIKELY(!request->size || !within_line(&cache, request->address, request->size))) {
            serve_other(level, kind, &missed, request);
            continue;
        }
        missed.at[missed.n] = (uint16_t)i;
        missed.left[missed.n] =
            packed_search(packed_set(&cache, kind, line), cache.ways, kind == CACHE_PACKED ? 1 : 2,
                          foreseen, packed_word(&cache, line), 0, &found);
        missed.n += !found;
    }
    hand_down_requests(level, &missed);
    level->queued = 0;
}

#    define PACKED(name, kind, foreseen)                                                           \
        static void name##_block(struct level *level, const struct psnap_access *block, size_t n)  \
        {                                                                                          \
            packed_block(level, kind, foreseen, block, n);                                         \
        }                                                                                          \
        static void name##_queue(struct level *level)                                              \
        {                                                                                          \
            packed_queue(level, kind, foreseen);                                                   \
        }
PACKED(narrow, CACHE_PACKED, false)
PACKED(narrow_foreseen, CACHE_PACKED, true)
PACKED(wide, CACHE_PACKED_WIDE, false)
PACKED(wide_foreseen, CACHE_PACKED_WIDE, true)

bool packed_is_possible(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
           __builtin_cpu_supports("bmi2");
}

const struct loops *packed_loops(const struct cache *cache, bool foreseen)
{
    static const struct loops loops[2][2] = {
        {{narrow_block, narrow_queue}, {narrow_foreseen_block, narrow_foreseen_queue}},
        {{wide_block, wide_queue}, {wide_foreseen_block, wide_foreseen_queue}}};

    return &loops[cache->kind == CACHE_PACKED_WIDE][foreseen];
}

#else
bool packed_is_possible(void)
{
    return false;
}

const struct loops *packed_loops(const struct cache *cache, bool foreseen)
{
    (void)cache;
    (void)foreseen;
    return NULL;
}
#endif
