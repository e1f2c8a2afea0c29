/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The static table of a module as it arrives, and whether it may be used.
 */
#ifndef PSNAP_CAPTURE_COLLECT_TABLE_VIEW_H
#define PSNAP_CAPTURE_COLLECT_TABLE_VIEW_H

#include "capture/collect/tables.h"

/* Pointers into the arriving table, checked to lie in it. */
struct psnap_table_view {
    const struct psnap_table_header *header;
#define ROWS(row, rows) const struct psnap_table_##row *rows;
    PSNAP_TABLE_ROWS(ROWS)
#undef ROWS
    const char *strings;
};

/* Sets the error of a table that cannot be used, and says why. */
enum psnap_status psnap_table_corrupt(struct psnap_error *error, const char *what);

/* Cross references of the rows, before any is used as an index. */
enum psnap_status psnap_table_check(const struct psnap_table_view *view, struct psnap_error *error);

#endif
