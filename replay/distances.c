/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lane's accesses, each with the address that its region draws (profile/distances/recall.c).
 */
#include "replay/distances.h"

#include <stdlib.h>

#include "replay/interleave.h"

struct distances_source {
    struct psnap_source base;
    struct psnap_source *lane;
    struct psnap_recall *recall;
    uint32_t *regions; /* of the recall, by reference */
};

static ssize_t distances_next(struct psnap_source *self, struct psnap_access *block,
                              size_t capacity, struct psnap_error *error)
{
    struct distances_source *source = (struct distances_source *)self;
    const ssize_t n = psnap_source_next(source->lane, block, capacity, error);

    for (ssize_t i = 0; i < n; i++)
        if (psnap_recall_next(source->recall, source->regions[block[i].ref], block[i].size,
                              &block[i].address))
            return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    return n;
}

static void distances_free(struct psnap_source *self)
{
    struct distances_source *source = (struct distances_source *)self;

    psnap_source_free(source->lane);
    psnap_recall_free(source->recall);
    free(source->regions);
    free(source);
}

/* The regions of the thread's loops; those of others are passed over. False: out of memory. */
static bool add_regions(struct distances_source *source, const struct psnap_profile *profile,
                        uint32_t thread)
{
    uint32_t ref = 0;

    for (uint32_t l = 0; l < profile->loop_count; l++)
        for (uint32_t i = 0; i < profile->loops[l].region_count; i++) {
            const struct psnap_profile_loop *loop = &profile->loops[l];
            const struct psnap_profile_region *region = &loop->regions[i];
            uint32_t number = PSNAP_NONE;
            if (loop->thread == thread) {
                number = psnap_recall_add(source->recall, region,
                                          replay_name_hash(loop->id, region->id));
                if (number == PSNAP_NONE)
                    return false;
            }
            for (unsigned kind = 0; kind < 3; kind++)
                if (region->kinds[kind])
                    source->regions[ref++] = number;
        }
    return true;
}

struct psnap_source *replay_distances_new(struct psnap_source *lane,
                                          const struct psnap_profile *profile, uint32_t thread,
                                          uint64_t seed)
{
    static const struct psnap_source_ops ops = {.next = distances_next, .free = distances_free};
    struct distances_source *source = lane ? calloc(1, sizeof *source) : NULL;

    if (!source) {
        psnap_source_free(lane);
        return NULL;
    }
    source->base = (struct psnap_source){&ops, lane->program};
    source->lane = lane;
    source->recall = psnap_recall_new(seed);
    source->regions = calloc(lane->program->ref_count + (size_t)1, sizeof *source->regions);
    if (source->recall && source->regions && add_regions(source, profile, thread))
        return &source->base;
    distances_free(&source->base);
    return NULL;
}
