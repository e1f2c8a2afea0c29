/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A reference prediction table: which stride each instruction goes in, and
 * whether that can be relied on.
 */
#ifndef PSNAP_SIMCORE_RPT_H
#define PSNAP_SIMCORE_RPT_H

#include "simcore/cache.h"

enum rpt_state { RPT_INITIAL, RPT_TRANSIENT, RPT_STEADY, RPT_NO_PREDICTION };

struct rpt_entry {
    uint64_t previous; /* address */
    uint64_t stride;   /* modulo 2^64 */
    enum rpt_state state;
};

struct rpt {
    struct cache keys;         /* one set, a line per entry */
    struct rpt_entry *entries; /* per node of `keys` */
};

/* An empty table. False: out of memory (release is still legal). */
bool rpt_init(struct rpt *rpt, uint32_t entries);
void rpt_release(struct rpt *rpt);

/* Notes an access of the instruction `key`; returns the stride to prefetch along, 0 for none. */
uint64_t rpt_train(struct rpt *rpt, uint64_t key, uint64_t address);

#endif
