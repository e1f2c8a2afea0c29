/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The stream of a thread so far, as it came: for a lane that has not collected reuse times, in case
 * they are wanted after all. A nest that came before takes a word. The tape is full when there is
 * no room for more, or when it has too few accesses for its length: only loop nests are worth it.
 */
#ifndef PSNAP_PROFILE_TAPE_H
#define PSNAP_PROFILE_TAPE_H

#include "profile/collect/lane.h"

struct tape;

struct tape *tape_new(void);       /* NULL: out of memory */
void tape_free(struct tape *tape); /* NULL is legal */

/* Keeps what comes next; false: the tape is full, or there is no memory, and it is as it was. */
bool tape_keep(struct tape *tape, const struct psnap_access *block, size_t n);
bool tape_keep_nest(struct tape *tape, const struct psnap_nest *nest);

/* Puts all of it into a lane; false: out of memory. */
bool tape_play(const struct tape *tape, struct lane *lane);

#endif
