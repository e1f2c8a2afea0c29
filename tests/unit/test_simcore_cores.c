/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The simulator of several cores against a naive one: caches of a core or of several as lists of
 * lines, random machines and streams, access by access in the stream's order; cores that have
 * everything for themselves are simulators of their own; a thread that is no core is refused.
 */
#include "tests/unit/test.h"

#include "formats/base/rng.h"
#include "simcore/simcore.h"
#include "test_simcore_support.h"

enum { CORES = 6, LEVELS = 3, WAYS = 4, SETS = 4, ACCESSES = 6000 };

struct naive_set {
    uint64_t lines[WAYS]; /* most recent first */
    bool is_dirty[WAYS];
    unsigned used;
};

struct naive {
    const struct psnap_machine *machine;
    struct naive_set sets[LEVELS][CORES][SETS]; /* cache k of a level is at k */
    struct psnap_tally tally;
};

static struct naive_set *set_of(struct naive *naive, uint32_t level, uint32_t core, uint64_t line)
{
    const struct psnap_cache_level *shape = &naive->machine->levels[level];

    return &naive->sets[level][core / shape->shared_by][line % shape->sets];
}

static void write_back(struct naive *naive, uint32_t level, uint32_t core, uint64_t line)
{
    for (; level < naive->machine->level_count; level++) {
        struct naive_set *set = set_of(naive, level, core, line);
        for (unsigned i = 0; i < set->used; i++)
            if (set->lines[i] == line) {
                set->is_dirty[i] = true;
                return;
            }
    }
}

/* Whether the line was there; it is the most recent then. */
static bool touch(struct naive *naive, uint32_t level, uint32_t core, uint64_t line, bool dirty)
{
    const uint64_t ways = naive->machine->levels[level].ways;
    struct naive_set *set = set_of(naive, level, core, line);
    unsigned at = 0;
    bool hit;

    while (at < set->used && set->lines[at] != line)
        at++;
    hit = at < set->used;
    if (hit)
        dirty |= set->is_dirty[at];
    if (!hit && set->used == ways) {
        at = (unsigned)ways - 1;
        if (set->is_dirty[at]) {
            naive->tally.write_backs[level]++;
            write_back(naive, level + 1, core, set->lines[at]);
        }
    } else if (!hit) {
        set->used++;
    }
    for (; at > 0; at--) {
        set->lines[at] = set->lines[at - 1];
        set->is_dirty[at] = set->is_dirty[at - 1];
    }
    set->lines[0] = line;
    set->is_dirty[0] = dirty;
    return hit;
}

static void naive_access(struct naive *naive, const struct psnap_access *access)
{
    const uint64_t line = access->address / 64;

    naive->tally.accesses++;
    for (uint32_t level = 0; level < naive->machine->level_count; level++)
        if (touch(naive, level, access->thread, line, !level && access->kind != PSNAP_LOAD)) {
            naive->tally.hits[level]++;
            return;
        }
}

static struct psnap_machine random_machine(struct psnap_rng *rng)
{
    static const uint32_t shares[] = {1, 2, 3, CORES, 100};
    struct psnap_machine machine = {.level_count = 1 + (uint32_t)psnap_rng_below(rng, LEVELS)};

    for (uint32_t i = 0; i < machine.level_count; i++) {
        struct psnap_cache_level *level = &machine.levels[i];
        level->line_bytes = 64;
        level->ways = 1 + psnap_rng_below(rng, WAYS);
        level->sets = 1 + psnap_rng_below(rng, SETS);
        level->size_bytes = 64 * level->ways * level->sets;
        level->shared_by = shares[psnap_rng_below(rng, 5)];
    }
    return machine;
}

static void random_stream(struct psnap_rng *rng, struct psnap_access *stream)
{
    for (size_t i = 0; i < ACCESSES; i++)
        stream[i] = (struct psnap_access){.address = psnap_rng_below(rng, 80) * 64 + 8,
                                          .ref = (uint32_t)psnap_rng_below(rng, 8),
                                          .size = 8,
                                          .kind = (uint8_t)psnap_rng_below(rng, 2),
                                          .thread = (uint16_t)psnap_rng_below(rng, CORES)};
}

TEST(test_random)
{
    static struct psnap_access stream[ACCESSES];
    static struct naive naive;
    struct psnap_program *program = program_with_loops();
    struct psnap_error error;
    struct psnap_rng rng;

    psnap_rng_init(&rng, 19);
    for (int round = 0; round < 60; round++) {
        const struct psnap_machine machine = random_machine(&rng);
        const struct psnap_sim_options options = {.cores = CORES};
        struct psnap_sink *sim = psnap_sim_new(&machine, 1, program, &options, &error);
        struct psnap_tally tally = {0};

        assert_non_null(sim);
        random_stream(&rng, stream);
        assert_int_equal(psnap_sink_put(sim, stream, ACCESSES, &error), PSNAP_OK);
        psnap_sim_add_total(sim, 0, &tally);
        memset(&naive, 0, sizeof naive);
        naive.machine = &machine;
        for (size_t i = 0; i < ACCESSES; i++)
            naive_access(&naive, &stream[i]);
        assert_memory_equal(&tally, &naive.tally, sizeof tally);
        psnap_sink_free(sim);
    }
    psnap_program_free(program);
}

/* Of a bundled machine no level of which is shared, with a prefetcher and a TLB each, cores do as
 * each would alone. */
TEST(test_apart)
{
    static const char *const names[] = {"table1-4", "prefetch-3", "tlb-64", "plru-3"};
    static struct psnap_access stream[ACCESSES];
    struct psnap_program *program = program_with_loops();
    struct psnap_error error;
    struct psnap_rng rng;

    psnap_rng_init(&rng, 7);
    for (size_t m = 0; m < sizeof names / sizeof names[0]; m++) {
        const struct psnap_sim_options options = {.by_thread = true, .cores = CORES};
        struct psnap_machine machine;
        struct psnap_sink *sim;

        assert_int_equal(psnap_machine_find(names[m], &machine, &error), PSNAP_OK);
        sim = psnap_sim_new(&machine, 1, program, &options, &error);
        random_stream(&rng, stream);
        for (size_t i = 0; i < ACCESSES; i++)
            stream[i].address = i * 24 * (stream[i].thread + 1u) % (1u << 20);
        assert_int_equal(psnap_sink_put(sim, stream, ACCESSES, &error), PSNAP_OK);
        for (uint16_t core = 0; core < CORES; core++) {
            struct psnap_sink *alone = psnap_sim_new(&machine, 1, program, NULL, &error);
            struct psnap_tally together = {0}, apart = {0};
            for (size_t i = 0; i < ACCESSES; i++)
                if (stream[i].thread == core)
                    assert_int_equal(psnap_sink_put(alone, &stream[i], 1, &error), PSNAP_OK);
            psnap_sim_add(sim, 0, PSNAP_VIEW_THREAD, core, &together);
            psnap_sim_add_total(alone, 0, &apart);
            assert_memory_equal(&together, &apart, sizeof apart);
            psnap_sink_free(alone);
        }
        psnap_sink_free(sim);
    }
    psnap_program_free(program);
}

TEST(test_refused)
{
    struct psnap_program *program = program_with_loops();
    const struct psnap_sim_options options = {.cores = 2};
    const struct psnap_access access = {.size = 1, .thread = 2};
    struct psnap_machine machine;
    struct psnap_error error;
    struct psnap_sink *sim;

    assert_int_equal(psnap_machine_find("1K:64:2", &machine, &error), PSNAP_OK);
    sim = psnap_sim_new(&machine, 1, program, &options, &error);
    assert_int_equal(psnap_sink_put(sim, &access, 1, &error), PSNAP_ERROR_VALUE);
    assert_non_null(strstr(error.message, "thread 2, but there are only 2 cores"));
    psnap_sink_free(sim);
    psnap_program_free(program);
}
