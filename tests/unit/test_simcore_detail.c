/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What machines do access by access (simcore/detail.h), and several cores: against a naive
 * simulator of lists of lines, in which inclusion and exclusion are looked at after every access.
 * By hand what it has not: lines that come with others, and coherence. What plain machines do in
 * detail is in test_simcore_oracle.c.
 */
#include "tests/unit/test_simcore_support.h"

enum { LINE = 16 };

/* Lines by their number, loaded one after the other: the level that has each, from 1. */
static void assert_levels(const struct psnap_machine *machine, const char *lines,
                          const char *levels)
{
    struct watch watch;

    watch_begin(&watch, machine, NULL);
    for (size_t i = 0; lines[i]; i++) {
        const struct psnap_tally tally = step(
            &watch, (struct psnap_access){(uint64_t)(lines[i] - '0') * LINE, 0, 4, PSNAP_LOAD, 0});
        uint32_t level = 0;
        while (level < machine->level_count && !tally.hits[level])
            level++;
        if (levels[i] != (char)('1' + level))
            fail_msg("step %zu of %s is from %u", i, lines, level + 1);
    }
    watch_end(&watch);
}

TEST(next_lines_come_too)
{
    struct psnap_machine machine = machine_of("256:16:full,1K:16:full");
    struct psnap_access stream[3];
    struct psnap_tally tally;

    machine.levels[0].prefetch.next_lines = 1;
    assert_levels(&machine, "012301", "313111");
    machine.levels[0].prefetch.next_lines = 3;
    assert_levels(&machine, "012345", "311131");
    for (uint64_t i = 0; i < 3; i++)
        stream[i] = (struct psnap_access){.address = i * LINE, .size = 4};
    tally = tally_of(&machine, stream, 3);
    assert_int_equal(tally.prefetches[0], 3);
    assert_int_equal(tally.prefetches_useful[0], 2);
}

/* Two cores, level 1 their own: who stores takes the line from the other. */
TEST(stores_take_lines_from_others)
{
    static const struct {
        uint16_t core;
        uint8_t kind;
        unsigned level; /* that has it, from 0 */
        unsigned invalidations, write_backs, coherence;
    } steps[] = {
        {0, PSNAP_LOAD, 2, 0, 0, 0},  {1, PSNAP_LOAD, 1, 0, 0, 0},
        {0, PSNAP_LOAD, 0, 0, 0, 0},  {1, PSNAP_STORE, 0, 1, 0, 0}, /* core 0's goes */
        {0, PSNAP_LOAD, 1, 0, 1, 1}, /* core 1's is written back, and clean */
        {1, PSNAP_LOAD, 0, 0, 0, 0},  {1, PSNAP_STORE, 0, 1, 0, 0},
        {0, PSNAP_STORE, 1, 1, 1, 1}, /* and core 1's goes, dirty */
        {1, PSNAP_LOAD, 1, 0, 1, 1},
    };
    struct psnap_machine machine = machine_of("32:16:full,256:16:full");
    struct watch watch;

    machine.levels[1].shared_by = 2;
    machine.coherent = true;
    watch_begin(&watch, &machine, &(struct psnap_sim_options){.cores = 2});
    for (size_t i = 0; i < COUNT(steps); i++) {
        const struct psnap_tally tally =
            step(&watch, (struct psnap_access){64, 0, 4, steps[i].kind, steps[i].core});

        if ((steps[i].level < 2 && tally.hits[steps[i].level] != 1) ||
            tally.invalidations[0] != steps[i].invalidations ||
            tally.write_backs[0] != steps[i].write_backs ||
            tally.coherence[0] != steps[i].coherence)
            fail_msg("step %zu", i);
    }
    watch_end(&watch);
}

/* An exclusive level loses the line, too, when the level above it does, which it gave it to. */
TEST(exclusive_levels_lose_what_is_taken)
{
    struct psnap_machine machine = machine_of("32:16:full,256:16:full");
    struct watch watch;
    struct psnap_tally tally;

    machine.levels[1].inclusion = PSNAP_EXCLUSIVE;
    machine.coherent = true;
    assert_int_equal(psnap_machine_check(&machine, NULL), PSNAP_OK);
    watch_begin(&watch, &machine, &(struct psnap_sim_options){.cores = 2, .classify = true});
    step(&watch, (struct psnap_access){64, 0, 4, PSNAP_LOAD, 0});
    step(&watch, (struct psnap_access){64, 0, 4, PSNAP_STORE, 1});
    step(&watch, (struct psnap_access){64, 0, 4, PSNAP_LOAD, 0});
    tally = total_of(watch.sim, 0);
    for (int level = 0; level < 2; level++) {
        assert_int_equal(tally.cold[level], 2);
        assert_int_equal(tally.coherence[level], 1);
        assert_int_equal(tally.capacity[level], 0);
    }
    watch_end(&watch);
}

/* ------------------------------------------------------------- a naive simulator */

enum { CORES = 6, LEVELS = 3, SETS = 4, WAYS = 4, VICTIMS = 3 };

struct entry {
    uint64_t line; /* number; NOTHING: empty */
    bool dirty;
};
#define NOTHING UINT64_MAX

struct naive {
    const struct psnap_machine *machine;
    struct entry sets[LEVELS][CORES][SETS][WAYS]; /* the newest first; cache k of a level is at k */
    struct entry victims[LEVELS][VICTIMS];        /* of one core */
    uint32_t core;                                /* whose access it is */
    bool moved_dirty;
    uint32_t depth;
    struct psnap_tally tally;
};

static struct entry *set_of(struct naive *naive, uint32_t l, uint64_t line)
{
    const struct psnap_cache_level *shape = &naive->machine->levels[l];

    return naive->sets[l][naive->core / shape->shared_by][line % shape->sets];
}

static bool drop(struct entry *list, size_t n, uint64_t line, struct entry *found)
{
    for (size_t i = 0; i < n; i++)
        if (list[i].line == line) {
            *found = list[i];
            memmove(list + i, list + i + 1, (n - 1 - i) * sizeof *list);
            list[n - 1] = (struct entry){NOTHING, false};
            return true;
        }
    return false;
}

/* What falls out at the end. */
static struct entry push(struct entry *list, size_t n, struct entry entry)
{
    const struct entry last = list[n - 1];

    memmove(list + 1, list, (n - 1) * sizeof *list);
    list[0] = entry;
    return last;
}

static void naive_write(struct naive *naive, uint32_t l, uint64_t line)
{
    for (; l < naive->machine->level_count; l++) {
        const struct psnap_cache_level *shape = &naive->machine->levels[l];
        struct entry *found = NULL;
        for (size_t i = 0; i < shape->ways; i++)
            if (set_of(naive, l, line)[i].line == line)
                found = &set_of(naive, l, line)[i];
        for (size_t i = 0; i < shape->victim_lines && !found; i++)
            if (naive->victims[l][i].line == line)
                found = &naive->victims[l][i];
        naive->tally.write_throughs[l] += found && shape->write_through;
        if (found && !shape->write_through) {
            found->dirty = true;
            return;
        }
    }
}

static void naive_insert(struct naive *naive, uint32_t l, struct entry entry);

static void naive_leave(struct naive *naive, uint32_t l, struct entry entry)
{
    const struct psnap_machine *machine = naive->machine;
    struct entry other;

    naive->tally.evictions[l]++;
    for (uint32_t m = 0; m < l && machine->levels[l].inclusion == PSNAP_INCLUSIVE; m++)
        if (drop(set_of(naive, m, entry.line), machine->levels[m].ways, entry.line, &other) ||
            drop(naive->victims[m], machine->levels[m].victim_lines, entry.line, &other)) {
            entry.dirty |= other.dirty;
            naive->tally.invalidations[m]++;
        }
    naive->tally.write_backs[l] += entry.dirty;
    if (l + 1 < machine->level_count && machine->levels[l + 1].inclusion == PSNAP_EXCLUSIVE)
        naive_insert(naive, l + 1, entry);
    else if (entry.dirty)
        naive_write(naive, l + 1, entry.line);
}

static void naive_insert(struct naive *naive, uint32_t l, struct entry entry)
{
    const struct psnap_cache_level *shape = &naive->machine->levels[l];
    struct entry out = push(set_of(naive, l, entry.line), shape->ways, entry);

    if (out.line != NOTHING && shape->victim_lines)
        out = push(naive->victims[l], shape->victim_lines, out);
    if (out.line != NOTHING)
        naive_leave(naive, l, out);
}

static void naive_serve(struct naive *naive, uint32_t l, uint64_t line, bool store)
{
    const struct psnap_machine *machine = naive->machine;
    const struct psnap_cache_level *shape = &machine->levels[l];
    const bool dirties = store && !shape->write_through;
    const bool allocates =
        shape->inclusion != PSNAP_EXCLUSIVE && !(store && shape->no_write_allocate);
    const bool after =
        l + 1 < machine->level_count && machine->levels[l + 1].inclusion == PSNAP_EXCLUSIVE;
    struct entry found;
    bool hit;

    if (l == machine->level_count)
        return;
    hit = drop(set_of(naive, l, line), shape->ways, line, &found);
    if (!hit && drop(naive->victims[l], shape->victim_lines, line, &found)) {
        naive->tally.victim_hits[l]++;
        naive_insert(naive, l, found);
        hit = drop(set_of(naive, l, line), shape->ways, line, &found);
    }
    if (hit && shape->inclusion == PSNAP_EXCLUSIVE)
        naive->moved_dirty = found.dirty;
    else if (hit)
        push(set_of(naive, l, line), shape->ways, (struct entry){line, found.dirty || dirties});
    if (!hit) {
        naive->depth = l + 1;
        if (allocates && !after)
            naive_insert(naive, l, (struct entry){line, dirties});
        naive_serve(naive, l + 1, line, store && !allocates);
        if (allocates && after) {
            naive_insert(naive, l, (struct entry){line, dirties || naive->moved_dirty});
            naive->moved_dirty = false;
        }
    }
    if (store && shape->write_through && (hit || allocates)) {
        naive->tally.write_throughs[l]++;
        naive_write(naive, l + 1, line);
    }
}

static bool holds(struct naive *naive, uint32_t l, uint64_t line)
{
    for (size_t i = 0; i < naive->machine->levels[l].ways; i++)
        if (set_of(naive, l, line)[i].line == line)
            return true;
    return false;
}

/* Inclusive levels have all of nearer ones, exclusive ones nothing of the one before. */
static void check_laws(struct naive *naive)
{
    const struct psnap_machine *machine = naive->machine;

    for (uint32_t l = 1; l < machine->level_count; l++)
        for (uint64_t line = 0; line < 64; line++) {
            const bool here = holds(naive, l, line);
            for (uint32_t m = 0; m < l && machine->levels[l].inclusion == PSNAP_INCLUSIVE; m++)
                assert_true(here || !holds(naive, m, line));
            if (machine->levels[l].inclusion == PSNAP_EXCLUSIVE)
                assert_false(here && holds(naive, l - 1, line));
        }
}

/* A level that is inclusive has no victims: they might keep what it gave up from nearer ones. */
static void random_levels(struct psnap_rng *rng, struct psnap_machine *machine)
{
    *machine = (struct psnap_machine){.level_count = (uint32_t)pick(rng, 1, LEVELS),
                                      .coherent = true}; /* of one core: so that it is in detail */
    for (uint32_t l = 0; l < machine->level_count; l++) {
        struct psnap_cache_level *level = &machine->levels[l];
        level->line_bytes = LINE;
        level->shared_by = 1;
        level->ways = pick(rng, 1, WAYS);
        level->size_bytes = LINE * level->ways * pick(rng, 1, SETS);
        level->inclusion = l ? (enum psnap_inclusion)pick(rng, 0, 2) : PSNAP_NON_INCLUSIVE;
        level->write_through = pick(rng, 0, 2) == 0;
        level->no_write_allocate = pick(rng, 0, 2) == 0;
        level->victim_lines =
            level->inclusion == PSNAP_INCLUSIVE ? 0 : (uint32_t)pick(rng, 0, VICTIMS);
        if (level->inclusion == PSNAP_EXCLUSIVE)
            level[-1].no_write_allocate = false;
    }
    assert_int_equal(psnap_machine_check(machine, NULL), PSNAP_OK);
}

static struct naive *naive_new(const struct psnap_machine *machine)
{
    struct naive *naive = calloc(1, sizeof *naive);

    assert_non_null(naive);
    naive->machine = machine;
    for (int l = 0; l < LEVELS; l++) {
        struct entry *const entries = &naive->sets[l][0][0][0];
        for (size_t i = 0; i < sizeof naive->sets[l] / sizeof *entries; i++)
            entries[i].line = NOTHING;
        for (int v = 0; v < VICTIMS; v++)
            naive->victims[l][v].line = NOTHING;
    }
    return naive;
}

/* Accesses to a few lines, of as many cores: after each the counts are the same. */
static void assert_as_naive(struct psnap_rng *rng, const struct psnap_machine *machine,
                            uint32_t cores)
{
    struct naive *naive = naive_new(machine);
    const struct psnap_sim_options options = {.cores = cores > 1 ? cores : 0};
    struct watch watch;

    watch_begin(&watch, machine, &options);
    for (int i = 0; i < 200; i++) {
        const uint64_t line = pick(rng, 0, 15) * pick(rng, 1, cores > 1 ? 5 : 3);
        const bool store = pick(rng, 0, 1);
        struct psnap_tally got;

        naive->core = (uint32_t)pick(rng, 0, cores - 1);
        naive->depth = 0;
        naive->moved_dirty = false;
        naive_serve(naive, 0, line, store);
        naive->tally.accesses++;
        if (naive->depth < machine->level_count)
            naive->tally.hits[naive->depth]++;
        step(&watch, (struct psnap_access){line * LINE, 0, 4, store ? PSNAP_STORE : PSNAP_LOAD,
                                           (uint16_t)naive->core});
        got = total_of(watch.sim, 0);
        if (cores > 1) /* counted of machines in detail alone */
            memset(naive->tally.evictions, 0, sizeof naive->tally.evictions);
        else
            check_laws(naive);
        assert_memory_equal(&got, &naive->tally, sizeof got);
    }
    watch_end(&watch);
    free(naive);
}

TEST(all_together_as_the_naive_one)
{
    struct psnap_rng rng;

    psnap_rng_init(&rng, 20);
    for (int round = 0; round < 3000; round++) {
        struct psnap_machine machine;

        random_levels(&rng, &machine);
        assert_as_naive(&rng, &machine, 1);
    }
}

TEST(cores_share_caches_as_in_the_naive_one)
{
    static const uint32_t shares[] = {1, 2, 3, CORES, 100};
    struct psnap_rng rng;

    psnap_rng_init(&rng, 19);
    for (int round = 0; round < 1000; round++) {
        struct psnap_machine machine = {.level_count = (uint32_t)pick(&rng, 1, LEVELS)};

        for (uint32_t l = 0; l < machine.level_count; l++) {
            const uint64_t ways = pick(&rng, 1, WAYS), sets = pick(&rng, 1, SETS);
            machine.levels[l] = (struct psnap_cache_level){.line_bytes = LINE,
                                                           .ways = ways,
                                                           .size_bytes = LINE * ways * sets,
                                                           .shared_by = shares[pick(&rng, 0, 4)]};
        }
        assert_int_equal(psnap_machine_check(&machine, NULL), PSNAP_OK);
        assert_as_naive(&rng, &machine, CORES);
    }
}

/* Of a bundled machine no level of which is shared, with a prefetcher and a TLB each, cores do as
 * each would alone. */
TEST(cores_that_share_nothing_are_apart)
{
    static const char *const names[] = {"table1-4", "prefetch-3", "tlb-64", "plru-3"};
    enum { N = 6000 };
    static struct psnap_access stream[N], own[N];
    struct psnap_rng rng;

    psnap_rng_init(&rng, 7);
    for (size_t m = 0; m < COUNT(names); m++) {
        const struct psnap_machine machine = machine_of(names[m]);
        struct watch watch;

        watch_begin(&watch, &machine,
                    &(struct psnap_sim_options){.by_thread = true, .cores = CORES});
        for (uint64_t i = 0; i < N; i++) {
            const uint16_t core = (uint16_t)pick(&rng, 0, CORES - 1);
            stream[i] =
                (struct psnap_access){i * 24 * (core + 1u) % (1u << 20), (uint32_t)pick(&rng, 0, 7),
                                      8, (uint8_t)pick(&rng, 0, 1), core};
        }
        assert_int_equal(psnap_sink_put(watch.sim, stream, N, NULL), PSNAP_OK);
        for (uint16_t core = 0; core < CORES; core++) {
            struct psnap_tally together = {0}, apart;
            size_t n = 0;
            for (size_t i = 0; i < N; i++)
                if (stream[i].thread == core)
                    own[n++] = stream[i];
            apart = tally_of(&machine, own, n);
            psnap_sim_add(watch.sim, 0, PSNAP_VIEW_THREAD, core, &together);
            assert_memory_equal(&together, &apart, sizeof apart);
        }
        watch_end(&watch);
    }
}

TEST(threads_are_cores)
{
    const struct psnap_machine machine = machine_of("1K:64:2");
    const struct psnap_access access = {.size = 1, .thread = 2};
    struct psnap_error error;
    struct watch watch;

    watch_begin(&watch, &machine, &(struct psnap_sim_options){.cores = 2});
    assert_int_equal(psnap_sink_put(watch.sim, &access, 1, &error), PSNAP_ERROR_VALUE);
    assert_non_null(strstr(error.message, "thread 2, but there are only 2 cores"));
    watch_end(&watch);
}

/* An access across the end of the address space has the last line and line 0. */
TEST(line_zero_is_behind_the_top)
{
    static const struct {
        uint64_t address;
        uint8_t size, kind, hits;
    } steps[] = {{UINT64_MAX - 3, 8, PSNAP_STORE, 0},
                 {0, 1, PSNAP_LOAD, 1},
                 {UINT64_MAX, 1, PSNAP_LOAD, 1},
                 {UINT64_MAX - 3, 8, PSNAP_LOAD, 1},
                 {LINE, 1, PSNAP_LOAD, 0}};
    struct psnap_machine machine = machine_of("64:16:full,128:16:full");
    struct watch watch;

    machine.levels[0].write_through = true;
    watch_begin(&watch, &machine, NULL);
    for (size_t i = 0; i < COUNT(steps); i++)
        assert_int_equal(step(&watch, (struct psnap_access){steps[i].address, 0, steps[i].size,
                                                            steps[i].kind, 0})
                             .hits[0],
                         steps[i].hits);
    watch_end(&watch);
}
