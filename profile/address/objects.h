/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Data objects: what reuse histograms are of. An object is an array or allocation of a page or
 * more that the program announced, or, of each group of mappings (an image, the heap, a stack), all
 * that is in none of these: small variables, the nodes of lists and trees. Of the allocations of
 * one site the first few are objects of their own, all later ones are one: a vector that grows is
 * not another object each time.
 */
#ifndef PSNAP_PROFILE_OBJECTS_H
#define PSNAP_PROFILE_OBJECTS_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/base/program.h"

struct data_object {
    const char *name;  /* the program's, or NULL: all else of a group */
    uint8_t kind;      /* enum psnap_object_kind */
    bool is_pool;      /* of several ranges */
    uint64_t low, end; /* [low, end); of a pool that of all of its ranges */
};

/* Where an object is. */
struct data_range {
    uint64_t low, end;
    uint32_t object;
};

struct objects { /* zeroed: nothing yet */
    struct data_object *objects;
    uint32_t count;
    struct data_range *ranges; /* that were announced, by address; they do not overlap */
    size_t range_count;
    uint32_t known; /* objects of the program that have been looked at */
    size_t room, range_room;
};

void objects_release(struct objects *objects);
/* The parts of [low, end) that are of an object, `most` at most, by address: if there are more, the
 * nearest ones become one. `*ranges` is owned by the caller; false: out of memory. */
bool objects_ranges(const struct objects *objects, uint32_t object, uint64_t low, uint64_t end,
                    size_t most, struct data_range **ranges, size_t *count);
/* The object that an address is in; PSNAP_NONE: out of memory. */
uint32_t objects_at(struct objects *objects, const struct psnap_program *program, uint64_t address);

#endif
