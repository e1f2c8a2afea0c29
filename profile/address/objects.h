/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Data objects: what reuse histograms are of. An object is an array or allocation of a page or
 * more that the program announced, or, of each group of mappings (an image, the heap, a stack), all
 * that is in none of these: small variables, the nodes of lists and trees.
 */
#ifndef PSNAP_PROFILE_OBJECTS_H
#define PSNAP_PROFILE_OBJECTS_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/base/program.h"

struct data_object {
    const char *name;       /* the program's, or NULL: all else of a group */
    uint8_t kind;           /* enum psnap_object_kind */
    uint64_t low, end;      /* announced, or seen so far: [low, end); low == end: nothing yet */
    uint64_t seen_low, seen_end; /* where irregular references went */
};

struct objects {
    struct data_object *objects;
    uint32_t count;
    uint32_t *sorted; /* those that were announced, by address; they do not overlap */
    uint32_t sorted_count, known; /* known: objects of the program that have been looked at */
    size_t room, sorted_room;
};

void objects_release(struct objects *objects);
/* The object that an address is in; PSNAP_NONE: out of memory. */
uint32_t objects_at(struct objects *objects, const struct psnap_program *program, uint64_t address);

#endif
