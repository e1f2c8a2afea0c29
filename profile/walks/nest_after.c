/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which places of a trail tell a reference's addresses (nest_after.h). Rows are a sample of all
 * that were looked at (nest_sample.h). Pairs of a place and an offset are taken one after the
 * other, each time that which tells most of the rows that are left; the nearest place of several.
 */
#include "profile/walks/nest_after.h"

#include <stdlib.h>
#include <string.h>

#include "profile/walks/nest_sample.h"

enum {
    ROWS = 256,
    ROWS_MIN = 64,     /* to tell anything */
    MISSED_SHARE = 16, /* of the rows one in so many may be told by nothing, */
    TOLD_SHARE = 16,   /* and a pair tells at least one in so many */
    ADDRESS = NEST_BACK_MAX + 1,
    PLACES
};

struct row {
    uint64_t
        offsets[PLACES]; /* from its own last, from the latest, from those before; the address */
    uint32_t draws[NEST_BACK_MAX + 1];
};

struct nest_rows {
    uint64_t seen;
    struct row rows[ROWS];
};

void nest_trail_init(struct nest_trail *trail)
{
    *trail = (struct nest_trail){0};
    for (uint32_t i = 0; i < NEST_BACK_MAX; i++)
        trail->draws[i] = PSNAP_NONE;
}

bool nest_rows_put(struct nest_rows **rows, const struct nest_trail *trail, uint32_t draw,
                   uint64_t last, uint64_t address)
{
    struct nest_rows *own = *rows ? *rows : (*rows = calloc(1, sizeof *own));
    struct row *row;
    uint64_t at;

    if (!own)
        return false;
    at = nest_sample_next(&own->seen, ROWS);
    if (at == ROWS)
        return true;
    row = &own->rows[at];
    row->offsets[0] = address - last;
    row->draws[0] = draw;
    row->offsets[ADDRESS] = address;
    for (uint32_t back = 1; back <= NEST_BACK_MAX; back++) {
        const uint32_t from = (trail->at - back) % NEST_BACK_MAX;
        row->offsets[back] = address - trail->addresses[from];
        row->draws[back] = trail->draws[from];
    }
    return true;
}

/* ---- the fit ---- */

static int compare(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

struct fitting {
    const struct row *rows;
    uint32_t count;
    bool may_lead[ROWS][PLACES], is_told[ROWS];
};

/* The offset from a place that tells most of what is left, and how many rows it tells. */
static struct nest_after best_of(const struct fitting *f, uint32_t place)
{
    uint64_t offsets[ROWS];
    struct nest_after best = {.back = place};
    uint32_t n = 0, same = 0;

    for (uint32_t i = 0; i < f->count; i++)
        if (!f->is_told[i] && f->may_lead[i][place])
            offsets[n++] = f->rows[i].offsets[place];
    qsort(offsets, n, sizeof *offsets, compare);
    for (uint32_t i = 0; i < n; i++) {
        same = i && offsets[i] == offsets[i - 1] ? same + 1 : 1;
        if (same > best.times)
            best = (struct nest_after){.back = place, .offset = offsets[i], .times = same};
    }
    return best;
}

/* Marks what a pair tells, and notes by whom. False: by too many. */
static bool tell(struct fitting *f, const struct nest_after *after, uint32_t *leaders,
                 uint32_t *leader_count)
{
    const uint32_t place = after->back;

    for (uint32_t i = 0; i < f->count; i++) {
        const uint32_t draw = f->rows[i].draws[place];
        uint32_t k = 0;
        if (f->is_told[i] || !f->may_lead[i][place] || f->rows[i].offsets[place] != after->offset)
            continue;
        f->is_told[i] = true;
        while (k < *leader_count && leaders[k] != draw)
            k++;
        if (k == NEST_BACK_MAX)
            return false;
        if (k == *leader_count)
            leaders[(*leader_count)++] = draw;
    }
    return true;
}

/* Whether a few addresses are what there mostly is: these are as far from each other as ever. */
static bool is_of_few(struct fitting *f)
{
    uint32_t told = 0;

    for (int i = 0; i < NEST_AFTER_MAX; i++) {
        const struct nest_after best = best_of(f, ADDRESS);
        for (uint32_t k = 0; k < f->count; k++)
            f->is_told[k] |= f->rows[k].offsets[ADDRESS] == best.offset;
        told += best.times;
    }
    memset(f->is_told, 0, sizeof f->is_told);
    return told * 2 > f->count;
}

bool nest_rows_fit(const struct nest_rows *rows, nest_may_lead *may_lead, void *context,
                   struct nest_source *source, uint32_t leaders[NEST_BACK_MAX],
                   uint32_t *leader_count)
{
    struct fitting f = {0};
    uint32_t left;

    *leader_count = 0;
    if (!rows || rows->seen < ROWS_MIN)
        return false;
    f.rows = rows->rows;
    f.count = left = rows->seen < ROWS ? (uint32_t)rows->seen : ROWS;
    for (uint32_t i = 0; i < f.count; i++) {
        f.may_lead[i][ADDRESS] = true;
        for (uint32_t k = 0; k <= NEST_BACK_MAX; k++)
            f.may_lead[i][k] =
                f.rows[i].draws[k] != PSNAP_NONE && may_lead(context, f.rows[i].draws[k], k == 0);
    }
    source->after_count = 0;
    if (is_of_few(&f))
        return false;
    while (left * MISSED_SHARE > f.count && source->after_count < NEST_AFTER_MAX) {
        struct nest_after best = {0};
        for (uint32_t place = 0; place <= NEST_BACK_MAX; place++) {
            const struct nest_after other = best_of(&f, place);
            best = other.times > best.times ? other : best;
        }
        if (best.times * TOLD_SHARE < f.count || !tell(&f, &best, leaders, leader_count))
            break;
        source->after[source->after_count++] = best;
        left -= best.times;
    }
    if (left * MISSED_SHARE <= f.count)
        return true;
    source->after_count = 0;
    return false;
}

double nest_rows_foreseen(const struct nest_rows *rows, nest_may_lead *may_lead, void *context)
{
    struct nest_source source;
    uint32_t leaders[NEST_BACK_MAX], count;
    double all = rows ? (double)(rows->seen < ROWS ? rows->seen : ROWS) : 0, sum = 0;

    if (!nest_rows_fit(rows, may_lead, context, &source, leaders, &count))
        return 0;
    for (uint32_t i = 0; i < source.after_count; i++)
        sum += (double)source.after[i].times / all * ((double)source.after[i].times / all);
    return sum;
}
