/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What psnap sim has found, and how it tells it: tables for people, and the JSON and CSV of
 * MACHINES.md.
 */
#ifndef PSNAP_SIMCORE_CMD_SIM_H
#define PSNAP_SIMCORE_CMD_SIM_H

#include "simcore/scope.h"

enum { SIM_CORES_MAX = 1024 }; /* each has memory for its caches */

struct sim_report {
    const char *path;
    const struct psnap_machine *machines;
    size_t machine_count;
    bool wanted[PSNAP_SCOPE_COUNT];
    struct scope_rows scopes[PSNAP_SCOPE_COUNT]; /* of those wanted */
    uint64_t accesses;
    uint32_t threads;
    uint64_t cores; /* threads are these, 0: they have one hierarchy */
    bool classify;  /* misses by what they are due to */
    bool apart;     /* a table for each machine */
    bool in_turn;   /* these, access by access; else in the trace's order */
    double seconds;
};

/* A count of a level that not all machines have; `offset` of an array by level in struct
 * psnap_tally. */
struct sim_extra {
    const char *heading, *key; /* of a table; of JSON and CSV */
    size_t offset;
    int when;
};

enum { SIM_EXTRAS = 8 };
extern const struct sim_extra sim_extras[SIM_EXTRAS];

/* Whether a level has the count, and what it is. */
bool sim_has_extra(const struct sim_report *report, const struct psnap_machine *machine, uint32_t l,
                   const struct sim_extra *extra);
uint64_t sim_extra_of(const struct psnap_tally *tally, const struct sim_extra *extra, size_t l);

/* Whether the level has a prefetcher. */
bool sim_foresees(const struct psnap_cache_level *level);

void sim_report_print(const struct sim_report *report);
void sim_report_json(const struct sim_report *report);
void sim_report_csv(const struct sim_report *report, FILE *file);

#endif
