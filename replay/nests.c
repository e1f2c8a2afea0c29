/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A walk at a time, as a run or its accesses.
 */
#include "replay/nests.h"

#include <stdlib.h>
#include <string.h>

enum {
    RUN_ACCESSES_MIN = 32, /* fewer are not worth a run */
    AT_ONCE = 512          /* accesses that stay in the first-level cache */
};

struct nests_source {
    struct psnap_source base;
    struct psnap_walker *walker;
    struct psnap_walk walk; /* under way, count 0: none */
    uint64_t done;          /* its repetitions, */
    size_t at;              /* and accesses of the one under way */
};

/* Repetitions [from, from + count), reference by reference: what depends on the reference is then
 * outside of the loop. */
static void fill_whole(const struct psnap_run *run, uint64_t from, size_t count,
                       struct psnap_access *block)
{
    const size_t width = run->width;

    for (size_t k = 0; k < width; k++) {
        const struct psnap_column *column =
            run->columns && run->columns[k].words ? &run->columns[k] : NULL;
        const uint64_t *word = column ? column->words + from * column->pitch : NULL;
        const uint64_t stride = column ? 0 : (uint64_t)run->strides[k];
        struct psnap_access access = run->first[k];
        access.address = psnap_run_address(run, from, k);
        for (size_t i = 0; i < count && !column; i++, access.address += stride)
            block[i * width + k] = access;
        for (size_t i = 0; i < count && column; i++, word += column->pitch) {
            access.address = *word + column->offset;
            block[i * width + k] = access;
        }
    }
}

/* Accesses of the walk, as far as the block has room. */
static size_t fill(struct nests_source *source, struct psnap_access *block, size_t capacity)
{
    struct psnap_run *run = &source->walk.run;
    size_t n = 0;

    while (n < capacity && source->done < run->count) {
        size_t whole = (capacity - n < AT_ONCE ? capacity - n : AT_ONCE) / run->width;
        whole = whole < run->count - source->done ? whole : (size_t)(run->count - source->done);
        if (!source->at && whole) {
            fill_whole(run, source->done, whole, block + n);
            source->done += whole;
            n += whole * run->width;
            continue;
        }
        while (n < capacity && source->at < run->width) {
            const size_t k = source->at++;
            block[n] = run->first[k];
            block[n++].address = psnap_run_address(run, source->done, k);
        }
        if (source->at == run->width) {
            source->at = 0;
            source->done++;
        }
    }
    if (source->done == run->count)
        run->count = 0;
    return n;
}

/* As next_run; `run` may be NULL. */
static ssize_t deliver(struct nests_source *source, struct psnap_access *block, size_t capacity,
                       struct psnap_run *run, struct psnap_error *error)
{
    struct psnap_run *walk = &source->walk.run;
    size_t n = 0;

    while (n < capacity) {
        if (!walk->count) {
            size_t written = 0;
            const int more = psnap_walker_write(source->walker, &source->walk, run != NULL,
                                                block + n, capacity - n, &written);
            source->done = source->at = 0;
            n += written;
            if (more < 0)
                return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
            if (!more)
                break;
            if (more == 2)
                continue;
        }
        if (run && !source->done && !source->at && walk->count > 1 &&
            walk->count * walk->width >= RUN_ACCESSES_MIN) {
            *run = *walk;
            walk->count = 0;
            break;
        }
        n += fill(source, block + n, capacity - n);
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
    free(source);
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
                                      struct psnap_program *program, uint64_t seed)
{
    static const struct psnap_source_ops ops = {
        .next = nests_next, .free = source_free, .next_run = nests_next_run};
    struct nests_source *source = calloc(1, sizeof *source);
    uint32_t *refs = calloc(profile->loop_count + (size_t)1, sizeof *refs);
    bool *is_drawn = calloc(profile->loop_count + (size_t)1, sizeof *is_drawn);

    if (source && refs && is_drawn) {
        source->base = (struct psnap_source){&ops, program};
        psnap_profile_walks(profile, refs, is_drawn);
        if (add_refs(profile, program, refs))
            source->walker = psnap_walker_new(profile, refs, seed);
    }
    free(refs);
    free(is_drawn);
    if (source && source->walker)
        return &source->base;
    free(source);
    return NULL;
}
