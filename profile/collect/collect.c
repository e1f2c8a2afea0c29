/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A stream to its model. Each thread is a stream of its own (of more than LANES of them, some share
 * one), so that the model does not depend on how threads were recorded in turn; in the end the
 * threads' streams stand one after the other, by the threads' numbers, with their lives (lives.h).
 *
 * Reuse times take most of the time, and only irregular references need them. So a thread has none
 * at first, and as long as all of its references are nests, as its trip counts and its order are,
 * the lane is the whole stream. When one of them is no nest any more, at last in the end, the
 * stream so far is made anew from the lane's nests, as a replay is, and put through a lane that has
 * reuse times from the beginning on; there it goes on. Where only rare references turn out to be no
 * nests in the end, their reuse times are all that is missing (lane_times.c). The model is the
 * same, whenever that is.
 */
#include <stdio.h>
#include <stdlib.h>

#include "profile/collect/choose.h"
#include "profile/collect/lane.h"
#include "profile/collect/lives.h"
#include "profile/walk/walk.h"

enum { LANES = LIVES, BLOCK = 1024 /* accesses */ };

struct thread {
    struct lane *lane; /* NULL: nothing came */
    uint16_t number;   /* of the first one that is in it */
};

struct model_builder {
    struct psnap_sink base;
    const struct psnap_program *program;
    struct thread threads[LANES]; /* by thread's number modulo LANES */
    struct lives lives;
};

static enum psnap_status no_memory(struct psnap_error *error)
{
    return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for the model of a stream");
}

/* That of a thread; NULL: out of memory. */
static inline struct thread *thread_of(struct model_builder *b, uint16_t number)
{
    struct thread *thread = &b->threads[number % LANES];

    if (thread->lane)
        return thread;
    thread->number = number;
    thread->lane = lane_new(b->program, false);
    return thread->lane ? thread : NULL;
}

/* Puts the stream of a model, which is exact, through a lane; false: out of memory. */
static bool put_model(const struct psnap_stream_model *model, struct lane *lane)
{
    struct walk *walk = walk_new(model, NULL, 0);
    struct psnap_access block[BLOCK];
    struct psnap_run run;
    size_t n;
    int more = walk ? 1 : -1;

    while (more > 0) {
        more = walk_next(walk, UINT64_MAX, &run, block, BLOCK, &n);
        if (more > 0 && !(more == 1 ? lane_put_run(lane, &run) : lane_put(lane, block, n)))
            more = -1;
    }
    walk_free(walk);
    return more == 0;
}

/* Reuse times are wanted after all: the stream of a lane that has ended goes through another one.
 * False: out of memory. */
static bool put_again(const struct model_builder *b, struct thread *thread)
{
    struct psnap_stream_model *model = model_new();
    struct lane *lane = lane_new(b->program, true);
    const bool is_done =
        model && lane && lane_take(thread->lane, thread->number, model) && put_model(model, lane);

    model_free(model);
    lane_free(thread->lane);
    thread->lane = lane;
    return is_done;
}

static bool go_on(const struct model_builder *b, struct thread *thread)
{
    return !lane_wants_reuse(thread->lane) || (lane_end(thread->lane) && put_again(b, thread));
}

static enum psnap_status put(struct psnap_sink *self, const struct psnap_access *block, size_t n,
                             struct psnap_error *error)
{
    struct model_builder *b = (struct model_builder *)self;

    while (n) {
        const size_t same = psnap_accesses_of_thread(block, n);
        struct thread *thread = thread_of(b, block->thread);
        if (!thread || !lane_put(thread->lane, block, same) || !go_on(b, thread))
            return no_memory(error);
        lives_put(&b->lives, b->program, block, same);
        block += same;
        n -= same;
    }
    return PSNAP_OK;
}

static enum psnap_status put_nest(struct psnap_sink *self, const struct psnap_nest *nest,
                                  struct psnap_error *error)
{
    struct model_builder *b = (struct model_builder *)self;
    struct thread *thread = thread_of(b, nest->first[0].thread);

    if (!thread || !lane_put_nest(thread->lane, nest) || !go_on(b, thread))
        return no_memory(error);
    lives_put_nest(&b->lives, nest);
    return PSNAP_OK;
}

static enum psnap_status finish(struct psnap_sink *self, struct psnap_error *error)
{
    struct model_builder *b = (struct model_builder *)self;

    for (struct thread *thread = b->threads; thread < b->threads + LANES; thread++) {
        if (thread->lane && !lane_end(thread->lane))
            return no_memory(error);
        if (thread->lane && thread->lane->wants_times && !lane_collect_times(thread->lane))
            return no_memory(error);
        if (thread->lane && lane_wants_reuse(thread->lane) &&
            (!put_again(b, thread) || !lane_end(thread->lane)))
            return no_memory(error);
    }
    return PSNAP_OK;
}

static void builder_free(struct psnap_sink *self)
{
    struct model_builder *b = (struct model_builder *)self;

    for (int i = 0; i < LANES; i++)
        lane_free(b->threads[i].lane);
    free(b);
}

struct psnap_sink *model_builder_new(const struct psnap_program *program)
{
    static const struct psnap_sink_ops ops = {
        .put = put, .finish = finish, .free = builder_free, .put_nest = put_nest};
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
        if (b->threads[i].lane && !lane_take(b->threads[i].lane, b->threads[i].number, model)) {
            model_free(model);
            model = NULL;
        } else if (b->threads[i].lane)
            lives_keep(&b->lives, (uint32_t)i, &model->orders[model->order_count - 1]);
    for (uint32_t i = 0; model && i < model->ref_count; i++)
        keep_mark(&model->refs[i], b->program);
    if (model && !model_choose(model, deadline)) {
        model_free(model);
        model = NULL;
    }
    return model;
}
