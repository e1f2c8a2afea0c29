/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Run times on a page of psnap report: what psnap predict runtime has (predict/amm/AMM.md), of each
 * input on one core of each machine that says what is needed. What is not predicted is named, with
 * the reason. The input is read once more for it.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "predict/report/cmd_report.h"

/* Checks that an input can be read once more, all of it, and that a machine has the costs that any
 * program needs. */
static enum psnap_status check(const struct report_input *input,
                               const struct psnap_machine *machine, struct psnap_error *error)
{
    struct runtime_work any = {.throughput_cycles = NAN, .latency_cycles = NAN};
    const char *reason = NULL;
    struct psnap_profile_totals totals;
    struct stat about;
    bool has_operations = false;

    psnap_profile_totals(input->profile ? input->profile : input->measured, &totals);
    for (size_t op = 0; op < PSNAP_OPERATION_COUNT; op++)
        has_operations |= totals.operations[op] > 0;
    if (!has_operations)
        reason = "it does not say what its loops compute, as recordings of programs that psnap cc "
                 "compiled do";
    else if (input->is_cut)
        reason = "it is of a part of the input, and run times are of all of it";
    else if (!strcmp(input->path, "-") || stat(input->path, &about) || !S_ISREG(about.st_mode))
        reason = "it came from a pipe, which is read once";
    if (reason)
        return psnap_error_set(error, PSNAP_ERROR_UNSUPPORTED, "%s", reason);
    for (int pattern = 0; pattern < RUNTIME_PATTERNS; pattern++)
        any.patterns[pattern].accesses = 1;
    return runtime_check(machine, &any, RUNTIME_OVERLAP, error);
}

static void explain(struct report_input *input, size_t m, const struct psnap_error *error)
{
    input->forecast_of[m] = SIZE_MAX;
    snprintf(input->reason[m], sizeof input->reason[m], "%s", error->message);
}

enum psnap_status report_forecast(const struct report *report, struct report_input *input,
                                  struct psnap_error *error)
{
    struct forecast_settings settings = {.path = input->path, .input = report->options, .rate = 1};
    struct forecast *forecast = input->forecast = calloc(1, sizeof *forecast);
    enum psnap_status status = PSNAP_OK;

    if (!forecast)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    settings.input.is_again = true;
    settings.input.count = UINT64_MAX;
    settings.rows.wanted[PSNAP_SCOPE_TOTAL] = settings.rows.wanted[PSNAP_SCOPE_LOOP] = true;
    for (int method = 0; method < RUNTIME_METHODS; method++)
        settings.rows.methods[method] = true;
    for (size_t m = 0; m < report->machine_count; m++) {
        input->forecast_of[m] = forecast->machine_count;
        if (check(input, &report->machines[m], error) ||
            forecast_add_machine(forecast, &report->machines[m], &settings, error))
            explain(input, m, error);
    }
    if (forecast->machine_count)
        status = forecast_measure(forecast, &settings, error);
    for (size_t m = 0; m < report->machine_count; m++)
        if (input->forecast_of[m] != SIZE_MAX &&
            (status || forecast_rows(forecast, &settings, input->forecast_of[m], error)))
            explain(input, m, error);
    forecast_forget_runs(forecast);
    return PSNAP_OK;
}

double report_seconds(const struct report *report, const struct report_column *column,
                      const struct report_loop *loop)
{
    const struct report_input *input = &report->inputs[column->input];
    const size_t m = input->forecast_of[column->machine];
    const struct forecast *forecast = input->forecast;
    const bool is_memory = column->at == RUNTIME_METHODS;

    if (m == SIZE_MAX)
        return NAN;
    for (size_t i = m ? forecast->rows_end[m - 1] : 0; i < forecast->rows_end[m]; i++) {
        const struct runtime_row *row = &forecast->rows.rows[i];
        if (row->method == (is_memory ? RUNTIME_OVERLAP : column->at) &&
            (loop ? row->scope == PSNAP_SCOPE_LOOP && !strcmp(row->id, loop->id)
                  : row->scope == PSNAP_SCOPE_TOTAL))
            return is_memory ? row->seconds.mem : row->seconds.total;
    }
    return NAN;
}
