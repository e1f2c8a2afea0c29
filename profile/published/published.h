/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The making of a profile of the published model (PSnAP): per loop a set of regions ordered by
 * address, and per reference the region that it accessed last.
 *
 * A region's `reach` is the range of addresses that join it: those within the gap of [low, high]
 * that are not closer to a neighbour (of two equally close regions the lower takes the address).
 * Reaches never overlap, so a region whose reach holds an address is the address's region, however
 * it was found: a reference's last region can be another one, but never a wrong one.
 */
#ifndef PSNAP_PROFILE_PUBLISHED_H
#define PSNAP_PROFILE_PUBLISHED_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/base/stream.h"
#include "profile/profile.h"
#include "profile/published/fold.h"

enum {
    PUBLISHED_PATTERN = 1024,        /* accesses in a pattern buffer, as published */
    PUBLISHED_RESTLESS_FIRST = 4096, /* visits after which restless regions are looked for */
    PUBLISHED_FIRST_STRIDE = PSNAP_STRIDE_BINS, /* the bin before that of the first stride */
    PUBLISHED_ROWS
};

/* Most regions have few bins of strides and accesses of one kind: rows are made when needed. */
struct region {
    uint64_t low, high; /* lowest and highest address */
    uint64_t last_byte; /* of the access that ends highest */
    uint64_t previous;  /* address */
    uint64_t *row;      /* of the bin of the previous stride: counts of strides after it, by bin */
    uint64_t *rows[PUBLISHED_ROWS];  /* by bin */
    uint64_t *sizes[3];              /* by kind: accesses by size - 1 */
    uint64_t reach_low, reach_bytes; /* the reach is [reach_low, reach_low + reach_bytes) */
    uint64_t free_high;              /* growing up to here concerns no neighbour */
    uint64_t visits;                 /* times that references came here from other regions */
    const char *object;              /* or NULL */
    struct region *next_free;        /* of those merged into others */
    struct region *merged_into;      /* of a retired region, for the pattern */
    uint32_t position;               /* in the loop's order */
    uint32_t serial;                 /* regions of the loop that were opened before */
    uint32_t last_of_run;            /* access of a run, while that is put */
    uint8_t object_kind;
    bool is_named;  /* its object was looked for */
    bool is_merged; /* of several */
};

struct loop {
    const struct psnap_program *program;
    uint32_t index; /* in program->loops */
    uint32_t unit;  /* index of the loop whose visits in the schedule these are, too */
    uint64_t src_hash;
    uint64_t gap;
    uint32_t limit, count, room; /* of regions */
    uint32_t opened;
    uint32_t pattern_count; /* accesses that the pattern is of, at most PUBLISHED_PATTERN */
    uint32_t pattern_kept;  /* the first of these: the others repeat them */
    uint32_t pattern_room;
    uint64_t naming_steps;
    uint64_t visits;                      /* of all its regions */
    uint64_t restless_at, restless_after; /* visits when to merge next, since the last time */
    uint64_t synthesised;                 /* accesses, by merges */
    struct region *entered;               /* the last one that a reference came to */
    struct region **order;                /* by address */
    struct region **pattern;
    struct region *free;
    struct loop *first_part, *last_part, *next_part; /* of a unit: its loops, for the schedule */
};

/* ---- region.c ---- */

struct loop *loop_new(const struct psnap_program *program, uint32_t index,
                      const struct psnap_builder_options *options); /* NULL: out of memory */
void loop_free(struct loop *loop);
/* Recomputes positions and reaches after regions were merged. */
void loop_reorder(struct loop *loop);
/* Adds an access to the pattern, which is not full; false: out of memory. */
bool loop_add_to_pattern(struct loop *loop, struct region *region);

/* The region whose reach holds the address, or NULL. */
struct region *region_find(const struct loop *loop, uint64_t address);
/* The closest region, made to hold the address; there must be one. */
struct region *region_stretch(struct loop *loop, uint64_t address);
/* Opens a region for the first access in it, which is not counted yet; NULL: out of memory. */
struct region *region_open(struct loop *loop, const struct psnap_access *access);
/* Keeps an empty region, which is in no order, for the next one: references still point to it. */
void region_retire(struct loop *loop, struct region *region);
/* Makes the range of a region hold an access in its reach. */
void region_widen(struct loop *loop, struct region *region, uint64_t address, uint64_t last_byte);
/* Makes a row of edges, or of sizes; false: out of memory. */
bool region_make_row(struct region *region, unsigned bin);
bool region_make_sizes(struct region *region, unsigned kind);
uint64_t region_accesses(const struct region *region);
/* Its metrics as the profile has them, but for id and object; arrays go to `arena`. */
enum psnap_status region_export(const struct region *region, struct psnap_arena *arena,
                                struct psnap_profile_region *out);
/* Looks for the object that the region lies in, unless that was done. */
void region_name(struct loop *loop, struct region *region);

/* ---- merge.c ---- */

/* Why a loop's regions are merged, which says which of them are rare. */
enum merge_reason {
    MERGE_FULL,     /* the limit is reached: at most three quarters of it are left */
    MERGE_RESTLESS, /* references go from region to region all the time */
    MERGE_LAST      /* the stream has ended: fringes of merged regions */
};

enum psnap_status loop_merge(struct loop *loop, enum merge_reason reason);
/* Merges the regions that references go to and fro between, when it is time for that. */
enum psnap_status loop_settle(struct loop *loop);

/* ---- builder.c ---- */

/* A sink of the accesses of all threads in their order; options are checked and have no defaults.
 * NULL: out of memory. */
struct psnap_sink *published_builder_new(struct psnap_program *program,
                                         const struct psnap_builder_options *options);
/* Returns the regions and the pattern of a loop of the program when the stream has ended; NULL: no
 * accesses. */
struct loop *published_loop(const struct psnap_sink *builder, uint32_t index);
/* The schedule; `kept` has the profile's loops by those of the program. */
enum psnap_status published_schedule(struct psnap_sink *builder, const uint32_t *kept,
                                     struct psnap_profile *profile);
/* The regions, but for their ids, and the pattern of a loop, in the profile's arena. */
enum psnap_status published_take(struct loop *loop, struct psnap_profile *profile,
                                 struct psnap_profile_loop *out);

/* ---- schedule.c ---- */

struct published_loops {
    struct loop *const *loops;    /* in the order of first accesses */
    struct loop *const *by_index; /* by index in program->loops */
    const uint32_t *kept;         /* the profile's loops by those of the program */
    uint32_t count;
};

/* Visits as they were folded, units as their parts, and loops that no visit was counted of. */
enum psnap_status published_schedule_take(const struct published_loops *built, struct fold *visits,
                                          struct psnap_profile *profile);

#endif
