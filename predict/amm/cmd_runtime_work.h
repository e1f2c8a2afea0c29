/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the loops of a target do, as runtime.h takes it.
 */
#ifndef PSNAP_PREDICT_AMM_CMD_RUNTIME_WORK_H
#define PSNAP_PREDICT_AMM_CMD_RUNTIME_WORK_H

#include "formats/base/scope.h"
#include "predict/amm/cmd_mca.h"
#include "predict/amm/runtime.h"
#include "predict/amm/target.h"

/* How the times of a machine are made. */
struct runtime_settings {
    const struct psnap_machine *machine;
    const size_t *plans; /* of each level: which of the measure's */
    bool per_set;        /* hit rates: within sets, else by SDCM */
    /* Unless NULL, which share of a reference's accesses a level satisfies, or would if all came to
     * it, in place of what the measure's distances say of it. NAN: of one without accesses. */
    double (*hit_rate)(const void *rates, uint32_t ref, uint32_t level);
    const void *rates;
    struct runtime_reading reading;
    bool methods[RUNTIME_METHODS];
    bool wanted[PSNAP_SCOPE_COUNT];
    const struct mca_loops *mca; /* NULL: there is no assembly */
};

/* A reference's accesses, with their cumulative hit rates. */
struct runtime_accesses runtime_accesses_of(const struct target *target, uint32_t ref,
                                            const struct runtime_settings *settings);

/* The work of each loop; [loop_count]: of no loop. The caller frees it. NULL: out of memory. */
struct runtime_work *runtime_work_of(const struct target *target,
                                     const struct runtime_settings *settings);

/* Whether the machine has all that a method needs for the work of so many loops and of no loop; an
 * error names what it lacks. */
enum psnap_status runtime_work_check(const struct runtime_work *work, uint32_t loops,
                                     enum runtime_method method,
                                     const struct psnap_machine *machine,
                                     struct psnap_error *error);

/* For people: which parts of RUNTIME_OVERLAP are 0 because the machine does not say what they cost,
 * a line each. */
void runtime_print_unknown(const struct psnap_machine *machine);

#endif
