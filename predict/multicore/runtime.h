/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Run time of a section on the busiest of its cores.
 */
#ifndef PSNAP_PREDICT_MULTICORE_RUNTIME_H
#define PSNAP_PREDICT_MULTICORE_RUNTIME_H

#include <stdbool.h>

#include "formats/base/status.h"
#include "simcore/simcore.h"

/* What the core does; expected numbers, not whole. */
struct core_work {
    double accesses, bytes;
    double cumulative[PSNAP_LEVELS_MAX]; /* shares satisfied at each level or nearer, ascending */
    double operations[PSNAP_OPERATION_COUNT];
};

struct core_seconds {
    double total, mem, cpu;
};

/* An error that names the fields the model needs of the machine and that are not there. */
enum psnap_status core_check(const struct psnap_machine *machine, struct psnap_error *error);

/* On a machine that was checked. */
struct core_seconds core_time(const struct psnap_machine *machine, const struct core_work *work,
                              bool as_published);

#endif
