/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * JSON output, streamed: begin, members, end. Strings are escaped (invalid
 * UTF-8 bytes become U+FFFD), reals are written with the fewest digits that
 * read back the same, NaN and infinities as null. Write errors stay in the
 * FILE for the caller to see.
 */
#ifndef PSNAP_BASE_JSON_H
#define PSNAP_BASE_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "formats/base/api.h"

#define PSNAP_JSON_DEPTH 72 /* a YAML document within a report */

struct psnap_json {
    FILE *file;
    unsigned depth;
    bool has_members[PSNAP_JSON_DEPTH];
};

PSNAP_API void psnap_json_init(struct psnap_json *json, FILE *file);

/* `key` is NULL for the outermost value and inside arrays. */
PSNAP_API void psnap_json_begin_object(struct psnap_json *json, const char *key);
PSNAP_API void psnap_json_end_object(struct psnap_json *json);
PSNAP_API void psnap_json_begin_array(struct psnap_json *json, const char *key);
PSNAP_API void psnap_json_end_array(struct psnap_json *json);
PSNAP_API void psnap_json_text(struct psnap_json *json, const char *key, const char *text);
PSNAP_API void psnap_json_u64(struct psnap_json *json, const char *key, uint64_t value);
PSNAP_API void psnap_json_i64(struct psnap_json *json, const char *key, int64_t value);
PSNAP_API void psnap_json_real(struct psnap_json *json, const char *key, double value);
PSNAP_API void psnap_json_bool(struct psnap_json *json, const char *key, bool value);

#endif
