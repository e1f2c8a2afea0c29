/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From the builder's working data to a profile: loops that have accesses, and
 * the loops around them, in the order of the program's table, each followed by
 * its threads' parts when they are apart; regions in the order in which they
 * were opened. Names, counts of executions and operations come from the program
 * as it is when the stream has ended; it counts those of all threads together.
 */
#include "profile/build/builder.h"
#include "profile/model.h"
#include "profile/yaml/sampling.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FEW = 100 /* a loop with less than one access in so many is not worth a word */ };

/* What is in hand while one profile is made. */
struct taking {
    const struct psnap_program *program;
    struct psnap_profile *profile;
    const struct build_result *result;
    uint32_t *whole; /* index in the profile by program loop, or PSNAP_NONE */
    uint32_t *kept;  /* the same by the result's loops: where accesses are; may be `whole` */
};

/* What part p has of a program's loop, or NULL. */
static struct build_loop *built(const struct taking *t, uint32_t part, uint32_t index)
{
    return t->result->parts[part]->loops[index];
}

static bool has_accesses(const struct taking *t, uint32_t index)
{
    const struct psnap_stream_model *stream = t->result->stream;
    uint32_t part = 0;

    if (stream) {
        while (part < stream->ref_count && stream->refs[part].loop != index)
            part++;
        return part < stream->ref_count;
    }
    while (part < t->result->part_count && !built(t, part, index))
        part++;
    return part < t->result->part_count;
}

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

/* Numbers a loop, and its threads' parts behind it. */
static uint32_t number_loop(struct taking *t, uint32_t index, uint32_t count)
{
    const uint32_t loops = t->program->loop_count;

    t->whole[index] = count++;
    for (uint32_t p = 0; p < t->result->part_count && t->kept != t->whole; p++)
        t->kept[p * loops + index] = built(t, p, index) ? count++ : PSNAP_NONE;
    return count;
}

/* Marks loops with accesses and those around them, numbers the marked. */
static void choose_loops(struct taking *t)
{
    const struct psnap_program *program = t->program;
    uint32_t count = 0;

    for (uint32_t i = 0; i < program->loop_count; i++)
        t->whole[i] = PSNAP_NONE;
    for (uint32_t i = 0; i < program->loop_count; i++)
        for (uint32_t l = has_accesses(t, i) ? i : PSNAP_NONE;
             l < program->loop_count && t->whole[l] == PSNAP_NONE; l = program->loops[l].parent)
            t->whole[l] = 0;
    for (uint32_t i = 0; i < program->loop_count; i++)
        if (t->whole[i] != PSNAP_NONE)
            count = number_loop(t, i, count);
    t->whole[program->loop_count] =
        t->result->stream && has_accesses(t, program->loop_count) ? count++ : PSNAP_NONE;
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

/* The lowest number that the region at `index` may have behind the name of its object: those before
 * it in that have the name and the first numbers. */
static uint32_t first_number(const struct psnap_profile_region *regions, uint32_t index)
{
    const struct psnap_profile_region *region = &regions[index];
    uint32_t alike = 0;

    for (uint32_t i = 0; region->object && i < index; i++)
        alike += regions[i].object_kind == region->object_kind && regions[i].object &&
                 !strcmp(regions[i].object, region->object);
    return alike > 1 ? alike + 1 : 2;
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
    if (id_taken(regions, index, text))
        for (uint32_t again = name == number ? 2 : first_number(regions, index); again; again++) {
            snprintf(text, sizeof text, "%s.%" PRIu32, name, again);
            if (!id_taken(regions, index, text))
                break;
        }
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

static enum psnap_status take_pattern(struct taking *t, const struct build_loop *from,
                                      struct psnap_profile_loop *loop)
{
    /* a loop of several threads may have had more regions, and so slots, than any has */
    uint32_t *index_of_slot = malloc((from->slot_count + (size_t)1) * sizeof *index_of_slot);
    struct fold fold;
    enum psnap_status status = index_of_slot ? PSNAP_OK : PSNAP_ERROR_MEMORY;

    if (status)
        return status;
    for (uint32_t i = 0; i < from->count; i++)
        index_of_slot[from->order[i]->slot] = i;
    fold_init(&fold, true, BUILD_PATTERN / 2, UINT32_MAX);
    for (uint32_t i = 0; i < from->pattern_count && !status; i++)
        status = fold_append(&fold, index_of_slot[from->pattern[i % from->pattern_kept]], 0);
    if (!status)
        status = fold_finish(&fold, t->profile->arena, &loop->pattern);
    for (uint32_t i = 0; i < loop->pattern.count; i++)
        loop->pattern.items[i].accesses = PSNAP_EVENLY;
    fold_release(&fold);
    free(index_of_slot);
    return status;
}

static enum psnap_status take_regions(struct taking *t, struct build_loop *from,
                                      struct psnap_profile_loop *loop)
{
    struct psnap_arena *arena = t->profile->arena;
    enum psnap_status status = build_loop_merge(from, t->program, BUILD_MERGE_LAST);

    if (status)
        return status;
    loop->regions = psnap_arena_alloc(arena, from->count * sizeof *loop->regions);
    if (!loop->regions)
        return PSNAP_ERROR_MEMORY;
    qsort(from->order, from->count, sizeof(struct build_region *), compare_serial);
    for (uint32_t i = 0; i < from->count && !status; i++) {
        struct psnap_profile_region *region = &loop->regions[i];
        build_region_name(from, from->order[i], t->program);
        status = build_region_export(from->order[i], arena, region);
        if (status)
            break;
        if (from->order[i]->object) {
            region->object = copy(t, from->order[i]->object);
            region->object_kind = from->order[i]->object_kind;
        }
        region->id = region_id(t, loop->regions, i);
        if (!region->id || (from->order[i]->object && !region->object))
            status = PSNAP_ERROR_MEMORY;
        loop->accesses += region->accesses;
    }
    loop->region_count = from->count;
    return status ? status : take_pattern(t, from, loop);
}

/* A block that was never executed has not been counted: the stream has its accesses. */
static uint64_t executions(const struct psnap_program *program, uint32_t block)
{
    uint64_t count = block < program->block_count ? program->blocks[block].executions : 0;

    if (!count)
        return UINT64_MAX;
    return count < PSNAP_COUNT_MAX ? count : PSNAP_COUNT_MAX;
}

/* What a part has of a loop, as a loop of its own: "sweep:42.t1", or "sweep:42.t64+" when several
 * threads share it. */
static enum psnap_status take_part(struct taking *t, uint32_t p, uint32_t index)
{
    const struct build_part *part = t->result->parts[p];
    const uint32_t at = t->kept[p * t->program->loop_count + index];
    struct psnap_profile_loop *to;
    const struct psnap_profile_loop *whole;
    size_t size;
    char *id;

    if (at == PSNAP_NONE)
        return PSNAP_OK;
    whole = &t->profile->loops[t->whole[index]];
    size = strlen(whole->id) + 16;
    id = psnap_arena_alloc(t->profile->arena, size);
    if (!id)
        return PSNAP_ERROR_MEMORY;
    snprintf(id, size, "%s.t%u%s", whole->id, (unsigned)part->thread,
             part->thread_count > 1 ? "+" : "");
    to = &t->profile->loops[at];
    *to = (struct psnap_profile_loop){.id = id,
                                      .src_id = whole->src_id,
                                      .function = whole->function,
                                      .file = whole->file,
                                      .src_line = whole->src_line,
                                      .depth = whole->depth,
                                      .parent = whole->parent,
                                      .entries = UINT64_MAX,
                                      .iterations = UINT64_MAX,
                                      .whole = t->whole[index],
                                      .thread = part->thread,
                                      .thread_count = part->thread_count};
    return take_regions(t, built(t, p, index), to);
}

static enum psnap_status take_loop(struct taking *t, uint32_t index)
{
    const struct psnap_loop *from = &t->program->loops[index];
    struct psnap_profile_loop *to = &t->profile->loops[t->whole[index]];
    enum psnap_status status = PSNAP_OK;

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
        to->parent = t->whole[from->parent];
    to->whole = to->thread = PSNAP_NONE;
    to->entries = executions(t->program, from->entry);
    to->iterations = executions(t->program, from->header);
    if (t->result->stream)
        return PSNAP_OK; /* model_derive */
    if (!t->profile->is_apart)
        return built(t, 0, index) ? take_regions(t, built(t, 0, index), to) : PSNAP_OK;
    for (uint32_t p = 0; p < t->result->part_count && !status; p++)
        status = take_part(t, p, index);
    return status;
}

/* The loop of rare code (profile/collect/rare.c). */
static void take_rare(const struct taking *t)
{
    if (t->whole[t->program->loop_count] != PSNAP_NONE)
        t->profile->loops[t->whole[t->program->loop_count]] =
            (struct psnap_profile_loop){.id = PSNAP_RARE,
                                        .src_id = PSNAP_RARE,
                                        .function = "",
                                        .file = "",
                                        .parent = PSNAP_NONE,
                                        .entries = UINT64_MAX,
                                        .iterations = UINT64_MAX,
                                        .whole = PSNAP_NONE,
                                        .thread = PSNAP_NONE};
}

/* Operations of loops that are not there are those of rare code, if there is some. */
static void take_operations(struct taking *t)
{
    uint64_t totals[PSNAP_OPERATION_COUNT] = {0};

    for (uint32_t i = 0; i < t->program->block_count; i++) {
        const struct psnap_block *block = &t->program->blocks[i];
        struct psnap_profile_loop *loop;
        uint32_t at;
        if (block->loop >= t->program->loop_count)
            continue;
        at = t->whole[block->loop] != PSNAP_NONE ? block->loop : t->program->loop_count;
        if (t->whole[at] == PSNAP_NONE)
            continue;
        loop = &t->profile->loops[t->whole[at]];
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
    for (uint32_t i = 0; i < t->program->loop_count; i++) {
        uint64_t accesses = t->result->stream && t->whole[i] != PSNAP_NONE
                                ? t->profile->loops[t->whole[i]].accesses
                                : 0;
        if (t->whole[i] == PSNAP_NONE)
            continue;
        for (uint32_t p = 0; p < t->result->part_count && !t->result->stream; p++) {
            const uint32_t at = t->kept[p * t->program->loop_count + i];
            struct psnap_profile_loop *part;
            if (at == PSNAP_NONE)
                continue;
            part = &t->profile->loops[at];
            accesses += part->accesses;
            sampling_estimate(from, totals.accesses, PSNAP_NONE, part->accesses, part);
        }
        sampling_estimate(from, totals.accesses, i, accesses, &t->profile->loops[t->whole[i]]);
    }
    if (t->whole[t->program->loop_count] != PSNAP_NONE) {
        struct psnap_profile_loop *rare = &t->profile->loops[t->whole[t->program->loop_count]];
        sampling_estimate(from, totals.accesses, PSNAP_NONE, rare->accesses, rare);
    }
    return sampling_copy(from, t->profile->arena, &t->profile->sampling);
}

/* By how many points the replay of each loop is expected to be off: reuse times were. */
static enum psnap_status take_expected(struct psnap_profile *profile)
{
    const struct psnap_stream_model *model = profile->stream;
    double *off = calloc(profile->loop_count + (size_t)1, sizeof *off);
    uint64_t all = 0;

    for (uint32_t i = 0; i < profile->loop_count; i++)
        all += profile->loops[i].accesses;
    for (uint32_t i = 0; off && i < model->ref_count; i++)
        off[model->refs[i].loop] += model->refs[i].off * (double)model->refs[i].executions;
    for (uint32_t i = 0; off && i < profile->loop_count; i++) {
        struct psnap_profile_loop *loop = &profile->loops[i];
        const double points =
            loop->accesses > all / FEW ? 100 * off[i] / (double)loop->accesses : 0;
        loop->expected_off = points > PSNAP_OFF_POINTS ? round(points * 10) / 10 : 0;
    }
    free(off);
    return off ? PSNAP_OK : PSNAP_ERROR_MEMORY;
}

static enum psnap_status take_all(struct taking *t)
{
    struct psnap_profile *profile = t->profile;
    enum psnap_status status = take_provenance(t);

    choose_loops(t);
    profile->loops =
        psnap_arena_alloc(profile->arena, (profile->loop_count + 1) * sizeof *profile->loops);
    if (!profile->loops)
        return PSNAP_ERROR_MEMORY;
    for (uint32_t i = 0; i < t->program->loop_count && !status; i++)
        if (t->whole[i] != PSNAP_NONE)
            status = take_loop(t, i);
    take_rare(t);
    if (!status)
        status = make_ids_unique(t);
    if (!status && t->result->stream) {
        profile->model = PSNAP_MODEL_NESTS;
        profile->stream = t->result->stream;
        status = model_adopt(profile->stream, t->kept, profile) ? PSNAP_OK : PSNAP_ERROR_MEMORY;
        if (!status)
            status = model_count(profile->stream, NULL);
        if (!status)
            status = model_derive(profile, t->program);
        if (!status)
            status = take_expected(profile);
    } else if (!status)
        status = build_schedule(profile, t->kept, t->result->part_count * t->program->loop_count,
                                t->result);
    take_operations(t);
    if (!status)
        status = take_sampling(t);
    return status;
}

struct psnap_profile *build_profile(const struct psnap_program *program,
                                    const struct build_result *result, struct psnap_error *error)
{
    struct taking t = {.program = program, .profile = psnap_profile_new(), .result = result};
    const bool is_apart = result->options->is_apart;
    enum psnap_status status = PSNAP_ERROR_MEMORY;

    t.whole = calloc(program->loop_count + 1, sizeof *t.whole);
    t.kept = t.whole;
    if (is_apart)
        t.kept = malloc((result->part_count * (size_t)program->loop_count + 1) * sizeof *t.kept);
    if (t.kept && is_apart)
        memset(t.kept, 0xff, result->part_count * (size_t)program->loop_count * sizeof *t.kept);
    if (t.profile && t.whole && t.kept) {
        t.profile->is_apart = is_apart;
        t.profile->region_gap_bytes = result->options->region_gap_bytes;
        t.profile->region_limit = result->options->region_limit;
        status = take_all(&t);
    }
    if (is_apart)
        free(t.kept);
    free(t.whole);
    if (!status)
        return t.profile;
    psnap_error_set(error, status, "out of memory");
    if (!t.profile || !t.profile->stream) /* it has not become the profile's */
        model_free(result->stream);
    psnap_profile_free(t.profile);
    return NULL;
}
