/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What psnap predict multicore finds out (cmd_multicore_study.c, cmd_multicore_time.c) and reports
 * (cmd_multicore_report.c).
 */
#ifndef PSNAP_PREDICT_CMD_MULTICORE_H
#define PSNAP_PREDICT_CMD_MULTICORE_H

#include "predict/amm/cmd_mca.h"
#include "predict/amm/runtime.h"
#include "predict/multicore/tasks.h"
#include "replay/cmd_input.h"
#include "simcore/simcore.h"

enum multicore_method {
    MULTICORE_SDCM,
    MULTICORE_SETS,
    MULTICORE_SIM,
    MULTICORE_OBSERVED, /* a recorded run of so many threads, simulated */
    MULTICORE_METHODS
};
extern const char *const multicore_method_names[MULTICORE_METHODS];

enum { MULTICORE_MACHINES_MAX = 16, MULTICORE_RUNS_MAX = 32 };

/* Cumulative hit rates on one machine by one method; NAN: not known. */
struct multicore_rates {
    double levels[PSNAP_LEVELS_MAX];
};

/* A section, or all of them, on so many cores of a machine. */
struct multicore_row {
    struct multicore_rates rates[MULTICORE_METHODS];
    uint64_t accesses; /* of all cores */
    uint64_t busiest;  /* of the core that has most from barrier to barrier */
    struct runtime_seconds seconds;
    double sync_seconds; /* in seconds.total: OpenMP's own, to begin and end it and at barriers */
};

/* Of one number of cores: sections of each machine, behind them their total. */
struct multicore_run {
    uint32_t cores;
    struct multicore_row *rows; /* [machine * (sections + 1) + section] */
};

struct multicore {
    const char *path;
    const char *from; /* where it is opened: the path, or "-" if that is a pipe */
    struct psnap_input_options input;
    struct psnap_machine machines[MULTICORE_MACHINES_MAX];
    size_t machine_count;
    struct psnap_mimic_options mimic; /* cores aside */
    bool methods[MULTICORE_METHODS];
    enum multicore_method timed; /* whose rates run times are of */
    bool has_time;
    enum runtime_method time;
    const char *against;                    /* a trace of as many threads, or NULL */
    bool is_list;                           /* the input is a task list */
    const struct psnap_text_list *assembly; /* files of the program's code, perhaps none */
    const char *cpu;                        /* as llvm-mca calls it */
    bool has_sync;                          /* run times have what OpenMP takes itself */
    bool by_loops;                          /* run times are of loops, not of sections as wholes */
    struct mca_loops mca;                   /* with `assembly` */
    uint32_t loop_count;                    /* of the program */
    double *weights; /* [section * loops + loop]: which share of a loop the section has */
    struct tasks tasks;
    struct multicore_run runs[MULTICORE_RUNS_MAX];
    size_t run_count;
    /* with `against`, one run: accesses of its cores, mimicked; the largest relative difference */
    uint64_t core_accesses[PSNAP_CORES_MAX];
    double core_difference;
};

/* Fills tasks and runs. */
enum psnap_status multicore_study(struct multicore *study, struct psnap_error *error);
void multicore_release(struct multicore *study);
/* Gives the tasks, which are there by their accesses, the operations of their sections. The weights
 * of struct multicore, which the caller frees; NULL: out of memory. */
double *multicore_share(struct tasks *tasks, const struct psnap_program *program,
                        const struct psnap_profile *profile, const struct psnap_section *sections);
/* Whether marks come from an input in their order: it is a trace (`profile` NULL) or a profile of
 * model nests; false with an error that says what to record. */
bool multicore_has_order(const struct psnap_profile *profile, const char *path,
                         struct psnap_error *error);
/* Adds to an error that names fields which run times need how to do without. */
enum psnap_status multicore_lacks(struct psnap_error *error);
/* An error that names what run times need of a machine, operations apart, and is not there. */
enum psnap_status multicore_check_machine(const struct multicore *study,
                                          const struct psnap_machine *machine,
                                          struct psnap_error *error);
/* Fills the seconds of a section's row from its rates and numbers of accesses; an error names what
 * the machine lacks for its operations, too. */
enum psnap_status multicore_time(const struct multicore *study, const struct psnap_machine *machine,
                                 size_t section, uint32_t cores, struct multicore_row *row,
                                 struct psnap_error *error);
/* Adds to a section's row what OpenMP's run-time library takes. */
void multicore_sync(const struct multicore *study, const struct psnap_machine *machine,
                    size_t section, uint32_t cores, struct multicore_row *row);
/* Fills the seconds of all sections' rows from what the pass measured of loops
 * (cmd_multicore_loops.c). */
struct pass;
enum psnap_status multicore_time_loops(struct multicore *study, const struct pass *pass,
                                       const struct multicore_run *run, struct psnap_error *error);
/* Simulates the recorded run into MULTICORE_OBSERVED of the totals and fills core_difference; a run
 * of other sections is an error (cmd_multicore_against.c). */
enum psnap_status multicore_observe(struct multicore *study, struct multicore_run *run,
                                    struct psnap_error *error);
/* The row of a section; `section` tasks.count: the total. */
static inline struct multicore_row *multicore_row(const struct multicore *study,
                                                  const struct multicore_run *run, size_t machine,
                                                  size_t section)
{
    return &run->rows[machine * (study->tasks.count + 1) + section];
}

void multicore_print(const struct multicore *study, bool sections);
void multicore_print_json(const struct multicore *study);

#endif
