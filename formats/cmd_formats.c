/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap formats: the trace formats, one line each; with a name, all that is to
 * say about one, with recipes for the programs that read it.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/base/cmd.h"
#include "formats/base/json.h"
#include "formats/base/text.h"
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

struct recipe {
    char *program, *steps, *counters;
};

extern const char psnap_recipes[]; /* recipes.txt */

static char *copy(const char *from, const char *to)
{
    char *text = strndup(from, (size_t)(to - from));

    if (!text)
        psnap_cmd_out_of_memory();
    return text;
}

/* Finds the first recipe of a format from *at on, which moves behind it; false: there is none. */
static bool next_recipe(const char *format, const char **at, struct recipe *recipe)
{
    char heading[64];
    const char *name, *steps, *counters, *next;

    snprintf(heading, sizeof heading, "\n## %s: ", format);
    name = strstr(*at, heading);
    if (!name)
        return false;
    name += strlen(heading);
    steps = strchr(name, '\n') + 2;
    next = strstr(steps, "\n## ");
    *at = next ? next : steps + strlen(steps);
    counters = *at - 2;
    while (strncmp(counters, "\n\n", 2) != 0)
        counters--;
    *recipe =
        (struct recipe){copy(name, steps - 2), copy(steps, counters + 1), copy(counters + 2, *at)};
    return true;
}

static void recipe_release(struct recipe *recipe)
{
    free(recipe->program);
    free(recipe->steps);
    free(recipe->counters);
}

static void describe(const struct psnap_format *format)
{
    const char *at = psnap_recipes;
    struct recipe recipe;

    printf("%s: %s\n", format->name, format->summary);
    printf("can: %s\n", direction(format));
    printf("does not keep: %s\n", format->loses[0] ? format->loses : "nothing is lost");
    printf("\n%s", format->description);
    for (; next_recipe(format->name, &at, &recipe); recipe_release(&recipe))
        printf("\n%s:\n\n%s\n%s", recipe.program, recipe.steps, recipe.counters);
}

static void json_format(struct psnap_json *json, const struct psnap_format *format)
{
    const char *at = psnap_recipes;
    struct recipe recipe;

    psnap_json_begin_object(json, NULL);
    psnap_json_text(json, "name", format->name);
    psnap_json_text(json, "summary", format->summary);
    psnap_json_bool(json, "readable", format->readable);
    psnap_json_bool(json, "writable", format->writable);
    psnap_json_text(json, "loses", format->loses);
    psnap_json_text(json, "description", format->description);
    psnap_json_begin_array(json, "consumers");
    for (; next_recipe(format->name, &at, &recipe); recipe_release(&recipe)) {
        psnap_json_begin_object(json, NULL);
        psnap_json_text(json, "name", recipe.program);
        psnap_json_text(json, "recipe", recipe.steps);
        psnap_json_text(json, "counters", recipe.counters);
        psnap_json_end_object(json);
    }
    psnap_json_end_array(json);
    psnap_json_end_object(json);
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

static int unknown(const char *name)
{
    const struct psnap_format *format;
    const char *names[32], *nearest;
    size_t count = 0;

    while (count < sizeof names / sizeof names[0] && (format = psnap_format_at(count)))
        names[count++] = format->name;
    nearest = psnap_text_nearest(name, names, count);
    if (nearest)
        return psnap_cmd_usage("formats", "no format '%s'; did you mean '%s'?", name, nearest);
    return psnap_cmd_usage("formats", "no format '%s'; 'psnap formats' lists them", name);
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
    int status;
    const int operands = psnap_options_parse(argc, argv, &usage, false, &status);

    if (operands < 0)
        return status;
    if (operands > 1)
        return psnap_cmd_usage("formats", "one name at most");
    if (operands == 1 && !(format = psnap_format_find(argv[1])))
        return unknown(argv[1]);
    if (json)
        print_json(format);
    else if (format)
        describe(format);
    else
        list_formats();
    return psnap_cmd_close_stdout("formats", PSNAP_EXIT_DONE);
}
