/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What must be so of any machine and stream, of random ones: the representations
 * of a cache agree, also at associativities that the naive simulator of
 * test_simcore_oracle.c is too slow for; a larger LRU cache holds what a smaller
 * one does; machines in one pass are as each alone, and every view of them adds up.
 */
#include "simcore/hierarchy.h"
#include "tests/unit/test_random_machines.h"

static void assert_alike(const struct hierarchy *one, const struct hierarchy *other)
{
    assert_int_equal(one->level_count, other->level_count);
    for (size_t i = 0; i < one->level_count; i++) {
        const struct level *a = one->levels[i], *b = other->levels[i];
        assert_int_equal(a->miss_count, b->miss_count);
        if (a->miss_count)
            assert_memory_equal(a->misses, b->misses, a->miss_count * sizeof a->misses[0]);
        assert_memory_equal(a->evictions, b->evictions, sizeof a->evictions);
        if (!a->ahead)
            continue;
        assert_memory_equal(a->ahead->issued, b->ahead->issued, sizeof a->ahead->issued);
        assert_memory_equal(a->ahead->useful, b->ahead->useful, sizeof a->ahead->useful);
        assert_memory_equal(a->ahead->useless, b->ahead->useless, sizeof a->ahead->useless);
    }
}

TEST(all_representations_agree)
{
    struct psnap_rng rng;

    psnap_rng_init(&rng, 7);
    for (int round = 0; round < 600; round++) {
        struct psnap_access stream[HIERARCHY_BLOCK];
        struct psnap_machine machine;
        struct hierarchy *chosen, *general, *listed;

        random_machine(&rng, &machine, CACHE_FLAT_WAYS_MAX);
        chosen = hierarchy_new(&machine, 1, CACHE_FLAT, 0);
        general = hierarchy_new(&machine, 1, CACHE_GENERAL, 0);
        listed = hierarchy_new(&machine, 1, CACHE_LISTED, 0);
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

/* Mattson et al. 1970: what a fully associative LRU cache holds, a larger one holds too. */
TEST(a_larger_lru_cache_holds_all_that_a_smaller_one_holds)
{
    struct psnap_rng rng;

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
        small_cache = hierarchy_new(&small, 1, CACHE_FLAT, 0);
        large_cache = hierarchy_new(&large, 1, CACHE_FLAT, 0);
        random_stream(&rng, stream, HIERARCHY_BLOCK);
        hierarchy_run(small_cache, stream, HIERARCHY_BLOCK);
        hierarchy_run(large_cache, stream, HIERARCHY_BLOCK);
        for (uint32_t i = 0, k = 0; i < large_cache->levels[0]->miss_count; i++) {
            const uint16_t access = large_cache->levels[0]->misses[i];
            while (k < small_cache->levels[0]->miss_count &&
                   small_cache->levels[0]->misses[k] < access)
                k++;
            assert_true(k < small_cache->levels[0]->miss_count);
            assert_int_equal(small_cache->levels[0]->misses[k], access);
        }
        hierarchy_free(small_cache);
        hierarchy_free(large_cache);
    }
}

static void tally_of_view(const struct psnap_sink *sim, size_t machine, enum psnap_view view,
                          struct psnap_tally *tally)
{
    *tally = (struct psnap_tally){0};
    for (uint32_t row = 0; row < psnap_sim_rows(sim, view); row++)
        psnap_sim_add(sim, machine, view, row, tally);
}

/* Many machines in one pass are as each alone; every view counts every access once. */
TEST(machines_are_independent_and_views_add_up)
{
    struct psnap_rng rng;
    struct psnap_program *program = five_refs();

    psnap_rng_init(&rng, 13);
    for (int round = 0; round < 100; round++) {
        struct psnap_access stream[3 * HIERARCHY_BLOCK];
        const size_t n = sizeof stream / sizeof stream[0];
        struct numbering numbering = {0};
        const struct psnap_sim_options options = {.by_thread = true,
                                                  .tagger = number_accesses,
                                                  .tagger_context = &numbering,
                                                  .threads = round % 2 ? 2 : 1};
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
            for (int view = 0; view < PSNAP_VIEW_COUNT; view++) {
                tally_of_view(together, i, (enum psnap_view)view, &by_view);
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
