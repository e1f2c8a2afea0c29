/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What `psnap record` and `psnap collect` share: where a recording goes, and
 * how a captured stream gets there.
 */
#ifndef PSNAP_CAPTURE_SESSION_CMD_RECORDING_H
#define PSNAP_CAPTURE_SESSION_CMD_RECORDING_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/capture.h"
#include "capture/session/cmd_process.h"
#include "capture/collect/sampling.h"
#include "formats/base/cmd.h"
#include "formats/base/output.h"
#include "formats/formats.h"
#include "profile/profile.h"

#define PSNAP_EXIT_LOST 125 /* psnap failed or lost data, as in env(1) */

struct psnap_recording {
    const char *command; /* "record", for messages */
    const char *program; /* path of its file; NULL: not known */
    const char *profile; /* path, NULL for the default name; may have parts like %p */
    const char *trace;   /* path, NULL for none */
    bool no_profile, force;
    bool is_late;      /* names depend on the process */
    bool is_further;   /* of a process that is not the first */
    bool is_refused;   /* a process could not be recorded, which will be said */
    bool takes_stdout; /* one of the two goes there: the program's own output must not */
    bool is_foreign;   /* the source is no session of ours: what it delivers is all there is */
    pid_t spare;       /* not 0: where a name is taken, this with a dot goes behind it */
    const char *model; /* NULL for the default */
    struct psnap_builder_options builder;   /* of the profile; prepare sets the model there */
    bool certifies;                         /* the profile gets a certificate, with: */
    const struct psnap_text_list *machines; /* by name, or the ten structures if it is empty */
    bool is_uncertified;                    /* it could not be made, which was said */
    bool is_verbose; /* standard error is a terminal, or --verbose: what was recorded is said */
    const char *unwritten; /* "profile", "trace" or "file" when that could not be opened (file: none
                              could), which was said; NULL: nothing */
    struct psnap_trace_limit trace_limit;
    const char *roi;                /* as PSNAP_ENV_ROI; NULL: as the program's marks say */
    struct psnap_sampling sampling; /* what is wanted of the stream; without regions */
    struct psnap_output *profile_output, *trace_output;
    const struct psnap_format *trace_format;      /* as the trace's name says */
    char default_profile[4096], trace_name[4096]; /* room for names */
    uint64_t accesses;                            /* counted while recording */
    uint64_t trace_left_out; /* of these, that the trace's format had no place for */
};

/* Checks the options and settles names; `program` names the default profile. */
enum psnap_status psnap_recording_prepare(struct psnap_recording *recording, const char *program,
                                          struct psnap_error *error);

/* Opens the outputs, before the program starts, under names that are final. One that cannot be
 * written costs the program nothing: that is said, and the other is recorded without it. An error
 * is a file that exists already, and, where the program has not been started yet, that there is no
 * output at all; a program that runs has its accesses counted then. */
enum psnap_status psnap_recording_open(struct psnap_recording *recording,
                                       struct psnap_error *error);

/* Moves the stream to its end into profile and trace, and makes the files appear. */
enum psnap_status psnap_recording_run(struct psnap_recording *recording,
                                      struct psnap_source *capture, struct psnap_error *error);

/* Drops outputs that have not appeared; a trace that could not be written whole keeps its partial
 * name, which is said. */
void psnap_recording_release(struct psnap_recording *recording);

/* The regions of interest that the source has. */
struct psnap_roi_report psnap_recording_roi(const struct psnap_recording *recording,
                                            const struct psnap_source *capture);

/* Says on stderr what is missing from the recording; true when something is. */
bool psnap_recording_complain(const struct psnap_recording *recording,
                              const struct psnap_source *capture);

/* The same for a recording by Valgrind. */
bool psnap_recording_complain_foreign(const struct psnap_recording *recording,
                                      const struct psnap_source *capture);

/* Says how many accesses there are, and in which files; `pid`: of which process, 0 of the first. */
void psnap_recording_summarise(const struct psnap_recording *recording, pid_t pid);

/* No instrumented module was announced; says why that may be. */
void psnap_recording_say_not_instrumented(const struct psnap_recording *recording);

/* Name, command line, rank, host, time and build id; `path` is the program's file. */
enum psnap_status psnap_recording_describe(struct psnap_program *program,
                                           const struct psnap_process *process, const char *path,
                                           struct psnap_error *error);

#endif
