/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap formats: the trace formats, one line each; with a name, all that is to
 * say about one, with recipes for the programs that read it.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/base/cmd.h"
#include "formats/base/json.h"
#include "formats/formats.h"

static const char *direction(const struct psnap_format *format)
{
    if (format->readable && format->writable)
        return "read, write";
    return format->readable ? "read" : "write";
}

static void list_formats(void)
{
    static const char *const headings[] = {"name", "can", "description"};
    struct psnap_table *table = psnap_table_new(3, headings);
    const struct psnap_format *format;

    for (size_t i = 0; (format = psnap_format_at(i)); i++) {
        psnap_table_cell(table, "%s", format->name);
        psnap_table_cell(table, "%s", direction(format));
        psnap_table_cell(table, "%s", format->summary);
    }
    psnap_table_print(table, stdout);
    psnap_table_free(table);
}

extern const char psnap_formats_text[]; /* formats.txt */

/* The parts of the text about a format: its description, then recipes. */
struct about {
    char *text; /* owned; the others are parts of it */
    const char *description;
    char *rest;
};

struct recipe {
    const char *program, *steps, *counters;
};

/* Behind `mark` in a text, which ends before it; NULL: it is not there. */
static char *cut(char *text, const char *mark)
{
    char *at = strstr(text, mark);

    if (at)
        *at = '\0';
    return at ? at + strlen(mark) : NULL;
}

static struct about about(const struct psnap_format *format)
{
    struct about about = {.text = strdup(psnap_formats_text)};
    char heading[64];

    if (!about.text)
        psnap_cmd_out_of_memory();
    snprintf(heading, sizeof heading, "\n# %s\n\n", format->name);
    about.rest = cut(about.text, heading);
    about.description = about.rest;
    cut(about.rest, "\n# ");
    about.rest = cut(about.rest, "\n## ");
    return about;
}

/* The next recipe; false: there is none. */
static bool next_recipe(struct about *about, struct recipe *recipe)
{
    char *at = about->rest;

    if (!at)
        return false;
    about->rest = cut(at, "\n## ");
    recipe->program = at;
    recipe->steps = at = cut(at, "\n\n");
    while (at[1] != '\n' || at[2] == ' ') /* blocks may have empty lines */
        at = strchr(at + 1, '\n');
    at[1] = '\0';
    recipe->counters = at + 2;
    return true;
}

static void describe(const struct psnap_format *format)
{
    struct about of = about(format);
    struct recipe recipe;

    printf("%s: %s\n", format->name, format->summary);
    printf("can: %s\n", direction(format));
    printf("does not keep: %s\n", format->loses[0] ? format->loses : "nothing is lost");
    printf("\n%s", of.description);
    while (next_recipe(&of, &recipe))
        printf("\n%s:\n\n%s\n%s", recipe.program, recipe.steps, recipe.counters);
    free(of.text);
}

static void json_format(struct psnap_json *json, const struct psnap_format *format)
{
    struct about of = about(format);
    struct recipe recipe;

    psnap_json_begin_object(json, NULL);
    psnap_json_text(json, "name", format->name);
    psnap_json_text(json, "summary", format->summary);
    psnap_json_bool(json, "readable", format->readable);
    psnap_json_bool(json, "writable", format->writable);
    psnap_json_text(json, "loses", format->loses);
    psnap_json_text(json, "description", of.description);
    psnap_json_begin_array(json, "consumers");
    while (next_recipe(&of, &recipe)) {
        psnap_json_begin_object(json, NULL);
        psnap_json_text(json, "name", recipe.program);
        psnap_json_text(json, "recipe", recipe.steps);
        psnap_json_text(json, "counters", recipe.counters);
        psnap_json_end_object(json);
    }
    psnap_json_end_array(json);
    psnap_json_end_object(json);
    free(of.text);
}

static void print_json(const struct psnap_format *one)
{
    const struct psnap_format *format;
    struct psnap_json json;

    psnap_cmd_begin_json(&json, stdout, "formats");
    psnap_json_begin_array(&json, "formats");
    for (size_t i = 0; (format = psnap_format_at(i)); i++)
        if (!one || format == one)
            json_format(&json, format);
    psnap_json_end_array(&json);
    psnap_json_end_object(&json);
}

int psnap_cmd_formats(int argc, char **argv)
{
    bool json = false;
    const struct psnap_option options[] = {
        {PSNAP_OPTION_FLAG, 0, "json", &json, NULL, "JSON on stdout"},
        {.type = PSNAP_OPTION_END},
    };
    const struct psnap_usage usage = {
        "psnap formats [FORMAT] [--json]",
        "Lists the trace formats; with a FORMAT, describes one of them.", options};
    const struct psnap_format *format = NULL;
    struct psnap_error error;
    int status;
    const int operands = psnap_options_parse(argc, argv, &usage, false, &status);

    if (operands < 0)
        return status;
    if (operands > 1)
        return psnap_cmd_usage("formats", "one name at most");
    if (operands == 1 && !(format = psnap_format_named(argv[1], &error)))
        return psnap_cmd_usage("formats", "%s", error.message);
    if (json)
        print_json(format);
    else if (format)
        describe(format);
    else
        list_formats();
    return psnap_cmd_close_stdout("formats", PSNAP_EXIT_DONE);
}
