/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pages of the manual, in roff with the macros of man(7): what groff and mandoc both take. Part of
 * the program, not of the library.
 */
#ifndef PSNAP_BASE_CMD_ROFF_H
#define PSNAP_BASE_CMD_ROFF_H

#include <stdio.h>

/* The heading, and the section NAME: "psnap-sim", 1, "simulate ...". No date: the same sources
 * give the same page. */
void psnap_roff_begin(FILE *file, const char *title, int section, const char *summary);

/* One line of text, whose characters all stand for themselves; the newline is the caller's. */
void psnap_roff_text(FILE *file, const char *text, size_t length);

/* Paragraphs with empty lines between, the first one below the heading or tag; lines that begin
 * with a space are kept as they are. */
void psnap_roff_paragraphs(FILE *file, const char *text);

/* A synopsis: words to be typed are bold, metavariables (FILE) italic. */
void psnap_roff_synopsis(FILE *file, const char *text);

#endif
