/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tables and the JSON of psnap sim. MACHINES.md documents the JSON.
 */
#include "simcore/cmd_sim.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/cmd.h"
#include "formats/base/json.h"
#include "formats/base/text.h"
#include "simcore/cmd_turns.h"

static double rate(const struct sim_report *report)
{
    return report->seconds > 0 ? (double)report->accesses / report->seconds : 0;
}

/* Counts of a level that not all machines have. */
enum extra_when {
    WHEN_WRITE_THROUGH,
    WHEN_CLASSIFIED,
    WHEN_VICTIMS,
    WHEN_TAKEN, /* by an inclusive level behind it, or by other cores */
    WHEN_COHERENT
};

const struct sim_extra sim_extras[SIM_EXTRAS] = {
    {"through", "write_throughs", offsetof(struct psnap_tally, write_throughs), WHEN_WRITE_THROUGH},
    {"victims", "victim_hits", offsetof(struct psnap_tally, victim_hits), WHEN_VICTIMS},
    {"taken", "invalidations", offsetof(struct psnap_tally, invalidations), WHEN_TAKEN},
    {"evicted", "evictions", offsetof(struct psnap_tally, evictions), WHEN_CLASSIFIED},
    {"cold", "cold_misses", offsetof(struct psnap_tally, cold), WHEN_CLASSIFIED},
    {"capacity", "capacity_misses", offsetof(struct psnap_tally, capacity), WHEN_CLASSIFIED},
    {"conflict", "conflict_misses", offsetof(struct psnap_tally, conflict), WHEN_CLASSIFIED},
    {"coherence", "coherence_misses", offsetof(struct psnap_tally, coherence), WHEN_COHERENT},
};

bool sim_has_extra(const struct sim_report *report, const struct psnap_machine *machine, uint32_t l,
                   const struct sim_extra *extra)
{
    switch ((enum extra_when)extra->when) {
    case WHEN_WRITE_THROUGH:
        return machine->levels[l].write_through;
    case WHEN_CLASSIFIED:
        return report->classify;
    case WHEN_VICTIMS:
        return machine->levels[l].victim_lines > 0;
    case WHEN_COHERENT:
        return machine->coherent && report->cores > 1;
    case WHEN_TAKEN:
        break;
    }
    for (uint32_t farther = l + 1; farther < machine->level_count; farther++)
        if (machine->levels[farther].inclusion == PSNAP_INCLUSIVE)
            return true;
    return machine->coherent && report->cores > 1;
}

uint64_t sim_extra_of(const struct psnap_tally *tally, const struct sim_extra *extra, size_t l)
{
    uint64_t count;

    memcpy(&count, (const char *)tally + extra->offset + l * sizeof count, sizeof count);
    return count;
}

bool sim_foresees(const struct psnap_cache_level *level)
{
    return level->prefetch.entries || level->prefetch.next_lines;
}

/* A share or rate in percent; "-" when there is nothing to divide by. */
static void percent_cell(struct psnap_table *table, double fraction)
{
    if (fraction == fraction)
        psnap_table_cell(table, "%.2f", 100 * fraction);
    else
        psnap_table_cell(table, "-");
}

static void table_row(struct psnap_table *table, const struct sim_report *report, size_t machine,
                      enum psnap_scope scope, const struct scope_row *row)
{
    const struct psnap_tally *tally = &row->tallies[machine];
    char digits[32];

    psnap_table_cell(table, "%s", psnap_scope_name(scope));
    psnap_table_cell(table, "%s", row->id);
    psnap_table_cell(table, "%s", row->name);
    psnap_table_cell(table, "%s", psnap_group_digits(tally->accesses, digits));
    percent_cell(table, report->accesses ? (double)tally->accesses / (double)report->accesses : 1);
    for (size_t i = 0; i < report->machines[machine].level_count; i++) {
        percent_cell(table, psnap_tally_hit_rate(tally, i));
        percent_cell(table, psnap_tally_cumulative(tally, i));
        psnap_table_cell(table, "%s", psnap_group_digits(tally->write_backs[i], digits));
        if (sim_foresees(&report->machines[machine].levels[i])) {
            psnap_table_cell(table, "%s", psnap_group_digits(tally->prefetches[i], digits));
            psnap_table_cell(table, "%s", psnap_group_digits(tally->prefetches_useful[i], digits));
            psnap_table_cell(table, "%s", psnap_group_digits(tally->prefetches_useless[i], digits));
        }
        for (int k = 0; k < SIM_EXTRAS; k++)
            if (sim_has_extra(report, &report->machines[machine], (uint32_t)i, &sim_extras[k]))
                psnap_table_cell(
                    table, "%s",
                    psnap_group_digits(sim_extra_of(tally, &sim_extras[k], i), digits));
    }
    for (size_t i = 0; i < report->machines[machine].tlb_level_count; i++) {
        percent_cell(table, psnap_tally_tlb_hit_rate(tally, i));
        percent_cell(table, psnap_tally_tlb_cumulative(tally, i));
    }
}

enum { FIXED = 5, PER_LEVEL = 3, PER_PREFETCHER = 3, PER_TLB_LEVEL = 2 };
enum {
    COLUMNS_MAX = FIXED + PSNAP_LEVELS_MAX * (PER_LEVEL + PER_PREFETCHER + SIM_EXTRAS) +
                  PSNAP_TLB_LEVELS_MAX * PER_TLB_LEVEL
};

struct columns {
    char headings[COLUMNS_MAX][64];
    size_t count;
};

/* Columns of a level, "L1 hit %" and so on. */
static void add_columns(struct columns *columns, const char *level, const char *const *names,
                        size_t n)
{
    for (size_t i = 0; i < n; i++)
        snprintf(columns->headings[columns->count++], sizeof columns->headings[0], "%s%s%s", level,
                 *level ? " " : "", names[i]);
}

static struct psnap_table *machine_table(const struct sim_report *report,
                                         const struct psnap_machine *machine)
{
    static const char *const fixed[FIXED] = {"scope", "id", "name", "accesses", "share %"};
    static const char *const per_level[PER_LEVEL] = {"hit %", "cum. %", "wb"};
    static const char *const per_prefetcher[PER_PREFETCHER] = {"prefetched", "useful", "useless"};
    const char *headings[COLUMNS_MAX];
    struct columns columns = {.count = 0};
    struct psnap_table *table;
    char level[PSNAP_LEVEL_NAME_ROOM];

    add_columns(&columns, "", fixed, FIXED);
    for (uint32_t i = 0; i < machine->level_count; i++) {
        psnap_machine_level_name(machine, i, level);
        add_columns(&columns, level, per_level, PER_LEVEL);
        if (sim_foresees(&machine->levels[i]))
            add_columns(&columns, level, per_prefetcher, PER_PREFETCHER);
        for (int k = 0; k < SIM_EXTRAS; k++)
            if (sim_has_extra(report, machine, i, &sim_extras[k]))
                add_columns(&columns, level, &sim_extras[k].heading, 1);
    }
    for (uint32_t i = 0; i < machine->tlb_level_count; i++)
        add_columns(&columns, scope_tlb_name(i), per_level, PER_TLB_LEVEL);
    for (size_t i = 0; i < columns.count; i++)
        headings[i] = columns.headings[i];
    table = psnap_table_new(columns.count, headings);
    psnap_table_shorten(table, 1);
    psnap_table_shorten(table, 2);
    for (size_t i = 3; i < columns.count; i++)
        psnap_table_align_right(table, i);
    return table;
}

static void print_machine(const struct sim_report *report, size_t machine)
{
    struct psnap_table *table = machine_table(report, &report->machines[machine]);
    char shape[512];

    for (int scope = 0; scope < PSNAP_SCOPE_COUNT; scope++)
        for (size_t i = 0; i < report->scopes[scope].count; i++)
            table_row(table, report, machine, (enum psnap_scope)scope,
                      &report->scopes[scope].rows[i]);
    if (machine)
        putchar('\n');
    psnap_print(stdout, "machine %s", report->machines[machine].name);
    if (!strchr(report->machines[machine].name, ':')) /* the inline form says it already */
        psnap_print(stdout, " (%s)",
                    scope_machine_shape(&report->machines[machine], shape, sizeof shape));
    printf("\n\n");
    psnap_table_print(table, stdout);
    psnap_table_free(table);
}

/* Machines whose cumulative hit rates stand beside each other. */
struct beside {
    const struct sim_report *report;
    size_t from, to;
};

static struct psnap_table *beside_headings(const struct beside *beside)
{
    static const char *const fixed[FIXED] = {"scope", "id", "name", "accesses", "share %"};
    const struct psnap_machine *machines = beside->report->machines;
    size_t columns = FIXED;
    struct psnap_table *table;
    const char **headings;
    char(*names)[96], level_name[PSNAP_LEVEL_NAME_ROOM];

    for (size_t i = beside->from; i < beside->to; i++)
        columns += machines[i].level_count;
    headings = calloc(columns, sizeof *headings);
    names = calloc(columns, sizeof *names);
    for (size_t i = 0; headings && i < FIXED; i++)
        headings[i] = fixed[i];
    for (size_t i = beside->from, at = FIXED; headings && names && i < beside->to; i++)
        for (uint32_t level = 0; level < machines[i].level_count; level++, at++) {
            snprintf(names[at], sizeof names[at], "%.48s %s %%", machines[i].name,
                     psnap_machine_level_name(&machines[i], level, level_name));
            headings[at] = names[at];
        }
    table = headings && names ? psnap_table_new(columns, headings) : NULL;
    for (size_t i = 3; table && i < columns; i++)
        psnap_table_align_right(table, i);
    free(headings);
    free(names);
    return table;
}

static void beside_row(struct psnap_table *table, const struct beside *beside,
                       enum psnap_scope scope, const struct scope_row *row)
{
    const struct sim_report *report = beside->report;
    const uint64_t accesses = row->tallies[0].accesses;
    char digits[32];

    psnap_table_cell(table, "%s", psnap_scope_name(scope));
    psnap_table_cell(table, "%s", row->id);
    psnap_table_cell(table, "%s", row->name);
    psnap_table_cell(table, "%s", psnap_group_digits(accesses, digits));
    percent_cell(table, report->accesses ? (double)accesses / (double)report->accesses : 1);
    for (size_t i = beside->from; i < beside->to; i++)
        for (uint32_t level = 0; level < report->machines[i].level_count; level++)
            percent_cell(table, psnap_tally_cumulative(&row->tallies[i], level));
}

/* NULL: out of memory. */
static struct psnap_table *beside_table(const struct beside *beside)
{
    const struct sim_report *report = beside->report;
    struct psnap_table *table = beside_headings(beside);

    if (!table)
        return NULL;
    psnap_table_shorten(table, 1);
    psnap_table_shorten(table, 2);
    for (int scope = 0; scope < PSNAP_SCOPE_COUNT; scope++)
        for (size_t i = 0; i < report->scopes[scope].count; i++)
            beside_row(table, beside, (enum psnap_scope)scope, &report->scopes[scope].rows[i]);
    return table;
}

/* The table of as many machines from beside->from on as fit, and of one at least. */
static struct psnap_table *widest_table(struct beside *beside, size_t columns)
{
    struct psnap_table *table = NULL, *wider;

    beside->to = columns < SIZE_MAX ? beside->from + 1 : beside->report->machine_count;
    for (; beside->to <= beside->report->machine_count; beside->to++) {
        wider = beside_table(beside);
        if (table && wider && psnap_table_width(wider) > columns) {
            psnap_table_free(wider);
            break;
        }
        psnap_table_free(table);
        table = wider;
    }
    beside->to--;
    return table;
}

/*
 * Write-backs, prefetches and TLBs are in each machine's own table, and with --json. A terminal
 * gets as many machines beside each other as it has room for, then the next; a file or pipe gets
 * all of them.
 */
static void print_compared(const struct sim_report *report)
{
    const size_t columns = psnap_terminal_columns();
    struct beside beside = {.report = report};
    char shape[512];

    for (size_t i = 0; i < report->machine_count; i++)
        psnap_print(stdout, "machine %s (%s)\n", report->machines[i].name,
                    scope_machine_shape(&report->machines[i], shape, sizeof shape));
    printf("\ncumulative hit rates:\n");
    for (; beside.from < report->machine_count; beside.from = beside.to) {
        struct psnap_table *table = widest_table(&beside, columns);

        if (!table) {
            fprintf(stderr, "psnap sim: out of memory for a table\n");
            return;
        }
        putchar('\n');
        psnap_table_print(table, stdout);
        psnap_table_free(table);
    }
}

void sim_report_print(const struct sim_report *report)
{
    char digits[32];

    if (report->machine_count > 1 && !report->apart)
        print_compared(report);
    else
        for (size_t i = 0; i < report->machine_count; i++)
            print_machine(report, i);
    if (report->threads > 1)
        psnap_print(stdout, "\n%" PRIu32 " threads, interleaved %s, %s\n", report->threads,
                    psnap_turns_words(report->in_turn),
                    report->cores ? "each a core with the caches that the machine has for it"
                                  : "in one hierarchy");
    fflush(stdout);
    psnap_print(stderr, "%s accesses in %.2f s, %.1f M/s\n",
                psnap_group_digits(report->accesses, digits), report->seconds, 1e-6 * rate(report));
}

static void json_tlb(struct psnap_json *json, const struct psnap_machine *machine,
                     const struct psnap_tally *tally)
{
    if (!machine->tlb_level_count)
        return;
    psnap_json_begin_array(json, "tlb");
    for (size_t i = 0; i < machine->tlb_level_count; i++) {
        psnap_json_begin_object(json, NULL);
        psnap_json_text(json, "level", scope_tlb_name(i));
        psnap_json_u64(json, "accesses", psnap_tally_tlb_reached(tally, i));
        psnap_json_u64(json, "hits", tally->tlb_hits[i]);
        psnap_json_real(json, "hit_rate", psnap_tally_tlb_hit_rate(tally, i));
        psnap_json_real(json, "cumulative_hit_rate", psnap_tally_tlb_cumulative(tally, i));
        psnap_json_end_object(json);
    }
    psnap_json_end_array(json);
}

static void json_row(struct psnap_json *json, const struct sim_report *report, size_t machine,
                     enum psnap_scope scope, const struct scope_row *row)
{
    const struct psnap_tally *tally = &row->tallies[machine];

    psnap_json_begin_object(json, NULL);
    psnap_json_text(json, "machine", report->machines[machine].name);
    psnap_json_text(json, "scope", psnap_scope_name(scope));
    psnap_json_text(json, "id", row->id);
    psnap_json_text(json, "name", row->name);
    psnap_json_u64(json, "accesses", tally->accesses);
    psnap_json_begin_array(json, "levels");
    for (size_t i = 0; i < report->machines[machine].level_count; i++) {
        psnap_json_begin_object(json, NULL);
        psnap_json_u64(json, "level", i + 1);
        if (report->machines[machine].levels[i].name[0])
            psnap_json_text(json, "name", report->machines[machine].levels[i].name);
        psnap_json_u64(json, "accesses", psnap_tally_reached(tally, i));
        psnap_json_u64(json, "hits", tally->hits[i]);
        psnap_json_real(json, "hit_rate", psnap_tally_hit_rate(tally, i));
        psnap_json_real(json, "cumulative_hit_rate", psnap_tally_cumulative(tally, i));
        psnap_json_u64(json, "write_backs", tally->write_backs[i]);
        if (sim_foresees(&report->machines[machine].levels[i])) {
            psnap_json_u64(json, "prefetches", tally->prefetches[i]);
            psnap_json_u64(json, "prefetches_useful", tally->prefetches_useful[i]);
            psnap_json_u64(json, "prefetches_useless", tally->prefetches_useless[i]);
        }
        for (int k = 0; k < SIM_EXTRAS; k++)
            if (sim_has_extra(report, &report->machines[machine], (uint32_t)i, &sim_extras[k]))
                psnap_json_u64(json, sim_extras[k].key, sim_extra_of(tally, &sim_extras[k], i));
        psnap_json_end_object(json);
    }
    psnap_json_end_array(json);
    json_tlb(json, &report->machines[machine], tally);
    psnap_json_end_object(json);
}

void sim_report_json(const struct sim_report *report)
{
    struct psnap_json json;

    psnap_cmd_begin_json(&json, stdout, "sim");
    psnap_json_text(&json, "input", report->path);
    psnap_json_u64(&json, "accesses", report->accesses);
    psnap_turns_json(&json, report->threads, report->in_turn);
    if (report->cores)
        psnap_json_u64(&json, "cores", report->cores);
    psnap_json_text(&json, "hierarchy", report->cores ? "cores" : "one");
    psnap_json_real(&json, "accesses_per_second", rate(report));
    psnap_json_begin_array(&json, "rows");
    for (size_t machine = 0; machine < report->machine_count; machine++)
        for (int scope = 0; scope < PSNAP_SCOPE_COUNT; scope++)
            for (size_t i = 0; i < report->scopes[scope].count; i++)
                json_row(&json, report, machine, (enum psnap_scope)scope,
                         &report->scopes[scope].rows[i]);
    psnap_json_end_array(&json);
    psnap_json_end_object(&json);
    putchar('\n');
}
