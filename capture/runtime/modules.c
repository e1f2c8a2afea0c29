/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Modules that have been announced. A library that is closed and loaded again
 * at the same place is the module that it was; another one may come to lie
 * where it was, and then the same addresses mean other things (the REUSE event).
 * Modules are told apart by a hash of their tables (FNV-1a).
 */
#include "runtime.h"

#include <stddef.h>

enum { BLOCK_MODULES = 1000 };

struct known {
    const unsigned char *pieces, *sites;
    uint64_t piece_count, site_count, hash;
};

struct block {
    struct block *previous;
    uint64_t count;
    struct known modules[BLOCK_MODULES];
};

static struct block *last_block;

static uint64_t hash_words(uint64_t hash, const void *data, uint64_t bytes)
{
    const uint32_t *words = data;

    for (uint64_t i = 0; i < bytes / sizeof *words; i++)
        hash = (hash ^ words[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static bool overlap(const unsigned char *a, uint64_t a_bytes, const unsigned char *b,
                    uint64_t b_bytes)
{
    return a < b + b_bytes && b < a + a_bytes;
}

static bool touches(const struct known *a, const struct known *b)
{
    return overlap(a->pieces, a->piece_count, b->pieces, b->piece_count) ||
           overlap(a->sites, a->site_count, b->sites, b->site_count) ||
           overlap(a->pieces, a->piece_count, b->sites, b->site_count) ||
           overlap(a->sites, a->site_count, b->pieces, b->piece_count);
}

static bool is_same(const struct known *a, const struct known *b)
{
    return a->pieces == b->pieces && a->sites == b->sites && a->piece_count == b->piece_count &&
           a->site_count == b->site_count && a->hash == b->hash;
}

static void note(const struct known *module)
{
    if (!last_block || last_block->count == BLOCK_MODULES) {
        struct block *block = psnap_rt_map(sizeof *block);
        if (!block)
            return; /* it will be announced again */
        block->previous = last_block;
        last_block = block;
    }
    last_block->modules[last_block->count] = *module;
    __atomic_store_n(&last_block->count, last_block->count + 1, __ATOMIC_RELEASE);
}

bool psnap_rt_module_is_known(const struct psnap_module *module, bool *is_reuse)
{
    struct known this = {module->pieces, module->sites, module->piece_count, module->site_count,
                         UINT64_C(0xcbf29ce484222325)};

    this.hash = hash_words(this.hash, module->table, module->table_bytes);
    this.hash =
        hash_words(this.hash, module->globals, module->global_count * sizeof *module->globals);
    *is_reuse = false;
    for (const struct block *block = last_block; block; block = block->previous)
        for (uint64_t i = block->count; i-- > 0;) {
            if (!touches(&block->modules[i], &this))
                continue;
            if (is_same(&block->modules[i], &this))
                return true;
            *is_reuse = true;
            note(&this);
            return false;
        }
    note(&this);
    return false;
}
