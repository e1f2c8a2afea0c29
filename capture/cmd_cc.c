/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap cc, psnap c++, psnap fc: the user's clang or flang command line with the capture pass
 * loaded and, when it links, the runtime added. Everything else passes through.
 *
 * With -flto it is the linker, lld, that instruments: at the end of its pipeline,
 * where the program is whole (or, with thin LTO, each module has its imports).
 *
 * Options of our own start with --psnap-: --psnap-stage=vectorizer-start puts
 * the pass before vectorisation, --psnap-llvm=NN takes the compiler of that LLVM, --psnap-openmp
 * marks what OpenMP does, for psnap predict multicore.
 * What is compiled finds <psnap/roi.h>, whose marks __PSNAP__ makes work.
 */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/cmd_compiler.h"
#include "formats/base/capture_abi.h"
#include "formats/base/cmd.h"
#include "formats/base/text.h"

#define STAGE_OPTION "--psnap-stage="
#define LLVM_OPTION "--psnap-llvm="
#define OPENMP_OPTION "--psnap-openmp"
#define BLOCKS_OPTION "--psnap-blocks"

/* What a command line asks for, as far as we must know. */
struct request {
    bool has_input, stops_early, preprocesses, has_debug, is_relocatable, is_static,
        writes_assembly;
    bool has_no_libc, names_libc; /* left out by the driver; among what is linked */
    bool is_unoptimised;          /* -O0 */
    bool has_lto;                 /* objects are bitcode, which is instrumented when it is linked */
    bool is_fortran;       /* flang has no word against unused arguments, nor warns of ours */
    char option[16];       /* whose value is the next word; "": none */
    char linker[PATH_MAX]; /* "ld.lld" for -fuse-ld=lld, a path, or "" for the usual one */
};

static bool starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* `names` have a blank between them. */
static bool is_one_of(const char *text, const char *names)
{
    const size_t length = strlen(text);

    while (*names) {
        const size_t n = strcspn(names, " ");
        if (n == length && !memcmp(text, names, n))
            return true;
        names += n + strspn(names + n, " ");
    }
    return false;
}

/* Options whose value is the next argument, which is then no input. */
static bool takes_value(const char *option)
{
    static const char names[] =
        "-o -x -I -L -D -U -MF -MT -MQ -include -imacros -isystem -iquote -idirafter "
        "-isysroot -Xclang -Xlinker -Xassembler -Xpreprocessor -mllvm -target -arch -T "
        "-u -z -e -framework -F -aux-info --param -A -iprefix -iwithprefix -B "
        "--sysroot -MJ -dumpdir -Xanalyzer -Xopenmp-target -Xoffload-linker "
        "-cxx-isystem -iframework -ivfsoverlay -iwithprefixbefore -iwithsysroot "
        "-isystem-after -stdlib++-isystem -include-pch -working-directory "
        "-resource-dir -serialize-diagnostics --serialize-diagnostics -dependency-file "
        "-rpath --output --include --language --define-macro --undefine-macro "
        "--include-directory --library-directory --for-linker --assert --prefix --std "
        "--rtlib -imultilib -J -module-dir -fintrinsic-modules-path --config -V -b -G";
    return is_one_of(option, names) || starts_with(option, "-Xarch_") ||
           starts_with(option, "-Xopenmp-target=");
}

static bool is_header(const char *input)
{
    const char *dot = strrchr(input, '.');

    return dot && is_one_of(dot, ".h .hh .hpp .hxx .H .h++");
}

/* As clang does: "lld-19" is ld.lld-19, a path is that. */
static void set_linker(struct request *request, const char *name)
{
    const char *prefix = strchr(name, '/') ? "" : "ld.";
    snprintf(request->linker, sizeof request->linker, "%s%s", *name ? prefix : "", name);
}

/* "ld.lld", "ld.lld-19", "/usr/bin/ld.lld" */
static bool is_lld(const char *linker)
{
    linker = psnap_text_base_name(linker);
    return starts_with(linker, "lld") || starts_with(linker, "ld.lld");
}

/* Whether the linker is to have the pass: with lld there may be bitcode among what is linked. */
static bool loads_pass(const struct request *request)
{
    return request->has_lto || is_lld(request->linker);
}

/* "-lc", "-Wl,-lc,-lgcc", "-l:libc.a", "/usr/lib/libc.so.6" */
static bool is_libc(const char *argument)
{
    return psnap_text_ends_in(argument, "-lc") || strstr(argument, "-lc,") ||
           psnap_text_ends_in(argument, "libc.a") || strstr(argument, "libc.so");
}

static void look_at(struct request *request, const char *argument)
{
    request->writes_assembly |= !strcmp(argument, "-S");
    if (starts_with(argument, "-O"))
        request->is_unoptimised = !strcmp(argument, "-O0");
    request->names_libc |= is_libc(argument);
    if (is_one_of(argument, "-c -S -fsyntax-only --precompile --analyze -emit-ast") ||
        (starts_with(argument, "-x") && psnap_text_ends_in(argument, "-header")))
        request->stops_early = true;
    else if (is_one_of(argument, "-E -M -MM --preprocess"))
        request->preprocesses = request->stops_early = true;
    else if (!strcmp(argument, "-r"))
        request->is_relocatable = true;
    else if (!strcmp(argument, "-flto") || starts_with(argument, "-flto="))
        request->has_lto = strcmp(argument, "-flto=none") != 0;
    else if (!strcmp(argument, "-fno-lto"))
        request->has_lto = false;
    else if (starts_with(argument, "-fuse-ld="))
        set_linker(request, argument + strlen("-fuse-ld="));
    else if (starts_with(argument, "--ld-path="))
        set_linker(request, argument + strlen("--ld-path="));
    else if (is_one_of(argument, "-static --static -static-pie"))
        request->is_static = true;
    else if (is_one_of(argument, "-nostdlib -nodefaultlibs -nolibc -ffreestanding"))
        request->has_no_libc = true;
    else if (starts_with(argument, "-g") && !starts_with(argument, "-gcc"))
        request->has_debug = true;
    else if (argument[0] != '-' || !strcmp(argument, "-") || starts_with(argument, "-l")) {
        request->has_input = true;
        request->stops_early |= is_header(argument);
    }
}

static void look_into_file(struct request *request, const char *path, int depth);

/* -x c-header asks for a precompiled header, which is not linked. */
static void look_at_word(struct request *request, const char *word, int depth)
{
    const bool is_value = request->option[0];

    if (is_value && !strcmp(request->option, "-x") && psnap_text_ends_in(word, "-header"))
        request->stops_early = true;
    snprintf(request->option, sizeof request->option, "%.15s",
             !is_value && takes_value(word) ? word : "");
    if (!is_value && word[0] == '@')
        look_into_file(request, word + 1, depth + 1);
    else if (!is_value)
        look_at(request, word);
}

/* Words of a response file, as clang splits them: blanks, quotes, backslashes. */
static void look_into_file(struct request *request, const char *path, int depth)
{
    char word[PATH_MAX + 1];
    size_t length = 0;
    int c, quote = 0;
    bool in_word = false;
    FILE *file = depth <= 8 ? fopen(path, "re") : NULL;

    if (!file)
        return; /* clang will say it */
    do {
        c = getc(file);
        if (c == '\\') {
            int escaped = getc(file);
            c = escaped != EOF ? escaped : c; /* the last one stands for itself */
        } else if (quote ? c == quote : c == '\'' || c == '"') {
            quote = quote ? 0 : c;
            in_word = true;
            continue;
        } else if (c == EOF || (!quote && strchr(" \t\r\n", c))) {
            word[length] = '\0';
            if (in_word)
                look_at_word(request, word, depth);
            in_word = false;
            length = 0;
            continue;
        }
        in_word = true;
        if (c != EOF && length < PATH_MAX)
            word[length++] = (char)c;
    } while (c != EOF);
    fclose(file);
}

static struct request understand(int argc, char **argv)
{
    struct request request = {0};

    for (int i = 1; i < argc; i++)
        look_at_word(&request, argv[i], 0);
    request.has_no_libc &= !request.names_libc;
    return request;
}

/* What the linker needs: the runtime, and for bitcode the pass. */
static int add_link_arguments(const struct request *request, const char *runtime,
                              const char *lto_plugin, const char **command)
{
    int n = 0;

    if (!request->is_fortran)
        command[n++] = "--start-no-unused-arguments";
    if (!request->is_static) /* no library will look for them */
        command[n++] = "-Wl,--export-dynamic-symbol=__psnap_*";
    if (request->has_lto && !request->linker[0])
        command[n++] = "-fuse-ld=lld"; /* no other loads passes */
    if (loads_pass(request))
        command[n++] = lto_plugin;
    if (request->has_lto && request->is_unoptimised) /* thin LTO runs no pass at 0 */
        command[n++] = "-Wl,--lto-O1,--lto-CGO0";
    if (request->has_no_libc) {
        command[n++] = "-xnone";
        command[n++] = runtime;
    }
    command[n++] = "-lpthread";
    if (!request->is_fortran)
        command[n++] = "--end-no-unused-arguments";
    return n;
}

/* Takes what is said to us out of the command line; the number of words that are left, or 0, and
 * says so, where there is something that nobody knows. */
static int take_options(int argc, char **argv, const char **stage, const char **llvm)
{
    int n = 1;

    for (int i = 1; i < argc; i++)
        if (starts_with(argv[i], STAGE_OPTION))
            *stage = argv[i] + strlen(STAGE_OPTION);
        else if (starts_with(argv[i], LLVM_OPTION))
            *llvm = argv[i] + strlen(LLVM_OPTION);
        else if (!strcmp(argv[i], OPENMP_OPTION))
            setenv(PSNAP_ENV_OPENMP, "1", 1);
        else if (!strcmp(argv[i], BLOCKS_OPTION))
            setenv(PSNAP_ENV_BLOCKS, "1", 1);
        else if (starts_with(argv[i], "--psnap-")) {
            psnap_cmd_usage(argv[0], "no option '%s'; there are: %sSTAGE, %sNN, %s, %s", argv[i],
                            STAGE_OPTION, LLVM_OPTION, OPENMP_OPTION, BLOCKS_OPTION);
            return 0;
        } else
            argv[n++] = argv[i];
    argv[n] = NULL;
    return n;
}

enum { ADDED_MAX = 32 }; /* to the command line */

/* The command line that is run instead: that of the user between what compiling needs and what
 * linking needs. */
static enum psnap_status extend(const struct psnap_compiler *compiler, struct request *request,
                                int argc, char **argv, const char **command,
                                struct psnap_error *error)
{
    static char plugin[PATH_MAX + 64], lto_plugin[PATH_MAX + 64]; /* until exec */
    const bool links = request->has_input && !request->stops_early && !request->is_relocatable;
    char pass[PATH_MAX + 32];
    int n = 0;

    command[n++] = compiler->path;
    if (request->has_input && !request->is_fortran) {
        command[n++] = "--start-no-unused-arguments";
        command[n++] = "-D__PSNAP__=1";
        if (compiler->include[0]) {
            command[n++] = "-idirafter";
            command[n++] = compiler->include;
        }
    }
    if (request->has_input && !request->preprocesses) {
        snprintf(plugin, sizeof plugin, "-fpass-plugin=%s", compiler->pass);
        if (!request->has_lto)
            command[n++] = plugin;
        if (!request->has_debug)
            command[n++] = "-gline-tables-only";
        if (!request->has_debug &&
            !loads_pass(request)) /* bitcode that is linked may have its own */
            setenv(PSNAP_ENV_LINES, "1", 1);
    }
    if (request->has_input && !request->is_fortran)
        command[n++] = "--end-no-unused-arguments";
    /* The runtime comes before all else that is linked: whatever shared libraries come behind it,
     * which may have one too when they are linked and none when they are loaded, the program has
     * its own. Where there is no C library only who needs it gets it (add_link_arguments). */
    if (links && !request->has_no_libc) {
        command[n++] = "-Wl,-u,__psnap_register";
        command[n++] = compiler->runtime;
    }
    for (int i = 1; i < argc; i++)
        command[n++] = argv[i];
    if (links && loads_pass(request)) {
        const char *linker = request->linker[0] ? request->linker : "ld.lld";
        if (psnap_compiler_linker_pass(compiler, linker, pass, error) != PSNAP_OK)
            return error->code;
        snprintf(lto_plugin, sizeof lto_plugin, "-Wl,--load-pass-plugin=%s", pass);
    }
    if (links)
        n += add_link_arguments(request, compiler->runtime, lto_plugin, command + n);
    command[n] = NULL;
    return PSNAP_OK;
}

static int compile(int argc, char **argv, enum psnap_language language)
{
    const char *stage = NULL, *llvm = NULL;
    struct psnap_compiler compiler;
    struct psnap_error error = {0};
    struct request request;
    const char **command;

    argc = take_options(argc, argv, &stage, &llvm);
    if (!argc)
        return PSNAP_EXIT_USAGE;
    request = understand(argc, argv);
    request.is_fortran = language == PSNAP_LANGUAGE_FORTRAN;
    if (stage && strcmp(stage, "vectorizer-start") != 0 && strcmp(stage, "optimized") != 0)
        return psnap_cmd_usage(argv[0], "no stage '%s'; there are: optimized, vectorizer-start",
                               stage);
    if (stage)
        setenv(PSNAP_ENV_STAGE, stage, 1);
    if (getenv(PSNAP_ENV_BLOCKS) && (!request.writes_assembly || request.has_lto))
        return psnap_cmd_usage(argv[0],
                               "%s is for -S, and not with -flto: it writes assembly, in "
                               "which nothing is instrumented",
                               BLOCKS_OPTION);
    if (request.linker[0] && !is_lld(request.linker) && request.has_lto && !request.stops_early)
        return psnap_cmd_usage(argv[0],
                               "with -flto the linker instruments the program: it has to be lld");
    if (psnap_compiler_find(&compiler, language, llvm, &error) != PSNAP_OK)
        return psnap_cmd_fail(argv[0], &error);
    command = calloc((size_t)argc + ADDED_MAX, sizeof *command);
    if (!command) {
        psnap_error_system(&error, ENOMEM, "cannot run '%s'", compiler.path);
        return psnap_cmd_fail(argv[0], &error);
    }
    if (extend(&compiler, &request, argc, argv, command, &error) == PSNAP_OK) {
        setenv(PSNAP_ENV_CC_COMMAND, compiler.self, 1);
        psnap_cmd_restore_sigpipe();
        execvp(compiler.path, (char **)(uintptr_t)command);
        if (errno == ENOENT && compiler.llvm)
            psnap_error_set(&error, PSNAP_ERROR_UNSUPPORTED,
                            "there is no '%s': install the package %s-%d, or name a compiler in %s",
                            compiler.path, language == PSNAP_LANGUAGE_FORTRAN ? "flang" : "clang",
                            compiler.llvm, psnap_compiler_variables[language]);
        else
            psnap_error_system(&error, errno, "cannot run '%s'", compiler.path);
    }
    free(command);
    return psnap_cmd_fail(argv[0], &error);
}

/* The options are read by take_options(); the table is for help alone. */
static void print_help(const char *name, const char *compiler, const char *variable)
{
    static const struct psnap_option options[] = {
        {PSNAP_OPTION_FLAG, 0, "psnap-stage=optimized|vectorizer-start", NULL, NULL,
         "where in the pipeline accesses are captured: optimized (the default: what the\n"
         "machine code does) or vectorizer-start (before vectorisation); with -flto it is an\n"
         "option of the link"},
        {PSNAP_OPTION_FLAG, 0, "psnap-llvm=NN", NULL, NULL,
         "the compiler of LLVM NN, as PSNAP_LLVM=NN does"},
        {PSNAP_OPTION_FLAG, 0, "psnap-openmp", NULL, NULL,
         "mark parallel sections, their loops and iterations, for psnap predict multicore;\n"
         "with -flto of the link, too"},
        {PSNAP_OPTION_FLAG, 0, "psnap-blocks", NULL, NULL,
         "with -S: the code as it is without psnap, its blocks labelled, for\n"
         "psnap predict runtime --asm"},
        {0},
    };
    char synopsis[64], description[640];

    snprintf(synopsis, sizeof synopsis, "psnap %s %s-ARGUMENTS", name, compiler);
    snprintf(description, sizeof description,
             "Compiles and links with %s, with the capture of memory accesses compiled\n"
             "in; run the program with 'psnap record'. Works as %s=psnap-%s, a link to psnap,\n"
             "under make, CMake, meson and autoconf. Without a -g option objects have no debug\n"
             "information, as clang's.\n\n"
             "PSNAP_CLANG, PSNAP_CLANGXX and PSNAP_FLANG name another compiler. Its own options\n"
             "are listed by its --help. The exit status is the compiler's.",
             compiler, variable, name);
    psnap_usage_print(&(struct psnap_usage){synopsis, description, options});
}

static int run(int argc, char **argv, enum psnap_language language)
{
    static const char *const compilers[] = {"clang", "clang++", "flang"};
    static const char *const make_variables[] = {"CC", "CXX", "FC"};

    if (argc == 2 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
        print_help(argv[0], compilers[language], make_variables[language]);
        return psnap_cmd_close_stdout(argv[0], PSNAP_EXIT_DONE);
    }
    return compile(argc, argv, language);
}

int psnap_cmd_cc(int argc, char **argv)
{
    return run(argc, argv, PSNAP_LANGUAGE_C);
}

int psnap_cmd_cxx(int argc, char **argv)
{
    return run(argc, argv, PSNAP_LANGUAGE_CXX);
}

int psnap_cmd_fc(int argc, char **argv)
{
    return run(argc, argv, PSNAP_LANGUAGE_FORTRAN);
}
