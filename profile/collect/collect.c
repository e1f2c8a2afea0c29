/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A stream to its model. Each thread is a stream of its own (of more than LANES of them, some share
 * one), so that the model does not depend on how threads were recorded in turn; in the end they
 * stand one after the other, by the threads' numbers.
 *
 * Reuse times take most of the time, and only irregular references need them. So a thread has none
 * at first, but a tape of all that came: of loop nests, and so small as long as there is nothing
 * irregular. When a reference turns out to be irregular, or the tape is full, the tape is put
 * through a lane that has reuse times from the beginning on, and the stream goes on there. The
 * model is the same, whenever that is.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/collect/choose.h"
#include "profile/collect/tape.h"

enum { LANES = 64 };

/* The stream of a thread: its lane and, as long as that has no reuse times, all that came. */
struct thread {
    struct lane *lane; /* NULL: nothing came */
    struct tape *tape; /* NULL: the lane has reuse times */
    uint16_t number;   /* of the first one that is in it */
};

struct model_builder {
    struct psnap_sink base;
    const struct psnap_program *program;
    struct thread threads[LANES]; /* by thread's number modulo LANES */
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
    thread->tape = tape_new();
    thread->lane = lane_new(b->program, !thread->tape);
    return thread->lane ? thread : NULL;
}

/* Reuse times are wanted after all: all that came goes through another lane. False: out of memory.
 */
static bool play_again(const struct model_builder *b, struct thread *thread)
{
    bool is_done;

    lane_free(thread->lane);
    thread->lane = lane_new(b->program, true);
    is_done = thread->lane && tape_play(thread->tape, thread->lane);
    tape_free(thread->tape);
    thread->tape = NULL;
    return is_done;
}

/* The lane has what came, and so has the tape. */
static bool go_on(const struct model_builder *b, struct thread *thread)
{
    return !thread->tape || !thread->lane->wants_reuse || play_again(b, thread);
}

static enum psnap_status put(struct psnap_sink *self, const struct psnap_access *block, size_t n,
                             struct psnap_error *error)
{
    struct model_builder *b = (struct model_builder *)self;

    while (n) {
        struct thread *thread = thread_of(b, block->thread);
        const size_t same = psnap_accesses_of_thread(block, n);
        if (!thread ||
            (thread->tape && !tape_keep(thread->tape, block, same) && !play_again(b, thread)) ||
            !lane_put(thread->lane, block, same) || !go_on(b, thread))
            return no_memory(error);
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

    if (!thread ||
        (thread->tape && !tape_keep_nest(thread->tape, nest) && !play_again(b, thread)) ||
        !lane_put_nest(thread->lane, nest) || !go_on(b, thread))
        return no_memory(error);
    return PSNAP_OK;
}

static enum psnap_status finish(struct psnap_sink *self, struct psnap_error *error)
{
    struct model_builder *b = (struct model_builder *)self;

    for (struct thread *thread = b->threads; thread < b->threads + LANES; thread++) {
        if (thread->lane && !lane_end(thread->lane))
            return no_memory(error);
        if (thread->tape && lane_is_irregular(thread->lane) &&
            (!play_again(b, thread) || !lane_end(thread->lane)))
            return no_memory(error);
        tape_free(thread->tape);
        thread->tape = NULL;
    }
    return PSNAP_OK;
}

static void builder_free(struct psnap_sink *self)
{
    struct model_builder *b = (struct model_builder *)self;

    for (int i = 0; i < LANES; i++) {
        lane_free(b->threads[i].lane);
        tape_free(b->threads[i].tape);
    }
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
        }
    for (uint32_t i = 0; model && i < model->ref_count; i++)
        keep_mark(&model->refs[i], b->program);
    if (model && !model_choose(model, deadline)) {
        model_free(model);
        model = NULL;
    }
    return model;
}
