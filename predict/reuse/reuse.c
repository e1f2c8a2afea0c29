/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reuse distances of a stream as a sink: each thread has an LRU stack (stack.h), or one for each
 * set of a cache (sets.h), each row of each view a histogram of what its accesses found there.
 *
 * A piece of a block, of one thread, goes through three plain loops: accesses to lines, lines to
 * distances, distances to counts. Between the first two an access that overlaps several lines is
 * several; behind them it is one again, with the largest of their distances.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "predict/predict.h"
#include "predict/reuse/sets.h"
#include "predict/reuse/stack.h"

enum { PIECE = 1024, FIRST_ROWS = 64 };

static_assert(STACK_COLD == PSNAP_DISTANCE_COLD, "counted as it comes");

struct view {
    struct psnap_distances **rows; /* NULL: no accesses */
    uint32_t room, count;          /* rows at and above count have none */
};

struct memory { /* of a thread; both NULL: no accesses yet */
    struct stack *stack;
    struct sets *sets;
};

struct reuse {
    struct psnap_sink base;
    const struct psnap_program *program;
    struct psnap_reuse_options options;
    unsigned line_digits; /* 2^these bytes are a line */
    struct view views[PSNAP_VIEW_COUNT];
    struct memory memories[PSNAP_THREADS_MAX];
    uint32_t thread_count;
    uint32_t tags[PIECE]; /* rows of the piece's accesses by tag */
    uint64_t *lines;      /* of the piece, in turn */
    uint64_t *distances;
};

/* --------------------------------------------------------------------- rows */

static struct psnap_distances *new_row(struct view *view, uint32_t row)
{
    if (row >= view->room) {
        const uint64_t twice = 2 * (uint64_t)view->room;
        const uint64_t wanted = row < twice ? twice : row + (uint64_t)FIRST_ROWS;
        const uint32_t room = wanted < UINT32_MAX ? (uint32_t)wanted : UINT32_MAX;
        struct psnap_distances **rows =
            row < room ? realloc(view->rows, room * sizeof *rows) : NULL;

        if (!rows)
            return NULL;
        memset(rows + view->room, 0, (room - view->room) * sizeof *rows);
        view->rows = rows;
        view->room = room;
    }
    if (!view->rows[row])
        view->rows[row] = psnap_distances_new();
    if (row >= view->count)
        view->count = row + 1;
    return view->rows[row];
}

static inline bool count(struct view *view, uint32_t row, uint64_t distance)
{
    struct psnap_distances *distances =
        row < view->count && view->rows[row] ? view->rows[row] : new_row(view, row);

    return distances && psnap_distances_add(distances, distance, 1);
}

/* ------------------------------------------------------------------- a piece */

/* Lines to distances, in the stack or sets of a thread, which are made at its first access. */
static bool touch_lines(struct reuse *reuse, uint16_t thread, size_t n)
{
    const struct psnap_reuse_options *options = &reuse->options;
    struct memory *memory = &reuse->memories[options->together ? 0 : thread];

    if (!memory->stack && !memory->sets) {
        if (options->sets)
            memory->sets = sets_new(options->sets, options->ways);
        else
            memory->stack = stack_new();
        if (!memory->stack && !memory->sets)
            return false;
        reuse->thread_count++;
    }
    if (memory->stack)
        return stack_touch_all(memory->stack, reuse->lines, n, reuse->distances);
    sets_touch_all(memory->sets, reuse->lines, n, reuse->distances);
    return true;
}

/* The last byte of an access that counts: of addresses the first is the only one. */
static inline uint64_t last_byte(const struct reuse *reuse, const struct psnap_access *access)
{
    return reuse->line_digits ? access->address + access->size - 1 : access->address;
}

/* The first line of each access; whether one has more. */
static bool find_lines(const struct reuse *reuse, const struct psnap_access *piece, size_t n)
{
    uint64_t crossed = 0;

    for (size_t i = 0; i < n; i++) {
        reuse->lines[i] = piece[i].address >> reuse->line_digits;
        crossed |= (piece[i].address ^ last_byte(reuse, &piece[i])) >> reuse->line_digits;
    }
    return crossed != 0;
}

/* Lines that the accesses of a piece have, all of them listed; SIZE_MAX: out of memory. */
static size_t list_lines(struct reuse *reuse, const struct psnap_access *piece, size_t n)
{
    const uint64_t mask = UINT64_MAX >> reuse->line_digits;
    size_t count = 0;

    for (size_t i = 0; i < n; i++) {
        const uint64_t last = last_byte(reuse, &piece[i]) >> reuse->line_digits;
        uint64_t line = piece[i].address >> reuse->line_digits;
        for (;; line = (line + 1) & mask) {
            reuse->lines[count++] = line;
            if (line == last)
                break;
        }
    }
    return count;
}

/* Of the distances of all lines the largest of each access. */
static void fold_distances(const struct reuse *reuse, const struct psnap_access *piece, size_t n)
{
    size_t at = 0;

    for (size_t i = 0; i < n; i++) {
        const uint64_t first = piece[i].address >> reuse->line_digits;
        const uint64_t last = last_byte(reuse, &piece[i]) >> reuse->line_digits;
        const uint64_t more = (last - first) & (UINT64_MAX >> reuse->line_digits);
        uint64_t largest = reuse->distances[at++];
        for (uint64_t k = 0; k < more; k++, at++)
            largest = reuse->distances[at] > largest ? reuse->distances[at] : largest;
        reuse->distances[i] = largest;
    }
}

/* At most PIECE accesses of one thread, in rows that have been tagged. */
static bool take_piece(struct reuse *reuse, const struct psnap_access *piece, size_t n)
{
    const bool crossed = find_lines(reuse, piece, n);
    const size_t lines = crossed ? list_lines(reuse, piece, n) : n;
    bool fits = touch_lines(reuse, piece->thread, lines);

    if (!fits)
        return false;
    if (crossed)
        fold_distances(reuse, piece, n);
    for (size_t i = 0; i < n && fits; i++)
        fits = count(&reuse->views[PSNAP_VIEW_REF], piece[i].ref, reuse->distances[i]);
    for (size_t i = 0; i < n && reuse->options.by_thread && fits; i++)
        fits = count(&reuse->views[PSNAP_VIEW_THREAD], piece->thread, reuse->distances[i]);
    for (size_t i = 0; i < n && reuse->options.tagger && fits; i++)
        fits = count(&reuse->views[PSNAP_VIEW_TAG], reuse->tags[i], reuse->distances[i]);
    return fits;
}

/* ------------------------------------------------------------------ the sink */

static enum psnap_status put(struct psnap_sink *self, const struct psnap_access *block, size_t n,
                             struct psnap_error *error)
{
    struct reuse *reuse = (struct reuse *)self;
    const uint32_t refs = reuse->program->ref_count;
    enum psnap_status status = PSNAP_OK;
    size_t some;

    for (size_t i = 0; i < n; i++)
        if (block[i].ref >= refs)
            return psnap_error_set(error, PSNAP_ERROR_VALUE,
                                   "an access of the stream makes no sense: reference %" PRIu32
                                   " of %" PRIu32,
                                   block[i].ref, refs);
    for (; n && !status; block += some, n -= some) {
        some = psnap_accesses_of_thread(block, n < PIECE ? n : PIECE);
        if (reuse->options.tagger)
            status = reuse->options.tagger(reuse->options.tagger_context, block, some, reuse->tags,
                                           error);
        if (!status && !take_piece(reuse, block, some))
            status =
                psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for reuse distances");
    }
    return status;
}

static void free_reuse(struct psnap_sink *self)
{
    struct reuse *reuse = (struct reuse *)self;

    for (uint32_t i = 0; i < PSNAP_THREADS_MAX; i++) {
        stack_free(reuse->memories[i].stack);
        sets_free(reuse->memories[i].sets);
    }
    for (int i = 0; i < PSNAP_VIEW_COUNT; i++) {
        for (uint32_t row = 0; row < reuse->views[i].count; row++)
            psnap_distances_free(reuse->views[i].rows[row]);
        free(reuse->views[i].rows);
    }
    free(reuse->lines);
    free(reuse->distances);
    free(reuse);
}

struct psnap_sink *psnap_reuse_new(const struct psnap_program *program,
                                   const struct psnap_reuse_options *options,
                                   struct psnap_error *error)
{
    static const struct psnap_sink_ops ops = {.put = put, .free = free_reuse};
    const uint64_t line = options->line_bytes;
    struct reuse *reuse;

    if (!line || line > PSNAP_REUSE_LINE_MAX || line & (line - 1)) {
        psnap_error_set(error, PSNAP_ERROR_USAGE,
                        "a line has a power of two of bytes, at most 1G, not %" PRIu64, line);
        return NULL;
    }
    if (options->sets && !options->ways) {
        psnap_error_set(error, PSNAP_ERROR_USAGE, "sets have at least one way");
        return NULL;
    }
    reuse = calloc(1, sizeof *reuse);
    if (reuse) {
        /* a line of 2 bytes: an access of 64 has 33 at most */
        const size_t lines = line == 1 ? 1 : PSNAP_ACCESS_SIZE_MAX / line + 2;
        reuse->base.ops = &ops;
        reuse->program = program;
        reuse->options = *options;
        reuse->line_digits = (unsigned)__builtin_ctzll(line);
        reuse->lines = malloc(PIECE * lines * sizeof *reuse->lines);
        reuse->distances = malloc(PIECE * lines * sizeof *reuse->distances);
        if (reuse->lines && reuse->distances)
            return &reuse->base;
        free_reuse(&reuse->base);
    }
    psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for reuse distances");
    return NULL;
}

uint32_t psnap_reuse_threads(const struct psnap_sink *sink)
{
    return ((const struct reuse *)sink)->thread_count;
}

uint64_t psnap_reuse_lines(const struct psnap_sink *sink)
{
    const struct reuse *reuse = (const struct reuse *)sink;
    uint64_t lines = 0;

    for (uint32_t i = 0; i < PSNAP_THREADS_MAX; i++) {
        lines += reuse->memories[i].stack ? stack_lines(reuse->memories[i].stack) : 0;
        lines += reuse->memories[i].sets ? sets_lines(reuse->memories[i].sets) : 0;
    }
    return lines;
}

uint32_t psnap_reuse_rows(const struct psnap_sink *sink, enum psnap_view view)
{
    return ((const struct reuse *)sink)->views[view].count;
}

const struct psnap_distances *psnap_reuse_row(const struct psnap_sink *sink, enum psnap_view view,
                                              uint32_t row)
{
    const struct reuse *reuse = (const struct reuse *)sink;

    return row < reuse->views[view].count ? reuse->views[view].rows[row] : NULL;
}
