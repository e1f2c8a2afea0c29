/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The text traces of Dinero IV: `din`, the traditional one (-informat d), and
 * `xdin`, the extended one (-informat D, its default).
 *
 * din: "label address", the address in hexadecimal. Labels 0 read, 1 write, 3
 * miscellaneous (a read that prefetches nothing); 2 (instruction fetch) and 4
 * (flush) are no accesses and are passed over, as is anything after the address.
 * A trace of Ramulator's processor has such lines, too, in decimal: where no
 * address has a hexadecimal letter, or a third number follows, it may be either. Dinero makes every
 * access 4 bytes at a multiple of 4, whatever was traced. Read back here, an access keeps its
 * address and ends with its 4-byte word: it touches the same words, and its address survives.
 *
 * xdin: "type address size", address and size in hexadecimal. Types r read, w
 * write, m miscellaneous (a read that prefetches nothing); i (fetch), c
 * (copy back) and v (invalidate) are no accesses. Blank lines are fatal to
 * Dinero; none is written, and here they are passed over.
 */
#include "formats/text_trace.h"
#include "formats/trace_sink.h"

enum { FETCHES, OTHERS };                                /* as `omits` */
enum { LOAD_REF = PSNAP_LOAD, STORE_REF = PSNAP_STORE }; /* of psnap_program_add_anonymous */

static enum psnap_status din_line(struct psnap_foreign *trace, struct psnap_scan *scan,
                                  struct psnap_access *out, size_t *n, struct psnap_error *error)
{
    uint64_t address;
    unsigned label;

    if (psnap_scan_done(scan))
        return PSNAP_OK;
    label = (unsigned)*scan->at - '0';
    if (label > 4 || (scan->at[1] != ' ' && scan->at[1] != '\t'))
        return psnap_scan_expected("a label from 0 to 4 and a blank", error);
    scan->at++;
    psnap_scan_blanks(scan);
    if (!psnap_scan_hex(scan, &address))
        return psnap_scan_expected("a hexadecimal address of at most 64 bits", error);
    if (*scan->at > ' ')
        return psnap_scan_expected("the end of the address", error);
    if (label == 2 || label == 4) {
        psnap_foreign_omit(trace, label == 2 ? FETCHES : OTHERS);
        return PSNAP_OK;
    }
    label = label == 1;
    out[(*n)++] = (struct psnap_access){.address = address,
                                        .ref = label,
                                        .size = (uint8_t)(4 - (address & 3)),
                                        .kind = (uint8_t)label};
    return PSNAP_OK;
}

static enum psnap_status xdin_line(struct psnap_foreign *trace, struct psnap_scan *scan,
                                   struct psnap_access *out, size_t *n, struct psnap_error *error)
{
    uint64_t address, size;
    unsigned char type;

    if (psnap_scan_done(scan))
        return PSNAP_OK;
    type = *scan->at | 0x20;
    if ((type != 'r' && type != 'w' && type != 'i' && type != 'm' && type != 'c' && type != 'v') ||
        (scan->at[1] != ' ' && scan->at[1] != '\t'))
        return psnap_scan_expected("a type (r, w, i, m, c or v) and a blank", error);
    scan->at++;
    psnap_scan_blanks(scan);
    if (!psnap_scan_hex(scan, &address))
        return psnap_scan_expected("a hexadecimal address of at most 64 bits", error);
    psnap_scan_blanks(scan);
    if (!psnap_scan_hex(scan, &size))
        return psnap_scan_expected("a hexadecimal size", error);
    if (!psnap_scan_done(scan))
        return psnap_scan_expected("the end of the line", error);
    if (type == 'w')
        return psnap_access_add(address, size, PSNAP_STORE, STORE_REF, out, n, error);
    if (type == 'r' || type == 'm')
        return psnap_access_add(address, size, PSNAP_LOAD, LOAD_REF, out, n, error);
    psnap_foreign_omit(trace, type == 'i' ? FETCHES : OTHERS);
    return PSNAP_OK;
}

/* Sure when the first line that is not blank is good. */
static int bid(const unsigned char *start, size_t n, bool whole,
               enum psnap_status (*line)(struct psnap_foreign *, struct psnap_scan *,
                                         struct psnap_access *, size_t *, struct psnap_error *))
{
    struct psnap_access out[PSNAP_LINE_ACCESSES];
    struct psnap_scan scan;
    size_t at = 0, made = 0;

    if (!psnap_text_bid_line(start, n, whole, &at, &scan))
        return 0;
    return line(NULL, &scan, out, &made, NULL) == PSNAP_OK ? 50 : 0;
}

/* Whether the lines at an input's start, which may be of din, are of nothing else that is known to
 * have such: an address has a letter, and no number follows one. */
static bool is_din_alone(const unsigned char *start, size_t n, bool whole)
{
    struct psnap_scan scan;
    bool has_letter = false;

    for (size_t at = 0; psnap_text_bid_line(start, n, whole, &at, &scan);) {
        psnap_scan_blanks(&scan);
        scan.at++; /* the label */
        psnap_scan_blanks(&scan);
        for (; *scan.at > ' '; scan.at++)
            has_letter |= (*scan.at | 0x20) >= 'a';
        psnap_scan_blanks(&scan);
        if (*scan.at >= '0' && *scan.at <= '9')
            return false;
    }
    return has_letter;
}

static int din_bid(const unsigned char *start, size_t n, bool whole)
{
    const int sure = bid(start, n, whole, din_line);

    return !sure || is_din_alone(start, n, whole) ? sure : PSNAP_BID_EITHER;
}

static int xdin_bid(const unsigned char *start, size_t n, bool whole)
{
    return bid(start, n, whole, xdin_line);
}

static char *din_access(struct psnap_trace_sink *sink, char *to, const struct psnap_access *access,
                        struct psnap_error *error)
{
    (void)sink, (void)error;
    to = psnap_text_put(to, access->kind == PSNAP_LOAD ? "0 " : "1 ");
    to = psnap_text_put_hex(to, access->address, 1);
    *to++ = '\n';
    return to;
}

static char *xdin_access(struct psnap_trace_sink *sink, char *to, const struct psnap_access *access,
                         struct psnap_error *error)
{
    (void)sink, (void)error;
    to = psnap_text_put(to, access->kind == PSNAP_LOAD ? "r " : "w ");
    to = psnap_text_put_hex(to, access->address, 1);
    *to++ = ' ';
    to = psnap_text_put_hex(to, access->size, 1);
    *to++ = '\n';
    return to;
}

const struct psnap_format psnap_format_din = {
    .name = "din",
    .summary = "Dinero IV, traditional text (-informat d)",
    .loses = "size (Dinero takes all as 4 bytes), atomic, thread, reference, program",
    .readable = true,
    .writable = true,
    .is_text = true,
    .ops = &(const struct psnap_format_ops){.bid = din_bid,
                                            .line = din_line,
                                            .omits = {"instruction fetches", "flushes"},
                                            .access = din_access,
                                            .hex_at = 2},
};

const struct psnap_format psnap_format_xdin = {
    .name = "xdin",
    .summary = "Dinero IV, extended text (-informat D, its default)",
    .loses = "atomic, thread, reference, program",
    .readable = true,
    .writable = true,
    .is_text = true,
    .ops = &(const struct psnap_format_ops){.bid = xdin_bid,
                                            .line = xdin_line,
                                            .omits = {"instruction fetches",
                                                      "copies back and invalidations"},
                                            .access = xdin_access,
                                            .hex_at = 2},
};
