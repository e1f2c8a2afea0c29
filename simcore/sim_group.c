/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a simulator does with accesses or a run on a group of its machines: every block runs through
 * all levels, then what came out is counted, in a pass of its own per machine and view (by
 * reference, by thread, by the caller's tag).
 */
#include "simcore/sim.h"

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

/* Adds what became of n accesses, beside themselves, to a view of a group's machines. */
static void count_outcome(struct group *group, int view, struct rows rows, size_t n)
{
    struct sim *sim = group->sim;

    for (size_t i = 0; i < sim->run_count; i++) {
        const struct run *run = &sim->runs[i];
        uint64_t *numbers = run->views[view].numbers;

        if (run->group != group - sim->groups)
            continue;
        count_misses(numbers, run->width, rows, &run->paths->caches);
        count_traffic(run, rows, numbers, n);
        count_misses(numbers + run->tlb, run->width, rows, &run->paths->tlb);
    }
}

static bool simulate_block(struct group *group, const struct psnap_access *block, size_t n)
{
    struct sim *sim = group->sim;
    bool fits = hierarchy_run(group->hierarchy, block, n);

    for (size_t i = 0; i < sim->run_count && fits; i++)
        if (sim->runs[i].detail && sim->runs[i].group == group - sim->groups)
            fits = detail_run(sim->runs[i].detail, block, n);
    for (int view = 0; view < PSNAP_VIEW_COUNT && fits; view++)
        if (sim->counted[view])
            count_outcome(group, view, sim->by[view], n);
    return fits;
}

/* Counts what became of accesses of runs, by their references. */
static void count_part(void *context, uint16_t thread, const uint32_t *refs, size_t step, size_t n)
{
    struct group *group = context;
    const uint32_t row = thread;

    count_outcome(group, PSNAP_VIEW_REF, (struct rows){refs, step}, n);
    if (group->sim->counted[PSNAP_VIEW_THREAD])
        count_outcome(group, PSNAP_VIEW_THREAD, (struct rows){&row, 0}, n);
}

/* Adds misses and write-backs of a level, which is a machine's l-th, to those of a row. */
static void add_to_row(const struct run *run, enum psnap_view view, uint32_t row, uint32_t l,
                       uint64_t misses, uint64_t write_backs)
{
    uint64_t *numbers = run->views[view].numbers + row * run->width;

    numbers[l] += misses;
    numbers[run->levels + l] += write_backs;
}

/* The same of a thread and a reference, on all machines of a group. */
static void add_outcome(void *context, uint16_t thread, const struct level *level, uint32_t ref,
                        uint64_t misses, uint64_t write_backs)
{
    struct group *group = context;
    struct sim *sim = group->sim;

    for (size_t i = 0; i < sim->run_count; i++) {
        const struct run *run = &sim->runs[i];
        const struct path *path = &run->paths->caches;
        uint32_t l = 0;
        if (run->group != group - sim->groups)
            continue;
        while (l < path->level_count && path->levels[l] != level)
            l++;
        if (l == path->level_count)
            continue;
        add_to_row(run, PSNAP_VIEW_REF, ref, l, misses, write_backs);
        if (sim->counted[PSNAP_VIEW_THREAD])
            add_to_row(run, PSNAP_VIEW_THREAD, thread, l, misses, write_backs);
    }
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

static bool simulate_part(struct group *group, const struct psnap_access *block, size_t n)
{
    if (group->memo)
        return memo_block(group->memo, block, n);
    if (!hierarchy_run(group->hierarchy, block, n))
        return false;
    count_part(group, block[0].thread, &block->ref, sizeof *block / sizeof block->ref, n);
    return true;
}

/* Simulates a run. */
static bool simulate_run(void *context, const struct psnap_run *run)
{
    struct group *group = context;
    struct reduced reduced;
    struct psnap_access block[HIERARCHY_BLOCK];
    uint64_t at = reduce_begin(group->reduce, run, &reduced);
    bool fits = true;
    size_t n;

    hierarchy_foresee(group->hierarchy, !run->columns);
    while (fits && (n = reduce_next(&reduced, block, HIERARCHY_BLOCK)))
        fits = simulate_part(group, block, n);
    while (fits && (n = repetitions(run, &at, block, HIERARCHY_BLOCK)))
        fits = simulate_part(group, block, n);
    return fits;
}

/* Whether accesses may be between two runs that are known: all of one thread, their references
 * their rows. */
static bool may_be_run(const struct sim *sim, const struct psnap_access *block, size_t n)
{
    bool may_be = n <= MEMO_PLAIN_MAX && sim->by[PSNAP_VIEW_REF].at == &block->ref;

    for (size_t i = 1; i < n && may_be; i++)
        may_be = block[i].thread == block[0].thread;
    return may_be;
}

static bool simulate_accesses(struct group *group, const struct psnap_access *block, size_t n)
{
    static const int64_t strides[MEMO_PLAIN_MAX];
    const struct psnap_run run = {.first = block, .strides = strides, .width = n, .count = 1};

    if (group->memo && memo_is_in_phrase(group->memo) && may_be_run(group->sim, block, n))
        return memo_put(group->memo, &run);
    if (n > MEMO_PLAIN_MAX) /* what is between two runs may be as these */
        hierarchy_foresee(group->hierarchy, false);
    return (!group->memo || memo_interrupt(group->memo)) && simulate_block(group, block, n);
}

struct memo_host sim_memo_host(struct group *group)
{
    return (struct memo_host){
        .context = group, .simulate = simulate_run, .count = count_part, .add = add_outcome};
}

void sim_run_group(void *context)
{
    struct group *group = context;
    const struct psnap_run *run = group->sim->hand.run;
    bool fits;

    if (run && group->memo && !run->columns)
        fits = memo_put(group->memo, run);
    else if (run)
        fits = (!group->memo || memo_interrupt(group->memo)) && simulate_run(group, run);
    else
        fits = simulate_accesses(group, group->sim->hand.block, group->sim->hand.n);
    group->is_out_of_memory |= !fits;
}
