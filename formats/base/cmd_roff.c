/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Texts as roff. A backslash begins an escape wherever it stands, a dot or an apostrophe a request
 * at the beginning of a line; a hyphen, an apostrophe, ^, ` and ~ would be printed as the
 * typographic characters. man(7) and groff_char(7) have the names that are used instead.
 */
#include "formats/base/cmd_roff.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

void psnap_roff_begin(FILE *file, const char *title, int section, const char *summary)
{
    fputs(".\\\" Made by psnap itself, of the tables that its help is printed from\n.TH \"", file);
    for (const char *c = title; *c; c++)
        putc(toupper((unsigned char)*c), file);
    fprintf(file, "\" %d \"\" \"psnap %s\" \"psnap\"\n.nh\n.ad l\n.SH NAME\n", section,
            PSNAP_VERSION);
    psnap_roff_text(file, title, strlen(title));
    fputs(" \\- ", file);
    psnap_roff_text(file, summary, strlen(summary));
    putc('\n', file);
}

void psnap_roff_text(FILE *file, const char *text, size_t length)
{
    static const char characters[] = "\\-'`^~";
    static const char *const names[] = {"\\(rs", "\\-", "\\(aq", "\\(ga", "\\(ha", "\\(ti"};

    if (length && (text[0] == '.' || text[0] == '\''))
        fputs("\\&", file);
    for (size_t i = 0; i < length; i++) {
        const char *special = text[i] ? strchr(characters, text[i]) : NULL;
        if (special)
            fputs(names[special - characters], file);
        else
            putc((unsigned char)text[i], file);
    }
}

void psnap_roff_paragraphs(FILE *file, const char *text)
{
    bool is_kept = false, is_between = false;

    while (*text) {
        const size_t length = strcspn(text, "\n");
        const bool keeps = text[0] == ' ';

        if (length) {
            if (keeps != is_kept)
                fputs(keeps ? (is_between ? ".PP\n.nf\n" : ".nf\n")
                            : (is_between ? ".fi\n.PP\n" : ".fi\n"),
                      file);
            else if (is_between)
                fputs(keeps ? "\n" : ".PP\n", file);
            is_kept = keeps;
            psnap_roff_text(file, text, length);
            putc('\n', file);
        }
        is_between = !length;
        text += length + (text[length] == '\n');
    }
    if (is_kept)
        fputs(".fi\n", file);
}

void psnap_roff_synopsis(FILE *file, const char *text)
{
    while (*text) {
        const size_t length = strcspn(text, " []|=,\n"); /* of a word */
        const bool is_name = isupper((unsigned char)text[0]) || text[0] == '.';

        if (length) {
            fputs(is_name ? "\\fI" : "\\fB", file);
            psnap_roff_text(file, text, length);
            fputs("\\fR", file);
            text += length;
        } else if (*text == '\n') {
            fputs("\n.br\n", file);
            text += 1 + strspn(text + 1, " ");
        } else {
            putc((unsigned char)*text++, file);
        }
    }
    putc('\n', file);
}
