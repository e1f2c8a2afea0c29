/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What psnap reuse reports: the reuse distances of each row of each scope.
 */
#ifndef PSNAP_PREDICT_CMD_REUSE_ROWS_H
#define PSNAP_PREDICT_CMD_REUSE_ROWS_H

#include "predict/predict.h"

struct reuse_row {
    enum psnap_scope scope;
    uint32_t index; /* of psnap_grouping_row() */
    char *id, *name;
    struct psnap_distances *distances;
};

struct reuse_rows {
    struct reuse_row *rows; /* scope by scope, in each those with most accesses first */
    size_t count, room;
};

/* Adds the rows of a scope, from a sink of psnap_reuse_new() that has counted its view. `touched`
 * is the sink's tagger (PSNAP_SCOPE_REGION only). */
enum psnap_status reuse_rows_add(struct reuse_rows *rows, enum psnap_scope scope,
                                 const struct psnap_sink *sink, const struct psnap_program *program,
                                 const struct psnap_touched *touched, struct psnap_error *error);
void reuse_rows_release(struct reuse_rows *rows);

/* An error of the input at `path` if there were no accesses, of which nothing can be said. */
enum psnap_status reuse_need_accesses(uint64_t accesses, const char *path,
                                      struct psnap_error *error);

#endif
