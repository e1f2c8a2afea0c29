/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What psnap sim has found, and how it tells it: tables for people, and the JSON of MACHINES.md.
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

void sim_report_print(const struct sim_report *report);
void sim_report_json(const struct sim_report *report);

#endif
