/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The manual: psnap(1) of the table of commands, a page in section 1 of each command, which prints
 * it itself instead of its help, and in section 5 of each trace format, of its descriptor.
 */
#include "formats/cmd_manual.h"

#include <errno.h>
#include <string.h>

#include "formats/base/cmd_roff.h"
#include "formats/consumers.h"
#include "formats/formats.h"

static void print_tag(const char *tag)
{
    printf(".TP\n\\fB");
    psnap_roff_text(stdout, tag, strlen(tag));
    puts("\\fR");
}

static void print_line(const char *text)
{
    psnap_roff_text(stdout, text, strlen(text));
    putchar('\n');
}

/* "psnap-predict-cache(1)" and its line, of each; `before` is "psnap-predict-". */
static void print_commands(const struct psnap_command *commands, const char *before)
{
    char page[96];

    for (const struct psnap_command *c = commands; c->name; c++) {
        if (!c->summary)
            continue;
        snprintf(page, sizeof page, "%s%s(1)", before, c->name);
        print_tag(page);
        print_line(c->summary);
    }
}

static void print_psnap(const struct psnap_command *commands)
{
    static const char *const variables[][2] = {
        {"PSNAP_OUT", "file for the profile of a program that is started without psnap record; "
                      "psnap-record(1)"},
        {"PSNAP_ROI", "functions that are recorded then, a line each"},
        {"PSNAP_CLANG, PSNAP_CLANGXX, PSNAP_FLANG", "the compilers of psnap-cc(1) and its kin"},
        {"PSNAP_LLVM", "the LLVM whose compiler they take"},
        {"COLUMNS", "the width of tables"}};
    const struct psnap_format *format;
    char page[96];

    psnap_roff_begin(stdout, "psnap", 1,
                     "profiles of memory behaviour, address streams and cache simulation");
    puts(".SH SYNOPSIS");
    psnap_roff_synopsis(stdout, "psnap COMMAND [ARGUMENTS]\npsnap --version");
    puts(".SH DESCRIPTION");
    psnap_roff_paragraphs(
        stdout,
        "psnap turns the memory behaviour of a running program into a profile: a file that a\n"
        "person can read, edit and keep. From a profile it makes a synthetic address stream, and\n"
        "simulates caches on the observed and on the synthetic one.\n"
        "\n"
        "    psnap cc -O2 cg.c -o cg -lm\n"
        "    psnap record -o cg.yaml --trace cg.pst -- ./cg\n"
        "    psnap compare cg.pst cg.yaml -m i7-5960x\n"
        "\n"
        "- is standard input or output. Reports have --json, and so have failures. Files are not\n"
        "overwritten without --force. 'psnap doctor' says what is missing where a command does "
        "not\n"
        "work.\n");
    puts(".SH COMMANDS");
    print_commands(commands, "psnap-");
    puts(".SH TRACE FORMATS");
    for (size_t i = 0; (format = psnap_format_at(i)); i++) {
        snprintf(page, sizeof page, "psnap-%s(5)", format->name);
        print_tag(page);
        print_line(format->summary);
    }
    puts(".SH ENVIRONMENT");
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        print_tag(variables[i][0]);
        print_line(variables[i][1]);
    }
    puts(".SH EXIT STATUS\n0 done, 1 failed or a threshold missed, 2 wrong usage, 141 when who "
         "reads "
         "the output has gone;\n\\fBpsnap record\\fR and \\fBpsnap run\\fR have that of the "
         "program.");
}

/* A command of several parts: each has a page of its own. */
static void print_parts(const struct psnap_command *command)
{
    char title[64], synopsis[96];

    snprintf(title, sizeof title, "psnap-%s", command->name);
    snprintf(synopsis, sizeof synopsis, "psnap %s WHAT [ARGUMENTS]", command->name);
    psnap_roff_begin(stdout, title, 1, command->summary);
    puts(".SH SYNOPSIS");
    psnap_roff_synopsis(stdout, synopsis);
    puts(".SH DESCRIPTION");
    puts("WHAT is one of these, each of which has a page of its own:");
    snprintf(title, sizeof title, "psnap-%s-", command->name);
    print_commands(command->parts, title);
    puts(".SH SEE ALSO\n.BR psnap (1)");
}

/* The page of a command, or of a part of it; the command's exit status. */
static int print_command(const struct psnap_command *command, const struct psnap_command *part)
{
    if (!command->parts || part)
        return psnap_usage_print_as(PSNAP_USAGE_MAN, command, part);
    print_parts(command);
    return psnap_cmd_close_stdout("help", PSNAP_EXIT_DONE);
}

static int print_format(const struct psnap_format *format)
{
    const struct psnap_consumer *consumer;
    char title[64];

    snprintf(title, sizeof title, "psnap-%s", format->name);
    psnap_roff_begin(stdout, title, 5, format->summary);
    puts(".SH DESCRIPTION");
    psnap_roff_paragraphs(stdout, format->description);
    puts(".SH LIMITS");
    printf("psnap %s this format%s.\n",
           format->readable && format->writable ? "reads and writes"
           : format->readable                   ? "reads"
                                                : "writes",
           format->is_memory_side
               ? "; it gets what misses a machine's caches, and its write\\-backs"
               : "");
    if (format->loses[0]) {
        fputs("It does not keep: ", stdout);
        psnap_roff_text(stdout, format->loses, strlen(format->loses));
        puts(".");
    } else {
        puts("Nothing is lost.");
    }
    for (size_t i = 0; (consumer = psnap_consumer_at(format->name, i)); i++) {
        fputs(i ? ".SS " : ".SH EXAMPLES\n.SS ", stdout);
        psnap_roff_text(stdout, consumer->name, strlen(consumer->name));
        putchar('\n');
        psnap_roff_paragraphs(stdout, consumer->recipe);
        puts(".PP");
        psnap_roff_paragraphs(stdout, consumer->counters);
    }
    puts(".SH SEE ALSO\n.BR psnap\\-formats (1),\n.BR psnap\\-convert (1)");
    return psnap_cmd_close_stdout("help", PSNAP_EXIT_DONE);
}

static const struct psnap_command *find(const struct psnap_command *commands, const char *name)
{
    for (const struct psnap_command *c = commands; c && c->name; c++)
        if (!strcmp(c->name, name) && c->summary)
            return c;
    return NULL;
}

int psnap_manual_print(const struct psnap_command *commands, int count, char *const *names)
{
    const struct psnap_command *command, *part = NULL;
    const struct psnap_format *format;

    if (count == 0) {
        print_psnap(commands);
        return psnap_cmd_close_stdout("help", PSNAP_EXIT_DONE);
    }
    command = find(commands, names[0]);
    if (command && count > 1)
        part = find(command->parts, names[1]);
    if (command && count <= 2 && (part != NULL) == (count == 2))
        return print_command(command, part);
    format = count == 1 ? psnap_format_find(names[0]) : NULL;
    if (format)
        return print_format(format);
    return psnap_cmd_usage("help", "there is no page of '%s%s%s'", names[0], count > 1 ? " " : "",
                           count > 1 ? names[1] : "");
}

/* Standard output becomes FOLDER/psnap-A-B.SECTION; 0 or an exit status. */
static int open_page(const char *folder, const char *a, const char *b, int section)
{
    struct psnap_error error = {0};
    char path[4096];
    const int length = snprintf(path, sizeof path, "%s/psnap%s%s%s%s.%d", folder, a ? "-" : "",
                                a ? a : "", b ? "-" : "", b ? b : "", section);

    if (length > 0 && (size_t)length < sizeof path && freopen(path, "w", stdout))
        return 0;
    psnap_error_system(&error, errno, "cannot write '%s'", path);
    return psnap_cmd_fail("help", &error);
}

static int write_command(const struct psnap_command *command, const char *folder)
{
    int status = open_page(folder, command->name, NULL, 1);

    if (!status)
        status = print_command(command, NULL);
    for (const struct psnap_command *p = command->parts; p && p->name && !status; p++) {
        status = open_page(folder, command->name, p->name, 1);
        if (!status)
            status = print_command(command, p);
    }
    return status;
}

int psnap_manual_write(const struct psnap_command *commands, const char *folder)
{
    const struct psnap_format *format;
    int status = open_page(folder, NULL, NULL, 1);

    if (!status)
        status = psnap_manual_print(commands, 0, NULL);
    for (const struct psnap_command *c = commands; c->name && !status; c++)
        if (c->summary)
            status = write_command(c, folder);
    for (size_t i = 0; !status && (format = psnap_format_at(i)); i++) {
        status = open_page(folder, format->name, NULL, 5);
        if (!status)
            status = print_format(format);
    }
    return status;
}
