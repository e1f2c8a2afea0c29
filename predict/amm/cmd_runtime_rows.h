/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What psnap predict runtime reports: the run time of each row of each scope, by each method.
 */
#ifndef PSNAP_PREDICT_AMM_CMD_RUNTIME_ROWS_H
#define PSNAP_PREDICT_AMM_CMD_RUNTIME_ROWS_H

#include "formats/base/cmd.h"
#include "predict/amm/cmd_runtime_work.h"

#define MACHINES_MAX 16

struct runtime_row {
    enum runtime_method method;
    enum psnap_scope scope;
    const char *distances; /* "measured", "fixed" */
    char *id, *name;
    double accesses;
    double cumulative[PSNAP_LEVELS_MAX];
    struct runtime_seconds seconds;
};

struct runtime_rows {
    struct runtime_row *rows;
    size_t count, room;
};

/* Adds the rows of a target, whose distances are called so. */
enum psnap_status runtime_rows_add(struct runtime_rows *rows, const struct target *target,
                                   const char *distances, const struct runtime_settings *settings,
                                   struct psnap_error *error);
void runtime_rows_release(struct runtime_rows *rows);

/* The rows of a machine, `[from, to)`, as a table or as JSON members of an array. */
void runtime_rows_print(const struct runtime_rows *rows, size_t from, size_t to,
                        const struct psnap_machine *machine, const bool methods[RUNTIME_METHODS]);
void runtime_rows_json(const struct runtime_rows *rows, size_t from, size_t to,
                       const struct psnap_machine *machine, struct psnap_json *json);

#endif
