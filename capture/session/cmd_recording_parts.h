/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the parts of a recording know of each other: private to cmd_recording*.c.
 */
#ifndef PSNAP_CAPTURE_SESSION_CMD_RECORDING_PARTS_H
#define PSNAP_CAPTURE_SESSION_CMD_RECORDING_PARTS_H

#include "capture/session/cmd_recording.h"
#include "formats/base/stream.h"

/* ---- outputs (cmd_recording_outputs.c) ---- */

/* Makes one of the recording's two files appear, where its name is taken by now under a spare one,
 * which is said and is the recording's from then on; *output is NULL afterwards in any case. */
enum psnap_status psnap_recording_commit(struct psnap_recording *recording,
                                         struct psnap_output **output, struct psnap_error *error);

/* ---- sinks (cmd_recording_sinks.c) ---- */

enum { PSNAP_RECORDING_SINKS = 3 }; /* builder, certifier, trace */

/*
 * The trace beside a profile: when it cannot be written any more the profile goes on. The first
 * error is kept, and what comes after it is dropped.
 */
struct psnap_trace_sink {
    struct psnap_sink base;
    struct psnap_sink *writer; /* not owned */
    enum psnap_status status;
    struct psnap_error error;
};

/* Not to be copied: `all` may point into it. */
struct psnap_recording_sinks {
    struct psnap_sink *builder, *certifier, *writer; /* owned; each may be NULL */
    struct psnap_trace_sink trace;
    struct psnap_sink *all[PSNAP_RECORDING_SINKS]; /* that the stream goes into */
    size_t count;
};

/* The sinks for the outputs that are open; to be freed also where that fails. */
enum psnap_status psnap_recording_sinks_open(struct psnap_recording_sinks *sinks,
                                             struct psnap_recording *recording,
                                             struct psnap_program *program,
                                             struct psnap_error *error);

/* Where one file cannot be written the other is there all the same; when none can be, the error is
 * the profile's, and the trace's is said. */
enum psnap_status psnap_recording_sinks_write(struct psnap_recording_sinks *sinks,
                                              struct psnap_recording *recording,
                                              struct psnap_error *error);

void psnap_recording_sinks_free(struct psnap_recording_sinks *sinks);

/* ---- reports (cmd_recording_report.c) ---- */

/* What of the source's regions is known. */
struct psnap_roi_report psnap_recording_roi(const struct psnap_recording *recording,
                                            const struct psnap_source *capture);

#endif
