/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A loop's working set: the distinct lines that its accesses touch, of all threads and of all parts
 * that the optimiser made of it. Exact, whatever lies between the lines: an extent, from the lowest
 * to the highest address, has the gaps between mappings in it, which may be a million times as
 * much.
 *
 * A table for each loop, of open addressing: 64 neighbouring lines are an entry of 16 bytes, a bit
 * each. A reference that stays in its line costs one comparison. The tables go when the stream has
 * ended; counts stay.
 */
#include "predict/report/touched.h"

#include <stdlib.h>
#include <string.h>

#include "formats/base/room.h"

enum { FIRST_ENTRIES = 64, LINES = 64 };

struct entry {
    uint64_t page; /* line / LINES */
    uint64_t bits; /* 0: the entry is free */
};

struct row {
    char *src_id;
    struct entry *entries;
    size_t room, count; /* of entries: a power of two, more than twice those in use */
    uint64_t lines;
};

/* Where a reference was last. */
struct last {
    uint32_t row;  /* PSNAP_NONE: not known yet */
    uint64_t line; /* of its last byte; UINT64_MAX: none */
};

struct touched {
    struct psnap_sink base;
    const struct psnap_program *program;
    unsigned digits; /* 2^these bytes are a line */
    struct last *refs;
    uint32_t *loops; /* their rows, or PSNAP_NONE */
    struct row *rows;
    size_t ref_room, loop_room, row_room;
    uint32_t ref_count, loop_count, row_count;
};

/* -------------------------------------------------------------------- lines */

static struct entry *entry_of(const struct row *row, uint64_t page)
{
    size_t at = (size_t)((page * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (row->room - 1);

    while (row->entries[at].bits && row->entries[at].page != page)
        at = (at + 1) & (row->room - 1);
    return &row->entries[at];
}

static bool grow_row(struct row *row)
{
    const struct row old = *row;

    row->room = old.room ? 2 * old.room : FIRST_ENTRIES;
    row->entries = calloc(row->room, sizeof *row->entries);
    if (!row->entries) {
        *row = old;
        return false;
    }
    for (size_t i = 0; i < old.room; i++)
        if (old.entries[i].bits)
            *entry_of(row, old.entries[i].page) = old.entries[i];
    free(old.entries);
    return true;
}

static bool add_line(struct row *row, uint64_t line)
{
    const uint64_t bit = UINT64_C(1) << line % LINES;
    struct entry *entry;

    if (2 * (row->count + 1) > row->room && !grow_row(row))
        return false;
    entry = entry_of(row, line / LINES);
    row->count += !entry->bits;
    row->lines += !(entry->bits & bit);
    entry->page = line / LINES;
    entry->bits |= bit;
    return true;
}

/* --------------------------------------------------------------------- rows */

static uint32_t row_of(struct touched *touched, const char *src_id)
{
    struct row *rows;

    for (uint32_t i = 0; i < touched->row_count; i++)
        if (!strcmp(touched->rows[i].src_id, src_id))
            return i;
    rows = psnap_with_room(touched->rows, &touched->row_room, touched->row_count + 1, sizeof *rows);
    if (!rows)
        return PSNAP_NONE;
    touched->rows = rows;
    rows[touched->row_count] = (struct row){.src_id = strdup(src_id)};
    return rows[touched->row_count].src_id ? touched->row_count++ : PSNAP_NONE;
}

/* Room for what the program has by now. */
static bool grow(struct touched *touched)
{
    const struct psnap_program *program = touched->program;
    struct last *refs =
        psnap_with_room(touched->refs, &touched->ref_room, program->ref_count, sizeof *refs);
    uint32_t *loops;

    if (!refs)
        return false;
    touched->refs = refs;
    while (touched->ref_count < program->ref_count)
        refs[touched->ref_count++] = (struct last){PSNAP_NONE, UINT64_MAX};
    loops =
        psnap_with_room(touched->loops, &touched->loop_room, program->loop_count, sizeof *loops);
    if (!loops)
        return false;
    touched->loops = loops;
    while (touched->loop_count < program->loop_count)
        loops[touched->loop_count++] = PSNAP_NONE;
    return true;
}

/* A reference that is seen for the first time. False: out of memory. */
static bool place(struct touched *touched, uint32_t ref)
{
    uint32_t *row;

    if (ref >= touched->ref_count && !grow(touched))
        return false;
    row = &touched->loops[touched->program->refs[ref].loop];
    if (*row == PSNAP_NONE)
        *row = row_of(touched, touched->program->loops[touched->program->refs[ref].loop].src_id);
    touched->refs[ref].row = *row;
    return *row != PSNAP_NONE;
}

/* --------------------------------------------------------------------- the sink */

static bool take(struct touched *touched, const struct psnap_access *access)
{
    const uint64_t first = access->address >> touched->digits;
    const uint64_t end = access->address + (access->size ? access->size - 1U : 0U);
    const uint64_t last = (end < access->address ? access->address : end) >> touched->digits;
    struct last *ref;

    if ((access->ref >= touched->ref_count || touched->refs[access->ref].row == PSNAP_NONE) &&
        !place(touched, access->ref))
        return false;
    ref = &touched->refs[access->ref];
    if (first == last && last == ref->line)
        return true;
    for (uint64_t line = first;; line++) {
        if (!add_line(&touched->rows[ref->row], line))
            return false;
        if (line == last)
            break;
    }
    ref->line = last;
    return true;
}

static enum psnap_status touched_put(struct psnap_sink *self, const struct psnap_access *block,
                                     size_t n, struct psnap_error *error)
{
    for (size_t i = 0; i < n; i++)
        if (!take((struct touched *)self, &block[i]))
            return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for working sets");
    return PSNAP_OK;
}

static enum psnap_status touched_finish(struct psnap_sink *self, struct psnap_error *error)
{
    struct touched *touched = (struct touched *)self;

    (void)error;
    for (uint32_t i = 0; i < touched->row_count; i++) {
        free(touched->rows[i].entries);
        touched->rows[i].entries = NULL;
    }
    return PSNAP_OK;
}

static void touched_free(struct psnap_sink *self)
{
    struct touched *touched = (struct touched *)self;

    for (uint32_t i = 0; i < touched->row_count; i++) {
        free(touched->rows[i].entries);
        free(touched->rows[i].src_id);
    }
    free(touched->rows);
    free(touched->refs);
    free(touched->loops);
    free(touched);
}

struct psnap_sink *touched_new(const struct psnap_program *program, uint64_t line_bytes)
{
    static const struct psnap_sink_ops ops = {
        .put = touched_put, .finish = touched_finish, .free = touched_free};
    struct touched *touched = calloc(1, sizeof *touched);

    if (!touched)
        return NULL;
    touched->base.ops = &ops;
    touched->program = program;
    touched->digits = (unsigned)__builtin_ctzll(line_bytes);
    return &touched->base;
}

uint64_t touched_lines(const struct psnap_sink *sink, const char *src_id)
{
    const struct touched *touched = (const struct touched *)sink;

    for (uint32_t i = 0; i < touched->row_count; i++)
        if (!strcmp(touched->rows[i].src_id, src_id))
            return touched->rows[i].lines;
    return 0;
}
