/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Irregular references: loads and stores of a loop whose addresses no affine function of its
 * iterations gives (x[column[k]], counters, hash tables, lists, trees). What is kept of one is
 * a model of bounded size (struct psnap_gather), whatever the length of the stream or the size of
 * the data: where its accesses lie, how they go on in small steps, and how the places are chosen
 * to which they jump. replay/MODELS.md says what each part is for and how it was chosen.
 *
 * A collector (gather_collect.c) takes the addresses of a loop's irregular references in the
 * order of the program, gather_fit*.c make models of what it kept, a walk (gather_walk.c) draws
 * addresses from a model.
 */
#ifndef PSNAP_PROFILE_GATHER_H
#define PSNAP_PROFILE_GATHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    GATHER_STEPS = 6,            /* different small steps */
    GATHER_PARTS = 64,           /* equal parts of the span */
    GATHER_CLASSES = 16,         /* of lines by how often they are used */
    GATHER_QUANTILES = 21,       /* of distances from where a band is */
    GATHER_WITHS = 3,            /* references that one goes along with */
    GATHER_STEP_MAX = 512,       /* bytes */
    GATHER_ECHOES = 24,          /* octaves of accesses, back to where an echo comes from */
    GATHER_KNOTS = 8,            /* moments for which the reach is known */
    GATHER_AREAS = 6,            /* far apart */
    GATHER_TURNS = 16,           /* from one area to another that are listed */
    GATHER_CURSORS_MAX = 1 << 20 /* of a class */
};

/* How the next place is chosen when no step leads there. */
enum gather_places {
    GATHER_ANYWHERE = 0, /* independently: by parts, and by classes of lines in them */
    GATHER_ONCE,         /* each place of the span once in a lap, in a random order */
    GATHER_BAND,         /* near a point that moves through the span, lap after lap */
    GATHER_CURSORS,      /* goes on at one of many points, each of which moves on by a step */
    GATHER_SWEEP         /* onwards, by different steps */
};

struct gather_class {
    double lines;     /* share of the lines */
    double jumps;     /* share of the jumps */
    uint32_t spacing; /* their numbers are multiples of it, a power of two */
};

/* Cursors that are used equally often. */
struct gather_cursors {
    uint64_t count;
    double share; /* of the jumps, and of the span */
};

/* What is used of the span changes with time. */
struct gather_reach {
    double low, high; /* of the span, 0 to 1 */
};

/* The accesses to one stretch of memory. */
struct gather_area {
    uint64_t accesses;
    uint64_t base, span_bytes; /* addresses are base + k * element_bytes, below base + span_bytes */
    uint32_t element_bytes;
    /* Steps: next[i][j] is the chance of kind j after kind i; 0 is a jump, k the k-th step. */
    uint32_t step_count;
    int64_t steps[GATHER_STEPS];
    double next[GATHER_STEPS + 1][GATHER_STEPS + 1];
    enum gather_places places;
    /* Anywhere (and where a band is left): share of the jumps to each part of the span. */
    uint32_t part_count; /* 1: uniform */
    double parts[GATHER_PARTS];
    uint32_t class_count; /* 1: all lines alike; most used first */
    struct gather_class classes[GATHER_CLASSES];
    double fixed; /* share of a line's jumps that lead to one and the same element of it */
    /* Once, band: */
    uint64_t lap; /* jumps */
    bool same_order;
    uint64_t place_bytes; /* once: from one place to the next */
    bool downwards;
    double inside;                     /* band: share of the jumps that lie in it */
    int64_t offsets[GATHER_QUANTILES]; /* of these, elements from the point: gather_quantiles */
    /* Cursors: */
    uint32_t cursor_classes;
    struct gather_cursors cursors[GATHER_CLASSES];
    int64_t cursor_step; /* bytes */
    int64_t sweep_bytes; /* mean of steps that are not listed */
    /* Of the jumps, the shares that lead to a line last visited 2^i to 2^(i+1) accesses ago,
       beyond those that do so by chance. */
    double echoes[GATHER_ECHOES];
    uint32_t knot_count;                     /* 0: all of the span is used all the time */
    struct gather_reach knots[GATHER_KNOTS]; /* evenly over the accesses, first and last included */
};

struct gather_turn {
    uint32_t area;
    uint64_t accesses;
};

/* Goes along with another reference: the same distance from it, or a multiple of its way. */
struct gather_with {
    double share; /* of the accesses */
    uint32_t leader;
    uint64_t leader_from,
        from; /* address - from == (leader's address - leader_from) * times / over */
    int64_t times, over;
};

struct psnap_gather {
    uint64_t accesses;
    uint32_t shares; /* not its own number: its addresses are the next ones of that reference's
                        walk, all below is that one's */
    uint32_t with_count;
    struct gather_with with[GATHER_WITHS];
    uint32_t area_count; /* 0: all go along with another */
    struct gather_area areas[GATHER_AREAS];
    double next_area[GATHER_AREAS][GATHER_AREAS];
    uint32_t turn_count; /* 0: by chance, as next_area says */
    struct gather_turn turns[GATHER_TURNS];
};

/* ---- collecting: gather_areas.c, gather_collect.c, gather_fit*.c ---- */

struct gather_areas;

/* Of one reference. NULL: out of memory. */
struct gather_areas *gather_areas_new(void);
void gather_areas_free(struct gather_areas *areas);
/* The next addresses; the model does not depend on how they are cut. */
void gather_areas_put(struct gather_areas *areas, const uint64_t *addresses, size_t n);
/* Whether nothing was lost because of memory; NULL is nothing collected, and whole. */
bool gather_areas_are_whole(const struct gather_areas *areas);
uint64_t gather_areas_count(const struct gather_areas *areas);
/* The lowest and the highest address when there is just one area; else both stay as they are. */
void gather_areas_range(const struct gather_areas *areas, uint64_t *low, uint64_t *high);
/* Sets the areas and the turns of the model. */
void gather_areas_fit(struct gather_areas *areas, struct psnap_gather *model);

/* ---- together: gather_group.c ---- */

struct gather_group;

/* Of the references of a loop, by number from 0 on. NULL: out of memory. */
struct gather_group *gather_group_new(uint32_t references);
void gather_group_free(struct gather_group *group);
/* Wants a model of this reference; of others only that they may be gone along with. References of
 * one kind (the same loop, line of the source, size) may be copies that unrolling made. */
void gather_group_want(struct gather_group *group, uint32_t reference, uint64_t kind);
/* The next accesses, in the order of the program: of which references, where. The models do not
 * depend on how they are cut. */
void gather_group_put(struct gather_group *group, const uint32_t *references,
                      const uint64_t *addresses, size_t n);
/* Whether nothing was lost because of memory. */
bool gather_group_is_whole(const struct gather_group *group);
/* The model of a reference that is wanted and has had an access. */
void gather_group_fit(struct gather_group *group, uint32_t reference, struct psnap_gather *model);

/* ---- drawing: gather_walk.c ---- */

/* Of which shares offsets are the quantiles: 0 and 1, finer near these, 1 / 16 apart elsewhere. */
extern const double gather_quantiles[GATHER_QUANTILES];

struct gather_walk;

/* The model is copied. NULL: out of memory. */
struct gather_walk *gather_walk_new(const struct psnap_gather *model, uint64_t seed);
void gather_walk_free(struct gather_walk *walk);
/* The next addresses; `last`: the last address of each reference, 0 before its first. NULL when the
 * model goes along with none. */
void gather_walk_next(struct gather_walk *walk, const uint64_t *last, uint64_t *addresses,
                      size_t n);

#endif
