/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The addresses of a thread's references: to the series that each of them may be, and to the sample
 * of cache lines that tells reuse times. A reference is irregular until its series is a nest for
 * sure, and when it turns out to be none after all; what irregular references touch is counted. The
 * other references only say when the lines were touched, which takes a hash for each line.
 */
#include <string.h>

#include "formats/base/room.h"
#include "profile/collect/lane.h"

enum {
    LOOKS = 3, /* of each 8 executions that are looked at for dependence the next is one further */
    /* When so many accesses of a reference have been noted, only one in 2^FEWER of its accesses
     * that come back to a line sooner than bin SOON is noted, and stands for all: most do, and
     * their histogram is known to a few thousandths by then. Those that are rare and miss caches
     * are counted as before, unless the reference is regular as far as is known. */
    NOTES = 1 << 16,
    SOON = REUSE_EXACT + 5,
    FEWER = 3
};

static struct depend_access latest_of(const void *context, uint32_t site)
{
    const struct lane_site *of = &((const struct lane *)context)->sites[site];

    return (struct depend_access){site, of->latest, of->latest_time};
}

/* An access to a line of the sample. */
static bool note_reuse(struct lane *lane, uint32_t site, uint64_t address, uint64_t time,
                       uint64_t index)
{
    struct lane_history *of = &lane->histories[site];
    const uint64_t line = address >> SAMPLE_LINE_BITS;
    const uint8_t byte = address % REUSE_LINE;
    struct sample_line *slot = sample_find(&lane->sample, line);
    uint64_t weight;
    uint32_t bin = REUSE_FIRST;
    unsigned last = 0;

    if (slot->line == line) {
        bin = reuse_bin(time > slot->time ? time - slot->time - 1 : 0);
        last = slot->byte;
        if (time >= slot->time) {
            slot->time = time;
            slot->byte = byte;
        }
    } else if (!sample_add(&lane->sample, &(struct sample_line){line, time, byte}) ||
               (lane->sample.weight == 1 && !reuse_note_first(&of->reuse, line))) {
        return false;
    }
    weight = lane->sample.weight;
    if (of->notes >= NOTES && (bin < SOON || !lane->sites[site].is_irregular)) {
        if (sample_hash(index) >> (64 - FEWER))
            return true;
        weight <<= FEWER;
    }
    of->notes++;
    return reuse_note(&of->reuse, address, index, bin, last, weight);
}

static bool note_dependence(struct lane *lane, uint32_t site, uint64_t address, uint64_t time)
{
    const struct depend_access access = {site, address, time};
    struct lane_history *of = &lane->histories[site];
    const uint64_t gap = 4 + (of->looks++ >> LOOKS);

    of->next_look = lane->sites[site].length + (sample_hash(of->looks) >> 32) % (2 * gap);

    if (!of->depend && !(of->depend = calloc(1, sizeof *of->depend)))
        return false;
    depend_note(of->depend, &access, &lane->recent, latest_of, lane);
    return true;
}

/* Whether the reference's addresses are a nest, now that there are more of them. One that is a nest
 * for sure depends on no other; its reuse times are kept, for it may not stay one. */
static void look_again(struct lane_site *site, struct lane_history *history)
{
    const bool was_irregular = site->is_irregular;

    if (series_is_hopeless(&history->addresses))
        series_give_up(&history->addresses);
    site->is_series = !history->addresses.is_none;
    site->is_irregular = !series_is_plain(&history->addresses);
    if (was_irregular && !site->is_irregular) {
        free(history->depend);
        history->depend = NULL;
    }
}

/* The next access that something is due at: it is looked at for dependence, or the last before the
 * reference is looked at again, which one that is irregular for good is not. */
static void set_due(struct lane_site *site, const struct lane_history *history)
{
    const bool is_settled = site->is_irregular && !site->is_series;

    site->due = is_settled ? UINT64_MAX : site->length + lane_until_look(site) - 1;
    if (site->is_irregular && history->next_look < site->due)
        site->due = history->next_look;
}

/* Looks at a site for dependence, or whether it is irregular, at its access number `index`, which
 * has been counted. */
static bool do_due(struct lane *lane, uint32_t site, uint64_t address, uint64_t time,
                   uint64_t index)
{
    struct lane_site *of = &lane->sites[site];
    struct lane_history *history = &lane->histories[site];
    const uint64_t period = of->is_irregular ? LANE_LOOK_IRREGULAR : LANE_LOOK_PLAIN;

    if (of->is_irregular && index >= history->next_look &&
        !note_dependence(lane, site, address, time))
        return false;
    if (of->length % period == 0)
        look_again(of, history);
    set_due(of, history);
    return true;
}

/* An access, number `index` of its site, that more is to be done about than to keep it. */
static bool note(struct lane *lane, uint32_t site, uint64_t address, uint64_t time, uint64_t index)
{
    const struct lane_site *of = &lane->sites[site];

    if (of->is_series && !series_put(&lane->histories[site].addresses, address, 0, 1))
        return false;
    if (sample_has(&lane->sample, address >> SAMPLE_LINE_BITS) &&
        !note_reuse(lane, site, address, time, index))
        return false;
    return index < of->due || do_due(lane, site, address, time, index);
}

bool lane_touch(struct lane *lane, const uint32_t *sites, uint32_t width, const uint64_t *addresses,
                uint64_t time)
{
    for (uint32_t k = 0; k < width; k++) {
        struct lane_site *of = &lane->sites[sites[k]];
        const uint64_t address = addresses[k], index = of->length++;
        const bool is_irregular = of->is_irregular;
        if ((of->is_series || index >= of->due ||
             sample_has(&lane->sample, address >> SAMPLE_LINE_BITS)) &&
            !note(lane, sites[k], address, time + k, index))
            return false;
        if (of->sweep != PSNAP_NONE && !sweep_put(lane, sites[k], address))
            return false;
        of->latest = address;
        if (is_irregular) {
            of->latest_time = time + k;
            depend_recent_add(&lane->recent, sites[k], address, time + k);
        }
    }
    return true;
}

/* ---- runs: accesses of regular references ---- */

/* Accesses of a site in a run, one an iteration, and which of them go to one line of the sample. */
struct visit {
    uint64_t first, stride; /* addresses */
    uint64_t index;         /* of the site's accesses, the run's first one */
    uint64_t begin, end;    /* iterations: the next one, and that behind the last to the line */
};

/* From iteration `begin` on to the next line of the sample. */
static void find_visit(const struct lane *lane, struct visit *v, uint64_t begin, uint64_t count)
{
    const uint64_t back = 0 - v->stride;

    for (; begin < count; begin = v->end) {
        const uint64_t address = v->first + begin * v->stride, byte = address % REUSE_LINE;
        uint64_t more = 0; /* accesses to the line behind this one */
        if (v->stride < REUSE_LINE)
            more = v->stride ? (REUSE_LINE - 1 - byte) / v->stride : count;
        else if (back < REUSE_LINE)
            more = byte / back;
        v->end = count - begin > more ? begin + more + 1 : count;
        if (sample_has(&lane->sample, address >> SAMPLE_LINE_BITS))
            break;
    }
    v->begin = begin;
}

/* All accesses of a visit behind its first one, as if no other reference came to the line. */
static bool note_rest(struct lane *lane, uint32_t site, const struct visit *v, uint64_t time,
                      uint64_t every)
{
    const uint64_t more = v->end - v->begin - 1, address = v->first + v->begin * v->stride;
    struct sample_line *slot = sample_find(&lane->sample, address >> SAMPLE_LINE_BITS);

    if (!more || slot->line != address >> SAMPLE_LINE_BITS)
        return true;
    if (time + more * every > slot->time) {
        slot->time = time + more * every;
        slot->byte = (address + more * v->stride) % REUSE_LINE;
    }
    return reuse_note(&lane->histories[site].reuse, address + v->stride, v->index + v->begin + more,
                      reuse_bin(every - 1), address % REUSE_LINE, more * lane->sample.weight);
}

/* The next access of a visit, which may no longer be to the sample, or once there are many notes
 * the rest of the visit. */
static bool note_visit(struct lane *lane, uint32_t site, struct visit *v, uint64_t time,
                       uint64_t every, uint64_t count)
{
    const uint64_t address = v->first + v->begin * v->stride;
    const bool is_whole = lane->histories[site].notes >= NOTES;

    if (!sample_has(&lane->sample, address >> SAMPLE_LINE_BITS)) {
        find_visit(lane, v, v->end, count);
        return true;
    }
    if (!note_reuse(lane, site, address, time, v->index + v->begin) ||
        (is_whole && !note_rest(lane, site, v, time, every)))
        return false;
    v->begin = is_whole ? v->end : v->begin + 1;
    if (v->begin == v->end)
        find_visit(lane, v, v->end, count);
    return true;
}

bool lane_touch_run(struct lane *lane, const uint32_t *sites, uint32_t width,
                    const uint64_t *firsts, const uint64_t *strides, uint64_t count, uint64_t time)
{
    struct visit visits[LANE_WIDTH_MAX];

    for (uint32_t k = 0; k < width; k++) {
        visits[k] = (struct visit){firsts[k], strides[k], lane->sites[sites[k]].length, 0, 0};
        find_visit(lane, &visits[k], 0, count);
    }
    for (;;) {
        uint32_t next = 0;
        for (uint32_t k = 1; k < width; k++)
            next = visits[k].begin < visits[next].begin ? k : next;
        if (visits[next].begin == count)
            break;
        if (!note_visit(lane, sites[next], &visits[next], time + visits[next].begin * width + next,
                        width, count))
            return false;
    }
    for (uint32_t k = 0; k < width; k++) {
        struct lane_site *of = &lane->sites[sites[k]];
        struct lane_history *history = &lane->histories[sites[k]];
        if (!series_put(&history->addresses, firsts[k], strides[k], count))
            return false;
        of->length += count;
        of->latest = firsts[k] + (count - 1) * strides[k];
        if (lane_until_look(of) == LANE_LOOK_PLAIN)
            look_again(of, history);
        set_due(of, history);
    }
    return true;
}
