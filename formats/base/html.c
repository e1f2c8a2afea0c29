/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Text for HTML pages: what has a meaning there is written as a reference, what has none is
 * replaced. Nothing else of a page writes a name.
 */
#include "formats/base/html.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "formats/base/text.h"

static uint32_t code_point(const char *text, size_t length)
{
    const unsigned char *byte = (const unsigned char *)text;
    static const unsigned char first[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    uint32_t code = byte[0] & first[length];

    for (size_t i = 1; i < length; i++)
        code = code << 6 | (byte[i] & 0x3Fu);
    return code;
}

/* Controls, and what turns the direction of text: names could pose as others by it. */
static bool is_shown(uint32_t code)
{
    return code >= 0x20 && !(code >= 0x7F && code < 0xA0) && code != 0x061C &&
           !(code >= 0x200E && code <= 0x200F) && !(code >= 0x2028 && code <= 0x202E) &&
           !(code >= 0x2066 && code <= 0x2069) && code != 0xFEFF && (code & 0xFFFE) != 0xFFFE;
}

/* The bytes of the character that begins there, or 1 where none does. */
static size_t step(const char *text)
{
    const size_t length = psnap_text_utf8(text);

    return length ? length : 1;
}

bool psnap_html_is_shown(const char *text)
{
    const size_t length = psnap_text_utf8(text);

    return length && is_shown(code_point(text, length));
}

void psnap_html_text(FILE *file, const char *text)
{
    static const char characters[] = "<>&\"'";
    static const char *const references[] = {"&lt;", "&gt;", "&amp;", "&quot;", "&#39;"};

    for (; *text; text += step(text)) {
        const char *special = strchr(characters, *text);

        if (!psnap_html_is_shown(text))
            fputs(PSNAP_HTML_REPLACEMENT, file);
        else if (special)
            fputs(references[special - characters], file);
        else
            fwrite(text, 1, step(text), file);
    }
}

char *psnap_html_shorten(const char *text, size_t most, char room[PSNAP_HTML_SHORT])
{
    const size_t head = (most - 1) / 2, tail = most - 1 - head;
    const char *head_end = text, *tail_start = text, *at = text;
    size_t characters = 0;

    for (; *at; at += step(at), characters++) {
        if (characters < head)
            head_end = at + step(at);
        if (characters >= tail)
            tail_start += step(tail_start);
    }
    if (characters <= most)
        snprintf(room, PSNAP_HTML_SHORT, "%s", text);
    else
        snprintf(room, PSNAP_HTML_SHORT, "%.*s\xE2\x80\xA6%s", (int)(head_end - text), text,
                 tail_start);
    return room;
}

void psnap_html_name(FILE *file, const char *text, size_t most)
{
    char room[PSNAP_HTML_SHORT];

    psnap_html_shorten(text, most, room);
    if (!strcmp(room, text)) {
        psnap_html_text(file, text);
        return;
    }
    fputs("<span title=\"", file);
    psnap_html_text(file, text);
    fputs("\">", file);
    psnap_html_text(file, room);
    fputs("</span>", file);
}
