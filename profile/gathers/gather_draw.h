/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Drawing from one area of an irregular reference: what gather_walk.c, which has the areas and the
 * generator, gather_draw.c, which draws steps, and gather_places.c, which draws jumps, have in
 * common.
 *
 * Addresses are drawn some tens at a time. First it is told what each is, a step, a jump or an
 * echo, and which words of the generator it takes, one after the other; then where all jumps lead,
 * in loops without a branch that nobody could predict, and in which one waits for no other; then
 * come the addresses, one after the other. What comes out is as if each had been drawn by itself.
 */
#ifndef PSNAP_PROFILE_GATHER_DRAW_H
#define PSNAP_PROFILE_GATHER_DRAW_H

#include "profile/gathers/gather.h"

enum {
    GATHER_UNIT = 64,         /* bytes: what classes are of */
    GATHER_HISTORY = 1 << 17, /* addresses that echoes come from */
    GATHER_BATCH = 64,        /* addresses drawn at once, at most */
    GATHER_WORDS_EACH = 12    /* of the generator, that an address may take, at most */
};

/* A one-to-one map of [0, n) onto itself, one of many. */
struct gather_map {
    uint64_t n, mask, order;
    unsigned shift;
};

/* Lines that are drawn from: of a part, or of the span. */
struct gather_lines {
    struct gather_map map;
    uint64_t low; /* the first one */
    double count;
    uint64_t known; /* where that begins which is known of them */
};

/* Drawing from one area. */
struct gather_draw {
    struct gather_area model;
    uint32_t next[GATHER_STEPS + 1][GATHER_STEPS + 2]; /* cumulative, of 2^32 */
    /* By kind; one more for echoes: */
    uint64_t steps[GATHER_STEPS + 2];   /* bytes, of kind 0 that of a sweep */
    uint64_t around[GATHER_STEPS + 2];  /* what is added when one leads out of the span */
    uint64_t is_step[GATHER_STEPS + 2]; /* all ones, else 0: an offset that was drawn */
    bool is_steady;                     /* all are the same step, whatever is drawn */
    bool is_walk;                       /* jumps are few */
    uint32_t kind;                      /* of the last step */
    bool has_runs;                      /* how many steps come is drawn: */
    uint64_t run;                       /* those that are left */
    uint32_t runs[GATHER_RUNS];         /* cumulative, of 2^32 */
    uint64_t at;                        /* the last offset */
    uint64_t count;
    uint64_t lap_at, laps; /* jumps of the model's lap, and laps before it */
    uint64_t elements, units;
    uint64_t inverse;                  /* 2^64 / element_bytes, rounded up; 0: not exact */
    uint32_t parts[GATHER_PARTS];      /* cumulative, of 2^32 */
    uint64_t bounds[GATHER_PARTS + 1]; /* where they begin: elements */
    struct gather_lines lines[GATHER_PARTS + 1]; /* of each part; the last one of the span */
    /* Or NULL: what is in each line, of those of a part in the order of its map: the first element
       above twice as many bits, how many and the fixed one in so many each. */
    uint32_t *known, known_bits;
    bool is_everywhere[GATHER_CLASSES]; /* there are lines of the class in each part */
    uint8_t part_guide[257];            /* the part at which each 256th begins */
    uint32_t classes[GATHER_CLASSES];   /* cumulative, of 2^32 */
    uint8_t class_guide[256];           /* the class at which each 256th begins */
    double ranks[GATHER_CLASSES + 1];
    double quantiles[GATHER_PARTS + 1];
    uint64_t fixed, inside, echo; /* shares, of 2^53 */
    uint32_t jump_words;          /* that each jump takes; 0: none, or not always as many */
    uint32_t echoes[GATHER_ECHOES];
    uint64_t *history, history_mask; /* a ring, when there are echoes */
    uint64_t order;
    const uint64_t *leader; /* the last address of another reference, or NULL, */
    uint64_t leader_offset; /* and how far from it the point is that is drawn around */
    uint32_t cursor_shares[GATHER_CLASSES];
    uint64_t cursor_first[GATHER_CLASSES];
    double cursor_from[GATHER_CLASSES];
    uint32_t *cursor_counts;
    uint64_t level_at;             /* of a descent: where it is, */
    uint32_t level;                /* and how far down */
    uint32_t stretch;              /* of passes: the present one, */
    uint64_t pass, pass_left;      /* which pass of it, and addresses that it still has, */
    uint64_t pass_at, pass_stride; /* the next of them, and how far it goes on */
};

/* Addresses that are being drawn. */
struct gather_batch {
    uint32_t count;
    uint8_t kinds[GATHER_BATCH];
    const uint64_t *from[GATHER_BATCH]; /* the offset of what is no step */
    /* Jumps: */
    uint32_t jumps, inside, outside; /* how many; in a band, and not */
    uint8_t numbers[GATHER_BATCH];   /* which addresses they are */
    const uint64_t *words[GATHER_BATCH];
    uint64_t lap_at[GATHER_BATCH], laps[GATHER_BATCH];
    uint64_t offsets[GATHER_BATCH];                              /* where they lead */
    uint8_t are_inside[GATHER_BATCH], are_outside[GATHER_BATCH]; /* which jumps */
};

/* ---- words of the generator ---- */

/* As psnap_rng_below. */
static inline uint64_t gather_below(uint64_t word, uint64_t bound)
{
    __extension__ typedef unsigned __int128 wide;

    return (uint64_t)((wide)word * bound >> 64);
}

static inline double gather_unit(uint64_t word)
{
    return (double)(word >> 11) * 0x1p-53;
}

/* Which of n + 1 ascending shares x falls in, the last of them all ones; without a branch. */
static inline uint32_t gather_pick(const uint32_t *cumulative, unsigned n, uint32_t x)
{
    uint32_t below = 0;

    x -= x == UINT32_MAX;
    for (unsigned i = 0; i < n; i++)
        below += x >= cumulative[i];
    return below;
}

/* How many words a jump anywhere takes, from here on. */
static inline uint32_t gather_words_anywhere(const struct gather_draw *draw, const uint64_t *words)
{
    if (draw->model.class_count == 1)
        return 2;
    return draw->fixed ? 4 - (words[2] >> 11 < draw->fixed) : 3;
}

/* ---- gather_draw.c ---- */

/* False: out of memory. Released whatever it returns. */
bool gather_draw_init(struct gather_draw *draw, const struct gather_area *model, uint64_t order);
void gather_draw_release(struct gather_draw *draw);
/* Adds n addresses to a batch that has room for them; how many words they take. */
uint32_t gather_draw_plan(struct gather_draw *draw, struct gather_batch *batch,
                          const uint64_t *words, uint32_t n);
/* The addresses of the batch, which is empty then; how many. */
uint32_t gather_draw_write(struct gather_draw *draw, struct gather_batch *batch,
                           uint64_t *addresses);
/* The next one of an area that is drawn around another reference's last address; how many words it
 * takes. */
uint32_t gather_draw_one(struct gather_draw *draw, const uint64_t *words, uint64_t *address);
/* The next ones of a steady area. */
void gather_draw_steady(struct gather_draw *draw, uint64_t *addresses, size_t n);

/* ---- gather_places.c ---- */

/* Finds out what is in each line, if that is worth while. False: out of memory. */
bool gather_know_lines(struct gather_draw *draw);
struct gather_map gather_map_of(uint64_t n, uint64_t order);
/* Where a single jump around another reference's last address leads; *words is moved on. */
uint64_t gather_place_around(const struct gather_draw *draw, const uint64_t **words);
/* Where the jumps of a batch lead. */
void gather_places(struct gather_draw *draw, struct gather_batch *batch);

#endif
