/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CSV of reports, as RFC 4180 has it but for the ends of lines, which are single line feeds. Part
 * of the program, not of the library.
 *
 * A record is its fields one after the other, and psnap_csv_end.
 */
#ifndef PSNAP_CMD_CSV_H
#define PSNAP_CMD_CSV_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct psnap_csv {
    FILE *file;
    bool has_field; /* in the record that is being written */
};

/* Does not own `file`. */
void psnap_csv_init(struct psnap_csv *csv, FILE *file);

/* In quotes where it has a comma or a quote; quotes in it are doubled. What a terminal would obey
 * is replaced (psnap_text_shown), and what a spreadsheet would take for a formula, as it begins
 * with = + - or @ and is no number, gets an apostrophe before it. */
void psnap_csv_text(struct psnap_csv *csv, const char *text);
void psnap_csv_u64(struct psnap_csv *csv, uint64_t value);
/* The shortest that reads back as the same; empty when it is not finite. */
void psnap_csv_real(struct psnap_csv *csv, double value);
/* A field that this record does not have. */
void psnap_csv_none(struct psnap_csv *csv);
void psnap_csv_end(struct psnap_csv *csv);

#endif
