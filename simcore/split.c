/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The plan of a split (simcore.h says why its sums are exact) and the sink of a window: it takes
 * the whole stream, and hands on the bytes of accesses that lie in its window, one access for each
 * stretch of them.
 *
 * A run of accesses is handed on as runs: the same accesses of each repetition lie in the window
 * until one of them enters or leaves it.
 */

#include "simcore/simcore.h"

#include <inttypes.h>
#include <stdlib.h>

#include "simcore/machine.h"

enum {
    BLOCK = 1024,
    WIDTH = 512, /* of runs; wider ones are taken access by access */
    SHORT = 4    /* repetitions that are not worth a run */
};

/* --------------------------------------------------------------------- the plan */

static uint64_t power_of_two_in(uint64_t value)
{
    return value & (0 - value);
}

/* Why the sets of a level are not independent; NULL: they are. */
static const char *obstacle(const struct psnap_cache_level *level)
{
    if (level->replacement == PSNAP_REPLACE_RANDOM)
        return "random replacement";
    if (level->index != PSNAP_INDEX_MODULO)
        return "hashed sets";
    if (level->victim_lines)
        return "a victim cache";
    return level->prefetch.entries || level->prefetch.next_lines ? "a prefetcher" : NULL;
}

static enum psnap_status add_level(struct psnap_split *split, const struct psnap_machine *machine,
                                   uint32_t index, struct psnap_error *error)
{
    const struct psnap_cache_level *level = &machine->levels[index];
    const uint64_t period = power_of_two_in(level->sets) * level->line_bytes;

    if (obstacle(level))
        return psnap_error_set(error, PSNAP_ERROR_UNSUPPORTED,
                               "machine '%.200s' cannot be simulated in parts: level %" PRIu32
                               " has %s",
                               machine->name, index + 1, obstacle(level));
    if (!split->period_bytes || period < split->period_bytes)
        split->period_bytes = period;
    if (level->line_bytes > split->unit_bytes)
        split->unit_bytes = level->line_bytes;
    return PSNAP_OK;
}

/* As much as an access may reach beyond its range: whole units. */
static uint64_t reach_of(const struct psnap_split *split)
{
    const uint64_t reach = PSNAP_ACCESS_SIZE_MAX - 1;

    return (reach + split->unit_bytes - 1) / split->unit_bytes * split->unit_bytes;
}

static uint64_t begin_of(const struct psnap_split *split, uint32_t part)
{
    return split->period_bytes / split->unit_bytes * part / split->parts * split->unit_bytes;
}

enum psnap_status psnap_split_plan(struct psnap_split *split, const struct psnap_machine *machines,
                                   size_t n, uint32_t parts, struct psnap_error *error)
{
    enum psnap_status status = PSNAP_OK;

    *split = (struct psnap_split){.parts = parts};
    for (size_t i = 0; i < n; i++) {
        for (uint32_t l = 0; l < machines[i].level_count && !status; l++)
            status = add_level(split, &machines[i], l, error);
        if (status)
            return status;
        /* the window of the largest part has to fit in the period */
        const uint64_t units = split->period_bytes / split->unit_bytes;
        const uint64_t largest = (units + parts - 1) / parts * split->unit_bytes;
        if (parts < 2 || units < parts || largest + reach_of(split) > split->period_bytes)
            return psnap_error_set(
                error, PSNAP_ERROR_UNSUPPORTED,
                "machine '%.200s' cannot be simulated in %" PRIu32
                " parts: its levels%s have %" PRIu64 " independent groups of sets",
                machines[i].name, parts, i ? " and those of the machines before" : "", units);
    }
    return PSNAP_OK;
}

void psnap_split_windows(const struct psnap_split *split, uint32_t part,
                         struct psnap_split_window *counted, struct psnap_split_window *subtracted)
{
    const uint64_t begin = begin_of(split, part), end = begin_of(split, part + 1);

    *subtracted = (struct psnap_split_window){end % split->period_bytes, reach_of(split)};
    *counted = (struct psnap_split_window){begin, end - begin + subtracted->bytes};
}

/* ------------------------------------------------------------------- the window */

struct window_sink {
    struct psnap_sink base;
    struct psnap_sink *to;
    uint64_t mask; /* of the period */
    struct psnap_split_window window;
    size_t n;
    struct psnap_access block[BLOCK]; /* to be handed on */
};

/* An address as what lies between it and the last begin of the window. */
static uint64_t offset_of(const struct window_sink *sink, uint64_t address)
{
    return (address - sink->window.begin) & sink->mask;
}

static enum psnap_status flush(struct window_sink *sink, struct psnap_error *error)
{
    const size_t n = sink->n;

    sink->n = 0;
    return n ? psnap_sink_put(sink->to, sink->block, n, error) : PSNAP_OK;
}

static enum psnap_status keep(struct window_sink *sink, const struct psnap_access *access,
                              struct psnap_error *error)
{
    sink->block[sink->n++] = *access;
    return sink->n == BLOCK ? flush(sink, error) : PSNAP_OK;
}

/* The stretches of an access that are in the window. */
static enum psnap_status keep_pieces(struct window_sink *sink, const struct psnap_access *access,
                                     struct psnap_error *error)
{
    enum psnap_status status = PSNAP_OK;
    uint64_t bytes;

    for (uint64_t at = 0; at < access->size && !status; at += bytes) {
        const uint64_t offset = offset_of(sink, access->address + at);
        const bool is_in = offset < sink->window.bytes;
        struct psnap_access piece = *access;

        bytes = (is_in ? sink->window.bytes : sink->mask + 1) - offset;
        if (bytes > access->size - at)
            bytes = access->size - at;
        piece.address += at;
        piece.size = (uint8_t)bytes;
        if (is_in)
            status = keep(sink, &piece, error);
    }
    return status;
}

static enum psnap_status window_put(struct psnap_sink *self, const struct psnap_access *block,
                                    size_t n, struct psnap_error *error)
{
    struct window_sink *sink = (struct window_sink *)self;
    enum psnap_status status = PSNAP_OK;

    for (size_t i = 0; i < n && !status; i++) {
        const uint64_t offset = offset_of(sink, block[i].address);
        const uint64_t end = offset + block[i].size;

        if (end <= sink->window.bytes || !block[i].size || block[i].size > PSNAP_ACCESS_SIZE_MAX)
            status = keep(sink, &block[i], error); /* errors, too: the simulator tells them */
        else if (offset < sink->window.bytes || end > sink->mask + 1)
            status = keep_pieces(sink, &block[i], error);
    }
    return status;
}

enum place { OUTSIDE, INSIDE, ACROSS };

/* Where an access is, and for how many repetitions from this one on it stays there. */
static enum place place_of(const struct window_sink *sink, const struct psnap_access *access,
                           int64_t stride, uint64_t *stays)
{
    const uint64_t period = sink->mask + 1, offset = offset_of(sink, access->address);
    const uint64_t end = offset + access->size, up = (uint64_t)stride & sink->mask;
    const uint64_t step = up > period / 2 ? period - up : up;
    const bool is_in = end <= sink->window.bytes;
    uint64_t room; /* on the way to the border that it moves to */

    *stays = 1;
    if (!is_in && (offset < sink->window.bytes || end > period))
        return ACROSS;
    if (step == up)
        room = (is_in ? sink->window.bytes : period) - end;
    else
        room = offset - (is_in ? 0 : sink->window.bytes);
    *stays = step ? room / step + 1 : UINT64_MAX;
    return is_in ? INSIDE : OUTSIDE;
}

/* The part of a run from repetition `from` on in which each access stays in its place: those of
 * them that are in the window. False: some are partly in it, `part->count` is 1 then. */
static bool next_part(const struct window_sink *sink, const struct psnap_run *run, uint64_t from,
                      struct psnap_run *part, struct psnap_access *first, int64_t *strides)
{
    bool is_whole = true;

    *part = (struct psnap_run){.first = first, .strides = strides, .count = run->count - from};
    for (size_t k = 0; k < run->width; k++) {
        struct psnap_access *access = &first[part->width];
        enum place place;
        uint64_t stays;

        *access = run->first[k];
        access->address = psnap_run_address(run, from, k);
        strides[part->width] = run->strides[k];
        place = place_of(sink, access, run->strides[k], &stays);
        part->width += place == INSIDE;
        part->count = stays < part->count ? stays : part->count;
        is_whole &= place != ACROSS;
    }
    if (part->width == run->width) {
        part->shape = run->shape;
        part->turns = run->turns;
    }
    return is_whole;
}

static enum psnap_status window_put_run(struct psnap_sink *self, const struct psnap_run *run,
                                        struct psnap_error *error)
{
    struct window_sink *sink = (struct window_sink *)self;
    enum psnap_status status = PSNAP_OK;
    struct psnap_access first[WIDTH];
    int64_t strides[WIDTH];
    struct psnap_run part;

    if (run->columns || run->width > WIDTH)
        return psnap_sink_put_repetitions(self, run, 0, run->count, error);
    for (uint64_t at = 0; at < run->count && !status; at += part.count) {
        const bool is_whole = next_part(sink, run, at, &part, first, strides);

        if (is_whole && !part.width)
            continue;
        if (!is_whole || part.count < SHORT || (run->turns > 1 && part.width < run->width)) {
            status = psnap_sink_put_repetitions(self, run, at, at + part.count, error);
            continue;
        }
        status = flush(sink, error);
        if (!status)
            status = psnap_sink_put_run(sink->to, &part, error);
    }
    return status;
}

static enum psnap_status window_finish(struct psnap_sink *self, struct psnap_error *error)
{
    struct window_sink *sink = (struct window_sink *)self;
    const enum psnap_status status = flush(sink, error);

    return status ? status : psnap_sink_finish(sink->to, error);
}

static void window_free(struct psnap_sink *self)
{
    free(self);
}

struct psnap_sink *psnap_split_sink_new(const struct psnap_split *split,
                                        struct psnap_split_window window, struct psnap_sink *to)
{
    static const struct psnap_sink_ops ops = {
        .put = window_put, .finish = window_finish, .free = window_free, .put_run = window_put_run};
    struct window_sink *sink = malloc(sizeof *sink);

    if (!sink)
        return NULL;
    sink->base.ops = &ops;
    sink->to = to;
    sink->mask = split->period_bytes - 1;
    sink->window = window;
    sink->n = 0;
    return &sink->base;
}
