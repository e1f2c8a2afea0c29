/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One set-associative cache of lines with dirty bits: tags only, no data.
 *
 * Four representations, same behaviour (tests run one against the other):
 *
 *   flat    each set is an array of words, most recently used first, so that
 *           order is recency and the first comparison mostly hits. A word is
 *           the line's address, whose low bits are free for the flags; an
 *           empty way is the word 0, which no line has. Cost grows with ways.
 *           LRU only, and without a prefetcher: what plain machines are made of.
 *   packed  as flat, in words of half the length, compared and moved by vector
 *           instructions (cache_packed.h), of at most 16 ways.
 *   general the same words with a third flag, for every replacement policy.
 *   listed  each set is a linked list in order of recency, found through one
 *           hash table. Constant cost for any associativity, and no flags
 *           inside addresses, so lines may be 1 or 2 bytes long.
 *
 * Under LRU and FIFO an index within a set is a rank, of recency or of arrival; under the other
 * policies lines stay in the way that they came into, and a policy names a way (cache_ways.h).
 *
 * A line that a prefetcher brought in is marked until it is touched or evicted.
 *
 * Invariants: a set holds a line at most once; used ways come before empty ones.
 */
#ifndef PSNAP_SIMCORE_CACHE_H
#define PSNAP_SIMCORE_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/base/rng.h"
#include "simcore/simcore.h"

#define CACHE_FLAT_WAYS_MAX 64         /* a list of more ways is faster */
#define CACHE_FLAT_LINE_BYTES_MIN 4    /* two flag bits */
#define CACHE_GENERAL_LINE_BYTES_MIN 8 /* three */

#define CACHE_DIRTY UINT64_C(1) /* flags in a word of a flat or general cache */
#define CACHE_VALID UINT64_C(2)
#define CACHE_MARKED UINT64_C(4) /* general only */

enum cache_kind {
    CACHE_FLAT,        /* a power of two of sets: the set is chosen by a mask */
    CACHE_FLAT_MODULO, /* any number of sets */
    CACHE_GENERAL,     /* any number of sets, too */
    CACHE_LISTED,
    CACHE_PACKED,     /* a power of two of sets of at most 8 ways, */
    CACHE_PACKED_WIDE /* of at most 16 */
};

enum cache_touch {
    CACHE_HIT,
    CACHE_MISS,      /* allocated; what was evicted, if anything, was clean */
    CACHE_MISS_DIRTY /* allocated; a dirty line was evicted */
};

struct cache_node {
    uint64_t line;         /* line number */
    uint32_t newer, older; /* in its set, 0: none */
    uint32_t chain;        /* next in the hash bucket, or in the free list; 0: none */
    uint8_t dirty, marked, present;
};

struct cache_list {
    uint32_t newest, oldest; /* nodes, 0: none */
    uint32_t used;           /* ways */
};

struct cache {
    enum cache_kind kind;
    unsigned line_shift;
    uint64_t line_bytes;
    uint64_t sets, set_mask;
    unsigned set_bits; /* of a power of two of sets */
    uint32_t ways;
    uint64_t *words; /* flat and general: sets * ways, in whole lines of the host's cache */
    void *allocated; /* that they are in */
    /* packed: */
    uint32_t *tags; /* sets * 8 or 16 */
    /* listed: */
    struct cache_node *nodes; /* [0] is "none" */
    uint32_t node_count;      /* used, with [0] */
    unsigned bucket_shift;
    uint32_t *buckets;
    struct cache_list *lists; /* per set */
    uint32_t free_nodes;      /* that were removed, in a chain; 0: none */
    /* general and listed: */
    enum psnap_replacement replacement;
    enum psnap_set_index index;
    uint8_t *ages;                         /* SRRIP: by set and way */
    uint64_t *trees;                       /* pseudo-LRU: tree_words per set */
    uint32_t tree_words;                   /* of 64 nodes each */
    uint32_t marks_touched, marks_evicted; /* marked lines since somebody set these to zero */
    bool has_holes;                        /* listed: a way may be empty before one that is not */
    bool has_victim;      /* what came in last took the place of another line, which *victim was */
    struct psnap_rng rng; /* random */
};

/* An empty cache of a checked level, the index-th of its machine. `kind` CACHE_GENERAL or
 * CACHE_LISTED forces that representation if it can hold the level; else it is chosen, packed only
 * for CACHE_PACKED. False: out
 * of memory (release is still legal). */
bool cache_init(struct cache *cache, const struct psnap_cache_level *level, uint32_t index,
                enum cache_kind kind);
void cache_release(struct cache *cache);

struct rename;
/* Lines get the addresses back that they had before they were renamed, and a packed cache becomes a
 * flat one. False: out of memory; nothing has changed then. */
bool cache_rename_back(struct cache *cache, const struct rename *rename);

/* Marks the line that holds `address` dirty if it is present, leaving recency alone. */
bool cache_mark_dirty(struct cache *cache, uint64_t address);

/* Brings in the line that holds `address`, marked. Where it is already, nothing changes
 * (CACHE_HIT). Of a general or listed cache. */
enum cache_touch cache_fetch_ahead(struct cache *cache, uint64_t address, uint64_t *victim);

/* The three below are of general and listed caches. Whether the line that holds `address` is there;
 * nothing changes. */
bool cache_holds(const struct cache *cache, uint64_t address);
/* Takes the line out, if it is there, and says whether; *dirty is whether it was. */
bool cache_remove(struct cache *cache, uint64_t address, bool *dirty);
/* Makes the line clean, and says whether it was there and dirty. */
bool cache_clean(struct cache *cache, uint64_t address);

/* The halves of the above for one representation, and touch (see cache_touch below). */
bool cache_general_mark_dirty(struct cache *cache, uint64_t line);
enum cache_touch cache_general_touch(struct cache *cache, uint64_t line, bool dirty,
                                     uint64_t *victim);
enum cache_touch cache_general_fetch_ahead(struct cache *cache, uint64_t line, uint64_t *victim);
bool cache_general_holds(const struct cache *cache, uint64_t line);
bool cache_general_remove(struct cache *cache, uint64_t line, bool *dirty);
bool cache_general_clean(struct cache *cache, uint64_t line);
bool cache_listed_init(struct cache *cache);
void cache_listed_rename_back(struct cache *cache, const struct rename *rename);
bool cache_listed_holds(const struct cache *cache, uint64_t line);
bool cache_listed_remove(struct cache *cache, uint64_t line, bool *dirty);
bool cache_listed_clean(struct cache *cache, uint64_t line);
bool cache_listed_mark_dirty(struct cache *cache, uint64_t line);
enum cache_touch cache_listed_touch(struct cache *cache, uint64_t line, bool dirty,
                                    uint64_t *victim);
enum cache_touch cache_listed_fetch_ahead(struct cache *cache, uint64_t line, uint64_t *victim);

#define CACHE_INLINE static inline __attribute__((always_inline))

/* Looks for a word behind the front of its set and moves it there, shifting what was before it. */
CACHE_INLINE enum cache_touch cache_set_touch(uint64_t *set, uint32_t ways, uint64_t word,
                                              bool dirty, uint64_t *victim)
{
    uint64_t carried = set[0];

    for (uint32_t way = 1; way < ways; way++) {
        const uint64_t found = set[way];
        set[way] = carried;
        if ((found ^ word) <= CACHE_DIRTY) {
            set[0] = found | dirty;
            return CACHE_HIT;
        }
        carried = found;
    }
    set[0] = word | dirty;
    *victim = carried & ~(CACHE_DIRTY | CACHE_VALID);
    return carried & CACHE_DIRTY ? CACHE_MISS_DIRTY : CACHE_MISS;
}

static inline uint64_t *cache_set(const struct cache *cache, enum cache_kind kind, uint64_t line)
{
    const uint64_t set = kind == CACHE_FLAT ? line & cache->set_mask : line % cache->sets;

    return cache->words + set * cache->ways;
}

static inline bool cache_is_packed(const struct cache *cache)
{
    return cache->kind == CACHE_PACKED || cache->kind == CACHE_PACKED_WIDE;
}

/* Whether a set's order is that of a queue, from which the last one leaves. */
static inline bool cache_is_queue(const struct cache *cache)
{
    return cache->replacement == PSNAP_REPLACE_LRU || cache->replacement == PSNAP_REPLACE_FIFO;
}

/* The set of a line, of a general or listed cache. */
static inline uint64_t cache_index(const struct cache *cache, uint64_t line)
{
    uint64_t folded = 0;

    if (cache->index == PSNAP_INDEX_XOR) {
        for (; line && cache->set_bits; line >>= cache->set_bits)
            folded ^= line;
        return folded & cache->set_mask;
    }
    return cache->sets & cache->set_mask ? line % cache->sets : line & cache->set_mask;
}

/* Tells the host that the set of `address` will be wanted; of a flat or general cache. It is
 * another set where their number is no power of two: no harm done. */
static inline void cache_prefetch(const struct cache *cache, uint64_t address)
{
    const uint64_t *set = cache_set(cache, CACHE_FLAT, address >> cache->line_shift);

    __builtin_prefetch(set, 1);
    if (cache->ways > 8)
        __builtin_prefetch(set + 8, 1); /* the next 64 bytes */
}

/*
 * Makes the line that holds `address` the most recently used of its set,
 * allocating it if need be, and dirty if `dirty`. *victim is the address of an
 * evicted line when that was dirty. `kind` is cache->kind, as a constant where
 * speed matters.
 */
CACHE_INLINE enum cache_touch cache_touch(struct cache *cache, enum cache_kind kind,
                                          uint64_t address, bool dirty, uint64_t *victim)
{
    const uint64_t line = address >> cache->line_shift;
    const uint64_t word = (line << cache->line_shift) | CACHE_VALID;
    uint64_t *set;

    if (kind == CACHE_LISTED)
        return cache_listed_touch(cache, line, dirty, victim);
    if (kind == CACHE_GENERAL)
        return cache_general_touch(cache, line, dirty, victim);
    set = cache_set(cache, kind, line);
    if ((set[0] ^ word) <= CACHE_DIRTY) {
        if (dirty) /* no store on loads: the next access need not wait for it */
            set[0] = word | CACHE_DIRTY;
        return CACHE_HIT;
    }
    switch (cache->ways) { /* the usual ones as constants: their loops are unrolled */
    case 2:
        return cache_set_touch(set, 2, word, dirty, victim);
    case 4:
        return cache_set_touch(set, 4, word, dirty, victim);
    case 8:
        return cache_set_touch(set, 8, word, dirty, victim);
    case 16:
        return cache_set_touch(set, 16, word, dirty, victim);
    default:
        return cache_set_touch(set, cache->ways, word, dirty, victim);
    }
}

#endif
