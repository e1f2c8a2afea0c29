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
 * lines of its blocks.
 */
#include "predict/amm/asm.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/room.h"

#define BLOCKS_MAX (UINT32_C(1) << 24)

struct reader {
    struct asm_code *code;
    struct asm_text pending; /* of the block that follows */
    uint32_t block;          /* in force; PSNAP_NONE: instructions are pending */
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
    if (line == 0 || line > BLOCKS_MAX || column != PSNAP_BLOCKS_COLUMN(column)) {
        r->block = r->is_begun ? r->block : PSNAP_NONE;
        return true;
    }
    block = need_block(r->code, (uint32_t)(line - 1));
    if (!block)
        return false;
    block->column = (uint32_t)column;
    r->block = (uint32_t)(line - 1);
    fits = !r->pending.length || add_code(r, r->pending.code, r->pending.length - 1);
    r->pending.length = 0;
    return fits;
}

/* Calls are left out: what they cost is not the loop's code. */
static bool take_instruction(struct reader *r, char *text)
{
    size_t length = strcspn(text, "#");

    while (length && isspace((unsigned char)text[length - 1]))
        length--;
    if (!length)
        return true;
    r->is_begun = true;
    return !strncmp(text, "call", 4) || add_code(r, text, length);
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
    else if (*text && *text != '.' && *text != '#')
        return take_instruction(r, text);
    return true;
}

enum psnap_status asm_read(struct asm_code *code, FILE *file, const char *name,
                           struct psnap_error *error)
{
    struct reader r = {.code = code, .block = PSNAP_NONE};
    enum psnap_status status = PSNAP_OK;
    char *line = NULL;
    size_t room = 0;
    bool fits = true;

    while (fits && getline(&line, &room, file) > 0)
        fits = take_line(&r, line);
    free(line);
    free(r.pending.code);
    if (!fits)
        status = psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for assembly");
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
    *code = (struct asm_code){0};
}

/* How many blocks have their lines if the module's first one is that. */
static size_t count_alike(const struct asm_code *code, const struct psnap_program *program,
                          uint32_t first)
{
    size_t alike = 0;

    for (size_t i = 0; i < code->order_count; i++) {
        const uint32_t number = code->order[i];
        alike += PSNAP_BLOCKS_COLUMN(program->blocks[first + number].src_line) ==
                 code->blocks[number].column;
    }
    return alike;
}

/* The module's first block in the program; PSNAP_NONE: it is not there. */
static uint32_t find_module(const struct asm_code *code, const struct psnap_program *program)
{
    for (uint32_t i = 0; i + code->block_count <= program->block_count; i++)
        if (count_alike(code, program, i) == code->order_count)
            return i;
    return PSNAP_NONE;
}

/* At least half of the iterations execute it. */
static bool is_usual(const struct psnap_program *program, uint32_t block)
{
    const struct psnap_loop *loop = &program->loops[program->blocks[block].loop];

    return loop->depth && loop->header < program->block_count &&
           program->blocks[block].executions >= program->blocks[loop->header].executions / 2;
}

enum psnap_status asm_add_loops(const struct asm_code *code, const struct psnap_program *program,
                                struct asm_text *loops, struct psnap_error *error)
{
    const uint32_t first = find_module(code, program);

    if (first == PSNAP_NONE)
        return psnap_error_set(
            error, PSNAP_ERROR_VALUE,
            "the program has no blocks like these: it is the assembly of another one, or of other "
            "options; a profile keeps other blocks than the program has, take a trace");
    for (size_t i = 0; i < code->order_count; i++)
        if (is_usual(program, first + code->order[i]) &&
            loops[program->blocks[first + code->order[i]].loop].length)
            return psnap_error_set(error, PSNAP_ERROR_VALUE,
                                   "this code is in a file that was given before");
    for (size_t i = 0; i < code->order_count; i++) {
        const uint32_t block = first + code->order[i];
        const struct asm_text *text = &code->blocks[code->order[i]].text;
        if (is_usual(program, block) &&
            !add_text(&loops[program->blocks[block].loop], text->code, text->length - 1))
            return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for assembly");
    }
    return PSNAP_OK;
}
