/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A stream of cores as caches see it of which several cores have one together: the thread of an
 * access becomes the number of its core's cache. A block is handed on cache by cache, in the order
 * that each one sees; what is between them does not matter to a sink that keeps them apart.
 */
#include <stdlib.h>
#include <string.h>

#include "predict/predict.h"

struct groups {
    struct psnap_sink base;
    struct psnap_sink *inner;
    uint32_t share;
    struct psnap_access *block;
};

static enum psnap_status put(struct psnap_sink *self, const struct psnap_access *block, size_t n,
                             struct psnap_error *error)
{
    struct groups *groups = (struct groups *)self;
    enum psnap_status status = PSNAP_OK;

    for (size_t part; n && !status; block += part, n -= part) {
        uint32_t ends[PSNAP_CORES_MAX + 1] = {0};

        part = n < PSNAP_BLOCK_ACCESSES ? n : PSNAP_BLOCK_ACCESSES;
        for (size_t i = 0; i < part; i++) {
            const uint32_t cache = block[i].thread / groups->share;
            if (cache >= PSNAP_CORES_MAX)
                return psnap_error_set(error, PSNAP_ERROR_VALUE,
                                       "the stream has accesses of thread %u, and there are at "
                                       "most %d cores",
                                       block[i].thread, PSNAP_CORES_MAX);
            ends[cache + 1]++;
        }
        for (size_t i = 1; i <= PSNAP_CORES_MAX; i++)
            ends[i] += ends[i - 1];
        for (size_t i = 0; i < part; i++) {
            const uint32_t cache = block[i].thread / groups->share;
            struct psnap_access *to = &groups->block[ends[cache]++];
            *to = block[i];
            to->thread = (uint16_t)cache;
        }
        status = psnap_sink_put(groups->inner, groups->block, part, error);
    }
    return status;
}

static enum psnap_status finish(struct psnap_sink *self, struct psnap_error *error)
{
    return psnap_sink_finish(((struct groups *)self)->inner, error);
}

static void free_groups(struct psnap_sink *self)
{
    struct groups *groups = (struct groups *)self;

    free(groups->block);
    free(groups);
}

struct psnap_sink *psnap_groups_new(struct psnap_sink *inner, uint32_t share)
{
    static const struct psnap_sink_ops ops = {.put = put, .finish = finish, .free = free_groups};
    struct groups *groups = calloc(1, sizeof *groups);

    if (groups) {
        *groups = (struct groups){{&ops}, inner, share ? share : 1, NULL};
        groups->block = malloc(PSNAP_BLOCK_ACCESSES * sizeof *groups->block);
        if (groups->block)
            return &groups->base;
    }
    free(groups);
    return NULL;
}
