/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lines that each loop of the source touches, counted once each: its working set.
 */
#ifndef PSNAP_PREDICT_TOUCHED_H
#define PSNAP_PREDICT_TOUCHED_H

#include "formats/base/stream.h"

/* Lines of `line_bytes`, a power of two. The program outlives the sink. NULL: out of memory. */
struct psnap_sink *touched_new(const struct psnap_program *program, uint64_t line_bytes);

/* Returns the lines that the loop with this src_id has touched so far; 0: no such loop. */
uint64_t touched_lines(const struct psnap_sink *sink, const char *src_id);

#endif
