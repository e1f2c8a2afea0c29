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
    const struct psnap_table_loop *loops;
    const struct psnap_table_block *blocks;
    const struct psnap_table_ref *refs;
    const struct psnap_table_piece *pieces;
    const struct psnap_table_hoist *hoists;
    const struct psnap_table_move *moves;
    const struct psnap_table_quotient *quotients;
    const struct psnap_table_nest *nests;
    const struct psnap_table_value *values;
    const struct psnap_table_step *steps;
    const struct psnap_table_site *sites;
    const struct psnap_table_global *globals;
    const char *strings;
};

/* Cross references of the rows, before any is used as an index. */
enum psnap_status psnap_table_check(const struct psnap_table_view *view, struct psnap_error *error);

#endif
