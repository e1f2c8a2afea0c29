/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What must be so of any machine and stream, of random ones: the representations of a cache agree,
 * also at associativities that the naive simulator of test_simcore_oracle.c is too slow for, and
 * packed ones (simcore/cache_packed.h), whose addresses are renamed (simcore/rename.h), all over an
 * address space of 64 bits; machines in one pass are as each alone, and every view of them adds up.
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

/* ---- packed caches ---- */

static void random_large(struct psnap_rng *rng, struct psnap_machine *machine)
{
    *machine = (struct psnap_machine){.level_count = (uint32_t)pick(rng, 1, 3)};
    for (uint32_t l = 0; l < machine->level_count; l++) {
        const uint64_t line = UINT64_C(32) << pick(rng, 0, 2);
        const uint64_t sets = pick(rng, 0, 9) ? UINT64_C(64) << pick(rng, 1, 3) : 192;
        const uint64_t ways = pick(rng, 1, 18);
        machine->levels[l] = (struct psnap_cache_level){
            .size_bytes = line * sets * ways, .line_bytes = line, .ways = ways};
        if (pick(rng, 0, 9) == 0)
            machine->levels[l].replacement = PSNAP_REPLACE_FIFO;
    }
    if (pick(rng, 0, 9) == 0) {
        machine->tlb_level_count = 1;
        machine->tlb[0] = (struct psnap_tlb_level){.entries = 16, .page_bytes = 4096, .ways = 4};
    }
    assert_int_equal(psnap_machine_check(machine, NULL), PSNAP_OK);
}

/* `segments` of 64 GiB and more, of any of which an access may be. */
static void stream_of(struct psnap_rng *rng, struct psnap_access *stream, size_t n,
                      uint64_t segments)
{
    for (size_t i = 0; i < n; i++) {
        const uint64_t segment = pick(rng, 0, segments);
        const uint64_t line = pick(rng, 0, 40) * 512 + pick(rng, 0, 3);
        stream[i] = (struct psnap_access){.address = (segment << 58 >> pick(rng, 0, 1) * 12) +
                                                     line * 64 + pick(rng, 0, 63),
                                          .size = (uint8_t)pick(rng, 1, 64),
                                          .kind = (uint8_t)pick(rng, 0, 2)};
        if (segments > 9 && pick(rng, 0, 200) == 0) /* in two segments, and at the very end */
            stream[i].address = pick(rng, 0, 1) ? RENAME_END - pick(rng, 0, 64) : UINT64_MAX - 63;
    }
}

TEST(packed_caches_are_as_listed_ones)
{
    static struct psnap_access stream[HIERARCHY_BLOCK];
    struct psnap_rng rng;
    size_t packed = 0, given_up = 0;

    psnap_rng_init(&rng, 12);
    for (int round = 0; round < 500; round++) {
        const uint64_t segments = pick(&rng, 0, 2) ? pick(&rng, 0, 9) : 60;
        struct psnap_machine machine;
        struct hierarchy *one, *other;

        random_large(&rng, &machine);
        one = hierarchy_new(&machine, 1, CACHE_PACKED, 0);
        other = hierarchy_new(&machine, 1, CACHE_LISTED, 0);
        packed += one->packs;
        for (int block = 0; block < 12; block++) {
            const size_t n = pick(&rng, 1, HIERARCHY_BLOCK);
            stream_of(&rng, stream, n, segments);
            hierarchy_foresee(one, pick(&rng, 0, 1));
            assert_true(hierarchy_run(one, stream, n));
            assert_true(hierarchy_run(other, stream, n));
            assert_alike(one, other);
        }
        given_up += machine.level_count && !one->packs;
        hierarchy_free(one);
        hierarchy_free(other);
    }
    assert_true(packed > 400);
    assert_in_range(given_up, 50, 450);
}

TEST(segments_get_their_addresses_back)
{
    struct rename *rename = calloc(1, sizeof *rename);
    struct psnap_access block[3] = {{.address = 100, .size = 8},
                                    {.address = UINT64_C(0x400812345678), .size = 8},
                                    {.address = UINT64_C(0xffffffff12345678), .size = 64}};
    struct psnap_access to[3];

    rename_init(rename);
    rename_add_level(rename, 3 << 12); /* so that a segment is three times 4 GiB */
    assert_int_equal(rename->segment_bytes, UINT64_C(3) << 32);
    assert_true(rename_block(rename, block, 3, to));
    assert_int_equal(to[0].address, 100);
    for (int i = 0; i < 3; i++) {
        assert_true(to[i].address < 2 * RENAME_END);
        assert_int_equal(rename_back(rename, to[i].address), block[i].address);
        assert_int_equal(to[i].address % (3 << 12), block[i].address % (3 << 12));
    }
    block[0].address = RENAME_END - 4; /* in two segments */
    assert_false(rename_block(rename, block, 1, to));
    rename_add_level(rename, (UINT64_C(1) << 20) + 7); /* no length for both */
    assert_int_equal(rename->segment_bytes, 0);
    free(rename);
}

/* Runs at the ends of segments and of the address space: where the first accesses have new
 * addresses, all others have, as far from them as before. */
TEST(runs_are_renamed_as_their_accesses)
{
    static const uint64_t ends[] = {0, RENAME_END, UINT64_C(0x600000000000)};
    static const int64_t strides[] = {8, -8, 0, 1, -64, INT64_MIN};
    struct rename *rename = calloc(1, sizeof *rename);
    uint64_t runs = 0, renamed = 0;

    rename_init(rename);
    rename_add_level(rename, 4096);
    for (int e = 0; e < 3; e++)
        for (int s = 0; s < 6; s++)
            for (uint64_t at = ends[e] - 100; at != ends[e] + 100; at++) {
                struct psnap_access access = {.address = at, .size = (uint8_t)(1 + at % 16)}, to;
                const struct psnap_run run = {
                    .first = &access, .strides = &strides[s], .width = 1, .count = 1 + at % 7};
                uint64_t address;
                runs++;
                if (!rename_run(rename, &run, &address))
                    continue;
                renamed++;
                for (uint64_t i = 0; i < run.count; i++) {
                    access.address = at + i * (uint64_t)strides[s];
                    assert_true(rename_block(rename, &access, 1, &to));
                    assert_int_equal(to.address, address + i * (uint64_t)strides[s]);
                }
            }
    assert_in_range(renamed, runs / 2, runs - 1);
    free(rename);
}

/* ---- laws ---- */

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
    struct psnap_program *program = program_with_refs(5);

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
                if (pick(&rng, 0, 4) == 0) /* hardly the same */
                    machines[i].levels[j].prefetch.entries ^= 3;
                if (machines[i].levels[j].replacement == PSNAP_REPLACE_RANDOM)
                    machines[i].levels[j].seed += pick(&rng, 0, 1);
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
