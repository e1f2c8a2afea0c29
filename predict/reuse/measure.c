/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Accesses to distances, distances to counts: each thread has an LRU stack (stack.h), or one for
 * each set of a cache (sets.h), each row of each view a histogram of what its accesses found there.
 *
 * A piece of a block, of one thread, goes through three plain loops: accesses to lines, lines to
 * distances, distances to counts. Between the first two an access that overlaps several lines is
 * several; behind them it is one again, with the largest of their distances. Runs are for
 * measure_run.c.
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
#include "predict/reuse/measure_parts.h"

/*
 * SAMPLE_LINES trades time and memory, which are those of up to so many lines more, for errors of
 * programs with few lines: a share of the lines that a sample of n estimates is off by up to
 * 0.5 / sqrt(n), 0.008 of 4096. It is a choice: REUSE.md has errors measured with this number
 * alone.
 */
enum { PIECE = 1024, FIRST_ROWS = 64, SAMPLE_LINES = 4096 };

static_assert(STACK_COLD == PSNAP_DISTANCE_COLD, "counted as it comes");

/* --------------------------------------------------------------------- rows */

struct measure_row *measure_new_row(struct measure_view *view, uint32_t row)
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

bool measure_count_other(const struct measure *measure, struct measure_row *row, uint64_t distance,
                         uint64_t times)
{
    if (distance == STACK_COLD && measure->is_chunk)
        return true; /* measure_merge() will know */
    if (distance == STACK_OUTSIDE) {
        row->outside += times;
        return true;
    }
    if (measure->options->sample > 0)
        return measure_add(&row->sampled,
                           distance == STACK_COLD ? distance : distance & ~STACK_SAMPLED, times);
    return measure_add(&row->known, distance, times);
}

/* ------------------------------------------------------------------ memories */

struct memory *measure_memory(struct measure *measure, uint16_t thread)
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
    struct memory *memory = measure_memory(measure, thread);

    if (!memory)
        return false;
    if (memory->stack)
        return stack_touch_all(memory->stack, measure->lines, n, measure->distances);
    sets_touch_all(memory->sets, measure->lines, n, measure->distances);
    return true;
}

bool measure_keep_first(struct measure *measure, const struct first *first)
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
            fits = measure_add(&row->known, each.distance, due - added);
            added = due;
        }
    }
    return fits && (added == more || measure_add(&row->known, STACK_COLD, more - added));
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

bool measure_thin(struct measure *measure)
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
        measure->distances[i] = measure_fold(measure->distances + at, more);
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
            fits = measure_keep_first(measure, &first);
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
        fits = measure_count(measure, PSNAP_VIEW_REF, piece[i].ref, distances[i], 1);
    for (size_t i = 0; i < n && measure->options->by_thread && fits; i++)
        fits = measure_count(measure, PSNAP_VIEW_THREAD, piece->thread, distances[i], 1);
    for (size_t i = 0; i < n && tags && fits; i++)
        fits = measure_count(measure, PSNAP_VIEW_TAG, tags[i], distances[i], 1);
    return fits;
}

bool measure_accesses(struct measure *measure, const struct psnap_access *accesses,
                      const uint32_t *tags, size_t n)
{
    bool fits = true;

    for (size_t some; n && fits; n -= some) {
        some = psnap_accesses_of_thread(accesses, n < PIECE ? n : PIECE);
        fits = take_piece(measure, accesses, tags, some) && measure_thin(measure);
        accesses += some;
        tags = tags ? tags + some : NULL;
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
               measure_add(&chunk->views[view].rows[rows[view]].known, distance, 1);
    return fits;
}

/* The distance of the access that the first one of `count` first touches, 1 or more, is of; returns
 * how many are of this access, 0: out of memory. A whole that is a chunk of a longer stream keeps
 * those to lines that it does not have either: one of these has the access's distance. */
static size_t find_distance(struct measure *whole, const struct first *firsts, size_t count,
                            uint64_t *distance)
{
    enum { AHEAD = 16 };
    struct first kept = {.joins = false};
    size_t i = 0;

    *distance = 0;
    do {
        const struct memory *memory = measure_memory(whole, firsts[i].thread);
        uint64_t of_line;
        if (!memory)
            return 0;
        if (AHEAD < count - i)
            stack_expect(memory->stack, firsts[i + AHEAD].line);
        of_line = stack_leave(memory->stack, firsts[i].line);
        *distance = of_line > *distance ? of_line : *distance;
        if (of_line == STACK_COLD && whole->is_chunk) {
            kept = (struct first){firsts[i].line, firsts[i].ref, firsts[i].tag, firsts[i].thread,
                                  kept.joins};
            if (!measure_keep_first(whole, &kept))
                return 0;
            kept.joins = true;
        }
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
        fits = n && ((distance == STACK_COLD && whole->is_chunk) ||
                     count_first(chunk, firsts + i, distance));
    }
    for (uint32_t i = 0; i < chunk->thread_count && fits; i++) {
        const struct memory *memory = measure_memory(whole, chunk->threads[i]);
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
            struct measure_row *row = measure_new_row(&whole->views[view], i);
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
            fits = !row->outside || measure_add(&row->known, STACK_COLD, row->outside);
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
