/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The text that Valgrind's lackey prints with --trace-mem=yes: "I  pc,size"
 * for an instruction, " L address,size", " S address,size" and
 * " M address,size" for its accesses; hexadecimal in lower case without 0x,
 * sizes decimal. A modify is a load and a store. Valgrind's own lines
 * ("==pid==", "--pid--") and blank ones are passed over.
 *
 * The instruction line before an access is its program counter, so each
 * (counter, kind, size) becomes a reference, all in one loop called "lackey":
 * lackey knows no functions or loops. After 2^20 of them, and for accesses
 * without an instruction line, the references are 0 (load) and 1 (store).
 */
#include <stdlib.h>
#include <string.h>

#include "formats/pc_refs.h"
#include "formats/text_trace.h"

struct lackey_trace {
    struct psnap_text_trace text;
    struct pc_refs refs;
    uint64_t pc;
    bool has_pc;
};

/* Scans a line; *type is 0 for one that is passed over. */
static enum psnap_status scan_line(struct psnap_scan *scan, unsigned char *type, uint64_t *address,
                                   uint64_t *size, struct psnap_error *error)
{
    *type = 0;
    if (psnap_scan_done(scan) || (scan->at[0] == '=' && scan->at[1] == '=') ||
        (scan->at[0] == '-' && scan->at[1] == '-'))
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

static enum psnap_status add_access(struct lackey_trace *lackey, uint64_t address, uint64_t size,
                                    enum psnap_access_kind kind, struct psnap_access *out,
                                    size_t *n, struct psnap_error *error)
{
    const uint32_t ref =
        lackey->has_pc
            ? pc_refs_find(&lackey->refs, lackey->text.trace.base.program, lackey->pc, kind, size)
            : (uint32_t)kind;

    if (ref == PSNAP_NONE)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    return psnap_access_add(address, size, kind, ref, out, n, error);
}

static enum psnap_status lackey_line(struct psnap_text_trace *trace, struct psnap_scan *scan,
                                     struct psnap_access *out, size_t *n, struct psnap_error *error)
{
    struct lackey_trace *lackey = (struct lackey_trace *)trace;
    uint64_t address = 0, size = 0;
    unsigned char type;
    enum psnap_status status = scan_line(scan, &type, &address, &size, error);

    if (type == 'I' && status == PSNAP_OK) {
        lackey->pc = address;
        lackey->has_pc = true;
        return PSNAP_OK;
    }
    if (status == PSNAP_OK && (type == 'L' || type == 'M'))
        status = add_access(lackey, address, size, PSNAP_LOAD, out, n, error);
    if (status == PSNAP_OK && (type == 'S' || type == 'M'))
        status = add_access(lackey, address, size, PSNAP_STORE, out, n, error);
    return status;
}

/* Sure when the first line that is not Valgrind's own is good. */
static int lackey_bid(const unsigned char *start, size_t n, bool whole)
{
    struct psnap_scan scan;
    size_t at = 0;
    bool valgrind = false;

    while (psnap_text_bid_line(start, n, whole, &at, &scan)) {
        uint64_t address, size;
        unsigned char type;

        if (scan_line(&scan, &type, &address, &size, NULL) != PSNAP_OK)
            return 0;
        if (type)
            return 60;
        valgrind = true;
    }
    return valgrind ? 30 : 0;
}

static void lackey_release(struct psnap_text_trace *trace)
{
    pc_refs_release(&((struct lackey_trace *)trace)->refs);
}

static struct psnap_trace *lackey_open(struct psnap_reader *reader, struct psnap_error *error)
{
    struct lackey_trace *lackey = calloc(1, sizeof *lackey);

    if (lackey) {
        lackey->text.line = lackey_line;
        lackey->text.release = lackey_release;
    }
    if (lackey && !pc_refs_init(&lackey->refs)) {
        free(lackey);
        lackey = NULL;
    }
    return psnap_text_trace_open(lackey ? &lackey->text : NULL, reader, "lackey", error);
}

static char *lackey_format(char *to, const struct psnap_access *access)
{
    memcpy(to, access->kind == PSNAP_LOAD ? " L " : " S ", 3);
    to = psnap_text_put_hex(to + 3, access->address, 8);
    *to++ = ',';
    to = psnap_text_put_decimal(to, access->size);
    *to++ = '\n';
    return to;
}

static struct psnap_sink *lackey_create(FILE *file, struct psnap_program *program,
                                        struct psnap_error *error)
{
    (void)program;
    return psnap_text_sink_new(file, "", lackey_format, error);
}

static const struct psnap_format_ops lackey_ops = {lackey_bid, lackey_open, NULL, lackey_create};

const struct psnap_format psnap_format_lackey = {
    .name = "lackey",
    .summary = "Valgrind lackey's text (--trace-mem=yes)",
    .description =
        "One line per access: ' L address,size' or ' S address,size', address\n"
        "hexadecimal, size decimal. Read, 'M' is a load and a store, and an 'I' line is\n"
        "the program counter of the accesses after it: every counter's loads and stores\n"
        "become references. Valgrind's own lines (==pid==) are passed over. Written, an\n"
        "atomic is a store, so that the number of accesses stays.\n\n"
        "    I  04001092,3\n"
        "     L 1ffefff7f8,8    a load by that instruction\n"
        "     S 04222c40,4\n",
    .loses = "atomic, thread, reference, program",
    .readable = true,
    .writable = true,
    .is_text = true,
    .ops = &lackey_ops,
};
