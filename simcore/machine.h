/* SPDX-License-Identifier: BSD-3-Clause */
/* What the ways into the machine model share. */
#ifndef PSNAP_SIMCORE_MACHINE_H
#define PSNAP_SIMCORE_MACHINE_H

#include "simcore/simcore.h"

#define MACHINE_BUNDLED_MAX 32

/* Those of the built-in machines that are of today, with their sources; behind the others. */
enum { MACHINE_CURRENT_COUNT = 6 };
extern const struct psnap_machine machine_current[MACHINE_CURRENT_COUNT];

/* Which part of a machine a check found fault with, so that readers can point at it. */
enum machine_field {
    MACHINE_SIZE_BYTES,
    MACHINE_LINE_BYTES,
    MACHINE_WAYS,
    MACHINE_REPLACEMENT,
    MACHINE_INDEX,
    MACHINE_INCLUSION,
    MACHINE_WRITE,
    MACHINE_VICTIM_LINES,
    MACHINE_SEED,
    MACHINE_PREFETCH,
    MACHINE_LEVEL_NAME,
    MACHINE_LEVELS, /* their number */
    MACHINE_TLB_ENTRIES,
    MACHINE_TLB_PAGE_BYTES,
    MACHINE_TLB_WAYS,
    MACHINE_TLB_LEVELS
};

struct machine_fault {
    enum machine_field field;
    uint32_t level; /* from 0, of the caches or the TLB; unless field is the number of levels */
};

/* The policy, and the hash of sets, of that name. */
bool machine_replacement_parse(const char *text, enum psnap_replacement *replacement);
bool machine_index_parse(const char *text, enum psnap_set_index *index);
bool machine_inclusion_parse(const char *text, enum psnap_inclusion *inclusion);

/* Whether a level changes others than those behind it, or sends more than what it misses: then the
 * machine is simulated access by access (detail.h). */
bool machine_is_detailed(const struct psnap_machine *machine);

/* The names of operations' kinds, by enum psnap_operation; NULL ends them. */
extern const char *const machine_operation_names[PSNAP_OPERATION_COUNT + 1];

/* The names of functions, by enum psnap_math_function; NULL ends them. */
extern const char *const machine_function_names[PSNAP_MATH_FUNCTION_COUNT + 1];

bool machine_knows_operation(const struct psnap_operation_cost *cost);
bool machine_knows_functions(const double cycles[PSNAP_MATH_FUNCTION_COUNT]);
bool machine_knows_parallel(const struct psnap_parallel_cost *cost);
bool machine_knows_memory(const struct psnap_machine *machine);

/* psnap_machine_check, with the message free of names and the place in `fault`. */
enum psnap_status machine_check_levels(struct psnap_machine *machine, struct machine_fault *fault,
                                       struct psnap_error *error);

#endif
