/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A source of records of a fixed size, which binary formats without compression of their own have
 * in common. Private to formats/.
 */
#ifndef PSNAP_FORMATS_RECORD_TRACE_H
#define PSNAP_FORMATS_RECORD_TRACE_H

#include "formats/base/access.h"
#include "formats/record_numbers.h"
#include "formats/trace.h"

#define PSNAP_RECORD_ACCESSES 16u /* that a record turns into, at most */

struct psnap_record_trace {
    struct psnap_trace trace;
    size_t record_bytes;
    /* Turns a record into *n accesses at `out`, which has room for PSNAP_RECORD_ACCESSES. The error
     * of a failure gets the record's offset. */
    enum psnap_status (*record)(struct psnap_record_trace *trace, const unsigned char *record,
                                struct psnap_access *out, size_t *n, struct psnap_error *error);
    void (*release)(struct psnap_record_trace *trace); /* what the format keeps; may be NULL */
    struct psnap_access pending[PSNAP_RECORD_ACCESSES];
    size_t pending_at, pending_end;
};

/*
 * Makes a source of `trace`, allocated by malloc with record_bytes, `record` and `release` set and
 * the rest zero; NULL stands for no memory. Its program is an anonymous one (refs 0 and 1) of a
 * loop called `loop_id`. Owns `reader` and `trace`, also when it fails.
 */
struct psnap_trace *psnap_record_trace_open(struct psnap_record_trace *trace,
                                            struct psnap_reader *reader, const char *loop_id,
                                            struct psnap_error *error);

#endif
