/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the sweeps that references share, and collects their addresses (sweep.h).
 */
#include "profile/collect/sweep.h"

#include "formats/base/room.h"
#include "profile/collect/lane.h"

/* ---- joining ---- */

/* Whether a reference has accessed nothing but one run, in the one execution that there was. */
static bool is_one_run(const struct lane *lane, uint32_t site, uint64_t iterations)
{
    const struct series *addresses = &lane->histories[site].addresses;

    return lane->sites[site].sweep == PSNAP_NONE && addresses->length == iterations &&
           addresses->count == iterations;
}

/* Finds the references of a body that take turns in a sweep with the one at place `from`, the first
 * of them; chain[] gets their places in the body. Returns how many they are; 0: there is no sweep.
 */
static uint32_t find_chain(const struct lane *lane, const struct lane_body *body,
                           uint64_t iterations, uint32_t from, uint32_t chain[LANE_WIDTH_MAX])
{
    const struct lane_site *head = &lane->sites[body->sites[from]];
    const struct series *first = &lane->histories[body->sites[from]].addresses;
    const uint64_t stride = iterations > 1 ? first->stride : UINT64_MAX;
    uint64_t bytes = head->size;
    uint32_t count = 1;

    chain[0] = from;
    for (uint32_t i = from + 1; i < body->width && bytes < stride; i++) {
        const struct lane_site *site = &lane->sites[body->sites[i]];
        const struct series *addresses = &lane->histories[body->sites[i]].addresses;
        if (site->kind != head->kind || !is_one_run(lane, body->sites[i], iterations) ||
            addresses->first != first->first + bytes ||
            (iterations > 1 ? addresses->stride != stride : site->size != head->size))
            continue;
        chain[count++] = i;
        bytes += site->size;
    }
    return iterations > 1 && bytes != stride ? 0 : count;
}

/* Whether one of a body's references is in a sweep already. */
static bool has_sweep(const struct lane *lane, const struct lane_body *body, uint32_t sweep)
{
    for (uint32_t k = 0; k < body->width; k++)
        if (lane->sites[body->sites[k]].sweep == sweep)
            return true;
    return false;
}

/* The sweep that goes on where a reference began, or a new one; PSNAP_NONE: out of memory. */
static uint32_t find_sweep(struct lane *lane, uint64_t source, const struct lane_body *body,
                           const struct lane_site *site, uint64_t first)
{
    struct lane_sweep *more;

    for (uint32_t i = lane->sweep_count; i-- > 0;)
        if (lane->sweeps[i].source == source && lane->sweeps[i].kind == site->kind &&
            lane->sweeps[i].end == first && !has_sweep(lane, body, i))
            return i;
    more = psnap_with_room(lane->sweeps, &lane->sweep_room, lane->sweep_count + (size_t)1,
                           sizeof *more);
    if (!more)
        return PSNAP_NONE;
    lane->sweeps = more;
    more[lane->sweep_count] =
        (struct lane_sweep){.source = source, .kind = site->kind, .element = site->size};
    series_init(&more[lane->sweep_count].bytes, lane->patterns);
    return lane->sweep_count++;
}

static uint8_t common_divisor(uint8_t a, uint8_t b)
{
    while (b) {
        const uint8_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static bool put(struct lane *lane, uint32_t sweep, uint64_t address, uint64_t bytes)
{
    lane->sweeps[sweep].end = address + bytes;
    return lane->log ? lane_log_put(lane, LANE_SWEEP | sweep, address, 1, bytes)
                     : series_put(&lane->sweeps[sweep].bytes, address, 1, bytes);
}

bool sweep_join(struct lane *lane, const struct lane_body *body, uint64_t iterations)
{
    const uint64_t source = lane_source(lane, body->loop);
    uint32_t chain[LANE_WIDTH_MAX];

    for (uint32_t i = 0; source && i < body->width; i++) {
        const uint64_t first = lane->histories[body->sites[i]].addresses.first;
        const uint32_t count = is_one_run(lane, body->sites[i], iterations)
                                   ? find_chain(lane, body, iterations, i, chain)
                                   : 0;
        uint64_t bytes = 0;
        uint32_t sweep;
        if (!count)
            continue;
        sweep = find_sweep(lane, source, body, &lane->sites[body->sites[i]], first);
        if (sweep == PSNAP_NONE)
            return false;
        for (uint32_t k = 0; k < count; k++) {
            struct lane_site *site = &lane->sites[body->sites[chain[k]]];
            struct lane_sweep *to = &lane->sweeps[sweep];
            to->element = common_divisor(to->element, site->size);
            site->sweep = sweep;
            bytes += site->size;
        }
        if (!put(lane, sweep, first, iterations * bytes))
            return false;
    }
    return true;
}

/* ---- accesses ---- */

bool sweep_put(struct lane *lane, uint32_t site, uint64_t address)
{
    return put(lane, lane->sites[site].sweep, address, lane->sites[site].size);
}

/* The columns of a run that one sweep has. */
struct swept {
    uint32_t columns[LANE_WIDTH_MAX];
    uint32_t count;
    uint64_t bytes; /* of a repetition */
};

/* Takes the columns that have the sweep of column `from` out of those that are left. */
static void take_swept(const struct lane *lane, const struct lane_run *run, uint32_t from,
                       uint32_t sweeps[LANE_WIDTH_MAX], struct swept *swept)
{
    const uint32_t sweep = sweeps[from];

    swept->count = 0;
    swept->bytes = 0;
    for (uint32_t k = from; k < run->width; k++)
        if (sweeps[k] == sweep) {
            sweeps[k] = PSNAP_NONE;
            swept->columns[swept->count++] = k;
            swept->bytes += lane->sites[run->sites[k]].size;
        }
}

static uint8_t size_of(const struct lane *lane, const struct lane_run *run, uint32_t k)
{
    return lane->sites[run->sites[k]].size;
}

/* Whether the columns go on byte after byte, repetition after repetition. */
static bool is_dense(const struct lane *lane, const struct lane_run *run, const struct swept *swept)
{
    const struct run_column *first = &run->columns[swept->columns[0]];
    uint64_t bytes = 0;
    bool is = true;

    for (uint32_t i = 0; i < swept->count; i++) {
        const struct run_column *column = &run->columns[swept->columns[i]];
        is &= !column->words && column->first == first->first + bytes &&
              column->stride == first->stride;
        bytes += size_of(lane, run, swept->columns[i]);
    }
    return is && (run->count == 1 || bytes == first->stride);
}

/* A sweep's accesses, when they are not dense. */
static bool put_swept(struct lane *lane, uint32_t sweep, const struct lane_run *run,
                      const struct swept *swept)
{
    const uint64_t step = run->columns[swept->columns[0]].stride;
    struct series *bytes = &lane->sweeps[sweep].bytes;
    struct series_run runs[LANE_WIDTH_MAX];
    bool is_even = true;

    for (uint32_t i = 0; i < swept->count; i++) {
        const struct run_column *column = &run->columns[swept->columns[i]];
        is_even &= !column->words && column->stride == step;
        runs[i] = (struct series_run){column->first, 1, size_of(lane, run, swept->columns[i])};
    }
    if (is_even)
        return lane->log ? lane_log_put_repeated(lane, LANE_SWEEP | sweep, runs, swept->count, step,
                                                 run->count)
                         : series_put_repeated(bytes, runs, swept->count, step, run->count);
    for (uint64_t n = 0; n < run->count; n++)
        for (uint32_t i = 0; i < swept->count; i++)
            if (!put(lane, sweep, run_column_address(&run->columns[swept->columns[i]], n),
                     runs[i].count))
                return false;
    return true;
}

bool sweep_put_run(struct lane *lane, const struct lane_run *run)
{
    uint32_t sweeps[LANE_WIDTH_MAX], any = PSNAP_NONE;
    struct swept swept;

    for (uint32_t k = 0; k < run->width; k++)
        any &= sweeps[k] = lane->sites[run->sites[k]].sweep;
    for (uint32_t k = 0; k < run->width && any != PSNAP_NONE; k++) {
        const uint32_t sweep = sweeps[k];
        uint32_t last;
        if (sweep == PSNAP_NONE)
            continue;
        take_swept(lane, run, k, sweeps, &swept);
        last = swept.columns[swept.count - 1];
        if (is_dense(lane, run, &swept)
                ? !put(lane, sweep, run->columns[k].first, run->count * swept.bytes)
                : !put_swept(lane, sweep, run, &swept))
            return false;
        lane->sweeps[sweep].end =
            run_column_address(&run->columns[last], run->count - 1) + size_of(lane, run, last);
    }
    return true;
}
