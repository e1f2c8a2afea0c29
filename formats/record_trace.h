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

#define PSNAP_RECORD_ACCESSES 64u /* that a record turns into, at most */

struct psnap_record_trace {
    struct psnap_trace trace;
    size_t record_bytes; /* 1 where they have no fixed size: `records` then gets bytes */
    size_t wanted;       /* bytes that `records` needs to come further, if more than record_bytes */
    size_t accesses_max; /* of a record, at most PSNAP_RECORD_ACCESSES */
    /*
     * Turns up to `count` records into *n accesses at `out`, as long as `room` has place for
     * accesses_max of them, and returns how many records that were; fewer with *status. The error
     * of a failure gets the offset of the record, which may be tried again. Best made of
     * psnap_record_each.
     */
    size_t (*records)(struct psnap_record_trace *trace, const unsigned char *records, size_t count,
                      struct psnap_access *out, size_t room, size_t *n, enum psnap_status *status,
                      struct psnap_error *error);
    /* When the input has ended behind a whole record; may be NULL. */
    enum psnap_status (*ended)(struct psnap_record_trace *trace, struct psnap_error *error);
    void (*release)(struct psnap_record_trace *trace); /* what the format keeps; may be NULL */
    struct psnap_access pending[PSNAP_RECORD_ACCESSES];
    size_t pending_at, pending_end;
};

/* `records` of above for records of `bytes` bytes that turn into at most `most` accesses, for the
 * compiler to put `one` into the loop, which appends the accesses of a record to out[*n...). */
static inline __attribute__((always_inline)) size_t psnap_record_each(
    struct psnap_record_trace *trace, const unsigned char *records, size_t count,
    struct psnap_access *out, size_t room, size_t *n, enum psnap_status *status,
    struct psnap_error *error, size_t bytes, size_t most,
    enum psnap_status (*one)(struct psnap_record_trace *trace, const unsigned char *record,
                             struct psnap_access *out, size_t *n, struct psnap_error *error))
{
    size_t used = 0, made = 0;

    while (used < count && room - made >= most) {
        *status = one(trace, records + used * bytes, out, &made, error);
        if (__builtin_expect(*status != PSNAP_OK, 0))
            break;
        used++;
    }
    *n = made;
    return used;
}

/*
 * Makes a source of `trace`, allocated by malloc with the first members up to `release` set and
 * the rest zero; NULL stands for no memory. Its program is an anonymous one (refs 0 and 1) of a
 * loop called `loop_id`. Owns `reader` and `trace`, also when it fails.
 */
struct psnap_trace *psnap_record_trace_open(struct psnap_record_trace *trace,
                                            struct psnap_reader *reader, const char *loop_id,
                                            struct psnap_error *error);

#endif
