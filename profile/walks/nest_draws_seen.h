/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the parts of nest_draws.h share, private to them: nest_draws.c (draws, and what is put into
 * them one by one), nest_draws_batch.c (many at once), nest_draws_leaders.c (which ones go with
 * others), nest_draws_decide.c (entries and copies, by the first addresses) and nest_draws_take.c
 * (models in the end).
 */
#ifndef PSNAP_PROFILE_NEST_DRAWS_SEEN_H
#define PSNAP_PROFILE_NEST_DRAWS_SEEN_H

#include "profile/gathers/gather.h"
#include "profile/walks/nest_after.h"
#include "profile/walks/nest_around.h"
#include "profile/walks/nest_draws.h"

enum {
    DRAW_FIRST = 1024,          /* addresses until entries are told apart or not */
    DRAW_RECENT = NEST_LEADERS, /* references that may be leaders */
    DRAW_DEPTH = 16,            /* leaders of leaders */
    DRAW_JUMPED = 32            /* parts with jumps in one leaf or state */
};

/* Which share of its addresses leads back to that before the last, of what recurs. */
#define DRAW_COMES_BACK 0.125

struct follower {
    uint64_t offset;
    uint64_t all, held; /* addresses looked at, and those at the present leader's offset */
    uint64_t excused;   /* of all, those before the youngest draw came: its reference was there
                           before, but told in another way */
    uint32_t leader;    /* or PSNAP_NONE */
    uint32_t tried;     /* leaders, one after the other */
    int trust;
    uint32_t rest;                /* addresses that are not looked at */
    uint64_t unseen, unseen_held; /* those so far, and of them those while the leader held */
    bool has_failed;              /* since the present leader was chosen */
    bool has_moved;               /* from `first`, the address when that was */
    uint64_t first;
};

enum { DRAW_REST, DRAW_ENTRY, DRAW_ALL };

struct draw_key {
    const char *loop; /* of the source */
    uint32_t src_line, object;
    uint8_t size, kind;
};

struct draw {
    /* What each address needs: */
    uint64_t last, begun;          /* begun: when its loop was come to last; 0: it was not yet */
    uint64_t moved;                /* from there to the last address, of all times before */
    struct gather_areas *areas[2]; /* of the rest, or of all; of entries; NULL: nothing yet */
    uint32_t into;                 /* what it is: its pool, or itself */
    uint32_t pool; /* the draw of its copies and itself as one, while that is not decided */
    bool is_decided, is_split;
    bool is_pool, is_apart; /* a pool; not a copy, though it looks like one */
    bool is_gone;           /* a pool of what are no copies */
    bool comes_back;        /* its ways lead to its own earlier addresses */
    bool has_more;          /* a pool of copies that others have joined later */
    bool is_lost;           /* one of those: that it goes with another draw is not looked for */
    uint32_t batch_first;   /* the first of its references in the batch */
    uint64_t batch;         /* that it was in last */
    struct follower followers[3];
    /* The rest: */
    struct draw_key key;
    struct nest_rows *rows[3];   /* of parts whose leaders fail; */
    struct nest_jumps *jumps[3]; /* and how they jump */
    uint32_t around[2];          /* 1 + around which draw a part is, or 0 */
    uint32_t leaders[2][NEST_BACK_MAX], leader_counts[2]; /* of parts that come after others */
    uint64_t *first;                                      /* addresses until it is decided, */
    bool *first_is_entry;
    uint32_t first_count;
};

struct nest_draws {
    const struct psnap_program *program;
    struct draw *draws;
    size_t count, room;
    uint32_t recent[DRAW_RECENT]; /* the last one first; PSNAP_NONE: none */
    struct nest_trail trail;
    /* Parts of draws whose jumps do not know yet how long that is in which they were, and what is
     * left over after that, which is of this loop: */
    struct jumped {
        uint32_t draw;
        unsigned part;
    } jumped[DRAW_JUMPED], past[DRAW_JUMPED];
    uint32_t jumped_count, past_count, past_loop;
    uint64_t batches; /* of references that drew together */
    bool has_pools;
    bool is_out_of_memory;
};

/* One that always held needs no model. */
static inline bool draw_is_collected(const struct draw *draw, unsigned part)
{
    enum { SURE = 256 /* addresses after which one that never failed is believed */ };

    return draw->followers[part].has_failed || draw->followers[part].held < SURE;
}

/* The address that it has when its loop has been come to. */
static inline void draw_begin(struct draw *draw, uint64_t address)
{
    draw->moved += draw->begun ? draw->last - draw->begun : 0;
    draw->begun = address;
}

/* ---- nest_draws.c ---- */

/* What a draw has collected is freed. */
void draw_drop(struct draw *draw);
/* One more; PSNAP_NONE: out of memory. */
uint32_t draw_add(struct nest_draws *draws, const struct draw_key *key);
/* Where addresses of what is told apart, or of all, go; NULL: out of memory. */
struct gather_areas *draw_areas(struct nest_draws *draws, struct draw *draw, unsigned k);
/* One address goes there. */
void draw_collect(struct nest_draws *draws, struct draw *draw, unsigned k, uint64_t address);

/* ---- nest_draws_leaders.c ---- */

/* Whether it is trusted that one part goes with another draw. */
bool draw_follows(const struct follower *follower);
/* There is another draw, which may be what those that follow nobody go with. */
void draws_excuse(struct nest_draws *draws);
/* One more address of a part is compared with its leader's. */
void draw_follow(struct nest_draws *draws, uint32_t index, struct follower *follower,
                 uint64_t address);
/* The same for one of a pool, which may be no copy after all. */
void draw_follow_apart(struct nest_draws *draws, uint32_t index, uint64_t address);
/* It is the one that came last. */
void draws_remember(struct nest_draws *draws, uint32_t index);

/* ---- nest_draws_decide.c ---- */

/* A part of a draw, as the context of a nest_may_lead: */
struct leading {
    const struct nest_draws *draws;
    uint32_t index;
    unsigned part;
};

/* Whether it may go with that one at all. */
bool draw_is_another(void *context, uint32_t draw, enum nest_lead lead);
/* The pool of what looks like copies of a draw, which is not decided yet; PSNAP_NONE: out of
 * memory. */
uint32_t draw_pool_of(struct nest_draws *draws, uint32_t index);
/* Whether entries are told apart. */
void draw_decide(struct nest_draws *draws, uint32_t index);
/* Whether those of a pool are copies; false: they are apart from now on. */
bool draw_decide_pool(struct nest_draws *draws, uint32_t pool);
/* In the end: whether each of them goes with another draw by itself. */
void draw_part_pool(struct nest_draws *draws, uint32_t pool);

#endif
