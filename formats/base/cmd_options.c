/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Declarative options: a table says what there is, and both the parser and the help are made from
 * it; so are the manual and the completion of bash, of the help (samples/packaging): these tell
 * from the name of an option's value what it may be. Options and operands may be mixed; operands
 * are moved to the front of argv in their order. Mistakes name the option and, for an unknown one,
 * the nearest that exists.
 */
#include "formats/base/cmd.h"

#include <stdlib.h>
#include <string.h>

#include "formats/base/cmd_timing.h"
#include "formats/base/room.h"
#include "formats/base/text.h"

struct parser {
    const struct psnap_usage *usage;
    const char *command;
    int argc, index; /* of the argument being looked at */
    char **argv;
};

/* What every command has, unless its table has an option of that name. */
static bool is_verbose;
const struct psnap_option psnap_option_verbose = {
    PSNAP_OPTION_FLAG, 'v', "verbose", &is_verbose, NULL, "say where the time went"};

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

/* ---- parsing ---- */

static const struct psnap_option *find_letter(const struct psnap_usage *usage, char letter)
{
    for (const struct psnap_option *o = usage->options; o && o->type != PSNAP_OPTION_END; o++)
        if (o->letter && o->letter == letter)
            return o;
    return letter == psnap_option_verbose.letter ? &psnap_option_verbose : NULL;
}

static const struct psnap_option *find_name(const struct psnap_usage *usage, const char *name,
                                            size_t length)
{
    for (const struct psnap_option *o = usage->options; o && o->type != PSNAP_OPTION_END; o++)
        if (o->name && strlen(o->name) == length && !memcmp(o->name, name, length))
            return o;
    return length == strlen("verbose") && !memcmp(name, "verbose", length) ? &psnap_option_verbose
                                                                           : NULL;
}

static int unknown_name(const struct parser *parser, const char *name, int length)
{
    const char *nearest = NULL;
    const char *names[64] = {"help", "verbose"};
    char typed[64];
    size_t count = 2;

    for (const struct psnap_option *o = parser->usage->options;
         o && o->type != PSNAP_OPTION_END && count < sizeof names / sizeof names[0]; o++)
        names[count++] = o->name;
    snprintf(typed, sizeof typed, "%.*s", length, name);
    nearest = psnap_text_nearest(typed, names, count);
    if (nearest)
        return psnap_cmd_usage(parser->command, "no option '--%s'; did you mean '--%s'?", typed,
                               nearest);
    return psnap_cmd_usage(parser->command, "no option '--%s'", typed);
}

static bool list_append(struct psnap_text_list *list, const char *text)
{
    if (!psnap_resize(&list->items, list->count + 1, sizeof *list->items))
        return false;
    list->items[list->count++] = text;
    return true;
}

/* Stores `text` (NULL for a flag) as the option's value; 0 or an exit status. */
static int store(const struct parser *parser, const struct psnap_option *option, const char *text)
{
    const char *wanted = NULL;
    char what[128];
    bool good = true;

    switch (option->type) {
    case PSNAP_OPTION_FLAG:
        *(bool *)option->value = true;
        if (option->name && !strcmp(option->name, psnap_option_verbose.name))
            psnap_timing_want();
        break;
    case PSNAP_OPTION_TEXT:
        *(const char **)option->value = text;
        break;
    case PSNAP_OPTION_ONCE:
        good = !*(const char **)option->value;
        *(const char **)option->value = text;
        break;
    case PSNAP_OPTION_LIST:
        if (!list_append(option->value, text)) {
            psnap_print(stderr, "psnap %s: out of memory\n", parser->command);
            return PSNAP_EXIT_FAILED;
        }
        break;
    case PSNAP_OPTION_U64:
        good = psnap_text_u64(text, option->value);
        wanted = "a whole number from 0 to 18446744073709551615";
        break;
    case PSNAP_OPTION_SIZE:
        good = psnap_text_size(text, option->value);
        wanted = "a size such as 4096, 32K or 1M";
        break;
    case PSNAP_OPTION_COUNT:
        good = psnap_text_size(text, option->value);
        wanted = "a number such as 4096, 32K or 1M";
        break;
    case PSNAP_OPTION_REAL:
        good = psnap_text_real(text, option->value);
        wanted = "a number";
        break;
    case PSNAP_OPTION_END:
        break;
    }
    if (good)
        return 0;
    psnap_option_describe(option, what, sizeof what);
    if (!wanted)
        return psnap_cmd_usage(parser->command, "%s: given more than once", what);
    return psnap_cmd_usage(parser->command, "%s: '%s' is not %s", what, text, wanted);
}

/* Whether an argument, as it stands, is an option of the command, which is no value then: "-o" of
 * "--site -o DIR". */
static bool is_option(const struct psnap_usage *usage, const char *argument)
{
    if (argument[0] != '-' || !argument[1])
        return false;
    if (argument[1] == '-')
        return !argument[2] || find_name(usage, argument + 2, strlen(argument + 2));
    return !argument[2] && find_letter(usage, argument[1]);
}

/* The value in the next argument; NULL after a message when there is none. */
static const char *next_argument(struct parser *parser, const struct psnap_option *option)
{
    const char *next = parser->index + 1 < parser->argc ? parser->argv[parser->index + 1] : NULL;
    char what[128];

    if (next && !is_option(parser->usage, next))
        return parser->argv[++parser->index];
    psnap_option_describe(option, what, sizeof what);
    if (next && strcmp(next, "--") != 0)
        psnap_cmd_usage(parser->command, "%s: the value is missing, '%s' is an option", what, next);
    else
        psnap_cmd_usage(parser->command, "%s: the value is missing", what);
    return NULL;
}

static int parse_long(struct parser *parser, const char *name)
{
    const char *equals = strchr(name, '=');
    const size_t length = equals ? (size_t)(equals - name) : strlen(name);
    const struct psnap_option *option = find_name(parser->usage, name, length);
    const char *value = equals ? equals + 1 : NULL;

    if (!option)
        return unknown_name(parser, name, length < 64 ? (int)length : 63);
    if (option->type == PSNAP_OPTION_FLAG) {
        if (value)
            return psnap_cmd_usage(parser->command, "'--%s' takes no value", option->name);
    } else if (!value) {
        value = next_argument(parser, option);
        if (!value)
            return PSNAP_EXIT_USAGE;
    }
    return store(parser, option, value);
}

/* "-jk", "-nvalue", "-n value": flags may stand together, a value ends them. */
static int parse_letters(struct parser *parser, const char *letters)
{
    const size_t name = strcspn(letters, "=");

    if (name > 1 && find_name(parser->usage, letters, name))
        return psnap_cmd_usage(parser->command, "no option '-%.*s'; did you mean '--%.*s'?",
                               (int)name, letters, (int)name, letters);
    for (; *letters; letters++) {
        const struct psnap_option *option = find_letter(parser->usage, *letters);
        const char *value = NULL;
        int status;
        if (!option)
            return psnap_cmd_usage(parser->command, "no option '-%.*s'",
                                   (int)(psnap_text_next(letters) - letters), letters);
        if (option->type != PSNAP_OPTION_FLAG) {
            value = letters[1] ? letters + 1 : next_argument(parser, option);
            if (!value)
                return PSNAP_EXIT_USAGE;
        }
        status = store(parser, option, value);
        if (status || value)
            return status;
    }
    return 0;
}

/* Whether --json is among the arguments, ahead of parsing: errors in options before it are JSON,
 * too.
 */
bool psnap_cmd_is_json(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (!strcmp(argv[i], "--json"))
            return true;
    return false;
}

int psnap_options_parse(int argc, char **argv, const struct psnap_usage *usage,
                        bool stop_at_operand, int *exit_status)
{
    struct parser parser = {usage, argc > 0 ? argv[0] : "", argc, 1, argv};
    const struct psnap_option *json;
    int operands = 0;

    *exit_status = PSNAP_EXIT_DONE;
    json = find_name(usage, "json", strlen("json"));
    psnap_cmd_fail_in_json(json && psnap_cmd_is_json(argc, argv)); /* until all are read */
    for (; parser.index < argc; parser.index++) {
        char *argument = argv[parser.index];
        if (!strcmp(argument, "--")) {
            parser.index++;
            break;
        }
        if (argument[0] != '-' || !argument[1]) {
            if (stop_at_operand)
                break;
            argv[1 + operands++] = argument;
            continue;
        }
        if (!strcmp(argument, "--help") || (!strcmp(argument, "-h") && !find_letter(usage, 'h'))) {
            psnap_usage_print(usage);
            *exit_status = psnap_cmd_close_stdout(parser.command, PSNAP_EXIT_DONE);
            return -1;
        }
        *exit_status = argument[1] == '-' ? parse_long(&parser, argument + 2)
                                          : parse_letters(&parser, argument + 1);
        if (*exit_status)
            return -1;
    }
    for (; parser.index < argc; parser.index++)
        argv[1 + operands++] = argv[parser.index];
    psnap_cmd_fail_in_json(json && json->type == PSNAP_OPTION_FLAG && *(const bool *)json->value);
    return operands;
}

void psnap_text_list_release(struct psnap_text_list *list)
{
    free(list->items);
    *list = (struct psnap_text_list){NULL, 0};
}
