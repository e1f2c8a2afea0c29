/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rows of psnap predict runtime. The work of each loop is put together from its references' hit
 * rates and its operations, and predicted by each method; a loop of the source is the sum of its
 * parts, and the total of "overlap" that of all loops, which run one after the other. The total of
 * the published methods is of all accesses and operations, as they know no loops.
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

/* ----------------------------------------------------------------------- work */

/* In what one core keeps of a level; where that is a part, there are no sets to go by. */
static double hit_rate(const struct target *target, uint32_t ref,
                       const struct runtime_settings *settings, uint32_t l)
{
    const struct psnap_cache_level *level = &settings->machine->levels[l];
    const uint64_t bytes = level->effective_bytes ? level->effective_bytes : level->size_bytes;

    return target_hit_rate(target, settings->plans[l], settings->per_set && !level->effective_bytes,
                           ref, level->ways, bytes / level->line_bytes);
}

/* Lines that level 1 writes back for a store: as many as it misses there, or as the load does that
 * brings them. */
static double written(const struct target *target, uint32_t ref,
                      const struct runtime_settings *settings, double hits)
{
    const uint32_t partner = target->base->partners[ref];

    if (partner == PSNAP_NONE || !(target->accesses[ref] > 0))
        return 0;
    if (partner != ref)
        hits = hit_rate(target, partner, settings, 0);
    return target->accesses[ref] * (1 - hits);
}

/* A reference's accesses, with their cumulative hit rates. */
static struct runtime_accesses accesses_of(const struct target *target, uint32_t ref,
                                           const struct runtime_settings *settings)
{
    const struct psnap_machine *machine = settings->machine;
    struct runtime_accesses accesses = {.accesses = target->accesses[ref],
                                        .bytes = target->accesses[ref] * target->base->bytes[ref],
                                        .fresh = target->base->fresh[ref] *
                                                 target_cold_growth(target, ref)};

    for (uint32_t l = 0; l < PSNAP_LEVELS_MAX; l++) {
        double rate = l ? accesses.cumulative[l - 1] : 0;
        if (l < machine->level_count)
            rate = fmax(rate, hit_rate(target, ref, settings, l));
        accesses.cumulative[l] = rate;
    }
    accesses.written = written(target, ref, settings, accesses.cumulative[0]);
    return accesses;
}

/* What an iteration waits for the one before by way of memory: from a load to the store of what the
 * next one loads, or from one that may meet a store to that store's address, which a load tells. */
static double memory_latency(const struct target *target, uint32_t loop,
                             const struct asm_latency *latency, const struct psnap_machine *machine)
{
    const struct measure *base = target->base;
    const struct psnap_program *program = base->program;
    bool meets = false, scatters = false;
    double cycles = 0;

    for (uint32_t ref = 0; ref < program->ref_count; ref++) {
        if (program->refs[ref].loop != loop || !(target->accesses[ref] > 0))
            continue;
        if (base->memory[ref] == PATTERN_CARRIED)
            cycles = latency->store;
        meets |= base->memory[ref] == PATTERN_MEETS;
        scatters |= base->partners[ref] == ref && base->patterns[ref] != RUNTIME_REGULAR;
    }
    return meets && scatters ? fmax(cycles, machine->levels[0].latency_cycles + 1) : cycles;
}

/* What a loop's code takes by its assembly. */
static void take_cycles(struct runtime_work *work, const struct target *target, uint32_t loop,
                        const struct mca_loops *mca, const struct psnap_machine *machine)
{
    const double iterations = target->iterations[loop], entries = target->entries[loop];
    const struct asm_latency latency = mca_latency(mca, loop, machine);
    const double memory = memory_latency(target, loop, &latency, machine);

    work->throughput_cycles = iterations * mca_throughput(mca, loop, machine);
    work->hidden = mca_hidden(mca, loop, entries > 0 ? iterations / entries : 0);
    work->latency_cycles = iterations * fmax(latency.iteration, memory) * (1 - work->hidden);
    work->decision_cycles = latency.decision;
}

/* The pattern of a reference: the assembly knows better what irregular accesses wait for. */
static enum runtime_pattern pattern_of(const struct target *target, uint32_t ref,
                                       const struct mca_loops *mca)
{
    const uint32_t loop = target->base->program->refs[ref].loop;
    const enum runtime_pattern pattern = target->base->patterns[ref];

    if (pattern == RUNTIME_REGULAR || !mca || loop >= target->base->program->loop_count ||
        isnan(mca->cycles[loop].throughput))
        return pattern;
    return mca->waits[loop] ? RUNTIME_DEPENDENT : RUNTIME_IRREGULAR;
}

/* How long a branch has to wait for a load of its block, beyond level 1, that nothing else waits
 * for. */
static double load_wait(const struct target *target, uint32_t ref, double hidden,
                        const struct runtime_settings *settings)
{
    const struct psnap_machine *machine = settings->machine;
    const enum runtime_pattern pattern = pattern_of(target, ref, settings->mca);
    const struct runtime_accesses accesses = accesses_of(target, ref, settings);
    const double cycles = runtime_effective_cycles(machine, &accesses, false, false) -
                          machine->levels[0].latency_cycles;

    if (target->base->program->refs[ref].kind != PSNAP_LOAD || !(accesses.accesses > 0) ||
        pattern == RUNTIME_REGULAR)
        return 0;
    return pattern == RUNTIME_DEPENDENT ? cycles * hidden : cycles;
}

/*
 * How long a branch behind a block waits, compared with one of what is loaded from level 1, as the
 * machine's mispredict_cycles are: for the slowest of the loads of its block, and by code as long
 * as it takes to decide; if that is less than a load takes, there is no load in it.
 */
static double branch_wait(const struct target *target, uint32_t block,
                          const struct runtime_work *work, const struct runtime_settings *settings)
{
    const struct psnap_program *program = target->base->program;
    const double nearest = settings->machine->levels[0].latency_cycles;
    double wait = 0;

    for (uint32_t ref = 0; ref < program->ref_count; ref++)
        if (program->refs[ref].block == block)
            wait = fmax(wait, load_wait(target, ref, work->hidden, settings));
    if (isnan(work->decision_cycles))
        return wait;
    return work->decision_cycles - (nearest + 1) + (work->decision_cycles < nearest ? 0 : wait);
}

/* Of each loop its pages and its mispredictions. */
static void take_waits(struct runtime_work *work, const struct target *target,
                       const struct runtime_settings *settings)
{
    const struct measure *base = target->base;
    const struct psnap_program *program = base->program;

    for (uint32_t ref = 0; ref < program->ref_count; ref++) {
        const uint32_t loop = program->refs[ref].loop;
        work[loop < program->loop_count ? loop : program->loop_count].first_touches +=
            base->pages[ref] * target_cold_growth(target, ref);
    }
    for (uint32_t block = 0; block < program->block_count; block++) {
        const uint32_t loop = program->blocks[block].loop;
        struct runtime_work *of = &work[loop < program->loop_count ? loop : program->loop_count];
        const double count = base->mispredictions[block] > 0
                                 ? base->mispredictions[block] * target_growth(target, block)
                                 : 0;
        of->mispredictions += count;
        of->wait_cycles += count > 0 ? count * branch_wait(target, block, of, settings) : 0;
    }
}

/* The work of each loop; [loop_count]: of no loop. NULL: out of memory. */
static struct runtime_work *work_of(const struct target *target,
                                    const struct runtime_settings *settings)
{
    const struct psnap_program *program = target->base->program;
    const uint32_t loops = program->loop_count;
    struct runtime_work *work = calloc(loops + (size_t)1, sizeof *work);

    if (!work)
        return NULL;
    for (uint32_t ref = 0; ref < program->ref_count; ref++) {
        const uint32_t loop = program->refs[ref].loop < loops ? program->refs[ref].loop : loops;
        const struct runtime_accesses accesses = accesses_of(target, ref, settings);
        if (accesses.accesses > 0)
            runtime_add_accesses(&work[loop].patterns[pattern_of(target, ref, settings->mca)],
                                 &accesses);
    }
    for (uint32_t i = 0; i <= loops; i++)
        work[i].throughput_cycles = work[i].latency_cycles = work[i].decision_cycles = NAN;
    for (uint32_t i = 0; i < loops; i++) {
        if (settings->mca)
            take_cycles(&work[i], target, i, settings->mca, settings->machine);
        memcpy(work[i].operations, &target->operations[i * PSNAP_OPERATION_COUNT],
               sizeof work[i].operations);
    }
    take_waits(work, target, settings);
    return work;
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
        struct runtime_accesses accesses = accesses_of(target, ref, settings);
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

static void add_seconds(struct runtime_seconds *sum, struct runtime_seconds more)
{
    sum->total += more.total;
    sum->mem += more.mem;
    sum->cpu += more.cpu;
    sum->branch += more.branch;
    sum->touch += more.touch;
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
        add_seconds(&sums.seconds[row],
                    runtime_predict(settings->machine, &work[i], method, settings->reading));
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

/* Whether the machine has all that the method needs for the loops: what they have of everything. */
static enum psnap_status check(const struct runtime_work *work, uint32_t loops,
                               enum runtime_method method, const struct runtime_settings *settings,
                               struct psnap_error *error)
{
    struct runtime_work unknown = {0}, known = {0};
    enum psnap_status status;

    for (uint32_t i = 0; i <= loops; i++)
        runtime_add(isnan(work[i].throughput_cycles) ? &unknown : &known, &work[i]);
    status = runtime_check(settings->machine, &unknown, method, error);
    return status ? status : runtime_check(settings->machine, &known, method, error);
}

enum psnap_status runtime_rows_add(struct runtime_rows *rows, const struct target *target,
                                   const char *distances, const struct runtime_settings *settings,
                                   struct psnap_error *error)
{
    struct runtime_work *work = work_of(target, settings);
    enum psnap_status status = work ? PSNAP_OK : no_memory(error);

    for (int method = 0; method < RUNTIME_METHODS && !status; method++)
        if (settings->methods[method])
            status = check(work, target->base->program->loop_count, (enum runtime_method)method,
                           settings, error);
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

enum { NAMES = 5, COLUMNS_MAX = NAMES + PSNAP_LEVELS_MAX + RUNTIME_METHODS + 2 };

/* One row for all methods: their times, and what the time of `last` is made of. */
static struct psnap_table *new_table(const struct psnap_machine *machine,
                                     const bool methods[RUNTIME_METHODS], enum runtime_method last)
{
    static const char *const names[NAMES] = {"scope", "id", "name", "distances", "accesses"};
    const char *headings[COLUMNS_MAX];
    char made[COLUMNS_MAX][32];
    size_t columns = NAMES;
    struct psnap_table *table;

    memcpy(headings, names, sizeof names);
    for (uint32_t l = 0; l < machine->level_count; l++, columns++) {
        snprintf(made[columns], sizeof made[columns], "L%u cum. %%", (unsigned)l + 1);
        headings[columns] = made[columns];
    }
    for (int method = 0; method < RUNTIME_METHODS; method++)
        if (methods[method]) {
            snprintf(made[columns], sizeof made[columns], "%s ms",
                     runtime_method_name((enum runtime_method)method));
            headings[columns] = made[columns];
            columns++;
        }
    for (int part = 0; part < 2; part++, columns++) {
        snprintf(made[columns], sizeof made[columns], "%s %s ms", runtime_method_name(last),
                 part ? "T_cpu" : "T_mem");
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
        psnap_table_cell(table, "%.4g", 1e3 * row->seconds.mem);
        psnap_table_cell(table, "%.4g", 1e3 * row->seconds.cpu);
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
