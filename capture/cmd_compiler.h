/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which compiler `psnap cc` drives, and the capture pass that fits it.
 */
#ifndef PSNAP_CAPTURE_CMD_COMPILER_H
#define PSNAP_CAPTURE_CMD_COMPILER_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "formats/base/status.h"

enum psnap_language { PSNAP_LANGUAGE_C, PSNAP_LANGUAGE_CXX, PSNAP_LANGUAGE_FORTRAN };

/* The variables of the environment that name a compiler, by language. */
extern const char *const psnap_compiler_variables[3];

struct psnap_compiler {
    const char *path;     /* what is to be run: static, or from the environment */
    int llvm;             /* its version; 0: not known yet */
    char self[PATH_MAX];  /* this program */
    char files[PATH_MAX]; /* the folder with the passes and the runtime */
    char pass[PATH_MAX + 32], runtime[PATH_MAX + 32];
    char include[PATH_MAX]; /* folder of psnap/roi.h, "" when it is not there */
};

/*
 * The compiler of `language`: the one that PSNAP_CLANG, PSNAP_CLANGXX or PSNAP_FLANG names; else
 * that of LLVM `llvm` ("22"), or of PSNAP_LLVM, or the first one that there is a pass for. An
 * error when there is none, or no pass for its LLVM, which a compiler from the environment is
 * asked for with --version.
 */
enum psnap_status psnap_compiler_find(struct psnap_compiler *compiler, enum psnap_language language,
                                      const char *llvm, struct psnap_error *error);

/* The LLVM of a compiler or lld, and the first line that it says of itself; 0: it is neither; -1,
 * with errno: it cannot be run. */
int psnap_compiler_version(const char *program, char *line, size_t room);

/* Which program the compiler runs as linker `linker` ("ld.lld"); a name alone where it finds none.
 */
bool psnap_compiler_linker(const struct psnap_compiler *compiler, const char *linker,
                           char path[PATH_MAX]);

/*
 * The pass for the linker that `compiler` calls as `linker` ("ld.lld", "ld.lld-19" or a path),
 * which may be of another LLVM; that of the compiler when the linker cannot be asked, for then
 * the compiler has something to say about it. An error when there is none.
 */
enum psnap_status psnap_compiler_linker_pass(const struct psnap_compiler *compiler,
                                             const char *linker, char pass[PATH_MAX + 32],
                                             struct psnap_error *error);

#endif
