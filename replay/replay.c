/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The replay source: walks the schedule, and at each visit of a loop delivers
 * its share of the loop's accesses. A place of the schedule that is visited v
 * times and has N accesses delivers floor((i + 1) N / v) - floor(i N / v) at
 * visit i: shares differ by one at most and add up to N. N is what the schedule
 * says; where it says nothing, the loop's accesses go evenly to all its visits.
 *
 * The schedule is walked by a cursor with a stack of rounds; it is never
 * unfolded. Everything that depends on the seed is in the regions' generators.
 */
#include "replay/replay.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "replay/interleave.h"

/* The way through the visits of one place of the schedule. */
struct visits {
    uint64_t share, rest; /* accesses / visits, accesses % visits */
    uint64_t count;
    uint64_t error; /* of the shares so far, in 1 / count; below count */
};

struct cursor {
    uint32_t at;
    unsigned depth;
    struct {
        uint32_t begin, end; /* of the body */
        uint64_t rounds;     /* still to go, this one included */
    } groups[PSNAP_SEQUENCE_DEPTH];
};

struct replay {
    struct psnap_source base;
    struct replay_loop *loops;
    struct visits *visits; /* by item of the schedule */
    uint32_t loop_count;
    struct psnap_sequence schedule; /* a copy */
    struct cursor cursor;
    uint32_t current; /* loop that is visited */
    uint64_t left;    /* accesses left in this visit */
};

/* The next place of the schedule, PSNAP_NONE at its end. */
static uint32_t next_leaf(struct cursor *cursor, const struct psnap_sequence *schedule)
{
    for (;;) {
        const struct psnap_sequence_item *item;
        if (cursor->depth && cursor->at == cursor->groups[cursor->depth - 1].end) {
            if (--cursor->groups[cursor->depth - 1].rounds)
                cursor->at = cursor->groups[cursor->depth - 1].begin;
            else
                cursor->depth--;
            continue;
        }
        if (cursor->at == schedule->count)
            return PSNAP_NONE;
        item = &schedule->items[cursor->at++];
        if (item->what != PSNAP_NONE)
            return cursor->at - 1;
        cursor->groups[cursor->depth].begin = cursor->at;
        cursor->groups[cursor->depth].end = cursor->at + item->span;
        cursor->groups[cursor->depth++].rounds = item->repeat;
    }
}

static uint64_t next_share(struct visits *visits)
{
    visits->error += visits->rest;
    if (visits->error < visits->count)
        return visits->share;
    visits->error -= visits->count;
    return visits->share + 1;
}

static ssize_t next(struct psnap_source *self, struct psnap_access *block, size_t capacity,
                    struct psnap_error *error)
{
    struct replay *replay = (struct replay *)self;
    size_t done = 0;

    (void)error;
    while (done < capacity) {
        size_t n = capacity - done;
        if (!replay->left) {
            uint32_t leaf = next_leaf(&replay->cursor, &replay->schedule);
            if (leaf == PSNAP_NONE)
                break;
            replay->current = replay->schedule.items[leaf].what;
            replay->left = next_share(&replay->visits[leaf]);
            continue;
        }
        if (n > replay->left)
            n = (size_t)replay->left;
        replay_loop_fill(&replay->loops[replay->current], block + done, n);
        replay->left -= n;
        done += n;
    }
    return (ssize_t)done;
}

static void replay_free(struct psnap_source *self)
{
    struct replay *replay = (struct replay *)self;

    if (replay->loops)
        for (uint32_t i = 0; i < replay->loop_count; i++)
            replay_loop_release(&replay->loops[i]);
    free(replay->loops);
    free(replay->visits);
    free(replay->schedule.items);
    psnap_program_free(self->program);
    free(replay);
}

static const struct psnap_source_ops replay_ops = {.next = next, .free = replay_free};

static enum psnap_status copy_provenance(struct psnap_program *program,
                                         const struct psnap_provenance *from)
{
    struct psnap_provenance *to = &program->provenance;

    to->name = psnap_program_string(program, from->name);
    to->build_id = psnap_program_string(program, from->build_id);
    to->source_language = psnap_program_string(program, from->source_language);
    to->compiler = psnap_program_string(program, from->compiler);
    to->host = psnap_program_string(program, from->host);
    to->recorded = psnap_program_string(program, from->recorded);
    to->stage = psnap_program_string(program, from->stage);
    to->has_rank = from->has_rank;
    to->rank = from->rank;
    to->ranks = from->ranks;
    if (!to->name || !to->build_id || !to->source_language || !to->compiler || !to->host ||
        !to->recorded || !to->stage)
        return PSNAP_ERROR_MEMORY;
    return from->command ? psnap_program_set_command(program, from->command) : PSNAP_OK;
}

/* Which part of a run the replayed accesses stand for. */
static enum psnap_status copy_sampling(struct psnap_program *program,
                                       const struct psnap_sampling *from)
{
    const char **names;
    size_t count = 0;

    program->sampling = *from;
    while (from->regions && from->regions[count])
        count++;
    if (!count)
        return PSNAP_OK;
    names = psnap_arena_alloc(program->arena, (count + 1) * sizeof *names);
    for (size_t i = 0; names && i < count; i++)
        if (!(names[i] = psnap_program_string(program, from->regions[i])))
            return PSNAP_ERROR_MEMORY;
    program->sampling.regions = names;
    return names ? PSNAP_OK : PSNAP_ERROR_MEMORY;
}

/* Adds a loop (same index as in the profile) and its block, whose executions are iterations. */
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

/* floor(value * by / divisor) */
static uint64_t scale(uint64_t value, uint64_t by, uint64_t divisor)
{
    __extension__ typedef unsigned __int128 wide;

    return (uint64_t)((wide)value * by / divisor);
}

/* Every place's visits and accesses. */
static enum psnap_status init_visits(struct replay *replay, const struct psnap_profile *profile)
{
    const struct psnap_sequence *schedule = &replay->schedule;
    uint64_t *counts = calloc(schedule->count + 1, sizeof *counts);
    struct {
        uint64_t all, passed; /* visits of a loop: at all places, at those before */
    } *of_loop = calloc(profile->loop_count + 1, sizeof *of_loop);

    if (!counts || !of_loop) {
        free(counts);
        free(of_loop);
        return PSNAP_ERROR_MEMORY;
    }
    psnap_sequence_visits(schedule, counts);
    for (uint32_t i = 0; i < schedule->count; i++)
        if (schedule->items[i].what != PSNAP_NONE)
            of_loop[schedule->items[i].what].all += counts[i];
    for (uint32_t i = 0; i < schedule->count; i++) {
        const uint32_t loop = schedule->items[i].what;
        uint64_t accesses = schedule->items[i].accesses, before, all;
        if (loop == PSNAP_NONE)
            continue;
        if (accesses == PSNAP_EVENLY) {
            all = profile->loops[loop].accesses;
            before = of_loop[loop].passed;
            accesses = scale(before + counts[i], all, of_loop[loop].all) -
                       scale(before, all, of_loop[loop].all);
            of_loop[loop].passed += counts[i];
        }
        replay->visits[i] = (struct visits){
            .share = accesses / counts[i], .rest = accesses % counts[i], .count = counts[i]};
    }
    free(counts);
    free(of_loop);
    return PSNAP_OK;
}

static enum psnap_status init_replay(struct replay *replay, const struct psnap_profile *profile,
                                     uint64_t seed)
{
    const uint32_t items = profile->schedule.count;
    enum psnap_status status;

    replay->base.program = psnap_program_new();
    replay->loops = calloc(profile->loop_count + 1, sizeof *replay->loops);
    replay->visits = calloc(items + 1, sizeof *replay->visits);
    replay->schedule.items = malloc((items + 1) * sizeof *replay->schedule.items);
    if (!replay->base.program || !replay->loops || !replay->visits || !replay->schedule.items)
        return PSNAP_ERROR_MEMORY;
    replay->loop_count = profile->loop_count;
    if (items)
        memcpy(replay->schedule.items, profile->schedule.items,
               items * sizeof *replay->schedule.items);
    replay->schedule.count = items;
    status = init_visits(replay, profile);
    if (!status)
        status = copy_provenance(replay->base.program, &profile->provenance);
    if (!status)
        status = copy_sampling(replay->base.program, &profile->sampling);
    for (uint32_t i = 0; i < profile->loop_count && !status; i++)
        status = add_loop(replay->base.program, &profile->loops[i]);
    for (uint32_t i = 0; i < profile->loop_count && !status; i++)
        status = init_loop(replay, &profile->loops[i], i, seed);
    return status;
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
