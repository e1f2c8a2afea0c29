/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A walker through nests: what nest_walker.c, which comes to leaves, nest_walker_draw.c, which
 * draws their addresses, and nest_walker_mix.c, which writes those of mixes, have in common.
 */
#ifndef PSNAP_PROFILE_NEST_WALKER_H
#define PSNAP_PROFILE_NEST_WALKER_H

#include "profile/walks/nest_profile.h"
#include "profile/walks/nest_unroll.h"

enum {
    CHUNK = 256, /* iterations of a leaf with drawn addresses */
    SHORT = 32   /* accesses of a leaf that are written one by one, when there are fewer */
};

struct drawing {
    struct gather_walk *rest, *entry; /* NULL: it goes with others */
    struct psnap_rng rng;             /* in which way it comes after others */
    uint64_t last;
};

/* How a reference's addresses come, where others of its leaf are drawn: from a walk, or as far as
 * ever from the last one of another draw, or after those before, or, when all are NULL, affinely.
 */
struct drawn_ref {
    struct gather_walk *walk;
    const uint64_t *from;
    uint64_t offset;
    const struct nest_source *after; /* of `drawing`, or NULL */
    struct drawing *drawing;
    uint64_t *last; /* of its draw */
};

/* Those of a leaf, in its order; as `is_entry` says. Both NULL: nothing is drawn. */
struct drawn_refs {
    struct drawn_ref *of[2];
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
    struct drawn_refs *drawn_refs[2]; /* by shape number, of nests and of mixes */
    uint64_t trail[NEST_BACK_MAX];    /* the latest addresses that were drawn, up to */
    uint32_t trail_at;                /* this - 1, modulo its length */
    uint32_t *draw_of;   /* by reference: what it draws from where it is drawn, or PSNAP_NONE */
    uint64_t *positions; /* of walks */
    struct counts_draw *counts;
    struct mixing *mixes;
    /* The leaf under way: */
    const struct nest_shape *shape;
    const struct drawn_refs *refs;
    uint64_t left;       /* its iterations */
    uint32_t mix;        /* of which it is, or PSNAP_NONE */
    uint64_t mix_visits; /* of the chain that are still to come, this one included */
    bool is_cut;         /* it has drawn addresses */
    bool is_entry;       /* its loop has just been come to */
    uint32_t loop;       /* of the leaf before */
    struct psnap_access first[NEST_WIDTH_MAX], given[NEST_WIDTH_MAX];
    int64_t strides[NEST_WIDTH_MAX];
    struct psnap_column columns[NEST_WIDTH_MAX];
    uint64_t (*drawn)[CHUNK]; /* by reference, */
    uint64_t *interleaved;    /* and of several */
};

/* An address after others that were drawn before. */
static inline uint64_t walker_after(const struct psnap_walker *w, const struct nest_source *source,
                                    struct drawing *drawing)
{
    const struct nest_after *after = source->after;
    uint64_t all = 0, x;

    for (uint32_t i = 0; i < source->after_count; i++)
        all += after[i].times;
    x = source->after_count > 1 ? psnap_rng_below(&drawing->rng, all) : 0;
    while (x >= after->times)
        x -= after++->times;
    if (!after->back)
        return drawing->last + after->offset;
    return w->trail[(w->trail_at - after->back) % NEST_BACK_MAX] + after->offset;
}

static inline void walker_drawn(struct psnap_walker *w, uint64_t address)
{
    w->trail[w->trail_at++ % NEST_BACK_MAX] = address;
}

/* For all leaves that are drawn from; false: out of memory. */
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
