/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the rows of a scope are called, and which row of the scope a row of its view is, where the
 * program is not at hand: in a part of a stream that is measured elsewhere (cmd_reuse_part.h).
 */
#ifndef PSNAP_PREDICT_CMD_REUSE_NAMES_H
#define PSNAP_PREDICT_CMD_REUSE_NAMES_H

#include "formats/base/map.h"
#include "predict/reuse/cmd_reuse_rows.h"
#include "predict/reuse/measure.h"

struct names_row {
    char *id, *name;
};

struct names { /* of a scope; zero-initialised: none */
    struct names_row *rows;
    size_t count, room;
    struct psnap_map numbers; /* of rows, from 1 on */
    uint32_t *row_of;         /* by row of the view, PSNAP_NONE: not known */
    size_t of_count, of_room;
};

/* The row of this id and name, which are copied; PSNAP_NONE: out of memory. */
uint32_t names_add(struct names *names, const char *id, const char *name);

/* Which row a row of the view is. PSNAP_ERROR_VALUE, without an error filled: another one. */
enum psnap_status names_map(struct names *names, uint32_t of, uint32_t row);
void names_release(struct names *names);

/* As reuse_rows_add(), of the view of the scope. */
enum psnap_status names_add_rows(const struct names *names, enum psnap_scope scope,
                                 const struct measure_view *view, struct reuse_rows *rows,
                                 struct psnap_error *error);

#endif
