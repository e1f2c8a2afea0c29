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

/* An access of a state: the next of the words that are left, plus the offset. */
struct mix_access {
    struct gather_left *left;
    uint64_t offset;
    uint64_t *last; /* of its draw */
    struct psnap_access access;
    const struct drawn_ref *drawn; /* whose walk draws more words when none are left */
    uint32_t step;                 /* words that it takes: 0 or 1 */
    uint16_t back;                 /* or else: so many back in the trail */
    bool has_ways;                 /* or else: one of several */
};

/* A state whose addresses are all drawn. */
struct mix_short {
    uint32_t loop, width;
    uint32_t most;             /* iterations that are written here; 0: none */
    uint16_t listed[2][SHORT]; /* its accesses, iteration by iteration; the first is of an entry */
};

struct mix_shorts {
    struct mix_access *accesses;
    struct gather_left *stay; /* by access: a word that is there again and again */
    bool needs_trail;         /* or there are ways, or others need it */
    struct mix_short states[];
};

static struct mix_access mix_access(struct gather_left *stay, const struct nest_ref *ref,
                                    const struct drawn_ref *drawn)
{
    static const uint64_t zero;
    const struct nest_source *after = drawn->after;
    struct mix_access made = {
        .left = stay, .last = drawn->last, .offset = drawn->offset, .drawn = drawn};

    made.access = (struct psnap_access){
        .ref = ref->ref, .thread = ref->thread, .size = ref->size, .kind = ref->kind};
    stay->at = drawn->from ? drawn->from : &zero;
    if (drawn->walk) {
        made.left = &((struct gather_ahead *)drawn->walk)->left;
        made.step = 1;
        made.offset = 0;
    } else if (!drawn->from && after) {
        made.has_ways = after->after_count > 1;
        made.back = (uint16_t)after->after->back;
        made.offset = after->after->offset;
        stay->at = drawn->last;
    }
    return made;
}

/* `used` accesses are there before its own. */
static void set_state(struct mix_shorts *shorts, struct mix_short *state,
                      const struct nest_shape *shape, const struct drawn_refs *refs, uint32_t used)
{
    const uint32_t width = shape->width;

    *state = (struct mix_short){.loop = shape->loop, .width = width, .most = (SHORT - 1) / width};
    for (uint32_t k = 0; k < 2 * width; k++) {
        struct mix_access *access = &shorts->accesses[used + k];
        *access = mix_access(&shorts->stay[used + k], &shape->refs[k % width],
                             &refs->of[k / width][k % width]);
        shorts->needs_trail |= access->has_ways;
    }
    for (uint32_t i = 0; i < SHORT; i++) {
        state->listed[0][i] = (uint16_t)(used + i % width);
        state->listed[1][i] = (uint16_t)(used + i % width + (i < width ? width : 0));
    }
}

static bool is_short(const struct nest_shape *shape)
{
    bool is_drawn = shape->width && shape->width < SHORT;

    for (uint32_t k = 0; is_drawn && k < shape->width; k++)
        is_drawn = shape->refs[k].mode == NEST_DRAWN;
    return is_drawn;
}

static bool has_trail(const struct nest_source *source)
{
    bool has = false;

    for (uint32_t i = 0; i < source->after_count; i++)
        has |= source->after[i].back > 0;
    return has;
}

bool walker_mix_init(struct psnap_walker *w, uint32_t mix)
{
    const struct nest_models *models = w->nests->models;
    const struct nest_mix *model = &models->mixes[mix];
    const uint32_t states = model->chain->state_count;
    struct mix_shorts *shorts = calloc(1, sizeof *shorts + states * sizeof *shorts->states);
    uint32_t used = 0;

    w->mixes[mix].shorts = shorts;
    if (!shorts)
        return false;
    for (uint32_t i = 0; i < states; i++)
        used += is_short(model->states[i]) ? 2 * model->states[i]->width : 0;
    shorts->accesses = malloc((used + (size_t)1) * sizeof *shorts->accesses);
    shorts->stay = calloc(used + (size_t)1, sizeof *shorts->stay);
    if (!shorts->accesses || !shorts->stay)
        return false;
    for (uint32_t i = 0; i < models->draw_count; i++)
        shorts->needs_trail |=
            has_trail(&models->draws[i].rest) || has_trail(&models->draws[i].entry);
    used = 0;
    for (uint32_t i = 0; i < states; i++)
        if (is_short(model->states[i])) {
            set_state(shorts, &shorts->states[i], model->states[i],
                      &w->drawn_refs[1][model->states[i]->number], used);
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
    free(shorts->stay);
    free(shorts);
}

/* Writes the accesses that are listed. */
static inline void write_listed(struct psnap_walker *w, const struct mix_access *accesses,
                                const uint16_t *listed, size_t n, struct psnap_access *block,
                                bool needs_trail)
{
    uint32_t trail_at = w->trail_at;

    for (size_t i = 0; i < n; i++) {
        const struct mix_access *access = &accesses[listed[i]];
        struct gather_left *left = access->left;
        const uint64_t *word;
        uint64_t address;
        if (left->at == left->end)
            gather_walk_fill(access->drawn->walk);
        word = left->at;
        left->at = word + access->step;
        if (needs_trail && access->back)
            word = &w->trail[(trail_at - access->back) % NEST_BACK_MAX];
        address = *word + access->offset;
        if (needs_trail && access->has_ways) {
            w->trail_at = trail_at;
            address = walker_after(w, access->drawn->after, access->drawn->drawing);
        }
        *access->last = address;
        if (needs_trail)
            w->trail[trail_at++ % NEST_BACK_MAX] = address;
        block[i] = access->access;
        block[i].address = address;
    }
    w->trail_at = trail_at;
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
        if (shorts->needs_trail)
            write_listed(w, shorts->accesses, listed, n, block + done, true);
        else
            write_listed(w, shorts->accesses, listed, n, block + done, false);
        done += n;
    }
    if (!w->mix_visits)
        w->mix = PSNAP_NONE;
    return done;
}
