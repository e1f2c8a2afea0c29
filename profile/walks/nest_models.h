/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What leaves of nests (nests.h) draw from where nothing affine gives it: addresses, counts, and
 * in a mix the leaves themselves.
 */
#ifndef PSNAP_PROFILE_NEST_MODELS_H
#define PSNAP_PROFILE_NEST_MODELS_H

#include "profile/mixes/counts.h"
#include "profile/gathers/gather.h"
#include "profile/mixes/mix.h"
#include "profile/walks/nests.h"

enum {
    NEST_BACK_MAX = 8, /* addresses that were drawn before, which are known */
    NEST_AFTER_MAX = 4,
    NEST_EARLIER_MAX = 8,
    NEST_SCALE_MAX = 64,
    NEST_SLOPE_MAX = 1 << 20, /* bytes */
    NEST_MARKS = 4 /* references that are not drawn, of those that came last, which are known */
};

/* As far from the address that was drawn so many ago, 1 to NEST_BACK_MAX, whatever drew it; 0: from
 * the draw's own last one; or from the last one of another draw. Or, in an array whose elements
 * have so many children each (a heap), from those of that element: `offset` is from the address
 * times `scale`. */
struct nest_after {
    uint32_t back;
    uint32_t times; /* how often, in relation to others */
    uint64_t offset;
    uint32_t draw;    /* 1 + the other one, or 0 */
    uint32_t by;      /* 1 + the draw of which that address must be, or 0 */
    uint32_t scale;   /* 1 to NEST_SCALE_MAX; 0 is 1 */
    uint32_t earlier; /* or the draw's own so many back, 1 to NEST_EARLIER_MAX: the last one, that
                         from which it came there, ... (nest_past.h); else 0 */
    bool is_left;     /* from where that one came back to an earlier address last, not its last */
    bool is_start;    /* while it is collected: from where that one's loop was come to last */
    uint32_t also[NEST_MARKS - 1]; /* then, too: 1 + others that are no draws, whichever came last;
                                      or 0 */
};

/* Addresses: those of a gather, or as far as ever from the last one of another draw, or in one of
 * a few ways from those that were drawn just before. */
struct nest_source {
    uint32_t with; /* the other one, PSNAP_NONE: a gather of its own, if there is no `after` */
    uint64_t offset;
    uint32_t after_count;
    /* Those that ask by whom an address was come first: the first of them that holds is taken; then
       one of the others, or the last one if there are none. */
    struct nest_after after[NEST_AFTER_MAX];
    uint64_t low, span_bytes; /* with `after`: where addresses are; one that would lie elsewhere is
                                 the lowest; 0: anywhere */
    uint32_t around; /* PSNAP_NONE, or another draw: as far as `offset` from its last address is the
                        point around which the gather's jumps are, */
    int64_t slope;   /* and so much further for each iteration that comes then, */
    int64_t rest_slope;         /* and for each of what is left over after these (mix.h) */
    bool is_around_ref;         /* while it is collected: it is a reference that is not drawn */
    struct psnap_gather gather; /* of no accesses: none were drawn */
};

/* Whether some ways lead back to the draw's own earlier addresses. */
static inline bool nest_comes_back(const struct nest_source *source)
{
    bool comes_back = false;

    for (uint32_t i = 0; i < source->after_count; i++)
        comes_back |= source->after[i].earlier != 0;
    return comes_back;
}

/* A scaled offset as people read it, counted from where addresses are, is larger by this. */
static inline uint64_t nest_after_origin(const struct nest_source *source,
                                         const struct nest_after *after)
{
    return after->scale > 1 ? (after->scale - (uint64_t)1) * source->low : 0;
}

/* What a reference draws; when its loop has just been come to it may be something else: the head of
 * a list, the root of a tree, the middle of an array. Or nothing, and it has an address for others
 * to go with: the last one that a reference had in a leaf that has ended, where that is not drawn,
 * or what another draw gave when its loop was come to last. */
struct nest_draw {
    uint32_t loop;              /* of its references, once taken into a profile */
    uint32_t leads[NEST_MARKS]; /* 1 + the references of which it only has the last address, of
                                   whichever came last; or 0 */
    uint32_t start;             /* 1 + the draw that it only has the start of, or 0 */
    bool has_entry;
    struct nest_source rest, entry;
};

/* Whether nothing is drawn from it. */
static inline bool nest_draw_is_lead(const struct nest_draw *draw)
{
    return draw->leads[0] || draw->start;
}

static inline const struct nest_source *nest_source_of(const struct nest_draw *draw, bool is_entry)
{
    return is_entry && draw->has_entry ? &draw->entry : &draw->rest;
}

/* Where a reference that continues begins. */
struct nest_walk {
    uint32_t loop;
    uint64_t address;
};

/* Loops in no order that folds: leaves drawn from a chain, whose states are these shapes, with
 * strides of the references of which only the first address is drawn. */
struct nest_mix {
    struct psnap_mix *chain; /* owned, as are both lists */
    const struct nest_shape **states;
    const uint64_t **strides; /* by state, 0 where every address is drawn */
};

struct nest_models {
    struct nest_draw *draws;
    uint32_t *draw_numbers; /* owned: where a reference's draw is among them, of nests that have not
                               been joined yet; or NULL: there */
    struct nest_walk *walks;
    struct psnap_counts *counts;
    struct nest_mix *mixes;
    uint32_t draw_count, walk_count, count_count, mix_count;
    struct nest_patterns *shapes; /* of the mixes' states */
};

void nest_models_free(struct nest_models *models);
/* Room for so many states; false: out of memory. */
bool nest_mix_init(struct nest_mix *mix, uint32_t states);
/* Sets a state to a shape as it is among the models' own; false: out of memory. */
bool nest_mix_set(struct nest_models *models, struct nest_mix *mix, uint32_t state,
                  const struct nest_shape *shape, const uint64_t *strides);

static inline bool nests_have_models(const struct psnap_nests *nests)
{
    const struct nest_models *m = nests->models;

    return m && (m->draw_count || m->walk_count || m->count_count || m->mix_count);
}

/* Adds copies of all, behind what is there, shapes as nest_pattern_copy changes them; draws that
 * are drawn with others are so with their copies. False: out of memory. */
bool nest_models_append(struct nest_models *to, const struct nest_models *from,
                        void (*change)(void *context, struct nest_shape *shape), void *context);
/* A copy, shapes as nest_pattern_copy changes them; NULL: out of memory. */
struct nest_models *nest_models_copy(const struct nest_models *models,
                                     void (*change)(void *context, struct nest_shape *shape),
                                     void *context);

#endif
