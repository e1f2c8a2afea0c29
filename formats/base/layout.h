/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Canonical addresses. Where address spaces are randomised, hit rates move by
 * points between runs, so capture rebases each group of mappings to a fixed
 * base and keeps offsets within it:
 *
 *   group   window (2^40 bytes each)        instances
 *   image   0x0100_0000_0000                k-th loaded image at + k * 2^32
 *   heap    0x0200_0000_0000                the brk heap
 *   mmap    0x0300_0000_0000                anonymous and file mappings, one after the other
 *   stack   0x0400_0000_0000                thread t at + t * 2^32, first frame at its middle
 *   raw     everything else                 offset is the address itself
 *
 * Split and join are a bijection on all 64-bit addresses, so they serve any
 * trace: a profile names a region by (group, index, offset).
 */
#ifndef PSNAP_BASE_LAYOUT_H
#define PSNAP_BASE_LAYOUT_H

#include <stdint.h>

#include "formats/base/api.h"

enum psnap_group {
    PSNAP_GROUP_RAW = 0,
    PSNAP_GROUP_IMAGE,
    PSNAP_GROUP_HEAP,
    PSNAP_GROUP_MMAP,
    PSNAP_GROUP_STACK,
    PSNAP_GROUP_COUNT
};

#define PSNAP_LAYOUT_WINDOW (UINT64_C(1) << 40)
#define PSNAP_LAYOUT_INSTANCE (UINT64_C(1) << 32)

struct psnap_place {
    enum psnap_group group;
    uint32_t index; /* image or thread number; 0 for heap, mmap and raw */
    int64_t offset; /* from the instance's base; for stacks from the first frame */
};

PSNAP_API struct psnap_place psnap_layout_split(uint64_t address);
PSNAP_API uint64_t psnap_layout_join(struct psnap_place place);

/* "image", "heap", "mmap", "stack", "raw"; static storage. */
PSNAP_API const char *psnap_group_name(enum psnap_group group);

#endif
