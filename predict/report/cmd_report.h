/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap report: what is measured of its inputs, and the parts of the page. Private to
 * predict/report/.
 */
#ifndef PSNAP_PREDICT_CMD_REPORT_H
#define PSNAP_PREDICT_CMD_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "predict/predict.h"
#include "predict/report/rank.h"
#include "predict/reuse/cmd_reuse_rows.h"
#include "profile/profile.h"
#include "replay/cmd_input.h"
#include "simcore/cmd_side.h"

/* Accesses that locality is measured of, a quarter of them where there are REPORT_LONG: windows of
 * a sample that lie closer than they reach back save little. */
#define REPORT_LOCALITY (UINT64_C(1) << 20)
#define REPORT_LONG (UINT64_C(1) << 23)
#define REPORT_ACCESSES UINT64_C(100000000) /* of an input, unless said: half a minute */

enum {
    REPORT_MACHINES = 8,
    REPORT_LOCALITIES = 3, /* loops that have surfaces, of the first input */
    REPORT_ROWS = 300,     /* loops in a table */
    REPORT_BARS = 12,      /* loops in a figure */
    REPORT_CURVES = 6,
    REPORT_PANELS = 6,
    REPORT_SIZES = 17, /* of caches in the figures of a site: 1 KiB to 64 MiB, by powers of two */
    REPORT_KEY = 20
};

struct report_timed;

/* Reuse distances by one size of line. */
struct report_distances {
    uint64_t line_bytes, lines; /* lines: touched */
    struct psnap_sink *sink;
    struct reuse_rows rows; /* the total first, then loops */
};

struct report_input {
    const char *path;
    char label[32]; /* "observed", "synthetic", "what if 2" */
    bool is_profile;
    struct psnap_profile *profile;  /* NULL: it is a trace */
    struct psnap_profile *measured; /* of the published model: regions and strides */
    struct psnap_sink *touched;     /* lines of distances[0] by loop */
    struct compare_side side;       /* simulated */
    bool has_operations;            /* it says what its loops compute */
    bool has_sections;              /* it has marks of parallel sections */
    struct report_distances distances[PSNAP_LEVELS_MAX];
    size_t distances_count;     /* [0] is of the first machine's nearest level */
    uint32_t locality_every;    /* one access in so many tells locality; 1: each */
    struct report_timed *timed; /* run times, or why there are none */
    struct psnap_locality *total;
    uint32_t threads;
    struct psnap_locality *loops[REPORT_LOCALITIES]; /* of those with most accesses, in the order */
    size_t loop_count;                               /* of side.loops */
};

struct report_page;

struct report {
    struct report_input inputs[RANK_INPUTS];
    size_t input_count;
    struct psnap_machine *machines;
    size_t machine_count;
    struct rank rank; /* rows are those of side.loops */
    struct psnap_input_options options;
    uint32_t threads; /* that measure; 0: as many as there are processors */
};

/* A page of a site (cmd_report_site.h): what is behind and beside it. */
struct report_place {
    const char *id;  /* of the profile */
    const char *key; /* of all that the page is made of, beside the profile */
};

struct report_settings {
    const char *output;
    bool force;
    const struct report_place *place; /* NULL: the page stands alone */
};

/* Measures the inputs, which have paths, and writes the page. */
enum psnap_status report_make(struct report *report, const struct report_settings *settings,
                              struct psnap_error *error);
/* What was measured; neither machines nor the report itself. */
void report_release(struct report *report);

/* psnap report REPOSITORY: an exit status. `like` has machines and options. */
int report_site(const char *repository, char *const *words, size_t word_count,
                const struct report *like, const struct report_settings *settings);

/* The figures of a page that an index of many shows, of its only input. */
struct report_figures {
    double rates[REPORT_MACHINES][PSNAP_LEVELS_MAX]; /* cumulative hit rates, percent */
    double misses[REPORT_SIZES]; /* shares, in fully associative caches of these sizes */
};
/* In the head of a page: its key and figures. */
void report_figures_write(struct report_page *page);
/* False: there is no such page, or one of another profile, or by another key. */
bool report_figures_read(const char *path, const struct report_place *place,
                         const struct report *report, struct report_figures *figures);
/* Whether it is a page of any key. */
bool report_figures_are_in(const char *path);

/* ---- measuring: cmd_report_measure.c ---- */

/* One pass of an input, whose path is set, through everything that the page has. */
enum psnap_status report_measure(struct report *report, struct report_input *input,
                                 struct psnap_error *error);
void report_input_release(struct report_input *input);

/* What the regions that were measured tell, of a loop of the source or (NULL) of all. */
struct report_regions {
    uint64_t accesses, loads, stores, strides[PSNAP_STRIDE_BINS];
    uint32_t count;
};
struct report_regions report_regions_of(const struct report_input *input, const char *src_id);
/* The bytes of the lines that it touches, each once. */
uint64_t report_working_set(const struct report_input *input, const char *src_id);

/* A row of reuse distances by its loop's id (NULL: the total); NULL: it has none. */
const struct reuse_row *report_reuse_row(const struct report_distances *distances, const char *id);

/* Predicted cumulative hit rates, by SDCM, of the levels of a machine; NaN where not known. */
void report_predict(const struct report_input *input, const struct psnap_machine *machine,
                    const char *id, double rates[PSNAP_LEVELS_MAX]);

/* Whether it was longer than what was taken of it. */
bool report_is_cut(const struct report *report, const struct report_input *input);

/* The row of a loop in an input; NULL: it does not have it. `loop` NULL: the total. */
const struct scope_row *report_row(const struct report *report, size_t input,
                                   const struct rank_loop *loop);

/* Lines of a figure: 0 is the whole program (NULL), then the loops ranked first, of those that have
 * at least 0.5 % of the accesses of an input. */
size_t report_line_count(const struct report *report);
const struct rank_loop *report_line(const struct report *report, size_t line);
const char *report_line_id(const struct report *report, size_t line); /* NULL: the whole program */
const char *report_line_name(const struct report *report, size_t line);
/* Loops in tables; others do not make the page longer, */
size_t report_row_count(const struct report *report);
/* "90.12", or "> 99.99" of what is not all: a share in percent. */
const char *report_percent(double share, char text[32]);

/* ---- the page ---- */

struct report_page {
    const struct report *report;
    const struct report_place *place; /* NULL: it stands alone */
    FILE *file;
    unsigned figures;             /* so far */
    bool can_draw;                /* gnuplot is there; */
    struct psnap_error no_figure; /* else why not */
};

/* Everything. Errors of writing are found when the output is committed. */
enum psnap_status report_write(struct report_page *page, struct psnap_error *error);
extern const char *const report_style[]; /* the style sheet, ended by NULL */

/* ---- pieces of it: cmd_report_pieces.c ---- */

void report_section(struct report_page *page, const char *id, const char *title);
void report_section_end(struct report_page *page);
void report_heading(struct report_page *page, const char *title);

/* Text that breaks where a reader would: not before "%" or in an option, and behind the commas of
 * "32K:64:8,1M:64:16". */
void report_text(struct report_page *page, const char *text);

/* A table that scrolls by itself where it is too wide, by the keyboard too. Headings from
 * `first_number` on are of numbers, but for the last `texts`. */
void report_table(struct report_page *page, const char *caption, const char *const *headings,
                  size_t columns, size_t first_number, size_t texts);
void report_table_end(struct report_page *page);
/* Cells: a name that heads the row, perhaps with a second line; numbers; NaN is a dash. */
void report_row_name(struct report_page *page, const char *name);
void report_row_names(struct report_page *page, const char *name, const char *second);
void report_cell(struct report_page *page, const char *format, ...) PSNAP_PRINTF(2, 3);
void report_cell_count(struct report_page *page, uint64_t count);
void report_cell_bytes(struct report_page *page, uint64_t bytes);
/* Of so many digits behind the point; REPORT_SIGNED: two, with a sign. */
enum { REPORT_SIGNED = -1 };
void report_cell_number(struct report_page *page, int digits, double number);
void report_cell_percent(struct report_page *page, double share);
void report_cell_strides(struct report_page *page, const uint64_t strides[PSNAP_STRIDE_BINS]);
/* With a bar, of a series. */
void report_cell_bar(struct report_page *page, unsigned series, double share);
void report_row_end(struct report_page *page);

/* The table that a figure is drawn of: hidden at first unless there are no figures. */
void report_details(struct report_page *page, const char *summary);
void report_details_end(struct report_page *page);

/* which this says where there are some. */
void report_rows_left_out(struct report_page *page);

/* What colours mean: entries of series from 1 on. */
void report_legend(struct report_page *page);
void report_legend_entry(struct report_page *page, unsigned series, const char *mark,
                         const char *name);
void report_legend_end(struct report_page *page);
void report_legend_inputs(struct report_page *page); /* of bars; if there are several */

/* A script for gnuplot with what all figures have; NULL: there are no figures. */
FILE *report_script(struct report_page *page, unsigned width, unsigned height);
/* Draws it into the page; `script` NULL: nothing. */
void report_draw(struct report_page *page, FILE *script, const char *title,
                 const char *description);
/* A y axis of lines (report_line), the first one uppermost. */
void report_line_axis(const struct report *report, FILE *script);
/* Lines where caches of the first machine end, if the x axis is of bytes. */
void report_cache_marks(const struct report *report, FILE *script);
/* Ticks of a logarithmic x axis of bytes. */
void report_bytes_axis(FILE *script, uint64_t low, uint64_t high);
/* A name in a script, short. */
void report_quoted(FILE *script, const char *name, size_t most);
/* The series of an input; that of predictions. */
unsigned report_series(size_t input);
/* Its mark in legends, and in scripts. */
const char *report_mark(size_t input);
unsigned report_point(size_t input);
enum { REPORT_PREDICTED = 3 };

/* ---- sections, each in a file of its name ---- */

void report_summary(struct report_page *page);
void report_inputs(struct report_page *page);
void report_loops(struct report_page *page);
void report_rates(struct report_page *page);
enum psnap_status report_compare(struct report_page *page, struct psnap_error *error);
/* Of two profiles. */
enum psnap_status report_diff(struct report_page *page, const struct report_input *a,
                              const struct report_input *b, struct psnap_error *error);
void report_curves(struct report_page *page);
void report_working_sets(struct report_page *page);
void report_strides(struct report_page *page);
void report_surfaces(struct report_page *page);
void report_times(struct report_page *page);
void report_cores(struct report_page *page); /* a part of that */
/* Whether an input can be read once more, and all of it. */
bool report_can_read_again(const struct report *report, const struct report_input *input,
                           struct psnap_error *error);

/* A sink that measures what run times need, beside those of input->distances. NULL: no machine says
 * what is needed, or memory is out. */
struct psnap_sink *report_timed_sink(const struct report *report, struct report_input *input,
                                     const struct psnap_program *program);
/* Makes input->timed of it, before its program goes; `sink` NULL: input->timed is not made. */
void report_timed_take(const struct report *report, struct report_input *input,
                       const struct psnap_sink *sink);
/* Makes input->timed by reading the input once more. */
enum psnap_status report_timed_read(const struct report *report, struct report_input *input,
                                    struct psnap_error *error);
void report_timed_free(struct report_timed *timed);

void report_cell_seconds(struct report_page *page, double seconds);
enum psnap_status report_certificate(struct report_page *page, struct psnap_error *error);
bool report_has_certificate(const struct report *report); /* that is, a profile */

#endif
