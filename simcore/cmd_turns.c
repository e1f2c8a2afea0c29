/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inputs through caches, whose threads come in the order that they have, or in turn, access by
 * access. For that an input is read once to find the threads (and all of its tables), and then by
 * as many readers as there are threads at the same time: so it must be a file.
 */
#include "simcore/cmd_turns.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "formats/base/cmd_progress.h"
#include "profile/profile.h"
#include "replay/replay.h"

static bool is_possible(const char *path)
{
    struct stat about;

    return strcmp(path, "-") != 0 && stat(path, &about) == 0 && S_ISREG(about.st_mode);
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
static struct psnap_source *open_lanes(const char *path, const struct psnap_input_options *options,
                                       const bool *is_there, struct psnap_program *program,
                                       struct psnap_error *error)
{
    struct psnap_source *lanes[PSNAP_TURNS_MAX], *result;
    struct psnap_input_options again = *options;
    size_t n = 0;

    again.is_again = again.is_lane = true;
    again.kept = NULL; /* the first one is */
    for (unsigned thread = 0; thread < PSNAP_THREADS_MAX && n < PSNAP_TURNS_MAX; thread++) {
        struct psnap_source *file;
        if (!is_there[thread])
            continue;
        file = psnap_input_open(path, &again, error);
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

/* All threads of the input in turn, access by access. NULL with `error` filled. */
static struct psnap_source *open_turns(const char *path, const struct psnap_input_options *options,
                                       struct psnap_error *error)
{
    static const struct psnap_source_ops ops = {turns_next, turns_free, NULL};
    struct turns *turns = calloc(1, sizeof *turns);
    bool *is_there = calloc(PSNAP_THREADS_MAX, sizeof *is_there);
    uint64_t accesses = 0;
    unsigned threads = 0;
    enum psnap_status status;

    if (!turns || !is_there) {
        psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
        goto out;
    }
    turns->tables = psnap_input_open(path, options, error);
    status = turns->tables ? find_threads(turns->tables, is_there, &accesses, error) : error->code;
    for (unsigned thread = 0; thread < PSNAP_THREADS_MAX && !status; thread++)
        threads += is_there[thread];
    if (!status && threads > PSNAP_TURNS_MAX)
        status = psnap_error_set(error, PSNAP_ERROR_LIMIT,
                                 "'%s' has %u threads, of which no more than %d are taken in turn",
                                 path, threads, PSNAP_TURNS_MAX);
    if (status)
        goto out;
    turns->inner = open_lanes(path, options, is_there, turns->tables->program, error);
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

enum psnap_status psnap_turns_pass(const char *path, const struct psnap_input_options *options,
                                   enum psnap_status (*pass)(void *context,
                                                             struct psnap_source *source,
                                                             struct psnap_error *error),
                                   void *context, bool *in_turn, struct psnap_error *error)
{
    struct psnap_input_options input = *options;
    struct psnap_profile *profile = NULL;
    struct psnap_source *source;
    enum psnap_status status;

    *in_turn = options->interleave != NULL;
    if (*in_turn && strcmp(options->interleave, "round-robin") != 0)
        return psnap_error_set(error, PSNAP_ERROR_USAGE,
                               "--interleave takes round-robin, not '%.100s'", options->interleave);
    if (*in_turn && !is_possible(path))
        return psnap_error_set(error, PSNAP_ERROR_USAGE,
                               "threads are taken in turn from a file, which is read once for "
                               "each: '%s' is none",
                               path);
    input.kept = options->kept ? options->kept : &profile;
    source = *in_turn ? open_turns(path, &input, error) : psnap_input_open(path, &input, error);
    status = source ? pass(context, source, error) : error->code;
    psnap_source_free(source);
    psnap_profile_free(profile);
    return status;
}

enum psnap_status
psnap_turns_replay(const struct psnap_profile *profile, uint64_t seed, uint64_t count,
                   enum psnap_status (*pass)(void *context, struct psnap_source *source,
                                             struct psnap_error *error),
                   void *context, struct psnap_error *error)
{
    struct psnap_source *source = psnap_replay_new(profile, seed, error);
    struct psnap_profile_totals totals;
    enum psnap_status status;

    if (!source)
        return error->code;
    psnap_profile_totals(profile, &totals);
    if (count != UINT64_MAX || totals.accesses > PSNAP_PROGRESS_LONG) {
        source = psnap_limit_source_new(source, 0, count);
        if (!source)
            return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    }
    source =
        psnap_progress_source_new(source, totals.accesses < count ? totals.accesses : count, -1);
    status = source ? pass(context, source, error)
                    : psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    psnap_source_free(source);
    return status;
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
