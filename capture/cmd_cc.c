/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap cc, psnap c++: the user's clang command line with the capture pass
 * loaded and, when it links, the runtime added. Everything else passes through.
 *
 * With -flto it is the linker, lld, that instruments: at the end of its pipeline,
 * where the program is whole (or, with thin LTO, each module has its imports).
 *
 * Options of our own start with --psnap-: --psnap-stage=vectorizer-start puts
 * the pass before vectorisation. PSNAP_CLANG and PSNAP_CLANGXX name another
 * compiler. What is compiled finds <psnap/roi.h>, whose marks __PSNAP__ makes work.
 */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/base/capture_abi.h"
#include "formats/base/cmd.h"

#define STAGE_OPTION "--psnap-stage="

/* What a command line asks for, as far as we must know. */
struct request {
    bool has_input, stops_early, preprocesses, has_debug, is_relocatable, is_static;
    bool has_lto; /* objects are bitcode, which is instrumented when it is linked */
    enum { LINKER_DEFAULT, LINKER_LLD, LINKER_OTHER } linker;
};

static bool starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool is_one_of(const char *text, const char *const *names)
{
    for (; *names; names++)
        if (!strcmp(text, *names))
            return true;
    return false;
}

/* Options whose value is the next argument, which is then no input. */
static bool takes_value(const char *option)
{
    static const char *const names[] = {"-o",
                                        "-x",
                                        "-I",
                                        "-L",
                                        "-D",
                                        "-U",
                                        "-MF",
                                        "-MT",
                                        "-MQ",
                                        "-include",
                                        "-imacros",
                                        "-isystem",
                                        "-iquote",
                                        "-idirafter",
                                        "-isysroot",
                                        "-Xclang",
                                        "-Xlinker",
                                        "-Xassembler",
                                        "-Xpreprocessor",
                                        "-mllvm",
                                        "-target",
                                        "-arch",
                                        "-T",
                                        "-u",
                                        "-z",
                                        "-e",
                                        "-framework",
                                        "-F",
                                        "-aux-info",
                                        "--param",
                                        "-A",
                                        "-iprefix",
                                        "-iwithprefix",
                                        "-B",
                                        "--sysroot",
                                        "-MJ",
                                        "-dumpdir",
                                        "-Xanalyzer",
                                        "-Xopenmp-target",
                                        "-Xoffload-linker",
                                        "-cxx-isystem",
                                        "-iframework",
                                        "-ivfsoverlay",
                                        "-iwithprefixbefore",
                                        "-iwithsysroot",
                                        "-isystem-after",
                                        "-stdlib++-isystem",
                                        "-include-pch",
                                        "-working-directory",
                                        "-resource-dir",
                                        "-serialize-diagnostics",
                                        "--serialize-diagnostics",
                                        "-dependency-file",
                                        "-rpath",
                                        "--output",
                                        "--include",
                                        "--language",
                                        "--define-macro",
                                        "--undefine-macro",
                                        "--include-directory",
                                        "--library-directory",
                                        "--for-linker",
                                        "--assert",
                                        "--prefix",
                                        "--std",
                                        "--rtlib",
                                        "-imultilib",
                                        "--config",
                                        "-V",
                                        "-b",
                                        "-G",
                                        NULL};
    return is_one_of(option, names) || starts_with(option, "-Xarch_") ||
           starts_with(option, "-Xopenmp-target=");
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), end_length = strlen(end);
    return length >= end_length && !strcmp(text + length - end_length, end);
}

static bool is_header(const char *input)
{
    static const char *const ends[] = {".h", ".hh", ".hpp", ".hxx", ".H", ".h++", NULL};
    for (const char *const *end = ends; *end; end++)
        if (ends_with(input, *end))
            return true;
    return false;
}

/* The value of an option: -x c-header asks for a precompiled header, which is not linked. */
static void look_at_value(struct request *request, const char *option, const char *value)
{
    if (!strcmp(option, "-x") && ends_with(value, "-header"))
        request->stops_early = true;
}

/* "lld", "lld-19", "/usr/bin/ld.lld" */
static bool is_lld(const char *linker)
{
    const char *slash = strrchr(linker, '/');

    linker = slash ? slash + 1 : linker;
    return starts_with(linker, "lld") || starts_with(linker, "ld.lld");
}

static void look_at(struct request *request, const char *argument)
{
    static const char *const stops[] = {
        "-c", "-S", "-fsyntax-only", "--precompile", "--analyze", "-emit-ast", NULL};
    static const char *const statics[] = {"-static", "--static", "-static-pie", NULL};
    static const char *const preprocess[] = {"-E", "-M", "-MM", "--preprocess", NULL};

    if (is_one_of(argument, stops) ||
        (starts_with(argument, "-x") && ends_with(argument, "-header")))
        request->stops_early = true;
    else if (is_one_of(argument, preprocess))
        request->preprocesses = request->stops_early = true;
    else if (!strcmp(argument, "-r"))
        request->is_relocatable = true;
    else if (!strcmp(argument, "-flto") || starts_with(argument, "-flto="))
        request->has_lto = strcmp(argument, "-flto=none") != 0;
    else if (!strcmp(argument, "-fno-lto"))
        request->has_lto = false;
    else if (starts_with(argument, "-fuse-ld="))
        request->linker = is_lld(argument + strlen("-fuse-ld=")) ? LINKER_LLD : LINKER_OTHER;
    else if (is_one_of(argument, statics))
        request->is_static = true;
    else if (starts_with(argument, "-g") && !starts_with(argument, "-gcc"))
        request->has_debug = true;
    else if (argument[0] != '-' || !strcmp(argument, "-") || starts_with(argument, "-l")) {
        request->has_input = true;
        request->stops_early |= is_header(argument);
    }
}

static void look_into_file(struct request *request, const char *path, int depth);

static void look_at_word(struct request *request, const char *word, int depth)
{
    if (word[0] == '@')
        look_into_file(request, word + 1, depth + 1);
    else
        look_at(request, word);
}

/* Words of a response file, as clang splits them: blanks, quotes, backslashes. */
static void look_into_file(struct request *request, const char *path, int depth)
{
    char word[PATH_MAX + 1], option[16] = ""; /* the one whose value is next */
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
            if (in_word && option[0]) {
                look_at_value(request, option, word);
                option[0] = '\0';
            } else if (in_word) {
                look_at_word(request, word, depth);
                snprintf(option, sizeof option, "%.15s", takes_value(word) ? word : "");
            }
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

    for (int i = 1; i < argc; i++) {
        look_at_word(&request, argv[i], 0);
        if (takes_value(argv[i]) && i + 1 < argc) {
            look_at_value(&request, argv[i], argv[i + 1]);
            i++;
        }
    }
    return request;
}

/* What is added to the command line. */
struct files {
    char self[PATH_MAX];
    char runtime[PATH_MAX + 64];
    char include[PATH_MAX + 64]; /* folder of psnap/roi.h, "" when it is not there */
    char plugin[PATH_MAX + 96], lto_plugin[PATH_MAX + 96]; /* options that load the pass */
};

/* The folder of psnap/roi.h, beside that of this program or where it was to be installed. */
static void find_headers(const char *folder, struct files *files)
{
    static const char *const places[] = {"include", "../include", PSNAP_INCLUDEDIR, NULL};
    char header[PATH_MAX + 96];

    for (const char *const *place = places; *place; place++) {
        bool is_absolute = (*place)[0] == '/';
        snprintf(files->include, sizeof files->include, "%s%s%s", is_absolute ? "" : folder,
                 is_absolute ? "" : "/", *place);
        snprintf(header, sizeof header, "%s/psnap/roi.h", files->include);
        if (access(header, R_OK) == 0)
            return;
    }
    files->include[0] = '\0';
}

/* This program's path, and the folder with the pass and the runtime beside it. */
static bool find_files(struct files *files)
{
    static const char *const places[] = {"lib/psnap", "../lib/psnap", PSNAP_LIBDIR "/psnap", NULL};
    ssize_t length = readlink("/proc/self/exe", files->self, PATH_MAX - 1);
    char folder[PATH_MAX], pass[PATH_MAX + 64];

    if (length <= 0)
        return false;
    files->self[length] = '\0';
    snprintf(folder, sizeof folder, "%s", files->self);
    *strrchr(folder, '/') = '\0';
    find_headers(folder, files);
    for (const char *const *place = places; *place; place++) {
        bool is_absolute = (*place)[0] == '/';
        const char *slash = is_absolute ? "" : "/", *prefix = is_absolute ? "" : folder;
        snprintf(pass, sizeof pass, "%s%s%s/psnap_pass.so", prefix, slash, *place);
        snprintf(files->runtime, sizeof files->runtime, "%s%s%s/libpsnap_rt.a", prefix, slash,
                 *place);
        if (access(pass, R_OK) != 0 || access(files->runtime, R_OK) != 0)
            continue;
        snprintf(files->plugin, sizeof files->plugin, "-fpass-plugin=%s", pass);
        snprintf(files->lto_plugin, sizeof files->lto_plugin, "-Wl,--load-pass-plugin=%s", pass);
        return true;
    }
    return false;
}

static bool links(const struct request *request)
{
    return request->has_input && !request->stops_early && !request->is_relocatable;
}

/* What the linker needs: the runtime, and for bitcode the pass. Returns how many arguments. */
static int add_link_arguments(const struct request *request, const struct files *files,
                              const char **command)
{
    int n = 0;

    command[n++] = "--start-no-unused-arguments";
    if (!request->is_static) /* no library will look for them */
        command[n++] = "-Wl,--export-dynamic-symbol=__psnap_*";
    if (request->has_lto && request->linker != LINKER_LLD)
        command[n++] = "-fuse-ld=lld"; /* no other loads passes */
    if (request->has_lto || request->linker == LINKER_LLD) {
        command[n++] = files->lto_plugin;
        command[n++] = "-Wl,-u,__psnap_register"; /* it is only known to be needed too late */
    }
    command[n++] = "-xnone";
    command[n++] = files->runtime;
    command[n++] = "-lpthread";
    command[n++] = "--end-no-unused-arguments";
    return n;
}

/* clang's command line, without options of our own, of which *stage is one, or NULL. NULL when out
 * of memory. */
static const char **build_command(int argc, char **argv, const char *compiler,
                                  const struct request *request, const struct files *files,
                                  const char **stage)
{
    enum { ADDED_MAX = 32 };
    const char **command = calloc((size_t)argc + ADDED_MAX, sizeof *command);
    int n = 0;

    *stage = NULL;
    if (!command)
        return NULL;
    command[n++] = compiler;
    if (request->has_input) {
        command[n++] = "--start-no-unused-arguments";
        command[n++] = "-D__PSNAP__=1";
        if (files->include[0]) {
            command[n++] = "-idirafter";
            command[n++] = files->include;
        }
        command[n++] = "--end-no-unused-arguments";
    }
    if (request->has_input && !request->preprocesses) {
        command[n++] = "--start-no-unused-arguments";
        if (!request->has_lto)
            command[n++] = files->plugin;
        if (!request->has_debug)
            command[n++] = "-gline-tables-only";
        command[n++] = "--end-no-unused-arguments";
    }
    for (int i = 1; i < argc; i++) {
        if (starts_with(argv[i], STAGE_OPTION))
            *stage = argv[i] + strlen(STAGE_OPTION);
        else
            command[n++] = argv[i];
    }
    if (links(request))
        n += add_link_arguments(request, files, command + n);
    command[n] = NULL;
    return command;
}

/* Tells the pass where it is to work; NULL for the default. False, and says so, when that cannot
 * be. */
static bool set_stage(const char *stage, const char *command)
{
    if (stage && strcmp(stage, "vectorizer-start") != 0 && strcmp(stage, "optimized") != 0) {
        psnap_cmd_usage(command, "no stage '%s'; there are: optimized, vectorizer-start", stage);
        return false;
    }
    if (stage)
        setenv(PSNAP_ENV_STAGE, stage, 1);
    return true;
}

static int compile(int argc, char **argv, const char *compiler)
{
    const struct request request = understand(argc, argv);
    const char **command, *stage;
    struct psnap_error error = {0};
    struct files files;

    if (links(&request) && request.has_lto && request.linker == LINKER_OTHER)
        return psnap_cmd_usage(argv[0],
                               "with -flto the linker instruments the program: it has to be lld");
    if (!find_files(&files)) {
        fprintf(stderr,
                "psnap %s: the capture pass is not installed beside this program (it was "
                "built without LLVM)\n",
                argv[0]);
        return PSNAP_EXIT_FAILED;
    }
    command = build_command(argc, argv, compiler, &request, &files, &stage);
    if (!command) {
        fprintf(stderr, "psnap %s: out of memory\n", argv[0]);
        return PSNAP_EXIT_FAILED;
    }
    if (!set_stage(stage, argv[0])) {
        free(command);
        return PSNAP_EXIT_USAGE;
    }
    setenv(PSNAP_ENV_CC_COMMAND, files.self, 1);
    psnap_cmd_restore_sigpipe();
    execvp(compiler, (char **)(uintptr_t)command);
    psnap_error_system(&error, errno, "cannot run '%s'", compiler);
    free(command);
    return psnap_cmd_fail(argv[0], &error);
}

static void print_help(const char *name)
{
    printf("usage: psnap %s CLANG-ARGUMENTS\n\n"
           "Compiles and links with clang, with the capture of memory accesses compiled\n"
           "in; run the program with 'psnap record'. Works as CC=\"psnap %s\" under make,\n"
           "CMake and autoconf. Adds -gline-tables-only when no -g option is given.\n\n"
           "  --psnap-stage=STAGE  where in the pipeline accesses are captured: optimized\n"
           "                       (the default: what the machine code does) or\n"
           "                       vectorizer-start (before vectorisation); with -flto\n"
           "                       it is an option of the link\n\n"
           "PSNAP_CLANG and PSNAP_CLANGXX name another compiler. Its own options are listed\n"
           "by clang --help.\n",
           name, name);
}

static int run(int argc, char **argv, const char *variable, const char *fallback)
{
    const char *compiler = getenv(variable);

    if (argc == 2 && !strcmp(argv[1], "--help")) {
        print_help(argv[0]);
        return psnap_cmd_close_stdout(argv[0], PSNAP_EXIT_DONE);
    }
    return compile(argc, argv, compiler && *compiler ? compiler : fallback);
}

int psnap_cmd_cc(int argc, char **argv)
{
    return run(argc, argv, "PSNAP_CLANG", PSNAP_CLANG_PATH);
}

int psnap_cmd_cxx(int argc, char **argv)
{
    return run(argc, argv, "PSNAP_CLANGXX", PSNAP_CLANGXX_PATH);
}
