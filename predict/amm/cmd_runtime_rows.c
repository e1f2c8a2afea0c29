/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rows of psnap predict runtime. The work of each loop is predicted by each method; a loop of the
 * source is the sum of its parts, and the total of "overlap" that of all loops, which run one after
 * the other. The total of the published methods is of all accesses and operations, as they know no
 * loops.
 */
#include "predict/amm/cmd_runtime_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/room.h"

static enum psnap_status no_memory(struct psnap_error *error)
{
    return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for the report");
}

/*
 * The paper's P(D) = sum of P(BB) P(D | BB), P(BB) by executions: accesses weigh what their block's
 * executions do, however many accesses each has. Puts the hit rates that follow into the total.
 */
static enum psnap_status weigh_by_blocks(const struct target *target,
                                         const struct runtime_settings *settings,
                                         struct runtime_work *total, struct psnap_error *error)
{
    const struct measure *base = target->base;
    const struct psnap_program *program = base->program;
    double *in_block = calloc(program->block_count + (size_t)1, sizeof *in_block);
    struct runtime_accesses all = {0};

    if (!in_block)
        return no_memory(error);
    for (uint32_t ref = 0; ref < program->ref_count; ref++)
        in_block[program->refs[ref].block] += base->accesses[ref];
    for (uint32_t ref = 0; ref < program->ref_count; ref++) {
        struct runtime_accesses accesses = runtime_accesses_of(target, ref, settings);
        const uint32_t block = program->refs[ref].block;
        if (!(accesses.accesses > 0))
            continue;
        accesses.accesses *= base->windows[block] / in_block[block];
        runtime_add_accesses(&all, &accesses);
    }
    for (int p = 0; p < RUNTIME_PATTERNS; p++)
        memcpy(total->patterns[p].cumulative, all.cumulative, sizeof all.cumulative);
    free(in_block);
    return PSNAP_OK;
}

/* ----------------------------------------------------------------------- rows */

static struct runtime_row *new_row(struct runtime_rows *rows)
{
    struct runtime_row *all =
        psnap_with_room(rows->rows, &rows->room, rows->count + 1, sizeof *all);

    if (!all)
        return NULL;
    rows->rows = all;
    all[rows->count] = (struct runtime_row){0};
    return &all[rows->count++];
}

static bool has_work(const struct runtime_work *work)
{
    for (int op = 0; op < PSNAP_OPERATION_COUNT; op++)
        if (work->operations[op] > 0)
            return true;
    return runtime_all_accesses(work).accesses > 0;
}

static bool fill_row(struct runtime_row *row, const struct runtime_work *work,
                     const struct psnap_grouping *grouping, uint32_t index)
{
    const struct runtime_accesses all = runtime_all_accesses(work);

    row->accesses = all.accesses;
    memcpy(row->cumulative, all.cumulative, sizeof row->cumulative);
    return psnap_grouping_name(grouping, index, &row->id, &row->name);
}

/* Sums over the loops of each row of a scope. */
struct sums {
    struct runtime_work *work;
    struct runtime_seconds *seconds;
};

static bool add_scope(struct runtime_rows *rows, const struct psnap_grouping *grouping,
                      const struct sums *sums, enum runtime_method method, const char *distances)
{
    for (uint32_t i = 0; i < grouping->row_count; i++) {
        struct runtime_row *row;
        if (grouping->scope != PSNAP_SCOPE_TOTAL && !has_work(&sums->work[i]))
            continue;
        row = new_row(rows);
        if (!row)
            return false;
        row->method = method;
        row->scope = grouping->scope;
        row->distances = distances;
        row->seconds = sums->seconds[i];
        if (!fill_row(row, &sums->work[i], grouping, i))
            return false;
    }
    return true;
}

static int by_seconds(const void *left, const void *right)
{
    const struct runtime_row *a = left, *b = right;

    if (a->seconds.total != b->seconds.total)
        return a->seconds.total < b->seconds.total ? 1 : -1;
    return strcmp(a->id, b->id);
}

static enum psnap_status add_method(struct runtime_rows *rows, const struct target *target,
                                    const char *distances, enum psnap_scope scope,
                                    enum runtime_method method, const struct runtime_work *work,
                                    const struct runtime_settings *settings,
                                    struct psnap_error *error)
{
    const struct psnap_program *program = target->base->program;
    const size_t first = rows->count;
    struct psnap_grouping grouping;
    struct sums sums = {0};
    enum psnap_status status = PSNAP_OK;
    bool fits = psnap_grouping_init(&grouping, scope, program, 0, NULL);

    if (fits) {
        sums.work = calloc(grouping.row_count + (size_t)1, sizeof *sums.work);
        sums.seconds = calloc(grouping.row_count + (size_t)1, sizeof *sums.seconds);
    }
    fits = sums.work && sums.seconds;
    for (uint32_t i = 0; i <= program->loop_count && fits; i++) {
        const uint32_t row = scope == PSNAP_SCOPE_TOTAL ? 0 : psnap_grouping_loop(&grouping, i);
        if (!has_work(&work[i]))
            continue;
        runtime_add(&sums.work[row], &work[i]);
        runtime_add_seconds(&sums.seconds[row],
                            runtime_predict(settings->machine, &work[i], method, settings->reading),
                            1);
    }
    if (fits && !status && scope == PSNAP_SCOPE_TOTAL && settings->reading.as_published &&
        method != RUNTIME_OVERLAP)
        status = weigh_by_blocks(target, settings, sums.work, error);
    for (uint32_t i = 0; fits && i < grouping.row_count && method != RUNTIME_OVERLAP; i++)
        sums.seconds[i] =
            runtime_predict(settings->machine, &sums.work[i], method, settings->reading);
    fits = fits && (status || add_scope(rows, &grouping, &sums, method, distances));
    if (fits && !status && rows->count > first)
        qsort(rows->rows + first, rows->count - first, sizeof *rows->rows, by_seconds);
    free(sums.work);
    free(sums.seconds);
    psnap_grouping_release(&grouping);
    return fits ? status : no_memory(error);
}

enum psnap_status runtime_rows_add(struct runtime_rows *rows, const struct target *target,
                                   const char *distances, const struct runtime_settings *settings,
                                   struct psnap_error *error)
{
    struct runtime_work *work = runtime_work_of(target, settings);
    enum psnap_status status = work ? PSNAP_OK : no_memory(error);

    for (int method = 0; method < RUNTIME_METHODS && !status; method++)
        if (settings->methods[method])
            status = runtime_work_check(work, target->base->program->loop_count,
                                        (enum runtime_method)method, settings->machine, error);
    for (int scope = PSNAP_SCOPE_TOTAL; scope <= PSNAP_SCOPE_LOOP; scope++)
        for (int method = 0; method < RUNTIME_METHODS && !status; method++)
            if (settings->wanted[scope] && settings->methods[method])
                status = add_method(rows, target, distances, (enum psnap_scope)scope,
                                    (enum runtime_method)method, work, settings, error);
    free(work);
    return status;
}

void runtime_rows_release(struct runtime_rows *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
        free(rows->rows[i].id);
        free(rows->rows[i].name);
    }
    free(rows->rows);
    *rows = (struct runtime_rows){0};
}

/* ------------------------------------------------------------------ the report */

enum { NAMES = 5, PARTS = 4, COLUMNS_MAX = NAMES + PSNAP_LEVELS_MAX + RUNTIME_METHODS + PARTS };

/* T_branch and T_touch are of overlap alone. */
static int parts_of(enum runtime_method method)
{
    return method == RUNTIME_OVERLAP ? PARTS : 2;
}

/* One row for all methods: their times, and what the time of `last` is made of. */
static struct psnap_table *new_table(const struct psnap_machine *machine,
                                     const bool methods[RUNTIME_METHODS], enum runtime_method last)
{
    static const char *const names[NAMES] = {"scope", "id", "name", "distances", "accesses"};
    static const char *const parts[PARTS] = {"T_mem", "T_cpu", "T_branch", "T_touch"};
    const char *headings[COLUMNS_MAX];
    char made[COLUMNS_MAX][64], level[PSNAP_LEVEL_NAME_ROOM];
    size_t columns = NAMES;
    struct psnap_table *table;

    memcpy(headings, names, sizeof names);
    for (uint32_t l = 0; l < machine->level_count; l++, columns++) {
        snprintf(made[columns], sizeof made[columns], "%s cum. %%",
                 psnap_machine_level_name(machine, l, level));
        headings[columns] = made[columns];
    }
    for (int method = 0; method < RUNTIME_METHODS; method++)
        if (methods[method]) {
            snprintf(made[columns], sizeof made[columns], "%s ms",
                     runtime_method_name((enum runtime_method)method));
            headings[columns] = made[columns];
            columns++;
        }
    for (int part = 0; part < parts_of(last); part++, columns++) {
        snprintf(made[columns], sizeof made[columns], "%s %s ms", runtime_method_name(last),
                 parts[part]);
        headings[columns] = made[columns];
    }
    table = psnap_table_new(columns, headings);
    psnap_table_shorten(table, 1);
    psnap_table_shorten(table, 2);
    for (size_t i = NAMES - 1; i < columns; i++)
        psnap_table_align_right(table, i);
    return table;
}

static void print_row(struct psnap_table *table, const struct runtime_row *row,
                      const struct psnap_machine *machine)
{
    char digits[32];

    psnap_table_cell(table, "%s", psnap_scope_name(row->scope));
    psnap_table_cell(table, "%s", row->id);
    psnap_table_cell(table, "%s", row->name);
    psnap_table_cell(table, "%s", row->distances);
    psnap_table_cell(table, "%s", psnap_group_digits((uint64_t)llround(row->accesses), digits));
    for (uint32_t l = 0; l < machine->level_count; l++)
        if (row->accesses > 0)
            psnap_table_cell(table, "%.2f", 100 * row->cumulative[l]);
        else
            psnap_table_cell(table, "-");
}

/* The time of the same thing by another method. */
static void print_other(struct psnap_table *table, const struct runtime_rows *rows, size_t from,
                        size_t to, const struct runtime_row *row, enum runtime_method method)
{
    for (size_t i = from; i < to; i++) {
        const struct runtime_row *other = &rows->rows[i];
        if (other->method == method && other->scope == row->scope &&
            other->distances == row->distances && !strcmp(other->id, row->id)) {
            psnap_table_cell(table, "%.4g", 1e3 * other->seconds.total);
            return;
        }
    }
    psnap_table_cell(table, "-");
}

void runtime_rows_print(const struct runtime_rows *rows, size_t from, size_t to,
                        const struct psnap_machine *machine, const bool methods[RUNTIME_METHODS])
{
    enum runtime_method last = RUNTIME_OVERLAP;
    struct psnap_table *table;

    while (!methods[last])
        last--;
    table = new_table(machine, methods, last);
    for (size_t i = from; i < to; i++) {
        const struct runtime_row *row = &rows->rows[i];
        if (row->method != last)
            continue;
        print_row(table, row, machine);
        for (int method = 0; method < RUNTIME_METHODS; method++)
            if (methods[method])
                print_other(table, rows, from, to, row, (enum runtime_method)method);
        for (int part = 0; part < parts_of(last); part++)
            psnap_table_cell(table, "%.4g",
                             1e3 * (double[PARTS]){row->seconds.mem, row->seconds.cpu,
                                                   row->seconds.branch, row->seconds.touch}[part]);
    }
    psnap_table_print(table, stdout);
    psnap_table_free(table);
}

static void json_levels(struct psnap_json *json, const struct runtime_row *row,
                        const struct psnap_machine *machine)
{
    psnap_json_begin_array(json, "levels");
    for (uint32_t l = 0; l < machine->level_count; l++) {
        const double nearer = l ? row->cumulative[l - 1] : 0;
        const double hits = row->cumulative[l] - nearer;
        psnap_json_begin_object(json, NULL);
        psnap_json_u64(json, "level", l + 1);
        if (machine->levels[l].name[0])
            psnap_json_text(json, "name", machine->levels[l].name);
        psnap_json_real(json, "accesses", row->accesses * (1 - nearer));
        psnap_json_real(json, "hits", row->accesses * hits);
        psnap_json_real(json, "hit_rate", nearer < 1 ? hits / (1 - nearer) : NAN);
        psnap_json_real(json, "cumulative_hit_rate", row->accesses > 0 ? row->cumulative[l] : NAN);
        psnap_json_end_object(json);
    }
    psnap_json_end_array(json);
}

void runtime_rows_json(const struct runtime_rows *rows, size_t from, size_t to,
                       const struct psnap_machine *machine, struct psnap_json *json)
{
    for (size_t i = from; i < to; i++) {
        const struct runtime_row *row = &rows->rows[i];
        psnap_json_begin_object(json, NULL);
        psnap_json_text(json, "machine", machine->name);
        psnap_json_text(json, "method", runtime_method_name(row->method));
        psnap_json_text(json, "distances", row->distances);
        psnap_json_text(json, "scope", psnap_scope_name(row->scope));
        psnap_json_text(json, "id", row->id);
        psnap_json_text(json, "name", row->name);
        psnap_json_u64(json, "cores", 1);
        psnap_json_real(json, "accesses", row->accesses);
        psnap_json_real(json, "seconds", row->seconds.total);
        psnap_json_real(json, "t_mem_seconds", row->seconds.mem);
        psnap_json_real(json, "t_cpu_seconds", row->seconds.cpu);
        if (row->method == RUNTIME_OVERLAP) {
            psnap_json_real(json, "t_branch_seconds", row->seconds.branch);
            psnap_json_real(json, "t_touch_seconds", row->seconds.touch);
        }
        json_levels(json, row, machine);
        psnap_json_end_object(json);
    }
}
