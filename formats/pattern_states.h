/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a sink of patterns keeps, in the order in which it came: where the program's tables name
 * what an access touches (formats/base/touched.h), a state for each such region of a loop, one of
 * its loads and one of its stores and atomics; for accesses to what has no name, a state for each
 * reference. Private to formats/.
 */
#ifndef PSNAP_FORMATS_PATTERN_STATES_H
#define PSNAP_FORMATS_PATTERN_STATES_H

#include <stddef.h>
#include <stdint.h>

#include "formats/base/access.h"
#include "formats/base/program.h"
#include "formats/base/status.h"

struct psnap_touched;

enum { PATTERN_BLOCK = 256 }; /* accesses that are looked up at once */
enum pattern_sort { PATTERN_REGION_LOADS, PATTERN_REGION_STORES, PATTERN_REFERENCE, PATTERN_SORTS };

struct pattern_state {
    enum pattern_sort sort;
    uint32_t index; /* row of `touched`, or reference */
    void *state;    /* the sink's own */
};

struct pattern_states {
    size_t bytes; /* of a sink's own state; all zero at first */
    const struct psnap_program *program;
    struct psnap_touched *touched;
    struct pattern_state *all;
    size_t count, room;
    void **by_index[PATTERN_SORTS]; /* NULL: did not come */
    size_t index_room[PATTERN_SORTS];
};

/* `program` is the stream's, and outlives them. */
enum psnap_status pattern_states_init(struct pattern_states *states, size_t bytes,
                                      const struct psnap_program *program,
                                      struct psnap_error *error);
void pattern_states_release(struct pattern_states *states);

/* found[i]: the state of access i, of PATTERN_BLOCK at most; they stay where they are. */
enum psnap_status pattern_states_find(struct pattern_states *states,
                                      const struct psnap_access *block, size_t n,
                                      void *found[PATTERN_BLOCK], struct psnap_error *error);

/* "main:12 matrix" or "main:12 ref 3" into `text`; returns it. */
char *pattern_states_name(const struct pattern_states *states, size_t i, char *text, size_t size);

#endif
