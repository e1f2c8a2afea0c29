/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measuring points. All are measured in rounds, in an order that is drawn for each round, so that
 * what changes with time (a clock, a neighbour) changes all alike; a point that is stable is left
 * out of further rounds. A run is passes that warm the caches, and then passes for RUN_SECONDS, at
 * least one. In each run the array lies elsewhere in a buffer of ordinary pages, and so in other
 * frames of memory: the median is over ways to lie in a physically indexed cache, too.
 *
 * A kernel adds what it loads into eight sums, so that loads and not the additions limit it;
 * volatile loads keep the compiler from making one access of several. The position goes back to the
 * start without a branch.
 */
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "formats/base/reals.h"
#include "formats/base/rng.h"
#include "predict/bandwidth/maps.h"

#define RUN_SECONDS 400e-6
#define WARM_SECONDS 25e-3
#define BETTER 0.99          /* times the fastest pass: a faster one */
#define SLOWER 3             /* passes in a row that were no faster: warm */
#define SHORT_STEPS 2500     /* take longer than reading the time by far */
#define CHAIN_ACCESSES 20000 /* of a run */
#define RUNS_MIN 7           /* before a point may be stable */
#define RUNS_MAX 512
#define OFFSETS_BYTES ((size_t)16 << 20) /* of the buffer more than the largest array */
#define PAGE_BYTES ((size_t)4096)

/* -------------------------------------------------------------------- kernels */

static volatile double kept_sum;

#define EIGHT(F) F(0) F(1) F(2) F(3) F(4) F(5) F(6) F(7)

static double sum_of(const double sum[8])
{
    return sum[0] + sum[1] + sum[2] + sum[3] + sum[4] + sum[5] + sum[6] + sum[7];
}

#define ADD(i) sum[i] += at[(i) * STRIDE];
#define ADD_HIGH(i) sum[i] += at[(8 + (i)) * STRIDE];
#define ADD_4(i) sum[i] += at[(i) % 4 * STRIDE];
#define ADD_2(i) sum[i] += at[(i) % 2 * STRIDE];

/*
 * Reads 16 words a step. The stride is a constant, so that addresses are constants and one
 * register: of an array of `count` words, a multiple of 16, from its front to its end and again,
 * or of one of 8, 4 or 2 words all of them in turn.
 */
#define KERNEL(stride)                                                                             \
    static void read_##stride(const double *array, uint64_t count, uint64_t steps)                 \
    {                                                                                              \
        enum { STRIDE = stride };                                                                  \
        const double *const end = array + count * STRIDE;                                          \
        const volatile double *at = array;                                                         \
        double sum[8] = {0};                                                                       \
                                                                                                   \
        for (; count >= 16 && steps; steps--) {                                                    \
            EIGHT(ADD)                                                                             \
            EIGHT(ADD_HIGH)                                                                        \
            at += 16 * STRIDE;                                                                     \
            at = at == end ? array : at;                                                           \
        }                                                                                          \
        for (; count == 8 && steps; steps--) {                                                     \
            EIGHT(ADD)                                                                             \
            EIGHT(ADD)                                                                             \
        }                                                                                          \
        for (; count == 4 && steps; steps--) {                                                     \
            EIGHT(ADD_4)                                                                           \
            EIGHT(ADD_4)                                                                           \
        }                                                                                          \
        for (; count == 2 && steps; steps--) {                                                     \
            EIGHT(ADD_2)                                                                           \
            EIGHT(ADD_2)                                                                           \
        }                                                                                          \
        kept_sum = sum_of(sum);                                                                    \
    }
KERNEL(1)
KERNEL(2)
KERNEL(4)
KERNEL(8)
KERNEL(16)
KERNEL(32)
KERNEL(64)

/*
 * Reads 16 words a step of `streams` arrays of `count` accesses each, one behind the other,
 * 16/streams of each.
 */
#define KERNEL_STREAMS(streams, stride)                                                            \
    static void read_streams_##streams##_##stride(const double *array, uint64_t count,             \
                                                  uint64_t steps)                                  \
    {                                                                                              \
        enum { EACH = 16 / (streams), STRIDE = stride };                                           \
        const double *const end = array + count * STRIDE;                                          \
        const volatile double *from = array;                                                       \
        double sum[8] = {0};                                                                       \
                                                                                                   \
        for (; steps; steps--) {                                                                   \
            for (int stream = 0; stream < (streams); stream++) {                                   \
                const volatile double *at = from + (uint64_t)stream * count * STRIDE;              \
                                                                                                   \
                ADD(0) ADD(1) ADD(2) ADD(3) if (EACH == 8)                                         \
                {                                                                                  \
                    ADD(4) ADD(5) ADD(6) ADD(7)                                                    \
                }                                                                                  \
            }                                                                                      \
            from += EACH * STRIDE;                                                                 \
            from = from == end ? array : from;                                                     \
        }                                                                                          \
        kept_sum = sum_of(sum);                                                                    \
    }
KERNEL_STREAMS(2, 1)
KERNEL_STREAMS(2, 8)
KERNEL_STREAMS(4, 1)
KERNEL_STREAMS(4, 8)

/* A pass or more of a strided point, or of streams. */
static void read_arrays(const struct map_point *point, const double *array, uint64_t steps)
{
    static void (*const kernels[])(const double *, uint64_t, uint64_t) = {
        read_1, read_2, read_4, read_8, read_16, read_32, read_64};
    static void (*const of_streams[2][2])(const double *, uint64_t, uint64_t) = {
        {read_streams_2_1, read_streams_2_8}, {read_streams_4_1, read_streams_4_8}};
    size_t log = 0;

    if (point->probe == MAP_STREAMS) {
        of_streams[point->streams / 4][point->step / 8](
            array, map_pass_accesses(point) / point->streams, steps);
        return;
    }
    while (UINT32_C(1) << log < point->step)
        log++;
    kernels[log](array, map_pass_accesses(point), steps);
}

/* One word at each start, or blocks of a multiple of 4 words. */
static void read_starts(const struct map_point *point, const double *array, const uint32_t *starts,
                        size_t count)
{
    enum { STRIDE = 1 };
    double sum[8] = {0};

    for (size_t i = 0; point->step == 1 && i + 8 <= count; i += 8) {
#define ADD_START(k) sum[k] += *(const volatile double *)(array + starts[i + (k)]);
        EIGHT(ADD_START)
    }
    for (size_t i = 0; point->step > 1 && i < count; i++) {
        const volatile double *at = array + starts[i];

        for (uint32_t word = 0; word < point->step; word += 4, at += 4) {
            ADD(0) ADD(1) ADD(2) ADD(3)
        }
    }
    kept_sum = sum_of(sum);
}

/* --------------------------------------------------------------------- one run */

struct bench {
    unsigned char *buffer;
    size_t buffer_bytes;
    struct psnap_rng rng;
    double *times;     /* [point][RUNS_MAX], seconds of an access */
    uint32_t **starts; /* [point], of Apex-MAP and chains, made when first needed */
};

/* Somewhere in the buffer, at the beginning of a page. */
static double *place_array(struct bench *bench, uint64_t bytes)
{
    const uint64_t pages = (bench->buffer_bytes - bytes) / PAGE_BYTES;
    void *at = bench->buffer + psnap_rng_below(&bench->rng, pages) * PAGE_BYTES;

    return at;
}

/* Seconds of `steps` of a pass. */
static double time_steps(const struct map_point *point, const double *array, uint64_t steps)
{
    const double begin = psnap_reals_now();

    read_arrays(point, array, steps);
    return psnap_reals_now() - begin;
}

/*
 * Passes until they get no faster: a shared cache that takes what nearer ones give up fills
 * slowly, and after one pass through 3 MB half of it was still missing here. Until SLOWER
 * passes have not beaten the fastest one, for at most WARM_SECONDS. Returns what the last of them
 * took.
 */
static double warm(const struct map_point *point, const double *array, uint64_t pass)
{
    const double begin = psnap_reals_now();
    double fastest = INFINITY, last;
    int slower = 0;

    do {
        last = time_steps(point, array, pass);
        slower = last < BETTER * fastest ? 0 : slower + 1;
        fastest = fmin(fastest, last);
    } while (slower < SLOWER && psnap_reals_now() - begin < WARM_SECONDS);
    return last;
}

static double time_arrays(struct bench *bench, const struct map_point *point)
{
    const double *array = place_array(bench, point->size_bytes);
    const uint64_t count = map_pass_accesses(point);
    const uint64_t pass = count < 16 ? 1 : count / 16; /* steps */
    const uint64_t at_once = (1 + SHORT_STEPS / pass) * pass;
    const double seconds = warm(point, array, at_once) * (double)pass / (double)at_once;
    const double passes = 1 + floor(RUN_SECONDS / fmax(seconds, 1e-9));
    const uint64_t steps = pass * (uint64_t)passes;

    return time_steps(point, array, steps) / (double)steps / 16;
}

/* Each run reads another part of the list, as the last one has left the caches. */
static double time_starts(struct bench *bench, const struct map_point *point,
                          const uint32_t *starts, uint32_t run)
{
    const double *array = place_array(bench, point->size_bytes);
    const size_t part = map_start_count(point) / MAP_APEX_PARTS;
    const uint32_t *const from = starts + run % MAP_APEX_PARTS * part;
    double begin;

    read_starts(point, array, starts + (run + 1) % MAP_APEX_PARTS * part, part);
    begin = psnap_reals_now();
    read_starts(point, array, from, part);
    return (psnap_reals_now() - begin) / (double)part / (1.0 + point->step);
}

/* Writing the chain, twice, warms the caches; words are 0 again behind it, as others add them. */
static double time_chain(struct bench *bench, const struct map_point *point, const uint32_t *links)
{
    double *array = place_array(bench, point->size_bytes);
    const size_t count = map_start_count(point);
    void *at = array + links[0];
    double begin, seconds;

    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < count; i++)
            *(void **)(array + links[i]) = array + links[i + 1 < count ? i + 1 : 0];
    begin = psnap_reals_now();
    for (int i = 0; i < CHAIN_ACCESSES; i++)
        at = *(void *volatile *)at;
    seconds = psnap_reals_now() - begin;
    memset(array, 0, point->size_bytes);
    return seconds / CHAIN_ACCESSES;
}

/* --------------------------------------------------------------------- rounds */

/* The median so far and its spread, from a copy of the times. */
static void settle(struct map_point *point, const double *times)
{
    double sorted[RUNS_MAX];
    const size_t n = point->runs;

    memcpy(sorted, times, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, psnap_reals_compare);
    point->seconds = n % 2 ? sorted[n / 2] : 0.5 * (sorted[n / 2 - 1] + sorted[n / 2]);
    point->spread = 0.5 * (sorted[3 * n / 4] - sorted[n / 4]) / point->seconds;
}

/* The standard error of the median of n normal values is 1.2533 sigma / sqrt(n), and half the
 * interquartile range is 0.6745 sigma. */
static bool is_stable(const struct map_point *point, double tolerance)
{
    return point->runs >= RUNS_MIN &&
           1.2533 / 0.6745 * point->spread / sqrt(point->runs) < tolerance;
}

static enum psnap_status measure_point(struct bench *bench, struct maps *maps, size_t i,
                                       struct psnap_error *error)
{
    struct map_point *point = &maps->points[i];
    double *times = bench->times + i * RUNS_MAX;
    const size_t starts = map_start_count(point);

    if ((point->probe == MAP_APEX || point->probe == MAP_CHAIN) && !bench->starts[i]) {
        bench->starts[i] = malloc((starts + 1) * sizeof *bench->starts[i]);
        if (!bench->starts[i])
            return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for random places");
        map_starts(point, bench->starts[i], starts);
    }
    times[point->runs] = point->probe == MAP_APEX
                             ? time_starts(bench, point, bench->starts[i], point->runs)
                         : point->probe == MAP_CHAIN ? time_chain(bench, point, bench->starts[i])
                                                     : time_arrays(bench, point);
    point->runs++;
    settle(point, times);
    return PSNAP_OK;
}

static enum psnap_status measure_rounds(struct bench *bench, struct maps *maps, size_t *order,
                                        const struct maps_settings *settings,
                                        struct psnap_error *error)
{
    const double begin = psnap_reals_now();
    enum psnap_status status = PSNAP_OK;
    size_t unstable = maps->count;
    double share = 0;

    for (uint32_t round = 0; round < settings->rounds_max && unstable && !status && share < 1;
         round++) {
        psnap_rng_shuffle(&bench->rng, order, maps->count, sizeof *order);
        maps->origin.rounds = round + 1;
        for (size_t i = 0; i < maps->count && !status && (share < 1 || !round); i++) {
            if (!is_stable(&maps->points[order[i]], settings->tolerance))
                status = measure_point(bench, maps, order[i], error);
            share = (psnap_reals_now() - begin) / settings->budget_seconds;
            if (settings->tell)
                settings->tell(settings->context, round + 1, unstable, share);
        }
        unstable = 0;
        for (size_t i = 0; i < maps->count; i++)
            unstable += !is_stable(&maps->points[i], settings->tolerance);
    }
    maps->origin.seconds = psnap_reals_now() - begin;
    return status;
}

/* ------------------------------------------------------------------------ bench */

static enum psnap_status bench_init(struct bench *bench, const struct maps *maps, uint64_t seed,
                                    struct psnap_error *error)
{
    const uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t largest = 0;

    for (size_t i = 0; i < maps->count; i++)
        if (maps->points[i].size_bytes > largest)
            largest = maps->points[i].size_bytes;
    bench->buffer_bytes = largest + OFFSETS_BYTES;
    if (bench->buffer_bytes > memory / 2)
        return psnap_error_set(error, PSNAP_ERROR_LIMIT,
                               "arrays of %zu MB are more than half of this computer's memory: a "
                               "smaller --largest",
                               bench->buffer_bytes >> 20);
    bench->times = calloc(maps->count + 1, RUNS_MAX * sizeof *bench->times);
    bench->buffer =
        mmap(NULL, bench->buffer_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (bench->buffer == MAP_FAILED)
        bench->buffer = NULL;
    bench->starts = calloc(maps->count + 1, sizeof *bench->starts);
    if (!bench->buffer || !bench->times || !bench->starts)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for arrays of %zu MB",
                               bench->buffer_bytes >> 20);
    madvise(bench->buffer, bench->buffer_bytes, MADV_NOHUGEPAGE);
    for (size_t at = 0; at < bench->buffer_bytes; at += PAGE_BYTES) /* each has a frame */
        bench->buffer[at] = 0;
    psnap_rng_init(&bench->rng, seed);
    return PSNAP_OK;
}

static void bench_release(struct bench *bench, size_t points)
{
    if (bench->buffer)
        munmap(bench->buffer, bench->buffer_bytes);
    for (size_t i = 0; bench->starts && i < points; i++)
        free(bench->starts[i]);
    free(bench->starts);
    free(bench->times);
}

enum psnap_status maps_measure(struct maps *maps, const struct maps_settings *settings,
                               struct psnap_error *error)
{
    struct bench bench = {0};
    size_t *order = calloc(maps->count + 1, sizeof *order);
    cpu_set_t before, one;
    bool is_pinned = false;
    enum psnap_status status = bench_init(&bench, maps, settings->seed, error);

    if (!order)
        status = psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for points");
    for (size_t i = 0; i < maps->count && !status; i++)
        order[i] = i;
    maps->origin.cpu = sched_getcpu();
    if (maps->origin.cpu >= 0 && maps->origin.cpu < CPU_SETSIZE &&
        sched_getaffinity(0, sizeof before, &before) == 0) {
        CPU_ZERO(&one);
        CPU_SET((size_t)maps->origin.cpu, &one);
        is_pinned = sched_setaffinity(0, sizeof one, &one) == 0;
    }
    if (!status)
        status = measure_rounds(&bench, maps, order, settings, error);
    if (is_pinned)
        sched_setaffinity(0, sizeof before, &before);
    else
        maps->origin.cpu = -1;
    bench_release(&bench, maps->count);
    free(order);
    return status;
}
