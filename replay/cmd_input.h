/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * INPUT of the command line: a trace in any readable format, a profile (then
 * replayed on the fly) or "-" (standard input, either of them). Part of the
 * program, not of the library.
 */
#ifndef PSNAP_CMD_INPUT_H
#define PSNAP_CMD_INPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "formats/base/status.h"
#include "formats/base/stream.h"

struct psnap_profile;

struct psnap_input_options {
    const char *from; /* format's name, NULL: recognise; "profile" for a profile */
    uint64_t seed;    /* of a replay */
    uint64_t skip;    /* accesses to leave out at the start */
    uint64_t count;   /* accesses to deliver at most, UINT64_MAX: all */
    const char
        *interleave;  /* "round-robin": threads in turn, in psnap_turns_pass; NULL: as it is */
    bool is_again;    /* it was read before: that it was cut off has been said */
    bool is_lane;     /* one of several readers of it: others show the progress */
    bool *is_profile; /* gets whether it is one, which is replayed; may be NULL */
    struct psnap_profile **kept; /* gets the profile, which the caller frees; may be NULL */
};

#define PSNAP_INPUT_DEFAULTS                                                                       \
    {.from = NULL,                                                                                 \
     .seed = 0,                                                                                    \
     .skip = 0,                                                                                    \
     .count = UINT64_MAX,                                                                          \
     .is_again = false,                                                                            \
     .is_lane = false,                                                                             \
     .is_profile = NULL,                                                                           \
     .kept = NULL}

/* Rows of a table of options: which part of an input a command reads, and how. */
#define PSNAP_INPUT_OPTIONS(input)                                                                 \
    {PSNAP_OPTION_TEXT, 0, "from", &(input).from, "FORMAT", "the input's format (recognised)"},    \
        {PSNAP_OPTION_U64, 0, "seed", &(input).seed, "N", "of a profile's replay (0)"},            \
        {PSNAP_OPTION_COUNT, 0, "skip", &(input).skip, "N", "leave out the first N accesses"},     \
        {PSNAP_OPTION_COUNT, 0, "count", &(input).count, "N", "stop after N accesses"}

/* Opens an input for reading, "-" as stdin; a directory is an error. NULL with `error` filled. */
FILE *psnap_input_file(const char *path, struct psnap_error *error);

/* Whether an open input begins as a profile does, and no trace; what was read is put back. */
bool psnap_input_is_profile(FILE *file);

/* Whether what is at `path` may be a profile; false with `error` filled: it is a trace, or no text.
 * Only regular files are looked at. */
bool psnap_input_may_be_profile(const char *path, struct psnap_error *error);

/* The profile at `path` ("-" is standard input); a trace there is an error that says what to do.
 * NULL on failure, with `error` filled. The caller frees it. */
struct psnap_profile *psnap_input_read_profile(const char *path, struct psnap_error *error);

/* `options` NULL means PSNAP_INPUT_DEFAULTS. A .pst that was cut off ends with its last whole
 * chunk, and with a warning on stderr; what a trace has that is no access is counted there. NULL on
 * failure, with `error` filled. */
struct psnap_source *psnap_input_open(const char *path, const struct psnap_input_options *options,
                                      struct psnap_error *error);

/* Says on stderr what has been left out of a trace (psnap_trace_open), which is called so. */
void psnap_input_say_omitted(const struct psnap_source *trace, const char *name);

/* A stream is written in the format that was asked for (may be NULL), or else the one that the
 * file's name ends in, or else pst. */
const char *psnap_output_format(const char *path, const char *asked);

/* Whether it is not binary output to a terminal, of which it would make a mess. */
bool psnap_output_spares_terminal(const char *path, const char *format);

#endif
