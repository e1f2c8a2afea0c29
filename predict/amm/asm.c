/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loops of assembly, by the comments that LLVM writes at the beginning of blocks:
 *
 *     .LBB0_33:                 #   Parent Loop BB0_14 Depth=3
 *                               # =>      This Inner Loop Header: Depth=4
 *     # %bb.15:                 #   in Loop: Header=BB0_14 Depth=3
 *
 * and, as a loop of the program is known by its line, by the .loc in force where it branches back
 * (or falls through) to its header: that of `for` or `while`. Parts that the optimiser made of a
 * loop have the same line, and stand in the same order as in the program's tables, which were
 * made of the code behind the optimiser. Tested with clang 19.
 */
#include "predict/amm/asm.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/room.h"
#include "formats/base/text.h"

enum { NO_LOOP = -1 };

struct reader {
    struct asm_code *code;
    size_t first_file; /* of this assembly file, number 0 */
    size_t first_loop;
    struct asm_latch at; /* .loc in force */
    long parent;         /* of the loop that the block is the header of */
    long loop;           /* index of the loop that the block is of, or NO_LOOP */
    bool is_begun;       /* the block has an instruction: comments are no longer its heading's */
    bool falls_through;  /* the instruction before did not jump away */
    char label[64];      /* of the block, without .L; "" for %bb */
};

static bool add_text(struct asm_loop *loop, const char *text)
{
    const size_t length = strlen(text);
    char *code = psnap_with_room(loop->code, &loop->room, loop->length + length + 2, 1);

    if (!code)
        return false;
    loop->code = code;
    memcpy(code + loop->length, text, length);
    loop->length += length;
    code[loop->length++] = '\n';
    code[loop->length] = '\0';
    return true;
}

/* ----------------------------------------------------------------- files and lines */

/* `.file 1 "dir" "name" md5 0x...`, or `.file 1 "name"`: the last of the quoted texts. */
static bool take_file(struct reader *r, const char *text)
{
    char *end;
    const unsigned long number = strtoul(text, &end, 10);
    const char *close = strrchr(text, '"'), *open = close;
    struct asm_code *code = r->code;
    char **files;

    if (end == text || !close || number > 1000000) /* `.file "name"` has no number */
        return true;
    while (open > text && open[-1] != '"')
        open--;
    files =
        psnap_with_room(code->files, &code->file_room, r->first_file + number + 1, sizeof *files);
    if (!files)
        return false;
    code->files = files;
    while (code->file_count <= r->first_file + number)
        files[code->file_count++] = NULL;
    free(files[r->first_file + number]);
    files[r->first_file + number] = strndup(open, (size_t)(close - open));
    return files[r->first_file + number] != NULL;
}

/* `.loc 1 39 13`; line 0 is nowhere, and leaves where it was. */
static void take_loc(struct reader *r, const char *text)
{
    char *end;
    const unsigned long file = strtoul(text, &end, 10);
    const unsigned long line = strtoul(end, NULL, 10);

    if (line && line < UINT32_MAX && file < UINT32_MAX)
        r->at = (struct asm_latch){(uint32_t)(r->first_file + file), (uint32_t)line};
}

/* ------------------------------------------------------------------------ loops */

/* The index of the loop whose header has the label, of `length`; NO_LOOP: none yet. */
static long find_loop(const struct reader *r, const char *label, size_t length)
{
    const struct asm_code *code = r->code;

    for (size_t i = r->first_loop; i < code->loop_count; i++)
        if (strlen(code->loops[i].label) == length && !memcmp(code->loops[i].label, label, length))
            return (long)i;
    return NO_LOOP;
}

/* The same, of a loop that is added if it is not there; NO_LOOP: out of memory. */
static long need_loop(struct reader *r, const char *label, size_t length)
{
    struct asm_code *code = r->code;
    const long found = find_loop(r, label, length);
    struct asm_loop *loops;

    if (found != NO_LOOP)
        return found;
    loops = psnap_with_room(code->loops, &code->loop_room, code->loop_count + 1, sizeof *loops);
    if (!loops)
        return NO_LOOP;
    code->loops = loops;
    loops[code->loop_count] = (struct asm_loop){.label = strndup(label, length), .parent = NO_LOOP};
    return loops[code->loop_count].label ? (long)code->loop_count++ : NO_LOOP;
}

static void add_latch(struct asm_loop *loop, struct asm_latch latch)
{
    for (size_t i = 0; i < loop->latch_count; i++)
        if (loop->latches[i].file == latch.file && loop->latches[i].src_line == latch.src_line)
            return;
    if (loop->latch_count < ASM_LATCHES_MAX && latch.src_line)
        loop->latches[loop->latch_count++] = latch;
}

/* The block that is being read branches, or falls, to a label: of a loop that it is in? */
static void take_branch(struct reader *r, const char *label, size_t length)
{
    const long target = find_loop(r, label, length);
    long loop = r->loop;

    while (loop != NO_LOOP && loop != target)
        loop = r->code->loops[loop].parent;
    if (target != NO_LOOP && loop == target)
        add_latch(&r->code->loops[target], r->at);
}

/* What a comment of a block's heading says of loops; false: out of memory. */
static bool take_comment(struct reader *r, const char *text)
{
    static const char parent[] = "Parent Loop ", in[] = "in Loop: Header=";
    const char *found;

    if ((found = strstr(text, parent))) {
        found += sizeof parent - 1;
        r->parent = need_loop(r, found, strcspn(found, " \t"));
        return r->parent != NO_LOOP;
    }
    if ((found = strstr(text, in)))
        found += sizeof in - 1;
    else if (strstr(text, "Loop Header: Depth="))
        found = r->label;
    else
        return true;
    r->loop = need_loop(r, found, strcspn(found, " \t"));
    if (r->loop != NO_LOOP && found == r->label)
        r->code->loops[r->loop].parent = r->parent;
    return r->loop != NO_LOOP;
}

/* ----------------------------------------------------------------------- lines */

/* A block begins: `.LBB0_33:`, `# %bb.15:`, or a function's name. */
static bool begin_block(struct reader *r, const char *text)
{
    const size_t length = strcspn(text, ":");

    r->label[0] = '\0';
    if (!strncmp(text, ".LBB", 4) && length < sizeof r->label) {
        memcpy(r->label, text + 2, length - 2);
        r->label[length - 2] = '\0';
        if (r->falls_through)
            take_branch(r, r->label, length - 2);
    }
    r->loop = r->parent = NO_LOOP;
    r->is_begun = false;
    r->falls_through = true;
    return take_comment(r, text + length);
}

/* Calls are left out: what they cost is not the loop's code. */
static bool take_instruction(struct reader *r, char *text)
{
    const char *target;
    size_t length;

    text[strcspn(text, "#")] = '\0';
    for (length = strlen(text); length && isspace((unsigned char)text[length - 1]);)
        text[--length] = '\0';
    if (!length)
        return true;
    r->is_begun = true;
    target = strstr(text, ".LBB");
    if (text[0] == 'j' && target)
        take_branch(r, target + 2, strlen(target + 2));
    r->falls_through = strncmp(text, "jmp", 3) != 0 && strncmp(text, "ret", 3) != 0;
    if (r->loop == NO_LOOP || !strncmp(text, "call", 4))
        return true;
    return add_text(&r->code->loops[r->loop], text);
}

static bool take_line(struct reader *r, char *line)
{
    char *text = line + strspn(line, " \t");

    text[strcspn(text, "\r\n")] = '\0';
    if (!strncmp(text, "# %bb.", 6))
        return begin_block(r, text + 2);
    if (*text == '#')
        return r->is_begun || take_comment(r, text);
    if (!strncmp(text, ".file", 5) && isspace((unsigned char)text[5]))
        return take_file(r, text + 6);
    if (!strncmp(text, ".loc", 4) && isspace((unsigned char)text[4]))
        take_loc(r, text + 5);
    else if (line == text && strchr(text, ':') && strncmp(text, ".Ltmp", 5) != 0)
        return begin_block(r, text);
    else if (line != text && *text && *text != '.')
        return take_instruction(r, text);
    return true;
}

enum psnap_status asm_read(struct asm_code *code, FILE *file, const char *name,
                           struct psnap_error *error)
{
    struct reader r = {.code = code,
                       .first_file = code->file_count,
                       .first_loop = code->loop_count,
                       .loop = NO_LOOP,
                       .parent = NO_LOOP};
    char *line = NULL;
    size_t room = 0;
    bool fits = true;
    enum psnap_status status = PSNAP_OK;

    while (fits && getline(&line, &room, file) > 0)
        fits = take_line(&r, line);
    free(line);
    if (!fits)
        status = psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for assembly");
    else if (!feof(file)) /* getline() needs memory too */
        status = psnap_error_system(error, errno, "cannot read it");
    else if (code->file_count == r.first_file)
        status = psnap_error_set(error, PSNAP_ERROR_SYNTAX,
                                 "there are no source lines in it: it is to be what clang -S -g "
                                 "writes, with the optimisation of the program");
    if (status)
        psnap_error_at(error, name, 0, 0);
    return status;
}

void asm_release(struct asm_code *code)
{
    for (size_t i = 0; i < code->loop_count; i++) {
        free(code->loops[i].label);
        free(code->loops[i].code);
    }
    for (size_t i = 0; i < code->file_count; i++)
        free(code->files[i]);
    free(code->loops);
    free(code->files);
    *code = (struct asm_code){0};
}

/* -------------------------------------------------------------------- matching */

static bool is_of(const struct asm_code *code, const struct asm_loop *loop,
                  const struct psnap_loop *wanted)
{
    for (size_t i = 0; i < loop->latch_count; i++) {
        const struct asm_latch *latch = &loop->latches[i];
        const char *file = latch->file < code->file_count ? code->files[latch->file] : NULL;
        if (latch->src_line == wanted->src_line && file && wanted->file &&
            !strcmp(psnap_text_base_name(file), psnap_text_base_name(wanted->file)))
            return true;
    }
    return false;
}

static bool is_same_line(const struct psnap_loop *a, const struct psnap_loop *b)
{
    return b->depth && a->src_line == b->src_line && a->file && b->file &&
           !strcmp(a->file, b->file);
}

uint32_t asm_match(const struct asm_code *code, const struct psnap_program *program,
                   const struct asm_loop **loops)
{
    uint32_t matched = 0;

    for (uint32_t i = 0; i < program->loop_count; i++) {
        const struct psnap_loop *loop = &program->loops[i];
        size_t place = 0, parts = 0, there = 0;
        loops[i] = NULL;
        if (!loop->depth || !loop->src_line)
            continue;
        for (uint32_t k = 0; k < program->loop_count; k++)
            if (is_same_line(loop, &program->loops[k])) {
                place += k < i;
                parts++;
            }
        for (size_t k = 0; k < code->loop_count; k++)
            if (is_of(code, &code->loops[k], loop) && there++ == place)
                loops[i] = &code->loops[k];
        if (there != parts)
            loops[i] = NULL;
        matched += loops[i] != NULL;
    }
    return matched;
}
