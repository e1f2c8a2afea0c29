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
    ROOM_FIRST = 1024, /* a multiple of 64 */
    TRIES = 8          /* places for a first touch before the next free one is taken */
};

/* ---- pages ---- */

static uint64_t hash_of(uint64_t number)
{
    return (number * UINT64_C(0x9e3779b97f4a7c15)) >> 24;
}

static bool grow_pages(struct recall_log *log)
{
    const uint32_t room = log->page_room ? 2 * log->page_room : 16;
    uint32_t *slots = calloc(2 * (size_t)room, sizeof *slots);

    if (!slots || !psnap_resize(&log->pages, room, sizeof *log->pages)) {
        free(slots);
        return false;
    }
    free(log->slots);
    log->slots = slots;
    log->page_room = room;
    log->slot_room = 2 * room;
    for (uint32_t i = 0; i < log->page_count; i++) {
        uint64_t at = hash_of(log->pages[i].number) & (log->slot_room - 1);
        while (slots[at])
            at = (at + 1) & (log->slot_room - 1);
        slots[at] = i + 1;
    }
    return true;
}

/* The slot of a page, which is 0 when there is none. */
static uint32_t *page_slot(const struct recall_log *log, uint64_t number)
{
    uint64_t at = hash_of(number) & (log->slot_room - 1);

    while (log->slots[at] && log->pages[log->slots[at] - 1].number != number)
        at = (at + 1) & (log->slot_room - 1);
    return &log->slots[at];
}

/* Where the entry of a line is said to be; NULL: out of memory. */
static uint32_t *entry_of(struct recall_log *log, uint64_t line)
{
    const uint64_t number = line / 64;

    if (log->page >= log->page_count || log->pages[log->page].number != number) {
        uint32_t *slot;
        if (log->page_count == log->page_room && !grow_pages(log))
            return NULL;
        slot = page_slot(log, number);
        if (!*slot) {
            struct recall_page *page = &log->pages[log->page_count++];
            page->number = number;
            memset(page->entries, 0xff, sizeof page->entries);
            *slot = log->page_count;
        }
        log->page = *slot - 1;
    }
    return &log->pages[log->page].entries[line % 64];
}

static bool is_touched(const struct recall_log *log, uint64_t line)
{
    const uint32_t *slot = log->slot_room ? page_slot(log, line / 64) : NULL;

    return slot && *slot && log->pages[*slot - 1].entries[line % 64] != UINT32_MAX;
}

/* ---- entries ---- */

static bool is_alive(const struct recall_log *log, uint32_t i)
{
    return log->alive[i / 64] >> (i % 64) & 1;
}

/* Room for one more entry: dead ones go, if they are half of all. */
static bool make_room(struct recall_log *log)
{
    uint32_t kept = 0;

    if (log->alive_count * (uint64_t)2 > log->count || !log->count) {
        const uint32_t room = log->room ? 2 * log->room : ROOM_FIRST;
        if (!psnap_resize(&log->entries, room, sizeof *log->entries) ||
            !psnap_resize(&log->alive, room / 64, sizeof *log->alive))
            return false;
        memset(&log->alive[log->room / 64], 0, (room - log->room) / 8);
        log->room = room;
        return true;
    }
    for (uint32_t i = 0; i < log->count; i++)
        if (is_alive(log, i)) {
            const struct recall_entry entry = log->entries[i];
            log->entries[kept] = entry;
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
    uint32_t *entry = entry_of(log, line);

    if (!entry)
        return false;
    if (*entry != UINT32_MAX) {
        if (*entry + 1 == log->count) {
            log->entries[*entry] = (struct recall_entry){time, address};
            return true;
        }
        log->alive[*entry / 64] &= ~(UINT64_C(1) << (*entry % 64));
        log->alive_count--;
    }
    if (log->count == log->room) {
        *entry = UINT32_MAX;
        if (!make_room(log))
            return false;
        entry = entry_of(log, line);
    }
    log->entries[log->count] = (struct recall_entry){time, address};
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

/* The address whose last access is nearest to `time`; there is one. */
static uint64_t nearest(const struct recall_log *log, uint64_t time)
{
    uint32_t low = 0, high = log->count, before, after;

    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (log->entries[middle].time < time)
            low = middle + 1;
        else
            high = middle;
    }
    after = live_from(log, low);
    before = live_before(log, low);
    if (after == log->count)
        return log->entries[before].address;
    if (before == log->count || log->entries[after].time - time <= time - log->entries[before].time)
        return log->entries[after].address;
    return log->entries[before].address;
}

/* ---- draws ---- */

/* The distance of one first touch to the next, 0: anywhere. */
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

static uint64_t draw_first(struct recall_log *log, struct psnap_rng *rng)
{
    const struct model_object *object = log->object;
    const uint64_t low = object->low / 64;
    const uint64_t lines = (object->low + (object->bytes ? object->bytes : 1) - 1) / 64 - low + 1;
    uint64_t at = 0;

    for (int i = 0; i < TRIES; i++) {
        const int64_t stride = log->has_first ? draw_stride(object, rng) : 1;
        at = !log->has_first ? 0
             : stride        ? log->latest_first - low + (uint64_t)stride
                             : psnap_rng_below(rng, lines);
        if (at >= lines)
            at = psnap_rng_below(rng, lines);
        if (!is_touched(log, low + at))
            break;
        log->has_first = true;
        log->latest_first = low + at;
    }
    if (is_touched(log, low + at)) {
        uint64_t i = 0;
        while (i < 4096 && i < lines && is_touched(log, low + (at + i) % lines))
            i++;
        at = (at + i) % lines;
    }
    log->has_first = true;
    log->latest_first = low + at;
    return low + at;
}

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
        return draw_first(log, &recall->rng) * 64;
    ago = reuse_bin_low(bin) + psnap_rng_below(&recall->rng, reuse_bin_width(bin)) + 1;
    return nearest(log, ago < time ? time - ago : 0);
}

/* ---- objects ---- */

static bool is_of_group(const struct model_object *object, uint64_t address)
{
    const struct psnap_place a = psnap_layout_split(object->low);
    const struct psnap_place b = psnap_layout_split(address);

    return !object->name && a.group == b.group && a.index == b.index;
}

uint32_t recall_object_at(const struct recall *recall, uint64_t address, uint64_t *low,
                          uint64_t *end)
{
    uint32_t from = 0, to = recall->sorted_count;

    while (from < to) {
        const uint32_t middle = from + (to - from) / 2;
        if (recall->logs[recall->sorted[middle]].object->low <= address)
            from = middle + 1;
        else
            to = middle;
    }
    *low = 0;
    *end =
        from < recall->sorted_count ? recall->logs[recall->sorted[from]].object->low : UINT64_MAX;
    if (from) {
        const struct model_object *object = recall->logs[recall->sorted[from - 1]].object;
        *low = object->low;
        if (address - object->low < object->bytes) {
            *end = object->low + object->bytes;
            return recall->sorted[from - 1];
        }
        *low = object->low + object->bytes;
    }
    for (uint32_t i = 0; i < recall->count; i++) {
        const struct model_object *object = recall->logs[i].object;
        if (!object->is_pool)
            continue;
        if (address - object->low < object->bytes) {
            *low = *low > object->low ? *low : object->low;
            *end = *end < object->low + object->bytes ? *end : object->low + object->bytes;
            return i;
        }
        if (object->low > address)
            *end = *end < object->low ? *end : object->low;
        else
            *low = *low > object->low + object->bytes ? *low : object->low + object->bytes;
    }
    for (uint32_t i = 0; i < recall->count; i++)
        if (is_of_group(recall->logs[i].object, address)) {
            const uint64_t base = address & ~(PSNAP_LAYOUT_INSTANCE - 1);
            *low = *low > base ? *low : base;
            *end = *end < base + PSNAP_LAYOUT_INSTANCE ? *end : base + PSNAP_LAYOUT_INSTANCE;
            return i;
        }
    *low = address;
    *end = address + 1;
    return PSNAP_NONE;
}

static void sort_objects(struct recall *recall)
{
    for (uint32_t i = 0; i < recall->count; i++) {
        uint32_t at = recall->sorted_count;
        if (!recall->logs[i].object->name || recall->logs[i].object->is_pool)
            continue;
        while (at &&
               recall->logs[recall->sorted[at - 1]].object->low > recall->logs[i].object->low) {
            recall->sorted[at] = recall->sorted[at - 1];
            at--;
        }
        recall->sorted[at] = i;
        recall->sorted_count++;
    }
}

bool recall_init(struct recall *recall, const struct psnap_stream_model *model, uint64_t seed)
{
    *recall = (struct recall){.count = model->object_count};
    psnap_rng_init_stream(&recall->rng, seed, UINT64_C(0x5245));
    recall->logs = calloc(model->object_count + (size_t)1, sizeof *recall->logs);
    recall->sorted = calloc(model->object_count + (size_t)1, sizeof *recall->sorted);
    if (!recall->logs || !recall->sorted) {
        recall_release(recall);
        return false;
    }
    for (uint32_t i = 0; i < recall->count; i++)
        recall->logs[i].object = &model->objects[i];
    sort_objects(recall);
    return true;
}

void recall_release(struct recall *recall)
{
    for (uint32_t i = 0; recall->logs && i < recall->count; i++) {
        free(recall->logs[i].entries);
        free(recall->logs[i].alive);
        free(recall->logs[i].pages);
        free(recall->logs[i].slots);
    }
    free(recall->logs);
    free(recall->sorted);
    recall->logs = NULL;
    recall->sorted = NULL;
}
