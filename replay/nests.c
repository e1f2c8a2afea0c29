/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A walk at a time, as a run or its accesses; of a visit the share that is due: with N
 * accesses and v visits, floor((i + 1) N / v) - floor(i N / v) at visit i.
 */
#include "replay/nests.h"

#include <stdlib.h>
#include <string.h>

enum { RUN_ACCESSES_MIN = 32 }; /* fewer are not worth a run */

/* The accesses of a loop that is visited, as in lane.c. */
struct visited {
    uint64_t visits, share, rest, error;
};

struct nests_source {
    struct psnap_source base;
    struct replay_loop *loops;
    struct psnap_walker *walker;
    struct visited *visited; /* by loop */
    struct psnap_walk walk;  /* under way, count 0: none */
    uint64_t done;           /* its repetitions, or accesses of a visit */
    size_t at;               /* accesses of the repetition */
    uint64_t share;          /* accesses of the visit */
};

static uint64_t next_share(struct visited *visited)
{
    visited->error += visited->rest;
    if (visited->error < visited->visits)
        return visited->share;
    visited->error -= visited->visits;
    return visited->share + 1;
}

/* The next walk or visit, as psnap_walker_next. */
static int next_walk(struct nests_source *source)
{
    const int more = psnap_walker_next(source->walker, &source->walk);

    source->done = source->at = source->share = 0;
    if (more > 0 && !source->walk.run.width)
        for (uint64_t i = 0; i < source->walk.run.count; i++)
            source->share += next_share(&source->visited[source->walk.loop]);
    return more;
}

/* Accesses of the walk, as far as the block has room. */
static size_t fill(struct nests_source *source, struct psnap_access *block, size_t capacity)
{
    const struct psnap_run *run = &source->walk.run;
    size_t n = 0;

    while (n < capacity && source->done < run->count) {
        while (n < capacity && source->at < run->width) {
            const size_t k = source->at++;
            block[n] = run->first[k];
            block[n++].address += source->done * (uint64_t)run->strides[k];
        }
        if (source->at == run->width) {
            source->at = 0;
            source->done++;
        }
    }
    return n;
}

/* As next_run; `run` may be NULL. */
static ssize_t deliver(struct nests_source *source, struct psnap_access *block, size_t capacity,
                       struct psnap_run *run, struct psnap_error *error)
{
    struct psnap_run *walk = &source->walk.run;
    size_t n = 0;

    while (n < capacity) {
        const int more = walk->count ? 1 : next_walk(source);
        uint64_t part;
        if (more < 0)
            return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
        if (!more)
            break;
        if (walk->width && run && !source->done && !source->at && walk->count > 1 &&
            walk->count * walk->width >= RUN_ACCESSES_MIN) {
            *run = *walk;
            walk->count = 0;
            break;
        }
        if (walk->width) {
            n += fill(source, block + n, capacity - n);
            walk->count = source->done == walk->count ? 0 : walk->count;
            continue;
        }
        part = source->share - source->done;
        part = part < capacity - n ? part : capacity - n;
        replay_loop_fill(&source->loops[source->walk.loop], block + n, (size_t)part);
        source->done += part;
        n += (size_t)part;
        walk->count = source->done == source->share ? 0 : walk->count;
    }
    return (ssize_t)n;
}

static ssize_t nests_next(struct psnap_source *self, struct psnap_access *block, size_t capacity,
                          struct psnap_error *error)
{
    return deliver((struct nests_source *)self, block, capacity, NULL, error);
}

static ssize_t nests_next_run(struct psnap_source *self, struct psnap_access *block,
                              size_t capacity, struct psnap_run *run, struct psnap_error *error)
{
    run->count = 0;
    return deliver((struct nests_source *)self, block, capacity, run, error);
}

static void source_free(struct psnap_source *self)
{
    struct nests_source *source = (struct nests_source *)self;

    psnap_walker_free(source->walker);
    free(source->visited);
    free(source);
}

static void set_shares(struct nests_source *source, const struct psnap_profile *profile,
                       const uint64_t *visits)
{
    for (uint32_t i = 0; i < profile->loop_count; i++)
        if (visits[i])
            source->visited[i] = (struct visited){.visits = visits[i],
                                                  .share = profile->loops[i].accesses / visits[i],
                                                  .rest = profile->loops[i].accesses % visits[i]};
}

/* refs[loop]: how many the loop has, then where they begin in the program, to which they are
 * added. */
static bool add_refs(const struct psnap_profile *profile, struct psnap_program *program,
                     uint32_t *refs)
{
    for (uint32_t i = 0; i < profile->loop_count; i++) {
        const struct psnap_ref ref = {
            .block = i, .loop = i, .src_line = profile->loops[i].src_line};
        uint32_t n = refs[i];
        refs[i] = program->ref_count;
        while (n--)
            if (psnap_program_add_ref(program, &ref) == PSNAP_NONE)
                return false;
    }
    return true;
}

struct psnap_source *replay_nests_new(const struct psnap_profile *profile,
                                      struct replay_loop *loops, struct psnap_program *program)
{
    static const struct psnap_source_ops ops = {
        .next = nests_next, .free = source_free, .next_run = nests_next_run};
    struct nests_source *source = calloc(1, sizeof *source);
    uint64_t *visits = calloc(profile->loop_count + (size_t)1, sizeof *visits);
    uint32_t *refs = calloc(profile->loop_count + (size_t)1, sizeof *refs);
    bool is_done = false;

    if (source && visits && refs && !psnap_profile_walks(profile, visits, refs) &&
        add_refs(profile, program, refs)) {
        source->base = (struct psnap_source){&ops, program};
        source->loops = loops;
        source->walker = psnap_walker_new(profile, refs);
        source->visited = calloc(profile->loop_count + (size_t)1, sizeof *source->visited);
        is_done = source->walker && source->visited;
    }
    if (is_done)
        set_shares(source, profile, visits);
    free(visits);
    free(refs);
    if (is_done)
        return &source->base;
    if (source)
        source_free(&source->base);
    return NULL;
}
