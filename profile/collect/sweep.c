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

static bool put(struct lane_sweep *sweep, uint64_t address, uint64_t bytes)
{
    sweep->end = address + bytes;
    return series_put(&sweep->bytes, address, 1, bytes);
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
        if (!put(&lane->sweeps[sweep], first, iterations * bytes))
            return false;
    }
    return true;
}

/* ---- accesses ---- */

bool sweep_put(struct lane *lane, uint32_t site, uint64_t address)
{
    return put(&lane->sweeps[lane->sites[site].sweep], address, lane->sites[site].size);
}

bool sweep_put_run(struct lane *lane, const struct lane_body *body, const uint64_t *firsts,
                   const uint64_t *strides, uint64_t count)
{
    for (uint32_t i = 0; i < body->width; i++) {
        const uint32_t sweep = lane->sites[body->sites[i]].sweep;
        uint64_t bytes = lane->sites[body->sites[i]].size;
        bool is_dense = true, is_first = true;
        if (sweep == PSNAP_NONE)
            continue;
        for (uint32_t k = 0; k < i; k++) /* those before have put the others in */
            is_first &= lane->sites[body->sites[k]].sweep != sweep;
        for (uint32_t k = i + 1; is_first && k < body->width; k++) {
            if (lane->sites[body->sites[k]].sweep != sweep)
                continue;
            is_dense &= firsts[k] == firsts[i] + bytes && strides[k] == strides[i];
            bytes += lane->sites[body->sites[k]].size;
        }
        if (!is_first)
            continue;
        if (count == 1 ? is_dense : is_dense && bytes == strides[i]) {
            if (!put(&lane->sweeps[sweep], firsts[i], count * bytes))
                return false;
            continue;
        }
        for (uint64_t n = 0; n < count; n++)
            for (uint32_t k = i; k < body->width; k++)
                if (lane->sites[body->sites[k]].sweep == sweep &&
                    !sweep_put(lane, body->sites[k], firsts[k] + n * strides[k]))
                    return false;
    }
    return true;
}
