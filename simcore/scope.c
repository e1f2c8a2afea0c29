/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rows of reports: a simulator's counts, summed for each row of a scope.
 */
#include "simcore/scope.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int by_accesses(const void *left, const void *right)
{
    const struct scope_row *a = left, *b = right;
    const uint64_t x = a->tallies[0].accesses, y = b->tallies[0].accesses;

    return x != y ? (x < y) - (x > y) : strcmp(a->id, b->id);
}

/* Drops empty rows (but never a total) and names and orders the others. */
static bool finish(struct scope_rows *rows, const struct psnap_grouping *grouping)
{
    size_t kept = 0;
    bool fits = true;

    for (uint32_t i = 0; i < grouping->row_count; i++) {
        struct scope_row row = rows->rows[i];

        rows->rows[i].tallies = NULL;
        if (row.tallies && (row.tallies[0].accesses || rows->scope == PSNAP_SCOPE_TOTAL))
            fits = psnap_grouping_name(grouping, i, &row.id, &row.name) && fits;
        if (row.id || row.name) {
            rows->rows[kept++] = row;
        } else {
            free(row.tallies);
        }
    }
    rows->count = kept;
    if (fits)
        qsort(rows->rows, kept, sizeof rows->rows[0], by_accesses);
    return fits;
}

static bool add_up(struct scope_rows *rows, const struct psnap_grouping *grouping,
                   const struct psnap_sink *sim, size_t machines)
{
    const enum psnap_view view = psnap_scope_view(rows->scope);
    const uint32_t sim_rows = psnap_sim_rows(sim, view);

    if (rows->scope == PSNAP_SCOPE_TOTAL) /* also of an empty stream */
        rows->rows[0].tallies = calloc(machines, sizeof *rows->rows[0].tallies);
    for (uint32_t i = 0; i < sim_rows; i++) {
        struct scope_row *row = &rows->rows[psnap_grouping_row(grouping, i)];

        if (!row->tallies)
            row->tallies = calloc(machines, sizeof *row->tallies);
        if (!row->tallies)
            return false;
        for (size_t machine = 0; machine < machines; machine++)
            psnap_sim_add(sim, machine, view, i, &row->tallies[machine]);
    }
    return true;
}

enum psnap_status scope_rows_init(struct scope_rows *rows, enum psnap_scope scope,
                                  const struct psnap_sink *sim, size_t machines,
                                  const struct psnap_program *program,
                                  const struct psnap_touched *touched, struct psnap_error *error)
{
    struct psnap_grouping grouping;
    bool fits = psnap_grouping_init(&grouping, scope, program,
                                    psnap_sim_rows(sim, psnap_scope_view(scope)), touched);

    *rows = (struct scope_rows){.scope = scope};
    rows->rows = fits ? calloc(grouping.row_count + (size_t)1, sizeof *rows->rows) : NULL;
    fits = rows->rows != NULL;
    if (fits) {
        rows->count = grouping.row_count;
        fits = add_up(rows, &grouping, sim, machines) && finish(rows, &grouping);
    }
    psnap_grouping_release(&grouping);
    if (fits)
        return PSNAP_OK;
    scope_rows_release(rows);
    return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for the report");
}

void scope_rows_release(struct scope_rows *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
        free(rows->rows[i].id);
        free(rows->rows[i].name);
        free(rows->rows[i].tallies);
    }
    free(rows->rows);
    *rows = (struct scope_rows){0};
}

/* ------------------------------------------------------------------- machines */

struct psnap_machine *scope_machines(const char *const *texts, size_t n, struct psnap_error *error)
{
    struct psnap_machine *machines = calloc(n, sizeof *machines);

    if (!machines) {
        psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        enum psnap_status status = psnap_machine_find(texts[i], &machines[i], error);

        for (size_t j = 0; j < i && status == PSNAP_OK; j++)
            if (!strcmp(machines[i].name, machines[j].name))
                status = psnap_error_set(error, PSNAP_ERROR_USAGE,
                                         "two machines are called '%.200s'", machines[i].name);
        if (status != PSNAP_OK) {
            free(machines);
            return NULL;
        }
    }
    return machines;
}

static size_t write_size(char *text, size_t size, uint64_t bytes)
{
    if (bytes % (1 << 20) == 0)
        return (size_t)snprintf(text, size, "%" PRIu64 "M", bytes >> 20);
    if (bytes % (1 << 10) == 0)
        return (size_t)snprintf(text, size, "%" PRIu64 "K", bytes >> 10);
    return (size_t)snprintf(text, size, "%" PRIu64, bytes);
}

const char *scope_tlb_name(size_t level)
{
    static const char *const names[PSNAP_TLB_LEVELS_MAX] = {"TLB", "TLB2"};

    return names[level];
}

char *scope_machine_shape(const struct psnap_machine *machine, char *text, size_t size)
{
    size_t used = 0;

    for (uint32_t i = 0; i < machine->level_count && used < size; i++) {
        const struct psnap_cache_level *level = &machine->levels[i];

        if (i)
            used += (size_t)snprintf(text + used, size - used, ",");
        if (used < size)
            used += write_size(text + used, size - used, level->size_bytes);
        if (used < size)
            used += (size_t)snprintf(text + used, size - used, ":%" PRIu64 ":%" PRIu64,
                                     level->line_bytes, level->ways);
        if (used < size && level->replacement != PSNAP_REPLACE_LRU)
            used += (size_t)snprintf(text + used, size - used, ":%s",
                                     psnap_replacement_name(level->replacement));
    }
    return text;
}
