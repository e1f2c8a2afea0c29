/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sweeps through memory that several references of one loop of the source share. The compiler makes
 * a vector body, unrolled parts and a remainder of a loop; these go on where the others ended, so
 * that only together they access byte after byte. A reference joins a sweep at the end of the first
 * execution of its body: one that ended, with an access of the same loop and kind, where the
 * reference began, or else a new one. The series of a sweep has the bytes of all accesses in their
 * order; each reference keeps its own series as well.
 */
#ifndef PSNAP_PROFILE_SWEEP_H
#define PSNAP_PROFILE_SWEEP_H

#include "formats/base/stream.h"
#include "profile/nest/series.h"

struct lane;
struct lane_body;
struct lane_run;

struct lane_sweep {
    uint64_t source;     /* hash of the loop of the source */
    uint64_t end;        /* address behind the latest access */
    uint8_t kind;        /* of all accesses */
    uint8_t element;     /* bytes: the sizes of all accesses are multiples of it */
    struct series bytes; /* addresses of all bytes accessed, one after the other */
};

/* The first execution of a body has ended; false: out of memory. */
bool sweep_join(struct lane *lane, const struct lane_body *body, uint64_t iterations);
/* A reference that has a sweep accesses an address. */
bool sweep_put(struct lane *lane, uint32_t site, uint64_t address);
/* So do those of a run that have sweeps. */
bool sweep_put_run(struct lane *lane, const struct lane_run *run);

#endif
