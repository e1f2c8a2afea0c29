/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The traces of SST's Prospero, written only. Text: "CYCLE R ADDRESS SIZE" or W, all decimal
 * (prospero's text reader, which never ends on anything else). Binary: 21 bytes for each access
 * without gaps, lowest bytes first,
 *
 *     0  u64 cycle     8  'R' or 'W'     9  u64 address     17  u32 size
 *
 * A cycle is an access of the program: cycles never fall.
 */
#include "formats/record_numbers.h"
#include "formats/text_trace.h"
#include "formats/trace_sink.h"

static char *prospero_access(struct psnap_trace_sink *sink, char *to,
                             const struct psnap_access *access, struct psnap_error *error)
{
    (void)error;
    to = psnap_text_put_decimal(to, psnap_trace_sink_time(sink));
    to = psnap_text_put(to, access->kind == PSNAP_LOAD ? " R " : " W ");
    to = psnap_text_put_decimal(to, access->address);
    *to++ = ' ';
    to = psnap_text_put_decimal(to, access->size);
    *to++ = '\n';
    return to;
}

const struct psnap_format psnap_format_prospero = {
    .name = "prospero",
    .summary = "SST's Prospero, text",
    .loses = "atomic, thread, ref, program",
    .writable = true,
    .is_text = true,
    .ops = &(const struct psnap_format_ops){.access = prospero_access},
};

enum { ADDRESS_AT = 9, SIZE_AT = 17, RECORD = 21 };

static char *prospero_bin_access(struct psnap_trace_sink *sink, char *to,
                                 const struct psnap_access *access, struct psnap_error *error)
{
    (void)error;
    psnap_record_put_u64(to, psnap_trace_sink_time(sink));
    to[8] = access->kind == PSNAP_LOAD ? 'R' : 'W';
    psnap_record_put_u64(to + ADDRESS_AT, access->address);
    psnap_record_put_u32(to + SIZE_AT, access->size);
    return to + RECORD;
}

const struct psnap_format psnap_format_prospero_bin = {
    .name = "prospero-bin",
    .summary = "SST's Prospero, binary",
    .loses = "atomic, thread, ref, program",
    .writable = true,
    .ops = &(const struct psnap_format_ops){.access = prospero_bin_access},
};
