/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A model's stream as a source. Where threads begin in the stream of thread 0, or were there
 * together, each has a walk of its own.
 */
#include <stdlib.h>

#include "profile/walk/walk.h"

struct thread_walk {
    struct walk *walk; /* NULL: it has ended */
    uint64_t made;     /* accesses so far */
};

struct model_source {
    struct psnap_source base;
    struct psnap_stream_model *model; /* held */
    struct thread_walk *threads;      /* by order; or one for all orders */
    uint32_t count;                   /* of these */
    uint32_t main;                    /* that of thread 0; count: none */
    uint32_t turn;                    /* whose it is; count: all have ended */
    uint64_t turn_end;                /* at so many accesses of its walk */
    struct psnap_nest_loop loop;      /* of the run that was given last */
};

/* It has not ended, and may go on. */
static bool is_ready(const struct model_source *source, uint32_t i)
{
    const struct thread_walk *main = &source->threads[source->main];

    return source->threads[i].walk &&
           (i == source->main || !main->walk || main->made >= source->model->orders[i].after);
}

/* How many accesses it makes before it is looked whose turn it is: until others may begin. */
static uint64_t turn_length(const struct model_source *source)
{
    const struct model_order *orders = source->model->orders;
    const uint64_t made = source->threads[source->turn].made;
    uint64_t least = source->count > 1 ? orders[source->turn].turn : UINT64_MAX;

    for (uint32_t i = 0; source->turn == source->main && i < source->count; i++)
        if (orders[i].after > made && orders[i].after - made < least)
            least = orders[i].after - made;
    return least;
}

/* The last one of those that have begun, or the first one; count: none is left. */
static uint32_t latest_begun(const struct model_source *source)
{
    uint32_t latest = source->count;

    for (uint32_t i = source->count; i--;)
        if (is_ready(source, i) && (latest == source->count || !source->threads[latest].made))
            latest = i;
    return latest;
}

/*
 * The turn goes to a thread that begins apart from those that are there together with the one that
 * had it; else to the next of these. When they have ended it goes to the one that began last, for
 * which the others wait, or to a first one.
 */
static uint32_t next_turn(const struct model_source *source)
{
    const struct model_order *orders = source->model->orders;
    const struct thread_walk *threads = source->threads;
    const uint16_t with = orders[source->turn].with;

    for (uint32_t i = 0; i < source->count; i++)
        if (!threads[i].made && orders[i].after && orders[i].with != with && is_ready(source, i))
            return i;
    for (uint32_t i = 1; i <= source->count; i++) {
        const uint32_t next = (source->turn + i) % source->count;
        if (orders[next].with == with && is_ready(source, next))
            return next;
    }
    return latest_begun(source);
}

static void give_turn(struct model_source *source, uint32_t turn)
{
    source->turn = turn;
    if (source->turn < source->count)
        source->turn_end = source->threads[source->turn].made + turn_length(source);
}

static ssize_t next_nest(struct psnap_source *self, struct psnap_access *room, size_t capacity,
                         const struct psnap_access **block, struct psnap_nest *nest,
                         struct psnap_error *error)
{
    struct model_source *source = (struct model_source *)self;
    size_t n = 0;

    (void)block;
    while (n < capacity && !nest->loop_count && source->turn < source->count) {
        struct thread_walk *thread = &source->threads[source->turn];
        const uint64_t left = source->turn_end - thread->made;
        struct psnap_run run;
        size_t more;
        const int made = walk_next(thread->walk, &run, room + n,
                                   left < capacity - n ? (size_t)left : capacity - n, &more);
        if (made < 0)
            return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for a replay");
        n += more;
        thread->made += more;
        if (made == 1) {
            *nest = psnap_nest_of_run(&source->loop, &run);
            thread->made += psnap_nest_accesses(nest);
        } else if (!made) {
            walk_free(thread->walk);
            thread->walk = NULL;
        }
        if (!made || thread->made >= source->turn_end)
            give_turn(source, next_turn(source));
    }
    return (ssize_t)n;
}

static void source_free(struct psnap_source *self)
{
    struct model_source *source = (struct model_source *)self;

    for (uint32_t i = 0; source->threads && i < source->count; i++)
        walk_free(source->threads[i].walk);
    free(source->threads);
    if (source->model)
        model_free(source->model);
    free(source);
}

/* Threads are not simply one behind the other. */
static bool has_lives(const struct psnap_stream_model *model)
{
    for (uint32_t i = 0; i < model->order_count; i++)
        if (model->orders[i].with != model->orders[i].thread || model->orders[i].after)
            return true;
    return false;
}

struct psnap_source *model_source_new(struct psnap_stream_model *model, const uint32_t *first_ref,
                                      struct psnap_program *program, uint64_t seed)
{
    static const struct psnap_source_ops ops = {.free = source_free, .next_nest = next_nest};
    struct model_source *source = calloc(1, sizeof *source);
    bool is_done;

    if (!source)
        return NULL;
    model->holders++;
    *source = (struct model_source){{.ops = &ops, .program = program}, .model = model};
    source->count = has_lives(model) ? model->order_count : model->order_count > 0;
    source->threads = calloc(source->count + (size_t)1, sizeof *source->threads);
    source->main = source->count;
    is_done = source->threads;
    for (uint32_t i = 0; is_done && i < source->count; i++) {
        struct walk *walk = source->threads[i].walk =
            walk_new(model, first_ref, seed + i * UINT64_C(0x9e3779b97f4a7c15));
        is_done = walk;
        if (walk && source->count > 1) {
            walk->order = i;
            walk->last = i + 1;
        }
        if (!model->orders[i].thread)
            source->main = i;
    }
    if (!is_done) {
        source_free(&source->base);
        return NULL;
    }
    give_turn(source, latest_begun(source));
    return &source->base;
}
