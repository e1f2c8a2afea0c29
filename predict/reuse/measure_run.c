/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs to distances and counts, repetition by repetition (stack_run.c): those of the accesses of a
 * place that have the same far distance one after the other are counted at once.
 */
#include "predict/reuse/measure_parts.h"

/*
 * A run of fewer repetitions than RUN_MIN, or accesses than RUN_ACCESSES_MIN, is put access by
 * access: it would not earn back that its places are compared with each other at its begin and its
 * lines put back into the stack at its end. Larger numbers leave short inner loops to the slower
 * way, smaller ones pay for begin and end more often. They are choices that were not varied in a
 * measurement.
 */
enum { RUN_MIN = 8, RUN_ACCESSES_MIN = 48, SAMPLE_RUN = 1 << 14 };

/* The touches of a repetition: of each access one, or two if it may cross to the next line. */
struct touches {
    struct stack_cursor cursors[STACK_RUN_MAX];
    size_t of_access[STACK_RUN_MAX + 1]; /* first touch of each, and of none behind the last */
    size_t count;
};

/* False: there are too many, or an access may have more than two lines. */
static bool list_touches(struct touches *touches, const struct psnap_run *run, uint64_t line_bytes)
{
    touches->count = 0;
    for (size_t k = 0; k < run->width; k++) {
        const struct psnap_access *first = &run->first[k];
        const uint64_t mixed = (uint64_t)run->strides[k] | line_bytes;
        const uint64_t step = mixed & (0 - mixed); /* of the offsets in a line */
        const bool may_cross = line_bytes > 1 && (first->address & (step - 1)) + first->size > step;

        if (touches->count + 1 + may_cross > STACK_RUN_MAX ||
            (line_bytes > 1 && first->size > line_bytes))
            return false;
        touches->of_access[k] = touches->count;
        touches->cursors[touches->count++] = (struct stack_cursor){first->address, run->strides[k]};
        if (may_cross)
            touches->cursors[touches->count++] =
                (struct stack_cursor){first->address + first->size - 1, run->strides[k]};
    }
    touches->of_access[run->width] = touches->count;
    return true;
}

bool measure_takes_run(const struct psnap_reuse_options *options, const struct psnap_run *run)
{
    struct touches touches;

    if (run->columns || options->tagger || options->sets || run->count < RUN_MIN ||
        run->count < run->width || run->count * run->width < RUN_ACCESSES_MIN ||
        run->width > STACK_RUN_MAX)
        return false;
    for (size_t k = 1; k < run->width; k++)
        if (run->first[k].thread != run->first->thread)
            return false;
    return list_touches(&touches, run, options->line_bytes);
}

/* The histograms of an access: of its reference and, if that is counted, of its thread. */
struct counters {
    struct psnap_distances *ref, *thread;
};

static struct psnap_distances *known_of(struct measure *measure, enum psnap_view view, uint32_t row)
{
    struct measure_row *at = measure_new_row(&measure->views[view], row);

    if (at && !at->known)
        at->known = psnap_distances_new();
    return at ? at->known : NULL;
}

static bool find_counters(struct measure *measure, const struct psnap_run *run,
                          struct counters *counters)
{
    const bool by_thread = measure->options->by_thread;

    for (size_t k = 0; k < run->width; k++) {
        const struct psnap_access *access = &run->first[k];
        counters[k].ref = known_of(measure, PSNAP_VIEW_REF, access->ref);
        counters[k].thread =
            by_thread ? known_of(measure, PSNAP_VIEW_THREAD, access->thread) : NULL;
        if (!counters[k].ref || (by_thread && !counters[k].thread))
            return false;
    }
    return true;
}

static inline bool count_near(const struct counters *counters, uint64_t distance, uint64_t times)
{
    return distances_add(counters->ref, distance, times) &&
           (!counters->thread || distances_add(counters->thread, distance, times));
}

static bool count_far(struct measure *measure, const struct psnap_access *access, uint64_t distance,
                      uint64_t times)
{
    return measure_count(measure, PSNAP_VIEW_REF, access->ref, distance, times) &&
           (!measure->options->by_thread ||
            measure_count(measure, PSNAP_VIEW_THREAD, access->thread, distance, times));
}

/* Keeps the first touches of an access, of a chunk. */
static bool keep_run_firsts(struct measure *measure, const struct psnap_access *access,
                            const uint64_t *lines, const uint64_t *distances, size_t n)
{
    struct first first = {0, access->ref, 0, access->thread, false};

    for (size_t i = 0; i < n; i++) {
        if (distances[i] != STACK_COLD)
            continue;
        first.line = lines[i];
        if (!measure_keep_first(measure, &first))
            return false;
        first.joins = true;
    }
    return true;
}

static bool take_run(struct measure *measure, const struct psnap_run *run)
{
    struct memory *memory = measure_memory(measure, run->first->thread);
    struct touches touches;
    struct stack_run steps;
    struct counters counters[STACK_RUN_MAX];
    uint64_t distances[STACK_RUN_MAX], far[STACK_RUN_MAX], times[STACK_RUN_MAX] = {0}, n;
    bool fits = memory && list_touches(&touches, run, measure->options->line_bytes) &&
                find_counters(measure, run, counters);

    if (!fits)
        return false;
    stack_run_begin(&steps, memory->stack, touches.cursors, touches.count, run->count,
                    measure->line_digits);
    while (fits && (n = stack_run_next(&steps, distances)) != 0) {
        fits = n != STACK_FAILED;
        for (size_t k = 0; k < run->width && fits; k++) {
            const size_t at = touches.of_access[k], more = touches.of_access[k + 1] - at - 1;
            const uint64_t distance = measure_fold(distances + at, more);
            if (distance == STACK_COLD && measure->is_chunk)
                fits = keep_run_firsts(measure, &run->first[k], steps.lines + at, distances + at,
                                       more + 1);
            if (distance < DISTANCES_NEAR) {
                fits = fits && count_near(&counters[k], distance, n);
                continue;
            }
            if (times[k] && distance != far[k]) {
                fits = fits && count_far(measure, &run->first[k], far[k], times[k]);
                times[k] = 0;
            }
            far[k] = distance;
            times[k] += n;
        }
    }
    for (size_t k = 0; k < run->width && fits; k++)
        fits = !times[k] || count_far(measure, &run->first[k], far[k], times[k]);
    return stack_run_end(&steps) && fits;
}

/* With a sample it is cut into runs after which the sample may be made smaller. */
bool measure_run(struct measure *measure, const struct psnap_run *run)
{
    const uint64_t most = measure->options->sample > 0 ? SAMPLE_RUN / run->width + 1 : run->count;
    struct psnap_access first[STACK_RUN_MAX];
    struct psnap_run part = *run;
    bool fits = true;

    part.first = first;
    for (uint64_t done = 0; done < run->count && fits; done += part.count) {
        for (size_t k = 0; k < run->width; k++) {
            first[k] = run->first[k];
            first[k].address = psnap_run_address(run, done, k);
        }
        part.count = run->count - done < most ? run->count - done : most;
        fits = take_run(measure, &part) && measure_thin(measure);
    }
    return fits;
}
