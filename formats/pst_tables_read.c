/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Payloads of `Tabl` frames back to the tables of a program (PST.md,
 * "Tables"). Every index is checked before a row is added: strings, loops of
 * blocks and blocks of refs must have come before; a loop may name a parent or
 * a block that comes later, so loops are checked when accesses begin, and lose
 * what did not come when the trace was cut off. A parent is less deep than its
 * child, so walks up the loops end.
 *
 * What a later row replaces, the command, regions of interest and errors, is in
 * buffers of the reader's, which the later row fills again: a trace may have any
 * number of such rows. So the reader lives as long as the program.
 *
 * Objects are kept back until the stream reaches the access before which they
 * were announced. A section may be longer than its rows and a payload may
 * have sections that are not known here: later writers may add to both.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/base/arena.h"
#include "formats/base/room.h"
#include "formats/pst.h"

/* Kinds of operations that a later writer may count; those not known are dropped. */
#define OPERATIONS_MAX 1000u

void psnap_pst_tables_reader_release(struct psnap_pst_tables_reader *tables)
{
    free(tables->strings);
    free(tables->waiting);
    free(tables->command);
    free(tables->errors);
}

static enum psnap_status out_of_memory(struct psnap_error *error)
{
    return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
}

/* One string, in the program's arena from now on. */
static enum psnap_status get_string(struct psnap_pst_tables_reader *tables,
                                    struct psnap_cursor *section, struct psnap_error *error)
{
    const size_t length = (size_t)psnap_cursor_below(section, PSNAP_PST_STRING_MAX);
    const unsigned char *at = psnap_cursor_take(section, length);
    char *copy;

    if (!at)
        return PSNAP_OK; /* section->failed */
    tables->string_bytes += length;
    if (length == 0 || memchr(at, 0, length) || tables->string_bytes > PSNAP_PST_STRINGS_MAX ||
        tables->string_count + 1 >= PSNAP_PST_STRING_COUNT_MAX) {
        section->failed = true;
        return PSNAP_OK;
    }
    copy = psnap_arena_strndup(tables->program->arena, (const char *)at, length);
    if (!copy || !psnap_make_room(&tables->strings, &tables->string_room, tables->string_count + 1,
                                  sizeof *tables->strings))
        return out_of_memory(error);
    tables->strings[tables->string_count++] = copy;
    return PSNAP_OK;
}

/* The string of a number; 0 is "". */
static const char *string_of(const struct psnap_pst_tables_reader *tables, uint64_t number)
{
    return number ? tables->strings[number - 1] : "";
}

static const char *get_name(const struct psnap_pst_tables_reader *tables,
                            struct psnap_cursor *section)
{
    return string_of(tables, psnap_cursor_below(section, tables->string_count));
}

static enum psnap_status get_provenance(struct psnap_pst_tables_reader *tables,
                                        struct psnap_cursor *section, struct psnap_error *error)
{
    struct psnap_provenance *provenance = &tables->program->provenance;
    uint32_t count;

    provenance->name = get_name(tables, section);
    provenance->build_id = get_name(tables, section);
    provenance->source_language = get_name(tables, section);
    provenance->compiler = get_name(tables, section);
    provenance->host = get_name(tables, section);
    provenance->recorded = get_name(tables, section);
    provenance->stage = get_name(tables, section);
    count = (uint32_t)psnap_cursor_below(section, PSNAP_PST_ARGUMENTS_MAX + 1u);
    provenance->command = NULL;
    if (count > (size_t)(section->end - section->at) + 1)
        section->failed = true;
    if (section->failed || count == 0)
        return PSNAP_OK;
    if (!psnap_reserve(&tables->command, &tables->command_room, count, sizeof *tables->command))
        return out_of_memory(error);
    for (uint32_t i = 0; i + 1 < count; i++)
        tables->command[i] = get_name(tables, section);
    tables->command[count - 1] = NULL;
    provenance->command = tables->command;
    return PSNAP_OK;
}

/* Standard errors of loops; NULL in *errors when there are none. */
static enum psnap_status get_errors(struct psnap_pst_tables_reader *tables,
                                    struct psnap_cursor *section, uint32_t count,
                                    const double **errors, struct psnap_error *error)
{
    const unsigned char *at = psnap_cursor_take(section, count * sizeof(double));

    *errors = NULL;
    if (!at || count == 0)
        return PSNAP_OK;
    if (!psnap_reserve(&tables->errors, &tables->error_room, count, sizeof *tables->errors))
        return out_of_memory(error);
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t bits = psnap_record_u64(at + i * sizeof bits);
        double value;

        memcpy(&value, &bits, sizeof bits);
        if (!(value >= 0 && value <= (double)PSNAP_PST_RUN_MAX))
            section->failed = true;
        tables->errors[i] = value;
    }
    *errors = tables->errors;
    return PSNAP_OK;
}

static enum psnap_status get_part(struct psnap_pst_tables_reader *tables,
                                  struct psnap_cursor *section, struct psnap_error *error)
{
    struct psnap_sampling part = {0};
    const size_t regions = (size_t)psnap_cursor_below(section, PSNAP_PST_REGIONS_MAX);
    enum psnap_status status;

    tables->program->sampling = part; /* its buffers are filled again */
    for (size_t i = 0; i < regions; i++)
        tables->regions[i] = get_name(tables, section);
    tables->regions[regions] = NULL;
    part.regions = regions ? tables->regions : NULL;
    part.skip = psnap_cursor_below(section, PSNAP_PST_RUN_MAX);
    part.count = psnap_cursor_below(section, PSNAP_PST_RUN_MAX);
    part.window = psnap_cursor_below(section, PSNAP_PST_RUN_MAX);
    part.period = psnap_cursor_below(section, PSNAP_PST_RUN_MAX);
    part.windows = psnap_cursor_below(section, PSNAP_PST_RUN_MAX);
    part.run_accesses = psnap_cursor_below(section, PSNAP_PST_RUN_MAX);
    part.loop_error_count = (uint32_t)psnap_cursor_below(section, PSNAP_PST_LOOPS_MAX);
    status = get_errors(tables, section, part.loop_error_count, &part.loop_errors, error);
    if (!part.window != !part.period || part.window > part.period)
        section->failed = true;
    part.is_empty = !psnap_sampling_is_part(&part); /* or there would be no row */
    if (status == PSNAP_OK && !section->failed)
        tables->program->sampling = part;
    return status;
}

static enum psnap_status get_rank(struct psnap_pst_tables_reader *tables,
                                  struct psnap_cursor *section, struct psnap_error *error)
{
    struct psnap_provenance *provenance = &tables->program->provenance;

    (void)error;
    provenance->has_rank = true;
    provenance->rank = (uint32_t)psnap_cursor_below(section, UINT32_MAX);
    provenance->ranks = (uint32_t)psnap_cursor_below(section, UINT32_MAX);
    return PSNAP_OK;
}

/* An index plus one, 0 for PSNAP_NONE. */
static uint32_t get_index(struct psnap_cursor *section)
{
    return (uint32_t)psnap_cursor_below(section, UINT32_MAX) - 1u;
}

static enum psnap_status get_loop(struct psnap_pst_tables_reader *tables,
                                  struct psnap_cursor *section, struct psnap_error *error)
{
    struct psnap_loop loop = {0};

    loop.id = get_name(tables, section);
    loop.src_id = get_name(tables, section);
    loop.function = get_name(tables, section);
    loop.file = get_name(tables, section);
    loop.src_line = (uint32_t)psnap_cursor_below(section, UINT32_MAX);
    loop.depth = (uint32_t)psnap_cursor_below(section, UINT32_MAX);
    loop.parent = get_index(section);
    loop.header = get_index(section);
    loop.entry = get_index(section);
    if (tables->program->loop_count >= PSNAP_PST_LOOPS_MAX)
        section->failed = true;
    if (!section->failed && psnap_program_add_loop(tables->program, &loop) == PSNAP_NONE)
        return out_of_memory(error);
    return PSNAP_OK;
}

static enum psnap_status get_block(struct psnap_pst_tables_reader *tables,
                                   struct psnap_cursor *section, struct psnap_error *error)
{
    struct psnap_block block = {0};

    block.loop = (uint32_t)psnap_cursor_below(section, UINT32_MAX);
    block.src_line = (uint32_t)psnap_cursor_below(section, UINT32_MAX);
    for (uint32_t i = 0; i < tables->operations; i++) {
        const uint32_t count = (uint32_t)psnap_cursor_below(section, UINT32_MAX);
        if (i < PSNAP_OPERATION_COUNT)
            block.operations[i] = count;
    }
    if (block.loop >= tables->program->loop_count ||
        tables->program->block_count >= PSNAP_PST_BLOCKS_MAX)
        section->failed = true;
    if (!section->failed && psnap_program_add_block(tables->program, &block) == PSNAP_NONE)
        return out_of_memory(error);
    return PSNAP_OK;
}

static enum psnap_status get_ref(struct psnap_pst_tables_reader *tables,
                                 struct psnap_cursor *section, struct psnap_error *error)
{
    struct psnap_ref ref = {0};
    uint64_t object;

    ref.block = (uint32_t)psnap_cursor_below(section, UINT32_MAX);
    ref.src_line = (uint32_t)psnap_cursor_below(section, UINT32_MAX);
    object = psnap_cursor_below(section, tables->string_count + UINT64_C(1));
    ref.object = object ? string_of(tables, object - 1) : NULL;
    ref.object_kind = psnap_cursor_u8(section);
    ref.kind = psnap_cursor_u8(section);
    ref.size = psnap_cursor_u8(section);
    if (ref.block >= tables->program->block_count || ref.kind > PSNAP_ATOMIC ||
        ref.object_kind > PSNAP_OBJECT_STACK || ref.size > PSNAP_ACCESS_SIZE_MAX ||
        tables->program->ref_count >= PSNAP_PST_REFS_MAX)
        section->failed = true;
    if (section->failed)
        return PSNAP_OK;
    ref.loop = tables->program->blocks[ref.block].loop;
    return psnap_program_add_ref(tables->program, &ref) == PSNAP_NONE ? out_of_memory(error)
                                                                      : PSNAP_OK;
}

static enum psnap_status get_object(struct psnap_pst_tables_reader *tables,
                                    struct psnap_cursor *section, struct psnap_error *error)
{
    struct psnap_pst_waiting waiting = {0};

    waiting.position = psnap_cursor_varint(section);
    waiting.object.address = psnap_cursor_varint(section);
    waiting.object.size_bytes = psnap_cursor_varint(section);
    waiting.object.name = get_name(tables, section);
    waiting.object.kind = psnap_cursor_u8(section);
    if (waiting.object.kind > PSNAP_OBJECT_STACK ||
        tables->program->object_count + (tables->waiting_count - tables->announced) >=
            PSNAP_PST_OBJECTS_MAX ||
        (tables->waiting_count > 0 &&
         tables->waiting[tables->waiting_count - 1].position > waiting.position))
        section->failed = true;
    if (section->failed)
        return PSNAP_OK;
    if (!psnap_make_room(&tables->waiting, &tables->waiting_room, tables->waiting_count + 1,
                         sizeof *tables->waiting))
        return out_of_memory(error);
    tables->waiting[tables->waiting_count++] = waiting;
    return PSNAP_OK;
}

static enum psnap_status read_section(struct psnap_pst_tables_reader *tables, uint8_t tag,
                                      struct psnap_cursor *section, struct psnap_error *error)
{
    static enum psnap_status (*const getters[])(struct psnap_pst_tables_reader *,
                                                struct psnap_cursor *, struct psnap_error *) = {
        [PSNAP_PST_STRING_ROWS] = get_string, [PSNAP_PST_PROVENANCE] = get_provenance,
        [PSNAP_PST_LOOP_ROWS] = get_loop,     [PSNAP_PST_BLOCK_ROWS] = get_block,
        [PSNAP_PST_REF_ROWS] = get_ref,       [PSNAP_PST_OBJECT_ROWS] = get_object,
        [PSNAP_PST_PART] = get_part,          [PSNAP_PST_RANK] = get_rank,
    };
    uint64_t count;

    if (tag >= sizeof getters / sizeof *getters || !getters[tag])
        return PSNAP_OK;
    count = psnap_cursor_varint(section);
    if (tag == PSNAP_PST_BLOCK_ROWS)
        tables->operations = (uint32_t)psnap_cursor_below(section, OPERATIONS_MAX);
    for (uint64_t i = 0; i < count && !section->failed; i++) {
        const enum psnap_status status = getters[tag](tables, section, error);
        if (status != PSNAP_OK)
            return status;
    }
    return PSNAP_OK;
}

enum psnap_status psnap_pst_tables_read(struct psnap_pst_tables_reader *tables,
                                        struct psnap_cursor *payload, struct psnap_error *error)
{
    if (tables->announced == tables->waiting_count)
        tables->announced = tables->waiting_count = 0;
    while (payload->at < payload->end) {
        const uint8_t tag = psnap_cursor_u8(payload);
        const uint64_t size = psnap_cursor_below(payload, PSNAP_PST_PAYLOAD_MAX);
        const unsigned char *at = psnap_cursor_take(payload, (size_t)size);
        struct psnap_cursor section = {at, at ? at + size : at, false};
        enum psnap_status status;

        if (!at)
            return psnap_error_set(error, PSNAP_ERROR_CORRUPT, "table section is cut short");
        status = read_section(tables, tag, &section, error);
        if (status != PSNAP_OK)
            return status;
        if (section.failed)
            return psnap_error_set(error, PSNAP_ERROR_CORRUPT,
                                   "row of table section %u makes no sense", tag);
    }
    return PSNAP_OK;
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

enum psnap_status psnap_pst_tables_check(struct psnap_pst_tables_reader *tables,
                                         struct psnap_error *error)
{
    const struct psnap_program *program = tables->program;

    if (program->sampling.loop_error_count > program->loop_count)
        return psnap_error_set(error, PSNAP_ERROR_CORRUPT,
                               "there are errors of %u loops, but %u loops",
                               program->sampling.loop_error_count, program->loop_count);
    for (; tables->loops_checked < program->loop_count; tables->loops_checked++) {
        const struct psnap_loop *loop = &program->loops[tables->loops_checked];

        if (!has_parent(program, loop) || !has_block(program, loop->header) ||
            !has_block(program, loop->entry))
            return psnap_error_set(error, PSNAP_ERROR_CORRUPT,
                                   "parent, header or entry of loop %u makes no sense",
                                   tables->loops_checked);
    }
    return PSNAP_OK;
}

void psnap_pst_tables_cut(struct psnap_pst_tables_reader *tables)
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

enum psnap_status psnap_pst_tables_announce(struct psnap_pst_tables_reader *tables,
                                            uint64_t position, uint64_t *next,
                                            struct psnap_error *error)
{
    for (; tables->announced < tables->waiting_count; tables->announced++) {
        const struct psnap_pst_waiting *waiting = &tables->waiting[tables->announced];

        if (waiting->position > position) {
            *next = waiting->position;
            return PSNAP_OK;
        }
        if (psnap_program_add_object(tables->program, &waiting->object) == PSNAP_NONE)
            return out_of_memory(error);
    }
    *next = UINT64_MAX;
    return PSNAP_OK;
}

enum psnap_status psnap_pst_tables_read_executions(struct psnap_pst_tables_reader *tables,
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
