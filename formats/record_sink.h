/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A sink of binary records, which formats without compression of their own have in common. An
 * access that the format cannot hold is an error that names it; nothing is cut silently. Private to
 * formats/.
 */
#ifndef PSNAP_FORMATS_RECORD_SINK_H
#define PSNAP_FORMATS_RECORD_SINK_H

#include <stdint.h>
#include <stdio.h>

#include "formats/base/access.h"
#include "formats/base/stream.h"
#include "formats/record_numbers.h"

#define PSNAP_RECORD_OUT_MAX 512u /* bytes that an access, or the end, turns into at most */
#define PSNAP_RECORD_OUT_BYTES ((size_t)64 << 10)

/* The first member of a format's own struct, which may keep state behind it. */
struct psnap_record_sink {
    struct psnap_sink base;
    FILE *file; /* not owned */
    /* Appends the records of an access at *to, and moves *to behind them. */
    enum psnap_status (*access)(struct psnap_record_sink *sink, const struct psnap_access *access,
                                unsigned char **to, struct psnap_error *error);
    /* Appends what comes at the end, in the same way; may be NULL. */
    enum psnap_status (*trailer)(struct psnap_record_sink *sink, unsigned char **to,
                                 struct psnap_error *error);
    void (*release)(struct psnap_record_sink *sink); /* what the format keeps; may be NULL */
    uint64_t accesses;                               /* that were written */
    size_t used;                                     /* of `data` */
    unsigned char data[PSNAP_RECORD_OUT_BYTES + PSNAP_RECORD_OUT_MAX];
};

/*
 * Makes a sink of `sink`, allocated by malloc, of which the functions and what lies behind are set;
 * NULL stands for no memory. The file begins with `heading`, of at most PSNAP_RECORD_OUT_MAX bytes.
 * Owns `sink`, also when it fails.
 */
struct psnap_sink *psnap_record_sink_new(struct psnap_record_sink *sink, FILE *file,
                                         const void *heading, size_t heading_bytes,
                                         struct psnap_error *error);

/* PSNAP_ERROR_VALUE, "access 7, a load of 8 bytes at 0x7fff0000, cannot be written: WHY". */
enum psnap_status psnap_record_sink_refuse(const struct psnap_record_sink *sink,
                                           const struct psnap_access *access, const char *why,
                                           struct psnap_error *error);

#endif
