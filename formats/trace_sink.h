/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A sink of other people's formats, text or binary records: a format says in its psnap_format_ops
 * what an access turns into. An access that the format cannot hold is an error that names it;
 * nothing is cut silently. Private to formats/.
 */
#ifndef PSNAP_FORMATS_TRACE_SINK_H
#define PSNAP_FORMATS_TRACE_SINK_H

#include "formats/base/access.h"
#include "formats/trace.h"

#define PSNAP_SINK_MAX 512u                 /* bytes that an access turns into at most */
#define PSNAP_SINK_BYTES ((size_t)64 << 10) /* that are written together; heading, end: at most */

/* The first member of a format's own struct, if it keeps state from access to access. */
struct psnap_trace_sink {
    struct psnap_sink base;
    const struct psnap_format_ops *ops;
    /* Accesses of the program before the one in hand, where that is not `count`; may be NULL. */
    const uint64_t *clock;
    uint64_t count; /* accesses before the one in hand */
    FILE *file;     /* not owned */
    size_t used;
    char text[PSNAP_SINK_BYTES + PSNAP_SINK_MAX];
};

/* psnap_format_ops.create */
struct psnap_sink *psnap_trace_sink_new(const struct psnap_format *format, FILE *file,
                                        struct psnap_program *program, const uint64_t *clock,
                                        struct psnap_error *error);

/* The time of the access in hand: how many accesses the program made before it. */
static inline uint64_t psnap_trace_sink_time(const struct psnap_trace_sink *sink)
{
    return sink->clock ? *sink->clock : sink->count;
}

/* PSNAP_ERROR_VALUE, "access 7, a load of 8 bytes at 0x7fff0000, cannot be written: WHY"; NULL. */
char *psnap_trace_sink_refuse(const struct psnap_trace_sink *sink,
                              const struct psnap_access *access, const char *why,
                              struct psnap_error *error);

#endif
