/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ChampSim's trace (input_instr in its trace_instruction.h): 64 bytes for each instruction, lowest
 * bytes first,
 *
 *     0  u64 program counter     12  u8  source registers [4]
 *     8  u8  is a branch         16  u64 destination memory [2]
 *     9  u8  it was taken        32  u64 source memory [4]
 *    10  u8  destination registers [2]
 *
 * where an address of 0 is none. There are no sizes: read, an access is of one byte, in the line of
 * its address, loads before stores. Written, each access is an instruction of its own, whose
 * program counter is made of the reference's number, without registers: for ChampSim no load waits
 * for another one. Nothing in such a file says what it is: --from champsim does.
 */
#include <string.h>

#include "formats/foreign.h"
#include "formats/trace_sink.h"

enum { RECORD = 64, STORES = 2, LOADS = 4, STORES_AT = 16, LOADS_AT = 32 };

/* On failure nothing is added. */
static inline enum psnap_status champsim_one(struct psnap_foreign *trace,
                                             const unsigned char *record, struct psnap_access *out,
                                             size_t *n, struct psnap_error *error)
{
    enum psnap_status status = PSNAP_OK;
    size_t made = *n;

    if (record[8] > 1 || record[9] > 1)
        return psnap_error_set(
            error, PSNAP_ERROR_SYNTAX,
            "this is no record of ChampSim: whether it is a branch, and taken, is "
            "0 or 1, not %d and %d",
            record[8], record[9]);
    trace->pc = psnap_record_u64(record);
    trace->has_pc = true;
    for (size_t i = 0; i < LOADS && !status; i++) {
        const uint64_t address = psnap_record_u64(record + LOADS_AT + 8 * i);
        if (address)
            status = psnap_foreign_add(trace, address, 1, PSNAP_LOAD, out, &made, error);
    }
    for (size_t i = 0; i < STORES && !status; i++) {
        const uint64_t address = psnap_record_u64(record + STORES_AT + 8 * i);
        if (address)
            status = psnap_foreign_add(trace, address, 1, PSNAP_STORE, out, &made, error);
    }
    if (!status)
        *n = made;
    return status;
}

static enum psnap_status champsim_records(struct psnap_foreign *trace, struct psnap_records *work,
                                          struct psnap_error *error)
{
    return psnap_records_each(trace, work, error, RECORD, LOADS + STORES, champsim_one);
}

static char *champsim_access(struct psnap_trace_sink *sink, char *to,
                             const struct psnap_access *access, struct psnap_error *error)
{
    (void)sink, (void)error;
    memset(to, 0, RECORD);
    psnap_record_put_u64(to, pc_refs_counter(access->ref));
    psnap_record_put_u64(to + (access->kind == PSNAP_LOAD ? LOADS_AT : STORES_AT), access->address);
    return to + RECORD;
}

const struct psnap_format psnap_format_champsim = {
    .name = "champsim",
    .summary = "ChampSim's instructions (input_instr)",
    .loses = "size, atomic, thread, program, an access to address 0",
    .readable = true,
    .writable = true,
    .ops =
        &(const struct psnap_format_ops){
            .record_bytes = RECORD,
            .records = champsim_records,
            .access = champsim_access,
        },
};
