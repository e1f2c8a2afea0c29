/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Assembly (AT&T syntax, of clang) whose .loc say the block that code is of (PSNAP_BLOCKS_COLUMN in
 * capture_abi.h); such a .loc is in force until the next one,
 *
 *     .loc 0 40 32802
 *
 * Others are the compiler's, of code that it added or made of that of two blocks: it is of the
 * block before, or where it stands first in a block of the assembly, of the one that follows.
 * Modules stand in a program one behind the other; which one an assembly is of is known by the
 * lines of its blocks and, if that is not enough, by its source.
 */
#include "predict/amm/asm.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/room.h"
#include "formats/base/text.h"

struct reader {
    struct asm_code *code;
    struct asm_text pending; /* of the block that follows */
    uint32_t blocks;         /* that the program has */
    uint32_t block;          /* in force; PSNAP_NONE: instructions are pending */
    bool is_foreign;         /* it has more blocks than the program */
    bool is_labelled;
    bool is_begun; /* the block of the assembly has an instruction */
};

static bool add_text(struct asm_text *text, const char *line, size_t length)
{
    char *code = psnap_with_room(text->code, &text->room, text->length + length + 2, 1);

    if (!code)
        return false;
    text->code = code;
    memcpy(code + text->length, line, length);
    text->length += length;
    code[text->length++] = '\n';
    code[text->length] = '\0';
    return true;
}

/* The block of that number, which is added with all before it if it is not there; NULL: no memory.
 */
static struct asm_block *need_block(struct asm_code *code, uint32_t number)
{
    const size_t count = (size_t)number + 1;
    struct asm_block *blocks;

    if (count <= code->block_count)
        return &code->blocks[number];
    blocks = psnap_with_room(code->blocks, &code->block_room, count, sizeof *blocks);
    if (!blocks)
        return NULL;
    code->blocks = blocks;
    memset(blocks + code->block_count, 0, (count - code->block_count) * sizeof *blocks);
    code->block_count = count;
    return &blocks[number];
}

/* Code of the block that is in force. */
static bool add_code(struct reader *r, const char *line, size_t length)
{
    struct asm_code *code = r->code;
    struct asm_block *block;

    if (r->block == PSNAP_NONE)
        return add_text(&r->pending, line, length);
    block = &code->blocks[r->block];
    if (!block->text.length) {
        uint32_t *order =
            psnap_with_room(code->order, &code->order_room, code->order_count + 1, sizeof *order);
        if (!order)
            return false;
        code->order = order;
        order[code->order_count++] = r->block;
    }
    return add_text(&block->text, line, length);
}

/* `FILE LINE COLUMN ...` */
static bool take_loc(struct reader *r, const char *text)
{
    unsigned long line, column;
    struct asm_block *block;
    char *end;
    bool fits;

    strtoul(text, &end, 10);
    line = strtoul(end, &end, 10);
    column = strtoul(end, &end, 10);
    if (line == 0 || column != PSNAP_BLOCKS_COLUMN(column)) {
        r->block = r->is_begun ? r->block : PSNAP_NONE;
        return true;
    }
    r->is_foreign |= line > r->blocks;
    if (r->is_foreign)
        return true;
    block = need_block(r->code, (uint32_t)(line - 1));
    if (!block)
        return false;
    block->column = (uint32_t)column;
    r->block = (uint32_t)(line - 1);
    fits = !r->pending.length || add_code(r, r->pending.code, r->pending.length - 1);
    r->pending.length = 0;
    return fits;
}

/* `callq exp@PLT`, `callq *exp@GOTPCREL(%rip)`, or the same with a jump. */
static void take_call(struct reader *r, const char *text)
{
    const char *name = text + strcspn(text, " \t");
    size_t length;

    name += strspn(name, " \t*");
    length = strcspn(name, "@ \t#");
    for (int f = 0; f < PSNAP_MATH_FUNCTION_COUNT && r->block != PSNAP_NONE; f++) {
        const char *known = psnap_math_function_name((enum psnap_math_function)f);
        uint16_t *calls = &r->code->blocks[r->block].calls[f];
        if (strlen(known) == length && !memcmp(known, name, length) && *calls < UINT16_MAX)
            ++*calls;
    }
}

/* Calls are left out of the code, as what they cost is not the loop's. */
static bool take_instruction(struct reader *r, char *text)
{
    size_t length = strcspn(text, "#");

    while (length && isspace((unsigned char)text[length - 1]))
        length--;
    if (!length)
        return true;
    r->is_begun = true;
    if (!strncmp(text, "call", 4) || !strncmp(text, "jmp", 3))
        take_call(r, text);
    return !strncmp(text, "call", 4) || add_code(r, text, length);
}

/* `"folder" "a.c"`, or the last of these alone */
static bool take_file(struct asm_code *code, char *text)
{
    char *end = strrchr(text, '"'), *begin;

    if (code->file || !end)
        return true;
    *end = '\0';
    begin = strrchr(text, '"');
    if (!begin)
        return true;
    code->file = strdup(psnap_text_base_name(begin + 1));
    return code->file != NULL;
}

/* A label. A block of which nothing is known, as there is only added code in it, is left out. */
static void begin_block(struct reader *r)
{
    r->is_begun = false;
    r->pending.length = 0;
}

static bool take_line(struct reader *r, char *line)
{
    char *text = line + strspn(line, " \t");

    text[strcspn(text, "\r\n")] = '\0';
    if (!strcmp(text, PSNAP_BLOCKS_COMMENT))
        r->is_labelled = true;
    else if (!strncmp(text, ".loc", 4) && isspace((unsigned char)text[4]))
        return take_loc(r, text + 5);
    else if (!strncmp(text, "# %bb.", 6) || (line == text && strncmp(text, ".Ltmp", 5) != 0))
        begin_block(r);
    else if (!strncmp(text, ".file", 5) && isspace((unsigned char)text[5]))
        return take_file(r->code, text + 6);
    else if (*text && *text != '.' && *text != '#')
        return take_instruction(r, text);
    return true;
}

static enum psnap_status no_such_blocks(struct psnap_error *error)
{
    return psnap_error_set(
        error, PSNAP_ERROR_VALUE,
        "the program has no blocks like these: it is the assembly of another one, or of other "
        "options; a profile keeps other blocks than the program has, take a trace");
}

enum psnap_status asm_read(struct asm_code *code, FILE *file, const char *name, uint32_t blocks,
                           struct psnap_error *error)
{
    struct reader r = {.code = code, .blocks = blocks, .block = PSNAP_NONE};
    enum psnap_status status = PSNAP_OK;
    char *line = NULL;
    size_t room = 0;
    bool fits = true;

    while (fits && !r.is_foreign && getline(&line, &room, file) > 0)
        fits = take_line(&r, line);
    free(line);
    free(r.pending.code);
    if (!fits)
        status = psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for assembly");
    else if (r.is_foreign)
        status = no_such_blocks(error);
    else if (!feof(file)) /* getline() needs memory too */
        status = psnap_error_system(error, errno, "cannot read it");
    else if (!r.is_labelled)
        status = psnap_error_set(error, PSNAP_ERROR_SYNTAX,
                                 "its blocks are not labelled: it is to be what psnap cc "
                                 "--psnap-blocks -S writes, with the program's other options");
    if (status)
        psnap_error_at(error, name, 0, 0);
    return status;
}

void asm_release(struct asm_code *code)
{
    for (size_t i = 0; i < code->block_count; i++)
        free(code->blocks[i].text.code);
    free(code->blocks);
    free(code->order);
    free(code->file);
    *code = (struct asm_code){0};
}

/* Whether all blocks have their lines if the module's first one is that. */
static bool is_alike(const struct asm_code *code, const struct psnap_program *program,
                     uint32_t first)
{
    for (size_t i = 0; i < code->order_count; i++) {
        const uint32_t number = code->order[i];
        if (PSNAP_BLOCKS_COLUMN(program->blocks[first + number].src_line) !=
            code->blocks[number].column)
            return false;
    }
    return true;
}

/* Whether one of the blocks is of the assembly's source; others may be of headers. */
static bool has_source(const struct asm_code *code, const struct psnap_program *program,
                       uint32_t first)
{
    for (size_t i = 0; i < code->order_count && code->file; i++) {
        const uint32_t loop = program->blocks[first + code->order[i]].loop;
        if (loop < program->loop_count &&
            !strcmp(psnap_text_base_name(program->loops[loop].file), code->file))
            return true;
    }
    return false;
}

/* The module's first block in the program. */
static enum psnap_status find_module(const struct asm_code *code,
                                     const struct psnap_program *program, uint32_t *first,
                                     struct psnap_error *error)
{
    uint32_t alike = 0, of_source = 0;

    for (uint32_t i = 0; i + code->block_count <= program->block_count; i++) {
        if (!is_alike(code, program, i))
            continue;
        alike++;
        if (!of_source) /* the first of those that are of the source, if there is one */
            *first = i;
        of_source += has_source(code, program, i);
    }
    if (!alike)
        return no_such_blocks(error);
    if (alike > 1 && of_source != 1)
        return psnap_error_set(error, PSNAP_ERROR_VALUE,
                               "%" PRIu32 " parts of the program have blocks like these, and the "
                               "names of their sources do not say of which this is the assembly",
                               of_source ? of_source : alike);
    return PSNAP_OK;
}

/* At least half of the iterations execute it. */
static bool is_usual(const struct psnap_program *program, uint32_t block)
{
    const struct psnap_loop *loop = &program->loops[program->blocks[block].loop];

    return loop->depth && loop->header < program->block_count &&
           program->blocks[block].executions >= program->blocks[loop->header].executions / 2;
}

/* Adds a block of the module to the program's. */
static bool add_block(const struct asm_block *from, const struct psnap_program *program,
                      uint32_t block, struct asm_text *loops, uint16_t *calls)
{
    memcpy(calls + (size_t)block * PSNAP_MATH_FUNCTION_COUNT, from->calls, sizeof from->calls);
    return !from->text.length || !is_usual(program, block) ||
           add_text(&loops[program->blocks[block].loop], from->text.code, from->text.length - 1);
}

enum psnap_status asm_add_loops(const struct asm_code *code, const struct psnap_program *program,
                                struct asm_text *loops, uint16_t *calls, struct psnap_error *error)
{
    uint32_t first = 0;
    enum psnap_status status = find_module(code, program, &first, error);

    for (size_t i = 0; i < code->order_count && !status; i++)
        if (is_usual(program, first + code->order[i]) &&
            loops[program->blocks[first + code->order[i]].loop].length)
            status = psnap_error_set(error, PSNAP_ERROR_VALUE,
                                     "this code is in a file that was given before");
    for (size_t i = 0; i < code->order_count && !status; i++)
        if (!add_block(&code->blocks[code->order[i]], program, first + code->order[i], loops,
                       calls))
            status = psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for assembly");
    return status;
}
