/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernels of what a program waits for that no cache or unit explains: branches that the
 * processor expected to go the other way, and pages that the system has to make.
 */
#include "simcore/probe.h"

#include <sys/mman.h>

void probe_branches(void *context, uint64_t steps)
{
    struct probe_set *set = context;

    for (; steps; steps--) {
        const volatile unsigned char *from = set->base + set->position;

        set->position =
            set->position + PROBE_ACCESSES == set->bytes ? 0 : set->position + PROBE_ACCESSES;
/* the instruction cannot be made a conditional move */
#define DECIDE(i)                                                                                  \
    if (from[i])                                                                                   \
        __asm__ volatile("nop");
        PROBE_REPEAT(DECIDE)
    }
}

void probe_first_touches(void *context, uint64_t steps)
{
    struct probe_set *set = context;

    for (; steps; steps--) {
        unsigned char *begin = set->base + set->position;
        const size_t behind = (set->position + set->bytes / 2) % set->bytes;

        for (size_t page = 0; page < PROBE_PAGES; page++)
            *(volatile unsigned char *)(begin + page * PROBE_PAGE_BYTES) = 1;
        madvise(set->base + behind, PROBE_PAGES * PROBE_PAGE_BYTES, MADV_DONTNEED);
        set->position = (set->position + PROBE_PAGES * PROBE_PAGE_BYTES) % set->bytes;
    }
}
