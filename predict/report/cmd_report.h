/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap report: what is measured of its inputs, and what pages are written with. Private to
 * predict/report/.
 */
#ifndef PSNAP_PREDICT_CMD_REPORT_H
#define PSNAP_PREDICT_CMD_REPORT_H

#include "predict/amm/cmd_forecast.h"
#include "predict/predict.h"
#include "predict/reuse/cmd_reuse_rows.h"
#include "profile/profile.h"
#include "replay/cmd_input.h"
#include "simcore/cmd_side.h"

#define REPORT_ACCESSES UINT64_C(100000000) /* of an input, unless said: half a minute's work */

enum {
    REPORT_INPUTS = 4,
    REPORT_MACHINES = 8,
    REPORT_ROWS = 300, /* loops in a table */
    REPORT_TEXT = 96,
    REPORT_COLUMNS = PSNAP_LEVELS_MAX * (REPORT_INPUTS + 1) + PSNAP_STRIDE_BINS
};

/* Reuse distances in one size of lines. */
struct report_distances {
    uint64_t line_bytes, lines; /* lines: touched */
    struct reuse_rows rows;     /* the total, then loops */
};

struct report_input {
    const char *path;
    char label[32]; /* "observed", "synthetic", "what if 2" */
    bool is_profile;
    struct psnap_profile *profile;  /* NULL: it is a trace */
    struct psnap_profile *measured; /* of the published model: regions and strides */
    struct compare_side side;       /* simulated */
    uint64_t *loop_lines;           /* by row of side.loops: the lines that the loop touches, */
    struct report_distances distances[PSNAP_LEVELS_MAX]; /* in the first of these sizes, that */
    size_t distances_count;                              /* of the first machine's level 1 */
    uint32_t threads;
    struct psnap_locality *locality;
    uint32_t locality_every;             /* one access in this many tells locality */
    bool is_cut;                         /* it may have more accesses than were taken */
    struct forecast *forecast;           /* run times */
    size_t forecast_of[REPORT_MACHINES]; /* the machine's number there; SIZE_MAX: it has none, */
    char reason[REPORT_MACHINES][512];   /* and why */
};

/* A loop of the source; NULL is the whole program. */
struct report_loop {
    const char *id, *name;
    const struct scope_row *rows[REPORT_INPUTS]; /* NULL: the input does not have it */
    double share;                                /* of accesses, the largest of an input */
};

struct report {
    struct report_input inputs[REPORT_INPUTS];
    size_t input_count;
    struct psnap_machine *machines;
    size_t machine_count;
    struct report_loop *loops;         /* the largest share first */
    size_t loop_count, relevant_count; /* relevant: at least 0.5 % of an input's accesses */
    struct psnap_input_options options;
    uint32_t threads; /* that measure; 0: as many as there are processors */
};

/* ---- measuring: cmd_report_measure.c ---- */

/* Runs an input, whose path is set, once through everything that the page has. */
enum psnap_status report_measure(struct report *report, struct report_input *input,
                                 struct psnap_error *error);
void report_input_release(struct report_input *input);
/* Fills report->loops and their counts. */
enum psnap_status report_rank(struct report *report, struct psnap_error *error);

/* Sums over the regions of a loop, or of all loops (NULL). */
struct report_regions {
    uint64_t accesses, loads, strides[PSNAP_STRIDE_BINS], stride_count;
};
struct report_regions report_regions_of(const struct report_input *input,
                                        const struct report_loop *loop);
/* Bytes of the lines that it touches. */
double report_footprint(const struct report_input *input);

/* A number of each loop, as tables and figures have it. */
enum report_kind {
    REPORT_ACCESS_COUNT,
    REPORT_SHARE,       /* of the input's accesses */
    REPORT_WORKING_SET, /* bytes of the lines that it touches */
    REPORT_RATE,        /* cumulative hit rate on `machine` at level `at` */
    REPORT_PREDICTED,   /* the same by SDCM */
    REPORT_CHANGE,      /* of the rate from the first input, points */
    REPORT_MISSES,      /* miss ratio of a fully associative cache of `at` bytes */
    REPORT_STRIDE,      /* share of bin `at` */
    REPORT_STRIDES,     /* the largest bins, as text */
    REPORT_TIME /* seconds on `machine` by model `at`; one behind the last is memory in overlap */
};

struct report_column {
    enum report_kind kind;
    size_t input, machine;
    uint64_t at;
};

struct report_columns {
    struct report_column items[REPORT_COLUMNS];
    size_t count;
};

/* NaN: not known. */
double report_value(const struct report *report, const struct report_column *column,
                    const struct report_loop *loop);

/* ---- pages: cmd_report_page.c, report_make: cmd_report_sections.c ---- */

enum { REPORT_NAME = 48 }; /* characters of a name */

struct report_page {
    const struct report *report;
    const char *site_key, *site_id; /* of a page of a site, else NULL */
    FILE *file;
    bool can_draw;                /* gnuplot is there; */
    struct psnap_error no_figure; /* else why not */
};

struct report_section {
    const char *id, *title;
    void (*write)(struct report_page *page);
};

/* Makes a page at `path`, of inputs that have paths. */
enum psnap_status report_make(struct report *report, const char *path, bool force,
                              struct report_page *page, struct psnap_error *error);
/* Write the head and the foot of a page or an index; `title` stands in it twice, as text. */
void report_begin(FILE *file, const char *title);
void report_end(FILE *file);

/* Tables: headings with a '|' between them, those of numbers with '#' before them. A table that
 * has a summary is folded, unless there are no figures. */
void report_table(struct report_page *page, const char *summary, const char *caption,
                  const char *headings);
void report_table_end(struct report_page *page, const char *summary);
/* Begins a row, whose name may have a second line; cells. */
void report_row(struct report_page *page, const char *name, const char *second);
void report_text(struct report_page *page, const char *text);
/* As 'n' a number of things, 'b' bytes, '%' a share, 's' seconds, '+' points, 'r' of three digits
 * behind the point; NaN is a dash. */
void report_cell(struct report_page *page, char format, double value);
/* A name between tags: <code>, say. */
void report_name(struct report_page *page, const char *element, const char *name);

/* Tables of loops: adds a column for each input of [from, to); rows from `first`, 0
 * being the whole program, to loop `last` from 1. */
void report_add(struct report_columns *columns, enum report_kind kind, size_t machine, uint64_t at,
                size_t from, size_t to);
void report_loop_table(struct report_page *page, const char *summary, const char *caption,
                       const struct report_columns *columns, size_t first, size_t last);

/* A script for gnuplot with what all figures have; NULL: there are no figures. */
FILE *report_script(struct report_page *page, unsigned width, unsigned height);
/* Draws it into the page. */
void report_draw(struct report_page *page, FILE *script, const char *title,
                 const char *description);

/* ---- run times: cmd_report_times.c ---- */

/* Reads the input once more, if there is something to predict; fails where memory is out. */
enum psnap_status report_forecast(const struct report *report, struct report_input *input,
                                  struct psnap_error *error);
double report_seconds(const struct report *report, const struct report_column *column,
                      const struct report_loop *loop);

/* ---- sites: cmd_report_site.c ---- */

/* psnap report ARCHIVE: an exit status. `like` has machines and options. */
int report_site(const char *archive, char *const *words, size_t word_count,
                const struct report *like, const char *directory, bool force);

#endif
