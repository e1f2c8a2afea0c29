/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap reuse: private to cmd_reuse*.c.
 */
#ifndef PSNAP_PREDICT_CMD_REUSE_H
#define PSNAP_PREDICT_CMD_REUSE_H

#include "predict/reuse/cmd_reuse_rows.h"
#include "replay/cmd_input.h"

struct reuse_settings {
    const char *path; /* of the input; of a merge NULL */
    struct psnap_input_options input;
    struct psnap_reuse_options reuse;
    bool wanted[PSNAP_SCOPE_COUNT];
    const char *csv, *svg; /* files to write, NULL: none */
    const char *output;    /* of a part */
    uint64_t part, parts;  /* which of how many, from 1; 0: the whole */
    bool json, bins, force;
};

struct reuse_report {
    struct reuse_rows rows;
    uint64_t accesses, lines, line_bytes;
    uint32_t threads;
    double seconds;
    char *input; /* as it was given; owned */
};

static inline double reuse_rate(const struct reuse_report *report)
{
    return report->seconds > 0 ? (double)report->accesses / report->seconds : 0;
}

double reuse_now(void); /* seconds, of a clock that is not set */

void reuse_print_table(const struct reuse_report *report, const struct reuse_settings *settings);
void reuse_print_json(const struct reuse_report *report, const struct reuse_settings *settings);

/* The regions' tagger, if they are wanted, which `options` get; *touched is the caller's to free.
 */
enum psnap_status reuse_tag(const struct reuse_settings *settings, struct psnap_source *source,
                            struct psnap_reuse_options *options, struct psnap_touched **touched,
                            struct psnap_error *error);

/* Measures settings->part of the input, and writes it to settings->output; an exit status. */
int reuse_make_part(const struct reuse_settings *settings);

/* The report of the whole that parts are of. */
enum psnap_status reuse_merge(char *const *paths, size_t count, struct reuse_report *report,
                              struct psnap_error *error);

#endif
