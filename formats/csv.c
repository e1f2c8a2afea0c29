/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Accesses as comma-separated values, for spreadsheets and scripts: a heading,
 * then a row per access with every field of its record. What is lost is the
 * program: read back, the references keep their numbers (up to 2^20 of them)
 * in one loop called "csv".
 */
#include <string.h>

#include "formats/text_trace.h"
#include "formats/trace_sink.h"

#define HEADING "address,size,kind,thread,ref"
#define REFS_MAX (1u << 20)

static const char *const kind_names[] = {"load", "store", "atomic"};

struct csv_trace {
    struct psnap_foreign foreign;
    bool has_heading;
};

static bool scan_comma(struct psnap_scan *scan)
{
    if (*scan->at != ',')
        return false;
    scan->at++;
    return true;
}

static bool scan_text(struct psnap_scan *scan, const char *text)
{
    const size_t n = strlen(text);

    if ((size_t)(scan->end - scan->at) < n || memcmp(scan->at, text, n) != 0)
        return false;
    scan->at += n;
    return true;
}

/* Without 0x it would be anybody's guess whether 100 is decimal. */
static bool scan_address(struct psnap_scan *scan, uint64_t *address)
{
    return scan->at[0] == '0' && (scan->at[1] == 'x' || scan->at[1] == 'X') &&
           psnap_scan_hex(scan, address);
}

static bool scan_kind(struct psnap_scan *scan, enum psnap_access_kind *kind)
{
    for (int i = PSNAP_LOAD; i <= PSNAP_ATOMIC; i++)
        if (scan_text(scan, kind_names[i])) {
            *kind = (enum psnap_access_kind)i;
            return true;
        }
    return false;
}

/* Adds references up to number `ref`; one that no access names yet counts as a load. */
static enum psnap_status need_ref(struct psnap_program *program, uint32_t ref,
                                  enum psnap_access_kind kind, struct psnap_error *error)
{
    while (program->ref_count <= ref) {
        const struct psnap_ref row = {.kind =
                                          program->ref_count == ref ? (uint8_t)kind : PSNAP_LOAD};
        if (psnap_program_add_ref(program, &row) == PSNAP_NONE)
            return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    }
    return PSNAP_OK;
}

static enum psnap_status csv_line(struct psnap_foreign *trace, struct psnap_scan *scan,
                                  struct psnap_access *out, size_t *n, struct psnap_error *error)
{
    struct csv_trace *csv = (struct csv_trace *)trace;
    uint64_t address, size, thread = 0, ref = 0;
    enum psnap_access_kind kind = PSNAP_LOAD;
    enum psnap_status status;

    if (psnap_scan_done(scan))
        return PSNAP_OK;
    if (!csv->has_heading) {
        if (!scan_text(scan, HEADING) || !psnap_scan_done(scan))
            return psnap_scan_expected("the heading '" HEADING "'", error);
        csv->has_heading = true;
        return PSNAP_OK;
    }
    if (!scan_address(scan, &address) || !scan_comma(scan))
        return psnap_scan_expected("an address in hexadecimal with 0x and a comma", error);
    if (!psnap_scan_decimal(scan, &size) || !scan_comma(scan))
        return psnap_scan_expected("a decimal size and a comma", error);
    if (!scan_kind(scan, &kind) || !scan_comma(scan))
        return psnap_scan_expected("load, store or atomic and a comma", error);
    if (!psnap_scan_decimal(scan, &thread) || thread > UINT16_MAX || !scan_comma(scan))
        return psnap_scan_expected("a thread from 0 to 65535 and a comma", error);
    if (!psnap_scan_decimal(scan, &ref) || ref >= REFS_MAX)
        return psnap_scan_expected("a reference from 0 to 1048575", error);
    if (!psnap_scan_done(scan))
        return psnap_scan_expected("the end of the line", error);
    status = need_ref(trace->trace.base.program, (uint32_t)ref, kind, error);
    if (status == PSNAP_OK)
        status = psnap_access_add(address, size, kind, (uint32_t)ref, out, n, error);
    for (size_t i = 0; i < *n; i++)
        out[i].thread = (uint16_t)thread;
    return status;
}

static int csv_bid(const unsigned char *start, size_t n, bool whole)
{
    struct psnap_scan scan;
    size_t at = 0;

    return psnap_text_bid_line(start, n, whole, &at, &scan) && scan_text(&scan, HEADING) &&
                   psnap_scan_done(&scan)
               ? 80
               : 0;
}

static char *csv_heading(char *to)
{
    return psnap_text_put(to, HEADING "\n");
}

static char *csv_access(struct psnap_trace_sink *sink, char *to, const struct psnap_access *access,
                        struct psnap_error *error)
{
    (void)sink, (void)error;
    *to++ = '0';
    *to++ = 'x';
    to = psnap_text_put_hex(to, access->address, 1);
    *to++ = ',';
    to = psnap_text_put_decimal(to, access->size);
    *to++ = ',';
    to = psnap_text_put(to, kind_names[access->kind]);
    *to++ = ',';
    to = psnap_text_put_decimal(to, access->thread);
    *to++ = ',';
    to = psnap_text_put_decimal(to, access->ref);
    *to++ = '\n';
    return to;
}

const struct psnap_format psnap_format_csv = {
    .name = "csv",
    .summary = "comma-separated values with a heading",
    .loses = "program (loops, blocks, objects, executions)",
    .readable = true,
    .writable = true,
    .is_text = true,
    .ops =
        &(const struct psnap_format_ops){
            .bid = csv_bid,
            .trace_bytes = sizeof(struct csv_trace),
            .line = csv_line,
            .heading = csv_heading,
            .access = csv_access,
            .hex_at = 2,
        },
};
