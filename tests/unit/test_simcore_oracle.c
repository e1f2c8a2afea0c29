/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The simulator against a naive one: the rules of MACHINES.md said again with
 * bytes one by one, lines with time stamps, and nothing clever. Thousands of
 * random machines and streams; every single access must go as deep, evict as
 * many dirty lines and have as many lines prefetched in both. Every other machine is simulated in
 * detail (simcore/detail.h), which has to do the same.
 */
#include "tests/unit/test_random_machines.h"

/* ------------------------------------------------------------- the naive one */

#define NAIVE_LINES 4096

struct naive_line {
    bool present, dirty, foreseen;
    unsigned age; /* SRRIP */
    uint64_t number, used_at;
};

struct naive_entry { /* of a prefetcher */
    bool present;
    uint16_t thread;
    uint32_t ref;
    uint64_t previous, stride, used_at;
    enum { INITIAL, TRANSIENT, STEADY, NO_PREDICTION } state;
};

struct naive {
    const struct psnap_machine *machine;
    struct naive_line lines[PSNAP_LEVELS_MAX][NAIVE_LINES]; /* way w of set s at s * ways + w */
    bool upper_next[PSNAP_LEVELS_MAX][NAIVE_LINES]; /* s * ways + m: of ways [l, h) around m, the
                                                       half from m on is to be replaced next */
    struct psnap_rng rng[PSNAP_LEVELS_MAX];
    struct naive_entry entries[PSNAP_LEVELS_MAX][RANDOM_ENTRIES_MAX];
    uint64_t time;
    unsigned depth; /* of the last access */
    unsigned write_backs[PSNAP_LEVELS_MAX];
    unsigned issued[PSNAP_LEVELS_MAX], useful[PSNAP_LEVELS_MAX], useless[PSNAP_LEVELS_MAX];
};

static void naive_init(struct naive *naive, const struct psnap_machine *machine)
{
    memset(naive, 0, sizeof *naive);
    naive->machine = machine;
    for (unsigned i = 0; i < machine->level_count; i++)
        psnap_rng_init_stream(&naive->rng[i], machine->levels[i].seed, i);
}

/* The exclusive or of a number's groups of bits, one bit after the other; or the rest. */
static uint64_t naive_set(const struct psnap_cache_level *cache, uint64_t number)
{
    unsigned bits = 0;
    uint64_t set = 0;

    if (cache->index == PSNAP_INDEX_MODULO)
        return number % cache->sets;
    while (UINT64_C(1) << bits < cache->sets)
        bits++;
    for (unsigned i = 0; i < 64 && bits; i++)
        set ^= (number >> i & 1) << i % bits;
    return set;
}

static struct naive_line *naive_find(struct naive *naive, unsigned level, uint64_t number)
{
    const struct psnap_cache_level *cache = &naive->machine->levels[level];

    for (uint64_t way = 0; way < cache->ways; way++) {
        struct naive_line *line =
            &naive->lines[level][naive_set(cache, number) * cache->ways + way];
        if (line->present && line->number == number)
            return line;
    }
    return NULL;
}

/* One byte of a dirty line goes down until a level has its line. */
static void naive_write_back_byte(struct naive *naive, unsigned level, uint64_t address)
{
    for (; level < naive->machine->level_count; level++) {
        struct naive_line *line =
            naive_find(naive, level, address / naive->machine->levels[level].line_bytes);
        if (line) {
            line->dirty = true;
            return;
        }
    }
}

/* Of the ways [low, high) of a set, halved again and again. */
static void naive_tree_use(bool *upper_next, uint64_t low, uint64_t high, uint64_t way)
{
    const uint64_t middle = (low + high) / 2;

    if (high - low == 1)
        return;
    upper_next[middle] = way < middle;
    if (way < middle)
        naive_tree_use(upper_next, low, middle, way);
    else
        naive_tree_use(upper_next, middle, high, way);
}

static uint64_t naive_tree_victim(const bool *upper_next, uint64_t low, uint64_t high)
{
    const uint64_t middle = (low + high) / 2;

    if (high - low == 1)
        return low;
    return upper_next[middle] ? naive_tree_victim(upper_next, middle, high)
                              : naive_tree_victim(upper_next, low, middle);
}

/* The way of a set that a new line goes to. */
static uint64_t naive_choose(struct naive *naive, unsigned level, uint64_t set)
{
    const struct psnap_cache_level *cache = &naive->machine->levels[level];
    struct naive_line *lines = &naive->lines[level][set * cache->ways];
    uint64_t oldest = 0;

    for (uint64_t way = 0; way < cache->ways; way++) {
        if (!lines[way].present)
            return way;
        if (lines[way].used_at < lines[oldest].used_at)
            oldest = way;
    }
    if (cache->replacement == PSNAP_REPLACE_RANDOM)
        return psnap_rng_below(&naive->rng[level], cache->ways);
    if (cache->replacement == PSNAP_REPLACE_PLRU)
        return naive_tree_victim(&naive->upper_next[level][set * cache->ways], 0, cache->ways);
    while (cache->replacement == PSNAP_REPLACE_SRRIP) {
        for (uint64_t way = 0; way < cache->ways; way++)
            if (lines[way].age == 3)
                return way;
        for (uint64_t way = 0; way < cache->ways; way++)
            lines[way].age++;
    }
    return oldest;
}

/* True when the line was there. What is fetched ahead and there is left alone. */
static bool naive_touch(struct naive *naive, unsigned level, uint64_t number, bool store,
                        bool ahead)
{
    const struct psnap_cache_level *cache = &naive->machine->levels[level];
    const uint64_t set = naive_set(cache, number);
    struct naive_line *line = naive_find(naive, level, number);
    const bool hit = line != NULL;

    if (hit && ahead)
        return true;
    if (!hit) {
        line = &naive->lines[level][set * cache->ways + naive_choose(naive, level, set)];
        if (line->present && line->dirty) {
            naive->write_backs[level]++;
            for (uint64_t i = 0; i < cache->line_bytes; i++)
                naive_write_back_byte(naive, level + 1, line->number * cache->line_bytes + i);
        }
        naive->useless[level] += line->foreseen;
        *line = (struct naive_line){.present = true, .number = number};
    }
    naive->useful[level] += line->foreseen;
    line->foreseen = ahead;
    naive->issued[level] += ahead;
    if (!hit || cache->replacement != PSNAP_REPLACE_FIFO)
        line->used_at = ++naive->time;
    line->age = hit ? 0 : 2;
    if (cache->replacement == PSNAP_REPLACE_PLRU)
        naive_tree_use(&naive->upper_next[level][set * cache->ways], 0, cache->ways,
                       (uint64_t)(line - naive->lines[level]) % cache->ways);
    line->dirty |= store;
    return hit;
}

/* Touches the lines of the sought bytes at one level; leaves the missing ones in `sought`. */
static bool naive_level(struct naive *naive, unsigned level, const struct psnap_access *access,
                        bool *sought, bool store, bool ahead)
{
    const uint64_t line_bytes = naive->machine->levels[level].line_bytes;
    bool still[PSNAP_ACCESS_SIZE_MAX] = {false};
    bool any = false;

    for (unsigned i = 0; i < access->size; i++) {
        const uint64_t number = (access->address + i) / line_bytes;
        bool seen = false, hit;
        if (!sought[i])
            continue;
        for (unsigned j = 0; j < i; j++)
            seen |= sought[j] && (access->address + j) / line_bytes == number;
        if (seen)
            continue;
        hit = naive_touch(naive, level, number, store, ahead);
        for (unsigned j = i; j < access->size && !hit; j++)
            if (sought[j] && (access->address + j) / line_bytes == number)
                any = still[j] = true;
    }
    memcpy(sought, still, sizeof still);
    return any;
}

/* The table of Chen and Baer; 0 when there is nothing to fetch ahead. */
static uint64_t naive_train(struct naive *naive, unsigned level, const struct psnap_access *access)
{
    struct naive_entry *entry = NULL, *free_entry = naive->entries[level];

    for (unsigned i = 0; i < naive->machine->levels[level].prefetch.entries; i++) {
        struct naive_entry *other = &naive->entries[level][i];
        if (other->present && other->ref == access->ref && other->thread == access->thread)
            entry = other;
        if (free_entry->present && (!other->present || other->used_at < free_entry->used_at))
            free_entry = other;
    }
    if (!entry) {
        *free_entry = (struct naive_entry){.present = true,
                                           .thread = access->thread,
                                           .ref = access->ref,
                                           .previous = access->address,
                                           .used_at = ++naive->time};
        return 0;
    }
    entry->used_at = ++naive->time;
    if (access->address == entry->previous + entry->stride) {
        entry->state = entry->state == NO_PREDICTION ? TRANSIENT : STEADY;
    } else if (entry->state == STEADY) {
        entry->state = INITIAL;
    } else {
        entry->stride = access->address - entry->previous;
        entry->state = entry->state == INITIAL ? TRANSIENT : NO_PREDICTION;
    }
    entry->previous = access->address;
    return entry->state == NO_PREDICTION ? 0 : entry->stride;
}

/* An access, or the fetch of one that a level above foresaw, from a level on down. */
static void naive_descend(struct naive *naive, unsigned level, const struct psnap_access *access,
                          const bool *wanted, bool counted)
{
    const struct psnap_prefetch *prefetch = &naive->machine->levels[level].prefetch;
    bool sought[PSNAP_ACCESS_SIZE_MAX];
    uint64_t stride = 0;

    if (level == naive->machine->level_count)
        return;
    memcpy(sought, wanted, sizeof sought);
    if (naive_level(naive, level, access, sought,
                    counted && level == 0 && access->kind != PSNAP_LOAD, false)) {
        naive->depth += counted;
        naive_descend(naive, level + 1, access, sought, counted);
    }
    if (counted && prefetch->entries)
        stride = naive_train(naive, level, access);
    for (unsigned i = 0; i < prefetch->degree && stride; i++) {
        struct psnap_access next = *access;
        next.address += stride * (prefetch->distance + i);
        memcpy(sought, wanted, sizeof sought);
        if (naive_level(naive, level, &next, sought, false, true))
            naive_descend(naive, level + 1, &next, sought, false);
    }
}

static void naive_access(struct naive *naive, const struct psnap_access *access)
{
    bool sought[PSNAP_ACCESS_SIZE_MAX];

    memset(naive->write_backs, 0, sizeof naive->write_backs);
    memset(naive->issued, 0, sizeof naive->issued);
    memset(naive->useful, 0, sizeof naive->useful);
    memset(naive->useless, 0, sizeof naive->useless);
    memset(sought, true, sizeof sought);
    naive->depth = 0;
    naive_descend(naive, 0, access, sought, true);
}

/* --------------------------------------------------------------------- tests */

#define STREAM 400

/* A TLB is a machine whose lines are pages. */
static void pages_of(const struct psnap_machine *machine, struct psnap_machine *pages)
{
    *pages = (struct psnap_machine){.level_count = machine->tlb_level_count};
    for (uint32_t i = 0; i < machine->tlb_level_count; i++) {
        const struct psnap_tlb_level *tlb = &machine->tlb[i];

        pages->levels[i] = (struct psnap_cache_level){.line_bytes = tlb->page_bytes,
                                                      .ways = tlb->ways,
                                                      .size_bytes = tlb->entries * tlb->page_bytes};
    }
    if (machine->tlb_level_count)
        assert_int_equal(psnap_machine_check(pages, NULL), PSNAP_OK);
}

static void check_access(const struct psnap_sink *sim, const struct psnap_machine *machine,
                         uint32_t row, const struct naive *naive, const struct naive *tlb,
                         bool classified)
{
    struct psnap_tally tally = {0};

    psnap_sim_add(sim, 0, PSNAP_VIEW_TAG, row, &tally);
    assert_int_equal(tally.accesses, 1);
    for (uint32_t i = 0; i < machine->level_count; i++) {
        assert_int_equal(tally.hits[i], i == naive->depth);
        assert_int_equal(tally.write_backs[i], naive->write_backs[i]);
        assert_int_equal(tally.prefetches[i], naive->issued[i]);
        assert_int_equal(tally.prefetches_useful[i], naive->useful[i]);
        assert_int_equal(tally.prefetches_useless[i], naive->useless[i]);
        if (classified)
            assert_int_equal(tally.cold[i] + tally.capacity[i] + tally.conflict[i],
                             i < naive->depth);
    }
    for (uint32_t i = 0; i < machine->tlb_level_count; i++)
        assert_int_equal(tally.tlb_hits[i], i == tlb->depth);
}

TEST(every_access_agrees_with_the_naive_simulator)
{
    struct psnap_rng rng;
    struct naive *naive = malloc(sizeof *naive), *tlb = malloc(sizeof *tlb);
    struct psnap_program *program = program_with_refs(5);

    psnap_rng_init(&rng, 2026);
    for (int round = 0; round < 3000; round++) {
        struct psnap_access stream[STREAM];
        struct numbering numbering = {0};
        const struct psnap_sim_options options = {
            .tagger = number_accesses, .tagger_context = &numbering, .classify = round % 2};
        struct psnap_machine machine, pages;
        struct psnap_sink *sim;

        random_machine(&rng, &machine, 130);
        random_stream(&rng, stream, STREAM);
        sim = psnap_sim_new(&machine, 1, program, &options, NULL);
        assert_non_null(sim);
        feed(&rng, sim, stream, STREAM);
        naive_init(naive, &machine);
        pages_of(&machine, &pages);
        naive_init(tlb, &pages);
        for (uint32_t i = 0; i < STREAM; i++) {
            naive_access(naive, &stream[i]);
            naive_access(tlb, &stream[i]);
            check_access(sim, &machine, i, naive, tlb, options.classify);
        }
        psnap_sink_free(sim);
    }
    psnap_program_free(program);
    free(naive);
    free(tlb);
}
