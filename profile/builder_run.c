/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs in closed form. In a run every reference advances by a constant stride,
 * so once all references stay in their regions and every stride within a
 * region stays in its bin, each repetition counts the same edges and shapes:
 * one of them is counted, times their number.
 *
 * The strides within a region are linear in the repetition, as differences of
 * two references' addresses; a bin is kept when the first and the last of them
 * are equal, or both random on the same side. Where that cannot be shown the
 * repetitions are put one by one. A test compares both ways on random runs.
 */
#include "profile/builder.h"

enum { RUN_SETTLES = 3 }; /* repetitions after which each one makes the same edges */

/* How many further steps of `stride` from `address` stay in the region: it may grow upwards, by
 * steps within the gap, as far as that concerns no neighbour. */
static uint64_t steps_inside(const struct build_loop *loop, const struct build_region *region,
                             const struct psnap_access *access, uint64_t address, int64_t stride)
{
    uint64_t bound = region->high;

    if (stride == 0)
        return UINT64_MAX;
    if (stride < 0)
        return (address - region->low) / (0 - (uint64_t)stride);
    if ((uint64_t)stride <= loop->gap && region->free_high > bound)
        bound = region->free_high;
    if (bound > UINT64_MAX - access->size)
        return 0;
    return bound < address ? 0 : (bound - address) / (uint64_t)stride;
}

/* The bin that a region's stride falls into in every repetition left, between the first such
 * stride and the last; false when it may change on the way. */
static bool settled_bin(const struct builder *b, int64_t first, int64_t last, unsigned *bin)
{
    *bin = b->bins[BUILD_BINS_SPAN];
    if (first > PSNAP_STRIDE_MAX && last > PSNAP_STRIDE_MAX)
        return true;
    if (first < -PSNAP_STRIDE_MAX && last < -PSNAP_STRIDE_MAX)
        return true;
    *bin = b->bins[(uint64_t)(first + PSNAP_STRIDE_MAX) < BUILD_BINS_SPAN ? first + PSNAP_STRIDE_MAX
                                                                          : BUILD_BINS_SPAN];
    return first == last;
}

/* The repetition before which every reference stays in the region that it has at `from`. */
static uint64_t last_inside(const struct builder *b, const struct psnap_run *run, uint64_t from)
{
    uint64_t steps = run->count - 1 - from;

    for (size_t k = 0; k < run->width; k++) {
        const struct psnap_access *access = &run->first[k];
        uint64_t address = access->address + from * (uint64_t)run->strides[k];
        uint64_t mine =
            steps_inside(b->current, b->refs[access->ref].region, access, address, run->strides[k]);
        steps = mine < steps ? mine : steps;
    }
    return from + 1 + steps;
}

/*
 * Whether repetitions [from, end) make the same edges each, given that they
 * were put up to and with `from`, and that every reference stays in its region:
 * so every stride must stay in its bin. A stride within a region is linear in
 * the repetition: its first and last values decide.
 */
static bool is_settled(struct builder *b, const struct psnap_run *run, uint64_t from, uint64_t end)
{
    const uint64_t left = end - 1 - from;
    bool settled = true;

    for (size_t k = 0; k < run->width; k++) /* what precedes the first of each region */
        b->refs[run->first[k].ref].region->run_previous = (uint32_t)k;
    for (size_t k = 0; k < run->width && settled; k++) {
        struct build_region *region = b->refs[run->first[k].ref].region;
        uint64_t stride = (uint64_t)run->strides[k];
        uint32_t before = region->run_previous;
        uint64_t back = before >= k ? 1 : 0; /* that one is of the repetition before */
        uint64_t previous =
            run->first[before].address + (from - back) * (uint64_t)run->strides[before];
        uint64_t first = run->first[k].address + from * stride - previous;
        uint64_t drift = left * (stride - (uint64_t)run->strides[before]);
        settled = settled_bin(b, (int64_t)first, (int64_t)(first + drift), &region->run_bin);
        region->run_previous = (uint32_t)k;
    }
    /* The last stride that was counted must be the one that recurs: a reference may have come
     * into its region with repetition `from`. */
    for (size_t k = 0; k < run->width && settled; k++) {
        const struct build_region *region = b->refs[run->first[k].ref].region;
        settled = region->row == region->run_bin;
    }
    return settled;
}

/* Repetitions [from, end) at once: each edge and shape of one of them, times their number. */
static void put_settled(struct builder *b, const struct psnap_run *run, uint64_t from, uint64_t end)
{
    const uint64_t times = end - from;

    b->position += times * run->width;
    for (size_t k = 0; k < run->width; k++) {
        const struct psnap_access *access = &run->first[k];
        struct build_region *region = b->refs[access->ref].region;
        uint64_t address = access->address + from * (uint64_t)run->strides[k];
        uint64_t place = address - region->previous + PSNAP_STRIDE_MAX;
        unsigned bin = b->bins[place < BUILD_BINS_SPAN ? place : BUILD_BINS_SPAN];
        region->edges[region->row][bin] += times;
        region->row = bin;
        region->previous = address;
        region->shapes[build_shape(access->kind, access->size)] += times;
    }
    for (size_t k = 0; k < run->width; k++) {
        const struct psnap_access *access = &run->first[k];
        struct build_region *region = b->refs[access->ref].region;
        uint64_t address = access->address + (end - 1) * (uint64_t)run->strides[k];
        region->previous = address;
        build_region_widen(b->current, region, address, address + access->size - 1);
    }
}

/*
 * A run in closed form: some repetitions one by one, until the pattern buffer
 * is full and every region has its stride, then at once those in which nothing
 * changes, and so on. Where something changes all the time, ever more are put
 * one by one before the next look.
 */
enum psnap_status build_put_run(struct psnap_sink *self, const struct psnap_run *run,
                                struct psnap_error *error)
{
    struct builder *b = (struct builder *)self;
    uint64_t done = 0, singly = RUN_SETTLES;

    while (done < run->count) {
        enum psnap_status status;
        uint64_t end;
        end = singly < run->count - done ? done + singly : run->count;
        status = psnap_sink_put_repetitions(self, run, done, end, error);
        if (status)
            return status;
        done = end;
        end = last_inside(b, run, done - 1);
        if (b->current->pattern_count < BUILD_PATTERN)
            singly = (BUILD_PATTERN - b->current->pattern_count) / run->width + 1;
        else if (end > done && is_settled(b, run, done - 1, end)) {
            put_settled(b, run, done, end);
            done = end;
            singly = RUN_SETTLES;
        } else
            singly *= 2;
    }
    return PSNAP_OK;
}
