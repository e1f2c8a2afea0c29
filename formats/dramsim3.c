/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * DRAMsim3's trace, written only: "0xADDRESS READ CYCLE" or WRITE, the cycle decimal (common.cc).
 * Cycles never fall: a cycle is an access of the program. DRAMsim3 reads on until the end of the
 * file is met within a number: a line end behind the last request would be one more request, so
 * there is none. But it also gives up, at the file's end, a request that is not due yet when it has
 * been read: so the last one is due a cycle after the one before it, if not sooner.
 */
#include "formats/text_trace.h"
#include "formats/trace_sink.h"

struct dramsim3 {
    struct psnap_trace_sink sink;
    uint64_t address, cycle; /* of the last request, which has not been written yet */
    bool is_write;
    bool has_request, has_written;
    uint64_t next_cycle; /* after that of the request before it */
};

static char *put_request(struct dramsim3 *trace, char *to)
{
    if (trace->has_written)
        *to++ = '\n';
    to = psnap_text_put_hex(psnap_text_put(to, "0x"), trace->address, 1);
    to = psnap_text_put(to, trace->is_write ? " WRITE " : " READ ");
    to = psnap_text_put_decimal(to, trace->cycle);
    trace->has_written = true;
    trace->has_request = false;
    trace->next_cycle = trace->cycle + 1;
    return to;
}

static char *dramsim3_access(struct psnap_trace_sink *sink, char *to,
                             const struct psnap_access *access, struct psnap_error *error)
{
    struct dramsim3 *trace = (struct dramsim3 *)sink;

    (void)error;
    if (trace->has_request)
        to = put_request(trace, to);
    trace->has_request = true;
    trace->address = access->address;
    trace->is_write = access->kind != PSNAP_LOAD;
    trace->cycle = psnap_trace_sink_time(sink);
    return to;
}

static char *dramsim3_end(struct psnap_trace_sink *sink, char *to)
{
    struct dramsim3 *trace = (struct dramsim3 *)sink;

    if (!trace->has_request)
        return to;
    if (trace->cycle > trace->next_cycle)
        trace->cycle = trace->next_cycle;
    return put_request(trace, to);
}

const struct psnap_format psnap_format_dramsim3 = {
    .name = "dramsim3",
    .summary = "DRAMsim3's trace",
    .loses = "size, atomic, thread, ref, program",
    .writable = true,
    .is_text = true,
    .is_memory_side = true,
    .is_physical = true,
    .ops = &(const struct psnap_format_ops){.sink_bytes = sizeof(struct dramsim3),
                                            .access = dramsim3_access,
                                            .end = dramsim3_end},
};
