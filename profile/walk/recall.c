/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Logs of data objects: lines in the order of their last accesses (recall.h). An access appends an
 * entry, and the one that its line had before is dead; when half of them are, the log is compacted.
 * Bits say which entries are alive, so that the nearest one is found by words of 64.
 */
#include "profile/walk/recall.h"

#include <stdlib.h>
#include <string.h>

#include "formats/base/layout.h"
#include "formats/base/program.h"
#include "formats/base/room.h"

enum {
    NEAR = 8,          /* entries of a span from where one is expected */
    ROOM_FIRST = 1024, /* a multiple of 64 */
    TRIES = 8,         /* places for a first touch before the next free one is taken, */
    SEARCH = 4096      /* which is so many steps away at most */
};

/* ---- pages ---- */

/* Where the entry of a line is said to be; NULL: out of memory. */
static uint32_t *entry_of(struct recall_log *log, uint64_t line)
{
    uint64_t *page = psnap_map_put(&log->page_of, line / RECALL_PAGE);

    if (!page || (!*page && !psnap_make_room(&log->pages, &log->page_room, log->page_count + 1,
                                             sizeof *log->pages)))
        return NULL;
    if (!*page) {
        memset(&log->pages[log->page_count], 0xff, sizeof *log->pages);
        *page = ++log->page_count;
    }
    return &log->pages[*page - 1].entries[line % RECALL_PAGE];
}

static bool is_touched(const struct recall_log *log, uint64_t line)
{
    const uint64_t page = psnap_map_get(&log->page_of, line / RECALL_PAGE);

    return page && log->pages[page - 1].entries[line % RECALL_PAGE] != UINT32_MAX;
}

/* ---- entries ---- */

static bool is_alive(const struct recall_log *log, uint32_t i)
{
    return log->alive[i / 64] >> (i % 64) & 1;
}

/* Puts the last entry, or the one behind it. Spans get twice as long when there are too many. */
static void put_entry(struct recall_log *log, uint32_t i, uint64_t time, uint64_t address)
{
    log->entries[i] = (struct recall_entry){time, address};
    if (!log->start_count)
        log->base = time;
    while ((time - log->base) >> log->shift >= log->room / 8) {
        log->start_count = (log->start_count + 1) / 2;
        for (uint32_t k = 0; k < log->start_count; k++)
            log->starts[k] = log->starts[2 * (size_t)k];
        log->shift++;
    }
    while (log->start_count <= (time - log->base) >> log->shift)
        log->starts[log->start_count++] = i;
}

/* Room for one more entry: dead ones go, if they are half of all. */
static bool make_room(struct recall_log *log)
{
    uint32_t kept = 0;

    if (log->alive_count * (uint64_t)2 > log->count || !log->count) {
        const uint32_t room = log->room ? 2 * log->room : ROOM_FIRST;
        if (!psnap_resize(&log->entries, room, sizeof *log->entries) ||
            !psnap_resize(&log->starts, room / 8, sizeof *log->starts) ||
            !psnap_resize(&log->alive, room / 64, sizeof *log->alive))
            return false;
        memset(&log->alive[log->room / 64], 0, (room - log->room) / 8);
        log->room = room;
        return true;
    }
    log->start_count = log->shift = 0;
    for (uint32_t i = 0; i < log->count; i++)
        if (is_alive(log, i)) {
            const struct recall_entry entry = log->entries[i];
            put_entry(log, kept, entry.time, entry.address);
            *entry_of(log, entry.address / 64) = kept++; /* its page is there */
        }
    log->count = kept;
    memset(log->alive, 0, log->room / 8);
    for (uint32_t i = 0; i < kept; i++)
        log->alive[i / 64] |= UINT64_C(1) << (i % 64);
    return true;
}

bool recall_touch(struct recall *recall, uint32_t object, uint64_t address, uint64_t time)
{
    const uint64_t line = address / 64;
    struct recall_log *log = &recall->logs[object];
    uint32_t *entry = entry_of(log, line), before;

    if (!entry)
        return false;
    before = log->drawn < log->count && log->entries[log->drawn].address / 64 == line ? log->drawn
                                                                                      : *entry;
    log->drawn = UINT32_MAX;
    if (before != UINT32_MAX) {
        if (before + 1 == log->count) {
            put_entry(log, before, time, address);
            return true;
        }
        log->alive[before / 64] &= ~(UINT64_C(1) << (before % 64));
        log->alive_count--;
    }
    if (log->count == log->room) {
        *entry = UINT32_MAX;
        if (!make_room(log))
            return false;
        entry = entry_of(log, line);
    }
    put_entry(log, log->count, time, address);
    log->alive[log->count / 64] |= UINT64_C(1) << (log->count % 64);
    *entry = log->count++;
    log->alive_count++;
    return true;
}

/* The nearest live entry from i on, or before it; log->count: there is none. */
static uint32_t live_from(const struct recall_log *log, uint32_t i)
{
    uint64_t word;
    uint32_t at = i / 64;

    if (i >= log->count)
        return log->count;
    word = log->alive[at] & (UINT64_MAX << (i % 64));
    while (!word && (at + 1) * (uint64_t)64 < log->count)
        word = log->alive[++at];
    return word ? at * 64 + (uint32_t)__builtin_ctzll(word) : log->count;
}

static uint32_t live_before(const struct recall_log *log, uint32_t i)
{
    uint64_t word;
    uint32_t at;

    if (!i)
        return log->count;
    at = (i - 1) / 64;
    word = log->alive[at] & (UINT64_MAX >> (63 - (i - 1) % 64));
    while (!word && at)
        word = log->alive[--at];
    return word ? at * 64 + 63 - (uint32_t)__builtin_clzll(word) : log->count;
}

/* The first entry from `time` on; log->count: there is none. Entries of a span are taken to come
 * evenly, which is nearly right mostly. */
static uint32_t entry_from(const struct recall_log *log, uint64_t time)
{
    __extension__ typedef unsigned __int128 wide;
    const uint64_t since = time > log->base ? time - log->base : 0, span = since >> log->shift;
    uint32_t low, high, guess;

    if (span >= log->start_count)
        return log->count;
    low = log->starts[span];
    high = span + 1 < log->start_count ? log->starts[span + 1] : log->count;
    guess = low + (uint32_t)((wide)(since - (span << log->shift)) * (high - low) >> log->shift);
    if (guess - low > NEAR && log->entries[guess - NEAR].time < time)
        low = guess - NEAR;
    if (high - guess > NEAR && log->entries[guess + NEAR].time >= time)
        high = guess + NEAR;
    while (high - low > 2 * NEAR) {
        const uint32_t middle = low + (high - low) / 2;
        if (log->entries[middle].time < time)
            low = middle + 1;
        else
            high = middle;
    }
    for (uint32_t i = low; i < high; i++) /* without branches that are guessed wrong */
        low += log->entries[i].time < time;
    return low;
}

/* The entry whose access is nearest to `time`; there is one. */
static uint32_t nearest(const struct recall_log *log, uint64_t time)
{
    const uint32_t low = entry_from(log, time);
    const uint32_t after = live_from(log, low), before = live_before(log, low);

    if (after == log->count || before == log->count)
        return after == log->count ? before : after;
    return log->entries[after].time - time <= time - log->entries[before].time ? after : before;
}

/* ---- objects ---- */

static bool is_of_group(const struct model_object *object, uint64_t address)
{
    const struct psnap_place a = psnap_layout_split(object->low);
    const struct psnap_place b = psnap_layout_split(address);

    return a.group == b.group && a.index == b.index;
}

uint32_t recall_object_at(const struct recall *recall, uint64_t address, uint64_t *low,
                          uint64_t *end)
{
    const size_t at =
        psnap_place(recall->bounds, recall->bound_count, sizeof *recall->bounds, address);
    const uint64_t base = address & ~(PSNAP_LAYOUT_INSTANCE - 1);

    *low = at ? recall->bounds[at - 1].low : 0;
    *end = at < recall->bound_count ? recall->bounds[at].low : UINT64_MAX;
    if (at && recall->bounds[at - 1].object != PSNAP_NONE)
        return recall->bounds[at - 1].object;
    *low = *low > base ? *low : base;
    *end = *end - base < PSNAP_LAYOUT_INSTANCE ? *end : base + PSNAP_LAYOUT_INSTANCE;
    for (uint32_t i = 0; i < recall->rest_count; i++)
        if (is_of_group(recall->logs[recall->rests[i]].object, address))
            return recall->rests[i];
    return PSNAP_NONE;
}

static int compare_bounds(const void *a, const void *b)
{
    const struct recall_bound *p = a, *q = b;

    return p->low < q->low ? -1 : p->low > q->low;
}

/* Part `k` of an object in whole lines: one that two objects share is the second one's. */
static void part_of(const struct model_object *object, uint32_t k, uint64_t *low, uint64_t *end)
{
    const struct model_range whole = {0, object->bytes};
    const struct model_range *part = object->range_count ? &object->ranges[k] : &whole;

    *low = (object->low + part->offset) / REUSE_LINE * REUSE_LINE;
    *end = (object->low + part->offset + part->bytes) / REUSE_LINE * REUSE_LINE;
    *end = *end > *low ? *end : *low + REUSE_LINE;
}

/* Which object has a line that several objects contain: the one of the highest rank. An array or
 * single allocation (2) goes before an object that is given by ranges (1), and this before a pool
 * without ranges (0), whose bounds only say between which addresses its allocations lie. */
static uint32_t rank_of(const struct model_object *object)
{
    return object->range_count ? 1 : object->is_pool ? 0 : 2;
}

/* Finds the bounds of all objects, and which object each part of memory between two of them is in;
 * false: out of memory. */
static bool find_bounds(struct recall *recall)
{
    size_t count = 0, kept = 0;
    uint64_t low, end;

    for (uint32_t i = 0; i < recall->count; i++) {
        const uint32_t ranges = recall->logs[i].object->range_count;
        count += ranges ? ranges : 1;
    }
    recall->bounds = malloc((2 * count + 1) * sizeof *recall->bounds);
    recall->rests = malloc((recall->count + (size_t)1) * sizeof *recall->rests);
    if (!recall->bounds || !recall->rests)
        return false;
    for (uint32_t i = 0; i < recall->count; i++) {
        const struct model_object *object = recall->logs[i].object;
        if (!object->name && !object->range_count) {
            recall->rests[recall->rest_count++] = i;
            continue;
        }
        for (uint32_t k = 0; k < (object->range_count ? object->range_count : 1); k++) {
            part_of(object, k, &low, &end);
            recall->bounds[kept++] = (struct recall_bound){low, PSNAP_NONE};
            recall->bounds[kept++] = (struct recall_bound){end, PSNAP_NONE};
        }
    }
    qsort(recall->bounds, kept, sizeof *recall->bounds, compare_bounds);
    for (size_t i = 0; i < kept; i++)
        if (!recall->bound_count ||
            recall->bounds[recall->bound_count - 1].low != recall->bounds[i].low)
            recall->bounds[recall->bound_count++] = recall->bounds[i];
    for (uint32_t rank = 0; rank < 3; rank++)
        for (uint32_t i = 0; i < recall->count; i++) {
            const struct model_object *object = recall->logs[i].object;
            if ((!object->name && !object->range_count) || rank_of(object) != rank)
                continue;
            for (uint32_t k = 0; k < (object->range_count ? object->range_count : 1); k++) {
                part_of(object, k, &low, &end);
                for (size_t at = psnap_place(recall->bounds, recall->bound_count,
                                             sizeof *recall->bounds, low) -
                                 1;
                     at < recall->bound_count && recall->bounds[at].low < end; at++)
                    recall->bounds[at].object = i;
            }
        }
    return true;
}

/* ---- first touches ---- */

/* The distance in lines from the latest first touch to the next one; 0: the next one is anywhere.
 */
static int64_t draw_stride(const struct model_object *object, struct psnap_rng *rng)
{
    uint64_t ticket;

    if (!object->firsts)
        return 1;
    ticket = psnap_rng_below(rng, object->firsts);
    for (uint32_t i = 0; i < object->stride_count; i++) {
        if (ticket < object->strides[i].count)
            return object->strides[i].lines;
        ticket -= object->strides[i].count;
    }
    return 0;
}

/* Whether a line is of another object, or of none; *next is the first line behind it that may be
 * the object's. */
static bool is_foreign(const struct recall *recall, uint32_t object, uint64_t line, uint64_t *next)
{
    uint64_t low, end;
    const bool is_foreign = recall_object_at(recall, line * 64, &low, &end) != object;

    *next = is_foreign ? end / 64 + (end % 64 != 0) : line + 1;
    return is_foreign;
}

/* The first line from `at` on that is the object's and was not touched; the search goes on from the
 * object's first line when it comes to its last one. If SEARCH steps find none: `at` itself. */
static uint64_t next_free(const struct recall *recall, uint32_t object, uint64_t at, uint64_t lines)
{
    const struct recall_log *log = &recall->logs[object];
    const uint64_t low = log->object->low / 64;
    uint64_t line = at, next;

    for (int i = 0; i < SEARCH; i++) {
        if (!is_foreign(recall, object, low + line, &next) && !is_touched(log, low + line))
            return line;
        line = next - low < lines ? next - low : 0;
    }
    return at;
}

static uint64_t draw_first(struct recall *recall, uint32_t index)
{
    struct recall_log *log = &recall->logs[index];
    const struct model_object *object = log->object;
    const uint64_t low = object->low / 64;
    const uint64_t lines = (object->low + (object->bytes ? object->bytes : 1) - 1) / 64 - low + 1;
    uint64_t at = 0, next;

    for (int i = 0; i < TRIES; i++) {
        const int64_t stride = log->has_first ? draw_stride(object, &recall->rng) : 1;
        at = !log->has_first ? 0
             : stride        ? log->latest_first - low + (uint64_t)stride
                             : psnap_rng_below(&recall->rng, lines);
        if (at >= lines)
            at = psnap_rng_below(&recall->rng, lines);
        if (is_foreign(recall, index, low + at, &next))
            continue;
        if (!is_touched(log, low + at))
            break;
        log->has_first = true;
        log->latest_first = low + at;
    }
    at = next_free(recall, index, at, lines);
    log->has_first = true;
    log->latest_first = low + at;
    return low + at;
}

/* ---- draws ---- */

uint64_t recall_draw(struct recall *recall, uint32_t object, uint32_t bin, uint64_t time,
                     bool *is_first)
{
    struct recall_log *log = &recall->logs[object];
    uint64_t ago;

    *is_first = false;
    if (bin < RECALL_RECENT && bin < time)
        return recall->recent[(time - 1 - bin) % RECALL_RECENT];
    *is_first = bin == REUSE_FIRST || !log->alive_count;
    if (*is_first)
        return draw_first(recall, object) * 64;
    ago = reuse_bin_low(bin) + psnap_rng_below(&recall->rng, reuse_bin_width(bin)) + 1;
    log->drawn = nearest(log, ago < time ? time - ago : 0);
    return log->entries[log->drawn].address;
}

/* ---- all of it ---- */

bool recall_init(struct recall *recall, const struct psnap_stream_model *model, uint64_t seed)
{
    *recall = (struct recall){.count = model->object_count};
    psnap_rng_init_stream(&recall->rng, seed, UINT64_C(0x5245));
    recall->logs = calloc(model->object_count + (size_t)1, sizeof *recall->logs);
    for (uint32_t i = 0; recall->logs && i < recall->count; i++) {
        recall->logs[i].object = &model->objects[i];
        recall->logs[i].drawn = UINT32_MAX;
    }
    if (recall->logs && find_bounds(recall))
        return true;
    recall_release(recall);
    return false;
}

void recall_release(struct recall *recall)
{
    for (uint32_t i = 0; recall->logs && i < recall->count; i++) {
        free(recall->logs[i].entries);
        free(recall->logs[i].starts);
        free(recall->logs[i].alive);
        free(recall->logs[i].pages);
        free(recall->logs[i].page_of.slots);
    }
    free(recall->logs);
    free(recall->bounds);
    free(recall->rests);
    recall->logs = NULL;
    recall->bounds = NULL;
    recall->rests = NULL;
}
