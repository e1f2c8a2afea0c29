/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A stream to its model. Each thread is a stream of its own (of more than LANES of them, some share
 * one), so that the model does not depend on how threads were recorded in turn; in the end they
 * stand one after the other, by the threads' numbers.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/collect/choose.h"
#include "profile/collect/lane.h"

enum { LANES = 64 };

struct model_builder {
    struct psnap_sink base;
    const struct psnap_program *program;
    struct lane *lanes[LANES]; /* by thread's number modulo LANES; NULL: none came */
    uint16_t threads[LANES];   /* the first of each */
};

static enum psnap_status no_memory(struct psnap_error *error)
{
    return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for the model of a stream");
}

/* That of a thread; NULL: out of memory. */
static inline struct lane *lane_of(struct model_builder *b, uint16_t thread)
{
    struct lane **lane = &b->lanes[thread % LANES];

    if (!*lane) {
        *lane = lane_new(b->program);
        b->threads[thread % LANES] = thread;
    }
    return *lane;
}

static enum psnap_status put(struct psnap_sink *self, const struct psnap_access *block, size_t n,
                             struct psnap_error *error)
{
    struct model_builder *b = (struct model_builder *)self;

    while (n) {
        struct lane *lane = lane_of(b, block->thread);
        const size_t same = psnap_accesses_of_thread(block, n);
        if (!lane || !lane_put(lane, block, same))
            return no_memory(error);
        block += same;
        n -= same;
    }
    return PSNAP_OK;
}

static enum psnap_status put_run(struct psnap_sink *self, const struct psnap_run *run,
                                 struct psnap_error *error)
{
    struct model_builder *b = (struct model_builder *)self;
    struct lane *lane = lane_of(b, run->first[0].thread);
    bool is_of_one = true;

    for (size_t k = 1; k < run->width; k++)
        is_of_one &= run->first[k].thread == run->first[0].thread;
    if (!is_of_one)
        return psnap_sink_put_repetitions(self, run, 0, run->count, error);
    return lane && lane_put_run(lane, run) ? PSNAP_OK : no_memory(error);
}

static enum psnap_status finish(struct psnap_sink *self, struct psnap_error *error)
{
    struct model_builder *b = (struct model_builder *)self;

    for (int i = 0; i < LANES; i++)
        if (b->lanes[i] && !lane_end(b->lanes[i]))
            return no_memory(error);
    return PSNAP_OK;
}

static void builder_free(struct psnap_sink *self)
{
    struct model_builder *b = (struct model_builder *)self;

    for (int i = 0; i < LANES; i++)
        lane_free(b->lanes[i]);
    free(b);
}

struct psnap_sink *model_builder_new(const struct psnap_program *program)
{
    static const struct psnap_sink_ops ops = {
        .put = put, .finish = finish, .free = builder_free, .put_run = put_run};
    struct model_builder *b = calloc(1, sizeof *b);

    if (!b)
        return NULL;
    b->base.ops = &ops;
    b->program = program;
    return &b->base;
}

/* Its reference of the program may be a mark. */
static void keep_mark(struct model_ref *ref, const struct psnap_program *program)
{
    const struct psnap_ref *of =
        ref->number < program->ref_count ? &program->refs[ref->number] : NULL;

    if (of && of->object && psnap_capture_is_mark(of->object, of->object_kind))
        snprintf(ref->mark, sizeof ref->mark, "%s", of->object);
}

struct psnap_stream_model *model_builder_take(struct psnap_sink *builder,
                                              const struct psnap_deadline *deadline)
{
    struct model_builder *b = (struct model_builder *)builder;
    struct psnap_stream_model *model = model_new();

    for (int i = 0; model && i < LANES; i++)
        if (b->lanes[i] && !lane_take(b->lanes[i], b->threads[i], model)) {
            model_free(model);
            model = NULL;
        }
    for (uint32_t i = 0; model && i < model->ref_count; i++)
        keep_mark(&model->refs[i], b->program);
    if (model && !model_choose(model, deadline)) {
        model_free(model);
        model = NULL;
    }
    return model;
}
