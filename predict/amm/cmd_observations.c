/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Predictions as observations: cpi is in cycles per operation of the intermediate code, accesses
 * among them; cpi_pipeline is what it would be if nothing had to come from beyond level 1, T_cpu,
 * T_branch and T_touch of the model; cpi_memory is what memory adds to that. It is the same each
 * time, so that psnap hybrid takes sizes for replicates (--sizes-as-replicates).
 */
#include "predict/amm/cmd_observations.h"

#include <math.h>

#include "formats/base/cmd_csv.h"
#include "formats/base/text.h"

static double instructions_of(const struct target *target, double accesses)
{
    const size_t count = (size_t)target->base->program->loop_count * PSNAP_OPERATION_COUNT;
    double sum = accesses;

    for (size_t i = 0; i < count; i++)
        sum += target->operations[i];
    return sum;
}

/* Returns the latency of a level, memory behind the last one; NAN: the machine does not say. */
static double latency_of(const struct psnap_machine *machine, uint32_t level)
{
    const double cycles = level < machine->level_count ? machine->levels[level].latency_cycles
                                                       : machine->memory_latency_cycles;

    return cycles > 0 ? cycles : NAN;
}

/* Finds the total of "overlap" on machine `m`. */
static const struct runtime_row *total_of(const struct forecast *forecast, size_t m)
{
    const struct runtime_row *row = &forecast->rows.rows[m ? forecast->rows_end[m - 1] : 0];

    while (row->scope != PSNAP_SCOPE_TOTAL || row->method != RUNTIME_OVERLAP)
        row++;
    return row;
}

static void write_row(struct psnap_csv *csv, const struct forecast *forecast, size_t m, double size,
                      uint32_t levels)
{
    const struct psnap_machine *const machine = &forecast->machines[m];
    const char *const name = forecast->target.base->program->provenance.name;
    const struct runtime_row *const total = total_of(forecast, m);
    const struct runtime_seconds *const seconds = &total->seconds;
    const double instructions = instructions_of(&forecast->target, total->accesses);
    const double cycles = machine->clock_hz / instructions;
    const double pipeline = (seconds->cpu + seconds->branch + seconds->touch) * cycles;

    psnap_csv_text(csv, name && *name ? name : psnap_text_base_name(forecast->runs[0].path));
    psnap_csv_text(csv, machine->name);
    psnap_csv_real(csv, size);
    psnap_csv_real(csv, seconds->total * cycles);
    psnap_csv_real(csv, pipeline);
    psnap_csv_real(csv, fmax(seconds->total * cycles - pipeline, 0));
    for (uint32_t l = 1; l <= levels; l++) {
        const double to = l < machine->level_count ? total->cumulative[l] : 1;
        psnap_csv_real(csv, l > machine->level_count ? NAN
                                                     : fmax(to - total->cumulative[l - 1], 0) *
                                                           total->accesses / instructions);
    }
    for (uint32_t l = 1; l <= levels; l++)
        psnap_csv_real(csv, l > machine->level_count ? NAN : latency_of(machine, l));
    psnap_csv_end(csv);
}

enum psnap_status observations_write(const struct forecast *forecast, double size, FILE *file,
                                     struct psnap_error *error)
{
    const char *const *const command = forecast->target.base->program->provenance.command;
    uint32_t levels = 0;
    struct psnap_csv csv;

    for (size_t i = 1; !(size > 0) && command && command[0] && command[i]; i++)
        (void)psnap_text_real(command[i], &size);
    if (!(size > 0)) {
        psnap_error_set(error, PSNAP_ERROR_VALUE,
                        "no number above 0 is among the arguments of its program: give --size");
        psnap_error_at(error, forecast->runs[0].path, 0, 0);
        return PSNAP_ERROR_VALUE;
    }
    for (size_t m = 0; m < forecast->machine_count; m++)
        if (forecast->machines[m].level_count > levels)
            levels = forecast->machines[m].level_count;
    psnap_csv_init(&csv, file);
    fputs("code,machine,size,cpi,cpi_pipeline,cpi_memory", file);
    for (uint32_t l = 2; l <= levels + 1; l++)
        fprintf(file, ",hits%u", l);
    for (uint32_t l = 2; l <= levels + 1; l++)
        fprintf(file, ",latency%u", l);
    fputc('\n', file);
    for (size_t m = 0; m < forecast->machine_count; m++)
        write_row(&csv, forecast, m, size, levels);
    return PSNAP_OK;
}
