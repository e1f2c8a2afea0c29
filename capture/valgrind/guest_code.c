/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Instructions, functions and references, found by address.
 *
 * An instruction is of the function that its symbol says; without one, of the
 * function it was reached from unless it was called. "f.cold", where gcc puts
 * the unlikely parts of f, is f when it is reached from there by a jump.
 *
 * A reference is an instruction in a loop: when loops are found around code
 * that has run before, it gets new references from then on, and old ones keep
 * the loop they were in.
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
#define OBJECTS_MAX (1u << 16)

enum psnap_status psnap_guest_no_memory(struct psnap_error *error)
{
    return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for the program's code");
}

static uint32_t map_find(const struct psnap_map *map, uint64_t key)
{
    return (uint32_t)psnap_map_get(map, key) - 1; /* PSNAP_FLOW_NONE: there is none */
}

/* False when out of memory. */
static bool map_add(struct psnap_map *map, uint64_t key, uint32_t value)
{
    uint64_t *place = psnap_map_put(map, key);

    if (place)
        *place = (uint64_t)value + 1;
    return place;
}

enum psnap_status psnap_guest_code_init(struct psnap_guest_code *code,
                                        struct psnap_program *program, struct psnap_error *error)
{
    *code = (struct psnap_guest_code){.program = program, .rest = PSNAP_FLOW_NONE};
    psnap_flow_init(&code->flow);
    code->symbols = psnap_symbols_new(error);
    psnap_guest_space_init(&code->space, code->symbols);
    return code->symbols ? PSNAP_OK : error->code;
}

void psnap_guest_code_release(struct psnap_guest_code *code)
{
    psnap_guest_space_release(&code->space);
    psnap_flow_release(&code->flow);
    psnap_symbols_free(code->symbols);
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
    struct psnap_range *first = code->space.areas.items;
    struct psnap_symbol variable;

    if (status || !code->space.areas.count || !first->image)
        return status;
    for (size_t n = 0; n < OBJECTS_MAX && psnap_symbols_variable(first->image, n, &variable); n++) {
        struct psnap_object object = {
            .address = variable.low + first->delta,
            .size_bytes = variable.high - variable.low,
            .name = psnap_program_string(code->program, variable.name),
            .kind = PSNAP_OBJECT_GLOBAL,
        };
        if (!object.name || psnap_program_add_object(code->program, &object) == PSNAP_NONE)
            return psnap_guest_no_memory(error);
    }
    return PSNAP_OK;
}

/* Functions. */

static enum psnap_status add_function(struct psnap_guest_code *code,
                                      const struct psnap_guest_function *function, uint32_t *index,
                                      struct psnap_error *error)
{
    struct psnap_provenance *provenance = &code->program->provenance;
    const char *language, *compiler;

    *index = psnap_flow_add_function(&code->flow);
    if (*index == PSNAP_FLOW_NONE || !psnap_make_room(&code->functions, &code->function_room,
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
    uint32_t near_index = near == PSNAP_FLOW_NONE ? near : code->flow.nodes[near].function;
    const struct psnap_guest_function *from =
        near == PSNAP_FLOW_NONE ? NULL : &code->functions[near_index];
    struct psnap_guest_function wanted = {.low = pc, .first_row = PSNAP_NONE};
    struct psnap_range range;
    struct psnap_symbol symbol;
    enum psnap_status status;

    if (from && from->high && pc >= from->low && pc < from->high) {
        *index = near_index;
        return PSNAP_OK;
    }
    status = psnap_guest_space_find(&code->space, pc, true, &range, error);
    if (status)
        return status;
    wanted.image = range.image;
    if (range.image && psnap_symbols_function(range.image, pc, &symbol)) {
        wanted.low = symbol.low;
        wanted.high = symbol.high;
        wanted.symbol = symbol.name;
    } else if (from && !from->high && from->image == range.image && near != code->rest) {
        *index = near_index;
        return PSNAP_OK;
    }
    if (from && wanted.symbol && from->image == wanted.image && is_cold_part(wanted.symbol, from)) {
        *index = near_index;
        return PSNAP_OK;
    }
    *index = map_find(&code->by_low, wanted.low);
    if (*index != PSNAP_FLOW_NONE)
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
    if (*node == PSNAP_FLOW_NONE ||
        !psnap_make_room(&code->nodes, &code->node_room, *node + (size_t)1, sizeof *code->nodes))
        return psnap_guest_no_memory(error);
    code->nodes[*node] = (struct psnap_guest_node){
        .pc = pc,
        .fall = PSNAP_FLOW_NONE,
        .jump = PSNAP_FLOW_NONE,
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

    if (code->rest == PSNAP_FLOW_NONE) {
        status = add_function(code, &rest, &function, error);
        if (!status)
            status = add_node(code, function, UINT64_MAX, 0, &code->rest, error);
    }
    *node = code->rest;
    return status;
}

enum psnap_status psnap_guest_code_node(struct psnap_guest_code *code, uint64_t pc, uint8_t size,
                                        uint32_t near, uint32_t *node, struct psnap_error *error)
{
    enum psnap_status status;
    uint32_t function;

    *node = map_find(&code->by_pc, pc);
    if (*node != PSNAP_FLOW_NONE)
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
