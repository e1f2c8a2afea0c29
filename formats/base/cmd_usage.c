/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of a command's options, printed as help, which the manual and the completion of bash
 * are made of (samples/packaging): these tell from the name of an option's value what it may be.
 */
#include <string.h>

#include "formats/base/cmd.h"

#define HELP_COLUMN 30

static bool takes_value(const struct psnap_option *option)
{
    return option->type != PSNAP_OPTION_FLAG;
}

static const char *value_of(const struct psnap_option *option)
{
    return option->argument ? option->argument : "VALUE";
}

void psnap_option_describe(const struct psnap_option *option, char *text, size_t size)
{
    char letter[3] = {0};

    if (option->letter) {
        letter[0] = '-';
        letter[1] = option->letter;
    }
    snprintf(text, size, "%s%s%s%s%s%s", letter, option->letter && option->name ? ", " : "",
             option->name ? "--" : "", option->name ? option->name : "",
             takes_value(option) ? " " : "", takes_value(option) ? value_of(option) : "");
}

static void print_help_line(const char *what, const char *help)
{
    const int width = printf("  %s", what);

    if (width >= HELP_COLUMN)
        printf("\n%*s", HELP_COLUMN, "");
    else
        printf("%*s", HELP_COLUMN - width, "");
    for (; help && *help; help++) {
        putchar(*help);
        if (*help == '\n')
            printf("%*s", HELP_COLUMN, "");
    }
    putchar('\n');
}

static bool is_end(const struct psnap_option *option)
{
    return !option || option->type == PSNAP_OPTION_END;
}

/* The option behind the last one that every command has; NULL: the table has one itself. */
static const struct psnap_option *common_option(const struct psnap_usage *usage)
{
    for (const struct psnap_option *o = usage->options; !is_end(o); o++)
        if (o->value == NULL || (o->name && !strcmp(o->name, psnap_option_verbose.name)))
            return NULL;
    return &psnap_option_verbose;
}

void psnap_usage_print(const struct psnap_usage *usage)
{
    char what[128];

    printf("usage: %s\n", usage->synopsis);
    if (usage->description)
        printf("\n%s\n", usage->description);
    puts("\noptions:");
    for (const struct psnap_option *o = usage->options; !is_end(o); o++) {
        psnap_option_describe(o, what, sizeof what);
        print_help_line(what, o->help);
    }
    if (common_option(usage)) {
        psnap_option_describe(&psnap_option_verbose, what, sizeof what);
        print_help_line(what, psnap_option_verbose.help);
    }
    print_help_line("-h, --help", "show this help");
}
