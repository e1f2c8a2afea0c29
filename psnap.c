/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of commands and nothing else. A command lives beside the library
 * it drives, in a cmd_*.c of that folder.
 */
#include <stdio.h>
#include <string.h>

#include "formats/base/cmd.h"
#include "formats/base/cmd_timing.h"
#include "formats/base/text.h"

static const struct psnap_command commands[] = {
    {"cc", "compile C with clang, with capture compiled in", psnap_cmd_cc},
    {"c++", "compile C++ likewise", psnap_cmd_cxx},
    {"fc", "compile Fortran with flang likewise", psnap_cmd_fc},
    {"record", "run an instrumented program and keep its profile", psnap_cmd_record},
    {"collect", NULL, psnap_cmd_collect}, /* started by programs, not by people */
    {"profile", "make a profile of a trace", psnap_cmd_profile},
    {"replay", "make a synthetic stream of a profile", psnap_cmd_replay},
    {"run", "feed a stream to another program", psnap_cmd_run},
    {"show", "a profile for people", psnap_cmd_show},
    {"check", "validate profiles", psnap_cmd_check},
    {"diff", "what is different in another profile", psnap_cmd_diff},
    {"merge", "fold the profiles of a parallel job's ranks into one", psnap_cmd_merge},
    {"edit", "change a profile: larger arrays, more iterations, other strides", psnap_cmd_edit},
    {"whatif", "what edits of a profile do to hit rates", psnap_cmd_whatif},
    {"repo", "the archive of profiles: add, search, get, verify, export", psnap_cmd_repo,
     psnap_repo_commands},
    {"convert", "write a stream in another trace format", psnap_cmd_convert},
    {"info", "what is in a trace or profile", psnap_cmd_info},
    {"formats", "list and describe trace formats", psnap_cmd_formats},
    {"help", "list the commands, or explain one", psnap_cmd_help},
    {"sim", "simulate the caches of machines: hit rates", psnap_cmd_sim},
    {"sweep", "simulate a list of inputs and edits on machines", psnap_cmd_sweep},
    {"compare", "how far two streams are apart in the caches", psnap_cmd_compare},
    {"machine", "measure this computer, as a machine file", psnap_cmd_machine},
    {"machines", "list and describe machines", psnap_cmd_machines},
    {"multimaps", "measure this computer's memory bandwidths: strides, sizes, random",
     psnap_cmd_multimaps},
    {"reuse", "reuse distances, miss-ratio curves", psnap_cmd_reuse},
    {"fit", "fit bandwidth to the points of multimaps", psnap_cmd_fit},
    {"predict", "hit rates and run times by analytical models", psnap_cmd_predict,
     psnap_predict_models},
    {"locality", "locality surface and scores of a stream", psnap_cmd_locality},
    {"hybrid", "what size, machine and code do to cycles per instruction", psnap_cmd_hybrid},
    {"report", "a page for people: loops, hit rates, figures", psnap_cmd_report},
    {"doctor", "check the installation: what is missing for what", psnap_cmd_doctor},
    {0},
};

enum { COMMAND_COUNT = sizeof commands / sizeof commands[0] - 1 };

static void print_commands(FILE *file)
{
    fputs("usage: psnap COMMAND [ARGUMENTS]\n\ncommands:\n", file);
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (commands[i].summary)
            fprintf(file, "  %-10s %s\n", commands[i].name, commands[i].summary);
    fputs("\n'psnap COMMAND --help' says more about one of them;\n"
          "'psnap --version' prints the version.\n",
          file);
}

static const struct psnap_command *find_command(const char *name)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (!strcmp(name, commands[i].name))
            return &commands[i];
    return NULL;
}

static int unknown_command(const char *name)
{
    const char *names[COMMAND_COUNT], *nearest;

    for (size_t i = 0; i < COMMAND_COUNT; i++)
        names[i] = commands[i].summary ? commands[i].name : NULL;
    nearest = psnap_text_nearest(name, names, COMMAND_COUNT);
    if (nearest)
        psnap_print(stderr, "psnap: no command '%s'; did you mean '%s'?\n", name, nearest);
    else
        psnap_print(stderr, "psnap: no command '%s'; 'psnap help' lists them\n", name);
    return PSNAP_EXIT_USAGE;
}

/* "help" lists the commands, "help NAME" is "NAME --help". */
static int explain(int count, char **names)
{
    static char help[] = "--help";
    const struct psnap_command *command = count > 0 ? find_command(names[0]) : NULL;

    if (count > 1 && command && command->parts)
        return command->run(3, (char *[]){names[0], names[1], help, NULL});
    if (count > 0)
        return command ? command->run(2, (char *[]){names[0], help, NULL})
                       : unknown_command(names[0]);
    print_commands(stdout);
    return psnap_cmd_close_stdout("help", PSNAP_EXIT_DONE);
}

int psnap_cmd_help(int argc, char **argv)
{
    const struct psnap_option options[] = {{0}};
    const struct psnap_usage usage = {
        "psnap help [COMMAND]",
        "Lists the commands; with a COMMAND ('sim', 'predict cache') it explains that one, as\n"
        "'psnap COMMAND --help' does.",
        options};
    int status;
    const int operands = psnap_options_parse(argc, argv, &usage, false, &status);

    return operands < 0 ? status : explain(operands, argv + 1);
}

/* Takes the folder and "psnap-" off such a name: `psnap-cc`, a link to this program, is `psnap cc`,
 * for to many builds a compiler is one word. */
static bool is_named_after_command(char **name)
{
    char *command = *name + (psnap_text_base_name(*name) - *name);

    if (strncmp(command, "psnap-", 6) != 0 || !find_command(command + 6))
        return false;
    *name = command + 6;
    return true;
}

int main(int argc, char **argv)
{
    const struct psnap_command *command;
    int status;

    psnap_timing_begin();
    psnap_cmd_ignore_sigpipe();
    if (argc < 1 || !is_named_after_command(&argv[0])) {
        if (argc < 2) {
            print_commands(stderr);
            return PSNAP_EXIT_USAGE;
        }
        if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
            return explain(0, NULL);
        if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "version")) {
            puts("psnap " PSNAP_VERSION);
            return psnap_cmd_close_stdout("version", PSNAP_EXIT_DONE);
        }
        argc--;
        argv++;
    }
    command = find_command(argv[0]);
    status = command ? command->run(argc, argv) : unknown_command(argv[0]);
    psnap_timing_report();
    return status;
}
