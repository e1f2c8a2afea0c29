/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of commands and nothing else. A command lives beside the library
 * it drives, in a cmd_*.c of that folder.
 */
#include <stdio.h>
#include <string.h>

#include "formats/base/cmd.h"

static const struct psnap_command commands[] = {
    {"cc", "compile C with clang, with capture compiled in", psnap_cmd_cc},
    {"c++", "compile C++ likewise", psnap_cmd_cxx},
    {"record", "run an instrumented program and keep its profile", psnap_cmd_record},
    {"collect", NULL, psnap_cmd_collect}, /* started by programs, not by people */
    {"help", "list the commands", psnap_cmd_help},
    {"machines", "list and describe machines", psnap_cmd_machines},
};

enum { COMMAND_COUNT = sizeof commands / sizeof commands[0] };

static void print_commands(FILE *file)
{
    fputs("usage: psnap COMMAND [ARGUMENTS]\n\ncommands:\n", file);
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (commands[i].summary)
            fprintf(file, "  %-10s %s\n", commands[i].name, commands[i].summary);
    fputs("\n'psnap COMMAND --help' says more about one of them.\n", file);
}

int psnap_cmd_help(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    print_commands(stdout);
    return psnap_cmd_close_stdout("help", PSNAP_EXIT_DONE);
}

int main(int argc, char **argv)
{
    psnap_cmd_ignore_sigpipe();
    if (argc < 2) {
        print_commands(stderr);
        return PSNAP_EXIT_USAGE;
    }
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
        return psnap_cmd_help(argc, argv);
    if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "version")) {
        puts("psnap " PSNAP_VERSION);
        return psnap_cmd_close_stdout("version", PSNAP_EXIT_DONE);
    }
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (!strcmp(argv[1], commands[i].name))
            return commands[i].run(argc - 1, argv + 1);
    fprintf(stderr, "psnap: no command '%s'; 'psnap help' lists them\n", argv[1]);
    return PSNAP_EXIT_USAGE;
}
