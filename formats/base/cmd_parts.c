/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A command that has parts, each a command of its own: psnap predict and psnap repo. The second
 * word chooses one, which calls itself in messages as a user calls it: "predict cache".
 */
#include <ctype.h>
#include <string.h>

#include "formats/base/cmd.h"
#include "formats/base/text.h"

enum { PARTS_MAX = 32 };

static void print_parts(const char *command, const char *synopsis, const char *what,
                        const struct psnap_command *parts, FILE *file)
{
    fprintf(file, "usage: %s\n\n%ss:\n", synopsis, what);
    for (; parts->name; parts++)
        fprintf(file, "  %-10s %s\n", parts->name, parts->summary);
    fprintf(file, "\n'psnap %s ", command);
    for (; *what; what++)
        putc(toupper((unsigned char)*what), file);
    fputs(" --help' says more about one of them.\n", file);
}

int psnap_cmd_part(const char *command, const char *synopsis, const char *what,
                   const struct psnap_command *parts, int argc, char **argv)
{
    const char *names[PARTS_MAX], *nearest;
    size_t count = 0;

    if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
        print_parts(command, synopsis, what, parts, stdout);
        return psnap_cmd_close_stdout(command, PSNAP_EXIT_DONE);
    }
    if (argc < 2) {
        print_parts(command, synopsis, what, parts, stderr);
        return PSNAP_EXIT_USAGE;
    }
    for (; parts[count].name && count < PARTS_MAX; count++) {
        char name[64];
        names[count] = parts[count].name;
        if (strcmp(argv[1], names[count]) != 0)
            continue;
        snprintf(name, sizeof name, "%s %s", command, names[count]);
        argv[1] = name;
        return parts[count].run(argc - 1, argv + 1);
    }
    psnap_cmd_fail_in_json(psnap_cmd_is_json(argc, argv));
    nearest = psnap_text_nearest(argv[1], names, count);
    if (nearest)
        return psnap_cmd_usage(command, "no %s '%.100s'; did you mean '%s'?", what, argv[1],
                               nearest);
    return psnap_cmd_usage(command, "no %s '%.100s'", what, argv[1]);
}
