/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The CSV of psnap sim: what the JSON has, a record for each machine, row and level of caches or of
 * the TLB. All records have the same fields; one that a level does not have is empty, as is a rate
 * with nothing to divide by. MACHINES.md documents them.
 */
#include "formats/base/cmd_csv.h"
#include "simcore/cmd_sim.h"

/* What begins each record: the machine, the row, and its accesses. */
static void begin_record(struct psnap_csv *csv, const struct psnap_machine *machine,
                         enum psnap_scope scope, const struct scope_row *row,
                         const struct psnap_tally *tally)
{
    psnap_csv_text(csv, machine->name);
    psnap_csv_text(csv, psnap_scope_name(scope));
    psnap_csv_text(csv, row->id);
    psnap_csv_text(csv, row->name);
    psnap_csv_u64(csv, tally->accesses);
}

static void cache_level(struct psnap_csv *csv, const struct sim_report *report,
                        const struct psnap_machine *machine, const struct psnap_tally *tally,
                        uint32_t l)
{
    psnap_csv_u64(csv, l + UINT64_C(1));
    psnap_csv_text(csv, machine->levels[l].name);
    psnap_csv_u64(csv, psnap_tally_reached(tally, l));
    psnap_csv_u64(csv, tally->hits[l]);
    psnap_csv_real(csv, psnap_tally_hit_rate(tally, l));
    psnap_csv_real(csv, psnap_tally_cumulative(tally, l));
    psnap_csv_u64(csv, tally->write_backs[l]);
    if (sim_foresees(&machine->levels[l])) {
        psnap_csv_u64(csv, tally->prefetches[l]);
        psnap_csv_u64(csv, tally->prefetches_useful[l]);
        psnap_csv_u64(csv, tally->prefetches_useless[l]);
    } else {
        for (int k = 0; k < 3; k++)
            psnap_csv_none(csv);
    }
    for (int k = 0; k < SIM_EXTRAS; k++)
        if (sim_has_extra(report, machine, l, &sim_extras[k]))
            psnap_csv_u64(csv, sim_extra_of(tally, &sim_extras[k], l));
        else
            psnap_csv_none(csv);
}

static void tlb_level(struct psnap_csv *csv, const struct psnap_tally *tally, uint32_t l)
{
    psnap_csv_text(csv, scope_tlb_name(l));
    psnap_csv_none(csv);
    psnap_csv_u64(csv, psnap_tally_tlb_reached(tally, l));
    psnap_csv_u64(csv, tally->tlb_hits[l]);
    psnap_csv_real(csv, psnap_tally_tlb_hit_rate(tally, l));
    psnap_csv_real(csv, psnap_tally_tlb_cumulative(tally, l));
    for (int k = 0; k < 1 + 3 + SIM_EXTRAS; k++)
        psnap_csv_none(csv);
}

static void row_records(struct psnap_csv *csv, const struct sim_report *report, size_t m,
                        enum psnap_scope scope, const struct scope_row *row)
{
    const struct psnap_machine *machine = &report->machines[m];
    const struct psnap_tally *tally = &row->tallies[m];

    for (uint32_t l = 0; l < machine->level_count; l++) {
        begin_record(csv, machine, scope, row, tally);
        cache_level(csv, report, machine, tally, l);
        psnap_csv_end(csv);
    }
    for (uint32_t l = 0; l < machine->tlb_level_count; l++) {
        begin_record(csv, machine, scope, row, tally);
        tlb_level(csv, tally, l);
        psnap_csv_end(csv);
    }
}

void sim_report_csv(const struct sim_report *report, FILE *file)
{
    static const char *const fields[] = {
        "machine",
        "scope",
        "id",
        "name",
        "row_accesses", /* all of the row; `accesses` are those that reached the level */
        "level",
        "level_name",
        "accesses",
        "hits",
        "hit_rate",
        "cumulative_hit_rate",
        "write_backs",
        "prefetches",
        "prefetches_useful",
        "prefetches_useless",
        NULL};
    struct psnap_csv csv;

    psnap_csv_init(&csv, file);
    for (size_t i = 0; fields[i]; i++)
        psnap_csv_text(&csv, fields[i]);
    for (int k = 0; k < SIM_EXTRAS; k++)
        psnap_csv_text(&csv, sim_extras[k].key);
    psnap_csv_end(&csv);
    for (size_t m = 0; m < report->machine_count; m++)
        for (int scope = 0; scope < PSNAP_SCOPE_COUNT; scope++)
            for (size_t i = 0; i < report->scopes[scope].count; i++)
                row_records(&csv, report, m, (enum psnap_scope)scope,
                            &report->scopes[scope].rows[i]);
}
