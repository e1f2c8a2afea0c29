/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Dinero IV's binary input (its binaryfmt.c): 8 bytes for each access, lowest bytes first,
 *
 *     0  u32 address     4  u16 size     6  u8 type     7  u8 padding
 *
 * with the types of its d4.h: 0 read, 1 write, 2 instruction fetch, 3 miscellaneous (a read), 4
 * copy back, 5 invalidate. An access that reaches beyond 32 bits of address cannot be written.
 * Nothing in such a file says what it is: --from dinbin does.
 */
#include "formats/foreign.h"
#include "formats/trace_sink.h"

enum { RECORD = 8, SIZE_AT = 4, TYPE_AT = 6, PADDING_AT = 7 };
enum { READ, WRITE, FETCH, MISCELLANEOUS, COPY_BACK, INVALIDATE };

static inline enum psnap_status dinbin_one(struct psnap_foreign *trace, const unsigned char *record,
                                           struct psnap_access *out, size_t *n,
                                           struct psnap_error *error)
{
    const uint64_t address = psnap_record_u32(record);
    const uint32_t size = psnap_record_u16(record + SIZE_AT);
    const unsigned type = record[TYPE_AT];
    const enum psnap_access_kind kind = type == WRITE ? PSNAP_STORE : PSNAP_LOAD;

    if (type > INVALIDATE)
        return psnap_error_set(error, PSNAP_ERROR_SYNTAX,
                               "this is no record of Dinero: its type is 0 to 5, not %u", type);
    if (type == FETCH || type == COPY_BACK || type == INVALIDATE) {
        psnap_foreign_omit(trace, type != FETCH);
        return PSNAP_OK;
    }
    return psnap_access_add(address, size, kind, kind, out, n, error);
}

static enum psnap_status dinbin_records(struct psnap_foreign *trace, struct psnap_records *work,
                                        struct psnap_error *error)
{
    return psnap_records_each(trace, work, error, RECORD, PSNAP_RECORD_ACCESSES, dinbin_one);
}

static char *dinbin_access(struct psnap_trace_sink *sink, char *to,
                           const struct psnap_access *access, struct psnap_error *error)
{
    if (access->address > UINT32_MAX - (access->size - 1u))
        return psnap_trace_sink_refuse(sink, access, "dinbin has addresses of 32 bits", error);
    psnap_record_put_u32(to, (uint32_t)access->address);
    psnap_record_put_u16(to + SIZE_AT, access->size);
    to[TYPE_AT] = access->kind == PSNAP_LOAD ? READ : WRITE;
    to[PADDING_AT] = 0;
    return to + RECORD;
}

const struct psnap_format psnap_format_dinbin = {
    .name = "dinbin",
    .summary = "Dinero IV, binary (-informat b)",
    .loses = "addresses beyond 32 bits (an error), atomic, thread, reference, program",
    .readable = true,
    .writable = true,
    .is_physical = true,
    .ops =
        &(const struct psnap_format_ops){
            .record_bytes = RECORD,
            .records = dinbin_records,
            .omits = {"instruction fetches", "copies back and invalidations"},
            .access = dinbin_access,
        },
};
