/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A phrase that is new is recorded at once, until too many were in vain: then when its state and
 * first run come for the second time.
 */
#include "simcore/memo_phrase.h"

#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

enum {
    ACCESSES_PER_WORD = 8, /* of a phrase and its state, which is copied and compared */
    BREAK = 4              /* far from a break is 1/4 of a phrase */
};
#define RUNS_BYTES ((size_t)1 << 20) /* of those that a phrase has */

/* --------------------------------------------------------------------- runs */

bool noted_init(struct noted *noted, struct hierarchy *hierarchy)
{
    noted->hierarchy = hierarchy;
    noted->longest = noted->shortest = hierarchy->roots->cache->line_bytes;
    for (size_t i = 0; i < hierarchy->level_count; i++) {
        const uint64_t bytes = hierarchy->levels[i]->cache->line_bytes;
        noted->longest = bytes > noted->longest ? bytes : noted->longest;
        noted->shortest = bytes < noted->shortest ? bytes : noted->shortest;
    }
    noted->run = malloc(memo_run_bytes(MEMO_WIDTH_MAX));
    return noted->run;
}

void noted_release(struct noted *noted)
{
    free(noted->run);
}

/* Addresses that touch the same lines, of whatever length, become one: an access that advances by a
 * multiple of `step`, which divides the shortest line, and lies within `step` bytes. */
static uint64_t same_for_all(uint64_t address, int64_t stride, unsigned size, uint64_t shortest)
{
    const uint64_t any = (uint64_t)stride | shortest, step = any & (0 - any);
    const uint64_t offset = address & (step - 1);

    return offset + size <= step ? address - offset : address;
}

bool noted_set(struct noted *noted, const struct psnap_run *run)
{
    if (!noted->hierarchy->packs || !rename_run(&noted->hierarchy->rename, run, noted->addresses))
        return false;
    noted->base = noted->addresses[0] & (0 - noted->longest);
    noted->thread = run->first[0].thread;
    noted->run->count = run->count;
    noted->run->width = run->width;
    for (size_t k = 0; k < run->width; k++) {
        struct memo_access *access = &noted->run->accesses[k];
        access->address = same_for_all(noted->addresses[k], run->strides[k], run->first[k].size,
                                       noted->shortest) -
                          noted->base;
        access->stride = run->strides[k];
        memcpy(&access->key, &run->first[k].ref, sizeof access->key);
    }
    return true;
}

uint64_t noted_hash(const struct noted *noted)
{
    return XXH3_64bits(noted->run, memo_run_bytes(noted->run->width));
}

struct psnap_run phrases_rebuild(struct phrases *phrases, const struct memo_run *noted)
{
    for (size_t k = 0; k < noted->width; k++) {
        const struct memo_access *access = &noted->accesses[k];
        memcpy(&phrases->first[k].ref, &access->key, sizeof access->key);
        phrases->first[k].address =
            rename_back(&phrases->tier.hierarchy->rename, access->address + phrases->tier.base);
        phrases->strides[k] = access->stride;
    }
    return (struct psnap_run){.first = phrases->first,
                              .strides = phrases->strides,
                              .width = noted->width,
                              .count = noted->count};
}

/* ------------------------------------------------------------------ phrases */

bool phrases_init(struct phrases *phrases, struct hierarchy *hierarchy, uint32_t depth)
{
    phrases->accesses_min = ACCESSES_PER_WORD * tier_words(hierarchy, depth);
    phrases->runs = malloc(RUNS_BYTES);
    return phrases->runs && tier_init(&phrases->tier, hierarchy, depth);
}

void phrases_release(struct phrases *phrases)
{
    tier_release(&phrases->tier);
    free(phrases->runs);
}

/* Whether an address does not move as those before: once, where they begin to move otherwise. */
static bool is_break(struct stride *stride, const struct psnap_access *access)
{
    const uint64_t move = access->address - stride->last;
    const bool is_again = move == stride->move, is_steady = move == stride->steady;
    const bool is_other = access->ref != stride->ref;

    if (is_again)
        stride->steady = move;
    stride->last = access->address;
    stride->move = move;
    stride->ref = access->ref;
    return is_other || !(is_again || is_steady);
}

bool phrases_advance(struct phrases *phrases, const struct psnap_run *run)
{
    const uint64_t accesses = run->count * run->width;
    const uint64_t far = phrases->accesses_min / BREAK;
    const bool is_long = phrases->since_begin >= phrases->accesses_min;
    bool is_begin, breaks = true;

    if (run->count == 1) /* accesses that are no run come here within a phrase alone: they must not
                            decide where one begins */
        return false;
    is_begin = is_long && phrases->breaks[0].since >= far;
    for (int order = 0; order < PHRASE_ORDERS && breaks; order++) {
        struct stride *stride = &phrases->breaks[order];
        breaks = is_break(stride, &run->first[0]);
        is_begin |= breaks && (is_long || stride->since >= far);
        if (breaks)
            stride->since = 0;
    }
    if (is_begin)
        phrases->since_begin = 0;
    phrases->since_begin += accesses;
    for (int order = 0; order < PHRASE_ORDERS; order++)
        phrases->breaks[order].since += accesses;
    return is_begin;
}

void phrases_end(struct phrases *phrases)
{
    if (phrases->state != PHRASE_RECORD)
        return;
    tier_end(&phrases->tier, phrases->runs, phrases->bytes);
    phrases->state = PHRASE_NONE;
}

void phrases_drop(struct phrases *phrases)
{
    if (phrases->state != PHRASE_RECORD)
        return;
    tier_end(&phrases->tier, NULL, 0);
    phrases->state = PHRASE_NONE;
}

void phrases_begin(struct phrases *phrases, const struct noted *noted)
{
    struct tier *tier = &phrases->tier;
    const bool pauses = tier_pauses(tier);

    if (!tier_begin(tier, noted->base, noted->thread, noted_hash(noted)))
        return;
    phrases->bytes = 0;
    phrases->outcome = tier_find(tier, NULL, 0);
    if (phrases->outcome) {
        phrases->next = phrases->outcome->runs;
        phrases->state = PHRASE_FOLLOW;
    } else if (room_has_seen(&tier->room, tier->hash) || !pauses) {
        tier_record(tier);
        phrases->state = PHRASE_RECORD;
    }
}

bool phrases_record(struct phrases *phrases, const struct noted *noted)
{
    const size_t bytes = memo_run_bytes(noted->run->width);
    const uint64_t moved = noted->base - phrases->tier.base;
    void *place = (unsigned char *)phrases->runs + phrases->bytes;
    struct memo_run *run = place;

    if (phrases->state != PHRASE_RECORD)
        return true;
    if (noted->thread != phrases->tier.thread || bytes > RUNS_BYTES - phrases->bytes)
        return false;
    memcpy(run, noted->run, bytes);
    for (size_t k = 0; k < run->width; k++)
        run->accesses[k].address += moved;
    phrases->bytes += bytes;
    return true;
}

bool phrases_follow(struct phrases *phrases, const struct noted *noted)
{
    const uint64_t moved = noted->base - phrases->tier.base;
    const struct memo_run *run = noted->run, *next = phrases->next;

    if (phrases->state != PHRASE_FOLLOW || noted->thread != phrases->tier.thread ||
        next->count != run->count || next->width != run->width)
        return false;
    for (size_t k = 0; k < run->width; k++)
        if (next->accesses[k].address != run->accesses[k].address + moved ||
            next->accesses[k].stride != run->accesses[k].stride ||
            next->accesses[k].key != run->accesses[k].key)
            return false;
    phrases->next = memo_run_next(next);
    return true;
}

void phrases_tell(struct phrases *phrases, const struct memo_host *host)
{
    const struct outcome *outcome = phrases->outcome;

    if ((const char *)phrases->next != (const char *)outcome->runs + outcome->runs_bytes)
        return;
    phrases->state = PHRASE_NONE;
    tier_tell(&phrases->tier, outcome, host);
}
