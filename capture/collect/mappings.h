/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a process has mapped, as /proc/PID/maps says.
 */
#ifndef PSNAP_CAPTURE_COLLECT_MAPPINGS_H
#define PSNAP_CAPTURE_COLLECT_MAPPINGS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

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

#endif
