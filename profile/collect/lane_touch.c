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
    LOOKS = 3 /* of each 8 executions that are looked at for dependence the next is one further */
};

static struct depend_access latest_of(const void *context, uint32_t site)
{
    const struct lane_site *of = &((const struct lane *)context)->sites[site];

    return (struct depend_access){site, of->latest, of->latest_time};
}

/* An access of an irregular reference to a line of the sample. */
static bool note_reuse(struct lane *lane, struct lane_site *of, uint64_t address, uint64_t time,
                       uint64_t index)
{
    const uint64_t line = address >> SAMPLE_LINE_BITS;
    const uint8_t byte = address % REUSE_LINE;
    struct sample_line *slot = sample_find(&lane->sample, line);
    uint32_t bin = REUSE_FIRST;
    unsigned last = 0;

    if (slot->line == line) {
        bin = reuse_bin(time > slot->time ? time - slot->time - 1 : 0);
        last = slot->byte;
        slot->time = time;
        slot->byte = byte;
    } else if (!sample_add(&lane->sample, &(struct sample_line){line, time, byte}) ||
               (lane->sample.weight == 1 && !reuse_note_first(&of->reuse, line))) {
        return false;
    }
    return reuse_note(&of->reuse, address, index, bin, last, lane->sample.weight);
}

/* A line of the sample that a reference touched which is not irregular. */
static bool note_line(struct lane *lane, uint64_t address, uint64_t time)
{
    const uint64_t line = address >> SAMPLE_LINE_BITS;
    const uint8_t byte = address % REUSE_LINE;
    struct sample_line *slot = sample_find(&lane->sample, line);

    if (slot->line != line)
        return sample_add(&lane->sample, &(struct sample_line){line, time, byte});
    if (time >= slot->time) {
        slot->time = time;
        slot->byte = byte;
    }
    return true;
}

static bool note_dependence(struct lane *lane, uint32_t site, uint64_t address, uint64_t time)
{
    const struct depend_access access = {site, address, time};
    struct lane_site *of = &lane->sites[site];
    const uint64_t gap = 4 + (of->looks++ >> LOOKS);

    of->next_look = of->addresses.length + (sample_hash(of->looks) >> 32) % (2 * gap);

    if (!of->depend && !(of->depend = calloc(1, sizeof *of->depend)))
        return false;
    depend_note(of->depend, &access, &lane->recent, latest_of, lane);
    return true;
}

/* Whether the reference's addresses are a nest, now that there are more of them. What was collected
 * of an irregular one that is a nest for sure is of no use. */
static void look_again(struct lane_site *site)
{
    const bool was_irregular = site->is_irregular;

    if (series_is_hopeless(&site->addresses))
        series_give_up(&site->addresses);
    site->is_irregular = !series_is_plain(&site->addresses);
    if (was_irregular && !site->is_irregular) {
        reuse_collector_release(&site->reuse);
        free(site->depend);
        site->depend = NULL;
    }
}

bool lane_touch(struct lane *lane, uint32_t site, uint64_t address, uint64_t time)
{
    struct lane_site *of = &lane->sites[site];
    const uint64_t line = address >> SAMPLE_LINE_BITS, index = of->addresses.length;

    if (!series_put(&of->addresses, address, 0, 1) ||
        (of->sweep != PSNAP_NONE && !sweep_put(lane, site, address)))
        return false;
    if (!of->is_irregular) {
        of->latest = address;
        if (lane_until_look(of) == LANE_LOOK_PLAIN)
            look_again(of);
        return !sample_has(&lane->sample, line) || note_line(lane, address, time);
    }
    if (sample_has(&lane->sample, line) && !note_reuse(lane, of, address, time, index))
        return false;
    if (index >= of->next_look && !note_dependence(lane, site, address, time))
        return false;
    of->latest = address;
    of->latest_time = time;
    depend_recent_add(&lane->recent, site, address, time);
    if (lane_until_look(of) == LANE_LOOK_IRREGULAR)
        look_again(of);
    return true;
}

bool lane_touch_run(struct lane *lane, uint32_t site, uint64_t first, uint64_t stride,
                    uint64_t count, uint64_t time, uint64_t every)
{
    struct lane_site *of = &lane->sites[site];
    const bool is_dense = stride + 32 <= 64; /* strides of -32 to 32 bytes */
    const uint64_t last = first + (count - 1) * stride;
    const uint64_t low = first < last ? first : last, high = first < last ? last : first;

    if (!series_put(&of->addresses, first, stride, count))
        return false;
    of->latest = last;
    if (lane_until_look(of) == LANE_LOOK_PLAIN)
        look_again(of);
    if (is_dense && high - low < (UINT64_C(1) << 40)) {
        for (uint64_t line = low >> SAMPLE_LINE_BITS; line <= high >> SAMPLE_LINE_BITS; line++) {
            uint64_t i = 0; /* the last access to the line */
            if (!sample_has(&lane->sample, line))
                continue;
            if (stride && stride < 64)
                i = (((line + 1) << SAMPLE_LINE_BITS) - 1 - first) / stride;
            else if (stride)
                i = (first - (line << SAMPLE_LINE_BITS)) / (0 - stride);
            i = i < count - 1 && stride ? i : count - 1;
            if (!note_line(lane, first + i * stride, time + i * every))
                return false;
        }
        return true;
    }
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t address = first + i * stride;
        if (sample_has(&lane->sample, address >> SAMPLE_LINE_BITS) &&
            !note_line(lane, address, time + i * every))
            return false;
    }
    return true;
}
