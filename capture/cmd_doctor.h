/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The checks of psnap doctor and their findings.
 */
#ifndef PSNAP_CAPTURE_CMD_DOCTOR_H
#define PSNAP_CAPTURE_CMD_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>

enum psnap_health {
    PSNAP_HEALTH_OK,
    PSNAP_HEALTH_MISSING,
    PSNAP_HEALTH_WRONG,
    PSNAP_HEALTH_LIMITED
};

struct psnap_finding {
    const char *name;       /* "clang" */
    const char *needed_for; /* "psnap cc" */
    enum psnap_health health;
    char found[512]; /* the program or library, or its fault; "": neither */
    char hint[128];  /* how the user mends that; "": nothing is known */
};

/* Room for every check; each fills the next one. */
struct psnap_findings {
    struct psnap_finding list[32];
    size_t count;
    bool captures; /* a program was compiled, run, and its profile is right */
};

/* A new finding, that all is well. */
struct psnap_finding *psnap_finding_add(struct psnap_findings *findings, const char *name,
                                        const char *needed_for);

/* Compilers, passes, runtime, tools, libraries of this build and limits of the system. */
void psnap_doctor_check(struct psnap_findings *findings);

/* Compiles a small program in a folder of its own, records it, and reads its profile. */
void psnap_doctor_try(struct psnap_findings *findings);

#endif
