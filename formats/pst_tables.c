/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tables of a program to payloads of `Tabl` frames, and back (PST.md, "Tables"). A row of each
 * section has one function that writes it or reads it, field by field.
 *
 * Written are provenance when it has changed, and the rows that are new since the frame before.
 * Strings are written once each and then named by number. Rows are taken as they are when they are
 * first written; of a block only the executions change after that, and these are written at the end
 * of the trace.
 *
 * Read, every index is checked before a row is added: strings, loops of blocks and blocks of refs
 * must have come before; a loop may name a parent or a block that comes later, so loops are checked
 * when accesses begin, and lose what did not come when the trace was cut off. A parent is less deep
 * than its child, so walks up the loops end. What a later row replaces, the command, regions of
 * interest and errors, is in buffers of the tables', which the later row fills again: a trace may
 * have any number of such rows. So the tables live as long as the program. Objects are kept back
 * until the stream reaches the access before which they were announced. A section may be longer
 * than its rows and a payload may have sections that are not known here: later writers may add to
 * both.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/arena.h"
#include "formats/base/room.h"
#include "formats/pst.h"

#define PAYLOAD_SOFT_MAX ((size_t)4 << 20) /* bytes after which a payload takes no more rows */

/* Kinds of operations that a later writer may count; those not known are dropped. */
#define OPERATIONS_MAX 1000u

#define TOO_LARGE "the program is too large for a .pst"

static void fail(struct psnap_pst_tables *tables, enum psnap_status status, const char *message)
{
    if (tables->status == PSNAP_OK) {
        tables->status = status;
        tables->message = message;
    }
}

void psnap_pst_tables_release(struct psnap_pst_tables *tables)
{
    free(tables->numbers.slots);
    free(tables->strings);
    free(tables->positions);
    free(tables->waiting);
    free(tables->command.items);
    free(tables->regions.items);
    free(tables->errors);
    psnap_bytes_release(&tables->new_strings);
    psnap_bytes_release(&tables->rows);
    for (size_t i = 0; i < sizeof tables->last / sizeof *tables->last; i++)
        psnap_bytes_release(&tables->last[i]);
}

/* ---- fields, which are written unless tables->is_read ---- */

static uint64_t code_number(struct psnap_pst_tables *tables, uint64_t value, uint64_t most)
{
    if (tables->is_read)
        return psnap_cursor_below(&tables->section, most);
    if (value > most)
        fail(tables, PSNAP_ERROR_VALUE, TOO_LARGE);
    psnap_bytes_varint(&tables->rows, value);
    return value;
}

static void code_u64(struct psnap_pst_tables *tables, uint64_t *value)
{
    *value = code_number(tables, *value, UINT64_MAX);
}

static void code_u32(struct psnap_pst_tables *tables, uint32_t *value)
{
    *value = (uint32_t)code_number(tables, *value, UINT32_MAX);
}

/* Indices travel plus one, so that PSNAP_NONE is 0. */
static void code_index(struct psnap_pst_tables *tables, uint32_t *index)
{
    *index = (uint32_t)code_number(tables, *index + 1u, UINT32_MAX) - 1u;
}

static void code_u8(struct psnap_pst_tables *tables, uint8_t *value)
{
    if (tables->is_read)
        *value = psnap_cursor_u8(&tables->section);
    else
        psnap_bytes_u8(&tables->rows, *value);
}

/* Gives a string of the program the next number. False: it is no string of a .pst, or memory is
 * out. */
static bool add_string(struct psnap_pst_tables *tables, const char *text, size_t length)
{
    tables->string_bytes += length;
    if (length > PSNAP_PST_STRING_MAX || tables->string_count + 1 >= PSNAP_PST_STRING_COUNT_MAX ||
        tables->string_bytes > PSNAP_PST_STRINGS_MAX)
        fail(tables, PSNAP_ERROR_VALUE, "names in the program are too long for a .pst");
    else if (!psnap_make_room(&tables->strings, &tables->string_room, tables->string_count + 2,
                              sizeof *tables->strings))
        fail(tables, PSNAP_ERROR_MEMORY, "out of memory");
    else
        tables->strings[++tables->string_count] = text;
    return tables->status == PSNAP_OK;
}

/* The number of a string, which is written if it is new. NULL reads as "". */
static uint32_t string_number(struct psnap_pst_tables *tables, const char *text)
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
    number = psnap_map_put(&tables->numbers, key);
    if (!number)
        fail(tables, PSNAP_ERROR_MEMORY, "out of memory");
    if (!number || !add_string(tables, text, length))
        return 0;
    psnap_bytes_varint(&tables->new_strings, length);
    psnap_bytes_put(&tables->new_strings, text, length);
    tables->new_string_count++;
    *number = tables->string_count;
    return tables->string_count;
}

static void code_string(struct psnap_pst_tables *tables, const char **text)
{
    const uint32_t known = tables->is_read ? 0 : string_number(tables, *text);
    const uint64_t number = code_number(tables, known, tables->string_count);

    if (tables->is_read)
        *text = number ? tables->strings[number] : "";
}

/* `n` strings, which end with NULL: those of *list, or read into `room`, which *list then is. */
static void code_strings(struct psnap_pst_tables *tables, size_t n, const char *const **list,
                         struct psnap_pst_strings *room)
{
    if (tables->is_read && n > (size_t)(tables->section.end - tables->section.at)) {
        tables->section.failed = true;
        return;
    }
    if (tables->is_read && !psnap_reserve(&room->items, &room->room, n + 1, sizeof *room->items)) {
        fail(tables, PSNAP_ERROR_MEMORY, "out of memory");
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const char *text = tables->is_read ? NULL : (*list)[i];
        code_string(tables, &text);
        if (tables->is_read)
            room->items[i] = text;
    }
    if (tables->is_read) {
        room->items[n] = NULL;
        *list = room->items;
    }
}

static size_t count_strings(const char *const *list)
{
    size_t n = 0;

    while (list && list[n])
        n++;
    return n;
}

/* Standard errors of loops. */
static void code_errors(struct psnap_pst_tables *tables, struct psnap_sampling *part)
{
    const uint32_t n = part->loop_error_count;
    const unsigned char *from = NULL;
    uint64_t bits;

    if (!tables->is_read)
        from = (const unsigned char *)part->loop_errors;
    else if (!psnap_reserve(&tables->errors, &tables->error_room, n, sizeof *tables->errors))
        fail(tables, PSNAP_ERROR_MEMORY, "out of memory");
    else
        from = psnap_cursor_take(&tables->section, n * sizeof bits);
    for (uint32_t i = 0; from && i < n; i++) {
        bits = psnap_record_u64(from + i * sizeof bits);
        if (!tables->is_read) {
            psnap_bytes_put(&tables->rows, &bits, sizeof bits);
            continue;
        }
        memcpy(&tables->errors[i], &bits, sizeof bits);
        if (!(tables->errors[i] >= 0 && tables->errors[i] <= (double)PSNAP_PST_RUN_MAX))
            tables->section.failed = true;
    }
    if (tables->is_read)
        part->loop_errors = n ? tables->errors : NULL;
}

/* ---- rows ---- */

static void code_provenance(struct psnap_pst_tables *tables, struct psnap_provenance *provenance)
{
    const char **const texts[] = {
        &provenance->name,     &provenance->build_id, &provenance->source_language,
        &provenance->compiler, &provenance->host,     &provenance->recorded,
        &provenance->stage};
    size_t n = provenance->command ? count_strings(provenance->command) + 1 : 0;

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        code_string(tables, texts[i]);
    n = (size_t)code_number(tables, n, PSNAP_PST_ARGUMENTS_MAX + 1u);
    if (tables->is_read)
        provenance->command = NULL;
    if (n > 0)
        code_strings(tables, n - 1, &provenance->command, &tables->command);
}

/* Which part of a run the stream is. */
static void code_part(struct psnap_pst_tables *tables, struct psnap_sampling *part)
{
    uint64_t *const counts[] = {&part->skip,   &part->count,   &part->window,
                                &part->period, &part->windows, &part->run_accesses};
    const size_t n =
        (size_t)code_number(tables, count_strings(part->regions), PSNAP_PST_REGIONS_MAX);

    if (n > 0)
        code_strings(tables, n, &part->regions, &tables->regions);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        *counts[i] =
            code_number(tables, *counts[i] < PSNAP_PST_RUN_MAX ? *counts[i] : PSNAP_PST_RUN_MAX,
                        PSNAP_PST_RUN_MAX);
    if (!part->loop_errors)
        part->loop_error_count = 0;
    part->loop_error_count =
        (uint32_t)code_number(tables, part->loop_error_count, PSNAP_PST_LOOPS_MAX);
    code_errors(tables, part);
}

static void code_loop(struct psnap_pst_tables *tables, struct psnap_loop *loop)
{
    code_string(tables, &loop->id);
    code_string(tables, &loop->src_id);
    code_string(tables, &loop->function);
    code_string(tables, &loop->file);
    code_u32(tables, &loop->src_line);
    code_u32(tables, &loop->depth);
    code_index(tables, &loop->parent);
    code_index(tables, &loop->header);
    code_index(tables, &loop->entry);
}

static void code_block(struct psnap_pst_tables *tables, struct psnap_block *block)
{
    code_u32(tables, &block->loop);
    code_u32(tables, &block->src_line);
    for (uint32_t i = 0; i < tables->operations; i++) {
        uint32_t unknown = 0;
        code_u32(tables, i < PSNAP_OPERATION_COUNT ? &block->operations[i] : &unknown);
    }
}

static void code_ref(struct psnap_pst_tables *tables, struct psnap_ref *ref)
{
    uint64_t object = 0;

    code_u32(tables, &ref->block);
    code_u32(tables, &ref->src_line);
    if (ref->object)
        object = string_number(tables, ref->object) + UINT64_C(1);
    object = code_number(tables, object, tables->string_count + UINT64_C(1));
    if (tables->is_read && object)
        ref->object = object > 1 ? tables->strings[object - 1] : "";
    code_u8(tables, &ref->object_kind);
    code_u8(tables, &ref->kind);
    code_u8(tables, &ref->size);
}

static void code_object(struct psnap_pst_tables *tables, struct psnap_pst_waiting *waiting)
{
    code_u64(tables, &waiting->position);
    code_u64(tables, &waiting->object.address);
    code_u64(tables, &waiting->object.size_bytes);
    code_string(tables, &waiting->object.name);
    code_u8(tables, &waiting->object.kind);
}

static bool has_parent(const struct psnap_program *program, const struct psnap_loop *loop)
{
    return loop->parent == PSNAP_NONE ||
           (loop->parent < program->loop_count && program->loops[loop->parent].depth < loop->depth);
}

static bool has_block(const struct psnap_program *program, uint32_t block)
{
    return block == PSNAP_NONE || block < program->block_count;
}

static bool is_possible(const struct psnap_program *program, const struct psnap_loop *loop)
{
    return has_parent(program, loop) && has_block(program, loop->header) &&
           has_block(program, loop->entry);
}

/* ---- written ---- */

static void put_provenance(struct psnap_pst_tables *tables)
{
    struct psnap_provenance provenance = tables->program->provenance;

    code_provenance(tables, &provenance);
}

/* Nothing when the stream is all of a run. */
static void put_part(struct psnap_pst_tables *tables)
{
    struct psnap_sampling part = tables->program->sampling;

    if (part.loop_errors && part.loop_error_count > tables->program->loop_count)
        fail(tables, PSNAP_ERROR_VALUE, "there are errors of more loops than there are");
    else if (psnap_sampling_is_part(&part))
        code_part(tables, &part);
}

static void put_rank(struct psnap_pst_tables *tables)
{
    struct psnap_provenance provenance = tables->program->provenance;

    if (provenance.has_rank) {
        code_u32(tables, &provenance.rank);
        code_u32(tables, &provenance.ranks);
    }
}

static void put_loop(struct psnap_pst_tables *tables, uint32_t index)
{
    struct psnap_loop loop = tables->program->loops[index];

    if (!is_possible(tables->program, &loop))
        fail(tables, PSNAP_ERROR_VALUE, "a loop's parent, header or entry cannot be");
    code_loop(tables, &loop);
}

static void put_block(struct psnap_pst_tables *tables, uint32_t index)
{
    struct psnap_block block = tables->program->blocks[index];

    if (block.loop >= tables->program->loop_count)
        fail(tables, PSNAP_ERROR_VALUE, "a block belongs to no loop");
    tables->operations = PSNAP_OPERATION_COUNT;
    if (tables->rows.size == 0) /* the first row of a section */
        psnap_bytes_varint(&tables->rows, PSNAP_OPERATION_COUNT);
    code_block(tables, &block);
}

static void put_ref(struct psnap_pst_tables *tables, uint32_t index)
{
    const struct psnap_program *program = tables->program;
    struct psnap_ref ref = program->refs[index];

    if (ref.block >= program->block_count || ref.loop != program->blocks[ref.block].loop)
        fail(tables, PSNAP_ERROR_VALUE, "a reference and its block are not of one loop");
    code_ref(tables, &ref);
}

static void put_object(struct psnap_pst_tables *tables, uint32_t index)
{
    struct psnap_pst_waiting waiting = {tables->positions[index - tables->object_count],
                                        tables->program->objects[index]};

    code_object(tables, &waiting);
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
static void put_rows(struct psnap_pst_tables *tables, struct psnap_bytes *body, uint8_t tag,
                     uint32_t *written, uint32_t count,
                     void (*put)(struct psnap_pst_tables *, uint32_t))
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

enum psnap_status psnap_pst_tables_note(struct psnap_pst_tables *tables, uint64_t position,
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

static void put_objects(struct psnap_pst_tables *tables, struct psnap_bytes *body)
{
    const uint32_t from = tables->object_count;

    put_rows(tables, body, PSNAP_PST_OBJECT_ROWS, &tables->object_count, tables->noted, put_object);
    if (tables->object_count > from)
        memmove(tables->positions, tables->positions + (tables->object_count - from),
                (tables->noted - tables->object_count) * sizeof *tables->positions);
}

/* A section of one row, unless that is empty or the same as before. */
static void put_if_new(struct psnap_pst_tables *tables, struct psnap_bytes *body, uint8_t tag,
                       struct psnap_bytes *last, void (*put)(struct psnap_pst_tables *))
{
    struct psnap_bytes *now = &tables->rows;

    put(tables);
    if (!now->size || (now->size == last->size && !memcmp(now->data, last->data, now->size))) {
        now->size = 0;
        return;
    }
    last->size = 0;
    psnap_bytes_put(last, now->data, now->size);
    body->failed |= last->failed;
    put_section(body, tag, 1, now);
}

static enum psnap_status failed(const struct psnap_pst_tables *tables, struct psnap_error *error)
{
    return tables->status ? psnap_error_set(error, tables->status, "%s", tables->message)
                          : PSNAP_OK;
}

enum psnap_status psnap_pst_tables_flush(struct psnap_pst_tables *tables,
                                         struct psnap_bytes *payload, struct psnap_error *error)
{
    const struct psnap_program *program = tables->program;
    struct psnap_bytes body = {0};

    payload->size = 0;
    tables->new_string_count = 0;
    if (program->loop_count > PSNAP_PST_LOOPS_MAX || program->block_count > PSNAP_PST_BLOCKS_MAX ||
        program->ref_count > PSNAP_PST_REFS_MAX)
        fail(tables, PSNAP_ERROR_VALUE, TOO_LARGE);
    put_if_new(tables, &body, PSNAP_PST_PROVENANCE, &tables->last[0], put_provenance);
    put_if_new(tables, &body, PSNAP_PST_PART, &tables->last[1], put_part);
    put_if_new(tables, &body, PSNAP_PST_RANK, &tables->last[2], put_rank);
    put_rows(tables, &body, PSNAP_PST_LOOP_ROWS, &tables->loop_count, program->loop_count,
             put_loop);
    put_rows(tables, &body, PSNAP_PST_BLOCK_ROWS, &tables->block_count, program->block_count,
             put_block);
    put_rows(tables, &body, PSNAP_PST_REF_ROWS, &tables->ref_count, program->ref_count, put_ref);
    put_objects(tables, &body);
    if (tables->new_string_count)
        put_section(payload, PSNAP_PST_STRING_ROWS, tables->new_string_count, &tables->new_strings);
    psnap_bytes_put(payload, body.data, body.size);
    if (payload->failed || body.failed || tables->rows.failed)
        fail(tables, PSNAP_ERROR_MEMORY, "out of memory");
    psnap_bytes_release(&body);
    return failed(tables, error);
}

void psnap_pst_tables_executions(const struct psnap_pst_tables *tables, struct psnap_bytes *payload)
{
    const struct psnap_program *program = tables->program;

    psnap_bytes_varint(payload, program->block_count);
    for (uint32_t i = 0; i < program->block_count; i++)
        psnap_bytes_varint(payload, program->blocks[i].executions);
}

/* ---- read ---- */

/* A row is added when it makes sense: `is_added` says if there was memory. */
static void check_row(struct psnap_pst_tables *tables, bool is_added)
{
    if (!is_added)
        fail(tables, PSNAP_ERROR_MEMORY, "out of memory");
}

/* One string, in the program's arena from now on. */
static void get_string(struct psnap_pst_tables *tables)
{
    struct psnap_cursor *section = &tables->section;
    const size_t length = (size_t)psnap_cursor_below(section, PSNAP_PST_STRING_MAX);
    const unsigned char *at = psnap_cursor_take(section, length);
    char *copy;

    section->failed |= length == 0 || !at || memchr(at, 0, length);
    if (section->failed)
        return;
    copy = psnap_arena_strndup(tables->program->arena, (const char *)at, length);
    check_row(tables, copy != NULL);
    if (copy && !add_string(tables, copy, length) && tables->status == PSNAP_ERROR_VALUE)
        tables->status = PSNAP_ERROR_CORRUPT;
}

static void get_provenance(struct psnap_pst_tables *tables)
{
    code_provenance(tables, &tables->program->provenance);
}

static void get_part(struct psnap_pst_tables *tables)
{
    struct psnap_sampling part = {0};

    tables->program->sampling = part; /* its buffers are filled again */
    code_part(tables, &part);
    if (!part.window != !part.period || part.window > part.period)
        tables->section.failed = true;
    part.is_empty = !psnap_sampling_is_part(&part); /* or there would be no row */
    if (!tables->section.failed && tables->status == PSNAP_OK)
        tables->program->sampling = part;
}

static void get_rank(struct psnap_pst_tables *tables)
{
    struct psnap_provenance *provenance = &tables->program->provenance;

    provenance->has_rank = true;
    code_u32(tables, &provenance->rank);
    code_u32(tables, &provenance->ranks);
}

static void get_loop(struct psnap_pst_tables *tables)
{
    struct psnap_loop loop = {0};

    code_loop(tables, &loop);
    tables->section.failed |= tables->program->loop_count >= PSNAP_PST_LOOPS_MAX;
    if (!tables->section.failed)
        check_row(tables, psnap_program_add_loop(tables->program, &loop) != PSNAP_NONE);
}

static void get_block(struct psnap_pst_tables *tables)
{
    struct psnap_program *program = tables->program;
    struct psnap_block block = {0};

    code_block(tables, &block);
    tables->section.failed |=
        block.loop >= program->loop_count || program->block_count >= PSNAP_PST_BLOCKS_MAX;
    if (!tables->section.failed)
        check_row(tables, psnap_program_add_block(program, &block) != PSNAP_NONE);
}

static void get_ref(struct psnap_pst_tables *tables)
{
    struct psnap_program *program = tables->program;
    struct psnap_ref ref = {0};

    code_ref(tables, &ref);
    tables->section.failed |= ref.block >= program->block_count || ref.kind > PSNAP_ATOMIC ||
                              ref.object_kind > PSNAP_OBJECT_STACK ||
                              ref.size > PSNAP_ACCESS_SIZE_MAX ||
                              program->ref_count >= PSNAP_PST_REFS_MAX;
    if (tables->section.failed)
        return;
    ref.loop = program->blocks[ref.block].loop;
    check_row(tables, psnap_program_add_ref(program, &ref) != PSNAP_NONE);
}

static void get_object(struct psnap_pst_tables *tables)
{
    const uint32_t n = tables->waiting_count;
    struct psnap_pst_waiting waiting = {0};
    bool has_room;

    code_object(tables, &waiting);
    tables->section.failed |=
        waiting.object.kind > PSNAP_OBJECT_STACK ||
        tables->program->object_count + (n - tables->announced) >= PSNAP_PST_OBJECTS_MAX ||
        (n > 0 && tables->waiting[n - 1].position > waiting.position);
    if (tables->section.failed)
        return;
    has_room =
        psnap_make_room(&tables->waiting, &tables->waiting_room, n + 1, sizeof *tables->waiting);
    check_row(tables, has_room);
    if (has_room)
        tables->waiting[tables->waiting_count++] = waiting;
}

static void read_section(struct psnap_pst_tables *tables, uint8_t tag)
{
    static void (*const getters[])(struct psnap_pst_tables *) = {
        [PSNAP_PST_STRING_ROWS] = get_string, [PSNAP_PST_PROVENANCE] = get_provenance,
        [PSNAP_PST_LOOP_ROWS] = get_loop,     [PSNAP_PST_BLOCK_ROWS] = get_block,
        [PSNAP_PST_REF_ROWS] = get_ref,       [PSNAP_PST_OBJECT_ROWS] = get_object,
        [PSNAP_PST_PART] = get_part,          [PSNAP_PST_RANK] = get_rank,
    };
    uint64_t count;

    if (tag >= sizeof getters / sizeof *getters || !getters[tag])
        return;
    count = psnap_cursor_varint(&tables->section);
    if (tag == PSNAP_PST_BLOCK_ROWS)
        tables->operations = (uint32_t)psnap_cursor_below(&tables->section, OPERATIONS_MAX);
    for (uint64_t i = 0; i < count && !tables->section.failed && tables->status == PSNAP_OK; i++)
        getters[tag](tables);
}

enum psnap_status psnap_pst_tables_read(struct psnap_pst_tables *tables,
                                        struct psnap_cursor *payload, struct psnap_error *error)
{
    tables->is_read = true;
    if (tables->announced == tables->waiting_count)
        tables->announced = tables->waiting_count = 0;
    while (payload->at < payload->end && tables->status == PSNAP_OK) {
        const uint8_t tag = psnap_cursor_u8(payload);
        const uint64_t size = psnap_cursor_below(payload, PSNAP_PST_PAYLOAD_MAX);
        const unsigned char *at = psnap_cursor_take(payload, (size_t)size);

        if (!at)
            return psnap_error_set(error, PSNAP_ERROR_CORRUPT, "table section is cut short");
        tables->section = (struct psnap_cursor){at, at + size, false};
        read_section(tables, tag);
        if (tables->section.failed && tables->status == PSNAP_OK)
            return psnap_error_set(error, PSNAP_ERROR_CORRUPT,
                                   "row of table section %u makes no sense", tag);
    }
    return failed(tables, error);
}
enum psnap_status psnap_pst_tables_check(struct psnap_pst_tables *tables, struct psnap_error *error)
{
    const struct psnap_program *program = tables->program;

    if (program->sampling.loop_error_count > program->loop_count)
        return psnap_error_set(error, PSNAP_ERROR_CORRUPT,
                               "there are errors of %u loops, but %u loops",
                               program->sampling.loop_error_count, program->loop_count);
    for (; tables->loops_checked < program->loop_count; tables->loops_checked++) {
        const struct psnap_loop *loop = &program->loops[tables->loops_checked];

        if (!is_possible(program, loop))
            return psnap_error_set(error, PSNAP_ERROR_CORRUPT,
                                   "parent, header or entry of loop %u makes no sense",
                                   tables->loops_checked);
    }
    return PSNAP_OK;
}

void psnap_pst_tables_cut(struct psnap_pst_tables *tables)
{
    struct psnap_program *program = tables->program;

    if (program->sampling.loop_error_count > program->loop_count) {
        program->sampling.loop_error_count = 0;
        program->sampling.loop_errors = NULL;
    }
    for (; tables->loops_checked < program->loop_count; tables->loops_checked++) {
        struct psnap_loop *loop = &program->loops[tables->loops_checked];

        loop->parent = has_parent(program, loop) ? loop->parent : PSNAP_NONE;
        loop->header = has_block(program, loop->header) ? loop->header : PSNAP_NONE;
        loop->entry = has_block(program, loop->entry) ? loop->entry : PSNAP_NONE;
    }
}

enum psnap_status psnap_pst_tables_announce(struct psnap_pst_tables *tables, uint64_t position,
                                            uint64_t *next, struct psnap_error *error)
{
    for (; tables->announced < tables->waiting_count; tables->announced++) {
        const struct psnap_pst_waiting *waiting = &tables->waiting[tables->announced];

        if (waiting->position > position) {
            *next = waiting->position;
            return PSNAP_OK;
        }
        if (psnap_program_add_object(tables->program, &waiting->object) == PSNAP_NONE)
            return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    }
    *next = UINT64_MAX;
    return PSNAP_OK;
}

enum psnap_status psnap_pst_tables_read_executions(struct psnap_pst_tables *tables,
                                                   struct psnap_cursor *payload,
                                                   struct psnap_error *error)
{
    struct psnap_program *program = tables->program;

    const uint64_t count = psnap_cursor_below(payload, program->block_count);

    for (uint32_t i = 0; i < count && !payload->failed; i++)
        program->blocks[i].executions = psnap_cursor_varint(payload);
    if (payload->failed)
        return psnap_error_set(error, PSNAP_ERROR_CORRUPT, "executions of blocks make no sense");
    return PSNAP_OK;
}
