/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A model's stream as a source. Where threads begin in the stream of thread 0, or were there
 * together, each has a walk of its own.
 */
#include <stdlib.h>
#include <string.h>

#include "profile/walk/walk.h"

struct thread_walk {
    struct walk *walk; /* NULL: it has not begun, or has ended */
    uint64_t made;     /* accesses so far */
    bool has_begun, has_ended;
};

struct model_source {
    struct psnap_source base;
    struct psnap_stream_model *model; /* held */
    uint32_t *first_ref;              /* by loop; NULL: 0 for all */
    uint64_t seed;
    struct thread_walk *threads; /* by order; or one for all orders */
    uint32_t count;              /* of these */
    uint32_t main;               /* that of thread 0; count: none, which has ended */
    uint32_t turn;               /* whose it is; count: all have ended */
    uint64_t turn_end;           /* at so many accesses of its walk */
    struct psnap_nest_loop loop; /* of the run that was given last */
};

/* Returns whether a thread has not ended, and thread 0 has come to the place where it begins. */
static bool is_ready(const struct model_source *source, uint32_t i)
{
    const struct thread_walk *main = &source->threads[source->main];
    const uint64_t after = source->model->orders[i].after;

    return !source->threads[i].has_ended &&
           (i == source->main || after == MODEL_NO_PLACE || main->has_ended || main->made >= after);
}

/* Returns whether thread 0 has yet to come to where some thread of a group begins. */
static bool is_waiting(const struct model_source *source, uint16_t with)
{
    for (uint32_t i = 0; i < source->count; i++)
        if (source->model->orders[i].with == with && !source->threads[i].has_begun &&
            !is_ready(source, i))
            return true;
    return false;
}

/* Returns the accesses of the turn that begins: to its end, or to where another thread begins. */
static uint64_t turn_length(const struct model_source *source)
{
    const struct model_order *orders = source->model->orders;
    const uint64_t made = source->threads[source->turn].made;
    uint64_t least = source->count > 1 ? orders[source->turn].turn : UINT64_MAX;

    for (uint32_t i = 0; source->turn == source->main && i < source->count; i++)
        if (orders[i].after != MODEL_NO_PLACE && orders[i].after > made &&
            orders[i].after - made < least)
            least = orders[i].after - made;
    return least;
}

/* Returns a thread of another group that begins where thread 0 is now; count: there is none. */
static uint32_t beginning(const struct model_source *source, bool is_start)
{
    const struct model_order *orders = source->model->orders;

    for (uint32_t i = 0; i < source->count; i++)
        if (!source->threads[i].has_begun && orders[i].after != MODEL_NO_PLACE &&
            (is_start || orders[i].with != orders[source->turn].with) && is_ready(source, i))
            return i;
    return source->count;
}

/* Returns the thread that began last, for which the others wait, or the first thread; count: all
 * have ended. */
static uint32_t latest_begun(const struct model_source *source)
{
    uint32_t latest = source->count;

    for (uint32_t i = source->count; i--;)
        if (is_ready(source, i) && (latest == source->count || !source->threads[latest].has_begun))
            latest = i;
    return latest;
}

/* Returns the thread whose turn is next: one that begins, or the next one of the same group, to
 * which thread 0 belongs while it has yet to make more of the group. */
static uint32_t next_turn(const struct model_source *source)
{
    const struct model_order *orders = source->model->orders;
    const uint16_t with = orders[source->turn].with;
    const uint32_t begins = beginning(source, false);
    const bool waits = is_waiting(source, with);

    if (begins < source->count)
        return begins;
    for (uint32_t i = 1; i <= source->count; i++) {
        const uint32_t next = (source->turn + i) % source->count;
        if ((orders[next].with == with || (next == source->main && waits)) &&
            is_ready(source, next))
            return next;
    }
    return latest_begun(source);
}

/* False: out of memory. */
static bool give_turn(struct model_source *source, uint32_t turn)
{
    struct thread_walk *thread = &source->threads[turn];

    source->turn = turn;
    if (turn == source->count)
        return true;
    if (!thread->has_begun) {
        thread->walk = walk_new(source->model, source->first_ref,
                                source->seed + turn * UINT64_C(0x9e3779b97f4a7c15));
        if (!thread->walk)
            return false;
        if (source->count > 1) {
            thread->walk->order = turn;
            thread->walk->last = turn + 1;
        }
        thread->has_begun = true;
    }
    source->turn_end = thread->made + turn_length(source);
    return true;
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
        struct psnap_run run;
        size_t more;
        const int made = walk_next(thread->walk, source->turn_end - thread->made, &run, room + n,
                                   capacity - n, &more);
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
            thread->has_ended = true;
        }
        if ((!made || thread->made >= source->turn_end) && !give_turn(source, next_turn(source)))
            return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for a replay");
    }
    return (ssize_t)n;
}

static void source_free(struct psnap_source *self)
{
    struct model_source *source = (struct model_source *)self;

    for (uint32_t i = 0; source->threads && i < source->count; i++)
        walk_free(source->threads[i].walk);
    free(source->threads);
    free(source->first_ref);
    model_free(source->model);
    free(source);
}

/* Returns whether the threads of a model do not simply stand one behind the other. */
static bool has_lives(const struct psnap_stream_model *model)
{
    for (uint32_t i = 0; i < model->order_count; i++)
        if (model->orders[i].with != model->orders[i].thread ||
            model->orders[i].after != MODEL_NO_PLACE)
            return true;
    return false;
}

/* Copies the caller's array. False: out of memory. */
static bool keep_first_refs(struct model_source *source, const uint32_t *first_ref)
{
    uint32_t loops = 0;

    for (uint32_t i = 0; i < source->model->ref_count; i++)
        if (source->model->refs[i].loop >= loops)
            loops = source->model->refs[i].loop + 1;
    source->first_ref = malloc((loops + (size_t)1) * sizeof *first_ref);
    if (source->first_ref)
        memcpy(source->first_ref, first_ref, loops * sizeof *first_ref);
    return source->first_ref;
}

struct psnap_source *model_source_new(struct psnap_stream_model *model, const uint32_t *first_ref,
                                      struct psnap_program *program, uint64_t seed)
{
    static const struct psnap_source_ops ops = {.free = source_free, .next_nest = next_nest};
    struct model_source *source = calloc(1, sizeof *source);
    uint32_t first;

    if (!source)
        return NULL;
    model->holders++;
    *source =
        (struct model_source){{.ops = &ops, .program = program}, .model = model, .seed = seed};
    source->count = has_lives(model) ? model->order_count : model->order_count > 0;
    source->main = source->count;
    for (uint32_t i = 0; i < source->count; i++)
        if (!model->orders[i].thread)
            source->main = i;
    source->threads = calloc(source->count + (size_t)1, sizeof *source->threads);
    if (!source->threads || (first_ref && !keep_first_refs(source, first_ref))) {
        source_free(&source->base);
        return NULL;
    }
    source->threads[source->count].has_ended = true;
    first = beginning(source, true);
    if (!give_turn(source, first < source->count ? first : latest_begun(source))) {
        source_free(&source->base);
        return NULL;
    }
    return &source->base;
}
