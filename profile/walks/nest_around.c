/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Around which draw's last address a reference's jumps lie (nest_around.h): where the next merge of
 * a sort begins, behind where the last one ended; the other end of what is partitioned; columns of
 * a sparse matrix near the row's. Jumps are a sample of all that were looked at
 * (nest_sample.h). How closely they lie is the mean of the distances from their median, in octaves:
 * a few are far away in what is divided again and again. That is compared with how far places lie
 * apart that the gather's model draws. Where a few of the lines are used much more than others
 * (classes) they are what matters, which distances do not know.
 *
 * What begins before as many elements as it goes over, the pieces that a recursion has just done,
 * is as far away as iterations are many that come then: a line through both, whose slope is that
 * of most pairs of jumps. It has to leave all of them within a few elements. Where a loop is
 * unrolled or vectorised what is left over after these iterations says where within them.
 */
#include "profile/walks/nest_around.h"

#include <math.h>
#include <stdlib.h>

#include "profile/walks/nest_sample.h"

enum {
    JUMPS = 256,
    JUMPS_MIN = 64,  /* to tell anything */
    WORD = 8,        /* bytes of an element that iterations go over, at most */
    LEADING = 16,    /* of which leaders are looked for */
    OPEN = 8,        /* sampled in one leaf or state */
    SLOPES = 4,      /* pairs with each jump */
    UNROLLED = 16,   /* times that a loop is, at most */
    SLOPE_SHARE = 2, /* of the pairs one in so many has the slope, */
    SLOPE_NEAR = 16, /* which leaves all but one in MISSED_SHARE within so many elements, */
    SLOPE_FAR = 64,  /* where without it they are so many elements apart */
    MISSED_SHARE = 8 /* of the jumps all but one in so many know the other draw */
};

#define CLOSER 3.0      /* octaves, than anywhere */
#define TIGHT 1.0       /* octaves: always as far, mostly */
#define REST_CLOSER 0.5 /* octaves, by what is left over */

struct nest_jumps {
    uint64_t seen;
    uint32_t open[OPEN], open_count; /* those of which it is not known what they are in, */
    uint32_t past[OPEN], past_count; /* and what is left over after that */
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
    if (at == JUMPS)
        return true;
    *jump = &own->jumps[at];
    for (uint32_t i = own->past_count; i-- > 0;) /* that was another one */
        if (own->past[i] == at)
            own->past[i] = own->past[--own->past_count];
    if (own->open_count < OPEN)
        own->open[own->open_count++] = (uint32_t)at;
    return true;
}

void nest_jumps_count(struct nest_jumps *jumps, uint64_t count)
{
    if (!jumps)
        return;
    for (uint32_t i = 0; i < jumps->open_count; i++) {
        jumps->jumps[jumps->open[i]].count = count;
        jumps->past[i] = jumps->open[i];
    }
    jumps->past_count = jumps->open_count;
    jumps->open_count = 0;
}

void nest_jumps_rest(struct nest_jumps *jumps, uint64_t count)
{
    for (uint32_t i = 0; jumps && i < jumps->past_count; i++)
        jumps->jumps[jumps->past[i]].rest = count;
}

static int compare(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

struct around {
    uint32_t leader; /* a draw, or */
    bool is_ref;     /* a reference */
    int64_t slope, rest_slope;
    double octaves, by_chance; /* apart; by_chance: from where the draw was at another jump */
    uint32_t count;
    int64_t offsets[JUMPS]; /* sorted */
};

/* Jumps and where their leader was, as far as that is known. */
struct pairs {
    uint64_t lasts[JUMPS], addresses[JUMPS], counts[JUMPS], rests[JUMPS];
    uint32_t count;
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

/* Whether the leader's last address before a jump is known, *last. */
static bool find_last(const struct nest_jump *jump, const struct around *a,
                      nest_leader_of *leader_of, void *context, uint64_t *last)
{
    uint32_t k = 0;

    if (a->is_ref) {
        while (k < NEST_MARKS && jump->refs[k] != a->leader)
            k++;
        *last = k < NEST_MARKS ? jump->marks[k] : 0;
        return k < NEST_MARKS;
    }
    while (k < NEST_LEADERS &&
           (jump->draws[k] == PSNAP_NONE || leader_of(context, jump->draws[k]) != a->leader))
        k++;
    *last = k < NEST_LEADERS ? jump->lasts[k] : 0;
    return k < NEST_LEADERS;
}

/* False: of too few jumps. */
static bool find_pairs(const struct nest_jumps *jumps, uint32_t n, const struct around *a,
                       nest_leader_of *leader_of, void *context, struct pairs *pairs)
{
    pairs->count = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct nest_jump *jump = &jumps->jumps[i];
        if (!find_last(jump, a, leader_of, context, &pairs->lasts[pairs->count]))
            continue;
        pairs->addresses[pairs->count] = jump->address;
        pairs->rests[pairs->count] = jump->rest;
        pairs->counts[pairs->count++] = jump->count;
    }
    return pairs->count >= n - n / MISSED_SHARE && pairs->count >= JUMPS_MIN;
}

/* How jumps lie around the leader, by the slope that it has. */
static void look_around(const struct pairs *pairs, struct around *a)
{
    int64_t others[JUMPS];

    a->count = pairs->count;
    for (uint32_t i = 0; i < a->count; i++) {
        const int64_t further =
            a->slope * (int64_t)pairs->counts[i] + a->rest_slope * (int64_t)pairs->rests[i];
        a->offsets[i] = (int64_t)(pairs->addresses[i] - pairs->lasts[i]) - further;
        others[i] = (int64_t)(pairs->addresses[i] - pairs->lasts[(i + a->count / 2) % a->count]);
    }
    a->octaves = octaves_apart(a->offsets, a->count);
    a->by_chance = octaves_apart(others, a->count);
}

/* The slope that most pairs of jumps have whose counts differ, in whole elements; 0: none.
 * counts[]: of each jump; further[]: how far it lies from where it would be by what is known
 * already. */
static int64_t find_slope(const uint64_t *counts, const int64_t *further, uint32_t count,
                          int64_t element)
{
    int64_t slopes[SLOPES * JUMPS], best = 0;
    uint32_t n = 0, most = 0;

    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 1; k <= SLOPES; k++) {
            const uint32_t j = (i + k) % count;
            const int64_t more = (int64_t)(counts[i] - counts[j]);
            if (more)
                slopes[n++] = (int64_t)round((double)(further[i] - further[j]) / (double)more /
                                             (double)element) *
                              element;
        }
    qsort(slopes, n, sizeof *slopes, compare);
    for (uint32_t i = 0, from = 0; i < n; i++) {
        from = slopes[i] == slopes[from] ? from : i;
        if (i + 1 - from > most) {
            most = i + 1 - from;
            best = slopes[i];
        }
    }
    return most >= JUMPS_MIN && most * SLOPE_SHARE >= n ? best : 0;
}

/* How far all but the outermost are apart. */
static int64_t width_of(const struct around *a)
{
    const uint32_t rim = a->count / MISSED_SHARE / 2;

    return a->offsets[a->count - 1 - rim] - a->offsets[rim];
}

/* The line through jumps and the iterations that come then: of an unrolled loop, which has `times`
 * of the source's in each and leaves over a rest, of these; 0: whatever is left over. False: there
 * is none. */
static bool look_by(const struct pairs *pairs, int64_t element, int64_t times, struct around *a)
{
    uint64_t counts[JUMPS];
    int64_t further[JUMPS], slope;

    for (uint32_t i = 0; i < pairs->count; i++) {
        if (!pairs->counts[i])
            return false;
        counts[i] = times ? (uint64_t)times * pairs->counts[i] + pairs->rests[i] : pairs->counts[i];
        further[i] = (int64_t)(pairs->addresses[i] - pairs->lasts[i]);
    }
    slope = find_slope(counts, further, pairs->count, element);
    a->slope = times ? slope * times : slope;
    a->rest_slope = times ? slope : 0;
    if (!slope || llabs(a->slope) > NEST_SLOPE_MAX)
        return false;
    look_around(pairs, a);
    return true;
}

static bool has_rests(const struct pairs *pairs)
{
    for (uint32_t i = 0; i < pairs->count; i++)
        if (pairs->rests[i])
            return true;
    return false;
}

/* Whether jumps lie on a line with the iterations that come then; then it is taken. */
static bool look_along(const struct pairs *pairs, int64_t element, struct around *a)
{
    struct around best = *a, other = *a;
    bool is_any = look_by(pairs, element, 0, &best);

    for (int64_t times = 2; times <= UNROLLED && has_rests(pairs); times *= 2)
        if (look_by(pairs, element, times, &other) &&
            (!is_any || other.octaves + REST_CLOSER <= best.octaves)) {
            best = other;
            is_any = true;
        }
    if (!is_any || width_of(&best) > SLOPE_NEAR * element || width_of(a) < SLOPE_FAR * element)
        return false;
    *a = best;
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

/* Whether jumps always lead as far from the leader. */
static bool is_tight(const struct around *a)
{
    return a->leader != PSNAP_NONE && a->octaves < TIGHT && a->octaves + CLOSER <= a->by_chance;
}

static void set_around(const struct around *a, struct nest_source *source)
{
    struct gather_area *m = &source->gather.areas[0];
    const int64_t middle = a->offsets[a->count / 2];
    int64_t element = m->element_bytes;

    source->around = a->leader;
    source->is_around_ref = a->is_ref;
    source->slope = a->slope;
    source->rest_slope = a->rest_slope;
    source->offset = (uint64_t)middle;
    m->lap = 0;
    m->downwards = false;
    m->sweep_bytes = 0;
    m->cursor_classes = 0;
    while (element > 1 &&
           (a->slope % element || a->rest_slope % element)) /* both are powers of two, as a rule */
        m->element_bytes = (uint32_t)(element /= 2);
    if (m->places == GATHER_BAND && !a->slope && !is_tight(a)) {
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
    if (a->slope) { /* no step leads there */
        m->step_count = 0;
        m->next[0][0] = 1;
    }
}

/* Whether a model says where places are by nothing but where they may be. */
static bool may_be_around(const struct gather_area *m)
{
    return m->places == GATHER_ANYWHERE || m->places == GATHER_BAND;
}

/* The leaders of a few jumps, each once: returns how many. */
static uint32_t find_leaders(const struct nest_jumps *jumps, nest_leader_of *leader_of,
                             void *context, struct around *leaders)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < LEADING; i++)
        for (uint32_t k = 0; k < NEST_LEADERS + NEST_MARKS; k++) {
            const struct nest_jump *jump = &jumps->jumps[i];
            const bool is_ref = k >= NEST_LEADERS;
            const uint32_t given = is_ref ? jump->refs[k - NEST_LEADERS] : jump->draws[k],
                           leader =
                               is_ref || given == PSNAP_NONE ? given : leader_of(context, given);
            uint32_t at = 0;
            while (at < count && (leaders[at].leader != leader || leaders[at].is_ref != is_ref))
                at++;
            if (leader != PSNAP_NONE && at == count)
                leaders[count++] = (struct around){.leader = leader, .is_ref = is_ref};
        }
    return count;
}

/* How many jumps there are to look at. */
static uint32_t count_jumps(const struct nest_jumps *jumps)
{
    return !jumps ? 0 : jumps->seen < JUMPS ? (uint32_t)jumps->seen : JUMPS;
}

/* The leader around which jumps lie closest, or, where there may be a slope, along a line with one;
 * only around draws if `element` is 0. False: out of memory. */
static bool find_around(const struct nest_jumps *jumps, nest_leader_of *leader_of, void *context,
                        int64_t element, struct around *best)
{
    const uint32_t n = count_jumps(jumps);
    struct around *leaders = calloc(LEADING * (NEST_LEADERS + NEST_MARKS), sizeof *leaders);
    struct pairs *pairs = malloc(sizeof *pairs);
    const bool is_done = leaders && pairs;
    const uint32_t count = is_done ? find_leaders(jumps, leader_of, context, leaders) : 0;

    *best = (struct around){.leader = PSNAP_NONE, .octaves = 64};
    for (uint32_t i = 0; i < count && !best->slope; i++) {
        struct around *other = &leaders[i];
        if ((!element && other->is_ref) || !find_pairs(jumps, n, other, leader_of, context, pairs))
            continue;
        look_around(pairs, other);
        if ((element && look_along(pairs, element, other)) ||
            (!other->is_ref && other->octaves < best->octaves))
            *best = *other;
    }
    free(leaders);
    free(pairs);
    return is_done;
}

bool nest_jumps_are_tight(const struct nest_jumps *jumps, nest_leader_of *leader_of, void *context)
{
    struct around best;

    return count_jumps(jumps) >= JUMPS_MIN && find_around(jumps, leader_of, context, 0, &best) &&
           is_tight(&best);
}

void nest_jumps_fit(const struct nest_jumps *jumps, nest_leader_of *leader_of, void *context,
                    bool is_start, struct nest_source *source)
{
    const struct gather_area *m = &source->gather.areas[0];
    const uint32_t element = m->element_bytes < WORD ? m->element_bytes : WORD;
    struct around best;

    if (count_jumps(jumps) < JUMPS_MIN || source->gather.area_count != 1 || m->class_count > 1 ||
        !find_around(jumps, leader_of, context, is_start || !m->step_count ? element : 0, &best))
        return;
    if (best.slope || is_tight(&best) ||
        (may_be_around(m) && best.leader != PSNAP_NONE && best.octaves + CLOSER <= best.by_chance &&
         best.octaves + (m->places == GATHER_BAND ? -0.25 : CLOSER) <= octaves_of(m)))
        set_around(&best, source);
}
