/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Model stackdist, replayed: from an LRU stack of its own each access takes the line that lies as
 * deep as its region's histogram says. Histograms are drawn from without
 * replacement (urn.h), so that the distances of the stream are those of the profile, bin by bin.
 *
 * What a histogram leaves open is decided here, each reading in one function, and explained in
 * replay/MODELS.md:
 *
 *   draw            when the stack is not as deep yet as a distance that was drawn
 *   new_line        where new lines lie
 *   place           which bytes of the line
 */
#include "profile/profile.h"

#include <stdlib.h>

#include "formats/base/rng.h"
#include "profile/distances/distances.h"
#include "profile/distances/lru_stack.h"
#include "profile/urn.h"

enum { NEW = 0 /* in an urn; distances from 1 on */, REGIONS_FIRST = 16, LINES_FIRST = 1024 };

struct recalled {
    struct psnap_rng rng;
    uint64_t low, last;           /* bytes of the working set */
    uint64_t new_lines, new_left; /* in all, still to come */
    uint64_t left;                /* accesses in the urn */
    uint64_t *below;              /* the urn */
    uint32_t leaves;
    uint32_t *distances; /* by what is in the urn */
};

struct psnap_recall {
    struct lru_stack *stack;
    struct recalled *regions;
    uint32_t region_count, region_room;
    uint64_t seed;
    /* By number of a line in the stack: */
    uint8_t *next;    /* where in it the next access is likely, */
    uint64_t *beyond; /* a line above it; all from it to there are in the stack */
    uint32_t line_room;
};

struct psnap_recall *psnap_recall_new(uint64_t seed)
{
    struct psnap_recall *recall = calloc(1, sizeof *recall);

    if (recall)
        recall->stack = lru_stack_new();
    if (recall && recall->stack) {
        recall->seed = seed;
        return recall;
    }
    psnap_recall_free(recall);
    return NULL;
}

void psnap_recall_free(struct psnap_recall *recall)
{
    if (!recall)
        return;
    for (uint32_t i = 0; i < recall->region_count; i++) {
        free(recall->regions[i].below);
        free(recall->regions[i].distances);
    }
    lru_stack_free(recall->stack);
    free(recall->regions);
    free(recall->next);
    free(recall->beyond);
    free(recall);
}

uint32_t psnap_recall_add(struct psnap_recall *recall, const struct psnap_profile_region *region,
                          uint64_t stream)
{
    struct recalled *to;

    if (recall->region_count == recall->region_room) {
        const uint32_t room = recall->region_room ? 2 * recall->region_room : REGIONS_FIRST;
        struct recalled *larger = realloc(recall->regions, room * sizeof *larger);
        if (!larger)
            return PSNAP_NONE;
        recall->regions = larger;
        recall->region_room = room;
    }
    to = &recall->regions[recall->region_count];
    *to = (struct recalled){.low = region->low,
                            .last = region->low + (region->bytes - 1),
                            .new_lines = region->new_lines,
                            .new_left = region->new_lines,
                            .left = region->new_lines,
                            .leaves = urn_leaves(region->distance_count + 1u)};
    psnap_rng_init_stream(&to->rng, recall->seed, stream);
    to->below = calloc(to->leaves + (size_t)1, sizeof *to->below);
    to->distances = calloc(region->distance_count + (size_t)1, sizeof *to->distances);
    recall->region_count++;
    if (!to->below || !to->distances)
        return PSNAP_NONE;
    urn_put(to->below, to->leaves, NEW, region->new_lines);
    for (uint32_t i = 0; i < region->distance_count; i++) {
        to->distances[i + 1] = region->distances[i].lines;
        to->left += region->distances[i].count;
        urn_put(to->below, to->leaves, i + 1, region->distances[i].count);
    }
    return recall->region_count - 1;
}

/* ------------------------------------------------------------- new lines */

/* The first line from this one on that is not in the stack. */
static uint64_t first_free(struct psnap_recall *recall, uint64_t line)
{
    uint64_t end = line, next;
    uint32_t number;

    while ((number = lru_stack_find(recall->stack, end)) != LRU_NONE)
        end = recall->beyond[number];
    for (; line < end; line = next) { /* all that were passed lead there at once, now */
        number = lru_stack_find(recall->stack, line);
        next = recall->beyond[number];
        recall->beyond[number] = end;
    }
    return end;
}

/* Reading: evenly over the working set, in rising order; where a line is in the stack already the
 * next one that is not, round the end of the working set. */
static bool find_new(struct psnap_recall *recall, const struct recalled *region, uint64_t *line)
{
    __extension__ typedef unsigned __int128 wide;
    const uint64_t first = region->low >> DISTANCE_LINE_LOG2;
    const uint64_t last = region->last >> DISTANCE_LINE_LOG2;
    const uint64_t done = region->new_lines - region->new_left;

    *line = first;
    if (done < region->new_lines)
        *line += (uint64_t)((wide)done * (last - first + 1) / region->new_lines);
    *line = first_free(recall, *line);
    if (*line > last)
        *line = first_free(recall, first);
    return *line <= last;
}

/* Its number, LRU_NONE: out of memory. */
static uint32_t new_line(struct psnap_recall *recall, uint64_t line)
{
    const uint32_t number = lru_stack_count(recall->stack);

    if (number == recall->line_room) {
        const uint32_t room = recall->line_room ? 2 * recall->line_room : LINES_FIRST;
        uint8_t *next = realloc(recall->next, room * sizeof *next);
        uint64_t *beyond;
        if (!next)
            return LRU_NONE;
        recall->next = next;
        beyond = realloc(recall->beyond, room * sizeof *beyond);
        if (!beyond)
            return LRU_NONE;
        recall->beyond = beyond;
        recall->line_room = room;
    }
    recall->next[number] = 0;
    recall->beyond[number] = line + 1;
    return lru_stack_add(recall->stack, line);
}

/* ------------------------------------------------------------- draws */

/* Reading: what needs a deeper stack is put off, and a new line comes first, as long as some are
 * to come: a program has to come to its data before it can come back. NEW, or what was drawn. */
static uint32_t draw(const struct psnap_recall *recall, struct recalled *region)
{
    const uint64_t ticket = psnap_rng_below(&region->rng, region->left--);
    uint32_t drawn = urn_take(region->below, region->leaves, ticket);

    if (drawn != NEW && region->new_left &&
        region->distances[drawn] >= lru_stack_count(recall->stack)) {
        urn_put(region->below, region->leaves, drawn, 1);
        urn_put(region->below, region->leaves, NEW, UINT64_MAX); /* one less */
        drawn = NEW;
    }
    return drawn;
}

/* Reading: accesses to a line go on where the last one ended, by their own size, and from its end
 * to its beginning; within the working set, where the line lies across an end of it. */
static uint64_t place(struct psnap_recall *recall, const struct recalled *region, uint32_t number,
                      unsigned size)
{
    const uint64_t line = lru_stack_line(recall->stack, number) << DISTANCE_LINE_LOG2;
    const uint64_t step = UINT64_C(1) << (31 - __builtin_clz(size));
    uint64_t low = region->low > line ? region->low : line, last = line + (DISTANCE_LINE - 1);
    uint64_t address = line + ((recall->next[number] + step - 1) & ~(step - 1));

    last = region->last < last ? region->last : last;
    if (low > last || last - low < size - 1u) { /* not of this region */
        low = line;
        last = line + (DISTANCE_LINE - 1);
    }
    if (address < low || address > last || last - address < size - 1u)
        address = low;
    recall->next[number] = (uint8_t)(address + size - line);
    return address;
}

enum psnap_status psnap_recall_next(struct psnap_recall *recall, uint32_t region_number,
                                    unsigned size, uint64_t *address)
{
    struct recalled *region = &recall->regions[region_number];
    const uint32_t drawn = draw(recall, region);
    uint32_t number;
    uint64_t line;

    if ((drawn == NEW || !lru_stack_count(recall->stack)) && find_new(recall, region, &line)) {
        number = new_line(recall, line);
        if (number == LRU_NONE)
            return PSNAP_ERROR_MEMORY;
    } else {
        const uint32_t deepest = lru_stack_count(recall->stack) - 1;
        number = drawn == NEW ? deepest : region->distances[drawn];
        number = lru_stack_at(recall->stack, number < deepest ? number : deepest);
        lru_stack_raise(recall->stack, number);
    }
    region->new_left -= drawn == NEW;
    *address = place(recall, region, number, size);
    return PSNAP_OK;
}
