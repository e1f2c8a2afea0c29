/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program that runs under Valgrind's lackey, as an access stream: for
 * programs that cannot be compiled again. All code is in it, the C library and
 * the loader included, and every access of the machine code, the stack's too.
 */
#ifndef PSNAP_CAPTURE_VALGRIND_ENGINE_VALGRIND_H
#define PSNAP_CAPTURE_VALGRIND_ENGINE_VALGRIND_H

#include <stdbool.h>
#include <sys/types.h>

#include "capture/capture.h"
#include "formats/base/stream.h"

/*
 * A stream for a program that is still to be started, with the command that
 * psnap_valgrind_command gives. PSNAP_ERROR_UNSUPPORTED when valgrind is not
 * installed.
 */
struct psnap_source *psnap_valgrind_new(struct psnap_error *error);

/* argv (NULL-terminated) behind Valgrind and its options: an array for free(); its texts belong to
 * the source and to argv. NULL when out of memory. */
char **psnap_valgrind_command(struct psnap_source *source, char **argv);

/* In the new process, before the command: what of the environment must be another. */
void psnap_valgrind_environment(void);

/* Before it is started: only what runs while a function of the list (PSNAP_ENV_ROI; it is kept)
 * does is in the stream; NULL: everything. */
void psnap_valgrind_choose(struct psnap_source *source, const char *roi);
struct psnap_roi_report psnap_valgrind_roi(const struct psnap_source *source);

/* As psnap_sampled_ops (sampling.h) has it. */
void psnap_valgrind_attend(struct psnap_source *source, uint64_t accesses, bool counts);

/* The command runs as process `pid`, or could not be started (0). The stream ends when it does. */
void psnap_valgrind_watch(struct psnap_source *source, pid_t pid);

/* Lets the program run on to its end when nobody wants its accesses any more. */
void psnap_valgrind_drain(struct psnap_source *source);

#endif
