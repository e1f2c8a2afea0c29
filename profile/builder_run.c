/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs, region by region. What an access adds to a profile depends on the one
 * before it in the same region alone, so while every reference of a run stays
 * in its region, the regions can be done one after the other: the references in
 * one of them, its group, are walked without a look at the others, the region's
 * state in registers.
 *
 * A group whose references all advance by strides need not be walked: the
 * strides within the region are linear in the repetition, as differences of two
 * references' addresses, and a bin is kept when the first and the last of them
 * are equal, or both random on the same side. Then each repetition counts the
 * same edges: those of one, times their number.
 *
 * Where references leave their regions the repetitions are put one by one. A
 * test compares both ways on random runs.
 */
#include "profile/builder.h"

enum {
    RUN_SETTLES = 2, /* repetitions of a group after which each makes the same edges */
    RUN_WIDTH = 64   /* of wider runs all is put one by one */
};

/* A reference of a run on its way through the repetitions. */
struct walker {
    const uint64_t *word; /* in a column, or NULL */
    size_t pitch;
    uint64_t offset;  /* of a column */
    uint64_t address; /* of the present repetition, where there is no column */
    uint64_t stride;
};

static void walker_set(struct walker *walker, const struct psnap_run *run, size_t k, uint64_t i)
{
    if (run->columns && run->columns[k].words) {
        const struct psnap_column *column = &run->columns[k];
        walker->word = column->words + i * column->pitch;
        walker->pitch = column->pitch;
        walker->offset = column->offset;
        return;
    }
    walker->word = NULL;
    walker->stride = (uint64_t)run->strides[k];
    walker->address = run->first[k].address + i * walker->stride;
}

static inline uint64_t walker_step(struct walker *walker)
{
    uint64_t address = walker->address;

    if (walker->word) {
        address = *walker->word + walker->offset;
        walker->word += walker->pitch;
    } else
        walker->address += walker->stride;
    return address;
}

static inline unsigned bin_of(const struct builder *b, uint64_t stride)
{
    const uint64_t place = stride + PSNAP_STRIDE_MAX;
    return b->bins[place < BUILD_BINS_SPAN ? place : BUILD_BINS_SPAN];
}

/* `times` repetitions of the walkers, all in one region. */
static inline void walk(const struct builder *b, struct build_region *region,
                        struct walker *walkers, size_t width, uint64_t times)
{
    uint64_t previous = region->previous;
    uint32_t row = region->row;

    for (uint64_t i = 0; i < times; i++)
        for (size_t m = 0; m < width; m++) {
            const uint64_t address = walker_step(&walkers[m]);
            const unsigned bin = bin_of(b, address - previous);
            region->edges[row][bin]++;
            previous = address;
            row = bin;
        }
    region->previous = previous;
    region->row = row;
}

/* As walk, for one column. */
static void walk_column(const struct builder *b, struct build_region *region,
                        const struct walker *walker, uint64_t times)
{
    struct walker column = {.word = walker->word, .pitch = walker->pitch, .offset = walker->offset};

    walk(b, region, &column, 1, times);
}

/* The references of a run that are in one region, in their order. */
struct group {
    struct build_region *region;
    size_t width;
    bool has_column;
    uint8_t members[RUN_WIDTH];
};

/* The group of reference `k` and of those after it in its region. */
static void gather(const struct builder *b, const struct psnap_run *run, size_t k,
                   struct group *group)
{
    group->region = b->refs[run->first[k].ref].region;
    group->width = 0;
    group->has_column = false;
    for (; k < run->width; k++) {
        if (b->refs[run->first[k].ref].region != group->region)
            continue;
        group->members[group->width++] = (uint8_t)k;
        group->has_column |= run->columns && run->columns[k].words;
    }
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
    *bin = bin_of(b, (uint64_t)first);
    return first == last;
}

/*
 * Whether repetitions [from, end) of a group without columns make the same
 * edges each; those before `from` were put. The stride from each reference to the
 * next, and from the last one to the first of the next repetition, must stay in
 * its bin; its first and last values decide.
 */
static bool is_settled(const struct builder *b, const struct psnap_run *run,
                       const struct group *group, uint64_t from, uint64_t end)
{
    const uint64_t left = end - 1 - from;
    unsigned bin = 0;

    for (size_t m = 0; m < group->width; m++) {
        const size_t k = group->members[m], before = group->members[m ? m - 1 : group->width - 1];
        const uint64_t stride = (uint64_t)run->strides[k], other = (uint64_t)run->strides[before];
        const uint64_t previous = run->first[before].address + (m ? from : from - 1) * other;
        const uint64_t first = run->first[k].address + from * stride - previous;
        const uint64_t last = first + left * (stride - other);
        if (!settled_bin(b, (int64_t)first, (int64_t)last, &bin))
            return false;
    }
    /* The last stride that was counted must be the one that recurs. */
    return group->region->row == bin;
}

/* Repetitions [from, end) of a settled group: each edge of one of them, times their number. */
static void put_settled(const struct builder *b, const struct psnap_run *run,
                        const struct group *group, uint64_t from, uint64_t end)
{
    struct build_region *region = group->region;

    for (size_t m = 0; m < group->width; m++) {
        const uint64_t address = psnap_run_address(run, from, group->members[m]);
        const unsigned bin = bin_of(b, address - region->previous);
        region->edges[region->row][bin] += end - from;
        region->previous = address;
        region->row = bin;
    }
    region->previous = psnap_run_address(run, end - 1, group->members[group->width - 1]);
}

/* Repetitions [from, end) of a group whose references stay in the region. */
static void put_group(const struct builder *b, const struct psnap_run *run,
                      const struct group *group, uint64_t from, uint64_t end)
{
    struct walker walkers[RUN_WIDTH];
    uint64_t singly = group->has_column || end - from < RUN_SETTLES ? end - from : RUN_SETTLES;

    for (size_t m = 0; m < group->width; m++)
        walker_set(&walkers[m], run, group->members[m], from);
    if (group->width == 1 && group->has_column)
        walk_column(b, group->region, walkers, singly);
    else
        walk(b, group->region, walkers, group->width, singly);
    from += singly;
    if (from == end)
        return;
    if (is_settled(b, run, group, from, end))
        put_settled(b, run, group, from, end);
    else
        walk(b, group->region, walkers, group->width, end - from);
}

/* Repetitions [from, end), in which every reference stays in the region that it is in. */
static void put_inside(struct builder *b, const struct psnap_run *run, uint64_t from, uint64_t end)
{
    uint64_t is_done = 0;

    for (size_t k = 0; k < run->width; k++) {
        struct group group;
        if (is_done >> k & 1)
            continue;
        gather(b, run, k, &group);
        for (size_t m = 0; m < group.width; m++)
            is_done |= UINT64_C(1) << group.members[m];
        put_group(b, run, &group, from, end);
    }
    for (size_t k = 0; k < run->width; k++) {
        const struct psnap_access *access = &run->first[k];
        struct build_region *region = b->refs[access->ref].region;
        region->shapes[build_shape(access->kind, access->size)] += end - from;
        if (!run->columns || !run->columns[k].words) {
            const uint64_t address = psnap_run_address(run, end - 1, k);
            build_region_widen(b->current, region, address, address + access->size - 1);
        }
    }
    b->position += (end - from) * run->width;
}

/* How many accesses, from the one at `address` on by `stride`, are in the region: it may grow
 * upwards, by steps within the gap, as far as that concerns no neighbour. */
static uint64_t steps_inside(const struct build_loop *loop, const struct build_region *region,
                             const struct psnap_access *access, uint64_t address, int64_t stride)
{
    uint64_t bound = region->high;

    if (address < region->low || address > bound)
        return 0;
    if (stride == 0)
        return UINT64_MAX;
    if (stride < 0)
        return (address - region->low) / (0 - (uint64_t)stride) + 1;
    if ((uint64_t)stride <= loop->gap && region->free_high > bound)
        bound = region->free_high;
    if (bound > UINT64_MAX - access->size)
        return 0;
    return (bound - address) / (uint64_t)stride + 1;
}

/* The same of a column from repetition `from` on, at most `most`. */
static uint64_t words_inside(const struct build_region *region, const struct psnap_access *access,
                             const struct psnap_column *column, uint64_t from, uint64_t most)
{
    const uint64_t size = access->size;
    const uint64_t *word = column->words + from * column->pitch;
    uint64_t bound = region->last_byte - (size - 1), n = 0;

    if (bound > region->high)
        bound = region->high;
    if (region->last_byte < size - 1 || bound < region->low)
        return 0;
    if (column->low >= region->low && column->high <= bound)
        return most;
    while (n < most && *word + column->offset - region->low <= bound - region->low) {
        word += column->pitch;
        n++;
    }
    return n;
}

/* The repetition before which, from `from` on, every reference stays in the region that it is in.
 */
static uint64_t last_inside(const struct builder *b, const struct psnap_run *run, uint64_t from)
{
    uint64_t inside = run->count - from;

    for (size_t k = 0; k < run->width && inside; k++) {
        const struct psnap_access *access = &run->first[k];
        const struct build_region *region = b->refs[access->ref].region;
        const bool is_column = run->columns && run->columns[k].words;
        const uint64_t mine = is_column
                                  ? words_inside(region, access, &run->columns[k], from, inside)
                                  : steps_inside(b->current, region, access,
                                                 psnap_run_address(run, from, k), run->strides[k]);
        inside = mine < inside ? mine : inside;
    }
    return from + inside;
}

/* Whether all is known about the references that build_put asks of an access, but for its place. */
static bool is_known(const struct builder *b, const struct psnap_run *run)
{
    if (!b->current || b->current->pattern_count < BUILD_PATTERN || run->width > RUN_WIDTH)
        return false;
    for (size_t k = 0; k < run->width; k++) {
        const struct psnap_access *access = &run->first[k];
        if (access->ref >= b->ref_count || b->refs[access->ref].loop != b->current ||
            access->size - 1u >= PSNAP_ACCESS_SIZE_MAX || access->kind > PSNAP_ATOMIC)
            return false;
    }
    return true;
}

/*
 * Repetitions in which no reference leaves its region at once; one by one where
 * one does, and until the pattern buffer is full. Where that happens all the
 * time, ever more are put one by one before the next look.
 */
enum psnap_status build_put_run(struct psnap_sink *self, const struct psnap_run *run,
                                struct psnap_error *error)
{
    struct builder *b = (struct builder *)self;
    const struct build_loop *loop =
        run->width && run->first->ref < b->ref_count ? b->refs[run->first->ref].loop : NULL;
    uint64_t done = 0, singly = 1;

    if (loop && loop != b->current && run->count && build_switch_loop(b, run->first, error))
        return PSNAP_ERROR_MEMORY;
    while (done < run->count) {
        const uint64_t inside = is_known(b, run) ? last_inside(b, run, done) : done;
        uint64_t end;
        enum psnap_status status;
        if (inside > done) {
            put_inside(b, run, done, inside);
            done = inside;
            singly = 1;
            continue;
        }
        end = singly < run->count - done ? done + singly : run->count;
        status = psnap_sink_put_repetitions(self, run, done, end, error);
        if (status)
            return status;
        done = end;
        singly *= 2;
    }
    return PSNAP_OK;
}
