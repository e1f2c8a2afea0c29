/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rows of psnap reuse: the sink's histograms, summed for each row of a scope.
 */
#include "predict/reuse/cmd_reuse_rows.h"

#include <stdlib.h>
#include <string.h>

#include "formats/base/room.h"

static int by_accesses(const void *left, const void *right)
{
    const struct reuse_row *a = left, *b = right;
    const uint64_t x = psnap_distances_accesses(a->distances);
    const uint64_t y = psnap_distances_accesses(b->distances);

    return x != y ? (x < y) - (x > y) : strcmp(a->id, b->id);
}

/* sums[row]: the distances of a row, NULL where it has none. False: out of memory. */
static bool add_up(struct psnap_distances **sums, const struct psnap_grouping *grouping,
                   const struct psnap_sink *sink)
{
    const enum psnap_view view = psnap_scope_view(grouping->scope);
    const uint32_t count = psnap_reuse_rows(sink, view);

    if (grouping->scope == PSNAP_SCOPE_TOTAL) /* also of an empty stream */
        sums[0] = psnap_distances_new();
    for (uint32_t i = 0; i < count; i++) {
        const struct psnap_distances *row = psnap_reuse_row(sink, view, i);
        struct psnap_distances **sum = row ? &sums[psnap_grouping_row(grouping, i)] : NULL;

        if (!row)
            continue;
        if (!*sum)
            *sum = psnap_distances_new();
        if (!*sum || !psnap_distances_add_all(*sum, row))
            return false;
    }
    return grouping->scope != PSNAP_SCOPE_TOTAL || sums[0];
}

static void release_row(struct reuse_row *row)
{
    free(row->id);
    free(row->name);
    psnap_distances_free(row->distances);
}

/* Names the sums, which are the rows' from now on. */
static bool take(struct reuse_rows *rows, struct psnap_distances **sums,
                 const struct psnap_grouping *grouping)
{
    const size_t first = rows->count;
    bool fits =
        psnap_make_room(&rows->rows, &rows->room, first + grouping->row_count, sizeof *rows->rows);

    for (uint32_t i = 0; i < grouping->row_count && fits; i++) {
        struct reuse_row *row = &rows->rows[rows->count];
        if (!sums[i])
            continue;
        *row = (struct reuse_row){.scope = grouping->scope, .index = i, .distances = sums[i]};
        sums[i] = NULL;
        rows->count++;
        fits = psnap_grouping_name(grouping, i, &row->id, &row->name);
    }
    if (fits && rows->count > first)
        qsort(rows->rows + first, rows->count - first, sizeof *rows->rows, by_accesses);
    return fits;
}

enum psnap_status reuse_rows_add(struct reuse_rows *rows, enum psnap_scope scope,
                                 const struct psnap_sink *sink, const struct psnap_program *program,
                                 const struct psnap_touched *touched, struct psnap_error *error)
{
    struct psnap_grouping grouping;
    struct psnap_distances **sums = NULL;
    bool fits = psnap_grouping_init(&grouping, scope, program,
                                    psnap_reuse_rows(sink, psnap_scope_view(scope)), touched);

    if (fits)
        sums = calloc(grouping.row_count + (size_t)1, sizeof *sums);
    fits = sums && add_up(sums, &grouping, sink) && take(rows, sums, &grouping);
    for (uint32_t i = 0; sums && i < grouping.row_count; i++)
        psnap_distances_free(sums[i]);
    free(sums);
    psnap_grouping_release(&grouping);
    return fits ? PSNAP_OK
                : psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for the report");
}

void reuse_rows_release(struct reuse_rows *rows)
{
    for (size_t i = 0; i < rows->count; i++)
        release_row(&rows->rows[i]);
    free(rows->rows);
    *rows = (struct reuse_rows){0};
}

enum psnap_status reuse_need_accesses(uint64_t accesses, const char *path,
                                      struct psnap_error *error)
{
    if (accesses)
        return PSNAP_OK;
    psnap_error_set(error, PSNAP_ERROR_VALUE,
                    "there is not a single access in it: record a run that is not cut off, and "
                    "leave out less of it with --skip and --count");
    psnap_error_at(error, path, 0, 0);
    return PSNAP_ERROR_VALUE;
}
