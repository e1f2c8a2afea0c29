/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tables for people. Cells are kept until printing, when the widths are known;
 * reports have thousands of rows, not millions. Width is counted in UTF-8
 * characters, without regard to wide or combining ones. Columns are two blanks
 * apart and lines have no trailing blanks.
 *
 * A text that is too long for its column keeps its beginning and its end, where
 * ids have line and part. Should two different ones come out the same, the whole
 * column gets more room.
 */
#include "formats/base/cmd.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "formats/base/room.h"
#include "formats/base/text.h"

#define SHORT_WIDTH 48 /* characters of a shortened text, more if that leaves two alike */
#define DOTS "..."

struct psnap_table {
    size_t columns;
    bool *right; /* per column */
    bool *shorten;
    char **cells; /* the headings, then the rows */
    size_t count, room;
};

static size_t text_width(const char *text)
{
    size_t width = 0;

    for (; *text; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80; /* not a continuation byte */
    return width;
}

struct psnap_table *psnap_table_new(size_t columns, const char *const *headings)
{
    struct psnap_table *table = calloc(1, sizeof *table);

    assert(columns > 0);
    if (!table || !(table->right = calloc(columns, sizeof *table->right)) ||
        !(table->shorten = calloc(columns, sizeof *table->shorten)))
        psnap_cmd_out_of_memory();
    table->columns = columns;
    for (size_t i = 0; i < columns; i++)
        psnap_table_cell(table, "%s", headings[i]);
    return table;
}

void psnap_table_align_right(struct psnap_table *table, size_t column)
{
    table->right[column] = true;
}

void psnap_table_shorten(struct psnap_table *table, size_t column)
{
    table->shorten[column] = true;
}

void psnap_table_cell(struct psnap_table *table, const char *format, ...)
{
    va_list arguments;

    if (!psnap_make_room(&table->cells, &table->room, table->count + 1, sizeof *table->cells))
        psnap_cmd_out_of_memory();
    va_start(arguments, format);
    table->cells[table->count++] = psnap_shown_text(format, arguments);
    va_end(arguments);
}

/* Behind the first `n` characters. */
static const char *skip_characters(const char *text, size_t n)
{
    for (; n > 0 && *text; n--)
        do
            text++;
        while (((unsigned char)*text & 0xc0) == 0x80);
    return text;
}

/* A copy of at most `width` characters. */
static char *short_copy(const char *text, size_t width)
{
    const size_t all = text_width(text);
    const size_t head = (width - strlen(DOTS)) / 2, tail = width - strlen(DOTS) - head;
    char *copy;
    int length;

    if (all <= width)
        length = asprintf(&copy, "%s", text);
    else
        length = asprintf(&copy, "%.*s" DOTS "%s", (int)(skip_characters(text, head) - text), text,
                          skip_characters(text, all - tail));
    if (length < 0)
        psnap_cmd_out_of_memory();
    return copy;
}

/* What a text was, and is shortened. */
struct shortened {
    const char *full;
    char *text;
    size_t cell;
};

static int compare_shortened(const void *a, const void *b)
{
    return strcmp(((const struct shortened *)a)->text, ((const struct shortened *)b)->text);
}

/* Shortens texts to `width`; whether those that differ still do. */
static bool shorten(struct shortened *texts, size_t count, size_t width)
{
    bool differ = true;

    for (size_t i = 0; i < count; i++) {
        free(texts[i].text);
        texts[i].text = short_copy(texts[i].full, width);
    }
    qsort(texts, count, sizeof *texts, compare_shortened);
    for (size_t i = 1; i < count && differ; i++)
        differ = strcmp(texts[i - 1].text, texts[i].text) != 0 ||
                 !strcmp(texts[i - 1].full, texts[i].full);
    return differ;
}

static void shorten_column(const struct psnap_table *table, size_t column)
{
    struct shortened *texts = calloc(table->count / table->columns + 1, sizeof *texts);
    size_t count = 0, width = SHORT_WIDTH;

    if (!texts)
        psnap_cmd_out_of_memory();
    for (size_t i = column; i < table->count; i += table->columns)
        texts[count++] = (struct shortened){table->cells[i], NULL, i};
    while (!shorten(texts, count, width))
        width += SHORT_WIDTH / 4;
    for (size_t i = 0; i < count; i++) {
        free(table->cells[texts[i].cell]);
        table->cells[texts[i].cell] = texts[i].text;
    }
    free(texts);
}

static void print_row(const struct psnap_table *table, size_t first, const size_t *widths,
                      FILE *file)
{
    const size_t left = table->count - first;
    const size_t n = left < table->columns ? left : table->columns;
    size_t blanks = 0; /* owed before the next text */

    for (size_t i = 0; i < n; i++) {
        const char *text = table->cells[first + i];
        const size_t padding = widths[i] - text_width(text);
        if (table->right[i])
            blanks += padding;
        if (*text) {
            fprintf(file, "%*s%s", (int)blanks, "", text);
            blanks = 0;
        }
        if (!table->right[i])
            blanks += padding;
        blanks += 2;
    }
    fputc('\n', file);
}

/* Of the columns, whose texts are shortened; the caller frees it. */
static size_t *widths_of(const struct psnap_table *table)
{
    size_t *widths = calloc(table->columns, sizeof *widths);

    if (!widths)
        psnap_cmd_out_of_memory();
    for (size_t i = 0; i < table->columns; i++)
        if (table->shorten[i])
            shorten_column(table, i);
    for (size_t i = 0; i < table->count; i++) {
        const size_t width = text_width(table->cells[i]);
        if (width > widths[i % table->columns])
            widths[i % table->columns] = width;
    }
    return widths;
}

void psnap_table_print(const struct psnap_table *table, FILE *file)
{
    size_t *widths = widths_of(table);

    for (size_t i = 0; i < table->count; i += table->columns)
        print_row(table, i, widths, file);
    free(widths);
}

size_t psnap_table_width(const struct psnap_table *table)
{
    size_t *widths = widths_of(table), all = 2 * (table->columns - 1);

    for (size_t i = 0; i < table->columns; i++)
        all += widths[i];
    free(widths);
    return all;
}

size_t psnap_terminal_columns(void)
{
    const char *set = getenv("COLUMNS");
    struct winsize size;
    uint64_t columns;

    if (!isatty(STDOUT_FILENO))
        return SIZE_MAX;
    if (set && psnap_text_u64(set, &columns) && columns)
        return columns;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : 80;
}

void psnap_table_free(struct psnap_table *table)
{
    if (!table)
        return;
    for (size_t i = 0; i < table->count; i++)
        free(table->cells[i]);
    free(table->cells);
    free(table->right);
    free(table->shorten);
    free(table);
}

char *psnap_group_digits(uint64_t value, char buffer[32])
{
    char digits[24];
    const int length = snprintf(digits, sizeof digits, "%" PRIu64, value);
    char *to = buffer;

    for (int i = 0; i < length; i++) {
        if (i && (length - i) % 3 == 0)
            *to++ = ',';
        *to++ = digits[i];
    }
    *to = '\0';
    return buffer;
}
