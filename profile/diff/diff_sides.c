/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One side of a comparison of profiles: its loops of the source, each the sum of its parts (the
 * optimiser's, and those of threads), and what each touches, the sum of its regions in one object.
 * A working set is the number of bytes that regions cover, counted once where they overlap.
 */
#include "profile/diff/diff.h"
#include "profile/model.h"

#include <stdlib.h>
#include <string.h>

/* ---- regions ---- */

static const char *name_of(const struct psnap_profile_region *region)
{
    return region->object ? region->object : region->id;
}

static unsigned kind_of(const struct psnap_profile_region *region)
{
    return region->object ? region->object_kind : PSNAP_OBJECT_STACK + 1U;
}

static int by_low(const void *left, const void *right)
{
    const struct psnap_profile_region *const *a = left, *const *b = right;

    if ((*a)->low != (*b)->low)
        return (*a)->low < (*b)->low ? -1 : 1;
    return ((*a)->bytes > (*b)->bytes) - ((*a)->bytes < (*b)->bytes);
}

/* Those of one thing are neighbours, and in the order of their addresses. */
static int by_name(const void *left, const void *right)
{
    const struct psnap_profile_region *const *a = left, *const *b = right;
    int order;

    if (kind_of(*a) != kind_of(*b))
        return kind_of(*a) < kind_of(*b) ? -1 : 1;
    order = strcmp(name_of(*a), name_of(*b));
    return order ? order : by_low(left, right);
}

/* Sums up regions, by low. */
static void add_up(const struct psnap_profile_region *const *regions, size_t n,
                   struct diff_region *sum)
{
    uint64_t end = 0;

    for (size_t i = 0; i < n; i++) {
        const struct psnap_profile_region *from = regions[i];
        const uint64_t begin = i && end > from->low ? end : from->low;
        const uint64_t last = from->low + from->bytes;
        if (!i)
            sum->low = from->low;
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
                        struct diff_region *pool, struct diff_loop *loop)
{
    size_t end;

    qsort(regions, n, sizeof *regions, by_low);
    add_up(regions, n, &loop->all);
    qsort(regions, n, sizeof *regions, by_name);
    loop->regions = pool;
    for (size_t i = 0; i < n; i = end) {
        struct diff_region *to = &loop->regions[loop->region_count++];
        to->name = to->key = name_of(regions[i]);
        to->object_kind = (uint8_t)kind_of(regions[i]);
        for (end = i + 1; end < n; end++)
            if (kind_of(regions[end]) != to->object_kind ||
                strcmp(name_of(regions[end]), to->name) != 0)
                break;
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

struct member {
    const char *src_id;
    uint32_t index; /* of the loop in the profile */
};

static int by_src_id(const void *left, const void *right)
{
    const struct member *a = left, *b = right;
    const int order = strcmp(a->src_id, b->src_id);

    return order ? order : (a->index > b->index) - (a->index < b->index);
}

static int by_first(const void *left, const void *right)
{
    const struct diff_loop *a = left, *b = right;

    return (a->first > b->first) - (a->first < b->first);
}

/* The most, or the sum, of counts of which some may be unknown. */
static void add_count(uint64_t *sum, uint64_t count, bool is_most)
{
    if (count == UINT64_MAX)
        return;
    if (*sum == UINT64_MAX || (is_most && count > *sum))
        *sum = count;
    else if (!is_most)
        *sum += count;
}

static void add_part(const struct psnap_profile_loop *part, struct diff_loop *loop)
{
    loop->part_count++;
    add_count(&loop->entries, part->entries, true);
    add_count(&loop->iterations, part->iterations, false);
    for (unsigned op = 0; op < PSNAP_OPERATION_COUNT; op++)
        loop->operations[op] += part->operations[op];
}

/* Reuse times of a loop's irregular references. */
static void add_reuse(const struct diff_side *side, uint32_t loop, struct diff_region *sum)
{
    const struct model_list *list = &side->by_loop.refs;

    for (uint32_t i = list->first[loop]; i < list->first[loop + 1]; i++) {
        const struct model_ref *ref = &side->profile->stream->refs[list->items[i]];
        for (uint32_t k = 0; k < ref->reuse_count; k++) {
            const struct reuse *reuse = &ref->reuses[k];
            for (uint32_t b = 0; b < reuse->bin_count; b++)
                sum->reuse[reuse->bins[b].bin] += reuse->bins[b].count;
        }
    }
}

/* The loop of `n` parts, its regions summed up in `pool`; `room` is for pointers to as many,
 * `numbers` for those of the parts. */
static void make_loop(const struct diff_side *side, const struct member *parts, size_t n,
                      const bool *is_drawn, const uint32_t *refs, struct diff_region *pool,
                      const struct psnap_profile_region **room, uint32_t *numbers,
                      struct diff_loop *loop)
{
    const struct psnap_profile *profile = side->profile;
    size_t regions = 0;

    *loop = (struct diff_loop){.id = parts[0].src_id,
                               .first = &profile->loops[parts[0].index],
                               .entries = UINT64_MAX,
                               .iterations = UINT64_MAX,
                               .parts = numbers,
                               .all_parts = (uint32_t)n,
                               .is_exact = profile->stream != NULL};
    for (size_t i = 0; i < n; i++) {
        const struct psnap_profile_loop *part = &profile->loops[parts[i].index];
        numbers[i] = parts[i].index;
        add_part(part, loop);
        loop->references += refs[parts[i].index];
        if (profile->stream)
            add_reuse(side, parts[i].index, &loop->all);
        loop->is_exact &= !is_drawn[parts[i].index];
        for (uint32_t r = 0; r < part->region_count; r++)
            room[regions++] = &part->regions[r];
    }
    add_regions(room, regions, pool, loop);
    loop->is_exact &= loop->all.accesses > 0;
}

static void make_loops(struct diff_side *side, struct member *members, const bool *is_drawn,
                       const uint32_t *refs, const struct psnap_profile_region **room)
{
    const struct psnap_profile *profile = side->profile;
    struct diff_region *pool = side->regions;
    uint32_t end;

    for (uint32_t i = 0; i < profile->loop_count; i++)
        members[i] = (struct member){profile->loops[i].src_id, i};
    qsort(members, profile->loop_count, sizeof *members, by_src_id);
    for (uint32_t i = 0; i < profile->loop_count; i = end) {
        struct diff_loop *loop = &side->loops[side->loop_count++];
        for (end = i + 1; end < profile->loop_count; end++)
            if (strcmp(members[end].src_id, members[i].src_id) != 0)
                break;
        make_loop(side, members + i, end - i, is_drawn, refs, pool, room, side->parts + i, loop);
        pool += loop->region_count;
    }
    qsort(side->loops, side->loop_count, sizeof *side->loops, by_first);
}

enum psnap_status diff_side_init(struct diff_side *side, const struct psnap_profile *profile,
                                 struct psnap_error *error)
{
    const size_t n = (size_t)profile->loop_count + 1;
    struct member *members = calloc(n, sizeof *members);
    bool *is_drawn = calloc(n, sizeof *is_drawn);
    uint32_t *refs = calloc(n, sizeof *refs);
    const struct psnap_profile_region **room;
    enum psnap_status status = PSNAP_ERROR_MEMORY;
    size_t regions = 1;

    for (uint32_t i = 0; i < profile->loop_count; i++)
        regions += profile->loops[i].region_count;
    room = malloc(regions * sizeof *room);
    *side = (struct diff_side){.profile = profile,
                               .loops = calloc(n, sizeof *side->loops),
                               .parts = calloc(n, sizeof *side->parts),
                               .regions = calloc(regions, sizeof *side->regions)};
    psnap_profile_totals(profile, &side->totals);
    if (members && is_drawn && refs && room && side->loops && side->parts && side->regions &&
        (!profile->stream ||
         model_index_init(&side->by_loop, profile->stream, profile->loop_count)))
        status = PSNAP_OK;
    if (!status && profile->stream) {
        psnap_profile_refs(profile, refs);
        for (uint32_t i = 0; i < profile->stream->ref_count; i++)
            is_drawn[profile->stream->refs[i].loop] |=
                profile->stream->refs[i].rule != MODEL_NEST &&
                profile->stream->refs[i].rule != MODEL_SHARED;
    }
    if (!status)
        make_loops(side, members, is_drawn, refs, room);
    free(members);
    free(is_drawn);
    free(refs);
    free(room);
    if (status) {
        diff_side_release(side);
        psnap_error_set(error, status, "out of memory for the loops");
    }
    return status;
}

void diff_side_release(struct diff_side *side)
{
    free(side->loops);
    free(side->regions);
    free(side->parts);
    model_index_release(&side->by_loop);
    *side = (struct diff_side){0};
}
