/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Text for HTML pages: what has a meaning there is written as a reference, what has none is
 * replaced. Nothing else of a page writes a name.
 */
#include "formats/base/html.h"

#include <string.h>

#include "formats/base/text.h"

void psnap_html_text(FILE *file, const char *text)
{
    static const char characters[] = "<>&\"'";
    static const char *const references[] = {"&lt;", "&gt;", "&amp;", "&quot;", "&#39;"};

    for (; *text; text = psnap_text_next(text)) {
        const char *special = strchr(characters, *text);
        const size_t length = psnap_text_shown(text);

        if (!length)
            fputs(PSNAP_TEXT_HIDDEN, file);
        else if (special)
            fputs(references[special - characters], file);
        else
            fwrite(text, 1, length, file);
    }
}

char *psnap_html_shorten(const char *text, size_t most, char room[PSNAP_HTML_SHORT])
{
    const size_t head = (most - 1) / 2, tail = most - 1 - head;
    const char *head_end = text, *tail_start = text, *at = text;
    size_t characters = 0;

    for (; *at; at = psnap_text_next(at), characters++) {
        if (characters < head)
            head_end = psnap_text_next(at);
        if (characters >= tail)
            tail_start = psnap_text_next(tail_start);
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
