/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs and processes as the system has them: files of programs, mappings, ends.
 */
#ifndef PSNAP_CAPTURE_COLLECT_PROCESS_H
#define PSNAP_CAPTURE_COLLECT_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/* The file that `name` is, in the PATH when it has no slash, into `path`. False when there is
 * none: `path` is then where it was looked for last. */
bool psnap_find_program(const char *name, char *path, size_t size);

/* The build id of a program, which the linker leaves in an ELF file: */
enum { PSNAP_BUILD_ID_CHARS = 96 };

/* As hex, as many bytes as there is room for; "" when the file has none, or is no 64-bit ELF file.
 */
void psnap_build_id_read(const char *path, char hex[PSNAP_BUILD_ID_CHARS]);

/* A mapping of a process, as /proc/PID/maps has it. */
struct psnap_mapping {
    uint64_t low, high;
    char permissions[8];
    uint64_t device, inode; /* of the file */
    char name;              /* '/' of a file, '[' of what the system names, or '\0': path[0] */
    const char *path;       /* of any length; valid until the next mapping */
};

struct psnap_mappings {
    FILE *file; /* NULL: there is no such process, or it is not ours to look at */
    char *line;
    size_t size;
};

void psnap_mappings_open(struct psnap_mappings *mappings, pid_t pid);
/* The next one, by address; false when there are no more. */
bool psnap_mappings_next(struct psnap_mappings *mappings, struct psnap_mapping *mapping);
void psnap_mappings_close(struct psnap_mappings *mappings);

/* All of a file of a process in /proc, with a NUL behind it; to be freed. NULL when it cannot be
 * read, *size is 0 then. */
char *psnap_process_file(pid_t pid, const char *name, size_t *size);

/* Tells whether the process of a pidfd has ended; true where there is none (-1). */
bool psnap_process_is_over(int pidfd);
/* Tells whether a child has ended, which is left to be waited for. Signal handlers may call it. */
bool psnap_child_has_ended(pid_t child);

#endif
