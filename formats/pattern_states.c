/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which row an access has is as for `--by region`; of these the ones of objects with names are
 * regions. The parts of the address space that have no object ("(heap)") would mix all that is in
 * them, so that references stand for their accesses. States are found by a table of their keys.
 */
#include "formats/pattern_states.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "formats/base/room.h"
#include "formats/base/touched.h"

enum { BLOCK = 256 }; /* accesses that are looked up at once */

/* The state of a key, made when it comes for the first time; NULL: out of memory. */
static void *find(struct pattern_sink *sink, uint32_t ref, uint32_t row, uint32_t window,
                  bool is_store)
{
    uint64_t key = ((uint64_t)ref << 33 ^ (uint64_t)window << 17 ^ row) * 2 + is_store, known;
    uint64_t *number;
    void *state;

    for (; (known = psnap_map_get(&sink->numbers, key)); key++) {
        const struct pattern_state *at = &sink->all[known - 1];
        if (at->ref == ref && at->row == row && at->window == window && at->is_store == is_store)
            return at->state;
    }
    if (!psnap_make_room(&sink->all, &sink->room, sink->count + 1, sizeof *sink->all))
        return NULL;
    number = psnap_map_put(&sink->numbers, key);
    state = number ? calloc(1, sink->format_ops->state_bytes) : NULL;
    if (!state)
        return NULL;
    sink->all[sink->count++] = (struct pattern_state){ref, row, window, is_store, state};
    *number = sink->count;
    return state;
}

/* Of BLOCK accesses at most. */
static enum psnap_status take_block(struct pattern_sink *sink, const struct psnap_access *block,
                                    size_t n, struct psnap_error *error)
{
    uint32_t rows[BLOCK], count;
    const struct psnap_touched_row *touched;
    enum psnap_status status;

    for (size_t i = 0; i < n; i++)
        if (block[i].ref >= sink->program->ref_count)
            return psnap_error_set(error, PSNAP_ERROR_VALUE,
                                   "an access is of reference %" PRIu32 ", of %" PRIu32,
                                   block[i].ref, sink->program->ref_count);
    status = psnap_touched_tag(sink->touched, block, n, rows, error);
    if (status)
        return status;
    touched = psnap_touched_rows(sink->touched, &count);
    for (size_t i = 0; i < n; i++) {
        const bool is_region = touched[rows[i]].is_object;
        void *state = find(sink, is_region ? PSNAP_NONE : block[i].ref, rows[i],
                           (uint32_t)(block[i].address >> PATTERN_WINDOW_BITS),
                           is_region && block[i].kind != PSNAP_LOAD);
        if (!state)
            return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
        sink->format_ops->take(state, &block[i]);
    }
    return PSNAP_OK;
}

static enum psnap_status pattern_put(struct psnap_sink *self, const struct psnap_access *block,
                                     size_t n, struct psnap_error *error)
{
    enum psnap_status status = PSNAP_OK;

    for (size_t at = 0; at < n && !status; at += BLOCK)
        status = take_block((struct pattern_sink *)self, block + at,
                            n - at < BLOCK ? n - at : BLOCK, error);
    return status;
}

static enum psnap_status pattern_finish(struct psnap_sink *self, struct psnap_error *error)
{
    struct pattern_sink *sink = (struct pattern_sink *)self;
    const enum psnap_status status = sink->format_ops->print(sink, error);

    if (!status && (ferror(sink->file) || fflush(sink->file) != 0))
        return psnap_error_system(error, errno, "cannot write");
    return status;
}

static uint64_t pattern_left_out(const struct psnap_sink *self)
{
    return ((const struct pattern_sink *)self)->left_out;
}

static bool pattern_place(struct psnap_sink *self, struct psnap_compact *compact)
{
    ((struct pattern_sink *)self)->compact = compact;
    return true;
}

static void pattern_free(struct psnap_sink *self)
{
    struct pattern_sink *sink = (struct pattern_sink *)self;

    for (size_t i = 0; i < sink->count; i++)
        free(sink->all[i].state);
    free(sink->numbers.slots);
    free(sink->all);
    psnap_touched_free(sink->touched);
    free(sink);
}

struct psnap_sink *pattern_sink_new(const struct psnap_format *format, FILE *file,
                                    struct psnap_program *program, const uint64_t *clock,
                                    struct psnap_error *error)
{
    static const struct psnap_sink_ops ops = {.put = pattern_put,
                                              .finish = pattern_finish,
                                              .free = pattern_free,
                                              .left_out = pattern_left_out,
                                              .place = pattern_place};
    struct pattern_sink *sink = calloc(1, sizeof *sink);

    (void)clock;
    if (sink) {
        sink->base.ops = &ops;
        sink->format_ops = format->ops;
        sink->file = file;
        sink->program = program;
        sink->touched = psnap_touched_new(program);
    }
    if (sink && sink->touched)
        return &sink->base;
    free(sink);
    psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    return NULL;
}

char *pattern_name(const struct pattern_sink *sink, size_t i, char *text, size_t size)
{
    const struct pattern_state *state = &sink->all[i];
    const struct psnap_program *program = sink->program;
    uint32_t count;
    const struct psnap_touched_row *row = &psnap_touched_rows(sink->touched, &count)[state->row];

    if (state->ref != PSNAP_NONE) {
        const uint32_t loop = program->refs[state->ref].loop;
        snprintf(text, size, "%.200s %s ref %" PRIu32,
                 loop < program->loop_count ? program->loops[loop].id : "?", row->object,
                 state->ref);
    } else {
        snprintf(text, size, "%.200s %.200s", row->loop, row->object);
    }
    return text;
}
