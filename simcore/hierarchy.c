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

#include "simcore/cache_packed.h"
#include "simcore/serve.h"

SERVE(flat, CACHE_FLAT, false)
SERVE(flat_modulo, CACHE_FLAT_MODULO, false)
SERVE(general, CACHE_GENERAL, false)
SERVE(listed, CACHE_LISTED, false)
SERVE(general_apart, CACHE_GENERAL, true)
SERVE(listed_apart, CACHE_LISTED, true)

static const struct loops plain[] = {[CACHE_FLAT] = {flat_block, flat_queue},
                                     [CACHE_FLAT_MODULO] = {flat_modulo_block, flat_modulo_queue},
                                     [CACHE_GENERAL] = {general_block, general_queue},
                                     [CACHE_LISTED] = {listed_block, listed_queue}},
                          apart[] = {[CACHE_GENERAL] = {general_apart_block, general_apart_queue},
                                     [CACHE_LISTED] = {listed_apart_block, listed_apart_queue}};

static const struct loops *loops_of(const struct level *level, bool foreseen)
{
    if (cache_is_packed(level->cache))
        return packed_loops(level->cache, foreseen);
    return level->cache_count > 1 ? &apart[level->cache->kind] : &plain[level->cache->kind];
}

static void level_enter(struct level *level, const struct psnap_access *block, size_t n)
{
    level->loops->block(level, block, n);
}

void hierarchy_foresee(struct hierarchy *hierarchy, bool foreseen)
{
    if (hierarchy->is_foreseen == foreseen)
        return;
    hierarchy->is_foreseen = foreseen;
    for (size_t i = 0; i < hierarchy->level_count; i++)
        hierarchy->levels[i]->loops = loops_of(hierarchy->levels[i], foreseen);
}

/* Too many addresses for packed caches. False: out of memory; some levels are renamed, others not,
 * so that nothing more can be run. */
static bool unpack(struct hierarchy *hierarchy)
{
    hierarchy->is_dead = true;
    for (size_t i = 0; i < hierarchy->level_count; i++) {
        struct level *level = hierarchy->levels[i];

        for (uint32_t c = 0; c < level->cache_count; c++)
            if (!cache_rename_back(&level->caches[c], &hierarchy->rename))
                return false;
        level->loops = loops_of(level, false);
    }
    hierarchy->packs = hierarchy->is_dead = false;
    return true;
}

/* The block as packed caches can have it; NULL: out of memory. */
static const struct psnap_access *rename_if_need_be(struct hierarchy *hierarchy,
                                                    const struct psnap_access *block, size_t n)
{
    uint64_t any = 0;

    if (hierarchy->is_dead)
        return NULL;
    if (!hierarchy->packs)
        return block;
    for (size_t i = 0; i < n; i++)
        any |= block[i].address | (block[i].address + PSNAP_ACCESS_SIZE_MAX);
    if (any < RENAME_END)
        return block;
    if (rename_block(&hierarchy->rename, block, n, hierarchy->renamed))
        return hierarchy->renamed;
    return unpack(hierarchy) ? block : NULL;
}

void hierarchy_forget(struct hierarchy *hierarchy)
{
    for (size_t i = 0; i < hierarchy->level_count; i++) {
        struct level *level = hierarchy->levels[i];

        level->miss_count = 0;
        while (level->evicting_count)
            level->evictions[level->evicting[--level->evicting_count]] = 0;
    }
}

void hierarchy_drain(struct hierarchy *hierarchy)
{
    for (size_t i = 0; i < hierarchy->level_count; i++)
        level_drain(hierarchy->levels[i]);
}

bool hierarchy_run(struct hierarchy *hierarchy, const struct psnap_access *block, size_t n)
{
    block = rename_if_need_be(hierarchy, block, n);
    if (!block)
        return false;
    hierarchy_forget(hierarchy);
    for (size_t i = 0; i < hierarchy->level_count; i++) {
        struct level *level = hierarchy->levels[i];

        for (size_t k = 0; k < n && level->cache_count > 1; k++)
            level->owners[k] = (uint16_t)(block[k].thread / level->share);
        if (level->ahead) {
            level->ahead->block = block;
            memset(level->ahead->issued, 0, sizeof level->ahead->issued);
            memset(level->ahead->useful, 0, sizeof level->ahead->useful);
            memset(level->ahead->useless, 0, sizeof level->ahead->useless);
        }
    }
    for (struct level *root = hierarchy->roots; root; root = root->sibling)
        level_enter(root, block, n);
    hierarchy_drain(hierarchy);
    return true;
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
    level->loops = loops_of(level, false);
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

/* Whether addresses can be renamed: sets follow from them as a rest of a division does, and nobody
 * looks at how far they are from each other. */
static bool can_rename(struct rename *rename, const struct psnap_machine *machines, size_t n)
{
    bool can = true;

    rename_init(rename);
    for (size_t i = 0; i < n; i++) {
        for (uint32_t l = 0; l < machines[i].level_count; l++) {
            const struct psnap_cache_level *level = &machines[i].levels[l];
            can &= level->index == PSNAP_INDEX_MODULO && !level->prefetch.entries;
            rename_add_level(rename, level->sets * level->line_bytes);
        }
        for (uint32_t l = 0; l < machines[i].tlb_level_count; l++)
            rename_add_level(rename, machines[i].tlb[l].sets * machines[i].tlb[l].page_bytes);
    }
    return can && rename->segment_bytes;
}

struct hierarchy *hierarchy_new(const struct psnap_machine *machines, size_t n,
                                enum cache_kind kind, uint32_t cores)
{
    struct hierarchy *hierarchy = calloc(1, sizeof *hierarchy + n * sizeof hierarchy->paths[0]);
    bool fits = hierarchy != NULL;

    if (!fits)
        return NULL;
    hierarchy->cores = cores;
    if (kind == CACHE_PACKED &&
        (!packed_is_possible() || !can_rename(&hierarchy->rename, machines, n)))
        kind = CACHE_FLAT;
    hierarchy->levels =
        calloc(n + 1, (PSNAP_LEVELS_MAX + PSNAP_TLB_LEVELS_MAX) * sizeof(struct level *));
    fits = hierarchy->levels != NULL;
    for (size_t i = 0; i < n && fits; i++)
        fits = add_machine(hierarchy, &machines[i], kind);
    if (!fits) {
        hierarchy_free(hierarchy);
        return NULL;
    }
    for (size_t i = 0; i < hierarchy->level_count; i++)
        hierarchy->packs |= cache_is_packed(hierarchy->levels[i]->cache);
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
