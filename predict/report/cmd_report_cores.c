/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Several cores on a page of psnap report: what psnap predict multicore has
 * (predict/multicore/MULTICORE.md) of the first input that has parallel sections, on the first
 * machine.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/html.h"
#include "predict/multicore/cmd_multicore.h"
#include "predict/report/cmd_report.h"

static const uint32_t cores[] = {1, 2, 4, 8};
enum { CORES = sizeof cores / sizeof cores[0], COLUMNS = 4 + PSNAP_LEVELS_MAX };

static enum psnap_status predict(const struct report_page *page, const struct report_input *input,
                                 bool has_time, struct multicore *study, struct psnap_error *error)
{
    static const struct psnap_text_list no_assembly = {NULL, 0};

    multicore_release(study);
    *study = (struct multicore){.path = input->path,
                                .from = input->path,
                                .input = page->report->options,
                                .machine_count = 1,
                                .timed = MULTICORE_SDCM,
                                .time = RUNTIME_OVERLAP,
                                .has_time = has_time,
                                .by_loops = has_time,
                                .has_sync = has_time,
                                .assembly = &no_assembly,
                                .run_count = CORES};
    study->machines[0] = page->report->machines[0];
    study->methods[MULTICORE_SDCM] = true;
    for (size_t i = 0; i < CORES; i++)
        study->runs[i].cores = cores[i];
    if (has_time && multicore_check_machine(study, &study->machines[0], error)) {
        study->run_count = 0;
        return error->code;
    }
    return multicore_study(study, error);
}

static void write_table(struct report_page *page, const struct multicore *study)
{
    const struct psnap_machine *machine = &study->machines[0];
    char names[PSNAP_LEVELS_MAX][PSNAP_LEVEL_NAME_ROOM + 2], caption[400];
    const char *headings[COLUMNS] = {"Cores", "Accesses"};
    size_t count = 2;

    for (uint32_t l = 0; l < machine->level_count; l++) {
        psnap_machine_level_name(machine, l, names[l]);
        strcat(names[l], " %");
        headings[count++] = names[l];
    }
    if (study->has_time) {
        headings[count++] = "Run time";
        headings[count++] = "Speedup";
    }
    snprintf(caption, sizeof caption,
             "Predicted cumulative hit rates%s on cores of %.250s, all sections",
             study->has_time ? " and run times" : "", machine->name);
    report_table(page, caption, headings, count, 1, 0);
    for (size_t i = 0; i < study->run_count; i++) {
        const struct multicore_run *run = &study->runs[i];
        const struct multicore_row *row = multicore_row(study, run, 0, study->tasks.count);
        char name[16];
        snprintf(name, sizeof name, "%" PRIu32, run->cores);
        report_row_name(page, name);
        report_cell_count(page, row->accesses);
        for (uint32_t l = 0; l < machine->level_count; l++)
            report_cell_percent(page, row->rates[MULTICORE_SDCM].levels[l]);
        if (study->has_time) {
            const double first =
                multicore_row(study, &study->runs[0], 0, study->tasks.count)->seconds.total;
            report_cell_seconds(page, row->seconds.total);
            report_cell_number(page, 2, first / row->seconds.total);
        }
        report_row_end(page);
    }
    report_table_end(page);
    if (study->has_time && !(machine->parallel.section_cycles > 0))
        fputs("<p>What OpenMP itself takes to begin and end sections is left out: the machine does "
              "not say <code>parallel.section_cycles</code>.</p>\n",
              page->file);
}

static void write_reason(struct report_page *page, const char *what, const struct psnap_error *why)
{
    fprintf(page->file, "<p>Not predicted: %s: ", what);
    psnap_html_text(page->file, why->message);
    fputs("</p>\n", page->file);
}

void report_cores(struct report_page *page)
{
    const struct report *report = page->report;
    const struct report_input *input = NULL;
    struct multicore *study = calloc(1, sizeof *study);
    struct psnap_error error, no_time = {.code = PSNAP_OK};
    enum psnap_status status;

    for (size_t i = report->input_count; i-- > 0;)
        if (report->inputs[i].has_sections)
            input = &report->inputs[i];
    fputs("<h3>Several cores</h3>\n", page->file);
    psnap_error_set(&error, PSNAP_ERROR_UNSUPPORTED,
                    "no input has marks of OpenMP's parallel sections, as programs have that were "
                    "compiled by psnap cc -fopenmp --psnap-openmp and recorded with "
                    "OMP_NUM_THREADS=1");
    if (!study)
        psnap_error_set(&error, PSNAP_ERROR_MEMORY, "out of memory");
    status = error.code;
    if (study && input && report_can_read_again(report, input, &error)) {
        status = predict(page, input, true, study, &error);
        if (status) {
            no_time = error;
            status = predict(page, input, false, study, &error);
        }
    }
    if (status) {
        write_reason(page, "hit rates and run times on several cores", &error);
    } else {
        fprintf(page->file, "<p>Parallel sections of the %s input, dealt to cores as ",
                input->label);
        fputs("<code>psnap predict multicore</code> does it.</p>\n", page->file);
        write_table(page, study);
        if (no_time.code)
            write_reason(page, "run times on several cores", &no_time);
    }
    if (study)
        multicore_release(study);
    free(study);
}
