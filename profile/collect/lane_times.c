/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reuse times of a few rare references (lane.h), when all else of a stream is known. A lane without
 * reuse times may learn at the very end that references are no nests, since they have more values
 * than their few accesses allow. Then the stream is made anew, and goes by the sample of lines and
 * the latest irregular accesses alone, up to the last access of these references: iterations,
 * series and the order are there.
 *
 * What comes out is what a lane with reuse times has: which references passed for irregular ones at
 * a time, the lane remembers. References that one of these may depend on have reuse times, too;
 * which they are shows when all has been looked at, and then the stream is made once more.
 */
#include <stdlib.h>
#include <string.h>

#include "profile/collect/lane.h"
#include "profile/walk/walk.h"

enum { BLOCK = 1024 /* accesses */ };

struct timing {
    struct lane *lane;
    bool *is_wanted; /* by site */
    uint32_t *turns; /* by site: how often it has become irregular or regular */
    uint64_t left;   /* accesses of wanted sites that are still to come */
};

/* A site has had so many accesses that it becomes irregular or regular now. */
static void turn(struct timing *t, uint32_t site)
{
    struct lane_site *of = &t->lane->sites[site];
    struct lane_history *history = &t->lane->histories[site];

    t->turns[site]++;
    of->is_irregular = !of->is_irregular;
    if (of->is_irregular)
        return;
    free(history->depend);
    history->depend = NULL;
}

/* How many accesses a site has until its next turn; UINT64_MAX: there is none. */
static inline uint64_t until_turn(const struct timing *t, uint32_t site)
{
    const struct lane_history *history = &t->lane->histories[site];

    return t->turns[site] < history->turn_count
               ? history->turns[t->turns[site]] - t->lane->sites[site].length
               : UINT64_MAX;
}

static bool put_access(struct timing *t, uint32_t site, uint64_t address)
{
    struct lane *lane = t->lane;
    struct lane_site *of = &lane->sites[site];
    const struct sample_line line = {address >> SAMPLE_LINE_BITS, lane->now, address % REUSE_LINE};
    const uint64_t index = of->length++, time = lane->now++;
    const bool is_irregular = of->is_irregular;
    struct sample_line before;

    if (sample_has(&lane->sample, line.line) &&
        !(t->is_wanted[site] ? lane_note_reuse(lane, site, address, time, index)
                             : sample_touch(&lane->sample, &line, &before)))
        return false;
    t->left -= t->is_wanted[site];
    if (t->is_wanted[site] && is_irregular && index >= lane->histories[site].next_look &&
        !lane_note_dependence(lane, site, address, time))
        return false;
    if (!until_turn(t, site))
        turn(t, site);
    of->latest = address;
    if (is_irregular) {
        of->latest_time = time;
        depend_recent_add(&lane->recent, site, address, time);
    }
    return true;
}

/* Sites access so many repetitions of columns, in turn. */
struct part {
    const uint32_t *sites;
    const struct run_column *columns;
    size_t width;
    uint64_t count;
};

/* Makes known what the irregular ones of them accessed. */
static void enter_latest(struct lane *lane, const struct part *part)
{
    const uint64_t from = part->count < DEPEND_RECENT ? 0 : part->count - DEPEND_RECENT;
    struct depend_recent *recent = &lane->recent;

    for (size_t k = 0; k < part->width; k++) {
        struct lane_site *of = &lane->sites[part->sites[k]];
        of->latest = run_column_address(&part->columns[k], part->count - 1);
        if (!of->is_irregular)
            continue;
        of->latest_time = lane->now + (part->count - 1) * part->width + k;
        recent->at = (recent->at + from) % DEPEND_RECENT;
    }
    for (uint64_t i = from; i < part->count; i++)
        for (size_t k = 0; k < part->width; k++)
            if (lane->sites[part->sites[k]].is_irregular)
                depend_recent_add(recent, part->sites[k], run_column_address(&part->columns[k], i),
                                  lane->now + i * part->width + k);
}

/* None of the sites is wanted, or has a turn but at the end. */
static bool put_others(struct timing *t, const struct part *part)
{
    struct lane *lane = t->lane;
    struct visit visits[LANE_WIDTH_MAX];

    if (!visit_run(visits, part->columns, part->width, &lane->sample, part->count, lane->now))
        return false;
    enter_latest(lane, part);
    for (size_t k = 0; k < part->width; k++) {
        lane->sites[part->sites[k]].length += part->count;
        if (!until_turn(t, part->sites[k]))
            turn(t, part->sites[k]);
    }
    lane->now += part->count * part->width;
    return true;
}

static bool put_wanted(struct timing *t, const struct part *part)
{
    for (uint64_t i = 0; i < part->count; i++)
        for (size_t k = 0; k < part->width; k++)
            if (!put_access(t, part->sites[k], run_column_address(&part->columns[k], i)))
                return false;
    return true;
}

static bool put_run(struct timing *t, const struct psnap_run *run)
{
    struct run_column columns[LANE_WIDTH_MAX];
    uint32_t sites[LANE_WIDTH_MAX];
    struct part part = {sites, columns, run->width, 0};
    bool is_wanted = false;

    for (size_t k = 0; k < run->width; k++) {
        sites[k] = run->first[k].ref;
        columns[k] = run_column(run, k, 0);
        is_wanted |= t->is_wanted[sites[k]];
    }
    for (uint64_t left = run->count; left; left -= part.count) {
        part.count = left;
        for (size_t k = 0; k < run->width; k++) {
            const uint64_t until = until_turn(t, sites[k]);
            part.count = until < part.count ? until : part.count;
        }
        if (!(is_wanted ? put_wanted(t, &part) : put_others(t, &part)))
            return false;
        for (size_t k = 0; k < run->width; k++)
            run_column_skip(&columns[k], part.count);
    }
    return true;
}

/* The lane is before the stream, but for its series. False: out of memory. */
static bool begin(struct timing *t)
{
    struct lane *lane = t->lane;

    t->left = 0;
    lane->now = 0;
    memset(t->turns, 0, lane->site_count * sizeof *t->turns);
    memset(&lane->recent, 0, sizeof lane->recent);
    for (int i = 0; i < DEPEND_RECENT; i++)
        lane->recent.ring[i].site = PSNAP_NONE;
    for (uint32_t i = 0; i < lane->site_count; i++) {
        struct lane_site *of = &lane->sites[i];
        struct lane_history *history = &lane->histories[i];
        t->left += t->is_wanted[i] ? of->length : 0;
        of->length = of->latest = of->latest_time = 0;
        of->is_irregular = true;
        reuse_collector_release(&history->reuse);
        free(history->depend);
        history->depend = NULL;
        history->notes = history->next_look = history->looks = 0;
    }
    sample_release(&lane->sample);
    return sample_init(&lane->sample);
}

/* The stream, up to the last access of a wanted site; false: out of memory. */
static bool put_model(struct timing *t, const struct psnap_stream_model *model)
{
    struct walk *walk = walk_new(model, NULL, 0);
    struct psnap_access block[BLOCK];
    struct psnap_run run;
    size_t n;
    int more = walk ? 1 : -1;

    for (uint32_t i = 0; walk && i < model->ref_count; i++)
        walk->ref_numbers[i] = i;
    while (more > 0 && t->left) {
        more = walk_next(walk, UINT64_MAX, &run, block, BLOCK, &n);
        if (more == 1 && !put_run(t, &run))
            more = -1;
        for (size_t i = 0; more > 0 && i < n; i++)
            if (!put_access(t, block[i].ref, block[i].address))
                more = -1;
    }
    walk_free(walk);
    return more >= 0;
}

/* Bases by which rules of wanted sites hold are wanted, too: returns whether they were not yet.
 * *are_rare gets false when one has too many accesses. */
static bool want_bases(struct timing *t, bool *are_rare)
{
    const struct lane *lane = t->lane;
    bool are_more = false;

    for (uint32_t i = 0; i < lane->site_count; i++) {
        const struct depend_collector *depend = lane->histories[i].depend;
        for (uint32_t k = 0; depend && lane->histories[i].addresses.is_over && k < depend->count;
             k++)
            for (uint32_t b = 0; depend_holds(&depend->rules[k]) && b < depend->rules[k].base_count;
                 b++) {
                const uint32_t base = depend->rules[k].bases[b];
                are_more |= !t->is_wanted[base];
                t->is_wanted[base] = true;
                *are_rare &= lane->sites[base].length <= LANE_NOTES;
            }
    }
    return are_more;
}

/* Goes through the stream until all is collected, or *are_rare gets false. */
static bool collect(struct timing *t, const struct psnap_stream_model *model, bool *are_rare)
{
    struct lane *lane = t->lane;
    const size_t bytes = lane->site_count * sizeof *lane->sites;
    const uint64_t now = lane->now;
    struct lane_site *sites = malloc(bytes + 1);
    bool has_memory = sites != NULL, are_more = true;

    if (has_memory)
        memcpy(sites, lane->sites, bytes);
    while (has_memory && are_more && *are_rare) {
        has_memory = begin(t) && put_model(t, model);
        memcpy(lane->sites, sites, bytes);
        are_more = has_memory && want_bases(t, are_rare);
    }
    lane->now = now;
    free(sites);
    return has_memory;
}

bool lane_collect_times(struct lane *lane)
{
    const size_t count = lane->site_count + (size_t)1;
    struct psnap_stream_model *model = model_new();
    struct timing t = {.lane = lane,
                       .is_wanted = calloc(count, sizeof *t.is_wanted),
                       .turns = calloc(count, sizeof *t.turns)};
    bool are_rare = true, has_memory = model && t.is_wanted && t.turns;

    for (uint32_t i = 0; has_memory && i < lane->site_count; i++)
        t.is_wanted[i] = lane->histories[i].addresses.is_over;
    has_memory = has_memory && lane_take(lane, 0, model) && collect(&t, model, &are_rare);
    model_free(model);
    free(t.is_wanted);
    free(t.turns);
    if (!has_memory || !are_rare)
        return has_memory;
    for (uint32_t i = 0; i < lane->site_count; i++)
        if (lane->histories[i].addresses.is_over)
            series_give_up(&lane->histories[i].addresses);
    lane->has_reuse = true;
    return lane_forget(lane);
}
