/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which points there are, and their streams for the simulator. A strided stream is simulated by one
 * access for each line that it has: the others of a line follow at once, and hit in level 1. The
 * first passes warm the caches, and those after them count; of small arrays more of both, as random
 * replacement and the sets that pages fall into are matters of chance.
 */
#include "predict/bandwidth/maps.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/parallel.h"
#include "formats/base/rng.h"
#include "formats/base/room.h"

enum {
    KERNEL = 16,            /* accesses that a strided kernel makes at once */
    BLOCK = 1024,           /* accesses at a time to the simulator */
    SMALL_LINES = 1 << 15,  /* of a small array */
    APEX_ACCESSES = 1 << 20 /* of the list of starts, at most: some of each word of a small array */
};

#define LIST_ADDRESS (UINT64_C(1) << 44) /* of Apex-MAP's list of starts */
#define NEVER 3 /* times the last cache: one pass leaves it as any number does */
#define FURTHER_MIN (16.0 * MAP_SIZE_MIN) /* less is in every level 1 */

const char *map_probe_name(enum map_probe probe)
{
    static const char *const names[MAP_PROBES] = {"strided", "streams", "apex", "chain"};

    return names[probe];
}

double map_point_bandwidth(const struct map_point *point)
{
    return MAP_WORD_BYTES / point->seconds;
}

void maps_release(struct maps *maps)
{
    free(maps->points);
    *maps = (struct maps){0};
}

bool maps_add(struct maps *maps, const struct map_point *point)
{
    struct map_point *points =
        psnap_with_room(maps->points, &maps->room, maps->count + 1, sizeof *points);

    if (!points)
        return false;
    maps->points = points;
    points[maps->count++] = *point;
    return true;
}

static bool is_same_cache(const struct psnap_cache_level *a, const struct psnap_cache_level *b)
{
    return a->size_bytes == b->size_bytes && a->line_bytes == b->line_bytes && a->ways == b->ways &&
           a->replacement == b->replacement && a->index == b->index &&
           a->inclusion == b->inclusion && a->write_through == b->write_through &&
           a->no_write_allocate == b->no_write_allocate && a->victim_lines == b->victim_lines &&
           a->seed == b->seed && a->prefetch.entries == b->prefetch.entries &&
           a->prefetch.degree == b->prefetch.degree &&
           a->prefetch.distance == b->prefetch.distance &&
           a->prefetch.next_lines == b->prefetch.next_lines;
}

bool maps_are_of(const struct maps *maps, const struct psnap_machine *machine)
{
    bool is_same = maps->has_machine && maps->machine.level_count == machine->level_count;

    for (uint32_t i = 0; is_same && i < machine->level_count; i++)
        is_same = is_same_cache(&maps->machine.levels[i], &machine->levels[i]);
    return is_same;
}

/* ----------------------------------------------------------------------- plans */

static enum psnap_status no_memory(struct psnap_error *error)
{
    return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for points");
}

/* A size to the nearest eighth of the power of two below it, or to 8 KiB where that is finer: sizes
 * that are a fifth apart or more stay apart. */
static uint64_t round_size(double size)
{
    uint64_t unit = MAP_SIZE_MIN / 8;

    while (unit < 8 * MAP_SIZE_MIN && size >= 16 * (double)unit)
        unit *= 2;
    return (uint64_t)(size / (double)unit + 0.5) * unit;
}

enum psnap_status maps_plan_strided(struct maps *maps, uint32_t sizes, uint64_t largest,
                                    uint32_t stride_max, struct psnap_error *error)
{
    for (uint32_t i = 0; i < sizes; i++) {
        const double exponent = sizes > 1 ? (double)i / (sizes - 1) : 1;
        const double size = MAP_SIZE_MIN * pow((double)largest / MAP_SIZE_MIN, exponent);
        struct map_point point = {.size_bytes = round_size(size), .streams = 1};

        if (maps->count && maps->points[maps->count - 1].size_bytes == point.size_bytes)
            continue;
        for (point.step = 1; point.step <= stride_max; point.step *= 2)
            if (map_pass_accesses(&point) >= 2 && !maps_add(maps, &point))
                return no_memory(error);
    }
    return PSNAP_OK;
}

enum psnap_status maps_plan_apex(struct maps *maps, uint64_t bytes, struct psnap_error *error)
{
    static const double alphas[] = {1, 0.5, 0.25, 0.1, 0.05, 0.025, 0.01};
    struct map_point point = {.probe = MAP_APEX, .size_bytes = bytes, .streams = 1};

    for (size_t i = 0; i < sizeof alphas / sizeof alphas[0]; i++)
        for (point.step = 1; point.step <= 64; point.step *= 4) {
            point.alpha = alphas[i];
            if (!maps_add(maps, &point))
                return no_memory(error);
        }
    return PSNAP_OK;
}

enum psnap_status maps_plan_further(struct maps *maps, uint32_t sizes, uint64_t largest,
                                    struct psnap_error *error)
{
    static const struct map_point probes[] = {
        {.probe = MAP_STREAMS, .step = 8, .streams = 2},
        {.probe = MAP_STREAMS, .step = 1, .streams = 4},
        {.probe = MAP_STREAMS, .step = 8, .streams = 4},
        {.probe = MAP_APEX, .step = 1, .streams = 1, .alpha = 1},
        {.probe = MAP_CHAIN, .step = MAP_CHAIN_WORDS, .streams = 1},
    };

    for (uint32_t i = 0; i < sizes; i++)
        for (size_t k = 0; k < sizeof probes / sizeof probes[0]; k++) {
            const double exponent = sizes > 1 ? (double)i / (sizes - 1) : 1;
            const double size = FURTHER_MIN * pow(fmax((double)largest / FURTHER_MIN, 1), exponent);
            struct map_point point = probes[k];

            point.size_bytes = (uint64_t)(size / MAP_SIZE_MIN + 0.5) * MAP_SIZE_MIN;
            if (!maps_add(maps, &point))
                return no_memory(error);
        }
    return PSNAP_OK;
}

uint64_t map_pass_accesses(const struct map_point *point)
{
    const uint64_t count = point->size_bytes / MAP_WORD_BYTES / point->step / point->streams;
    uint64_t power = KERNEL / 2;

    if (count >= KERNEL)
        return (count - count % KERNEL) * point->streams;
    while (power > count)
        power /= 2;
    return power * point->streams;
}

size_t map_start_count(const struct map_point *point)
{
    const uint64_t words = 4 * point->size_bytes / MAP_WORD_BYTES;
    const size_t accesses = words < APEX_ACCESSES ? (size_t)words : APEX_ACCESSES;

    if (point->probe == MAP_CHAIN)
        return (size_t)(point->size_bytes / MAP_WORD_BYTES / point->step);
    return 8 + accesses / (point->step < 16 ? 1 : point->step / 16) / 8 * 8;
}

void map_starts(const struct map_point *point, uint32_t *starts, size_t count)
{
    const uint64_t whole = point->size_bytes / MAP_WORD_BYTES - point->step;
    const double words = (double)whole;
    struct psnap_rng rng;

    psnap_rng_init(&rng, point->step);
    for (size_t i = 0; point->probe == MAP_CHAIN && i < count; i++) { /* a permutation, grown */
        const size_t j = (size_t)psnap_rng_below(&rng, i + 1);

        starts[i] = starts[j];
        starts[j] = (uint32_t)i * point->step;
    }
    for (size_t i = 0; point->probe == MAP_APEX && i < count; i++) {
        const double u = psnap_rng_uniform(&rng);

        starts[i] = (uint32_t)(words * pow(u, 1 / point->alpha));
    }
}

/* --------------------------------------------------------------------- streams */

/* A simulator's input, in blocks. */
struct feed {
    struct psnap_sink *sink;
    struct psnap_access block[BLOCK];
    size_t n;
    enum psnap_status status;
    struct psnap_error *error;
};

static void feed_flush(struct feed *feed)
{
    if (feed->n && !feed->status)
        feed->status = psnap_sink_put(feed->sink, feed->block, feed->n, feed->error);
    feed->n = 0;
}

static void feed_put(struct feed *feed, uint64_t address)
{
    feed->block[feed->n++] = (struct psnap_access){.address = address, .size = MAP_WORD_BYTES};
    if (feed->n == BLOCK)
        feed_flush(feed);
}

/* Part of the list of an Apex-MAP point, and the words it names; all of a chain. */
static void feed_starts(struct feed *feed, const struct map_point *point, const uint32_t *starts,
                        unsigned part)
{
    const bool is_chain = point->probe == MAP_CHAIN;
    const size_t count = map_start_count(point) / (is_chain ? 1 : MAP_APEX_PARTS);
    const uint32_t *const from = starts + (is_chain ? 0 : part * count);

    for (size_t i = 0; i < count; i++) {
        if (!is_chain)
            feed_put(feed, LIST_ADDRESS + (part * count + i) * sizeof *starts);
        for (uint32_t word = 0; word < (is_chain ? 1 : point->step); word++)
            feed_put(feed, ((uint64_t)from[i] + word) * MAP_WORD_BYTES);
    }
}

/* All arrays of a point, side by side. */
static void feed_arrays(struct feed *feed, const struct map_point *point, uint64_t step_bytes)
{
    const uint64_t bytes = map_pass_accesses(point) / point->streams * point->step * MAP_WORD_BYTES;

    for (uint64_t at = 0; at < bytes; at += step_bytes)
        for (uint32_t stream = 0; stream < point->streams; stream++)
            feed_put(feed, stream * bytes + at);
}

/* Into point->supply: what the passes behind the first `warm` ones have more than these. Of
 * Apex-MAP's list one part warms and another counts, as in a measured run. */
static enum psnap_status simulate(struct map_point *point, struct psnap_sink *sink,
                                  uint64_t step_bytes, uint64_t cache_bytes, const uint32_t *starts,
                                  struct psnap_error *error)
{
    const bool is_small = point->probe != MAP_APEX && point->size_bytes / step_bytes < SMALL_LINES;
    const bool fits_never = point->probe == MAP_APEX || point->size_bytes > NEVER * cache_bytes;
    const unsigned warm = is_small ? 8 : fits_never ? 1 : 3;
    const unsigned passes = warm + (is_small ? 8 : 1);
    struct feed *feed = calloc(1, sizeof *feed);
    struct supply before;
    enum psnap_status status;

    if (!feed)
        return no_memory(error);
    feed->sink = sink;
    feed->error = error;
    for (unsigned pass = 0; pass < passes; pass++) {
        if (starts)
            feed_starts(feed, point, starts, pass);
        else
            feed_arrays(feed, point, step_bytes);
        feed_flush(feed);
        if (pass == warm - 1)
            supply_of_all(sink, &before);
    }
    supply_of_all(sink, &point->supply);
    supply_add(&point->supply, &before, -1);
    status = feed->status;
    free(feed);
    return status;
}

static enum psnap_status supply_with(struct map_point *point, const struct psnap_machine *machine,
                                     const struct psnap_program *program, const uint32_t *starts,
                                     struct psnap_error *error)
{
    const uint64_t line_bytes = machine->levels[0].line_bytes;
    const uint64_t stride = (uint64_t)point->step * MAP_WORD_BYTES;
    const bool by_line = !starts && stride < line_bytes && line_bytes % stride == 0;
    const uint64_t step_bytes = by_line ? line_bytes : stride;
    const uint64_t more = step_bytes / stride - 1;
    struct psnap_sink *sink = supply_sink_new(machine, program, point->size_bytes, error);
    enum psnap_status status;

    if (!sink)
        return error->code;
    status = simulate(point, sink, step_bytes, machine->levels[machine->level_count - 1].size_bytes,
                      starts, error);
    psnap_sink_free(sink);
    if (!starts) /* the accesses of a line that follow the first one */
        point->supply.accesses[0][SUPPLY_NEAR] += supply_total(&point->supply) * (double)more;
    supply_normalise(&point->supply);
    return status;
}

enum psnap_status map_point_supply(struct map_point *point, const struct psnap_machine *machine,
                                   struct psnap_error *error)
{
    struct psnap_program *program = psnap_program_new();
    const bool has_starts = point->probe == MAP_APEX || point->probe == MAP_CHAIN;
    const size_t count = has_starts ? map_start_count(point) : 0;
    uint32_t *starts = has_starts ? malloc((count + 1) * sizeof *starts) : NULL;
    enum psnap_status status = PSNAP_OK;

    if (!program || (has_starts && !starts))
        status = no_memory(error);
    if (!status)
        status = psnap_program_add_anonymous(program, "map");
    if (!status && has_starts)
        map_starts(point, starts, count);
    if (!status)
        status = supply_with(point, machine, program, starts, error);
    free(starts);
    psnap_program_free(program);
    return status;
}

/* --------------------------------------------------------------------- all points */

struct simulation {
    struct maps *maps;
    const struct psnap_machine *machine;
    atomic_bool has_failed;
    struct psnap_error error; /* of the first failure */
    void (*done)(void *context, size_t points);
    void *context;
    atomic_size_t points;
};

static uint64_t pass_bytes(const struct map_point *point)
{
    return map_pass_accesses(point) * point->step * MAP_WORD_BYTES;
}

/* The point before this one whose stream goes through the same lines, or this one: strides below a
 * line differ in how many accesses of each line are left to level 1. */
static size_t leader_of(const struct simulation *simulation, size_t i)
{
    const struct map_point *points = simulation->maps->points;
    const uint64_t line_words = simulation->machine->levels[0].line_bytes / MAP_WORD_BYTES;
    size_t leader = i;

    if (points[i].probe != MAP_STRIDED || line_words % points[i].step)
        return i;
    while (leader && points[leader - 1].probe == MAP_STRIDED &&
           points[leader - 1].size_bytes == points[i].size_bytes &&
           line_words % points[leader - 1].step == 0 &&
           pass_bytes(&points[leader - 1]) == pass_bytes(&points[i]))
        leader--;
    return leader;
}

/* From the supply of its leader, which has more accesses of each line, or fewer. */
static void follow(struct map_point *point, const struct map_point *leader, uint64_t line_words)
{
    const uint64_t leads = line_words / leader->step, follows = line_words / point->step;

    point->supply = (struct supply){0};
    supply_add(&point->supply, &leader->supply, (double)leads);
    point->supply.accesses[0][SUPPLY_NEAR] += (double)follows - (double)leads;
    supply_normalise(&point->supply);
}

/* As of psnap_parallel(). */
static void simulate_point(void *context, unsigned thread, size_t i)
{
    struct simulation *simulation = context;
    struct psnap_error error = {0};
    size_t points;

    if (atomic_load(&simulation->has_failed))
        return;
    if (leader_of(simulation, i) == i &&
        map_point_supply(&simulation->maps->points[i], simulation->machine, &error) &&
        !atomic_exchange(&simulation->has_failed, true))
        simulation->error = error;
    points = atomic_fetch_add(&simulation->points, 1) + 1;
    if (!thread && simulation->done)
        simulation->done(simulation->context, points);
}

enum psnap_status maps_supply(struct maps *maps, const struct psnap_machine *machine,
                              void (*done)(void *context, size_t points), void *context,
                              struct psnap_error *error)
{
    struct simulation simulation = {
        .maps = maps, .machine = machine, .done = done, .context = context};

    psnap_parallel(maps->count, simulate_point, &simulation);
    for (size_t i = 0; i < maps->count; i++)
        if (leader_of(&simulation, i) != i)
            follow(&maps->points[i], &maps->points[leader_of(&simulation, i)],
                   machine->levels[0].line_bytes / MAP_WORD_BYTES);
    if (machine != &maps->machine)
        maps->machine = *machine;
    maps->has_machine = maps->has_kinds = true;
    if (!atomic_load(&simulation.has_failed))
        return PSNAP_OK;
    if (error)
        *error = simulation.error;
    return simulation.error.code;
}
