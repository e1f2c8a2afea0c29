/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the context knows of the program, and how it learns: records that are no accesses. What the
 * process as a whole does comes by the control ring, the allocations of a thread, which name what
 * lies in them, between its accesses. Each reference remembers the range of the program's memory
 * that its last address was in.
 */
#include "capture/decode/context.h"

#include <inttypes.h>
#include <string.h>

enum psnap_status psnap_context_corrupt(struct psnap_error *error, uint64_t word)
{
    return psnap_error_set(error, PSNAP_ERROR_CORRUPT,
                           "the program's ring holds a record that cannot be (0x%" PRIx64 ")",
                           word);
}

enum psnap_status psnap_loop_corrupt(struct psnap_error *error, const char *loop, const char *why)
{
    return psnap_error_set(error, PSNAP_ERROR_CORRUPT,
                           "the program's ring holds a %s that cannot be: %s", loop, why);
}

enum psnap_status psnap_context_no_memory(struct psnap_error *error)
{
    return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for the program's mappings");
}

bool psnap_context_refresh(struct psnap_context *context, struct psnap_capture_ref *ref,
                           uint64_t address)
{
    const struct psnap_range *range = psnap_rebase_find(&context->rebase, address);
    if (!range)
        return false;
    ref->low = range->low;
    ref->span = range->high - range->low;
    ref->delta = range->delta;
    return true;
}

void psnap_context_forget_ranges(struct psnap_context *context)
{
    if (context->generation == context->rebase.generation)
        return;
    context->generation = context->rebase.generation;
    for (uint32_t i = 0; i < context->tables.ref_count; i++)
        context->tables.refs[i].span = 0;
}

/* The most iterations that a loop at `depth` has, of those around it with so many; at least 1. */
static bool find_most(const struct psnap_nest_loop *loop, uint32_t depth, const uint64_t *counts,
                      uint64_t *most)
{
    int64_t count = loop->count, more;

    for (uint32_t l = 0; l < depth; l++)
        if (loop->count_steps[l] > 0 &&
            (__builtin_mul_overflow(loop->count_steps[l], (int64_t)(counts[l] - 1), &more) ||
             __builtin_add_overflow(count, more, &count)))
            return false;
    *most = count > 0 ? (uint64_t)count : 1;
    return true;
}

/* Whether an access, from its first address on, stays in the range of its reference. */
static bool stays(const struct psnap_capture_ref *ref, const struct psnap_access *access,
                  const int64_t *strides, const uint64_t *counts, uint32_t depth)
{
    const uint64_t first = access->address - ref->delta - ref->low;
    uint64_t room_down = first, room_up = ref->span - 1 - first;

    if (first >= ref->span)
        return false;
    for (uint32_t l = 0; l <= depth; l++) {
        uint64_t *room = strides[l] < 0 ? &room_down : &room_up, way;
        if (__builtin_mul_overflow(strides[l] < 0 ? 0 - (uint64_t)strides[l] : (uint64_t)strides[l],
                                   counts[l] - 1, &way) ||
            way > *room)
            return false;
        *room -= way;
    }
    return true;
}

bool psnap_context_holds(const struct psnap_context *context, const struct psnap_nest *nest)
{
    uint64_t counts[PSNAP_NEST_LEVELS];
    uint32_t ends[PSNAP_NEST_LEVELS], depth = 0;

    for (uint32_t i = 0; i < nest->loop_count; i++) {
        const struct psnap_nest_loop *loop = &nest->loops[i];
        while (depth && i >= ends[depth - 1])
            depth--;
        if (!find_most(loop, depth, counts, &counts[depth]))
            return false;
        ends[depth] = i + 1 + loop->inside;
        for (uint32_t a = loop->begin; !loop->inside && a < (uint32_t)loop->begin + loop->width;
             a++)
            if (!stays(&context->tables.refs[nest->first[a].ref], &nest->first[a],
                       &nest->strides[(size_t)a * nest->levels], counts, depth))
                return false;
        depth += loop->inside > 0;
    }
    return true;
}

void psnap_tally_add(struct psnap_tally *tally, uint32_t block, uint64_t times)
{
    if (!tally->counts)
        return;
    if (tally->used == PSNAP_TALLY_COUNTS) {
        tally->is_short = true;
        return;
    }
    tally->executions[tally->used].block = block;
    tally->executions[tally->used++].times = times;
}

enum { OBJECTS_MAX = 1 << 16, OBJECTS_NEAR = 16, NEAR_BYTES = 256 };

/* Whether one of the latest objects says all of it: memory that is allocated again and again. */
static bool is_named_so(const struct psnap_program *program, const struct psnap_object *object)
{
    const uint32_t count = program->object_count;

    for (uint32_t i = 0; i < OBJECTS_NEAR && i < count; i++) {
        const struct psnap_object *old = &program->objects[count - 1 - i];
        if (object->address - old->address < old->size_bytes)
            return old->name == object->name && old->kind == object->kind &&
                   object->size_bytes <= old->size_bytes - (object->address - old->address);
        if (old->address - object->address < object->size_bytes)
            return false;
    }
    return false;
}

enum psnap_status psnap_context_allocation(struct psnap_context *context, const uint64_t *words,
                                           struct psnap_error *error)
{
    struct psnap_program *program = context->program;
    struct psnap_object object = {
        .size_bytes = words[2],
        .name = psnap_capture_tables_site(&context->tables, words[3]),
        .kind = PSNAP_OBJECT_ALLOCATION,
    };
    const struct psnap_range *range;
    struct psnap_object *last =
        program->object_count ? &program->objects[program->object_count - 1] : NULL;

    if (!psnap_rebase_allocate(&context->rebase, words[4]))
        return psnap_context_no_memory(error);
    psnap_context_forget_ranges(context);
    range = psnap_rebase_find(&context->rebase, words[1]);
    if (!range)
        return psnap_context_no_memory(error);
    object.address = words[1] + range->delta;
    /* Neighbours from one site are one object: a list's nodes, a tree's. */
    if (last && last->name == object.name && last->kind == object.kind &&
        object.address + object.size_bytes + NEAR_BYTES >= last->address &&
        object.address <= last->address + last->size_bytes + NEAR_BYTES) {
        uint64_t low = object.address < last->address ? object.address : last->address;
        uint64_t high = object.address + object.size_bytes;
        if (high < last->address + last->size_bytes)
            high = last->address + last->size_bytes;
        last->address = low;
        last->size_bytes = high - low;
        return PSNAP_OK;
    }
    if (is_named_so(program, &object))
        return PSNAP_OK;
    if (program->object_count >= OBJECTS_MAX)
        context->unnamed++;
    else if (psnap_program_add_object(program, &object) == PSNAP_NONE)
        return psnap_context_no_memory(error);
    return PSNAP_OK;
}

/* Globals arrive as the program has them; objects are canonical. */
static bool add_globals(struct psnap_context *context, const uint64_t *addresses, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        const struct psnap_range *range = psnap_rebase_find(&context->rebase, addresses[i]);
        uint64_t address = range ? addresses[i] + range->delta : 0;
        if (!range || !psnap_capture_tables_add_globals(&context->tables, &address, 1))
            return false;
    }
    return true;
}

uint64_t psnap_context_control(struct psnap_context *context, const uint64_t *at,
                               const uint64_t *end, struct psnap_error *error)
{
    uint64_t left = (uint64_t)(end - at), words = 0;
    bool is_done = true;

    if (*at == PSNAP_EVENT_HEAP && left >= 2) {
        words = 2;
        is_done = psnap_rebase_add_heap(&context->rebase, at[1]);
    } else if (*at == PSNAP_EVENT_IMAGE && left >= 3) {
        words = 3;
        is_done = psnap_rebase_add_image(&context->rebase, at[1], at[2]);
    } else if (*at == PSNAP_EVENT_DATA && left >= 2 && at[1] <= (left - 2) * 8) {
        words = 2 + (at[1] + 7) / 8;
        is_done = psnap_capture_tables_add_bytes(&context->tables, at + 2, at[1]);
    } else if (*at == PSNAP_EVENT_GLOBALS && left >= 2 && at[1] <= left - 2) {
        words = 2 + at[1];
        is_done = add_globals(context, at + 2, at[1]);
    } else if (*at == PSNAP_EVENT_ALLOC && left >= 5) {
        words = 5; /* its name comes with the thread's records */
        is_done = psnap_rebase_announce(&context->rebase, at[1], at[2], (uint32_t)at[3]);
    } else if (*at == PSNAP_EVENT_MODULE && left >= 5) {
        if (psnap_capture_tables_finish(&context->tables, at + 1, error))
            return 0;
        memset(context->modules, 0, sizeof context->modules); /* the array has moved */
        words = 5;
    } else {
        psnap_context_corrupt(error, *at);
        return 0;
    }
    if (!is_done) {
        psnap_context_no_memory(error);
        return 0;
    }
    psnap_context_forget_ranges(context);
    return words;
}
