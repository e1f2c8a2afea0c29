/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The areas of an irregular reference: stretches of memory, far apart, that it uses in turn, and
 * the same stretch again when it is used in another way from some time on (another era). Each has
 * a collector of its own. How many small steps come between two jumps is counted of all addresses:
 * collectors keep bursts, and scans may be far longer.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profile/gathers/gather_collect.h"

enum {
    ERA_WINDOW = 4096, /* accesses */
    SLACK = 1 << 30,   /* bytes between two areas, at least */
    RUNS_MIN = 64,     /* jumps, to say how many steps come between them, */
    ROUNDS = 256,      /* until chances have settled */
    STEPS_MOST = 4     /* and so many steps to each, as one that walks has */
};

#define ALIKE 64.0   /* times as many jumps, at most */
#define UNEVENLY 4.0 /* times the variance that chance gives */

struct areas {
    struct gather_areas front;
    uint64_t count; /* accesses; below nothing is known of those in the room */
    struct gather_collector *areas[GATHER_AREAS];
    uint32_t area_count, area;
    uint64_t changes[GATHER_AREAS][GATHER_AREAS];
    struct gather_turn turns[GATHER_TURNS];
    uint32_t turn_count; /* GATHER_TURNS + 1: too many */
    uint32_t era;
    uint32_t eras[GATHER_AREAS];      /* of the areas */
    double small_steps[GATHER_AREAS]; /* of the eras: their share */
    uint32_t era_count, window, window_small;
    uint64_t runs[GATHER_AREAS][GATHER_RUNS], run; /* small steps between jumps; now */
    uint64_t last;
    double share_before; /* of small steps, in the window before */
    bool are_of_walks;   /* where these begin: no passes, nor descents */
    bool is_out_of_memory;
};

struct gather_areas *gather_areas_new(void)
{
    struct areas *m = calloc(1, sizeof *m);

    return m ? &m->front : NULL;
}

void gather_areas_of_walks(struct gather_areas *areas)
{
    ((struct areas *)areas)->are_of_walks = true;
}

void gather_areas_free(struct gather_areas *areas)
{
    struct areas *m = (struct areas *)areas;

    for (uint32_t i = 0; m && i < m->area_count; i++)
        gather_collector_free(m->areas[i]);
    free(m);
}

uint64_t gather_areas_count(const struct gather_areas *areas)
{
    const struct areas *m = (const struct areas *)areas;

    return m ? m->count + m->front.count : 0;
}

bool gather_areas_are_whole(const struct gather_areas *areas)
{
    const struct areas *m = (const struct areas *)areas;

    return !m || !m->is_out_of_memory;
}

static uint64_t distance_of(const struct gather_collector *area, uint64_t address)
{
    return address < area->low    ? area->low - address
           : address > area->high ? address - area->high
                                  : 0;
}

static uint32_t area_of(struct areas *m, uint64_t address)
{
    uint32_t nearest = GATHER_AREAS;

    if (m->area_count && m->eras[m->area] == m->era && !distance_of(m->areas[m->area], address))
        return m->area;
    for (uint32_t i = 0; i < m->area_count; i++)
        if (m->eras[i] == m->era &&
            (nearest == GATHER_AREAS ||
             distance_of(m->areas[i], address) < distance_of(m->areas[nearest], address)))
            nearest = i;
    if (nearest < GATHER_AREAS &&
        (m->area_count == GATHER_AREAS || distance_of(m->areas[nearest], address) < SLACK))
        return nearest;
    if (m->area_count == GATHER_AREAS)
        return m->area;
    m->areas[m->area_count] = gather_collector_new();
    if (!m->areas[m->area_count]) {
        m->is_out_of_memory = true;
        return m->area;
    }
    if (m->are_of_walks)
        gather_collector_of_walks(m->areas[m->area_count]);
    m->eras[m->area_count] = m->era;
    return m->area_count++;
}

static bool is_small(uint64_t stride)
{
    return stride + GATHER_STEP_MAX <= 2 * GATHER_STEP_MAX;
}

/* So many steps were taken until an address was jumped to. */
static void end_run(struct areas *m)
{
    const unsigned octave = m->run ? 64u - (unsigned)__builtin_clzll(m->run) : 0;

    m->runs[m->area][octave < GATHER_RUNS ? octave : GATHER_RUNS - 1]++;
    m->run = 0;
}

/* Another era begins when the share of small steps has changed much, two windows long. */
static void note_era(struct areas *m, uint64_t address)
{
    double share, before;
    uint32_t era = 0;

    if (is_small(address - m->last)) {
        m->window_small++;
        m->run++;
    } else
        end_run(m);
    m->last = address;
    if (++m->window < ERA_WINDOW)
        return;
    share = (double)m->window_small / (double)ERA_WINDOW;
    m->window = m->window_small = 0;
    if (!m->era_count) {
        m->small_steps[m->era_count++] = share;
        m->share_before = share;
        return;
    }
    before = m->share_before;
    m->share_before = share;
    if (fabs(share - m->small_steps[m->era]) < 0.3 || fabs(share - before) > 0.1)
        return;
    while (era < m->era_count && fabs(share - m->small_steps[era]) >= 0.2)
        era++;
    if (era == m->era_count) {
        if (m->era_count == GATHER_AREAS || m->area_count == GATHER_AREAS)
            return;
        m->small_steps[m->era_count++] = share;
    }
    m->era = era;
}

static void put_one(struct areas *m, uint64_t address)
{
    const uint32_t area = area_of(m, address);

    note_era(m, address);
    if (!m->area_count)
        return; /* out of memory */
    if (!m->turn_count || area != m->area) {
        if (m->turn_count < GATHER_TURNS)
            m->turns[m->turn_count].area = area;
        m->turn_count += m->turn_count <= GATHER_TURNS;
    }
    if (m->turn_count <= GATHER_TURNS) {
        struct gather_turn *turn = &m->turns[m->turn_count - 1];
        turn->accesses = turn->area == area && m->count && m->area == area ? turn->accesses + 1 : 1;
    }
    m->changes[m->area][area]++;
    m->area = area;
    m->count++;
    gather_collector_put(m->areas[area], address);
}

/* n more addresses, the last of them this, are of the area that the last address was in, and before
 * the end of the window. */
static void note_more(struct areas *m, uint64_t n, uint64_t small, uint64_t last)
{
    m->window_small += (uint32_t)small;
    m->window += (uint32_t)n;
    m->last = last;
    if (m->turn_count <= GATHER_TURNS)
        m->turns[m->turn_count - 1].accesses += n;
    m->changes[m->area][m->area] += n;
    m->count += n;
}

/* Runs of what is in the room, of which so many are small steps, behind this last address. */
static void note_runs(struct areas *m, size_t n, size_t small, uint64_t last)
{
    const uint64_t *addresses = m->front.room;

    if (small == n) {
        m->run += n;
        return;
    }
    if (!small) {
        end_run(m);
        m->runs[m->area][0] += n - 1;
        return;
    }
    for (size_t i = 0; i < n; i++) {
        if (is_small(addresses[i] - last))
            m->run++;
        else
            end_run(m);
        last = addresses[i];
    }
}

/* What is in the room: of the area that the last address was in, and before the end of the window.
 */
static void note_room(struct areas *m)
{
    const uint64_t *addresses = m->front.room;
    const size_t n = m->front.count;
    uint64_t last = m->last;
    uint32_t small = 0;

    if (!n)
        return;
    for (size_t i = 0; i < n; i++) {
        small += is_small(addresses[i] - last);
        last = addresses[i];
    }
    note_runs(m, n, small, m->last);
    note_more(m, n, small, last);
    gather_collector_fill(m->areas[m->area], n);
}

static void open_room(struct areas *m)
{
    const size_t in_window = ERA_WINDOW - 1 - m->window;
    struct gather_collector *area = m->areas[m->area];

    m->front.count = m->front.most = 0;
    if (!m->count || m->eras[m->area] != m->era)
        return;
    m->front.room = gather_collector_room(area, &m->front.most);
    if (m->front.most > in_window)
        m->front.most = in_window;
    m->front.low = area->low;
    m->front.span = area->high - area->low;
}

void gather_areas_put_elsewhere(struct gather_areas *areas, uint64_t address)
{
    struct areas *m = (struct areas *)areas;

    note_room(m);
    open_room(m);
    if (areas->most && address - areas->low <= areas->span) {
        areas->room[areas->count++] = address;
    } else {
        put_one(m, address);
        open_room(m);
    }
}

/* How many addresses of a run, of n, are of the area that the last one was in, and before the end
 * of the window. */
static uint64_t count_staying(const struct areas *m, uint64_t first, uint64_t step, uint64_t n)
{
    const struct gather_collector *area = m->areas[m->area];
    const uint64_t in_window = ERA_WINDOW - 1 - m->window,
                   slack = m->area_count > 1 ? 0 : SLACK - 1;

    n = n < in_window ? n : in_window;
    if (!n || m->eras[m->area] != m->era ||
        step + SLACK / ERA_WINDOW > 2 * (uint64_t)(SLACK / ERA_WINDOW))
        return 0;
    return distance_of(area, first) <= slack && distance_of(area, first + (n - 1) * step) <= slack
               ? n
               : 0;
}

void gather_areas_put_run(struct gather_areas *areas, uint64_t first, uint64_t step, uint64_t n)
{
    struct areas *m = (struct areas *)areas;

    note_room(m);
    while (n) {
        uint64_t staying;
        put_one(m, first);
        first += step;
        n--;
        staying = m->area_count ? count_staying(m, first, step, n) : 0;
        if (!staying)
            continue;
        if (is_small(step))
            m->run += staying;
        else {
            end_run(m);
            m->runs[m->area][0] += staying - 1;
        }
        note_more(m, staying, is_small(step) ? staying : 0, first + (staying - 1) * step);
        gather_collector_put_run(m->areas[m->area], first, step, staying);
        first += staying * step;
        n -= staying;
    }
    open_room(m);
}

void gather_areas_range(const struct gather_areas *areas, uint64_t *low, uint64_t *high)
{
    const struct areas *m = (const struct areas *)areas;

    for (uint32_t i = 0; m && i < m->area_count; i++) {
        *low = m->areas[i]->low < *low ? m->areas[i]->low : *low;
        *high = m->areas[i]->high > *high ? m->areas[i]->high : *high;
    }
}

/* The share of jumps that a model's chances come to. */
static double share_of_jumps(const struct gather_area *m)
{
    double now[GATHER_STEPS + 1] = {1};

    for (int round = 0; round < ROUNDS; round++) {
        double then[GATHER_STEPS + 1] = {0};
        for (uint32_t i = 0; i <= m->step_count; i++)
            for (uint32_t j = 0; j <= m->step_count; j++)
                then[j] += now[i] * m->next[i][j];
        for (uint32_t i = 0; i <= m->step_count; i++)
            now[i] = (now[i] + then[i]) / 2; /* whatever turns in a circle */
    }
    return now[0];
}

/* How many steps come in a row, if that varies far more than chance has it: scans whose lengths are
 * of all sizes, as partitions of a sort are. Without the longest, which may be all that there was
 * before the program did something else. */
static void set_runs(const struct areas *m, uint32_t area, struct gather_area *model)
{
    const uint64_t *runs = m->runs[area];
    double times = -1, sum = 0, squares = 0, mean;
    uint32_t most = GATHER_RUNS;

    while (most && !runs[most - 1])
        most--;
    for (uint32_t i = 0; i < most; i++) {
        const double length = i ? 1.5 * ldexp(0.5, (int)i) : 0,
                     n = (double)runs[i] - (i + 1 == most);
        times += (double)runs[i];
        sum += n * length;
        squares += n * length * length;
    }
    if (!model->step_count || times < (double)RUNS_MIN || sum < (double)STEPS_MOST * times)
        return;
    mean = sum / times;
    if (squares / times - mean * mean <= UNEVENLY * mean * (mean + 1))
        return;
    /* Onwards by steps that are not listed is no jump, though to the model it is one. */
    if (model->places == GATHER_SWEEP &&
        share_of_jumps(model) * (double)m->areas[area]->taken > ALIKE * (times + 1))
        return;
    for (uint32_t i = 0; i < most; i++)
        model->runs[i] = (double)runs[i] / (times + 1);
}

void gather_areas_fit(struct gather_areas *areas, struct psnap_gather *model)
{
    struct areas *m = (struct areas *)areas;

    note_room(m);
    model->area_count = m->area_count;
    for (uint32_t i = 0; i < m->area_count; i++) {
        uint64_t sum = 0;
        gather_fit(m->areas[i], &model->areas[i]);
        set_runs(m, i, &model->areas[i]);
        for (uint32_t j = 0; j < m->area_count; j++)
            sum += m->changes[i][j];
        for (uint32_t j = 0; j < m->area_count; j++)
            model->next_area[i][j] = sum ? (double)m->changes[i][j] / (double)sum : i == j;
    }
    if (m->area_count > 1 && m->turn_count <= GATHER_TURNS) {
        model->turn_count = m->turn_count;
        memcpy(model->turns, m->turns, m->turn_count * sizeof *m->turns);
    }
    open_room(m);
}
