/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The access record: one load or store as the instrumented IR makes it. It is
 * what every source produces and every sink consumes, 16 bytes, in blocks.
 *
 * Addresses are sums modulo 2^64: behind the last byte of the address space comes byte 0, and an
 * access may have both. No program makes such ones: the readers of traces of others, and the
 * builder of profiles, whose regions have ends, refuse them.
 */
#ifndef PSNAP_BASE_ACCESS_H
#define PSNAP_BASE_ACCESS_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum psnap_access_kind {
    PSNAP_LOAD = 0,
    PSNAP_STORE = 1,
    PSNAP_ATOMIC = 2 /* atomic read-modify-write: one access, a store to the caches */
};

#define PSNAP_ACCESS_SIZE_MAX 64 /* bytes; a wider access is split by its source */
#define PSNAP_THREADS_MAX (1u << 16)

struct psnap_access {
    uint64_t address; /* canonical (see layout.h) or as a foreign trace had it */
    uint32_t ref;     /* index into the source's program->refs: which instruction */
    uint8_t size;     /* bytes, 1 to PSNAP_ACCESS_SIZE_MAX */
    uint8_t kind;     /* enum psnap_access_kind */
    uint16_t thread;  /* 0 is the first thread */
};

static_assert(sizeof(struct psnap_access) == 16, "an access is 16 bytes");

/* Whether two accesses are the same but for their addresses. */
static inline bool psnap_accesses_are_alike(const struct psnap_access *a,
                                            const struct psnap_access *b)
{
    return a->ref == b->ref && a->size == b->size && a->kind == b->kind && a->thread == b->thread;
}

/* How many of the accesses from the first on are of its thread. */
static inline size_t psnap_accesses_of_thread(const struct psnap_access *block, size_t n)
{
    enum { STEP = 64 };
    size_t i = 0;

    for (; n - i >= STEP; i += STEP) {
        uint16_t differs = 0;
        for (size_t k = 0; k < STEP; k++)
            differs |= block[i + k].thread ^ block->thread;
        if (differs)
            break;
    }
    while (i < n && block[i].thread == block->thread)
        i++;
    return i;
}

#endif
