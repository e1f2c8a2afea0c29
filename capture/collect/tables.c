/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads the static table of a module (capture_abi.h) into the program's
 * tables. Nothing in it is trusted: it comes out of another process's memory. Whether its rows fit
 * together is looked at first: every index is within its rows, hoisted loops and nests are what
 * their decoders (hoisted.c, nest.c) take them for.
 */
#include "capture/collect/tables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include <zstd.h>

#include "formats/base/room.h"

enum { TABLE_BYTES_MAX = 1 << 30 };

/* Pointers into the arriving table, checked to lie in it. */
struct psnap_table_view {
    const struct psnap_table_header *header;
#define ROWS(row, rows) const struct psnap_table_##row *rows;
    PSNAP_TABLE_ROWS(ROWS)
#undef ROWS
    const char *strings;
};

/* ---- whether it may be used ---- */

/* Sets the error of a table that cannot be used, and says why. */
static enum psnap_status table_corrupt(struct psnap_error *error, const char *what)
{
    return psnap_error_set(error, PSNAP_ERROR_CORRUPT, "the program sent a corrupt table: %s",
                           what);
}

static bool is_part(uint32_t first, uint32_t count, uint32_t all)
{
    return first <= all && count <= all - first;
}

/* Words of the record of a hoisted loop are from `least` on; 0: there is none. */
static bool is_word(const struct psnap_table_hoist *hoist, uint32_t least, uint32_t word)
{
    return !word || (word >= least && word < hoist->words);
}

static bool is_quotient(const struct psnap_table_hoist *hoist, uint32_t least,
                        const struct psnap_table_quotient *quotient)
{
    return quotient->bits >= 1 && quotient->bits <= 64 && quotient->divisor &&
           is_word(hoist, least, quotient->base) && is_word(hoist, least, quotient->step) &&
           is_word(hoist, least, quotient->factor);
}

/* Its quotients are the table's, those of the move its own. */
static bool are_quotients(const struct psnap_table_view *view,
                          const struct psnap_table_hoist *hoist, uint32_t least)
{
    for (uint32_t i = 0; i < hoist->quotients; i++)
        if (!is_quotient(hoist, least, &view->quotients[hoist->first_quotient + i]))
            return false;
    return true;
}

/* A move of the hoisted loop, whose quotients are some of its own. */
static bool is_move(const struct psnap_table_hoist *hoist, uint32_t least,
                    const struct psnap_table_move *move)
{
    return is_word(hoist, least, move->base) && move->step < hoist->words &&
           (move->base || (hoist->rows && !move->quotients)) &&
           (!move->quotients || is_part(move->first_quotient - hoist->first_quotient,
                                        move->quotients, hoist->quotients));
}

/* Of one hoisted loop: its pieces are plain and follow each other, and so do its moves. */
static bool is_hoist(const struct psnap_table_view *view, const struct psnap_table_hoist *hoist)
{
    const struct psnap_table_header *header = view->header;
    const uint32_t least = hoist->rows ? PSNAP_HOIST_ROWS_WORDS : PSNAP_HOIST_HEADER_WORDS;
    const uint32_t most = hoist->nest ? PSNAP_NEST_VALUES_MAX : PSNAP_RECORD_WORDS_MAX;
    uint32_t refs = 0, next_ref;

    if (!hoist->pieces || !is_part(hoist->first_piece, hoist->pieces, header->pieces) ||
        !is_part(hoist->first_quotient, hoist->quotients, header->quotients) ||
        hoist->words < least || hoist->words > most || hoist->rows > !hoist->nest ||
        hoist->nest > header->nests || hoist->guards > (hoist->rows ? PSNAP_HOIST_GUARDS_MAX : 0))
        return false;
    next_ref = view->pieces[hoist->first_piece].first_ref;
    for (uint32_t i = 0; i < hoist->pieces; i++) {
        const struct psnap_table_piece *piece = &view->pieces[hoist->first_piece + i];
        if (piece->hoist || piece->nest || piece->first_ref != next_ref ||
            piece->guard > hoist->guards)
            return false;
        for (uint32_t k = 0; k < piece->refs; k++, next_ref++)
            if (view->refs[next_ref].op != PSNAP_REF_PLAIN ||
                view->refs[next_ref].size > PSNAP_ACCESS_SIZE_MAX)
                return false;
        refs += piece->refs;
    }
    if (refs > PSNAP_HOIST_REFS_MAX || !is_part(hoist->first_move, refs, header->moves))
        return false;
    for (uint32_t i = 0; i < refs; i++)
        if (!is_move(hoist, least, &view->moves[hoist->first_move + i]))
            return false;
    return are_quotients(view, hoist, least);
}

/* The k-th value of a nest is computed from those before it. */
static bool is_value(const struct psnap_table_nest *nest, uint32_t k,
                     const struct psnap_table_value *value)
{
    if (value->op >= PSNAP_VALUE_OP_COUNT || value->bits < 1 || value->bits > 64 ||
        (value->op == PSNAP_VALUE_CONSTANT) != (k < nest->constants))
        return false;
    if (value->op == PSNAP_VALUE_CONSTANT)
        return true;
    if (value->op == PSNAP_VALUE_SEXT ? value->b < 1 || value->b > 64 : value->b >= nest->words + k)
        return false;
    return value->a < nest->words + k;
}

static bool is_range(const struct psnap_table_nest *nest, const struct psnap_table_step *step)
{
    return step->a >= nest->constants && is_part(step->a, step->b, nest->values);
}

/* Steps lead forward, so that nothing but AGAIN repeats them, and into loops of their own nest. */
static bool is_step(const struct psnap_table_view *view, uint32_t index, uint32_t k)
{
    const struct psnap_table_nest *nest = &view->nests[index];
    const struct psnap_table_step *steps = &view->steps[nest->first_step], *step = &steps[k];
    const uint32_t values = nest->words + nest->values;
    const struct psnap_table_hoist *hoist;

    if (step->level >= nest->levels)
        return false;
    switch (step->op) {
    case PSNAP_STEP_RUN:
        if (step->a >= view->header->hoists || k + 1 == nest->steps || step->b >= values)
            return false;
        hoist = &view->hoists[step->a];
        return hoist->nest == index + 1 && hoist->words <= values && step->c <= hoist->pieces;
    case PSNAP_STEP_BRANCH:
        return step->a < values && step->b > k && step->c > k && step->b < nest->steps &&
               step->c < nest->steps;
    case PSNAP_STEP_GOTO:
        return step->a > k && step->a < nest->steps;
    case PSNAP_STEP_SET:
        return step->a >= nest->words && step->a < nest->words + nest->constants &&
               step->b < values && k + 1 < nest->steps;
    case PSNAP_STEP_COMPUTE:
        return is_range(nest, step) && k + 1 < nest->steps;
    case PSNAP_STEP_ENTER:
        return is_range(nest, step) && k + 1 < nest->steps &&
               (k == 0 ? step->level == 0 && step->c == 0
                       : step->c < k && steps[step->c].op == PSNAP_STEP_ENTER &&
                             steps[step->c].level < step->level);
    case PSNAP_STEP_AGAIN:
        return step->a < k && steps[step->a].op == PSNAP_STEP_ENTER &&
               steps[step->a].level == step->level;
    default:
        return false;
    }
}

static bool is_nest(const struct psnap_table_view *view, uint32_t index)
{
    const struct psnap_table_header *header = view->header;
    const struct psnap_table_nest *nest = &view->nests[index];

    if (nest->levels < 1 || nest->levels > PSNAP_NEST_LEVELS_MAX ||
        nest->words < PSNAP_NEST_HEADER_WORDS + 2 * nest->levels ||
        nest->words > PSNAP_NEST_WORDS_MAX ||
        !is_part(nest->first_value, nest->values, header->values) ||
        nest->values > PSNAP_NEST_VALUES_MAX - nest->words || nest->constants > nest->values ||
        !is_part(nest->first_step, nest->steps, header->steps) || nest->steps < 2 ||
        nest->steps > PSNAP_NEST_STEPS_MAX || view->steps[nest->first_step].op != PSNAP_STEP_ENTER)
        return false;
    for (uint32_t i = 0; i < nest->values; i++)
        if (!is_value(nest, i, &view->values[nest->first_value + i]))
            return false;
    for (uint32_t i = 0; i < nest->steps; i++)
        if (!is_step(view, index, i))
            return false;
    return true;
}

/* A way to end a hoisted loop or a nest, or neither. */
static bool is_end(const struct psnap_table_view *view, const struct psnap_table_piece *piece)
{
    const struct psnap_table_header *header = view->header;

    if (piece->hoist > header->hoists || piece->nest > header->nests ||
        (piece->hoist && piece->nest))
        return false;
    if (piece->hoist) {
        const struct psnap_table_hoist *hoist = &view->hoists[piece->hoist - 1];
        return !hoist->nest && (piece->last == PSNAP_NONE || piece->last <= hoist->pieces);
    }
    return !piece->nest || piece->last == PSNAP_NONE ||
           piece->last < view->nests[piece->nest - 1].steps;
}

/* Cross references of the rows, before any is used as an index. */
static enum psnap_status check_table(const struct psnap_table_view *view, struct psnap_error *error)
{
    const struct psnap_table_header *header = view->header;

    for (uint32_t i = 0; i < header->blocks; i++)
        if (view->blocks[i].loop >= header->loops || view->blocks[i].same_as > header->blocks)
            return table_corrupt(error, "a block of no loop, or like no block");
    for (uint32_t i = 0; i < header->refs; i++) {
        const struct psnap_table_ref *ref = &view->refs[i];
        if (ref->block >= header->blocks || ref->op >= PSNAP_REF_OP_COUNT || ref->kind > 2 ||
            ref->lanes < 1 || ref->lanes > 64 || ref->object_kind > 2 || ref->size < 1)
            return table_corrupt(error, "a reference that cannot be");
        if (ref->op == PSNAP_REF_COPY &&
            (i + 1 == header->refs || view->refs[i + 1].op != PSNAP_REF_NONE))
            return table_corrupt(error, "half a copy");
    }
    for (uint32_t i = 0; i < header->pieces; i++) {
        const struct psnap_table_piece *piece = &view->pieces[i];
        uint32_t words = 1;
        if (!is_part(piece->first_ref, piece->refs, header->refs) ||
            piece->words > PSNAP_RECORD_WORDS_MAX || piece->guard > PSNAP_HOIST_GUARDS_MAX)
            return table_corrupt(error, "a piece without references");
        if (!is_end(view, piece))
            return table_corrupt(error, "an end of no loop, or behind it");
        if (piece->hoist)
            words = view->hoists[piece->hoist - 1].words;
        if (piece->nest)
            words = view->nests[piece->nest - 1].words;
        for (uint32_t k = piece->first_ref; k < piece->first_ref + piece->refs; k++)
            words += psnap_ref_words(view->refs[k].op, view->refs[k].lanes);
        if (words != piece->words)
            return table_corrupt(error, "a piece of a wrong length");
    }
    for (uint32_t i = 0; i < header->hoists; i++)
        if (!is_hoist(view, &view->hoists[i]))
            return table_corrupt(error, "a loop that cannot be hoisted");
    for (uint32_t i = 0; i < header->nests; i++)
        if (!is_nest(view, i))
            return table_corrupt(error, "a nest of loops that cannot be");
    return PSNAP_OK;
}

/* ---- its rows ---- */

void psnap_capture_tables_init(struct psnap_capture_tables *tables, struct psnap_program *program)
{
    *tables = (struct psnap_capture_tables){.program = program};
}

void psnap_capture_tables_release(struct psnap_capture_tables *tables)
{
    psnap_loop_names_release(&tables->names);
#define FREE(row, rows) free(tables->rows);
    PSNAP_CAPTURE_ROWS(FREE)
#undef FREE
    free(tables->modules);
    free(tables->same_as);
    free(tables->bytes);
    free(tables->globals);
    psnap_capture_tables_init(tables, NULL);
}

bool psnap_capture_tables_add_bytes(struct psnap_capture_tables *tables, const void *bytes,
                                    size_t size)
{
    if (!psnap_make_room(&tables->bytes, &tables->byte_room, tables->byte_count + size, 1))
        return false;
    if (size)
        memcpy(tables->bytes + tables->byte_count, bytes, size);
    tables->byte_count += size;
    return true;
}

bool psnap_capture_tables_add_globals(struct psnap_capture_tables *tables,
                                      const uint64_t *addresses, size_t count)
{
    if (!psnap_make_room(&tables->globals, &tables->global_room, tables->global_count + count,
                         sizeof *addresses))
        return false;
    if (count)
        memcpy(tables->globals + tables->global_count, addresses, count * sizeof *addresses);
    tables->global_count += count;
    return true;
}

static enum psnap_status take_view(const struct psnap_capture_tables *tables,
                                   const uint64_t *description, struct psnap_table_view *view,
                                   struct psnap_error *error)
{
    const unsigned char *at = tables->bytes;
    uint64_t left = tables->byte_count;

#define TAKE(member, count)                                                                        \
    do {                                                                                           \
        uint64_t bytes = (uint64_t)(count) * sizeof *view->member;                                 \
        if (bytes > left)                                                                          \
            return table_corrupt(error, #member " run past its end");                              \
        view->member = (const void *)at;                                                           \
        at += bytes;                                                                               \
        left -= bytes;                                                                             \
    } while (0)

    TAKE(header, 1);
    if (view->header->magic != PSNAP_CAPTURE_MAGIC)
        return table_corrupt(error, "no magic");
    if (view->header->abi != PSNAP_CAPTURE_ABI)
        return psnap_error_set(error, PSNAP_ERROR_VERSION,
                               "a module was compiled for capture ABI %u, this is %u",
                               view->header->abi, PSNAP_CAPTURE_ABI);
#define TAKE_ROWS(row, rows) TAKE(rows, view->header->rows);
    PSNAP_TABLE_ROWS(TAKE_ROWS)
#undef TAKE_ROWS
    TAKE(strings, view->header->string_bytes);
#undef TAKE
    if (!view->header->string_bytes || view->strings[view->header->string_bytes - 1])
        return table_corrupt(error, "strings have no end");
    if (description[2] != view->header->pieces || description[3] != view->header->sites ||
        tables->global_count != view->header->globals)
        return table_corrupt(error, "counts differ");
    return PSNAP_OK;
}

static const char *text_at(const struct psnap_table_view *view, uint32_t offset)
{
    return view->strings + (offset < view->header->string_bytes ? offset : 0);
}

static bool add_loops(struct psnap_capture_tables *tables, const struct psnap_table_view *view,
                      uint32_t first_block)
{
    struct psnap_program *program = tables->program;
    uint32_t first = program->loop_count;

    for (uint32_t i = 0; i < view->header->loops; i++) {
        const struct psnap_table_loop *row = &view->loops[i];
        struct psnap_loop loop = {
            .id = psnap_name_loop(&tables->names, program, text_at(view, row->id),
                                  text_at(view, row->file), text_at(view, view->header->source)),
            .src_id = psnap_name_source_loop(&tables->names, program, text_at(view, row->src_id),
                                             text_at(view, row->file)),
            .function = psnap_program_string(program, text_at(view, row->function)),
            .file = psnap_program_string(program, text_at(view, row->file)),
            .src_line = row->src_line,
            .depth = row->depth,
            .parent = row->parent < i ? first + row->parent : PSNAP_NONE,
            .header = row->header < view->header->blocks ? first_block + row->header : PSNAP_NONE,
            .entry = row->entry < view->header->blocks ? first_block + row->entry : PSNAP_NONE,
        };
        if (!loop.id || !loop.src_id || !loop.function || !loop.file ||
            psnap_program_add_loop(program, &loop) == PSNAP_NONE)
            return false;
    }
    return true;
}

static bool add_blocks(struct psnap_capture_tables *tables, const struct psnap_table_view *view,
                       uint32_t first_loop, uint32_t first_block)
{
    if (!psnap_resize(&tables->same_as, (size_t)first_block + view->header->blocks,
                      sizeof *tables->same_as))
        return false;
    for (uint32_t i = 0; i < view->header->blocks; i++) {
        const struct psnap_table_block *row = &view->blocks[i];
        tables->same_as[first_block + i] = first_block + (row->same_as ? row->same_as - 1 : i);
        struct psnap_block block = {.loop = first_loop + row->loop, .src_line = row->src_line};
        for (unsigned k = 0; k < PSNAP_OPERATION_COUNT; k++)
            block.operations[k] = row->operations[k];
        if (psnap_program_add_block(tables->program, &block) == PSNAP_NONE)
            return false;
    }
    return true;
}

static bool add_refs(struct psnap_capture_tables *tables, const struct psnap_table_view *view,
                     uint32_t first_block)
{
    struct psnap_program *program = tables->program;
    for (uint32_t i = 0; i < view->header->refs; i++) {
        const struct psnap_table_ref *row = &view->refs[i];
        const char *object = text_at(view, row->object);
        bool is_fixed = row->op == PSNAP_REF_PLAIN && row->size <= PSNAP_ACCESS_SIZE_MAX;
        bool is_lane = row->op == PSNAP_REF_GATHER && row->size <= PSNAP_ACCESS_SIZE_MAX;
        struct psnap_ref ref = {
            .block = first_block + row->block,
            .loop = program->blocks[first_block + row->block].loop,
            .src_line = row->src_line,
            .object = *object ? psnap_program_string(program, object) : NULL,
            .object_kind = (uint8_t)row->object_kind,
            .kind = (uint8_t)row->kind,
            .size = is_fixed || is_lane ? (uint8_t)row->size : 0,
        };
        if ((*object && !ref.object) || psnap_program_add_ref(program, &ref) == PSNAP_NONE)
            return false;
        tables->refs[tables->ref_count++] = (struct psnap_capture_ref){
            .op = (uint8_t)row->op,
            .kind = (uint8_t)row->kind,
            .size = ref.size,
            .lanes = (uint8_t)row->lanes,
            .wide_bytes = row->size,
        };
    }
    return true;
}

static void add_pieces(struct psnap_capture_tables *tables, const struct psnap_table_view *view,
                       uint32_t first_ref, uint32_t first_block)
{
    for (uint32_t i = 0; i < view->header->pieces; i++) {
        const struct psnap_table_piece *row = &view->pieces[i];
        struct psnap_capture_piece *piece = &tables->pieces[tables->piece_count++];
        uint32_t refs = 0;
        piece->first_ref = first_ref + row->first_ref;
        piece->refs = (uint16_t)row->refs;
        piece->words = (uint16_t)row->words;
        piece->block = row->block < view->header->blocks ? first_block + row->block : PSNAP_NONE;
        piece->is_plain = 1;
        piece->rest = piece->patience = 0;
        piece->guard = (uint8_t)row->guard;
        piece->row_words = piece->part_refs = 0;
        piece->hoist = row->hoist ? tables->hoist_count + row->hoist : 0;
        piece->last = row->last;
        piece->nest = row->nest ? tables->nest_count + row->nest : 0;
        for (uint32_t k = 0; k < row->refs; k++) {
            const struct psnap_capture_ref *ref = &tables->refs[piece->first_ref + k];
            if (ref->op != PSNAP_REF_PLAIN || ref->size == 0)
                piece->is_plain = 0;
            refs += ref->op == PSNAP_REF_GATHER ? ref->lanes : 1;
        }
        tables->most_refs = refs > tables->most_refs ? refs : tables->most_refs;
    }
}

static void add_hoists(struct psnap_capture_tables *tables, const struct psnap_table_view *view,
                       uint32_t first_piece)
{
    const uint32_t first_move = tables->move_count, first_quotient = tables->quotient_count;

    for (uint32_t i = 0; i < view->header->quotients; i++)
        tables->quotients[tables->quotient_count++] = view->quotients[i];
    for (uint32_t i = 0; i < view->header->moves; i++) {
        tables->moves[tables->move_count] = view->moves[i];
        tables->moves[tables->move_count++].first_quotient += first_quotient;
    }
    for (uint32_t i = 0; i < view->header->hoists; i++) {
        const struct psnap_table_hoist *row = &view->hoists[i];
        struct psnap_capture_piece *pieces = &tables->pieces[first_piece + row->first_piece];
        const struct psnap_table_move *move = &tables->moves[first_move + row->first_move];
        struct psnap_capture_hoist *hoist = &tables->hoists[tables->hoist_count++];
        *hoist = (struct psnap_capture_hoist){
            .first_piece = first_piece + row->first_piece,
            .pieces = row->pieces,
            .first_ref = pieces->first_ref,
            .first_move = first_move + row->first_move,
            .first_quotient = first_quotient + row->first_quotient,
            .quotients = row->quotients,
            .words = row->words,
            .guards = row->guards,
            .has_rows = row->rows,
        };
        for (uint32_t k = 0; k < row->pieces; k++) {
            for (uint32_t r = 0; r < pieces[k].refs; r++, move++)
                pieces[k].row_words = (uint16_t)(pieces[k].row_words + !move->base);
            if (pieces[k].guard && pieces[k].refs)
                hoist->mask_refs |= UINT64_C(1) << (pieces[k].guard - 1);
            hoist->refs += pieces[k].refs;
            hoist->row_words += pieces[k].row_words;
        }
        tables->most_refs = hoist->refs > tables->most_refs ? hoist->refs : tables->most_refs;
    }
}

/* What the partial iterations have that hoisted loops end with. */
static void measure_ends(struct psnap_capture_tables *tables, uint32_t first_piece)
{
    for (uint32_t i = first_piece; i < tables->piece_count; i++) {
        struct psnap_capture_piece *end = &tables->pieces[i];
        const struct psnap_capture_hoist *hoist =
            end->hoist ? &tables->hoists[end->hoist - 1] : NULL;
        if (!hoist || hoist->guards || end->last == PSNAP_NONE)
            continue;
        for (uint32_t k = 0; k < end->last; k++) {
            const struct psnap_capture_piece *piece = &tables->pieces[hoist->first_piece + k];
            end->row_words = (uint16_t)(end->row_words + piece->row_words);
            end->part_refs = (uint16_t)(end->part_refs + piece->refs);
        }
    }
}

static void add_nests(struct psnap_capture_tables *tables, const struct psnap_table_view *view,
                      uint32_t first_hoist)
{
    const uint32_t first_value = tables->value_count, first_step = tables->step_count;

    for (uint32_t i = 0; i < view->header->values; i++)
        tables->values[tables->value_count++] = view->values[i];
    for (uint32_t i = 0; i < view->header->steps; i++) {
        const struct psnap_table_step *row = &view->steps[i];
        tables->steps[tables->step_count++] = (struct psnap_capture_step){
            .op = (uint8_t)row->op,
            .level = (uint8_t)row->level,
            .a = row->op == PSNAP_STEP_RUN ? first_hoist + row->a : row->a,
            .b = row->b,
            .c = row->c,
        };
    }
    for (uint32_t i = 0; i < view->header->nests; i++) {
        struct psnap_capture_nest *nest = &tables->nests[tables->nest_count++];
        *nest = (struct psnap_capture_nest){.row = view->nests[i]};
        nest->row.first_value += first_value;
        nest->row.first_step += first_step;
    }
}

static bool reserve_rows(struct psnap_capture_tables *tables, const struct psnap_table_header *add)
{
#define RESERVE(row, rows)                                                                         \
    psnap_resize(&tables->rows, (size_t)tables->row##_count + add->rows, sizeof *tables->rows) &&
    return PSNAP_CAPTURE_ROWS(RESERVE)
        psnap_resize(&tables->modules, (size_t)tables->module_count + 1, sizeof *tables->modules);
#undef RESERVE
}

static bool set_provenance(struct psnap_program *program, const struct psnap_table_view *view)
{
    struct psnap_provenance *provenance = &program->provenance;

    if (provenance->compiler && *provenance->compiler)
        return true; /* the first module speaks for the program */
    provenance->compiler = psnap_program_string(program, text_at(view, view->header->compiler));
    provenance->source_language =
        psnap_program_string(program, text_at(view, view->header->language));
    provenance->stage = psnap_program_string(program, text_at(view, view->header->stage));
    return provenance->compiler && provenance->source_language && provenance->stage;
}

/* The same table again (a library that is loaded once more): its rows are there. */
static bool find_rows(const struct psnap_capture_tables *tables,
                      struct psnap_capture_module *module)
{
    for (uint32_t i = tables->module_count; i-- > 0;) {
        const struct psnap_capture_module *old = &tables->modules[i];
        if (old->table_hash != module->table_hash || old->table_bytes != module->table_bytes ||
            old->piece_count != module->piece_count || old->site_count != module->site_count)
            continue;
        module->first_piece = old->first_piece;
        module->first_site = old->first_site;
        return true;
    }
    return false;
}

static bool add_globals(struct psnap_capture_tables *tables, const struct psnap_table_view *view)
{
    struct psnap_program *program = tables->program;

    for (uint32_t i = 0; i < view->header->globals; i++) {
        struct psnap_object object = {
            .address = tables->globals[i],
            .size_bytes = view->globals[i].size_bytes,
            .name = psnap_program_string(program, text_at(view, view->globals[i].name)),
            .kind = PSNAP_OBJECT_GLOBAL,
        };
        if (!object.name || psnap_program_add_object(program, &object) == PSNAP_NONE)
            return false;
    }
    return true;
}

/* The rows of a table that is new. */
static bool add_rows(struct psnap_capture_tables *tables, const struct psnap_table_view *view)
{
    struct psnap_program *program = tables->program;
    uint32_t first_loop = program->loop_count, first_block = program->block_count;
    uint32_t first_ref = program->ref_count, first_piece = tables->piece_count;
    uint32_t first_hoist = tables->hoist_count;

    if (!add_loops(tables, view, first_block) ||
        !add_blocks(tables, view, first_loop, first_block) || !add_refs(tables, view, first_block))
        return false;
    add_pieces(tables, view, first_ref, first_block);
    add_hoists(tables, view, first_piece);
    measure_ends(tables, first_piece);
    add_nests(tables, view, first_hoist);
    for (uint32_t i = 0; i < view->header->sites; i++) {
        const char *name = psnap_program_string(program, text_at(view, view->sites[i].name));
        if (!name)
            return false;
        tables->sites[tables->site_count++] = name;
    }
    return true;
}

void psnap_capture_tables_count(const struct psnap_capture_tables *tables)
{
    struct psnap_program *program = tables->program;

    for (uint32_t i = 0; tables->same_as && i < program->block_count; i++)
        program->blocks[i].executions = program->blocks[tables->same_as[i]].executions;
}

/* Replaces a compressed table (capture_table.h) by what it holds. */
static enum psnap_status decompress(struct psnap_capture_tables *tables, struct psnap_error *error)
{
    const unsigned long long size = ZSTD_getFrameContentSize(tables->bytes, tables->byte_count);
    unsigned char *bytes;

    if (size == ZSTD_CONTENTSIZE_ERROR) /* it is not compressed */
        return PSNAP_OK;
    if (size > TABLE_BYTES_MAX)
        return table_corrupt(error, "it is too long");
    bytes = malloc(size ? size : 1);
    if (!bytes)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for a module's table");
    if (ZSTD_decompress(bytes, size, tables->bytes, tables->byte_count) != size) {
        free(bytes);
        return table_corrupt(error, "it cannot be decompressed");
    }
    free(tables->bytes);
    tables->bytes = bytes;
    tables->byte_count = tables->byte_room = size;
    return PSNAP_OK;
}

enum psnap_status psnap_capture_tables_finish(struct psnap_capture_tables *tables,
                                              const uint64_t *description,
                                              struct psnap_error *error)
{
    struct psnap_table_view view = {0};
    struct psnap_capture_module module = {
        .pieces = description[0],
        .piece_count = description[2],
        .sites = description[1],
        .site_count = description[3],
        .first_piece = tables->piece_count,
        .first_site = tables->site_count,
        .table_bytes = tables->byte_count,
        .table_hash = XXH3_64bits(tables->bytes, tables->byte_count),
    };
    enum psnap_status status = decompress(tables, error);
    bool is_old;

    if (!status)
        status = take_view(tables, description, &view, error);
    if (!status)
        status = check_table(&view, error);
    if (status)
        return status;
    is_old = find_rows(tables, &module);
    if (!reserve_rows(tables, view.header) || !set_provenance(tables->program, &view) ||
        (!is_old && !add_rows(tables, &view)) || !add_globals(tables, &view))
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for a module's table");
    tables->modules[tables->module_count++] = module;
    tables->byte_count = tables->global_count = 0;
    return PSNAP_OK;
}

const struct psnap_capture_module *
psnap_capture_tables_find(const struct psnap_capture_tables *tables, uint64_t address)
{
    for (uint32_t i = tables->module_count; i-- > 0;) {
        const struct psnap_capture_module *module = &tables->modules[i];
        if (address - module->pieces < module->piece_count ||
            address - module->sites < module->site_count)
            return module;
    }
    return NULL;
}

const char *psnap_capture_tables_site(const struct psnap_capture_tables *tables, uint64_t address)
{
    const struct psnap_capture_module *module = psnap_capture_tables_find(tables, address);
    uint64_t site = module ? address - module->sites : UINT64_MAX;
    return module && site < module->site_count ? tables->sites[module->first_site + site] : "";
}
