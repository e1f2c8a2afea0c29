/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The report of psnap predict multicore. MULTICORE.md documents the JSON.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "formats/base/cmd.h"
#include "formats/base/json.h"
#include "predict/amm/cmd_runtime_work.h"
#include "predict/multicore/cmd_multicore.h"

static const char *const headings_of[MULTICORE_METHODS] = {"SDCM", "sets", "sim.", "real"};

enum { COLUMNS_MAX = 11 + MULTICORE_METHODS * PSNAP_LEVELS_MAX };

enum { SHARED_NAME_ROOM = PSNAP_LEVEL_NAME_ROOM + 12 };

/* "L1", or "L3/8" where eight cores share one; by the level's name, if it has one. */
static void name_level(const struct psnap_machine *machine, uint32_t l, char name[SHARED_NAME_ROOM])
{
    const uint32_t share = machine->levels[l].shared_by;
    char level[PSNAP_LEVEL_NAME_ROOM];

    psnap_machine_level_name(machine, l, level);
    if (share > 1)
        snprintf(name, SHARED_NAME_ROOM, "%s/%" PRIu32, level, share);
    else
        snprintf(name, SHARED_NAME_ROOM, "%s", level);
}

static struct psnap_table *table_of(const struct multicore *study,
                                    const struct psnap_machine *machine, const char *first)
{
    char names[COLUMNS_MAX][SHARED_NAME_ROOM + 8];
    const char *headings[COLUMNS_MAX];
    struct psnap_table *table;
    size_t n = 0;

    headings[n++] = "cores";
    if (first)
        headings[n++] = first;
    headings[n++] = "accesses";
    for (uint32_t l = 0; l < machine->level_count; l++)
        for (int method = 0; method < MULTICORE_METHODS; method++) {
            char level[SHARED_NAME_ROOM];
            if (!study->methods[method])
                continue;
            name_level(machine, l, level);
            snprintf(names[n], sizeof names[n], "%s %s %%", level, headings_of[method]);
            headings[n] = names[n];
            n++;
        }
    if (study->has_time) {
        headings[n++] = "T_mem s";
        headings[n++] = "T_cpu s";
        if (study->by_loops) {
            headings[n++] = "T_branch s";
            headings[n++] = "T_touch s";
        }
        if (study->has_sync)
            headings[n++] = "T_sync s";
        headings[n++] = "T s";
        headings[n++] = "speedup";
    }
    table = psnap_table_new(n, headings);
    for (size_t i = 0; i < n; i++)
        if (!first || i != 1)
            psnap_table_align_right(table, i);
    return table;
}

static void table_row(struct psnap_table *table, const struct multicore *study, size_t m,
                      const struct multicore_run *run, size_t section, bool has_name)
{
    const struct multicore_row *row = multicore_row(study, run, m, section);
    const double once = multicore_row(study, &study->runs[0], m, section)->seconds.total;
    char digits[32];

    psnap_table_cell(table, "%" PRIu32, run->cores);
    if (has_name)
        psnap_table_cell(table, "%s", study->tasks.tasks[section].id);
    psnap_table_cell(table, "%s", psnap_group_digits(row->accesses, digits));
    for (uint32_t l = 0; l < study->machines[m].level_count; l++)
        for (int method = 0; method < MULTICORE_METHODS; method++) {
            const double rate = row->rates[method].levels[l];
            if (!study->methods[method])
                continue;
            if (isnan(rate))
                psnap_table_cell(table, "-");
            else
                psnap_table_cell(table, "%.2f", 100 * rate);
        }
    if (!study->has_time)
        return;
    psnap_table_cell(table, "%.4g", row->seconds.mem);
    psnap_table_cell(table, "%.4g", row->seconds.cpu);
    if (study->by_loops) {
        psnap_table_cell(table, "%.4g", row->seconds.branch);
        psnap_table_cell(table, "%.4g", row->seconds.touch);
    }
    if (study->has_sync)
        psnap_table_cell(table, "%.4g", row->sync_seconds);
    psnap_table_cell(table, "%.4g", row->seconds.total);
    if (row->seconds.total > 0)
        psnap_table_cell(table, "%.2f", once / row->seconds.total);
    else
        psnap_table_cell(table, "-");
}

static void print_machine(const struct multicore *study, size_t m, bool sections)
{
    const struct psnap_machine *machine = &study->machines[m];
    struct psnap_table *table = table_of(study, machine, NULL);

    if (m)
        putchar('\n');
    psnap_print(stdout, "machine %s, cumulative hit rates (LEVEL/c: c cores share one):\n\n",
                machine->name);
    for (size_t i = 0; i < study->run_count; i++)
        table_row(table, study, m, &study->runs[i], study->tasks.count, false);
    psnap_table_print(table, stdout);
    psnap_table_free(table);
    if (!sections)
        return;
    table = table_of(study, machine, "section");
    for (size_t s = 0; s < study->tasks.count; s++)
        for (size_t i = 0; i < study->run_count; i++)
            if (multicore_row(study, &study->runs[i], m, s)->accesses)
                table_row(table, study, m, &study->runs[i], s, true);
    putchar('\n');
    psnap_table_print(table, stdout);
    psnap_table_free(table);
}

void multicore_print(const struct multicore *study, bool sections)
{
    for (size_t m = 0; m < study->machine_count; m++)
        print_machine(study, m, sections);
    if (study->has_time)
        psnap_print(
            stdout,
            "\nT is that of the busiest core, by the model '%s' (--time) with the hit rates of "
            "%s\n",
            runtime_method_name(study->time), multicore_method_names[study->timed]);
    if (study->by_loops && study->mca.cycles)
        printf("%" PRIu32 " of %" PRIu32 " loops that iterate have their cycles by llvm-mca\n",
               study->mca.matched, study->mca.loops);
    else if (study->by_loops)
        printf("no --asm: T_cpu is what units need for the operations, without what they wait "
               "for\n");
    for (size_t m = 0; m < study->machine_count && study->has_sync; m++) {
        if (study->by_loops)
            runtime_print_unknown(&study->machines[m]);
        if (!(study->machines[m].parallel.section_cycles > 0))
            psnap_print(stdout, "%s does not say parallel.section_cycles: T_sync is short of it\n",
                        study->machines[m].name);
    }
    if (study->against)
        printf("\naccesses of a core, mimicked and recorded, differ by %.2f %% at most\n",
               100 * study->core_difference);
    if (study->is_list)
        printf(
            "a task list has distances alone: nothing is simulated, and what is known of loops is "
            "not in it\n");
}

/* ------------------------------------------------------------------------ JSON */

static void json_levels(struct psnap_json *json, const struct multicore *study, size_t m,
                        const struct multicore_row *row)
{
    const struct psnap_machine *machine = &study->machines[m];

    psnap_json_begin_array(json, "levels");
    for (uint32_t l = 0; l < machine->level_count; l++) {
        const struct psnap_cache_level *level = &machine->levels[l];
        psnap_json_begin_object(json, NULL);
        psnap_json_u64(json, "level", l + 1);
        if (level->name[0])
            psnap_json_text(json, "name", level->name);
        psnap_json_u64(json, "shared_by", level->shared_by ? level->shared_by : 1);
        psnap_json_real(json, "cumulative_hit_rate", row->rates[study->timed].levels[l]);
        for (int method = 0; method < MULTICORE_METHODS; method++)
            if (study->methods[method])
                psnap_json_real(json, multicore_method_names[method], row->rates[method].levels[l]);
        if (study->methods[MULTICORE_OBSERVED])
            psnap_json_real(json, "error_points",
                            100 * fabs(row->rates[MULTICORE_SIM].levels[l] -
                                       row->rates[MULTICORE_OBSERVED].levels[l]));
        psnap_json_end_object(json);
    }
    psnap_json_end_array(json);
}

static void json_row(struct psnap_json *json, const struct multicore *study, size_t m,
                     const struct multicore_row *row)
{
    psnap_json_u64(json, "accesses", row->accesses);
    psnap_json_u64(json, "busiest_core_accesses", row->busiest);
    psnap_json_real(json, "seconds", study->has_time ? row->seconds.total : NAN);
    psnap_json_real(json, "t_mem_seconds", study->has_time ? row->seconds.mem : NAN);
    psnap_json_real(json, "t_cpu_seconds", study->has_time ? row->seconds.cpu : NAN);
    psnap_json_real(json, "t_branch_seconds", study->by_loops ? row->seconds.branch : NAN);
    psnap_json_real(json, "t_touch_seconds", study->by_loops ? row->seconds.touch : NAN);
    psnap_json_real(json, "t_sync_seconds", study->has_sync ? row->sync_seconds : NAN);
    json_levels(json, study, m, row);
}

static void json_sections(struct psnap_json *json, const struct multicore *study, size_t m,
                          const struct multicore_run *run)
{
    psnap_json_begin_array(json, "sections");
    for (size_t s = 0; s < study->tasks.count; s++) {
        const struct task *task = &study->tasks.tasks[s];
        psnap_json_begin_object(json, NULL);
        psnap_json_text(json, "id", task->id);
        psnap_json_text(json, "file", task->file);
        psnap_json_u64(json, "src_line", task->src_line);
        psnap_json_u64(json, "executions", task->executions);
        psnap_json_u64(json, "loops", task->loops);
        psnap_json_u64(json, "iterations", task->iterations);
        psnap_json_u64(json, "barriers", task->barriers);
        json_row(json, study, m, multicore_row(study, run, m, s));
        psnap_json_end_object(json);
    }
    psnap_json_end_array(json);
}

void multicore_print_json(const struct multicore *study)
{
    struct psnap_json json;

    psnap_cmd_begin_json(&json, stdout, "predict multicore");
    psnap_json_text(&json, "input", study->path);
    if (!study->is_list)
        psnap_json_text(&json, "interleaving", study->mimic.uniform ? "uniform" : "round-robin");
    psnap_json_bool(&json, "as_published", study->mimic.as_published);
    psnap_json_text(&json, "method", multicore_method_names[study->timed]);
    if (study->has_time)
        psnap_json_text(&json, "time", runtime_method_name(study->time));
    if (study->against)
        psnap_json_real(&json, "core_accesses_difference", study->core_difference);
    psnap_json_begin_array(&json, "rows");
    for (size_t m = 0; m < study->machine_count; m++)
        for (size_t i = 0; i < study->run_count; i++) {
            psnap_json_begin_object(&json, NULL);
            psnap_json_text(&json, "machine", study->machines[m].name);
            psnap_json_u64(&json, "cores", study->runs[i].cores);
            json_row(&json, study, m, multicore_row(study, &study->runs[i], m, study->tasks.count));
            json_sections(&json, study, m, &study->runs[i]);
            psnap_json_end_object(&json);
        }
    psnap_json_end_array(&json);
    psnap_json_end_object(&json);
    putchar('\n');
}
