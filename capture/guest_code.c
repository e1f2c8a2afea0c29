/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Instructions, functions, loops and references, found by address.
 *
 * An instruction is of the function that its symbol says; without one, of the
 * function it was reached from unless it was called. "f.cold", where gcc puts
 * the unlikely parts of f, is f when it is reached from there by a jump.
 *
 * A reference is an instruction in a loop: when loops are found around code
 * that has run before, it gets new references from then on, and old ones keep
 * the loop they were in. Rows of loops are made when the first access of theirs
 * is delivered; their depth and parent are corrected when a loop around them is
 * found later (what a trace says of them is from the time they were written).
 *
 * A loop is called after the function and line in which the source has it,
 * wherever it was inlined to, as those that the compiler pass finds. Its line is
 * the least of those of its header and of its jumps back: the `for` or `while`,
 * or the `do`. What has a function inlined into its body keeps its own.
 *
 * Memory is bounded by NODES_MAX and REFS_MAX; code beyond it (a program that
 * keeps making new code) is one function without loops.
 */
#include "capture/guest_code.h"

#include <inttypes.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/access.h"

#define NODES_MAX (1u << 20)
#define REFS_MAX (1u << 21)
#define OBJECTS_MAX (1u << 16)
#define TITLE_BYTES 512

static enum psnap_status no_memory(struct psnap_error *error)
{
    return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for the program's code");
}

static size_t slot_of(const struct psnap_guest_map_entry *entries, size_t room, uint64_t key)
{
    size_t slot = (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (room - 1);

    while (entries[slot].value != PSNAP_FLOW_NONE && entries[slot].key != key)
        slot = (slot + 1) & (room - 1);
    return slot;
}

static uint32_t map_find(const struct psnap_guest_map *map, uint64_t key)
{
    return map->room ? map->entries[slot_of(map->entries, map->room, key)].value : PSNAP_FLOW_NONE;
}

/* The key is new. False when out of memory. */
static bool map_add(struct psnap_guest_map *map, uint64_t key, uint32_t value)
{
    if (2 * map->count >= map->room) {
        size_t room = map->room ? 2 * map->room : 1024;
        struct psnap_guest_map_entry *entries = malloc(room * sizeof *entries);
        if (!entries)
            return false;
        for (size_t i = 0; i < room; i++)
            entries[i].value = PSNAP_FLOW_NONE;
        for (size_t i = 0; i < map->room; i++)
            if (map->entries[i].value != PSNAP_FLOW_NONE)
                entries[slot_of(entries, room, map->entries[i].key)] = map->entries[i];
        free(map->entries);
        map->entries = entries;
        map->room = room;
    }
    map->entries[slot_of(map->entries, map->room, key)] =
        (struct psnap_guest_map_entry){key, value};
    map->count++;
    return true;
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

static void no_free(void *name)
{
    (void)name; /* the program's */
}

void psnap_guest_code_release(struct psnap_guest_code *code)
{
    psnap_guest_space_release(&code->space);
    psnap_flow_release(&code->flow);
    psnap_symbols_free(code->symbols);
    tdestroy(code->names, no_free);
    tdestroy(code->sources, free);
    free(code->by_pc.entries);
    free(code->by_low.entries);
    free(code->nodes);
    free(code->functions);
    free(code->rows);
    free(code->refs);
}

/* The array with room for one more than `count` items, or NULL. */
static void *with_room(void *array, size_t *room, size_t count, size_t size)
{
    size_t larger = *room ? 2 * *room : 256;
    void *grown;

    if (count < *room)
        return array;
    grown = realloc(array, larger * size);
    if (grown)
        *room = larger;
    return grown;
}

enum psnap_status psnap_guest_code_start(struct psnap_guest_code *code, pid_t program,
                                         struct psnap_error *error)
{
    enum psnap_status status = psnap_guest_space_start(&code->space, program, error);
    struct psnap_guest_range *first = code->space.areas.items;
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
            return no_memory(error);
    }
    return PSNAP_OK;
}

/* Functions. */

static enum psnap_status add_function(struct psnap_guest_code *code,
                                      const struct psnap_guest_function *function, uint32_t *index,
                                      struct psnap_error *error)
{
    struct psnap_guest_function *functions = with_room(
        code->functions, &code->function_room, code->flow.function_count, sizeof *functions);
    struct psnap_provenance *provenance = &code->program->provenance;
    const char *language, *compiler;

    if (!functions)
        return no_memory(error);
    code->functions = functions;
    *index = psnap_flow_add_function(&code->flow);
    if (*index == PSNAP_FLOW_NONE)
        return no_memory(error);
    functions[*index] = *function;
    if (function->symbol && code->space.areas.count &&
        function->image == code->space.areas.items[0].image &&
        (!strcmp(function->symbol, "main") || !strcmp(function->symbol, "MAIN__"))) {
        psnap_symbols_origin(function->image, function->low, &language, &compiler);
        provenance->source_language = language; /* static */
        provenance->compiler = psnap_program_string(code->program, compiler);
        if (!provenance->compiler)
            return no_memory(error);
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
    struct psnap_guest_range range;
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
        status = no_memory(error);
    return status;
}

/* Instructions. */

static enum psnap_status add_node(struct psnap_guest_code *code, uint32_t function, uint64_t pc,
                                  uint8_t size, uint32_t *node, struct psnap_error *error)
{
    struct psnap_guest_node *nodes =
        with_room(code->nodes, &code->node_room, code->flow.node_count, sizeof *nodes);

    if (!nodes)
        return no_memory(error);
    code->nodes = nodes;
    *node = psnap_flow_add_node(&code->flow, function);
    if (*node == PSNAP_FLOW_NONE)
        return no_memory(error);
    nodes[*node] = (struct psnap_guest_node){
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
        status = no_memory(error);
    return status;
}

/* Names. */

static int compare_names(const void *a, const void *b)
{
    return strcmp(a, b);
}

static const char *enter_name(struct psnap_guest_code *code, const char *name)
{
    const char *kept = psnap_program_string(code->program, name);

    return kept && tsearch(kept, &code->names, compare_names) ? kept : NULL;
}

/* A name that nothing else has: `text`, or with `where` (may be NULL), or numbered. */
static const char *unique_name(struct psnap_guest_code *code, const char *text, const char *where)
{
    char longer[2 * TITLE_BYTES], name[2 * TITLE_BYTES + 16];

    snprintf(longer, sizeof longer, "%s%s%s", text, where ? "@" : "", where ? where : "");
    snprintf(name, sizeof name, "%s", text);
    if (tfind(name, &code->names, compare_names))
        snprintf(name, sizeof name, "%s", longer);
    for (unsigned n = 2; tfind(name, &code->names, compare_names); n++)
        snprintf(name, sizeof name, "%s#%u", longer, n);
    return enter_name(code, name);
}

/* "libc.so.6+0x1234", or the bare address of code that is in no file. */
static void name_address(char *text, size_t size, const struct psnap_image *image, uint64_t address)
{
    if (image)
        snprintf(text, size, "%s+0x%" PRIx64, image->name, address - image->low);
    else
        snprintf(text, size, "0x%" PRIx64, address);
}

/* What a person calls a function: its symbol, or in C++ what DWARF says. */
static const char *title_of(struct psnap_guest_code *code, struct psnap_guest_function *function)
{
    struct psnap_place_in_source place;
    char text[TITLE_BYTES];

    if (function->title)
        return function->title;
    place.function[0] = '\0';
    if (!function->symbol)
        name_address(text, sizeof text, function->image, function->low);
    else if (function->image && !strncmp(function->symbol, "_Z", 2))
        psnap_symbols_place(function->image, function->low, true, &place);
    if (function->symbol && place.function[0])
        snprintf(text, sizeof text, "%s", place.function);
    else if (function->symbol) /* without the version that libraries have behind it */
        snprintf(text, sizeof text, "%.*s", (int)strcspn(function->symbol, "@"), function->symbol);
    function->title =
        unique_name(code, text, function->symbol && function->image ? function->image->name : NULL);
    return function->title;
}

/* The better place for a loop: of the function that is inlined into fewer, then the lesser line. */
static bool is_better(const struct psnap_place_in_source *place,
                      const struct psnap_place_in_source *best)
{
    if (!place->line || !best->line)
        return place->line;
    if (place->inlined != best->inlined)
        return place->inlined < best->inlined;
    return place->line < best->line && !strcmp(place->function, best->function) &&
           !strcmp(place->file, best->file);
}

/* The place of a loop: the best of those of its header and its jumps back. */
static void find_place(const struct psnap_guest_code *code, const struct psnap_image *image,
                       uint32_t header, struct psnap_place_in_source *best)
{
    const struct psnap_flow *flow = &code->flow;
    uint32_t n = flow->functions[flow->nodes[header].function].first;

    psnap_symbols_place(image, code->nodes[header].pc, true, best);
    for (; n != PSNAP_FLOW_NONE; n = flow->nodes[n].next)
        for (uint32_t e = flow->nodes[n].first_edge; e != PSNAP_FLOW_NONE;
             e = flow->edges[e].next) {
            struct psnap_place_in_source place;
            if (flow->edges[e].to != header || !psnap_flow_is_inside(flow, n, header))
                continue;
            psnap_symbols_place(image, code->nodes[n].pc, true, &place);
            if (is_better(&place, best))
                *best = place;
        }
}

/* A loop of the source: what it has come from, and the parts of it that have been found. */
struct source {
    const char *key; /* function, line, file, image */
    const char *id;
    unsigned parts;
};

static int compare_sources(const void *a, const void *b)
{
    return strcmp(((const struct source *)a)->key, ((const struct source *)b)->key);
}

/* The loop of the source with this key, called `text` if it can be; NULL when out of memory. */
static struct source *find_source(struct psnap_guest_code *code, const char *key, const char *text,
                                  const char *where)
{
    struct source wanted = {.key = key}, *source;
    struct source *const *known = tfind(&wanted, &code->sources, compare_sources);

    if (known)
        return *known;
    source = calloc(1, sizeof *source);
    if (!source)
        return NULL;
    source->key = psnap_program_string(code->program, key);
    source->id = unique_name(code, text, where);
    if (!source->key || !source->id || !tsearch(source, &code->sources, compare_sources)) {
        free(source);
        return NULL;
    }
    return source;
}

/* The name of a loop with a line: that of the loop of the source; further parts of it are "f:12.2",
 * "f:12.3". */
static void name_part(struct psnap_guest_code *code, const char *image,
                      const struct psnap_place_in_source *place, struct psnap_loop *loop)
{
    char text[TITLE_BYTES + 32], key[2 * TITLE_BYTES];
    struct source *source;

    snprintf(text, sizeof text, "%s:%" PRIu32, loop->function, place->line);
    snprintf(key, sizeof key, "%s\n%s\n%s", text, place->file, image);
    source = find_source(code, key, text, place->file);
    if (!source)
        return;
    loop->id = loop->src_id = source->id;
    if (source->parts++) {
        snprintf(text, sizeof text, "%s.%u", source->id, source->parts);
        loop->id = unique_name(code, text, NULL);
    }
}

/* Without a line a loop is "f+0x12" or, without a symbol, "libc.so.6+0x1234". */
static void name_loop(struct psnap_guest_code *code, struct psnap_guest_function *function,
                      uint32_t header, const struct psnap_place_in_source *place,
                      struct psnap_loop *loop)
{
    const char *image = function->image ? function->image->name : "";
    uint64_t pc = code->nodes[header].pc;
    char text[TITLE_BYTES + 32];

    loop->function = title_of(code, function);
    if (place->line && place->function[0])
        loop->function = psnap_program_string(code->program, place->function);
    if (!loop->function)
        return;
    if (place->line) {
        name_part(code, image, place, loop);
        return;
    }
    if (function->symbol && pc >= function->low)
        snprintf(text, sizeof text, "%s+0x%" PRIx64, loop->function, pc - function->low);
    else
        name_address(text, sizeof text, function->image, pc);
    loop->id = loop->src_id = unique_name(code, text, NULL);
}

/* Rows. */

/* A row for the loop with this header, or for the function itself, and its two blocks. */
static enum psnap_status add_row(struct psnap_guest_code *code, uint32_t index, uint32_t header,
                                 struct psnap_loop *loop, uint32_t *row, struct psnap_error *error)
{
    struct psnap_program *program = code->program;
    struct psnap_block block = {.loop = program->loop_count, .src_line = loop->src_line};
    struct psnap_guest_row *rows =
        with_room(code->rows, &code->row_room, program->loop_count, sizeof *rows);

    if (!rows)
        return no_memory(error);
    code->rows = rows;
    if (!loop->id || !loop->src_id || !loop->function || !loop->file)
        return no_memory(error);
    loop->header = loop->entry = program->block_count;
    if (header != PSNAP_FLOW_NONE)
        loop->entry++;
    *row = psnap_program_add_loop(program, loop);
    if (*row == PSNAP_NONE || psnap_program_add_block(program, &block) == PSNAP_NONE ||
        (header != PSNAP_FLOW_NONE && psnap_program_add_block(program, &block) == PSNAP_NONE))
        return no_memory(error);
    rows[*row] = (struct psnap_guest_row){header, code->functions[index].first_row};
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

static enum psnap_status function_row(struct psnap_guest_code *code, uint32_t index, uint32_t *row,
                                      struct psnap_error *error)
{
    struct psnap_guest_function *function = &code->functions[index];
    struct psnap_place_in_source place = {.file = ""};
    struct psnap_loop loop = {.parent = PSNAP_NONE};

    *row = find_row(code, index, PSNAP_FLOW_NONE);
    if (*row != PSNAP_NONE)
        return PSNAP_OK;
    if (function->image)
        psnap_symbols_place(function->image, function->low, false, &place);
    loop.id = loop.src_id = loop.function = title_of(code, function);
    loop.file = psnap_program_string(code->program, place.file);
    loop.src_line = place.line;
    return add_row(code, index, PSNAP_FLOW_NONE, &loop, row, error);
}

static uint32_t depth_of(const struct psnap_flow *flow, uint32_t header)
{
    uint32_t depth = 0;

    for (; header != PSNAP_FLOW_NONE; header = flow->nodes[header].inner)
        depth++;
    return depth;
}

/* The row of the loop with this header; those around it are made first. */
static enum psnap_status loop_row(struct psnap_guest_code *code, uint32_t index, uint32_t header,
                                  uint32_t *row, struct psnap_error *error)
{
    struct psnap_guest_function *function = &code->functions[index];
    struct psnap_place_in_source place = {.file = ""};
    uint32_t around = code->flow.nodes[header].inner;
    struct psnap_loop loop = {0};
    enum psnap_status status;

    *row = find_row(code, index, header);
    if (*row != PSNAP_NONE)
        return PSNAP_OK;
    status = around == PSNAP_FLOW_NONE ? function_row(code, index, &loop.parent, error)
                                       : loop_row(code, index, around, &loop.parent, error);
    if (status)
        return status;
    if (function->image)
        find_place(code, function->image, header, &place);
    name_loop(code, function, header, &place, &loop);
    loop.file = psnap_program_string(code->program, place.file);
    loop.src_line = place.line;
    loop.depth = depth_of(&code->flow, header);
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
        if (header == PSNAP_FLOW_NONE || !nodes[header].is_header)
            continue;
        status = nodes[header].inner == PSNAP_FLOW_NONE
                     ? function_row(code, index, &parent, error)
                     : loop_row(code, index, nodes[header].inner, &parent, error);
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
            return no_memory(error);
        if (function != PSNAP_FLOW_NONE)
            status = correct_rows(code, function, error);
    } while (!status && function != PSNAP_FLOW_NONE);
    return status;
}

enum psnap_status psnap_guest_code_row(struct psnap_guest_code *code, uint32_t node, uint32_t *row,
                                       struct psnap_error *error)
{
    uint32_t index = code->flow.nodes[node].function, header;
    enum psnap_status status;

    *row = code->nodes[node].row;
    if (*row != PSNAP_NONE && code->nodes[node].generation == code->functions[index].generation)
        return PSNAP_OK;
    header = psnap_flow_loop(&code->flow, node);
    status = header == PSNAP_FLOW_NONE ? function_row(code, index, row, error)
                                       : loop_row(code, index, header, row, error);
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
    struct psnap_guest_ref *refs =
        with_room(code->refs, &code->ref_room, program->ref_count, sizeof *refs);
    struct psnap_ref ref = {
        .block = loop->header,
        .loop = row,
        .kind = kind,
        .size = size <= PSNAP_ACCESS_SIZE_MAX ? (uint8_t)size : 0,
    };

    if (!refs)
        return no_memory(error);
    code->refs = refs;
    if (image) {
        struct psnap_place_in_source place;
        psnap_symbols_place(image, code->nodes[node].pc, false, &place);
        ref.src_line = strcmp(place.file, loop->file) ? 0 : place.line;
    }
    *index = psnap_program_add_ref(program, &ref);
    if (*index == PSNAP_NONE)
        return no_memory(error);
    refs[*index] = (struct psnap_guest_ref){
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
    struct psnap_guest_range range;
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
