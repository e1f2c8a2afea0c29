/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The completion of bash, as a script: the names of commands, formats and machines, a table of the
 * commands' options (each command prints its own case of it, instead of its help), and what looks
 * into these, completion.bash. An option's metavariable in --help says which
 * values bash offers: MACHINE, FORMAT, SCOPES, COMMAND, DIR; a|b|c is a choice, FILE or P.yaml a
 * file; for N bash offers none.
 */
#include "formats/cmd_manual.h"
#include "formats/formats.h"
#include "simcore/simcore.h"

extern const unsigned char completion_bash[]; /* the bytes of completion.bash and a zero */

static void print_names(const struct psnap_command *commands)
{
    const struct psnap_format *format;
    const struct psnap_machine *machine;

    fputs("_psnap_commands='", stdout);
    for (const struct psnap_command *c = commands; c->name; c++)
        if (c->summary)
            printf("%s ", c->name);
    fputs("'\n_psnap_formats='", stdout);
    for (size_t i = 0; (format = psnap_format_at(i)); i++)
        printf("%s ", format->name);
    fputs("'\n_psnap_machines='", stdout);
    for (size_t i = 0; (machine = psnap_machine_bundled(i)); i++)
        printf("%s ", machine->name);
    puts("host'\n");
}

/*     'predict') parts='cache multicore runtime' ;; and a case for each */
static int print_case(const struct psnap_command *command)
{
    int status = PSNAP_EXIT_DONE;

    if (!command->summary)
        return PSNAP_EXIT_DONE;
    if (!command->parts)
        return psnap_usage_print_as(PSNAP_USAGE_BASH, command, NULL);
    printf("    '%s')\n        parts='", command->name);
    for (const struct psnap_command *p = command->parts; p->name; p++)
        printf("%s%s", p == command->parts ? "" : " ", p->name);
    puts("'\n        ;;");
    for (const struct psnap_command *p = command->parts; p->name && !status; p++)
        status = psnap_usage_print_as(PSNAP_USAGE_BASH, command, p);
    return status;
}

int psnap_completion_print(const struct psnap_command *commands)
{
    int status = PSNAP_EXIT_DONE;

    print_names(commands);
    puts("_psnap_table()\n{\n    options='' operand='' value='' parts=''\n    case $1 in");
    for (const struct psnap_command *c = commands; c->name && !status; c++)
        status = print_case(c);
    if (status)
        return status;
    puts("    esac\n}\n");
    fputs((const char *)completion_bash, stdout);
    return psnap_cmd_close_stdout("help", PSNAP_EXIT_DONE);
}
