/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How far long work is, on a terminal: a source that passes another's stream
 * on and now and then says so on stderr. Part of the program, not of the
 * library.
 */
#ifndef PSNAP_CMD_PROGRESS_H
#define PSNAP_CMD_PROGRESS_H

#include <stdint.h>

#include "formats/base/stream.h"

/* The fewest accesses of a stream whose length is shown at once, and which comes in parts, so that
 * its progress can be shown (psnap_limit_source_new). */
#define PSNAP_PROGRESS_LONG (UINT64_C(1) << 28)

/*
 * `total` is the number of accesses that will come, 0 when unknown; then the
 * position in the file open as `fd` tells how far it is (-1: nothing does, and
 * the count alone is shown). Owns `inner` and shares its program. Returns
 * `inner` itself when stderr is no terminal and --verbose does not want times, or memory is out.
 */
struct psnap_source *psnap_progress_source_new(struct psnap_source *inner, uint64_t total, int fd);

/* The progress of work that is no stream. NULL when stderr is no terminal; the functions below take
 * NULL and do nothing. */
struct psnap_progress;
struct psnap_progress *psnap_progress_new(uint64_t total, int fd);
/* Of so many things, each of which takes its time: "profiles". */
struct psnap_progress *psnap_progress_of(uint64_t total, const char *things);
void psnap_progress_add(struct psnap_progress *progress, uint64_t count);
/* Of work that itself knows which share of it is done, 0 to 1, and says what it is at: "round 3".
 * `progress` is of total 0. */
void psnap_progress_share(struct psnap_progress *progress, double share, const char *format, ...)
    PSNAP_PRINTF(3, 4);
void psnap_progress_erase(struct psnap_progress *progress);
void psnap_progress_free(struct psnap_progress *progress);

#endif
