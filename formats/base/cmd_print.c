/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Text for terminals. A name of a program, a trace or a profile may hold control characters, which
 * would move the cursor, forge a row or rename the window: of a text that is shown only the format
 * has them, each character of an argument that psnap_text_shown knows nothing of is replaced.
 *
 * Characters of the format are told from those of arguments by formatting twice, the second time
 * with blanks for the format's control characters: where the two differ it is the format's.
 */
#include "formats/base/cmd.h"

#include <stdlib.h>
#include <string.h>

#include "formats/base/text.h"

_Noreturn void psnap_cmd_out_of_memory(void)
{
    fputs("psnap: out of memory\n", stderr);
    exit(PSNAP_EXIT_FAILED);
}

static char *formatted(const char *format, va_list arguments)
{
    va_list copy;
    char *text;
    int length;

    va_copy(copy, arguments);
    length = vasprintf(&text, format, copy);
    va_end(copy);
    if (length < 0)
        psnap_cmd_out_of_memory();
    return text;
}

/* A copy with blanks for control characters. */
static char *blank_copy(const char *format)
{
    char *copy = strdup(format);

    if (!copy)
        psnap_cmd_out_of_memory();
    for (char *c = copy; *c; c++)
        if ((unsigned char)*c < ' ')
            *c = ' ';
    return copy;
}

char *psnap_shown_text(const char *format, va_list arguments)
{
    char *blank_format = blank_copy(format);
    char *text = formatted(format, arguments), *blank = formatted(blank_format, arguments);
    char *shown = malloc(strlen(PSNAP_TEXT_HIDDEN) * strlen(text) + 1), *to = shown;

    if (!shown)
        psnap_cmd_out_of_memory();
    for (const char *from = text, *next; *from; from = next) {
        next = psnap_text_next(from);
        if (psnap_text_shown(from) || *from != blank[from - text])
            to = mempcpy(to, from, (size_t)(next - from));
        else
            to = stpcpy(to, PSNAP_TEXT_HIDDEN);
    }
    *to = '\0';
    free(blank_format);
    free(text);
    free(blank);
    return shown;
}

char *psnap_shown(const char *format, ...)
{
    va_list arguments;
    char *text;

    va_start(arguments, format);
    text = psnap_shown_text(format, arguments);
    va_end(arguments);
    return text;
}

void psnap_vprint(FILE *file, const char *format, va_list arguments)
{
    char *text = psnap_shown_text(format, arguments);

    fputs(text, file);
    free(text);
}

void psnap_print(FILE *file, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    psnap_vprint(file, format, arguments);
    va_end(arguments);
}
