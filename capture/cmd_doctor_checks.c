/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What psnap doctor looks at: whatever a command may say to be missing, looked for in the way that
 * the command looks for it.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "capture/cmd_compiler.h"
#include "capture/cmd_doctor.h"
#include "capture/collect/process.h"
#include "capture/collect/rings.h"
#include "formats/formats.h"
#include "predict/amm/cmd_mca.h"
#include "predict/cmd_gnuplot.h"
#include "predict/bandwidth/cmd_bandwidth.h"
#include "predict/hybrid/cmd_hybrid.h"
#include "simcore/simcore.h"

#define LEAST_TEMPORARY_BYTES (64u << 20)

/* A compiler, and whether it is of the LLVM that there is a pass for. */
static void check_compiler(struct psnap_findings *findings, enum psnap_language language)
{
    static const char *const names[] = {"clang", "clang++", "flang"};
    static const char *const uses[] = {"psnap cc", "psnap c++", "psnap fc (Fortran)"};
    static const char *const packages[] = {"clang", "clang", "flang"};
    struct psnap_finding *finding = psnap_finding_add(findings, names[language], uses[language]);
    struct psnap_compiler compiler = {0};
    struct psnap_error error = {0};
    char line[256];
    int version;

    if (psnap_compiler_find(&compiler, language, NULL, &error) != PSNAP_OK) {
        finding->health = compiler.path ? PSNAP_HEALTH_WRONG : PSNAP_HEALTH_MISSING;
        snprintf(finding->found, sizeof finding->found, "%.400s", error.message);
        return;
    }
    version = psnap_compiler_version(compiler.path, line, sizeof line);
    snprintf(finding->found, sizeof finding->found, "%.250s: %.200s", compiler.path,
             version < 0 ? strerror(errno) : line);
    if (compiler.llvm)
        snprintf(finding->hint, sizeof finding->hint, "install %s-%d", packages[language],
                 compiler.llvm);
    if (version < 0)
        finding->health = PSNAP_HEALTH_MISSING;
    else if (compiler.llvm && version != compiler.llvm) {
        finding->health = PSNAP_HEALTH_WRONG;
        snprintf(finding->found, sizeof finding->found, "%.250s is of LLVM %d, the pass of %d",
                 compiler.path, version, compiler.llvm);
    }
}

static void check_file(struct psnap_findings *findings, const char *name, const char *needed_for,
                       const char *path, const char *hint)
{
    struct psnap_finding *finding = psnap_finding_add(findings, name, needed_for);
    char *plain = path[0] && access(path, R_OK) == 0 ? realpath(path, NULL) : NULL;

    if (plain) {
        snprintf(finding->found, sizeof finding->found, "%.500s", plain);
        free(plain);
        return;
    }
    finding->health = PSNAP_HEALTH_MISSING;
    snprintf(finding->hint, sizeof finding->hint, "%.120s", hint);
}

/* What psnap cc needs beside a compiler. */
static void check_capture_files(struct psnap_findings *findings)
{
    static const char rebuild[] = "psnap was built without LLVM, or moved away from its lib folder";
    struct psnap_compiler compiler = {0};
    struct psnap_error error = {0};
    char header[PATH_MAX + 32] = "";

    psnap_compiler_find(&compiler, PSNAP_LANGUAGE_C, NULL, &error);
    if (access(compiler.runtime, R_OK) != 0)
        compiler.pass[0] = '\0'; /* no place was found */
    if (compiler.include[0])
        snprintf(header, sizeof header, "%s/psnap/roi.h", compiler.include);
    check_file(findings, "capture pass", "psnap cc, c++, fc", compiler.pass,
               compiler.pass[0] ? "there is none for the LLVM of the compiler" : rebuild);
    check_file(findings, "capture runtime", "psnap cc, c++, fc", compiler.runtime, rebuild);
    check_file(findings, "psnap/roi.h", "marks of regions in programs", header,
               "it is installed beside the program, in include/psnap");
}

/* A program on the path: the first of `names` (up to NULL) that is there. */
static void check_tool(struct psnap_findings *findings, const char *const *names,
                       const char *needed_for, const char *package)
{
    struct psnap_finding *finding = psnap_finding_add(findings, names[0], needed_for);

    for (const char *const *name = names; *name; name++)
        if (psnap_find_program(*name, finding->found, sizeof finding->found))
            return;
    finding->found[0] = '\0';
    finding->health = PSNAP_HEALTH_MISSING;
    snprintf(finding->hint, sizeof finding->hint, "install %s", package);
}

/* lld as the compiler calls it, which may be of another LLVM. */
static void check_linker(struct psnap_findings *findings)
{
    struct psnap_finding *finding = psnap_finding_add(findings, "lld", "psnap cc -flto");
    struct psnap_compiler compiler = {0};
    struct psnap_error error = {0};
    char path[PATH_MAX], pass[PATH_MAX + 32], line[256];

    finding->health = PSNAP_HEALTH_MISSING;
    if (psnap_compiler_find(&compiler, PSNAP_LANGUAGE_C, NULL, &error) != PSNAP_OK ||
        !psnap_compiler_linker(&compiler, "ld.lld", path) ||
        psnap_compiler_version(path, line, sizeof line) <= 0) {
        if (compiler.llvm)
            snprintf(finding->hint, sizeof finding->hint, "install lld-%d", compiler.llvm);
        else
            snprintf(finding->hint, sizeof finding->hint, "install lld of the compiler's LLVM");
        return;
    }
    snprintf(finding->found, sizeof finding->found, "%.250s: %.200s", path, line);
    finding->health = PSNAP_HEALTH_OK;
    if (psnap_compiler_linker_pass(&compiler, "ld.lld", pass, &error) == PSNAP_OK)
        return;
    finding->health = PSNAP_HEALTH_WRONG;
    snprintf(finding->found, sizeof finding->found, "%.400s", error.message);
}

/* gnuplot and llvm-mca are what those who call them take them for. */
static void check_found(struct psnap_finding *finding, const char *program, bool works,
                        const char *package)
{
    const bool is_there = psnap_find_program(program, finding->found, sizeof finding->found);

    if (!is_there)
        finding->found[0] = '\0';
    if (!works)
        finding->health = is_there ? PSNAP_HEALTH_WRONG : PSNAP_HEALTH_MISSING;
    snprintf(finding->hint, sizeof finding->hint, "install %s", package);
}

static void check_tools(struct psnap_findings *findings)
{
    static const char *const valgrind[] = {"valgrind", NULL};
    static const char *const mpirun[] = {"mpirun", "mpiexec", "srun", NULL};
    const char *mca = NULL;
    struct psnap_error error = {0};
    bool works = mca_find(&mca, &error) == PSNAP_OK;

    check_linker(findings);
    check_found(psnap_finding_add(findings, "llvm-mca", "psnap predict runtime --asm"),
                works ? mca : "llvm-mca", works, "llvm-19");
    check_tool(findings, valgrind, "psnap record --engine valgrind", "valgrind");
    works = gnuplot_find("", &error) == PSNAP_OK;
    check_found(psnap_finding_add(findings, "gnuplot", "figures (--svg, --surface)"), "gnuplot",
                works, "gnuplot-nox");
    check_tool(findings, mpirun, "recording MPI programs", "openmpi-bin");
}

static void set_library(struct psnap_finding *finding, bool is_there, const char *package)
{
    finding->health = is_there ? PSNAP_HEALTH_OK : PSNAP_HEALTH_MISSING;
    snprintf(finding->found, sizeof finding->found, "%s",
             is_there ? "built in" : "psnap was built without");
    snprintf(finding->hint, sizeof finding->hint, "install %s and build psnap again", package);
}

/* Whether a trace of this format can be written, to a file without a name. */
static bool can_write(const char *format)
{
    struct psnap_program *program = psnap_program_new();
    FILE *file = tmpfile();
    struct psnap_error error = {0};
    struct psnap_sink *sink = NULL;

    if (program && file)
        sink = psnap_trace_writer_new(format, file, program, &error);
    psnap_sink_free(sink);
    psnap_program_free(program);
    if (file)
        fclose(file);
    return sink != NULL || error.code != PSNAP_ERROR_UNSUPPORTED;
}

static void check_libraries(struct psnap_findings *findings)
{
    set_library(psnap_finding_add(findings, "protobuf-c", "traces of gem5"), can_write("gem5"),
                "libprotobuf-c-dev, protobuf-c-compiler");
    set_library(psnap_finding_add(findings, "GSL", "psnap hybrid"), hybrid_is_built(),
                "libgsl-dev");
    set_library(psnap_finding_add(findings, "NLopt", "psnap fit --method nlopt"), fit_has_nlopt(),
                "libnlopt-dev");
}

/* As many rings as limits leave room for: one for each thread that runs at a time. */
static void check_rings(struct psnap_findings *findings)
{
    struct psnap_finding *finding =
        psnap_finding_add(findings, "shared memory", "psnap record, programs of many threads");
    struct psnap_rings *rings = calloc(1, sizeof *rings);
    struct psnap_error error = {0};

    snprintf(finding->hint, sizeof finding->hint,
             "raise the limits of address space and file size (ulimit -v, -f)");
    if (!rings || !psnap_rings_create(rings, &error)) {
        finding->health = PSNAP_HEALTH_MISSING;
        snprintf(finding->found, sizeof finding->found, "%.400s", error.message);
    } else {
        finding->health = rings->count < PSNAP_RINGS ? PSNAP_HEALTH_LIMITED : PSNAP_HEALTH_OK;
        snprintf(finding->found, sizeof finding->found, "room for %" PRIu32 " threads at a time",
                 rings->count - 1);
        psnap_rings_release(rings);
    }
    free(rings);
}

static void check_system(struct psnap_findings *findings)
{
    const char *folder = getenv("TMPDIR");
    struct psnap_finding *finding =
        psnap_finding_add(findings, "temporary files", "figures, doctor");
    struct psnap_machine machine;
    struct psnap_error error = {0};
    struct statvfs room;

    folder = folder && *folder ? folder : "/tmp";
    snprintf(finding->hint, sizeof finding->hint, "name a folder with room in TMPDIR");
    if (statvfs(folder, &room) != 0 || access(folder, W_OK | X_OK) != 0) {
        finding->health = PSNAP_HEALTH_MISSING;
        snprintf(finding->found, sizeof finding->found, "%.400s: %s", folder, strerror(errno));
    } else {
        const uint64_t bytes = (uint64_t)room.f_bavail * room.f_frsize;
        finding->health = bytes < LEAST_TEMPORARY_BYTES ? PSNAP_HEALTH_LIMITED : PSNAP_HEALTH_OK;
        snprintf(finding->found, sizeof finding->found, "%.400s, %" PRIu64 " MB free", folder,
                 bytes >> 20);
    }
    check_rings(findings);
    finding = psnap_finding_add(findings, "host's caches", "-m host");
    if (psnap_machine_host(NULL, &machine, &error) != PSNAP_OK) {
        finding->health = PSNAP_HEALTH_MISSING;
        snprintf(finding->found, sizeof finding->found, "%.400s", error.message);
        snprintf(finding->hint, sizeof finding->hint, "name a machine: psnap machines lists them");
    } else {
        snprintf(finding->found, sizeof finding->found, "%" PRIu32 " levels, as the system says",
                 machine.level_count);
    }
}

void psnap_doctor_check(struct psnap_findings *findings)
{
    for (int i = PSNAP_LANGUAGE_C; i <= PSNAP_LANGUAGE_FORTRAN; i++)
        check_compiler(findings, (enum psnap_language)i);
    check_capture_files(findings);
    check_tools(findings);
    check_libraries(findings);
    check_system(findings);
}
