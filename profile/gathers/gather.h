/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Irregular references: loads and stores of a loop whose addresses no affine function of its
 * iterations gives (x[column[k]], counters, hash tables, lists, trees). What is kept of one is
 * a model of bounded size (struct psnap_gather), whatever the length of the stream or the size of
 * the data: where its accesses lie, how they go on in small steps, and how the places are chosen
 * to which they jump. replay/MODELS.md says what each part is for and how it was chosen.
 *
 * The areas of a reference (gather_areas.c), each with a collector (gather_collect.c), take its
 * addresses in the order of the program, gather_fit*.c make a model of what was kept, a walk
 * (gather_walk.c, gather_draw.c, gather_places.c) draws addresses from a model. Which references
 * have one, and which keep a distance from another one's addresses instead, is
 * profile/walks/nest_draws.c's matter.
 */
#ifndef PSNAP_PROFILE_GATHER_H
#define PSNAP_PROFILE_GATHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    GATHER_STEPS = 6,             /* different small steps */
    GATHER_PARTS = 64,            /* of the span */
    GATHER_CLASSES = 16,          /* of lines by how often they are used */
    GATHER_QUANTILES = 21,        /* of distances from where a band is */
    GATHER_STEP_MAX = 512,        /* bytes */
    GATHER_ECHOES = 24,           /* octaves of accesses, back to where an echo comes from */
    GATHER_RUNS = 40,             /* octaves of how many steps are taken between two jumps */
    GATHER_KNOTS = 8,             /* moments for which the reach is known */
    GATHER_STRETCHES = 32,        /* of passes */
    GATHER_LEVELS = 48,           /* of a descent, */
    GATHER_DESCENT_FIRST = 1024,  /* accesses by which its root is found */
    GATHER_AREAS = 6,             /* far apart */
    GATHER_TURNS = 16,            /* from one area to another that are listed */
    GATHER_CURSORS_MAX = 1 << 20, /* of a class */
    GATHER_AHEAD = 64             /* addresses that a walk draws at once */
};

/* How the next place is chosen when no step leads there. */
enum gather_places {
    GATHER_ANYWHERE = 0, /* independently: by parts, and by classes of lines in them */
    GATHER_ONCE,         /* each place of the span once in a lap, in a random order */
    GATHER_BAND,         /* near a point that moves through the span, lap after lap */
    GATHER_CURSORS,      /* goes on at one of many points, each of which moves on by a step */
    GATHER_SWEEP,        /* onwards, by different steps */
    GATHER_AROUND,       /* near the last address of another reference */
    GATHER_PASSES,       /* through memory by one stride, then by another one */
    GATHER_DESCENT       /* from the root of a tree down, by one of two steps at each level */
};

/* A stretch of the span, from the end of the one before. */
struct gather_part {
    double end;   /* share of the span that is below it: of the last one 1 */
    double share; /* of the jumps, which lead anywhere in it */
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

/* From one place to another, the last that is not beyond, by a stride. */
struct gather_pass {
    uint64_t from, to; /* bytes from the base */
    int64_t stride;    /* not 0, and from one to the other */
};

/* So many passes, from the first to the last changing in line. */
struct gather_stretch {
    uint64_t passes;
    struct gather_pass first, last;
};

/* A level of a descent: how it is come to from the one above. */
struct gather_level {
    int64_t down, up;           /* bytes */
    double down_share, goes_on; /* of those that do not end above */
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
    /* Of the jumps, the shares that are followed by no step, by 2^(i-1) up to 2^i - 1 of them,
       where these are not as many as the chances say; else 0. */
    double runs[GATHER_RUNS];
    /* Jumps lead to each grid_bytes-th byte only, from base + grid_start on; 0: to any element. */
    uint32_t grid_bytes, grid_start;
    enum gather_places places;
    /* Anywhere (and where a band is left; and where a band's point is when): */
    uint32_t part_count; /* 1: uniform */
    struct gather_part parts[GATHER_PARTS];
    uint32_t class_count; /* 1: all lines alike; most used first */
    struct gather_class classes[GATHER_CLASSES];
    double fixed; /* share of a line's jumps that lead to one and the same element of it */
    /* Once, band: */
    uint64_t lap; /* jumps */
    bool same_order;
    uint64_t place_bytes; /* once: from one place to the next */
    bool downwards;
    double inside;                     /* band: share of the jumps that lie in it */
    int64_t offsets[GATHER_QUANTILES]; /* of these, elements from the point: gather_quantiles; and
                                          of those around another one, from there */
    /* Cursors: */
    uint32_t cursor_classes;
    struct gather_cursors cursors[GATHER_CLASSES];
    int64_t cursor_step;    /* bytes */
    int64_t sweep_bytes;    /* mean of steps that are not listed */
    uint32_t stretch_count; /* passes: one stretch after the other */
    struct gather_stretch stretches[GATHER_STRETCHES];
    uint64_t root;        /* descent: bytes from the base; */
    uint32_t level_count; /* below it */
    struct gather_level levels[GATHER_LEVELS];
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

struct psnap_gather {
    uint64_t accesses;
    uint32_t area_count;
    struct gather_area areas[GATHER_AREAS];
    double next_area[GATHER_AREAS][GATHER_AREAS];
    uint32_t turn_count; /* 0: by chance, as next_area says */
    struct gather_turn turns[GATHER_TURNS];
};

/* ---- collecting: gather_areas.c, gather_collect.c, gather_fit*.c ---- */

/* Of one reference. Here is what is used for each address: the room that the collector of the area
 * in use has for addresses, which are looked at when it is full or one lies elsewhere. */
struct gather_areas {
    uint64_t *room;
    size_t count, most; /* that are there */
    uint64_t low, span; /* of the area: from low to low + span */
};

/* Whether the first addresses of a reference, GATHER_DESCENT_FIRST and more, go down a tree again
 * and again, its root among them; false as well when memory is out. */
bool gather_is_descent(const uint64_t *addresses, size_t n);

struct gather_areas *gather_areas_new(void); /* NULL: out of memory */
void gather_areas_free(struct gather_areas *areas);
/* Before any address: they will be where walks begin, which come in the order of how long these
 * are, and that is drawn: there are no passes, nor descents. */
void gather_areas_of_walks(struct gather_areas *areas);
void gather_areas_put_elsewhere(struct gather_areas *areas, uint64_t address);

/* The next address. */
static inline void gather_areas_put(struct gather_areas *areas, uint64_t address)
{
    if (areas->count < areas->most && address - areas->low <= areas->span)
        areas->room[areas->count++] = address;
    else
        gather_areas_put_elsewhere(areas, address);
}

/* The next n addresses, each `step` behind the one before: as putting them one by one, mostly in
 * closed form where a sweep goes on. */
void gather_areas_put_run(struct gather_areas *areas, uint64_t first, uint64_t step, uint64_t n);

/* Whether nothing was lost because of memory; NULL is nothing collected, and whole. */
bool gather_areas_are_whole(const struct gather_areas *areas);
uint64_t gather_areas_count(const struct gather_areas *areas);
/* The lowest and the highest address, where *low and *high do not go further already. */
void gather_areas_range(const struct gather_areas *areas, uint64_t *low, uint64_t *high);
/* Sets the areas and the turns of the model. */
void gather_areas_fit(struct gather_areas *areas, struct psnap_gather *model);

/* ---- drawing: gather_walk.c ---- */

/* Of which shares offsets are the quantiles: 0 and 1, finer near these, 1 / 16 apart elsewhere. */
extern const double gather_quantiles[GATHER_QUANTILES];

struct gather_walk;

/* Of a model with areas, which is copied. NULL: out of memory. */
struct gather_walk *gather_walk_new(const struct psnap_gather *model, uint64_t seed);
void gather_walk_free(struct gather_walk *walk);
void gather_walk_next(struct gather_walk *walk, uint64_t *addresses, size_t n); /* the next ones */

/* Where the point is that a walk draws around: an address as far as `offset` from *last whenever a
 * jump is drawn, which therefore are not drawn ahead. */
void gather_walk_around(struct gather_walk *walk, const uint64_t *last, uint64_t offset);
/* The point does not move before so many have been taken: these may be drawn ahead. */
void gather_walk_rest(struct gather_walk *walk, uint64_t n);

/* Addresses that are still to be taken. */
struct gather_left {
    const uint64_t *at, *end;
};

/* What a walk has drawn ahead: its first member. */
struct gather_ahead {
    struct gather_left left;
    uint64_t addresses[GATHER_AHEAD];
};

/* Draws ahead, when all that was has been taken. */
void gather_walk_fill(struct gather_walk *walk);

/* As gather_walk_next of one. */
static inline uint64_t gather_walk_take(struct gather_walk *walk)
{
    struct gather_left *left = &((struct gather_ahead *)walk)->left;

    if (left->at == left->end)
        gather_walk_fill(walk);
    return *left->at++;
}

#endif
