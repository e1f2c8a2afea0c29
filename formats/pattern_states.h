/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A sink of patterns, which it prints when the stream has ended. What it keeps, in the order in
 * which it came: where the program's tables name what an access touches (formats/base/touched.h), a
 * state for each such region of a loop, one of its loads and one of its stores and atomics; for
 * accesses to what has no name, a state for each reference. Private to formats/.
 */
#ifndef PSNAP_FORMATS_PATTERN_STATES_H
#define PSNAP_FORMATS_PATTERN_STATES_H

#include <stddef.h>
#include <stdint.h>

#include "formats/base/access.h"
#include "formats/base/program.h"
#include "formats/trace.h"

struct psnap_touched;

enum pattern_sort { PATTERN_REGION_LOADS, PATTERN_REGION_STORES, PATTERN_REFERENCE, PATTERN_SORTS };

struct pattern_state {
    enum pattern_sort sort;
    uint32_t index; /* row of `touched`, or reference */
    void *state;    /* the format's own */
};

struct pattern_sink {
    struct psnap_sink base;
    const struct psnap_format_ops *format_ops;
    FILE *file;        /* not owned */
    uint64_t left_out; /* accesses */
    const struct psnap_program *program;
    struct psnap_touched *touched;
    struct pattern_state *all;
    size_t count, room;
    void **by_index[PATTERN_SORTS]; /* NULL: did not come */
    size_t index_room[PATTERN_SORTS];
};

/* psnap_format_ops.create */
struct psnap_sink *pattern_sink_new(const struct psnap_format *format, FILE *file,
                                    struct psnap_program *program, const uint64_t *clock,
                                    struct psnap_error *error);

/* "main:12 matrix" or "main:12 ref 3" into `text`; returns it. */
char *pattern_name(const struct pattern_sink *sink, size_t i, char *text, size_t size);

#endif
