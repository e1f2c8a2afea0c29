/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Names of loops that several modules have.
 */
#ifndef PSNAP_CAPTURE_COLLECT_LOOP_NAMES_H
#define PSNAP_CAPTURE_COLLECT_LOOP_NAMES_H

#include "formats/base/program.h"

/* Trees (tsearch) of the names that are claimed; zero-initialise. */
struct psnap_loop_names {
    void *ids, *src_ids;
};

void psnap_loop_names_release(struct psnap_loop_names *names);

/* The name of a loop of the source: the same for the same text and file. These live as long as the
 * program, whose loops may be renamed; NULL: out of memory. */
const char *psnap_name_source_loop(struct psnap_loop_names *names, struct psnap_program *program,
                                   const char *text, const char *file);
/* An id that no other loop has; `module`: the file that was compiled. */
const char *psnap_name_loop(struct psnap_loop_names *names, struct psnap_program *program,
                            const char *text, const char *file, const char *module);

#endif
