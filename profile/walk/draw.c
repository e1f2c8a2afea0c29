/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Addresses drawn from reuse histograms (draw.h). A bin is drawn in proportion to the counts that
 * are left; the object's log (recall.h) finds the cache line that was accessed last so long ago, or
 * a line for a first touch. The place in the line then follows from the reference's steps within
 * lines, or, where the line is new, from its weights of places.
 */
#include "profile/walk/draw.h"

#include <stdlib.h>

/* ---- what is left to draw ---- */

/* The bins of a phase become those to draw, but for first touches that are timed. */
static void begin_phase(struct draw *draw, const struct model_ref *ref, uint32_t phase)
{
    draw->phase = phase;
    draw->left_count = 0;
    draw->left_sum = 0;
    for (uint32_t i = 0; i < ref->reuse_count; i++)
        for (uint32_t k = 0; k < ref->reuses[i].bin_count; k++) {
            const struct reuse_bin_count *bin = &ref->reuses[i].bins[k];
            uint32_t at = draw->left_count;
            if (bin->phase != draw->phase ||
                (bin->bin == REUSE_FIRST && !bin->phase && reuse_timed_firsts(&ref->reuses[i])))
                continue;
            for (; at && draw->left[at - 1].count < bin->count; at--) { /* commonest first */
                draw->left[at] = draw->left[at - 1];
                draw->objects[at] = draw->objects[at - 1];
            }
            draw->left[at] = *bin;
            draw->objects[at] = i;
            draw->left_count++;
            draw->left_sum += bin->count;
        }
}

/* How many executions the first phase has. */
static uint64_t first_phase(const struct model_ref *ref)
{
    return ref->executions / ref->phases;
}

/* Divides the timed first touches of each histogram between octaves, in proportion to the weights
 * of these; octaves behind the end of the first phase count as its last one. False: out of memory.
 */
static bool time_firsts(struct draw *draw, const struct model_ref *ref)
{
    const uint32_t last = first_phase(ref) ? reuse_when(first_phase(ref) - 1) : 0;

    for (uint32_t i = 0; i < ref->reuse_count; i++) {
        const struct reuse *reuse = &ref->reuses[i];
        double weights = 0, sum = 0;
        const uint64_t count = reuse_timed_firsts(reuse);
        uint64_t given = 0;
        if (!count)
            continue;
        if (!draw->firsts &&
            !(draw->firsts = calloc((size_t)ref->reuse_count * REUSE_WHEN, sizeof *draw->firsts)))
            return false;
        for (uint32_t k = 0; k < REUSE_WHEN; k++)
            weights += (double)reuse->when[k];
        for (uint32_t k = 0; k < REUSE_WHEN; k++) {
            uint64_t until;
            sum += (double)reuse->when[k];
            until = k < last && sum < weights ? (uint64_t)(sum / weights * (double)count) : count;
            draw->firsts[(size_t)i * REUSE_WHEN + k] = until - given;
            given = until;
        }
        draw->firsts_left += count;
    }
    return true;
}

/* ---- places in a line ---- */

/* The byte at which an access of `size` bytes touches a new line: by the weights of places. */
static uint64_t draw_place(struct psnap_rng *rng, const struct reuse *reuse, uint64_t sum,
                           uint8_t size)
{
    uint64_t ticket, place = 0;

    if (!sum)
        return 0;
    for (ticket = psnap_rng_below(rng, sum); ticket >= reuse->slots[place]; place++)
        ticket -= reuse->slots[place];
    place *= 8;
    if (size < 8 && !(size & (size - 1)))
        place += psnap_rng_below(rng, 8u / size) * size;
    return place + size > REUSE_LINE ? REUSE_LINE - (uint64_t)size : place;
}

/* The next address in a line whose latest access was at `last`: one of the histogram's steps that
 * stay in the line, or any place of it. */
static uint64_t draw_step(struct psnap_rng *rng, const struct reuse *reuse, uint64_t places,
                          uint64_t last, uint8_t size)
{
    const struct reuse_steps *from = &reuse->steps;
    const uint32_t byte = last % REUSE_LINE;
    uint64_t weights[REUSE_STEPS], sum = from->elsewhere * places / REUSE_SLOTS, ticket;

    for (uint32_t i = 0; i < from->count; i++) {
        const uint32_t to = byte + (uint32_t)from->steps[i].bytes;
        weights[i] = to < REUSE_LINE ? from->steps[i].count * reuse->slots[to / 8] : 0;
        sum += weights[i];
    }
    ticket = sum ? psnap_rng_below(rng, sum) : 0;
    for (uint32_t i = 0; i < from->count; i++) {
        if (ticket < weights[i])
            return last + (uint64_t)(int64_t)from->steps[i].bytes;
        ticket -= weights[i];
    }
    return last - byte + draw_place(rng, reuse, places, size);
}

/* ---- draws ---- */

/* Whether this execution makes a timed first touch: then the histogram that it is taken from, else
 * PSNAP_NONE. */
static uint32_t draw_timed_first(struct draw *draw, const struct model_ref *ref,
                                 struct psnap_rng *rng)
{
    const uint32_t when = reuse_when(draw->done);
    const uint64_t all = first_phase(ref);
    const uint64_t end = (UINT64_C(2) << when) - 1;
    uint64_t left = (end < all ? end : all) - draw->done, sum = 0, ticket;
    uint32_t histogram = 0;

    for (uint32_t i = 0; i < ref->reuse_count; i++) {
        uint64_t *firsts = &draw->firsts[(size_t)i * REUSE_WHEN];
        if (when != draw->when) { /* the octave before left these over */
            firsts[when] += firsts[draw->when];
            firsts[draw->when] = 0;
        }
        sum += firsts[when];
    }
    draw->when = when;
    if (!sum || (draw->done < all && sum < left && psnap_rng_below(rng, left) >= sum))
        return PSNAP_NONE;
    for (ticket = psnap_rng_below(rng, sum);
         ticket >= draw->firsts[(size_t)histogram * REUSE_WHEN + when]; histogram++)
        ticket -= draw->firsts[(size_t)histogram * REUSE_WHEN + when];
    draw->firsts[(size_t)histogram * REUSE_WHEN + when]--;
    draw->firsts_left--;
    return histogram;
}

uint64_t draw_address(struct draw *draw, const struct model_ref *ref, struct recall *recall,
                      uint64_t now, struct psnap_rng *rng)
{
    const struct reuse *reuse;
    uint64_t ticket, last, places;
    uint32_t at = 0;
    bool is_first;

    if (draw->firsts_left && (at = draw_timed_first(draw, ref, rng)) != PSNAP_NONE) {
        reuse = &ref->reuses[at];
        draw->done++;
        last = recall_draw(recall, draw->numbers[reuse->object], REUSE_FIRST, now, &is_first);
        return last + draw_place(rng, reuse, draw->places[at], ref->size);
    }
    at = 0;
    for (uint32_t tries = 0; !draw->left_sum && tries <= ref->phases; tries++)
        begin_phase(draw, ref, (draw->phase + 1) % ref->phases);
    draw->done++;
    if (!draw->left_sum)
        return 0;
    for (ticket = psnap_rng_below(rng, draw->left_sum); ticket >= draw->left[at].count; at++)
        ticket -= draw->left[at].count;
    draw->left[at].count--;
    draw->left_sum--;
    reuse = &ref->reuses[draw->objects[at]];
    places = draw->places[draw->objects[at]];
    last = recall_draw(recall, draw->numbers[reuse->object], draw->left[at].bin, now, &is_first);
    return is_first ? last + draw_place(rng, reuse, places, ref->size)
                    : draw_step(rng, reuse, places, last, ref->size);
}

/* ---- memory ---- */

bool draw_init(struct draw *draw, const struct model_ref *ref, const uint32_t *numbers)
{
    uint32_t bins = 0;

    *draw = (struct draw){.numbers = numbers};
    for (uint32_t i = 0; i < ref->reuse_count; i++)
        bins += ref->reuses[i].bin_count;
    draw->places = calloc(ref->reuse_count + (size_t)1, sizeof *draw->places);
    draw->left = malloc((bins + (size_t)1) * sizeof *draw->left);
    draw->objects = malloc((bins + (size_t)1) * sizeof *draw->objects);
    if (!time_firsts(draw, ref) || !draw->left || !draw->objects || !draw->places)
        return false;
    for (uint32_t i = 0; i < ref->reuse_count; i++)
        for (uint32_t k = 0; k < REUSE_SLOTS; k++)
            draw->places[i] += ref->reuses[i].slots[k];
    begin_phase(draw, ref, 0);
    return true;
}

void draw_release(struct draw *draw)
{
    free(draw->left);
    free(draw->objects);
    free(draw->places);
    free(draw->firsts);
}
