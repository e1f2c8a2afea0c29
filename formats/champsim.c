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
#include <stdlib.h>
#include <string.h>

#include "formats/pc_refs.h"
#include "formats/record_sink.h"
#include "formats/record_trace.h"

enum { RECORD = 64, STORES = 2, LOADS = 4, STORES_AT = 16, LOADS_AT = 32 };

struct champsim {
    struct psnap_record_trace records;
    struct pc_refs refs;
};

static inline enum psnap_status add(struct champsim *trace, uint64_t pc, uint64_t address,
                                    enum psnap_access_kind kind, struct psnap_access *out,
                                    size_t *n, struct psnap_error *error)
{
    const uint32_t ref = pc_refs_find(&trace->refs, trace->records.trace.base.program, pc, kind, 1);

    if (ref == PSNAP_NONE)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    out[(*n)++] =
        (struct psnap_access){.address = address, .ref = ref, .size = 1, .kind = (uint8_t)kind};
    return PSNAP_OK;
}

/* On failure nothing is added. */
static inline enum psnap_status champsim_one(struct psnap_record_trace *records,
                                             const unsigned char *record, struct psnap_access *out,
                                             size_t *n, struct psnap_error *error)
{
    struct champsim *trace = (struct champsim *)records;
    const uint64_t pc = psnap_record_u64(record);
    enum psnap_status status = PSNAP_OK;
    size_t made = *n;

    if (record[8] > 1 || record[9] > 1)
        return psnap_error_set(
            error, PSNAP_ERROR_SYNTAX,
            "this is no record of ChampSim: whether it is a branch, and taken, is "
            "0 or 1, not %d and %d",
            record[8], record[9]);
    for (size_t i = 0; i < LOADS && !status; i++) {
        const uint64_t address = psnap_record_u64(record + LOADS_AT + 8 * i);
        if (address)
            status = add(trace, pc, address, PSNAP_LOAD, out, &made, error);
    }
    for (size_t i = 0; i < STORES && !status; i++) {
        const uint64_t address = psnap_record_u64(record + STORES_AT + 8 * i);
        if (address)
            status = add(trace, pc, address, PSNAP_STORE, out, &made, error);
    }
    if (!status)
        *n = made;
    return status;
}

static size_t champsim_records(struct psnap_record_trace *trace, const unsigned char *records,
                               size_t count, struct psnap_access *out, size_t room, size_t *n,
                               enum psnap_status *status, struct psnap_error *error)
{
    return psnap_record_each(trace, records, count, out, room, n, status, error, RECORD,
                             LOADS + STORES, champsim_one);
}

static int champsim_bid(const unsigned char *start, size_t n, bool whole)
{
    (void)start;
    (void)n;
    (void)whole;
    return 0;
}

static void champsim_release(struct psnap_record_trace *records)
{
    pc_refs_release(&((struct champsim *)records)->refs);
}

static struct psnap_trace *champsim_open(struct psnap_reader *reader, struct psnap_error *error)
{
    struct champsim *trace = calloc(1, sizeof *trace);

    if (trace) {
        trace->records.record_bytes = RECORD;
        trace->records.accesses_max = LOADS + STORES;
        trace->records.records = champsim_records;
        trace->records.release = champsim_release;
    }
    if (trace && !pc_refs_init(&trace->refs)) {
        free(trace);
        trace = NULL;
    }
    return psnap_record_trace_open(trace ? &trace->records : NULL, reader, "champsim", error);
}

static enum psnap_status champsim_access(struct psnap_record_sink *sink,
                                         const struct psnap_access *access, unsigned char **to,
                                         struct psnap_error *error)
{
    unsigned char *record = *to;

    (void)sink;
    (void)error;
    memset(record, 0, RECORD);
    psnap_record_put_u64(record, pc_refs_counter(access->ref));
    psnap_record_put_u64(record + (access->kind == PSNAP_LOAD ? LOADS_AT : STORES_AT),
                         access->address);
    *to += RECORD;
    return PSNAP_OK;
}

static struct psnap_sink *champsim_create(FILE *file, struct psnap_program *program,
                                          struct psnap_error *error)
{
    struct psnap_record_sink *sink = calloc(1, sizeof *sink);

    (void)program;
    if (sink)
        sink->access = champsim_access;
    return psnap_record_sink_new(sink, file, NULL, 0, error);
}

static const struct psnap_format_ops champsim_ops = {champsim_bid, champsim_open, NULL,
                                                     champsim_create};

const struct psnap_format psnap_format_champsim = {
    .name = "champsim",
    .summary = "ChampSim's instructions (input_instr)",
    .description = "64 bytes for each instruction: program counter, branch, registers, up to two\n"
                   "addresses that are stored to and four that are loaded from. There are no\n"
                   "sizes: read, an access is of one byte, in the line of its address, and every\n"
                   "counter's loads and stores become references. Written, each access is an\n"
                   "instruction without registers: ChampSim takes all loads for independent. An\n"
                   "access to address 0 is none for it. It is not recognised by its first bytes:\n"
                   "say --from champsim; CloudSuite's records of 96 bytes are not read. ChampSim\n"
                   "wants such files compressed: -o NAME.champsim.xz does that, and .xz, .gz and\n"
                   ".zst are read. An atomic is written as a store.\n\n"
                   "    bytes  0 program counter   8 is branch, taken   10 destination registers\n"
                   "          12 source registers 16 stores, 2 u64      32 loads, 4 u64\n\n"
                   "    08 00 40 00 00 00 00 00  00 00 00 00 00 00 00 00  instruction at 0x400008\n"
                   "    40 10 60 00 00 00 00 00  ...                      stores to 0x601040\n",
    .loses = "size, atomic, thread, program, an access to address 0",
    .readable = true,
    .writable = true,
    .is_text = false,
    .ops = &champsim_ops,
};
