/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mixes whose leaves are short, access by access. Tokens are drawn first, some tens of them, and
 * told as a list of accesses; then these are written, each in the same way: an address is some word
 * plus an offset, be it the next one that a walk has drawn ahead, the last one of another draw, or
 * one of those just before. So there is no branch that depends on what was drawn. Tokens draw from
 * a generator of their own, and so does each walk: the order in which they do does not matter.
 */
#include <stdlib.h>
#include <string.h>

#include "profile/walks/nest_walker.h"

enum { LISTED = 512 /* accesses */ };

/* A state whose addresses are all drawn. */
struct mix_short {
    uint32_t loop, width;
    uint32_t most;             /* iterations that are written here; 0: none */
    uint16_t listed[2][SHORT]; /* its accesses, iteration by iteration; the first is of an entry */
};

struct mix_shorts {
    struct walker_access *accesses;
    struct mix_short states[];
};

/* `used` accesses are there before its own. */
static void set_state(struct mix_shorts *shorts, struct mix_short *state,
                      const struct nest_shape *shape, const struct walker_accesses *accesses,
                      uint32_t used)
{
    const uint32_t width = shape->width;

    *state = (struct mix_short){.loop = shape->loop, .width = width, .most = (SHORT - 1) / width};
    memcpy(shorts->accesses + used, accesses->of[0], 2 * width * sizeof *shorts->accesses);
    for (uint32_t i = 0; i < SHORT; i++) {
        state->listed[0][i] = (uint16_t)(used + i % width);
        state->listed[1][i] = (uint16_t)(used + i % width + (i < width ? width : 0));
    }
}

static bool is_short(const struct psnap_walker *w, const struct nest_mix *mix, uint32_t state)
{
    const struct nest_shape *shape = mix->states[state];
    const struct walker_accesses *accesses = &w->accesses[1][shape->number];

    return shape->width && shape->width < SHORT && accesses->is_all_drawn &&
           !accesses->has_points && !accesses->has_turns && !mix_has_rest(mix->chain, state);
}

bool walker_mix_init(struct psnap_walker *w, uint32_t mix)
{
    const struct nest_mix *model = &w->nests->models->mixes[mix];
    const uint32_t states = model->chain->state_count;
    struct mix_shorts *shorts = calloc(1, sizeof *shorts + states * sizeof *shorts->states);
    uint32_t used = 0;

    w->mixes[mix].shorts = shorts;
    if (!shorts)
        return false;
    for (uint32_t i = 0; i < states; i++)
        used += is_short(w, model, i) ? 2 * model->states[i]->width : 0;
    shorts->accesses = malloc((used + (size_t)1) * sizeof *shorts->accesses);
    if (!shorts->accesses)
        return false;
    used = 0;
    for (uint32_t i = 0; i < states; i++)
        if (is_short(w, model, i)) {
            set_state(shorts, &shorts->states[i], model->states[i],
                      &w->accesses[1][model->states[i]->number], used);
            used += 2 * model->states[i]->width;
        }
    return true;
}

void walker_mix_release(struct psnap_walker *w, uint32_t mix)
{
    struct mix_shorts *shorts = w->mixes[mix].shorts;

    if (!shorts)
        return;
    free(shorts->accesses);
    free(shorts);
}

/* Writes the accesses that are listed. */
static inline void write_listed(struct psnap_walker *w, const struct walker_access *accesses,
                                const uint16_t *listed, size_t n, struct psnap_access *block,
                                bool has_trail)
{
    for (size_t i = 0; i < n; i++) {
        const struct walker_access *access = &accesses[listed[i]];
        block[i] = access->access;
        block[i].address = walker_take(w, access, has_trail);
    }
}

/* Lists the accesses of the next tokens, at least `most` of them, or fewer than SHORT more: how
 * many. *token is the next one, if it is not short, or NULL. */
static size_t list(struct psnap_walker *w, size_t most, uint16_t *listed,
                   const struct mix_token **token)
{
    const struct mixing *mixing = &w->mixes[w->mix];
    const struct mix_short *states = mixing->shorts->states;
    uint32_t loop = w->loop;
    size_t n = 0;

    for (*token = NULL; n <= most;) {
        const struct mix_token *next = mix_walk_take(mixing->walk);
        const struct mix_short *state;
        if (next->state == MIX_END) {
            if (--w->mix_visits)
                continue;
            break;
        }
        state = &states[next->state];
        if (next->count > state->most) {
            *token = next;
            break;
        }
        memcpy(listed + n, state->listed[loop != state->loop], sizeof state->listed[0]);
        n += next->count * state->width;
        loop = state->loop;
    }
    w->loop = loop;
    return n;
}

size_t walker_write_mix(struct psnap_walker *w, struct psnap_access *block, size_t capacity,
                        const struct mix_token **token)
{
    const struct mix_shorts *shorts = w->mixes[w->mix].shorts;
    uint16_t listed[LISTED + SHORT];
    size_t done = 0;

    *token = NULL;
    while (!*token && w->mix_visits && capacity - done >= SHORT) {
        const size_t room = capacity - done - SHORT;
        const size_t n = list(w, room < LISTED ? room : LISTED, listed, token);
        if (w->has_trail)
            write_listed(w, shorts->accesses, listed, n, block + done, true);
        else
            write_listed(w, shorts->accesses, listed, n, block + done, false);
        done += n;
    }
    if (!w->mix_visits)
        w->mix = PSNAP_NONE;
    return done;
}
