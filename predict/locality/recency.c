/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exact reuse distances within the `reach` words touched last, in constant memory
 * (7 MB for 128K words) and almost constant time.
 *
 * Each word in reach owns one slot of a time line, at its last access. The words
 * touched since are the slots taken behind it: a bit for each slot, their number
 * for each run of 64 slots and for each block of 64 runs, of which there are 64: two sums of
 * fixed length and a mask. A word that comes again moves to the head; when the line is full the
 * slots taken are closed up, which is done at most once in `reach` accesses. With the time line of
 * predict/reuse, which grows, psnap locality took 6 to 9 % more (cg, hashjoin, matmul).
 */
#include "predict/locality/recency.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { RUN = 64, NONE = 0, AHEAD = 32, SOON = 8, BUCKETS_PER_WORD = 8 };

struct entry {
    uint64_t word;
    uint32_t slot;
    uint32_t chained; /* next of its bucket, NONE: no more */
};

struct recency {
    uint32_t reach, slots;
    uint32_t every;  /* words that one stands for */
    uint32_t head;   /* the next slot */
    uint32_t oldest; /* no slot below it is taken */
    uint32_t count;  /* entries in use, which are 1 to count */
    struct entry *entries;
    uint32_t *bucket; /* first entry of each */
    uint32_t *owner;  /* entry of each slot that is taken */
    uint64_t *taken;  /* bit of each slot */
    uint16_t *in_run; /* slots taken of each run */
    uint16_t in_block[RUN];
};

struct recency *recency_new(uint32_t reach, uint32_t every)
{
    struct recency *recency = calloc(1, sizeof *recency);
    uint32_t slots;

    if (!recency)
        return NULL;
    reach /= every;
    slots = 2 * reach > RUN * RUN ? 2 * reach : RUN * RUN;
    recency->reach = reach;
    recency->every = every;
    recency->slots = slots;
    recency->entries = calloc((size_t)reach + 1, sizeof *recency->entries);
    recency->bucket = calloc(BUCKETS_PER_WORD * (size_t)reach, sizeof *recency->bucket);
    recency->owner = calloc(slots, sizeof *recency->owner);
    recency->taken = calloc(slots / RUN, sizeof *recency->taken);
    recency->in_run = calloc(slots / RUN, sizeof *recency->in_run);
    if (recency->entries && recency->bucket && recency->owner && recency->taken && recency->in_run)
        return recency;
    recency_free(recency);
    return NULL;
}

void recency_free(struct recency *recency)
{
    if (!recency)
        return;
    free(recency->entries);
    free(recency->bucket);
    free(recency->owner);
    free(recency->taken);
    free(recency->in_run);
    free(recency);
}

/* Words that lie together have buckets that do. */
static uint32_t *bucket_of(const struct recency *recency, uint64_t word)
{
    const uint64_t spread = (word / 8 * UINT64_C(0x9e3779b97f4a7c15)) >> 32;

    return &recency->bucket[(spread * 8 + word % 8) & (BUCKETS_PER_WORD * recency->reach - 1)];
}

static uint32_t find(const struct recency *recency, uint64_t word)
{
    uint32_t entry = *bucket_of(recency, word);

    while (entry != NONE && recency->entries[entry].word != word)
        entry = recency->entries[entry].chained;
    return entry;
}

static void take_slot(struct recency *recency, uint32_t entry)
{
    const uint32_t slot = recency->head++;

    recency->entries[entry].slot = slot;
    recency->owner[slot] = entry;
    recency->taken[slot / RUN] |= UINT64_C(1) << slot % RUN;
    recency->in_run[slot / RUN]++;
    recency->in_block[slot / RUN / RUN]++;
}

static void leave_slot(struct recency *recency, uint32_t slot)
{
    recency->taken[slot / RUN] &= ~(UINT64_C(1) << slot % RUN);
    recency->in_run[slot / RUN]--;
    recency->in_block[slot / RUN / RUN]--;
}

/* The entry that has, or had, a slot. */
static const struct entry *owner_of(const struct recency *recency, uint32_t slot)
{
    return &recency->entries[recency->owner[slot & (recency->slots - 1)]];
}

/* Moves the words to the first slots, in their order. */
static void close_up(struct recency *recency)
{
    const uint32_t end = recency->head;

    recency->head = 0;
    for (uint32_t run = recency->oldest / RUN; run < (end + RUN - 1) / RUN; run++)
        for (uint64_t bits = recency->taken[run]; bits; bits &= bits - 1) {
            const uint32_t slot = run * RUN + (uint32_t)__builtin_ctzll(bits);
            const uint32_t entry = recency->owner[slot]; /* at or above the one that it gets */
            __builtin_prefetch(owner_of(recency, slot + AHEAD), 1);
            leave_slot(recency, slot);
            take_slot(recency, entry);
        }
    recency->oldest = 0;
}

/* The entry of the word touched longest ago, taken out of slot and bucket. */
static uint32_t drop_oldest(struct recency *recency)
{
    uint32_t run = recency->oldest / RUN, slot, entry, *at;

    __builtin_prefetch(owner_of(recency, recency->oldest + AHEAD), 1);
    __builtin_prefetch(bucket_of(recency, owner_of(recency, recency->oldest + AHEAD / 2)->word), 1);
    __builtin_prefetch(
        &recency->entries[*bucket_of(recency, owner_of(recency, recency->oldest + SOON)->word)]);
    while (!recency->taken[run])
        run++;
    slot = run * RUN + (uint32_t)__builtin_ctzll(recency->taken[run]);
    entry = recency->owner[slot];
    leave_slot(recency, slot);
    recency->oldest = slot + 1;
    at = bucket_of(recency, recency->entries[entry].word);
    while (*at != entry)
        at = &recency->entries[*at].chained;
    *at = recency->entries[entry].chained;
    return entry;
}

static void add_word(struct recency *recency, uint64_t word)
{
    const uint32_t entry =
        recency->count < recency->reach ? ++recency->count : drop_oldest(recency);
    uint32_t *bucket = bucket_of(recency, word);

    recency->entries[entry].word = word;
    recency->entries[entry].chained = *bucket;
    *bucket = entry;
    take_slot(recency, entry);
}

static uint32_t ones(uint64_t bits)
{
    bits -= bits >> 1 & UINT64_C(0x5555555555555555);
    bits = (bits & UINT64_C(0x3333333333333333)) + (bits >> 2 & UINT64_C(0x3333333333333333));
    bits = (bits + (bits >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    return (uint32_t)(bits * UINT64_C(0x0101010101010101) >> 56);
}

typedef uint16_t eight __attribute__((vector_size(16)));

/* The counts behind one of a run or block of 64. */
static uint32_t sum_behind(const uint16_t *counts, uint32_t index)
{
    eight sums = {0}, places = {0, 1, 2, 3, 4, 5, 6, 7};
    uint16_t each[8];
    uint32_t sum = 0;

    for (int i = 0; i < RUN / 8; i++) {
        eight some;
        memcpy(&some, counts + 8 * i, sizeof some);
        sums += some & (eight)(places > (uint16_t)index);
        places += 8;
    }
    memcpy(each, &sums, sizeof each); /* at most 8 times 4096 */
    for (int i = 0; i < 8; i++)
        sum += each[i];
    return sum;
}

/* Slots taken behind one. */
static uint32_t taken_behind(const struct recency *recency, uint32_t slot)
{
    const uint32_t run = slot / RUN, block = run / RUN;

    return ones(recency->taken[run] >> slot % RUN >> 1) +
           sum_behind(recency->in_run + block * RUN, run % RUN) +
           sum_behind(recency->in_block, block);
}

void recency_expect(const struct recency *recency, uint64_t word, bool soon)
{
    const uint32_t *bucket = bucket_of(recency, word);

    if (soon)
        __builtin_prefetch(&recency->entries[*bucket]);
    else
        __builtin_prefetch(bucket);
}

int recency_access(struct recency *recency, uint64_t word)
{
    const uint32_t entry = find(recency, word);
    uint32_t distance = recency->every / 2; /* the middle of what it may be */

    if (entry == NONE || recency->entries[entry].slot + 1 != recency->head) {
        if (recency->head == recency->slots)
            close_up(recency);
        if (entry == NONE) {
            add_word(recency, word);
            return RECENCY_NONE;
        }
        distance += recency->every * taken_behind(recency, recency->entries[entry].slot);
        leave_slot(recency, recency->entries[entry].slot);
        take_slot(recency, entry);
    }
    return distance ? 32 - __builtin_clz(distance) : 0;
}
