/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A source of other people's formats, which lines of text or records of a fixed size have in
 * common: a format says in its psnap_format_ops how a line, or records, are read. Private to
 * formats/.
 */
#ifndef PSNAP_FORMATS_FOREIGN_H
#define PSNAP_FORMATS_FOREIGN_H

#include "formats/base/access.h"
#include "formats/base/map.h"
#include "formats/base/program.h"
#include "formats/record_numbers.h"
#include "formats/trace.h"

#define PSNAP_FOREIGN_SIZE_MAX 4096u /* bytes of an access as such a trace has it */
/* Accesses that a record can turn into, split, and those of a line: a load and a store. */
#define PSNAP_RECORD_ACCESSES (PSNAP_FOREIGN_SIZE_MAX / PSNAP_ACCESS_SIZE_MAX)
#define PSNAP_LINE_ACCESSES (2 * PSNAP_RECORD_ACCESSES)

/*
 * References of formats that know instructions by their program counters alone: each counter, kind
 * and size is one, in the order in which they come, behind the anonymous ones (0 loads, 1 stores).
 */
struct pc_ref {
    uint32_t next, ref; /* the next one of the counter, and 1; 0: there is none */
    uint16_t size;
    uint8_t kind;
};

struct pc_refs {
    struct psnap_map latest; /* of each counter, and 1 */
    struct pc_ref *all;
    size_t count, room;
};

/* Written, a reference has the counter of an instruction of four bytes, from 0x400000 on. */
static inline uint64_t pc_refs_counter(uint32_t ref)
{
    return UINT64_C(0x400000) + UINT64_C(4) * ref;
}

/* A new one of such accesses, for pc_refs_find. */
uint32_t pc_refs_add(struct pc_refs *refs, struct psnap_program *program, uint64_t pc,
                     enum psnap_access_kind kind, uint64_t size);

/* The reference of such accesses, made if need be; the anonymous one after 2^20 of them, and of
 * sizes that are split. PSNAP_NONE: out of memory. */
static inline uint32_t pc_refs_find(struct pc_refs *refs, struct psnap_program *program,
                                    uint64_t pc, enum psnap_access_kind kind, uint64_t size)
{
    for (uint64_t i = psnap_map_get(&refs->latest, pc); i; i = refs->all[i - 1].next)
        if (refs->all[i - 1].size == size && refs->all[i - 1].kind == kind)
            return refs->all[i - 1].ref;
    return pc_refs_add(refs, program, pc, kind, size);
}

/* The first member of a format's own struct, if it needs one. */
struct psnap_foreign {
    struct psnap_trace trace;
    struct pc_refs refs;
    uint64_t pc;       /* of the instruction that makes the next access, */
    bool has_pc;       /* if that is known */
    uint64_t src_line; /* of the line of text that was read last */
    size_t wanted;     /* bytes that `records` needs to come further, if more than record_bytes */
    bool has_ended;
    enum psnap_status failed; /* an error that waits until what came before it is delivered: */
    struct psnap_error error;
    struct psnap_access pending[PSNAP_LINE_ACCESSES]; /* what did not fit into a block */
    size_t pending_at, pending_end;
};

/* Counts an omission of the i-th sort of the format's `omits`. `trace` may be NULL. */
static inline void psnap_foreign_omit(struct psnap_foreign *trace, size_t i)
{
    if (trace)
        trace->trace.omitted[i]++;
}

/* Records to be read, and what they turn into. */
struct psnap_records {
    const unsigned char *records;
    size_t count, used;
    struct psnap_access *out;
    size_t room, made;
};

/* psnap_format_ops.open: a trace whose program is an anonymous one (refs 0 and 1), of a loop that
 * is called as the format. */
struct psnap_trace *psnap_foreign_open(const struct psnap_format *format,
                                       struct psnap_reader *reader, struct psnap_error *error);

/* `records` for records of `bytes` bytes that turn into at most `most` accesses, for the compiler
 * to put `one` into the loop, which appends the accesses of a record to out[*n...). */
static inline __attribute__((always_inline)) enum psnap_status psnap_records_each(
    struct psnap_foreign *trace, struct psnap_records *work, struct psnap_error *error,
    size_t bytes, size_t most,
    enum psnap_status (*one)(struct psnap_foreign *trace, const unsigned char *record,
                             struct psnap_access *out, size_t *n, struct psnap_error *error))
{
    enum psnap_status status = PSNAP_OK;
    size_t used = 0, made = 0;

    while (used < work->count && work->room - made >= most) {
        status = one(trace, work->records + used * bytes, work->out, &made, error);
        if (__builtin_expect(status != PSNAP_OK, 0))
            break;
        used++;
    }
    work->used = used;
    work->made = made;
    return status;
}

/*
 * Appends the access of `size` bytes, in pieces of at most 64, to out[*n...). Fails when it is
 * empty, larger than PSNAP_FOREIGN_SIZE_MAX or reaches beyond the end of the address space.
 */
enum psnap_status psnap_access_split(uint64_t address, uint64_t size, enum psnap_access_kind kind,
                                     uint32_t ref, struct psnap_access *out, size_t *n,
                                     struct psnap_error *error);

/* The same, in line for one that is not split. */
static inline enum psnap_status psnap_access_add(uint64_t address, uint64_t size,
                                                 enum psnap_access_kind kind, uint32_t ref,
                                                 struct psnap_access *out, size_t *n,
                                                 struct psnap_error *error)
{
    if (size - 1 >= PSNAP_ACCESS_SIZE_MAX || address + (size - 1) < address)
        return psnap_access_split(address, size, kind, ref, out, n, error);
    out[(*n)++] = (struct psnap_access){address, ref, (uint8_t)size, (uint8_t)kind, 0};
    return PSNAP_OK;
}

/* The same for an access of the instruction at trace->pc, or of an unknown one. */
static inline enum psnap_status psnap_foreign_add(struct psnap_foreign *trace, uint64_t address,
                                                  uint64_t size, enum psnap_access_kind kind,
                                                  struct psnap_access *out, size_t *n,
                                                  struct psnap_error *error)
{
    const uint32_t ref =
        trace->has_pc ? pc_refs_find(&trace->refs, trace->trace.base.program, trace->pc, kind, size)
                      : kind != PSNAP_LOAD;

    if (ref == PSNAP_NONE)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    return psnap_access_add(address, size, kind, ref, out, n, error);
}

#endif
