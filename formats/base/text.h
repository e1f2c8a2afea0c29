/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Numbers and names as text, the same in YAML, on the command line and in
 * text traces, whatever the locale. The whole text must be the number: no
 * blanks, no trailing characters; false leaves *value alone.
 */
#ifndef PSNAP_BASE_TEXT_H
#define PSNAP_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/base/api.h"

/* Decimal or 0x; false when it is none or does not fit. i64 takes a leading '-' or '+'. */
PSNAP_API bool psnap_text_u64(const char *text, uint64_t *value);
PSNAP_API bool psnap_text_i64(const char *text, int64_t *value);

/* Like u64, with an optional binary multiple K, M, G or T: "32K" is 32768. */
PSNAP_API bool psnap_text_size(const char *text, uint64_t *value);

/* Decimal, with or without point and exponent; false for overflow: the value is always finite. */
PSNAP_API bool psnap_text_real(const char *text, double *value);

/*
 * Writes `value` with the fewest digits that read back to the same double:
 * "100", "0.25", "1.0e-07" (readers of YAML 1.1 want the point), whatever the
 * locale; "nan", "inf" and "-inf" when not finite. Returns `buffer`.
 */
PSNAP_API char *psnap_text_from_real(double value, char buffer[32]);

/* The length of the well-formed UTF-8 sequence at `text`, 1 to 4, and its character; 0 when it is
 * not well formed (overlong, surrogate, beyond U+10FFFF, cut off by NUL). */
PSNAP_API size_t psnap_text_utf8(const char *text, uint32_t *code);

/* The length of the sequence at `text` if a terminal, a browser and a spreadsheet show it as what
 * it is; 0 for bytes that are no UTF-8, for control characters, and for characters that end a line
 * or change the direction of the text around them. Names come from programs, traces and profiles of
 * others: they are shown with PSNAP_TEXT_HIDDEN in place of such a character. */
PSNAP_API size_t psnap_text_shown(const char *text);

#define PSNAP_TEXT_HIDDEN "\xef\xbf\xbd" /* U+FFFD */

/* Where the character after the one at `text` begins, or the next byte where that is no UTF-8. */
PSNAP_API const char *psnap_text_next(const char *text);

/* What follows the last slash: a pointer into `path`. */
PSNAP_API const char *psnap_text_base_name(const char *path);

/* Whether `text` ends in `end`; it may be all of it. */
PSNAP_API bool psnap_text_ends_in(const char *text, const char *end);

/* Of `count` names the one that `name` is most likely a misspelling of; NULL when none is near
 * (more than a third of the letters differ, and none begins with it). NULL entries are skipped. */
PSNAP_API const char *psnap_text_nearest(const char *name, const char *const *names, size_t count);

#endif
