/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rows of reports: a simulator's counts summed by loop, block and so on.
 */
#ifndef PSNAP_SIMCORE_SCOPE_H
#define PSNAP_SIMCORE_SCOPE_H

#include "formats/base/scope.h"
#include "simcore/simcore.h"

struct scope_row {
    char *id;                    /* unique in its scope; for loops the src_id */
    char *name;                  /* for people */
    struct psnap_tally *tallies; /* one per machine */
};

struct scope_rows {
    enum psnap_scope scope;
    struct scope_row *rows; /* most accesses first; rows without accesses are left out */
    size_t count;
};

/*
 * Sums what a simulator of `program`'s stream has counted on `machines`
 * machines. `touched` is the simulator's tagger (PSNAP_SCOPE_REGION only). Keeps no
 * pointers to its arguments.
 */
enum psnap_status scope_rows_init(struct scope_rows *rows, enum psnap_scope scope,
                                  const struct psnap_sink *sim, size_t machines,
                                  const struct psnap_program *program,
                                  const struct psnap_touched *touched, struct psnap_error *error);
void scope_rows_release(struct scope_rows *rows);

/* Machines by what the user wrote, each name once. NULL on failure, with `error` filled. */
struct psnap_machine *scope_machines(const char *const *texts, size_t n, struct psnap_error *error);

/* "64K:64:2,512K:64:16:plru", the caches of a machine, into `text`; returns it. */
char *scope_machine_shape(const struct psnap_machine *machine, char *text, size_t size);

/* What reports call a level of a TLB, from 0. */
const char *scope_tlb_name(size_t level);

#endif
