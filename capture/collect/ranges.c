/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sorted arrays of disjoint ranges, searched by halving.
 */
#include "capture/collect/ranges.h"

#include <stdlib.h>
#include <string.h>

#include "formats/base/room.h"

/* Index of the first range that ends behind `address`. */
static size_t search(const struct psnap_ranges *ranges, uint64_t address)
{
    const size_t at = psnap_place(ranges->items, ranges->count, sizeof *ranges->items, address);

    return at - (at && ranges->items[at - 1].high > address);
}

/* Room for a range and for what a split leaves. */
static bool grow(struct psnap_ranges *ranges)
{
    return psnap_make_room(&ranges->items, &ranges->room, ranges->count + 2, sizeof *ranges->items);
}

static void insert_at(struct psnap_ranges *ranges, size_t at, struct psnap_range range)
{
    memmove(&ranges->items[at + 1], &ranges->items[at],
            (ranges->count - at) * sizeof *ranges->items);
    ranges->items[at] = range;
    ranges->count++;
}

const struct psnap_range *psnap_ranges_holder(const struct psnap_ranges *ranges, uint64_t low,
                                              uint64_t high)
{
    size_t at = search(ranges, low);
    bool is_held =
        at < ranges->count && ranges->items[at].low <= low && ranges->items[at].high >= high;
    return is_held ? &ranges->items[at] : NULL;
}

bool psnap_ranges_overlap(const struct psnap_ranges *ranges, uint64_t low, uint64_t high)
{
    size_t at = search(ranges, low);
    return at < ranges->count && ranges->items[at].low < high;
}

void psnap_ranges_clip(const struct psnap_ranges *ranges, uint64_t address, uint64_t *low,
                       uint64_t *high)
{
    size_t above = search(ranges, address);
    if (above > 0 && ranges->items[above - 1].high > *low)
        *low = ranges->items[above - 1].high;
    if (above < ranges->count && ranges->items[above].low < *high)
        *high = ranges->items[above].low;
}

bool psnap_ranges_put(struct psnap_ranges *ranges, struct psnap_range range)
{
    size_t at = search(ranges, range.low);

    if (range.low >= range.high)
        return true;
    while (at < ranges->count && ranges->items[at].low < range.high) {
        struct psnap_range *old;
        if (!grow(ranges))
            return false;
        old = &ranges->items[at];
        if (old->low < range.low && old->high > range.high) { /* split it */
            struct psnap_range above = *old;
            above.low = range.high;
            old->high = range.low;
            insert_at(ranges, ++at, above);
            break;
        }
        if (old->low < range.low) {
            old->high = range.low;
            at++;
        } else if (old->high > range.high) {
            old->low = range.high;
            break;
        } else {
            memmove(old, old + 1, (ranges->count - at - 1) * sizeof *old);
            ranges->count--;
        }
    }
    if (!grow(ranges))
        return false;
    insert_at(ranges, at, range);
    return true;
}

void psnap_ranges_release(struct psnap_ranges *ranges)
{
    free(ranges->items);
    *ranges = (struct psnap_ranges){0};
}
