/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Canonical addresses: which window an address lies in, and back. Windows are
 * 2^40 bytes and aligned, so the group is bits 40 and up, the instance (image
 * or thread) bits 32 to 39. The base of a stack is the middle of its instance:
 * stacks grow down from the first instrumented frame, and that frame's callers
 * (arguments, environment) lie above it.
 *
 * join(split(a)) == a for every a. Places that no address splits into (a heap
 * offset beyond its window, say, after an edit) still join to something: sums
 * wrap modulo 2^64.
 */
#include "formats/base/layout.h"

#define STACK_BASE (PSNAP_LAYOUT_INSTANCE / 2)

static uint64_t window_base(enum psnap_group group)
{
    return group == PSNAP_GROUP_RAW ? 0 : (uint64_t)group * PSNAP_LAYOUT_WINDOW;
}

struct psnap_place psnap_layout_split(uint64_t address)
{
    const uint64_t window = address / PSNAP_LAYOUT_WINDOW;
    const uint64_t inside = address % PSNAP_LAYOUT_WINDOW;
    const uint32_t instance = (uint32_t)(inside / PSNAP_LAYOUT_INSTANCE);
    const int64_t offset = (int64_t)(inside % PSNAP_LAYOUT_INSTANCE);

    switch (window) {
    case PSNAP_GROUP_IMAGE:
        return (struct psnap_place){PSNAP_GROUP_IMAGE, instance, offset};
    case PSNAP_GROUP_HEAP:
        return (struct psnap_place){PSNAP_GROUP_HEAP, 0, (int64_t)inside};
    case PSNAP_GROUP_MMAP:
        return (struct psnap_place){PSNAP_GROUP_MMAP, 0, (int64_t)inside};
    case PSNAP_GROUP_STACK:
        return (struct psnap_place){PSNAP_GROUP_STACK, instance, offset - (int64_t)STACK_BASE};
    default:
        return (struct psnap_place){PSNAP_GROUP_RAW, 0, (int64_t)address};
    }
}

uint64_t psnap_layout_join(struct psnap_place place)
{
    uint64_t address = window_base(place.group) + (uint64_t)place.offset;

    if (place.group == PSNAP_GROUP_IMAGE || place.group == PSNAP_GROUP_STACK)
        address += place.index * PSNAP_LAYOUT_INSTANCE;
    if (place.group == PSNAP_GROUP_STACK)
        address += STACK_BASE;
    return address;
}

const char *psnap_group_name(enum psnap_group group)
{
    static const char *const names[PSNAP_GROUP_COUNT] = {"raw", "image", "heap", "mmap", "stack"};

    return group < PSNAP_GROUP_COUNT ? names[group] : "raw";
}
