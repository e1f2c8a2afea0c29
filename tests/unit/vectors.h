/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays as sources and sinks, and a sink that swallows everything. */
#ifndef PSNAP_TEST_VECTORS_H
#define PSNAP_TEST_VECTORS_H

#include "formats/base/stream.h"

/*
 * A source over an array. Copies neither array nor program; both must outlive
 * the source. `program` may be NULL (then the source has an empty one).
 */
struct psnap_source *vector_source_new(const struct psnap_access *accesses, size_t n,
                                       struct psnap_program *program);

/* A growing array as a sink. The accesses stay owned by the sink until it is freed. */
struct psnap_sink *vector_sink_new(void);
const struct psnap_access *vector_sink_data(const struct psnap_sink *sink, size_t *n);

struct psnap_sink *null_sink_new(void);

#endif
