/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The simulator as a sink: accesses are checked and counted, what they hit and miss is a matter of
 * sim_group.c. Loops, blocks and totals are sums over references, taken when somebody asks.
 */
#include "simcore/sim.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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
        if (ref >= REFS_DIRECT && sim_row_of_ref(sim, ref) == PSNAP_NONE)
            sim->far_rows[ref - REFS_DIRECT] = REFS_DIRECT + sim->far_count++;
        rows_of_block[i] = sim_row_of_ref(sim, ref);
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

static enum psnap_status out_of_memory(struct psnap_error *error)
{
    return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for caches");
}

/* Simulates what is in hand, whose rows are known, and counts what became of it. */
static enum psnap_status run_groups(struct sim *sim, struct psnap_error *error)
{
    if (sim->worker)
        worker_begin(sim->worker);
    sim_run_group(&sim->groups[0]);
    if (sim->worker)
        worker_end(sim->worker);
    else if (sim->groups[1].hierarchy)
        sim_run_group(&sim->groups[1]);
    for (int i = 0; i < GROUPS; i++)
        if (sim->groups[i].is_out_of_memory)
            return out_of_memory(error);
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
    sim->hand.run = NULL;
    sim->hand.block = block;
    sim->hand.n = n;
    status = run_groups(sim, error);
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
    if (!sim->takes_runs || run->width > HIERARCHY_BLOCK)
        return false;
    for (size_t k = 0; k < run->width; k++)
        if (!makes_sense(&run->first[k], direct_refs(sim)) ||
            run->first[k].thread != run->first[0].thread)
            return false;
    return true;
}

/* Simulates a part of a run, which is counted already. */
static enum psnap_status put_run_part(struct sim *sim, const struct psnap_run *part,
                                      struct psnap_error *error)
{
    sim->hand.run = part;
    return run_groups(sim, error);
}

static enum psnap_status sim_put_run(struct psnap_sink *self, const struct psnap_run *run,
                                     struct psnap_error *error)
{
    struct sim *sim = (struct sim *)self;
    const uint16_t thread = run->first[0].thread;
    struct psnap_access first[HIERARCHY_BLOCK];
    struct psnap_run part = *run;
    enum psnap_status status;
    uint64_t step;

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
    step = reduce_part(sim->groups[0].reduce, run);
    if (step >= run->count)
        return put_run_part(sim, run, error);
    memcpy(first, run->first, run->width * sizeof *first);
    part.first = first;
    for (uint64_t from = 0; from < run->count && !status; from += step) {
        for (size_t k = 0; k < run->width; k++)
            first[k].address = psnap_run_address(run, from, k);
        part.count = step < run->count - from ? step : run->count - from;
        status = put_run_part(sim, &part, error);
    }
    return status;
}

bool sim_settle(const struct psnap_sink *sink)
{
    const struct sim *sim = (const struct sim *)sink;
    bool fits = true;

    for (int i = 0; i < GROUPS; i++)
        fits &= !sim->groups[i].memo || memo_settle(sim->groups[i].memo);
    return fits;
}

static enum psnap_status sim_finish(struct psnap_sink *self, struct psnap_error *error)
{
    return sim_settle(self) ? PSNAP_OK : out_of_memory(error);
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
    for (int i = 0; i < GROUPS; i++) {
        memo_free(sim->groups[i].memo);
        free(sim->groups[i].reduce);
        hierarchy_free(sim->groups[i].hierarchy);
    }
    free(sim->far_rows);
    free(sim);
}

static const struct psnap_sink_ops sim_ops = {
    .put = sim_put, .finish = sim_finish, .free = sim_free, .put_run = sim_put_run};

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
    if (!sim_make_groups(sim, machines, n) || !sim_plan_runs(sim)) {
        psnap_error_set(error, PSNAP_ERROR_MEMORY, "the machines' caches do not fit in memory");
        sim_free(&sim->base);
        return NULL;
    }
    return &sim->base;
}
