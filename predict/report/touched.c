/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A loop's working set: the distinct lines that its accesses touch, of all threads and of all parts
 * that the optimiser made of it. Exact, whatever lies between the lines: an extent, from the lowest
 * to the highest address, has the gaps between mappings in it, which may be a million times as
 * much. One table has the bits of 64 neighbouring lines by loop and place: exact up to 2^20 loops
 * and addresses that agree above 2^56.
 */
#include "predict/report/touched.h"

#include <stdlib.h>
#include <string.h>

#include "formats/base/map.h"
#include "formats/base/room.h"

enum { PLACE_LINES = 64, PLACE_DIGITS = 44 };

struct loop {
    uint32_t head; /* the first loop of the program with the same src_id, which counts for it */
    uint64_t lines;
};

struct touched {
    struct psnap_sink base;
    const struct psnap_program *program;
    unsigned shift; /* 2^shift bytes are a line */
    struct loop *loops;
    size_t loop_count, loop_room;
    struct psnap_map bits;
};

/* Takes in the loops that the program has by now. */
static bool grow(struct touched *touched)
{
    const struct psnap_program *program = touched->program;

    if (!psnap_make_room(&touched->loops, &touched->loop_room, program->loop_count,
                         sizeof *touched->loops))
        return false;
    for (; touched->loop_count < program->loop_count; touched->loop_count++) {
        struct loop *loop = &touched->loops[touched->loop_count];
        *loop = (struct loop){0};
        while (strcmp(program->loops[loop->head].src_id,
                      program->loops[touched->loop_count].src_id) != 0)
            loop->head++;
    }
    return true;
}

static bool take(struct touched *touched, const struct psnap_access *access)
{
    const uint32_t loop = touched->program->refs[access->ref].loop;
    const uint64_t first = access->address >> touched->shift;
    const uint64_t end = access->address + (access->size ? access->size - 1U : 0U);
    const uint64_t last = (end < access->address ? access->address : end) >> touched->shift;

    if (loop >= touched->loop_count && !grow(touched))
        return false;
    for (uint64_t line = first;; line++) {
        const uint32_t head = touched->loops[loop].head;
        const uint64_t bit = UINT64_C(1) << line % PLACE_LINES;
        uint64_t *bits =
            psnap_map_put(&touched->bits, line / PLACE_LINES ^ (uint64_t)head << PLACE_DIGITS);
        if (!bits)
            return false;
        touched->loops[head].lines += !(*bits & bit);
        *bits |= bit;
        if (line == last)
            return true;
    }
}

static enum psnap_status touched_put(struct psnap_sink *self, const struct psnap_access *block,
                                     size_t n, struct psnap_error *error)
{
    for (size_t i = 0; i < n; i++)
        if (!take((struct touched *)self, &block[i]))
            return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for working sets");
    return PSNAP_OK;
}

static void touched_free(struct psnap_sink *self)
{
    struct touched *touched = (struct touched *)self;

    free(touched->bits.slots);
    free(touched->loops);
    free(touched);
}

struct psnap_sink *touched_new(const struct psnap_program *program, uint64_t line_bytes)
{
    static const struct psnap_sink_ops ops = {.put = touched_put, .free = touched_free};
    struct touched *touched = calloc(1, sizeof *touched);

    if (!touched)
        return NULL;
    touched->base.ops = &ops;
    touched->program = program;
    touched->shift = (unsigned)__builtin_ctzll(line_bytes);
    return &touched->base;
}

uint64_t touched_lines(const struct psnap_sink *sink, const char *src_id)
{
    const struct touched *touched = (const struct touched *)sink;

    for (size_t i = 0; i < touched->loop_count; i++)
        if (touched->loops[i].head == i && !strcmp(touched->program->loops[i].src_id, src_id))
            return touched->loops[i].lines;
    return 0;
}
