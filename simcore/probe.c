/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measuring this computer. Time in cycles is time in units of a dependent integer addition, which
 * takes one cycle wherever clocks are counted: a chain of additions is timed in turns with what is
 * measured, so that a clock that changes changes both. (The time stamp counter has a frequency of
 * its own.)
 *
 * A figure is the median of many runs of a quarter of a millisecond: short against the time slices
 * of a system, so that most runs are not interrupted, and long against reading the time. The
 * minimum would do for times, which others can only make longer, but not for their quotient: a
 * chain that was interrupted makes it too small.
 */
#include "simcore/probe.h"

#include <inttypes.h>
#include <math.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "formats/base/rng.h"
#include "simcore/machine.h"
#include "simcore/memory_limit.h"

#define RUN_SECONDS 250e-6
#define ADDITIONS 4096 /* steps of the chain beside each run: about 35 us */
#define REPEATS_MIN 5
#define REPEATS_MAX 8192

#define MEMORY_SETS 4 /* of the largest cache: the working set of memory */
#define MEMORY_BYTES_MIN ((uint64_t)64 << 20)
#define MEMORY_BYTES_MAX ((uint64_t)1 << 30)
#define MEMORY_SHARE 8                        /* and at most this part of what we may have */
#define BUFFER_BYTES_MIN ((uint64_t)64 << 10) /* steps of kernels fit in, whatever lines are */
#define LINE_BYTES_MIN 32                     /* of working sets, whatever a cache has */

static double now_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double time_run(struct probe_kernel kernel, uint64_t steps)
{
    double begin;

    if (kernel.prepare)
        kernel.prepare(kernel.context);
    begin = now_seconds();
    kernel.run(kernel.context, steps);
    return now_seconds() - begin;
}

static int compare_reals(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *values, size_t n)
{
    qsort(values, n, sizeof *values, compare_reals);
    return values[n / 2];
}

struct probe_time probe_measure(struct probe_kernel kernel, double seconds)
{
    double share, cycles[REPEATS_MAX], times[REPEATS_MAX];
    const struct probe_kernel additions = probe_operation(PSNAP_OP_INT_ADD, true, &share);
    const double end = now_seconds() + seconds;
    uint64_t steps = 1;
    size_t n = 0;

    while (time_run(kernel, steps) < RUN_SECONDS)
        steps *= 2;
    while (n < REPEATS_MIN || (n < REPEATS_MAX && now_seconds() < end)) {
        const double cycle = time_run(additions, ADDITIONS) * share / ADDITIONS;

        times[n] = time_run(kernel, steps) / (double)steps;
        cycles[n] = times[n] / cycle;
        n++;
    }
    return (struct probe_time){median(cycles, n), median(times, n)};
}

/* Three digits are more than a measurement has. */
static double rounded(double value)
{
    double scale;

    if (!(value > 0))
        return 0;
    scale = pow(10, 2 - floor(log10(value)));
    return scale >= 1 ? round(value * scale) / scale
                      : round(value / round(1 / scale)) * round(1 / scale);
}

struct survey {
    struct psnap_machine *machine;
    struct probe_notes *notes;
    struct probe_progress progress;
    double begin, slice; /* seconds; a slice for each kernel */
    double done, all;    /* slices */
};

/* One kernel for so many slices. */
static struct probe_time measure(struct survey *survey, struct probe_kernel kernel, double slices,
                                 const char *format, ...) PSNAP_PRINTF(4, 5);
static struct probe_time measure(struct survey *survey, struct probe_kernel kernel, double slices,
                                 const char *format, ...)
{
    char what[64];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    if (survey->progress.tell)
        survey->progress.tell(survey->progress.context, what, survey->done / survey->all);
    survey->done += slices;
    return probe_measure(kernel, slices * survey->slice);
}

static void measure_clock(struct survey *survey)
{
    double share;
    const struct probe_kernel additions = probe_operation(PSNAP_OP_INT_ADD, true, &share);

    survey->machine->clock_hz =
        rounded(1 / (measure(survey, additions, 2, "clock").seconds * share));
}

static void measure_operations(struct survey *survey)
{
    struct psnap_operation_cost *costs = survey->machine->operations;

    for (int i = 0; i < PSNAP_OPERATION_COUNT; i++) {
        double share;
        struct probe_kernel kernel = probe_operation(i, true, &share);

        if (kernel.run)
            costs[i].latency_cycles =
                share *
                measure(survey, kernel, 1, "latency of %s", machine_operation_names[i]).cycles;
        kernel = probe_operation(i, false, &share);
        costs[i].throughput_cycles =
            share *
            measure(survey, kernel, 1, "throughput of %s", machine_operation_names[i]).cycles;
    }
    costs[PSNAP_OP_FP_SQRT].latency_cycles -= costs[PSNAP_OP_FP_MUL].latency_cycles;
    for (int i = 0; i < PSNAP_OPERATION_COUNT; i++)
        costs[i] = (struct psnap_operation_cost){rounded(costs[i].latency_cycles),
                                                 rounded(costs[i].throughput_cycles)};
}

#define DECISIONS ((size_t)1 << 18)  /* too many to be known again */
#define NEW_BYTES ((size_t)16 << 20) /* for a run of pages */

/* Random decisions beside such that are always the same, of which half are the other way. */
static void measure_mispredictions(struct survey *survey, const struct probe_buffer *buffer)
{
    struct probe_set set = {.base = buffer->base, .bytes = DECISIONS};
    const struct probe_kernel kernel = {.run = probe_branches, .context = &set};
    struct psnap_rng rng;
    double known;

    memset(set.base, 0, set.bytes);
    known = measure(survey, kernel, 1, "predicted branches").cycles;
    psnap_rng_init(&rng, 0);
    for (size_t i = 0; i < set.bytes; i++)
        set.base[i] = (unsigned char)psnap_rng_below(&rng, 2);
    survey->machine->mispredict_cycles =
        rounded((measure(survey, kernel, 1, "mispredicted branches").cycles - known) /
                (0.5 * PROBE_ACCESSES));
}

static void measure_first_touches(struct survey *survey, const struct probe_buffer *buffer)
{
    struct probe_set set = {.base = buffer->base, .bytes = NEW_BYTES};
    const struct probe_kernel kernel = {.run = probe_first_touches, .context = &set};

    survey->machine->first_touch_cycles =
        rounded(measure(survey, kernel, 2, "first touches of pages").cycles);
}

static enum psnap_status measure_waits(struct survey *survey, struct psnap_error *error)
{
    struct probe_buffer buffer;
    const bool fits = probe_buffer_init(&buffer, NEW_BYTES, LINE_BYTES_MIN);

    if (fits) {
        measure_mispredictions(survey, &buffer);
        measure_first_touches(survey, &buffer);
    }
    probe_buffer_release(&buffer);
    return fits ? PSNAP_OK
                : psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for new pages");
}

/* Where a working set is to hit, and the fields of the machine that it tells. */
struct place {
    char name[32];
    uint64_t set_bytes, line_bytes, prepared_bytes;
    double *latency_cycles, *throughput_cycles, *bandwidth_bytes_per_s;
};

/* MEMORY_SETS times the largest cache, between bounds; 0 when that is not twice the cache. */
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
    uint64_t nearer = 0;

    for (uint32_t i = 0; i < level; i++)
        if (machine->levels[i].size_bytes > nearer)
            nearer = machine->levels[i].size_bytes;
    if (level < machine->level_count) {
        struct psnap_cache_level *cache = &machine->levels[level];

        snprintf(place.name, sizeof place.name, "level %" PRIu32, level + 1);
        place.line_bytes = cache->line_bytes;
        place.latency_cycles = &cache->latency_cycles;
        place.throughput_cycles = &cache->throughput_cycles;
        place.bandwidth_bytes_per_s = &cache->bandwidth_bytes_per_s;
        if (level == 0)
            place.set_bytes = cache->size_bytes / 2;
        else if (cache->size_bytes >= 2 * nearer)
            place.set_bytes = (uint64_t)sqrt((double)nearer * (double)cache->size_bytes);
        place.prepared_bytes = level ? place.set_bytes + 2 * nearer : 0;
    } else {
        place.set_bytes = memory_set_bytes(nearer);
    }
    if (place.line_bytes < LINE_BYTES_MIN)
        place.line_bytes = LINE_BYTES_MIN;
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
    time = measure(survey, kernel, 2, "latency of %s", place.name);
    *place.latency_cycles = rounded(time.cycles / PROBE_ACCESSES);
    kernel.run = level ? probe_random_loads : probe_word_loads;
    time = measure(survey, kernel, 2, "throughput of %s", place.name);
    *place.throughput_cycles = rounded(time.cycles / PROBE_ACCESSES);
    set.position = 0;
    kernel.run = probe_sweep;
    time = measure(survey, kernel, 2, "bandwidth of %s", place.name);
    *place.bandwidth_bytes_per_s = rounded(PROBE_SWEEP_BYTES / time.seconds);
}

static enum psnap_status measure_places(struct survey *survey, struct psnap_error *error)
{
    struct psnap_machine *machine = survey->machine;
    uint64_t bytes = BUFFER_BYTES_MIN;
    struct probe_buffer buffer;
    enum psnap_status status = PSNAP_OK;

    for (uint32_t i = 0; i <= machine->level_count; i++) {
        const uint64_t set_bytes = place_of(machine, i).set_bytes;

        bytes = set_bytes > bytes ? set_bytes : bytes;
    }
    if (probe_buffer_init(&buffer, bytes, LINE_BYTES_MIN)) {
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

enum psnap_status probe_machine(struct psnap_machine *machine, double seconds,
                                struct probe_progress progress, struct probe_notes *notes,
                                struct psnap_error *error)
{
    struct survey survey = {.machine = machine, .notes = notes, .progress = progress};
    cpu_set_t before, one;
    bool is_pinned;
    enum psnap_status status;

    *notes = (struct probe_notes){.cpu = sched_getcpu()};
    survey.begin = now_seconds();
    survey.all = 2 + 2 * PSNAP_OPERATION_COUNT + 4 + 6 * (machine->level_count + 1);
    survey.slice = seconds / survey.all;
    CPU_ZERO(&one);
    is_pinned = notes->cpu >= 0 && notes->cpu < CPU_SETSIZE &&
                sched_getaffinity(0, sizeof before, &before) == 0;
    if (is_pinned) {
        CPU_SET((size_t)notes->cpu, &one);
        is_pinned = sched_setaffinity(0, sizeof one, &one) == 0;
    }
    measure_clock(&survey);
    measure_operations(&survey);
    status = measure_waits(&survey, error);
    if (!status)
        status = measure_places(&survey, error);
    if (is_pinned)
        sched_setaffinity(0, sizeof before, &before);
    else
        notes->cpu = -1;
    notes->seconds = now_seconds() - survey.begin;
    return status;
}
