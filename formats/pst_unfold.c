/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Folded tokens one after the other again (PST.md, "Tokens"). What copies say
 * is checked before the first token, so that giving them out cannot fail and
 * never looks back further than there are tokens.
 */
#include "formats/pst.h"

/* The literals up to the next copy are those that come now. */
static void start_segment(struct psnap_pst_unfolder *track)
{
    track->left = track->copy_count ? track->copies->literals : track->literals;
    track->literals -= track->left;
}

bool psnap_pst_unfold_check(struct psnap_pst_unfolder *track)
{
    uint64_t count = 0, literals = 0;

    for (uint32_t i = 0; i < track->copy_count; i++) {
        const struct psnap_pst_copy *copy = &track->copies[i];
        const uint64_t reach = (uint64_t)(copy->from >> 1) << (copy->from & 1);

        literals += copy->literals;
        count += copy->literals;
        if (literals > track->literals || reach == 0 || reach > count ||
            reach > track->window_room || copy->length == 0)
            return false;
        count += copy->length;
        if (count > PSNAP_PST_CHUNK_MAX)
            return false;
    }
    start_segment(track);
    return true;
}

static const struct psnap_pst_token *before(const struct psnap_pst_unfolder *track, uint32_t back)
{
    return &track->window[(track->count - back) & (track->window_room - 1)];
}

/* Starts the copy that is next, if there is one. */
static bool start_copy(struct psnap_pst_unfolder *track)
{
    if (track->copy_count == 0)
        return false;
    track->length = track->copies->length;
    track->distance = track->copies->from >> 1;
    track->straight = track->copies->from & 1;
    track->copies++;
    track->copy_count--;
    start_segment(track);
    return true;
}

bool psnap_pst_unfold_copy(struct psnap_pst_unfolder *track, struct psnap_pst_token *token)
{
    if (track->length == 0 && !start_copy(track))
        return false;
    *token = *before(track, track->distance);
    if (track->straight) {
        const struct psnap_pst_token *second = before(track, track->distance * 2);
        token->value = 2 * token->value - second->value;
        token->run = 2 * token->run - second->run;
    }
    track->length--;
    track->literal = false;
    return true;
}
