/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The scopes of reports: what is counted for single references, threads or pairs of loop and
 * object becomes rows of loops, blocks, regions or threads, or one for all.
 */
#ifndef PSNAP_BASE_SCOPE_H
#define PSNAP_BASE_SCOPE_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/base/api.h"
#include "formats/base/program.h"
#include "formats/base/status.h"
#include "formats/base/touched.h"

enum psnap_scope {
    PSNAP_SCOPE_TOTAL,
    PSNAP_SCOPE_LOOP,
    PSNAP_SCOPE_BLOCK,
    PSNAP_SCOPE_REGION,
    PSNAP_SCOPE_THREAD,
    PSNAP_SCOPE_COUNT
};

/* "total", "loop", ... Static storage. */
PSNAP_API const char *psnap_scope_name(enum psnap_scope scope);

/* "total,loop" into wanted[]; false with `error` filled when a word is no scope. */
PSNAP_API bool psnap_scope_parse_list(const char *text, bool wanted[PSNAP_SCOPE_COUNT],
                                      struct psnap_error *error);

/* What the counts are kept by that rows of a scope are sums of. */
enum psnap_view {
    PSNAP_VIEW_REF = 0, /* access.ref */
    PSNAP_VIEW_THREAD,  /* access.thread */
    PSNAP_VIEW_TAG,     /* the row of psnap_touched_tag() */
    PSNAP_VIEW_COUNT
};
PSNAP_API enum psnap_view psnap_scope_view(enum psnap_scope scope);

/* From the rows of a view to those of a scope. A loop is a loop of the source: the parts that the
 * optimiser made of it have one src_id and are one row. */
struct psnap_grouping {
    enum psnap_scope scope;
    uint32_t row_count;
    /* private: */
    const struct psnap_program *program;
    const struct psnap_touched_row *touched;
    uint32_t *heads;
};

/*
 * `rows` are those that the view has; `touched`, of PSNAP_SCOPE_REGION only, says what they are.
 * Both and the program stay as they are until the grouping is released. False: out of memory.
 */
PSNAP_API bool psnap_grouping_init(struct psnap_grouping *grouping, enum psnap_scope scope,
                                   const struct psnap_program *program, uint32_t rows,
                                   const struct psnap_touched *touched);
PSNAP_API void psnap_grouping_release(struct psnap_grouping *grouping);

/* The scope's row of one of the view's. */
PSNAP_API uint32_t psnap_grouping_row(const struct psnap_grouping *grouping, uint32_t row);

/* The row of a loop itself, of PSNAP_SCOPE_LOOP. */
PSNAP_API uint32_t psnap_grouping_loop(const struct psnap_grouping *grouping, uint32_t loop);

/* What reports call a row: its id, unique in the scope, and a name for people. Both are the
 * caller's to free, also where this is false: out of memory. */
PSNAP_API bool psnap_grouping_name(const struct psnap_grouping *grouping, uint32_t row, char **id,
                                   char **name);

#endif
