/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernels of what a program waits for that no cache or unit explains: branches that the
 * processor expected to go the other way, and pages that the system has to make.
 */
#include "simcore/probe.h"

#include <sys/mman.h>

#define REPEAT_16(F)                                                                               \
    F(0) F(1) F(2) F(3) F(4) F(5) F(6) F(7) F(8) F(9) F(10) F(11) F(12) F(13) F(14) F(15)

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
        REPEAT_16(DECIDE)
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
