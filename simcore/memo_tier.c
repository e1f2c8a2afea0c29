/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The levels that a tier has; how it records their outcomes, and tells them (memo.h).
 */
#include "simcore/memo_tier.h"

#include <stdlib.h>
#include <string.h>

#include "simcore/serve.h"

enum {
    REQUESTS_MAX = 1 << 18, /* of one outcome and tap: a longer one is not kept */
    CREDIT_PAUSE = 64,      /* after a pause */
    TOLD = 32,              /* what one is worth that came again */
    PAUSE_MIN = 64,         /* of tier_pauses() */
    PAUSE_MAX = 1024
};
#define ROOM_BYTES ((size_t)24 << 20)

struct tap {
    struct level level; /* first: the level's loops know what it is of */
    struct tier *tier;
    struct level *above; /* that it follows */
    struct request *requests;
    uint32_t count, room;
};

/* ------------------------------------------------------------------- making */

typedef bool visit_fn(struct tier *tier, struct level *level, bool is_last);

/* Visits the levels that are `depth` - 1 below those of a list. False: a visit was. */
static bool visit_depth(struct level *list, uint32_t depth, bool is_last, struct tier *tier,
                        visit_fn *visit)
{
    bool goes_on = true;

    for (struct level *level = list; level && goes_on; level = level->sibling)
        goes_on = depth == 1 ? visit(tier, level, is_last)
                             : visit_depth(level->below, depth - 1, is_last, tier, visit);
    return goes_on;
}

/* Depth after depth, so that the levels of a tier are the first ones of a larger one. */
static bool visit_levels(struct level *roots, uint32_t depth, struct tier *tier, visit_fn *visit)
{
    for (uint32_t d = 1; d <= depth; d++)
        if (!visit_depth(roots, d, d == depth, tier, visit))
            return false;
    return true;
}

static bool add_words(struct tier *tier, struct level *level, bool is_last)
{
    (void)is_last;
    if (!cache_is_packed(level->cache) || tier->level_count == TIER_LEVELS_MAX)
        return false;
    tier->level_count++;
    tier->words += memo_state_words(level->cache);
    return true;
}

size_t tier_words(const struct hierarchy *hierarchy, uint32_t depth)
{
    struct tier tier = {0};

    return visit_levels(hierarchy->roots, depth, &tier, add_words) ? tier.words : 0;
}

static void tap_queue(struct level *level);

static bool add_level(struct tier *tier, struct level *level, bool is_last)
{
    static const struct loops loops = {.queue = tap_queue};
    struct tap *tap;

    tier->levels[tier->level_count++] = level;
    tier->words += memo_state_words(level->cache);
    if (!is_last || !level->below)
        return true;
    tap = calloc(1, sizeof *tap);
    if (!tap)
        return false;
    tap->level.loops = &loops;
    tap->tier = tier;
    tap->above = level;
    tier->taps[tier->tap_count++] = tap;
    return true;
}

bool tier_init(struct tier *tier, struct hierarchy *hierarchy, uint32_t depth)
{
    tier->hierarchy = hierarchy;
    tier->credit = TIER_FIRST;
    tier->next_pause = PAUSE_MIN;
    if (!visit_levels(hierarchy->roots, depth, tier, add_level))
        return false;
    tier->before = malloc(tier->words * sizeof *tier->before);
    tier->after = malloc(tier->words * sizeof *tier->after);
    tier->counts = calloc(tier->level_count * MEMO_REFS, sizeof *tier->counts);
    return room_init(&tier->room, ROOM_BYTES) && tier->before && tier->after && tier->counts;
}

void tier_release(struct tier *tier)
{
    for (size_t i = 0; i < tier->tap_count; i++) {
        free(tier->taps[i]->requests);
        free(tier->taps[i]);
    }
    free(tier->before);
    free(tier->after);
    free(tier->counts);
    free(tier->counted);
    room_release(&tier->room);
}

/* ------------------------------------------------------------------ finding */

static size_t state_bytes(const struct tier *tier)
{
    return tier->words * sizeof *tier->before;
}

/* The state as it is; false: it cannot be told, as some line is far from the base. */
static bool save(const struct tier *tier, uint32_t *to)
{
    bool is_sound = true;

    for (size_t i = 0; i < tier->level_count; i++) {
        is_sound &= memo_state_save(tier->levels[i]->cache, tier->base, to);
        to += memo_state_words(tier->levels[i]->cache);
    }
    return is_sound;
}

void tier_charge(struct tier *tier, int32_t price)
{
    tier->credit -= price;
    if (tier->credit > 0)
        return;
    tier->credit = CREDIT_PAUSE;
    tier->pause = tier->next_pause;
    tier->next_pause *= tier->next_pause < PAUSE_MAX ? 2 : 1;
}

bool tier_pauses(struct tier *tier)
{
    if (tier->pause)
        tier->pause--;
    return tier->pause;
}

bool tier_begin(struct tier *tier, uint64_t base, uint16_t thread, uint64_t seed)
{
    tier->base = base;
    tier->thread = thread;
    if (!save(tier, tier->before))
        return false;
    tier->hash = memo_state_hash(tier->before, tier->words, seed);
    return true;
}

const struct outcome *tier_find(const struct tier *tier, const struct memo_run *runs, size_t bytes)
{
    const struct outcome *outcome = room_find(&tier->room, tier->hash);

    if (!outcome || memcmp(outcome->before, tier->before, state_bytes(tier)) != 0)
        return NULL;
    if (runs && (outcome->runs_bytes != bytes || memcmp(outcome->runs, runs, bytes) != 0))
        return NULL;
    return outcome;
}

/* ---------------------------------------------------------------- recording */

void tier_record(struct tier *tier)
{
    tier->is_recording = true;
    tier->is_too_long = false;
    for (size_t i = 0; i < tier->tap_count; i++) {
        struct tap *tap = tier->taps[i];
        tap->count = 0;
        tap->level.sibling = tap->above->below;
        tap->above->below = &tap->level;
    }
}

/* A tap's queue is full, or the block at its end. */
static void tap_queue(struct level *level)
{
    struct tap *tap = (struct tap *)level;
    struct tier *tier = tap->tier;
    const uint32_t n = level->queued;

    level->queued = 0;
    if (tier->is_too_long)
        return;
    if (tap->count + n > tap->room) {
        const uint32_t room = 2 * tap->room + n;
        struct request *requests =
            room <= REQUESTS_MAX ? realloc(tap->requests, room * sizeof *requests) : NULL;
        tier->is_too_long |= !requests;
        if (!requests)
            return;
        tap->requests = requests;
        tap->room = room;
    }
    for (uint32_t i = 0; i < n; i++) {
        struct request *request = &tap->requests[tap->count++];
        *request = level->queue[i];
        request->address -= tier->base;
        request->access = tier->refs.at[request->access * tier->refs.step];
    }
}

static void add_count(struct tier *tier, size_t level, uint32_t ref, uint32_t misses,
                      uint32_t write_backs)
{
    const size_t at = level * MEMO_REFS + ref;
    struct memo_count *count = &tier->counts[at];

    if (!(count->misses | count->write_backs)) {
        if (tier->counted_count == tier->counted_room) {
            const uint32_t room = 2 * tier->counted_room + 64;
            uint32_t *counted = realloc(tier->counted, room * sizeof *counted);
            tier->is_too_long |= !counted;
            if (!counted)
                return;
            tier->counted = counted;
            tier->counted_room = room;
        }
        tier->counted[tier->counted_count++] = (uint32_t)at;
    }
    *count = (struct memo_count){(uint32_t)level, ref, count->misses + misses,
                                 count->write_backs + write_backs};
}

void tier_note(struct tier *tier)
{
    const struct memo_refs refs = tier->refs;

    for (size_t i = 0; i < tier->tap_count; i++)
        tap_queue(&tier->taps[i]->level);
    for (size_t i = 0; i < tier->level_count; i++) {
        const struct level *level = tier->levels[i];
        for (uint32_t k = 0; k < level->miss_count; k++)
            add_count(tier, i, refs.at[level->misses[k] * refs.step], 1, 0);
        for (uint32_t k = 0; k < level->evicting_count; k++)
            add_count(tier, i, refs.at[level->evicting[k] * refs.step], 0,
                      level->evictions[level->evicting[k]]);
    }
}

/* Copies to *place, which goes on behind it; returns the copy. */
static const void *append(unsigned char **place, const void *from, size_t bytes)
{
    const void *copy = *place;

    if (bytes)
        memcpy(*place, from, bytes);
    *place += bytes;
    return copy;
}

/* Keeps what was recorded; where there is too much of it, it is not kept. */
static void keep(struct tier *tier, const struct memo_run *runs, size_t runs_bytes)
{
    const size_t state = state_bytes(tier), counts = tier->counted_count * sizeof *tier->counts;
    size_t requests = 0;
    struct outcome *outcome;
    unsigned char *place;

    for (size_t i = 0; i < tier->tap_count; i++)
        requests += tier->taps[i]->count * sizeof(struct request);
    outcome = room_take(&tier->room, tier->hash,
                        sizeof *outcome + runs_bytes + 2 * state + counts + requests);
    if (!outcome)
        return;
    place = (unsigned char *)(outcome + 1);
    *outcome = (struct outcome){.hash = tier->hash,
                                .runs_bytes = runs_bytes,
                                .count_count = tier->counted_count,
                                .runs = append(&place, runs, runs_bytes),
                                .before = append(&place, tier->before, state),
                                .after = append(&place, tier->after, state)};
    outcome->counts = (const void *)place;
    for (uint32_t i = 0; i < tier->counted_count; i++)
        append(&place, &tier->counts[tier->counted[i]], sizeof *tier->counts);
    outcome->requests = (const void *)place;
    for (size_t i = 0; i < tier->tap_count; i++) {
        outcome->request_counts[i] = tier->taps[i]->count;
        append(&place, tier->taps[i]->requests, tier->taps[i]->count * sizeof(struct request));
    }
}

void tier_end(struct tier *tier, const struct memo_run *runs, size_t bytes)
{
    tier->is_recording = false;
    for (size_t i = 0; i < tier->tap_count; i++)
        tier->taps[i]->above->below = tier->taps[i]->level.sibling;
    /* The hierarchy may have given up packed caches half way. */
    if (runs && !tier->is_too_long && tier->hierarchy->packs && save(tier, tier->after))
        keep(tier, runs, bytes);
    while (tier->counted_count)
        tier->counts[tier->counted[--tier->counted_count]] = (struct memo_count){0};
    tier_charge(tier, TIER_RECORD);
}

/* ------------------------------------------------------------------ telling */

/* The levels beyond are asked again for what a level asked for. A tag is known but for a multiple
 * of 2^31, which for a cache of 4 KiB a way is the whole range of addresses: a line that was above
 * the base when the outcome was recorded may now be below it. Its address is that within the range.
 */
static void ask(struct tier *tier, const struct level *above, const struct request *requests,
                uint32_t n)
{
    for (struct level *level = above->below; level; level = level->sibling) {
        for (uint32_t i = 0; i < n; i++) {
            level->queue[i] = requests[i];
            level->queue[i].address = (requests[i].address + tier->base) & (2 * RENAME_END - 1);
            level->queue[i].access = i;
        }
        level->queued = n;
    }
}

static void tell_requests(struct tier *tier, const struct level *above,
                          const struct request *requests, uint32_t n, const struct memo_host *host)
{
    enum { STEP = sizeof *requests / sizeof requests->access };
    struct tier *outer = tier->outer;

    for (uint32_t i = 0; i < n; i += HIERARCHY_BLOCK) {
        const uint32_t part = n - i < HIERARCHY_BLOCK ? n - i : HIERARCHY_BLOCK;
        const struct memo_refs refs = {&requests[i].access, STEP};

        if (outer)
            outer->refs = refs;
        hierarchy_forget(tier->hierarchy);
        ask(tier, above, requests + i, part);
        hierarchy_drain(tier->hierarchy);
        host->count(host->context, tier->thread, refs.at, refs.step, part);
        if (outer && outer->is_recording)
            tier_note(outer);
    }
}

void tier_tell(struct tier *tier, const struct outcome *outcome, const struct memo_host *host)
{
    const struct request *requests = outcome->requests;
    const uint32_t *after = outcome->after;
    struct tier *outer = tier->outer;

    tier->credit += tier->credit < TIER_CREDIT ? TOLD : 0;
    tier->next_pause = PAUSE_MIN;
    for (size_t i = 0; i < tier->level_count; i++) {
        memo_state_restore(tier->levels[i]->cache, tier->base, after);
        after += memo_state_words(tier->levels[i]->cache);
    }
    for (uint32_t i = 0; i < outcome->count_count; i++) {
        const struct memo_count *count = &outcome->counts[i];
        host->add(host->context, tier->thread, tier->levels[count->level], count->ref,
                  count->misses, count->write_backs);
        if (outer && outer->is_recording)
            add_count(outer, count->level, count->ref, count->misses, count->write_backs);
    }
    for (size_t i = 0; i < tier->tap_count; i++) {
        tell_requests(tier, tier->taps[i]->above, requests, outcome->request_counts[i], host);
        requests += outcome->request_counts[i];
    }
}
