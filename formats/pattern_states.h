/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A sink of patterns, which it prints when the stream has ended. What it keeps, in the order in
 * which it came: where the program's tables name what an access touches (formats/base/touched.h), a
 * state for each such region of a loop, one of its loads and one of its stores and atomics; for
 * accesses to what has no name, a state for each reference. No state has accesses of two windows of
 * 4 GiB, as a stack, or an image, of the canonical layout has one (formats/base/layout.h): what
 * goes to several of them is several patterns. Private to formats/.
 */
#ifndef PSNAP_FORMATS_PATTERN_STATES_H
#define PSNAP_FORMATS_PATTERN_STATES_H

#include <stddef.h>
#include <stdint.h>

#include "formats/base/access.h"
#include "formats/base/map.h"
#include "formats/base/program.h"
#include "formats/trace.h"

struct psnap_touched;

enum { PATTERN_WINDOW_BITS = 32 };

/* A state and its key. */
struct pattern_state {
    uint32_t ref;    /* PSNAP_NONE: it is a region's */
    uint32_t row;    /* of `touched` */
    uint32_t window; /* of its addresses */
    bool is_store;   /* of a region's; a reference has one kind of accesses */
    void *state;     /* the format's own */
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
    struct psnap_map numbers;      /* of states, from 1 on */
    struct psnap_compact *compact; /* where addresses are to be placed; NULL: they stay */
};

/* psnap_format_ops.create */
struct psnap_sink *pattern_sink_new(const struct psnap_format *format, FILE *file,
                                    struct psnap_program *program, const uint64_t *clock,
                                    struct psnap_error *error);

/* "main:12 matrix" or "main:12 (heap) ref 3" into `text`; returns it. */
char *pattern_name(const struct pattern_sink *sink, size_t i, char *text, size_t size);

#endif
