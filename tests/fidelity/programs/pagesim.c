/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pagesim: a simulator of virtual memory: a stream of references with loops, phases and a hot set
 * goes through a TLB, a page table of two levels, and replacement by clock and by LRU stacks.
 * Irregular: tables by page, rings with hands that skip, move-to-front within lists.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { FRAMES = 1500, TLB_SETS = 16, TLB_WAYS = 4, LEAF = 256 };

struct entry {
    int32_t frame; /* -1: on disk */
    uint8_t used, dirty;
};

struct frame {
    uint32_t page;
    int32_t older, newer;
};

static struct entry *root[4096];
static struct frame lru[FRAMES];
static uint32_t clock_page[FRAMES], tlb[TLB_SETS][TLB_WAYS];
static struct entry *clock_table, *frame_entry[FRAMES];
static uint64_t s = 1968, faults[2], misses, writes;

static uint32_t draw(uint32_t below)
{
    s ^= s << 13;
    s ^= s >> 7;
    s ^= s << 17;
    return (uint32_t)((s >> 32) * below >> 32);
}

static uint32_t reference(size_t i, uint32_t pages)
{
    static uint32_t at, length = 1, base;

    if (at >= length) {
        at = 0;
        length = 50 + draw(2000);
        base = draw(pages);
    }
    if (draw(3) == 0)
        return draw(draw(400) + 1) % pages;
    return (base + (i & 4 ? at++ : draw(length))) % pages;
}

static struct entry *walk(uint32_t page)
{
    struct entry **leaf = &root[page / LEAF];

    if (!*leaf) {
        *leaf = malloc(LEAF * sizeof(**leaf));
        for (int i = 0; i < LEAF; i++)
            (*leaf)[i] = (struct entry){.frame = -1};
    }
    return &(*leaf)[page % LEAF];
}

static int in_tlb(uint32_t page)
{
    uint32_t *set = tlb[page % TLB_SETS], before = set[0];

    for (int way = 0; way < TLB_WAYS; way++) {
        uint32_t t = set[way];

        set[way] = before;
        if (t == page + 1) {
            set[0] = t;
            return 1;
        }
        before = t;
    }
    set[0] = page + 1;
    return 0;
}

static void touch_clock(uint32_t page, int write)
{
    static uint32_t hand;
    struct entry *e = walk(page);

    if (e->frame < 0) {
        faults[0]++;
        while (frame_entry[hand] && frame_entry[hand]->used) {
            frame_entry[hand]->used = 0;
            hand = (hand + 1) % FRAMES;
        }
        if (frame_entry[hand]) {
            writes += frame_entry[hand]->dirty;
            *frame_entry[hand] = (struct entry){.frame = -1};
        }
        clock_page[hand] = page;
        frame_entry[hand] = e;
        e->frame = (int32_t)hand;
        hand = (hand + 1) % FRAMES;
    }
    e->used = 1;
    e->dirty |= (uint8_t)write;
}

/* The ring through frame 0's links: its `older` end is the newest. */
static void touch_lru(uint32_t page)
{
    static int32_t newest = 0;
    int32_t f = clock_table[page].frame;

    if (f < 0) {
        faults[1]++;
        f = lru[newest].newer; /* of the ring: the oldest */
        if (lru[f].page)
            clock_table[lru[f].page - 1].frame = -1;
        lru[f].page = page + 1;
        clock_table[page].frame = f;
    }
    if (f == newest)
        return;
    lru[lru[f].older].newer = lru[f].newer;
    lru[lru[f].newer].older = lru[f].older;
    lru[f].older = newest;
    lru[f].newer = lru[newest].newer;
    lru[lru[f].newer].older = f;
    lru[newest].newer = f;
    newest = f;
}

int main(int argc, char **argv)
{
    size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 500000;
    uint32_t pages = 200000;
    uint64_t sum = 0;

    clock_table = malloc(pages * sizeof(*clock_table));
    for (uint32_t p = 0; p < pages; p++)
        clock_table[p].frame = -1;
    for (int32_t f = 0; f < FRAMES; f++)
        lru[f] = (struct frame){0, (f + FRAMES - 1) % FRAMES, (f + 1) % FRAMES};
    for (size_t i = 0; i < n; i++) {
        uint32_t page = reference(i, pages);

        if (!in_tlb(page)) {
            misses++;
            touch_clock(page, i % 5 == 0);
        }
        touch_lru(page);
    }
    for (int f = 0; f < FRAMES; f++)
        sum = sum * 3 + clock_page[f] + lru[f].page;
    for (int i = 0; i < 4096; i++)
        free(root[i]);
    free(clock_table);
    printf("pagesim %zu checksum %" PRIu64 " (%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 ")\n",
           n, sum, faults[0], faults[1], misses, writes);
    return 0;
}
