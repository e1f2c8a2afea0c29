/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The access record: one load or store as the instrumented IR makes it. It is
 * what every source produces and every sink consumes, 16 bytes, in blocks.
 */
#ifndef PSNAP_BASE_ACCESS_H
#define PSNAP_BASE_ACCESS_H

#include <assert.h>
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

#endif
