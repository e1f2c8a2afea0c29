/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Addresses of 64 bits in 43: packed caches (cache_packed.h) have words of 32 bits.
 *
 * Addresses below RENAME_END stay as they are. Those above are in segments, of which each gets the
 * next free one between RENAME_END and twice that, when it first comes. A segment's length is a
 * multiple of every level's sets times its lines, so that an address stays in its set and at its
 * place within a line: no cache can tell.
 */
#ifndef PSNAP_SIMCORE_RENAME_H
#define PSNAP_SIMCORE_RENAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/base/stream.h"

#define RENAME_END (UINT64_C(1) << 42)

enum { RENAME_SEGMENTS_MAX = 1023 };

struct rename {
    uint64_t segment_bytes; /* 0: there is no such length */
    uint64_t first;         /* the first segment's new address, a multiple of that */
    uint32_t room, used;
    uint64_t segments[RENAME_SEGMENTS_MAX]; /* old addresses / segment_bytes */
};

/* For levels without any so far. */
void rename_init(struct rename *rename);
/* A level of so many bytes in one way. */
void rename_add_level(struct rename *rename, uint64_t way_bytes);

/* Copies accesses with their new addresses. False: there are too many segments, or an access lies
 * in two of them. */
bool rename_block(struct rename *rename, const struct psnap_access *block, size_t n,
                  struct psnap_access *to);
/* The new addresses of a run's first accesses, from which the others are as far as before. False:
 * that cannot be, as those of an access are not all in one segment, or there are too many. */
bool rename_run(struct rename *rename, const struct psnap_run *run, uint64_t *addresses);
/* The address that has become this one. */
uint64_t rename_back(const struct rename *rename, uint64_t address);

#endif
