/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parts of a simulation add up to it, number by number and reference by reference: random
 * machines of all policies that can be split, random streams whose accesses lie across lines, one
 * by one and as runs, in any number of parts. What cannot be split is refused by its name.
 */
#include "tests/unit/test_random_machines.h"

#include <stdio.h>
#include <string.h>

enum { STREAM = 1500, MACHINES = 2, REFS = 5, NUMBERS = 1 + 2 * PSNAP_LEVELS_MAX };

/* Accesses, and hits and write-backs of levels, by machine and reference. */
struct counts {
    uint64_t numbers[MACHINES][REFS][NUMBERS];
};

static void splittable_machine(struct psnap_rng *rng, struct psnap_machine *machine)
{
    const bool in_detail = pick(rng, 0, 1);

    *machine = (struct psnap_machine){.level_count = (uint32_t)pick(rng, 1, 3)};
    for (uint32_t i = 0; i < machine->level_count; i++) {
        struct psnap_cache_level *level = &machine->levels[i];
        level->line_bytes = UINT64_C(1) << pick(rng, 3, 7);
        level->sets = (UINT64_C(4) << pick(rng, 0, 5)) * pick(rng, 1, 3);
        level->ways = UINT64_C(1) << pick(rng, 0, 3);
        do
            level->replacement = (enum psnap_replacement)pick(rng, 0, PSNAP_REPLACE_COUNT - 1);
        while (level->replacement == PSNAP_REPLACE_RANDOM);
        if (in_detail) {
            level->inclusion = i ? (enum psnap_inclusion)pick(rng, 0, 2) : PSNAP_NON_INCLUSIVE;
            level->write_through = pick(rng, 0, 3) == 0;
            level->no_write_allocate = pick(rng, 0, 3) == 0;
        }
        level->size_bytes = level->line_bytes * level->ways * level->sets;
    }
}

static void random_accesses(struct psnap_rng *rng, struct psnap_access *stream)
{
    random_stream(rng, stream, STREAM);
    for (size_t i = 0; i < STREAM && pick(rng, 0, 1); i++) /* as often as not of no odd size */
        stream[i].address &= ~UINT64_C(7);
}

/* The stream as it is, or every few accesses the first ones of a run instead. */
static void put_all(struct psnap_sink *sink, const struct psnap_access *stream, uint64_t seed,
                    bool as_runs)
{
    struct psnap_error error;
    struct psnap_rng rng;

    psnap_rng_init(&rng, seed);
    if (!as_runs)
        feed(&rng, sink, stream, STREAM);
    for (size_t i = 0; as_runs && i + REFS < STREAM;) {
        const size_t width = pick(&rng, 1, REFS);
        struct psnap_access first[REFS];
        int64_t strides[REFS];
        const struct psnap_run run = {
            .first = first, .strides = strides, .width = width, .count = pick(&rng, 1, 60)};
        for (size_t k = 0; k < width; k++) {
            first[k] = stream[i + k];
            first[k].ref = (uint32_t)k;
            first[k].thread = 0;
            strides[k] = (int64_t)(pick(&rng, 0, 1) ? pick(&rng, 0, 20) : pick(&rng, 0, 9000)) *
                         (pick(&rng, 0, 1) ? 1 : -1);
        }
        assert_int_equal(psnap_sink_put_run(sink, &run, &error), PSNAP_OK);
        i += width;
        assert_int_equal(psnap_sink_put(sink, stream + i, 1, &error), PSNAP_OK);
        i++;
    }
    assert_int_equal(psnap_sink_finish(sink, &error), PSNAP_OK);
}

static void add(struct counts *counts, const struct psnap_sink *sim, uint64_t sign)
{
    for (size_t m = 0; m < MACHINES; m++)
        for (uint32_t ref = 0; ref < REFS; ref++) {
            uint64_t *numbers = counts->numbers[m][ref];
            struct psnap_tally tally = {0};
            psnap_sim_add(sim, m, PSNAP_VIEW_REF, ref, &tally);
            numbers[0] += sign * tally.accesses;
            for (uint32_t l = 0; l < PSNAP_LEVELS_MAX; l++) {
                numbers[1 + 2 * l] += sign * tally.hits[l];
                numbers[2 + 2 * l] += sign * tally.write_backs[l];
            }
        }
}

static void add_window(struct counts *counts, const struct psnap_split *split,
                       struct psnap_split_window window, const struct psnap_machine *machines,
                       const struct psnap_program *program, const struct psnap_access *stream,
                       uint64_t seed, uint64_t sign)
{
    struct psnap_sink *sim = psnap_sim_new(machines, MACHINES, program, NULL, NULL);
    struct psnap_sink *sink = psnap_split_sink_new(split, window, sim);

    put_all(sink, stream, seed, seed % 2);
    add(counts, sim, sign);
    psnap_sink_free(sink);
    psnap_sink_free(sim);
}

/* One random case; false: these machines have too few sets for a part. */
static bool parts_add_up(uint64_t seed)
{
    static struct psnap_access stream[STREAM];
    struct psnap_program *program = five_refs();
    struct psnap_machine machines[MACHINES];
    struct counts whole = {0}, sum = {0};
    struct psnap_error error;
    struct psnap_sink *sim;
    struct psnap_rng rng;
    struct psnap_split split;
    bool is_split;

    psnap_rng_init(&rng, seed);
    for (size_t m = 0; m < MACHINES; m++) {
        splittable_machine(&rng, &machines[m]);
        for (uint32_t l = 1; l < machines[m].level_count; l++)
            if (machines[m].levels[l].inclusion == PSNAP_EXCLUSIVE) {
                machines[m].levels[l].line_bytes = machines[m].levels[l - 1].line_bytes;
                machines[m].levels[l].size_bytes = machines[m].levels[l].line_bytes *
                                                   machines[m].levels[l].ways *
                                                   machines[m].levels[l].sets;
            }
        if (psnap_machine_check(&machines[m], NULL)) /* inclusion wants more than luck */
            for (uint32_t l = 0; l < machines[m].level_count; l++) {
                machines[m].levels[l].inclusion = PSNAP_NON_INCLUSIVE;
                machines[m].levels[l].write_through = false;
                machines[m].levels[l].no_write_allocate = false;
            }
        assert_int_equal(psnap_machine_check(&machines[m], &error), PSNAP_OK);
    }
    random_accesses(&rng, stream);
    is_split = !psnap_split_plan(&split, machines, MACHINES, (uint32_t)pick(&rng, 2, 9), &error);
    if (is_split) {
        sim = psnap_sim_new(machines, MACHINES, program, NULL, NULL);
        put_all(sim, stream, seed, seed % 2);
        add(&whole, sim, 1);
        psnap_sink_free(sim);
        for (uint32_t part = 0; part < split.parts; part++) {
            struct psnap_split_window counted, subtracted;
            psnap_split_windows(&split, part, &counted, &subtracted);
            add_window(&sum, &split, counted, machines, program, stream, seed, 1);
            add_window(&sum, &split, subtracted, machines, program, stream, seed, UINT64_MAX);
        }
        if (memcmp(&whole, &sum, sizeof whole) != 0)
            fail_msg("seed %u: %u parts have other counts", (unsigned)seed, split.parts);
    }
    psnap_program_free(program);
    return is_split;
}

static void parts_of_anything_add_up(void **state)
{
    unsigned split = 0;

    (void)state;
    for (uint64_t seed = 0; seed < 600; seed++)
        split += parts_add_up(seed);
    assert_true(split > 150);
}

static void what_depends_on_other_sets_is_refused(void **state)
{
    static const struct {
        const char *machine, *says;
        uint32_t parts;
    } cases[] = {
        {"random-3", "machine 'random-3' cannot be simulated in parts: level 1 has random", 2},
        {"prefetch-3", "level 1 has a prefetcher", 2},
        {"table1-5",
         "machine 'table1-5' cannot be simulated in 4 parts: its levels have 1 "
         "independent groups of sets",
         4},
        {"32K:64:8,1M:64:full", "its levels have 1 independent", 2},
        {"32K:64:8,1M:64:16", "its levels have 64 independent", 65},
        {"32K:64:8,1M:64:16", NULL, 64},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct psnap_machine machine;
        struct psnap_error error = {.code = PSNAP_OK};
        struct psnap_split split;
        assert_int_equal(psnap_machine_find(cases[i].machine, &machine, &error), PSNAP_OK);
        if (!cases[i].says) {
            assert_int_equal(psnap_split_plan(&split, &machine, 1, cases[i].parts, &error),
                             PSNAP_OK);
            continue;
        }
        assert_int_equal(psnap_split_plan(&split, &machine, 1, cases[i].parts, &error),
                         PSNAP_ERROR_UNSUPPORTED);
        if (!strstr(error.message, cases[i].says))
            fail_msg("'%s' does not say '%s'", error.message, cases[i].says);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_of_anything_add_up),
        cmocka_unit_test(what_depends_on_other_sets_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
