/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which draws go with which. A reference may always be as far from the last address of another
 * one, its leader, as it was before: the store behind the load of a histogram's cell, the fields
 * of a node. Leaders are tried among the references that came last, one after the other, until one
 * holds. What is always at one address goes with nobody, though it is as far from another that is
 * at one address, too, as long as somebody looks: terms that were told affinely are drawn one
 * after the other, and what came with the addresses of one may see only the last of these.
 */
#include "profile/walks/nest_draws_seen.h"

enum {
    PATIENCE = 4,      /* failures, less what held since, until the next is tried */
    FOLLOWS_SHARE = 8, /* a follower holds in all but one of so many */
    LONG = 1 << 16,    /* addresses after which only some are looked at for leaders: */
    LOOK = 1 << 12,    /* so many, of as many as */
    LOOK_OF = 1 << 16
};

/* Of what does not count as excused. */
static bool holds(const struct follower *follower)
{
    const uint64_t all = follower->all - follower->excused;

    return follower->leader != PSNAP_NONE && follower->trust >= PATIENCE &&
           follower->held >= all - all / FOLLOWS_SHARE;
}

bool draw_follows(const struct follower *follower)
{
    return holds(follower) && follower->has_moved &&
           follower->held + follower->unseen_held >= (follower->all + follower->unseen) / 2;
}

/* There is another draw, which may be what those that follow nobody go with. */
void draws_excuse(struct nest_draws *draws)
{
    for (size_t i = 0; i < draws->count; i++)
        for (unsigned k = 0; k < 3; k++) {
            struct follower *follower = &draws->draws[i].followers[k];
            if (!draw_follows(follower))
                follower->excused = follower->all;
            draws->draws[i].is_lost = false;
        }
}

/* Whether leaders that are trusted lead from one draw to another. */
static bool leads_to(const struct nest_draws *draws, uint32_t from, uint32_t to, unsigned depth)
{
    const struct draw *draw = &draws->draws[from];

    if (from == to || depth == DRAW_DEPTH)
        return true;
    for (unsigned k = 0; k < 3; k++) {
        const struct follower *follower = &draw->followers[k];
        const bool is_used = !draw->is_decided || (k == DRAW_ALL) != draw->is_split;
        if (is_used && follower->leader != PSNAP_NONE && follower->trust >= PATIENCE &&
            leads_to(draws, follower->leader, to, depth + 1))
            return true;
    }
    return false;
}

/* The next of those that came last takes its turn as the leader. */
static void choose_leader(struct nest_draws *draws, uint32_t index, struct follower *follower,
                          uint64_t address)
{
    uint32_t known = 0;

    while (known < DRAW_RECENT && draws->recent[known] != PSNAP_NONE)
        known++;
    follower->leader = known ? draws->recent[follower->tried++ % known] : PSNAP_NONE;
    follower->has_failed = follower->has_moved = false;
    follower->first = address;
    follower->held = follower->unseen_held = 0;
    follower->trust = 0;
    if (follower->leader != PSNAP_NONE &&
        (follower->leader == index || follower->leader == draws->draws[index].into ||
         draws->draws[follower->leader].pool == index))
        follower->leader = PSNAP_NONE;
    if (follower->leader != PSNAP_NONE)
        follower->offset = address - draws->draws[follower->leader].last;
}

void draw_follow(struct nest_draws *draws, uint32_t index, struct follower *follower,
                 uint64_t address)
{
    if (follower->rest) {
        follower->rest--;
        return;
    }
    follower->all++;
    if (follower->all > LONG && follower->all % LOOK == 0) {
        follower->rest = LOOK_OF - LOOK;
        follower->unseen += follower->rest;
        follower->unseen_held += follower->trust >= PATIENCE ? follower->rest : 0;
    }
    if (follower->leader != PSNAP_NONE &&
        address - draws->draws[follower->leader].last == follower->offset) {
        follower->held++;
        follower->has_moved |= address != follower->first;
        follower->trust += follower->trust < 2 * PATIENCE;
        if (follower->trust == PATIENCE && leads_to(draws, follower->leader, index, 0))
            choose_leader(draws, index, follower, address);
        return;
    }
    follower->has_failed = true;
    if (follower->leader == PSNAP_NONE || --follower->trust < -PATIENCE)
        choose_leader(draws, index, follower, address);
    else if (!follower->held)
        follower->offset = address - draws->draws[follower->leader].last;
}

void draw_follow_apart(struct nest_draws *draws, uint32_t index, uint64_t address)
{
    struct draw *draw = &draws->draws[index];
    struct follower *follower = &draw->followers[DRAW_ALL];

    if (draw->is_lost)
        return;
    draw_follow(draws, index, follower, address);
    draw->is_lost = follower->all - follower->excused > LONG && !holds(follower);
}

void draws_remember(struct nest_draws *draws, uint32_t index)
{
    uint32_t *recent = draws->recent, before = index;

    for (unsigned i = 0; i < DRAW_RECENT; i++) {
        const uint32_t here = recent[i];
        recent[i] = before;
        if (here == index)
            return;
        before = here;
    }
}
