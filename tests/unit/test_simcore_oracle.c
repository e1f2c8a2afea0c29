/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The simulator against a naive one: the rules of MACHINES.md said again with
 * bytes one by one, lines with time stamps, and nothing clever. Thousands of
 * random machines and streams; every single access must go as deep, evict as
 * many dirty lines and have as many lines prefetched in both. The representations
 * of a cache are also run against each other at associativities that the naive
 * one is too slow for, and a TLB against one list of pages.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "formats/base/rng.h"
#include "simcore/hierarchy.h"
#include "simcore/simcore.h"

/* ------------------------------------------------------------- the naive one */

#define NAIVE_LINES 4096
#define NAIVE_ENTRIES 16

struct naive_line {
    bool present, dirty, foreseen;
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
    struct naive_entry entries[PSNAP_LEVELS_MAX][NAIVE_ENTRIES];
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

static struct naive_line *naive_find(struct naive *naive, unsigned level, uint64_t number)
{
    const struct psnap_cache_level *cache = &naive->machine->levels[level];

    for (uint64_t way = 0; way < cache->ways; way++) {
        struct naive_line *line = &naive->lines[level][number % cache->sets * cache->ways + way];
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
    const struct naive_line *lines = &naive->lines[level][set * cache->ways];
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
    return oldest;
}

/* True when the line was there. What is fetched ahead and there is left alone. */
static bool naive_touch(struct naive *naive, unsigned level, uint64_t number, bool store,
                        bool ahead)
{
    const struct psnap_cache_level *cache = &naive->machine->levels[level];
    const uint64_t set = number % cache->sets;
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
    line->used_at = ++naive->time;
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

/* ------------------------------------------------------------------- streams */

static uint64_t pick(struct psnap_rng *rng, uint64_t low, uint64_t high)
{
    return low + psnap_rng_below(rng, high - low + 1);
}

/* Replacement and prefetchers; the sizes of levels follow their ways. */
static void random_policies(struct psnap_rng *rng, struct psnap_machine *machine)
{
    for (uint32_t i = 0; i < machine->level_count; i++) {
        struct psnap_cache_level *level = &machine->levels[i];

        level->replacement = (enum psnap_replacement)pick(rng, 0, PSNAP_REPLACE_COUNT - 1);
        if (level->replacement == PSNAP_REPLACE_RANDOM)
            level->seed = pick(rng, 0, 3);
        if (level->replacement == PSNAP_REPLACE_PLRU)
            while (level->ways & (level->ways - 1))
                level->ways &= level->ways - 1;
        level->size_bytes = level->line_bytes * level->ways * level->sets;
        if (pick(rng, 0, 1))
            level->prefetch =
                (struct psnap_prefetch){(uint32_t)pick(rng, 1, NAIVE_ENTRIES),
                                        (uint32_t)pick(rng, 1, 4), (uint32_t)pick(rng, 1, 5)};
    }
}

static void random_tlb(struct psnap_rng *rng, struct psnap_machine *machine)
{
    machine->tlb_level_count = (uint32_t)pick(rng, 0, PSNAP_TLB_LEVELS_MAX);
    for (uint32_t i = 0; i < machine->tlb_level_count; i++) {
        struct psnap_tlb_level *level = &machine->tlb[i];

        level->page_bytes = UINT64_C(1) << pick(rng, 4, 12);
        level->ways = pick(rng, 1, 9);
        level->entries = level->ways * pick(rng, 1, 5);
    }
}

static void random_machine(struct psnap_rng *rng, struct psnap_machine *machine, uint64_t ways_max)
{
    *machine = (struct psnap_machine){.name = "random", .level_count = (uint32_t)pick(rng, 1, 4)};
    for (uint32_t i = 0; i < machine->level_count; i++) {
        struct psnap_cache_level *level = &machine->levels[i];
        level->line_bytes = UINT64_C(1) << pick(rng, 0, 8);
        level->ways = pick(rng, 0, 9) ? pick(rng, 1, 9) : pick(rng, 1, ways_max);
        level->sets = pick(rng, 0, 1) ? UINT64_C(1) << pick(rng, 0, 4) : pick(rng, 1, 20);
        level->size_bytes = level->line_bytes * level->ways * level->sets;
    }
    if (pick(rng, 0, 2))
        random_policies(rng, machine);
    random_tlb(rng, machine);
    assert_int_equal(psnap_machine_check(machine, NULL), PSNAP_OK);
}

static void random_stream(struct psnap_rng *rng, struct psnap_access *stream, size_t n)
{
    const uint64_t base = pick(rng, 0, 3) ? pick(rng, 0, 1 << 20) : UINT64_MAX - 700;
    const uint64_t span = UINT64_C(1) << pick(rng, 6, 14);
    const uint64_t size_max = UINT64_C(1) << pick(rng, 0, 6);
    const bool strided = pick(rng, 0, 2) == 0;
    uint64_t walk = base, walks[5] = {0}, strides[5] = {0};

    for (size_t i = 0; i < n; i++) {
        const uint64_t choice = pick(rng, 0, 3);
        const uint32_t ref = (uint32_t)pick(rng, 0, 4);
        if (choice == 0)
            walk = base + pick(rng, 0, span - 1);
        else if (choice == 1)
            walk += 8;
        if (i < 5 || pick(rng, 0, 20) == 0) {
            walks[i % 5] = base + pick(rng, 0, span - 1);
            strides[i % 5] = pick(rng, 0, 3) ? pick(rng, 0, 200) : 0 - pick(rng, 0, 200);
        }
        walks[ref] += strides[ref];
        stream[i] = (struct psnap_access){.address = strided ? walks[ref] : walk,
                                          .ref = ref,
                                          .size = (uint8_t)pick(rng, 1, size_max),
                                          .kind = (uint8_t)pick(rng, 0, 2),
                                          .thread = (uint16_t)pick(rng, 0, 2)};
    }
}

/* --------------------------------------------------------------------- tests */

#define STREAM 400

struct numbering {
    uint32_t next;
};

static enum psnap_status number_accesses(void *context, const struct psnap_access *block, size_t n,
                                         uint32_t *rows, struct psnap_error *error)
{
    struct numbering *numbering = context;

    (void)block;
    (void)error;
    for (size_t i = 0; i < n; i++)
        rows[i] = numbering->next++;
    return PSNAP_OK;
}

/* Gives the simulator the stream in pieces of random length. */
static void feed(struct psnap_rng *rng, struct psnap_sink *sim, const struct psnap_access *stream,
                 size_t n)
{
    struct psnap_error error;

    while (n) {
        const size_t part = (size_t)pick(rng, 1, n);
        assert_int_equal(psnap_sink_put(sim, stream, part, &error), PSNAP_OK);
        stream += part;
        n -= part;
    }
}

static struct psnap_program *five_refs(void)
{
    struct psnap_program *program = psnap_program_new();

    assert_non_null(program);
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(psnap_program_add_ref(program, &(struct psnap_ref){0}), i);
    return program;
}

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
                         uint32_t row, const struct naive *naive, const struct naive *tlb)
{
    struct psnap_tally tally = {0};

    psnap_sim_add(sim, 0, PSNAP_SIM_TAG, row, &tally);
    assert_int_equal(tally.accesses, 1);
    for (uint32_t i = 0; i < machine->level_count; i++) {
        assert_int_equal(tally.hits[i], i == naive->depth);
        assert_int_equal(tally.write_backs[i], naive->write_backs[i]);
        assert_int_equal(tally.prefetches[i], naive->issued[i]);
        assert_int_equal(tally.prefetches_useful[i], naive->useful[i]);
        assert_int_equal(tally.prefetches_useless[i], naive->useless[i]);
    }
    for (uint32_t i = 0; i < machine->tlb_level_count; i++)
        assert_int_equal(tally.tlb_hits[i], i == tlb->depth);
}

static void every_access_agrees_with_the_naive_simulator(void **state)
{
    struct psnap_rng rng;
    struct naive *naive = malloc(sizeof *naive), *tlb = malloc(sizeof *tlb);
    struct psnap_program *program = five_refs();

    (void)state;
    psnap_rng_init(&rng, 2026);
    for (int round = 0; round < 3000; round++) {
        struct psnap_access stream[STREAM];
        struct numbering numbering = {0};
        const struct psnap_sim_options options = {.tagger = number_accesses,
                                                  .tagger_context = &numbering};
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
            check_access(sim, &machine, i, naive, tlb);
        }
        psnap_sink_free(sim);
    }
    psnap_program_free(program);
    free(naive);
    free(tlb);
}

static void assert_alike(const struct hierarchy *one, const struct hierarchy *other)
{
    assert_int_equal(one->level_count, other->level_count);
    for (size_t i = 0; i < one->level_count; i++) {
        const struct level *a = one->levels[i], *b = other->levels[i];
        assert_memory_equal(a->passed, b->passed, sizeof a->passed);
        assert_memory_equal(a->evictions, b->evictions, sizeof a->evictions);
        if (!a->ahead)
            continue;
        assert_memory_equal(a->ahead->issued, b->ahead->issued, sizeof a->ahead->issued);
        assert_memory_equal(a->ahead->useful, b->ahead->useful, sizeof a->ahead->useful);
        assert_memory_equal(a->ahead->useless, b->ahead->useless, sizeof a->ahead->useless);
    }
}

static void all_representations_agree(void **state)
{
    struct psnap_rng rng;

    (void)state;
    psnap_rng_init(&rng, 7);
    for (int round = 0; round < 600; round++) {
        struct psnap_access stream[HIERARCHY_BLOCK];
        struct psnap_machine machine;
        struct hierarchy *chosen, *general, *listed;

        random_machine(&rng, &machine, CACHE_FLAT_WAYS_MAX);
        chosen = hierarchy_new(&machine, 1, CACHE_FLAT);
        general = hierarchy_new(&machine, 1, CACHE_GENERAL);
        listed = hierarchy_new(&machine, 1, CACHE_LISTED);
        for (int block = 0; block < 4; block++) {
            random_stream(&rng, stream, HIERARCHY_BLOCK);
            hierarchy_run(chosen, stream, HIERARCHY_BLOCK);
            hierarchy_run(general, stream, HIERARCHY_BLOCK);
            hierarchy_run(listed, stream, HIERARCHY_BLOCK);
            assert_alike(chosen, general);
            assert_alike(chosen, listed);
        }
        hierarchy_free(chosen);
        hierarchy_free(general);
        hierarchy_free(listed);
    }
}

/* A fully associative TLB against pages in a list, the last used one first. */
static void a_tlb_is_a_list_of_pages(void **state)
{
    enum { PAGES = 64 };
    struct psnap_program *program = five_refs();
    struct psnap_machine machine;
    struct psnap_rng rng;

    (void)state;
    assert_int_equal(psnap_machine_find("tlb-64", &machine, NULL), PSNAP_OK);
    psnap_rng_init(&rng, 17);
    for (int round = 0; round < 20; round++) {
        struct psnap_sink *sim = psnap_sim_new(&machine, 1, program, NULL, NULL);
        const uint64_t span = pick(&rng, 1, 200) << 12;
        uint64_t list[PAGES], hits = 0;
        size_t used = 0;
        struct psnap_tally tally = {0};

        for (int i = 0; i < 5000; i++) {
            const struct psnap_access access = {pick(&rng, 0, span - 8) & ~UINT64_C(7), 0, 8,
                                                PSNAP_STORE, 0};
            const uint64_t page = access.address / 4096;
            size_t at = 0;

            assert_int_equal(psnap_sink_put(sim, &access, 1, NULL), PSNAP_OK);
            while (at < used && list[at] != page)
                at++;
            hits += at < used;
            if (at == used && used < PAGES)
                used++;
            for (at = at < used ? at : used - 1; at; at--)
                list[at] = list[at - 1];
            list[0] = page;
        }
        psnap_sim_add_total(sim, 0, &tally);
        assert_int_equal(tally.tlb_hits[0], hits);
        assert_int_equal(psnap_tally_tlb_reached(&tally, 0), 5000);
        assert_true(psnap_tally_tlb_hit_rate(&tally, 0) == (double)hits / 5000);
        psnap_sink_free(sim);
    }
    psnap_program_free(program);
}

/* Mattson et al. 1970: what a fully associative LRU cache holds, a larger one holds too. */
static void a_larger_lru_cache_holds_all_that_a_smaller_one_holds(void **state)
{
    struct psnap_rng rng;

    (void)state;
    psnap_rng_init(&rng, 11);
    for (int round = 0; round < 300; round++) {
        struct psnap_access stream[HIERARCHY_BLOCK];
        const uint64_t small_ways = pick(&rng, 1, 100), large_ways = small_ways + pick(&rng, 1, 60);
        struct psnap_machine small = {.level_count = 1}, large = {.level_count = 1};
        struct hierarchy *small_cache, *large_cache;

        small.levels[0] = (struct psnap_cache_level){
            .size_bytes = small_ways * 16, .line_bytes = 16, .ways = small_ways};
        large.levels[0] = (struct psnap_cache_level){
            .size_bytes = large_ways * 16, .line_bytes = 16, .ways = large_ways};
        assert_int_equal(psnap_machine_check(&small, NULL), PSNAP_OK);
        assert_int_equal(psnap_machine_check(&large, NULL), PSNAP_OK);
        small_cache = hierarchy_new(&small, 1, CACHE_FLAT);
        large_cache = hierarchy_new(&large, 1, CACHE_FLAT);
        random_stream(&rng, stream, HIERARCHY_BLOCK);
        hierarchy_run(small_cache, stream, HIERARCHY_BLOCK);
        hierarchy_run(large_cache, stream, HIERARCHY_BLOCK);
        for (size_t i = 0; i < HIERARCHY_BLOCK; i++)
            assert_true(large_cache->levels[0]->passed[i] <= small_cache->levels[0]->passed[i]);
        hierarchy_free(small_cache);
        hierarchy_free(large_cache);
    }
}

static void tally_of_view(const struct psnap_sink *sim, size_t machine, enum psnap_sim_view view,
                          struct psnap_tally *tally)
{
    *tally = (struct psnap_tally){0};
    for (uint32_t row = 0; row < psnap_sim_rows(sim, view); row++)
        psnap_sim_add(sim, machine, view, row, tally);
}

/* Many machines in one pass are as each alone; every view counts every access once. */
static void machines_are_independent_and_views_add_up(void **state)
{
    struct psnap_rng rng;
    struct psnap_program *program = five_refs();

    (void)state;
    psnap_rng_init(&rng, 13);
    for (int round = 0; round < 100; round++) {
        struct psnap_access stream[3 * HIERARCHY_BLOCK];
        const size_t n = sizeof stream / sizeof stream[0];
        struct numbering numbering = {0};
        const struct psnap_sim_options options = {true, number_accesses, &numbering};
        struct psnap_machine machines[3];
        struct psnap_sink *together;

        random_stream(&rng, stream, n);
        for (uint32_t i = 0; i < 3; i++) {
            random_machine(&rng, &machines[i], 100);
            /* most share some first levels with the one before */
            for (uint32_t j = 0; i && j < pick(&rng, 0, machines[i - 1].level_count); j++) {
                machines[i].levels[j] = machines[i - 1].levels[j];
                machines[i].level_count =
                    machines[i].level_count > j ? machines[i].level_count : j + 1;
            }
        }
        together = psnap_sim_new(machines, 3, program, &options, NULL);
        feed(&rng, together, stream, n);
        for (size_t i = 0; i < 3; i++) {
            struct psnap_sink *alone = psnap_sim_new(&machines[i], 1, program, NULL, NULL);
            struct psnap_tally expected = {0}, total = {0}, by_view;
            uint64_t satisfied;

            feed(&rng, alone, stream, n);
            psnap_sim_add_total(alone, 0, &expected);
            psnap_sim_add_total(together, i, &total);
            assert_int_equal(total.accesses, n);
            assert_memory_equal(&total, &expected, sizeof total);
            for (int view = 0; view < PSNAP_SIM_VIEW_COUNT; view++) {
                tally_of_view(together, i, (enum psnap_sim_view)view, &by_view);
                assert_memory_equal(&total, &by_view, sizeof total);
            }
            satisfied = psnap_tally_satisfied(&total, machines[i].level_count - 1);
            assert_true(satisfied <= n);
            for (uint32_t level = 1; level < machines[i].level_count; level++)
                assert_int_equal(psnap_tally_reached(&total, level),
                                 psnap_tally_reached(&total, level - 1) - total.hits[level - 1]);
            psnap_sink_free(alone);
        }
        psnap_sink_free(together);
    }
    psnap_program_free(program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_access_agrees_with_the_naive_simulator),
        cmocka_unit_test(all_representations_agree),
        cmocka_unit_test(a_tlb_is_a_list_of_pages),
        cmocka_unit_test(a_larger_lru_cache_holds_all_that_a_smaller_one_holds),
        cmocka_unit_test(machines_are_independent_and_views_add_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
