/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Affine loop nests (nest.h): counted, gone through, and made of their parts.
 *
 * The number of accesses is a polynomial in the counts when these are affine; it is summed up loop
 * by loop instead: a loop all of whose counts within do not depend on it is multiplied, any other
 * one is gone through.
 */
#include "formats/base/nest.h"

#include <string.h>

/* ---- counting ---- */

static uint64_t iterations_of(const struct psnap_nest_loop *loop, uint32_t depth,
                              const uint64_t *iteration)
{
    uint64_t count = (uint64_t)loop->count;

    for (uint32_t l = 0; l < depth && l < PSNAP_NEST_LEVELS; l++)
        count += iteration[l] * (uint64_t)loop->count_steps[l];
    return (int64_t)count > 0 ? count : 0;
}

/* Whether a count within a loop at `depth` depends on its iteration. */
static bool is_uneven(const struct psnap_nest_loop *loop, uint32_t depth)
{
    for (uint32_t i = 1; i <= loop->inside; i++)
        if (loop[i].count_steps[depth])
            return true;
    return false;
}

/* Accesses of a loop in the iterations that those around it are in. */
static uint64_t count_accesses(const struct psnap_nest_loop *loop, uint32_t depth,
                               uint64_t *iteration)
{
    const uint64_t count = iterations_of(loop, depth, iteration);
    const uint64_t last = count && is_uneven(loop, depth) ? count : count > 0;
    uint64_t sum = 0;

    if (!loop->inside || depth + 1 == PSNAP_NEST_LEVELS)
        return count * loop->width;
    for (iteration[depth] = 0; iteration[depth] < last; iteration[depth]++)
        for (uint32_t i = 1; i <= loop->inside; i += 1 + loop[i].inside)
            sum += count_accesses(&loop[i], depth + 1, iteration);
    return last == count ? sum : sum * count;
}

uint64_t psnap_nest_accesses(const struct psnap_nest *nest)
{
    uint64_t iteration[PSNAP_NEST_LEVELS];

    return nest->loop_count ? count_accesses(nest->loops, 0, iteration) : 0;
}

/* ---- going through ---- */

uint32_t psnap_nest_depth(const struct psnap_nest *nest)
{
    uint32_t ends[PSNAP_NEST_LEVELS], depth = 0, deepest = 0;

    for (uint32_t i = 0; i < nest->loop_count; i++) {
        while (depth && i >= ends[depth - 1])
            depth--;
        deepest = depth + 1 > deepest ? depth + 1 : deepest;
        ends[depth] = i + 1 + nest->loops[i].inside;
        depth += nest->loops[i].inside > 0;
    }
    return deepest;
}

/* Accesses that are written k by k: they stay in a cache of the first level. */
enum { TILE_ACCESSES = 1024 };

static void put_tile(const struct psnap_run *run, uint64_t from, size_t n,
                     struct psnap_access *block)
{
    const uint64_t iteration = from / run->width;
    const size_t first = (size_t)(from % run->width);

    for (size_t k = 0; k < run->width; k++) {
        size_t at = k < first ? k + run->width - first : k - first;
        uint64_t i = iteration + (k < first);
        struct psnap_access access = run->first[k];

        access.address += i * (uint64_t)run->strides[k];
        for (; run->columns && at < n; at += run->width) {
            access.address = psnap_run_address(run, i++, k);
            block[at] = access;
        }
        for (; at < n; at += run->width, access.address += (uint64_t)run->strides[k])
            block[at] = access;
    }
}

void psnap_run_accesses(const struct psnap_run *run, uint64_t from, size_t n,
                        struct psnap_access *block)
{
    for (size_t at = 0; at < n; at += TILE_ACCESSES)
        put_tile(run, from + at, n - at < TILE_ACCESSES ? n - at : TILE_ACCESSES, block + at);
}

struct psnap_nest psnap_nest_of_run(struct psnap_nest_loop *loop, const struct psnap_run *run)
{
    *loop = (struct psnap_nest_loop){.count = (int64_t)run->count,
                                     .width = (uint16_t)run->width,
                                     .shape = run->shape,
                                     .turns = run->turns};
    return (struct psnap_nest){.loops = loop,
                               .first = run->first,
                               .strides = run->strides,
                               .columns = run->columns,
                               .loop_count = 1,
                               .levels = 1};
}

void psnap_nest_walk_init(struct psnap_nest_walk *walk, const struct psnap_nest *nest)
{
    walk->nest = nest;
    walk->at = walk->depth = 0;
}

/* The run of an innermost loop in the iterations that are open. */
static void set_run(struct psnap_nest_walk *walk, const struct psnap_nest_loop *loop,
                    uint64_t count, struct psnap_run *run)
{
    const struct psnap_nest *nest = walk->nest;
    const int64_t *strides = nest->strides + (size_t)loop->begin * nest->levels;

    *run = (struct psnap_run){.first = nest->first + loop->begin,
                              .strides = strides,
                              .columns = nest->columns,
                              .width = loop->width,
                              .count = count,
                              .shape = loop->shape,
                              .turns = loop->turns};
    if (nest->levels == 1)
        return;
    for (uint32_t k = 0; k < loop->width; k++, strides += nest->levels) {
        walk->first[k] = run->first[k];
        for (uint32_t l = 0; l < walk->depth; l++)
            walk->first[k].address += walk->iteration[l] * (uint64_t)strides[l];
        walk->strides[k] = strides[walk->depth];
    }
    run->first = walk->first;
    run->strides = walk->strides;
}

bool psnap_nest_walk_next(struct psnap_nest_walk *walk, struct psnap_run *run)
{
    const struct psnap_nest *nest = walk->nest;

    for (;;) {
        const struct psnap_nest_loop *loop;
        uint64_t count;
        while (walk->depth) {
            const uint32_t open = walk->open[walk->depth - 1];
            if (walk->at <= open + nest->loops[open].inside)
                break;
            if (++walk->iteration[walk->depth - 1] < walk->count[walk->depth - 1])
                walk->at = open + 1;
            else
                walk->depth--;
        }
        if (walk->at >= nest->loop_count)
            return false;
        loop = &nest->loops[walk->at];
        count = iterations_of(loop, walk->depth, walk->iteration);
        if (!count) {
            walk->at += 1 + loop->inside;
        } else if (!loop->inside) {
            walk->at++;
            set_run(walk, loop, count, run);
            return true;
        } else {
            walk->open[walk->depth] = walk->at++;
            walk->count[walk->depth] = count;
            walk->iteration[walk->depth++] = 0;
        }
    }
}

void psnap_nest_walk_leave(struct psnap_nest_walk *walk, uint32_t depth)
{
    const uint32_t loop = walk->open[depth];

    walk->depth = depth + 1;
    walk->iteration[depth] = walk->count[depth] - 1;
    walk->at = loop + walk->nest->loops[loop].inside + 1;
}

/* ---- making ---- */

void psnap_nest_begin(struct psnap_nest_maker *maker, uint64_t count)
{
    maker->loop_count = 1;
    maker->width = 0;
    maker->loops[0] = (struct psnap_nest_loop){.count = (int64_t)count};
}

bool psnap_nest_add_run(struct psnap_nest_maker *maker, const struct psnap_run *run)
{
    struct psnap_nest_loop loop;
    const struct psnap_nest nest = psnap_nest_of_run(&loop, run);

    return psnap_nest_add(maker, &nest);
}

bool psnap_nest_add(struct psnap_nest_maker *maker, const struct psnap_nest *nest)
{
    const uint32_t width = nest->loops->width;
    const size_t levels =
        nest->levels < PSNAP_NEST_LEVELS ? nest->levels : PSNAP_NEST_LEVELS - (size_t)1;
    int64_t *strides = &maker->strides[(size_t)maker->width * PSNAP_NEST_LEVELS];

    if (nest->columns || nest->loop_count > PSNAP_NEST_LOOPS - maker->loop_count ||
        width > PSNAP_NEST_WIDTH - maker->width || psnap_nest_depth(nest) == PSNAP_NEST_LEVELS)
        return false;
    for (uint32_t i = 0; i < nest->loop_count; i++) {
        struct psnap_nest_loop *loop = &maker->loops[maker->loop_count + i];
        *loop = nest->loops[i];
        loop->begin = (uint16_t)(loop->begin + maker->width);
        memmove(loop->count_steps + 1, loop->count_steps,
                sizeof loop->count_steps - sizeof *loop->count_steps);
        loop->count_steps[0] = 0;
    }
    memcpy(&maker->first[maker->width], nest->first, width * sizeof *nest->first);
    memset(strides, 0, (size_t)width * PSNAP_NEST_LEVELS * sizeof *strides);
    for (uint32_t a = 0; a < width; a++)
        memcpy(&strides[a * PSNAP_NEST_LEVELS + 1], &nest->strides[(size_t)a * nest->levels],
               levels * sizeof *strides);
    maker->loop_count += nest->loop_count;
    maker->width += width;
    maker->loops[0].inside += nest->loop_count;
    maker->loops[0].width = (uint16_t)maker->width;
    return true;
}

bool psnap_nest_advance(struct psnap_nest_maker *maker, const struct psnap_nest_maker *next)
{
    const size_t within = PSNAP_NEST_LEVELS - 1;

    if (maker->loop_count != next->loop_count || maker->width != next->width)
        return false;
    for (uint32_t i = 1; i < maker->loop_count; i++) {
        const struct psnap_nest_loop *a = &maker->loops[i], *b = &next->loops[i];
        if (a->inside != b->inside || a->width != b->width || a->turns != b->turns ||
            memcmp(a->count_steps + 1, b->count_steps + 1, within * sizeof *a->count_steps) != 0)
            return false;
    }
    for (uint32_t a = 0; a < maker->width; a++)
        if (!psnap_accesses_are_alike(&maker->first[a], &next->first[a]) ||
            memcmp(&maker->strides[a * (size_t)PSNAP_NEST_LEVELS + 1],
                   &next->strides[a * (size_t)PSNAP_NEST_LEVELS + 1],
                   within * sizeof *maker->strides) != 0)
            return false;
    for (uint32_t i = 1; i < maker->loop_count; i++)
        maker->loops[i].count_steps[0] = next->loops[i].count - maker->loops[i].count;
    for (uint32_t a = 0; a < maker->width; a++)
        maker->strides[a * (size_t)PSNAP_NEST_LEVELS] =
            (int64_t)(next->first[a].address - maker->first[a].address);
    return true;
}

struct psnap_nest psnap_nest_made(const struct psnap_nest_maker *maker)
{
    return (struct psnap_nest){.loops = maker->loops,
                               .first = maker->first,
                               .strides = maker->strides,
                               .loop_count = maker->loop_count > 1 ? maker->loop_count : 0,
                               .levels = PSNAP_NEST_LEVELS};
}
