/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The binary trace of SST's Prospero, written only: 21 bytes for each access without gaps, lowest
 * bytes first,
 *
 *     0  u64 cycle     8  'R' or 'W'     9  u64 address     17  u32 size
 *
 * A cycle is an access of the program: cycles never fall.
 */
#include <stdlib.h>

#include "formats/record_sink.h"
#include "formats/trace.h"

enum { ADDRESS_AT = 9, SIZE_AT = 17, RECORD = 21 };

struct prospero_bin {
    struct psnap_record_sink records;
    const uint64_t *clock; /* accesses of the program before; NULL: those written */
};

static enum psnap_status prospero_bin_access(struct psnap_record_sink *sink,
                                             const struct psnap_access *access, unsigned char **to,
                                             struct psnap_error *error)
{
    const struct prospero_bin *trace = (const struct prospero_bin *)sink;
    unsigned char *record = *to;

    (void)error;
    psnap_record_put_u64(record, trace->clock ? *trace->clock : sink->accesses);
    record[8] = access->kind == PSNAP_LOAD ? 'R' : 'W';
    psnap_record_put_u64(record + ADDRESS_AT, access->address);
    psnap_record_put_u32(record + SIZE_AT, access->size);
    *to += RECORD;
    return PSNAP_OK;
}

static struct psnap_sink *prospero_bin_create_timed(FILE *file, struct psnap_program *program,
                                                    const uint64_t *clock,
                                                    struct psnap_error *error)
{
    struct prospero_bin *trace = malloc(sizeof *trace);

    (void)program;
    if (trace) {
        trace->records.access = prospero_bin_access;
        trace->records.trailer = NULL;
        trace->records.release = NULL;
        trace->clock = clock;
    }
    return psnap_record_sink_new(trace ? &trace->records : NULL, file, NULL, 0, error);
}

static struct psnap_sink *prospero_bin_create(FILE *file, struct psnap_program *program,
                                              struct psnap_error *error)
{
    return prospero_bin_create_timed(file, program, NULL, error);
}

static const struct psnap_format_ops prospero_bin_ops = {.create = prospero_bin_create,
                                                         .create_timed = prospero_bin_create_timed};

const struct psnap_format psnap_format_prospero_bin = {
    .name = "prospero-bin",
    .summary = "SST's Prospero, binary",
    .description =
        "For SST 12 and later, prospero.prosperoCPU with\n"
        "prospero.ProsperoBinaryTraceReader; with -o NAME.prospero-bin.gz for\n"
        "prospero.ProsperoCompressedBinaryTraceReader. 21 bytes for each access, lowest\n"
        "bytes first. Prospero stands for a processor, with SST's caches behind it: it\n"
        "gets all accesses (-m MACHINE: what misses that machine's caches). A cycle is\n"
        "an access of the program, for its time is not known.\n\n"
        "    bytes  0 u64 cycle   8 'R' or 'W'   9 u64 address   17 u32 size\n"
        "    00 00 00 00 00 00 00 00 52 00 00 00 00 00 20 00 00 08 00 00 00\n",
    .loses = "atomic, thread, ref, program",
    .writable = true,
    .ops = &prospero_bin_ops,
};
