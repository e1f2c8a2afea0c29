/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Real addresses of the program to canonical ones (formats/base/layout.h), so
 * that two runs give the same stream whatever address-space randomisation and
 * the environment do. Ranges learnt later hide earlier ones.
 */
#ifndef PSNAP_CAPTURE_COLLECT_REBASE_H
#define PSNAP_CAPTURE_COLLECT_REBASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "capture/collect/ranges.h"

/* A file that was found mapped: its addresses from `low` on have their places from `base` on. */
struct psnap_rebase_file {
    uint64_t low, base;
    uint64_t device, inode;
};

/* An allocation that was announced: what its addresses mean from then on. */
struct psnap_placement {
    struct psnap_range range;
    bool is_done; /* in `known` */
};

/* Large allocations, and what is found by looking. */
enum psnap_shelves { PSNAP_SHELVES_MMAP, PSNAP_SHELVES_OTHER, PSNAP_SHELVES_COUNT };
enum { PSNAP_REBASE_SHELVES = 257 };

struct psnap_rebase {
    struct psnap_ranges known; /* what addresses mean where the records are being read */
    struct psnap_ranges plan;  /* and at the latest announcement: images, heap, allocations */
    struct psnap_placement *placements; /* of announcements first_placement + 1 and on */
    size_t placement_count, placement_room;
    size_t placements_done; /* the first ones, to be dropped together */
    uint64_t first_placement;
    uint64_t used[PSNAP_SHELVES_COUNT][PSNAP_REBASE_SHELVES]; /* bytes; see rebase.c */
    uint32_t thread; /* whose records are being read: it is the first to touch what is looked up */
    uint32_t images;
    pid_t program;
    uint32_t generation; /* goes up when a known range changes */
    struct psnap_rebase_file *files;
    size_t file_count;
};

void psnap_rebase_init(struct psnap_rebase *rebase);
void psnap_rebase_release(struct psnap_rebase *rebase);

/* These return false when out of memory. */
bool psnap_rebase_add_image(struct psnap_rebase *rebase, uint64_t low, uint64_t high);
bool psnap_rebase_add_heap(struct psnap_rebase *rebase, uint64_t start);
bool psnap_rebase_add_stack(struct psnap_rebase *rebase, uint32_t thread, uint64_t frame,
                            uint64_t low, uint64_t high);
/* The mapping with a thread's variables, of which the one at `anchor` is always there. */
bool psnap_rebase_add_local(struct psnap_rebase *rebase, uint64_t anchor, uint64_t low,
                            uint64_t high);
/* A large allocation, the next to be announced: the first has number 1. It counts from the moment
 * its number is found in the records of the thread that made it. */
bool psnap_rebase_announce(struct psnap_rebase *rebase, uint64_t address, uint64_t size_bytes,
                           uint32_t thread);
bool psnap_rebase_allocate(struct psnap_rebase *rebase, uint64_t number);

/* The range that holds `address`; looks at the program's mappings when it is not known yet.
 * NULL when out of memory. Valid until the next call. */
const struct psnap_range *psnap_rebase_find(struct psnap_rebase *rebase, uint64_t address);

#endif
