/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * JSON output (RFC 8259), streamed. The outermost value's members and the
 * members of its members each start a line, deeper ones stay on it: one row of
 * a report is one line, good for people, diff and grep alike. A newline ends
 * the outermost value.
 *
 * Invariant: has_members[d] tells whether the container at depth d + 1 holds
 * something already, so that a comma is due. Nesting deeper than
 * PSNAP_JSON_DEPTH is a mistake of the caller and asserted.
 */
#include "formats/base/json.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>

#include "formats/base/text.h"

#define LINES_DEPTH 2u /* members down to this depth start a line */

void psnap_json_init(struct psnap_json *json, FILE *file)
{
    *json = (struct psnap_json){.file = file};
}

static void write_escaped(FILE *file, const char *text)
{
    fputc('"', file);
    while (*text) {
        const unsigned char c = (unsigned char)*text;
        uint32_t code;
        const size_t length = psnap_text_utf8(text, &code);
        if (c == '"' || c == '\\')
            fprintf(file, "\\%c", c);
        else if (c == '\n')
            fputs("\\n", file);
        else if (c == '\t')
            fputs("\\t", file);
        else if (!length)
            fputs(PSNAP_TEXT_HIDDEN, file); /* for each byte that makes no sense */
        else if (psnap_text_shown(text) || code > 0xffff)
            fwrite(text, 1, length, file);
        else
            fprintf(file, "\\u%04" PRIx32, code);
        text = psnap_text_next(text);
    }
    fputc('"', file);
}

static void start_line(const struct psnap_json *json)
{
    fprintf(json->file, "\n%*s", (int)(2 * json->depth), "");
}

static void begin_member(struct psnap_json *json, const char *key)
{
    if (json->depth) {
        bool *has_members = &json->has_members[json->depth - 1];
        if (*has_members)
            fputc(',', json->file);
        if (json->depth <= LINES_DEPTH)
            start_line(json);
        else if (*has_members)
            fputc(' ', json->file);
        *has_members = true;
    }
    if (key) {
        write_escaped(json->file, key);
        fputs(": ", json->file);
    }
}

static void end_outermost(struct psnap_json *json)
{
    if (json->depth == 0)
        fputc('\n', json->file);
}

static void begin_container(struct psnap_json *json, const char *key, char bracket)
{
    begin_member(json, key);
    fputc(bracket, json->file);
    assert(json->depth < PSNAP_JSON_DEPTH);
    json->has_members[json->depth++] = false;
}

static void end_container(struct psnap_json *json, char bracket)
{
    assert(json->depth > 0);
    json->depth--;
    if (json->has_members[json->depth] && json->depth < LINES_DEPTH)
        start_line(json);
    fputc(bracket, json->file);
    end_outermost(json);
}

void psnap_json_begin_object(struct psnap_json *json, const char *key)
{
    begin_container(json, key, '{');
}

void psnap_json_end_object(struct psnap_json *json)
{
    end_container(json, '}');
}

void psnap_json_begin_array(struct psnap_json *json, const char *key)
{
    begin_container(json, key, '[');
}

void psnap_json_end_array(struct psnap_json *json)
{
    end_container(json, ']');
}

void psnap_json_text(struct psnap_json *json, const char *key, const char *text)
{
    begin_member(json, key);
    if (text)
        write_escaped(json->file, text);
    else
        fputs("null", json->file);
    end_outermost(json);
}

void psnap_json_u64(struct psnap_json *json, const char *key, uint64_t value)
{
    begin_member(json, key);
    fprintf(json->file, "%" PRIu64, value);
    end_outermost(json);
}

void psnap_json_i64(struct psnap_json *json, const char *key, int64_t value)
{
    begin_member(json, key);
    fprintf(json->file, "%" PRId64, value);
    end_outermost(json);
}

void psnap_json_real(struct psnap_json *json, const char *key, double value)
{
    char buffer[32];

    begin_member(json, key);
    fputs(isfinite(value) ? psnap_text_from_real(value, buffer) : "null", json->file);
    end_outermost(json);
}

void psnap_json_bool(struct psnap_json *json, const char *key, bool value)
{
    begin_member(json, key);
    fputs(value ? "true" : "false", json->file);
    end_outermost(json);
}
