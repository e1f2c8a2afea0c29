/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Run times on a page of psnap report: what psnap predict runtime has (predict/amm/AMM.md), of each
 * input on one core of each machine that says what is needed, and how the first machine would run
 * parallel sections on several cores (cmd_report_cores.c). What is not predicted is named, with the
 * reason. It is measured in the pass that everything is measured in, of inputs of one thread;
 * others are read once more for it, as they come.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "formats/base/html.h"
#include "predict/amm/cmd_forecast.h"
#include "predict/report/cmd_report.h"

enum { REASON = 600, ROWS = 20 };

/* What there is of an input. */
struct report_timed {
    struct forecast forecast;
    size_t machine[REPORT_MACHINES];      /* its number in the forecast; SIZE_MAX: it has no rows */
    char reason[REPORT_MACHINES][REASON]; /* then why */
};

/* ------------------------------------------------------------------ predicting */

bool report_can_read_again(const struct report *report, const struct report_input *input,
                           struct psnap_error *error)
{
    struct stat about;

    if (report->options.skip || report_is_cut(report, input)) {
        psnap_error_set(error, PSNAP_ERROR_UNSUPPORTED,
                        "it is of a part of the input, and run times are of all of it");
        return false;
    }
    if (strcmp(input->path, "-") != 0 && !stat(input->path, &about) && S_ISREG(about.st_mode))
        return true;
    psnap_error_set(error, PSNAP_ERROR_UNSUPPORTED, "it came from a pipe, which is read once");
    return false;
}

/* Whether a machine has what any program needs. */
static enum psnap_status check_machine(const struct psnap_machine *machine,
                                       struct psnap_error *error)
{
    struct runtime_work any = {.throughput_cycles = NAN, .latency_cycles = NAN};

    for (int pattern = 0; pattern < RUNTIME_PATTERNS; pattern++)
        any.patterns[pattern].accesses = 1;
    return runtime_check(machine, &any, RUNTIME_OVERLAP, error);
}

static void explain(struct report_timed *timed, size_t m, const struct psnap_error *error)
{
    timed->machine[m] = SIZE_MAX;
    snprintf(timed->reason[m], REASON, "%s", error->message);
}

static struct forecast_settings settings_of(const struct report *report, const char *path)
{
    struct forecast_settings settings = {.path = path, .input = report->options, .rate = 1};

    settings.input.is_again = true;
    settings.rows.wanted[PSNAP_SCOPE_TOTAL] = settings.rows.wanted[PSNAP_SCOPE_LOOP] = true;
    for (int method = 0; method < RUNTIME_METHODS; method++)
        settings.rows.methods[method] = true;
    return settings;
}

/* With the machines that say what is needed, if any; NULL: out of memory. */
static struct report_timed *begin(const struct report *report,
                                  const struct forecast_settings *settings)
{
    struct report_timed *timed = calloc(1, sizeof *timed);
    struct psnap_error error;

    for (size_t m = 0; m < report->machine_count && timed; m++) {
        timed->machine[m] = timed->forecast.machine_count;
        if (check_machine(&report->machines[m], &error) ||
            forecast_add_machine(&timed->forecast, &report->machines[m], settings, &error))
            explain(timed, m, &error);
    }
    return timed;
}

/* The rows of all machines, of the run that was measured or is read now; or why there are none. */
static void predict(const struct report *report, const struct report_input *input,
                    struct report_timed *timed, const struct forecast_settings *settings)
{
    struct psnap_error error;
    enum psnap_status status = PSNAP_OK;

    if (!input->has_operations)
        status = psnap_error_set(&error, PSNAP_ERROR_UNSUPPORTED,
                                 "it does not say what its loops compute, as recordings of "
                                 "programs that psnap cc compiled do");
    else if (!report_can_read_again(report, input, &error))
        status = error.code;
    for (size_t m = 0; m < report->machine_count && status; m++)
        explain(timed, m, &error);
    if (!status && timed->forecast.machine_count)
        status = forecast_measure(&timed->forecast, settings, &error);
    for (size_t m = 0; m < report->machine_count; m++)
        if (timed->machine[m] != SIZE_MAX &&
            (status || forecast_rows(&timed->forecast, settings, timed->machine[m], &error)))
            explain(timed, m, &error);
    forecast_forget_runs(&timed->forecast);
}

void report_timed_free(struct report_timed *timed)
{
    if (timed)
        forecast_release(&timed->forecast);
    free(timed);
}

struct psnap_sink *report_timed_sink(const struct report *report, struct report_input *input,
                                     const struct psnap_program *program)
{
    const struct forecast_settings settings = settings_of(report, NULL);
    struct psnap_sink *reuse[MEASURE_PLANS_MAX];
    struct measure_options options = {.rate = 1, .reuse = reuse};
    const struct forecast *forecast;
    struct psnap_error error;

    input->timed = begin(report, &settings);
    if (!input->timed || !input->timed->forecast.machine_count)
        return NULL;
    forecast = &input->timed->forecast;
    for (size_t i = 0; i < forecast->plan_count; i++)
        for (size_t d = 0; d < input->distances_count; d++)
            if (input->distances[d].line_bytes == forecast->plans[i].line_bytes)
                reuse[i] = input->distances[d].sink;
    options.plans = forecast->plans;
    options.plan_count = forecast->plan_count;
    return measure_sink_new(program, &options, &error);
}

void report_timed_take(const struct report *report, struct report_input *input,
                       const struct psnap_sink *sink)
{
    const struct forecast_settings settings = settings_of(report, NULL);
    struct forecast *forecast = &input->timed->forecast;
    struct psnap_error error;

    if (sink && !measure_take(&forecast->runs[forecast->run_count++].measure, sink, input->profile,
                              &error)) {
        predict(report, input, input->timed, &settings);
        return;
    }
    report_timed_free(input->timed); /* it is read again for it */
    input->timed = NULL;
}

enum psnap_status report_timed_read(const struct report *report, struct report_input *input,
                                    struct psnap_error *error)
{
    const struct forecast_settings settings = settings_of(report, input->path);

    input->timed = begin(report, &settings);
    if (!input->timed)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for the report");
    predict(report, input, input->timed, &settings);
    return PSNAP_OK;
}

static const struct runtime_row *row_of(const struct report_timed *timed, size_t m, const char *id,
                                        enum runtime_method method)
{
    const struct runtime_rows *rows;
    size_t begin, end;

    if (timed->machine[m] == SIZE_MAX)
        return NULL;
    rows = &timed->forecast.rows;
    begin = timed->machine[m] ? timed->forecast.rows_end[timed->machine[m] - 1] : 0;
    end = timed->forecast.rows_end[timed->machine[m]];
    for (size_t i = begin; i < end; i++)
        if (rows->rows[i].method == method &&
            (id ? rows->rows[i].scope == PSNAP_SCOPE_LOOP && !strcmp(rows->rows[i].id, id)
                : rows->rows[i].scope == PSNAP_SCOPE_TOTAL))
            return &rows->rows[i];
    return NULL;
}

/* -------------------------------------------------------------------- the section */

void report_cell_seconds(struct report_page *page, double seconds)
{
    static const char *const units[] = {"s", "ms", "\xC2\xB5s", "ns"};
    size_t unit = 0;

    if (isnan(seconds)) {
        report_cell_number(page, 0, seconds);
        return;
    }
    for (; seconds > 0 && seconds < 1 && unit < 3; unit++)
        seconds *= 1000;
    fprintf(page->file, "<td class=\"n\">%.*f&nbsp;%s</td>",
            seconds < 10    ? 2
            : seconds < 100 ? 1
                            : 0,
            seconds, units[unit]);
}

static double seconds_of(const struct report_timed *timed, size_t m, const char *id,
                         enum runtime_method method)
{
    const struct runtime_row *row = row_of(timed, m, id, method);

    return row ? row->seconds.total : (double)NAN;
}

static void write_totals(struct report_page *page)
{
    static const char *const headings[] = {"Machine",     "Input",      "Overlap",  "of memory",
                                           "of the core", "Throughput", "Published"};
    const struct report *report = page->report;

    report_table(page, "Predicted run time of the whole program on one core, by three models",
                 headings, 7, 2, 0);
    for (size_t m = 0; m < report->machine_count; m++)
        for (size_t i = 0; i < report->input_count; i++) {
            const struct report_timed *timed = report->inputs[i].timed;
            const struct runtime_row *row = row_of(timed, m, NULL, RUNTIME_OVERLAP);
            if (!row)
                continue;
            report_row_name(page, report->machines[m].name);
            report_cell(page, "%s", report->inputs[i].label);
            report_cell_seconds(page, row->seconds.total);
            report_cell_seconds(page, row->seconds.mem);
            report_cell_seconds(page, row->seconds.cpu);
            report_cell_seconds(page, seconds_of(timed, m, NULL, RUNTIME_THROUGHPUT));
            report_cell_seconds(page, seconds_of(timed, m, NULL, RUNTIME_PUBLISHED));
            report_row_end(page);
        }
    report_table_end(page);
}

/* Of the model overlap: the loops that accesses rank first, in all inputs on the first machine that
 * has times. */
static void write_loops(struct report_page *page, size_t m)
{
    const struct report *report = page->report;
    const char *headings[1 + RANK_INPUTS] = {"Loop"};
    char caption[320];

    for (size_t i = 0; i < report->input_count; i++)
        headings[1 + i] = report->inputs[i].label;
    snprintf(caption, sizeof caption, "Predicted run times of loops on %.250s (overlap)",
             report->machines[m].name);
    fputs("<details><summary>Table of run times by loop</summary>\n", page->file);
    report_table(page, caption, headings, 1 + report->input_count, 1, 0);
    for (size_t i = 0; i < report->rank.count && i < ROWS; i++) {
        const char *id = report->rank.loops[i].id;
        report_row_name(page, id);
        for (size_t input = 0; input < report->input_count; input++)
            report_cell_seconds(page,
                                seconds_of(report->inputs[input].timed, m, id, RUNTIME_OVERLAP));
        report_row_end(page);
    }
    report_table_end(page);
    if (report->rank.count > ROWS)
        fprintf(page->file, "<p>The %d loops with most accesses, of %zu.</p>\n", ROWS,
                report->rank.count);
    fputs("</details>\n", page->file);
}

/* "<li>WHAT on <code>MACHINE</code>"; the first one begins the list. */
static void begin_reason(FILE *file, bool *is_begun, const char *what,
                         const struct psnap_machine *machine)
{
    fputs(*is_begun ? "" : "<p>Not predicted:</p>\n<ul class=\"reasons\">\n", file);
    *is_begun = true;
    fprintf(file, "<li>%s on <code>", what);
    psnap_html_text(file, machine->name);
    fputs("</code>", file);
}

/* What times of a machine lack. */
static void write_lacking(FILE *file, bool *is_begun, const struct psnap_machine *machine)
{
    if (!(machine->mispredict_cycles > 0)) {
        begin_reason(file, is_begun, "what mispredicted branches take", machine);
        fputs(": it does not say <code>mispredict_cycles</code></li>\n", file);
    }
    if (!(machine->first_touch_cycles > 0)) {
        begin_reason(file, is_begun, "what first touches of pages take", machine);
        fputs(": it does not say <code>memory.first_touch_cycles</code></li>\n", file);
    }
}

/* Each reason once for all inputs in a row that have it. */
static void write_reasons(struct report_page *page)
{
    const struct report *report = page->report;
    FILE *file = page->file;
    bool is_begun = false;

    for (size_t m = 0; m < report->machine_count; m++)
        for (size_t i = 0; i < report->input_count; i++)
            if (row_of(report->inputs[i].timed, m, NULL, RUNTIME_OVERLAP)) {
                write_lacking(file, &is_begun, &report->machines[m]);
                break;
            }
    for (size_t m = 0; m < report->machine_count; m++)
        for (size_t i = 0; i < report->input_count; i++) {
            const struct report_timed *timed = report->inputs[i].timed;
            if (timed->machine[m] != SIZE_MAX ||
                (i && report->inputs[i - 1].timed->machine[m] == SIZE_MAX &&
                 !strcmp(report->inputs[i - 1].timed->reason[m], timed->reason[m])))
                continue;
            begin_reason(file, &is_begun, "the run time", &report->machines[m]);
            fputs(", of ", file);
            psnap_html_text(file, report->inputs[i].label);
            fputs(": ", file);
            psnap_html_text(file, timed->reason[m]);
            fputs("</li>\n", file);
        }
    fputs(is_begun ? "</ul>\n" : "", file);
}

void report_times(struct report_page *page)
{
    const struct report *report = page->report;
    size_t first = report->machine_count;

    for (size_t m = report->machine_count; m-- > 0;)
        for (size_t i = 0; i < report->input_count; i++)
            if (row_of(report->inputs[i].timed, m, NULL, RUNTIME_OVERLAP))
                first = m;
    report_section(page, "times", "Run times");
    if (first < report->machine_count) {
        fputs("<p>What a machine takes by its latencies, throughputs and clock, with the hit rates "
              "of SDCM and the operations of the loops, as <code>psnap predict runtime</code> has "
              "it without assembly. In the model <em>overlap</em> memory and core work at the same "
              "time, in <em>throughput</em> one after the other, in <em>published</em> each "
              "operation waits for the one before. Nothing was measured on the machine.</p>\n",
              page->file);
        write_totals(page);
        write_loops(page, first);
    }
    write_reasons(page);
    report_cores(page);
    report_section_end(page);
}
