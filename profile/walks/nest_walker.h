/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A walker through nests: what nest_walker.c, which comes to leaves, nest_walker_draw.c, which
 * draws their addresses, and nest_walker_mix.c, which writes those of mixes, have in common.
 */
#ifndef PSNAP_PROFILE_NEST_WALKER_H
#define PSNAP_PROFILE_NEST_WALKER_H

#include "profile/walks/nest_past.h"
#include "profile/walks/nest_profile.h"
#include "profile/walks/nest_unroll.h"

enum {
    CHUNK = 256,       /* iterations of a leaf with drawn addresses */
    SHORT = 32,        /* accesses of a leaf that are written one by one, when there are fewer */
    SHORT_DRAWN = 256, /* the same where they are drawn */
    TRAIL = 2 * NEST_BACK_MAX
};

/* From which of the addresses before, with what chances. */
struct drawn_ways {
    struct drawing *drawing;
    uint64_t all, below[NEST_AFTER_MAX]; /* cumulative; all ones from the last one on */
    uint64_t offset[NEST_AFTER_MAX], scale[NEST_AFTER_MAX];
    const uint64_t *last[NEST_AFTER_MAX];  /* the draw's own last one, or another's, or */
    uint32_t back[NEST_AFTER_MAX];         /* so many back in the trail; 0: not that */
    uint32_t by[NEST_AFTER_MAX], by_count; /* the draws that were there, of the first ways */
    uint64_t low, span;                    /* where addresses are; all: anywhere */
    struct nest_past *past;                /* NULL: it comes back to none */
    uint32_t count;                        /* 0: not drawn so */
    bool is_plain;                         /* one, by the trail or from the draw's own */
    uint64_t share; /* of two steps from the draw's own, of the first one, of 2^64; or 0 */
};

struct drawing {
    struct gather_walk *rest, *entry; /* NULL: it goes with others */
    struct psnap_rng rng;             /* in which way it comes after others, */
    uint64_t turn;                    /* or goes on from its own by one of two steps */
    struct drawn_ways ways[2];        /* of the rest, of entries */
    uint64_t last;
    uint32_t next_leads[NEST_MARKS]; /* as the walker's lead_of */
    uint64_t *begun;    /* the last address of the draw that has the start of this one, or NULL */
    uint64_t points[2]; /* around which jumps are while a leaf lasts: of the rest, of entries */
};

/* How a reference's addresses come in a leaf: the next of the words that are left, plus the offset.
 * That is what a walk has drawn ahead, the last address of another draw, which stays there, or,
 * where nothing is drawn, the walker's own, which goes on by its stride. */
struct walker_access {
    struct gather_left *left;
    uint64_t offset;
    uint64_t *last, *begun; /* of its draw, and of that which has its start; or of nothing */
    struct psnap_access access;
    struct gather_walk *walk;      /* which draws more words when none are left */
    const struct drawn_ways *ways; /* or else: of several, one; or NULL */
    uint32_t draw;
    uint16_t step;            /* words that it takes: 0 or 1 */
    uint16_t back;            /* or else: so many back in the trail */
    uint16_t rests;           /* words of an iteration that all are drawn around one point,
                                 of which it takes the first; or 0 */
    bool is_drawn, is_around; /* another draw's last address: one is drawn at a time */
};

/* Those of a leaf, in its order; as `is_entry` says. */
struct walker_accesses {
    struct walker_access *of[2];
    struct gather_left *stay; /* of those that take no words */
    bool is_drawn, is_all_drawn, has_ways, has_rests;
    bool has_points; /* which depend on how long the leaf is */
    bool has_turns;  /* of two steps, which begin anew when the loop is come to */
};

struct mix_shorts;

struct mixing {
    struct mix_walk *walk;
    struct mix_shorts *shorts; /* its states that are written access by access */
    uint64_t visits;           /* that nests have; the chain's are shared by them */
    uint64_t due;
};

struct psnap_walker {
    struct psnap_nests *nests; /* refs are the caller's */
    struct nest_cursor cursor; /* in the present term */
    size_t term;               /* the next one */
    struct nest_unroll unroll; /* of loops that are written out */
    struct psnap_rng rng;
    struct drawing *draws;
    struct walker_accesses *accesses[2]; /* by shape number, of nests and of mixes */
    bool has_trail;                      /* there are ways, or others that need it: */
    uint64_t trail[TRAIL];               /* the latest addresses that were drawn, */
    uint32_t trail_by[TRAIL];            /* by which draws, up to */
    uint32_t trail_at;                   /* this - 1, modulo its length */
    uint64_t nothing;                    /* the last address of what is not drawn */
    uint32_t *draw_of;   /* by reference: what it draws from where it is drawn, or PSNAP_NONE */
    uint32_t *lead_of;   /* by reference: NEST_MARKS times a draw that has its last address, and
                            which of that one's leads it is, or PSNAP_NONE */
    uint64_t *positions; /* of walks */
    struct counts_draw *counts;
    struct mixing *mixes;
    /* The leaf under way: */
    const struct nest_shape *shape;
    const struct walker_accesses *refs;
    uint64_t left;       /* its iterations */
    uint32_t mix;        /* of which it is, or PSNAP_NONE */
    uint64_t mix_visits; /* of the chain that are still to come, this one included */
    uint32_t skipped;    /* 1 + the state of the mix that leaves nothing over after it, or 0 */
    bool is_cut;         /* it has drawn addresses */
    bool is_entry;       /* its loop has just been come to */
    uint32_t loop;       /* of the leaf before */
    struct psnap_access first[NEST_WIDTH_MAX], given[NEST_WIDTH_MAX];
    int64_t strides[NEST_WIDTH_MAX];
    struct psnap_column columns[NEST_WIDTH_MAX];
    uint64_t (*drawn)[CHUNK]; /* by reference, */
    uint64_t *interleaved;    /* and of several */
};

/* Whether it is the second of two steps that comes, as evenly as can be: of n since its loop was
 * come to the first are n times their share, rounded down. What goes on by this step or that, as
 * one of two that are merged, is then where it was, not the square root of n away, and never
 * beyond. */
static inline bool walker_turn(const struct drawn_ways *ways)
{
    return !__builtin_add_overflow(ways->drawing->turn, ways->share, &ways->drawing->turn);
}

/* An address after others that were drawn before. No branch tells which of them. */
static inline uint64_t walker_after(const struct psnap_walker *w, const struct drawn_ways *ways)
{
    const uint64_t x = ways->count <= 1 ? 0
                       : ways->share    ? ways->below[0] * walker_turn(ways)
                                        : psnap_rng_below(&ways->drawing->rng, ways->all);
    const uint64_t *word;
    uint64_t address;
    uint32_t which = 0, back;

    for (uint32_t i = 0; i + 1 < NEST_AFTER_MAX; i++)
        which += x >= ways->below[i];
    for (uint32_t i = ways->by_count; i-- > 0;)
        which = w->trail_by[(w->trail_at - ways->back[i]) % TRAIL] == ways->by[i] ? i : which;
    back = ways->back[which];
    word = back ? &w->trail[(w->trail_at - back) % TRAIL] : ways->last[which];
    address = *word * ways->scale[which] + ways->offset[which];
    address = address - ways->low < ways->span ? address : ways->low;
    if (ways->past)
        nest_past_put(ways->past, address);
    return address;
}

static inline void walker_drawn(struct psnap_walker *w, uint32_t draw, uint64_t address)
{
    w->trail_by[w->trail_at % TRAIL] = draw;
    w->trail[w->trail_at++ % TRAIL] = address;
}

/* The next address of a reference. `has_trail` is the walker's. */
static inline uint64_t walker_take(struct psnap_walker *w, const struct walker_access *access,
                                   bool has_trail)
{
    struct gather_left *left = access->left;
    const uint64_t *word;
    uint64_t address;

    if (left->at == left->end)
        gather_walk_fill(access->walk);
    word = left->at;
    left->at = word + access->step;
    if (has_trail && access->back)
        word = &w->trail[(w->trail_at - access->back) % TRAIL];
    address = *word + access->offset;
    if (has_trail && access->ways)
        address = walker_after(w, access->ways);
    *access->last = address;
    if (has_trail) { /* longer than anyone looks back: what is not drawn does no harm */
        w->trail[w->trail_at % TRAIL] = address;
        w->trail_by[w->trail_at % TRAIL] = access->draw;
        w->trail_at += access->is_drawn;
        *access->begun = address;
    }
    return address;
}

/* For all leaves; false: out of memory. */
bool walker_draw_init(struct psnap_walker *w);
void walker_draw_release(struct psnap_walker *w);
/* The drawn addresses of n iterations of the leaf under way, as columns. */
void walker_draw_chunk(struct psnap_walker *w, uint64_t n);
/* n iterations of the leaf under way, access by access. */
void walker_write_short(struct psnap_walker *w, uint64_t n, struct psnap_access *block);

/* For a mix whose walk is there, after walker_draw_init; false: out of memory. */
bool walker_mix_init(struct psnap_walker *w, uint32_t mix);
void walker_mix_release(struct psnap_walker *w, uint32_t mix);
/* Writes leaves of the mix under way, as far as they are short and there is room for them; how many
 * accesses. *token is the next leaf, which is not short, or NULL. */
size_t walker_write_mix(struct psnap_walker *w, struct psnap_access *block, size_t capacity,
                        const struct mix_token **token);

#endif
