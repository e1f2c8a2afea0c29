/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A configuration of gem5's traffic generator (traffic_gen.cc), written only: not the stream but
 * what is left of it when the loads, and the stores, of every region are a state
 * (pattern_states.h),
 *
 *     STATE id ticks LINEAR read% start end block minimum-period maximum-period limit
 *     STATE id ticks RANDOM read% start end block minimum-period maximum-period limit
 *     STATE id ticks STRIDED read% start end offset block superblock stride min max limit
 *
 * all decimal. A state is a sweep over the range of its addresses if at least half of its steps are
 * of one positive stride, else random in the range; it lasts for as many periods as it had
 * accesses. After each comes the next, in the order in which they came first (a tick later: gem5
 * sends no packet at the tick of a transition), by one of probability 1 (gem5 insists on a sum of
 * 1), at last EXIT.
 *
 * Strides are found with the few counters of Misra and Gries (Finding repeated elements, 1982),
 * which never lose one of more than a fifth of the steps for good. Their weights fall as other
 * strides come; beside each is how often its stride came since it has the counter. That is too few
 * only if the stride had lost one before, as when it comes after many others: then by a fifth of
 * the steps at most.
 *
 * Blocks are powers of two, as large as the accesses or smaller, that the stride is a multiple of,
 * and begin at a multiple of themselves: gem5 asserts the one, and no packet may be in two lines.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "formats/pattern_states.h"
#include "formats/trace.h"

enum { STRIDES = 4, STATES_MAX = 1000 };
#define PERIOD UINT64_C(1000) /* ticks for each access: a nanosecond, as gem5 has them */

struct region {
    uint64_t accesses, loads;
    uint64_t last, low, high; /* first bytes of accesses */
    uint8_t size;             /* the largest */
    struct {
        uint64_t stride, weight, count;
    } strides[STRIDES];
};

/* Counts a step. */
static void step(struct region *region, uint64_t stride)
{
    size_t empty = STRIDES;

    for (size_t i = 0; i < STRIDES; i++) {
        if (region->strides[i].weight && region->strides[i].stride == stride) {
            region->strides[i].weight++;
            region->strides[i].count++;
            return;
        }
        if (!region->strides[i].weight)
            empty = i;
    }
    if (empty < STRIDES) {
        region->strides[empty].stride = stride;
        region->strides[empty].weight = region->strides[empty].count = 1;
        return;
    }
    for (size_t i = 0; i < STRIDES; i++)
        region->strides[i].weight--;
}

static void take(void *state, const struct psnap_access *access)
{
    struct region *region = state;
    const uint64_t address = access->address;

    if (region->accesses)
        step(region, address - region->last);
    else
        region->low = region->high = address;
    region->accesses++;
    region->loads += access->kind == PSNAP_LOAD;
    region->last = address;
    region->low = address < region->low ? address : region->low;
    region->high = address > region->high ? address : region->high;
    region->size = access->size > region->size ? access->size : region->size;
}

/* The positive stride of at least half of the steps, or 0. */
static uint64_t stride_of(const struct region *region)
{
    for (size_t i = 0; i < STRIDES; i++)
        if (region->strides[i].weight && (int64_t)region->strides[i].stride > 0 &&
            2 * region->strides[i].count >= region->accesses - 1)
            return region->strides[i].stride;
    return 0;
}

static void print_state(FILE *file, size_t id, const struct region *region)
{
    const uint64_t stride = stride_of(region);
    uint64_t block = UINT64_C(1) << (31 - __builtin_clz(region->size)), low, high;

    while (stride % block)
        block /= 2;
    low = region->low & ~(block - 1);
    high = region->high & ~(block - 1);
    fprintf(file, "STATE %zu %" PRIu64 " %s %" PRIu64 " %" PRIu64, id,
            region->accesses * PERIOD + 1,
            low == high || stride == block ? "LINEAR"
            : stride                       ? "STRIDED"
                                           : "RANDOM",
            (region->loads * 100 + region->accesses / 2) / region->accesses, low);
    if (stride && stride != block && low != high) /* the last byte: gem5 begins anew above it */
        fprintf(file, " %" PRIu64 " 0 %" PRIu64 " %" PRIu64 " %" PRIu64, high + (block - 1), block,
                block, stride);
    else if (low == high || stride)
        fprintf(file, " %" PRIu64 " %" PRIu64, high + (block - 1), block);
    else /* the first byte behind it: gem5 draws below it */
        fprintf(file, " %" PRIu64 " %" PRIu64,
                high + block > high ? high + block : high + (block - 1), block);
    fprintf(file, " %" PRIu64 " %" PRIu64 " 0\n", PERIOD, PERIOD);
}

static int compare_down(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x < y) - (x > y);
}

/* The least number of accesses that makes a state, of which there are STATES_MAX at most. */
static enum psnap_status threshold(const struct pattern_sink *sink, uint64_t *least,
                                   struct psnap_error *error)
{
    uint64_t *counts;

    *least = 0;
    if (sink->count <= STATES_MAX)
        return PSNAP_OK;
    counts = malloc(sink->count * sizeof *counts);
    if (!counts)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    for (size_t i = 0; i < sink->count; i++)
        counts[i] = ((const struct region *)sink->all[i].state)->accesses;
    qsort(counts, sink->count, sizeof *counts, compare_down);
    *least = counts[STATES_MAX - 1];
    free(counts);
    return PSNAP_OK;
}

/* Pages that states reach without a gap, and the first one's number in the memory. */
struct stretch {
    uint64_t first, last, place;
};

static int compare_stretches(const void *a, const void *b)
{
    const struct stretch *x = a, *y = b;

    return (x->first > y->first) - (x->first < y->first);
}

/* Moves the ranges of `n` states into a memory, one stretch behind the other. */
static enum psnap_status place(struct region **states, size_t n, struct psnap_compact *compact,
                               struct psnap_error *error)
{
    struct stretch stretches[STATES_MAX];
    size_t count = 0;
    uint64_t end;

    for (size_t i = 0; i < n; i++)
        stretches[i] = (struct stretch){.first = states[i]->low >> PSNAP_PAGE_BITS,
                                        .last = states[i]->high >> PSNAP_PAGE_BITS};
    qsort(stretches, n, sizeof *stretches, compare_stretches);
    for (size_t i = 0; i < n; i++)
        if (!count || stretches[i].first > stretches[count - 1].last)
            stretches[count++] = stretches[i];
        else if (stretches[i].last > stretches[count - 1].last)
            stretches[count - 1].last = stretches[i].last;
    compact->page_bytes = UINT64_C(1) << PSNAP_PAGE_BITS;
    for (size_t i = 0; i < count; i++) {
        stretches[i].place = compact->pages;
        compact->pages += stretches[i].last - stretches[i].first + 1;
    }
    if (__builtin_add_overflow(compact->base, compact->pages << PSNAP_PAGE_BITS, &end))
        return psnap_error_set(error, PSNAP_ERROR_VALUE,
                               "so much memory, from 0x%" PRIx64 " on, has no addresses",
                               compact->base);
    for (size_t i = 0; i < n; i++) {
        const struct stretch *in = stretches;
        uint64_t move;
        while (states[i]->low >> PSNAP_PAGE_BITS > in->last)
            in++;
        move = compact->base + ((in->place - in->first) << PSNAP_PAGE_BITS);
        states[i]->low += move;
        states[i]->high += move;
    }
    return PSNAP_OK;
}

static enum psnap_status print(struct pattern_sink *sink, struct psnap_error *error)
{
    FILE *file = sink->file;
    struct region *states[STATES_MAX];
    size_t n = 0;
    uint64_t least;
    enum psnap_status status = threshold(sink, &least, error);

    for (size_t i = 0; i < sink->count && !status; i++) {
        struct region *region = sink->all[i].state;
        if (n < STATES_MAX && region->accesses >= least)
            states[n++] = region;
        else
            sink->left_out += region->accesses;
    }
    if (!status && sink->compact)
        status = place(states, n, sink->compact, error);
    if (status)
        return status;
    for (size_t i = 0; i < n; i++)
        print_state(file, i, states[i]);
    fprintf(file, "STATE %zu 1 EXIT\nINIT 0\n", n);
    for (size_t i = 0; i < n; i++)
        fprintf(file, "TRANSITION %zu %zu 1\n", i, i + 1);
    fprintf(file, "TRANSITION %zu %zu 1\n", n, n);
    return PSNAP_OK;
}

const struct psnap_format psnap_format_trafficgen = {
    .name = "trafficgen",
    .summary = "a configuration of gem5's traffic generator",
    .loses = "order of accesses and of regions, strides but one, which addresses are accessed "
             "when, atomic, thread, ref, program",
    .writable = true,
    .is_text = true,
    .is_physical = true,
    .ops = &(const struct psnap_format_ops){.state_bytes = sizeof(struct region),
                                            .take = take,
                                            .print = print},
};
