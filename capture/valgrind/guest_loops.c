/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loops of the flow graph as rows of the program's tables.
 *
 * Rows of loops are made when the first access of theirs is delivered; their
 * depth and parent are corrected when a loop around them is found later (what a
 * trace says of them is from the time they were written).
 */
#include "capture/valgrind/guest_code.h"
#include "formats/base/room.h"

/* A row for the loop with this header, or for the function itself, and its two blocks. */
static enum psnap_status add_row(struct psnap_guest_code *code, uint32_t index, uint32_t header,
                                 struct psnap_loop *loop, uint32_t *row, struct psnap_error *error)
{
    struct psnap_program *program = code->program;
    struct psnap_block block = {.loop = program->loop_count, .src_line = loop->src_line};

    loop->header = loop->entry = program->block_count;
    if (header != PSNAP_FLOW_NONE)
        loop->entry++;
    *row = psnap_program_add_loop(program, loop);
    if (*row == PSNAP_NONE ||
        !psnap_make_room(&code->rows, &code->row_room, *row + (size_t)1, sizeof *code->rows) ||
        psnap_program_add_block(program, &block) == PSNAP_NONE ||
        (header != PSNAP_FLOW_NONE && psnap_program_add_block(program, &block) == PSNAP_NONE))
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

static enum psnap_status function_row(struct psnap_guest_code *code, uint32_t index, uint32_t *row,
                                      struct psnap_error *error)
{
    struct psnap_loop loop = {.parent = PSNAP_NONE};

    *row = find_row(code, index, PSNAP_FLOW_NONE);
    if (*row != PSNAP_NONE)
        return PSNAP_OK;
    if (!psnap_guest_name_function(code, index, &loop))
        return psnap_guest_no_memory(error);
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
    if (!psnap_guest_name_loop(code, index, header, &loop))
        return psnap_guest_no_memory(error);
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
            return psnap_guest_no_memory(error);
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
