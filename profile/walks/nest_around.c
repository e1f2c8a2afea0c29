/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Around which draw's last address a reference's jumps lie (nest_around.h): where the next merge of
 * a sort begins, behind where the last one ended; the other end of what is partitioned; columns of
 * a sparse matrix near the row's. Jumps are a sample of all that were looked at
 * (nest_sample.h). How closely they lie is the mean of the distances from their median, in octaves:
 * a few are far away in what is divided again and again. That is compared with how far places lie
 * apart that the gather's model draws. Where a few of the lines are used much more than others
 * (classes) they are what matters, which distances do not know.
 */
#include "profile/walks/nest_around.h"

#include <math.h>
#include <stdlib.h>

#include "profile/walks/nest_sample.h"

enum {
    JUMPS = 256,
    JUMPS_MIN = 64,  /* to tell anything */
    MISSED_SHARE = 8 /* of the jumps all but one in so many know the other draw */
};

#define CLOSER 3.0 /* octaves, than anywhere */

struct nest_jumps {
    uint64_t seen;
    struct nest_jump jumps[JUMPS];
};

bool nest_jumps_next(struct nest_jumps **jumps, struct nest_jump **jump)
{
    struct nest_jumps *own = *jumps ? *jumps : (*jumps = calloc(1, sizeof *own));
    uint64_t at;

    *jump = NULL;
    if (!own)
        return false;
    at = nest_sample_next(&own->seen, JUMPS);
    if (at < JUMPS)
        *jump = &own->jumps[at];
    return true;
}

static int compare(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

struct around {
    uint32_t leader;
    double octaves, by_chance; /* apart; by_chance: from where the draw was at another jump */
    uint32_t count;
    int64_t offsets[JUMPS]; /* sorted */
};

static double octaves_apart(int64_t *offsets, uint32_t count)
{
    const size_t half = count / 2;
    double sum = 0;

    qsort(offsets, count, sizeof *offsets, compare);
    for (uint32_t i = 0; i < count; i++)
        sum += log2(1 + fabs((double)(offsets[i] - offsets[half])));
    return sum / count;
}

/* How jumps lie around a draw. */
static bool look_around(const struct nest_jumps *jumps, uint32_t n, nest_leader_of *leader_of,
                        void *context, struct around *a)
{
    uint64_t lasts[JUMPS], addresses[JUMPS];
    int64_t others[JUMPS];

    a->count = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct nest_jump *jump = &jumps->jumps[i];
        uint32_t k = 0;
        while (k < NEST_LEADERS &&
               (jump->draws[k] == PSNAP_NONE || leader_of(context, jump->draws[k]) != a->leader))
            k++;
        if (k == NEST_LEADERS)
            continue;
        addresses[a->count] = jump->address;
        lasts[a->count++] = jump->lasts[k];
    }
    if (a->count < n - n / MISSED_SHARE || a->count < JUMPS_MIN)
        return false;
    for (uint32_t i = 0; i < a->count; i++) {
        a->offsets[i] = (int64_t)(addresses[i] - lasts[i]);
        others[i] = (int64_t)(addresses[i] - lasts[(i + a->count / 2) % a->count]);
    }
    a->octaves = octaves_apart(a->offsets, a->count);
    a->by_chance = octaves_apart(others, a->count);
    return true;
}

/* How far apart places are that a model draws, in octaves. */
static double octaves_of(const struct gather_area *m)
{
    const double all = log2((double)m->span_bytes / 4);
    double reach = 0;

    if (m->places == GATHER_BAND)
        return m->inside * log2(1 + (double)(m->offsets[18] - m->offsets[2]) / 4 *
                                        (double)m->element_bytes) +
               (1 - m->inside) * all;
    for (uint32_t i = 0; i < m->knot_count; i++)
        reach += (m->knots[i].high - m->knots[i].low) / m->knot_count;
    return m->knot_count ? log2(1 + reach * (double)m->span_bytes / 4) : all;
}

static void set_around(const struct around *a, struct nest_source *source)
{
    struct gather_area *m = &source->gather.areas[0];
    const int64_t middle = a->offsets[a->count / 2], element = m->element_bytes;

    source->around = a->leader;
    source->offset = (uint64_t)middle;
    m->lap = 0;
    m->downwards = false;
    if (m->places == GATHER_BAND) {
        m->places = GATHER_AROUND; /* the same band, but where the other draw is */
        return;
    }
    m->places = GATHER_AROUND;
    m->inside = 1;
    for (uint32_t i = 0; i < GATHER_QUANTILES; i++) {
        const size_t at = (size_t)(gather_quantiles[i] * (a->count - 1));
        m->offsets[i] = (a->offsets[at] - middle) / element;
    }
    m->part_count = 1;
    m->parts[0] = (struct gather_part){1, 1};
    m->knot_count = 0;
    m->fixed = 0;
    for (uint32_t i = 0; i < GATHER_ECHOES; i++)
        m->echoes[i] = 0;
}

void nest_jumps_fit(const struct nest_jumps *jumps, nest_leader_of *leader_of, void *context,
                    struct nest_source *source)
{
    const struct gather_area *m = &source->gather.areas[0];
    const uint32_t n = !jumps ? 0 : jumps->seen < JUMPS ? (uint32_t)jumps->seen : JUMPS;
    struct around best = {.leader = PSNAP_NONE, .octaves = 64}, other;
    uint32_t tried[JUMPS], tried_count = 0;

    if (n < JUMPS_MIN || source->gather.area_count != 1 || m->class_count > 1 ||
        (m->places != GATHER_ANYWHERE && m->places != GATHER_BAND))
        return;
    for (uint32_t i = 0; i < n && i < 16; i++)
        for (uint32_t k = 0; k < NEST_LEADERS; k++) {
            const uint32_t draw = jumps->jumps[i].draws[k];
            uint32_t at = 0;
            other.leader = draw == PSNAP_NONE ? draw : leader_of(context, draw);
            while (at < tried_count && tried[at] != other.leader)
                at++;
            if (other.leader == PSNAP_NONE || at < tried_count || tried_count == JUMPS)
                continue;
            tried[tried_count++] = other.leader;
            if (look_around(jumps, n, leader_of, context, &other) && other.octaves < best.octaves)
                best = other;
        }
    if (best.leader != PSNAP_NONE && best.octaves + CLOSER <= best.by_chance &&
        best.octaves + (m->places == GATHER_BAND ? -0.25 : CLOSER) <= octaves_of(m))
        set_around(&best, source);
}
