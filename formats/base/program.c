/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The static tables of a program. Each is an array that doubles when full, so
 * adding a row costs amortised constant time; indices never change, pointers
 * do. A table never reaches PSNAP_NONE rows. All strings live in one arena and
 * die with the program.
 */
#include "formats/base/program.h"

#include <stdlib.h>
#include <string.h>

#include "formats/base/access.h"
#include "formats/base/arena.h"
#include "formats/base/room.h"

#define FIRST_ROWS 16u

struct psnap_program *psnap_program_new(void)
{
    struct psnap_program *program = calloc(1, sizeof *program);
    struct psnap_provenance *provenance;

    if (!program)
        return NULL;
    program->arena = psnap_arena_new();
    if (!program->arena) {
        free(program);
        return NULL;
    }
    provenance = &program->provenance;
    provenance->name = provenance->build_id = provenance->source_language = "";
    provenance->compiler = provenance->host = provenance->recorded = provenance->stage = "";
    return program;
}

void psnap_program_free(struct psnap_program *program)
{
    if (!program)
        return;
    free(program->loops);
    free(program->blocks);
    free(program->refs);
    free(program->objects);
    psnap_arena_free(program->arena);
    free(program);
}

static const char *copy_text(struct psnap_arena *arena, const char *text)
{
    return text && *text ? psnap_arena_strndup(arena, text, strlen(text)) : "";
}

/* A NULL-terminated list of texts; NULL: out of memory. */
static const char *const *copy_texts(struct psnap_arena *arena, const char *const *texts)
{
    size_t count = 0;
    const char **copy;

    while (texts[count])
        count++;
    copy = psnap_arena_alloc(arena, (count + 1) * sizeof *copy);
    for (size_t i = 0; copy && i < count; i++)
        if (!(copy[i] = copy_text(arena, texts[i])))
            return NULL;
    return copy;
}

const char *psnap_program_string(struct psnap_program *program, const char *text)
{
    return copy_text(program->arena, text);
}

enum psnap_status psnap_program_set_command(struct psnap_program *program, const char *const *argv)
{
    const char *const *command = copy_texts(program->arena, argv);

    if (!command)
        return PSNAP_ERROR_MEMORY;
    program->provenance.command = command;
    return PSNAP_OK;
}

enum psnap_status psnap_provenance_copy(const struct psnap_provenance *from,
                                        struct psnap_arena *arena, struct psnap_provenance *to)
{
    const char **const texts[] = {&to->name,     &to->build_id, &to->source_language,
                                  &to->compiler, &to->host,     &to->recorded,
                                  &to->stage};

    *to = *from;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (!(*texts[i] = copy_text(arena, *texts[i])))
            return PSNAP_ERROR_MEMORY;
    if (from->command)
        to->command = copy_texts(arena, from->command);
    return from->command && !to->command ? PSNAP_ERROR_MEMORY : PSNAP_OK;
}

enum psnap_status psnap_sampling_copy(const struct psnap_sampling *from, struct psnap_arena *arena,
                                      struct psnap_sampling *to)
{
    *to = *from;
    to->loop_errors = NULL;
    to->loop_error_count = 0;
    if (from->regions)
        to->regions = copy_texts(arena, from->regions);
    return from->regions && !to->regions ? PSNAP_ERROR_MEMORY : PSNAP_OK;
}

/* Appends a row to the table that `place` points to; its index, or PSNAP_NONE: then the table is as
 * it was. */
static uint32_t add_row(void *place, uint32_t *count, uint32_t *room, const void *row, size_t size)
{
    unsigned char *table;

    if (*count == *room) {
        const uint32_t rows = *room ? *room * 2 : FIRST_ROWS;
        if (*count >= PSNAP_NONE / 2 || !psnap_resize(place, rows, size))
            return PSNAP_NONE;
        *room = rows;
    }
    memcpy(&table, place, sizeof table);
    memcpy(table + *count * size, row, size);
    return (*count)++;
}

uint32_t psnap_program_add_loop(struct psnap_program *program, const struct psnap_loop *loop)
{
    return add_row(&program->loops, &program->loop_count, &program->loop_room, loop, sizeof *loop);
}

uint32_t psnap_program_add_block(struct psnap_program *program, const struct psnap_block *block)
{
    return add_row(&program->blocks, &program->block_count, &program->block_room, block,
                   sizeof *block);
}

uint32_t psnap_program_add_ref(struct psnap_program *program, const struct psnap_ref *ref)
{
    return add_row(&program->refs, &program->ref_count, &program->ref_room, ref, sizeof *ref);
}

uint32_t psnap_program_add_object(struct psnap_program *program, const struct psnap_object *object)
{
    return add_row(&program->objects, &program->object_count, &program->object_room, object,
                   sizeof *object);
}

enum psnap_status psnap_program_add_anonymous(struct psnap_program *program, const char *loop_id)
{
    struct psnap_loop loop = {
        .file = "", .parent = PSNAP_NONE, .header = PSNAP_NONE, .entry = PSNAP_NONE};
    struct psnap_block block = {0};

    if (program->ref_count)
        return PSNAP_OK;
    loop.id = loop.src_id = loop.function = psnap_program_string(program, loop_id);
    if (!loop.id)
        return PSNAP_ERROR_MEMORY;
    block.loop = psnap_program_add_loop(program, &loop);
    if (block.loop == PSNAP_NONE)
        return PSNAP_ERROR_MEMORY;
    struct psnap_ref ref = {.loop = block.loop, .kind = PSNAP_LOAD};
    ref.block = psnap_program_add_block(program, &block);
    if (ref.block == PSNAP_NONE || psnap_program_add_ref(program, &ref) == PSNAP_NONE)
        return PSNAP_ERROR_MEMORY;
    ref.kind = PSNAP_STORE;
    return psnap_program_add_ref(program, &ref) == PSNAP_NONE ? PSNAP_ERROR_MEMORY : PSNAP_OK;
}

const struct psnap_object *psnap_program_find_object(const struct psnap_program *program,
                                                     uint64_t address)
{
    for (uint32_t i = program->object_count; i-- > 0;) {
        const struct psnap_object *object = &program->objects[i];
        /* below the start the difference wraps to something huge */
        if (address - object->address < object->size_bytes)
            return object;
    }
    return NULL;
}

void psnap_sampling_end(struct psnap_sampling *sampling, uint64_t accesses)
{
    const uint64_t window = sampling->window;
    uint64_t count = accesses;

    sampling->loop_errors = NULL;
    sampling->loop_error_count = 0;
    sampling->is_empty = !accesses;
    if (window) {
        sampling->windows = accesses / window;
        if (__builtin_mul_overflow(sampling->windows, sampling->period, &count) ||
            __builtin_add_overflow(count, accesses % window, &count))
            count = PSNAP_RUN_MAX;
    }
    sampling->count = count < PSNAP_RUN_MAX ? count : PSNAP_RUN_MAX;
    if (window)
        sampling->run_accesses = sampling->count;
}

bool psnap_sampling_is_part(const struct psnap_sampling *sampling)
{
    return sampling->regions || sampling->skip || sampling->count || sampling->window ||
           sampling->is_empty;
}

const char *psnap_operation_name(enum psnap_capture_operation operation)
{
    static const char *const names[PSNAP_OPERATION_COUNT] = {
#define PSNAP_OPERATION(NAME, text) [PSNAP_OP_##NAME] = text,
#include "formats/base/capture_abi.inc"
    };

    return operation < PSNAP_OPERATION_COUNT ? names[operation] : "unknown";
}
