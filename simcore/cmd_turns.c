/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The threads of an input in turn, access by access. A trace is read once to
 * find the threads (and all of its tables), and then by as many readers as
 * there are threads at the same time: so it must be a file. A profile that keeps
 * threads apart delivers them in turn anyway; one with walks, one after the other,
 * so that it is treated as a trace is.
 */
#include "simcore/cmd_turns.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "formats/base/cmd_progress.h"
#include "profile/profile.h"
#include "replay/replay.h"

/* What is read again and again: an input, or the replay of a profile. */
struct passing {
    const char *path; /* NULL: a profile */
    struct psnap_input_options options;
    const struct psnap_profile *profile;
    uint64_t seed;
};

static struct psnap_source *passing_open(const struct passing *passing, struct psnap_error *error)
{
    struct psnap_source *source;
    struct psnap_profile_totals totals;

    if (passing->path)
        return psnap_input_open(passing->path, &passing->options, error);
    source = psnap_replay_new(passing->profile, passing->seed, error);
    if (!source)
        return NULL;
    psnap_profile_totals(passing->profile, &totals);
    if (passing->options.count != UINT64_MAX || totals.accesses > PSNAP_PROGRESS_LONG) {
        source = psnap_limit_source_new(source, 0, passing->options.count);
        if (!source)
            psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    }
    if (!source || passing->options.is_lane)
        return source;
    return psnap_progress_source_new(
        source, totals.accesses < passing->options.count ? totals.accesses : passing->options.count,
        -1);
}

static bool is_possible(const char *path)
{
    struct stat about;

    return strcmp(path, "-") != 0 && stat(path, &about) == 0 && S_ISREG(about.st_mode);
}

/* ------------------------------------------------------------- one thread, or it ends */

struct lone_source {
    struct psnap_source base;
    struct psnap_source *inner;
    bool *is_mixed;
    bool has_thread;
    uint16_t thread;
};

/* Whether accesses and the run behind them, if there is one, are of one thread, that of all before.
 */
static bool is_alone(struct lone_source *lone, const struct psnap_access *block, size_t n,
                     const struct psnap_nest *nest)
{
    uint16_t others = 0;

    if (!lone->has_thread && (n || nest->loop_count)) {
        lone->thread = n ? block[0].thread : nest->first[0].thread;
        lone->has_thread = true;
    }
    for (size_t i = 0; i < n; i++)
        others |= block[i].thread ^ lone->thread;
    if (nest->loop_count)
        others |= nest->first[0].thread ^ lone->thread;
    *lone->is_mixed |= others != 0;
    return !others;
}

static ssize_t lone_next_nest(struct psnap_source *self, struct psnap_access *room, size_t capacity,
                              const struct psnap_access **block, struct psnap_nest *nest,
                              struct psnap_error *error)
{
    struct lone_source *lone = (struct lone_source *)self;
    const ssize_t n = psnap_source_next_nest(lone->inner, room, capacity, block, nest, error);

    if (n < 0 || is_alone(lone, *block, (size_t)n, nest))
        return n;
    nest->loop_count = 0;
    return 0;
}

static void lone_free(struct psnap_source *self)
{
    psnap_source_free(((struct lone_source *)self)->inner);
    free(self);
}

/* The same stream, which ends where a second thread appears, with *is_mixed set. Owns `inner`
 * (freed also when this fails with NULL: out of memory). */
static struct psnap_source *lone_source_new(struct psnap_source *inner, bool *is_mixed,
                                            struct psnap_error *error)
{
    static const struct psnap_source_ops ops = {.free = lone_free, .next_nest = lone_next_nest};
    struct lone_source *lone = malloc(sizeof *lone);

    *is_mixed = false;
    if (!lone) {
        psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
        psnap_source_free(inner);
        return NULL;
    }
    *lone = (struct lone_source){{&ops, inner->program, NULL}, inner, is_mixed, false, 0};
    return &lone->base;
}

/* ------------------------------------------------------------- threads in turn */

struct turns {
    struct psnap_source base;
    struct psnap_source *tables; /* read to its end: its program has everything */
    struct psnap_source *inner;
};

/* Reads a source to its end, marks its threads and counts. */
static enum psnap_status find_threads(struct psnap_source *source, bool *is_there,
                                      uint64_t *accesses, struct psnap_error *error)
{
    struct psnap_access *room = malloc(PSNAP_BLOCK_ACCESSES * sizeof *room);
    const struct psnap_access *block;
    struct psnap_nest nest;
    ssize_t n = 0;

    if (!room)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    do {
        n = psnap_source_next_nest(source, room, PSNAP_BLOCK_ACCESSES, &block, &nest, error);
        for (ssize_t i = 0; i < n; i++)
            is_there[block[i].thread] = true;
        if (nest.loop_count)
            is_there[nest.first[0].thread] = true;
        *accesses += (n > 0 ? (uint64_t)n : 0) + psnap_nest_accesses(&nest);
    } while (n > 0 || (n == 0 && nest.loop_count));
    free(room);
    return n < 0 ? (enum psnap_status)n : PSNAP_OK;
}

static ssize_t turns_next(struct psnap_source *self, struct psnap_access *block, size_t capacity,
                          struct psnap_error *error)
{
    return psnap_source_next(((struct turns *)self)->inner, block, capacity, error);
}

static void turns_free(struct psnap_source *self)
{
    struct turns *turns = (struct turns *)self;

    psnap_source_free(turns->inner);
    psnap_source_free(turns->tables);
    free(turns);
}

/* A reader for each of the threads; NULL with `error` filled. */
static struct psnap_source *open_lanes(const struct passing *passing, const bool *is_there,
                                       struct psnap_program *program, struct psnap_error *error)
{
    struct psnap_source *lanes[PSNAP_TURNS_MAX], *result;
    struct passing again = *passing; /* threads have been looked for */
    size_t n = 0;

    again.options.is_again = again.options.is_lane = true;
    for (unsigned thread = 0; thread < PSNAP_THREADS_MAX && n < PSNAP_TURNS_MAX; thread++) {
        struct psnap_source *file;
        if (!is_there[thread])
            continue;
        file = passing_open(&again, error);
        lanes[n] = file ? psnap_thread_source_new(file, (uint16_t)thread) : NULL;
        if (!lanes[n]) {
            if (file)
                psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
            while (n)
                psnap_source_free(lanes[--n]);
            return NULL;
        }
        n++;
    }
    result = psnap_interleave_source_new(lanes, n, program);
    if (!result)
        psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    return result;
}

/* All threads of the input in turn, access by access. NULL with *threads > PSNAP_TURNS_MAX when
 * there are too many, else with `error` filled. */
static struct psnap_source *open_turns(const struct passing *passing, uint32_t *threads,
                                       struct psnap_error *error)
{
    static const struct psnap_source_ops ops = {turns_next, turns_free, NULL};
    struct turns *turns = calloc(1, sizeof *turns);
    bool *is_there = calloc(PSNAP_THREADS_MAX, sizeof *is_there);
    uint64_t accesses = 0;
    enum psnap_status status;

    *threads = 0;
    if (!turns || !is_there) {
        psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
        goto out;
    }
    turns->tables = passing_open(passing, error);
    status = turns->tables ? find_threads(turns->tables, is_there, &accesses, error) : error->code;
    for (unsigned thread = 0; thread < PSNAP_THREADS_MAX && !status; thread++)
        *threads += is_there[thread];
    if (status || *threads > PSNAP_TURNS_MAX)
        goto out;
    turns->inner = open_lanes(passing, is_there, turns->tables->program, error);
    if (!turns->inner)
        goto out;
    turns->base = (struct psnap_source){&ops, turns->tables->program};
    free(is_there);
    return psnap_progress_source_new(&turns->base, accesses, -1);
out:
    free(is_there);
    if (turns)
        turns_free(&turns->base);
    return NULL;
}

/* The second pass: threads in turn, unless there are too many. */
static enum psnap_status pass_turns(const struct passing *passing,
                                    enum psnap_status (*pass)(void *context,
                                                              struct psnap_source *source,
                                                              struct psnap_error *error),
                                    void *context, bool *in_turn, struct psnap_error *error)
{
    uint32_t threads = 0;
    struct psnap_source *source = open_turns(passing, &threads, error);
    enum psnap_status status;

    *in_turn = source != NULL;
    if (!source && threads > PSNAP_TURNS_MAX)
        source = passing_open(passing, error);
    status = source ? pass(context, source, error) : error->code;
    psnap_source_free(source);
    return status;
}

enum psnap_status
psnap_turns_pass(const char *path, const struct psnap_input_options *options, bool as_it_comes,
                 enum psnap_status (*pass)(void *context, struct psnap_source *source,
                                           struct psnap_error *error),
                 void *context, bool *in_turn, struct psnap_error *error)
{
    struct psnap_input_options input = *options;
    struct passing again = {.path = path, .options = *options};
    struct psnap_profile *profile = NULL;
    struct psnap_source *source;
    bool is_mixed = false;
    enum psnap_status status;

    again.options.kept = NULL; /* the first one is */
    input.kept = options->kept ? options->kept : &profile;
    source = psnap_input_open(path, &input, error);
    *in_turn = source && *input.kept && (*input.kept)->is_apart;
    if (source && !*in_turn && !as_it_comes && is_possible(path))
        source = lone_source_new(source, &is_mixed, error);
    status = source ? pass(context, source, error) : error->code;
    psnap_source_free(source);
    psnap_profile_free(profile);
    return status || !is_mixed ? status : pass_turns(&again, pass, context, in_turn, error);
}

enum psnap_status
psnap_turns_replay(const struct psnap_profile *profile, uint64_t seed, uint64_t count,
                   enum psnap_status (*pass)(void *context, struct psnap_source *source,
                                             struct psnap_error *error),
                   void *context, struct psnap_error *error)
{
    const struct passing again = {.profile = profile, .seed = seed, .options.count = count};
    struct psnap_source *source = passing_open(&again, error);
    bool is_mixed = false, in_turn;
    enum psnap_status status;

    if (source && !profile->is_apart)
        source = lone_source_new(source, &is_mixed, error);
    status = source ? pass(context, source, error) : error->code;
    psnap_source_free(source);
    return status || !is_mixed ? status : pass_turns(&again, pass, context, &in_turn, error);
}

const char *psnap_turns_words(bool in_turn)
{
    return in_turn ? "access by access" : "in the stream's order";
}

void psnap_turns_json(struct psnap_json *json, uint32_t threads, bool in_turn)
{
    psnap_json_u64(json, "threads", threads);
    psnap_json_text(json, "interleaving",
                    in_turn && threads > 1 ? "round-robin by access" : "stream order");
}
