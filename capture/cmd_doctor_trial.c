/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The proof that capture works: this program, as psnap cc and psnap record, in a folder of its own
 * that goes again. The program that is recorded makes 1000 stores that no optimisation takes away,
 * and the profile has to have just these. OpenMP's library is proved in the same way.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/cmd_compiler.h"
#include "capture/cmd_doctor.h"
#include "formats/base/capture_abi.h"
#include "predict/cmd_tool.h"
#include "profile/profile.h"

#define STORES 1000

static const char source[] = "static volatile double a[1000];\n"
                             "int main(void)\n"
                             "{\n"
                             "    for (int i = 0; i < 1000; i++)\n"
                             "        a[i] = 1;\n"
                             "    return 0;\n"
                             "}\n";

static const char *const files[] = {"trial.c", "trial", "trial.yaml", "parallel"};
enum { SOURCE, PROGRAM, PROFILE, PARALLEL, FILES };

struct trial {
    char self[PATH_MAX], folder[PATH_MAX - 32];
    char paths[FILES][PATH_MAX];
};

/* What the user's environment asks of psnap is not asked of the trial. */
static void forget_environment(void)
{
    static const char *const variables[] = {PSNAP_ENV_OUT,   PSNAP_ENV_ROI,    PSNAP_ENV_BLOCKS,
                                            PSNAP_ENV_STAGE, PSNAP_ENV_OPENMP, PSNAP_ENV_COMMAND};

    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++)
        unsetenv(variables[i]);
}

static bool prepare(struct trial *trial)
{
    const char *folder = getenv("TMPDIR");
    const ssize_t length = readlink("/proc/self/exe", trial->self, sizeof trial->self - 1);
    FILE *file;
    bool good;

    trial->self[length > 0 ? length : 0] = '\0';
    snprintf(trial->folder, sizeof trial->folder, "%s/psnap-doctor.XXXXXX",
             folder && *folder ? folder : "/tmp");
    if (length <= 0 || !mkdtemp(trial->folder))
        return false;
    for (int i = 0; i < FILES; i++)
        snprintf(trial->paths[i], sizeof trial->paths[i], "%s/%s", trial->folder, files[i]);
    file = fopen(trial->paths[SOURCE], "we");
    if (!file)
        return false;
    good = fputs(source, file) >= 0;
    return fclose(file) == 0 && good;
}

static void clean(const struct trial *trial)
{
    for (int i = 0; i < FILES; i++)
        unlink(trial->paths[i]);
    rmdir(trial->folder);
}

/* Runs a command quietly; false, with the first line that it complained by. */
static bool run(const char *const *command, char *complaint, int size)
{
    const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    FILE *err = tmpfile();
    bool good = false;

    if (nothing >= 0 && err) {
        const int status = tool_run(command, nothing, nothing, fileno(err));
        good = status == 0;
        tool_complaint(err, complaint, size);
        if (!good && !complaint[0])
            snprintf(complaint, (size_t)size, "%s",
                     status < 0 ? strerror(errno) : "it failed without a word");
    } else {
        snprintf(complaint, (size_t)size, "%s", strerror(errno));
    }
    if (nothing >= 0)
        close(nothing);
    if (err)
        fclose(err);
    return good;
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

static void record(struct trial *trial, struct psnap_findings *findings)
{
    const char *const compile[] = {trial->self,           "cc", "-O2", trial->paths[SOURCE], "-o",
                                   trial->paths[PROGRAM], NULL};
    const char *const record[] = {
        trial->self, "record", "-o", trial->paths[PROFILE], "--", trial->paths[PROGRAM], NULL};
    struct psnap_finding *finding =
        psnap_finding_add(findings, "capture", "psnap cc and psnap record, together");
    char complaint[256] = "";
    uint64_t accesses = 0;

    finding->health = PSNAP_HEALTH_WRONG;
    if (!run(compile, complaint, sizeof complaint))
        snprintf(finding->found, sizeof finding->found, "%s%s",
                 strncmp(complaint, "psnap ", 6) ? "psnap cc: " : "", complaint);
    else if (!run(record, complaint, sizeof complaint))
        snprintf(finding->found, sizeof finding->found, "%s%s",
                 strncmp(complaint, "psnap ", 6) ? "psnap record: " : "", complaint);
    else if (!(accesses = count(trial->paths[PROFILE], complaint, sizeof complaint)))
        snprintf(finding->found, sizeof finding->found, "the profile: %s", complaint);
    else
        snprintf(finding->found, sizeof finding->found,
                 "a program of %d stores was recorded with %" PRIu64 " accesses", STORES, accesses);
    if (accesses == STORES)
        finding->health = PSNAP_HEALTH_OK;
    findings->captures = accesses == STORES;
}

static void try_openmp(struct trial *trial, struct psnap_findings *findings)
{
    const char *const compile[] = {
        trial->self, "cc", "-fopenmp", trial->paths[SOURCE], "-o", trial->paths[PARALLEL], NULL};
    struct psnap_finding *finding =
        psnap_finding_add(findings, "OpenMP", "OpenMP programs, psnap predict multicore");
    struct psnap_compiler compiler = {0};
    struct psnap_error error = {0};

    if (run(compile, finding->found, 256)) {
        snprintf(finding->found, sizeof finding->found, "psnap cc -fopenmp links");
        return;
    }
    psnap_compiler_find(&compiler, PSNAP_LANGUAGE_C, NULL, &error);
    finding->health = PSNAP_HEALTH_MISSING;
    snprintf(finding->hint, sizeof finding->hint, "install libomp-%d-dev", compiler.llvm);
}

void psnap_doctor_try(struct psnap_findings *findings)
{
    struct trial *trial = calloc(1, sizeof *trial);
    struct psnap_finding *finding;

    forget_environment();
    if (trial && prepare(trial)) {
        record(trial, findings);
        if (findings->captures)
            try_openmp(trial, findings);
    } else {
        finding = psnap_finding_add(findings, "capture", "psnap cc and psnap record, together");
        finding->health = PSNAP_HEALTH_WRONG;
        snprintf(finding->found, sizeof finding->found, "cannot try it in a temporary folder: %s",
                 strerror(errno));
    }
    if (trial)
        clean(trial);
    free(trial);
}
