/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The references of a run that are in one region, its group: what all their
 * accesses add to the region's stride edges, in closed form where there is one.
 *
 * References that advance by one stride s: let a group have the addresses a[1],
 * ..., a[w] in a repetition and a[k] + s in the next. The strides within the
 * region are then a[2] - a[1], ..., a[w] - a[w-1], a[1] + s - a[w] over and over, so
 * each repetition but the first adds the same edges. Where the strides of a
 * group differ, those within the region are linear in the repetition, and a bin is
 * kept when the first and the last of them are equal, or both random on the same
 * side. Else, and for columns, the group is walked.
 */
#include "profile/build/builder.h"

enum { RUN_SETTLES = 2 /* repetitions of a group after which each makes the same edges */ };

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
    const struct psnap_column *column = build_column(run, k);

    if (column) {
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

/* The step of a stride that follows one of `*row`. */
static inline unsigned step_of(const struct builder *b, struct build_region *region,
                               uint64_t stride, unsigned *row)
{
    return build_step(b->current, region, bin_of(b, stride), row);
}

/* Repetitions [from, end) of any group. */
static void walk(const struct builder *b, const struct build_group *group, uint64_t from,
                 uint64_t end)
{
    struct walker walkers[BUILD_RUN_WIDTH];
    struct build_region *region = group->region;
    uint64_t previous = region->previous;
    unsigned row = region->row;

    for (size_t m = 0; m < group->width; m++)
        walker_set(&walkers[m], group->run, group->places[m], from);
    for (uint64_t i = from; i < end; i++)
        for (size_t m = 0; m < group->width; m++) {
            const uint64_t address = walker_step(&walkers[m]);
            const unsigned step = step_of(b, region, address - previous, &row);
            ++*build_edge(region, row, step);
            previous = address;
            row = build_row(step);
        }
    region->previous = previous;
    region->row = (uint16_t)row;
}

enum { WORDS_AT_ONCE = 8 };

/* Whether the strides to WORDS_AT_ONCE words, each from the one before it, are all random: the sign
 * of d + 256 or that of 256 - d says it. */
static bool are_random(const uint64_t *words)
{
    uint64_t signs = UINT64_MAX;

    for (unsigned i = 0; i < WORDS_AT_ONCE; i++) {
        const uint64_t d = words[i] - words[(int)i - 1];
        signs &= (d + PSNAP_STRIDE_MAX) | (PSNAP_STRIDE_MAX - d);
    }
    return signs >> 63;
}

/* The region after words side by side: what is gathered, often at random. */
static void walk_words(const struct builder *b, struct build_region *region, const uint64_t *words,
                       uint64_t count, uint64_t offset)
{
    uint64_t previous = region->previous - offset, i = 0;
    unsigned row = region->row;

    while (i < count) {
        uint64_t end = count - i < WORDS_AT_ONCE ? count : i + WORDS_AT_ONCE;
        const unsigned random = region->steps[PSNAP_STRIDE_RANDOM];
        if (i && row == build_row(random) && end - i == WORDS_AT_ONCE && are_random(words + i)) {
            *build_edge(region, row, random) += WORDS_AT_ONCE;
            previous = words[end - 1];
            i = end;
        }
        for (; i < end; i++) {
            const unsigned step = step_of(b, region, words[i] - previous, &row);
            ++*build_edge(region, row, step);
            previous = words[i];
            row = build_row(step);
        }
    }
    region->previous = previous + offset;
    region->row = (uint16_t)row;
}

/* Repetitions [from, end) of a group whose references have columns side by side. */
static void put_rows(const struct builder *b, const struct build_group *group, uint64_t from,
                     uint64_t end)
{
    const struct psnap_column *first = build_column(group->run, group->places[0]);
    const uint64_t *words = first->words + from * first->pitch;

    if (group->width == first->pitch)
        walk_words(b, group->region, words, group->width * (end - from), first->offset);
    else
        for (uint64_t i = from; i < end; i++, words += first->pitch)
            walk_words(b, group->region, words, group->width, first->offset);
}

/* Repetitions [from, end) of a group whose references advance by one stride. */
static void put_steady(const struct builder *b, const struct build_group *group, uint64_t from,
                       uint64_t end)
{
    const struct psnap_run *run = group->run;
    struct build_region *region = group->region;
    const uint64_t stride = (uint64_t)run->strides[group->places[0]], times = end - from;
    const uint64_t first = run->first[group->places[0]].address + from * stride;
    uint64_t address = first;
    unsigned row = region->row, second = 0;
    unsigned step = step_of(b, region, first - region->previous, &row);

    ++*build_edge(region, row, step);
    row = build_row(step);
    for (size_t m = 1; m < group->width; m++) {
        const uint64_t next = run->first[group->places[m]].address + from * stride;
        step = step_of(b, region, next - address, &row);
        *build_edge(region, row, step) += m == 1 ? 1 : times;
        second = m == 1 ? build_rank(step) : second;
        address = next;
        row = build_row(step);
    }
    if (times > 1) {
        step = step_of(b, region, first + stride - address, &row); /* to the next repetition */
        *build_edge(region, row, step) += group->width == 1 ? 1 : times - 1;
        if (group->width == 1) {
            row = build_row(step);
            *build_edge(region, row, step) += times - 2;
        } else
            *build_edge(region, build_row(step), second) += times - 1;
    }
    region->row = (uint16_t)row;
    region->previous = address + (times - 1) * stride;
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
 * Whether repetitions [from, end) of a group make the same edges each; those
 * before `from` were put. The stride from each reference to the next, and from the
 * last one to the first of the next repetition, must stay in its bin; its first
 * and last values decide.
 */
static bool is_settled(const struct builder *b, const struct build_group *group, uint64_t from,
                       uint64_t end)
{
    const struct psnap_run *run = group->run;
    const uint64_t left = end - 1 - from;
    unsigned bin = 0;

    for (size_t m = 0; m < group->width; m++) {
        const size_t k = group->places[m], before = group->places[m ? m - 1 : group->width - 1];
        const uint64_t stride = (uint64_t)run->strides[k], other = (uint64_t)run->strides[before];
        const uint64_t previous = run->first[before].address + (m ? from : from - 1) * other;
        const uint64_t first = run->first[k].address + from * stride - previous;
        const uint64_t last = first + left * (stride - other);
        if (build_column(run, k) || !settled_bin(b, (int64_t)first, (int64_t)last, &bin))
            return false;
    }
    /* The last stride that was counted must be the one that recurs. */
    return build_previous_bin(group->region) == bin;
}

/* Repetitions [from, end) of a settled group: each edge of one of them, times their number. */
static void put_settled(const struct builder *b, const struct build_group *group, uint64_t from,
                        uint64_t end)
{
    struct build_region *region = group->region;

    for (size_t m = 0; m < group->width; m++) {
        const uint64_t address = psnap_run_address(group->run, from, group->places[m]);
        unsigned row = region->row;
        const unsigned step = step_of(b, region, address - region->previous, &row);
        *build_edge(region, row, step) += end - from;
        region->previous = address;
        region->row = (uint16_t)build_row(step);
    }
    region->previous = psnap_run_address(group->run, end - 1, group->places[group->width - 1]);
}

void build_group_put(const struct builder *b, const struct build_group *group, uint64_t from,
                     uint64_t end)
{
    const uint64_t settling = end - from < RUN_SETTLES ? end : from + RUN_SETTLES;

    if (group->advance == BUILD_STEADY) {
        put_steady(b, group, from, end);
        return;
    }
    if (group->advance == BUILD_ROWS_OF_WORDS) {
        put_rows(b, group, from, end);
        return;
    }
    walk(b, group, from, settling);
    if (settling < end && is_settled(b, group, settling, end))
        put_settled(b, group, settling, end);
    else
        walk(b, group, settling, end);
}

void build_group_look(struct build_group *group)
{
    const struct psnap_run *run = group->run;
    const struct psnap_column *first = build_column(run, group->places[0]);

    group->advance = first ? BUILD_ROWS_OF_WORDS : BUILD_STEADY;
    for (size_t m = 1; m < group->width; m++) {
        const struct psnap_column *column = build_column(run, group->places[m]);
        if (first ? !column || column->words != first->words + m || column->pitch != first->pitch ||
                        column->offset != first->offset
                  : column || run->strides[group->places[m]] != run->strides[group->places[0]])
            group->advance = BUILD_MIXED;
    }
}

/* Whether a reference of the run stays in [low, high]. */
static inline bool is_inside(const struct psnap_run *run, size_t k, uint64_t low, uint64_t high)
{
    const struct psnap_column *column = build_column(run, k);
    const uint64_t first = run->first[k].address;
    int64_t way;

    if (column)
        return psnap_words_inside(column->words, column->pitch, run->count, low - column->offset,
                                  high - low);
    if (__builtin_mul_overflow(run->strides[k], (int64_t)(run->count - 1), &way))
        return false;
    if (way < 0)
        return first <= high && first >= low && first - low >= 0 - (uint64_t)way;
    return first >= low && first <= high && high - first >= (uint64_t)way;
}

/* The highest address that an access of `size` bytes may have for the region to hold it as it is.
 */
static inline uint64_t highest(const struct build_region *region, uint64_t size)
{
    const uint64_t last = region->last_byte - (size - 1);

    return last < region->high ? last : region->high;
}

bool build_group_is_inside(const struct build_group *group)
{
    const struct psnap_run *run = group->run;
    const struct build_region *region = group->region;
    const struct psnap_column *column = build_column(run, group->places[0]);
    uint64_t most = 0;

    if (run->count > INT64_MAX || region->high < region->low ||
        region->high - region->low > INT64_MAX)
        return false;
    for (size_t m = 0; m < group->width; m++)
        most = run->first[group->places[m]].size > most ? run->first[group->places[m]].size : most;
    if (region->last_byte - region->low < most - 1)
        return false;
    if (group->advance == BUILD_ROWS_OF_WORDS && group->width == column->pitch) {
        const uint64_t low = region->low - column->offset;
        return psnap_words_inside(column->words, 1, run->count * group->width, low,
                                  highest(region, most) - region->low);
    }
    for (size_t m = 0; m < group->width; m++)
        if (!is_inside(run, group->places[m], region->low,
                       highest(region, run->first[group->places[m]].size)))
            return false;
    return true;
}
