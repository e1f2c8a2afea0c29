/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Numbers and names as text. strtoull and strtod accept more than we want
 * (blanks, signs, "inf", hexadecimal floats), so what they get is looked at before; strtod and
 * printf follow the locale's decimal point, so reals are read under the "C" locale, which is set
 * for the calling thread only.
 *
 * Names are compared by edit distance (insert, delete, replace, swap two
 * neighbours), a dynamic programme over three rows, with names cut at
 * NAME_MAX_COMPARED bytes.
 */
#include "formats/base/text.h"

#include <ctype.h>
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_COMPARED 64

/* Reads digits up to the first character that is none; NULL when there is none or on overflow. */
static const char *read_u64(const char *text, uint64_t *value)
{
    const bool is_hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    char *end;

    if (is_hex ? !isxdigit((unsigned char)text[2]) : !isdigit((unsigned char)text[0]))
        return NULL;
    errno = 0;
    *value = strtoull(text, &end, is_hex ? 16 : 10);
    return errno ? NULL : end;
}

bool psnap_text_u64(const char *text, uint64_t *value)
{
    uint64_t sum;
    const char *end = read_u64(text, &sum);

    if (!end || *end)
        return false;
    *value = sum;
    return true;
}

bool psnap_text_i64(const char *text, int64_t *value)
{
    const bool negative = *text == '-';
    uint64_t magnitude;

    if (!psnap_text_u64(text + (negative || *text == '+'), &magnitude))
        return false;
    if (magnitude > (uint64_t)INT64_MAX + negative)
        return false;
    *value = (int64_t)(negative ? 0 - magnitude : magnitude);
    return true;
}

bool psnap_text_size(const char *text, uint64_t *value)
{
    static const char units[] = "KMGT";
    uint64_t sum;
    const char *end = read_u64(text, &sum);
    const char *unit;

    if (!end)
        return false;
    if (*end) {
        unit = strchr(units, *end >= 'a' && *end <= 'z' ? *end - 'a' + 'A' : *end);
        if (!unit || end[1])
            return false;
        const int shift = 10 * (int)(unit - units + 1);
        if (sum > UINT64_MAX >> shift)
            return false;
        sum <<= shift;
    }
    *value = sum;
    return true;
}

/* The "C" locale for this thread; glibc hands out a static object, so this cannot fail there. */
static locale_t enter_c_locale(locale_t *before)
{
    const locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);

    *before = c ? uselocale(c) : (locale_t)0;
    return c;
}

static void leave_c_locale(locale_t c, locale_t before)
{
    if (c) {
        uselocale(before);
        freelocale(c);
    }
}

bool psnap_text_real(const char *text, double *value)
{
    locale_t before, c;
    char *end;
    double number;

    if (!*text || text[strspn(text, "0123456789.eE+-")])
        return false;
    c = enter_c_locale(&before);
    number = strtod(text, &end);
    leave_c_locale(c, before);
    if (end == text || *end || !isfinite(number))
        return false;
    *value = number;
    return true;
}

/* Fixed notation for what people read easily, else an exponent. YAML 1.1 wants a point before it.
 */
static void write_real(double value, int digits, char buffer[32])
{
    int exponent;
    char *e;

    snprintf(buffer, 32, "%.*e", digits - 1, value);
    e = strchr(buffer, 'e');
    exponent = atoi(e + 1);
    if (exponent >= -5 && exponent < 16) {
        const int decimals = digits - 1 - exponent;
        snprintf(buffer, 32, "%.*f", decimals > 0 ? decimals : 0, value);
    } else if (digits == 1) {
        memmove(e + 2, e, strlen(e) + 1);
        memcpy(e, ".0", 2);
    }
}

char *psnap_text_from_real(double value, char buffer[32])
{
    locale_t before, c;

    if (!isfinite(value)) {
        strcpy(buffer, isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
        return buffer;
    }
    c = enter_c_locale(&before);
    for (int digits = 1; digits <= 17; digits++) { /* 17 always read back; most of ours need few */
        double back;
        write_real(value, digits, buffer);
        back = strtod(buffer, NULL);
        if (back >= value && back <= value)
            break;
    }
    leave_c_locale(c, before);
    return buffer;
}

size_t psnap_text_utf8(const char *text, uint32_t *code)
{
    const unsigned char *s = (const unsigned char *)text;
    size_t length;
    uint32_t least;

    if (s[0] < 0x80)
        length = 1, *code = s[0], least = 0;
    else if (s[0] >= 0xf0)
        length = 4, *code = s[0] & 0x07u, least = 0x10000;
    else if (s[0] >= 0xe0)
        length = 3, *code = s[0] & 0x0fu, least = 0x800;
    else if (s[0] >= 0xc0)
        length = 2, *code = s[0] & 0x1fu, least = 0x80;
    else
        return 0;
    if (s[0] > 0xf4)
        return 0;
    for (size_t i = 1; i < length; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        *code = *code << 6 | (s[i] & 0x3fu);
    }
    if (*code < least || *code > 0x10ffff || (*code >= 0xd800 && *code <= 0xdfff))
        return 0;
    return length;
}

/* Returns false for control characters, and for those that end lines or change the direction of
 * the text around them. */
static bool is_shown(uint32_t code)
{
    return code >= 0x20 && !(code >= 0x7f && code < 0xa0) && code != 0x061c &&
           !(code >= 0x200e && code <= 0x200f) && !(code >= 0x2028 && code <= 0x202e) &&
           !(code >= 0x2066 && code <= 0x2069) && code != 0xfeff && (code & 0xfffe) != 0xfffe;
}

size_t psnap_text_shown(const char *text)
{
    uint32_t code;
    const size_t length = psnap_text_utf8(text, &code);

    return length && is_shown(code) ? length : 0;
}

const char *psnap_text_next(const char *text)
{
    uint32_t code;
    const size_t length = psnap_text_utf8(text, &code);

    return text + length + !length;
}

static size_t edit_distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t rows[3][NAME_MAX_COMPARED + 1]; /* row i of the table is rows[i % 3] */

    for (size_t j = 0; j <= b_length; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        const size_t *above = rows[(i + 2) % 3], *two_above = rows[(i + 1) % 3];
        size_t *row = rows[i % 3];
        row[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            size_t least = above[j - 1] + (a[i - 1] != b[j - 1]);
            if (above[j] + 1 < least)
                least = above[j] + 1;
            if (row[j - 1] + 1 < least)
                least = row[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                two_above[j - 2] + 1 < least)
                least = two_above[j - 2] + 1;
            row[j] = least;
        }
    }
    return rows[a_length % 3][b_length];
}

const char *psnap_text_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

bool psnap_text_ends_in(const char *text, const char *end)
{
    const size_t length = strlen(text), of_end = strlen(end);

    return length >= of_end && !strcmp(text + length - of_end, end);
}

const char *psnap_text_nearest(const char *name, const char *const *names, size_t count)
{
    const size_t length = strnlen(name, NAME_MAX_COMPARED);
    const char *nearest = NULL;
    size_t least = SIZE_MAX;

    for (size_t i = 0; i < count; i++) {
        if (!names[i])
            continue;
        const size_t other = strnlen(names[i], NAME_MAX_COMPARED);
        const size_t distance = edit_distance(name, length, names[i], other);
        const size_t longer = length > other ? length : other;
        const bool begins = length >= 3 && length < other && !strncmp(name, names[i], length);
        if (distance < least && (distance * 3 <= longer || begins)) {
            least = distance;
            nearest = names[i];
        }
    }
    return nearest;
}
