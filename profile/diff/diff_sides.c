/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One side of a comparison of profiles: its loops of the source, each the sum of its parts (the
 * optimiser's, and those of threads), and what each touches, the sum of its regions in one object.
 * A working set is the number of bytes that regions cover, counted once where they overlap.
 *
 * Allocations are known by their call sites, "main cg.c:120", whose lines move as those of loops
 * do. The sites of a function that both profiles have in equal number are the same ones, in their
 * order; of other functions those of equal lines are.
 */
#include <stdlib.h>
#include <string.h>

#include "profile/diff/diff.h"

/* ---- regions ---- */

static const char *name_of(const struct psnap_profile_region *region)
{
    return region->object ? region->object : region->id;
}

static unsigned kind_of(const struct psnap_profile_region *region)
{
    return region->object ? region->object_kind : (unsigned)DIFF_NO_OBJECT;
}

static int by_low(const void *left, const void *right)
{
    const struct psnap_profile_region *const *a = left, *const *b = right;

    if ((*a)->low != (*b)->low)
        return (*a)->low < (*b)->low ? -1 : 1;
    return ((*a)->bytes > (*b)->bytes) - ((*a)->bytes < (*b)->bytes);
}

static int compare_objects(const struct psnap_profile_region *a,
                           const struct psnap_profile_region *b)
{
    return kind_of(a) != kind_of(b) ? (kind_of(a) < kind_of(b) ? -1 : 1)
                                    : strcmp(name_of(a), name_of(b));
}

/* Those of one object are neighbours, and in the order of their addresses. */
static int by_object(const void *left, const void *right)
{
    const struct psnap_profile_region *const *a = left, *const *b = right;
    const int order = compare_objects(*a, *b);

    return order ? order : by_low(left, right);
}

/* Sums up regions, which are in the order of their addresses. */
static void add_up(const struct psnap_profile_region *const *regions, size_t n,
                   struct diff_region *sum)
{
    uint64_t end = 0;

    for (size_t i = 0; i < n; i++) {
        const struct psnap_profile_region *from = regions[i];
        const uint64_t begin = i && end > from->low ? end : from->low;
        const uint64_t last = from->low + from->bytes;
        if (last > begin) {
            sum->working_set_bytes += last - begin;
            end = last;
        }
        sum->accesses += from->accesses;
        for (unsigned kind = 0; kind < 3; kind++)
            sum->kinds[kind] += from->kinds[kind];
        for (unsigned s = 0; s < from->size_count; s++)
            sum->sizes[from->sizes[s].size] += from->sizes[s].count;
        for (unsigned s = 0; s < from->stride_count; s++)
            sum->strides[from->strides[s].bin] += from->strides[s].count;
    }
}

static void add_regions(const struct psnap_profile_region **regions, size_t n,
                        struct diff_loop *loop)
{
    size_t end;

    qsort(regions, n, sizeof *regions, by_low);
    add_up(regions, n, &loop->all);
    qsort(regions, n, sizeof *regions, by_object);
    for (size_t i = 0; i < n; i = end) {
        struct diff_region *to = &loop->regions[loop->region_count++];
        to->name = to->key = name_of(regions[i]);
        to->object_kind = (uint8_t)kind_of(regions[i]);
        to->low = regions[i]->low;
        for (end = i + 1; end < n && !compare_objects(regions[i], regions[end]);)
            end++;
        add_up(regions + i, end - i, to);
    }
}

int diff_region_order(const struct diff_region *a, const struct diff_region *b)
{
    if (a->object_kind != b->object_kind)
        return a->object_kind < b->object_kind ? -1 : 1;
    return strcmp(a->key, b->key);
}

/* ---- loops ---- */

/* Adds a count, or takes the larger one; either may be unknown. */
static void add_count(uint64_t *sum, uint64_t count, bool is_most)
{
    if (count == UINT64_MAX)
        return;
    if (*sum == UINT64_MAX || (is_most && count > *sum))
        *sum = count;
    else if (!is_most)
        *sum += count;
}

/* References of a part, their reuse times, and whether their addresses are in nests. */
static void add_refs(const struct diff_side *side, uint32_t part, struct diff_loop *loop)
{
    const struct model_list *list = &side->by_loop.refs;
    uint32_t numbers = 0;

    for (uint32_t i = list->first[part]; i < list->first[part + 1]; i++) {
        const struct model_ref *ref = &side->profile->stream->refs[list->items[i]];
        numbers = ref->number >= numbers ? ref->number + 1 : numbers;
        if (ref->rule != MODEL_NEST && ref->rule != MODEL_SHARED)
            loop->is_exact = 0;
        reuse_add_up(ref->reuses, ref->reuse_count, loop->all.reuse);
    }
    loop->references += numbers;
}

/* Sums up the parts of a loop; `room` is for pointers to all their regions. */
static bool make_loop(const struct diff_side *side, struct psnap_arena *arena,
                      const struct psnap_profile_region **room, struct diff_loop *loop)
{
    const struct psnap_profile *profile = side->profile;
    size_t regions = 0;

    loop->entries = loop->iterations = UINT64_MAX;
    loop->is_exact = profile->stream != NULL;
    for (uint32_t i = 0; i < loop->part_count; i++) {
        const struct psnap_profile_loop *part = loop->parts[i];
        add_count(&loop->entries, part->entries, true);
        add_count(&loop->iterations, part->iterations, false);
        for (unsigned op = 0; op < PSNAP_OPERATION_COUNT; op++)
            loop->operations[op] += part->operations[op];
        if (profile->stream)
            add_refs(side, (uint32_t)(part - profile->loops), loop);
        for (uint32_t r = 0; r < part->region_count; r++)
            room[regions++] = &part->regions[r];
    }
    loop->regions = psnap_arena_alloc(arena, regions * sizeof *loop->regions);
    if (!loop->regions)
        return false;
    add_regions(room, regions, loop);
    loop->is_exact = loop->is_exact && loop->all.accesses;
    return true;
}

static int by_src_id(const void *left, const void *right)
{
    const struct psnap_profile_loop *const *a = left, *const *b = right;
    const int order = strcmp((*a)->src_id, (*b)->src_id);

    return order ? order : (*a > *b) - (*a < *b);
}

bool diff_side_init(struct diff_side *side, const struct psnap_profile *profile,
                    struct psnap_arena *arena)
{
    const uint32_t n = profile->loop_count;
    const struct psnap_profile_loop **parts = psnap_arena_alloc(arena, n * sizeof(void *));
    const struct psnap_profile_region **room;
    size_t regions = 0;
    bool is_done;

    for (uint32_t i = 0; parts && i < n; i++) {
        parts[i] = &profile->loops[i];
        regions += profile->loops[i].region_count;
    }
    room = psnap_arena_alloc(arena, regions * sizeof(void *));
    side->profile = profile;
    side->loops = psnap_arena_alloc(arena, n * sizeof *side->loops);
    psnap_profile_totals(profile, &side->totals);
    is_done = parts && room && side->loops &&
              (!profile->stream || model_index_init(&side->by_loop, profile->stream, n));
    if (is_done)
        qsort(parts, n, sizeof(void *), by_src_id);
    for (size_t i = 0; is_done && i < n; i += side->loops[side->loop_count++].part_count) {
        struct diff_loop *loop = &side->loops[side->loop_count];
        loop->id = parts[i]->src_id;
        loop->parts = &parts[i];
        while (i + loop->part_count < n && !strcmp(loop->parts[loop->part_count]->src_id, loop->id))
            loop->part_count++;
        is_done = make_loop(side, arena, room, loop);
    }
    return is_done;
}

/* ---- call sites ---- */

/* A region in an allocation. */
struct site {
    struct diff_region *region;
    bool is_b;
};

static int compare_functions(const char *a, const char *b)
{
    const char *end_a = strrchr(a, ':'), *end_b = strrchr(b, ':');
    const size_t p = end_a ? (size_t)(end_a - a) : strlen(a);
    const size_t q = end_b ? (size_t)(end_b - b) : strlen(b);

    return p == q ? strncmp(a, b, p) : p < q ? -1 : 1;
}

/* By function, then side, then line. */
static int by_site(const void *left, const void *right)
{
    const struct site *a = left, *b = right;
    const int order = compare_functions(a->region->name, b->region->name);

    if (order || a->is_b != b->is_b)
        return order ? order : a->is_b - b->is_b;
    return strverscmp(a->region->name, b->region->name);
}

static int by_key(const void *left, const void *right)
{
    return diff_region_order(left, right);
}

/* Adds the sites of a side, or counts what there may be. */
static size_t add_sites(const struct diff_side *side, bool is_b, struct site *sites, size_t count)
{
    for (uint32_t i = 0; i < side->loop_count; i++)
        for (uint32_t r = 0; r < side->loops[i].region_count; r++)
            if (side->loops[i].regions[r].object_kind == PSNAP_OBJECT_ALLOCATION) {
                if (sites)
                    sites[count] = (struct site){&side->loops[i].regions[r], is_b};
                count++;
            }
    return count;
}

/* The end of the sites from one on that are like it: of its function, side and, if wanted, line. */
static size_t end_of(const struct site *sites, size_t from, size_t count, bool is_line)
{
    size_t end = from;

    while (
        end < count && sites[end].is_b == sites[from].is_b &&
        !(is_line ? strcmp : compare_functions)(sites[end].region->name, sites[from].region->name))
        end++;
    return end;
}

bool diff_match_sites(struct diff_side *a, const struct diff_side *b, struct psnap_arena *arena)
{
    const size_t count = add_sites(b, true, NULL, add_sites(a, false, NULL, 0));
    struct site *sites = psnap_arena_alloc(arena, count * sizeof *sites);

    if (!sites)
        return false;
    add_sites(b, true, sites, add_sites(a, false, sites, 0));
    qsort(sites, count, sizeof *sites, by_site);
    for (size_t i = 0, j, end; i < count; i = end) {
        const size_t half = end_of(sites, i, count, false);
        size_t p, q;
        end = half;
        if (half == count || compare_functions(sites[i].region->name, sites[half].region->name))
            continue; /* one side has none */
        end = end_of(sites, half, count, false);
        for (p = i, q = half; p < half && q < end; q = end_of(sites, q, end, true))
            p = end_of(sites, p, half, true);
        for (p = p == half && q == end ? i : half, q = half; p < half;
             q = end_of(sites, q, end, true))
            for (j = end_of(sites, p, half, true); p < j; p++)
                sites[p].region->key = sites[q].region->name;
    }
    for (uint32_t i = 0; i < a->loop_count; i++)
        if (a->loops[i].region_count)
            qsort(a->loops[i].regions, a->loops[i].region_count, sizeof *a->loops[i].regions,
                  by_key);
    return true;
}
