/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Text for HTML pages. Names come from programs and traces, and may be anything.
 */
#ifndef PSNAP_BASE_HTML_H
#define PSNAP_BASE_HTML_H

#include <stddef.h>
#include <stdio.h>

/*
 * Writes a text so that a browser shows it and nothing else, between tags as well as in an
 * attribute in double or single quotes (psnap_text_shown).
 */
void psnap_html_text(FILE *file, const char *text);

/* A text of more than `most` characters without its middle, "std::vec\u2026push_back", in `room`,
 * which is cut where it is too small; returns it. */
enum { PSNAP_HTML_SHORT = 256 };
char *psnap_html_shorten(const char *text, size_t most, char room[PSNAP_HTML_SHORT]);

/* The text, short, with all of it in a title where it was shortened. */
void psnap_html_name(FILE *file, const char *text, size_t most);

#endif
