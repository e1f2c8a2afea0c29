/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Periodic sampling: of the n accesses of each window k the loop has s_k. With K whole
 * windows, a part f of the run, its share is estimated as p = sum s_k / sum n, its
 * accesses in the run of N as p N, and the standard error of these as
 *
 *     N / n * sqrt((1 - f) / K * sum (s_k - p n)^2 / (K - 1))
 *
 * as of clusters of equal size of which K are drawn (Cochran, Sampling Techniques, 3rd
 * edition, 1977, chapter 9). They are not drawn but come at a constant period (chapter
 * 8). So the error is overestimated where loops run in long phases, which a period
 * divides among the windows as strata do, and underestimated where the program repeats
 * itself with the period: then another period tells.
 *
 * What lies between windows is passed over in runs, without a look at its accesses.
 */
#include "capture/collect/sampling.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/arena.h"
#include "formats/base/room.h"
#include "formats/base/text.h"

/* Of a loop, in accesses. */
struct tally {
    uint64_t in_window;  /* of the window that is open */
    double sum, squares; /* over whole windows */
};

struct sampler {
    struct psnap_source base;
    struct psnap_source *inner;
    const struct psnap_sampled_ops *ops;
    struct psnap_sampling *sampling; /* of the program */
    uint64_t position;               /* accesses of the program that have been read */
    uint64_t left;                   /* until what is kept changes */
    uint64_t windows;                /* taken whole */
    bool is_kept;
    bool is_over;
    struct tally *tallies; /* by loop */
    uint32_t *open;        /* loops that the window has */
    uint32_t tally_count, open_count;
};

static bool grow(struct sampler *self, uint32_t loops)
{
    const uint32_t count = loops + loops / 2 + 16;

    if (!psnap_resize(&self->tallies, count, sizeof *self->tallies) ||
        !psnap_resize(&self->open, count, sizeof *self->open))
        return false;
    memset(self->tallies + self->tally_count, 0,
           (count - self->tally_count) * sizeof *self->tallies);
    self->tally_count = count;
    return true;
}

/* Accesses of a loop in the window that is open. */
static bool add(struct sampler *self, uint32_t loop, uint64_t accesses)
{
    if (loop >= self->tally_count && !grow(self, loop))
        return false;
    if (!self->tallies[loop].in_window)
        self->open[self->open_count++] = loop;
    self->tallies[loop].in_window += accesses;
    return true;
}

static bool add_all(struct sampler *self, const struct psnap_access *block, size_t n,
                    const struct psnap_nest *nest)
{
    const struct psnap_program *program = self->base.program;
    struct psnap_nest_walk walk;
    struct psnap_run run;
    bool is_done = true;

    for (size_t i = 0; i < n && is_done;) {
        const uint32_t loop = program->refs[block[i].ref].loop;
        size_t end = i + 1;
        while (end < n && program->refs[block[end].ref].loop == loop)
            end++;
        is_done = add(self, loop, end - i);
        i = end;
    }
    psnap_nest_walk_init(&walk, nest);
    while (is_done && psnap_nest_walk_next(&walk, &run))
        is_done = add(self, program->refs[run.first[0].ref].loop, run.width * run.count);
    return is_done;
}

/* A window is whole. */
static void close_window(struct sampler *self)
{
    for (uint32_t i = 0; i < self->open_count; i++) {
        struct tally *tally = &self->tallies[self->open[i]];
        tally->sum += (double)tally->in_window;
        tally->squares += (double)tally->in_window * (double)tally->in_window;
        tally->in_window = 0;
    }
    self->open_count = 0;
    self->windows++;
}

/* At a place where what is kept changes: to the next one. */
static void turn(struct sampler *self)
{
    const struct psnap_sampling *sampling = self->sampling;
    uint64_t stretch; /* its end */

    if (!sampling->count || __builtin_add_overflow(sampling->skip, sampling->count, &stretch))
        stretch = UINT64_MAX;
    if (self->position < sampling->skip) {
        self->left = sampling->skip - self->position;
        return;
    }
    if (!sampling->window) {
        self->is_kept = true;
        self->left = UINT64_MAX;
    } else {
        if (self->is_kept && (self->position - sampling->skip) % sampling->period ==
                                 sampling->window % sampling->period)
            close_window(self); /* and not cut off */
        self->is_kept = !self->is_kept || sampling->window == sampling->period;
        self->left = self->is_kept ? sampling->window : sampling->period - sampling->window;
    }
    if (self->left > stretch - self->position)
        self->left = stretch - self->position;
    self->is_over = !self->left;
}

/* Standard errors of all loops, for two windows and more. */
static void estimate(struct sampler *self)
{
    struct psnap_program *program = self->base.program;
    struct psnap_sampling *sampling = self->sampling;
    const double windows = (double)sampling->windows, size = (double)sampling->window;
    const double run = (double)sampling->run_accesses;
    double *errors, free_share;

    if (sampling->windows < 2 ||
        (self->tally_count < program->loop_count && !grow(self, program->loop_count)))
        return;
    errors = psnap_arena_alloc(program->arena, (program->loop_count + 1) * sizeof *errors);
    if (!errors)
        return; /* they are advice */
    free_share = 1 - windows * size / run;
    for (uint32_t i = 0; i < program->loop_count; i++) {
        const struct tally *tally = &self->tallies[i];
        const double spread = tally->squares - tally->sum * tally->sum / windows;
        const double variance = spread > 0 ? spread / (windows - 1) : 0;
        errors[i] = run / size * sqrt((free_share > 0 ? free_share : 0) / windows * variance);
    }
    sampling->loop_errors = errors;
    sampling->loop_error_count = program->loop_count;
}

static void finish(struct sampler *self)
{
    struct psnap_sampling *sampling = self->sampling;

    if (self->is_over && self->ops->enough)
        self->ops->enough(self->inner);
    if (!sampling->window)
        return;
    sampling->windows = self->windows;
    sampling->run_accesses = self->position > sampling->skip ? self->position - sampling->skip : 0;
    estimate(self);
}

static ssize_t sample_next_nest(struct psnap_source *source, struct psnap_access *room,
                                size_t capacity, const struct psnap_access **block,
                                struct psnap_nest *nest, struct psnap_error *error)
{
    struct sampler *self = (struct sampler *)source;

    for (;;) {
        uint64_t n;
        ssize_t more;
        nest->loop_count = 0; /* it may have one that was not kept */
        if (!self->left)
            turn(self);
        if (self->is_over) {
            finish(self);
            return 0;
        }
        if (self->ops->attend)
            self->ops->attend(self->inner, self->left, self->is_kept);
        n = self->left < capacity ? self->left : capacity;
        more = psnap_source_next_nest(self->inner, room, (size_t)n, block, nest, error);
        if (more < 0)
            return more;
        n = (uint64_t)more + psnap_nest_accesses(nest);
        if (!n) {
            finish(self);
            return 0;
        }
        self->position += n;
        self->left -= n;
        if (!self->is_kept)
            continue;
        if (self->sampling->window && !add_all(self, *block, (size_t)more, nest))
            return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
        return more;
    }
}

static void sample_free(struct psnap_source *source)
{
    struct sampler *self = (struct sampler *)source;

    free(self->tallies);
    free(self->open);
    free(self);
}

struct psnap_source *psnap_sample_source_new(struct psnap_source *inner,
                                             const struct psnap_sampled_ops *ops)
{
    static const struct psnap_source_ops source_ops = {.free = sample_free,
                                                       .next_nest = sample_next_nest};
    struct sampler *self = calloc(1, sizeof *self);

    if (!self)
        return NULL;
    self->base.ops = &source_ops;
    self->base.program = inner->program;
    self->inner = inner;
    self->ops = ops;
    self->sampling = &inner->program->sampling;
    return &self->base;
}

bool psnap_window_read(const char *text, uint64_t *window, uint64_t *period)
{
    const char *slash = strchr(text, '/');
    char *first = slash ? strndup(text, (size_t)(slash - text)) : NULL;
    const bool is_good = first && psnap_text_size(first, window) &&
                         psnap_text_size(slash + 1, period) && *window && *window <= *period;

    free(first);
    return is_good;
}
