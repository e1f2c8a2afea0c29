/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a simulator's machines are laid out: their caches in one or two groups, each a hierarchy in
 * which machines with the same first levels share them, and where the numbers of a row lie.
 */
#include <stdlib.h>

#include "simcore/sim.h"

/* Lays out the numbers of a row. */
static void run_init(struct run *run, const struct paths *paths, uint32_t levels)
{
    const size_t tlb_levels = paths->tlb.level_count;
    bool foresees = false;

    for (size_t i = 0; i < paths->caches.level_count; i++)
        foresees |= paths->caches.levels[i]->ahead != NULL;
    run->paths = paths;
    run->levels = levels;
    run->width = 2 * (size_t)levels;
    run->tlb = run->width;
    run->width += tlb_levels;
    if (run->detail) {
        run->ahead = run->width;
        run->width += DETAIL_COUNTS * (size_t)levels;
    } else if (foresees) {
        run->ahead = run->width;
        run->width += 3 * (size_t)levels;
    }
}

static bool same_first_level(const struct psnap_machine *a, const struct psnap_machine *b)
{
    const struct psnap_cache_level *one = &a->levels[0], *other = &b->levels[0];

    return one->size_bytes == other->size_bytes && one->line_bytes == other->line_bytes &&
           one->ways == other->ways;
}

/* What a first level, which every access goes to, costs beside another one. */
enum { FIRST_LEVEL_WEIGHT = 4 };

/* Puts machines into groups of about the same cost; those that share a first level stay together.
 */
static void form_groups(struct sim *sim, const struct psnap_machine *machines, size_t n)
{
    size_t weights[GROUPS] = {0};

    for (size_t i = 0; i < n; i++)
        sim->runs[i].group = -1;
    for (size_t i = 0; i < n; i++) {
        const int lighter = weights[1] < weights[0];
        bool is_alone = true; /* who shares a first level pays only for those below */
        for (size_t k = i; k < n; k++) {
            if (sim->runs[k].group >= 0 ||
                (k > i && (sim->options.classify || machine_is_detailed(&machines[i]) ||
                           !same_first_level(&machines[k], &machines[i]))))
                continue;
            sim->runs[k].group = lighter;
            weights[lighter] += machines[k].level_count + (is_alone ? FIRST_LEVEL_WEIGHT : 0);
            is_alone = false;
        }
    }
}

/* The machines that are simulated in detail get that; the others of a group, and all of its TLBs,
 * one hierarchy. */
static bool make_levels(struct sim *sim, const struct psnap_machine *machines, size_t n, int group)
{
    struct psnap_machine *plain = malloc((n + !n) * sizeof *plain);
    bool fits = plain != NULL;

    for (size_t i = 0; i < n && fits; i++) {
        struct run *run = &sim->runs[i];
        plain[i] = machines[i];
        if (run->group != group)
            plain[i].level_count = plain[i].tlb_level_count = 0;
        if (run->group != group || (!sim->options.classify && !machine_is_detailed(&machines[i])))
            continue;
        plain[i].level_count = 0;
        run->detail = detail_new(&machines[i], sim->options.cores, sim->options.classify);
        fits = run->detail != NULL;
    }
    if (fits)
        sim->groups[group].hierarchy = hierarchy_new(plain, n, CACHE_PACKED, sim->options.cores);
    sim->groups[group].sim = sim;
    free(plain);
    return fits && sim->groups[group].hierarchy;
}

bool sim_make_groups(struct sim *sim, const struct psnap_machine *machines, size_t n)
{
    bool has_second = false;

    if (sim->options.threads > 1)
        form_groups(sim, machines, n);
    for (size_t i = 0; i < n; i++)
        has_second |= sim->runs[i].group == 1;
    if (!make_levels(sim, machines, n, 0) || (has_second && !make_levels(sim, machines, n, 1)))
        return false;
    for (size_t i = 0; i < n; i++)
        run_init(&sim->runs[i], &sim->groups[sim->runs[i].group].hierarchy->paths[i],
                 machines[i].level_count);
    if (has_second)
        sim->worker = worker_new(sim_run_group, &sim->groups[1]);
    return true; /* without one the second group comes after the first */
}

/* The first levels of a hierarchy; false: some level does not suit. */
static bool add_shapes(struct reduce *reduce, const struct hierarchy *hierarchy)
{
    for (size_t i = 0; i < hierarchy->level_count; i++)
        if (hierarchy->levels[i]->ahead)
            return false;
    for (const struct level *root = hierarchy->roots; root; root = root->sibling) {
        const struct cache *cache = root->cache;
        if (cache->replacement != PSNAP_REPLACE_LRU || cache->index != PSNAP_INDEX_MODULO ||
            reduce->shape_count == REDUCE_SHAPES_MAX)
            return false;
        reduce->shapes[reduce->shape_count++] =
            (struct reduce_shape){cache->line_shift, cache->sets,
                                  cache->sets & cache->set_mask ? 0 : cache->set_mask, cache->ways};
        if (cache->line_bytes > reduce->line_bytes)
            reduce->line_bytes = cache->line_bytes;
    }
    return true;
}

/*
 * Runs can be simulated by the line where all first levels are exact LRU, and nothing else sees
 * accesses: no TLB, no prefetcher, no cores and no tags. False: out of memory.
 */
bool sim_plan_runs(struct sim *sim)
{
    bool plain = !sim->options.cores && !sim->options.tagger;

    for (size_t i = 0; i < sim->run_count; i++)
        plain &= !sim->runs[i].detail && !sim->runs[i].paths->tlb.level_count;
    for (int i = 0; i < GROUPS && sim->groups[i].hierarchy && plain; i++) {
        struct group *group = &sim->groups[i];
        group->reduce = calloc(1, sizeof *group->reduce);
        if (!group->reduce)
            return false;
        plain = add_shapes(group->reduce, group->hierarchy) && group->reduce->shape_count;
    }
    sim->takes_runs = plain;
    for (int i = 0; i < GROUPS && sim->groups[i].hierarchy && plain; i++) {
        const struct memo_host host = sim_memo_host(&sim->groups[i]);
        sim->groups[i].memo = memo_new(sim->groups[i].hierarchy, &host);
    }
    return true;
}
