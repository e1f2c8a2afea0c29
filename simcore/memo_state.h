/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state of packed caches, counted from a line: copied, put back and hashed, as vectors where
 * packed caches are (memo.h).
 */
#ifndef PSNAP_SIMCORE_MEMO_STATE_H
#define PSNAP_SIMCORE_MEMO_STATE_H

#include "simcore/cache_packed.h"

/* Words of a packed cache's state. */
static inline size_t memo_state_words(const struct cache *cache)
{
    return cache->sets * packed_row(cache->kind);
}

/* Copies the state; its first set is that of the line that holds `base`. False: some line is so far
 * from there that the copy is not sound. */
bool memo_state_save(const struct cache *cache, uint64_t base, uint32_t *to);
void memo_state_restore(struct cache *cache, uint64_t base, const uint32_t *from);
uint64_t memo_state_hash(const uint32_t *words, size_t n, uint64_t seed);

#endif
