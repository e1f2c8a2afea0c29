/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lines that each loop of the source touches, counted once each: its working set.
 */
#ifndef PSNAP_PREDICT_TOUCHED_H
#define PSNAP_PREDICT_TOUCHED_H

#include "formats/base/stream.h"

/* Lines of `line_bytes`, a power of two. The program outlives the stream. NULL: out of memory. */
struct psnap_sink *touched_new(const struct psnap_program *program, uint64_t line_bytes);

/* Lines that the loop of this src_id touched, of a stream that has ended; 0: there is no such one.
 */
uint64_t touched_lines(const struct psnap_sink *sink, const char *src_id);

#endif
