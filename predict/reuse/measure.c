/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Accesses to distances, distances to counts: each thread has an LRU stack (stack.h), or one for
 * each set of a cache (sets.h), each row of each view a histogram of what its accesses found there.
 *
 * A piece of a block, of one thread, goes through three plain loops: accesses to lines, lines to
 * distances, distances to counts. Between the first two an access that overlaps several lines is
 * several; behind them it is one again, with the largest of their distances.
 *
 * Runs go repetition by repetition (stack_run.c): accesses of a place that have the same far
 * distance one after the other are counted at once.
 *
 * A sample begins with all lines and is halved whenever it has more lines than SAMPLE_LINES, until
 * it has the rate asked for: so few lines as that would be of a program that has few tell little.
 * What rows have of accesses outside is estimated, at each rate, by those inside, whose counts are
 * scaled so that the row's total is what it is (SHARDS: fixed-size, and adjusted). Accesses that
 * are not of the sample and of a row that none of the sample ever was of are counted as cold.
 *
 * Of an access to several lines of which some are not on top of a stack with a sample, the first
 * such line stands for all: with the largest distance, accesses that have one line in the sample
 * and another outside would have to be guessed.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/room.h"
#include "predict/reuse/distances.h"
#include "predict/reuse/measure.h"
#include "predict/reuse/sets.h"
#include "predict/reuse/stack.h"

/*
 * SAMPLE_LINES trades time and memory, which are those of up to so many lines more, for errors of
 * programs with few lines: a share of the lines that a sample of n estimates is off by up to
 * 0.5 / sqrt(n), 0.008 of 4096. It is a choice: REUSE.md has errors measured with this number
 * alone.
 */
enum { PIECE = 1024, FIRST_ROWS = 64, SAMPLE_LINES = 4096 };

static_assert(STACK_COLD == PSNAP_DISTANCE_COLD, "counted as it comes");

struct memory { /* of a thread; both NULL: no accesses yet */
    struct stack *stack;
    struct sets *sets;
};

struct first { /* touch of a line, in a chunk */
    uint64_t line;
    uint32_t ref, tag;
    uint16_t thread;
    bool joins; /* of the same access as the one before */
};

struct measure {
    const struct psnap_reuse_options *options;
    bool is_chunk;
    unsigned line_digits; /* 2^these bytes are a line */
    double rate;          /* of the sample now; 1: all lines */
    struct measure_view views[PSNAP_VIEW_COUNT];
    struct memory memories[PSNAP_THREADS_MAX];
    uint16_t threads[PSNAP_THREADS_MAX]; /* that have a memory */
    uint32_t thread_count;
    struct first *firsts; /* of a chunk */
    size_t first_count, first_room;
    uint64_t *lines; /* of the piece, in turn */
    uint64_t *distances;
};

/* --------------------------------------------------------------------- rows */

static struct measure_row *new_row(struct measure_view *view, uint32_t row)
{
    if (row >= view->room) {
        const uint64_t twice = 2 * (uint64_t)view->room;
        const uint64_t wanted = row < twice ? twice : row + (uint64_t)FIRST_ROWS;
        const uint32_t room = wanted < UINT32_MAX ? (uint32_t)wanted : UINT32_MAX;

        if (row >= room || !psnap_resize(&view->rows, room, sizeof *view->rows))
            return NULL;
        memset(view->rows + view->room, 0, (room - view->room) * sizeof *view->rows);
        view->room = room;
    }
    if (row >= view->count)
        view->count = row + 1;
    return &view->rows[row];
}

static inline bool add(struct psnap_distances **distances, uint64_t distance, uint64_t count)
{
    if (!*distances)
        *distances = psnap_distances_new();
    return *distances && distances_add(*distances, distance, count);
}

static bool count_other(const struct measure *measure, struct measure_row *row, uint64_t distance,
                        uint64_t times)
{
    if (distance == STACK_COLD && measure->is_chunk)
        return true; /* measure_merge() will know */
    if (distance == STACK_OUTSIDE) {
        row->outside += times;
        return true;
    }
    if (measure->options->sample > 0)
        return add(&row->sampled, distance == STACK_COLD ? distance : distance & ~STACK_SAMPLED,
                   times);
    return add(&row->known, distance, times);
}

static inline bool count(struct measure *measure, enum psnap_view view, uint32_t row,
                         uint64_t distance, uint64_t times)
{
    struct measure_view *of = &measure->views[view];
    struct measure_row *at = row < of->count ? &of->rows[row] : new_row(of, row);

    if (!at)
        return false;
    return distance < STACK_SAMPLED ? add(&at->known, distance, times)
                                    : count_other(measure, at, distance, times);
}

/* Of the distances of an access's lines that of the access. */
static inline uint64_t fold(const uint64_t *distances, uint64_t more)
{
    uint64_t largest = distances[0];

    for (uint64_t k = 1; k <= more && largest < STACK_SAMPLED; k++)
        largest = distances[k] > largest ? distances[k] : largest;
    return largest;
}

/* ------------------------------------------------------------------ memories */

static struct memory *memory_of(struct measure *measure, uint16_t thread)
{
    const struct psnap_reuse_options *options = measure->options;
    const uint16_t own = options->together ? 0 : thread;
    struct memory *memory = &measure->memories[own];

    if (memory->stack || memory->sets)
        return memory;
    if (options->sets)
        memory->sets = sets_new(options->sets, options->ways);
    else
        memory->stack = stack_new();
    if (!memory->stack && !memory->sets)
        return NULL;
    if (memory->stack && measure->rate < 1)
        stack_sample(memory->stack, measure->rate);
    measure->threads[measure->thread_count++] = own;
    return memory;
}

/* Lines to distances. */
static bool touch_lines(struct measure *measure, uint16_t thread, size_t n)
{
    struct memory *memory = memory_of(measure, thread);

    if (!memory)
        return false;
    if (memory->stack)
        return stack_touch_all(memory->stack, measure->lines, n, measure->distances);
    sets_touch_all(memory->sets, measure->lines, n, measure->distances);
    return true;
}

static bool keep_first(struct measure *measure, const struct first *first)
{
    struct first *room = psnap_with_room(measure->firsts, &measure->first_room,
                                         measure->first_count + 1, sizeof *room);

    if (!room)
        return false;
    measure->firsts = room;
    room[measure->first_count++] = *first;
    return true;
}

/* -------------------------------------------------------------------- sample */

/* Adds `more` accesses with the distances of a sample, in shares as whole as they can be. */
static bool add_scaled(struct measure_row *row, const struct psnap_distances *sample, uint64_t more)
{
    const uint64_t all = psnap_distances_accesses(sample);
    struct psnap_distance_count each = {0};
    uint64_t seen = 0, added = 0;
    bool fits = true;

    while (fits && psnap_distances_next(sample, &each)) {
        uint64_t due;
        seen += each.count;
        due = seen == all ? more : (uint64_t)((double)seen / (double)all * (double)more);
        if (due > added) {
            fits = add(&row->known, each.distance, due - added);
            added = due;
        }
    }
    return fits && (added == more || add(&row->known, STACK_COLD, more - added));
}

/* The rows' accesses outside the sample, by those of the row in it; rows without any of these wait.
 */
static bool estimate_rows(struct measure *measure)
{
    bool fits = true;

    for (int view = 0; view < PSNAP_VIEW_COUNT; view++)
        for (uint32_t i = 0; i < measure->views[view].count && fits; i++) {
            struct measure_row *row = &measure->views[view].rows[i];
            if (!row->sampled)
                continue;
            fits = add_scaled(row, row->sampled,
                              row->outside + psnap_distances_accesses(row->sampled));
            psnap_distances_free(row->sampled);
            row->sampled = NULL;
            row->outside = 0;
        }
    return fits;
}

static bool thin(struct measure *measure)
{
    uint64_t lines = 0;
    bool fits = true;

    if (measure->options->sample == 0 || measure->rate <= measure->options->sample)
        return true;
    for (uint32_t i = 0; i < measure->thread_count; i++)
        lines += stack_lines(measure->memories[measure->threads[i]].stack);
    for (; lines > SAMPLE_LINES && measure->rate > measure->options->sample; lines /= 2) {
        fits = fits && estimate_rows(measure);
        measure->rate = fmax(measure->rate / 2, measure->options->sample);
        for (uint32_t i = 0; i < measure->thread_count; i++)
            stack_sample(measure->memories[measure->threads[i]].stack, measure->rate);
    }
    return fits;
}

/* ------------------------------------------------------------------- a piece */

/* The last byte of an access that counts: of addresses the first is the only one. */
static inline uint64_t last_byte(const struct measure *measure, const struct psnap_access *access)
{
    return measure->line_digits ? access->address + access->size - 1 : access->address;
}

/* Lines that an access has behind its first. */
static inline uint64_t more_lines(const struct measure *measure, const struct psnap_access *access)
{
    const uint64_t first = access->address >> measure->line_digits;
    const uint64_t last = last_byte(measure, access) >> measure->line_digits;

    return (last - first) & (UINT64_MAX >> measure->line_digits);
}

/* The first line of each access; whether one has more. */
static bool find_lines(const struct measure *measure, const struct psnap_access *piece, size_t n)
{
    uint64_t crossed = 0;

    for (size_t i = 0; i < n; i++) {
        measure->lines[i] = piece[i].address >> measure->line_digits;
        crossed |= (piece[i].address ^ last_byte(measure, &piece[i])) >> measure->line_digits;
    }
    return crossed != 0;
}

/* Lines that the accesses of a piece have, all of them listed. */
static size_t list_lines(struct measure *measure, const struct psnap_access *piece, size_t n)
{
    const uint64_t mask = UINT64_MAX >> measure->line_digits;
    size_t count = 0;

    for (size_t i = 0; i < n; i++) {
        const uint64_t first = piece[i].address >> measure->line_digits;
        const uint64_t more = more_lines(measure, &piece[i]);
        for (uint64_t k = 0; k <= more; k++)
            measure->lines[count++] = (first + k) & mask;
    }
    return count;
}

static void fold_distances(const struct measure *measure, const struct psnap_access *piece,
                           size_t n)
{
    for (size_t i = 0, at = 0; i < n; i++) {
        const uint64_t more = more_lines(measure, &piece[i]);
        measure->distances[i] = fold(measure->distances + at, more);
        at += more + 1;
    }
}

/* Keeps the first touches of a piece, of a chunk. */
static bool keep_firsts(struct measure *measure, const struct psnap_access *piece,
                        const uint32_t *tags, size_t n)
{
    bool fits = true;

    for (size_t i = 0, at = 0; i < n; i++) {
        struct first first = {0, piece[i].ref, tags ? tags[i] : 0, piece[i].thread, false};
        for (const size_t end = at + more_lines(measure, &piece[i]); at <= end && fits; at++) {
            if (measure->distances[at] != STACK_COLD)
                continue;
            first.line = measure->lines[at];
            fits = keep_first(measure, &first);
            first.joins = true;
        }
    }
    return fits;
}

/* At most PIECE accesses of one thread. */
static bool take_piece(struct measure *measure, const struct psnap_access *piece,
                       const uint32_t *tags, size_t n)
{
    const bool crossed = find_lines(measure, piece, n);
    const size_t lines = crossed ? list_lines(measure, piece, n) : n;
    const uint64_t *distances = measure->distances;
    bool fits = touch_lines(measure, piece->thread, lines);

    if (!fits || (measure->is_chunk && !keep_firsts(measure, piece, tags, n)))
        return false;
    if (crossed)
        fold_distances(measure, piece, n);
    for (size_t i = 0; i < n && fits; i++)
        fits = count(measure, PSNAP_VIEW_REF, piece[i].ref, distances[i], 1);
    for (size_t i = 0; i < n && measure->options->by_thread && fits; i++)
        fits = count(measure, PSNAP_VIEW_THREAD, piece->thread, distances[i], 1);
    for (size_t i = 0; i < n && tags && fits; i++)
        fits = count(measure, PSNAP_VIEW_TAG, tags[i], distances[i], 1);
    return fits;
}

bool measure_accesses(struct measure *measure, const struct psnap_access *accesses,
                      const uint32_t *tags, size_t n)
{
    bool fits = true;

    for (size_t some; n && fits; n -= some) {
        some = psnap_accesses_of_thread(accesses, n < PIECE ? n : PIECE);
        fits = take_piece(measure, accesses, tags, some) && thin(measure);
        accesses += some;
        tags = tags ? tags + some : NULL;
    }
    return fits;
}

/* --------------------------------------------------------------------- runs */

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
    struct measure_row *at = new_row(&measure->views[view], row);

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
    return count(measure, PSNAP_VIEW_REF, access->ref, distance, times) &&
           (!measure->options->by_thread ||
            count(measure, PSNAP_VIEW_THREAD, access->thread, distance, times));
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
        if (!keep_first(measure, &first))
            return false;
        first.joins = true;
    }
    return true;
}

static bool take_run(struct measure *measure, const struct psnap_run *run)
{
    struct memory *memory = memory_of(measure, run->first->thread);
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
            const uint64_t distance = fold(distances + at, more);
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
        fits = take_run(measure, &part) && thin(measure);
    }
    return fits;
}

/* -------------------------------------------------------------------- chunks */

static bool count_first(struct measure *chunk, const struct first *first, uint64_t distance)
{
    const uint32_t rows[PSNAP_VIEW_COUNT] = {
        [PSNAP_VIEW_REF] = first->ref,
        [PSNAP_VIEW_THREAD] = first->thread,
        [PSNAP_VIEW_TAG] = first->tag,
    };
    const bool wanted[PSNAP_VIEW_COUNT] = {
        [PSNAP_VIEW_REF] = true,
        [PSNAP_VIEW_THREAD] = chunk->options->by_thread,
        [PSNAP_VIEW_TAG] = chunk->options->tagger != NULL,
    };
    bool fits = true;

    for (int view = 0; view < PSNAP_VIEW_COUNT && fits; view++)
        fits = !wanted[view] || /* its rows are there since the touch */
               add(&chunk->views[view].rows[rows[view]].known, distance, 1);
    return fits;
}

/* The distance of the access that the first one of `count` first touches, 1 or more, is of; returns
 * how many are of this access, 0: out of memory. */
static size_t find_distance(struct measure *whole, const struct first *firsts, size_t count,
                            uint64_t *distance)
{
    enum { AHEAD = 16 };
    size_t i = 0;

    *distance = 0;
    do {
        const struct memory *memory = memory_of(whole, firsts[i].thread);
        uint64_t of_line;
        if (!memory)
            return 0;
        if (AHEAD < count - i)
            stack_expect(memory->stack, firsts[i + AHEAD].line);
        of_line = stack_leave(memory->stack, firsts[i].line);
        *distance = of_line > *distance ? of_line : *distance;
        i++;
    } while (i < count && firsts[i].joins);
    return i;
}

bool measure_merge(struct measure *whole, struct measure *chunk)
{
    const struct first *firsts = chunk->firsts;
    bool fits = true;

    for (uint32_t i = 0; i < whole->thread_count && fits; i++)
        fits = stack_settle(whole->memories[whole->threads[i]].stack);
    for (size_t i = 0, n; i < chunk->first_count && fits; i += n) {
        uint64_t distance;
        n = find_distance(whole, firsts + i, chunk->first_count - i, &distance);
        fits = n && count_first(chunk, firsts + i, distance);
    }
    for (uint32_t i = 0; i < chunk->thread_count && fits; i++) {
        const struct memory *memory = memory_of(whole, chunk->threads[i]);
        fits = memory && stack_join(memory->stack, chunk->memories[chunk->threads[i]].stack);
    }
    return fits;
}

uint64_t measure_first_touches(const struct measure *chunk)
{
    return chunk->first_count;
}

void measure_clear(struct measure *chunk)
{
    chunk->first_count = 0;
    for (uint32_t i = 0; i < chunk->thread_count; i++)
        stack_clear(chunk->memories[chunk->threads[i]].stack);
}

bool measure_add_counts(struct measure *whole, const struct measure *chunk)
{
    for (int view = 0; view < PSNAP_VIEW_COUNT; view++)
        for (uint32_t i = 0; i < chunk->views[view].count; i++) {
            const struct psnap_distances *more = chunk->views[view].rows[i].known;
            struct measure_row *row = new_row(&whole->views[view], i);
            if (row && more && !row->known)
                row->known = psnap_distances_new();
            if (!row || (more && (!row->known || !psnap_distances_add_all(row->known, more))))
                return false;
        }
    return true;
}

bool measure_estimate(struct measure *measure)
{
    bool fits = estimate_rows(measure);

    for (int view = 0; view < PSNAP_VIEW_COUNT; view++)
        for (uint32_t i = 0; i < measure->views[view].count && fits; i++) {
            struct measure_row *row = &measure->views[view].rows[i];
            fits = !row->outside || add(&row->known, STACK_COLD, row->outside);
            row->outside = 0;
        }
    return fits;
}

/* ----------------------------------------------------------------------- all */

struct measure *measure_new(const struct psnap_reuse_options *options, bool is_chunk)
{
    const uint64_t line = options->line_bytes;
    /* a line of 2 bytes: an access of 64 has 33 at most */
    const size_t lines = line == 1 ? 1 : PSNAP_ACCESS_SIZE_MAX / line + 2;
    struct measure *measure = calloc(1, sizeof *measure);

    if (!measure)
        return NULL;
    measure->options = options;
    measure->is_chunk = is_chunk;
    measure->rate = 1;
    measure->line_digits = (unsigned)__builtin_ctzll(line);
    measure->lines = malloc(PIECE * lines * sizeof *measure->lines);
    measure->distances = malloc(PIECE * lines * sizeof *measure->distances);
    if (measure->lines && measure->distances)
        return measure;
    measure_free(measure);
    return NULL;
}

void measure_free(struct measure *measure)
{
    if (!measure)
        return;
    for (uint32_t i = 0; i < measure->thread_count; i++) {
        stack_free(measure->memories[measure->threads[i]].stack);
        sets_free(measure->memories[measure->threads[i]].sets);
    }
    for (int view = 0; view < PSNAP_VIEW_COUNT; view++) {
        for (uint32_t i = 0; i < measure->views[view].count; i++) {
            psnap_distances_free(measure->views[view].rows[i].known);
            psnap_distances_free(measure->views[view].rows[i].sampled);
        }
        free(measure->views[view].rows);
    }
    free(measure->firsts);
    free(measure->lines);
    free(measure->distances);
    free(measure);
}

uint32_t measure_threads(const struct measure *measure)
{
    return measure->thread_count;
}

bool measure_is_full(const struct measure *measure)
{
    for (uint32_t i = 0; i < measure->thread_count; i++) {
        const struct memory *memory = &measure->memories[measure->threads[i]];
        if (memory->stack && stack_is_full(memory->stack))
            return true;
    }
    return false;
}

uint64_t measure_lines(const struct measure *measure)
{
    uint64_t lines = 0;

    for (uint32_t i = 0; i < measure->thread_count; i++) {
        const struct memory *memory = &measure->memories[measure->threads[i]];
        lines += memory->stack ? stack_lines(memory->stack) : sets_lines(memory->sets);
    }
    return measure->rate < 1 ? (uint64_t)llround((double)lines / measure->rate) : lines;
}

const struct measure_view *measure_view(const struct measure *measure, enum psnap_view view)
{
    return &measure->views[view];
}
