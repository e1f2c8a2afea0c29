/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which references and draws have the places of rows (nest_after_places.h): those that most rows
 * know where they were.
 */
#include "profile/walks/nest_after_places.h"

#include <string.h>

void nest_tally_one(struct tally *tally, uint32_t number)
{
    uint32_t at = 0;

    while (at < tally->count && tally->numbers[at] != number)
        at++;
    if (number == PSNAP_NONE || at == 2 * ROWS)
        return;
    tally->numbers[at] = number;
    tally->counts[at] = at == tally->count ? 1 : tally->counts[at] + 1;
    tally->count += at == tally->count;
}

/* Those that come most often; returns how many, `most` of them or fewer. */
static uint32_t take_most(struct tally *tally, uint32_t most, uint32_t *numbers)
{
    uint32_t n = 0;

    for (; n < most && n < tally->count; n++) {
        uint32_t best = 0;
        for (uint32_t i = 1; i < tally->count; i++)
            best = tally->counts[i] > tally->counts[best] ? i : best;
        numbers[n] = tally->numbers[best];
        tally->counts[best] = 0;
    }
    return n;
}

/* The references of which the latest one may lead: a few of the loop that most of these are of. */
static void find_latest(struct fitting *f)
{
    struct tally loops = {.count = 0}, refs = {.count = 0};

    for (uint32_t i = 0; i < f->count; i++)
        if (f->rows[i].refs[0] != PSNAP_NONE)
            nest_tally_one(&loops, f->rows[i].mark_loop);
    f->latest_count = 0;
    if (!take_most(&loops, 1, &f->latest_loop))
        return;
    for (uint32_t i = 0; i < f->count; i++)
        if (f->rows[i].mark_loop == f->latest_loop)
            nest_tally_one(&refs, f->rows[i].refs[0]);
    if (refs.count > 1 && refs.count <= NEST_MARKS)
        f->latest_count = take_most(&refs, NEST_MARKS, f->latest);
}

/* The references of marks and the draws of starts, those in most rows first. */
static void find_refs(struct fitting *f)
{
    struct tally marks = {.count = 0}, starts = {.count = 0};

    for (uint32_t i = 0; i < f->count; i++) {
        for (uint32_t k = 0; k < NEST_MARKS; k++)
            nest_tally_one(&marks, f->rows[i].refs[k]);
        for (uint32_t k = 0; k < NEST_STARTS; k++)
            nest_tally_one(&starts, f->rows[i].starts.draws[k]);
    }
    f->ref_count = take_most(&marks, REFS, f->refs);
    f->start_count = take_most(&starts, STARTS, f->starts);
    find_latest(f);
}

/* The number's place among n, or n. */
static uint32_t place_of(const uint32_t *numbers, uint32_t n, uint32_t number)
{
    uint32_t at = 0;

    while (at < n && numbers[at] != number)
        at++;
    return at;
}

void nest_places_set(struct fitting *f, nest_may_lead *may_lead, void *context)
{
    find_refs(f);
    for (uint32_t i = 0; i < f->count; i++) {
        const struct row *row = &f->rows[i];
        memcpy(f->places[i], row->places, sizeof row->places);
        for (uint32_t k = 0; k < BACKS; k++)
            f->may_lead[i][k] = row->draws[k] != PSNAP_NONE &&
                                may_lead(context, row->draws[k], k ? NEST_LEAD : NEST_LEAD_OWN);
        for (uint32_t k = 0; k < f->ref_count; k++) {
            const uint32_t at = place_of(row->refs, NEST_MARKS, f->refs[k]);
            f->may_lead[i][BACKS + k] = at < NEST_MARKS;
            f->places[i][BACKS + k] = at < NEST_MARKS ? row->marks[at] : 0;
        }
        for (uint32_t k = 0; k < f->start_count; k++) {
            const uint32_t at = place_of(row->starts.draws, NEST_STARTS, f->starts[k]);
            f->may_lead[i][BEGUN + k] =
                at < NEST_STARTS &&
                may_lead(context, f->starts[k],
                         f->starts[k] == row->draws[0] ? NEST_LEAD_OWN : NEST_LEAD);
            f->places[i][BEGUN + k] = at < NEST_STARTS ? row->starts.addresses[at] : 0;
            f->places[i][LEFTS + k] = at < NEST_STARTS ? row->starts.lefts[at] : 0;
            f->may_lead[i][LEFTS + k] = f->places[i][LEFTS + k] && f->starts[k] != row->draws[0] &&
                                        may_lead(context, f->starts[k], NEST_LEAD_LEFT);
        }
        f->may_lead[i][LATEST] =
            f->latest_count && row->refs[0] != PSNAP_NONE && row->mark_loop == f->latest_loop;
        f->places[i][LATEST] = row->marks[0];
    }
}
