/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The work of psnap predict runtime: the input that is read, what is predicted from them, and the
 * rows of the report.
 */
#ifndef PSNAP_PREDICT_AMM_CMD_FORECAST_H
#define PSNAP_PREDICT_AMM_CMD_FORECAST_H

#include "predict/amm/cmd_mca.h"
#include "predict/amm/cmd_runtime_rows.h"
#include "replay/cmd_input.h"

/* An input that was read. */
struct forecast_run {
    const char *path;
    struct psnap_source *source;
    struct psnap_profile *profile; /* NULL: a trace */
    struct measure measure;
};

struct forecast_settings {
    const char *path;
    struct psnap_input_options input;
    const char *at, *probabilities, *write_probabilities, *csv, *observations;
    double size;   /* of the problem, of observations; 0: by the program's arguments */
    bool simulate; /* hit rates: the input is read once more */
    struct psnap_text_list assembly;
    const char *cpu; /* as llvm-mca calls it */
    double rate;
    uint64_t seed, line_bytes; /* of distances; 0: as the levels have it */
    bool json, force;
    struct runtime_settings rows; /* without machine, plans and loops */
};

struct forecast {
    struct psnap_machine machines[MACHINES_MAX];
    size_t machine_count;
    size_t plans_of[MACHINES_MAX][PSNAP_LEVELS_MAX];
    struct measure_plan plans[MEASURE_PLANS_MAX];
    size_t plan_count;
    struct forecast_run runs[2]; /* the last one may be --at's */
    size_t run_count;
    struct target target;
    const char *distances; /* what the target's are: "measured", or "fixed" of a smaller input */
    struct mca_loops mca;
    struct runtime_rows rows;
    size_t rows_end[MACHINES_MAX];
};

/* Finds machines, and plans which distances are measured for their levels. */
enum psnap_status forecast_machines(struct forecast *forecast, const struct psnap_text_list *names,
                                    const struct forecast_settings *settings,
                                    struct psnap_error *error);

/* The same of one that was found. */
enum psnap_status forecast_add_machine(struct forecast *forecast,
                                       const struct psnap_machine *machine,
                                       const struct forecast_settings *settings,
                                       struct psnap_error *error);

/* Reads the input, unless runs are there: all that rows are made of. Then the rows of machine `m`;
 * machines in order. */
enum psnap_status forecast_measure(struct forecast *forecast,
                                   const struct forecast_settings *settings,
                                   struct psnap_error *error);
enum psnap_status forecast_rows(struct forecast *forecast, const struct forecast_settings *settings,
                                size_t m, struct psnap_error *error);

/* Reads the input and predicts. The caller releases it, also after an error. */
enum psnap_status forecast_make(struct forecast *forecast, const struct forecast_settings *settings,
                                struct psnap_error *error);
/* Frees all but the rows: the rest refers to programs of streams that are about to go. */
void forecast_forget_runs(struct forecast *forecast);
void forecast_release(struct forecast *forecast);

#endif
