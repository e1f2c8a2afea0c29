/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of a command's options, printed: as help, as a page of the manual (man(7)), or as a
 * case of the completion of bash. All three from one table, so that none can lack an option. The
 * completion tells from what an option's value is called what it may be: see cmd_completion.c.
 */
#include <string.h>

#include "formats/base/cmd.h"
#include "formats/base/cmd_roff.h"

#define HELP_COLUMN 30

static struct {
    enum psnap_usage_form form;
    const char *name, *summary;
} wanted;

int psnap_usage_print_as(enum psnap_usage_form form, const struct psnap_command *command,
                         const struct psnap_command *part)
{
    char name[130], own[64], of_part[64], help[] = "--help";
    char *arguments[] = {own, part ? of_part : help, part ? help : NULL, NULL};
    int status;

    snprintf(own, sizeof own, "%s", command->name);
    snprintf(of_part, sizeof of_part, "%s", part ? part->name : "");
    snprintf(name, sizeof name, "%s%s%s", own, part ? " " : "", of_part);
    wanted.form = form;
    wanted.name = name;
    wanted.summary = (part ? part : command)->summary;
    status = command->run(part ? 3 : 2, arguments);
    wanted.form = PSNAP_USAGE_TEXT;
    wanted.name = wanted.summary = NULL;
    return status;
}

/* An option without a table's parser, "psnap-llvm=NN" of psnap cc, has its value in its name. */
static const char *joined_value(const struct psnap_option *option)
{
    return option->name ? strchr(option->name, '=') : NULL;
}

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

static void print_text(const struct psnap_usage *usage)
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

static void print_man_option(const struct psnap_option *option)
{
    fputs(".TP\n", stdout);
    if (option->letter)
        printf("\\fB\\-%c\\fR%s", option->letter, option->name ? ", " : "");
    if (option->name) {
        fputs("\\fB\\-\\-", stdout);
        psnap_roff_text(stdout, option->name, strlen(option->name));
        fputs("\\fR", stdout);
    }
    if (takes_value(option)) {
        fputs(" \\fI", stdout);
        psnap_roff_text(stdout, value_of(option), strlen(value_of(option)));
        fputs("\\fR", stdout);
    }
    putchar('\n');
    psnap_roff_paragraphs(stdout, option->help ? option->help : "");
}

static void print_man(const struct psnap_usage *usage)
{
    char title[64] = "psnap-";
    size_t length = strlen(title);

    for (const char *c = wanted.name; *c && length + 1 < sizeof title; c++)
        title[length++] = *c == ' ' ? '-' : *c;
    psnap_roff_begin(stdout, title, 1, wanted.summary);
    puts(".SH SYNOPSIS");
    psnap_roff_synopsis(stdout, usage->synopsis);
    puts(".SH DESCRIPTION");
    psnap_roff_paragraphs(stdout, usage->description ? usage->description : wanted.summary);
    puts(".SH OPTIONS");
    for (const struct psnap_option *o = usage->options; !is_end(o); o++)
        print_man_option(o);
    if (common_option(usage))
        print_man_option(&psnap_option_verbose);
    puts(".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nshow a help like this page\n"
         ".SH EXIT STATUS\n0 done, 1 failed or a threshold missed, 2 wrong usage, 141 when who "
         "reads the output has gone,\nunless something else is said above.\n"
         ".SH SEE ALSO\n.BR psnap (1)");
}

/* "MACHINE" of "psnap machines [MACHINE] [--json]": what the operands are; FILE for anything else
 * than what completion knows. */
static void print_operand(const char *synopsis)
{
    const char *at = synopsis + strlen("psnap ");
    size_t length;

    at += strlen(wanted.name);
    at += strspn(at, " [");
    length = strspn(at, "ABCDEFGHIJKLMNOPQRSTUVWXYZ|abcdefghijklmnopqrstuvwxyz");
    printf(" operand='%.*s'", (int)length, at);
}

/*     'sim') options='-m --machine --json' operand='INPUT'
 *         case $2 in -m|--machine) value='MACHINE' ;; ... esac ;; */
static void print_bash(const struct psnap_usage *usage)
{
    printf("    '%s')\n        options='", wanted.name);
    for (const struct psnap_option *o = usage->options; !is_end(o); o++) {
        if (o->letter)
            printf("-%c ", o->letter);
        if (o->name)
            printf("--%.*s ", (int)(strcspn(o->name, "=") + (joined_value(o) != NULL)), o->name);
    }
    printf("%s-h --help'", common_option(usage) ? "-v --verbose " : "");
    print_operand(usage->synopsis);
    fputs("\n        case $2 in\n", stdout);
    for (const struct psnap_option *o = usage->options; !is_end(o); o++) {
        if (joined_value(o))
            printf("        --%.*s) value='%s' ;;\n", (int)strcspn(o->name, "="), o->name,
                   joined_value(o) + 1);
        if (!takes_value(o))
            continue;
        fputs("        ", stdout);
        if (o->letter)
            printf("-%c%s", o->letter, o->name ? " | " : "");
        if (o->name)
            printf("--%s", o->name);
        printf(") value='%s' ;;\n", value_of(o));
    }
    puts("        esac\n        ;;");
}

void psnap_usage_print(const struct psnap_usage *usage)
{
    switch (wanted.form) {
    case PSNAP_USAGE_TEXT:
        print_text(usage);
        break;
    case PSNAP_USAGE_MAN:
        print_man(usage);
        break;
    case PSNAP_USAGE_BASH:
        print_bash(usage);
        break;
    }
}
