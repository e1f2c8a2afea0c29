/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Folded tokens one after the other again (PST.md, "Tokens").
 *
 * Level m unfolds to the sequence that it was made of: what comes from the
 * level above goes down as it is, unless it is a copy of level m, in place of
 * which come items of the window of level m. The highest level is what was
 * written. A literal's value may only be known when the prediction it corrects
 * is; so nothing is unfolded before it is asked for, and a token goes to the
 * windows of all levels that it came through when it is done with.
 *
 * A copy that cannot be, as it reaches back further than there are items, ends
 * the track, which is then bad. Every copy gives at least one item, so no step
 * is made that is not paid for by a token.
 */
#include "formats/pst.h"

void psnap_pst_unfold_start(struct psnap_pst_unfolder *track)
{
    if (track->level_count == 0) {
        track->left = track->literals;
        track->literals = 0;
    }
    for (uint32_t i = 0; i < track->level_count; i++) {
        struct psnap_pst_unfold_level *level = &track->levels[i];

        level->left = level->copy_count ? level->copies->literals : UINT32_MAX;
    }
}

/* The next item as written: a copy, or the literals up to the next one, the first of which it
 * gives. Returns the level it comes from, 0: there is none. */
static uint32_t written(struct psnap_pst_unfolder *track, struct psnap_pst_token *item)
{
    uint32_t n = track->literals;

    for (uint32_t m = track->level_count; m > 0; m--) {
        struct psnap_pst_unfold_level *level = &track->levels[m - 1];

        if (level->left == 0) {
            const struct psnap_pst_copy *copy = level->copies++;

            *item = (struct psnap_pst_token){copy->from, copy->length, (uint16_t)m, 0};
            level->left = --level->copy_count ? level->copies->literals : UINT32_MAX;
            for (uint32_t above = m; above < track->level_count; above++)
                track->levels[above].left -= track->levels[above].copy_count > 0;
            return track->level_count;
        }
        n = level->left < n ? level->left : n;
    }
    for (uint32_t i = 0; i < track->level_count; i++) {
        track->levels[i].left -= track->levels[i].copy_count ? n : 0;
        track->bad |= n == 0 && track->levels[i].copy_count > 0;
    }
    if (n == 0)
        return 0;
    track->literals -= n;
    track->left = n;
    psnap_pst_unfold(track, item);
    item->level = 0;
    return track->level_count;
}

/* Starts a copy of level m that comes from level `from`. */
static bool start_copy(struct psnap_pst_unfolder *track, uint32_t m, uint32_t from,
                       const struct psnap_pst_token *copy)
{
    struct psnap_pst_unfold_level *level = &track->levels[m - 1];
    const uint64_t reach = copy->value >> 1 << (copy->value & 1);

    if (copy->value > UINT32_MAX || reach == 0 || reach > level->count ||
        reach > level->window_room || copy->run == 0)
        return false;
    level->length = copy->run;
    level->distance = (uint32_t)(copy->value >> 1);
    level->straight = copy->value & 1;
    for (uint32_t i = m; i < from; i++)
        psnap_pst_unfold_note(&track->levels[i], *copy);
    return true;
}

/* The next item of the sequence that level m unfolds to. Returns the level it comes from, 0: there
 * is none. */
static uint32_t next_item(struct psnap_pst_unfolder *track, uint32_t m,
                          struct psnap_pst_token *item)
{
    struct psnap_pst_unfold_level *level = &track->levels[m - 1];

    while (level->length == 0) {
        const uint32_t from =
            m < track->level_count ? next_item(track, m + 1, item) : written(track, item);

        if (from == 0 || item->level < m)
            return from;
        if (!start_copy(track, m, from, item)) {
            track->bad = true;
            return 0;
        }
    }
    psnap_pst_unfold_copied(level, item);
    track->literal = false;
    return m;
}

bool psnap_pst_unfold_item(struct psnap_pst_unfolder *track, struct psnap_pst_token *token)
{
    if (track->bad || track->level_count == 0)
        return false;
    track->from = next_item(track, 1, token);
    return track->from > 0;
}
