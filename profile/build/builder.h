/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The builder's working data: per loop a set of regions ordered by address,
 * per reference the region it touched last.
 *
 * A region's `reach` is the range of addresses that join it: those within the
 * gap of [low, high] that are not closer to a neighbour (of two equally close
 * ones the lower takes it). Reaches never overlap, so finding an address in any
 * region's reach, by whatever way one came to that region, is finding *the*
 * region: a stale cache entry can miss but not mislead.
 */
#ifndef PSNAP_PROFILE_BUILDER_H
#define PSNAP_PROFILE_BUILDER_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/base/stream.h"
#include "profile/build/fold.h"
#include "profile/profile.h"

enum {
    BUILD_START = PSNAP_STRIDE_BINS, /* for a bin: what the first stride follows */
    BUILD_ROWS,
    BUILD_OPENED = UINT16_MAX, /* for a row: before the first access is counted */
    BUILD_NO_STEP = UINT16_MAX,
    BUILD_RANK_BITS = 5,
    BUILD_BINS_SPAN = 2 * PSNAP_STRIDE_MAX + 1, /* strides that have a bin of their own */
    BUILD_PATTERN = 1024,                       /* accesses in a pattern buffer, as published */
    BUILD_RUN_WIDTH = 64,                       /* of wider runs all is put one by one */
    BUILD_RESTLESS_FIRST = 4096, /* visits after which restless regions are looked for */
    BUILD_RESTLESS_GROUP = 16,   /* so many, each with at most its share, make a group */
    BUILD_GROWN_STAY = 256,      /* accesses a visit: more, and regions that touch are left apart */
    BUILD_GROWN_HOLE = 8,      /* a hole of that part of both beside it does not keep them apart */
    BUILD_REGIONS_MAX = 16384, /* of all loops; then each has those it has, and one at least */
    BUILD_LIMIT_MAX = 4096,    /* regions of a loop */
    BUILD_ROOM_FIRST = 4,      /* that its tables have room for to begin with */
    BUILD_JOINED_LEAST = 16,   /* that a joined loop keeps when there are many */
    BUILD_MERGE_SAMPLE = 16384 /* accesses synthesised for a merge; longer ones are periodic */
};

#define BUILD_NO_SHAPE UINT32_MAX

/* Accesses of a region of one kind and size. */
struct build_shape {
    uint64_t count;
    uint32_t key; /* see build_key, or BUILD_NO_SHAPE */
};

/*
 * Memory goes to what comes: most regions have few strides and one shape. The edges are counted in
 * a square of the bins that there were, in the order in which they came, with a row above it for
 * the first stride.
 */
struct build_region {
    /* What an access reads and writes, with its two counters. */
    uint64_t low, high; /* lowest and highest address */
    uint64_t last_byte; /* of the access that ends highest */
    uint64_t previous;  /* address */
    uint64_t *edges;    /* rows of `room` columns, one more than that */
    struct build_shape *shapes;
    uint16_t row;                      /* where that of the previous stride begins: 0 when there is
                                          none yet, or BUILD_OPENED */
    uint16_t steps[PSNAP_STRIDE_BINS]; /* by bin: where its row begins, and its rank, which is its
                                          column, in BUILD_RANK_BITS; or BUILD_NO_STEP */
    uint8_t room;                      /* bins that there is room for */
    uint8_t bin_count;
    uint8_t shape_room;
    bool is_short; /* of memory: something was not counted */

    uint8_t object_kind;
    bool named;                      /* object was looked for */
    bool merged;                     /* of several */
    uint16_t slot;                   /* in the loop's table */
    uint16_t first_thread;           /* of those joined: whose walks begin */
    uint16_t last_thread;            /* and end it */
    uint32_t position;               /* in the loop's order */
    uint32_t serial;                 /* regions of the loop that were opened before */
    uint64_t reach_low, reach_bytes; /* reach is [reach_low, reach_low + reach_bytes) */
    uint64_t free_high;              /* growing up to here concerns no neighbour */
    uint64_t visits;                 /* times references came here from elsewhere */
    const char *object;              /* or NULL */
};

/* Why a loop's regions are merged, which says what is rare. */
enum build_merge_reason {
    BUILD_MERGE_FULL,     /* the limit is reached */
    BUILD_MERGE_RESTLESS, /* references go from region to region all the time */
    BUILD_MERGE_LAST      /* the stream has ended: fringes of merged regions */
};

/* What loops are found by. */
struct build_name {
    const char *id, *src_id;
};

struct build_loop {
    struct build_name name; /* of program->loops */
    uint32_t index;         /* in program->loops */
    uint32_t source;        /* index of the first built loop with the same src_id */
    uint32_t
        unit; /* what the schedule calls it: index of a part that it once followed, or its own */
    uint32_t count; /* regions */
    uint32_t opened;
    uint32_t pattern_count; /* accesses that it is of, at most BUILD_PATTERN */
    uint32_t pattern_kept;  /* of these the first: the rest is their repetition */
    uint32_t pattern_room;
    uint32_t slot_count, free_count;
    uint32_t room;   /* entries of order, reach_lows, slots and free_slots */
    uint32_t refs;   /* the last one met, or PSNAP_NONE */
    uint16_t thread; /* once it is joined: the lowest */
    uint64_t gap, limit;
    size_t bytes;    /* that it takes */
    size_t *account; /* these are also counted there, or NULL */
    uint64_t naming_steps;
    uint64_t moves;                       /* goes up when a reference goes to another region */
    uint64_t visits;                      /* of all its regions */
    uint64_t restless_at, restless_after; /* visits when to merge for them, since the last time */
    uint64_t synthesised;                 /* accesses, by merges */
    struct build_region *entered;         /* last one found by search */
    struct build_region **order;          /* by address */
    uint64_t *reach_lows;                 /* order[i]->reach_low, what the search reads */
    struct build_region **slots;          /* all ever allocated */
    uint16_t *free_slots;
    uint16_t *pattern; /* slots */
};

/* Kind and size in one. */
static inline uint32_t build_key(uint8_t kind, uint8_t size)
{
    return (uint32_t)kind << 8 | size;
}

struct build_loop *build_loop_new(uint32_t index, uint64_t gap, uint32_t limit);
void build_loop_free(struct build_loop *loop);

/* It takes so much more, or less. */
static inline void build_loop_charge(struct build_loop *loop, size_t more, size_t less)
{
    loop->bytes += more - less;
    if (loop->account)
        *loop->account += more - less;
}

/* Makes room for so many regions; false when out of memory. */
bool build_loop_reserve(struct build_loop *loop, uint32_t room);

/* The region whose reach holds the address, or NULL. */
struct build_region *build_region_find(const struct build_loop *loop, uint64_t address);

/* The closest region, made to hold the address; there must be one. */
struct build_region *build_region_stretch(struct build_loop *loop, uint64_t address);

/* Opens a region for an address that is in no reach. There must be room for it (count < limit). */
struct build_region *build_region_open(struct build_loop *loop, uint64_t address, unsigned size);

void build_region_free(struct build_region *region); /* NULL is legal */

/* Makes low or high an address of the region's reach. */
void build_region_extend(struct build_loop *loop, struct build_region *region, uint64_t address);

/* Recomputes positions and reaches after regions were joined. */
void build_loop_reorder(struct build_loop *loop);

/* Adds an access to the pattern; it is not full. False: out of memory. */
bool build_loop_note(struct build_loop *loop, uint16_t slot);

/* ---- what a region counts: builder_counts.c ---- */

uint64_t build_region_accesses(const struct build_region *region);

/* Bytes of its counters. */
size_t build_counts_bytes(const struct build_region *region);

/* Makes counters, or clears those that there are; false when out of memory. */
bool build_counts_init(struct build_loop *loop, struct build_region *region);
void build_counts_release(struct build_region *region);
void build_edges_clear(struct build_region *region);

/* The step of a bin that has none; the region's row may be elsewhere then. Out of memory: the
 * region is short of it, and any step. */
unsigned build_step_new(struct build_loop *loop, struct build_region *region, unsigned bin);

/* The place of a shape, made if need be. Out of memory: the region is short of it, and 0. */
unsigned build_shape_place(struct build_loop *loop, struct build_region *region, uint32_t key);

/* The bin of the previous stride, or BUILD_START. */
unsigned build_previous_bin(const struct build_region *region);

/* How often a stride of bin `to` followed one of bin `from`, or nothing (BUILD_START). */
uint64_t build_edge_count(const struct build_region *region, unsigned from, unsigned to);

/* Counts it so many times more. */
void build_edge_add(struct build_loop *loop, struct build_region *region, unsigned from,
                    unsigned to, uint64_t times);

/* The previous stride has this bin now. */
void build_previous_set(struct build_loop *loop, struct build_region *region, unsigned bin);

/* By which the edges of a bin are found; `*row` is that of the stride before. */
static inline unsigned build_step(struct build_loop *loop, struct build_region *region,
                                  unsigned bin, unsigned *row)
{
    unsigned step = region->steps[bin];

    if (__builtin_expect(step == BUILD_NO_STEP, 0)) {
        region->row = (uint16_t)*row;
        step = build_step_new(loop, region, bin);
        *row = region->row;
    }
    return step;
}

static inline unsigned build_rank(unsigned step)
{
    return step & ((1u << BUILD_RANK_BITS) - 1);
}

static inline unsigned build_row(unsigned step)
{
    return step >> BUILD_RANK_BITS;
}

/* The counter of strides that have this step and follow one of a row. */
static inline uint64_t *build_edge(const struct build_region *region, unsigned row, unsigned step)
{
    return &region->edges[row + build_rank(step)];
}

/* The place of a shape, most likely where `*last` says, which it does then. */
static inline unsigned build_shape(struct build_loop *loop, struct build_region *region,
                                   uint8_t *last, uint32_t key)
{
    if (__builtin_expect(region->shapes[*last].key != key, 0))
        *last = (uint8_t)build_shape_place(loop, region, key);
    return *last;
}

/* ---- regions as profiles have them ---- */

/* Metrics as the profile has them (id and object apart); arrays go to `arena`. */
enum psnap_status build_region_export(const struct build_region *region, struct psnap_arena *arena,
                                      struct psnap_profile_region *out);

/* Looks for the object that the region lies in, unless that was done. */
void build_region_name(struct build_loop *loop, struct build_region *region,
                       const struct psnap_program *program);

/* Merges rarely used regions; when the loop was full, until at most three quarters of the limit are
 * left. */
enum psnap_status build_loop_merge(struct build_loop *loop, const struct psnap_program *program,
                                   enum build_merge_reason reason);

/* Merges the regions that references go to and fro between, and says when to do so again. */
enum psnap_status build_loop_settle(struct build_loop *loop, const struct psnap_program *program);

/* Whether two regions are in one mapping group and of one object. */
bool build_region_same_place(const struct build_region *a, const struct build_region *b);

/* Adds the accesses and the extent of `from`, but not its strides. */
void build_region_add(struct build_loop *loop, struct build_region *into,
                      const struct build_region *from);

/* A loop of some threads and the same one of others as one; both are freed. NULL: out of memory. */
struct build_loop *build_loop_join(struct build_loop *a, struct build_loop *b,
                                   const struct psnap_program *program, uint32_t limit);

/* What is known about a reference: a match in region's reach decides all else. */
struct ref_state {
    struct build_loop *loop; /* NULL: not seen yet */
    struct build_region *region;
    uint64_t count; /* accesses of this key that its region is yet to get */
    uint32_t key;   /* of the last one */
    uint32_t next;  /* of those of the loop, or PSNAP_NONE */
};

/* How the references of a group advance. */
enum build_advance {
    BUILD_STEADY,        /* all by one stride */
    BUILD_ROWS_OF_WORDS, /* by columns that lie side by side */
    BUILD_MIXED
};

/* The references of a run that are in one region, in their order. */
struct build_group {
    const struct psnap_run *run;
    struct build_region *region;
    const uint8_t *places; /* `width` of them */
    size_t width;
    enum build_advance advance;
};

struct builder {
    struct psnap_sink base;
    struct psnap_program *program;
    struct psnap_builder_options options;
    struct ref_state *refs;
    struct build_plan *
        *plans; /* by reference: of the runs that it begins (builder_run.c), or NULL */
    uint32_t ref_count;
    uint32_t loop_count;   /* of loops[] */
    uint32_t region_count; /* of all of them */
    size_t loop_bytes;
    size_t plan_bytes;
    struct build_loop **loops; /* in the order of first accesses */
    void *by_id, *by_source;   /* trees (tsearch) of all loops, and of the first ones by src_id */
    uint32_t *loop_of;         /* index in program->loops to index in loops, or PSNAP_NONE */
    uint32_t loop_of_count;
    struct build_loop *current;
    struct build_region nowhere; /* what a new reference touched last: matches nothing */
    struct fold visits;
    struct build_loop *last_visited;
    struct build_loop *visited;                 /* the first loop of the visit that goes on */
    uint64_t visit_start, position;             /* accesses before it, and before the present one */
    uint16_t thread;                            /* whose accesses these are */
    uint64_t used;                              /* when that was so last, for builder_threads.c */
    struct build_group groups[BUILD_RUN_WIDTH]; /* of the run that is being put */
    struct build_nest *nest; /* what nests are put with (builder_nest.c); NULL: none yet */
    uint8_t bins[BUILD_BINS_SPAN + 1]; /* by stride + PSNAP_STRIDE_MAX; the last is random's */
};

/* An access at or beyond an end of the region; growing into free space is the common case. */
static inline void build_region_widen(struct build_loop *loop, struct build_region *region,
                                      uint64_t address, uint64_t last_byte)
{
    if (last_byte > region->last_byte)
        region->last_byte = last_byte;
    if (address > region->high && address <= region->free_high) {
        region->high = address;
        region->reach_bytes = address + loop->gap - region->reach_low + 1;
    } else if (address < region->low || address > region->high) {
        build_region_extend(loop, region, address);
    }
}

/* The stream goes on, with this access, in another loop than before. */
enum psnap_status build_switch_loop(struct builder *b, const struct psnap_access *access,
                                    struct psnap_error *error);

/* The column of a run's k-th access; NULL: it advances by a stride. */
static inline const struct psnap_column *build_column(const struct psnap_run *run, size_t k)
{
    return run->columns && run->columns[k].words ? &run->columns[k] : NULL;
}

/* Finds out how a group advances. */
void build_group_look(struct build_group *group);

/* Whether all repetitions lie in the region's range as it is. */
bool build_group_is_inside(const struct build_group *group);

/* Counts the edges of repetitions [from, end), at least one, in which the group stays in its
 * region. */
void build_group_put(const struct builder *b, const struct build_group *group, uint64_t from,
                     uint64_t end);

/* The sink's put and put_run. */
enum psnap_status build_put(struct psnap_sink *self, const struct psnap_access *block, size_t n,
                            struct psnap_error *error);
enum psnap_status build_put_run(struct psnap_sink *self, const struct psnap_run *run,
                                struct psnap_error *error);

enum psnap_status build_put_nest(struct psnap_sink *self, const struct psnap_nest *nest,
                                 struct psnap_error *error);
void build_nest_free(struct build_nest *put); /* NULL is legal */

/* A builder for one thread, without checks of the options; NULL: out of memory. */
struct builder *build_new(struct psnap_program *program,
                          const struct psnap_builder_options *options);

/* A loop of an itinerary: index in program->loops, and what the visits call it. */
struct build_stop {
    uint32_t index, unit;
};

/* In which order a thread visited its loops. */
struct build_itinerary {
    struct build_stop *stops; /* in the order of first accesses */
    uint32_t count;
    uint16_t thread;
    struct fold visits; /* of units */
    uint32_t offset;    /* of these, see build_result; the stops have it added */
};

/* What is joined: the loops of one thread, or those of several as one. */
struct build_part {
    struct build_loop **loops;           /* by index in program->loops, NULL: no accesses */
    uint32_t loop_count;                 /* of that array */
    struct build_itinerary *itineraries; /* by thread; together they have all loops */
    uint32_t itinerary_count;
    size_t bytes;          /* of its loops */
    uint32_t region_count; /* of all of them */
    uint32_t thread_count; /* 0: nothing is in it */
    uint16_t thread;       /* the lowest */
};

/*
 * Threads' loops on their way to a profile (builder_parts.c). The threads with the lowest numbers
 * have parts of their own, when they are kept apart; all others, or all, share `rest`.
 */
struct build_parts {
    const struct psnap_program *program;
    const struct psnap_builder_options *options;
    struct build_part own[PSNAP_PARTS_MAX]; /* by thread, all lower than those of the rest */
    uint32_t own_count;
    struct build_part rest;
    uint8_t *in_rest; /* a bit for each thread; NULL: none yet */
};

void build_parts_init(struct build_parts *parts, const struct psnap_program *program,
                      const struct psnap_builder_options *options);
void build_parts_release(struct build_parts *parts);

/* Takes the loops and visits of a builder that has finished; false: out of memory. */
bool build_parts_take(struct build_parts *parts, struct builder *b);

/* What the builders know when the stream has ended. A loop of part p is p * program->loop_count +
 * its index: in the itineraries, and where the profile's loops are looked up by it. */
struct build_result {
    const struct build_part *parts[PSNAP_PARTS_MAX + 1]; /* by thread */
    uint32_t part_count;
    struct build_itinerary *itineraries; /* of all parts, in their order */
    uint32_t itinerary_count;
    struct psnap_stream_model *stream; /* of all threads, NULL: model psnap; the profile's then */
    const struct psnap_builder_options *options;
};

/* The result refers to the parts but for the itineraries, which it owns; false: out of memory. */
bool build_result_init(struct build_result *result, struct build_parts *parts);
void build_result_release(struct build_result *result);

struct psnap_profile *build_profile(const struct psnap_program *program,
                                    const struct build_result *result, struct psnap_error *error);

/*
 * The schedule: the first thread's visits as folded, then those that each further one makes to
 * loops that none before it has (its own, if threads are apart); units as their parts. `kept` has
 * the profile's indices by those of the result, of which there are `loop_count`.
 */
enum psnap_status build_schedule(struct psnap_profile *profile, const uint32_t *kept,
                                 uint32_t loop_count, const struct build_result *result);

#endif
