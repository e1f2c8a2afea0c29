/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The simulator against a naive one: the rules of MACHINES.md said again with
 * bytes one by one, lines with time stamps, and nothing clever. Thousands of
 * random machines and streams; every single access must go as deep and evict
 * as many dirty lines in both. The two representations of a cache are also run
 * against each other at associativities that the naive one is too slow for.
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

struct naive_line {
    bool present, dirty;
    uint64_t number, used_at;
};

struct naive {
    const struct psnap_machine *machine;
    struct naive_line lines[PSNAP_LEVELS_MAX][NAIVE_LINES]; /* way w of set s at s * ways + w */
    uint64_t time;
    unsigned depth; /* of the last access */
    unsigned write_backs[PSNAP_LEVELS_MAX];
};

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

/* True when the line was there. */
static bool naive_touch(struct naive *naive, unsigned level, uint64_t number, bool store)
{
    const struct psnap_cache_level *cache = &naive->machine->levels[level];
    struct naive_line *line = naive_find(naive, level, number);
    const bool hit = line != NULL;

    if (!hit) {
        line = &naive->lines[level][number % cache->sets * cache->ways];
        for (uint64_t way = 0; way < cache->ways; way++) {
            struct naive_line *other =
                &naive->lines[level][number % cache->sets * cache->ways + way];
            if (!other->present) {
                line = other;
                break;
            }
            if (other->used_at < line->used_at)
                line = other;
        }
        if (line->present && line->dirty) {
            naive->write_backs[level]++;
            for (uint64_t i = 0; i < cache->line_bytes; i++)
                naive_write_back_byte(naive, level + 1, line->number * cache->line_bytes + i);
        }
        *line = (struct naive_line){.present = true, .number = number};
    }
    line->used_at = ++naive->time;
    line->dirty |= store;
    return hit;
}

static void naive_access(struct naive *naive, const struct psnap_access *access)
{
    bool sought[PSNAP_ACCESS_SIZE_MAX];
    bool any = true;

    memset(naive->write_backs, 0, sizeof naive->write_backs);
    memset(sought, true, sizeof sought);
    for (naive->depth = 0; naive->depth < naive->machine->level_count; naive->depth++) {
        const uint64_t line_bytes = naive->machine->levels[naive->depth].line_bytes;
        bool still[PSNAP_ACCESS_SIZE_MAX] = {false};

        any = false;
        for (unsigned i = 0; i < access->size; i++) {
            const uint64_t number = (access->address + i) / line_bytes;
            bool seen = false, hit;
            if (!sought[i])
                continue;
            for (unsigned j = 0; j < i; j++)
                seen |= sought[j] && (access->address + j) / line_bytes == number;
            if (seen)
                continue;
            hit = naive_touch(naive, naive->depth, number,
                              naive->depth == 0 && access->kind != PSNAP_LOAD);
            for (unsigned j = i; j < access->size && !hit; j++)
                if (sought[j] && (access->address + j) / line_bytes == number)
                    any = still[j] = true;
        }
        if (!any)
            return;
        memcpy(sought, still, sizeof sought);
    }
}

/* ------------------------------------------------------------------- streams */

static uint64_t pick(struct psnap_rng *rng, uint64_t low, uint64_t high)
{
    return low + psnap_rng_below(rng, high - low + 1);
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
    assert_int_equal(psnap_machine_check(machine, NULL), PSNAP_OK);
}

static void random_stream(struct psnap_rng *rng, struct psnap_access *stream, size_t n)
{
    const uint64_t base = pick(rng, 0, 3) ? pick(rng, 0, 1 << 20) : UINT64_MAX - 700;
    const uint64_t span = UINT64_C(1) << pick(rng, 6, 14);
    const uint64_t size_max = UINT64_C(1) << pick(rng, 0, 6);
    uint64_t walk = base;

    for (size_t i = 0; i < n; i++) {
        const uint64_t choice = pick(rng, 0, 3);
        if (choice == 0)
            walk = base + pick(rng, 0, span - 1);
        else if (choice == 1)
            walk += 8;
        stream[i] = (struct psnap_access){.address = walk,
                                          .ref = (uint32_t)pick(rng, 0, 4),
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

static void check_access(const struct psnap_sink *sim, const struct psnap_machine *machine,
                         uint32_t row, const struct naive *naive)
{
    struct psnap_tally tally = {0};

    psnap_sim_add(sim, 0, PSNAP_SIM_TAG, row, &tally);
    assert_int_equal(tally.accesses, 1);
    for (uint32_t i = 0; i < machine->level_count; i++) {
        assert_int_equal(tally.hits[i], i == naive->depth);
        assert_int_equal(tally.write_backs[i], naive->write_backs[i]);
    }
}

static void every_access_agrees_with_the_naive_simulator(void **state)
{
    struct psnap_rng rng;
    struct naive *naive = malloc(sizeof *naive);
    struct psnap_program *program = five_refs();

    (void)state;
    psnap_rng_init(&rng, 2026);
    for (int round = 0; round < 3000; round++) {
        struct psnap_access stream[STREAM];
        struct numbering numbering = {0};
        const struct psnap_sim_options options = {.tagger = number_accesses,
                                                  .tagger_context = &numbering};
        struct psnap_machine machine;
        struct psnap_sink *sim;

        random_machine(&rng, &machine, 100);
        random_stream(&rng, stream, STREAM);
        sim = psnap_sim_new(&machine, 1, program, &options, NULL);
        assert_non_null(sim);
        feed(&rng, sim, stream, STREAM);
        memset(naive, 0, sizeof *naive);
        naive->machine = &machine;
        for (uint32_t i = 0; i < STREAM; i++) {
            naive_access(naive, &stream[i]);
            check_access(sim, &machine, i, naive);
        }
        psnap_sink_free(sim);
    }
    psnap_program_free(program);
    free(naive);
}

static void both_representations_agree(void **state)
{
    struct psnap_rng rng;

    (void)state;
    psnap_rng_init(&rng, 7);
    for (int round = 0; round < 1000; round++) {
        struct psnap_access stream[HIERARCHY_BLOCK];
        struct psnap_machine machine;
        struct hierarchy *chosen, *listed;

        random_machine(&rng, &machine, CACHE_FLAT_WAYS_MAX);
        chosen = hierarchy_new(&machine, 1, CACHE_FLAT);
        listed = hierarchy_new(&machine, 1, CACHE_LISTED);
        for (int block = 0; block < 4; block++) {
            random_stream(&rng, stream, HIERARCHY_BLOCK);
            hierarchy_run(chosen, stream, HIERARCHY_BLOCK);
            hierarchy_run(listed, stream, HIERARCHY_BLOCK);
            for (uint32_t i = 0; i < machine.level_count; i++) {
                const struct level *a = chosen->levels[i], *b = listed->levels[i];
                assert_memory_equal(a->passed, b->passed, HIERARCHY_BLOCK);
                assert_memory_equal(a->evictions, b->evictions, HIERARCHY_BLOCK);
            }
        }
        hierarchy_free(chosen);
        hierarchy_free(listed);
    }
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

        small.levels[0] = (struct psnap_cache_level){small_ways * 16, 16, small_ways, 0, 0, 0};
        large.levels[0] = (struct psnap_cache_level){large_ways * 16, 16, large_ways, 0, 0, 0};
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
        cmocka_unit_test(both_representations_agree),
        cmocka_unit_test(a_larger_lru_cache_holds_all_that_a_smaller_one_holds),
        cmocka_unit_test(machines_are_independent_and_views_add_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
