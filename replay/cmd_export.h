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
#include "simcore/simcore.h"

#define PSNAP_EXPORT_MACHINE "i7-5960x" /* for simulators of memory, unless said */
#define PSNAP_EXPORT_HELP "send what misses its caches and its write-backs; 'none': all accesses"

struct psnap_export {
    const char *command, *format;
    bool is_default;              /* nobody named a machine, */
    bool is_filtered;             /* and there is one */
    struct psnap_machine machine; /* where it is filtered */
    struct psnap_memory_side side;
    uint64_t left_out; /* accesses that the format had no place for, when it is closed */
    struct psnap_sink *writer, *sink; /* the sink is what the stream goes into */
};

/* Finds the machine that `machine` names, NULL when nobody named one, and checks the format, before
 * any work. */
enum psnap_status psnap_export_init(struct psnap_export *export, const char *command,
                                    const char *format, const char *machine,
                                    struct psnap_error *error);

/* Opens the sink; `program` is the stream's, `compression` what psnap_compression_of_path says. */
enum psnap_status psnap_export_open(struct psnap_export *export, const char *compression,
                                    FILE *file, struct psnap_program *program,
                                    struct psnap_error *error);
void psnap_export_close(struct psnap_export *export);

/* Says on stderr what the stream went through, and what the format does not keep. */
void psnap_export_report(const struct psnap_export *export);

#endif
