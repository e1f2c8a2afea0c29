/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The packed representation of a cache: a set is 8 or 16 words of 32 bits, most recently used
 * first, which vector instructions compare and move at once (AVX2). Only serve_packed.c, which is
 * compiled for these, touches it so; whether the processor has them is asked at run time, and flat
 * caches do the same without.
 *
 * A word is (tag + 1) << 1 | dirty, the tag being the line's number without the bits that choose
 * the set, which are below 2^31 - 1 as addresses are renamed (rename.h); an empty way is 0. Ways
 * that the cache does not have, behind those that it has, stay empty.
 */
#ifndef PSNAP_SIMCORE_CACHE_PACKED_H
#define PSNAP_SIMCORE_CACHE_PACKED_H

#include "simcore/cache.h"

#define CACHE_PACKED_BITS 31 /* of a tag */

struct loops;

/* The hot loops of a packed cache; `foreseen` as of packed_search(). */
const struct loops *packed_loops(const struct cache *cache, bool foreseen);
/* Whether the processor has the instructions. */
bool packed_is_possible(void);

/* Words of a set: a constant where `kind` is one. */
static inline unsigned packed_row(enum cache_kind kind)
{
    return kind == CACHE_PACKED ? 8 : 16;
}

static inline uint32_t *packed_set(const struct cache *cache, enum cache_kind kind, uint64_t line)
{
    return cache->tags + (line & cache->set_mask) * packed_row(kind);
}

static inline uint32_t packed_word(const struct cache *cache, uint64_t line)
{
    return ((uint32_t)(line >> cache->set_bits) + 1) << 1;
}

/* The address of the line that a word of the set of `line` is. */
static inline uint64_t packed_address(const struct cache *cache, uint64_t line, uint32_t word)
{
    return (((uint64_t)(word >> 1) - 1) << cache->set_bits | (line & cache->set_mask))
           << cache->line_shift;
}

#ifdef __AVX2__
#    include <immintrin.h>

/* Where the words before the w-th come to lie, and that one in front: of the first eight words, and
 * of the second. The first word of each half is set by itself. */
static const uint32_t packed_order[2][16][8] __attribute__((aligned(32))) = {
    {{0, 1, 2, 3, 4, 5, 6, 7},
     {0, 0, 2, 3, 4, 5, 6, 7},
     {0, 0, 1, 3, 4, 5, 6, 7},
     {0, 0, 1, 2, 4, 5, 6, 7},
     {0, 0, 1, 2, 3, 5, 6, 7},
     {0, 0, 1, 2, 3, 4, 6, 7},
     {0, 0, 1, 2, 3, 4, 5, 7},
     {0, 0, 1, 2, 3, 4, 5, 6},
     {0, 0, 1, 2, 3, 4, 5, 6},
     {0, 0, 1, 2, 3, 4, 5, 6},
     {0, 0, 1, 2, 3, 4, 5, 6},
     {0, 0, 1, 2, 3, 4, 5, 6},
     {0, 0, 1, 2, 3, 4, 5, 6},
     {0, 0, 1, 2, 3, 4, 5, 6},
     {0, 0, 1, 2, 3, 4, 5, 6},
     {0, 0, 1, 2, 3, 4, 5, 6}},
    {{0, 1, 2, 3, 4, 5, 6, 7},
     {0, 1, 2, 3, 4, 5, 6, 7},
     {0, 1, 2, 3, 4, 5, 6, 7},
     {0, 1, 2, 3, 4, 5, 6, 7},
     {0, 1, 2, 3, 4, 5, 6, 7},
     {0, 1, 2, 3, 4, 5, 6, 7},
     {0, 1, 2, 3, 4, 5, 6, 7},
     {0, 1, 2, 3, 4, 5, 6, 7},
     {0, 1, 2, 3, 4, 5, 6, 7},
     {0, 0, 2, 3, 4, 5, 6, 7},
     {0, 0, 1, 3, 4, 5, 6, 7},
     {0, 0, 1, 2, 4, 5, 6, 7},
     {0, 0, 1, 2, 3, 5, 6, 7},
     {0, 0, 1, 2, 3, 4, 6, 7},
     {0, 0, 1, 2, 3, 4, 5, 7},
     {0, 0, 1, 2, 3, 4, 5, 6}},
};

/* Which of eight words are equal to those of another vector. */
CACHE_INLINE uint32_t packed_equal(__m256i words, __m256i others)
{
    return (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(words, others)));
}

/*
 * Looks for a word of a set and moves it to the front, with the dirty bit if `dirty` is 1; what was
 * before it moves by one. Where it is not found it comes to the front, and the last one leaves:
 * that is returned. `halves` is 1 or 2, a constant, and so is `foreseen`: whether the host's branch
 * predictor is likely to know if it is found, as of what loops do with strides. Then it need not
 * wait for the search before the next one in the same set can begin; else there is no branch.
 */
CACHE_INLINE uint32_t packed_search(uint32_t *set, uint32_t ways, unsigned halves, bool foreseen,
                                    uint32_t word, uint32_t dirty, bool *found)
{
    const __m256i needle = _mm256_set1_epi32((int)word), clean = _mm256_set1_epi32(~1);
    __m256i low = _mm256_load_si256((const __m256i *)(const void *)set), high = low;
    uint32_t at = packed_equal(_mm256_and_si256(low, clean), needle);

    if (halves == 2) {
        high = _mm256_load_si256((const __m256i *)(const void *)(set + 8));
        at |= packed_equal(_mm256_and_si256(high, clean), needle) << 8;
    }
    unsigned way = ways - 1;
    if (foreseen && !at)
        __asm__ volatile(""); /* stays a branch */
    else
        way = (unsigned)__builtin_ctz(at | UINT32_C(1) << (ways - 1));
    const uint32_t which = set[way];
    const __m128i front = _mm_cvtsi32_si128((int)(word | dirty | (at ? which & 1 : 0)));
    if (halves == 2) {
        const __m128i carried = _mm_cvtsi32_si128((int)set[way < 8 ? 8 : 7]);
        high = _mm256_permutevar8x32_epi32(
            high, _mm256_load_si256((const __m256i *)(const void *)packed_order[1][way]));
        high = _mm256_blend_epi32(high, _mm256_castsi128_si256(carried), 1);
        _mm256_store_si256((__m256i *)(void *)(set + 8), high);
    }
    low = _mm256_permutevar8x32_epi32(
        low, _mm256_load_si256((const __m256i *)(const void *)packed_order[0][way]));
    low = _mm256_blend_epi32(low, _mm256_castsi128_si256(front), 1);
    _mm256_store_si256((__m256i *)(void *)set, low);
    *found = at != 0;
    return which;
}

/* Makes the first word dirty: by a vector, as the next search loads it, for that would have to wait
 * for a part of it that was stored. */
CACHE_INLINE void packed_front_dirty(uint32_t *set)
{
    __m256i *words = (__m256i *)(void *)set;

    _mm256_store_si256(words, _mm256_or_si256(_mm256_load_si256(words),
                                              _mm256_setr_epi32(1, 0, 0, 0, 0, 0, 0, 0)));
}

/* The second word becomes the first. */
CACHE_INLINE void packed_swap(uint32_t *set, uint32_t dirty)
{
    __m256i *words = (__m256i *)(void *)set;
    const __m256i old = _mm256_load_si256(words);

    _mm256_store_si256(words,
                       _mm256_or_si256(_mm256_blend_epi32(old, _mm256_shuffle_epi32(old, 0xe1), 3),
                                       _mm256_setr_epi32((int)dirty, 0, 0, 0, 0, 0, 0, 0)));
}

/* Where a word is in its set, dirty or not; PSNAP_NONE: it is not. */
CACHE_INLINE uint32_t packed_way(const uint32_t *set, unsigned halves, uint32_t word)
{
    const __m256i needle = _mm256_set1_epi32((int)word), clean = _mm256_set1_epi32(~1);
    uint32_t at = 0;

    for (unsigned half = 0; half < halves; half++) {
        const __m256i *words = (const __m256i *)(const void *)(set + 8 * (size_t)half);
        at |= packed_equal(_mm256_and_si256(_mm256_load_si256(words), clean), needle) << 8 * half;
    }
    return at ? (uint32_t)__builtin_ctz(at) : PSNAP_NONE;
}

/* As cache_touch(). */
CACHE_INLINE enum cache_touch packed_touch(const struct cache *cache, unsigned halves,
                                           uint64_t address, bool dirty, uint64_t *victim)
{
    const uint64_t line = address >> cache->line_shift;
    bool found;
    const uint32_t left =
        packed_search(packed_set(cache, halves == 1 ? CACHE_PACKED : CACHE_PACKED_WIDE, line),
                      cache->ways, halves, false, packed_word(cache, line), dirty, &found);

    *victim = packed_address(cache, line, left);
    return found ? CACHE_HIT : left & 1 ? CACHE_MISS_DIRTY : CACHE_MISS;
}
#endif

#endif
