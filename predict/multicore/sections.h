/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parallel sections of a stream, and what is counted of each.
 */
#ifndef PSNAP_PREDICT_SECTIONS_H
#define PSNAP_PREDICT_SECTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/base/access.h"
#include "formats/base/program.h"
#include "predict/predict.h"

struct sections {
    struct psnap_section *of; /* the first is what is sequential */
    struct section_key {
        uint32_t mark;    /* reference that begins the section, PSNAP_NONE: of what is sequential */
        size_t loop_room; /* of its loop_accesses */
    } *keys;
    size_t count, room, key_room;
};

/* The section that begins with this mark, made if need be for so many cores. False: out of memory.
 */
bool sections_find(struct sections *sections, const struct psnap_program *program, uint32_t mark,
                   uint32_t cores, uint32_t *index);
/* Counts an access of the sequential run, in this loop of the program. False: out of memory. */
bool sections_count(struct sections *sections, uint32_t index, uint32_t loop,
                    const struct psnap_access *access);
void sections_release(struct sections *sections);

#endif
