/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compilers for `psnap cc`. A pass plugin works in the LLVM that it was built with, so
 * there is one for each, psnap_pass-NN.so. The compilers that were there when psnap was
 * built are known with their versions; any other is asked for its own, as is lld.
 */
#include "capture/cmd_compiler.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "predict/cmd_tool.h"

static const struct known {
    int llvm;
    const char *compilers[3]; /* by language */
} known[] = {PSNAP_COMPILERS{0, {NULL, NULL, NULL}}};

const char *const psnap_compiler_variables[] = {"PSNAP_CLANG", "PSNAP_CLANGXX", "PSNAP_FLANG"};

/* The first line that a program prints to stdout; false, with errno, when it cannot be run. */
static bool ask(const char *program, const char *option, char *line, size_t room)
{
    const char *const arguments[] = {program, option, NULL};
    const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    FILE *out = tmpfile();
    const bool is_run =
        out && nothing >= 0 && tool_run(arguments, nothing, fileno(out), nothing) >= 0;
    const int failure = errno;

    line[0] = '\0';
    if (is_run && fseek(out, 0, SEEK_SET) == 0 && fgets(line, (int)room, out))
        line[strcspn(line, "\n")] = '\0';
    if (out)
        fclose(out);
    if (nothing >= 0)
        close(nothing);
    errno = failure;
    return is_run;
}

/* 19 of "Debian clang version 19.1.7 (3~deb12u1)" and "Debian LLD 19.1.7 (compatible ...)", else
 * 0. */
static int version_of(const char *line)
{
    static const char *const words[] = {"clang version ", "flang version ", "flang-new version ",
                                        "LLD "};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        const char *at = strstr(line, words[i]);
        if (at)
            return atoi(at + strlen(words[i]));
    }
    return 0;
}

int psnap_compiler_version(const char *program, char *line, size_t room)
{
    return ask(program, "--version", line, room) ? version_of(line) : -1;
}

/* The first of `places`, seen from the folder of this program or absolute, that has the file
 * `name`, and that file; false when none has. */
static bool find_place(const char *folder, const char *const *places, const char *name,
                       char place[PATH_MAX], char path[PATH_MAX + 32])
{
    for (; *places; places++) {
        const bool is_absolute = (*places)[0] == '/';
        const int size = snprintf(place, PATH_MAX, "%s%s%s", is_absolute ? "" : folder,
                                  is_absolute ? "" : "/", *places);
        snprintf(path, PATH_MAX + 32, "%s/%s", place, name);
        if (size < PATH_MAX && access(path, R_OK) == 0)
            return true;
    }
    return false;
}

/* This program, the folder with the runtime and that of psnap/roi.h: where a build has them, or as
 * far from the program as they were installed, wherever the whole has been moved since. */
static bool find_files(struct psnap_compiler *compiler)
{
    static const char *const libraries[] = {"lib/psnap", PSNAP_BIN_TO_LIB "/psnap",
                                            PSNAP_LIBDIR "/psnap", NULL};
    static const char *const headers[] = {"include", PSNAP_BIN_TO_INCLUDE, PSNAP_INCLUDEDIR, NULL};
    ssize_t length = readlink("/proc/self/exe", compiler->self, PATH_MAX - 1);
    char folder[PATH_MAX], header[PATH_MAX + 32];

    if (length <= 0)
        return false;
    compiler->self[length] = '\0';
    memcpy(folder, compiler->self, (size_t)length + 1);
    *strrchr(folder, '/') = '\0';
    if (!find_place(folder, headers, "psnap/roi.h", compiler->include, header))
        compiler->include[0] = '\0';
    return find_place(folder, libraries, "libpsnap_rt.a", compiler->files, compiler->runtime);
}

/* "19, 22" */
static const char *list_versions(char text[64])
{
    size_t length = 0;

    text[0] = '\0';
    for (const struct known *row = known; row->llvm && length < 56; row++)
        length +=
            (size_t)snprintf(text + length, 64 - length, "%s%d", length ? ", " : "", row->llvm);
    return text;
}

static enum psnap_status check_pass(const struct psnap_compiler *compiler, const char *program,
                                    int llvm, char pass[PATH_MAX + 32], struct psnap_error *error)
{
    char versions[64];

    snprintf(pass, PATH_MAX + 32, "%s/psnap_pass-%d.so", compiler->files, llvm);
    if (access(pass, R_OK) == 0)
        return PSNAP_OK;
    return psnap_error_set(error, PSNAP_ERROR_UNSUPPORTED,
                           "'%s' is of LLVM %d, for which there is no capture pass; there are "
                           "passes for LLVM %s",
                           program, llvm, list_versions(versions));
}

/* A compiler that the user names: it has to say which LLVM it is of. */
static enum psnap_status take_named(struct psnap_compiler *compiler, struct psnap_error *error)
{
    char line[256];
    const int llvm = psnap_compiler_version(compiler->path, line, sizeof line);

    if (llvm < 0)
        return psnap_error_system(error, errno, "cannot run '%s'", compiler->path);
    if (llvm == 0)
        return psnap_error_set(error, PSNAP_ERROR_UNSUPPORTED,
                               "'%s' is no clang or flang: its version is '%s'", compiler->path,
                               line);
    return check_pass(compiler, compiler->path, llvm, compiler->pass, error);
}

enum psnap_status psnap_compiler_find(struct psnap_compiler *compiler, enum psnap_language language,
                                      const char *llvm, struct psnap_error *error)
{
    const char *named = getenv(psnap_compiler_variables[language]);
    const struct known *row = known;
    char versions[64];

    compiler->llvm = 0;
    if (known[0].llvm == 0)
        return psnap_error_set(error, PSNAP_ERROR_UNSUPPORTED,
                               "this program was built without LLVM, and has no capture pass");
    if (!find_files(compiler))
        return psnap_error_set(error, PSNAP_ERROR_UNSUPPORTED,
                               "the capture runtime is not beside this program: it was built in "
                               "part, or moved away from its lib folder");
    if (named && *named && !llvm) {
        compiler->path = named;
        return take_named(compiler, error);
    }
    llvm = llvm ? llvm : getenv("PSNAP_LLVM");
    if (llvm && *llvm)
        while (row->llvm && (row->llvm != atoi(llvm) || llvm[strspn(llvm, "0123456789")]))
            row++;
    if (!row->llvm)
        return psnap_error_set(error, PSNAP_ERROR_USAGE,
                               "there is no capture pass for LLVM '%s'; there are passes for LLVM "
                               "%s",
                               llvm, list_versions(versions));
    compiler->path = row->compilers[language];
    compiler->llvm = row->llvm;
    return check_pass(compiler, compiler->path, row->llvm, compiler->pass, error);
}

bool psnap_compiler_linker(const struct psnap_compiler *compiler, const char *linker,
                           char path[PATH_MAX])
{
    char option[PATH_MAX + 32];

    snprintf(option, sizeof option, "-print-prog-name=%s", linker);
    return ask(compiler->path, option, path, PATH_MAX) && path[0];
}

enum psnap_status psnap_compiler_linker_pass(const struct psnap_compiler *compiler,
                                             const char *linker, char pass[PATH_MAX + 32],
                                             struct psnap_error *error)
{
    char path[PATH_MAX], line[256];
    int llvm = 0;

    if (psnap_compiler_linker(compiler, linker, path))
        llvm = psnap_compiler_version(path, line, sizeof line);
    if (llvm <= 0) {
        memcpy(pass, compiler->pass, sizeof compiler->pass);
        return PSNAP_OK;
    }
    return check_pass(compiler, path, llvm, pass, error);
}
