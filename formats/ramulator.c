/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Traces of Ramulator's memory side, written only: of version 1 "0xADDRESS R" or W (Processor.cpp,
 * get_dramtrace_request), of version 2 "LD ADDRESS" or ST (loadstore_trace.cpp) and "R c,r,g,b,r,c"
 * or W, a vector of places in the memory (readwrite_trace.cpp), which passes by Ramulator's mapping
 * of addresses: here it is that of a DDR4_8Gb_x8 of one channel and one rank, in the order that
 * Ramulator calls RoBaRaCoCh. Version 2 takes addresses for signed numbers, and ends at one of 2^63
 * or more. All of them expect what the caches before the memory miss and write back; an access is
 * the burst of its first byte.
 */
#include "formats/text_trace.h"
#include "formats/trace_sink.h"

/* ------------------------------------------------------------------ ramulator1 */

static char *ramulator1_access(struct psnap_trace_sink *sink, char *to,
                               const struct psnap_access *access, struct psnap_error *error)
{
    (void)sink, (void)error;
    to = psnap_text_put_hex(psnap_text_put(to, "0x"), access->address, 1);
    return psnap_text_put(to, access->kind == PSNAP_LOAD ? " R\n" : " W\n");
}

/* --------------------------------------------------------------- ramulator2-ls */

static char *ls_access(struct psnap_trace_sink *sink, char *to, const struct psnap_access *access,
                       struct psnap_error *error)
{
    if (access->address >> 63)
        return psnap_trace_sink_refuse(sink, access, "Ramulator 2 takes addresses below 2^63 alone",
                                       error);
    to = psnap_text_put_hex(psnap_text_put(to, access->kind == PSNAP_LOAD ? "LD 0x" : "ST 0x"),
                            access->address, 1);
    *to++ = '\n';
    return to;
}

/* --------------------------------------------------------------- ramulator2-rw */

/* Bits of an address, from the lowest on. */
enum { BURST_BITS = 6, COLUMN_BITS = 7, GROUP_BITS = 2, BANK_BITS = 2, ROW_BITS = 16 };

static unsigned take_bits(uint64_t *address, unsigned bits)
{
    const unsigned value = (unsigned)(*address & ((UINT64_C(1) << bits) - 1));

    *address >>= bits;
    return value;
}

static char *put_field(char *to, unsigned value)
{
    *to++ = ',';
    return psnap_text_put_decimal(to, value);
}

static char *rw_access(struct psnap_trace_sink *sink, char *to, const struct psnap_access *access,
                       struct psnap_error *error)
{
    uint64_t address = access->address >> BURST_BITS;
    const unsigned column = take_bits(&address, COLUMN_BITS);
    const unsigned group = take_bits(&address, GROUP_BITS);
    const unsigned bank = take_bits(&address, BANK_BITS);
    const unsigned row = take_bits(&address, ROW_BITS);

    (void)sink, (void)error;
    to = psnap_text_put(to, access->kind == PSNAP_LOAD ? "R 0,0" : "W 0,0");
    to = put_field(put_field(put_field(put_field(to, group), bank), row), column);
    *to++ = '\n';
    return to;
}

/* ------------------------------------------------------------- the descriptors */

const struct psnap_format psnap_format_ramulator1 = {
    .name = "ramulator1",
    .summary = "Ramulator 1's memory trace",
    .loses = "size, atomic, thread, ref, program, time",
    .writable = true,
    .is_text = true,
    .is_memory_side = true,
    .is_physical = true,
    .ops = &(const struct psnap_format_ops){.access = ramulator1_access, .hex_at = 2},
};

const struct psnap_format psnap_format_ramulator2_ls = {
    .name = "ramulator2-ls",
    .summary = "Ramulator 2's LoadStoreTrace",
    .loses = "size, atomic, thread, ref, program, time",
    .writable = true,
    .is_text = true,
    .is_memory_side = true,
    .is_physical = true,
    .ops = &(const struct psnap_format_ops){.access = ls_access, .hex_at = 5},
};

const struct psnap_format psnap_format_ramulator2_rw = {
    .name = "ramulator2-rw",
    .summary = "Ramulator 2's ReadWriteTrace, places in a DDR4 memory",
    .loses = "size, atomic, thread, ref, program, time, address bits 0 to 5 and from 33 on",
    .writable = true,
    .is_text = true,
    .is_memory_side = true,
    .is_physical = true,
    .ops = &(const struct psnap_format_ops){.access = rw_access},
};
