/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which places of a trail tell a reference's addresses (nest_after.h). Rows are a sample of all
 * that were looked at (nest_sample.h). Pairs of a place and an offset are taken one after the
 * other, each time that which tells most of the rows that are left; the nearest place of several.
 * A place is the reference's own last address, one so many back in the trail, the last one of a
 * reference that is not drawn (of an unrolled loop, of whichever of its references came last), or
 * where a draw began when its loop was come to last: what goes over
 * an array again begins where that did. Where that does not tell nearly all, places are scaled as
 * well: the children of element i of a heap are elements 2 i + 1 and 2 i + 2. Not where it depends
 * on the element which child comes: drawn by chance all paths were as likely, and many more lines
 * used. Nor from another array, whose model may know less of where its elements lie: byte maps and
 * distances of a search on a grid.
 *
 * What still is not told may come back to the reference's own earlier addresses, as the bounds of
 * what a recursion divides do (nest_past.h), or go on from where another one came back from. How
 * often it does is counted of all that were looked at.
 */
#include "profile/walks/nest_after.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profile/walks/nest_past.h"
#include "profile/walks/nest_sample.h"

enum {
    ROWS = 256,
    ROWS_MIN = 64,     /* to tell anything */
    MISSED_SHARE = 16, /* of the rows one in so many may be told by nothing, */
    TOLD_SHARE = 16,   /* and a pair tells at least one in so many */
    BACKS = NEST_BACK_MAX + 1,
    REFS = 4,   /* references that are not drawn which are looked at, */
    STARTS = 8, /* and draws that began */
    PAIRS = 1024,
    PAIRS_ALIKE = 4, /* of the same address before, to tell anything */
    CHOICES = 8,
    NEAR = 1 << 12,                /* bytes below the lowest address the root of a heap may be */
    TIMES = 1 << 18,               /* of all ways together, where it comes back */
    LEFTS = BACKS + REFS + STARTS, /* from here on, where draws came back from */
    LATEST = LEFTS + STARTS,       /* of a loop's references the one that came last */
    PLACES = LATEST + 1
};

struct row {
    uint64_t address, places[BACKS]; /* its own last, the latest, those before */
    uint64_t marks[NEST_MARKS];      /* the latest one first */
    struct nest_starts starts;
    uint32_t draws[BACKS], refs[NEST_MARKS], mark_loop; /* mark_loop: of the latest mark */
    uint32_t earlier;                                   /* so many of its own back, 0: nowhere */
};

/* An address and the reference's own before it: a larger sample. */
struct pair {
    uint64_t last, address;
};

struct nest_rows {
    uint64_t seen, pairs_seen;
    uint64_t low, high; /* of all addresses */
    struct nest_past past;
    /* Addresses by how far back among the draw's own, 0: nowhere; and those of them of which no
       rows are kept, as the present leader has not failed yet. */
    uint64_t came[NEST_EARLIER_MAX + 1], held[NEST_EARLIER_MAX + 1];
    struct row rows[ROWS];
    struct pair pairs[PAIRS];
};

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

/* ---- the fit ---- */

struct fitting {
    const struct row *rows;
    uint32_t count;
    uint32_t refs[REFS], ref_count;       /* those of marks that come most often */
    uint32_t starts[STARTS], start_count; /* of draws, the same */
    uint32_t latest[NEST_MARKS], latest_count, latest_loop; /* those of a loop that come last */
    uint64_t low, high;                                     /* of places that are scaled */
    uint64_t places[ROWS][PLACES];
    bool may_lead[ROWS][PLACES], is_told[ROWS];
    uint32_t held[NEST_EARLIER_MAX + 1], held_count; /* beside the rows, in proportion */
};

/* Whether a row may come from a place. What would leave the array begins anew, so a reference's own
 * last address, scaled, leads always. */
static inline bool may_come(const struct fitting *f, uint32_t row, uint32_t place, uint32_t scale)
{
    if (scale == 1)
        return f->may_lead[row][place];
    return (f->may_lead[row][place] || !place) && f->places[row][place] >= f->low &&
           f->places[row][place] <= f->high;
}

/* How often numbers come, in the order in which they do. */
struct tally {
    uint32_t numbers[2 * ROWS], counts[2 * ROWS], count;
};

static void count_one(struct tally *tally, uint32_t number)
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
            count_one(&loops, f->rows[i].mark_loop);
    f->latest_count = 0;
    if (!take_most(&loops, 1, &f->latest_loop))
        return;
    for (uint32_t i = 0; i < f->count; i++)
        if (f->rows[i].mark_loop == f->latest_loop)
            count_one(&refs, f->rows[i].refs[0]);
    if (refs.count > 1 && refs.count <= NEST_MARKS)
        f->latest_count = take_most(&refs, NEST_MARKS, f->latest);
}

/* The references of marks and the draws of starts, those in most rows first. */
static void find_refs(struct fitting *f)
{
    struct tally marks = {.count = 0}, starts = {.count = 0};

    for (uint32_t i = 0; i < f->count; i++) {
        for (uint32_t k = 0; k < NEST_MARKS; k++)
            count_one(&marks, f->rows[i].refs[k]);
        for (uint32_t k = 0; k < NEST_STARTS; k++)
            count_one(&starts, f->rows[i].starts.draws[k]);
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

static void set_places(struct fitting *f, nest_may_lead *may_lead, void *context)
{
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
            f->may_lead[i][BACKS + REFS + k] =
                at < NEST_STARTS &&
                may_lead(context, f->starts[k],
                         f->starts[k] == row->draws[0] ? NEST_LEAD_OWN : NEST_LEAD);
            f->places[i][BACKS + REFS + k] = at < NEST_STARTS ? row->starts.addresses[at] : 0;
            f->places[i][LEFTS + k] = at < NEST_STARTS ? row->starts.lefts[at] : 0;
            f->may_lead[i][LEFTS + k] = f->places[i][LEFTS + k] && f->starts[k] != row->draws[0] &&
                                        may_lead(context, f->starts[k], NEST_LEAD_LEFT);
        }
        f->may_lead[i][LATEST] =
            f->latest_count && row->refs[0] != PSNAP_NONE && row->mark_loop == f->latest_loop;
        f->places[i][LATEST] = row->marks[0];
    }
}

struct way {
    uint32_t place, scale, times, by;
    uint64_t offset;
    uint32_t earlier; /* or so many of its own back; 0: not that */
};

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

/* The same of own earlier addresses. */
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
    after.is_start = way->place >= BACKS + REFS && way->place < LEFTS;
    if (way->place < BACKS)
        after.back = way->place;
    else if (way->place == LATEST) {
        after.draw = 1 + f->latest[0];
        for (uint32_t k = 1; k < f->latest_count; k++)
            after.also[k - 1] = 1 + f->latest[k];
    } else if (after.is_left)
        after.draw = 1 + f->starts[way->place - LEFTS];
    else if (after.is_start)
        after.draw = 1 + f->starts[way->place - BACKS - REFS];
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
        for (uint32_t i = 0; i < scale_count; i++)
            for (uint32_t place = 0; place < PLACES; place++) {
                if (place >= BACKS + f->ref_count && place < LATEST)
                    continue;
                const struct way other = best_of(f, place, scales[i]);
                best = other.times > best.times ? other : best;
            }
        for (uint32_t k = 0; which == COMING_BACK && k < f->start_count; k++) {
            const struct way other = best_of(f, LEFTS + k, 1);
            best = other.times > best.times ? other : best;
        }
        best = earlier.times > best.times ? earlier : best;
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
            count_one(&draws, f->rows[i].draws[back]);
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

/* What is left is told by one way, whoever the addresses are of. */
static struct way best_of_all(const struct fitting *f)
{
    struct way best = {0};

    for (uint32_t place = 0; place < PLACES; place++) {
        if (place >= BACKS + f->ref_count && place < LATEST)
            continue;
        const struct way other = best_of(f, place, 1);
        best = other.times > best.times ? other : best;
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
        struct way best = best_of_all(f);
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
        const struct way other = best_of(f, BACKS + REFS + k, 1);
        best = other.times > best.times ? other : best;
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

/* ---- whether children are chosen alike ---- */

static int compare_pairs(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;

    if (x->last != y->last)
        return x->last < y->last ? -1 : 1;
    return x->address < y->address ? -1 : x->address > y->address;
}

/* The ways that most pairs go, at this scale; returns how many, and the share of each. */
static uint32_t find_choices(const struct pair *pairs, uint32_t n, uint64_t scale,
                             uint64_t choices[CHOICES], double shares[CHOICES])
{
    bool is_known[PAIRS] = {false};
    uint32_t count = 0;

    for (; count < CHOICES; count++) {
        uint32_t best = 0;
        for (uint32_t i = 0; i < n && i < 32; i++) { /* a way that few of these go is none */
            const uint64_t choice = pairs[i * (n / 32)].address - scale * pairs[i * (n / 32)].last;
            uint32_t times = 0;
            for (uint32_t k = 0; k < n; k++)
                times += !is_known[k] && pairs[k].address - scale * pairs[k].last == choice;
            if (times > best) {
                best = times;
                choices[count] = choice;
            }
        }
        if (best < n / 32)
            break;
        shares[count] = best;
        for (uint32_t k = 0; k < n; k++)
            is_known[k] |= pairs[k].address - scale * pairs[k].last == choices[count];
    }
    return count;
}

/* Chi squared over addresses that came several times: the ways from each as from all. */
static bool is_chosen_alike(const struct nest_rows *rows, uint64_t scale)
{
    const uint32_t n = rows->pairs_seen < PAIRS ? (uint32_t)rows->pairs_seen : PAIRS;
    struct pair pairs[PAIRS];
    uint64_t choices[CHOICES];
    double shares[CHOICES], sum = 0, known = 0, freedom = 0;
    uint32_t count;

    if (n < 64)
        return true;
    memcpy(pairs, rows->pairs, n * sizeof *pairs);
    count = find_choices(pairs, n, scale, choices, shares);
    for (uint32_t c = 0; c < count; c++)
        known += shares[c];
    qsort(pairs, n, sizeof *pairs, compare_pairs);
    for (uint32_t i = 0, end; i < n; i = end) {
        double times[CHOICES] = {0}, all = 0;
        for (end = i; end < n && pairs[end].last == pairs[i].last; end++)
            for (uint32_t c = 0; c < count; c++)
                if (pairs[end].address - scale * pairs[end].last == choices[c]) {
                    times[c]++;
                    all++;
                }
        if (all < (double)PAIRS_ALIKE)
            continue;
        for (uint32_t c = 0; c < count; c++) {
            const double wanted = all * shares[c] / known;
            sum += (times[c] - wanted) * (times[c] - wanted) / wanted;
        }
        freedom += count - 1;
    }
    return sum <= freedom + 6 * sqrt(2 * freedom);
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

bool nest_rows_fit(const struct nest_rows *rows, nest_may_lead *may_lead, void *context,
                   uint32_t size, struct nest_source *source, uint32_t leaders[NEST_BACK_MAX],
                   uint32_t *leader_count)
{
    struct fitting f = {0};
    bool is_told, has_bounds = false;

    *leader_count = source->after_count = 0;
    if (!rows || rows->seen < ROWS_MIN)
        return false;
    f.rows = rows->rows;
    f.low = rows->low > NEAR ? rows->low - NEAR : 0;
    f.high = rows->high;
    f.count = rows->seen < ROWS ? (uint32_t)rows->seen : ROWS;
    if (is_of_few(&f))
        return false;
    find_refs(&f);
    set_places(&f, may_lead, context);
    is_told = find_ways(&f, PLAIN, source, leaders, leader_count);
    if (is_told && source->after_count == 1)
        return true;
    if (find_start(&f, source, leaders, leader_count) ||
        find_certain(&f, source, leaders, leader_count))
        return true;
    if (is_told)
        return find_ways(&f, PLAIN, source, leaders, leader_count);
    if (!find_ways(&f, SCALED, source, leaders, leader_count) ||
        (scale_of(source) > 1 && !is_chosen_alike(rows, scale_of(source)))) {
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

double nest_rows_foreseen(const struct nest_rows *rows, nest_may_lead *may_lead, void *context,
                          double *told)
{
    struct nest_source source;
    uint32_t leaders[NEST_BACK_MAX], count;
    double all = rows ? (double)(rows->seen < ROWS ? rows->seen : ROWS) : 0, sum = 0;

    *told = 0;
    if (!nest_rows_fit(rows, may_lead, context, 1, &source, leaders, &count))
        return 0;
    for (uint32_t i = 0; i < source.after_count; i++) {
        const double share = (double)source.after[i].times / all;
        sum += share * share;
        *told += share;
    }
    return sum;
}
