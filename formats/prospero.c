/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The text trace of SST's Prospero, written only: "CYCLE R ADDRESS SIZE" or W, all decimal
 * (prospero's text reader, which never ends on anything else). A cycle is an access of the program:
 * cycles never fall.
 */
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
