/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A word of a copy is that of the cache (cache_packed.h) with its tag less that of the line that
 * the copy is counted from; those of sets before that line's, which come last, less one more. Half
 * the range of tags is added, so that the one line which then looks like an empty way is far away.
 */
#include "simcore/memo_state.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#define HALF (UINT32_C(1) << 31) /* of the range of tags, in a word */

static uint32_t copy(uint32_t *restrict to, const uint32_t *restrict from, size_t n, uint64_t tag)
{
    const uint32_t moved = HALF - ((uint32_t)tag << 1);
    uint32_t lost = 0;

    for (size_t i = 0; i < n; i++) {
        const uint32_t word = from[i] ? from[i] + moved : 0;
        lost |= (from[i] != 0) & (word == 0);
        to[i] = word;
    }
    return lost;
}

static void copy_back(uint32_t *restrict to, const uint32_t *restrict from, size_t n, uint64_t tag)
{
    const uint32_t moved = HALF - ((uint32_t)tag << 1);

    for (size_t i = 0; i < n; i++)
        to[i] = from[i] ? from[i] - moved : 0;
}

bool memo_state_save(const struct cache *cache, uint64_t base, uint32_t *to)
{
    const uint64_t line = base >> cache->line_shift, tag = line >> cache->set_bits;
    const size_t n = memo_state_words(cache);
    const size_t before = (line & cache->set_mask) * packed_row(cache->kind);

    return !(copy(to, cache->tags + before, n - before, tag) |
             copy(to + n - before, cache->tags, before, tag + 1));
}

void memo_state_restore(struct cache *cache, uint64_t base, const uint32_t *from)
{
    const uint64_t line = base >> cache->line_shift, tag = line >> cache->set_bits;
    const size_t n = memo_state_words(cache);
    const size_t before = (line & cache->set_mask) * packed_row(cache->kind);

    copy_back(cache->tags + before, from, n - before, tag);
    copy_back(cache->tags, from + n - before, before, tag + 1);
}

uint64_t memo_state_hash(const uint32_t *words, size_t n, uint64_t seed)
{
    return XXH3_64bits_withSeed(words, n * sizeof *words, seed);
}
