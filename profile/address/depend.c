/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bases of dependent references (depend.h). Of each reference a few bases are counted at once; the
 * worst of them makes room for another one.
 */
#include "profile/address/depend.h"

#include <stddef.h>

#include "formats/base/program.h"

enum {
    TRIALS = 8,     /* before a base may be given up, or taken */
    PERCENT = 98    /* of the executions, that a rule tells */
};

/* Counts whether the offset of an access is one of the base's. */
static void try_base(struct depend_base *base, int64_t bytes)
{
    base->trials++;
    for (uint32_t i = 0; i < base->offset_count; i++)
        if (base->offsets[i].bytes == bytes) {
            base->offsets[i].count++;
            base->hits++;
            return;
        }
    if (base->offset_count < DEPEND_OFFSETS) {
        base->offsets[base->offset_count++] = (struct depend_offset){bytes, 1};
        base->hits++;
    }
}

static bool is_worse(const struct depend_base *a, const struct depend_base *b)
{
    return (double)a->hits * (double)b->trials < (double)b->hits * (double)a->trials;
}

/* Room for one more base; NULL: all are worth keeping. */
static struct depend_base *find_room(struct depend_collector *collector)
{
    struct depend_base *worst = &collector->bases[0];

    if (collector->count < DEPEND_BASES)
        return &collector->bases[collector->count++];
    for (uint32_t i = 1; i < DEPEND_BASES; i++)
        if (is_worse(&collector->bases[i], worst))
            worst = &collector->bases[i];
    return worst->trials >= TRIALS && worst->hits * 100 < worst->trials * PERCENT ? worst : 0;
}

void depend_note(struct depend_collector *collector, uint32_t site, uint64_t address,
                 const struct depend_recent *recent,
                 uint64_t (*latest)(const void *context, uint32_t site), const void *context)
{
    const uint32_t known = collector->count;

    collector->trials++;
    for (uint32_t i = 0; i < known; i++)
        try_base(&collector->bases[i],
                 (int64_t)(address - latest(context, collector->bases[i].site)));
    for (uint32_t k = 0; k < DEPEND_RECENT; k++) {
        const struct depend_access *access = &recent->ring[k];
        struct depend_base *base;
        bool is_known = access->site == site || access->site == PSNAP_NONE;
        for (uint32_t i = 0; i < collector->count; i++)
            is_known |= collector->bases[i].site == access->site;
        if (is_known || !(base = find_room(collector)))
            continue;
        *base = (struct depend_base){.site = access->site};
        try_base(base, (int64_t)(address - latest(context, access->site)));
    }
}

const struct depend_base *depend_rule(const struct depend_collector *collector,
                                      bool (*may_be)(const void *context, uint32_t site),
                                      const void *context)
{
    const struct depend_base *best = NULL;

    for (uint32_t i = 0; i < collector->count; i++) {
        const struct depend_base *base = &collector->bases[i];
        /* Offsets are learnt from the first trials: of many of them as many as there is room for
         * would be hits. */
        if (base->trials < TRIALS || base->trials < 4 * (uint64_t)base->offset_count ||
            base->hits * 100 < base->trials * PERCENT || !may_be(context, base->site))
            continue;
        if (!best || base->offset_count < best->offset_count ||
            (base->offset_count == best->offset_count && is_worse(best, base)))
            best = base;
    }
    return best;
}
