/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Real addresses of a program that runs under Valgrind to canonical ones
 * (formats/base/layout.h), and to the files that are mapped there.
 */
#ifndef PSNAP_CAPTURE_VALGRIND_GUEST_SPACE_H
#define PSNAP_CAPTURE_VALGRIND_GUEST_SPACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "capture/collect/ranges.h"
#include "capture/valgrind/symbols.h"

struct psnap_guest_space {
    struct psnap_ranges areas;  /* images, heap, stack: what is known for good */
    struct psnap_ranges others; /* found mapped with something else; areas hide them */
    struct psnap_image *loaded; /* files, the latest first */
    pid_t program;
    uint32_t images; /* instances of the layout that they take */
    bool has_stack;
    uint32_t generation; /* goes up when areas are added */
};

void psnap_guest_space_release(struct psnap_guest_space *space);

/* The program has been loaded and has not run far: its image is the first, then its interpreter,
 * and the heap starts. */
enum psnap_status psnap_guest_space_start(struct psnap_guest_space *space, pid_t program,
                                          struct psnap_error *error);

/*
 * The range that holds `address`, valid until areas are added. `is_code`: it has been executed, so
 * it is worth a second look whether a file is mapped there by now.
 */
enum psnap_status psnap_guest_space_find(struct psnap_guest_space *space, uint64_t address,
                                         bool is_code, struct psnap_range *range,
                                         struct psnap_error *error);

#endif
