/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The part of a survey that measures caches and memory: of which working sets, and how much of the
 * last cache there is for one core.
 */
#include "simcore/probe_survey.h"

#include <inttypes.h>
#include <math.h>
#include <unistd.h>

#include "simcore/memory_limit.h"

#define MEMORY_SETS 4 /* of what one core keeps of the largest cache: the working set of memory */
#define MEMORY_BYTES_MIN ((uint64_t)64 << 20)
#define MEMORY_BYTES_MAX ((uint64_t)1 << 30)
#define MEMORY_SHARE 8 /* and at most this part of what we may have */
#define KEPT_STEP ((uint64_t)64 << 10)
#define BUFFER_BYTES_MIN ((uint64_t)64 << 10) /* steps of kernels fit in, whatever lines are */

/* Where a working set is to hit, and the fields of the machine that it tells. */
struct place {
    char name[32];
    uint64_t set_bytes, line_bytes, prepared_bytes;
    double *latency_cycles, *throughput_cycles, *bandwidth_bytes_per_s;
};

/* MEMORY_SETS times what one core keeps of the largest cache, between bounds; 0 when that is not
 * twice as much. */
static uint64_t memory_set_bytes(uint64_t largest)
{
    const uint64_t all = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    const uint64_t share = memory_limit("", all) / MEMORY_SHARE;
    uint64_t bytes = MEMORY_SETS * largest;

    bytes = bytes < MEMORY_BYTES_MIN ? MEMORY_BYTES_MIN : bytes;
    bytes = bytes > MEMORY_BYTES_MAX ? MEMORY_BYTES_MAX : bytes;
    bytes = bytes > share ? share : bytes;
    return bytes >= 2 * largest ? bytes : 0;
}

/* What one core keeps of a cache. */
static uint64_t kept_bytes(const struct psnap_cache_level *cache)
{
    return cache->effective_bytes ? cache->effective_bytes : cache->size_bytes;
}

/* The largest of the caches nearer than `level`, by what one core keeps of it; 0: there is none. */
static uint64_t nearer_bytes(const struct psnap_machine *machine, uint32_t level)
{
    uint64_t nearer = 0;

    for (uint32_t i = 0; i < level; i++)
        if (kept_bytes(&machine->levels[i]) > nearer)
            nearer = kept_bytes(&machine->levels[i]);
    return nearer;
}

/*
 * The place of cache `level`, or of memory behind the last one. A working set is half of level 1,
 * and for a further cache the geometric mean of it and the next nearer one, which is as many times
 * larger than the one as smaller than the other. There is none for a cache of less than twice the
 * nearer one.
 */
static struct place place_of(struct psnap_machine *machine, uint32_t level)
{
    struct place place = {.name = "memory",
                          .line_bytes = machine->levels[machine->level_count - 1].line_bytes,
                          .latency_cycles = &machine->memory_latency_cycles,
                          .throughput_cycles = &machine->memory_throughput_cycles,
                          .bandwidth_bytes_per_s = &machine->memory_bandwidth_bytes_per_s};
    const uint64_t nearer = nearer_bytes(machine, level);

    if (level < machine->level_count) {
        struct psnap_cache_level *cache = &machine->levels[level];

        snprintf(place.name, sizeof place.name, "level %" PRIu32, level + 1);
        place.line_bytes = cache->line_bytes;
        place.latency_cycles = &cache->latency_cycles;
        place.throughput_cycles = &cache->throughput_cycles;
        place.bandwidth_bytes_per_s = &cache->bandwidth_bytes_per_s;
        if (level == 0)
            place.set_bytes = cache->size_bytes / 2;
        else if (kept_bytes(cache) >= 2 * nearer)
            place.set_bytes = (uint64_t)sqrt((double)nearer * (double)kept_bytes(cache));
        place.prepared_bytes = level ? place.set_bytes + 2 * nearer : 0;
    } else {
        place.set_bytes = memory_set_bytes(nearer);
    }
    if (place.line_bytes < PROBE_LINE_BYTES_MIN)
        place.line_bytes = PROBE_LINE_BYTES_MIN;
    return place;
}

static void measure_place(struct survey *survey, const struct probe_buffer *buffer, uint32_t level)
{
    const struct place place = place_of(survey->machine, level);
    struct probe_set set;
    struct probe_kernel kernel = {.context = &set};
    struct probe_time time;

    if (!place.set_bytes)
        return;
    probe_set_init(&set, buffer, place.set_bytes, place.line_bytes);
    survey->notes->set_bytes[level] = set.bytes;
    if (place.prepared_bytes && place.prepared_bytes <= buffer->bytes) {
        kernel.prepare = probe_prepare;
        set.prepared_bytes = place.prepared_bytes / PROBE_SWEEP_BYTES * PROBE_SWEEP_BYTES;
    }
    kernel.run = probe_chase;
    time = survey_measure(survey, kernel, 2, "latency of %s", place.name);
    *place.latency_cycles = survey_rounded(time.cycles / PROBE_ACCESSES);
    kernel.run = level ? probe_random_loads : probe_word_loads;
    time = survey_measure(survey, kernel, 2, "throughput of %s", place.name);
    *place.throughput_cycles = survey_rounded(time.cycles / PROBE_ACCESSES);
    set.position = 0;
    kernel.run = probe_sweep;
    time = survey_measure(survey, kernel, 2, "bandwidth of %s", place.name);
    *place.bandwidth_bytes_per_s = survey_rounded(PROBE_SWEEP_BYTES / time.seconds);
}

/* Cycles of a load in a chase through so many bytes, when caches hold what they keep of them. */
static double chase_cycles(struct survey *survey, const struct probe_buffer *buffer, uint64_t bytes,
                           double slices)
{
    const struct psnap_machine *machine = survey->machine;
    struct probe_set set;
    const struct probe_kernel kernel = {.run = probe_chase, .context = &set};

    probe_set_init(&set, buffer, bytes, machine->levels[machine->level_count - 1].line_bytes);
    probe_chase(&set, bytes / set.line_bytes / PROBE_ACCESSES);
    return survey_measure(survey, kernel, slices, "chase through %" PRIu64 " KiB", bytes >> 10)
               .cycles /
           PROBE_ACCESSES;
}

/*
 * What one core keeps of the last cache: others use it too, and of a virtual machine's it may have
 * a part only. A set of twice the nearer caches is taken to be in it, the buffer in memory, and of
 * sets between them, twice as large each, those whose chase takes less than the geometric mean of
 * both (not the arithmetic one: of the largest sets pages are far away, too). The interval between
 * the last such set and the first other one is halved once, in logarithms. A core that keeps more
 * than three quarters of the cache is taken to keep all.
 */
static void measure_capacity(struct survey *survey, const struct probe_buffer *buffer)
{
    struct psnap_machine *machine = survey->machine;
    struct psnap_cache_level *last = &machine->levels[machine->level_count - 1];
    const double done = survey->done + SURVEY_CAPACITY_SLICES;
    const uint64_t nearer = nearer_bytes(machine, machine->level_count - 1);
    uint64_t bytes;
    double slices = 3, limit;

    if (nearer && last->size_bytes > 4 * nearer && buffer->bytes > last->size_bytes) {
        for (bytes = 4 * nearer; bytes < last->size_bytes; bytes *= 2)
            slices++;
        slices = SURVEY_CAPACITY_SLICES / slices;
        limit = sqrt(chase_cycles(survey, buffer, 2 * nearer, slices) *
                     chase_cycles(survey, buffer, buffer->bytes, slices));
        bytes = 4 * nearer;
        while (bytes < last->size_bytes && chase_cycles(survey, buffer, bytes, slices) < limit)
            bytes *= 2;
        if (bytes < last->size_bytes) {
            const uint64_t between = (uint64_t)(sqrt(0.5) * (double)bytes);
            const bool is_kept = chase_cycles(survey, buffer, between, slices) < limit;
            bytes = (uint64_t)((double)between * pow(2, is_kept ? 0.25 : -0.25));
        }
        if (bytes < 3 * (last->size_bytes / 4))
            last->effective_bytes = bytes - bytes % KEPT_STEP;
    }
    survey->done = done;
}

enum psnap_status survey_places(struct survey *survey, struct psnap_error *error)
{
    struct psnap_machine *machine = survey->machine;
    uint64_t bytes = BUFFER_BYTES_MIN;
    struct probe_buffer buffer;
    enum psnap_status status = PSNAP_OK;

    for (uint32_t i = 0; i <= machine->level_count; i++) {
        const uint64_t set_bytes = place_of(machine, i).set_bytes;

        bytes = set_bytes > bytes ? set_bytes : bytes;
    }
    if (probe_buffer_init(&buffer, bytes, PROBE_LINE_BYTES_MIN)) {
        measure_capacity(survey, &buffer);
        for (uint32_t i = 0; i <= machine->level_count; i++)
            measure_place(survey, &buffer, i);
        survey->notes->huge_share = probe_huge_share(&buffer);
    } else {
        status = psnap_error_set(error, PSNAP_ERROR_MEMORY,
                                 "out of memory for a working set of "
                                 "%" PRIu64 " bytes",
                                 bytes);
    }
    probe_buffer_release(&buffer);
    return status;
}
