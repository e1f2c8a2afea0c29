/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records that are no accesses: what the process as a whole does, which comes by the control
 * ring, and the allocations of a thread, which name what lies in them.
 */
#include "capture/decode/decode.h"

#include <string.h>

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

enum psnap_status psnap_decoder_allocation(struct psnap_decoder *decoder, const uint64_t *words,
                                           struct psnap_error *error)
{
    struct psnap_program *program = decoder->program;
    struct psnap_object object = {
        .size_bytes = words[2],
        .name = psnap_capture_tables_site(&decoder->tables, words[3]),
        .kind = PSNAP_OBJECT_ALLOCATION,
    };
    const struct psnap_range *range;
    struct psnap_object *last =
        program->object_count ? &program->objects[program->object_count - 1] : NULL;

    if (!psnap_rebase_allocate(&decoder->rebase, words[4]))
        return psnap_decoder_no_memory(error);
    psnap_decoder_forget_ranges(decoder);
    range = psnap_rebase_find(&decoder->rebase, words[1]);
    if (!range)
        return psnap_decoder_no_memory(error);
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
        decoder->unnamed++;
    else if (psnap_program_add_object(program, &object) == PSNAP_NONE)
        return psnap_decoder_no_memory(error);
    return PSNAP_OK;
}

/* Globals arrive as the program has them; objects are canonical. */
static bool add_globals(struct psnap_decoder *decoder, const uint64_t *addresses, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        const struct psnap_range *range = psnap_rebase_find(&decoder->rebase, addresses[i]);
        uint64_t address = range ? addresses[i] + range->delta : 0;
        if (!range || !psnap_capture_tables_add_globals(&decoder->tables, &address, 1))
            return false;
    }
    return true;
}

uint64_t psnap_decode_control(struct psnap_decoder *decoder, const uint64_t *at,
                              const uint64_t *end, struct psnap_error *error)
{
    uint64_t left = (uint64_t)(end - at), words = 0;
    bool is_done = true;

    if (*at == PSNAP_EVENT_HEAP && left >= 2) {
        words = 2;
        is_done = psnap_rebase_add_heap(&decoder->rebase, at[1]);
    } else if (*at == PSNAP_EVENT_IMAGE && left >= 3) {
        words = 3;
        is_done = psnap_rebase_add_image(&decoder->rebase, at[1], at[2]);
    } else if (*at == PSNAP_EVENT_DATA && left >= 2 && at[1] <= (left - 2) * 8) {
        words = 2 + (at[1] + 7) / 8;
        is_done = psnap_capture_tables_add_bytes(&decoder->tables, at + 2, at[1]);
    } else if (*at == PSNAP_EVENT_GLOBALS && left >= 2 && at[1] <= left - 2) {
        words = 2 + at[1];
        is_done = add_globals(decoder, at + 2, at[1]);
    } else if (*at == PSNAP_EVENT_ALLOC && left >= 5) {
        words = 5; /* its name comes with the thread's records */
        is_done = psnap_rebase_announce(&decoder->rebase, at[1], at[2], (uint32_t)at[3]);
    } else if (*at == PSNAP_EVENT_MODULE && left >= 5) {
        if (psnap_capture_tables_finish(&decoder->tables, at + 1, error))
            return 0;
        decoder->module = NULL; /* the array has moved */
        memset(decoder->modules, 0, sizeof decoder->modules);
        words = 5;
    } else {
        psnap_decoder_corrupt(error, *at);
        return 0;
    }
    if (!is_done) {
        psnap_decoder_no_memory(error);
        return 0;
    }
    psnap_decoder_forget_ranges(decoder);
    return words;
}
