/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From the builder's working data to a profile: loops that have accesses, and
 * the loops around them, in the order of the program's table; regions in the
 * order in which they were opened. Names, counts of executions and operations
 * come from the program as it is when the stream has ended.
 */
#include "profile/builder.h"
#include "profile/sampling.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is in hand while one profile is made. */
struct taking {
    const struct psnap_program *program;
    struct psnap_profile *profile;
    struct build_loop *const *built; /* by program loop, NULL: no accesses */
    uint32_t *kept;                  /* index in the profile by program loop, or PSNAP_NONE */
};

static const char *copy(struct taking *t, const char *text)
{
    return psnap_arena_strndup(t->profile->arena, text ? text : "", text ? strlen(text) : 0);
}

static enum psnap_status take_provenance(struct taking *t)
{
    const struct psnap_provenance *from = &t->program->provenance;
    struct psnap_provenance *to = &t->profile->provenance;
    size_t words = 0;

    *to = (struct psnap_provenance){.name = copy(t, from->name),
                                    .build_id = copy(t, from->build_id),
                                    .source_language = copy(t, from->source_language),
                                    .compiler = copy(t, from->compiler),
                                    .host = copy(t, from->host),
                                    .recorded = copy(t, from->recorded),
                                    .stage = copy(t, from->stage),
                                    .has_rank = from->has_rank,
                                    .rank = from->rank,
                                    .ranks = from->ranks};
    if (from->command) {
        const char **command;
        while (from->command[words])
            words++;
        command = psnap_arena_alloc(t->profile->arena, (words + 1) * sizeof *command);
        if (!command)
            return PSNAP_ERROR_MEMORY;
        for (size_t i = 0; i < words; i++)
            if (!(command[i] = copy(t, from->command[i])))
                return PSNAP_ERROR_MEMORY;
        to->command = command;
    }
    return to->name && to->build_id && to->source_language && to->compiler && to->host &&
                   to->recorded && to->stage
               ? PSNAP_OK
               : PSNAP_ERROR_MEMORY;
}

/* Marks loops with accesses and those around them, numbers the marked. */
static void choose_loops(struct taking *t)
{
    const struct psnap_program *program = t->program;
    uint32_t count = 0;

    for (uint32_t i = 0; i < program->loop_count; i++)
        t->kept[i] = PSNAP_NONE;
    for (uint32_t i = 0; i < program->loop_count; i++)
        for (uint32_t l = t->built[i] ? i : PSNAP_NONE;
             l < program->loop_count && t->kept[l] == PSNAP_NONE; l = program->loops[l].parent)
            t->kept[l] = 0;
    for (uint32_t i = 0; i < program->loop_count; i++)
        if (t->kept[i] != PSNAP_NONE)
            t->kept[i] = count++;
    t->profile->loop_count = count;
}

/* Whether another of the first `count` regions has this id. */
static bool id_taken(const struct psnap_profile_region *regions, uint32_t count, const char *id)
{
    for (uint32_t i = 0; i < count; i++)
        if (!strcmp(regions[i].id, id))
            return true;
    return false;
}

/* "a" for a global, "x" for a local "f.x", "r3" for what has no name of its own; ".2" and so on
 * tell apart several in one object. */
static const char *region_id(struct taking *t, const struct psnap_profile_region *regions,
                             uint32_t index)
{
    const struct psnap_profile_region *region = &regions[index];
    const char *name = NULL;
    char text[160], number[16];

    if (region->object && region->object_kind == PSNAP_OBJECT_GLOBAL) {
        name = region->object;
    } else if (region->object && region->object_kind == PSNAP_OBJECT_STACK) {
        const char *dot = strrchr(region->object, '.');
        name = dot && dot[1] ? dot + 1 : NULL; /* a function's frame is no name for a region */
    }
    if (!name || !*name || strlen(name) > 128) {
        snprintf(number, sizeof number, "r%" PRIu32, index + 1);
        name = number;
    }
    snprintf(text, sizeof text, "%s", name);
    for (uint32_t again = 2; id_taken(regions, index, text); again++)
        snprintf(text, sizeof text, "%s.%" PRIu32, name, again);
    return copy(t, text);
}

static int compare_serial(const void *a, const void *b)
{
    const struct build_region *p = *(struct build_region *const *)a;
    const struct build_region *q = *(struct build_region *const *)b;

    if (p->first_thread != q->first_thread)
        return p->first_thread < q->first_thread ? -1 : 1;
    return p->serial < q->serial ? -1 : p->serial > q->serial;
}

static enum psnap_status take_pattern(struct taking *t, const struct build_loop *built,
                                      struct psnap_profile_loop *loop)
{
    uint32_t index_of_slot[PSNAP_REGION_LIMIT_MAX];
    struct fold fold;
    enum psnap_status status = PSNAP_OK;

    for (uint32_t i = 0; i < built->count; i++)
        index_of_slot[built->order[i]->slot] = i;
    fold_init(&fold, true, BUILD_PATTERN / 2, UINT32_MAX);
    for (uint32_t i = 0; i < built->pattern_count && !status; i++)
        status = fold_append(&fold, index_of_slot[built->pattern[i]], 0);
    if (!status)
        status = fold_finish(&fold, t->profile->arena, &loop->pattern);
    for (uint32_t i = 0; i < loop->pattern.count; i++)
        loop->pattern.items[i].accesses = PSNAP_EVENLY;
    fold_release(&fold);
    return status;
}

static enum psnap_status take_regions(struct taking *t, struct build_loop *built,
                                      struct psnap_profile_loop *loop)
{
    struct psnap_arena *arena = t->profile->arena;
    enum psnap_status status = build_loop_merge(built, t->program, BUILD_MERGE_LAST);

    if (status)
        return status;
    loop->regions = psnap_arena_alloc(arena, built->count * sizeof *loop->regions);
    if (!loop->regions)
        return PSNAP_ERROR_MEMORY;
    qsort(built->order, built->count, sizeof(struct build_region *), compare_serial);
    for (uint32_t i = 0; i < built->count && !status; i++) {
        struct psnap_profile_region *region = &loop->regions[i];
        build_region_name(built, built->order[i], t->program);
        status = build_region_export(built->order[i], arena, region);
        if (status)
            break;
        if (built->order[i]->object) {
            region->object = copy(t, built->order[i]->object);
            region->object_kind = built->order[i]->object_kind;
        }
        region->id = region_id(t, loop->regions, i);
        if (!region->id || (built->order[i]->object && !region->object))
            status = PSNAP_ERROR_MEMORY;
        loop->accesses += region->accesses;
    }
    loop->region_count = built->count;
    return status ? status : take_pattern(t, built, loop);
}

/* A block that was never executed has not been counted: the stream has its accesses. */
static uint64_t executions(const struct psnap_program *program, uint32_t block)
{
    uint64_t count = block < program->block_count ? program->blocks[block].executions : 0;

    if (!count)
        return UINT64_MAX;
    return count < PSNAP_COUNT_MAX ? count : PSNAP_COUNT_MAX;
}

static enum psnap_status take_loop(struct taking *t, uint32_t index)
{
    const struct psnap_loop *from = &t->program->loops[index];
    struct psnap_profile_loop *to = &t->profile->loops[t->kept[index]];

    to->id = copy(t, from->id);
    to->src_id = copy(t, from->src_id);
    to->function = copy(t, from->function);
    to->file = copy(t, from->file);
    if (!to->id || !to->src_id || !to->function || !to->file)
        return PSNAP_ERROR_MEMORY;
    to->src_line = from->src_line;
    to->depth = from->depth < UINT16_MAX ? from->depth : UINT16_MAX;
    to->parent = PSNAP_NONE;
    if (from->parent < t->program->loop_count &&
        t->program->loops[from->parent].depth < from->depth)
        to->parent = t->kept[from->parent];
    to->entries = executions(t->program, from->entry);
    to->iterations = executions(t->program, from->header);
    return t->built[index] ? take_regions(t, t->built[index], to) : PSNAP_OK;
}

static void take_operations(struct taking *t)
{
    uint64_t totals[PSNAP_OPERATION_COUNT] = {0};

    for (uint32_t i = 0; i < t->program->block_count; i++) {
        const struct psnap_block *block = &t->program->blocks[i];
        struct psnap_profile_loop *loop;
        if (block->loop >= t->program->loop_count || t->kept[block->loop] == PSNAP_NONE)
            continue;
        loop = &t->profile->loops[t->kept[block->loop]];
        for (unsigned op = 0; op < PSNAP_OPERATION_COUNT; op++) {
            uint64_t executed;
            if (__builtin_mul_overflow(block->executions, block->operations[op], &executed))
                executed = PSNAP_COUNT_MAX;
            if (executed > PSNAP_COUNT_MAX - totals[op]) /* readers take no more in all */
                executed = PSNAP_COUNT_MAX - totals[op];
            totals[op] += executed;
            loop->operations[op] += executed;
        }
    }
}

static int compare_ids(const void *a, const void *b)
{
    const struct psnap_profile_loop *p = *(struct psnap_profile_loop *const *)a;
    const struct psnap_profile_loop *q = *(struct psnap_profile_loop *const *)b;
    const int order = strcmp(p->id, q->id);

    return order ? order : p < q ? -1 : p > q;
}

/* Programs promise unique ids; a foreign one that breaks it still gets a profile that reads. */
static enum psnap_status make_ids_unique(struct taking *t)
{
    const uint32_t count = t->profile->loop_count;
    struct psnap_profile_loop **sorted = malloc((count + 1) * sizeof(struct psnap_profile_loop *));
    enum psnap_status status = sorted ? PSNAP_OK : PSNAP_ERROR_MEMORY;
    bool again = true;

    while (again && !status) {
        again = false;
        for (uint32_t i = 0; i < count; i++)
            sorted[i] = &t->profile->loops[i];
        qsort(sorted, count, sizeof(struct psnap_profile_loop *), compare_ids);
        for (uint32_t i = 0; i < count && !status; i++) {
            const size_t size = strlen(sorted[i]->id) + 16;
            char *id;
            if (*sorted[i]->id && (i == 0 || strcmp(sorted[i - 1]->id, sorted[i]->id) != 0))
                continue;
            again = true;
            id = psnap_arena_alloc(t->profile->arena, size);
            if (id)
                snprintf(id, size, "%s~%" PRIu32, sorted[i]->id,
                         (uint32_t)(sorted[i] - t->profile->loops));
            sorted[i]->id = id;
            status = id ? PSNAP_OK : PSNAP_ERROR_MEMORY;
        }
    }
    free(sorted);
    return status;
}

static enum psnap_status take_sampling(struct taking *t)
{
    const struct psnap_sampling *from = &t->program->sampling;
    struct psnap_profile_totals totals;

    psnap_profile_totals(t->profile, &totals);
    for (uint32_t i = 0; i < t->program->loop_count; i++)
        if (t->kept[i] != PSNAP_NONE)
            sampling_estimate(from, totals.accesses, i, &t->profile->loops[t->kept[i]]);
    return sampling_copy(from, t->profile->arena, &t->profile->sampling);
}

static enum psnap_status take_all(struct taking *t, const struct build_result *result)
{
    struct psnap_profile *profile = t->profile;
    enum psnap_status status = take_provenance(t);

    choose_loops(t);
    profile->loops =
        psnap_arena_alloc(profile->arena, (profile->loop_count + 1) * sizeof *profile->loops);
    if (!profile->loops)
        return PSNAP_ERROR_MEMORY;
    for (uint32_t i = 0; i < t->program->loop_count && !status; i++)
        if (t->kept[i] != PSNAP_NONE)
            status = take_loop(t, i);
    if (!status)
        status = make_ids_unique(t);
    if (!status)
        status = build_schedule(profile, t->kept, t->program->loop_count, result);
    take_operations(t);
    if (!status)
        status = take_sampling(t);
    return status;
}

struct psnap_profile *build_profile(const struct psnap_program *program,
                                    const struct build_result *result, struct psnap_error *error)
{
    struct taking t = {.program = program, .profile = psnap_profile_new(), .built = result->loops};
    enum psnap_status status = PSNAP_ERROR_MEMORY;

    t.kept = calloc(program->loop_count + 1, sizeof *t.kept);
    if (t.profile && t.kept) {
        t.profile->region_gap_bytes = result->options->region_gap_bytes;
        t.profile->region_limit = result->options->region_limit;
        status = take_all(&t, result);
    }
    free(t.kept);
    if (!status)
        return t.profile;
    psnap_error_set(error, status, "out of memory");
    psnap_profile_free(t.profile);
    return NULL;
}
