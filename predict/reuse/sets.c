/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reuse distances within the sets of a cache, as far as its ways: with the histogram of these the
 * hit rate of set-associative LRU caches of so many sets is exact for each number of ways, in one
 * pass (Hill and Smith, "Evaluating associativity in CPU caches", 1989).
 *
 * A set is an array in the order of recency. A line is looked for from its front, and what is
 * passed moves back by one place; the line itself comes to the front.
 */
#include "predict/reuse/sets.h"

#include <stdlib.h>

#include "predict/reuse/stack.h"

struct sets {
    uint64_t count, ways, mask; /* mask: count - 1 where that is a power of two, else 0 */
    uint64_t lines;
    uint64_t *tags;  /* of set s from s * ways on, the line touched last first */
    uint32_t *known; /* lines that a set has had, up to its ways */
};

struct sets *sets_new(uint64_t count, uint64_t ways)
{
    struct sets *sets = calloc(1, sizeof *sets);

    if (!sets)
        return NULL;
    sets->count = count;
    sets->ways = ways;
    sets->mask = count & (count - 1) ? 0 : count - 1;
    sets->tags = ways <= SIZE_MAX / sizeof *sets->tags / count
                     ? malloc(count * ways * sizeof *sets->tags)
                     : NULL;
    sets->known = calloc(count, sizeof *sets->known);
    if (sets->tags && sets->known)
        return sets;
    sets_free(sets);
    return NULL;
}

void sets_free(struct sets *sets)
{
    if (!sets)
        return;
    free(sets->tags);
    free(sets->known);
    free(sets);
}

static uint64_t touch(struct sets *sets, uint64_t line)
{
    const uint64_t set = sets->mask || sets->count == 1 ? line & sets->mask : line % sets->count;
    uint64_t *tags = &sets->tags[set * sets->ways], passed = line;

    for (uint64_t i = 0; i < sets->known[set]; i++) {
        const uint64_t tag = tags[i];
        tags[i] = passed;
        if (tag == line)
            return i;
        passed = tag;
    }
    if (sets->known[set] < sets->ways) {
        tags[sets->known[set]++] = passed;
        sets->lines++;
    }
    return STACK_COLD;
}

void sets_touch_all(struct sets *sets, const uint64_t *lines, size_t n, uint64_t *distances)
{
    for (size_t i = 0; i < n; i++)
        distances[i] = touch(sets, lines[i]);
}

uint64_t sets_lines(const struct sets *sets)
{
    return sets->lines;
}
