/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Figures of gnuplot as parts of an HTML page.
 */
#ifndef PSNAP_PREDICT_SVG_H
#define PSNAP_PREDICT_SVG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Colours that a script uses for those of the page, which differ in light and dark: series from 1
 * on (--s1 ...), and steps of a scale from 0 on (--p0 ...). printf formats of one number times 16.
 */
#define SVG_SERIES "#01%02x00"
#define SVG_SCALE "#02%02x00"
enum { SVG_COLOURS = 15 }; /* of each, at most */

/*
 * Writes the figure that gnuplot's terminal svg made, `size` bytes of text, as an element of a
 * page: with a title and a description for those who do not see it, ids that begin with
 * "f<number>-", and the page's colours. Only elements and attributes that figures consist of are
 * copied: whatever else is in it, scripts and links for instance, is not. False: it is no such
 * figure.
 */
bool svg_inline(const char *text, size_t size, unsigned number, const char *title,
                const char *description, FILE *file);

#endif
