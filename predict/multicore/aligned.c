/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The threads of a recorded run with marks, in turn, access by access, as far as they ran at the
 * same time: where one comes to the beginning or end of a parallel section or to a barrier it waits
 * until all are there. A trace does not say when threads ran; this is what a mimicked stream is
 * compared with.
 */
#include <stdlib.h>
#include <string.h>

#include "predict/multicore/marks.h"
#include "predict/predict.h"

struct lane {
    struct psnap_source *source;
    struct marks marks; /* of the source's program, which may be behind that of all */
    size_t at, count;
    uint32_t depth; /* of parallel sections */
    bool waits, has_ended;
    struct psnap_access block[PSNAP_BLOCK_ACCESSES];
};

struct aligned {
    struct psnap_source base;
    struct lane *lanes;
    size_t count, turn;
};

/* Comes to the lane's next access, or to where it waits or ends. */
static enum psnap_status advance(struct lane *lane, struct psnap_error *error)
{
    while (!lane->waits && !lane->has_ended) {
        uint8_t kind;

        if (lane->at == lane->count) {
            const ssize_t n =
                psnap_source_next(lane->source, lane->block, PSNAP_BLOCK_ACCESSES, error);
            if (n < 0)
                return (enum psnap_status)n;
            lane->at = 0;
            lane->count = (size_t)n;
            lane->has_ended = n == 0;
            if (!marks_update(&lane->marks, lane->source->program))
                return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for threads");
            continue;
        }
        kind = lane->marks.of[lane->block[lane->at].ref].kind;
        if (kind == MARK_NONE)
            return PSNAP_OK;
        lane->at++;
        lane->waits = (kind == MARK_PARALLEL && lane->depth == 0) ||
                      (kind == MARK_PARALLEL_END && lane->depth == 1) ||
                      (kind == MARK_BARRIER && lane->depth == 1);
        lane->depth += kind == MARK_PARALLEL;
        lane->depth -= kind == MARK_PARALLEL_END && lane->depth;
    }
    return PSNAP_OK;
}

static ssize_t next(struct psnap_source *self, struct psnap_access *block, size_t capacity,
                    struct psnap_error *error)
{
    struct aligned *aligned = (struct aligned *)self;
    size_t n = 0, idle = 0;

    while (n < capacity) {
        struct lane *lane = &aligned->lanes[aligned->turn];

        if (advance(lane, error))
            return error->code;
        if (!lane->waits && !lane->has_ended) {
            block[n++] = lane->block[lane->at++];
            idle = 0;
        } else if (++idle == aligned->count) { /* all of them wait, or have ended */
            bool is_over = true;
            for (size_t i = 0; i < aligned->count; i++) {
                aligned->lanes[i].waits = false;
                is_over &= aligned->lanes[i].has_ended;
            }
            if (is_over)
                break;
            idle = 0;
            aligned->turn = aligned->count - 1; /* the first thread goes first again */
        }
        aligned->turn = aligned->turn + 1 == aligned->count ? 0 : aligned->turn + 1;
    }
    return (ssize_t)n;
}

static void free_aligned(struct psnap_source *self)
{
    struct aligned *aligned = (struct aligned *)self;

    for (size_t i = 0; i < aligned->count; i++) {
        psnap_source_free(aligned->lanes[i].source);
        marks_release(&aligned->lanes[i].marks);
    }
    free(aligned->lanes);
    free(aligned);
}

struct psnap_source *psnap_aligned_new(struct psnap_source *const *threads, size_t count,
                                       struct psnap_program *program)
{
    static const struct psnap_source_ops ops = {next, free_aligned, NULL};
    struct aligned *aligned = calloc(1, sizeof *aligned);

    if (aligned)
        aligned->lanes = calloc(count, sizeof *aligned->lanes);
    if (!aligned || !aligned->lanes) {
        for (size_t i = 0; i < count; i++)
            psnap_source_free(threads[i]);
        free(aligned);
        return NULL;
    }
    aligned->base = (struct psnap_source){&ops, program};
    aligned->count = count;
    for (size_t i = 0; i < count; i++)
        aligned->lanes[i].source = threads[i];
    return &aligned->base;
}
