/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The text that Valgrind's lackey prints with --trace-mem=yes: "I  pc,size"
 * for an instruction, " L address,size", " S address,size" and
 * " M address,size" for its accesses; hexadecimal in lower case without 0x,
 * sizes decimal. A modify is a load and a store. Valgrind's own lines
 * ("==pid==", "--pid--", "### ..."), those of superblocks ("SB address") and blank ones are passed
 * over; so are, and are counted, the program's own, which are between them with --log-fd=1.
 *
 * The instruction line before an access is its program counter, so each
 * (counter, kind, size) becomes a reference, all in one loop called "lackey":
 * lackey knows no functions or loops. After 2^20 of them, and for accesses
 * without an instruction line, the references are 0 (load) and 1 (store).
 */
#include "formats/text_trace.h"
#include "formats/trace_sink.h"

/* Scans a line; *type is 0 for one that is passed over. */
static enum psnap_status scan_line(struct psnap_scan *scan, unsigned char *type, uint64_t *address,
                                   uint64_t *size, struct psnap_error *error)
{
    *type = 0;
    if (psnap_scan_done(scan) || (scan->at[0] == '=' && scan->at[1] == '=') ||
        (scan->at[0] == '-' && scan->at[1] == '-') ||
        (scan->at[0] == '#' && scan->at[1] == '#' && scan->at[2] == '#') ||
        (scan->at[0] == 'S' && scan->at[1] == 'B' && scan->at[2] == ' '))
        return PSNAP_OK;
    if ((*scan->at != 'I' && *scan->at != 'L' && *scan->at != 'S' && *scan->at != 'M') ||
        (scan->at[1] != ' ' && scan->at[1] != '\t'))
        return psnap_scan_expected("I, L, S or M and a blank", error);
    *type = *scan->at++;
    psnap_scan_blanks(scan);
    if (!psnap_scan_hex(scan, address))
        return psnap_scan_expected("a hexadecimal address of at most 64 bits", error);
    if (*scan->at != ',')
        return psnap_scan_expected("a comma", error);
    scan->at++;
    if (!psnap_scan_decimal(scan, size))
        return psnap_scan_expected("a decimal size", error);
    return psnap_scan_done(scan) ? PSNAP_OK : psnap_scan_expected("the end of the line", error);
}

/* Whether it is a line of lackey's that is damaged, if it is none. */
static bool begins_as_lackey(const unsigned char *line)
{
    return (line[0] == 'I' && line[1] == ' ' && line[2] == ' ') ||
           (line[0] == ' ' && (line[1] == 'L' || line[1] == 'S' || line[1] == 'M') &&
            line[2] == ' ');
}

struct lackey {
    struct psnap_foreign foreign;
    bool has_begun; /* there was a line of lackey's */
};

static enum psnap_status lackey_line(struct psnap_foreign *trace, struct psnap_scan *scan,
                                     struct psnap_access *out, size_t *n, struct psnap_error *error)
{
    struct lackey *lackey = (struct lackey *)trace;
    uint64_t address = 0, size = 0;
    unsigned char type;
    enum psnap_status status = scan_line(scan, &type, &address, &size, error);

    if (status && lackey->has_begun && *scan->end == '\n' && !begins_as_lackey(scan->start)) {
        psnap_foreign_omit(trace, 0);
        return PSNAP_OK;
    }
    lackey->has_begun |= type && !status;
    if (type == 'I' && status == PSNAP_OK) {
        trace->pc = address;
        trace->has_pc = true;
        return PSNAP_OK;
    }
    if (status == PSNAP_OK && (type == 'L' || type == 'M'))
        status = psnap_foreign_add(trace, address, size, PSNAP_LOAD, out, n, error);
    if (status == PSNAP_OK && (type == 'S' || type == 'M'))
        status = psnap_foreign_add(trace, address, size, PSNAP_STORE, out, n, error);
    return status;
}

/* Valgrind's own lines alone are little to go by. */
static int lackey_bid(const unsigned char *start, size_t n, bool whole)
{
    return psnap_text_bid(start, n, whole, scan_line, 30);
}

static char *lackey_access(struct psnap_trace_sink *sink, char *to,
                           const struct psnap_access *access, struct psnap_error *error)
{
    (void)sink, (void)error;
    to = psnap_text_put(to, access->kind == PSNAP_LOAD ? " L " : " S ");
    to = psnap_text_put_hex(to, access->address, 8);
    *to++ = ',';
    to = psnap_text_put_decimal(to, access->size);
    *to++ = '\n';
    return to;
}

const struct psnap_format psnap_format_lackey = {
    .name = "lackey",
    .summary = "Valgrind lackey's text (--trace-mem=yes)",
    .loses = "atomic, thread, reference, program",
    .readable = true,
    .writable = true,
    .is_text = true,
    .ops =
        &(const struct psnap_format_ops){
            .bid = lackey_bid,
            .trace_bytes = sizeof(struct lackey),
            .omits = {"lines that are not lackey's"},
            .line = lackey_line,
            .access = lackey_access,
            .hex_at = 3,
        },
};
