/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A stream to its model. Each thread is a stream of its own (of more than LANES of them, some share
 * one), so that the model does not depend on how threads were recorded in turn; in the end they
 * stand one after the other, by the threads' numbers. Which were there together is noted: each had
 * turns between two of the other's.
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
#include <string.h>

#include "profile/collect/choose.h"
#include "profile/collect/lane.h"
#include "profile/walk/walk.h"

enum {
    LANES = 64,
    TURN_BINS = 31,
    BLOCK = 1024,  /* accesses */
    TURNS_MIN = 8, /* threads of fewer may differ from run to run in whether they were together */
    NEAR = 64      /* accesses between the begins of threads that are made together */
};

struct thread {
    struct lane *lane; /* NULL: nothing came */
    uint16_t number;   /* of the first one that is in it */
    uint64_t accesses, turns;
    uint64_t since;  /* threads that had turns since its latest one, and */
    uint64_t inside; /* between its first and its latest one: a bit each */
    uint32_t loop;   /* of its latest access; and where it was entered, if that is near */
    uint64_t entered;
    uint64_t begin, main; /* where in thread 0 it began; and how many accesses that one had made */
    uint64_t first, last; /* its turns, by their numbers in all of the stream */
    uint64_t before_turn; /* accesses before the latest one */
    uint64_t lengths[TURN_BINS]; /* accesses in turns of about 1, 2, 4, ... */
};

struct model_builder {
    struct psnap_sink base;
    const struct psnap_program *program;
    struct thread threads[LANES]; /* by thread's number modulo LANES */
    struct thread *latest;        /* whose turn it is; NULL: nobody's yet */
    uint64_t turns;
    uint32_t used; /* threads up to the last one that came */
};

static enum psnap_status no_memory(struct psnap_error *error)
{
    return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for the model of a stream");
}

/* Its accesses so far, without those of a loop that it has just entered: where it makes threads in
 * a loop, how many are made before the first one begins differs from run to run. */
static uint64_t place_of(const struct thread *thread)
{
    return thread->accesses - thread->entered < NEAR ? thread->entered : thread->accesses;
}

static uint32_t loop_of(const struct model_builder *b, const struct psnap_access *access)
{
    return access->ref < b->program->ref_count ? b->program->refs[access->ref].loop : PSNAP_NONE;
}

/* The last of its accesses so far. */
static void note_loop(const struct model_builder *b, struct thread *thread,
                      const struct psnap_access *block, size_t n)
{
    const uint32_t loop = loop_of(b, &block[n - 1]);
    size_t i = n;

    while (i && n - i < NEAR && loop_of(b, &block[i - 1]) == loop)
        i--;
    if (i || thread->loop != loop)
        thread->entered = thread->accesses - n + i;
    thread->loop = loop;
}

/* The nearest power of two. */
static uint32_t turn_bin(uint64_t length)
{
    const uint32_t bin = 63 - (uint32_t)__builtin_clzll(length | 1);
    const uint32_t nearest = bin && length >> (bin - 1) & 1 ? bin + 1 : bin;

    return nearest < TURN_BINS ? nearest : TURN_BINS - 1;
}

static void end_turn(struct thread *thread)
{
    const uint64_t length = thread->accesses - thread->before_turn;

    thread->lengths[turn_bin(length)] += length;
    thread->before_turn = thread->accesses;
}

/* It is another thread's turn. */
static void take_turn(struct model_builder *b, struct thread *thread)
{
    const uint64_t bit = UINT64_C(1) << (thread - b->threads);

    if (thread >= b->threads + b->used)
        b->used = (uint32_t)(thread - b->threads) + 1;
    for (struct thread *other = b->threads; other < b->threads + b->used; other++)
        other->since |= other->turns ? bit : 0;
    if (b->latest)
        end_turn(b->latest);
    thread->last = b->turns++;
    if (!thread->turns) {
        thread->first = thread->last;
        thread->begin = place_of(b->threads);
        thread->main = b->threads->accesses;
    }
    thread->inside |= thread->since;
    thread->since = 0;
    thread->turns++;
    b->latest = thread;
}

/* That of a thread, which makes so many accesses; NULL: out of memory. */
static inline struct thread *thread_of(struct model_builder *b, uint16_t number, uint64_t accesses)
{
    struct thread *thread = &b->threads[number % LANES];

    if (thread != b->latest)
        take_turn(b, thread);
    thread->accesses += accesses;
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
        struct thread *thread = thread_of(b, block->thread, same);
        if (!thread || !lane_put(thread->lane, block, same) || !go_on(b, thread))
            return no_memory(error);
        note_loop(b, thread, block, same);
        block += same;
        n -= same;
    }
    return PSNAP_OK;
}

static enum psnap_status put_nest(struct psnap_sink *self, const struct psnap_nest *nest,
                                  struct psnap_error *error)
{
    struct model_builder *b = (struct model_builder *)self;
    struct thread *thread = thread_of(b, nest->first[0].thread, psnap_nest_accesses(nest));

    if (!thread || !lane_put_nest(thread->lane, nest) || !go_on(b, thread))
        return no_memory(error);
    thread->loop = PSNAP_NONE;
    thread->entered = thread->accesses;
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

/* The threads that were there together with thread i, with others in between: a bit each. */
static uint64_t together(const struct model_builder *b, int i)
{
    uint64_t all = UINT64_C(1) << i, before = 0;

    while (all != before) {
        before = all;
        for (int k = 0; k < LANES; k++)
            for (int other = 0; before >> k & 1 && other < LANES; other++)
                if (b->threads[k].inside >> other & b->threads[other].inside >> k & 1 &&
                    b->threads[k].turns >= TURNS_MIN && b->threads[other].turns >= TURNS_MIN)
                    all |= UINT64_C(1) << other;
    }
    return all;
}

/* Where thread i begins in thread 0, if that one has not ended: with the threads shortly before it
 * that are still there, since they may be let run in another order. */
static void keep_begin(const struct model_builder *b, int i, uint64_t all,
                       struct model_order *order)
{
    const struct thread *main = b->threads, *thread = &b->threads[i];
    uint64_t at = thread->begin;

    if (!order->thread || !main->lane || main->number || thread->main == main->accesses)
        return;
    for (int k = i; --k > 0;) {
        const struct thread *other = &b->threads[k];
        if (other->lane && (other->last > thread->first || all >> k & 1) &&
            at - other->begin < NEAR)
            at = other->begin;
    }
    order->after = at;
}

/* With whom thread i was there together, and the turns that had most of their accesses. */
static void keep_life(const struct model_builder *b, int i, struct model_order *order)
{
    const uint64_t all = together(b, i);
    uint64_t most = 0;

    for (int k = 0; k < LANES; k++)
        if (all >> k & 1 && b->threads[k].number < order->with)
            order->with = b->threads[k].number;
    for (uint32_t bin = 0; all & (all - 1) && bin < TURN_BINS; bin++) {
        uint64_t accesses = 0;
        for (int k = 0; k < LANES; k++)
            accesses += all >> k & 1 ? b->threads[k].lengths[bin] : 0;
        if (accesses > most) {
            most = accesses;
            order->turn = UINT32_C(1) << bin;
        }
    }
    keep_begin(b, i, all, order);
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
            keep_life(b, i, &model->orders[model->order_count - 1]);
    for (uint32_t i = 0; model && i < model->ref_count; i++)
        keep_mark(&model->refs[i], b->program);
    if (model && !model_choose(model, deadline)) {
        model_free(model);
        model = NULL;
    }
    return model;
}
