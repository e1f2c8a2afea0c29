/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What psnap locality reports: rows of one stream, or of two side by side.
 */
#ifndef PSNAP_PREDICT_CMD_LOCALITY_ROWS_H
#define PSNAP_PREDICT_CMD_LOCALITY_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "predict/predict.h"
#include "replay/cmd_input.h"

enum {
    LOCALITY_HERE,
    LOCALITY_THERE,
    LOCALITY_SIDES
}; /* INPUT, and the one that it is held against */

struct locality_row {
    bool is_loop;                                 /* else the whole stream */
    char *id;                                     /* "total", or a loop's src_id */
    char *name;                                   /* for people */
    struct psnap_locality *sides[LOCALITY_SIDES]; /* NULL: it has no accesses on this side */
};

struct locality_side {
    const char *path; /* NULL: there is no such side */
    uint64_t accesses;
    uint32_t threads;
    double seconds;
};

struct locality_report {
    struct locality_side sides[LOCALITY_SIDES];
    uint64_t word_bytes;
    bool has_total, has_loops; /* what rows are wanted */
    const char *loop;          /* the only loop wanted, or NULL */
    struct locality_row *rows; /* the total first, then loops, those with most accesses first */
    size_t count, room;
};

/* Measures one side, whose path is set, and adds its rows. */
enum psnap_status locality_add_side(struct locality_report *report, int side,
                                    const struct psnap_input_options *input,
                                    struct psnap_error *error);

/* Orders the rows when all sides are there; PSNAP_ERROR_VALUE when there is no loop as wanted. */
enum psnap_status locality_finish(struct locality_report *report, struct psnap_error *error);
void locality_release(struct locality_report *report);

/* Between the surfaces of a row's two sides; 1 when one of them has no accesses. */
double locality_row_distance(const struct locality_row *row);

/* The row's part of a side's accesses, 0 to 1. */
double locality_row_share(const struct locality_report *report, const struct locality_row *row,
                          int side);

#endif
