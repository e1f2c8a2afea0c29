/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The marks that `psnap cc --psnap-openmp` puts into a stream (capture/pass/openmp.cpp), by
 * reference.
 */
#ifndef PSNAP_PREDICT_MARKS_H
#define PSNAP_PREDICT_MARKS_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/base/program.h"

enum mark_kind {
    MARK_NONE, /* an access of the program */
    MARK_PARALLEL,
    MARK_PARALLEL_END,
    MARK_LOOP,
    MARK_LOOP_END,
    MARK_ITERATION,
    MARK_SINGLE,
    MARK_SINGLE_END,
    MARK_BARRIER
};

struct mark {
    uint32_t count;  /* ITERATION: of the source's; LOOP: the schedule's chunk, 0: none */
    uint8_t kind;    /* enum mark_kind */
    bool is_unknown; /* LOOP: it has chunks, and their length is not known */
};

struct marks {
    struct mark *of; /* by reference */
    uint32_t count;
    size_t room;
};

/* Knows the marks among references of the program that came since; false: out of memory. */
bool marks_update(struct marks *marks, const struct psnap_program *program);
void marks_release(struct marks *marks);

#endif
