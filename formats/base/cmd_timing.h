/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the time of a command goes, for --verbose. Part of the program, not of the library.
 */
#ifndef PSNAP_BASE_CMD_TIMING_H
#define PSNAP_BASE_CMD_TIMING_H

#include <stdbool.h>
#include <stdint.h>

/* What a stream took, in seconds since the program began; the owner of the stream fills it. */
struct psnap_stream_time {
    double begin, end; /* of the first access, and behind the last one */
    double seconds;    /* of these in the source */
    uint64_t accesses;
};

/* The program begins; called once, by main. */
void psnap_timing_begin(void);

/* From now on times are wanted; the option --verbose says so. */
void psnap_timing_want(void);
bool psnap_timing_is_wanted(void);

/* Seconds since the program began. */
double psnap_timing_now(void);

/* Room for another stream, NULL: times are not wanted, or there were very many. */
struct psnap_stream_time *psnap_timing_stream(void);

/* The command has failed: times of no stream are nothing to know then. */
void psnap_timing_fail(void);

/* Prints the times to stderr, if they are wanted. */
void psnap_timing_report(void);

#endif
