/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A flat set of 4, 8, 12 or 16 ways by vectors of four words (AVX2): all ways are compared at once,
 * and those before the one that was found, or all, move by one. No branch depends on which it was.
 * Processors that have no such vectors take cache_set_touch().
 */
#ifndef PSNAP_SIMCORE_CACHE_WIDE_H
#define PSNAP_SIMCORE_CACHE_WIDE_H

#include "simcore/cache.h"

#if defined(__x86_64__)
#    include <immintrin.h>
#    define CACHE_HAS_WIDE __builtin_cpu_supports("avx2")
#    define CACHE_WIDE __attribute__((target("avx2")))

/*
 * As cache_set_touch(); `vectors` is ways / 4, a constant. What is stored is what is loaded next,
 * whole vectors in their places: a load of parts of several stores would have to wait for them.
 */
CACHE_WIDE static inline enum cache_touch
cache_wide_set(uint64_t *set, unsigned vectors, uint64_t word, bool dirty, uint64_t *victim)
{
    const __m256i needle = _mm256_set1_epi64x((long long)word);
    const __m256i clean = _mm256_set1_epi64x(~(long long)CACHE_DIRTY);
    const __m256i four = _mm256_set1_epi64x(4);
    __m256i old[4], moved[4], at = _mm256_setr_epi64x(0, 1, 2, 3), last, front;
    unsigned found = 0, way;
    uint64_t which;

    for (unsigned k = 0; k < vectors; k++) {
        old[k] = _mm256_loadu_si256((const __m256i *)(const void *)(set + 4 * (size_t)k));
        found |= (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(
                     _mm256_cmpeq_epi64(_mm256_and_si256(old[k], clean), needle)))
                 << 4 * k;
    }
    way = found ? (unsigned)__builtin_ctz(found) : 4 * vectors - 1;
    which = set[way];
    last = _mm256_set1_epi64x(way + 1LL);
    front = _mm256_set1_epi64x((long long)((found ? which : word) | dirty));
    for (unsigned k = 0; k < vectors; k++) {
        moved[k] = _mm256_blend_epi32(_mm256_permute4x64_epi64(old[k], 0x90),
                                      k ? _mm256_permute4x64_epi64(old[k - 1], 0xff) : front, 3);
        _mm256_storeu_si256((__m256i *)(void *)(set + 4 * (size_t)k),
                            _mm256_blendv_epi8(old[k], moved[k], _mm256_cmpgt_epi64(last, at)));
        at = _mm256_add_epi64(at, four);
    }
    *victim = which & ~(CACHE_DIRTY | CACHE_VALID);
    return found ? CACHE_HIT : which & CACHE_DIRTY ? CACHE_MISS_DIRTY : CACHE_MISS;
}

CACHE_WIDE static __attribute__((noinline)) enum cache_touch
cache_wide_search(uint64_t *set, uint32_t ways, uint64_t word, bool dirty, uint64_t *victim)
{
    switch (ways) {
    case 4:
        return cache_wide_set(set, 1, word, dirty, victim);
    case 8:
        return cache_wide_set(set, 2, word, dirty, victim);
    case 12:
        return cache_wide_set(set, 3, word, dirty, victim);
    default:
        return cache_wide_set(set, 4, word, dirty, victim);
    }
}

/* As cache_touch() of a flat cache of such a number of ways. Of the first two each is looked at by
 * itself, for it mostly is one of them. */
CACHE_INLINE enum cache_touch cache_wide_touch(struct cache *cache, enum cache_kind kind,
                                               uint64_t address, bool dirty, uint64_t *victim)
{
    const uint64_t line = address >> cache->line_shift;
    const uint64_t word = (line << cache->line_shift) | CACHE_VALID;
    uint64_t *set = cache_set(cache, kind, line);
    const uint64_t second = set[1];

    if ((set[0] ^ word) <= CACHE_DIRTY) {
        if (dirty)
            set[0] = word | CACHE_DIRTY;
        return CACHE_HIT;
    }
    if ((second ^ word) <= CACHE_DIRTY) {
        set[1] = set[0];
        set[0] = second | dirty;
        return CACHE_HIT;
    }
    return cache_wide_search(set, cache->ways, word, dirty, victim);
}
#else
#    define CACHE_HAS_WIDE 0
#    define CACHE_WIDE
#    define cache_wide_touch cache_touch
#endif

/* Whether a cache is touched so on this processor. */
static inline bool cache_is_wide(const struct cache *cache)
{
    return (cache->kind == CACHE_FLAT || cache->kind == CACHE_FLAT_MODULO) &&
           cache->ways % 4 == 0 && cache->ways <= 16 && CACHE_HAS_WIDE;
}

#endif
