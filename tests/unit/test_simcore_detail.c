/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What machines do access by access (simcore/detail.h): each by hand, and all together against a
 * naive simulator of lists of lines, in which inclusion and exclusion are looked at after every
 * access. What plain machines do in detail is in test_simcore_oracle.c.
 */
#include "tests/unit/test_watch_support.h"

enum { LINE = 16 };

/* Lines by letters in sets of one: "A" is loaded, "a" stored to, and a word of what is to be
 * counted of it: the level that has it from 1 (the last: memory). */
static void assert_levels(struct psnap_machine *machine, const char *lines, const char *levels)
{
    struct watch watch;

    assert_int_equal(psnap_machine_check(machine, NULL), PSNAP_OK);
    watch_begin(&watch, machine);
    for (size_t i = 0; lines[i]; i++) {
        const bool store = lines[i] >= 'a';
        const uint64_t line = (uint64_t)(lines[i] - (store ? 'a' : 'A'));
        const struct psnap_tally tally =
            step(&watch, line * LINE, 4, store ? PSNAP_STORE : PSNAP_LOAD, 0, 0);
        uint32_t level = 0;
        while (level < machine->level_count && !tally.hits[level])
            level++;
        if (levels[i] != (char)('1' + level))
            fail_msg("%s: step %zu of %s is from %u", machine->name, i, lines, level + 1);
    }
    watch_end(&watch);
}

static struct psnap_tally total_of(struct psnap_machine *machine, const char *lines)
{
    struct psnap_access stream[64];
    size_t n = 0;

    assert_int_equal(psnap_machine_check(machine, NULL), PSNAP_OK);
    for (; lines[n]; n++) {
        const bool store = lines[n] >= 'a';
        stream[n] = (struct psnap_access){(uint64_t)(lines[n] - (store ? 'a' : 'A')) * LINE, 0, 4,
                                          store ? PSNAP_STORE : PSNAP_LOAD, 0};
    }
    return tally_of(machine, stream, n);
}

TEST(an_inclusive_level_takes_its_lines_back)
{
    struct psnap_machine machine = machine_of("64:16:full,32:16:full");

    assert_levels(&machine, "ABCABC", "333111"); /* level 2 has B and C, level 1 all */
    machine.levels[1].inclusion = PSNAP_INCLUSIVE;
    assert_levels(&machine, "ABCABC", "333333");
    assert_int_equal(total_of(&machine, "ABC").invalidations[0], 1);
    /* a, dirty in level 1, is written back by level 2, which has it clean */
    assert_int_equal(total_of(&machine, "aBC").write_backs[1], 1);
    assert_int_equal(total_of(&machine, "aBC").write_backs[0], 0);
}

TEST(an_exclusive_level_adds_its_size)
{
    struct psnap_machine machine = machine_of("32:16:full,32:16:full");

    assert_levels(&machine, "ABCDABCD", "33333333");
    machine.levels[1].inclusion = PSNAP_EXCLUSIVE;
    assert_levels(&machine, "ABCDABCD", "33332222");
    assert_levels(&machine, "ABCDEAB", "3333333");
    /* a goes down dirty, comes up dirty, and leaves at last */
    assert_levels(&machine, "aBCABCDEF", "333222333");
    assert_int_equal(total_of(&machine, "aBCABCDEF").write_backs[1], 1);
}

TEST(a_victim_cache_mends_conflicts)
{
    struct psnap_machine machine = machine_of("32:16:1");

    assert_levels(&machine, "ACACAC", "222222"); /* the same set of two */
    machine.levels[0].victim_lines = 1;
    assert_levels(&machine, "ACACAC", "221111");
    assert_levels(&machine, "ACEACE", "222222");
    assert_int_equal(total_of(&machine, "ACACAC").victim_hits[0], 4);
    assert_int_equal(total_of(&machine, "aCE").write_backs[0], 1);
    assert_int_equal(total_of(&machine, "aCE").evictions[0], 1);
}

TEST(stores_go_through)
{
    struct psnap_machine machine = machine_of("32:16:full,64:16:full");
    struct psnap_tally tally;

    machine.levels[0].write_through = true;
    tally =
        total_of(&machine, "aabCDE"); /* a and b leave level 1 clean, and are dirty in level 2 */
    assert_int_equal(tally.write_throughs[0], 3);
    assert_int_equal(tally.write_backs[0], 0);
    assert_int_equal(tally.write_backs[1], 1); /* E takes the place of a */
}

TEST(stores_need_not_allocate)
{
    struct psnap_machine machine = machine_of("32:16:full,64:16:full");

    machine.levels[0].no_write_allocate = true;
    assert_levels(&machine, "aaAaAbB", "3221132"); /* a is level 2's until it is loaded */
    machine.levels[1].no_write_allocate = true;
    assert_levels(&machine, "aaAab", "33313");
}

TEST(next_lines_come_too)
{
    struct psnap_machine machine = machine_of("256:16:full,1K:16:full");
    struct psnap_tally tally;

    machine.levels[0].prefetch.next_lines = 1;
    assert_levels(&machine, "ABCDAB", "313111");
    machine.levels[0].prefetch.next_lines = 3;
    assert_levels(&machine, "ABCDEF", "311131");
    tally = total_of(&machine, "ABC");
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
    struct psnap_program *program = eight_refs();
    const struct psnap_sim_options options = {.cores = 2};
    struct psnap_tally before = {0};
    struct psnap_sink *sim;

    machine.levels[1].shared_by = 2;
    machine.coherent = true;
    sim = psnap_sim_new(&machine, 1, program, &options, NULL);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        const struct psnap_access access = {64, 0, 4, steps[i].kind, steps[i].core};
        struct psnap_tally now = {0};

        assert_int_equal(psnap_sink_put(sim, &access, 1, NULL), PSNAP_OK);
        psnap_sim_add_total(sim, 0, &now);
        if ((steps[i].level < 2 && now.hits[steps[i].level] != before.hits[steps[i].level] + 1) ||
            now.invalidations[0] != before.invalidations[0] + steps[i].invalidations ||
            now.write_backs[0] != before.write_backs[0] + steps[i].write_backs ||
            now.coherence[0] != before.coherence[0] + steps[i].coherence)
            fail_msg("step %zu", i);
        before = now;
    }
    psnap_sink_free(sim);
    psnap_program_free(program);
}

/* An exclusive level loses the line, too, when the level above it does, which it gave it to. */
TEST(what_is_taken_is_gone_from_exclusive_levels)
{
    struct psnap_machine machine = machine_of("32:16:full,256:16:full");
    struct psnap_program *program = eight_refs();
    const struct psnap_sim_options options = {.cores = 2, .classify = true};
    const struct psnap_access block[] = {
        {64, 0, 4, PSNAP_LOAD, 0}, {64, 0, 4, PSNAP_STORE, 1}, {64, 0, 4, PSNAP_LOAD, 0}};
    struct psnap_tally tally = {0};
    struct psnap_sink *sim;

    machine.levels[1].inclusion = PSNAP_EXCLUSIVE;
    machine.coherent = true;
    assert_int_equal(psnap_machine_check(&machine, NULL), PSNAP_OK);
    sim = psnap_sim_new(&machine, 1, program, &options, NULL);
    assert_int_equal(psnap_sink_put(sim, block, 3, NULL), PSNAP_OK);
    psnap_sim_add_total(sim, 0, &tally);
    for (int level = 0; level < 2; level++) {
        assert_int_equal(tally.cold[level], 2);
        assert_int_equal(tally.coherence[level], 1);
        assert_int_equal(tally.capacity[level], 0);
    }
    psnap_sink_free(sim);
    psnap_program_free(program);
}

/* ------------------------------------------------------------- a naive simulator */

enum { LEVELS = 3, SETS = 4, WAYS = 4, VICTIMS = 3 };

struct entry {
    uint64_t line; /* number; NOTHING: empty */
    bool dirty;
};
#define NOTHING UINT64_MAX

struct naive {
    const struct psnap_machine *machine;
    struct entry sets[LEVELS][SETS][WAYS]; /* the newest first */
    struct entry victims[LEVELS][VICTIMS];
    bool moved_dirty;
    uint32_t depth;
    struct psnap_tally tally;
};

static struct entry *set_of(struct naive *naive, uint32_t l, uint64_t line)
{
    return naive->sets[l][line % naive->machine->levels[l].sets];
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

static uint64_t pick(struct psnap_rng *rng, uint64_t low, uint64_t high)
{
    return low + psnap_rng_below(rng, high - low + 1);
}

/* A level that is inclusive has no victims: they might keep what it gave up from nearer ones. */
static void random_levels(struct psnap_rng *rng, struct psnap_machine *machine)
{
    *machine = (struct psnap_machine){.level_count = (uint32_t)pick(rng, 1, LEVELS),
                                      .coherent = true}; /* of one core: so that it is in detail */
    for (uint32_t l = 0; l < machine->level_count; l++) {
        struct psnap_cache_level *level = &machine->levels[l];
        level->line_bytes = LINE;
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

static bool agrees(const struct psnap_machine *machine, const struct psnap_tally *a,
                   const struct psnap_tally *b)
{
    bool same = true;

    for (uint32_t l = 0; l < machine->level_count; l++)
        same &= a->hits[l] == b->hits[l] && a->write_backs[l] == b->write_backs[l] &&
                a->write_throughs[l] == b->write_throughs[l] &&
                a->evictions[l] == b->evictions[l] && a->victim_hits[l] == b->victim_hits[l] &&
                a->invalidations[l] == b->invalidations[l];
    return same;
}

TEST(all_together_as_the_naive_one)
{
    struct psnap_rng rng;

    psnap_rng_init(&rng, 20);
    for (int round = 0; round < 3000; round++) {
        struct psnap_machine machine;
        struct naive naive = {.machine = &machine};
        struct watch watch;

        random_levels(&rng, &machine);
        memset(naive.sets, 0xff, sizeof naive.sets);
        memset(naive.victims, 0xff, sizeof naive.victims);
        for (int l = 0; l < LEVELS; l++) {
            for (int s = 0; s < SETS; s++)
                for (int w = 0; w < WAYS; w++)
                    naive.sets[l][s][w].dirty = false;
            for (int v = 0; v < VICTIMS; v++)
                naive.victims[l][v].dirty = false;
        }
        watch_begin(&watch, &machine);
        for (int i = 0; i < 200; i++) {
            const uint64_t line = pick(&rng, 0, 15) * pick(&rng, 1, 3);
            const bool store = pick(&rng, 0, 1);
            struct psnap_tally got;

            naive.depth = 0;
            naive.moved_dirty = false;
            naive_serve(&naive, 0, line, store);
            if (naive.depth < machine.level_count)
                naive.tally.hits[naive.depth]++;
            step(&watch, line * LINE, 4, store ? PSNAP_STORE : PSNAP_LOAD, 0, 0);
            got = watch_total(&watch);
            check_laws(&naive);
            if (!agrees(&machine, &got, &naive.tally))
                fail_msg("machine %d, access %d", round, i);
        }
        watch_end(&watch);
    }
}

/* An access across the end of the address space has the last line and line 0. */
TEST(line_zero_is_behind_the_top)
{
    struct psnap_machine machine = machine_of("64:16:full,128:16:full");
    struct watch watch;

    machine.levels[0].write_through = true;
    watch_begin(&watch, &machine);
    assert_int_equal(step(&watch, UINT64_MAX - 3, 8, PSNAP_STORE, 0, 0).hits[0], 0);
    assert_int_equal(step(&watch, 0, 1, PSNAP_LOAD, 0, 0).hits[0], 1);
    assert_int_equal(step(&watch, UINT64_MAX, 1, PSNAP_LOAD, 0, 0).hits[0], 1);
    assert_int_equal(step(&watch, UINT64_MAX - 3, 8, PSNAP_LOAD, 0, 0).hits[0], 1);
    assert_int_equal(step(&watch, LINE, 1, PSNAP_LOAD, 0, 0).hits[0], 0);
    watch_end(&watch);
}
