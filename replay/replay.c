/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The replay source: the profile's tables as a program, and its stream, which is that of the model
 * (profile/walk/) or, of model psnap, loops in the order of the schedule (lane.c). Everything that
 * depends on the seed is in the regions' generators.
 */
#include "replay/replay.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "replay/interleave.h"
#include "replay/lane.h"

struct replay {
    struct psnap_source base;
    struct psnap_source *stream;
    struct replay_loop *loops; /* of the profile */
    uint32_t loop_count;
};

static ssize_t next_nest(struct psnap_source *self, struct psnap_access *room, size_t capacity,
                         const struct psnap_access **block, struct psnap_nest *nest,
                         struct psnap_error *error)
{
    return psnap_source_next_nest(((struct replay *)self)->stream, room, capacity, block, nest,
                                  error);
}

static void replay_free(struct psnap_source *self)
{
    struct replay *replay = (struct replay *)self;

    psnap_source_free(replay->stream);
    if (replay->loops)
        for (uint32_t i = 0; i < replay->loop_count; i++)
            replay_loop_release(&replay->loops[i]);
    free(replay->loops);
    psnap_program_free(self->program);
    free(replay);
}

static const struct psnap_source_ops replay_ops = {.free = replay_free, .next_nest = next_nest};

/* Adds a loop and its block (of the same index), whose executions are iterations. */
static enum psnap_status add_loop(struct psnap_program *program,
                                  const struct psnap_profile_loop *from)
{
    const bool counted = from->iterations != UINT64_MAX;
    struct psnap_loop loop = {.id = psnap_program_string(program, from->id),
                              .src_id = psnap_program_string(program, from->src_id),
                              .function = psnap_program_string(program, from->function),
                              .file = psnap_program_string(program, from->file),
                              .src_line = from->src_line,
                              .depth = from->depth,
                              .parent = from->parent,
                              .header = counted ? program->block_count : PSNAP_NONE,
                              .entry = PSNAP_NONE};
    struct psnap_block block = {.loop = program->loop_count,
                                .src_line = from->src_line,
                                .executions = counted ? from->iterations : 0};

    if (!loop.id || !loop.src_id || !loop.function || !loop.file ||
        psnap_program_add_loop(program, &loop) == PSNAP_NONE ||
        psnap_program_add_block(program, &block) == PSNAP_NONE)
        return PSNAP_ERROR_MEMORY;
    return PSNAP_OK;
}

/* One ref for each kind of access that the region has. */
static enum psnap_status add_refs(struct psnap_program *program,
                                  const struct psnap_profile_loop *loop, uint32_t loop_index,
                                  const struct psnap_profile_region *region, uint32_t refs[3])
{
    const char *object = region->object ? psnap_program_string(program, region->object) : NULL;

    if (region->object && !object)
        return PSNAP_ERROR_MEMORY;
    for (uint8_t kind = 0; kind < 3; kind++) {
        struct psnap_ref ref = {.block = loop_index,
                                .loop = loop_index,
                                .src_line = loop->src_line,
                                .object = object,
                                .object_kind = region->object_kind,
                                .kind = kind,
                                .size = region->size_count == 1 ? region->sizes[0].size : 0};
        refs[kind] = PSNAP_NONE;
        if (!region->kinds[kind])
            continue;
        refs[kind] = psnap_program_add_ref(program, &ref);
        if (refs[kind] == PSNAP_NONE)
            return PSNAP_ERROR_MEMORY;
    }
    return PSNAP_OK;
}

static enum psnap_status init_loop(struct replay *replay, const struct psnap_profile_loop *loop,
                                   uint32_t index, uint64_t seed)
{
    uint32_t(*refs)[3] = malloc((loop->region_count + 1) * sizeof *refs);
    enum psnap_status status = refs ? PSNAP_OK : PSNAP_ERROR_MEMORY;

    for (uint32_t i = 0; i < loop->region_count && !status; i++)
        status = add_refs(replay->base.program, loop, index, &loop->regions[i], refs[i]);
    if (!status)
        status = replay_loop_init(&replay->loops[index], loop, seed, (const uint32_t(*)[3])refs);
    free(refs);
    return status;
}

/* The largest first; an order of all, so that it is the same on every machine. */
static int compare_regions(const void *a, const void *b)
{
    const struct psnap_profile_region *x = *(const struct psnap_profile_region *const *)a;
    const struct psnap_profile_region *y = *(const struct psnap_profile_region *const *)b;

    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return x->low != y->low ? (x->low > y->low) - (x->low < y->low) : strcmp(x->object, y->object);
}

/* Announces the regions with names as objects, the largest first, so that an address is the
 * smallest one's that has it. False: out of memory. */
static bool add_objects(struct psnap_program *program, const struct psnap_profile *profile)
{
    const struct psnap_profile_region **regions;
    size_t count = 0, room = 0;
    bool is_done;

    for (uint32_t i = 0; i < profile->loop_count; i++)
        room += profile->loops[i].region_count;
    regions = malloc((room + 1) * sizeof *regions);
    is_done = regions != NULL;
    for (uint32_t i = 0; is_done && i < profile->loop_count; i++)
        for (uint32_t k = 0; k < profile->loops[i].region_count; k++)
            if (profile->loops[i].regions[k].object)
                regions[count++] = &profile->loops[i].regions[k];
    if (count)
        qsort(regions, count, sizeof *regions, compare_regions);
    for (size_t i = 0; i < count && is_done; i++) {
        const struct psnap_object object = {.address = regions[i]->low,
                                            .size_bytes = regions[i]->bytes,
                                            .name =
                                                psnap_program_string(program, regions[i]->object),
                                            .kind = regions[i]->object_kind};
        is_done = object.name && psnap_program_add_object(program, &object) != PSNAP_NONE;
    }
    free(regions);
    return is_done;
}

/* The stream of a profile of model nests, whose references are added to the program. NULL: out of
 * memory. */
static struct psnap_source *open_stream(struct replay *replay, const struct psnap_profile *profile,
                                        uint64_t seed)
{
    struct psnap_program *program = replay->base.program;
    uint32_t *refs = calloc(profile->loop_count + (size_t)1, sizeof *refs);
    struct psnap_source *stream = NULL;
    bool is_done = refs != NULL;

    if (refs)
        psnap_profile_refs(profile, refs);
    for (uint32_t i = 0; is_done && i < profile->loop_count; i++) {
        const struct psnap_ref ref = {
            .block = i, .loop = i, .src_line = profile->loops[i].src_line};
        uint32_t n = refs[i];
        refs[i] = program->ref_count;
        while (is_done && n--)
            is_done = psnap_program_add_ref(program, &ref) != PSNAP_NONE;
    }
    if (is_done && add_objects(program, profile) &&
        psnap_profile_name_marks(profile, refs, program))
        stream = psnap_profile_stream_new(profile, refs, program, seed);
    free(refs);
    return stream;
}

static enum psnap_status init_replay(struct replay *replay, const struct psnap_profile *profile,
                                     uint64_t seed)
{
    enum psnap_status status = PSNAP_ERROR_MEMORY;

    replay->base.program = psnap_program_new();
    replay->loops = calloc(profile->loop_count + (size_t)1, sizeof *replay->loops);
    if (replay->base.program && replay->loops)
        status = psnap_provenance_copy(&profile->provenance, replay->base.program->arena,
                                       &replay->base.program->provenance);
    if (!status)
        status = psnap_sampling_copy(&profile->sampling, replay->base.program->arena,
                                     &replay->base.program->sampling);
    if (!status) {
        replay->loop_count = profile->loop_count;
    }
    for (uint32_t i = 0; i < profile->loop_count && !status; i++)
        status = add_loop(replay->base.program, &profile->loops[i]);
    for (uint32_t i = 0; i < profile->loop_count && !status && !profile->stream; i++)
        status = init_loop(replay, &profile->loops[i], i, seed);
    if (status)
        return status;
    replay->stream = profile->stream
                         ? open_stream(replay, profile, seed)
                         : replay_lane_new(profile, replay->loops, replay->base.program);
    return replay->stream ? PSNAP_OK : PSNAP_ERROR_MEMORY;
}

struct psnap_source *psnap_replay_new(const struct psnap_profile *profile, uint64_t seed,
                                      struct psnap_error *error)
{
    struct replay *replay = calloc(1, sizeof *replay);

    if (!replay) {
        psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
        return NULL;
    }
    replay->base.ops = &replay_ops;
    if (init_replay(replay, profile, seed)) {
        psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
        replay_free(&replay->base);
        return NULL;
    }
    return &replay->base;
}
