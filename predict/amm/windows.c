/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Windows of AMM (Chennupati et al., Algorithm 1): executions of a basic block as they are seen in
 * a stream of labelled accesses. A thread's accesses are of the same window as long as their block
 * is the same and their references ascend, the order of a block's accesses; a block that follows
 * itself begins again with a reference that does not. An instruction that makes several accesses
 * (a copy, a gather) makes several windows of one execution: the system of windows is as well
 * posed, and accesses per execution are counted by the executions that the capture counted.
 *
 * Algorithm 1 looks back from each access of a sampled window for the last one to the same address,
 * which costs time only there. Here all distances are measured anyway, faster than that (stack.h);
 * a sample shows what it loses.
 */
#include "predict/amm/windows.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "formats/base/map.h"
#include "formats/base/rng.h"
#include "formats/base/room.h"
#include "predict/amm/mispredict.h"

struct place { /* of a thread */
    bool is_begun, is_sampled, is_early;
    uint32_t block, ref;
};

struct windows {
    const struct psnap_program *program;
    uint64_t seed, threshold, few;
    struct place *places; /* by thread */
    uint32_t thread_count;
    uint64_t *counts;   /* of windows, by block */
    uint64_t *accesses; /* by reference */
    size_t block_room, ref_room;
    uint32_t block_count, ref_count; /* that the arrays are zero or filled up to */
    struct psnap_map indices;        /* of transitions, from 1, by both blocks */
    struct transition *transitions;
    size_t transition_count, transition_room;
    struct mispredict *mispredict;
};

struct windows *windows_new(const struct psnap_program *program, double rate, uint64_t seed)
{
    struct windows *windows = calloc(1, sizeof *windows);

    if (!windows)
        return NULL;
    windows->program = program;
    windows->seed = seed;
    windows->threshold = rate < 1 ? (uint64_t)ldexp(rate, 64) : UINT64_MAX;
    windows->few = (uint64_t)ceil(fmin(WINDOWS_FEW / rate, 0x1p62));
    windows->places = calloc(PSNAP_THREADS_MAX, sizeof *windows->places);
    windows->mispredict = mispredict_new();
    if (windows->places && windows->mispredict)
        return windows;
    windows_free(windows);
    return NULL;
}

void windows_free(struct windows *windows)
{
    if (!windows)
        return;
    free(windows->places);
    free(windows->counts);
    free(windows->accesses);
    free(windows->indices.slots);
    free(windows->transitions);
    mispredict_free(windows->mispredict);
    free(windows);
}

/* ---------------------------------------------------------------- transitions */

static bool add_transition(struct windows *windows, uint32_t from, uint32_t to)
{
    uint64_t *const index = psnap_map_put(&windows->indices, (uint64_t)from << 32 | to);

    if (!index || !psnap_make_room(&windows->transitions, &windows->transition_room,
                                   windows->transition_count + 1, sizeof *windows->transitions))
        return false;
    if (!*index) {
        windows->transitions[windows->transition_count] = (struct transition){from, to, 0};
        *index = ++windows->transition_count;
    }
    windows->transitions[*index - 1].count++;
    return true;
}

static int by_blocks(const void *left, const void *right)
{
    const struct transition *a = left, *b = right;

    if (a->from != b->from)
        return (a->from > b->from) - (a->from < b->from);
    return (a->to > b->to) - (a->to < b->to);
}

struct transition *windows_transitions(const struct windows *windows, size_t *count)
{
    struct transition *all =
        calloc(windows->transition_count + windows->thread_count + 1, sizeof *all);
    size_t n = 0, kept = 0;

    if (!all)
        return NULL;
    for (; n < windows->transition_count; n++)
        all[n] = windows->transitions[n];
    for (uint32_t i = 0; i < PSNAP_THREADS_MAX; i++)
        if (windows->places[i].is_begun)
            all[n++] = (struct transition){windows->places[i].block, PSNAP_NONE, 1};
    qsort(all, n, sizeof *all, by_blocks);
    for (size_t i = 0; i < n; i++) /* threads that ended in the same block */
        if (kept && !by_blocks(&all[kept - 1], &all[i]))
            all[kept - 1].count += all[i].count;
        else
            all[kept++] = all[i];
    *count = kept;
    return all;
}

/* -------------------------------------------------------------------- windows */

static bool is_ascending(const struct place *place, const struct psnap_ref *ref, uint32_t index)
{
    return place->is_begun && place->block == ref->block && index > place->ref;
}

static bool begin_window(struct windows *windows, struct place *place, uint16_t thread,
                         uint32_t block)
{
    uint64_t *const count = &windows->counts[block];
    const uint32_t before = place->is_begun ? place->block : PSNAP_NONE;
    const uint64_t hash = psnap_rng_mix(psnap_rng_mix(windows->seed + block) + *count);

    windows->thread_count += !place->is_begun;
    *place = (struct place){.is_begun = true,
                            .is_sampled = hash <= windows->threshold,
                            .is_early = *count < windows->few,
                            .block = block};
    ++*count;
    return add_transition(windows, before, block) &&
           (before == PSNAP_NONE || mispredict_add(windows->mispredict, thread, before, block));
}

/* Room for what the program has by now. */
static bool fit_tables(struct windows *windows)
{
    const struct psnap_program *program = windows->program;

    if (!psnap_make_room(&windows->counts, &windows->block_room, program->block_count,
                         sizeof *windows->counts) ||
        !psnap_make_room(&windows->accesses, &windows->ref_room, program->ref_count,
                         sizeof *windows->accesses))
        return false;
    while (windows->block_count < program->block_count)
        windows->counts[windows->block_count++] = 0;
    while (windows->ref_count < program->ref_count)
        windows->accesses[windows->ref_count++] = 0;
    return true;
}

enum psnap_status windows_tag(struct windows *windows, const struct psnap_access *block, size_t n,
                              uint32_t *rows, struct psnap_error *error)
{
    const struct psnap_program *program = windows->program;
    bool fits = (windows->block_count == program->block_count &&
                 windows->ref_count == program->ref_count) ||
                fit_tables(windows);

    if (program->ref_count > UINT32_MAX / 2 - 1)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "too many references for windows");
    for (size_t i = 0; i < n && fits; i++) {
        const uint32_t index = block[i].ref;
        const struct psnap_ref *ref = &program->refs[index];
        struct place *place = &windows->places[block[i].thread];

        if (!is_ascending(place, ref, index))
            fits = begin_window(windows, place, block[i].thread, ref->block);
        place->ref = index;
        windows->accesses[index]++;
        rows[i] = place->is_sampled ? 2 * index + 2 : place->is_early ? 2 * index + 1 : 0;
    }
    return fits ? PSNAP_OK
                : psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for windows");
}

/* ------------------------------------------------------------------- what was */

int windows_rows(const struct windows *windows, uint32_t ref, uint32_t rows[2])
{
    const uint32_t block = windows->program->refs[ref].block;

    rows[0] = 2 * ref + 2;
    rows[1] = 2 * ref + 1;
    return windows_count(windows, block) <= windows->few ? 2 : 1;
}

uint64_t windows_count(const struct windows *windows, uint32_t block)
{
    return block < windows->block_count ? windows->counts[block] : 0;
}

uint64_t windows_accesses(const struct windows *windows, uint32_t ref)
{
    return ref < windows->ref_count ? windows->accesses[ref] : 0;
}

uint64_t windows_mispredictions(const struct windows *windows, uint32_t block)
{
    return mispredict_count(windows->mispredict, block);
}

uint32_t windows_threads(const struct windows *windows)
{
    return windows->thread_count;
}
