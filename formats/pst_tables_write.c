/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tables of a program to payloads of `Tabl` frames (PST.md, "Tables"):
 * provenance when it has changed, and the rows that are new since the frame
 * before. Strings are written once each and then named by number.
 *
 * Rows are taken as they are when they are first written; of a block only the
 * executions change after that, and these are written at the end of the trace.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/room.h"
#include "formats/pst.h"

#define PAYLOAD_SOFT_MAX ((size_t)4 << 20) /* bytes after which a payload takes no more rows */

static void fail(struct psnap_pst_tables_writer *tables, enum psnap_status status,
                 const char *message)
{
    if (tables->status != PSNAP_OK)
        return;
    tables->status = status;
    strncpy(tables->message, message, sizeof tables->message - 1);
}

static void description_release(struct psnap_pst_description *description)
{
    psnap_bytes_release(&description->now);
    psnap_bytes_release(&description->last);
}

void psnap_pst_tables_writer_release(struct psnap_pst_tables_writer *tables)
{
    free(tables->numbers.slots);
    free(tables->strings);
    free(tables->positions);
    psnap_bytes_release(&tables->new_strings);
    psnap_bytes_release(&tables->rows);
    description_release(&tables->provenance);
    description_release(&tables->part);
    description_release(&tables->rank);
}

/* The number of a string, which is written if it is new. NULL reads as "". */
static uint32_t string_number(struct psnap_pst_tables_writer *tables, const char *text)
{
    const size_t length = text ? strlen(text) : 0;
    uint64_t key, *number;
    uint32_t known;

    if (length == 0 || tables->status != PSNAP_OK)
        return 0;
    for (key = psnap_map_hash(0, text);
         (known = (uint32_t)psnap_map_get(&tables->numbers, key)) != 0; key++)
        if (!strcmp(tables->strings[known], text))
            return known;
    if (length > PSNAP_PST_STRING_MAX || tables->string_count + 1 >= PSNAP_PST_STRING_COUNT_MAX ||
        tables->string_bytes + length > PSNAP_PST_STRINGS_MAX) {
        fail(tables, PSNAP_ERROR_VALUE, "names in the program are too long for a .pst");
        return 0;
    }
    number = psnap_map_put(&tables->numbers, key);
    if (!number || !psnap_make_room(&tables->strings, &tables->string_room,
                                    tables->string_count + 2, sizeof *tables->strings)) {
        fail(tables, PSNAP_ERROR_MEMORY, "out of memory");
        return 0;
    }
    tables->strings[++tables->string_count] = text;
    tables->string_bytes += length;
    psnap_bytes_varint(&tables->new_strings, length);
    psnap_bytes_put(&tables->new_strings, text, length);
    tables->new_string_count++;
    *number = tables->string_count;
    return tables->string_count;
}

static void put_string(struct psnap_pst_tables_writer *tables, struct psnap_bytes *bytes,
                       const char *text)
{
    psnap_bytes_varint(bytes, string_number(tables, text));
}

static void at_most(struct psnap_pst_tables_writer *tables, size_t count, size_t most,
                    const char *message)
{
    if (count > most)
        fail(tables, PSNAP_ERROR_VALUE, message);
}

static void put_provenance(struct psnap_pst_tables_writer *tables)
{
    const struct psnap_provenance *provenance = &tables->program->provenance;
    struct psnap_bytes *bytes = &tables->provenance.now;
    size_t arguments = 0;

    put_string(tables, bytes, provenance->name);
    put_string(tables, bytes, provenance->build_id);
    put_string(tables, bytes, provenance->source_language);
    put_string(tables, bytes, provenance->compiler);
    put_string(tables, bytes, provenance->host);
    put_string(tables, bytes, provenance->recorded);
    put_string(tables, bytes, provenance->stage);
    if (!provenance->command) {
        psnap_bytes_varint(bytes, 0);
        return;
    }
    while (provenance->command[arguments])
        arguments++;
    at_most(tables, arguments, PSNAP_PST_ARGUMENTS_MAX, "the command is too long for a .pst");
    psnap_bytes_varint(bytes, arguments + 1);
    for (size_t i = 0; i < arguments; i++)
        put_string(tables, bytes, provenance->command[i]);
}

/* Which part of a run the stream is; nothing when it is all of one. */
static void put_part(struct psnap_pst_tables_writer *tables)
{
    const struct psnap_sampling *part = &tables->program->sampling;
    const uint64_t counts[] = {part->skip,   part->count,   part->window,
                               part->period, part->windows, part->run_accesses};
    struct psnap_bytes *bytes = &tables->part.now;
    size_t regions = 0;

    if (!psnap_sampling_is_part(part))
        return;
    while (part->regions && part->regions[regions])
        regions++;
    at_most(tables, regions, PSNAP_PST_REGIONS_MAX, "too many regions of interest for a .pst");
    at_most(tables, part->loop_errors ? part->loop_error_count : 0, tables->program->loop_count,
            "there are errors of more loops than there are");
    psnap_bytes_varint(bytes, regions);
    for (size_t i = 0; i < regions; i++)
        put_string(tables, bytes, part->regions[i]);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        psnap_bytes_varint(bytes, counts[i] < PSNAP_PST_RUN_MAX ? counts[i] : PSNAP_PST_RUN_MAX);
    psnap_bytes_varint(bytes, part->loop_errors ? part->loop_error_count : 0);
    for (uint32_t i = 0; part->loop_errors && i < part->loop_error_count; i++) {
        unsigned char stored[8];
        uint64_t bits;
        memcpy(&bits, &part->loop_errors[i], sizeof bits);
        psnap_record_put_u64(stored, bits);
        psnap_bytes_put(bytes, stored, sizeof stored);
    }
}

static void put_rank(struct psnap_pst_tables_writer *tables)
{
    const struct psnap_provenance *provenance = &tables->program->provenance;

    if (!provenance->has_rank)
        return;
    psnap_bytes_varint(&tables->rank.now, provenance->rank);
    psnap_bytes_varint(&tables->rank.now, provenance->ranks);
}

/* Indices travel plus one, so that PSNAP_NONE is 0. */
static void put_index(struct psnap_bytes *bytes, uint32_t index)
{
    psnap_bytes_varint(bytes, (uint64_t)(uint32_t)(index + 1u));
}

static void put_loop(struct psnap_pst_tables_writer *tables, uint32_t index)
{
    const struct psnap_program *program = tables->program;
    const struct psnap_loop *loop = &program->loops[index];
    struct psnap_bytes *rows = &tables->rows;

    if ((loop->parent != PSNAP_NONE && (loop->parent >= program->loop_count ||
                                        program->loops[loop->parent].depth >= loop->depth)) ||
        (loop->header != PSNAP_NONE && loop->header >= program->block_count) ||
        (loop->entry != PSNAP_NONE && loop->entry >= program->block_count))
        fail(tables, PSNAP_ERROR_VALUE, "a loop's parent, header or entry cannot be");
    put_string(tables, rows, loop->id);
    put_string(tables, rows, loop->src_id);
    put_string(tables, rows, loop->function);
    put_string(tables, rows, loop->file);
    psnap_bytes_varint(rows, loop->src_line);
    psnap_bytes_varint(rows, loop->depth);
    put_index(rows, loop->parent);
    put_index(rows, loop->header);
    put_index(rows, loop->entry);
}

static void put_block(struct psnap_pst_tables_writer *tables, uint32_t index)
{
    const struct psnap_block *block = &tables->program->blocks[index];
    struct psnap_bytes *rows = &tables->rows;

    if (block->loop >= tables->program->loop_count)
        fail(tables, PSNAP_ERROR_VALUE, "a block belongs to no loop");
    if (rows->size == 0) /* the first row of a section */
        psnap_bytes_varint(rows, PSNAP_OPERATION_COUNT);
    psnap_bytes_varint(rows, block->loop);
    psnap_bytes_varint(rows, block->src_line);
    for (int i = 0; i < PSNAP_OPERATION_COUNT; i++)
        psnap_bytes_varint(rows, block->operations[i]);
}

static void put_ref(struct psnap_pst_tables_writer *tables, uint32_t index)
{
    const struct psnap_program *program = tables->program;
    const struct psnap_ref *ref = &program->refs[index];
    struct psnap_bytes *rows = &tables->rows;

    if (ref->block >= program->block_count || ref->loop != program->blocks[ref->block].loop)
        fail(tables, PSNAP_ERROR_VALUE, "a reference and its block are not of one loop");
    psnap_bytes_varint(rows, ref->block);
    psnap_bytes_varint(rows, ref->src_line);
    psnap_bytes_varint(rows, ref->object ? (uint64_t)string_number(tables, ref->object) + 1 : 0);
    psnap_bytes_u8(rows, ref->object_kind);
    psnap_bytes_u8(rows, ref->kind);
    psnap_bytes_u8(rows, ref->size);
}

static void put_object(struct psnap_pst_tables_writer *tables, uint32_t index)
{
    const struct psnap_object *object = &tables->program->objects[index];
    struct psnap_bytes *rows = &tables->rows;

    psnap_bytes_varint(rows, tables->positions[index - tables->object_count]);
    psnap_bytes_varint(rows, object->address);
    psnap_bytes_varint(rows, object->size_bytes);
    put_string(tables, rows, object->name);
    psnap_bytes_u8(rows, object->kind);
}

static void put_section(struct psnap_bytes *payload, uint8_t tag, uint32_t count,
                        struct psnap_bytes *content)
{
    struct psnap_bytes head = {0};

    psnap_bytes_varint(&head, count);
    psnap_bytes_u8(payload, tag);
    psnap_bytes_varint(payload, head.size + content->size);
    psnap_bytes_put(payload, head.data, head.size);
    psnap_bytes_put(payload, content->data, content->size);
    payload->failed |= head.failed || content->failed;
    psnap_bytes_release(&head);
    content->size = 0;
}

/* Rows [*written, count) as far as the payload has room for them, into `body`. */
static void put_rows(struct psnap_pst_tables_writer *tables, struct psnap_bytes *body, uint8_t tag,
                     uint32_t *written, uint32_t count,
                     void (*put)(struct psnap_pst_tables_writer *, uint32_t))
{
    const uint32_t from = *written;
    uint32_t i = from;

    while (i < count && tables->status == PSNAP_OK &&
           body->size + tables->rows.size + tables->new_strings.size < PAYLOAD_SOFT_MAX)
        put(tables, i++);
    *written = i;
    if (i > from)
        put_section(body, tag, i - from, &tables->rows);
}

enum psnap_status psnap_pst_tables_note(struct psnap_pst_tables_writer *tables, uint64_t position,
                                        struct psnap_error *error)
{
    uint32_t count = tables->program->object_count;

    if (count > PSNAP_PST_OBJECTS_MAX)
        count = PSNAP_PST_OBJECTS_MAX;
    if (count == tables->noted)
        return PSNAP_OK;
    if (!psnap_make_room(&tables->positions, &tables->position_room, count - tables->object_count,
                         sizeof *tables->positions))
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    for (; tables->noted < count; tables->noted++)
        tables->positions[tables->noted - tables->object_count] = position;
    return PSNAP_OK;
}

static void put_objects(struct psnap_pst_tables_writer *tables, struct psnap_bytes *body)
{
    const uint32_t from = tables->object_count;

    put_rows(tables, body, PSNAP_PST_OBJECT_ROWS, &tables->object_count, tables->noted, put_object);
    if (tables->object_count > from)
        memmove(tables->positions, tables->positions + (tables->object_count - from),
                (tables->noted - tables->object_count) * sizeof *tables->positions);
}

static void put_if_new(struct psnap_pst_tables_writer *tables, struct psnap_bytes *body,
                       uint8_t tag, struct psnap_pst_description *description,
                       void (*put)(struct psnap_pst_tables_writer *))
{
    struct psnap_bytes *now = &description->now, *last = &description->last;

    now->size = 0;
    put(tables);
    if (!now->failed &&
        (!now->size || (now->size == last->size && !memcmp(now->data, last->data, now->size))))
        return;
    last->size = 0;
    psnap_bytes_put(last, now->data, now->size);
    body->failed |= last->failed;
    put_section(body, tag, 1, now);
}

enum psnap_status psnap_pst_tables_flush(struct psnap_pst_tables_writer *tables,
                                         struct psnap_bytes *payload, struct psnap_error *error)
{
    const struct psnap_program *program = tables->program;
    struct psnap_bytes body = {0};

    payload->size = 0;
    tables->new_string_count = 0;
    if (program->loop_count > PSNAP_PST_LOOPS_MAX || program->block_count > PSNAP_PST_BLOCKS_MAX ||
        program->ref_count > PSNAP_PST_REFS_MAX)
        fail(tables, PSNAP_ERROR_VALUE, "the program is too large for a .pst");
    put_if_new(tables, &body, PSNAP_PST_PROVENANCE, &tables->provenance, put_provenance);
    put_if_new(tables, &body, PSNAP_PST_PART, &tables->part, put_part);
    put_if_new(tables, &body, PSNAP_PST_RANK, &tables->rank, put_rank);
    put_rows(tables, &body, PSNAP_PST_LOOP_ROWS, &tables->loop_count, program->loop_count,
             put_loop);
    put_rows(tables, &body, PSNAP_PST_BLOCK_ROWS, &tables->block_count, program->block_count,
             put_block);
    put_rows(tables, &body, PSNAP_PST_REF_ROWS, &tables->ref_count, program->ref_count, put_ref);
    put_objects(tables, &body);
    if (tables->new_string_count)
        put_section(payload, PSNAP_PST_STRING_ROWS, tables->new_string_count, &tables->new_strings);
    psnap_bytes_put(payload, body.data, body.size);
    if (payload->failed || body.failed)
        fail(tables, PSNAP_ERROR_MEMORY, "out of memory");
    psnap_bytes_release(&body);
    if (tables->status != PSNAP_OK)
        return psnap_error_set(error, tables->status, "%s", tables->message);
    return PSNAP_OK;
}

void psnap_pst_tables_executions(const struct psnap_pst_tables_writer *tables,
                                 struct psnap_bytes *payload)
{
    const struct psnap_program *program = tables->program;

    psnap_bytes_varint(payload, program->block_count);
    for (uint32_t i = 0; i < program->block_count; i++)
        psnap_bytes_varint(payload, program->blocks[i].executions);
}
