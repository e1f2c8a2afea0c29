/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A histogram of reuse distances as it grows, and is read.
 */
#include <math.h>
#include <stdlib.h>

#include "formats/base/room.h"
#include "predict/reuse/distances.h"

enum { NEAR = DISTANCES_NEAR, PAGE = DISTANCES_PAGE };

struct psnap_distances *psnap_distances_new(void)
{
    return calloc(1, sizeof(struct psnap_distances));
}

void psnap_distances_free(struct psnap_distances *distances)
{
    if (!distances)
        return;
    for (size_t i = 0; i < distances->page_count; i++)
        free(distances->pages[i]);
    free(distances->pages);
    free(distances);
}

/* The count of a distance of NEAR or more; NULL: out of memory. */
static uint64_t *far_count(struct psnap_distances *distances, uint64_t distance)
{
    const uint64_t index = distance / PAGE;
    uint64_t **page;

    if (index >= distances->page_count) {
        uint64_t **pages =
            index < SIZE_MAX
                ? psnap_with_room(distances->pages, &distances->page_room, index + 1, sizeof *pages)
                : NULL;
        if (!pages)
            return NULL;
        distances->pages = pages;
        for (; distances->page_count <= index; distances->page_count++)
            pages[distances->page_count] = NULL;
    }
    page = &distances->pages[index];
    if (!*page)
        *page = calloc(PAGE, sizeof **page);
    return *page ? &(*page)[distance % PAGE] : NULL;
}

bool psnap_distances_add(struct psnap_distances *distances, uint64_t distance, uint64_t count)
{
    uint64_t *at = &distances->cold;

    if (distance < NEAR)
        at = &distances->near[distance];
    else if (distance != PSNAP_DISTANCE_COLD)
        at = far_count(distances, distance);
    if (!at)
        return false;
    *at += count;
    distances->accesses += count;
    return true;
}

bool psnap_distances_add_all(struct psnap_distances *distances, const struct psnap_distances *other)
{
    struct psnap_distance_count each = {0};

    while (psnap_distances_next(other, &each))
        if (!psnap_distances_add(distances, each.distance, each.count))
            return false;
    return psnap_distances_add(distances, PSNAP_DISTANCE_COLD, other->cold);
}

uint64_t psnap_distances_accesses(const struct psnap_distances *distances)
{
    return distances->accesses;
}

uint64_t psnap_distances_cold(const struct psnap_distances *distances)
{
    return distances->cold;
}

bool psnap_distances_next(const struct psnap_distances *distances,
                          struct psnap_distance_count *each)
{
    uint64_t distance = each->next;

    for (; distance < NEAR; distance++)
        if (distances->near[distance]) {
            *each =
                (struct psnap_distance_count){distance, distances->near[distance], distance + 1};
            return true;
        }
    while (distance / PAGE < distances->page_count) {
        const uint64_t *page = distances->pages[distance / PAGE];
        if (!page) {
            distance = (distance / PAGE + 1) * PAGE;
        } else if (!page[distance % PAGE]) {
            distance++;
        } else {
            *each = (struct psnap_distance_count){distance, page[distance % PAGE], distance + 1};
            return true;
        }
    }
    return false;
}

double psnap_distances_hit_rate(const struct psnap_distances *distances, uint64_t lines)
{
    struct psnap_distance_count each = {0};
    uint64_t hits = 0;

    while (psnap_distances_next(distances, &each) && each.distance < lines)
        hits += each.count;
    return distances->accesses ? (double)hits / (double)distances->accesses : NAN;
}
