/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Regions of a loop told as one. With model nests that is a matter of words: the stream stays, and
 * strides that were seen, which are not known of both together, are left out. In the published
 * model the walks of the regions are generated and taken in turn as the loop's pattern says, and
 * the strides of what comes out are the merged region's; a stream of more than SAMPLE accesses is
 * taken to repeat, as when the builder merges (builder_merge.c), which keeps counts and graph
 * exact.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/arena.h"
#include "profile/build/bins.h"
#include "profile/edit/edit.h"

enum { SAMPLE = 65536 };

static bool is_merged(const struct editing *e, const struct psnap_profile_region *region)
{
    for (size_t i = 0; i < e->edit->region_count; i++)
        if (!strcmp(region->id, e->edit->regions[i]))
            return true;
    return false;
}

/* The accesses of one region, as far as they are taken. */
struct stream {
    struct psnap_generator *generator;
    uint64_t left;
};

struct merging {
    struct stream *streams; /* by region of the loop */
    uint64_t previous;
    unsigned bins[SAMPLE]; /* of the strides, in order */
    uint32_t count;
    bool is_begun;
};

static void take_access(struct merging *m, uint32_t region)
{
    struct stream *stream = &m->streams[region];
    struct psnap_access access;

    if (!stream->left)
        return;
    stream->left--;
    psnap_generator_fill(stream->generator, &access, 1);
    if (m->is_begun)
        m->bins[m->count++] = psnap_stride_bin((int64_t)(access.address - m->previous));
    m->is_begun = true;
    m->previous = access.address;
}

/* Once through items [from, to) of the pattern. */
static void walk_pattern(struct merging *m, const struct psnap_sequence *pattern, uint32_t from,
                         uint32_t to)
{
    for (uint32_t i = from; i < to; i += pattern->items[i].span + 1) {
        const struct psnap_sequence_item *item = &pattern->items[i];
        for (uint64_t n = 0; n < item->repeat; n++)
            if (item->what != PSNAP_NONE)
                take_access(m, item->what);
            else
                walk_pattern(m, pattern, i + 1, i + 1 + item->span);
    }
}

/* Strides of the merged region of so many accesses. */
static void count_strides(const struct merging *m, uint64_t accesses, struct stride_bins *bins)
{
    const uint64_t rounds = (accesses - 1) / m->count, rest = (accesses - 1) % m->count;

    memset(bins, 0, sizeof *bins);
    for (uint32_t i = 0; i < m->count; i++) {
        const uint64_t times = rounds + (i < rest);
        /* what follows it: as often, but for the last stride of all */
        const bool is_last = rest ? i + 1 == rest : i + 1 == m->count;
        bins->strides[m->bins[i]] += times;
        bins->edges[m->bins[i]][m->bins[(i + 1) % m->count]] += times - is_last;
    }
}

/* What comes of the walks of the loop's merged regions. */
static enum psnap_status generate(struct editing *e, const struct psnap_profile_loop *loop,
                                  uint64_t accesses, struct stride_bins *bins)
{
    static const uint32_t refs[3];
    struct merging *m = calloc(1, sizeof *m);
    uint64_t left = 0, before;
    enum psnap_status status = PSNAP_OK;

    if (!m || !(m->streams = calloc(loop->region_count + (size_t)1, sizeof *m->streams)))
        status = edit_no_memory(e);
    for (uint32_t i = 0; i < loop->region_count && !status; i++) {
        const struct psnap_profile_region *region = &loop->regions[i];
        if (!is_merged(e, region))
            continue;
        m->streams[i].left = region->accesses;
        if (accesses > SAMPLE)
            m->streams[i].left =
                (uint64_t)((double)region->accesses * (SAMPLE - 4096) / (double)accesses) + 1;
        left += m->streams[i].left;
        m->streams[i].generator = psnap_generator_new(region, 0, i, refs);
        if (!m->streams[i].generator)
            status = edit_no_memory(e);
    }
    if (!status && left > SAMPLE)
        status = edit_fail(e, PSNAP_NONE, PSNAP_NONE, "so many regions are too many to be merged");
    for (; left && !status; left = before) { /* rounds of the pattern, then what it lacks */
        const uint32_t taken = m->count + m->is_begun;
        walk_pattern(m, &loop->pattern, 0, loop->pattern.count);
        for (uint32_t i = 0; i < loop->region_count && m->count + m->is_begun == taken; i++)
            if (m->streams[i].left)
                take_access(m, i);
        before = left - (m->count + m->is_begun - taken);
    }
    if (!status)
        count_strides(m, accesses, bins);
    for (uint32_t i = 0; m && m->streams && i < loop->region_count; i++)
        psnap_generator_free(m->streams[i].generator);
    if (m)
        free(m->streams);
    free(m);
    return status;
}

/* Adds a region to another one, but for their strides. */
static bool join(struct psnap_arena *arena, struct psnap_profile_region *to,
                 const struct psnap_profile_region *from)
{
    const uint64_t end = from->low + from->bytes, to_end = to->low + to->bytes;
    uint64_t sizes[PSNAP_ACCESS_SIZE_MAX + 1] = {0};

    for (unsigned i = 0; i < to->size_count; i++)
        sizes[to->sizes[i].size] += to->sizes[i].count;
    for (unsigned i = 0; i < from->size_count; i++)
        sizes[from->sizes[i].size] += from->sizes[i].count;
    to->sizes = psnap_arena_alloc(arena, PSNAP_ACCESS_SIZE_MAX * sizeof *to->sizes);
    to->size_count = 0;
    for (unsigned size = 1; to->sizes && size <= PSNAP_ACCESS_SIZE_MAX; size++)
        if (sizes[size])
            to->sizes[to->size_count++] = (struct psnap_size_count){sizes[size], (uint8_t)size};
    to->low = from->low < to->low ? from->low : to->low;
    to->bytes = (end > to_end ? end : to_end) - to->low;
    to->accesses += from->accesses;
    for (unsigned kind = 0; kind < 3; kind++)
        to->kinds[kind] += from->kinds[kind];
    if (to->object && (!from->object || strcmp(to->object, from->object) != 0))
        to->object = NULL;
    return to->sizes != NULL;
}

/* The first of the loop's merged regions becomes all of them; its index goes to *merged. */
static enum psnap_status merge(struct editing *e, struct psnap_profile_loop *loop, uint32_t *merged)
{
    uint32_t *kept = calloc(loop->region_count + (size_t)1, sizeof *kept), count = 0;
    bool is_done = kept != NULL;

    *merged = PSNAP_NONE;
    for (uint32_t i = 0; i < loop->region_count && is_done; i++) {
        if (is_merged(e, &loop->regions[i]) && *merged != PSNAP_NONE) {
            kept[i] = *merged;
            is_done = join(e->profile->arena, &loop->regions[*merged], &loop->regions[i]);
            continue;
        }
        if (is_merged(e, &loop->regions[i]))
            *merged = count;
        kept[i] = count;
        loop->regions[count++] = loop->regions[i];
    }
    for (uint32_t i = 0; i < loop->pattern.count && is_done; i++)
        if (loop->pattern.items[i].what != PSNAP_NONE)
            loop->pattern.items[i].what = kept[loop->pattern.items[i].what];
    loop->region_count = is_done ? count : loop->region_count;
    free(kept);
    return is_done ? PSNAP_OK : edit_no_memory(e);
}

static enum psnap_status merge_loop(struct editing *e, uint32_t index)
{
    struct psnap_profile_loop *loop = &e->profile->loops[index];
    struct stride_bins bins;
    uint64_t accesses = 0, regions = 0;
    enum psnap_status status = PSNAP_OK;
    uint32_t merged;

    for (uint32_t i = 0; i < loop->region_count; i++)
        if (is_merged(e, &loop->regions[i])) {
            accesses += loop->regions[i].accesses;
            regions++;
        }
    if (regions != e->edit->region_count)
        return edit_fail(e, index, PSNAP_NONE, "loop '%.100s' does not have all of these regions",
                         loop->id);
    if (!e->profile->stream)
        status = generate(e, loop, accesses, &bins);
    if (!status)
        status = merge(e, loop, &merged);
    if (!status && e->profile->stream) {
        loop->regions[merged].stride_count = loop->regions[merged].edge_count = 0;
        loop->regions[merged].is_derived = false;
    } else if (!status && !bins_close(&bins, e->profile->arena, &loop->regions[merged]))
        status = edit_no_memory(e);
    return status;
}

enum psnap_status edit_merge(struct editing *e)
{
    enum psnap_status status = PSNAP_OK;

    for (uint32_t i = 0; i < e->profile->loop_count && !status; i++)
        if (e->is_selected[i] && e->profile->loops[i].region_count)
            status = merge_loop(e, i);
    return status;
}
