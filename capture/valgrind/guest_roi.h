/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Regions of interest of a program that runs under Valgrind: while a function that
 * was named runs, in any thread. A thread's functions are one region from the
 * first instruction of one of them until the thread executes one of a frame
 * above it.
 */
#ifndef PSNAP_CAPTURE_VALGRIND_GUEST_ROI_H
#define PSNAP_CAPTURE_VALGRIND_GUEST_ROI_H

#include "capture/valgrind/guest_code.h"

struct psnap_guest_roi {
    const char *list;     /* names, a line each; NULL or empty: everything is wanted */
    unsigned char *known; /* by function: 0, or 1 not wanted, 2 wanted */
    size_t room;
    uint32_t open;    /* threads in a region */
    uint64_t regions; /* times that a first one was begun */
    uint64_t found;   /* bit i: a function of the i-th name has run */
};

void psnap_guest_roi_release(struct psnap_guest_roi *roi);

/* A thread executes `node`, `depth` frames deep; *outermost is its region's, plus one, or 0. */
void psnap_guest_roi_step(struct psnap_guest_roi *roi, const struct psnap_guest_code *code,
                          uint32_t node, uint64_t depth, uint64_t *outermost);

/* The thread has ended. */
void psnap_guest_roi_end(struct psnap_guest_roi *roi, uint64_t *outermost);

static inline bool psnap_guest_roi_is_wanted(const struct psnap_guest_roi *roi)
{
    return !roi->list || !*roi->list || roi->open;
}

#endif
