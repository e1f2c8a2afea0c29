/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Figures of gnuplot as parts of an HTML page: a copy, tag by tag, of the elements and attributes
 * that are listed here. gnuplot escapes names; were one to come out as a tag, it would not be
 * listed. Groups without anything in them, of which there are many, are left out.
 */
#include "predict/report/svg.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/text.h"
#include "formats/base/html.h"

enum { DEPTH_MAX = 64, GRAY = 190 /* of gnuplot's "gray" */ };

struct copying {
    const char *at, *end;
    unsigned number;
    FILE *file;
    bool has_root, has_marks, is_in_marks; /* marks: what points are drawn with, `defs` */
    /* Groups that are open: where a tag is if nothing was written since. */
    struct {
        const char *tag, *tag_end;
    } groups[DEPTH_MAX];
    unsigned depth, written; /* of these the first have been written */
};

static bool is_one_of(const char *name, size_t length, const char *const *names)
{
    for (; *names; names++)
        if (strlen(*names) == length && !strncmp(*names, name, length))
            return true;
    return false;
}

/* ----------------------------------------------------------------- attributes */

static const char *const plain_attributes[] = {"d",
                                               "points",
                                               "x",
                                               "y",
                                               "width",
                                               "height",
                                               "cx",
                                               "cy",
                                               "r",
                                               "transform",
                                               "stroke-width",
                                               "stroke-dasharray",
                                               "stroke-linecap",
                                               "stroke-linejoin",
                                               "stroke-opacity",
                                               "fill-opacity",
                                               "text-anchor",
                                               "font-size",
                                               "font-weight",
                                               NULL};

static bool is_plain(const char *value, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)value[i]) && !strchr(" .,-+()#%_\t\n", value[i]))
            return false;
    return true;
}

/* "stroke", "fill" or "color": black is the page's ink, and what stands for a colour of the page
 * becomes that. */
static void write_colour(struct copying *copying, const char *name, const char *value,
                         size_t length)
{
    const bool is_current = !strcmp(name, "color");
    unsigned red = 0, green = 0, blue = 0;
    const bool is_rgb = sscanf(value, "rgb( %u , %u , %u", &red, &green, &blue) == 3;

    if (is_rgb && (red == 1 || red == 2) && !blue)
        fprintf(copying->file, " %s=\"var(--%c%u)\"", name, red == 1 ? 's' : 'p', (green + 8) / 16);
    else if (is_current)
        return;
    else if ((length == 5 && !strncmp(value, "black", length)) ||
             (is_rgb && !red && !green && !blue))
        fprintf(copying->file, " %s=\"currentColor\"", name);
    else if ((length == 4 && !strncmp(value, "gray", length)) ||
             (is_rgb && red == GRAY && green == GRAY && blue == GRAY))
        fprintf(copying->file, " %s=\"var(--grid)\"", name);
    else
        fprintf(copying->file, " %s=\"%.*s\"", name, (int)length, value);
}

/* Coordinates, of which a tenth of a pixel is enough. */
static void write_coordinates(struct copying *copying, const char *value, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        putc(value[i], copying->file);
        if (value[i] == '.' && i + 1 < length) {
            putc(value[++i], copying->file);
            while (i + 1 < length && isdigit((unsigned char)value[i + 1]))
                i++;
        }
    }
}

static void write_attribute(struct copying *copying, const char *name, size_t name_length,
                            const char *value, size_t length)
{
    static const char *const links[] = {"href", "xlink:href", NULL};
    static const char *const coordinates[] = {"d", "points", NULL};
    static const char *const colours[] = {"fill", "stroke", "color", NULL};

    if (!is_plain(value, length))
        return;
    if (name_length == 2 && !strncmp(name, "id", 2))
        fprintf(copying->file, " id=\"f%u-%.*s\"", copying->number, (int)length, value);
    else if (is_one_of(name, name_length, links) && length > 1 && value[0] == '#')
        fprintf(copying->file, " href=\"#f%u-%.*s\"", copying->number, (int)length - 1, value + 1);
    else if (is_one_of(name, name_length, coordinates) && !copying->is_in_marks) {
        fprintf(copying->file, " %.*s=\"", (int)name_length, name);
        write_coordinates(copying, value, length);
        putc('"', copying->file);
    } else if (is_one_of(name, name_length, plain_attributes))
        fprintf(copying->file, " %.*s=\"%.*s\"", (int)name_length, name, (int)length, value);
    for (size_t i = 0; colours[i]; i++)
        if (strlen(colours[i]) == name_length && !strncmp(colours[i], name, name_length))
            write_colour(copying, colours[i], value, length);
}

/* The next attribute between *at and `end`; false: there is none. */
static bool next_attribute(const char **at, const char *end, const char **name, size_t *name_length,
                           const char **value, size_t *length)
{
    const char *p = *at, *closing;

    while (p < end && (isspace((unsigned char)*p) || *p == '/'))
        p++;
    *name = p;
    while (p < end && *p != '=' && !isspace((unsigned char)*p))
        p++;
    *name_length = (size_t)(p - *name);
    while (p < end && isspace((unsigned char)*p))
        p++;
    if (p >= end || *p != '=')
        return false;
    for (p++; p < end && isspace((unsigned char)*p);)
        p++;
    if (p >= end || (*p != '"' && *p != '\''))
        return false;
    closing = memchr(p + 1, *p, (size_t)(end - p - 1));
    if (!closing)
        return false;
    *value = p + 1;
    *length = (size_t)(closing - p - 1);
    *at = closing + 1;
    return true;
}

/* ------------------------------------------------------------------- elements */

static const char *const elements[] = {"path", "polygon", "rect", "circle", "text",
                                       "use",  "defs",    "g",    NULL};

static const char *const empty_elements[] = {"path", "polygon", "rect", "circle", "use", NULL};

/* A tag from its name on; `end` is its '>'. */
static void write_tag(struct copying *copying, const char *tag, const char *end)
{
    const size_t name_length = strcspn(tag, " \t\r\n/>");
    const char *at = tag + name_length, *name, *value;
    size_t of_name, length;

    fprintf(copying->file, "<%.*s", (int)name_length, tag);
    while (next_attribute(&at, end, &name, &of_name, &value, &length))
        write_attribute(copying, name, of_name, value, length);
    fputs(end[-1] == '/' ? "/>" : ">", copying->file);
}

static void write_groups(struct copying *copying)
{
    for (; copying->written < copying->depth; copying->written++)
        write_tag(copying, copying->groups[copying->written].tag,
                  copying->groups[copying->written].tag_end);
}

static void write_root(struct copying *copying, const char *tag, const char *end, const char *title,
                       const char *description)
{
    const char *at = tag + 3, *name, *value;
    const unsigned number = copying->number;
    size_t of_name, length;

    fputs("<svg class=\"plot\"", copying->file);
    while (next_attribute(&at, end, &name, &of_name, &value, &length))
        if (of_name == 7 && !strncmp(name, "viewBox", 7) && is_plain(value, length))
            fprintf(copying->file, " viewBox=\"%.*s\"", (int)length, value);
    fprintf(copying->file, " role=\"img\" aria-labelledby=\"f%u-title f%u-desc\"><title id=\"f%u-",
            number, number, number);
    fputs("title\">", copying->file);
    psnap_html_text(copying->file, title);
    fprintf(copying->file, "</title><desc id=\"f%u-desc\">", number);
    psnap_html_text(copying->file, description);
    fputs("</desc>", copying->file);
    copying->has_root = true;
}

/* Goes on behind the end tag of an element that is not copied, if it has one. */
static void skip_element(struct copying *copying, const char *name, size_t length, const char *end)
{
    copying->at = end + 1;
    if (end[-1] == '/' || name[0] == '/' || name[0] == '?' || name[0] == '!')
        return;
    for (const char *p = end; p + length + 2 < copying->end; p++)
        if (p[0] == '<' && p[1] == '/' && !strncmp(p + 2, name, length)) {
            const char *closing = memchr(p, '>', (size_t)(copying->end - p));
            copying->at = closing ? closing + 1 : copying->end;
            return;
        }
}

static bool close_element(struct copying *copying, const char *name, size_t length)
{
    if (length == 1 && *name == 'g') {
        if (!copying->depth)
            return false;
        if (copying->written == copying->depth) {
            fputs("</g>", copying->file);
            copying->written--;
        }
        copying->depth--;
    } else if (is_one_of(name, length, elements)) {
        fprintf(copying->file, "</%.*s>", (int)length, name);
        copying->is_in_marks = copying->is_in_marks && strncmp(name, "defs", length) != 0;
    }
    return true;
}

/* One tag, from '<' to '>'. False: this is no figure that we know. */
static bool copy_tag(struct copying *copying, const char *title, const char *description)
{
    const char *name = copying->at + 1;
    const char *end = memchr(name, '>', (size_t)(copying->end - name));
    const size_t length = strcspn(name + (*name == '/'), " \t\r\n/>");

    if (!end)
        return false;
    copying->at = end + 1;
    if (*name == '/')
        return close_element(copying, name + 1, length);
    if (length == 3 && !strncmp(name, "svg", 3)) {
        if (copying->has_root)
            return false;
        write_root(copying, name, end, title, description);
    } else if (!is_one_of(name, length, elements) ||
               (!strncmp(name, "defs", length) && !copying->has_marks)) {
        skip_element(copying, name, length, end);
    } else if (length == 1) {
        if (copying->depth == DEPTH_MAX || end[-1] == '/')
            return false;
        copying->groups[copying->depth].tag = name;
        copying->groups[copying->depth].tag_end = end;
        copying->depth++;
    } else if (end[-1] != '/' && is_one_of(name, length, empty_elements)) {
        return false;
    } else {
        write_groups(copying);
        write_tag(copying, name, end);
        copying->is_in_marks = copying->is_in_marks || !strncmp(name, "defs", length);
    }
    return true;
}

/* What stands between two tags, which gnuplot has escaped; blanks alone say nothing, and so does
 * text that is in nothing that was written. */
static void copy_text(struct copying *copying)
{
    const char *p = copying->at, *end = memchr(p, '<', (size_t)(copying->end - p));

    copying->at = end ? end : copying->end;
    while (p < copying->at && isspace((unsigned char)*p))
        p++;
    if (!copying->has_root || copying->written < copying->depth)
        return;
    while (p < copying->at) {
        const size_t length = psnap_text_shown(p);
        if (!length)
            fputs(PSNAP_TEXT_HIDDEN, copying->file);
        else if (*p == '>')
            fputs("&gt;", copying->file);
        else
            fwrite(p, 1, length, copying->file);
        p = psnap_text_next(p);
    }
}

/* Whether marks are used. */
static bool has_marks(const char *text, size_t size)
{
    static const char use[] = "<use xlink:href='#gpPt", end[] = "</defs>";
    const char *defs = memmem(text, size, end, sizeof end - 1);

    return defs && memmem(defs, size - (size_t)(defs - text), use, sizeof use - 1);
}

bool svg_inline(const char *text, size_t size, unsigned number, const char *title,
                const char *description, FILE *file)
{
    struct copying copying = {.at = text, .end = text + size, .number = number, .file = file};

    copying.has_marks = has_marks(text, size);
    while (copying.at < copying.end) {
        if (*copying.at != '<')
            copy_text(&copying);
        else if (!copy_tag(&copying, title, description))
            return false;
    }
    if (copying.has_root)
        fputs("</svg>", file);
    return copying.has_root && !copying.depth;
}
