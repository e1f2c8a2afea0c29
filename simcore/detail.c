/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each access goes down from level 1 until all of its bytes are found, as in hierarchy.c; but one
 * access ends before the next one begins, so that a level may change nearer ones.
 *
 * A line that is missing comes in before it is sought further down; only where the next level is
 * exclusive it does after that, for what it takes the place of goes there.
 */
#include "simcore/detail.h"

#include <stdlib.h>
#include <string.h>

#include "formats/base/map.h"
#include "simcore/machine.h"

struct part { /* of a level: one cache, of one or several cores */
    struct cache cache;
    struct cache victims;     /* with victim_lines */
    struct cache shadow;      /* fully associative, LRU, of the same size; to classify misses */
    struct psnap_map history; /* states of lines, NEVER where they have none */
    struct rpt rpt;           /* with a stride prefetcher */
};

struct detail_level {
    struct psnap_cache_level shape;
    struct part *parts;
    uint32_t count, share;
};

struct detail {
    uint32_t level_count;
    bool coherent, classify, is_out_of_memory;
    const struct psnap_access *access; /* in hand, */
    size_t at;                         /* and its place in the block */
    uint64_t moved_dirty; /* bytes of it that an exclusive level gave up in a dirty line */
    struct detail_level levels[PSNAP_LEVELS_MAX];
    struct detail_memory memory; /* request NULL: nobody is told */
    struct detail_outcome outcome;
};

enum purpose { LOAD, STORE, AHEAD };

/* Bytes of an access that are sought: bit i is byte `address + i`. */
struct sought {
    uint64_t address, bytes;
    uint32_t size;
};

static void serve(struct detail *d, uint32_t l, struct sought sought, enum purpose purpose,
                  bool counted);
static void write_down(struct detail *d, uint32_t l, uint64_t address, uint64_t bytes);

static void note(struct detail *d, enum detail_count count, uint32_t l)
{
    d->outcome.counts[count][l][d->at]++;
}

static struct part *part_of(struct detail *d, uint32_t l)
{
    struct detail_level *level = &d->levels[l];

    return &level->parts[level->count > 1 ? d->access->thread / level->share : 0];
}

/* The next line of what is sought, of lines of so many bytes: its bytes that are sought, and its
 * end, as offsets. False: there is none. */
static bool next_line(const struct sought *sought, uint64_t line_bytes, uint64_t *offset,
                      uint64_t *bytes, uint64_t *address)
{
    while (*offset < sought->size) {
        const uint64_t begin = *offset, at = sought->address + begin;
        uint64_t n = line_bytes - (at & (line_bytes - 1));

        n = n > sought->size - begin ? sought->size - begin : n;
        *offset = begin + n;
        *bytes = (UINT64_MAX >> (64 - n) << begin) & sought->bytes;
        *address = at;
        if (*bytes)
            return true;
    }
    return false;
}

/* ----------------------------------------------------------------------- memory */

static void write_memory(struct detail *d, uint64_t address, uint64_t bytes)
{
    if (d->memory.request && bytes)
        d->memory.request(d->memory.context, d->at, address, bytes, true);
}

/* What is missing in the last level, too: whole lines, unless it is a store that brings in none. */
static void ask_memory(struct detail *d, const struct sought *missing, enum purpose purpose)
{
    const uint64_t line_bytes = d->levels[d->level_count - 1].shape.line_bytes;
    uint64_t offset = 0, bytes, address;

    if (!d->memory.request)
        return;
    while (next_line(missing, line_bytes, &offset, &bytes, &address)) {
        for (; purpose == STORE && bytes;) { /* what is sought of it, which may have gaps */
            const unsigned begin = (unsigned)__builtin_ctzll(bytes);
            const uint64_t rest = ~(bytes >> begin);
            const unsigned n = rest ? (unsigned)__builtin_ctzll(rest) : 64;
            write_memory(d, missing->address + begin, n);
            bytes &= n + begin == 64 ? 0 : UINT64_MAX << (begin + n);
        }
        if (purpose != STORE)
            d->memory.request(d->memory.context, d->at, address & ~(line_bytes - 1), line_bytes,
                              false);
    }
}

/* -------------------------------------------------------------------- evictions */

/* Takes a line from a cache and its victim cache; whether it was there, and dirty. */
static bool take(struct part *part, const struct psnap_cache_level *shape, uint64_t address,
                 bool *dirty)
{
    bool found = cache_remove(&part->cache, address, dirty);

    if (!found && shape->victim_lines)
        found = cache_remove(&part->victims, address, dirty);
    return found;
}

/* Takes a line that level l gives up from all nearer levels; whether it was dirty there. */
static bool take_from_nearer(struct detail *d, uint32_t l, uint64_t address)
{
    const struct detail_level *level = &d->levels[l];
    const uint64_t line_bytes = level->shape.line_bytes;
    const uint32_t own = (uint32_t)(part_of(d, l) - level->parts);
    bool any = false, dirty;

    for (uint32_t m = 0; m < l; m++) {
        struct detail_level *nearer = &d->levels[m];
        for (uint32_t i = 0; i < nearer->count; i++) {
            if (nearer->count > 1 && level->count > 1 && i * nearer->share / level->share != own)
                continue;
            for (uint64_t n = 0; n < line_bytes; n += nearer->shape.line_bytes) {
                if (!take(&nearer->parts[i], &nearer->shape, address + n, &dirty))
                    continue;
                note(d, DETAIL_INVALIDATIONS, m);
                any |= dirty;
            }
        }
    }
    return any;
}

static void fill(struct detail *d, uint32_t l, uint64_t address, bool dirty, bool ahead);

/* A line leaves the level, and its victim cache. */
static void leave(struct detail *d, uint32_t l, uint64_t address, bool dirty)
{
    const struct psnap_cache_level *shape = &d->levels[l].shape;
    uint64_t victim;

    note(d, DETAIL_EVICTIONS, l);
    if (shape->inclusion == PSNAP_INCLUSIVE)
        dirty |= take_from_nearer(d, l, address);
    if (dirty)
        note(d, DETAIL_WRITE_BACKS, l);
    if (l + 1 < d->level_count && d->levels[l + 1].shape.inclusion == PSNAP_EXCLUSIVE) {
        struct cache *below = &part_of(d, l + 1)->cache;
        if (cache_holds(below, address)) /* another core gave it up before */
            cache_touch(below, below->kind, address, dirty, &victim);
        else
            fill(d, l + 1, address, dirty, false);
    } else if (dirty) {
        write_down(d, l + 1, address, shape->line_bytes);
    }
}

/* Brings a line in, which is not there. */
static void fill(struct detail *d, uint32_t l, uint64_t address, bool dirty, bool ahead)
{
    struct part *part = part_of(d, l);
    struct cache *cache = &part->cache, *victims = &part->victims;
    uint64_t victim = 0;
    enum cache_touch touch = ahead ? cache_fetch_ahead(cache, address, &victim)
                                   : cache_touch(cache, cache->kind, address, dirty, &victim);

    if (!cache->has_victim)
        return;
    if (d->levels[l].shape.victim_lines) {
        touch = cache_touch(victims, victims->kind, victim, touch == CACHE_MISS_DIRTY, &victim);
        if (!victims->has_victim)
            return;
    }
    leave(d, l, victim, touch == CACHE_MISS_DIRTY);
}

/* Bytes that a nearer level wrote: lines that hold them become dirty, unless that level writes
 * through; the rest goes further down. */
static void write_down(struct detail *d, uint32_t l, uint64_t address, uint64_t bytes)
{
    uint64_t n;

    for (uint64_t done = 0; done < bytes && l < d->level_count; done += n) {
        const struct psnap_cache_level *shape = &d->levels[l].shape;
        struct part *part = part_of(d, l);
        const uint64_t at = address + done;
        struct cache *cache = &part->cache;

        n = shape->line_bytes - (at & (shape->line_bytes - 1));
        n = n > bytes - done ? bytes - done : n;
        if (shape->victim_lines && !cache_holds(cache, at) && cache_holds(&part->victims, at))
            cache = &part->victims;
        if (!shape->write_through && cache_mark_dirty(cache, at))
            continue;
        if (shape->write_through && cache_holds(cache, at))
            note(d, DETAIL_WRITE_THROUGHS, l);
        write_down(d, l + 1, at, n);
    }
    if (l == d->level_count)
        write_memory(d, address, bytes);
}

/* --------------------------------------------------------------- misses' kinds */

enum history { NEVER, SEEN, TAKEN /* another core's store took the line away */ };

/* Gives a line of a part another state, and returns that before. */
static enum history history_set(struct detail *d, struct part *part, uint64_t line,
                                enum history state)
{
    uint64_t *place = psnap_map_put(&part->history, line);
    const enum history before = place ? (enum history) * place : NEVER;

    d->is_out_of_memory |= !place;
    if (place)
        *place = state;
    return before;
}

static enum detail_count kind_of(enum history before, bool fits)
{
    if (before == NEVER)
        return DETAIL_COLD;
    if (before == TAKEN)
        return DETAIL_COHERENCE;
    return fits ? DETAIL_CONFLICT : DETAIL_CAPACITY;
}

/* Notes that a line is asked for, and returns what its miss is due to if it is one. */
static enum detail_count classify(struct detail *d, uint32_t l, uint64_t address, bool allocates)
{
    struct part *part = part_of(d, l);
    const uint64_t line = address >> part->cache.line_shift;
    bool fits = false;
    enum history before;
    uint64_t victim;

    if (d->classify && (allocates || cache_holds(&part->shadow, address)))
        fits = cache_touch(&part->shadow, part->shadow.kind, address, false, &victim) == CACHE_HIT;
    if (!d->classify && !d->coherent)
        return DETAIL_COUNTS;
    before = history_set(d, part, line, SEEN);
    if (!d->classify)
        return before == TAKEN ? DETAIL_COHERENCE : DETAIL_COUNTS;
    return kind_of(before, fits);
}

/* --------------------------------------------------------------------- accesses */

/* Whether the level has a line of the access's; it does then, or its victim cache had. */
static bool find(struct detail *d, uint32_t l, uint64_t address, uint64_t bytes,
                 enum purpose purpose)
{
    const struct psnap_cache_level *shape = &d->levels[l].shape;
    struct part *part = part_of(d, l);
    bool dirty = false;
    uint64_t victim;

    if (!cache_holds(&part->cache, address)) {
        if (!shape->victim_lines || !cache_remove(&part->victims, address, &dirty))
            return false;
        if (purpose != AHEAD)
            note(d, DETAIL_VICTIM_HITS, l);
        fill(d, l, address, dirty, false);
    }
    if (purpose == AHEAD)
        return true;
    cache_touch(&part->cache, part->cache.kind, address, purpose == STORE && !shape->write_through,
                &victim);
    if (shape->inclusion == PSNAP_EXCLUSIVE && cache_remove(&part->cache, address, &dirty) && dirty)
        d->moved_dirty |= bytes;
    return true;
}

/* What comes in for bytes that are missing, and whether it is dirty. */
static void bring_in(struct detail *d, uint32_t l, const struct sought *missing,
                     enum purpose purpose)
{
    const struct psnap_cache_level *shape = &d->levels[l].shape;
    uint64_t offset = 0, bytes, address;

    while (next_line(missing, shape->line_bytes, &offset, &bytes, &address)) {
        const bool is_moved = (d->moved_dirty & bytes) != 0;
        fill(d, l, address, is_moved || (purpose == STORE && !shape->write_through),
             purpose == AHEAD);
        d->moved_dirty &= ~bytes;
        if (purpose == AHEAD)
            note(d, DETAIL_ISSUED, l);
    }
}

/* Stores go on from a level that writes through. */
static void write_through(struct detail *d, uint32_t l, const struct sought *written)
{
    uint64_t offset = 0, bytes, address;

    while (next_line(written, d->levels[l].shape.line_bytes, &offset, &bytes, &address)) {
        note(d, DETAIL_WRITE_THROUGHS, l);
        write_down(d, l + 1, address, offset - (address - written->address));
    }
}

/* What an access foresees: lines behind those that it missed, and the next ones of its stride. */
static void look_ahead(struct detail *d, uint32_t l, const struct sought *sought,
                       const struct sought *missing)
{
    const struct psnap_cache_level *shape = &d->levels[l].shape;
    const struct psnap_prefetch *prefetch = &shape->prefetch;
    uint64_t offset = 0, bytes, address, stride = 0;

    if (prefetch->entries)
        stride = rpt_train(&part_of(d, l)->rpt, (uint64_t)d->access->thread << 32 | d->access->ref,
                           sought->address);
    for (uint32_t i = 0; i < prefetch->degree && stride; i++)
        serve(d, l,
              (struct sought){sought->address + stride * (prefetch->distance + i), sought->bytes,
                              sought->size},
              AHEAD, false);
    while (prefetch->next_lines && missing->bytes &&
           next_line(missing, shape->line_bytes, &offset, &bytes, &address))
        for (uint32_t i = 1; i <= prefetch->next_lines; i++) {
            const uint64_t line = (address & ~(shape->line_bytes - 1)) + i * shape->line_bytes;
            const uint32_t size = shape->line_bytes < PSNAP_ACCESS_SIZE_MAX
                                      ? (uint32_t)shape->line_bytes
                                      : PSNAP_ACCESS_SIZE_MAX;
            serve(d, l, (struct sought){line, UINT64_MAX >> (64 - size), size}, AHEAD, false);
        }
}

/* What became of marked lines since the last time is of the access in hand. */
static void note_marks(struct detail *d, uint32_t l)
{
    struct cache *cache = &part_of(d, l)->cache;

    d->outcome.counts[DETAIL_USEFUL][l][d->at] =
        (uint16_t)(d->outcome.counts[DETAIL_USEFUL][l][d->at] + cache->marks_touched);
    d->outcome.counts[DETAIL_USELESS][l][d->at] =
        (uint16_t)(d->outcome.counts[DETAIL_USELESS][l][d->at] + cache->marks_evicted);
    cache->marks_touched = cache->marks_evicted = 0;
}

static void serve(struct detail *d, uint32_t l, struct sought sought, enum purpose purpose,
                  bool counted)
{
    const struct psnap_cache_level *shape;
    struct sought missing = sought, written = sought;
    uint64_t offset = 0, bytes, address;
    enum detail_count why = DETAIL_COUNTS, first = DETAIL_COUNTS;
    bool allocates, after;

    if (l == d->level_count) {
        ask_memory(d, &sought, purpose);
        return;
    }
    shape = &d->levels[l].shape;
    allocates = purpose == AHEAD || (shape->inclusion != PSNAP_EXCLUSIVE &&
                                     !(purpose == STORE && shape->no_write_allocate));
    after = l + 1 < d->level_count && d->levels[l + 1].shape.inclusion == PSNAP_EXCLUSIVE;
    missing.bytes = 0;
    while (next_line(&sought, shape->line_bytes, &offset, &bytes, &address)) {
        if (counted)
            why = classify(d, l, address, allocates);
        if (find(d, l, address, bytes, purpose))
            continue;
        first = missing.bytes ? first : why;
        missing.bytes |= bytes;
        if (allocates && !after) {
            struct sought line = sought;
            line.bytes = bytes;
            bring_in(d, l, &line, purpose);
        }
    }
    written.bytes = allocates ? sought.bytes : sought.bytes & ~missing.bytes;
    if (missing.bytes && counted) {
        d->outcome.reached[d->at] = (uint8_t)(l + 1);
        if (first < DETAIL_COUNTS)
            note(d, first, l);
    }
    if (missing.bytes)
        serve(d, l + 1, missing, allocates || purpose != STORE ? LOAD : STORE, counted);
    if (missing.bytes && allocates && after)
        bring_in(d, l, &missing, purpose);
    if (purpose == STORE && shape->write_through && written.bytes)
        write_through(d, l, &written);
    if (counted)
        look_ahead(d, l, &sought, &missing);
    note_marks(d, l);
}

/* ------------------------------------------------------------------- coherence */

/* What another core had dirty goes to the nearest level that both have together. */
static void write_to_shared(struct detail *d, uint32_t l, uint32_t other, uint64_t address)
{
    const struct detail_level *level = &d->levels[l];
    const uint32_t core = other * level->share;
    uint32_t m = l + 1;

    note(d, DETAIL_WRITE_BACKS, l);
    while (m < d->level_count && d->levels[m].count > 1 &&
           core / d->levels[m].share != d->access->thread / d->levels[m].share)
        m++;
    write_down(d, m, address & ~(level->shape.line_bytes - 1), level->shape.line_bytes);
}

/* A line was taken from a part of level l, and so from the exclusive ones below it, to which it
 * would have gone. */
static void note_taken(struct detail *d, uint32_t l, uint32_t i, uint64_t address)
{
    const uint32_t core = i * d->levels[l].share;

    for (uint32_t m = l; m < d->level_count && d->levels[m].count > 1; m++) {
        struct part *part = &d->levels[m].parts[core / d->levels[m].share];
        if (m > l && (d->levels[m].shape.inclusion != PSNAP_EXCLUSIVE || part == part_of(d, m)))
            break;
        history_set(d, part, address >> part->cache.line_shift, TAKEN);
    }
}

/* Before an access: a store takes its lines from caches that are not the core's, a load leaves
 * them clean. */
static void take_from_others(struct detail *d, const struct sought *sought, bool store)
{
    for (uint32_t l = 0; l < d->level_count; l++) {
        struct detail_level *level = &d->levels[l];
        for (uint32_t i = 0; i < level->count && level->count > 1; i++) {
            struct part *part = &level->parts[i];
            uint64_t offset = 0, bytes, address;
            bool dirty = false;
            if (part == part_of(d, l))
                continue;
            while (next_line(sought, level->shape.line_bytes, &offset, &bytes, &address)) {
                if (store && take(part, &level->shape, address, &dirty)) {
                    note(d, DETAIL_INVALIDATIONS, l);
                    note_taken(d, l, i, address);
                } else if (!store) {
                    dirty = cache_clean(&part->cache, address) ||
                            (level->shape.victim_lines && cache_clean(&part->victims, address));
                }
                if (dirty)
                    write_to_shared(d, l, i, address);
                dirty = false;
            }
        }
    }
}

void detail_watch_memory(struct detail *d, const struct detail_memory *memory)
{
    d->memory = *memory;
}

bool detail_run(struct detail *d, const struct psnap_access *block, size_t n)
{
    memset(d->outcome.reached, 0, n);
    for (int count = 0; count < DETAIL_COUNTS; count++)
        for (uint32_t l = 0; l < d->level_count; l++)
            memset(d->outcome.counts[count][l], 0, n * sizeof d->outcome.counts[count][l][0]);
    for (d->at = 0; d->at < n; d->at++) {
        const struct psnap_access *access = d->access = &block[d->at];
        const struct sought all = {access->address, UINT64_MAX >> (64 - access->size),
                                   access->size};
        const bool store = access->kind != PSNAP_LOAD;
        if (d->coherent)
            take_from_others(d, &all, store);
        d->moved_dirty = 0;
        serve(d, 0, all, store ? STORE : LOAD, true);
    }
    return !d->is_out_of_memory;
}

const struct detail_outcome *detail_outcome(const struct detail *detail)
{
    return &detail->outcome;
}

/* ------------------------------------------------------------------ the levels */

static bool full_init(struct cache *cache, uint64_t lines, uint64_t line_bytes)
{
    const struct psnap_cache_level shape = {
        .size_bytes = lines * line_bytes, .line_bytes = line_bytes, .ways = lines, .sets = 1};

    return cache_init(cache, &shape, 0, CACHE_LISTED);
}

static bool part_init(struct part *part, const struct psnap_cache_level *shape, uint32_t index,
                      bool classify)
{
    return cache_init(&part->cache, shape, index, CACHE_GENERAL) &&
           (!shape->victim_lines ||
            full_init(&part->victims, shape->victim_lines, shape->line_bytes)) &&
           (!classify ||
            full_init(&part->shadow, shape->size_bytes / shape->line_bytes, shape->line_bytes)) &&
           (!shape->prefetch.entries || rpt_init(&part->rpt, shape->prefetch.entries));
}

static bool level_init(struct detail_level *level, const struct psnap_cache_level *shape,
                       uint32_t index, uint32_t cores, bool classify)
{
    level->shape = *shape;
    level->share = shape->shared_by ? shape->shared_by : 1;
    level->count = cores ? (cores - 1) / level->share + 1 : 1;
    level->parts = calloc(level->count, sizeof *level->parts);
    for (uint32_t i = 0; i < level->count && level->parts; i++)
        if (!part_init(&level->parts[i], shape, index + i * PSNAP_LEVELS_MAX, classify))
            return false;
    return level->parts != NULL;
}

struct detail *detail_new(const struct psnap_machine *machine, uint32_t cores, bool classify)
{
    struct detail *d = calloc(1, sizeof *d);
    bool fits = d != NULL;

    for (uint32_t l = 0; l < machine->level_count && fits; l++) {
        d->level_count++;
        fits = level_init(&d->levels[l], &machine->levels[l], l, cores, classify);
    }
    if (!fits) {
        detail_free(d);
        return NULL;
    }
    d->coherent = machine->coherent && cores > 1;
    d->classify = classify;
    return d;
}

void detail_free(struct detail *d)
{
    for (uint32_t l = 0; d && l < d->level_count; l++) {
        struct detail_level *level = &d->levels[l];
        for (uint32_t i = 0; level->parts && i < level->count; i++) {
            cache_release(&level->parts[i].cache);
            cache_release(&level->parts[i].victims);
            cache_release(&level->parts[i].shadow);
            free(level->parts[i].history.slots);
            rpt_release(&level->parts[i].rpt);
        }
        free(level->parts);
    }
    free(d);
}
