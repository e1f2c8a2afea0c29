/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The simulator as a sink: every block runs through all machines' levels, then
 * what came out is counted, in a pass of its own per machine and view (by
 * reference, by thread, by the caller's tag). Loops, blocks and totals are sums
 * over references, taken when somebody asks.
 *
 * Accesses are counted by row for all machines together. A row of a machine of L levels has L
 * numbers of those that went on from a level, then L numbers of write-backs by the level that
 * evicted, charged to the access that made room. A TLB of T levels adds T numbers of accesses that
 * went on from a level, prefetchers add 3 L numbers of the lines that they brought in, and a
 * machine that is simulated in detail (detail.h) has all of its counts instead. The row of a
 * reference is its number up to REFS_DIRECT; those beyond get rows when they
 * first come, for a program may have many that no access names.
 */
#include "simcore/simcore.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "simcore/detail.h"
#include "simcore/machine.h"
#include "simcore/reduce.h"
#include "simcore/worker.h"

#define REFS_DIRECT 4096u /* enough for most programs, which then pay nothing for the rest */

enum { GROUPS = 2 };

struct counts {
    uint64_t *numbers; /* rows * width */
    uint32_t rows, room;
};

struct run {
    int group;
    const struct paths *paths; /* without caches where there is `detail` */
    struct detail *detail;
    uint32_t levels;
    size_t width; /* numbers in a row */
    size_t tlb;   /* where those of the TLB begin */
    size_t ahead; /* and those of the prefetchers, or of `detail`: counts of levels */
    struct counts views[PSNAP_VIEW_COUNT];
};

/* The row of an access i is that at i * step. */
struct rows {
    const uint32_t *at;
    size_t step;
};

static inline uint32_t row_at(struct rows rows, size_t i)
{
    return rows.at[i * rows.step];
}

struct sim {
    struct psnap_sink base;
    const struct psnap_program *program;
    struct psnap_sim_options options;
    bool counted[PSNAP_VIEW_COUNT];
    uint32_t rows[PSNAP_VIEW_COUNT][HIERARCHY_BLOCK]; /* of the block in hand */
    struct rows by[PSNAP_VIEW_COUNT];                 /* of it, there or elsewhere */
    struct counts seen[PSNAP_VIEW_COUNT];             /* accesses by row */
    struct group {
        struct sim *sim;
        struct hierarchy *hierarchy;
        bool is_out_of_memory;
    } groups[GROUPS];      /* of machines: the second is simulated by the worker */
    struct worker *worker; /* NULL: there is one group, or no thread to be had */
    struct {
        const struct psnap_access *block;
        size_t n;
    } hand;                /* what is simulated */
    struct reduce *reduce; /* runs are simulated by the line; NULL: they are not */
    uint32_t *far_rows;    /* of the references from REFS_DIRECT on; PSNAP_NONE: no access so far */
    uint32_t far_room, far_count;
    uint64_t accesses;
    uint64_t threads[(UINT16_MAX + 1) / 64]; /* bit t: there were accesses of thread t */
    size_t run_count;
    struct run runs[];
};

/* Those of references below REFS_DIRECT, which lie in the accesses. */
static struct rows refs_of(const struct psnap_access *block)
{
    return (struct rows){&block->ref, sizeof *block / sizeof block->ref};
}

static bool counts_grow(struct counts *counts, size_t width, uint32_t rows)
{
    if (rows > counts->room) {
        const size_t room = rows > 2 * (size_t)counts->room ? rows : 2 * (size_t)counts->room;
        uint64_t *numbers = realloc(counts->numbers, room * width * sizeof *numbers);

        if (!numbers)
            return false;
        memset(numbers + counts->room * width, 0, (room - counts->room) * width * sizeof *numbers);
        counts->numbers = numbers;
        counts->room = (uint32_t)room;
    }
    if (rows > counts->rows)
        counts->rows = rows;
    return true;
}

static bool makes_sense(const struct psnap_access *access, uint32_t refs)
{
    return access->ref < refs && access->kind <= PSNAP_ATOMIC && access->size >= 1 &&
           access->size <= PSNAP_ACCESS_SIZE_MAX;
}

static enum psnap_status nonsense(const struct sim *sim, const struct psnap_access *block,
                                  struct psnap_error *error)
{
    const uint32_t refs = sim->program->ref_count;
    size_t i = 0;

    while (makes_sense(&block[i], refs))
        i++;
    return psnap_error_set(error, PSNAP_ERROR_VALUE,
                           "access %" PRIu64 " of the stream makes no sense: reference %" PRIu32
                           " of %" PRIu32 ", kind %u, %u bytes",
                           sim->accesses + i, block[i].ref, refs, block[i].kind, block[i].size);
}

static uint32_t highest_of(const uint32_t *rows, size_t n)
{
    uint32_t highest = 0;

    for (size_t i = 0; i < n; i++)
        highest = rows[i] > highest ? rows[i] : highest;
    return highest;
}

static uint32_t row_of_ref(const struct sim *sim, uint32_t ref)
{
    return ref < REFS_DIRECT ? ref : sim->far_rows[ref - REFS_DIRECT];
}

static bool refers_beyond(const struct sim *sim, const struct psnap_access *block, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (block[i].ref >= sim->program->ref_count)
            return true;
    return false;
}

/* The rows of a block's references, some of which are beyond REFS_DIRECT. */
static bool give_rows(struct sim *sim, const struct psnap_access *block, size_t n)
{
    uint32_t *rows_of_block = sim->rows[PSNAP_VIEW_REF];
    const uint32_t far = sim->program->ref_count - REFS_DIRECT;

    if (far > sim->far_room) {
        const uint32_t twice = sim->far_room < UINT32_MAX / 2 ? 2 * sim->far_room : UINT32_MAX;
        const uint32_t room = far > twice ? far : twice;
        uint32_t *rows = realloc(sim->far_rows, room * sizeof *rows);

        if (!rows)
            return false;
        memset(rows + sim->far_room, 0xff, (room - sim->far_room) * sizeof *rows); /* PSNAP_NONE */
        sim->far_rows = rows;
        sim->far_room = room;
    }
    for (size_t i = 0; i < n; i++) {
        const uint32_t ref = block[i].ref;
        if (ref >= REFS_DIRECT && row_of_ref(sim, ref) == PSNAP_NONE)
            sim->far_rows[ref - REFS_DIRECT] = REFS_DIRECT + sim->far_count++;
        rows_of_block[i] = row_of_ref(sim, ref);
    }
    return true;
}

static uint32_t direct_refs(const struct sim *sim)
{
    const uint32_t refs = sim->program->ref_count;

    return refs < REFS_DIRECT ? refs : REFS_DIRECT;
}

/* What all accesses of a block have, by or. */
struct survey {
    uint64_t words;    /* from low to high: 32 bits of the reference, 8 of size and kind, 16 */
    uint64_t sizes;    /* less 1 */
    uint64_t kinds;    /* and 1 */
    uint64_t distance; /* from its reference to the limit */
};

/* Reads a block once; every reference that is not below `limit` makes `distance` negative. */
static struct survey survey_of(const struct psnap_access *block, size_t n, uint64_t limit)
{
    struct survey all = {0};

    for (size_t i = 0; i < n; i++) {
        uint64_t word;
        memcpy(&word, &block[i].ref, sizeof word);
        all.words |= word;
        all.sizes |= word - (UINT64_C(1) << 32);
        all.kinds |= word + (UINT64_C(1) << 40);
        all.distance |= limit - 1 - (uint32_t)word;
    }
    return all;
}

/* Whether some size is 0 or above 64 (less 1 it needs more than six bits) or some kind above 2 (and
 * 1 it needs more than two). */
static bool is_odd(const struct survey *all)
{
    return all->sizes >> 38 & 3 || (all->kinds | all->words) >> 42 & 0x3f;
}

/* Checks what the hot loop and the counters rely on, and fills the rows of the views. */
static enum psnap_status survey(struct sim *sim, const struct psnap_access *block, size_t n,
                                uint32_t highest[PSNAP_VIEW_COUNT], struct psnap_error *error)
{
    uint32_t *tags = sim->rows[PSNAP_VIEW_TAG], thread = 0;
    const struct survey all = survey_of(block, n, direct_refs(sim));
    const bool is_far = all.distance >> 63;

    for (size_t i = 0; i < n && all.words >> 48; i++)
        thread = block[i].thread > thread ? block[i].thread : thread;
    if (sim->options.cores && thread >= sim->options.cores)
        return psnap_error_set(error, PSNAP_ERROR_VALUE,
                               "the stream has accesses of thread %" PRIu32
                               ", but there are only %" PRIu32 " cores",
                               thread, sim->options.cores);
    highest[PSNAP_VIEW_THREAD] = thread;
    if (is_odd(&all) || (is_far && refers_beyond(sim, block, n)))
        return nonsense(sim, block, error);
    sim->by[PSNAP_VIEW_REF] = refs_of(block);
    highest[PSNAP_VIEW_REF] = direct_refs(sim) - 1;
    if (is_far) {
        if (!give_rows(sim, block, n))
            return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for references");
        sim->by[PSNAP_VIEW_REF] = (struct rows){sim->rows[PSNAP_VIEW_REF], 1};
        highest[PSNAP_VIEW_REF] = REFS_DIRECT + sim->far_count - 1;
    }
    sim->threads[0] |= thread == 0;
    for (size_t i = 0; i < n && thread > 0; i++)
        sim->threads[block[i].thread / 64] |= UINT64_C(1) << block[i].thread % 64;
    if (sim->counted[PSNAP_VIEW_THREAD])
        for (size_t i = 0; i < n; i++)
            sim->rows[PSNAP_VIEW_THREAD][i] = block[i].thread;
    if (sim->counted[PSNAP_VIEW_TAG]) {
        enum psnap_status status =
            sim->options.tagger(sim->options.tagger_context, block, n, tags, error);
        if (status != PSNAP_OK)
            return status;
        highest[PSNAP_VIEW_TAG] = highest_of(tags, n);
    }
    return PSNAP_OK;
}

/* Makes room for rows up to `highest` on every machine. */
static enum psnap_status make_room(struct sim *sim, int view, uint32_t highest,
                                   struct psnap_error *error)
{
    if (highest >= PSNAP_SIM_ROWS_MAX)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY,
                               "the stream has more than %" PRIu32 " rows to count by",
                               PSNAP_SIM_ROWS_MAX);
    if (!counts_grow(&sim->seen[view], 1, highest + 1))
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for counts");
    for (size_t i = 0; i < sim->run_count; i++)
        if (!counts_grow(&sim->runs[i].views[view], sim->runs[i].width, highest + 1))
            return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for counts");
    return PSNAP_OK;
}

static void count_accesses(uint64_t *numbers, struct rows rows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        numbers[row_at(rows, i)]++;
}

/* Adds accesses that went on from the levels of a path; `numbers` are those of row 0. */
static void count_misses(uint64_t *numbers, size_t width, struct rows rows, const struct path *path)
{
    for (uint32_t l = 0; l < path->level_count; l++)
        for (uint32_t i = 0; i < path->levels[l]->miss_count; i++)
            numbers[row_at(rows, path->levels[l]->misses[i]) * width + l]++;
}

static void count_lines(uint64_t *numbers, size_t width, struct rows rows, const uint16_t *lines,
                        size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (lines[i])
            numbers[row_at(rows, i) * width] += lines[i];
}

/* Adds all counts of a machine in detail to a view's numbers. */
static void count_detail(const struct run *run, struct rows rows, uint64_t *numbers, size_t n)
{
    const struct detail_outcome *outcome = detail_outcome(run->detail);

    for (size_t i = 0; i < n; i++)
        for (uint32_t l = 0; l < outcome->reached[i]; l++)
            numbers[row_at(rows, i) * run->width + l]++;
    for (int count = 0; count < DETAIL_COUNTS; count++)
        for (uint32_t i = 0; i < run->levels; i++)
            count_lines(numbers + run->ahead + (size_t)count * run->levels + i, run->width, rows,
                        outcome->counts[count][i], n);
}

/* Adds the lines that came and went with the block in hand to a view's numbers. */
static void count_traffic(const struct run *run, struct rows rows, uint64_t *numbers, size_t n)
{
    const struct path *path = &run->paths->caches;
    const uint32_t levels = path->level_count;

    if (run->detail) {
        count_detail(run, rows, numbers, n);
        return;
    }
    for (uint32_t i = 0; i < levels; i++) {
        const struct level *level = path->levels[i];
        uint64_t *of_prefetches = numbers + run->ahead + i;

        for (uint32_t k = 0; k < level->evicting_count; k++)
            numbers[row_at(rows, level->evicting[k]) * run->width + levels + i] +=
                level->evictions[level->evicting[k]];
        if (!level->ahead)
            continue;
        count_lines(of_prefetches, run->width, rows, level->ahead->issued, n);
        count_lines(of_prefetches + levels, run->width, rows, level->ahead->useful, n);
        count_lines(of_prefetches + 2 * (size_t)levels, run->width, rows, level->ahead->useless, n);
    }
}

/* Adds what became of the block in hand, beside its accesses, to a view of a group's machines. */
static void count_outcome(struct sim *sim, int group, int view, size_t n)
{
    const struct rows rows = sim->by[view];

    for (size_t i = 0; i < sim->run_count; i++) {
        const struct run *run = &sim->runs[i];
        uint64_t *numbers = run->views[view].numbers;

        if (run->group != group)
            continue;
        count_misses(numbers, run->width, rows, &run->paths->caches);
        count_traffic(run, rows, numbers, n);
        count_misses(numbers + run->tlb, run->width, rows, &run->paths->tlb);
    }
}

/* Simulates what is in hand on the machines of a group. */
static void run_group(void *context)
{
    struct group *group = context;
    struct sim *sim = group->sim;
    const int number = (int)(group - sim->groups);

    group->is_out_of_memory = !hierarchy_run(group->hierarchy, sim->hand.block, sim->hand.n);
    for (size_t i = 0; i < sim->run_count; i++)
        if (sim->runs[i].detail && sim->runs[i].group == number &&
            !detail_run(sim->runs[i].detail, sim->hand.block, sim->hand.n))
            group->is_out_of_memory = true;
    for (int view = 0; view < PSNAP_VIEW_COUNT && !group->is_out_of_memory; view++)
        if (sim->counted[view])
            count_outcome(sim, number, view, sim->hand.n);
}

/* Simulates accesses whose rows are known, and counts what became of them. */
static enum psnap_status run_groups(struct sim *sim, const struct psnap_access *block, size_t n,
                                    struct psnap_error *error)
{
    sim->hand.block = block;
    sim->hand.n = n;
    if (sim->worker)
        worker_begin(sim->worker);
    run_group(&sim->groups[0]);
    if (sim->worker)
        worker_end(sim->worker);
    else if (sim->groups[1].hierarchy)
        run_group(&sim->groups[1]);
    for (int i = 0; i < GROUPS; i++)
        if (sim->groups[i].is_out_of_memory)
            return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for caches");
    return PSNAP_OK;
}

/* At most HIERARCHY_BLOCK accesses. */
static enum psnap_status put_part(struct sim *sim, const struct psnap_access *block, size_t n,
                                  struct psnap_error *error)
{
    uint32_t highest[PSNAP_VIEW_COUNT];
    enum psnap_status status = survey(sim, block, n, highest, error);

    for (int view = 0; view < PSNAP_VIEW_COUNT && status == PSNAP_OK; view++)
        if (sim->counted[view])
            status = make_room(sim, view, highest[view], error);
    if (status != PSNAP_OK)
        return status;
    for (int view = 0; view < PSNAP_VIEW_COUNT; view++)
        if (sim->counted[view])
            count_accesses(sim->seen[view].numbers, sim->by[view], n);
    status = run_groups(sim, block, n, error);
    sim->accesses += n;
    return status;
}

static enum psnap_status sim_put(struct psnap_sink *self, const struct psnap_access *block,
                                 size_t n, struct psnap_error *error)
{
    struct sim *sim = (struct sim *)self;
    enum psnap_status status = PSNAP_OK;

    while (n && status == PSNAP_OK) {
        const size_t part = n < HIERARCHY_BLOCK ? n : HIERARCHY_BLOCK;

        status = put_part(sim, block, part, error);
        block += part;
        n -= part;
    }
    return status;
}

/* Whether a run is one that can be simulated by the line: all its rows are known beforehand. */
static bool suits(const struct sim *sim, const struct psnap_run *run)
{
    if (!sim->reduce || run->width > HIERARCHY_BLOCK)
        return false;
    for (size_t k = 0; k < run->width; k++)
        if (!makes_sense(&run->first[k], direct_refs(sim)) ||
            run->first[k].thread != run->first[0].thread)
            return false;
    return true;
}

/* Simulates accesses that are counted already, by their references. */
static enum psnap_status run_counted(struct sim *sim, const struct psnap_access *block, size_t n,
                                     struct psnap_error *error)
{
    sim->by[PSNAP_VIEW_REF] = refs_of(block);
    for (size_t i = 0; i < n && sim->counted[PSNAP_VIEW_THREAD]; i++)
        sim->rows[PSNAP_VIEW_THREAD][i] = block[i].thread;
    return run_groups(sim, block, n, error);
}

/* The accesses of a run from repetition *at on, as many as there is room for. */
static size_t repetitions(const struct psnap_run *run, uint64_t *at, struct psnap_access *block,
                          size_t capacity)
{
    const uint64_t room = capacity / run->width, left = run->count - *at;
    const uint64_t end = *at + (left < room ? left : room);
    struct psnap_access *to = block;

    for (; *at < end; ++*at)
        for (size_t k = 0; k < run->width; k++, to++) {
            *to = run->first[k];
            to->address = psnap_run_address(run, *at, k);
        }
    return (size_t)(to - block);
}

static enum psnap_status sim_put_run(struct psnap_sink *self, const struct psnap_run *run,
                                     struct psnap_error *error)
{
    struct sim *sim = (struct sim *)self;
    const uint16_t thread = run->first[0].thread;
    struct psnap_access block[HIERARCHY_BLOCK];
    enum psnap_status status;
    uint64_t at;
    size_t n;

    if (!suits(sim, run))
        return psnap_sink_put_repetitions(self, run, 0, run->count, error);
    status = make_room(sim, PSNAP_VIEW_REF, direct_refs(sim), error);
    if (!status && sim->counted[PSNAP_VIEW_THREAD])
        status = make_room(sim, PSNAP_VIEW_THREAD, thread, error);
    if (status)
        return status;
    for (size_t k = 0; k < run->width; k++)
        sim->seen[PSNAP_VIEW_REF].numbers[run->first[k].ref] += run->count;
    if (sim->counted[PSNAP_VIEW_THREAD])
        sim->seen[PSNAP_VIEW_THREAD].numbers[thread] += run->count * run->width;
    sim->threads[thread / 64] |= UINT64_C(1) << thread % 64;
    sim->accesses += run->count * run->width;
    for (int i = 0; i < GROUPS && sim->groups[i].hierarchy; i++)
        hierarchy_foresee(sim->groups[i].hierarchy, !run->columns);
    at = reduce_begin(sim->reduce, run);
    while (!status && at && (n = reduce_next(sim->reduce, block, HIERARCHY_BLOCK)))
        status = run_counted(sim, block, n, error);
    while (!status && (n = repetitions(run, &at, block, HIERARCHY_BLOCK)))
        status = run_counted(sim, block, n, error);
    return status;
}

static void sim_free(struct psnap_sink *self)
{
    struct sim *sim = (struct sim *)self;

    worker_free(sim->worker);
    for (size_t i = 0; i < sim->run_count; i++) {
        detail_free(sim->runs[i].detail);
        for (int view = 0; view < PSNAP_VIEW_COUNT; view++)
            free(sim->runs[i].views[view].numbers);
    }
    for (int view = 0; view < PSNAP_VIEW_COUNT; view++)
        free(sim->seen[view].numbers);
    for (int i = 0; i < GROUPS; i++)
        hierarchy_free(sim->groups[i].hierarchy);
    free(sim->reduce);
    free(sim->far_rows);
    free(sim);
}

static const struct psnap_sink_ops sim_ops = {
    .put = sim_put, .free = sim_free, .put_run = sim_put_run};

/* Lays out the numbers of a row. */
static void run_init(struct run *run, const struct paths *paths, uint32_t levels)
{
    const size_t tlb_levels = paths->tlb.level_count;
    bool foresees = false;

    for (size_t i = 0; i < paths->caches.level_count; i++)
        foresees |= paths->caches.levels[i]->ahead != NULL;
    run->paths = paths;
    run->levels = levels;
    run->width = 2 * (size_t)levels;
    run->tlb = run->width;
    run->width += tlb_levels;
    if (run->detail) {
        run->ahead = run->width;
        run->width += DETAIL_COUNTS * (size_t)levels;
    } else if (foresees) {
        run->ahead = run->width;
        run->width += 3 * (size_t)levels;
    }
}

static bool same_first_level(const struct psnap_machine *a, const struct psnap_machine *b)
{
    const struct psnap_cache_level *one = &a->levels[0], *other = &b->levels[0];

    return one->size_bytes == other->size_bytes && one->line_bytes == other->line_bytes &&
           one->ways == other->ways;
}

/* What a first level, which every access goes to, costs beside another one. */
enum { FIRST_LEVEL_WEIGHT = 4 };

/* Puts machines into groups of about the same cost; those that share a first level stay together.
 */
static void form_groups(struct sim *sim, const struct psnap_machine *machines, size_t n)
{
    size_t weights[GROUPS] = {0};

    for (size_t i = 0; i < n; i++)
        sim->runs[i].group = -1;
    for (size_t i = 0; i < n; i++) {
        const int lighter = weights[1] < weights[0];
        bool is_alone = true; /* who shares a first level pays only for those below */
        for (size_t k = i; k < n; k++) {
            if (sim->runs[k].group >= 0 ||
                (k > i && (sim->options.classify || machine_is_detailed(&machines[i]) ||
                           !same_first_level(&machines[k], &machines[i]))))
                continue;
            sim->runs[k].group = lighter;
            weights[lighter] += machines[k].level_count + (is_alone ? FIRST_LEVEL_WEIGHT : 0);
            is_alone = false;
        }
    }
}

/* The machines that are simulated in detail get that; the others of a group, and all of its TLBs,
 * one hierarchy. */
static bool make_levels(struct sim *sim, const struct psnap_machine *machines, size_t n, int group)
{
    struct psnap_machine *plain = malloc((n + !n) * sizeof *plain);
    bool fits = plain != NULL;

    for (size_t i = 0; i < n && fits; i++) {
        struct run *run = &sim->runs[i];
        plain[i] = machines[i];
        if (run->group != group)
            plain[i].level_count = plain[i].tlb_level_count = 0;
        if (run->group != group || (!sim->options.classify && !machine_is_detailed(&machines[i])))
            continue;
        plain[i].level_count = 0;
        run->detail = detail_new(&machines[i], sim->options.cores, sim->options.classify);
        fits = run->detail != NULL;
    }
    if (fits)
        sim->groups[group].hierarchy = hierarchy_new(plain, n, CACHE_PACKED, sim->options.cores);
    sim->groups[group].sim = sim;
    free(plain);
    return fits && sim->groups[group].hierarchy;
}

static bool make_groups(struct sim *sim, const struct psnap_machine *machines, size_t n)
{
    bool has_second = false;

    if (sim->options.threads > 1)
        form_groups(sim, machines, n);
    for (size_t i = 0; i < n; i++)
        has_second |= sim->runs[i].group == 1;
    if (!make_levels(sim, machines, n, 0) || (has_second && !make_levels(sim, machines, n, 1)))
        return false;
    for (size_t i = 0; i < n; i++)
        run_init(&sim->runs[i], &sim->groups[sim->runs[i].group].hierarchy->paths[i],
                 machines[i].level_count);
    if (has_second)
        sim->worker = worker_new(run_group, &sim->groups[1]);
    return true; /* without one the second group comes after the first */
}

/* The first levels of a hierarchy; false: some level does not suit. */
static bool add_shapes(struct reduce *reduce, const struct hierarchy *hierarchy)
{
    for (size_t i = 0; i < hierarchy->level_count; i++)
        if (hierarchy->levels[i]->ahead)
            return false;
    for (const struct level *root = hierarchy->roots; root; root = root->sibling) {
        const struct cache *cache = root->cache;
        if (cache->replacement != PSNAP_REPLACE_LRU || cache->index != PSNAP_INDEX_MODULO ||
            reduce->shape_count == REDUCE_SHAPES_MAX)
            return false;
        reduce->shapes[reduce->shape_count++] =
            (struct reduce_shape){cache->line_shift, cache->sets,
                                  cache->sets & cache->set_mask ? 0 : cache->set_mask, cache->ways};
        if (cache->line_bytes > reduce->line_bytes)
            reduce->line_bytes = cache->line_bytes;
    }
    return true;
}

/*
 * Runs can be simulated by the line where all first levels are exact LRU, and nothing else sees
 * accesses: no TLB, no prefetcher, no cores and no tags. False: out of memory.
 */
static bool plan_runs(struct sim *sim)
{
    struct reduce *reduce = calloc(1, sizeof *reduce);
    bool plain = !sim->options.cores && !sim->options.tagger;

    if (!reduce)
        return false;
    for (size_t i = 0; i < sim->run_count; i++)
        plain &= !sim->runs[i].detail && !sim->runs[i].paths->tlb.level_count;
    for (int i = 0; i < GROUPS && sim->groups[i].hierarchy; i++)
        plain = plain && add_shapes(reduce, sim->groups[i].hierarchy);
    if (plain && reduce->shape_count)
        sim->reduce = reduce;
    else
        free(reduce);
    return true;
}

struct psnap_sink *psnap_sim_new(const struct psnap_machine *machines, size_t n,
                                 const struct psnap_program *program,
                                 const struct psnap_sim_options *options, struct psnap_error *error)
{
    struct sim *sim = calloc(1, sizeof *sim + n * sizeof sim->runs[0]);

    if (!sim) {
        psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for a simulator");
        return NULL;
    }
    sim->base.ops = &sim_ops;
    sim->program = program;
    sim->run_count = n;
    if (options)
        sim->options = *options;
    for (int view = 0; view < PSNAP_VIEW_COUNT; view++)
        sim->by[view] = (struct rows){sim->rows[view], 1};
    sim->counted[PSNAP_VIEW_REF] = true;
    sim->counted[PSNAP_VIEW_THREAD] = sim->options.by_thread;
    sim->counted[PSNAP_VIEW_TAG] = sim->options.tagger != NULL;
    if (!make_groups(sim, machines, n) || !plan_runs(sim)) {
        psnap_error_set(error, PSNAP_ERROR_MEMORY, "the machines' caches do not fit in memory");
        sim_free(&sim->base);
        return NULL;
    }
    return &sim->base;
}

uint64_t psnap_sim_accesses(const struct psnap_sink *sim)
{
    return ((const struct sim *)sim)->accesses;
}

uint32_t psnap_sim_threads(const struct psnap_sink *sim)
{
    const uint64_t *threads = ((const struct sim *)sim)->threads;
    uint32_t count = 0;

    for (size_t i = 0; i <= UINT16_MAX; i++)
        count += (uint32_t)(threads[i / 64] >> i % 64) & 1;
    return count;
}

/* One more than the highest reference of an access. */
static uint32_t ref_end(const struct sim *sim)
{
    uint32_t end = sim->far_room;

    while (end && sim->far_rows[end - 1] == PSNAP_NONE)
        end--;
    if (end)
        return REFS_DIRECT + end;
    end = sim->seen[PSNAP_VIEW_REF].rows;
    while (end && !sim->seen[PSNAP_VIEW_REF].numbers[end - 1])
        end--;
    return end;
}

uint32_t psnap_sim_rows(const struct psnap_sink *sim, enum psnap_view view)
{
    const struct sim *self = (const struct sim *)sim;

    if (view == PSNAP_VIEW_REF)
        return ref_end(self);
    return self->run_count ? self->runs[0].views[view].rows : 0;
}

static void add_detail(const struct run *run, const uint64_t *numbers, struct psnap_tally *tally)
{
    uint64_t *const counts[DETAIL_COUNTS] = {
        [DETAIL_WRITE_BACKS] = tally->write_backs,
        [DETAIL_ISSUED] = tally->prefetches,
        [DETAIL_USEFUL] = tally->prefetches_useful,
        [DETAIL_USELESS] = tally->prefetches_useless,
        [DETAIL_WRITE_THROUGHS] = tally->write_throughs,
        [DETAIL_EVICTIONS] = tally->evictions,
        [DETAIL_VICTIM_HITS] = tally->victim_hits,
        [DETAIL_INVALIDATIONS] = tally->invalidations,
        [DETAIL_COLD] = tally->cold,
        [DETAIL_CAPACITY] = tally->capacity,
        [DETAIL_CONFLICT] = tally->conflict,
        [DETAIL_COHERENCE] = tally->coherence,
    };

    for (int count = 0; count < DETAIL_COUNTS; count++)
        for (uint32_t level = 0; level < run->levels; level++)
            counts[count][level] += numbers[(size_t)count * run->levels + level];
}

void psnap_sim_add(const struct psnap_sink *sim, size_t machine, enum psnap_view view, uint32_t row,
                   struct psnap_tally *tally)
{
    const struct sim *self = (const struct sim *)sim;
    const struct run *run = &self->runs[machine];
    const uint32_t levels = run->levels;
    const uint64_t *numbers;
    uint64_t seen;

    if (view == PSNAP_VIEW_REF)
        row = row < REFS_DIRECT + self->far_room ? row_of_ref(self, row) : PSNAP_NONE;
    if (row >= run->views[view].rows)
        return;
    seen = self->seen[view].numbers[row];
    numbers = run->views[view].numbers + row * run->width;
    tally->accesses += seen;
    for (uint32_t level = 0; level < levels; level++) {
        tally->hits[level] += (level ? numbers[level - 1] : seen) - numbers[level];
        tally->write_backs[level] += numbers[levels + level];
    }
    if (run->detail)
        add_detail(run, numbers + run->ahead, tally);
    for (uint32_t level = 0; level < levels && run->ahead && !run->detail; level++) {
        tally->prefetches[level] += numbers[run->ahead + level];
        tally->prefetches_useful[level] += numbers[run->ahead + levels + level];
        tally->prefetches_useless[level] += numbers[run->ahead + 2 * (size_t)levels + level];
    }
    for (uint32_t level = 0; level < run->paths->tlb.level_count; level++)
        tally->tlb_hits[level] +=
            (level ? numbers[run->tlb + level - 1] : seen) - numbers[run->tlb + level];
}

void psnap_sim_add_total(const struct psnap_sink *sim, size_t machine, struct psnap_tally *tally)
{
    const uint32_t rows = psnap_sim_rows(sim, PSNAP_VIEW_REF);

    for (uint32_t row = 0; row < rows; row++)
        psnap_sim_add(sim, machine, PSNAP_VIEW_REF, row, tally);
}
