/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Addresses drawn from the model of an irregular reference.
 *
 * They are drawn ahead, some tens at a time (gather_draw.h), from words of the generator that are
 * drawn ahead, some hundreds at a time: so that one waits for the other as little as can be.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/base/rng.h"
#include "profile/gathers/gather_draw.h"

enum {
    WORDS = 1024,    /* of the generator, drawn at once */
    AREA_WORDS = 1,  /* that the choice of an area takes */
    BATCH_LEAST = 16 /* addresses for which there are to be words */
};

struct gather_walk {
    struct gather_ahead ahead;
    struct psnap_gather model;
    struct psnap_rng rng;
    struct gather_draw *areas;
    uint32_t area, turn;
    bool is_around, is_one; /* drawn one by one, unless the point rests; of an area */
    uint64_t resting;       /* addresses to be drawn before it moves */
    uint64_t turn_left;
    uint64_t words[WORDS]; /* the generator's, */
    uint32_t words_at;     /* from here on */
};

struct gather_walk *gather_walk_new(const struct psnap_gather *model, uint64_t seed)
{
    struct gather_walk *w = calloc(1, sizeof *w);
    bool good = w;

    if (!w)
        return NULL;
    w->model = *model;
    w->areas = calloc(model->area_count + 1, sizeof *w->areas);
    good = w->areas;
    psnap_rng_init(&w->rng, seed);
    w->words_at = WORDS;
    w->ahead.left = (struct gather_left){w->ahead.addresses, w->ahead.addresses};
    for (uint32_t i = 0; i < model->area_count && good; i++)
        good = gather_draw_init(&w->areas[i], &model->areas[i], psnap_rng_next(&w->rng));
    if (!good) {
        gather_walk_free(w);
        return NULL;
    }
    if (model->turn_count) {
        w->area = model->turns[0].area;
        w->turn_left = model->turns[0].accesses;
    }
    return w;
}

void gather_walk_free(struct gather_walk *walk)
{
    if (!walk)
        return;
    for (uint32_t i = 0; walk->areas && i < walk->model.area_count; i++)
        gather_draw_release(&walk->areas[i]);
    free(walk->areas);
    free(walk);
}

/* As many words as there is room for. */
static void fill_words(struct gather_walk *w)
{
    const uint32_t left = WORDS - w->words_at;
    struct psnap_rng rng = w->rng;

    memmove(w->words, w->words + w->words_at, left * sizeof *w->words);
    for (uint32_t i = left; i < WORDS; i++)
        w->words[i] = psnap_rng_next(&rng);
    w->rng = rng;
    w->words_at = 0;
}

/* The area of the next accesses; how many of n there are of it for certain. */
static size_t choose_area(struct gather_walk *w, size_t n)
{
    const struct psnap_gather *m = &w->model;
    uint32_t i = 0;
    double x;

    if (m->area_count == 1)
        return n;
    if (m->turn_count) {
        while (!w->turn_left) {
            w->turn = (w->turn + 1) % m->turn_count;
            w->area = m->turns[w->turn].area;
            w->turn_left = m->turns[w->turn].accesses;
        }
        n = n < w->turn_left ? n : w->turn_left;
        w->turn_left -= n;
        return n;
    }
    x = gather_unit(w->words[w->words_at++]);
    while (i + 1 < m->area_count && x >= m->next_area[w->area][i])
        x -= m->next_area[w->area][i++];
    w->area = i;
    return 1;
}

/* At most so many, as there are words for; some in any case. */
static size_t batch_of(struct gather_walk *w, size_t n)
{
    const uint32_t each = GATHER_WORDS_EACH + AREA_WORDS;
    size_t most;

    n = n < GATHER_BATCH ? n : GATHER_BATCH;
    if ((WORDS - w->words_at) / each < (n < BATCH_LEAST ? n : BATCH_LEAST))
        fill_words(w);
    most = (WORDS - w->words_at) / each;
    return n < most ? n : most;
}

static void draw(struct gather_walk *w, uint64_t *addresses, size_t n)
{
    struct gather_batch batch;
    uint64_t *const end = addresses + n;

    if (w->model.area_count == 1 && w->areas[0].is_steady) {
        gather_draw_steady(&w->areas[0], addresses, n);
        return;
    }
    batch.count = batch.jumps = batch.inside = batch.outside = 0;
    /* a step reads the place of the next jump, which does not matter */
    memset(batch.offsets, 0, (n < GATHER_BATCH ? n : GATHER_BATCH) * sizeof *batch.offsets);
    while (addresses < end) {
        size_t left = batch_of(w, (size_t)(end - addresses));
        while (left) {
            const uint32_t before = w->area;
            const size_t some = choose_area(w, left);
            if (w->area != before)
                addresses += gather_draw_write(&w->areas[before], &batch, addresses);
            w->words_at += gather_draw_plan(&w->areas[w->area], &batch, w->words + w->words_at,
                                            (uint32_t)some);
            left -= some;
        }
        addresses += gather_draw_write(&w->areas[w->area], &batch, addresses);
    }
}

void gather_walk_around(struct gather_walk *walk, const uint64_t *last, uint64_t offset)
{
    for (uint32_t i = 0; i < walk->model.area_count; i++) {
        walk->areas[i].leader = last;
        walk->areas[i].leader_offset = offset;
    }
    walk->is_around = true;
    walk->is_one = walk->model.area_count == 1 && walk->model.areas[0].places == GATHER_AROUND;
}

void gather_walk_rest(struct gather_walk *walk, uint64_t n)
{
    walk->resting = n;
}

/* One address, of an area that is drawn around another reference's last one. */
static void fill_around(struct gather_walk *w)
{
    if (WORDS - w->words_at < GATHER_WORDS_EACH)
        fill_words(w);
    w->words_at += gather_draw_one(&w->areas[0], w->words + w->words_at, w->ahead.addresses);
    w->ahead.left = (struct gather_left){w->ahead.addresses, w->ahead.addresses + 1};
}

void gather_walk_fill(struct gather_walk *w)
{
    /* Few at first: there are references that are drawn once. */
    const size_t more = w->is_around ? (w->resting ? w->resting : 1)
                                     : 2 * (size_t)(w->ahead.left.end - w->ahead.addresses) + 1,
                 n = more < GATHER_AHEAD ? more : GATHER_AHEAD;

    w->resting -= w->resting ? n : 0;
    if (w->is_one && n == 1) {
        fill_around(w);
        return;
    }
    draw(w, w->ahead.addresses, n);
    w->ahead.left = (struct gather_left){w->ahead.addresses, w->ahead.addresses + n};
}

void gather_walk_next(struct gather_walk *w, uint64_t *addresses, size_t n)
{
    struct gather_left *left = &w->ahead.left;
    size_t done = 0;

    while (done < n) {
        size_t some = (size_t)(left->end - left->at);
        if (!some && n - done >= GATHER_AHEAD) {
            draw(w, addresses + done, n - done);
            return;
        }
        if (!some) {
            gather_walk_fill(w);
            continue;
        }
        some = some < n - done ? some : n - done;
        memcpy(addresses + done, left->at, some * sizeof *addresses);
        left->at += some;
        done += some;
    }
}
