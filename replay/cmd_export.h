/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a stream gets out, whatever command sends it: a format's writer, and before it a machine's
 * caches where the format feeds a simulator of memory, or where a machine is named. Part of the
 * program, not of the library.
 */
#ifndef PSNAP_CMD_EXPORT_H
#define PSNAP_CMD_EXPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "formats/base/stream.h"
#include "formats/formats.h"
#include "simcore/simcore.h"

#define PSNAP_EXPORT_MACHINE "i7-5960x" /* for simulators of memory, unless said */

/* What a command line says about the way out. */
struct psnap_export_wish {
    const char *machine, *layout; /* NULL: not said */
    uint64_t base;                /* 0: not said */
};

#define PSNAP_EXPORT_OPTIONS(wish)                                                                 \
    {PSNAP_OPTION_ONCE, 'm',                                                                       \
     "machine",         &(wish).machine,                                                           \
     "MACHINE",         "send what misses its caches and its write-backs; 'none': all accesses"},  \
        {PSNAP_OPTION_ONCE, 0,                                                                     \
         "layout",          &(wish).layout,                                                        \
         "LAYOUT",          "compact: addresses of a memory of a few GiB; program: its own"},      \
        {PSNAP_OPTION_SIZE, 0, "base", &(wish).base, "ADDRESS", "of the compact layout; 0"}

struct psnap_export {
    const char *command, *format;
    bool is_default;              /* nobody named a machine, */
    bool is_filtered;             /* and there is one */
    struct psnap_machine machine; /* where it is filtered */
    struct psnap_memory_side side;
    bool is_compact, is_by_page;
    struct psnap_compact compact;
    uint64_t left_out; /* accesses that the format had no place for, when it is closed */
    struct psnap_compressor *compressor;
    struct psnap_sink *writer, *placed, *sink; /* the sink is what the stream goes into */
};

/* Finds the machine and the layout of a wish, and checks the format and where it is to go, before
 * any work. */
enum psnap_status psnap_export_init(struct psnap_export *export, const char *command,
                                    const char *format, const char *path,
                                    const struct psnap_export_wish *wish,
                                    struct psnap_error *error);

/* Opens the sink, or frees what there is of it; `program` is the stream's, `compression` what
 * psnap_compression_of_path says. */
enum psnap_status psnap_export_open(struct psnap_export *export, const char *compression,
                                    FILE *file, struct psnap_program *program,
                                    struct psnap_error *error);
/* Frees the sink; after a `status` of PSNAP_OK what is compressed is written to its end. Returns
 * the status then. */
enum psnap_status psnap_export_close(struct psnap_export *export, enum psnap_status status,
                                     struct psnap_error *error);

/* Says on stderr what the stream went through, and what the format does not keep. */
void psnap_export_report(const struct psnap_export *export);

#endif
