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
    .description =
        "For DRAMsim3 1.0, 'dramsim3main CONFIG -t TRACE -c CYCLES'; without -c it ends\n"
        "after 100,000 cycles. One line per request: '0xADDRESS READ CYCLE' or WRITE.\n"
        "It is to be what the caches before the memory miss and write back: psnap\n"
        "passes the stream through a machine (-m MACHINE; -m none: all accesses as they\n"
        "are). A cycle is an access of the program, for its time is not known; cycles\n"
        "never fall. There is no line end after the last request, of which DRAMsim3\n"
        "would make one more, and the last request is due one cycle after the one\n"
        "before at the latest, for DRAMsim3 would leave out one that is not due yet.\n"
        "Addresses are compact ones (--layout).\n\n"
        "    0x200040 READ 3\n"
        "    0x201fc0 WRITE 24\n",
    .loses = "size, atomic, thread, ref, program",
    .writable = true,
    .is_text = true,
    .is_memory_side = true,
    .is_physical = true,
    .ops = &(const struct psnap_format_ops){.sink_bytes = sizeof(struct dramsim3),
                                            .access = dramsim3_access,
                                            .end = dramsim3_end},
};
