/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The collector of one irregular reference. It counts how accesses spread over blocks of memory,
 * and those to the lines that are used most: all of the first million, then one in some and those
 * of a window now and then; of lines and of addresses it follows a sample, chosen by a hash so that
 * all visits of one are seen (SHARDS: Waldspurger, Park, Garthwaite, Ahmad, "Efficient MRC
 * Construction with SHARDS", FAST 2015), whose rate halves when its table is full, and when many
 * visits have been seen at that rate; and it keeps bursts of addresses as they came, evenly over
 * the stream. As long as addresses go on by one stride, as elements do that are read in turn,
 * bursts will do, and there is no sample.
 */
#include <stdlib.h>
#include <string.h>

#include "profile/gathers/gather_collect.h"

enum {
    HOT_VOTES = 32,         /* of a line that is hot */
    LINES_MEAN = 64 * BURST /* accesses of which it is kept how often the line changes */
};

struct gather_collector *gather_collector_new(void)
{
    struct gather_collector *c = calloc(1, sizeof *c);

    if (!c)
        return NULL;
    c->low = UINT64_MAX;
    c->is_sweep = true;
    c->lines.bits = LINE_BITS;
    c->addresses.bits = ADDRESS_BITS;
    c->lines.last_hash = c->addresses.last_hash = UINT64_MAX;
    c->lines.slots = calloc(1 << LINE_BITS, sizeof *c->lines.slots);
    c->addresses.slots = calloc(1 << ADDRESS_BITS, sizeof *c->addresses.slots);
    c->descents = gather_descents_new();
    if (!c->lines.slots || !c->addresses.slots || !c->descents) {
        gather_collector_free(c);
        return NULL;
    }
    return c;
}

void gather_collector_of_walks(struct gather_collector *collector)
{
    collector->passes.are_none = true;
    free(collector->descents);
    collector->descents = NULL;
}

void gather_collector_free(struct gather_collector *collector)
{
    if (!collector)
        return;
    free(collector->lines.slots);
    free(collector->addresses.slots);
    free(collector->descents);
    free(collector);
}

/* ---- samples ---- */

static uint64_t mix(uint64_t x)
{
    x ^= x >> 32;
    x *= UINT64_C(0x9e3779b97f4a7c15);
    x ^= x >> 29;
    x *= UINT64_C(0xbf58476d1ce4e5b9);
    return x ^ x >> 32;
}

static struct gather_sample *slot_of(struct gather_table *table, uint64_t key, uint64_t hash)
{
    size_t i = hash & ((1u << table->bits) - 1);

    while (table->slots[i].key && table->slots[i].key != key + 1)
        i = (i + 1) & ((1u << table->bits) - 1);
    return &table->slots[i];
}

/* Whether fewer keys must do, or will. */
static inline bool is_full(const struct gather_table *table)
{
    return table->count == 3u << (table->bits - 2) ||
           (table->visits >= VISITS_MANY && table->count >= 2 * KEYS_FEW);
}

/* Half as many keys from now on. */
static void thin_table(struct gather_table *table)
{
    struct gather_sample kept[3 << (LINE_BITS - 2)];
    uint32_t n = 0;

    table->shift++;
    table->visits = 0;
    table->last_hash >>= 1;
    for (size_t i = 0; i < (size_t)1 << table->bits; i++)
        if (table->slots[i].key && mix(table->slots[i].key - 1) <= table->last_hash)
            kept[n++] = table->slots[i];
    memset(table->slots, 0, sizeof *table->slots << table->bits);
    table->count = n;
    for (uint32_t i = 0; i < n; i++)
        *slot_of(table, kept[i].key - 1, mix(kept[i].key - 1)) = kept[i];
}

/* The sample of a key that is visited; what it was before is left in *before. */
static struct gather_sample *visit(struct gather_table *table, uint64_t key, uint64_t hash,
                                   uint64_t at, uint64_t address, struct gather_sample *before)
{
    struct gather_sample *sample = slot_of(table, key, hash);

    *before = *sample;
    table->visits++;
    if (!sample->key) {
        sample->key = key + 1;
        table->count++;
        table->distinct += UINT64_C(1) << table->shift;
    } else if (sample->at < table->from) {
        sample->gap = 0; /* not known */
    } else {
        const uint64_t gap = at - sample->at, last = sample->gap;

        if (last && gap - last + last / 128 <= last / 64 && sample->same_gaps < UINT16_MAX)
            sample->same_gaps++;
        sample->gap = gap < UINT32_MAX ? (uint32_t)gap : UINT32_MAX;
    }
    sample->visits++;
    sample->at = at;
    sample->offset = address & 63;
    return sample;
}

/* Whether the line is hot. Hits count always, others challenge now and then: what is used seldom
 * does not get in. */
static inline bool take_hot(struct gather_collector *c, uint64_t line, uint64_t hash, uint64_t at)
{
    const size_t slot = hash >> 20 & ((1 << HOT_BITS) - 1);
    struct gather_hot *hot = &c->hot[slot];

    if (c->hot_keys[slot] == line + 1) {
        const uint64_t gap = at - hot->at;
        const bool is_known = hot->at >= c->watched_from;

        hot->visits += c->weight;
        hot->votes += hot->votes < 1 << 20;
        hot->at = at;
        if (hot->votes >= HOT_VOTES) {
            c->hot_visits += c->weight;
            c->hot_gaps[63 - (unsigned)__builtin_clzll(gap)] += is_known ? c->weight : 0;
            return true;
        }
    } else if ((c->visits & 3) == 0) {
        if (hot->votes) {
            hot->votes--;
        } else {
            c->hot_keys[slot] = line + 1;
            *hot = (struct gather_hot){1, at, 1};
        }
    }
    return false;
}

/* `weight`: of the visit, among those of lines that are not hot. */
static void visit_line(struct gather_collector *c, uint64_t address, uint64_t hash, uint64_t at,
                       uint32_t weight)
{
    struct gather_sample before, *sample;
    bool has_gap;

    sample = visit(&c->lines, address >> 6, hash, at, address, &before);
    has_gap = before.key && before.at >= c->lines.from;
    c->gapless += has_gap ? 0 : weight;
    if (has_gap) {
        const uint64_t gap = at - before.at;
        c->gaps[63 - (unsigned)__builtin_clzll(gap)] += weight;
        c->deltas[128 + (int)(address & 63) - before.offset]++;
        sample->step = (int8_t)((int)(address & 63) - before.offset);
        if (sample->step && sample->step == before.step) {
            sample->step_gaps += (float)gap;
            sample->steps++;
        }
    }
    while (is_full(&c->lines)) {
        thin_table(&c->lines);
        /* what was counted of twice as many */
        for (size_t i = 0; i < 64; i++)
            c->gaps[i] = (c->gaps[i] + 1) / 2;
        c->gapless /= 2;
    }
}

/* Of accesses in a row to one address, or line, only the first is a visit. */
static void take_addresses(struct gather_collector *c, const uint64_t *addresses, size_t n)
{
    uint64_t last = c->taken ? c->last : ~addresses[0];

    for (size_t i = 0; i < n; i++) {
        const uint64_t address = addresses[i], hash = mix(address);
        struct gather_sample before;

        if (hash <= c->addresses.last_hash && address != last) {
            visit(&c->addresses, address, hash, c->taken + i, address, &before);
            while (is_full(&c->addresses))
                thin_table(&c->addresses);
        }
        last = address;
    }
}

/* Lines that are used most, and the sample's. */
static void watch_lines(struct gather_collector *c, const uint64_t *addresses, size_t n)
{
    uint64_t last = c->taken ? c->last : ~addresses[0];
    const uint64_t before = c->visits;

    for (size_t i = 0; i < n; i++) {
        const uint64_t line = addresses[i] >> 6, hash = mix(line);

        if (line != last >> 6) {
            bool is_hot;
            c->visits++;
            is_hot = take_hot(c, line, hash, c->taken + i);
            if (hash <= c->lines.last_hash)
                visit_line(c, addresses[i], hash, c->taken + i, is_hot ? 0 : c->weight);
        }
        last = addresses[i];
    }
    c->seen += c->visits - before;
    c->line_changes +=
        ((double)(c->visits - before) - (double)n * c->line_changes) / (double)LINES_MEAN;
}

/* The sample's alone. */
static void take_lines(struct gather_collector *c, const uint64_t *addresses, size_t n)
{
    uint64_t last = c->last;

    for (size_t i = 0; i < n; i++) {
        const uint64_t line = addresses[i] >> 6, hash = mix(line);

        if (hash <= c->lines.last_hash && line != last >> 6)
            visit_line(c, addresses[i], hash, c->taken + i, 0);
        last = addresses[i];
    }
}

/* Whether keys are so few that a sample of what is watched will do. */
static inline bool is_seen(const struct gather_table *table)
{
    return table->distinct <= KEYS_SEEN;
}

/* What is not watched: samples go on, but of keys that are few. */
static void pass(struct gather_collector *c, const uint64_t *addresses, size_t n)
{
    const double due = (double)n * c->line_changes + c->visits_rest;
    const uint64_t visits = (uint64_t)due;

    c->visits += visits;
    c->visits_rest = due - (double)visits;
    if (is_seen(&c->addresses))
        c->addresses.from = c->taken + n;
    else
        take_addresses(c, addresses, n);
    if (is_seen(&c->lines)) {
        c->lines.from = c->taken + n;
    } else {
        take_lines(c, addresses, n);
        c->seen += visits;
    }
}

/* ---- blocks ---- */

static void coarsen(struct gather_collector *c)
{
    uint64_t blocks[BLOCKS] = {0};
    const uint64_t origin = c->block_origin / 2;

    for (size_t i = 0; i < BLOCKS; i++)
        blocks[(c->block_origin + i) / 2 - origin] += c->blocks[i];
    memcpy(c->blocks, blocks, sizeof blocks);
    c->block_origin = origin;
    c->block_shift++;
}

static void shift_blocks(struct gather_collector *c, uint64_t down)
{
    memmove(c->blocks + down, c->blocks, (BLOCKS - down) * sizeof *c->blocks);
    memset(c->blocks, 0, down * sizeof *c->blocks);
    c->block_origin -= down;
}

/* Makes the blocks cover the address. */
static void cover(struct gather_collector *c, uint64_t address)
{
    while (address >> c->block_shift < c->block_origin ||
           (address >> c->block_shift) - c->block_origin >= BLOCKS) {
        uint64_t last = BLOCKS - 1;

        while (last && !c->blocks[last])
            last--;
        if (address >> c->block_shift < c->block_origin &&
            c->block_origin - (address >> c->block_shift) + last < BLOCKS)
            shift_blocks(c, c->block_origin - (address >> c->block_shift));
        else
            coarsen(c);
    }
}

/* One in some, in each burst another one. */
static void take_some_blocks(struct gather_collector *c, const uint64_t *addresses, size_t n)
{
    const uint64_t phase = mix(c->taken / BURST) - c->taken;

    for (size_t i = phase % BLOCK_EVERY; i < n; i += BLOCK_EVERY) {
        if ((addresses[i] >> c->block_shift) - c->block_origin >= BLOCKS)
            cover(c, addresses[i]);
        c->blocks[(addresses[i] >> c->block_shift) - c->block_origin] += BLOCK_EVERY;
        c->counted += BLOCK_EVERY;
    }
}

static void take_blocks(struct gather_collector *c, const uint64_t *addresses, size_t n)
{
    c->counted += n;
    if (!c->taken) {
        c->block_shift = 3;
        c->block_origin = addresses[0] >> c->block_shift;
    }
    for (size_t i = 0, end; i < n; i = end) {
        uint64_t block = addresses[i] >> c->block_shift;
        if (block - c->block_origin >= BLOCKS) {
            cover(c, addresses[i]);
            block = addresses[i] >> c->block_shift;
        }
        end = i + 1;
        while (c->is_sweep && end < n && addresses[end] >> c->block_shift == block)
            end++; /* as a sweep does, mostly */
        c->blocks[block - c->block_origin] += end - i;
    }
}

/* ---- bursts ---- */

/* Which half of the n-th 2^shift bursts is the one that is kept of them: not always the first, for
 * loops are often of such a length, too. */
static uint64_t half_of(uint64_t n, unsigned shift)
{
    return mix(n ^ (uint64_t)shift << 56) & 1;
}

/* The burst that is kept of the n-th 2^shift ones. */
static uint64_t burst_of(uint64_t n, unsigned shift)
{
    for (; shift; shift--)
        n = 2 * n + half_of(n, shift);
    return n;
}

/* Every other burst. */
static void thin_bursts(struct gather_collector *c)
{
    c->burst_shift++;
    for (size_t i = 0; i < BURSTS / 2; i++) {
        const size_t kept = 2 * i + half_of(i, c->burst_shift);
        c->burst_at[i] = c->burst_at[kept];
        if (kept != i)
            memcpy(c->bursts[i], c->bursts[kept], sizeof c->bursts[i]);
    }
    c->burst_count = BURSTS / 2;
    c->burst_next = burst_of(BURSTS / 2, c->burst_shift);
}

/* What waits is of one burst. */
static void take_burst(struct gather_collector *c, const uint64_t *addresses, size_t n)
{
    if (c->taken / BURST < c->burst_next)
        return;
    if (c->taken % BURST == 0) {
        if (c->burst_count == BURSTS) {
            thin_bursts(c);
            if (c->taken / BURST < c->burst_next)
                return;
        }
        c->burst_at[c->burst_count++] = c->taken;
        c->burst_fill = 0;
    }
    memcpy(c->bursts[c->burst_count - 1] + c->burst_fill, addresses, n * sizeof *addresses);
    c->burst_fill += n;
    if (c->burst_fill == BURST)
        c->burst_next = burst_of(c->burst_count, c->burst_shift);
}

/* Whether one stride leads from nearly each address to the next, and nearly all other ways lead the
 * same way, too: a sweep, of which bursts tell all (gather_fit_sweep()). */
static bool goes_on(struct gather_collector *c, const uint64_t *addresses, size_t n)
{
    uint64_t last = c->last, breaks = 0, downs = 0, stride, fewer, all;

    if (!c->taken) {
        last = addresses[0];
        c->stride = n > 1 ? addresses[n / 2] - addresses[n / 2 - 1] : 0;
    }
    stride = c->stride;
    for (size_t i = !c->taken; i < n; i++) {
        const uint64_t change = addresses[i] - last;
        breaks += change != stride;
        downs += (change != stride) & change >> 63;
        last = addresses[i];
    }
    c->breaks[0] += breaks - downs;
    c->breaks[1] += downs;
    all = c->breaks[0] + c->breaks[1];
    fewer = c->breaks[c->breaks[0] > c->breaks[1]];
    return all <= 4 + c->count / 128 && fewer <= 2 + all / 64;
}

/* Whether what waits is watched, all or nothing: it is of one burst. Opens the window if it is. */
static bool watch(struct gather_collector *c)
{
    const uint64_t period = c->taken / WATCHED_PERIOD;
    /* not always the first of it: loops are often of such a length, too */
    const uint64_t window = mix(period) % (WATCHED_PERIOD / WATCHED_WINDOW);
    const uint64_t from = period * WATCHED_PERIOD + window * WATCHED_WINDOW;

    c->weight = 1;
    if (c->taken < WATCHED_FIRST)
        return true;
    if (c->taken - from >= WATCHED_WINDOW)
        return false;
    c->watched_from = from;
    c->weight = WATCHED_PERIOD / WATCHED_WINDOW;
    return true;
}

void gather_collector_take(struct gather_collector *c)
{
    const size_t n = c->count - c->taken;
    const bool watches = watch(c);

    if (!n)
        return;
    take_burst(c, c->waiting, n);
    gather_passes_put(&c->passes, c->waiting, n);
    gather_descents_put(&c->descents, c->waiting, n);
    c->is_sweep = c->is_sweep && goes_on(c, c->waiting, n);
    if (!c->is_sweep && watches) {
        take_addresses(c, c->waiting, n);
        watch_lines(c, c->waiting, n);
    } else if (!c->is_sweep) {
        pass(c, c->waiting, n);
    }
    if (c->taken < WATCHED_FIRST)
        take_blocks(c, c->waiting, n);
    else
        take_some_blocks(c, c->waiting, n);
    c->watched += watches ? n * c->weight : 0;
    c->last = c->waiting[n - 1];
    c->taken = c->count;
}

/* ---- runs ---- */

/* The blocks of n addresses of a run. */
static void take_blocks_of_run(struct gather_collector *c, uint64_t first, uint64_t step,
                               uint64_t n)
{
    c->counted += n;
    for (uint64_t i = 0, end; i < n; i = end) {
        const uint64_t address = first + i * step;
        uint64_t block = address >> c->block_shift, left;

        if (block - c->block_origin >= BLOCKS) {
            cover(c, address);
            block = address >> c->block_shift;
        }
        /* until the next block, up or down */
        left = (int64_t)step > 0   ? (((block + 1) << c->block_shift) - address + step - 1) / step
               : (int64_t)step < 0 ? (address - (block << c->block_shift)) / -step + 1
                                   : n;
        end = left < n - i ? i + left : n;
        c->blocks[block - c->block_origin] += end - i;
    }
}

/* n addresses, of one burst, with which a sweep goes on: nothing waits. */
static void take_sweep(struct gather_collector *c, uint64_t first, uint64_t n)
{
    const uint64_t step = c->stride;
    const bool watches = watch(c), has_burst = c->taken / BURST >= c->burst_next;

    if (has_burst || c->taken >= WATCHED_FIRST)
        for (uint64_t i = 0; i < n; i++)
            c->waiting[i] = first + i * step;
    if (has_burst)
        take_burst(c, c->waiting, n);
    if (c->taken < WATCHED_FIRST)
        take_blocks_of_run(c, first, step, n);
    else
        take_some_blocks(c, c->waiting, n);
    gather_passes_put_run(&c->passes, first, step, n);
    gather_descents_put_run(&c->descents, first, step, n);
    c->watched += watches ? n * c->weight : 0;
    c->last = first + (n - 1) * step;
    c->taken = c->count += n;
}

static void widen(struct gather_collector *c, uint64_t address)
{
    c->low = address < c->low ? address : c->low;
    c->high = address > c->high ? address : c->high;
}

void gather_collector_put_run(struct gather_collector *c, uint64_t first, uint64_t step, uint64_t n)
{
    widen(c, first);
    widen(c, first + (n - 1) * step);
    for (uint64_t part; n; n -= part, first += part * step) {
        const uint64_t waits = c->count - c->taken, last = waits ? c->waiting[waits - 1] : c->last;
        const uint64_t room = BURST - c->count % BURST;

        part = n < room ? n : room;
        if (c->is_sweep && c->taken && step == c->stride && first - last == step) {
            gather_collector_take(c);
            if (c->is_sweep) {
                take_sweep(c, first, part);
                continue;
            }
        }
        for (uint64_t i = 0; i < part; i++)
            c->waiting[c->count - c->taken + i] = first + i * step;
        gather_collector_fill(c, part);
    }
}
