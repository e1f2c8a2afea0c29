/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Instructions, functions, loops and references, found by address, and the calls of threads.
 *
 * From the order in which a thread executes instructions follow calls, returns
 * and jumps, and from these the flow graph.
 *
 *   call     an instruction that stored a word and was not followed by the one
 *            behind it: that word is its return address (x86)
 *   return   one that loaded the word that a call had stored, and went behind it
 *   jump     anything else; to another function it is a tail call, or a signal:
 *            the loops of the function that was left are left; in the middle of a
 *            function that has called it is a longjmp, or an exception
 *
 * An instruction is of the function that its symbol says; without one, of the
 * function it was reached from unless it was called. "f.cold", where gcc puts
 * the unlikely parts of f, is f when it is reached from there by a jump.
 *
 * A reference is an instruction in a loop: when loops are found around code
 * that has run before, it gets new references from then on, and old ones keep
 * the loop they were in.
 *
 * Rows of loops are made when the first access of theirs is delivered; their depth and parent are
 * corrected when a loop around them is found later (what a trace says of them is from the time they
 * were written).
 *
 * Memory is bounded by NODES_MAX and REFS_MAX; code beyond it (a program that
 * keeps making new code) is one function without loops.
 */
#include "capture/valgrind/guest_code.h"

#include <stdlib.h>
#include <string.h>

#include "formats/base/access.h"
#include "formats/base/room.h"

#define NODES_MAX (1u << 20)
#define REFS_MAX (1u << 21)
#define NONE PSNAP_FLOW_NONE

enum {
    FRAMES = PSNAP_GUEST_FRAMES,
    SEARCH = 256 /* frames that a return may leave at once */
};

enum psnap_status psnap_guest_no_memory(struct psnap_error *error)
{
    return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for the program's code");
}

static uint32_t map_find(const struct psnap_map *map, uint64_t key)
{
    return (uint32_t)psnap_map_get(map, key) - 1; /* NONE: there is none */
}

/* False when out of memory. */
static bool map_add(struct psnap_map *map, uint64_t key, uint32_t value)
{
    uint64_t *place = psnap_map_put(map, key);

    if (place)
        *place = (uint64_t)value + 1;
    return place;
}

void psnap_guest_code_init(struct psnap_guest_code *code, struct psnap_program *program)
{
    *code = (struct psnap_guest_code){.program = program, .rest = NONE};
}

void psnap_guest_code_release(struct psnap_guest_code *code)
{
    psnap_guest_space_release(&code->space);
    psnap_flow_release(&code->flow);
    psnap_guest_names_release(&code->names);
    free(code->by_pc.slots);
    free(code->by_low.slots);
    free(code->nodes);
    free(code->functions);
    free(code->rows);
    free(code->refs);
}

enum psnap_status psnap_guest_code_start(struct psnap_guest_code *code, pid_t program,
                                         struct psnap_error *error)
{
    enum psnap_status status = psnap_guest_space_start(&code->space, program, error);
    const struct psnap_range *first = code->space.areas.items;

    if (!status && code->space.areas.count && first->image &&
        !psnap_symbols_add_variables(first->image, first->delta, code->program))
        status = psnap_guest_no_memory(error);
    return status;
}

/* Functions. */

static enum psnap_status add_function(struct psnap_guest_code *code,
                                      const struct psnap_guest_function *function, uint32_t *index,
                                      struct psnap_error *error)
{
    struct psnap_provenance *provenance = &code->program->provenance;
    const char *language, *compiler;

    *index = psnap_flow_add_function(&code->flow);
    if (*index == NONE || !psnap_make_room(&code->functions, &code->function_room,
                                           *index + (size_t)1, sizeof *code->functions))
        return psnap_guest_no_memory(error);
    code->functions[*index] = *function;
    if (function->symbol && code->space.areas.count &&
        function->image == code->space.areas.items[0].image &&
        (!strcmp(function->symbol, "main") || !strcmp(function->symbol, "MAIN__"))) {
        psnap_symbols_origin(function->image, function->low, &language, &compiler);
        provenance->source_language = language; /* static */
        provenance->compiler = psnap_program_string(code->program, compiler);
        if (!provenance->compiler)
            return psnap_guest_no_memory(error);
    }
    return PSNAP_OK;
}

/* "f.cold" or "f.cold.3" of "f". */
static bool is_cold_part(const char *symbol, const struct psnap_guest_function *of)
{
    size_t length = of->symbol ? strlen(of->symbol) : 0;

    return length && !strncmp(symbol, of->symbol, length) && !strncmp(symbol + length, ".cold", 5);
}

/* The function that an instruction seen for the first time is in. */
static enum psnap_status find_function(struct psnap_guest_code *code, uint64_t pc, uint32_t near,
                                       uint32_t *index, struct psnap_error *error)
{
    uint32_t near_index = near == NONE ? near : code->flow.nodes[near].function;
    const struct psnap_guest_function *from = near == NONE ? NULL : &code->functions[near_index];
    struct psnap_guest_function wanted = {.low = pc, .first_row = PSNAP_NONE};
    bool is_near = from && from->high && pc >= from->low && pc < from->high;
    struct psnap_range range;
    enum psnap_status status;

    if (!is_near) {
        status = psnap_guest_space_find(&code->space, pc, true, &range, error);
        if (status)
            return status;
        wanted.image = range.image;
        if (range.image)
            wanted.symbol = psnap_symbols_function(range.image, pc, &wanted.low, &wanted.high);
        is_near =
            from && from->image == range.image &&
            (wanted.symbol ? is_cold_part(wanted.symbol, from) : !from->high && near != code->rest);
    }
    if (is_near) {
        *index = near_index;
        return PSNAP_OK;
    }
    *index = map_find(&code->by_low, wanted.low);
    if (*index != NONE)
        return PSNAP_OK;
    status = add_function(code, &wanted, index, error);
    if (!status && !map_add(&code->by_low, wanted.low, *index))
        status = psnap_guest_no_memory(error);
    return status;
}

/* Instructions. */

static enum psnap_status add_node(struct psnap_guest_code *code, uint32_t function, uint64_t pc,
                                  uint8_t size, uint32_t *node, struct psnap_error *error)
{
    *node = psnap_flow_add_node(&code->flow, function);
    if (*node == NONE ||
        !psnap_make_room(&code->nodes, &code->node_room, *node + (size_t)1, sizeof *code->nodes))
        return psnap_guest_no_memory(error);
    code->nodes[*node] = (struct psnap_guest_node){
        .pc = pc,
        .fall = NONE,
        .jump = NONE,
        .row = PSNAP_NONE,
        .first_ref = PSNAP_NONE,
        .size = size,
    };
    return PSNAP_OK;
}

/* The node for everything that there is no room for. */
static enum psnap_status find_rest(struct psnap_guest_code *code, uint32_t *node,
                                   struct psnap_error *error)
{
    const struct psnap_guest_function rest = {
        .low = UINT64_MAX, .symbol = "(more code)", .first_row = PSNAP_NONE};
    enum psnap_status status = PSNAP_OK;
    uint32_t function;

    if (code->rest == NONE) {
        status = add_function(code, &rest, &function, error);
        if (!status)
            status = add_node(code, function, UINT64_MAX, 0, &code->rest, error);
    }
    *node = code->rest;
    return status;
}

/* The node of the instruction at `pc`. `near` is the one that was executed before it in the same
 * function for all that is known, or none when `pc` has been called. */
static enum psnap_status find_node(struct psnap_guest_code *code, uint64_t pc, uint8_t size,
                                   uint32_t near, uint32_t *node, struct psnap_error *error)
{
    enum psnap_status status;
    uint32_t function;

    *node = map_find(&code->by_pc, pc);
    if (*node != NONE)
        return PSNAP_OK;
    if (code->flow.node_count >= NODES_MAX)
        return find_rest(code, node, error);
    status = find_function(code, pc, near, &function, error);
    if (!status)
        status = add_node(code, function, pc, size, node, error);
    if (!status && !map_add(&code->by_pc, pc, *node))
        status = psnap_guest_no_memory(error);
    return status;
}

/* Loops. */

/* A row for the loop with this header, or for the function itself, and its two blocks. */
static enum psnap_status add_row(struct psnap_guest_code *code, uint32_t index, uint32_t header,
                                 struct psnap_loop *loop, uint32_t *row, struct psnap_error *error)
{
    struct psnap_program *program = code->program;
    struct psnap_block block = {.loop = program->loop_count, .src_line = loop->src_line};

    loop->header = loop->entry = program->block_count;
    if (header != NONE)
        loop->entry++;
    *row = psnap_program_add_loop(program, loop);
    if (*row == PSNAP_NONE ||
        !psnap_make_room(&code->rows, &code->row_room, *row + (size_t)1, sizeof *code->rows) ||
        psnap_program_add_block(program, &block) == PSNAP_NONE ||
        (header != NONE && psnap_program_add_block(program, &block) == PSNAP_NONE))
        return psnap_guest_no_memory(error);
    code->rows[*row] = (struct psnap_guest_row){header, code->functions[index].first_row};
    code->functions[index].first_row = *row;
    return PSNAP_OK;
}

static uint32_t find_row(const struct psnap_guest_code *code, uint32_t index, uint32_t header)
{
    uint32_t row = code->functions[index].first_row;

    while (row != PSNAP_NONE && code->rows[row].header != header)
        row = code->rows[row].next;
    return row;
}

static uint32_t depth_of(const struct psnap_flow *flow, uint32_t header)
{
    uint32_t depth = 0;

    for (; header != NONE; header = flow->nodes[header].inner)
        depth++;
    return depth;
}

/* The row of the loop with this header, or of the function itself; those around it are made first.
 */
static enum psnap_status row_of(struct psnap_guest_code *code, uint32_t index, uint32_t header,
                                uint32_t *row, struct psnap_error *error)
{
    struct psnap_loop loop = {.parent = PSNAP_NONE, .depth = depth_of(&code->flow, header)};

    *row = find_row(code, index, header);
    if (*row != PSNAP_NONE)
        return PSNAP_OK;
    if (header != NONE && row_of(code, index, code->flow.nodes[header].inner, &loop.parent, error))
        return error->code;
    if (!psnap_guest_name(code, index, header, &loop))
        return psnap_guest_no_memory(error);
    return add_row(code, index, header, &loop, row, error);
}

/* Depth and parent of a function's loops, after they have been found again. */
static enum psnap_status correct_rows(struct psnap_guest_code *code, uint32_t index,
                                      struct psnap_error *error)
{
    const struct psnap_flow_node *nodes = code->flow.nodes;
    enum psnap_status status = PSNAP_OK;

    code->functions[index].generation++;
    for (uint32_t row = code->functions[index].first_row; row != PSNAP_NONE && !status;
         row = code->rows[row].next) {
        uint32_t header = code->rows[row].header, parent;
        if (header == NONE || !nodes[header].is_header)
            continue;
        status = row_of(code, index, nodes[header].inner, &parent, error);
        if (status)
            break;
        code->program->loops[row].parent = parent;
        code->program->loops[row].depth = depth_of(&code->flow, header);
    }
    return status;
}

enum psnap_status psnap_guest_code_update(struct psnap_guest_code *code, struct psnap_error *error)
{
    enum psnap_status status = PSNAP_OK;
    uint32_t function;

    do {
        if (!psnap_flow_update(&code->flow, &function))
            return psnap_guest_no_memory(error);
        if (function != NONE)
            status = correct_rows(code, function, error);
    } while (!status && function != NONE);
    return status;
}

enum psnap_status psnap_guest_code_row(struct psnap_guest_code *code, uint32_t node, uint32_t *row,
                                       struct psnap_error *error)
{
    uint32_t index = code->flow.nodes[node].function;
    enum psnap_status status;

    *row = code->nodes[node].row;
    if (*row != PSNAP_NONE && code->nodes[node].generation == code->functions[index].generation)
        return PSNAP_OK;
    status = row_of(code, index, psnap_flow_loop(&code->flow, node), row, error);
    code->nodes[node].row = *row;
    code->nodes[node].generation = code->functions[index].generation;
    return status;
}

/* References. */

static enum psnap_status add_ref(struct psnap_guest_code *code, uint32_t node, uint32_t row,
                                 uint8_t kind, uint16_t size, uint32_t *index,
                                 struct psnap_error *error)
{
    struct psnap_program *program = code->program;
    const struct psnap_loop *loop = &program->loops[row];
    const struct psnap_image *image = code->functions[code->flow.nodes[node].function].image;
    struct psnap_ref ref = {
        .block = loop->header,
        .loop = row,
        .kind = kind,
        .size = size <= PSNAP_ACCESS_SIZE_MAX ? (uint8_t)size : 0,
    };

    if (image) {
        struct psnap_place_in_source place;
        psnap_symbols_place(image, code->nodes[node].pc, false, &place);
        ref.src_line = strcmp(place.file, loop->file) ? 0 : place.line;
    }
    *index = psnap_program_add_ref(program, &ref);
    if (*index == PSNAP_NONE ||
        !psnap_make_room(&code->refs, &code->ref_room, *index + (size_t)1, sizeof *code->refs))
        return psnap_guest_no_memory(error);
    code->refs[*index] = (struct psnap_guest_ref){
        .row = row, .next = code->nodes[node].first_ref, .size = size, .kind = kind};
    code->nodes[node].first_ref = *index;
    return PSNAP_OK;
}

enum psnap_status psnap_guest_code_ref(struct psnap_guest_code *code, uint32_t node, uint32_t row,
                                       uint8_t kind, uint16_t size, uint32_t *index,
                                       struct psnap_error *error)
{
    enum psnap_status status;

    for (uint32_t r = code->nodes[node].first_ref; r != PSNAP_NONE; r = code->refs[r].next)
        if (code->refs[r].row == row && code->refs[r].kind == kind && code->refs[r].size == size) {
            *index = r;
            return PSNAP_OK;
        }
    if (code->program->ref_count >= REFS_MAX && node != code->rest) {
        status = find_rest(code, &node, error);
        if (!status)
            status = psnap_guest_code_row(code, node, &row, error);
        return status ? status : psnap_guest_code_ref(code, node, row, kind, size, index, error);
    }
    return add_ref(code, node, row, kind, size, index, error);
}

enum psnap_status psnap_guest_code_place(struct psnap_guest_code *code, uint32_t index,
                                         uint64_t address, uint64_t *canonical,
                                         struct psnap_error *error)
{
    struct psnap_guest_ref *ref = &code->refs[index];
    struct psnap_range range;
    enum psnap_status status;

    if (address - ref->low >= ref->span || ref->generation != code->space.generation) {
        status = psnap_guest_space_find(&code->space, address, false, &range, error);
        if (status)
            return status;
        ref->low = range.low;
        ref->span = range.high - range.low;
        ref->delta = range.delta;
        ref->generation = code->space.generation;
    }
    *canonical = address + ref->delta;
    return PSNAP_OK;
}

/* Calls. */

void psnap_guest_calls_restart(struct psnap_guest_calls *calls)
{
    calls->node = NONE;
    calls->depth = calls->known = 0;
    calls->has_stored = calls->has_loaded = false;
}

/* Of the topmost `count` frames nothing runs any more. */
static void leave(struct psnap_guest_calls *calls, uint64_t count)
{
    calls->depth -= count;
    calls->known -= count;
}

static void push_frame(struct psnap_guest_calls *calls, uint64_t slot, uint64_t back,
                       uint32_t caller)
{
    /* what lies below the stack pointer is dead: left by a longjmp, or an exception */
    while (calls->known && calls->frames[calls->depth % FRAMES].slot <= slot)
        leave(calls, 1);
    calls->depth++;
    calls->known += calls->known < FRAMES - 1;
    calls->frames[calls->depth % FRAMES] = (struct psnap_guest_frame){slot, back, caller};
}

/* Whether a load from `slot` and going on at `pc` is a return; then *caller is what called. */
static bool pop_frame(struct psnap_guest_calls *calls, uint64_t slot, uint64_t pc, uint32_t *caller)
{
    for (uint64_t n = 0; n < calls->known && n < SEARCH; n++) {
        const struct psnap_guest_frame *frame = &calls->frames[(calls->depth - n) % FRAMES];
        if (frame->slot != slot)
            continue;
        if (frame->back != pc)
            return false;
        *caller = frame->caller;
        calls->returned = slot;
        leave(calls, n + 1);
        return true;
    }
    return false;
}

/* Whether a load from `slot` was the return to a call that has been forgotten, which lies above all
 * that have returned. */
static bool pop_forgotten(struct psnap_guest_calls *calls, uint64_t slot)
{
    if (calls->known || !calls->depth || slot <= calls->returned)
        return false;
    calls->returned = slot;
    calls->depth--;
    return true;
}

/* Whether going on at `to`, in the middle of another function, is a longjmp (or a landing pad) in
 * one that has called and not been returned to. */
static bool unwind(struct psnap_guest_calls *calls, const struct psnap_guest_code *code,
                   uint32_t to)
{
    const uint32_t function = code->flow.nodes[to].function;

    if (code->functions[function].low == code->nodes[to].pc)
        return false; /* a tail call */
    for (uint64_t n = 0; n < calls->known && n < SEARCH; n++) {
        const struct psnap_guest_frame *frame = &calls->frames[(calls->depth - n) % FRAMES];
        if (code->flow.nodes[frame->caller].function != function)
            continue;
        leave(calls, n + 1);
        return true;
    }
    return false;
}

/* Goes from one instruction to another of the same function, if it is that. */
static enum psnap_status follow(struct psnap_guest_code *code, uint32_t from, uint32_t to,
                                bool is_known, enum psnap_guest_step *step,
                                struct psnap_error *error)
{
    const struct psnap_flow_node *nodes = code->flow.nodes;

    if (nodes[from].function != nodes[to].function) {
        *step = PSNAP_STEP_LEAP;
        return PSNAP_OK;
    }
    *step = PSNAP_STEP;
    if (!is_known && from != code->rest && !psnap_flow_add_edge(&code->flow, from, to))
        return psnap_guest_no_memory(error);
    return PSNAP_OK;
}

/* To the instruction behind `from`. */
static enum psnap_status fall(struct psnap_guest_code *code, uint32_t from, uint64_t pc,
                              uint8_t size, uint32_t *to, enum psnap_guest_step *step,
                              struct psnap_error *error)
{
    bool is_known = code->nodes[from].fall != NONE;
    enum psnap_status status = PSNAP_OK;

    *to = code->nodes[from].fall;
    if (!is_known)
        status = find_node(code, pc, size, from, to, error);
    if (status)
        return status;
    code->nodes[from].fall = *to;
    return follow(code, from, *to, is_known, step, error);
}

/* To an instruction that is not behind `from`. */
static enum psnap_status jump(struct psnap_guest_calls *calls, struct psnap_guest_code *code,
                              uint32_t from, uint64_t pc, uint8_t size, uint32_t *to,
                              enum psnap_guest_step *step, struct psnap_error *error)
{
    struct psnap_guest_node *node = &code->nodes[from];
    bool is_call = calls->has_stored && node->pc != pc, /* not the repetition of a string store */
        is_known = node->jump != NONE && code->nodes[node->jump].pc == pc;
    enum psnap_status status = PSNAP_OK;
    uint32_t caller;

    if (!is_call && calls->has_loaded && pop_frame(calls, calls->loaded, pc, &caller)) {
        status = fall(code, caller, pc, size, to, step, error);
        *step = PSNAP_STEP_RETURN;
        return status;
    }
    *to = node->jump;
    if (!is_known)
        status = find_node(code, pc, size, is_call ? NONE : from, to, error);
    if (status)
        return status;
    node = &code->nodes[from];
    node->jump = *to;
    if (!is_call && calls->has_loaded && pop_forgotten(calls, calls->loaded)) {
        *step = PSNAP_STEP_RESUME;
        return PSNAP_OK;
    }
    if (!is_call) {
        status = follow(code, from, *to, is_known, step, error);
        if (*step == PSNAP_STEP_LEAP && unwind(calls, code, *to))
            *step = PSNAP_STEP_RETURN;
        return status;
    }
    push_frame(calls, calls->stored, node->pc + node->size, from);
    *step = PSNAP_STEP_CALL;
    return PSNAP_OK;
}

enum psnap_status psnap_guest_calls_step(struct psnap_guest_calls *calls,
                                         struct psnap_guest_code *code, uint64_t pc, uint8_t size,
                                         enum psnap_guest_step *step, struct psnap_error *error)
{
    const uint32_t from = calls->node;
    enum psnap_status status;
    uint32_t to;

    *step = PSNAP_STEP_LEAP;
    if (from == NONE)
        status = find_node(code, pc, size, NONE, &to, error);
    else if (pc == code->nodes[from].pc + code->nodes[from].size)
        status = fall(code, from, pc, size, &to, step, error);
    else
        status = jump(calls, code, from, pc, size, &to, step, error);
    if (status)
        return status;
    calls->node = to;
    calls->has_stored = calls->has_loaded = false;
    return PSNAP_OK;
}
