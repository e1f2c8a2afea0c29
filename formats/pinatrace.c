/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The text of Pin's example tools pinatrace: "0xPC: R 0xADDRESS" or W, at its end "#eof". One of
 * them (ManualExamples) writes no sizes: read, an access then is of one byte, so that it is in the
 * line that its address is in. The other (SimpleExamples) writes the size, in decimal, and may
 * write what was accessed. Program counters become references, as those of lackey do; written, the
 * number of the reference stands for the counter.
 */
#include "formats/text_trace.h"
#include "formats/trace_sink.h"

/* A size, if there is one, and the value behind it, which may have any number of digits. */
static enum psnap_status scan_size(struct psnap_scan *scan, uint64_t *size,
                                   struct psnap_error *error)
{
    *size = 1;
    if (psnap_scan_done(scan))
        return PSNAP_OK;
    if (!psnap_scan_decimal(scan, size) || *scan->at > ' ')
        return psnap_scan_expected("a decimal size, or the end of the line", error);
    psnap_scan_blanks(scan);
    scan->at += strspn((const char *)scan->at, "0123456789abcdefABCDEFx");
    return psnap_scan_done(scan) ? PSNAP_OK
                                 : psnap_scan_expected("a hexadecimal value, or the end of the "
                                                       "line",
                                                       error);
}

/* Scans a line; *type is 0 for one that is passed over, else R or W. */
static enum psnap_status scan_access(struct psnap_scan *scan, unsigned char *type, uint64_t *pc,
                                     uint64_t *address, uint64_t *size, struct psnap_error *error)
{
    *type = 0;
    if (psnap_scan_done(scan) || *scan->at == '#')
        return PSNAP_OK;
    if (scan->at[0] != '0' || scan->at[1] != 'x' || !psnap_scan_hex(scan, pc))
        return psnap_scan_expected("a program counter, as in 0x401000", error);
    if (*scan->at != ':')
        return psnap_scan_expected("a colon", error);
    scan->at++;
    psnap_scan_blanks(scan);
    if ((*scan->at != 'R' && *scan->at != 'W') || (scan->at[1] != ' ' && scan->at[1] != '\t'))
        return psnap_scan_expected("R or W and a blank", error);
    *type = *scan->at++;
    psnap_scan_blanks(scan);
    if (!psnap_scan_hex(scan, address))
        return psnap_scan_expected("a hexadecimal address of at most 64 bits", error);
    return scan_size(scan, size, error);
}

static enum psnap_status scan_line(struct psnap_scan *scan, unsigned char *type, uint64_t *pc,
                                   uint64_t *address, struct psnap_error *error)
{
    uint64_t size;

    return scan_access(scan, type, pc, address, &size, error);
}

static enum psnap_status pinatrace_line(struct psnap_foreign *trace, struct psnap_scan *scan,
                                        struct psnap_access *out, size_t *n,
                                        struct psnap_error *error)
{
    uint64_t address = 0, size = 1;
    unsigned char type;
    const enum psnap_status status = scan_access(scan, &type, &trace->pc, &address, &size, error);

    if (status || !type)
        return status;
    trace->has_pc = true;
    if (!size) {
        psnap_foreign_omit(trace, 0);
        return PSNAP_OK;
    }
    return psnap_foreign_add(trace, address, size, type == 'R' ? PSNAP_LOAD : PSNAP_STORE, out, n,
                             error);
}

/* Remarks alone are nothing to go by. */
static int pinatrace_bid(const unsigned char *start, size_t n, bool whole)
{
    return psnap_text_bid(start, n, whole, scan_line, 0);
}

static char *pinatrace_access(struct psnap_trace_sink *sink, char *to,
                              const struct psnap_access *access, struct psnap_error *error)
{
    (void)sink, (void)error;
    to = psnap_text_put_hex(psnap_text_put(to, "0x"), access->ref, 1);
    to = psnap_text_put(to, access->kind == PSNAP_LOAD ? ": R 0x" : ": W 0x");
    to = psnap_text_put_hex(to, access->address, 1);
    *to++ = '\n';
    return to;
}

const struct psnap_format psnap_format_pinatrace = {
    .name = "pinatrace",
    .summary = "the text of Pin's tool pinatrace",
    .loses = "size, atomic, thread, program",
    .readable = true,
    .writable = true,
    .is_text = true,
    .ops =
        &(const struct psnap_format_ops){
            .bid = pinatrace_bid,
            .line = pinatrace_line,
            .omits = {"accesses of no bytes"},
            .access = pinatrace_access,
        },
};
