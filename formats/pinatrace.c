/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The text of Pin's example tool pinatrace: "0xPC: R 0xADDRESS" or W, at its end "#eof". There
 * are no sizes: read, an access is of one byte, so that it is in the line that its address is in.
 * Program counters become references, as those of lackey do; written, the number of the reference
 * stands for the counter.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/pc_refs.h"
#include "formats/text_trace.h"

struct pinatrace {
    struct psnap_text_trace text;
    struct pc_refs refs;
};

/* Scans a line; *type is 0 for one that is passed over, else R or W. */
static enum psnap_status scan_line(struct psnap_scan *scan, unsigned char *type, uint64_t *pc,
                                   uint64_t *address, struct psnap_error *error)
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
    return psnap_scan_done(scan) ? PSNAP_OK : psnap_scan_expected("the end of the line", error);
}

static enum psnap_status pinatrace_line(struct psnap_text_trace *trace, struct psnap_scan *scan,
                                        struct psnap_access *out, size_t *n,
                                        struct psnap_error *error)
{
    struct pinatrace *pin = (struct pinatrace *)trace;
    uint64_t pc = 0, address = 0;
    unsigned char type;
    const enum psnap_status status = scan_line(scan, &type, &pc, &address, error);
    const enum psnap_access_kind kind = type == 'R' ? PSNAP_LOAD : PSNAP_STORE;
    uint32_t ref;

    if (status || !type)
        return status;
    ref = pc_refs_find(&pin->refs, pin->text.trace.base.program, pc, kind, 1);
    if (ref == PSNAP_NONE)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    return psnap_access_add(address, 1, kind, ref, out, n, error);
}

/* Sure when the first line that is no remark is good. */
static int pinatrace_bid(const unsigned char *start, size_t n, bool whole)
{
    struct psnap_scan scan;
    size_t at = 0;

    while (psnap_text_bid_line(start, n, whole, &at, &scan)) {
        uint64_t pc, address;
        unsigned char type;

        if (scan_line(&scan, &type, &pc, &address, NULL) != PSNAP_OK)
            return 0;
        if (type)
            return 60;
    }
    return 0;
}

static void pinatrace_release(struct psnap_text_trace *trace)
{
    pc_refs_release(&((struct pinatrace *)trace)->refs);
}

static struct psnap_trace *pinatrace_open(struct psnap_reader *reader, struct psnap_error *error)
{
    struct pinatrace *pin = calloc(1, sizeof *pin);

    if (pin) {
        pin->text.line = pinatrace_line;
        pin->text.release = pinatrace_release;
    }
    if (pin && !pc_refs_init(&pin->refs)) {
        free(pin);
        pin = NULL;
    }
    return psnap_text_trace_open(pin ? &pin->text : NULL, reader, "pinatrace", error);
}

static char *pinatrace_format(char *to, const struct psnap_access *access)
{
    memcpy(to, "0x", 2);
    to = psnap_text_put_hex(to + 2, access->ref, 1);
    memcpy(to, access->kind == PSNAP_LOAD ? ": R 0x" : ": W 0x", 6);
    to = psnap_text_put_hex(to + 6, access->address, 1);
    *to++ = '\n';
    return to;
}

static struct psnap_sink *pinatrace_create(FILE *file, struct psnap_program *program,
                                           struct psnap_error *error)
{
    (void)program;
    return psnap_text_sink_new(file, "", pinatrace_format, error);
}

static const struct psnap_format_ops pinatrace_ops = {pinatrace_bid, pinatrace_open, NULL,
                                                      pinatrace_create};

const struct psnap_format psnap_format_pinatrace = {
    .name = "pinatrace",
    .summary = "the text of Pin's tool pinatrace",
    .description =
        "One line per access: '0xPC: R 0xADDRESS', or W. There are no sizes: read, an\n"
        "access is of one byte, in the line of its address. Every program counter's\n"
        "loads and stores become references; written, the reference's number stands for\n"
        "the counter. '#eof' and other remarks are passed over when read, and none is\n"
        "written. An atomic is written as a write.\n\n"
        "    0x401136: R 0x7ffd1c0a3f08\n"
        "    0x40113a: W 0x5581d2a6b2a0\n",
    .loses = "size, atomic, thread, program",
    .readable = true,
    .writable = true,
    .is_text = true,
    .ops = &pinatrace_ops,
};
