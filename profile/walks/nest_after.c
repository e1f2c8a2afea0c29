/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collecting what addresses came after (nest_after.h): the trail, and of each draw its rows.
 */
#include <stdlib.h>
#include <string.h>

#include "profile/walks/nest_after_rows.h"
#include "profile/walks/nest_sample.h"

void nest_trail_init(struct nest_trail *trail)
{
    *trail = (struct nest_trail){0};
    for (uint32_t i = 0; i < NEST_BACK_MAX; i++)
        trail->draws[i] = PSNAP_NONE;
    for (uint32_t i = 0; i < NEST_MARKS; i++)
        trail->refs[i] = PSNAP_NONE;
}

/* One more address; returns how far back it leads. */
static uint32_t come_back(struct nest_rows *rows, uint64_t address)
{
    const uint32_t at = nest_past_put(&rows->past, address),
                   earlier = at < NEST_EARLIER_MAX ? 1 + at : 0;

    rows->came[earlier]++;
    return earlier;
}

uint64_t nest_rows_left(const struct nest_rows *rows)
{
    return rows ? rows->past.left : 0;
}

void nest_rows_hold(struct nest_rows *rows, uint64_t address)
{
    if (rows)
        rows->held[come_back(rows, address)]++;
}

bool nest_rows_put(struct nest_rows **rows, const struct nest_trail *trail, uint32_t draw,
                   uint64_t last, uint64_t address, struct nest_starts **starts)
{
    struct nest_rows *own = *rows ? *rows : (*rows = calloc(1, sizeof *own));
    struct row *row;
    uint32_t earlier;
    uint64_t at;

    *starts = NULL;
    if (!own)
        return false;
    own->low = !own->seen || address < own->low ? address : own->low;
    own->high = address > own->high ? address : own->high;
    earlier = come_back(own, address);
    at = nest_sample_next(&own->pairs_seen, PAIRS);
    if (at < PAIRS)
        own->pairs[at] = (struct pair){last, address};
    at = nest_sample_next(&own->seen, ROWS);
    if (at == ROWS)
        return true;
    row = &own->rows[at];
    *starts = &row->starts;
    row->address = address;
    row->earlier = earlier;
    row->places[0] = last;
    row->draws[0] = draw;
    for (uint32_t back = 1; back <= NEST_BACK_MAX; back++) {
        const uint32_t from = (trail->at - back) % NEST_BACK_MAX;
        row->places[back] = trail->addresses[from];
        row->draws[back] = trail->draws[from];
    }
    nest_trail_marks(trail, row->marks, row->refs);
    row->mark_loop = trail->mark_loop;
    return true;
}

double nest_rows_come_back(const struct nest_rows *rows, double *any)
{
    double all = 0, back = 0;

    for (uint32_t k = 0; rows && k <= NEST_EARLIER_MAX; k++) {
        all += (double)rows->came[k];
        back += k > 1 ? (double)rows->came[k] : 0;
    }
    *any = all >= (double)ROWS_MIN ? back / all : 1;
    return all >= (double)ROWS_MIN && rows->came[2] >= rows->came[3] ? (double)rows->came[2] / all
                                                                     : 0;
}
