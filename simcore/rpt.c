/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The stride prefetcher's memory, a reference prediction table (Chen and Baer,
 * "Effective hardware-based data prefetching for high-performance processors",
 * IEEE Transactions on Computers 44(5), 1995, the basic scheme). An entry has an
 * instruction's previous address, its stride and a state; a prediction is
 * previous + stride, and it is right or wrong:
 *
 *     initial        right: steady      wrong: transient, with the new stride
 *     transient      right: steady      wrong: no prediction, with the new stride
 *     steady         right: steady      wrong: initial, the stride is kept
 *     no prediction  right: transient   wrong: no prediction, with the new stride
 *
 * An instruction that comes in is initial with stride 0. Whatever is not "no
 * prediction" afterwards is prefetched along, unless the stride is 0.
 *
 * Departures: the numbers of references stand for the program counter. They are
 * labels, not addresses, so the table is fully associative with LRU instead of
 * indexed by their low bits: numbering them otherwise changes nothing. There is
 * no time here, so no look-ahead program counter either: the distance is fixed,
 * and a prefetch is never late.
 */
#include "simcore/rpt.h"

#include <stdlib.h>

bool rpt_init(struct rpt *rpt, uint32_t entries)
{
    const struct psnap_cache_level keys = {
        .size_bytes = entries, .line_bytes = 1, .ways = entries, .sets = 1};

    rpt->entries = calloc(entries + (size_t)1, sizeof *rpt->entries);
    return cache_init(&rpt->keys, &keys, 0, CACHE_LISTED) && rpt->entries;
}

void rpt_release(struct rpt *rpt)
{
    cache_release(&rpt->keys);
    free(rpt->entries);
    *rpt = (struct rpt){0};
}

uint64_t rpt_train(struct rpt *rpt, uint64_t key, uint64_t address)
{
    static const enum rpt_state when_right[] = {RPT_STEADY, RPT_STEADY, RPT_STEADY, RPT_TRANSIENT};
    static const enum rpt_state when_wrong[] = {RPT_TRANSIENT, RPT_NO_PREDICTION, RPT_INITIAL,
                                                RPT_NO_PREDICTION};
    uint64_t victim;
    const bool known = cache_listed_touch(&rpt->keys, key, false, &victim) == CACHE_HIT;
    struct rpt_entry *entry = &rpt->entries[rpt->keys.lists[0].newest];

    if (!known) {
        *entry = (struct rpt_entry){.previous = address, .state = RPT_INITIAL};
        return 0;
    }
    if (address - entry->previous == entry->stride) {
        entry->state = when_right[entry->state];
    } else {
        if (entry->state != RPT_STEADY)
            entry->stride = address - entry->previous;
        entry->state = when_wrong[entry->state];
    }
    entry->previous = address;
    return entry->state == RPT_NO_PREDICTION ? 0 : entry->stride;
}
