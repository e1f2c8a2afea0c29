/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap doctor checks the installation. Its table names each missing program or library, the
 * feature that needs it, and the Debian package that has it: each is looked for in the way that the
 * command looks for it which may say that it is missing. Nothing is installed or changed, nothing
 * is asked for over a network.
 *
 * The proof that capture works: this program, as psnap cc and psnap record, on a program that makes
 * 1000 stores that no optimisation takes away, and the profile has to have just these. OpenMP's
 * library is proved in the same way. The exit status is 0 when capture works; all else has its own
 * exit when it is needed, and is no reason to fail here.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "capture/cmd_compiler.h"
#include "capture/collect/process.h"
#include "capture/collect/rings.h"
#include "formats/base/cmd.h"
#include "predict/amm/cmd_mca.h"
#include "predict/bandwidth/cmd_bandwidth.h"
#include "predict/cmd_gnuplot.h"
#include "predict/cmd_tool.h"
#include "profile/profile.h"
#include "simcore/simcore.h"

#define LEAST_TEMPORARY_BYTES (64u << 20)
#define STORES 1000

enum health { OK, MISSING, WRONG, LIMITED };
static const char *const states[] = {"ok", "missing", "wrong", "limited"};

struct finding {
    const char *name;       /* "clang" */
    const char *needed_for; /* "psnap cc" */
    enum health health;
    char found[512]; /* the program or library, or its fault; "": neither */
    char hint[128];  /* how the user mends that; "": nothing is known */
};

static struct finding findings[32]; /* room for every check */
static size_t finding_count;
static bool captures; /* a program was compiled, run, and its profile is right */

/* `hint` may be empty. */
__attribute__((format(printf, 5, 6))) static void add(const char *name, const char *needed_for,
                                                      enum health health, const char *hint,
                                                      const char *found, ...)
{
    struct finding *finding = &findings[finding_count];
    va_list arguments;

    if (finding_count + 1 < sizeof findings / sizeof *findings)
        finding_count++;
    *finding = (struct finding){.name = name, .needed_for = needed_for, .health = health};
    snprintf(finding->hint, sizeof finding->hint, "%s", hint);
    va_start(arguments, found);
    vsnprintf(finding->found, sizeof finding->found, found, arguments);
    va_end(arguments);
}

/* "install clang-19", or `otherwise` where the LLVM is not known. */
static const char *package(char hint[64], const char *name, int llvm, const char *otherwise)
{
    if (!llvm)
        return otherwise;
    snprintf(hint, 64, "install %s-%d", name, llvm);
    return hint;
}

/* ---- compilers and what goes with them ---- */

/* A compiler, and whether it is of the LLVM that there is a pass for. */
static void check_compiler(enum psnap_language language)
{
    static const char *const names[] = {"clang", "clang++", "flang"};
    static const char *const uses[] = {"psnap cc", "psnap c++", "psnap fc (Fortran)"};
    const char *name = names[language], *use = uses[language], *hint;
    struct psnap_compiler compiler = {0};
    struct psnap_error error = {0};
    char line[256], room[64];
    int version;

    if (psnap_compiler_find(&compiler, language, NULL, &error) != PSNAP_OK) {
        add(name, use, compiler.path ? WRONG : MISSING, "", "%s", error.message);
        return;
    }
    version = psnap_compiler_version(compiler.path, line, sizeof line);
    hint = package(room, language == PSNAP_LANGUAGE_FORTRAN ? "flang" : "clang", compiler.llvm, "");
    if (version < 0)
        add(name, use, MISSING, hint, "%s: %s", compiler.path, strerror(errno));
    else if (compiler.llvm && version != compiler.llvm)
        add(name, use, WRONG, hint, "%s is of LLVM %d, the pass of %d", compiler.path, version,
            compiler.llvm);
    else
        add(name, use, OK, hint, "%s: %s", compiler.path, line);
}

static void check_file(const char *name, const char *needed_for, const char *path, const char *hint)
{
    char *plain = path[0] && access(path, R_OK) == 0 ? realpath(path, NULL) : NULL;

    add(name, needed_for, plain ? OK : MISSING, hint, "%s", plain ? plain : "");
    free(plain);
}

/* Checks the files that psnap cc needs beside a compiler. */
static void check_capture_files(struct psnap_compiler *compiler)
{
    static const char rebuild[] = "psnap was built without LLVM, or moved away from its lib folder";
    char header[PATH_MAX + 32] = "";

    if (access(compiler->runtime, R_OK) != 0)
        compiler->pass[0] = '\0'; /* no place was found */
    if (compiler->include[0])
        snprintf(header, sizeof header, "%s/psnap/roi.h", compiler->include);
    check_file("capture pass", "psnap cc, c++, fc", compiler->pass,
               compiler->pass[0] ? "there is none for the LLVM of the compiler" : rebuild);
    check_file("capture runtime", "psnap cc, c++, fc", compiler->runtime, rebuild);
    check_file("psnap/roi.h", "marks of regions in programs", header,
               "it is installed beside the program, in include/psnap");
}

/* lld as the compiler calls it, which may be of another LLVM. */
static void check_linker(const struct psnap_compiler *compiler, bool has_compiler)
{
    static const char use[] = "psnap cc -flto";
    struct psnap_error error = {0};
    char path[PATH_MAX], pass[PATH_MAX + 32], line[256], room[64];

    if (!has_compiler || !psnap_compiler_linker(compiler, "ld.lld", path) ||
        psnap_compiler_version(path, line, sizeof line) <= 0)
        add("lld", use, MISSING,
            package(room, "lld", compiler->llvm, "install lld of the compiler's LLVM"), "%s", "");
    else if (psnap_compiler_linker_pass(compiler, "ld.lld", pass, &error) != PSNAP_OK)
        add("lld", use, WRONG, "", "%s", error.message);
    else
        add("lld", use, OK, "", "%s: %s", path, line);
}

/* ---- tools and libraries ---- */

/* A program on the path; `works`: in the eyes of those who call it, where being there is not
 * enough.
 */
static void check_tool(const char *name, const char *called, const char *needed_for,
                       const bool *works, const char *hint)
{
    char path[4096] = "";
    const bool is_there = psnap_find_program(called, path, sizeof path);

    add(name, needed_for,
        (works ? *works : is_there) ? OK
        : is_there                  ? WRONG
                                    : MISSING,
        hint, "%s", is_there ? path : "");
}

static void check_tools(void)
{
    static const char *const launchers[] = {"mpirun", "mpiexec", "srun"};
    const char *mca = "llvm-mca";
    struct psnap_error error = {0};
    char path[4096];
    bool works = mca_find(&mca, &error) == PSNAP_OK;
    size_t i = 0;

    check_tool("llvm-mca", works ? mca : "llvm-mca", "psnap predict runtime --asm", &works,
               "install llvm-19");
    check_tool("valgrind", "valgrind", "psnap record --engine valgrind", NULL, "install valgrind");
    works = gnuplot_find("", &error) == PSNAP_OK;
    check_tool("gnuplot", "gnuplot", "figures (--svg, --surface)", &works, "install gnuplot-nox");
    while (i < 2 && !psnap_find_program(launchers[i], path, sizeof path))
        i++;
    check_tool("mpirun", launchers[i], "recording MPI programs", NULL, "install openmpi-bin");
}

/* ---- the system ---- */

static const char *temporary_folder(void)
{
    const char *folder = getenv("TMPDIR");

    return folder && *folder ? folder : "/tmp";
}

/* As many rings as limits leave room for: one for each thread that runs at a time. */
static void check_rings(void)
{
    static const char name[] = "shared memory", use[] = "psnap record, programs of many threads";
    struct psnap_rings *rings = calloc(1, sizeof *rings);
    struct psnap_error error = {0};
    static const char hint[] = "raise the limits of address space and file size (ulimit -v, -f)";

    if (!rings || !psnap_rings_create(rings, &error))
        add(name, use, MISSING, hint, "%s", error.message);
    else {
        add(name, use, rings->count < PSNAP_RINGS ? LIMITED : OK, hint,
            "room for %" PRIu32 " threads at a time", rings->count - 1);
        psnap_rings_release(rings);
    }
    free(rings);
}

static void check_system(void)
{
    static const char name[] = "temporary files", use[] = "figures, doctor";
    static const char hint[] = "name a folder with room in TMPDIR";
    const char *folder = temporary_folder();
    struct psnap_machine machine;
    struct psnap_error error = {0};
    struct statvfs room;

    if (statvfs(folder, &room) != 0 || access(folder, W_OK | X_OK) != 0)
        add(name, use, MISSING, hint, "%s: %s", folder, strerror(errno));
    else {
        const uint64_t bytes = (uint64_t)room.f_bavail * room.f_frsize;
        add(name, use, bytes < LEAST_TEMPORARY_BYTES ? LIMITED : OK, hint,
            "%s, %" PRIu64 " MB free", folder, bytes >> 20);
    }
    check_rings();
    if (psnap_machine_host(NULL, &machine, &error) != PSNAP_OK)
        add("host's caches", "-m host", MISSING, "name a machine: psnap machines lists them", "%s",
            error.message);
    else
        add("host's caches", "-m host", OK, "", "%" PRIu32 " levels, as the system says",
            machine.level_count);
}

/* ---- the trial ---- */

/* Environment variables of psnap that the user has set do not count for the trial. */
static void forget_environment(void)
{
    static const char *const variables[] = {PSNAP_ENV_OUT,   PSNAP_ENV_ROI,    PSNAP_ENV_BLOCKS,
                                            PSNAP_ENV_STAGE, PSNAP_ENV_OPENMP, PSNAP_ENV_COMMAND};

    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++)
        unsetenv(variables[i]);
}

/* Runs a command quietly, with the program on its standard input; false, with the first line that
 * it complained by. */
static bool run(const char *const *command, char *complaint, int size)
{
    static const char source[] = "static volatile double a[1000];\n"
                                 "int main(void)\n"
                                 "{\n"
                                 "    for (int i = 0; i < 1000; i++)\n"
                                 "        a[i] = 1;\n"
                                 "    return 0;\n"
                                 "}\n";
    FILE *in = tmpfile(), *out = tmpfile(), *err = tmpfile();
    int status = -1;

    if (in && out && err && fputs(source, in) >= 0 && fflush(in) == 0 &&
        fseek(in, 0, SEEK_SET) == 0) {
        status = tool_run(command, fileno(in), fileno(out), fileno(err));
        tool_complaint(err, complaint, size);
    }
    if (status && !complaint[0])
        snprintf(complaint, (size_t)size, "%s",
                 status < 0 ? strerror(errno) : "it failed without a word");
    for (size_t i = 0; i < 3; i++)
        if ((FILE *const[]){in, out, err}[i])
            fclose((FILE *const[]){in, out, err}[i]);
    return status == 0;
}

/* The accesses of the profile at `path`; 0: it cannot be read, and `complaint` has the error. */
static uint64_t count(const char *path, char *complaint, size_t size)
{
    struct psnap_profile_totals totals = {0};
    struct psnap_profile *profile = NULL;
    struct psnap_error error = {0};
    FILE *file = fopen(path, "re");

    if (file) {
        profile = psnap_profile_read(file, path, &error);
        fclose(file);
    }
    if (profile)
        psnap_profile_totals(profile, &totals);
    else
        snprintf(complaint, size, "%.200s", error.message[0] ? error.message : "no profile");
    psnap_profile_free(profile);
    return totals.accesses;
}

static void record(const char *self, const char *program, const char *profile)
{
    static const char name[] = "capture", use[] = "psnap cc and psnap record, together";
    const char *const compile[] = {self, "cc", "-O2", "-xc", "-", "-o", program, NULL};
    const char *const record[] = {self, "record", "-o", profile, "--", program, NULL};
    char complaint[256] = "";
    const bool compiles = run(compile, complaint, sizeof complaint);
    uint64_t accesses = 0;

    if (!compiles || !run(record, complaint, sizeof complaint))
        add(name, use, WRONG, "", "%s%s",
            !strncmp(complaint, "psnap ", 6) ? ""
            : compiles                       ? "psnap record: "
                                             : "psnap cc: ",
            complaint);
    else if (!(accesses = count(profile, complaint, sizeof complaint)))
        add(name, use, WRONG, "", "the profile: %s", complaint);
    else
        add(name, use, accesses == STORES ? OK : WRONG, "",
            "a program of %d stores was recorded with %" PRIu64 " accesses", STORES, accesses);
    captures = accesses == STORES;
}

static void try_openmp(const char *self, const char *program, int llvm)
{
    const char *const compile[] = {self, "cc", "-fopenmp", "-xc", "-", "-o", program, NULL};
    static const char name[] = "OpenMP", use[] = "OpenMP programs, psnap predict multicore";
    char complaint[256] = "", hint[64];

    snprintf(hint, sizeof hint, "install libomp-%d-dev", llvm);
    if (run(compile, complaint, sizeof complaint))
        add(name, use, OK, hint, "psnap cc -fopenmp links");
    else
        add(name, use, MISSING, hint, "%s", complaint);
}

static void try_capture(int llvm)
{
    char self[PATH_MAX], folder[PATH_MAX - 32], program[PATH_MAX], profile[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);

    forget_environment();
    snprintf(folder, sizeof folder, "%s/psnap-doctor.XXXXXX", temporary_folder());
    if (length <= 0 || !mkdtemp(folder)) {
        add("capture", "psnap cc and psnap record, together", WRONG, "",
            "cannot try it in a temporary folder: %s", strerror(errno));
        return;
    }
    self[length] = '\0';
    snprintf(program, sizeof program, "%s/trial", folder);
    snprintf(profile, sizeof profile, "%s/trial.yaml", folder);
    record(self, program, profile);
    if (captures)
        try_openmp(self, program, llvm);
    unlink(program);
    unlink(profile);
    rmdir(folder);
}

/* ---- the report ---- */

static void print_table(void)
{
    static const char *const headings[] = {"check", "state", "needed for", "found, or what to do"};
    struct psnap_table *table = psnap_table_new(4, headings);
    size_t wanting = 0;

    for (const struct finding *finding = findings; finding < findings + finding_count; finding++) {
        const bool has_hint = finding->health != OK && finding->hint[0];

        wanting += finding->health != OK;
        psnap_table_cell(table, "%s", finding->name);
        psnap_table_cell(table, "%s", states[finding->health]);
        psnap_table_cell(table, "%s", finding->needed_for);
        psnap_table_cell(table, "%s%s%s", finding->found, has_hint && finding->found[0] ? "; " : "",
                         has_hint ? finding->hint : "");
    }
    psnap_table_print(table, stdout);
    psnap_table_free(table);
    psnap_print(stdout, "\ncapture %s", captures ? "works" : "does not work");
    if (wanting)
        psnap_print(stdout,
                    "; %zu check%s found something that is not there or not as it should be",
                    wanting, psnap_plural(wanting));
    putchar('\n');
}

static void print_json(void)
{
    struct psnap_json json;

    psnap_cmd_begin_json(&json, stdout, "doctor");
    psnap_json_text(&json, "version", PSNAP_VERSION);
    psnap_json_bool(&json, "captures", captures);
    psnap_json_begin_array(&json, "checks");
    for (const struct finding *finding = findings; finding < findings + finding_count; finding++) {
        psnap_json_begin_object(&json, NULL);
        psnap_json_text(&json, "name", finding->name);
        psnap_json_text(&json, "state", states[finding->health]);
        psnap_json_text(&json, "needed_for", finding->needed_for);
        psnap_json_text(&json, "found", finding->found);
        psnap_json_text(&json, "hint", finding->health == OK ? "" : finding->hint);
        psnap_json_end_object(&json);
    }
    psnap_json_end_array(&json);
    psnap_json_end_object(&json);
    putchar('\n');
}

int psnap_cmd_doctor(int argc, char **argv)
{
    struct psnap_compiler compiler = {0};
    struct psnap_error error = {0};
    bool json = false, has_compiler;
    const struct psnap_option options[] = {
        {PSNAP_OPTION_FLAG, 0, "json", &json, NULL, "print JSON"},
        {0},
    };
    const struct psnap_usage usage = {
        "psnap doctor [--json]",
        "Checks the installation: compilers and the capture passes that fit them, other\n"
        "tools, libraries that psnap was built with, limits. Says what is missing, what\n"
        "for, and which Debian package has it. Compiles, runs and records a small program\n"
        "in a temporary folder. The exit status is 0 when that works, else 1.\n"
        "\n"
        "A check is ok, missing, wrong (it is there, but does not work, or is of another\n"
        "version), or limited (it works in part).",
        options};
    int status;
    const int operands = psnap_options_parse(argc, argv, &usage, false, &status);

    if (operands < 0)
        return status;
    if (operands)
        return psnap_cmd_usage("doctor", "'%s': no arguments are expected", argv[1]);
    for (int i = PSNAP_LANGUAGE_C; i <= PSNAP_LANGUAGE_FORTRAN; i++)
        check_compiler((enum psnap_language)i);
    has_compiler = psnap_compiler_find(&compiler, PSNAP_LANGUAGE_C, NULL, &error) == PSNAP_OK;
    check_capture_files(&compiler);
    check_linker(&compiler, has_compiler);
    check_tools();
    add("NLopt", "psnap fit --method nlopt", fit_has_nlopt() ? OK : MISSING,
        "install libnlopt-dev and build psnap again",
        fit_has_nlopt() ? "built in" : "psnap was built without");
    check_system();
    try_capture(compiler.llvm);
    if (json)
        print_json();
    else
        print_table();
    return psnap_cmd_close_stdout("doctor", captures ? PSNAP_EXIT_DONE : PSNAP_EXIT_FAILED);
}
