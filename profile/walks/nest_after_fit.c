/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which places of a trail tell a reference's addresses (nest_after.h). Pairs of a place and an
 * offset are taken one after the other, each time that which tells most of the rows that are left;
 * the nearest place of several (nest_after_places.h). What goes over an array again begins where
 * that did. Where that does not tell nearly all, places are scaled as well: the children of element
 * i of a heap are elements 2 i + 1 and 2 i + 2. Not where it depends on the element which child
 * comes (nest_after_alike.c). Nor from another array, whose model may know less of where its
 * elements lie: byte maps and distances of a search on a grid.
 *
 * What still is not told may come back to the reference's own earlier addresses, as the bounds of
 * what a recursion divides do (nest_past.h), or go on from where another one came back from. How
 * often it does is counted of all that were looked at.
 */
#include <math.h>
#include <string.h>

#include "profile/walks/nest_after_places.h"

enum {
    MISSED_SHARE = 16, /* of the rows one in so many may be told by nothing, */
    TOLD_SHARE = 16,   /* and a pair tells at least one in so many */
    BEHIND = 64,       /* bytes from an access to what goes on behind it, at most */
    NEAR = 1 << 12,    /* bytes below the lowest address the root of a heap may be */
    TIMES = 1 << 18    /* of all ways together, where it comes back */
};

struct way {
    uint32_t place, scale, times, by;
    uint64_t offset;
    uint32_t earlier; /* or so many of its own back; 0: not that */
};

/* That which tells more, the first of two that tell as much. */
static struct way better(struct way best, struct way other)
{
    return other.times > best.times ? other : best;
}

/* Whether a row may come from a place. What would leave the array begins anew, so a reference's own
 * last address, scaled, leads always. */
static bool may_come(const struct fitting *f, uint32_t row, uint32_t place, uint32_t scale)
{
    if (scale == 1)
        return f->may_lead[row][place];
    return (f->may_lead[row][place] || !place) && f->places[row][place] >= f->low &&
           f->places[row][place] <= f->high;
}

static uint64_t offset_of(const struct fitting *f, uint32_t row, uint32_t place, uint32_t scale)
{
    return f->rows[row].address - scale * f->places[row][place];
}

/* The word that most of n have, the lowest of several, and how many. */
static uint64_t most_of(const uint64_t *words, uint32_t n, uint32_t *times)
{
    uint64_t seen[2 * ROWS], best = 0;
    uint16_t counts[2 * ROWS] = {0};

    *times = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = (uint32_t)((words[i] * UINT64_C(0x9e3779b97f4a7c15)) >> 32) % (2 * ROWS);
        while (counts[at] && seen[at] != words[i])
            at = (at + 1) % (2 * ROWS);
        seen[at] = words[i];
        counts[at]++;
        if (counts[at] > *times || (counts[at] == *times && words[i] < best)) {
            *times = counts[at];
            best = words[i];
        }
    }
    return best;
}

/* The offset from a place that tells most of what is left, and how many rows it tells. */
static struct way best_of(const struct fitting *f, uint32_t place, uint32_t scale)
{
    struct way best = {.place = place, .scale = scale};
    uint64_t offsets[ROWS];
    uint32_t n = 0;

    for (uint32_t i = 0; i < f->count; i++)
        if (!f->is_told[i] && may_come(f, i, place, scale))
            offsets[n++] = offset_of(f, i, place, scale);
    best.offset = most_of(offsets, n, &best.times);
    return best;
}

/* The same of all places in the trail and of marks, the nearest of several. */
static struct way best_of_all(const struct fitting *f, uint32_t scale)
{
    struct way best = {0};

    for (uint32_t place = 0; place < PLACES; place++) {
        if (place >= BACKS + f->ref_count && place < LATEST)
            continue;
        best = better(best, best_of(f, place, scale));
    }
    return best;
}

/* How far back most of what is left comes back to, of own earlier addresses. */
static struct way best_earlier(const struct fitting *f)
{
    struct way best = {.scale = 1};
    uint32_t times[NEST_EARLIER_MAX + 1];

    memcpy(times, f->held, sizeof times);
    for (uint32_t i = 0; i < f->count; i++)
        times[f->rows[i].earlier] += !f->is_told[i];
    for (uint32_t k = 1; k <= NEST_EARLIER_MAX; k++)
        if (times[k] > best.times) {
            best.times = times[k];
            best.earlier = k;
        }
    return best;
}

static bool is_way_of(const struct fitting *f, const struct way *way, uint32_t row)
{
    if (way->earlier)
        return f->rows[row].earlier == way->earlier;
    if (way->by)
        return may_come(f, row, way->place, 1) && f->rows[row].draws[way->place] == way->by - 1;
    return may_come(f, row, way->place, way->scale) &&
           offset_of(f, row, way->place, way->scale) == way->offset;
}

/* Marks what a pair tells, and notes by whom. False: by too many. */
static bool tell(struct fitting *f, const struct way *way, uint32_t *leaders,
                 uint32_t *leader_count)
{
    f->held[way->earlier] = 0;
    for (uint32_t i = 0; i < f->count; i++) {
        uint32_t k = 0, draw;
        if (f->is_told[i] || !is_way_of(f, way, i))
            continue;
        f->is_told[i] = true;
        if ((way->place >= BACKS && way->place < LEFTS) || way->place == LATEST || way->earlier)
            continue;
        draw = way->place < BACKS ? f->rows[i].draws[way->place] : f->starts[way->place - LEFTS];
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
static bool is_of_few(const struct fitting *f)
{
    bool is_told[ROWS] = {false};
    uint32_t told = 0;

    for (int i = 0; i < NEST_AFTER_MAX; i++) {
        uint64_t addresses[ROWS], most;
        uint32_t n = 0, times;
        for (uint32_t k = 0; k < f->count; k++)
            if (!is_told[k])
                addresses[n++] = f->rows[k].address;
        most = most_of(addresses, n, &times);
        for (uint32_t k = 0; k < f->count; k++)
            is_told[k] |= f->rows[k].address == most;
        told += times;
    }
    return told * 2 > f->count;
}

static struct nest_after after_of(const struct fitting *f, const struct way *way)
{
    struct nest_after after = {
        .times = way->times,
        .offset = way->offset,
        .scale = way->scale,
        .by = way->by,
        .earlier = way->earlier,
    };

    after.is_left = way->place >= LEFTS && way->place < LATEST;
    after.is_start = way->place >= BEGUN && way->place < LEFTS;
    if (way->place < BACKS)
        after.back = way->place;
    else if (way->place == LATEST) {
        after.draw = 1 + f->latest[0];
        for (uint32_t k = 1; k < f->latest_count; k++)
            after.also[k - 1] = 1 + f->latest[k];
    } else if (after.is_left)
        after.draw = 1 + f->starts[way->place - LEFTS];
    else if (after.is_start)
        after.draw = 1 + f->starts[way->place - BEGUN];
    else
        after.draw = 1 + f->refs[way->place - BACKS];
    return after;
}

/* What ways are looked for: without scales, with them, or from own earlier addresses, too. */
enum which { PLAIN, SCALED, COMING_BACK };

/* Sets the source's ways; whether they tell nearly all. */
static bool find_ways(struct fitting *f, enum which which, struct nest_source *source,
                      uint32_t leaders[NEST_BACK_MAX], uint32_t *leader_count)
{
    static const uint32_t scales[] = {1, 2, 4};
    const uint32_t scale_count = which == SCALED ? sizeof scales / sizeof *scales : 1;
    const uint32_t all = f->count + (which == COMING_BACK ? f->held_count : 0);
    uint32_t left = all;

    *leader_count = source->after_count = 0;
    memset(f->is_told, 0, sizeof f->is_told);
    while (left * MISSED_SHARE > all && source->after_count < NEST_AFTER_MAX) {
        struct way best = {0};
        const struct way earlier = which == COMING_BACK ? best_earlier(f) : (struct way){0};
        for (uint32_t i = 0; i < scale_count; i++) {
            best = better(best, best_of_all(f, scales[i]));
        }
        for (uint32_t k = 0; which == COMING_BACK && k < f->start_count; k++) {
            best = better(best, best_of(f, LEFTS + k, 1));
        }
        best = better(best, earlier);
        if (best.times * TOLD_SHARE < all || !tell(f, &best, leaders, leader_count))
            break;
        source->after[source->after_count++] = after_of(f, &best);
        left -= best.times;
    }
    return left * MISSED_SHARE <= all;
}

/* Of the rows that are left, the draw that had an address so many back, and the offset that nearly
 * all of those rows have; a way of none: there is no such draw. *rows: how many these are. */
static struct way best_by(const struct fitting *f, uint32_t back, uint32_t *rows)
{
    struct way best = {.place = back, .scale = 1};
    struct tally draws = {.count = 0};

    for (uint32_t i = 0; i < f->count; i++)
        if (!f->is_told[i] && may_come(f, i, back, 1))
            nest_tally_one(&draws, f->rows[i].draws[back]);
    for (uint32_t k = 0; k < draws.count; k++) {
        uint64_t offsets[ROWS];
        uint32_t n = 0, times;
        for (uint32_t i = 0; i < f->count; i++)
            if (!f->is_told[i] && f->rows[i].draws[back] == draws.numbers[k])
                offsets[n++] = offset_of(f, i, back, 1);
        const uint64_t offset = most_of(offsets, n, &times);
        if (times <= best.times || (n - times) * MISSED_SHARE > n)
            continue;
        best.times = times;
        best.offset = offset;
        best.by = 1 + draws.numbers[k];
        *rows = n;
    }
    return best;
}

/* Ways that are certain, by whom the addresses were come just before: what ended with this state of
 * a loop goes on from here, what ended with that one from there. */
static bool find_certain(struct fitting *f, struct nest_source *source,
                         uint32_t leaders[NEST_BACK_MAX], uint32_t *leader_count)
{
    uint32_t left = f->count, missed = 0;

    *leader_count = source->after_count = 0;
    memset(f->is_told, 0, sizeof f->is_told);
    while (left && source->after_count < NEST_AFTER_MAX) {
        uint32_t rows = 0;
        struct way best = best_of_all(f, 1);
        if ((left - best.times + missed) * MISSED_SHARE <= f->count) {
            missed += left - best.times;
            left = 0;
        } else {
            best = (struct way){0};
            for (uint32_t back = 1; back <= NEST_BACK_MAX; back++) {
                uint32_t others = 0;
                const struct way other = best_by(f, back, &others);
                rows = other.times > best.times ? others : rows;
                best = other.times > best.times ? other : best;
            }
            missed += rows - best.times;
            left -= rows;
        }
        if (best.times * TOLD_SHARE < f->count || !tell(f, &best, leaders, leader_count))
            return false;
        source->after[source->after_count++] = after_of(f, &best);
    }
    return (left + missed) * MISSED_SHARE <= f->count;
}

/* The same with where one draw began, which has to do for nearly all by itself. */
static bool find_start(struct fitting *f, struct nest_source *source,
                       uint32_t leaders[NEST_BACK_MAX], uint32_t *leader_count)
{
    struct way best = {0};

    memset(f->is_told, 0, sizeof f->is_told);
    for (uint32_t k = 0; k < f->start_count; k++) {
        best = better(best, best_of(f, BEGUN + k, 1));
    }
    if ((f->count - best.times) * MISSED_SHARE > f->count)
        return false;
    source->after[0] = after_of(f, &best);
    source->after_count = 1;
    leaders[0] = source->after[0].draw - 1;
    *leader_count = 1;
    return true;
}

/* Of the own earlier addresses that ways lead to, 0: none do. */
static uint32_t furthest_of(const struct nest_source *source)
{
    uint32_t furthest = 0;

    for (uint32_t i = 0; i < source->after_count; i++)
        furthest = source->after[i].earlier > furthest ? source->after[i].earlier : furthest;
    return furthest;
}

/* How often it comes back is known of all addresses, and not only of some: as often, in the end, as
 * it comes to others. These have the rest. */
static void set_times(const struct fitting *f, const struct nest_rows *rows,
                      struct nest_source *source)
{
    double share[NEST_AFTER_MAX], all = 0, back = 0, others = 0;

    for (uint32_t k = 0; k <= NEST_EARLIER_MAX; k++)
        all += (double)rows->came[k];
    for (uint32_t i = 0; i < source->after_count; i++) {
        const struct nest_after *after = &source->after[i];
        double times = (double)rows->held[after->earlier] * f->count / (double)rows->seen;
        for (uint32_t k = 0; k < f->count; k++)
            times += f->rows[k].earlier == after->earlier;
        share[i] = after->earlier ? (double)rows->came[after->earlier] / all * after->times / times
                                  : after->times;
        back += after->earlier ? share[i] : 0;
        others += after->earlier ? 0 : share[i];
    }
    for (uint32_t i = 0; i < source->after_count; i++) {
        const double times = source->after[i].earlier ? share[i] : share[i] / others * (1 - back);
        source->after[i].times = (uint32_t)fmax(1, times * (double)TIMES + 0.5);
    }
}

/* The same with the draw's own earlier addresses, as long as it comes to others, too. */
static bool comes_back(struct fitting *f, const struct nest_rows *rows, struct nest_source *source,
                       uint32_t leaders[NEST_BACK_MAX], uint32_t *leader_count)
{
    uint32_t left = 0;
    bool has_others = false;

    for (uint32_t k = 1; k <= NEST_EARLIER_MAX; k++) {
        f->held[k] = (uint32_t)(rows->held[k] * f->count / rows->seen);
        f->held_count += f->held[k];
    }
    find_ways(f, COMING_BACK, source, leaders, leader_count);
    for (uint32_t i = 0; i < f->count; i++)
        left += !f->is_told[i] && (!f->rows[i].earlier || furthest_of(source) < 2);
    for (uint32_t i = 0; i < source->after_count; i++)
        has_others |= !source->after[i].earlier;
    if (has_others && left * MISSED_SHARE <= f->count + f->held_count)
        set_times(f, rows, source);
    else
        source->after_count = 0;
    return source->after_count;
}

/* The scale by which a source has several ways, or 1. */
static uint64_t scale_of(const struct nest_source *source)
{
    uint64_t scale = 1;
    uint32_t scaled = 0;

    for (uint32_t i = 0; i < source->after_count; i++)
        if (source->after[i].scale > 1) {
            scale = source->after[i].scale;
            scaled++;
        }
    return scaled > 1 ? scale : 1;
}

/* Sets what is fitted; false: rows tell nothing. */
static bool begin(struct fitting *f, const struct nest_rows *rows, nest_may_lead *may_lead,
                  void *context)
{
    if (!rows || rows->seen < ROWS_MIN)
        return false;
    f->rows = rows->rows;
    f->low = rows->low > NEAR ? rows->low - NEAR : 0;
    f->high = rows->high;
    f->count = rows->seen < ROWS ? (uint32_t)rows->seen : ROWS;
    if (is_of_few(f))
        return false;
    nest_places_set(f, may_lead, context);
    return true;
}

bool nest_rows_fit(const struct nest_rows *rows, nest_may_lead *may_lead, void *context,
                   uint32_t size, struct nest_source *source, uint32_t leaders[NEST_BACK_MAX],
                   uint32_t *leader_count)
{
    struct fitting f = {0};
    bool is_told, has_bounds = false;

    *leader_count = source->after_count = 0;
    if (!begin(&f, rows, may_lead, context))
        return false;
    is_told = find_ways(&f, PLAIN, source, leaders, leader_count);
    if (is_told && source->after_count == 1)
        return true;
    if (find_start(&f, source, leaders, leader_count) ||
        find_certain(&f, source, leaders, leader_count))
        return true;
    if (is_told)
        return find_ways(&f, PLAIN, source, leaders, leader_count);
    if (!find_ways(&f, SCALED, source, leaders, leader_count) ||
        (scale_of(source) > 1 && !nest_is_chosen_alike(rows, scale_of(source)))) {
        if (!comes_back(&f, rows, source, leaders, leader_count))
            return false;
        has_bounds = true; /* from the first on, which comes back to nothing yet */
    }
    for (uint32_t i = 0; i < source->after_count; i++)
        has_bounds |= source->after[i].scale > 1;
    source->low = has_bounds ? rows->low : 0;
    source->span_bytes = has_bounds ? rows->high + size - rows->low : 0;
    return true;
}

bool nest_rows_go_on(const struct nest_rows *rows, nest_may_lead *may_lead, void *context,
                     uint32_t size, struct nest_source *source)
{
    struct fitting f = {0};
    uint32_t leaders[NEST_BACK_MAX], count;

    if (!begin(&f, rows, may_lead, context) || !find_certain(&f, source, leaders, &count))
        return false;
    for (uint32_t i = 0; i < source->after_count; i++)
        if (!source->after[i].back || source->after[i].offset - 1 >= BEHIND)
            return false;
    source->low = rows->low;
    source->span_bytes = rows->high + size - rows->low;
    return true;
}

double nest_rows_foreseen(const struct nest_rows *rows, nest_may_lead *may_lead, void *context,
                          double *told)
{
    struct nest_source source;
    uint32_t leaders[NEST_BACK_MAX], count;
    double all = rows ? (double)(rows->seen < ROWS ? rows->seen : ROWS) : 0, sum = 0;
    uint64_t times = 0;

    *told = 0;
    if (!nest_rows_fit(rows, may_lead, context, 1, &source, leaders, &count))
        return 0;
    for (uint32_t i = 0; i < source.after_count; i++)
        times += source.after[i].times;
    all = fmax(all, (double)times); /* or of TIMES (set_times) */
    for (uint32_t i = 0; i < source.after_count; i++) {
        const double share = (double)source.after[i].times / all;
        sum += share * share;
        *told += share;
    }
    return sum;
}
